//! Formats of records and snapshots that a log writes. Servers of two releases share a store only
//! while both write what both can read. Reference 8.11.

use std::fmt;
use std::sync::atomic::{AtomicU16, Ordering};

use crate::store::codec::{RECORD_FORMAT, SNAPSHOT_FORMAT};

/// A format of records with one of snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Formats {
    /// Format of the records in a journal.
    pub records: u16,
    /// Format of the frames in a snapshot.
    pub snapshots: u16,
}

impl Formats {
    /// The newest formats that this release reads and writes. A store of its own has them always.
    pub const NEWEST: Self = Self { records: RECORD_FORMAT, snapshots: SNAPSHOT_FORMAT };
    /// The oldest formats that this release can still write, for a shared store in which no newer
    /// ones are in force. This is the first release whose servers share a store, so that none is
    /// older. A release with a newer format keeps the one before here: CONTRIBUTING.md says how.
    pub const OLDEST_WRITTEN: Self = Self::NEWEST;

    /// Whether neither format is newer than those of `other`.
    pub(crate) const fn are_within(self, other: Self) -> bool {
        self.records <= other.records && self.snapshots <= other.snapshots
    }
}

impl fmt::Display for Formats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "records {}, snapshots {}", self.records, self.snapshots)
    }
}

/// The format in which a log has its records written. It only rises, so that a record that was
/// encoded before a raise is in a format that all servers read.
#[derive(Debug)]
pub struct RecordFormat(AtomicU16);

impl RecordFormat {
    /// Begins with the format in force; this release writes it, or its newest if that is older.
    pub(crate) fn new(in_force: u16) -> Self {
        Self(AtomicU16::new(in_force.min(RECORD_FORMAT)))
    }

    /// Returns the format of the next record.
    pub fn get(&self) -> u16 {
        self.0.load(Ordering::Acquire)
    }

    /// Raises it to the format in force, as far as this release writes it.
    pub(crate) fn raise(&self, in_force: u16) {
        self.0.fetch_max(in_force.min(RECORD_FORMAT), Ordering::AcqRel);
    }
}

impl Default for RecordFormat {
    /// Returns the newest format: no other release reads what is written.
    fn default() -> Self {
        Self::new(RECORD_FORMAT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_of_records_rises_to_the_newest_and_never_falls() {
        let format = RecordFormat::new(RECORD_FORMAT - 2);
        format.raise(RECORD_FORMAT - 1);
        assert_eq!(format.get(), RECORD_FORMAT - 1);
        format.raise(RECORD_FORMAT - 2);
        assert_eq!(format.get(), RECORD_FORMAT - 1);
        format.raise(RECORD_FORMAT + 1);
        assert_eq!(format.get(), RECORD_FORMAT);
        assert_eq!(RecordFormat::new(RECORD_FORMAT + 1).get(), RECORD_FORMAT);
    }

    #[test]
    fn formats_are_within_others_if_neither_is_newer() {
        let formats = |records, snapshots| Formats { records, snapshots };
        assert!(formats(7, 7).are_within(formats(7, 8)));
        assert!(!formats(7, 8).are_within(formats(8, 7)));
        assert!(Formats::OLDEST_WRITTEN.are_within(Formats::NEWEST));
    }
}
