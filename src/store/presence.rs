//! The files of an open store by their identity, so that accidents of operators are noticed while
//! it is served: a directory that is removed, moved away or replaced. Reference 8.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use crate::store::error::StoreError;
use crate::store::files::find_metadata;
use crate::store::generation::DirectoryLayout;

/// Device and inode of a file or directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
}

/// The files that an open store needs, each as it was when this process opened or made it.
#[derive(Debug)]
pub struct Presence {
    directory: PathBuf,
    files: Mutex<BTreeMap<PathBuf, Identity>>,
}

impl Presence {
    /// Notes the files of an open store, which has nothing left over.
    ///
    /// # Errors
    ///
    /// [`StoreError::Gone`] when one of them is missing already.
    pub(crate) fn note_all(directory: &Path) -> Result<Self, StoreError> {
        let mut files = BTreeMap::new();
        note(&mut files, directory.to_owned())?;
        for name in ["lock", "CURRENT", "mark"] {
            note(&mut files, directory.join(name))?;
        }
        for database in DirectoryLayout::read(directory)?.databases() {
            note_database(&mut files, &database)?;
        }
        Ok(Self { directory: directory.to_owned(), files: Mutex::new(files) })
    }

    /// Notes a database that this process has begun.
    ///
    /// # Errors
    ///
    /// [`StoreError::Gone`] when it is missing already.
    pub(crate) fn begin_database(&self, database: &Path) -> Result<(), StoreError> {
        note_database(&mut self.files.lock(), database)
    }

    /// Makes another generation the current one: `publish` replaces `CURRENT`, adds the database
    /// `snapshots`, and returns the databases that it has removed.
    ///
    /// # Errors
    ///
    /// [`StoreError::Gone`] when a file is missing before that: nothing is published then. The
    /// errors of `publish`.
    pub(crate) fn publish(
        &self,
        snapshots: &Path,
        publish: impl FnOnce() -> Result<Vec<PathBuf>, StoreError>,
    ) -> Result<(), StoreError> {
        let mut files = self.files.lock();
        check(&files)?;
        for removed in publish()? {
            files.retain(|path, _| !path.starts_with(&removed));
        }
        note(&mut files, self.directory.join("CURRENT"))?;
        note_database(&mut files, snapshots)
    }

    /// Checks that each file is still the one that was opened. It waits for nothing: while another
    /// generation is published, that checks them itself.
    ///
    /// # Errors
    ///
    /// [`StoreError::Gone`] with the first one that is not.
    pub fn check(&self) -> Result<(), StoreError> {
        self.files.try_lock().map_or(Ok(()), |files| check(&files))
    }
}

fn check(files: &BTreeMap<PathBuf, Identity>) -> Result<(), StoreError> {
    for (path, noted) in files {
        if identity(path)? != *noted {
            return Err(StoreError::Gone { path: path.clone() });
        }
    }
    Ok(())
}

fn note(files: &mut BTreeMap<PathBuf, Identity>, path: PathBuf) -> Result<(), StoreError> {
    let found = identity(&path)?;
    files.insert(path, found);
    Ok(())
}

/// Notes a database: its directory, and the file that sled writes.
fn note_database(
    files: &mut BTreeMap<PathBuf, Identity>,
    database: &Path,
) -> Result<(), StoreError> {
    note(files, database.to_owned())?;
    note(files, database.join("db"))
}

fn identity(path: &Path) -> Result<Identity, StoreError> {
    match find_metadata(path)? {
        Some(found) => Ok(Identity { device: found.dev(), inode: found.ino() }),
        None => Err(StoreError::Gone { path: path.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn store() -> (tempfile::TempDir, Presence) {
        let directory = tempfile::tempdir().unwrap();
        for name in ["lock", "CURRENT", "mark"] {
            fs::write(directory.path().join(name), "").unwrap();
        }
        for database in ["snapshots-000001", "journal-000001"] {
            make_database(&directory.path().join(database));
        }
        let presence = Presence::note_all(directory.path()).unwrap();
        (directory, presence)
    }

    fn make_database(path: &Path) {
        fs::create_dir(path).unwrap();
        fs::write(path.join("db"), "").unwrap();
    }

    fn gone(presence: &Presence) -> Option<PathBuf> {
        match presence.check() {
            Ok(()) => None,
            Err(StoreError::Gone { path }) => Some(path),
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn each_file_that_is_removed_moved_or_replaced_is_named() {
        for name in ["lock", "CURRENT", "mark", "snapshots-000001/db", "journal-000001"] {
            let (directory, presence) = store();
            assert_eq!(gone(&presence), None);
            let path = directory.path().join(name);
            let away = directory.path().join("away");
            fs::rename(&path, &away).unwrap();
            assert_eq!(gone(&presence), Some(path.clone()));
            if away.is_file() {
                fs::write(&path, "").unwrap();
                assert_eq!(gone(&presence), Some(path), "another file under the same name");
            }
        }
        let (directory, presence) = store();
        let directory = directory.keep();
        fs::rename(&directory, directory.with_extension("away")).unwrap();
        assert_eq!(gone(&presence), Some(directory.clone()));
        fs::remove_dir_all(directory.with_extension("away")).unwrap();
    }

    #[test]
    fn another_generation_is_noted_as_it_is_published() {
        let (directory, presence) = store();
        let within = |name: &str| directory.path().join(name);
        let publish = || {
            fs::write(within("CURRENT.new"), "2").unwrap();
            fs::rename(within("CURRENT.new"), within("CURRENT")).unwrap();
            fs::remove_dir_all(within("snapshots-000001")).unwrap();
            Ok(vec![within("snapshots-000001")])
        };
        make_database(&within("snapshots-000002"));
        presence.publish(&within("snapshots-000002"), publish).unwrap();
        assert_eq!(gone(&presence), None);
        fs::remove_dir_all(within("snapshots-000002")).unwrap();
        assert_eq!(gone(&presence), Some(within("snapshots-000002")));
        // Nothing is published into a store that lacks a file.
        let refused = presence.publish(&within("snapshots-000003"), || panic!("it is refused"));
        assert!(matches!(refused, Err(StoreError::Gone { .. })), "{refused:?}");
    }

    #[test]
    fn a_database_is_noted_as_it_is_begun() {
        let (directory, presence) = store();
        let journal = directory.path().join("journal-000002");
        let refused = presence.begin_database(&journal);
        assert!(matches!(refused, Err(StoreError::Gone { .. })), "{refused:?}");
        make_database(&journal);
        presence.begin_database(&journal).unwrap();
        fs::remove_dir_all(&journal).unwrap();
        assert_eq!(gone(&presence), Some(journal));
    }
}
