//! Recovery: rebuilds the state from snapshots and journals, or refuses with the place of the
//! damage. Reference 8.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::store::checkpoint::JournalHandover;
use crate::store::cluster_id::refuse_cluster_directory;
use crate::store::durable_watermark::{DurableWatermark, Watermark};
use crate::store::error::{DamageLocation, StoreError};
use crate::store::files::{DirectoryLock, drop_page_cache, find_metadata};
use crate::store::generation::{
    self, CurrentGeneration, DirectoryLayout, Generation, journal_path, snapshots_path,
};
use crate::store::journal::{self, SledLog, header_key};
use crate::store::presence::Presence;
use crate::store::record::{BatchNumber, JournalRecord, Position, Stream, StreamPositions};
use crate::store::replay::{JournalChunks, Replay, TornBatch};
use crate::store::snapshot::{Frames, Snapshots};
use crate::store::store_files::{DirectoryFiles, StoreFiles};

/// Rebuilds the state from the store's content: every snapshot first, then records.
///
/// Its result is valid only when [`Store::recover`] returns `Ok`. It reports bytes that it cannot
/// decode as [`StoreError::Rejected`], and the store adds the place. The error of
/// [`crate::store::codec::decode`] converts into that one.
pub trait RecoveryVisitor {
    /// Receives a stream at `position`. The directory comes first, then groups by id. A stream
    /// whose frames turn out damaged may be passed again at an earlier position, which replaces the
    /// first.
    ///
    /// # Errors
    ///
    /// The error of [`Frames::next`], or bytes that are no state.
    fn snapshot(
        &mut self,
        stream: Stream,
        position: Position,
        frames: &mut dyn Frames,
    ) -> Result<(), StoreError>;

    /// Receives the next record of its stream that the stream's snapshot does not include, in the
    /// order of the journal.
    ///
    /// # Errors
    ///
    /// Bytes that are no event.
    fn record(&mut self, batch: BatchNumber, record: JournalRecord) -> Result<(), StoreError>;

    /// Hears that all was passed that is written so far. More may come after a while, in which a
    /// visitor may do what has to be done with the states at some time.
    fn caught_up(&mut self) {}
}

/// The store of one data directory, locked by this process and not yet read.
#[derive(Debug)]
pub struct Store {
    directory: PathBuf,
    /// Excludes every other process.
    lock: DirectoryLock,
    /// Content of `CURRENT`.
    current: CurrentGeneration,
    watermark: DurableWatermark,
}

impl Store {
    /// Whether `directory` has no store yet: no creation in it was ever completed.
    ///
    /// # Errors
    ///
    /// [`StoreError::Damaged`] when `CURRENT` is missing or unreadable in a store that was
    /// completed, or may have been.
    pub fn is_empty(directory: &Path) -> Result<bool, StoreError> {
        if !find_metadata(directory)?.is_some_and(|metadata| metadata.is_dir()) {
            return Ok(true);
        }
        if generation::read_current(directory)?.is_some() {
            return Ok(false);
        }
        let what = match DurableWatermark::open(directory) {
            Ok(watermark) if watermark.was_completed() => {
                "it is missing, but the file `mark` shows that a store was completed"
            }
            // An interrupted creation.
            Ok(_) => return Ok(true),
            Err(error @ (StoreError::Newer { .. } | StoreError::Denied { .. })) => {
                return Err(error);
            }
            // A creation writes the watermark first, so files without one may be a whole store.
            Err(_) if DirectoryLayout::read(directory)?.holds_a_generation() => {
                "it is missing, and so is a readable `mark`, but there are snapshots or a journal"
            }
            Err(_) => return Ok(true),
        };
        Err(StoreError::damaged(&directory.join("CURRENT"), DamageLocation::Whole, what))
    }

    /// Locks the store in `directory`. After an unclean end it drops the page cache, so that
    /// recovery reads the disk.
    ///
    /// # Errors
    ///
    /// [`StoreError::Empty`] without a store, [`StoreError::Locked`] while another process uses it.
    pub fn open(directory: &Path) -> Result<Self, StoreError> {
        if Self::is_empty(directory)? {
            refuse_cluster_directory(directory)?;
            return Err(StoreError::Empty { directory: directory.to_owned() });
        }
        let lock = DirectoryLock::acquire(directory)?;
        Self::open_locked(directory, lock)
    }

