//! Compaction: a new generation of a store that is being written. The journal rotates first, then
//! the snapshots are written beside it. Appends do not wait for any of it. Reference 8.
//!
//! 1. [`Generations::next_journal`]: an empty journal, on disk with its name.
//! 2. [`crate::store::Log::rotate`]: later appends go there.
//! 3. [`Generations::begin_compaction`]: the snapshots, of states that hold at least all that was
//!    appended before the rotation.
//! 4. [`Compaction::publish`]: the snapshots are read back from the disk and `CURRENT` is renamed.
//!    Older files than those of the previous generation are removed.
//!
//! After a crash between any two steps the store is complete. A journal that no snapshots precede
//! is replayed after the others, even when it is empty.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::planted_faults::PlantedFault;
use crate::store::database::Database;
use crate::store::error::StoreError;
use crate::store::files::{DirectoryLock, directory_bytes, remove_directory};
use crate::store::generation::{
    self, CurrentGeneration, DirectoryLayout, Generation, journal_path, set_current, snapshots_path,
};
use crate::store::io_throttle::IoThrottle;
use crate::store::journal::{JournalRotation, NextJournal, SledLog, open_empty_journal};
use crate::store::presence::Presence;
use crate::store::record::{BatchNumber, Position, Stream};
use crate::store::snapshot::{SnapshotWriter, Snapshots, SnapshotsWriter};

/// The generations of a store that is being written. One thread owns it.
#[derive(Debug)]
pub struct Generations {
    /// The data directory.
    directory: PathBuf,
    /// Excludes every other process while this one may write.
    _lock: Arc<DirectoryLock>,
    presence: Arc<Presence>,
    /// Content of `CURRENT`, updated with each publication.
    current: CurrentGeneration,
    /// Generation of the first journal of this life of the server, whether it has begun or not.
    first_journal: Generation,
}

/// A generation under construction beside the one in use. Dropped before [`Compaction::publish`],
/// it is a leftover that the next start removes.
pub struct Compaction<'a> {
    generations: &'a mut Generations,
    generation: Generation,
    first_batch: BatchNumber,
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
            directory: self.directory.clone(),
            _lock: Arc::clone(&self.lock),
            presence: Arc::clone(&self.presence),
            first_journal: self.first_journal,
        })
    }
}

impl Generations {
    /// The data directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the disk space of the current generation.
    ///
    /// # Errors
    ///
    /// Returns an error when the directory cannot be read.
    pub fn sizes(&self) -> Result<StoreSizes, StoreError> {
        StoreSizes::measure(&self.directory, self.current)
    }

    /// Removes the files of a compaction that was dropped.
    ///
    /// # Errors
    ///
    /// Returns an error when the disk refuses.
    pub fn remove_unfinished(&self) -> Result<(), StoreError> {
        DirectoryLayout::read(&self.directory)?.remove_leftovers(Some(self.current))?;
        Ok(())
    }

    /// Creates the journal of the next generation: empty, and on disk with its name.
    ///
    /// # Errors
    ///
    /// Returns an error when the disk refuses.
    pub fn next_journal(&self) -> Result<NextJournal, StoreError> {
        let after_first = Generation(self.first_journal.0 + 1);
        let unused = DirectoryLayout::read(&self.directory)?.unused_generation();
        let generation = unused.max(after_first);
        let path = journal_path(&self.directory, generation);
        let database = open_empty_journal(&path, generation.0, None)?;
        Ok(NextJournal { generation, database })
    }

    /// Begins the snapshots of the new journal's generation. Each must hold at least the records of
    /// its stream from before the rotation. Writes are throttled.
    ///
    /// # Errors
    ///
    /// Returns an error when the disk refuses.
    pub fn begin_compaction(
        &mut self,
        rotation: JournalRotation,
    ) -> Result<Compaction<'_>, StoreError> {
        let JournalRotation { generation, first_batch, ended } = rotation;
        if let Some(ended) = ended {
            ended.close()?;
        }
        let path = snapshots_path(&self.directory, generation);
        let writer = SnapshotsWriter::new(Database::create(&path)?).with_throttle();
        Ok(Compaction { generations: self, generation, first_batch, writer, current: None })
    }
}

impl Compaction<'_> {
    /// Copies the snapshot of `stream` byte by byte, when the current generation has one at
    /// `position`. Otherwise it does nothing and returns `false`.
    ///
    /// # Errors
    ///
    /// [`StoreError::Damaged`] where a checksum does not match, or when the disk refuses. The
    /// caller must then discard the generation.
    pub fn copy_snapshot(
        &mut self,
        stream: Stream,
        position: Position,
    ) -> Result<bool, StoreError> {
        if self.open_current()?.position(stream)? != Some(position) {
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
    pub fn begin_snapshot(&mut self, stream: Stream, position: Position) -> SnapshotWriter<'_> {
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
        let Self { generations, generation, first_batch, writer, current } = self;
        drop(current);
        let previous = Some(generations.current.generation);
        let current = CurrentGeneration { generation, previous };
        let directory = &generations.directory;
        let snapshots = snapshots_path(directory, generation);
        if PlantedFault::CurrentNamedFirst.is_active() {
            let named = || set_current(directory, current).map(|()| Vec::new());
            generations.presence.publish(&snapshots, named)?;
        }
        writer.complete(generation.0, first_batch)?;
        generations.presence.publish(&snapshots, || {
            set_current(directory, current)?;
            generations.current = current;
            DirectoryLayout::read(directory)?.remove_leftovers(Some(current))
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
        remove_directory(&snapshots_path(&generations.directory, generation))
    }

    /// Opens the snapshots of the current generation, once.
    fn open_current(&mut self) -> Result<&Snapshots, StoreError> {
        let snapshots = match self.current.take() {
            Some(snapshots) => snapshots,
            None => {
                let current = self.generations.current.generation;
                let path = snapshots_path(&self.generations.directory, current);
                let copy = Database::open_copy(&path, Some(&mut IoThrottle::new()))?;
                Snapshots::open(copy, current.0)?
            }
        };
        Ok(self.current.insert(snapshots))
    }
}
