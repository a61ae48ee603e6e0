//! One sled database, with the syncs that make it durable.
//!
//! sled's `flush` ends in `sync_file_range`, which survives a killed process but not a power cut.
//! So each flush is followed by an fdatasync of sled's file `db` through a descriptor of this
//! module. That one also reports errors that sled only logs. sled panics on some damage, so every
//! call is guarded. Its cache is small, it has no flusher thread, and one thread owns the database.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::ops::Bound;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::FlockOperation;

use crate::planted_faults::PlantedFault;
use crate::store::error::{StoreError, panic_message};
use crate::store::files::{create_directory, find_metadata, list_paths, sync_directory, sync_file};
use crate::store::io_throttle::IoThrottle;
use crate::store::read_copy::ReadCopy;
use crate::store::room_ahead::{RoomAhead, give_back};

/// A journal is appended to and read once, in order, so a cache would only hold what was written.
const CACHE_BYTES: u64 = 1 << 20;
/// Tries to take the lock of a closed database, one each [`RELEASE_PAUSE`]: 5 s in all.
const RELEASE_TRIES: u32 = 5_000;
const RELEASE_PAUSE: Duration = Duration::from_millis(1);

/// A database in which every write is durable when it returns.
#[derive(Debug)]
pub(crate) struct Database {
    /// Directory that errors name: the original, where sled has opened a copy.
    path: PathBuf,
    /// `None` only while the database is being dropped.
    db: Option<sled::Db>,
    /// A second descriptor of sled's file `db`, opened before the first write. So its fdatasync
    /// reports every failed write since.
    file: File,
    /// Room ahead of the end of the file; `None` where none is kept.
    room: Option<RoomAhead>,
    /// Set by the first failure and never reset: from then on the content of the disk is unknown.
    failed: bool,
    /// The copy that sled has opened; `None` where it has opened the database itself. It is dropped
    /// after the database.
    copy: Option<ReadCopy>,
}

impl Database {
    /// Creates an empty database in the new directory `path`, durable with its name.
    pub(crate) fn create(path: &Path) -> Result<Self, StoreError> {
        create_directory(path)?;
        let mut database = Self::open_sled(path)?;
        database.sync()?;
        if !PlantedFault::ConfNotFsynced.is_active() {
            sync_file(&path.join("conf"))?;
        }
        sync_directory(&path.join("blobs"))?;
        sync_directory(path)?;
        Ok(database)
    }

    /// Opens a copy of the database in `path`, to be read. The original is read to its end and not
    /// changed.
    ///
    /// # Errors
    ///
    /// As [`ReadCopy::create`] and [`Database::open`].
    pub(crate) fn open_copy(
        path: &Path,
        throttle: Option<&mut IoThrottle>,
    ) -> Result<Self, StoreError> {
        expect_files(path)?;
        expect_access(path)?;
        let copy = ReadCopy::create(path, throttle)?;
        let mut database = match Self::open(copy.path()) {
            Ok(database) => database,
            Err(error) => return Err(error.with_original_path(copy.path(), path)),
        };
        database.path = path.to_owned();
        database.copy = Some(copy);
        Ok(database)
    }

