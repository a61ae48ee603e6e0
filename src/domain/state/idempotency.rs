//! The answers of requests with an Idempotency-Key. Reference 6.6.

use std::sync::Arc;

use imbl::{OrdMap, OrdSet};
use serde::{Deserialize, Serialize};

use crate::domain::state::space::IDEMPOTENCY_RECORD_BYTES;
use crate::domain::time::Instant;

/// Seconds for which an answer is repeated.
pub const KEPT_SECONDS: i64 = 24 * 3_600;
/// Maximum bytes of the answers of one group. Above it, requests with a key are refused: an answer
/// is never dropped before its time.
pub const BYTES_MAX: usize = 64 * 1_024 * 1_024;

/// The answer of one request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdempotencyRecord {
    /// SHA-256 over the caller, the group and the key.
    pub scope: [u8; 32],
    /// SHA-256 over the request.
    pub body: [u8; 32],
    /// The stamp of its event.
    pub at: Instant,
    /// The exact body of the answer.
    pub answer: Arc<[u8]>,
    /// Whether the request was only accepted, and is to be confirmed by a code. Reference 6.15.
    #[serde(deserialize_with = "crate::domain::records::added::in_format_2")]
    pub awaits_code: bool,
}

impl IdempotencyRecord {
    /// Whether an answer stamped `at` is still repeated. It is if the clock went back.
    fn is_valid(at: Instant, now: Instant) -> bool {
        now.seconds_since(at) < KEPT_SECONDS
    }
}

/// The answers of one group: those of the last 24 hours, and older ones not yet removed.
///
/// An answer is removed only a day after a later answer found it expired. Stamps follow the clock,
/// so a single step of the clock ahead makes all answers look old, but removes none.
#[derive(Clone, Debug, Default)]
pub struct IdempotencyRecords {
    /// The answers by scope.
    by_scope: OrdMap<[u8; 32], Arc<IdempotencyRecord>>,
    /// An index of the answers, the oldest first.
    by_age: OrdSet<(Instant, [u8; 32])>,
    /// The sum of the lengths of all answers.
    bytes: usize,
}

impl IdempotencyRecords {
    /// Finds the answer in a scope. It expires exactly 24 hours after its stamp.
    #[must_use]
    pub fn find(&self, scope: &[u8; 32], now: Instant) -> Option<&Arc<IdempotencyRecord>> {
        let record = self.by_scope.get(scope)?;
        if IdempotencyRecord::is_valid(record.at, now) { Some(record) } else { None }
    }

    /// Whether an answer of `bytes` bytes can be kept beside all valid ones.
    #[must_use]
    pub fn have_room_for(&self, bytes: usize, now: Instant) -> bool {
        // The usual case needs no look at the expired answers.
        if self.bytes + bytes <= BYTES_MAX {
            return true;
        }
        let mut valid_bytes = self.bytes;
        for (at, scope) in &self.by_age {
            if IdempotencyRecord::is_valid(*at, now) {
                break;
            }
            if let Some(expired) = self.by_scope.get(scope) {
                valid_bytes -= expired.answer.len();
            }
        }
        valid_bytes + bytes <= BYTES_MAX
    }

    /// Inserts an answer. Removes those for which a kept answer is a day newer, and the inserted
    /// one another day newer.
    pub fn insert(&mut self, record: Arc<IdempotencyRecord>) {
        while let Some(&(at, scope)) = self.by_age.get_min() {
            let expired_from = (at.plus_seconds(KEPT_SECONDS), [0; 32]);
            let Some(&(found_expired_at, _)) = self.by_age.range(expired_from..).next() else {
                break;
            };
            if IdempotencyRecord::is_valid(found_expired_at, record.at) {
                break;
            }
            self.remove(&scope);
        }
        self.remove(&record.scope);
        self.bytes += record.answer.len();
        self.by_age.insert((record.at, record.scope));
        self.by_scope.insert(record.scope, record);
    }

    /// The bytes of all kept answers, with a fixed share for each record.
    pub(crate) fn space_bytes(&self) -> u64 {
        self.bytes as u64 + IDEMPOTENCY_RECORD_BYTES * self.by_scope.len() as u64
    }

    fn remove(&mut self, scope: &[u8; 32]) {
        let Some(old) = self.by_scope.remove(scope) else { return };
        self.by_age.remove(&(old.at, old.scope));
        self.bytes -= old.answer.len();
    }

    /// All kept answers, ascending by stamp and scope.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<IdempotencyRecord>> {
        self.by_age.iter().filter_map(|(_, scope)| self.by_scope.get(scope))
    }
}

impl FromIterator<Arc<IdempotencyRecord>> for IdempotencyRecords {
    fn from_iter<T: IntoIterator<Item = Arc<IdempotencyRecord>>>(all: T) -> Self {
        let mut records = Self::default();
        for record in all {
            records.insert(record);
        }
        records
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
            awaits_code: false,
        }
        .into()
    }

    #[test]
    fn an_answer_is_valid_for_exactly_a_day() {
        let answers: IdempotencyRecords = [answered(1, 1_000, 9)].into_iter().collect();
        let found = |now| answers.find(&[1; 32], Instant(now)).is_some();
        assert!(found(1_000) && found(999) && found(1_000 + KEPT_SECONDS - 1));
        assert!(!found(1_000 + KEPT_SECONDS));
        assert!(answers.find(&[2; 32], Instant(1_000)).is_none());
    }

    fn scopes(answers: &IdempotencyRecords) -> Vec<u8> {
        answers.iter().map(|answered| answered.scope[0]).collect()
    }

    #[test]
    fn an_answer_is_removed_a_day_after_another_found_it_expired() {
        let mut answers: IdempotencyRecords =
            [answered(1, 0, 9), answered(2, 10, 9)].into_iter().collect();
        answers.insert(answered(3, KEPT_SECONDS + 9, 9));
        answers.insert(answered(4, 2 * KEPT_SECONDS + 8, 9));
        assert_eq!(scopes(&answers), [1, 2, 3, 4]);
        answers.insert(answered(5, 2 * KEPT_SECONDS + 9, 9));
        assert_eq!(scopes(&answers), [2, 3, 4, 5], "the second expired by the fourth");
        answers.insert(answered(3, 2 * KEPT_SECONDS + 10, 5));
        assert_eq!((answers.iter().count(), answers.bytes), (4, 32));
    }

    #[test]
    fn one_step_of_the_clock_ahead_removes_no_answer() {
        let mut answers: IdempotencyRecords = [answered(1, 0, 9)].into_iter().collect();
        let step = 10 * KEPT_SECONDS;
        for (scope, at) in [(2, step), (3, step + 5), (4, step + KEPT_SECONDS - 1)] {
            answers.insert(answered(scope, at, 9));
            assert!(answers.find(&[1; 32], Instant(KEPT_SECONDS - 1)).is_some());
        }
        answers.insert(answered(5, step + KEPT_SECONDS, 9));
        assert_eq!(scopes(&answers), [2, 3, 4, 5]);
    }

    #[test]
    fn a_full_table_has_room_again_when_its_answers_have_expired() {
        let answers: IdempotencyRecords = [answered(1, 0, BYTES_MAX - 1)].into_iter().collect();
        assert!(answers.have_room_for(1, Instant(5)) && !answers.have_room_for(2, Instant(5)));
        assert!(!answers.have_room_for(2, Instant(KEPT_SECONDS - 1)));
        assert!(answers.have_room_for(BYTES_MAX, Instant(KEPT_SECONDS)));
    }
}
