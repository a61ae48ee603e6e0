//! One sled database, wrapped in the discipline that makes it durable.
//!
//! sled's `flush` ends in `sync_file_range`, which survives a killed process and not a power cut. So after each flush
//! we sync its file `db` through a descriptor of our own, which also reports errors that sled only logs. sled panics on
//! some damage, so every call runs guarded. Its cache is small, it has no flusher thread, and one thread owns it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::ops::Bound;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::FlockOperation;

use crate::store::error::StoreError;
use crate::store::files::{create_directory, find_metadata, list_paths, sync_directory, sync_file};

const CACHE_BYTES: u64 = 16 << 20;
/// How often, and how far apart, a closed database is asked whether its lock is free: 5 s in all.
const RELEASE_TRIES: u32 = 5_000;
const RELEASE_PAUSE: Duration = Duration::from_millis(1);

/// A database that is written in durable steps.
#[derive(Debug)]
pub(crate) struct Database {
    /// Directory that sled keeps its files in.
    path: PathBuf,
    /// `None` only while the database is being dropped.
    db: Option<sled::Db>,
    /// Our own descriptor on sled's file `db`, opened before our first write: its fdatasync reports every failed write.
    file: File,
    /// Set by the first failure and never reset: what the disk holds is unknown from then on.
    failed: bool,
}

impl Database {
    /// Makes an empty database in the new directory `path`, durable with its name.
    pub(crate) fn create(path: &Path) -> Result<Self, StoreError> {
        create_directory(path)?;
        let mut database = Self::start(path)?;
        database.sync()?;
        sync_file(&path.join("conf"))?;
        sync_directory(&path.join("blobs"))?;
        sync_directory(path)?;
        Ok(database)
    }

    /// Opens the database in `path`. Beware: sled repairs as it opens, and overwrites what it cannot read.
    ///
    /// # Errors
    ///
    /// [`StoreError::Database`] when sled refuses or panics, or when a file is missing that sled would make anew.
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        for name in ["conf", "db"] {
            if !find_metadata(&path.join(name))?.is_some_and(|found| found.is_file()) {
                let reason = format!("its file `{name}` is missing");
                return Err(StoreError::Database { path: path.to_owned(), doing: "open", reason });
            }
        }
        remove_page_tables(path, |name| name.ends_with(".generating"))?;
        expect_access(path)?;
        let database = match Self::start(path) {
            // Where a page table itself is damaged, all that it was derived from may be there.
            Err(error @ StoreError::Database { .. }) if remove_page_tables(path, |_| true)? > 0 => {
                tracing::warn!(%error, "opened again without the page table that sled derives from its log");
                await_release(
                    &File::open(path.join("db"))
                        .map_err(StoreError::io("open", &path.join("db")))?,
                );
                Self::start(path)?
            }
            started => started?,
        };
        // sled may have renamed a snapshot of its page table into place.
        sync_directory(path)?;
        Ok(database)
    }

    fn start(path: &Path) -> Result<Self, StoreError> {
        let config =
            sled::Config::new().path(path).cache_capacity(CACHE_BYTES).flush_every_ms(None);
        let db = guarded(path, "open", || config.open())?;
        let data = path.join("db");
        let file = File::open(&data).map_err(StoreError::io("open", &data))?;
        Ok(Self { path: path.to_owned(), db: Some(db), file, failed: false })
    }

    /// The directory of the database.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Sets (`Some`) or removes (`None`) keys, all or none, and returns when that is on disk.
    ///
    /// # Errors
    ///
    /// After the first failure every call fails with [`StoreError::Poisoned`] and touches nothing: a second fsync would
    /// report success for pages that the kernel has given up.
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
            // One change is atomic by itself. A batch would write a second message, and wait for it apart.
            return self.durably(|db| apply_one(db, first));
        };
        let mut batch = sled::Batch::default();
        for (key, value) in [first, second].into_iter().chain(changes) {
            match value {
                Some(value) => batch.insert::<sled::IVec, sled::IVec>(key, value),
                None => batch.remove::<sled::IVec>(key),
            }
        }
        self.durably(|db| db.apply_batch(batch))
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.durably(|_| Ok(()))
    }

    fn durably(
        &mut self,
        change: impl FnOnce(&sled::Db) -> sled::Result<()>,
    ) -> Result<(), StoreError> {
        if self.failed {
            return Err(StoreError::Poisoned { path: self.path.clone() });
        }
        self.failed = true;
        let db = self.db.as_ref().expect("open until dropped");
        guarded(&self.path, "write", || change(db).and_then(|()| db.flush()))?;
        self.file.sync_data().map_err(StoreError::io("sync", &self.path.join("db")))?;
        self.failed = false;
        Ok(())
    }

    /// The value of `key`.
    pub(crate) fn value(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let db = self.db.as_ref().expect("open until dropped");
        Ok(guarded(&self.path, "read", || db.get(key))?.map(|value| value.to_vec()))
    }

    /// Keys and values after `key`, ascending. Ends after the first error.
    pub(crate) fn after(&self, key: &[u8]) -> Entries<'_> {
        let db = self.db.as_ref().expect("open until dropped");
        Entries {
            path: &self.path,
            entries: Some(db.range::<&[u8], _>((Bound::Excluded(key), Bound::Unbounded))),
        }
    }

    /// Makes every later sync fail, as a dying disk would: nothing can be synced to this device.
    #[cfg(test)]
    pub(crate) fn break_syncs(&mut self) -> File {
        std::mem::replace(&mut self.file, File::open("/dev/null").expect("every unix has it"))
    }

    /// Undoes [`Database::break_syncs`]; what failed stays failed.
    #[cfg(test)]
    pub(crate) fn mend_syncs(&mut self, file: File) {
        self.file = file;
    }

    /// Ends the use of the database; all in it is on disk already.
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
        // sled syncs as it is dropped. After a failure that would be a second try, and a panic; so it is left alone
        // until the process ends.
        if self.failed {
            std::mem::forget(self.db.take());
        } else {
            drop(self.db.take());
            await_release(&self.file);
        }
    }
}

