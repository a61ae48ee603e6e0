//! IdempotencyRecords that are given again: what requests under an Idempotency-Key were told. Reference 6.

use std::sync::Arc;

use imbl::{OrdMap, OrdSet};
use serde::{Deserialize, Serialize};

use crate::domain::time::Instant;

/// For how long an answer is given again.
pub const KEPT_SECONDS: i64 = 24 * 3_600;
/// Bytes of answers that one group keeps at most. Over it no further request is carried out under a key, since what is
/// kept was promised to be given again.
pub const BYTES_MAX: usize = 64 * 1_024 * 1_024;

/// What one request was answered, and to what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdempotencyRecord {
    /// SHA-256 over who asked of whom under which key.
    pub scope: [u8; 32],
    /// SHA-256 over what was asked.
    pub body: [u8; 32],
    /// The group's stamp of it.
    pub at: Instant,
    /// The body of the answer, byte for byte.
    pub answer: Arc<[u8]>,
}

impl IdempotencyRecord {
    /// Whether the answer is still given again. A clock that went back does not end it.
    fn counts(at: Instant, now: Instant) -> bool {
        now.seconds_since(at) < KEPT_SECONDS
    }
}

/// The answers of one group, those of the last 24 hours at least.
#[derive(Clone, Debug, Default)]
pub struct IdempotencyRecords {
    by_scope: OrdMap<[u8; 32], Arc<IdempotencyRecord>>,
    /// The same by age: what is dropped first comes first.
    by_age: OrdSet<(Instant, [u8; 32])>,
    /// Bytes of all answers together.
    bytes: usize,
}

impl IdempotencyRecords {
    /// What was answered in a scope within the last 24 hours. Exactly 24 hours later it counts no more.
    #[must_use]
    pub fn find(&self, scope: &[u8; 32], now: Instant) -> Option<&Arc<IdempotencyRecord>> {
        self.by_scope.get(scope).filter(|answered| IdempotencyRecord::counts(answered.at, now))
    }

    /// Whether an answer of so many bytes can be kept beside all that count now.
    #[must_use]
    pub fn have_room_for(&self, bytes: usize, now: Instant) -> bool {
        let old = self.by_age.iter().take_while(|(at, _)| !IdempotencyRecord::counts(*at, now));
        let dropped: usize =
            old.filter_map(|(_, scope)| self.by_scope.get(scope)).map(|old| old.answer.len()).sum();
        self.bytes - dropped + bytes <= BYTES_MAX
    }

    /// Keeps an answer, and lets go of all that count no more by its stamp.
    pub fn keep(&mut self, answered: Arc<IdempotencyRecord>) {
        while let Some(&(at, scope)) = self.by_age.get_min()
            && !IdempotencyRecord::counts(at, answered.at)
        {
            self.drop_one(&scope);
        }
        self.drop_one(&answered.scope);
        self.bytes += answered.answer.len();
        self.by_age.insert((answered.at, answered.scope));
        self.by_scope.insert(answered.scope, answered);
    }

    fn drop_one(&mut self, scope: &[u8; 32]) {
        if let Some(old) = self.by_scope.remove(scope) {
            self.by_age.remove(&(old.at, old.scope));
            self.bytes -= old.answer.len();
        }
    }

    /// All that are kept, by age and scope.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<IdempotencyRecord>> {
        self.by_age.iter().filter_map(|(_, scope)| self.by_scope.get(scope))
    }
}

impl FromIterator<Arc<IdempotencyRecord>> for IdempotencyRecords {
    fn from_iter<T: IntoIterator<Item = Arc<IdempotencyRecord>>>(all: T) -> Self {
        let mut answers = Self::default();
        all.into_iter().for_each(|answered| answers.keep(answered));
        answers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(scope: u8, at: i64, bytes: usize) -> Arc<IdempotencyRecord> {
        IdempotencyRecord {
            scope: [scope; 32],
            body: [0; 32],
            at: Instant(at),
            answer: vec![b'x'; bytes].into(),
        }
        .into()
    }

    #[test]
    fn an_answer_counts_for_a_day_and_not_a_second_longer() {
        let answers: IdempotencyRecords = [answered(1, 1_000, 9)].into_iter().collect();
        let found = |now| answers.find(&[1; 32], Instant(now)).is_some();
        assert!(found(1_000) && found(999) && found(1_000 + KEPT_SECONDS - 1));
        assert!(!found(1_000 + KEPT_SECONDS));
        assert!(answers.find(&[2; 32], Instant(1_000)).is_none());
    }

    #[test]
    fn what_counts_no_more_goes_with_the_next_that_is_kept() {
        let mut answers: IdempotencyRecords =
            [answered(1, 0, 9), answered(2, 10, 9)].into_iter().collect();
        answers.keep(answered(3, KEPT_SECONDS + 9, 9));
        let scopes: Vec<u8> = answers.iter().map(|answered| answered.scope[0]).collect();
        assert_eq!(scopes, [2, 3]);
        answers.keep(answered(2, KEPT_SECONDS + 10, 5));
        assert_eq!((answers.iter().count(), answers.bytes), (2, 14));
    }

    #[test]
    fn a_full_memory_has_room_again_when_what_fills_it_counts_no_more() {
        let answers: IdempotencyRecords = [answered(1, 0, BYTES_MAX - 1)].into_iter().collect();
        assert!(answers.have_room_for(1, Instant(5)) && !answers.have_room_for(2, Instant(5)));
        assert!(answers.have_room_for(BYTES_MAX, Instant(KEPT_SECONDS)));
    }
}