    /// Opens the database in `path` itself. sled repairs as it opens, and overwrites what it cannot
    /// read: only for a database without records, or a copy.
    ///
    /// # Errors
    ///
    /// [`StoreError::Database`] when sled refuses or panics, or when a file is missing that sled
    /// would create again.
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        expect_files(path)?;
        remove_page_tables(path, PageTables::Unfinished)?;
        expect_access(path)?;
        let database = match Self::open_sled(path) {
            // A page table may be damaged while the log that it is derived from is not.
            Err(error @ StoreError::Database { .. })
                if remove_page_tables(path, PageTables::All)? > 0 =>
            {
                tracing::warn!(%error, "opening again without sled's page table, which its log replaces");
                let data = path.join("db");
                await_release(&File::open(&data).map_err(StoreError::io("open", &data))?);
                Self::open_sled(path)?
            }
            started => started?,
        };
        // sled may have renamed a snapshot of its page table into place.
        sync_directory(path)?;
        Ok(database)
    }

    fn open_sled(path: &Path) -> Result<Self, StoreError> {
        let config =
            sled::Config::new().path(path).cache_capacity(CACHE_BYTES).flush_every_ms(None);
        let db = guarded(path, "open", || config.open())?;
        let data = path.join("db");
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        let file = options.open(&data).map_err(StoreError::io("open", &data))?;
        let path = path.to_owned();
        Ok(Self { path, db: Some(db), file, room: None, failed: false, copy: None })
    }

    /// Keeps room on the disk ahead of the end of the file from now on, so that a disk that others
    /// fill in one burst fails no write before writes are refused.
    ///
    /// # Errors
    ///
    /// Returns an error when the operating system does not tell the size of the file.
    pub(crate) fn keep_room_ahead(&mut self) -> Result<(), StoreError> {
        let found = self.file.metadata().map_err(StoreError::io("look at", &self.path))?;
        let mut room = RoomAhead::default();
        room.keep(&self.file, found.len());
        self.room = Some(room);
        Ok(())
    }

    /// The directory of the database.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Sets (`Some`) or removes (`None`) keys, all or none, and returns when that is on disk.
    ///
    /// # Errors
    ///
    /// After the first failure every call fails with [`StoreError::Poisoned`] and touches nothing.
    /// A second fsync would report success for pages that the kernel has dropped.
    pub(crate) fn write<K, V>(
        &mut self,
        changes: impl IntoIterator<Item = (K, Option<V>)>,
    ) -> Result<(), StoreError>
    where
        K: Into<sled::IVec>,
        V: Into<sled::IVec>,
    {
        let mut changes =
            changes.into_iter().map(|(key, value)| (key.into(), value.map(Into::into)));
        let Some(first) = changes.next() else { return self.sync() };
        let Some(second) = changes.next() else {
            // One change is atomic by itself. sled would write a batch of one as two messages.
            let (key, value) = first;
            return self.run_durably(|db| match value {
                Some(value) => db.insert(key, value).map(drop),
                None => db.remove(key).map(drop),
            });
        };
        let mut batch = sled::Batch::default();
        for (key, value) in [first, second].into_iter().chain(changes) {
            match value {
                Some(value) => batch.insert::<sled::IVec, sled::IVec>(key, value),
                None => batch.remove::<sled::IVec>(key),
            }
        }
        self.run_durably(|db| db.apply_batch(batch))
    }

    /// Sets keys one after another, and returns when all of them are on disk. After a crash the
    /// first of them may be there without the others.
    ///
    /// All reach sled's file by one write. A write of all or none takes two, each with a sync of
    /// its own by a thread of sled's, and the second wakes all of these threads once more.
    ///
    /// # Errors
    ///
    /// As [`Database::write`].
    pub(crate) fn append<K, V>(
        &mut self,
        entries: impl IntoIterator<Item = (K, V)>,
    ) -> Result<(), StoreError>
    where
        K: AsRef<[u8]>,
        V: Into<sled::IVec>,
    {
        self.run_durably(|db| {
            entries.into_iter().try_for_each(|(key, value)| db.insert(key, value).map(drop))
        })
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.run_durably(|_| Ok(()))
    }

    fn run_durably(
        &mut self,
        change: impl FnOnce(&sled::Db) -> sled::Result<()>,
    ) -> Result<(), StoreError> {
        if self.failed {
            return Err(StoreError::Poisoned { path: self.path.clone() });
        }
        self.failed = true;
        let db = self.db.as_ref().expect("open until dropped");
        guarded(&self.path, "write", || {
            change(db)?;
            db.flush()
        })?;
        let data = || self.path.join("db");
        self.sync_log().map_err(|error| StoreError::io("sync", &data())(error))?;
        let written = rustix::fs::fstat(&self.file);
        let written = written.map_err(|error| StoreError::io("look at", &data())(error.into()))?;
        // Bytes in a file without a name are gone with this process.
        if written.st_nlink == 0 {
            return Err(StoreError::Gone { path: data() });
        }
        if let Some(room) = &mut self.room {
            room.keep(&self.file, u64::try_from(written.st_size).unwrap_or_default());
        }
        self.failed = false;
        Ok(())
    }

    /// Makes what sled has written to its log durable. A failed sync is never tried again.
    fn sync_log(&self) -> io::Result<()> {
        if PlantedFault::FsyncDropped.is_active() {
            return Ok(());
        }
        let synced = self.file.sync_data();
        if synced.is_err() && PlantedFault::FsyncRetried.is_active() {
            return self.file.sync_data();
        }
        synced
    }

    /// Returns the value of `key`.
    pub(crate) fn value(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let db = self.db.as_ref().expect("open until dropped");
        let value = guarded(&self.path, "read", || db.get(key))?;
        Ok(value.map(|value| value.to_vec()))
    }

    /// Returns the largest key.
    pub(crate) fn last_key(&self) -> Result<Option<Vec<u8>>, StoreError> {
        let db = self.db.as_ref().expect("open until dropped");
        let last = guarded(&self.path, "read", || db.last())?;
        Ok(last.map(|(key, _)| key.to_vec()))
    }

    /// Iterates over keys and values after `key`, ascending. It ends after the first error.
    pub(crate) fn after(&self, key: &[u8]) -> DatabaseEntries<'_> {
        let db = self.db.as_ref().expect("open until dropped");
        DatabaseEntries {
            path: &self.path,
            entries: Some(db.range::<&[u8], _>((Bound::Excluded(key), Bound::Unbounded))),
        }
    }

    /// Makes every later sync fail, as a failing disk would: this device cannot be synced.
    #[cfg(test)]
    pub(crate) fn break_syncs(&mut self) -> File {
        std::mem::replace(&mut self.file, File::open("/dev/null").expect("every unix has it"))
    }

    /// Reverts [`Database::break_syncs`]. A failed database stays failed.
    #[cfg(test)]
    pub(crate) fn mend_syncs(&mut self, file: File) {
        self.file = file;
    }

    /// Closes the database. Its content is durable already.
    pub(crate) fn close(mut self) -> Result<(), StoreError> {
        if self.failed {
            return Err(StoreError::Poisoned { path: self.path.clone() });
        }
        let db = self.db.take().expect("open until dropped");
        guarded(&self.path, "close", || {
            drop(db);
            Ok(())
        })
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // sled syncs when it is dropped. After a failure that would be a second try, which panics.
        // So a failed database stays open until the process ends.
        if self.failed {
            std::mem::forget(self.db.take());
        } else {
            drop(self.db.take());
            await_release(&self.file);
            if self.room.is_some() {
                give_back(&self.file);
            }
        }
    }
}

