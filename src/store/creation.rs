//! Creation of a whole generation at once, for imports and backups. It is read only when complete.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use uuid::Uuid;

use crate::store::cleaned::CLEANED;
use crate::store::cluster_id::{check_cluster, note_cluster, refuse_cluster_directory};
use crate::store::database::Database;
use crate::store::durable_watermark::{DurableWatermark, Watermark};
use crate::store::error::StoreError;
use crate::store::files::{DirectoryLock, create_directory, list_paths};
use crate::store::generation::{
    CurrentGeneration, DirectoryLayout, FIRST, Generation, journal_path, set_current,
    snapshots_path,
};
use crate::store::io_throttle::IoThrottle;
use crate::store::journal::{self, SledLog};
use crate::store::record::{BatchNumber, Position, Stream};
use crate::store::recovery::{RecoveredStore, Store};
use crate::store::snapshot::{DatabaseSnapshot, SnapshotsWriter};

/// A generation under construction. Dropped before [`NewGeneration::publish`], it leaves an
/// existing store unchanged, and removes its own files from a directory without a store.
pub struct NewGeneration {
    directory: PathBuf,
    /// Its number, above all others in the directory.
    generation: Generation,
    /// The number of the first batch after it.
    first_batch: BatchNumber,
    snapshots: SnapshotsWriter,
    /// Files and directories to remove unless it is published; none in an existing store.
    cleanup: CreationCleanup,
    /// Excludes every other process. Declared last, so it is released after the cleanup.
    lock: DirectoryLock,
}

/// A data directory without a store, which no other process uses.
#[derive(Debug)]
pub struct EmptyDirectory {
    directory: PathBuf,
    lock: DirectoryLock,
}

impl EmptyDirectory {
    /// Takes a directory for this process, and creates it if need be. Nothing else is made in it.
    ///
    /// # Errors
    ///
    /// As [`NewGeneration::create`].
    pub fn claim(directory: &Path) -> Result<Self, StoreError> {
        refuse_cluster_directory(directory)?;
        Self::claim_for_cluster(directory)
    }

    /// Takes a directory for a server in a cluster, which has been the directory of one before or
    /// not. No store is made in it.
    ///
    /// # Errors
    /// As [`NewGeneration::create`], save [`StoreError::OfCluster`].
    pub(crate) fn claim_for_cluster(directory: &Path) -> Result<Self, StoreError> {
        create_directory(directory)?;
        let lock = lock_empty(directory)?;
        Ok(Self { directory: directory.to_owned(), lock })
    }

    /// Checks that no server of another cluster than `id` has used the directory.
    ///
    /// # Errors
    /// [`StoreError::OtherCluster`]; or the file that names it cannot be read.
    pub(crate) fn check_cluster(&self, id: Uuid) -> Result<(), StoreError> {
        check_cluster(&self.directory, id)
    }

    /// Notes durably that the directory is that of a server in the cluster `id`.
    ///
    /// # Errors
    /// The disk refuses.
    pub(crate) fn note_cluster(&self, id: Uuid) -> Result<(), StoreError> {
        note_cluster(&self.directory, id)
    }

    /// Begins the first generation of a store in the directory.
    ///
    /// # Errors
    ///
    /// As [`NewGeneration::create`].
    pub fn create(self) -> Result<NewGeneration, StoreError> {
        NewGeneration::begin_first(&self.directory, self.lock, CreationCleanup::default())
    }
}

/// Locks a directory that has no store.
fn lock_empty(directory: &Path) -> Result<DirectoryLock, StoreError> {
    if Store::is_empty(directory)? {
        // Checked before the lock: its file must not be created among foreign files.
        DirectoryLayout::read(directory)?.expect_leftovers_only()?;
    }
    let lock = DirectoryLock::acquire(directory)?;
    if !Store::is_empty(directory)? {
        return Err(StoreError::Occupied { directory: directory.to_owned() });
    }
    Ok(lock)
}

/// Removal of what an unfinished creation has made, on drop. On a full disk this frees the space
/// before the process ends.
#[derive(Default)]
struct CreationCleanup {
    /// Directories made for it, innermost first.
    directories: Vec<PathBuf>,
    /// The data directory, once it is certain that all its files belong to the creation.
    files: Option<PathBuf>,
}

impl CreationCleanup {
    /// Creates `directory` and its missing parents.
    fn create_directories(directory: &Path) -> Result<Self, StoreError> {
        let mut directories = Vec::new();
        for path in directory.ancestors() {
            if path.as_os_str().is_empty() || path.exists() {
                break;
            }
            directories.push(path.to_owned());
        }
        let cleanup = Self { directories, files: None };
        create_directory(directory)?;
        Ok(cleanup)
    }

    /// Keeps all files: the creation is complete.
    fn keep_all(&mut self) {
        self.files = None;
        self.directories.clear();
    }

    /// Removes the files of a first generation, complete or not.
    fn remove_files(directory: &Path) -> Result<(), StoreError> {
        for database in [snapshots_path(directory, FIRST), journal_path(directory, FIRST)] {
            if database.is_dir() {
                empty_files(&database)?;
            }
        }
        DirectoryLayout::read(directory)?.remove_leftovers(None)?;
        for name in ["CURRENT", "CURRENT.new", "mark", "lock", CLEANED] {
            let path = directory.join(name);
            if path.exists() {
                fs::remove_file(&path).map_err(StoreError::io("remove", &path))?;
            }
        }
        Ok(())
    }
}

