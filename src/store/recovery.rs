//! From what the disk holds to the state as it was, or to a refusal that says where it is damaged.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::store::batch::chunk_key;
use crate::store::creation::NewGeneration;
use crate::store::database::Database;
use crate::store::durable_watermark::{DurableWatermark, Watermark};
use crate::store::error::{DamageLocation, StoreError};
use crate::store::files::{DirectoryLock, forget_cached, found};
use crate::store::generation::{self, Current, Generation, Layout, journal_path, snapshots_path};
use crate::store::journal::{self, SledLog, header_key};
use crate::store::record::{BatchNumber, JournalRecord, Position, Positions, Stream};
use crate::store::replay::{JournalChunks, Replay, TornBatch};
use crate::store::snapshot::{Frames, Snapshots};

/// Rebuilds the state from what the store hands out: every snapshot first, then records.
///
/// What it made is worth nothing unless [`Store::recover`] returns `Ok`. It reports bytes it cannot read as
/// [`StoreError::Rejected`] (which [`crate::store::codec::decode`]'s error turns into), and the store adds the place.
pub trait RecoveryVisitor {
    /// A stream as it stood at `position`. The directory comes first, then groups by id. A stream whose frames rotation
    /// out damaged may be handed out again as it stood earlier: that replaces what was made of it.
    ///
    /// # Errors
    ///
    /// What [`Frames::next`] returned, or bytes that are no state.
    fn snapshot(
        &mut self,
        stream: Stream,
        position: Position,
        frames: &mut Frames<'_, '_>,
    ) -> Result<(), StoreError>;

    /// The next record of its stream that the stream's snapshot does not hold, in the order of the journal.
    ///
    /// # Errors
    ///
    /// Bytes that are no event.
    fn record(&mut self, batch: BatchNumber, record: JournalRecord) -> Result<(), StoreError>;
}

/// The store of one data directory, held by this process and not yet read.
#[derive(Debug)]
pub struct Store {
    directory: PathBuf,
    /// Keeps every other process out.
    lock: DirectoryLock,
    /// What `CURRENT` names.
    current: Current,
    watermark: DurableWatermark,
}

impl Store {
    /// Whether `directory` has no store yet: nothing in it was ever completed.
    ///
    /// # Errors
    ///
    /// [`StoreError::Damaged`] when `CURRENT` is lost or unreadable though a store was completed here, or may have been.
    pub fn is_empty(directory: &Path) -> Result<bool, StoreError> {
        if !found(directory)?.is_some_and(|found| found.is_dir()) {
            return Ok(true);
        }
        if generation::current(directory)?.is_some() {
            return Ok(false);
        }
        let what = match DurableWatermark::open(directory) {
            Ok(watermark) if watermark.was_completed() => {
                "it is missing, but the mark beside it shows that a store was completed"
            }
            // A creation that did not come to its end.
            Ok(_) => return Ok(true),
            Err(error @ (StoreError::Newer { .. } | StoreError::Denied { .. })) => {
                return Err(error);
            }
            // A creation writes the mark before all else: what stands here without one may be a whole store.
            Err(_) if Layout::read(directory)?.holds_a_generation() => {
                "it is missing, and so is a readable mark, but snapshots or a journal stand beside it"
            }
            Err(_) => return Ok(true),
        };
        Err(StoreError::damaged(&directory.join("CURRENT"), DamageLocation::Whole, what))
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
        let mut watermark = DurableWatermark::open(directory)?;
        if !watermark.current().clean {
            forget_cached(directory)?;
            watermark = DurableWatermark::open(directory)?;
        }
        let Some(current) = generation::current(directory)? else {
            return Err(StoreError::Empty { directory: directory.to_owned() });
        };
        if !watermark.was_completed() {
            // From now on a missing `CURRENT` is damage.
            watermark.put(watermark.current())?;
            watermark.sync()?;
        }
        if !watermark.current().clean {
            let snapshots = snapshots_path(directory, current.generation);
            // Where they are missing, the generation before may stand in.
            if found(&snapshots)?.is_some() {
                forget_cached(&snapshots)?;
            }
            for journal in
                Layout::read(directory)?.journals_from(current.before.unwrap_or(current.generation))
            {
                forget_cached(&journal_path(directory, journal))?;
            }
        }
        Ok(Self { directory: directory.to_owned(), lock, current, watermark })
    }

