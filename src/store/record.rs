//! What the journal holds: records, each the next of its stream, in numbered batches.

use std::collections::BTreeMap;
use std::fmt;

use crate::domain::records::ids::GroupId;

use crate::store::codec::RECORD_FORMAT;

/// Whose history a record continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stream {
    /// The directory: keys, professionals, the list of groups.
    Directory,
    /// One group.
    Group(GroupId),
}

impl Stream {
    /// Its number on disk: 0 for the directory, else the group's id, so that the directory is read first.
    pub(super) const fn number(self) -> u64 {
        match self {
            Self::Directory => 0,
            Self::Group(group) => group.number(),
        }
    }

    /// The stream of that number on disk, or `None` where no group can have that id.
    pub(super) fn from_number(number: u64) -> Option<Self> {
        if number == 0 { Some(Self::Directory) } else { GroupId::new(number).map(Self::Group) }
    }
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory => f.write_str("the directory"),
            Self::Group(group) => write!(f, "group {group}"),
        }
    }
}

/// Number of a batch, contiguous over the life of the store. The first batch is 1; 0 stands before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BatchNumber(pub u64);

impl BatchNumber {
    /// The number of the batch after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for BatchNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One event of one stream, as bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalRecord {
    /// Format of `bytes`: [`RECORD_FORMAT`] when written by this release.
    pub format: u16,
    /// Whose event it is.
    pub stream: Stream,
    /// Under which ownership of the stream it was written; never falls within a stream.
    pub epoch: u32,
    /// DamageLocation in the stream, contiguous from 1.
    pub sequence: u64,
    /// The event, encoded.
    pub bytes: Vec<u8>,
}

impl JournalRecord {
    /// A record in the format this release writes.
    #[must_use]
    pub const fn new(stream: Stream, epoch: u32, sequence: u64, bytes: Vec<u8>) -> Self {
        Self { format: RECORD_FORMAT, stream, epoch, sequence, bytes }
    }
}

/// How far a stream has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Epoch of the last record.
    pub epoch: u32,
    /// Sequence of the last record; 0 before the first.
    pub sequence: u64,
}

/// Where each stream stands, to tell whether a record continues it.
#[derive(Clone, Debug, Default)]
pub(super) struct Positions {
    /// Streams that have a snapshot or a record. Entries are never removed.
    streams: BTreeMap<Stream, StreamProgress>,
}

#[derive(Clone, Copy, Debug, Default)]
struct StreamProgress {
    /// Where the stream's snapshot stands; the beginning without one.
    snapshot: Position,
    /// The last record met in a journal. Before the first, a journal may begin anywhere that leaves no gap to the
    /// snapshot.
    journal: Option<Position>,
}

/// A record that continues its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Continues {
    /// Past the snapshot.
    Anew,
    /// The snapshot holds it already.
    InSnapshot,
}

impl Positions {
    /// Notes a snapshot, before any record of its stream.
    pub(super) fn snapshot(&mut self, stream: Stream, position: Position) {
        self.streams.insert(stream, StreamProgress { snapshot: position, journal: None });
    }

    /// Moves the record's stream to the record.
    ///
    /// # Errors
    ///
    /// The sequence that belongs there, when the record is not the next of its stream or its epoch falls.
    pub(super) fn advance(&mut self, record: &JournalRecord) -> Result<Continues, u64> {
        let reached = self.streams.entry(record.stream).or_default();
        let snapshot = reached.snapshot;
        let in_snapshot = record.sequence <= snapshot.sequence;
        let follows = match reached.journal {
            Some(last) => record.sequence == last.sequence + 1 && record.epoch >= last.epoch,
            None => record.sequence >= 1 && record.sequence <= snapshot.sequence + 1,
        };
        if !follows || (!in_snapshot && record.epoch < snapshot.epoch) {
            return Err(reached.journal.map_or(snapshot.sequence, |last| last.sequence) + 1);
        }
        reached.journal = Some(Position { epoch: record.epoch, sequence: record.sequence });
        Ok(if in_snapshot { Continues::InSnapshot } else { Continues::Anew })
    }

    /// Ends the reading of journals: from here on every record must be the very next.
    ///
    /// # Errors
    ///
    /// A stream whose journal breaks off before its snapshot, with the last record found and the snapshot's.
    pub(super) fn settle(&mut self) -> Result<(), (Stream, u64, u64)> {
        for (stream, reached) in &mut self.streams {
            let last = reached.journal.unwrap_or(reached.snapshot);
            if last.sequence < reached.snapshot.sequence {
                return Err((*stream, last.sequence, reached.snapshot.sequence));
            }
            reached.journal = Some(last);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(epoch: u32, sequence: u64) -> JournalRecord {
        JournalRecord::new(Stream::Directory, epoch, sequence, Vec::new())
    }

    #[test]
    fn a_stream_begins_at_one_and_leaves_no_gap() {
        let mut positions = Positions::default();
        assert_eq!(positions.advance(&record(0, 2)), Err(1));
        assert_eq!(positions.advance(&record(0, 0)), Err(1));
        assert_eq!(positions.advance(&record(0, 1)), Ok(Continues::Anew));
        assert_eq!(positions.advance(&record(0, 1)), Err(2));
        assert_eq!(positions.advance(&record(0, 3)), Err(2));
        assert_eq!(positions.advance(&record(4, 2)), Ok(Continues::Anew));
        assert_eq!(
            positions.advance(&record(3, 3)),
            Err(3),
            "an owner that lost the stream is fenced out"
        );
    }

    #[test]
    fn a_journal_may_begin_before_its_snapshot_but_not_end_before_it() {
        let mut positions = Positions::default();
        positions.snapshot(Stream::Directory, Position { epoch: 1, sequence: 10 });
        assert_eq!(positions.clone().advance(&record(1, 12)), Err(11));
        assert_eq!(positions.clone().advance(&record(0, 11)), Err(11));
        assert_eq!(positions.advance(&record(0, 9)), Ok(Continues::InSnapshot));
        assert_eq!(positions.clone().settle(), Err((Stream::Directory, 9, 10)));
        assert_eq!(positions.advance(&record(1, 10)), Ok(Continues::InSnapshot));
        assert_eq!(positions.advance(&record(1, 11)), Ok(Continues::Anew));
        assert_eq!(positions.settle(), Ok(()));
    }

    #[test]
    fn a_settled_stream_goes_on_right_after_its_snapshot() {
        let mut positions = Positions::default();
        positions.snapshot(Stream::Directory, Position { epoch: 1, sequence: 10 });
        positions.settle().unwrap();
        assert_eq!(positions.advance(&record(1, 10)), Err(11));
        assert_eq!(positions.advance(&record(1, 11)), Ok(Continues::Anew));
    }
}