/// Truncates the files in `database`. A failed database stays open until the process ends, and its
/// removed files would keep their disk space until then.
fn empty_files(database: &Path) -> Result<(), StoreError> {
    for path in list_paths(database)? {
        if path.is_file() {
            let mut options = OpenOptions::new();
            let file = options.write(true).truncate(true).open(&path);
            drop(file.map_err(StoreError::io("empty", &path))?);
        }
    }
    Ok(())
}

impl Drop for CreationCleanup {
    fn drop(&mut self) {
        // The next creation there removes what cannot be removed now. `remove_dir` leaves a
        // directory that has received foreign files meanwhile.
        if let Some(directory) = &self.files {
            drop(Self::remove_files(directory));
        }
        for directory in &self.directories {
            drop(fs::remove_dir(directory));
        }
    }
}

impl NewGeneration {
    /// Begins the first generation of a store in `directory`, which is created if need be. It
    /// removes the files of an interrupted creation.
    ///
    /// # Errors
    ///
    /// [`StoreError::Occupied`] when the directory has a store, [`StoreError::Foreign`] when it has
    /// foreign files. [`StoreError::OfCluster`] when it is that of a server in a cluster.
    /// [`StoreError::Locked`] while another process uses the directory.
    pub fn create(directory: &Path) -> Result<Self, StoreError> {
        refuse_cluster_directory(directory)?;
        let created = CreationCleanup::create_directories(directory)?;
        let lock = lock_empty(directory)?;
        Self::begin_first(directory, lock, created)
    }

    fn begin_first(
        directory: &Path,
        lock: DirectoryLock,
        created: CreationCleanup,
    ) -> Result<Self, StoreError> {
        // Bound after the lock, so that an early return cleans up before it releases the lock.
        let mut cleanup = created;
        let layout = DirectoryLayout::read(directory)?;
        layout.expect_leftovers_only()?;
        cleanup.files = Some(directory.to_owned());
        layout.remove_leftovers(None)?;
        // Written first: snapshots without a watermark may be those of a store that lost files.
        DurableWatermark::create(directory, Watermark { clean: true, ..Watermark::default() })?;
        Self::begin(directory, lock, BatchNumber(1), cleanup)
    }

    fn begin(
        directory: &Path,
        lock: DirectoryLock,
        first_batch: BatchNumber,
        cleanup: CreationCleanup,
    ) -> Result<Self, StoreError> {
        let generation = DirectoryLayout::read(directory)?.unused_generation();
        let database = Database::create(&snapshots_path(directory, generation))?;
        Ok(Self {
            directory: directory.to_owned(),
            generation,
            first_batch,
            snapshots: SnapshotsWriter::new(Box::new(database)),
            cleanup,
            lock,
        })
    }

    /// Throttles the writes, for a creation beside a running server.
    #[must_use]
    pub fn paced(self) -> Self {
        Self { snapshots: self.snapshots.with_throttle(Some(IoThrottle::new())), ..self }
    }

    /// Begins the snapshot of `stream` at `position`; the next record of the stream follows it.
    /// Each stream has one snapshot at most, and each is finished before the next begins.
    ///
    /// # Panics
    ///
    /// If the one before was not finished.
    pub fn begin_snapshot(&mut self, stream: Stream, position: Position) -> DatabaseSnapshot<'_> {
        self.snapshots.begin_stream(stream, position)
    }

    /// Reads all snapshots back from the disk, then makes the generation the current one in one
    /// step. The store stays locked and is returned as by [`Store::open`].
    ///
    /// # Errors
    ///
    /// Returns an error when the disk refuses, or returns other bytes than were written.
    /// The store is then unchanged.
    pub fn publish(self) -> Result<Store, StoreError> {
        let Self { lock, directory, generation, first_batch, mut cleanup, snapshots } = self;
        snapshots.complete(generation.0, first_batch)?;
        let journal = journal_path(&directory, generation);
        journal::create_journal(&journal, generation.0, Some(first_batch))?;
        set_current(&directory, CurrentGeneration { generation, previous: None })?;
        // The second write of the watermark: from now on a missing `CURRENT` is damage.
        let mut watermark = DurableWatermark::open(&directory)?;
        watermark.write(watermark.current())?;
        watermark.sync()?;
        let store = Store::open_locked(&directory, lock)?;
        cleanup.keep_all();
        Ok(store)
    }
}

impl RecoveredStore {
    /// Begins a generation that replaces the whole content (import with `--merge`). Batch numbers
    /// continue. The old content stays until [`NewGeneration::publish`].
    ///
    /// # Errors
    ///
    /// Returns an error when the disk refuses.
    pub fn replace(self) -> Result<NewGeneration, StoreError> {
        let SledLog { directory, lock, journal, mut watermark, last, .. } = self.into_log()?;
        let lock = Arc::into_inner(lock).expect("no other part of the process has the log");
        drop(journal);
        watermark.write(Watermark { clean: true, ..watermark.current() })?;
        watermark.sync()?;
        NewGeneration::begin(&directory, lock, last.next(), CreationCleanup::default())
    }
}