    /// Hands every snapshot and every later record to `visitor`, and finds where the journal goes on. Changes nothing
    /// of what was recorded.
    ///
    /// A stream whose snapshot is damaged comes from the generation before, with all journals since, where there is one.
    ///
    /// # Errors
    ///
    /// The first damage that nothing stands in for, with file and place; only a batch that was being written at the end
    /// is forgiven.
    pub fn recover(self, visitor: &mut impl RecoveryVisitor) -> Result<RecoveredStore, StoreError> {
        let base = Base::read(&self.directory, self.current, visitor)?;
        let Base { positions, from, first_batch, snapshots, restored } = base;
        let before = BatchNumber(first_batch.0.saturating_sub(1));
        let mut replay = Replay::new(self.watermark.current(), positions, before);
        let journals = Layout::read(&self.directory)?.journals_from(from);
        if journals.first() != Some(&from) {
            let path = journal_path(&self.directory, from);
            return Err(StoreError::damaged(
                &path,
                DamageLocation::Whole,
                "the journal of this generation is missing",
            ));
        }
        let mut newest = None;
        for journal in &journals {
            let database = self.journal(*journal, &mut replay, visitor)?;
            if let Some(older) = newest.replace(database) {
                older.close()?;
            }
        }
        let journal = newest.expect("the journal of the first generation was read");
        replay.end(journal.path())?;
        let report = RecoveryReport {
            generation: self.current.generation.0,
            clean: self.watermark.current().clean,
            snapshots,
            restored,
            batches: replay.batches,
            records: replay.records,
            last: replay.last,
            cut: replay.cut.as_ref().map(|(cut, _)| *cut),
        };
        let torn = replay.cut.map(|(_, path)| path);
        Ok(RecoveredStore { store: self, journal, torn, positions: replay.positions, report })
    }

    fn journal(
        &self,
        generation: Generation,
        replay: &mut Replay,
        visitor: &mut impl RecoveryVisitor,
    ) -> Result<Database, StoreError> {
        let database = Database::open(&journal_path(&self.directory, generation))?;
        let header = journal::header(&database, generation.0)?;
        let expected = replay.last.next();
        if header.first_batch != 0 && header.first_batch != expected.0 {
            let what = format!(
                "it begins with batch {}, where batch {expected} belongs",
                header.first_batch
            );
            return Err(StoreError::damaged(database.path(), DamageLocation::Header, what));
        }
        let source = JournalChunks { path: database.path(), chunks: database.after(&header_key()) };
        replay.journal(source, |batch, record| visitor.record(batch, record))?;
        Ok(database)
    }
}

/// What the journals are replayed onto.
struct Base {
    positions: Positions,
    /// The first journal to be replayed.
    from: Generation,
    /// Number of its first batch.
    first_batch: BatchNumber,
    /// How many streams have a snapshot.
    snapshots: u64,
    /// Streams that came from the generation before.
    restored: u64,
}

/// The snapshots that could be read, and the first failure of those that could not.
#[derive(Default)]
struct Reading {
    whole: BTreeMap<Stream, Position>,
    /// Number of the first batch to be replayed; 0 where nobody can say.
    first_batch: BatchNumber,
    /// Streams that could not be read.
    damaged: BTreeSet<Stream>,
    /// How many streams were written, where that can be read.
    written: usize,
    failed: Option<StoreError>,
}

impl Base {
    fn read(
        directory: &Path,
        current: Current,
        visitor: &mut impl RecoveryVisitor,
    ) -> Result<Self, StoreError> {
        let mut reading = Reading::default();
        reading.generation(directory, current.generation, visitor)?;
        let (mut from, mut first_batch) = (current.generation, reading.first_batch);
        let newest = reading.whole.len();
        if let Some(failed) = reading.failed.take() {
            let Some(before) = current.before else { return Err(failed) };
            forget_cached(&snapshots_path(directory, before))?;
            reading.generation(directory, before, visitor)?;
            let missing = reading.damaged.iter().any(|stream| !reading.whole.contains_key(stream));
            if reading.failed.is_some() || missing || reading.whole.len() < reading.written {
                // What is wrong with the current generation is what the operator has to know.
                return Err(failed);
            }
            (from, first_batch) = (before, reading.first_batch);
        }
        let mut positions = Positions::default();
        reading.whole.iter().for_each(|(stream, position)| positions.snapshot(*stream, *position));
        let snapshots = u64::try_from(reading.whole.len()).expect("a count");
        let restored = u64::try_from(reading.whole.len() - newest).expect("a count");
        Ok(Self { positions, from, first_batch, snapshots, restored })
    }
}

