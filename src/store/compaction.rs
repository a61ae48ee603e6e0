//! Compaction: a new generation of a store that is being written. The journal rotates first, then
//! the snapshots are written beside it. Appends do not wait for any of it. Reference 8.
//!
//! 1. [`Generations::offer_journal`]: an empty journal, on disk with its name.
//! 2. [`crate::store::Log::checkpoint`]: later appends go there.
//! 3. [`Generations::begin_compaction`]: the snapshots, of states that hold at least all that was
//!    appended before the checkpoint.
//! 4. [`Compaction::publish`]: the snapshots are read back from the disk and `CURRENT` is renamed.
//!    Older files than those of the previous generation are removed.
//!
//! After a crash between any two steps the store is complete. A journal that no snapshots precede
//! is replayed after the others, even when it is empty.

use std::path::Path;
use std::sync::Arc;

use crate::planted_faults::PlantedFault;
use crate::store::checkpoint::{Checkpoint, JournalHandover, JournalRotation};
use crate::store::error::StoreError;
use crate::store::files::{DirectoryLock, directory_bytes};
use crate::store::generation::{
    self, CurrentGeneration, DirectoryLayout, Generation, journal_path, snapshots_path,
};
use crate::store::journal::SledLog;
use crate::store::record::{Position, Stream};
use crate::store::snapshot::{DatabaseSnapshot, SnapshotWriter as _, Snapshots, SnapshotsWriter};
use crate::store::store_files::{DirectoryFiles, StoreFiles};

/// The generations of a store that is being written. One thread owns it.
#[derive(Debug)]
pub struct Generations {
    files: Box<dyn StoreFiles>,
    /// Excludes every other process while this one may write; `None` on a simulated disk.
    _lock: Option<Arc<DirectoryLock>>,
    /// Content of `CURRENT`, updated with each publication.
    current: CurrentGeneration,
    /// Generation of the first journal of this life of the server, whether it has begun or not.
    first_journal: Generation,
    /// The place where the log finds its next journal.
    handover: JournalHandover,
}

/// A generation under construction beside the one in use. Dropped before [`Compaction::publish`],
/// it is a leftover that the next start removes.
pub struct Compaction<'a> {
    generations: &'a mut Generations,
    generation: Generation,
    checkpoint: Checkpoint,
    writer: SnapshotsWriter,
    /// The snapshots of the current generation. They are opened for the first copy.
    current: Option<Snapshots>,
}

/// Disk space of a store, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreSizes {
    /// Snapshots of the current generation.
    pub snapshots: u64,
    /// Journals since.
    pub journals: u64,
    /// Number of journals since. Each start that is followed by a write begins one.
    pub journal_count: usize,
}

impl StoreSizes {
    /// Bytes of both.
    pub const fn sum(&self) -> u64 {
        self.snapshots.saturating_add(self.journals)
    }

    fn measure(directory: &Path, current: CurrentGeneration) -> Result<Self, StoreError> {
        let mut journals = 0;
        let since = DirectoryLayout::read(directory)?.journals_from(current.generation);
        let journal_count = since.len();
        for journal in since {
            journals += directory_bytes(&journal_path(directory, journal))?;
        }
        let snapshots = directory_bytes(&snapshots_path(directory, current.generation))?;
        Ok(Self { snapshots, journals, journal_count })
    }
}

/// Returns the disk space of the store in `directory`. Another process may serve the store.
///
/// # Errors
///
/// [`StoreError::Empty`] without a store; a directory that cannot be read.
pub fn store_sizes(directory: &Path) -> Result<StoreSizes, StoreError> {
    loop {
        let named = expect_current(directory)?;
        match StoreSizes::measure(directory, named) {
            // A new generation was published meanwhile, and removed files of this one.
            Err(_) if expect_current(directory)? != named => {}
            measured => return measured,
        }
    }
}

fn expect_current(directory: &Path) -> Result<CurrentGeneration, StoreError> {
    match generation::read_current(directory)? {
        Some(current) => Ok(current),
        None => Err(StoreError::Empty { directory: directory.to_owned() }),
    }
}

impl SledLog {
    /// Returns access to new generations while this log is being written.
    ///
    /// # Errors
    ///
    /// Returns an error when the data directory cannot be read.
    pub fn generations(&self) -> Result<Generations, StoreError> {
        Ok(Generations {
            current: expect_current(&self.directory)?,
            files: Box::new(DirectoryFiles {
                directory: self.directory.clone(),
                presence: Some(self.presence()),
            }),
            _lock: Some(Arc::clone(&self.lock)),
            first_journal: self.first_journal,
            handover: self.handover.clone(),
        })
    }
}

impl Generations {
    /// The generations of a simulated disk.
    pub(crate) fn simulated(
        files: Box<dyn StoreFiles>,
        current: CurrentGeneration,
        first_journal: Generation,
        handover: JournalHandover,
    ) -> Self {
        Self { files, _lock: None, current, first_journal, handover }
    }

    /// The data directory.
    pub fn directory(&self) -> &Path {
        self.files.directory()
    }

    /// Returns the free bytes of the disk, without those reserved for root.
    ///
    /// # Errors
    ///
    /// Returns an error when the operating system does not report the free space.
    pub fn free_bytes(&self) -> Result<u64, StoreError> {
        self.files.free_bytes()
    }

    /// Returns the disk space of the current generation.
    ///
    /// # Errors
    ///
    /// Returns an error when the directory cannot be read.
    pub fn sizes(&self) -> Result<StoreSizes, StoreError> {
        StoreSizes::measure(self.directory(), self.current)
    }

    /// Removes the files of a compaction that was dropped.
    ///
    /// # Errors
    ///
    /// Returns an error when the disk refuses.
    pub fn remove_unfinished(&self) -> Result<(), StoreError> {
        self.files.remove_leftovers(self.current).map(drop)
    }

