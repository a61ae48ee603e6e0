//! The id of the cluster in the data directory of one of its servers. Such a directory has the
//! operator's socket and no store. Reference 8.11.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use uuid::Uuid;

use crate::store::error::StoreError;
use crate::store::files::replace_file;

/// Name of the file with the id.
pub(crate) const CLUSTER: &str = "cluster";

/// Checks that a directory is that of a server in the cluster `id`, or of none yet.
///
/// # Errors
/// [`StoreError::OtherCluster`]; or the file cannot be read.
pub(crate) fn check_cluster(directory: &Path, id: Uuid) -> Result<(), StoreError> {
    match read_cluster(directory)? {
        Some(noted) if noted != id.to_string() => {
            Err(StoreError::OtherCluster { path: directory.join(CLUSTER), noted, id })
        }
        _ => Ok(()),
    }
}

/// Notes durably that a directory is that of a server in the cluster `id`, unless it names one.
///
/// # Errors
/// The disk refuses.
pub(crate) fn note_cluster(directory: &Path, id: Uuid) -> Result<(), StoreError> {
    if read_cluster(directory)?.is_some() {
        return Ok(());
    }
    replace_file(directory, CLUSTER, format!("{id}\n").as_bytes())
}

/// Refuses the directory of a server in a cluster to those who open a store, or make one: theirs
/// would have nothing of the content of the cluster.
///
/// # Errors
/// [`StoreError::OfCluster`]; or the file cannot be read.
pub(crate) fn refuse_cluster_directory(directory: &Path) -> Result<(), StoreError> {
    match read_cluster(directory)? {
        Some(id) => Err(StoreError::OfCluster { directory: directory.to_owned(), id }),
        None => Ok(()),
    }
}

/// Returns the id that a directory names, as it is written there.
fn read_cluster(directory: &Path) -> Result<Option<String>, StoreError> {
    let path = directory.join(CLUSTER);
    match fs::read(&path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).trim().to_owned())),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(StoreError::io("read", &path)(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{EmptyDirectory, NewGeneration, Store};

    #[test]
    fn a_directory_stays_that_of_its_first_cluster_and_takes_no_store() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        let first = Uuid::new_v4();
        let second = Uuid::new_v4();
        let directory = EmptyDirectory::claim_for_cluster(&path).unwrap();
        directory.check_cluster(second).unwrap();
        directory.note_cluster(first).unwrap();
        directory.note_cluster(first).unwrap();
        drop(directory);
        let directory = EmptyDirectory::claim_for_cluster(&path).unwrap();
        directory.check_cluster(first).unwrap();
        let refused = directory.check_cluster(second).unwrap_err().to_string();
        let file = path.join(CLUSTER).display().to_string();
        for named in [first.to_string(), second.to_string(), file] {
            assert!(refused.contains(&named), "{refused}");
        }
        drop(directory);
        assert!(Store::is_empty(&path).unwrap());
        for refused in [
            EmptyDirectory::claim(&path).map(drop),
            NewGeneration::create(&path).map(drop),
            Store::open(&path).map(drop),
        ] {
            assert!(matches!(&refused, Err(StoreError::OfCluster { .. })), "{refused:?}");
        }
        fs::remove_file(path.join(CLUSTER)).unwrap();
        EmptyDirectory::claim(&path).unwrap();
    }

    #[test]
    fn a_file_that_names_no_cluster_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(CLUSTER), "").unwrap();
        let refused = check_cluster(folder.path(), Uuid::new_v4());
        assert!(matches!(refused, Err(StoreError::OtherCluster { .. })), "{refused:?}");
    }
}