    pub(crate) fn open_locked(directory: &Path, lock: DirectoryLock) -> Result<Self, StoreError> {
        let mut watermark = DurableWatermark::open(directory)?;
        if !watermark.current().clean {
            drop_page_cache(directory)?;
            watermark = DurableWatermark::open(directory)?;
        }
        let Some(current) = generation::read_current(directory)? else {
            return Err(StoreError::Empty { directory: directory.to_owned() });
        };
        if !watermark.current().clean {
            drop_databases_from_cache(directory, current)?;
        }
        Ok(Self { directory: directory.to_owned(), lock, current, watermark })
    }

    /// Passes every snapshot and every later record to `visitor`, and finds the end of the journal.
    /// It changes no record.
    ///
    /// A stream whose snapshot is damaged is read from the previous generation and all journals
    /// since, where there is one.
    ///
    /// # Errors
    ///
    /// The first damage that has no replacement, with file and place. A torn batch at the end is no
    /// error.
    pub fn recover(self, visitor: &mut impl RecoveryVisitor) -> Result<RecoveredStore, StoreError> {
        let files = DirectoryFiles { directory: self.directory.clone(), presence: None };
        let source = RecoverySource {
            files: &files,
            current: self.current,
            watermark: self.watermark.current(),
        };
        let replayed = source.recover(visitor)?;
        Ok(RecoveredStore { store: self, replayed })
    }
}

/// The content of a store that a recovery reads.
pub(crate) struct RecoverySource<'a> {
    pub(crate) files: &'a dyn StoreFiles,
    pub(crate) current: CurrentGeneration,
    pub(crate) watermark: Watermark,
}

/// Result of a recovery, by which a log continues.
#[derive(Debug)]
pub(crate) struct ReplayedStore {
    /// The watermark that covers every batch read.
    pub(crate) next_watermark: Watermark,
    /// Positions of all streams.
    pub(crate) positions: StreamPositions,
    /// The newest journal, where it is empty.
    pub(crate) first_journal: Option<Generation>,
    pub(crate) report: RecoveryReport,
}

impl RecoverySource<'_> {
    /// Does as [`Store::recover`].
    ///
    /// # Errors
    ///
    /// As [`Store::recover`].
    pub(crate) fn recover(
        &self,
        visitor: &mut impl RecoveryVisitor,
    ) -> Result<ReplayedStore, StoreError> {
        let directory = self.files.directory();
        let base = ReplayBase::read(self.files, self.current, visitor)?;
        let ReplayBase { positions, from, first_batch, snapshots, restored } = base;
        let before_first = BatchNumber(first_batch.0.saturating_sub(1));
        let mut replay = Replay::new(self.watermark, positions, before_first);
        let journals = self.files.layout()?.journals_from(from);
        if journals.first() != Some(&from) {
            let path = journal_path(directory, from);
            let what = "the journal of this generation is missing";
            return Err(StoreError::damaged(&path, DamageLocation::Whole, what));
        }
        let mut last = LastJournal::Used;
        for journal in &journals {
            let is_last = Some(journal) == journals.last();
            last = self.replay_journal(*journal, is_last, &mut replay, visitor)?;
        }
        let newest = *journals.last().expect("the first one is there");
        replay.finish(&journal_path(directory, newest))?;
        let first_journal = match last {
            LastJournal::Empty => Some(newest),
            LastJournal::Used | LastJournal::Unusable => None,
        };
        let torn_batch = replay.torn_batch.as_ref().map(|(torn, _)| *torn);
        let report = RecoveryReport {
            generation: self.current.generation.0,
            clean: self.watermark.clean,
            snapshots,
            restored,
            batches: replay.batches,
            records: replay.records,
            last: replay.last,
            torn_batch,
        };
        let Replay { next_watermark, positions, .. } = replay;
        Ok(ReplayedStore { next_watermark, positions, first_journal, report })
    }

    /// Replays the journal of a generation.
    fn replay_journal(
        &self,
        generation: Generation,
        is_last: bool,
        replay: &mut Replay,
        visitor: &mut impl RecoveryVisitor,
    ) -> Result<LastJournal, StoreError> {
        let path = journal_path(self.files.directory(), generation);
        let database = self.files.open_copy(&path, None)?;
        let last_key = database.last_key()?;
        // A crash or a failed read while it was begun. If it ever held a batch, the batches that
        // follow or the watermark are ahead of those found, and the replay is refused.
        if last_key.is_none() {
            return Ok(LastJournal::Unusable);
        }
        let header = journal::read_header(&*database, generation.0)?;
        let expected = replay.last.next();
        if header.first_batch != 0 && header.first_batch != expected.0 {
            let first = header.first_batch;
            let what = format!("it begins with batch {first} instead of batch {expected}");
            return Err(StoreError::damaged(&path, DamageLocation::Header, what));
        }
        let first_batch = (header.first_batch != 0).then_some(BatchNumber(header.first_batch));
        let chunks = database.after(&header_key());
        let chunks = JournalChunks { path: &path, first_batch, chunks };
        replay.replay_journal(chunks, |batch, record| visitor.record(batch, record))?;
        database.close()?;
        if is_last && !self.watermark.clean {
            self.expect_same_end(&path, last_key.as_deref())?;
        }
        let is_empty = last_key == Some(header_key());
        Ok(if is_empty { LastJournal::Empty } else { LastJournal::Used })
    }

    /// Reads the newest journal once more. After a power cut the watermark may be older than the
    /// last answered batch, and sled silently ends its log at a failed read. Two readings that
    /// differ show such a failure.
    fn expect_same_end(&self, path: &Path, last_key: Option<&[u8]>) -> Result<(), StoreError> {
        let again = self.files.open_copy(path, None)?;
        if again.last_key()?.as_deref() != last_key {
            return Err(StoreError::ReadingsDiffer { path: path.to_owned() });
        }
        again.close()
    }
}

