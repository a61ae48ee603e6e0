//! File operations: durable names and contents, the directory lock, and reads that bypass the page
//! cache.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, FlockOperation};

use crate::planted_faults::PlantedFault;
use crate::store::error::StoreError;

/// Exclusive lock on a data directory, held until dropped or until the process ends.
#[derive(Debug)]
pub(crate) struct DirectoryLock {
    /// Carries the flock. The kernel releases it with the descriptor, however the process ends.
    _file: File,
    /// Carries the flock of the directory itself, which holds if the file is removed.
    _directory: File,
}

impl DirectoryLock {
    /// Locks the file `lock` of `directory` and writes the process id into it.
    ///
    /// # Errors
    ///
    /// [`StoreError::Locked`] while another process holds it. [`StoreError::ForeignOwner`] when
    /// root runs in another user's directory.
    pub(crate) fn acquire(directory: &Path) -> Result<Self, StoreError> {
        let metadata = fs::metadata(directory).map_err(StoreError::io("look at", directory))?;
        if rustix::process::geteuid().is_root() && metadata.uid() != 0 {
            let owner = metadata.uid();
            let group = metadata.gid();
            return Err(StoreError::ForeignOwner { directory: directory.to_owned(), owner, group });
        }
        let path = directory.join("lock");
        loop {
            let file = Self::lock_file(directory, &path)?;
            let held = file.metadata().map_err(StoreError::io("look at", &path))?;
            // A failed creation may have removed the file just before it released the lock. A lock
            // on a removed file excludes no process, so the name must still lead to this file.
            let Some(named) = find_metadata(&path)? else { continue };
            if (named.dev(), named.ino()) == (held.dev(), held.ino()) {
                let locked = lock_directory(directory)?;
                // The id is only for the message to a second process. A full disk is no reason to
                // refuse a start that could serve reads.
                drop(write_process_id(&file));
                return Ok(Self { _file: file, _directory: locked });
            }
        }
    }

    /// Opens the file and takes its flock.
    fn lock_file(directory: &Path, path: &Path) -> Result<File, StoreError> {
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
                if file.read_to_string(&mut holder).is_err() || holder.trim().is_empty() {
                    "unknown".clone_into(&mut holder);
                }
                let holder = holder.lines().next().unwrap_or_default().trim().to_owned();
                Err(StoreError::Locked { directory: directory.to_owned(), holder })
            }
            Err(error) => Err(StoreError::io("lock", path)(error.into())),
        }
    }
}

/// Opens a directory and takes its flock, where the file system has locks for directories.
fn lock_directory(directory: &Path) -> Result<File, StoreError> {
    let opened = File::open(directory).map_err(StoreError::io("open", directory))?;
    match rustix::fs::flock(&opened, FlockOperation::NonBlockingLockExclusive) {
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let holder = "unknown".to_owned();
            Err(StoreError::Locked { directory: directory.to_owned(), holder })
        }
        Ok(()) | Err(_) => Ok(opened),
    }
}

/// Overwrites the id in place, with a fixed width: on a full disk a file cannot be written anew.
fn write_process_id(file: &File) -> io::Result<()> {
    file.write_all_at(format!("{:<19}\n", std::process::id()).as_bytes(), 0)
}

/// Returns the metadata of `path`; `None` where nothing has that name.
///
/// # Errors
///
/// Returns an error when the operating system cannot tell.
pub(crate) fn find_metadata(path: &Path) -> Result<Option<Metadata>, StoreError> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(StoreError::io("find", path)(error)),
    }
}

/// Makes the names in `directory` durable.
pub(crate) fn sync_directory(directory: &Path) -> Result<(), StoreError> {
    if PlantedFault::DirectoryFsyncDropped.is_active() {
        return Ok(());
    }
    sync_file(directory)
}

/// Makes the name of a file or directory durable.
pub(crate) fn sync_parent(path: &Path) -> Result<(), StoreError> {
    path.parent().map_or(Ok(()), sync_directory)
}

/// Makes the content of one file durable.
pub(crate) fn sync_file(path: &Path) -> Result<(), StoreError> {
    let file = File::open(path).map_err(StoreError::io("sync", path))?;
    file.sync_all().map_err(StoreError::io("sync", path))
}

/// Creates `directory` and its missing parents, durably, with access for their owner only.
pub(crate) fn create_directory(directory: &Path) -> Result<(), StoreError> {
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

/// Replaces the file `name` in `directory` atomically and durably: after a crash it holds the old
/// content or all of `bytes`.
pub(crate) fn replace_file(directory: &Path, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
    let temporary = directory.join(format!("{name}.new"));
    let path = directory.join(name);
    let mut file = File::create(&temporary).map_err(StoreError::io("create", &temporary))?;
    file.write_all(bytes).map_err(StoreError::io("write", &temporary))?;
    if !PlantedFault::CurrentNotFsynced.is_active() {
        file.sync_all().map_err(StoreError::io("write", &temporary))?;
    }
    fs::rename(&temporary, &path).map_err(StoreError::io("rename", &temporary))?;
    sync_directory(directory)
}

/// Returns the paths in `directory`, in order of their names.
pub(crate) fn list_paths(directory: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory).map_err(StoreError::io("list", directory))? {
        paths.push(entry.map_err(StoreError::io("list", directory))?.path());
    }
    paths.sort();
    Ok(paths)
}

