//! A generation written wholesale, that nobody reads before it is complete: import and backup.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

use crate::store::database::Database;
use crate::store::durable_watermark::{DurableWatermark, Watermark};
use crate::store::error::StoreError;
use crate::store::files::{DirectoryLock, create_directory, entries};
use crate::store::generation::{
    Current, FIRST, Generation, Layout, journal_path, set_current, snapshots_path,
};
use crate::store::journal;
use crate::store::record::{BatchNumber, Position, Stream};
use crate::store::recovery::Store;
use crate::store::snapshot::{SnapshotWriter, SnapshotsWriter};

/// A generation in the making. Dropped before [`NewGeneration::publish`], it leaves the store as it was, and a directory
/// that held none without anything of it.
pub struct NewGeneration {
    directory: PathBuf,
    /// Its number, above all others in the directory.
    generation: Generation,
    /// The number that the first batch after it will have.
    first_batch: BatchNumber,
    snapshots: SnapshotsWriter,
    /// What is taken away again; nothing where it goes into a store that is there.
    unfinished: Unfinished,
    /// Keeps every other process out. Let go of after all else.
    lock: DirectoryLock,
}

/// What a creation has made so far. Dropped, it is taken away: where the disk is full, whoever needs its room next need
/// not wait until the process ends.
#[derive(Default)]
struct Unfinished {
    /// Directories made for it, innermost first.
    directories: Vec<PathBuf>,
    /// Where its files are, once it is certain that all of them are its own.
    files: Option<PathBuf>,
}

impl Unfinished {
    /// Makes `directory`, and its parents where they are missing.
    fn within(directory: &Path) -> Result<Self, StoreError> {
        let missing =
            directory.ancestors().take_while(|path| !path.as_os_str().is_empty() && !path.exists());
        let unfinished = Self { directories: missing.map(Path::to_owned).collect(), files: None };
        create_directory(directory)?;
        Ok(unfinished)
    }

    /// It is complete: nothing is taken away.
    fn keep(&mut self) {
        (self.files, self.directories) = (None, Vec::new());
    }

    /// Takes the files of a first generation away, whole or not.
    fn remove_files(directory: &Path) -> Result<(), StoreError> {
        for database in [snapshots_path(directory, FIRST), journal_path(directory, FIRST)] {
            // One that failed stays open until the process ends, and with it would the room that its files take.
            let files = if database.is_dir() { entries(&database)? } else { Vec::new() };
            for path in files.into_iter().filter(|path| path.is_file()) {
                OpenOptions::new()
                    .write(true)
                    .truncate(true)
                    .open(&path)
                    .map_err(StoreError::io("empty", &path))?;
            }
        }
        Layout::read(directory)?.remove_leftovers(None)?;
        for path in ["CURRENT", "CURRENT.new", "mark", "lock"].map(|name| directory.join(name)) {
            if path.exists() {
                fs::remove_file(&path).map_err(StoreError::io("remove", &path))?;
            }
        }
        Ok(())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // What cannot be taken away now is by the next creation there; what somebody else has put there stays.
        if let Some(directory) = &self.files {
            drop(Self::remove_files(directory));
        }
        for directory in &self.directories {
            drop(fs::remove_dir(directory));
        }
    }
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
        let made = Unfinished::within(directory)?;
        if Store::is_empty(directory)? {
            // Before the lock's file is made among what is somebody else's.
            Layout::read(directory)?.expect_leftovers_only()?;
        }
        let lock = DirectoryLock::take(directory)?;
        // Taken away before the lock is let go of.
        let mut unfinished = made;
        if !Store::is_empty(directory)? {
            return Err(StoreError::Occupied { directory: directory.to_owned() });
        }
        let layout = Layout::read(directory)?;
        layout.expect_leftovers_only()?;
        unfinished.files = Some(directory.to_owned());
        layout.remove_leftovers(None)?;
        // Before all else: snapshots without a mark may be those of a whole store that lost its files.
        DurableWatermark::create(directory, Watermark { clean: true, ..Watermark::default() })?;
        Self::begin_in(directory, lock, BatchNumber(1), unfinished)
    }

    pub(super) fn begin(
        directory: &Path,
        lock: DirectoryLock,
        first_batch: BatchNumber,
    ) -> Result<Self, StoreError> {
        Self::begin_in(directory, lock, first_batch, Unfinished::default())
    }

    fn begin_in(
        directory: &Path,
        lock: DirectoryLock,
        first_batch: BatchNumber,
        unfinished: Unfinished,
    ) -> Result<Self, StoreError> {
        let generation = Layout::read(directory)?.unused();
        let snapshots =
            SnapshotsWriter::new(Database::create(&snapshots_path(directory, generation))?);
        Ok(Self {
            directory: directory.to_owned(),
            generation,
            first_batch,
            snapshots,
            unfinished,
            lock,
        })
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
    pub fn begin_snapshot(&mut self, stream: Stream, position: Position) -> SnapshotWriter<'_> {
        self.snapshots.stream(stream, position)
    }

    /// Reads everything back from the disk, then makes it the current generation in one step. The store stays locked;
    /// it is returned as [`Store::open`] would.
    ///
    /// # Errors
    ///
    /// When the disk refuses, or gives back something else than was written: the store is then as it was before.
    pub fn publish(self) -> Result<Store, StoreError> {
        let Self { lock, directory, generation, first_batch, mut unfinished, snapshots } = self;
        snapshots.seal(generation.0, first_batch)?;
        journal::create(&journal_path(&directory, generation), generation.0, Some(first_batch))?;
        set_current(&directory, Current { generation, before: None })?;
        let store = Store::open_locked(&directory, lock)?;
        unfinished.keep();
        Ok(store)
    }
}
