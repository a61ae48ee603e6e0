//! Records of the journal: each is the next event of its stream, in numbered batches.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::domain::records::ids::GroupId;
use crate::store::codec::{self, RECORD_FORMAT};

/// A sequence of records with its own numbering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stream {
    /// The directory: keys, professionals, the list of groups.
    Directory,
    /// One group.
    Group(GroupId),
}

impl Stream {
    /// Its number on disk: 0 for the directory, else the group's id. So the directory sorts first.
    pub(crate) const fn number(self) -> u64 {
        match self {
            Self::Directory => 0,
            Self::Group(group) => group.number(),
        }
    }

    /// Returns the stream of that number on disk; `None` where no group can have that id.
    pub(crate) fn from_number(number: u64) -> Option<Self> {
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

/// Number of a batch, contiguous over the life of the store. The first batch is 1; 0 means none.
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
    /// Format of `bytes`.
    pub format: u16,
    /// The stream that the event belongs to.
    pub stream: Stream,
    /// Ownership of the stream under which it was written. It never falls within a stream.
    pub epoch: u32,
    /// Number in the stream, contiguous from 1.
    pub sequence: u64,
    /// The event, encoded.
    pub bytes: Vec<u8>,
}

impl JournalRecord {
    /// Encodes an event in a format that this release writes: the [`RecordFormat`] of the log that
    /// the record is for. Its epoch will be that of the log.
    ///
    /// [`RecordFormat`]: crate::store::RecordFormat
    pub fn encode(stream: Stream, sequence: u64, event: &impl Serialize, format: u16) -> Self {
        let bytes = codec::in_format(format, || codec::encode(event));
        Self { format, ..Self::new(stream, sequence, bytes) }
    }

    /// Makes a record of bytes in the newest format. Its epoch will be that of the log that writes
    /// it.
    pub const fn new(stream: Stream, sequence: u64, bytes: Vec<u8>) -> Self {
        Self { format: RECORD_FORMAT, stream, epoch: 0, sequence, bytes }
    }
}

/// The last record of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Epoch of the last record.
    pub epoch: u32,
    /// Sequence of the last record; 0 before the first.
    pub sequence: u64,
}

/// Positions of all streams. They decide whether a record continues its stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct StreamPositions {
    /// Streams that have a snapshot or a record. Entries are never removed.
    streams: BTreeMap<Stream, StreamProgress>,
    /// Number of streams whose journal has not reached their snapshot yet.
    behind: usize,
    /// Whether the journals were read to their ends.
    is_replayed: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct StreamProgress {
    /// Position of the stream's snapshot; the default without a snapshot.
    snapshot: Position,
    /// The last record read from a journal; `None` before the first. The first record may have any
    /// sequence that leaves no gap after the snapshot.
    journal: Option<Position>,
}

impl StreamProgress {
    /// Whether records that the snapshot includes are to come.
    fn is_behind(&self) -> bool {
        self.journal.is_some_and(|last| last.sequence < self.snapshot.sequence)
    }
}

/// Relation of a record to the snapshot of its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordCoverage {
    /// The record comes after the snapshot.
    AfterSnapshot,
    /// The snapshot includes the record already.
    InSnapshot,
}

impl StreamPositions {
    /// Notes a snapshot, before any record of its stream.
    pub(crate) fn note_snapshot(&mut self, stream: Stream, position: Position) {
        let progress = StreamProgress { snapshot: position, journal: None };
        let before = self.streams.insert(stream, progress);
        self.behind -= usize::from(before.is_some_and(|before| before.is_behind()));
    }

    /// Returns the highest epoch of all streams; 0 without a stream.
    pub(crate) fn highest_epoch(&self) -> u32 {
        let positions = self
            .streams
            .values()
            .map(|progress| progress.journal.map_or(progress.snapshot.epoch, |last| last.epoch));
        positions.max().unwrap_or(0)
    }

    /// Advances the record's stream to the record.
    ///
    /// # Errors
    ///
    /// The expected sequence, when the record is not the next of its stream or its epoch falls.
    pub(crate) fn advance(&mut self, record: &JournalRecord) -> Result<RecordCoverage, u64> {
        self.advance_at(record, record.epoch)
    }

