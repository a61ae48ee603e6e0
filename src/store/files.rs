//! Files and directories: made durable, locked, and read from the disk rather than from memory.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{ErrorKind, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, FlockOperation};

use crate::store::error::StoreError;

/// The right to a data directory, held until dropped or until the process ends.
#[derive(Debug)]
pub(super) struct DirectoryLock {
    /// Carries the flock; the kernel releases it with the descriptor, however the process ends.
    _file: File,
}

impl DirectoryLock {
    /// Takes the file `lock` of `directory`.
    ///
    /// # Errors
    ///
    /// [`StoreError::Locked`] while another holds it; [`StoreError::ForeignOwner`] to root in another user's directory.
    pub(super) fn take(directory: &Path) -> Result<Self, StoreError> {
        let whose = fs::metadata(directory).map_err(StoreError::io("look at", directory))?;
        if rustix::process::geteuid().is_root() && whose.uid() != 0 {
            let (owner, group) = (whose.uid(), whose.gid());
            return Err(StoreError::ForeignOwner { directory: directory.to_owned(), owner, group });
        }
        let path = directory.join("lock");
        let mut file = loop {
            let file = Self::lock(directory, &path)?;
            // A creation that failed may have taken the file away just before it let go of it: then it locks nothing.
            let held = file.metadata().map_err(StoreError::io("look at", &path))?;
            if found(&path)?
                .is_some_and(|named| (named.dev(), named.ino()) == (held.dev(), held.ino()))
            {
                break file;
            }
        };
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{}", std::process::id()))
            .map_err(StoreError::io("write", &path))?;
        Ok(Self { _file: file })
    }

    /// Opens and locks the file.
    fn lock(directory: &Path, path: &Path) -> Result<File, StoreError> {
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(path)
            .map_err(StoreError::io("open", path))?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(file),
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let mut holder = String::new();
                let known = file.read_to_string(&mut holder).is_ok() && !holder.trim().is_empty();
                let holder = if known { holder.trim().to_owned() } else { "unknown".to_owned() };
                Err(StoreError::Locked { directory: directory.to_owned(), holder })
            }
            Err(error) => Err(StoreError::io("lock", path)(error.into())),
        }
    }
}

/// What stands at `path`; `None` where nothing does.
///
/// # Errors
///
/// Where it cannot be said.
pub(super) fn found(path: &Path) -> Result<Option<Metadata>, StoreError> {
    match fs::metadata(path) {
        Ok(found) => Ok(Some(found)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(StoreError::io("find", path)(error)),
    }
}

/// Makes the names in `directory` durable.
pub(super) fn sync_directory(directory: &Path) -> Result<(), StoreError> {
    File::open(directory)
        .and_then(|file| file.sync_all())
        .map_err(StoreError::io("sync", directory))
}

/// Makes the content of one file durable.
pub(super) fn sync_file(path: &Path) -> Result<(), StoreError> {
    File::open(path).and_then(|file| file.sync_all()).map_err(StoreError::io("sync", path))
}

/// Makes `directory` and its missing parents, durably; what is made is its owner's alone.
pub(super) fn create_directory(directory: &Path) -> Result<(), StoreError> {
    if directory.is_dir() {
        return Ok(());
    }
    let parent = match directory.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => Path::new("/"),
    };
    create_directory(parent)?;
    DirBuilder::new().mode(0o700).create(directory).map_err(StoreError::io("create", directory))?;
    sync_directory(directory)?;
    sync_directory(parent)
}

/// Writes `bytes` as `name` in `directory` so that the file holds the old content or the new, never less.
pub(super) fn replace_file(directory: &Path, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
    let temporary = directory.join(format!("{name}.new"));
    let path = directory.join(name);
    let mut file = File::create(&temporary).map_err(StoreError::io("create", &temporary))?;
    file.write_all(bytes)
        .and_then(|()| file.sync_all())
        .map_err(StoreError::io("write", &temporary))?;
    fs::rename(&temporary, &path).map_err(StoreError::io("rename", &temporary))?;
    sync_directory(directory)
}

/// The paths in `directory`, in order of their names.
pub(super) fn entries(directory: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let mut paths = fs::read_dir(directory)
        .and_then(|entries| {
            entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>()
        })
        .map_err(StoreError::io("list", directory))?;
    paths.sort();
    Ok(paths)
}

/// Bytes of the files in `directory`, as far as they are there.
pub(super) fn directory_bytes(directory: &Path) -> Result<u64, StoreError> {
    let mut bytes = 0;
    for path in entries(directory)? {
        let found = fs::metadata(&path).map_err(StoreError::io("look at", &path));
        match found {
            Ok(found) => bytes += if found.is_file() { found.len() } else { 0 },
            // sled removes files of its own while it works.
            Err(StoreError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(bytes)
}

/// Bytes that may still be written to the disk that `directory` lies on, by others than root too.
///
/// # Errors
///
/// When the operating system does not say.
pub fn free_bytes(directory: &Path) -> Result<u64, StoreError> {
    let found = rustix::fs::statvfs(directory);
    let found = found
        .map_err(|error| StoreError::io("ask for the free space of", directory)(error.into()))?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

/// Makes the next reads of the files in `directory` come from the disk.
///
/// After a failed write the kernel may hold in memory what the disk has not, and call it written. A recovery that read
/// it would answer for what the next power cut takes away.
///
/// # Errors
///
/// When what is still unwritten cannot be written now.
pub(super) fn forget_cached(directory: &Path) -> Result<(), StoreError> {
    for path in entries(directory)? {
        if !path.is_file() {
            continue;
        }
        let file = File::open(&path).map_err(StoreError::io("open", &path))?;
        file.sync_data().map_err(StoreError::io("sync", &path))?;
        rustix::fs::fadvise(&file, 0, None, Advice::DontNeed)
            .map_err(|error| StoreError::io("drop the cache of", &path)(error.into()))?;
    }
    Ok(())
}

/// Removes a directory and all in it, durably.
pub(super) fn remove_directory(path: &Path) -> Result<(), StoreError> {
    fs::remove_dir_all(path).map_err(StoreError::io("remove", path))?;
    path.parent().map_or(Ok(()), sync_directory)
}