/// Waits until sled has let go of its lock on its file `db`: a thread of its own may hold the file for a moment after the
/// database is dropped, and who opened it again at once would be refused.
fn await_release(file: &File) {
    for _ in 0..RELEASE_TRIES {
        match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
            // Dropped with the descriptor; whoever opens the database next comes after that.
            Ok(()) => return,
            Err(rustix::io::Errno::WOULDBLOCK) => std::thread::park_timeout(RELEASE_PAUSE),
            // No lock is to be had here, so nobody is refused one either.
            Err(_) => return,
        }
    }
}

/// A key with its value, or why the walk ends.
pub(crate) type DatabaseEntry = Result<(Vec<u8>, Vec<u8>), StoreError>;

/// An ascending walk over a database.
pub(crate) struct Entries<'a> {
    /// For errors.
    path: &'a Path,
    /// `None` once the walk failed: sled's iterator is not to be asked again after a panic.
    entries: Option<sled::Iter>,
}

impl Iterator for Entries<'_> {
    type Item = DatabaseEntry;

    fn next(&mut self) -> Option<Self::Item> {
        let entries = self.entries.as_mut()?;
        match guarded(self.path, "read", || entries.next().transpose()) {
            Ok(entry) => entry.map(|(key, value)| Ok((key.to_vec(), value.to_vec()))),
            Err(error) => {
                self.entries = None;
                Some(Err(error))
            }
        }
    }
}

fn apply_one(db: &sled::Db, (key, value): (sled::IVec, Option<sled::IVec>)) -> sled::Result<()> {
    match value {
        Some(value) => db.insert(key, value).map(|_| ()),
        None => db.remove(key).map(|_| ()),
    }
}

/// Removes those of sled's `snap.*` whose names are meant, and returns how many. sled takes any for whole, and fails for
/// ever on one that a crash cut short. It needs none of them: without, it reads its whole log.
fn remove_page_tables(path: &Path, meant: impl Fn(&str) -> bool) -> Result<usize, StoreError> {
    let mut removed = 0;
    for entry in list_paths(path)? {
        let name = entry.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("snap.") && meant(&name) {
            fs::remove_file(&entry).map_err(StoreError::io("remove", &entry))?;
            sync_directory(path)?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// Refuses files that this user may not read and write, which sled would call damage.
fn expect_access(path: &Path) -> Result<(), StoreError> {
    for folder in [path.to_owned(), path.join("blobs")] {
        // Where sled's folder of blobs is missing, sled says so.
        let files =
            if find_metadata(&folder)?.is_some() { list_paths(&folder)? } else { Vec::new() };
        for file in files.iter().filter(|file| file.is_file()) {
            OpenOptions::new()
                .read(true)
                .write(true)
                .open(file)
                .map_err(StoreError::io("open", file))?;
        }
    }
    Ok(())
}

/// Whether the system lacks something that it may have again: what lies on the disk is not to be doubted for that.
fn is_scarcity(error: &io::Error) -> bool {
    use io::ErrorKind::{OutOfMemory, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    use rustix::io::Errno;
    // sled passes some errors on by their kind alone; to be out of descriptors has none.
    matches!(error.kind(), StorageFull | QuotaExceeded | ReadOnlyFilesystem | OutOfMemory)
        || [Errno::MFILE, Errno::NFILE]
            .iter()
            .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

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
        Err(payload) => {
            let message = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let message = message.or_else(|| payload.downcast_ref::<String>().cloned());
            format!("sled panicked: {}", message.unwrap_or_default())
        }
    };
    Err(StoreError::Database { path: path.to_owned(), doing, reason })
}