/// Returns the bytes of the files directly in `directory`.
pub(crate) fn directory_bytes(directory: &Path) -> Result<u64, StoreError> {
    let mut bytes = 0;
    for path in list_paths(directory)? {
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_file() => bytes += metadata.len(),
            Ok(_) => {}
            // sled removes files of its own while it works.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(StoreError::io("look at", &path)(error)),
        }
    }
    Ok(bytes)
}

/// Returns the free bytes of the disk that holds `directory`, without those reserved for root.
///
/// # Errors
///
/// Returns an error when the operating system does not report the free space.
pub fn free_bytes(directory: &Path) -> Result<u64, StoreError> {
    match rustix::fs::statvfs(directory) {
        Ok(disk) => Ok(disk.f_bavail.saturating_mul(disk.f_frsize)),
        Err(error) => Err(StoreError::io("ask for the free space of", directory)(error.into())),
    }
}

/// Drops the files in `directory` from the page cache, so that the next reads come from the disk.
///
/// After a failed write the page cache may hold bytes that the disk does not have. A recovery that
/// read them would acknowledge records that the next power cut removes.
///
/// # Errors
///
/// Returns an error when bytes that are still unwritten cannot be written now.
pub(crate) fn drop_page_cache(directory: &Path) -> Result<(), StoreError> {
    for path in list_paths(directory)? {
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

/// Removes a directory with its content, durably.
pub(crate) fn remove_directory(path: &Path) -> Result<(), StoreError> {
    fs::remove_dir_all(path).map_err(StoreError::io("remove", path))?;
    sync_parent(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::store::store_files::{DirectoryFiles, StoreFiles};
    use crate::store::tests::locked_file;

    /// A name that cannot be looked up: it leads to itself.
    fn endless_link(directory: &Path) -> PathBuf {
        let path = directory.join("endless");
        symlink(&path, &path).unwrap();
        path
    }

    #[test]
    fn a_name_that_cannot_be_looked_up_is_not_missing() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(find_metadata(&file).unwrap().is_some());
        assert!(find_metadata(&directory.path().join("other")).unwrap().is_none());
        assert!(find_metadata(&file.join("within")).unwrap().is_none());
        let found = find_metadata(&endless_link(directory.path()));
        assert!(matches!(found, Err(StoreError::Io { doing: "find", .. })), "{found:?}");
    }

    #[test]
    fn a_directory_of_a_relative_name_is_made_where_the_process_works() {
        let name = format!("made-by-a-test-{}", std::process::id());
        let made = create_directory(Path::new(&name));
        let removed = fs::remove_dir(&name);
        made.unwrap();
        removed.unwrap();
    }

    #[test]
    fn the_bytes_of_a_directory_are_those_of_its_own_files() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("db"), [7; 10]).unwrap();
        fs::write(directory.path().join("conf"), [7; 5]).unwrap();
        fs::create_dir(directory.path().join("blobs")).unwrap();
        fs::write(directory.path().join("blobs/one"), [7; 100]).unwrap();
        // As a file that was removed after it was listed.
        symlink(directory.path().join("removed"), directory.path().join("snap")).unwrap();
        assert_eq!(directory_bytes(directory.path()).unwrap(), 15);
        endless_link(directory.path());
        let refused = directory_bytes(directory.path());
        assert!(matches!(refused, Err(StoreError::Io { doing: "look at", .. })), "{refused:?}");
    }

    #[test]
    fn files_that_cannot_be_read_from_the_disk_are_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal-000001");
        let files = DirectoryFiles { directory: directory.path().to_owned(), presence: None };
        assert!(files.drop_page_cache(&path).is_err());
        fs::create_dir(&path).unwrap();
        fs::write(path.join("db"), [7; 5_000]).unwrap();
        files.drop_page_cache(&path).unwrap();
        assert_eq!(fs::read(path.join("db")).unwrap(), [7; 5_000]);
    }

    #[test]
    fn a_holder_that_has_not_written_its_id_is_unknown() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let _held = locked_file(&path);
        for (content, named) in [("", "unknown"), (" \n", "unknown"), ("17   \nx", "17")] {
            fs::write(&path, content).unwrap();
            let refused = DirectoryLock::acquire(directory.path()).unwrap_err();
            let is_named = matches!(&refused, StoreError::Locked { holder, .. } if holder == named);
            assert!(is_named, "{refused}");
        }
    }
}
