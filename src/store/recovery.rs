//! From what the disk holds to the state as it was, or to a refusal that says where it is damaged.

use std::path::{Path, PathBuf};

use super::batch::chunk_key;
use super::creation::NewGeneration;
use super::database::Database;
use super::error::{Place, StoreError};
use super::files::{DirectoryLock, forget_cached};
use super::generation::{self, Generation, Layout, journal_path, snapshots_path};
use super::journal::{self, SledLog, header_key};
use super::mark::{Mark, Marked};
use super::record::{BatchNumber, Position, Positions, Record, Stream};
use super::replay::{Cut, Replay, Source};
use super::snapshot::{Frames, Snapshots};

/// Rebuilds the state from what the store hands out: every snapshot first, then records.
///
/// What it made is worth nothing unless [`Store::recover`] returns `Ok`. It reports bytes it cannot read as
/// [`StoreError::Rejected`] (which [`super::codec::decode`]'s error turns into), and the store adds the place.
pub trait Visitor {
    /// A stream as it stood at `position`. The directory comes first, then groups by id.
    ///
    /// # Errors
    ///
    /// What [`Frames::next`] returned, or bytes that are no state.
    fn snapshot(&mut self, stream: Stream, position: Position, frames: &mut Frames<'_, '_>) -> Result<(), StoreError>;

    /// The next record of its stream that the stream's snapshot does not hold, in the order of the journal.
    ///
    /// # Errors
    ///
    /// Bytes that are no event.
    fn record(&mut self, batch: BatchNumber, record: Record) -> Result<(), StoreError>;
}

/// The store of one data directory, held by this process and not yet read.
#[derive(Debug)]
pub struct Store {
    directory: PathBuf,
    /// Keeps every other process out.
    lock: DirectoryLock,
    /// What `CURRENT` names.
    current: Generation,
    mark: Mark,
}

impl Store {
    /// Whether `directory` has no store yet: nothing in it was ever completed.
    ///
    /// # Errors
    ///
    /// [`StoreError::Damaged`] when `CURRENT` is lost or unreadable though the directory was in use.
    pub fn is_empty(directory: &Path) -> Result<bool, StoreError> {
        if !directory.is_dir() {
            return Ok(true);
        }
        if generation::current(directory)?.is_some() {
            return Ok(false);
        }
        let served = directory.join("mark").is_file() && Mark::open(directory).is_ok_and(|mark| mark.was_served());
        if served {
            let what = "it is missing, but the mark beside it shows that a store was in use";
            return Err(StoreError::damaged(&directory.join("CURRENT"), Place::Whole, what));
        }
        Ok(true)
    }

    /// Takes hold of the store in `directory`. After an unclean end it makes the files come from the disk, not from
    /// the operating system's memory.
    ///
    /// # Errors
    ///
    /// [`StoreError::Empty`] without a store, [`StoreError::Locked`] while another process uses it.
    pub fn open(directory: &Path) -> Result<Self, StoreError> {
        if Self::is_empty(directory)? {
            return Err(StoreError::Empty { directory: directory.to_owned() });
        }
        let lock = DirectoryLock::take(directory)?;
        Self::open_locked(directory, lock)
    }

    pub(super) fn open_locked(directory: &Path, lock: DirectoryLock) -> Result<Self, StoreError> {
        let mut mark = Mark::open(directory)?;
        if !mark.marked().clean {
            forget_cached(directory)?;
            mark = Mark::open(directory)?;
        }
        let Some(current) = generation::current(directory)? else {
            return Err(StoreError::Empty { directory: directory.to_owned() });
        };
        if !mark.marked().clean {
            forget_cached(&snapshots_path(directory, current))?;
            for journal in Layout::read(directory)?.journals_from(current) {
                forget_cached(&journal_path(directory, journal))?;
            }
        }
        Ok(Self { directory: directory.to_owned(), lock, current, mark })
    }

    /// Hands every snapshot and every later record to `visitor`, and finds where the journal goes on. Changes nothing
    /// of what was recorded.
    ///
    /// # Errors
    ///
    /// The first damage, with file and place; only a batch that was being written at the end is forgiven.
    pub fn recover(self, visitor: &mut impl Visitor) -> Result<Recovered, StoreError> {
        let (positions, first_batch, snapshots) = self.snapshots(visitor)?;
        let before = BatchNumber(first_batch.0.saturating_sub(1));
        let mut replay = Replay::new(self.mark.marked(), positions, before);
        let journals = Layout::read(&self.directory)?.journals_from(self.current);
        if journals.first() != Some(&self.current) {
            let path = journal_path(&self.directory, self.current);
            return Err(StoreError::damaged(&path, Place::Whole, "the journal of the current generation is missing"));
        }
        let mut newest = None;
        for journal in &journals {
            let database = self.journal(*journal, journals.last() == Some(journal), &mut replay, visitor)?;
            if let Some(older) = newest.replace(database) {
                older.close()?;
            }
        }
        let journal = newest.expect("the journal of the current generation was read");
        replay.end(journal.path())?;
        let report = Report {
            generation: self.current.0,
            clean: self.mark.marked().clean,
            snapshots,
            batches: replay.batches,
            records: replay.records,
            last: replay.last,
            cut: replay.cut,
        };
        Ok(Recovered { store: self, journal, positions: replay.positions, report })
    }

