//! A copy of a store for reading: opening a damaged database can change it, so a check opens a
//! copy.

use std::fs;
use std::path::{Path, PathBuf};

use crate::store::error::StoreError;
use crate::store::files::{DirectoryLock, find_metadata, list_paths};
use crate::store::generation::COPY;

/// A copy of a store that no process serves. It is removed when dropped; until then the store is
/// locked.
#[derive(Debug)]
pub struct StoreCopy {
    path: PathBuf,
    _lock: DirectoryLock,
}

/// Copies the store in `directory` into a subdirectory of `directory`.
///
/// # Errors
///
/// [`StoreError::Empty`] without a store, [`StoreError::Locked`] while another process uses it, or
/// when the disk refuses.
pub fn copy_store(directory: &Path) -> Result<StoreCopy, StoreError> {
    let has_current = find_metadata(&directory.join("CURRENT"))?.is_some();
    let has_watermark = find_metadata(&directory.join("mark"))?.is_some();
    if !has_current && !has_watermark {
        return Err(StoreError::Empty { directory: directory.to_owned() });
    }
    let lock = DirectoryLock::acquire(directory)?;
    let copy = StoreCopy { path: directory.join(COPY), _lock: lock };
    if copy.path.is_dir() {
        fs::remove_dir_all(&copy.path).map_err(StoreError::io("remove", &copy.path))?;
    }
    copy_directory(directory, &copy.path)?;
    Ok(copy)
}

impl StoreCopy {
    /// The directory of the copy.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for StoreCopy {
    fn drop(&mut self) {
        // The next start removes what cannot be removed now.
        drop(fs::remove_dir_all(&self.path));
    }
}

fn copy_directory(from: &Path, to: &Path) -> Result<(), StoreError> {
    // Listed first: the target may lie in the source.
    let paths = list_paths(from)?;
    fs::create_dir(to).map_err(StoreError::io("create", to))?;
    for path in paths {
        let target = to.join(path.file_name().expect("a listed path has a name"));
        if path.is_dir() {
            copy_directory(&path, &target)?;
        } else if path.is_file() {
            fs::copy(&path, &target).map_err(StoreError::io("copy", &path))?;
        }
    }
    Ok(())
}