impl Reading {
    /// Reads the streams of a generation that were not read yet.
    ///
    /// # Errors
    ///
    /// What no older generation can help with.
    fn generation(
        &mut self,
        directory: &Path,
        generation: Generation,
        visitor: &mut impl RecoveryVisitor,
    ) -> Result<(), StoreError> {
        let read = self.streams(directory, generation, visitor);
        match read {
            Ok(()) => {}
            Err(error @ (StoreError::Damaged { .. } | StoreError::Database { .. })) => {
                self.failed.get_or_insert(error);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn streams(
        &mut self,
        directory: &Path,
        generation: Generation,
        visitor: &mut impl RecoveryVisitor,
    ) -> Result<(), StoreError> {
        let database = Database::open(&snapshots_path(directory, generation))?;
        let snapshots = Snapshots::open(database, generation.0)?;
        self.first_batch = snapshots.first_batch();
        self.written = self.written.max(snapshots.streams());
        let Self { whole, damaged, failed, .. } = self;
        let already: BTreeSet<Stream> = whole.keys().copied().collect();
        let position = Cell::new(Position::default());
        snapshots.for_each_or(
            |stream, at, frames| {
                position.set(at);
                if already.contains(&stream) {
                    Ok(())
                } else {
                    visitor.snapshot(stream, at, frames)
                }
            },
            |stream, read| match read {
                Ok(()) => {
                    whole.entry(stream).or_insert(position.get());
                    Ok(())
                }
                // A stream that the newer generation has whole may be damaged here.
                Err(StoreError::Damaged { .. } | StoreError::Database { .. })
                    if already.contains(&stream) =>
                {
                    Ok(())
                }
                Err(error @ (StoreError::Damaged { .. } | StoreError::Database { .. })) => {
                    damaged.insert(stream);
                    failed.get_or_insert(error);
                    Ok(())
                }
                Err(error) => Err(error),
            },
        )?;
        snapshots.close()
    }
}

/// What a recovery found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoveryReport {
    /// The current generation.
    pub generation: u64,
    /// Whether the last process ended on purpose.
    pub clean: bool,
    /// Streams that had a snapshot.
    pub snapshots: u64,
    /// Streams among them whose snapshot is damaged, so that the generation before stood in for it.
    pub restored: u64,
    /// Batches read.
    pub batches: u64,
    /// Records handed out.
    pub records: u64,
    /// The last whole batch; 0 before the first.
    pub last: BatchNumber,
    /// A batch that was being written at the end. Nobody was answered for it; [`RecoveredStore::into_log`] removes it.
    pub cut: Option<TornBatch>,
}

/// A store that was read to its end and found whole.
#[derive(Debug)]
pub struct RecoveredStore {
    store: Store,
    /// The newest journal, open.
    journal: Database,
    /// The journal that ends in a torn batch, if one does.
    torn: Option<PathBuf>,
    /// Where each stream stands.
    positions: Positions,
    report: RecoveryReport,
}

impl RecoveredStore {
    /// What was found.
    #[must_use]
    pub const fn report(&self) -> &RecoveryReport {
        &self.report
    }

    /// Goes on where the journal ended: removes a torn batch, and what belongs to no generation that could still be
    /// needed.
    ///
    /// # Errors
    ///
    /// When the disk refuses.
    pub fn into_log(self) -> Result<SledLog, StoreError> {
        let Self { store, mut journal, torn, positions, report } = self;
        let Store { directory, lock, current, mut watermark } = store;
        Layout::read(&directory)?.remove_leftovers(Some(current))?;
        match (report.cut, torn) {
            (Some(cut), Some(path)) if path != journal.path() => {
                // The journal rotation before anything else was appended.
                let mut torn = Database::open(&path)?;
                remove_batch(&mut torn, cut.batch)?;
                torn.close()?;
            }
            (Some(cut), _) => remove_batch(&mut journal, cut.batch)?,
            (None, _) => {}
        }
        // Synced, so that a crash right after it is seen as one. The crc stays that of the watermark batch.
        watermark.put(Watermark { clean: false, ..watermark.current() })?;
        watermark.sync()?;
        let (lock, last) = (Arc::new(lock), report.last);
        Ok(SledLog { directory, lock, journal, watermark, positions, last, poisoned: false })
    }

    /// Begins a generation that replaces the content as a whole (import with `--merge`). Batches keep counting. Until
    /// [`NewGeneration::publish`] the old content stands.
    ///
    /// # Errors
    ///
    /// When the disk refuses.
    pub fn replace(self) -> Result<NewGeneration, StoreError> {
        let SledLog { directory, lock, journal, mut watermark, last, .. } = self.into_log()?;
        let lock = Arc::into_inner(lock).expect("nobody was given the log");
        journal.close()?;
        watermark.put(Watermark { clean: true, ..watermark.current() })?;
        watermark.sync()?;
        NewGeneration::begin(&directory, lock, last.next())
    }
}

fn remove_batch(journal: &mut Database, batch: BatchNumber) -> Result<(), StoreError> {
    let before = chunk_key(BatchNumber(batch.0 - 1), u32::MAX);
    let keys = journal
        .after(&before)
        .map(|entry| entry.map(|(key, _)| key))
        .collect::<Result<Vec<_>, _>>()?;
    journal.write(keys.into_iter().map(|key| (key, None::<Vec<u8>>)))
}