    /// Creates the journal of the next generation: empty, and on disk with its name. The log
    /// continues in it at its next checkpoint.
    ///
    /// # Errors
    ///
    /// Returns an error when the disk refuses.
    pub fn offer_journal(&self) -> Result<(), StoreError> {
        let after_first = Generation(self.first_journal.0 + 1);
        let unused = self.files.layout()?.unused_generation();
        self.handover.offer(self.files.create_journal(unused.max(after_first))?);
        Ok(())
    }

    /// Begins the snapshots of the generation whose journal the log began at `checkpoint`. Each
    /// must hold at least the records of its stream from before the checkpoint. Writes are
    /// throttled.
    ///
    /// # Errors
    ///
    /// Returns an error when the disk refuses, or the log has begun no journal.
    pub fn begin_compaction(
        &mut self,
        checkpoint: Checkpoint,
    ) -> Result<Compaction<'_>, StoreError> {
        let Some(JournalRotation { generation, ended }) = self.handover.take_rotation() else {
            return Err(StoreError::rejected("the log has begun no journal for new snapshots"));
        };
        if let Some(ended) = ended {
            ended.close()?;
        }
        let path = snapshots_path(self.directory(), generation);
        let writer = SnapshotsWriter::new(self.files.create_database(&path)?)
            .with_throttle(self.files.new_throttle());
        Ok(Compaction { generations: self, generation, checkpoint, writer, current: None })
    }
}

impl Compaction<'_> {
    /// Epoch of the log where the snapshots begin.
    pub const fn epoch(&self) -> u32 {
        self.checkpoint.epoch
    }

    /// Refuses to go on where the disk has less free space than `reserve_bytes`.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoRoom`].
    pub fn expect_room(&self, reserve_bytes: u64) -> Result<(), StoreError> {
        match self.generations.free_bytes() {
            Ok(free) if free < reserve_bytes => {
                Err(StoreError::NoRoom { directory: self.generations.directory().to_owned() })
            }
            // If the free space cannot be read, a full disk shows at the next write.
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Copies the snapshot of `stream` byte by byte, when the current generation has one of the
    /// record `sequence`. Otherwise it does nothing and returns `false`.
    ///
    /// # Errors
    ///
    /// [`StoreError::Damaged`] where a checksum does not match, or when the disk refuses. The
    /// caller must then discard the generation.
    pub fn copy_snapshot(&mut self, stream: Stream, sequence: u64) -> Result<bool, StoreError> {
        // A stream has one history, so that a sequence means one state.
        let position = self.open_current()?.position(stream)?;
        if position.is_none_or(|position| position.sequence != sequence) {
            return Ok(false);
        }
        let current = self.current.as_ref().expect("open_current has set it");
        current.copy_to(stream, &mut self.writer)?;
        Ok(true)
    }

    /// Copies the frames of `stream` from the current generation and appends `more`. The result has
    /// the position `position`.
    ///
    /// # Errors
    ///
    /// As for [`Compaction::copy_snapshot`].
    pub fn extend_snapshot(
        &mut self,
        stream: Stream,
        position: Position,
        more: &[Vec<u8>],
    ) -> Result<(), StoreError> {
        self.open_current()?;
        let current = self.current.as_ref().expect("open_current has set it");
        let mut writer = self.writer.begin_stream(stream, position);
        current.visit_frames(stream, |frame| writer.write_frame(frame))?;
        for frame in more {
            writer.write_frame(frame)?;
        }
        writer.finish()
    }

    /// Begins the snapshot of `stream` at `position`. See
    /// [`crate::store::NewGeneration::begin_snapshot`].
    ///
    /// # Panics
    ///
    /// If the one before was not finished.
    pub fn begin_snapshot(&mut self, stream: Stream, position: Position) -> DatabaseSnapshot<'_> {
        self.writer.begin_stream(stream, position)
    }

    /// Reads all snapshots back from the disk and makes the generation the current one in one step.
    /// Then it removes the files that are no longer needed.
    ///
    /// # Errors
    ///
    /// Returns an error when the disk refuses, or returns other bytes than were written.
    /// `CURRENT` then stays.
    pub fn publish(self) -> Result<(), StoreError> {
        let Self { generations, generation, checkpoint, writer, current } = self;
        drop(current);
        let previous = Some(generations.current.generation);
        let current = CurrentGeneration { generation, previous };
        let files = &generations.files;
        if PlantedFault::CurrentBeforeSnapshots.is_active() {
            files.set_current(current)?;
        }
        writer.complete(generation.0, checkpoint.last.next())?;
        let snapshots = snapshots_path(files.directory(), generation);
        files.watch_publication(&snapshots, &mut || {
            files.set_current(current)?;
            generations.current = current;
            files.remove_leftovers(current)
        })
    }

    /// Discards the generation and removes its files. The journal stays rotated.
    ///
    /// # Errors
    ///
    /// Returns an error when the disk refuses.
    pub fn discard(self) -> Result<(), StoreError> {
        let Self { generations, generation, writer, current, .. } = self;
        drop((writer, current));
        generations.files.remove_database(&snapshots_path(generations.directory(), generation))
    }

    /// Opens the snapshots of the current generation, once.
    fn open_current(&mut self) -> Result<&Snapshots, StoreError> {
        let snapshots = match self.current.take() {
            Some(snapshots) => snapshots,
            None => {
                let current = self.generations.current.generation;
                let files = &self.generations.files;
                let path = snapshots_path(files.directory(), current);
                let copy = files.open_copy(&path, files.new_throttle().as_mut())?;
                Snapshots::open(copy, current.0)?
            }
        };
        Ok(self.current.insert(snapshots))
    }
}