/// State of the newest journal.
#[derive(Clone, Copy, Debug)]
enum LastJournal {
    /// It holds batches.
    Used,
    /// It holds its header only, and can receive the next batch.
    Empty,
    /// It has no header, and stays unused.
    Unusable,
}

/// Drops the databases that a recovery may read from the page cache.
fn drop_databases_from_cache(
    directory: &Path,
    current: CurrentGeneration,
) -> Result<(), StoreError> {
    let snapshots = snapshots_path(directory, current.generation);
    // Where they are missing, the previous generation may replace them.
    if find_metadata(&snapshots)?.is_some() {
        drop_page_cache(&snapshots)?;
    }
    let oldest = current.previous.unwrap_or(current.generation);
    for journal in DirectoryLayout::read(directory)?.journals_from(oldest) {
        drop_page_cache(&journal_path(directory, journal))?;
    }
    Ok(())
}

/// The streams from snapshots, onto which the journals are replayed.
struct ReplayBase {
    positions: StreamPositions,
    /// The first journal to replay.
    from: Generation,
    /// Number of its first batch.
    first_batch: BatchNumber,
    /// Number of streams that have a snapshot.
    snapshots: u64,
    /// Streams that came from the previous generation.
    restored: u64,
}

/// The readable snapshots, and the first failure of the others.
#[derive(Default)]
struct SnapshotReading {
    /// Streams read without damage, with the position of their snapshot.
    whole: BTreeMap<Stream, Position>,
    /// Number of the first batch to replay; 0 when no header could be read.
    first_batch: BatchNumber,
    /// Streams that could not be read.
    damaged: BTreeSet<Stream>,
    /// Number of streams that were written, as far as a header says.
    written: usize,
    /// The first failure.
    failed: Option<StoreError>,
}

impl ReplayBase {
    fn read(
        files: &dyn StoreFiles,
        current: CurrentGeneration,
        visitor: &mut impl RecoveryVisitor,
    ) -> Result<Self, StoreError> {
        let mut reading = SnapshotReading::default();
        reading.read_generation(files, current.generation, visitor)?;
        let mut from = current.generation;
        let mut first_batch = reading.first_batch;
        let newest = reading.whole.len();
        if let Some(failed) = reading.failed.take() {
            let Some(previous) = current.previous else { return Err(failed) };
            files.drop_page_cache(&snapshots_path(files.directory(), previous))?;
            reading.read_generation(files, previous, visitor)?;
            if reading.failed.is_some() || !reading.is_complete() {
                // The operator has to know the damage of the current generation.
                return Err(failed);
            }
            from = previous;
            first_batch = reading.first_batch;
        }
        let mut positions = StreamPositions::default();
        for (stream, position) in &reading.whole {
            positions.note_snapshot(*stream, *position);
        }
        let snapshots = u64::try_from(reading.whole.len()).expect("a count");
        let restored = u64::try_from(reading.whole.len() - newest).expect("a count");
        Ok(Self { positions, from, first_batch, snapshots, restored })
    }
}