    fn snapshots(&self, visitor: &mut impl Visitor) -> Result<(Positions, BatchNumber, u64), StoreError> {
        let database = Database::open(&snapshots_path(&self.directory, self.current))?;
        let snapshots = Snapshots::open(database, self.current.0)?;
        let mut positions = Positions::default();
        let streams = snapshots.for_each(|stream, position, frames| {
            positions.snapshot(stream, position);
            visitor.snapshot(stream, position, frames)
        })?;
        let first_batch = snapshots.first_batch();
        snapshots.close()?;
        Ok((positions, first_batch, streams))
    }

    fn journal(
        &self,
        generation: Generation,
        newest: bool,
        replay: &mut Replay,
        visitor: &mut impl Visitor,
    ) -> Result<Database, StoreError> {
        let database = Database::open(&journal_path(&self.directory, generation))?;
        let header = journal::header(&database, generation.0)?;
        let expected = replay.last.next();
        if header.first_batch != expected.0 {
            let what = format!("it begins with batch {}, where batch {expected} belongs", header.first_batch);
            return Err(StoreError::damaged(database.path(), Place::Header, what));
        }
        let source = Source { path: database.path(), newest, chunks: database.after(&header_key()) };
        replay.journal(source, |batch, record| visitor.record(batch, record))?;
        Ok(database)
    }
}

/// What a recovery found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// The current generation.
    pub generation: u64,
    /// Whether the last process ended on purpose.
    pub clean: bool,
    /// Streams that had a snapshot.
    pub snapshots: u64,
    /// Batches read.
    pub batches: u64,
    /// Records handed out.
    pub records: u64,
    /// The last whole batch; 0 before the first.
    pub last: BatchNumber,
    /// A batch that was being written at the end. Nobody was answered for it; [`Recovered::into_log`] removes it.
    pub cut: Option<Cut>,
}

/// A store that was read to its end and found whole.
#[derive(Debug)]
pub struct Recovered {
    store: Store,
    /// The newest journal, open.
    journal: Database,
    /// Where each stream stands.
    positions: Positions,
    report: Report,
}

impl Recovered {
    /// What was found.
    #[must_use]
    pub const fn report(&self) -> &Report {
        &self.report
    }

    /// Goes on where the journal ended: removes a torn batch, and what belongs to no generation that could still be
    /// needed.
    ///
    /// # Errors
    ///
    /// When the disk refuses.
    pub fn into_log(self) -> Result<SledLog, StoreError> {
        let Self { store, mut journal, positions, report } = self;
        let Store { directory, lock, current, mut mark } = store;
        Layout::read(&directory)?.remove_leftovers(Some(current))?;
        if let Some(cut) = report.cut {
            remove_batch(&mut journal, cut.batch)?;
        }
        // Synced, so that a crash right after it is seen as one. The crc stays that of the marked batch.
        mark.put(Marked { clean: false, ..mark.marked() })?;
        mark.sync()?;
        let last = report.last;
        Ok(SledLog { directory, lock, journal, mark, positions, last, poisoned: false })
    }

    /// Begins a generation that replaces the content as a whole (import with `--merge`). Batches keep counting. Until
    /// [`NewGeneration::publish`] the old content stands.
    ///
    /// # Errors
    ///
    /// When the disk refuses.
    pub fn replace(self) -> Result<NewGeneration, StoreError> {
        let SledLog { directory, lock, journal, mut mark, last, .. } = self.into_log()?;
        journal.close()?;
        mark.put(Marked { clean: true, ..mark.marked() })?;
        mark.sync()?;
        NewGeneration::begin(&directory, lock, last.next())
    }
}

fn remove_batch(journal: &mut Database, batch: BatchNumber) -> Result<(), StoreError> {
    let before = chunk_key(BatchNumber(batch.0 - 1), u32::MAX);
    let keys = journal.after(&before).map(|entry| entry.map(|(key, _)| key)).collect::<Result<Vec<_>, _>>()?;
    journal.write(keys.into_iter().map(|key| (key, None::<Vec<u8>>)))
}