    /// Does as [`StreamPositions::advance`] for a record that gets the epoch `epoch`.
    ///
    /// # Errors
    ///
    /// As [`StreamPositions::advance`].
    pub(crate) fn advance_at(
        &mut self,
        record: &JournalRecord,
        epoch: u32,
    ) -> Result<RecordCoverage, u64> {
        let progress = self.streams.entry(record.stream).or_default();
        let snapshot = progress.snapshot;
        let in_snapshot = record.sequence <= snapshot.sequence;
        let was_behind = progress.is_behind();
        let last = match progress.journal {
            None if self.is_replayed => Some(snapshot),
            journal => journal,
        };
        let follows = match last {
            Some(last) => record.sequence == last.sequence + 1 && epoch >= last.epoch,
            None => record.sequence >= 1 && record.sequence <= snapshot.sequence + 1,
        };
        if !follows || (!in_snapshot && epoch < snapshot.epoch) {
            return Err(last.unwrap_or(snapshot).sequence + 1);
        }
        progress.journal = Some(Position { epoch, sequence: record.sequence });
        match (was_behind, progress.is_behind()) {
            (false, true) => self.behind += 1,
            (true, false) => self.behind -= 1,
            (false, false) | (true, true) => {}
        }
        if in_snapshot { Ok(RecordCoverage::InSnapshot) } else { Ok(RecordCoverage::AfterSnapshot) }
    }

    /// Ends the reading of journals. From here on every record must be the very next. It looks at
    /// streams only if there is an error.
    ///
    /// # Errors
    ///
    /// A stream whose journal ends before its snapshot, with the last record and the snapshot's.
    pub(crate) fn end_replay(&mut self) -> Result<(), (Stream, u64, u64)> {
        if self.behind > 0 {
            for (stream, progress) in &self.streams {
                if progress.is_behind()
                    && let Some(last) = progress.journal
                {
                    return Err((*stream, last.sequence, progress.snapshot.sequence));
                }
            }
        }
        self.is_replayed = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(epoch: u32, sequence: u64) -> JournalRecord {
        JournalRecord { epoch, ..JournalRecord::new(Stream::Directory, sequence, Vec::new()) }
    }

    #[test]
    fn a_stream_begins_at_one_and_leaves_no_gap() {
        let mut positions = StreamPositions::default();
        assert_eq!(positions.advance(&record(0, 2)), Err(1));
        assert_eq!(positions.advance(&record(0, 0)), Err(1));
        assert_eq!(positions.advance(&record(0, 1)), Ok(RecordCoverage::AfterSnapshot));
        assert_eq!(positions.advance(&record(0, 1)), Err(2));
        assert_eq!(positions.advance(&record(0, 3)), Err(2));
        assert_eq!(positions.advance(&record(4, 2)), Ok(RecordCoverage::AfterSnapshot));
        assert_eq!(
            positions.advance(&record(3, 3)),
            Err(3),
            "a former owner of the stream is fenced out"
        );
    }

    #[test]
    fn a_journal_may_begin_before_its_snapshot_but_not_end_before_it() {
        let mut positions = StreamPositions::default();
        positions.note_snapshot(Stream::Directory, Position { epoch: 1, sequence: 10 });
        assert_eq!(positions.clone().advance(&record(1, 12)), Err(11));
        assert_eq!(positions.clone().advance(&record(0, 11)), Err(11));
        assert_eq!(positions.advance(&record(0, 9)), Ok(RecordCoverage::InSnapshot));
        assert_eq!(positions.clone().end_replay(), Err((Stream::Directory, 9, 10)));
        assert_eq!(positions.advance(&record(1, 10)), Ok(RecordCoverage::InSnapshot));
        assert_eq!(positions.advance(&record(1, 11)), Ok(RecordCoverage::AfterSnapshot));
        assert_eq!(positions.end_replay(), Ok(()));
    }

    #[test]
    fn a_stream_is_behind_until_its_journal_reaches_its_snapshot_or_that_is_read_anew() {
        let mut positions = StreamPositions::default();
        let snapshot = Position { epoch: 0, sequence: 10 };
        positions.note_snapshot(Stream::Directory, snapshot);
        for sequence in 8..=10 {
            assert_eq!(positions.advance(&record(0, sequence)), Ok(RecordCoverage::InSnapshot));
            assert_eq!(positions.clone().end_replay().is_ok(), sequence == 10);
        }
        positions.note_snapshot(Stream::Directory, snapshot);
        assert_eq!(positions.advance(&record(0, 8)), Ok(RecordCoverage::InSnapshot));
        positions.note_snapshot(Stream::Directory, snapshot);
        assert_eq!(positions.end_replay(), Ok(()));
        assert_eq!(positions.advance(&record(0, 10)), Err(11));
    }

    #[test]
    fn after_the_replay_a_stream_continues_right_after_its_snapshot() {
        let mut positions = StreamPositions::default();
        positions.note_snapshot(Stream::Directory, Position { epoch: 1, sequence: 10 });
        positions.end_replay().unwrap();
        assert_eq!(positions.advance(&record(1, 10)), Err(11));
        assert_eq!(positions.advance(&record(1, 12)), Err(11));
        assert_eq!(positions.advance(&record(1, 11)), Ok(RecordCoverage::AfterSnapshot));
    }
}
