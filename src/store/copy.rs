//! A copy of a store, to be read without a risk for the store: opening a damaged database can change it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::store::error::StoreError;
use crate::store::files::{DirectoryLock, entries, found};
use crate::store::generation::COPY;

/// A copy of a store that nobody serves, removed when dropped. Until then the store is locked.
#[derive(Debug)]
pub struct StoreCopy {
    path: PathBuf,
    _lock: DirectoryLock,
}

/// Copies the store in `directory` into a directory of its own within it.
///
/// # Errors
///
/// [`StoreError::Empty`] without a store, [`StoreError::Locked`] while another process uses it; a disk without room.
pub fn copy_store(directory: &Path) -> Result<StoreCopy, StoreError> {
    if found(&directory.join("CURRENT"))?.is_none() && found(&directory.join("mark"))?.is_none() {
        return Err(StoreError::Empty { directory: directory.to_owned() });
    }
    let lock = DirectoryLock::take(directory)?;
    let copied = StoreCopy { path: directory.join(COPY), _lock: lock };
    if copied.path.is_dir() {
        fs::remove_dir_all(&copied.path).map_err(StoreError::io("remove", &copied.path))?;
    }
    copy(directory, &copied.path)?;
    Ok(copied)
}

impl StoreCopy {
    /// Where the copy is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for StoreCopy {
    fn drop(&mut self) {
        // What cannot be removed now is, at the next start.
        drop(fs::remove_dir_all(&self.path));
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), StoreError> {
    let found = entries(from)?;
    fs::create_dir(to).map_err(StoreError::io("create", to))?;
    for path in found {
        let target = to.join(path.file_name().expect("an entry has a name"));
        if path.is_dir() {
            copy(&path, &target)?;
        } else if path.is_file() {
            fs::copy(&path, &target).map_err(StoreError::io("copy", &path))?;
        }
    }
    Ok(())
}