/// Waits until sled has released the lock on its file `db`. A thread of sled may hold the file for
/// a moment after the database is dropped, and a new open would be refused.
fn await_release(file: &File) {
    for _ in 0..RELEASE_TRIES {
        match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
            // Released again with the descriptor, before the database is opened next.
            Ok(()) => return,
            Err(rustix::io::Errno::WOULDBLOCK) => std::thread::park_timeout(RELEASE_PAUSE),
            // Without locks on this file system, sled is not refused one either.
            Err(_) => return,
        }
    }
}

/// A key with its value, or the error that ends the iteration.
pub(crate) type DatabaseEntry = Result<(Vec<u8>, Vec<u8>), StoreError>;

/// An ascending iteration over a database.
pub(crate) struct DatabaseEntries<'a> {
    /// Directory of the database, for errors.
    path: &'a Path,
    /// `None` after an error: sled's iterator must not be used again after a panic.
    entries: Option<sled::Iter>,
}

impl Iterator for DatabaseEntries<'_> {
    type Item = DatabaseEntry;

    fn next(&mut self) -> Option<Self::Item> {
        let entries = self.entries.as_mut()?;
        match guarded(self.path, "read", || entries.next().transpose()) {
            Ok(Some((key, value))) => Some(Ok((key.to_vec(), value.to_vec()))),
            Ok(None) => None,
            Err(error) => {
                self.entries = None;
                Some(Err(error))
            }
        }
    }
}

