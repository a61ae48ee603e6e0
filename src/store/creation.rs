//! A generation written wholesale, that nobody reads before it is complete: import and backup.

use std::path::{Path, PathBuf};

use super::database::Database;
use super::error::StoreError;
use super::files::{DirectoryLock, create_directory};
use super::generation::{Current, Generation, Layout, journal_path, set_current, snapshots_path};
use super::journal;
use super::mark::{Mark, Marked};
use super::record::{BatchNumber, Position, Stream};
use super::recovery::Store;
use super::snapshot::{self, SnapshotWriter, SnapshotsWriter};

/// A generation in the making. Dropped before [`NewGeneration::publish`], it leaves the store as it was.
pub struct NewGeneration {
    directory: PathBuf,
    /// Keeps every other process out.
    lock: DirectoryLock,
    /// Its number, above all others in the directory.
    generation: Generation,
    /// The number that the first batch after it will have.
    first_batch: BatchNumber,
    snapshots: SnapshotsWriter,
}

impl NewGeneration {
    /// Begins the first generation of the store in `directory`, which is made if need be. Removes what an interrupted
    /// creation left.
    ///
    /// # Errors
    ///
    /// [`StoreError::Occupied`] when a store is there, [`StoreError::Foreign`] when something else is,
    /// [`StoreError::Locked`] while another process uses the directory.
    pub fn create(directory: &Path) -> Result<Self, StoreError> {
        create_directory(directory)?;
        if Store::is_empty(directory)? {
            // Before the lock's file is made among what is somebody else's.
            Layout::read(directory)?.expect_leftovers_only()?;
        }
        let lock = DirectoryLock::take(directory)?;
        if !Store::is_empty(directory)? {
            return Err(StoreError::Occupied { directory: directory.to_owned() });
        }
        let layout = Layout::read(directory)?;
        layout.expect_leftovers_only()?;
        layout.remove_leftovers(None)?;
        // Before all else: snapshots without a mark may be those of a whole store that lost its files.
        Mark::create(directory, Marked { clean: true, ..Marked::default() })?;
        Self::begin(directory, lock, BatchNumber(1))
    }

    pub(super) fn begin(directory: &Path, lock: DirectoryLock, first_batch: BatchNumber) -> Result<Self, StoreError> {
        let generation = Layout::read(directory)?.unused();
        let snapshots = SnapshotsWriter::new(Database::create(&snapshots_path(directory, generation))?);
        Ok(Self { directory: directory.to_owned(), lock, generation, first_batch, snapshots })
    }

    /// The same, written in the disk's pauses: for a server that goes on beside it.
    #[must_use]
    pub fn paced(self) -> Self {
        Self { snapshots: self.snapshots.in_pauses(), ..self }
    }

    /// Begins the snapshot of `stream` as it stands at `position`: its next record will be the one after. Each stream
    /// has one snapshot at most, and each is finished before the next begins.
    ///
    /// # Panics
    ///
    /// When the one before was not finished.
    pub fn snapshot(&mut self, stream: Stream, position: Position) -> SnapshotWriter<'_> {
        self.snapshots.stream(stream, position)
    }

    /// Reads everything back from the disk, then makes it the current generation in one step. The store stays locked;
    /// it is returned as [`Store::open`] would.
    ///
    /// # Errors
    ///
    /// When the disk refuses, or gives back something else than was written: the store is then as it was before.
    pub fn publish(self) -> Result<Store, StoreError> {
        let Self { directory, lock, generation, first_batch, snapshots } = self;
        snapshots.seal(generation.0, first_batch)?;
        snapshot::verify(&snapshots_path(&directory, generation), generation.0)?;
        journal::create(&journal_path(&directory, generation), generation.0, Some(first_batch))?;
        set_current(&directory, Current { generation, before: None })?;
        Store::open_locked(&directory, lock)
    }
}