impl SnapshotReading {
    /// Whether every damaged stream was found in another generation.
    fn is_complete(&self) -> bool {
        let replaced = self.damaged.iter().all(|stream| self.whole.contains_key(stream));
        replaced && self.whole.len() >= self.written
    }

    /// Reads the streams of a generation that were not read yet.
    ///
    /// # Errors
    ///
    /// Errors for which no older generation is a replacement.
    fn read_generation(
        &mut self,
        files: &dyn StoreFiles,
        generation: Generation,
        visitor: &mut impl RecoveryVisitor,
    ) -> Result<(), StoreError> {
        match self.read_streams(files, generation, visitor) {
            Ok(()) => Ok(()),
            Err(error) if error.is_unreadable() => {
                self.failed.get_or_insert(error);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn read_streams(
        &mut self,
        files: &dyn StoreFiles,
        generation: Generation,
        visitor: &mut impl RecoveryVisitor,
    ) -> Result<(), StoreError> {
        let database = files.open_copy(&snapshots_path(files.directory(), generation), None)?;
        let snapshots = Snapshots::open(database, generation.0)?;
        self.first_batch = snapshots.first_batch();
        self.written = self.written.max(snapshots.streams());
        let Self { whole, damaged, failed, .. } = self;
        let already: BTreeSet<Stream> = whole.keys().copied().collect();
        let position = Cell::new(Position::default());
        snapshots.visit_streams(
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
                // A stream that the newer generation has undamaged may be damaged here.
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

/// Result of a recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoveryReport {
    /// The current generation.
    pub generation: u64,
    /// Whether the last process closed the store.
    pub clean: bool,
    /// Streams that had a snapshot.
    pub snapshots: u64,
    /// Streams among them whose snapshot is damaged and was read from the previous generation.
    pub restored: u64,
    /// Batches read.
    pub batches: u64,
    /// Records passed to the visitor.
    pub records: u64,
    /// The last whole batch; 0 before the first.
    pub last: BatchNumber,
    /// An incomplete batch at the end. No answer depended on it; [`RecoveredStore::into_log`]
    /// removes it.
    pub torn_batch: Option<TornBatch>,
}

/// A store that was read to its end without damage.
#[derive(Debug)]
pub struct RecoveredStore {
    store: Store,
    replayed: ReplayedStore,
}

impl RecoveredStore {
    /// The result of the recovery.
    pub const fn report(&self) -> &RecoveryReport {
        &self.replayed.report
    }

    /// Continues at the end of the journals: the first batch begins a new one. A torn batch stays
    /// where it is, and the new journal begins with its number. Files of generations that are no
    /// longer needed are removed.
    ///
    /// # Errors
    ///
    /// Returns an error when the disk refuses.
    pub fn into_log(self) -> Result<SledLog, StoreError> {
        let Self { store, replayed } = self;
        let ReplayedStore { next_watermark, positions, first_journal, report } = replayed;
        let Store { directory, lock, current, mut watermark } = store;
        let layout = DirectoryLayout::read(&directory)?;
        layout.remove_leftovers(Some(current))?;
        let first_journal = first_journal.unwrap_or_else(|| layout.unused_generation());
        // Synced, so that a crash right after it counts as one, and a missing `CURRENT` as damage.
        // It covers every batch read, so that no later start can lack one.
        watermark.write(next_watermark)?;
        watermark.sync()?;
        let lock = Arc::new(lock);
        let presence = Arc::new(Presence::note_all(&directory)?);
        let last = report.last;
        Ok(SledLog {
            directory,
            lock,
            presence,
            journal: None,
            first_journal,
            watermark,
            handover: JournalHandover::default(),
            epoch: positions.highest_epoch(),
            positions,
            last,
            poisoned: false,
        })
    }
}