/// A choice of sled's page tables, its files `snap.*`.
#[derive(Clone, Copy)]
enum PageTables {
    /// Those that a crash has interrupted.
    Unfinished,
    All,
}

/// Removes page tables of sled and returns their number. sled fails on each start with one that a
/// crash has cut short. It needs none of them: without, it reads its whole log.
fn remove_page_tables(path: &Path, which: PageTables) -> Result<usize, StoreError> {
    let mut removed = 0;
    for entry in list_paths(path)? {
        let name = entry.file_name().unwrap_or_default().to_string_lossy();
        let chosen = match which {
            PageTables::Unfinished => name.ends_with(".generating"),
            PageTables::All => true,
        };
        if name.starts_with("snap.") && chosen {
            fs::remove_file(&entry).map_err(StoreError::io("remove", &entry))?;
            sync_directory(path)?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// Refuses a directory without the files that sled would create again.
fn expect_files(path: &Path) -> Result<(), StoreError> {
    for name in ["conf", "db"] {
        let is_file = match find_metadata(&path.join(name))? {
            Some(metadata) => metadata.is_file(),
            None => false,
        };
        if !is_file {
            let reason = format!("its file `{name}` is missing");
            return Err(StoreError::Database { path: path.to_owned(), doing: "open", reason });
        }
    }
    Ok(())
}

/// Refuses files that this user may not read and write; sled would report them as damage.
fn expect_access(path: &Path) -> Result<(), StoreError> {
    for folder in [path.to_owned(), path.join("blobs")] {
        // sled itself reports a missing folder of blobs.
        if find_metadata(&folder)?.is_none() {
            continue;
        }
        for file in list_paths(&folder)? {
            if file.is_file() {
                let opened = OpenOptions::new().read(true).write(true).open(&file);
                drop(opened.map_err(StoreError::io("open", &file))?);
            }
        }
    }
    Ok(())
}

/// Whether the system lacks a resource that it may have again. Such an error is no sign of damage.
fn is_scarcity(error: &io::Error) -> bool {
    use io::ErrorKind::{OutOfMemory, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    use rustix::io::Errno;
    // sled keeps only the kind of some errors. A lack of descriptors has no kind, only a number.
    matches!(error.kind(), StorageFull | QuotaExceeded | ReadOnlyFilesystem | OutOfMemory)
        || [Errno::MFILE, Errno::NFILE]
            .iter()
            .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// Runs a call into sled and turns its panic into an error.
fn guarded<T>(
    path: &Path,
    doing: &'static str,
    call: impl FnOnce() -> sled::Result<T>,
) -> Result<T, StoreError> {
    let reason = match panic::catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(sled::Error::Io(source))) if is_scarcity(&source) => {
            return Err(StoreError::Io { path: path.to_owned(), doing, source });
        }
        Ok(Err(error)) => error.to_string(),
        Err(payload) => format!("sled panicked: {}", panic_message(&*payload)),
    };
    Err(StoreError::Database { path: path.to_owned(), doing, reason })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;
    use std::sync::mpsc;

    use rustix::fs::FallocateFlags;
    use rustix::io::Errno;

    use super::*;
    use crate::store::store_database::StoreDatabase;
    use crate::store::tests::locked_file;

    fn failing(error: impl FnOnce() -> sled::Result<()>) -> StoreError {
        guarded(Path::new("journal"), "write", error).unwrap_err()
    }

    #[test]
    fn a_lack_that_may_pass_is_no_sign_of_damage() {
        use io::ErrorKind::{OutOfMemory, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
        let kinds = [OutOfMemory, QuotaExceeded, ReadOnlyFilesystem, StorageFull];
        let numbers = [Errno::MFILE, Errno::NFILE].map(io::Error::from);
        for scarcity in kinds.map(io::Error::from).into_iter().chain(numbers) {
            let what = scarcity.to_string();
            let error = failing(|| Err(sled::Error::Io(scarcity)));
            assert!(matches!(error, StoreError::Io { doing: "write", .. }), "{what}: {error}");
            assert!(!error.is_unreadable(), "{what}");
        }
    }

    #[test]
    fn what_sled_cannot_read_or_panics_on_is_damage() {
        let failed_read = failing(|| Err(sled::Error::Io(Errno::IO.into())));
        let corruption = failing(|| Err(sled::Error::Corruption { at: None, bt: () }));
        let panicked = failing(|| panic!("a torn page"));
        assert!(panicked.to_string().contains("a torn page"), "{panicked}");
        for error in [failed_read, corruption, panicked] {
            assert!(matches!(error, StoreError::Database { doing: "write", .. }), "{error}");
            assert!(error.is_unreadable(), "{error}");
        }
    }

    #[test]
    fn after_a_failed_sync_a_database_is_not_closed_as_if_it_were_whole() {
        let folder = tempfile::tempdir().unwrap();
        let mut database = Database::create(&folder.path().join("db")).unwrap();
        let file = database.break_syncs();
        let nothing: [(&[u8], Option<&[u8]>); 0] = [];
        let refused = database.write(nothing);
        assert!(
            matches!(refused, Err(StoreError::Io { doing: "sync", .. })),
            "a write of nothing is a sync: {refused:?}"
        );
        database.mend_syncs(file);
        let database: Box<dyn StoreDatabase> = Box::new(database);
        let closed = database.close();
        assert!(matches!(closed, Err(StoreError::Poisoned { .. })), "{closed:?}");
    }

    #[test]
    fn only_page_tables_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        for name in ["conf", "db", "db.generating", "snap.0A", "snap.0B.generating"] {
            fs::write(path.join(name), name).unwrap();
        }
        let names = || {
            let paths = list_paths(path).unwrap();
            let names = paths.iter().map(|path| path.file_name().unwrap().to_str().unwrap());
            names.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(remove_page_tables(path, PageTables::Unfinished).unwrap(), 1);
        assert_eq!(names(), "conf db db.generating snap.0A");
        assert_eq!(remove_page_tables(path, PageTables::All).unwrap(), 1);
        assert_eq!(names(), "conf db db.generating");
    }

    #[test]
    fn a_database_is_opened_only_after_the_one_before_has_released_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db");
        let held = locked_file(&path);
        let (begin, begun) = mpsc::channel();
        let (release, released) = mpsc::channel();
        let holder = std::thread::spawn(move || {
            begun.recv().unwrap();
            release.send(()).unwrap();
            drop(held);
        });
        begin.send(()).unwrap();
        await_release(&File::open(&path).unwrap());
        assert!(released.try_recv().is_ok(), "the lock was held until then");
        holder.join().unwrap();
    }

    #[test]
    fn room_ahead_is_made_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let other = File::create(folder.path().join("other")).unwrap();
        if rustix::fs::fallocate(&other, FallocateFlags::KEEP_SIZE, 0, 1 << 20).is_err() {
            return println!("skipped: no room can be made ahead on this file system");
        }
        let mut database = Database::create(&folder.path().join("db")).unwrap();
        let on_disk = |database: &Database| database.file.metadata().unwrap().blocks() * 512;
        let before = on_disk(&database);
        database.keep_room_ahead().unwrap();
        assert!(on_disk(&database) >= before + (1 << 20), "{} of {before}", on_disk(&database));
    }
}
