//! The answers of requests with an Idempotency-Key. Reference 6.6.

use std::sync::Arc;

use imbl::{OrdMap, OrdSet};
use serde::{Deserialize, Serialize};

use crate::domain::time::{DAY, Instant};

/// Seconds for which an answer is repeated.
pub const KEPT_SECONDS: i64 = DAY;
/// Bytes that every record counts beside its answer.
const RECORD_BYTES: usize = 256;

/// The share of a group's records that a caller uses. A share that is full refuses requests with a
/// key, since no answer is dropped before its time. So the public does not stop those who log in.
/// The order of the variants is the format on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum IdempotencyShare {
    /// Applications by their key alone. All records of format 1 count here.
    #[default]
    Application,
    /// Accounts of clients.
    Account,
    /// Professionals.
    Pro,
}

impl IdempotencyShare {
    /// Maximum bytes of the records of one group.
    pub const fn bytes_max(self) -> usize {
        const MIB: usize = 1_024 * 1_024;
        match self {
            Self::Application | Self::Account => 16 * MIB,
            Self::Pro => 32 * MIB,
        }
    }
}

/// The answer of one request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdempotencyRecord {
    /// SHA-256 over the caller, the group and the key; of a short key also over the source.
    pub scope: [u8; 32],
    /// SHA-256 over the request.
    pub body: [u8; 32],
    /// The stamp of its event.
    pub at: Instant,
    /// The body of the answer. Texts of the request may be left out: an equal request has them.
    pub answer: Arc<[u8]>,
    /// The share that it counts in.
    #[serde(deserialize_with = "crate::domain::records::added::in_format_2")]
    pub share: IdempotencyShare,
    /// Whether the request was only accepted, and is to be confirmed by a code. Reference 6.8.
    #[serde(deserialize_with = "crate::domain::records::added::in_format_2")]
    pub awaits_code: bool,
}

impl IdempotencyRecord {
    /// Bytes that the record counts.
    fn bytes(&self) -> usize {
        RECORD_BYTES + self.answer.len()
    }

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
    /// The bytes of all records, by share.
    bytes: [usize; 3],
}

impl IdempotencyRecords {
    /// Finds the answer in a scope. It expires exactly 24 hours after its stamp.
    pub fn find(&self, scope: &[u8; 32], now: Instant) -> Option<&Arc<IdempotencyRecord>> {
        let record = self.by_scope.get(scope)?;
        if IdempotencyRecord::is_valid(record.at, now) { Some(record) } else { None }
    }

    /// Whether a record can be kept beside all valid ones of its share.
    pub fn have_room_for(&self, record: &IdempotencyRecord, now: Instant) -> bool {
        let share = record.share;
        let bytes = record.bytes();
        // The usual case needs no look at the expired answers.
        let mut valid_bytes = self.bytes[share as usize];
        if valid_bytes + bytes <= share.bytes_max() {
            return true;
        }
        for (at, scope) in &self.by_age {
            if IdempotencyRecord::is_valid(*at, now) {
                break;
            }
            if let Some(expired) = self.by_scope.get(scope)
                && expired.share == share
            {
                valid_bytes -= expired.bytes();
            }
        }
        valid_bytes + bytes <= share.bytes_max()
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
        self.bytes[record.share as usize] += record.bytes();
        self.by_age.insert((record.at, record.scope));
        self.by_scope.insert(record.scope, record);
    }

    /// The bytes of all kept answers, with a fixed share for each record.
    pub(crate) fn space_bytes(&self) -> u64 {
        self.bytes.iter().map(|bytes| *bytes as u64).sum()
    }

    /// Removes an answer, if it exists.
    pub(crate) fn remove(&mut self, scope: &[u8; 32]) {
        let Some(old) = self.by_scope.remove(scope) else { return };
        self.by_age.remove(&(old.at, old.scope));
        self.bytes[old.share as usize] -= old.bytes();
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
            share: IdempotencyShare::Application,
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
        assert_eq!((answers.iter().count(), answers.bytes), (4, [32 + 4 * RECORD_BYTES, 0, 0]));
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
    fn a_full_share_has_room_again_when_its_answers_have_expired() {
        let max = IdempotencyShare::Application.bytes_max() - RECORD_BYTES;
        let answers: IdempotencyRecords =
            [answered(1, 0, max - RECORD_BYTES - 1)].into_iter().collect();
        let has_room = |bytes, now| answers.have_room_for(&answered(2, 0, bytes), Instant(now));
        assert!(has_room(1, 5) && !has_room(2, 5));
        assert!(!has_room(2, KEPT_SECONDS - 1));
        assert!(has_room(max, KEPT_SECONDS));
    }

    #[test]
    fn a_full_share_leaves_room_to_the_others() {
        let max = IdempotencyShare::Application.bytes_max();
        let mut answers: IdempotencyRecords =
            [answered(1, 0, max - RECORD_BYTES)].into_iter().collect();
        for share in [IdempotencyShare::Account, IdempotencyShare::Pro] {
            let record = IdempotencyRecord { share, ..(*answered(2, 0, 9)).clone() };
            assert!(answers.have_room_for(&record, Instant(5)));
        }
        assert!(!answers.have_room_for(&answered(2, 0, 0), Instant(5)));
        answers.remove(&[1; 32]);
        assert!(answers.have_room_for(&answered(2, 0, 9), Instant(5)));
    }

    #[test]
    fn answers_that_are_valid_leave_the_room_of_those_that_have_expired() {
        let max = IdempotencyShare::Application.bytes_max();
        let half = max / 2 - RECORD_BYTES;
        let day = KEPT_SECONDS;
        let answers: IdempotencyRecords =
            [answered(1, 0, half), answered(2, 9, half)].into_iter().collect();
        let has_room = |bytes, now| answers.have_room_for(&answered(3, 0, bytes), Instant(now));
        assert!(!has_room(0, day - 1));
        assert!(has_room(half, day) && !has_room(half + 1, day), "the first one has expired");
        // An answer that is larger than the share has none.
        let empty = IdempotencyRecords::default();
        let has_room = |bytes| empty.have_room_for(&answered(1, 0, bytes), Instant(0));
        assert!(has_room(max - RECORD_BYTES) && !has_room(max - RECORD_BYTES + 1));
    }
}
