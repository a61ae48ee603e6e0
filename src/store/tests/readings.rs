//! Recovery from a disk whose second reading of a journal fails. sled takes that for the end.

use std::collections::BTreeSet;

use parking_lot::Mutex;

use super::*;
use crate::store::checkpoint::NextJournal;
use crate::store::durable_watermark::DurableWatermark;
use crate::store::generation::{self, CurrentGeneration, DirectoryLayout, Generation};
use crate::store::io_throttle::IoThrottle;
use crate::store::recovery::RecoverySource;
use crate::store::store_database::StoreDatabase;
use crate::store::store_files::{DirectoryFiles, StoreFiles};

/// The files of a data directory, of which each database is whole at the first reading only.
#[derive(Debug)]
struct FailingFiles {
    files: DirectoryFiles,
    /// The databases that were read.
    read: Mutex<BTreeSet<PathBuf>>,
}

impl StoreFiles for FailingFiles {
    fn directory(&self) -> &Path {
        self.files.directory()
    }

    fn layout(&self) -> Result<DirectoryLayout, StoreError> {
        self.files.layout()
    }

    fn free_bytes(&self) -> Result<u64, StoreError> {
        self.files.free_bytes()
    }

    fn create_database(&self, path: &Path) -> Result<Box<dyn StoreDatabase>, StoreError> {
        self.files.create_database(path)
    }

    fn open_copy(
        &self,
        path: &Path,
        throttle: Option<&mut IoThrottle>,
    ) -> Result<Box<dyn StoreDatabase>, StoreError> {
        let mut copy = self.files.open_copy(path, throttle)?;
        let is_first = self.read.lock().insert(path.to_owned());
        if !is_first && let Some(last) = copy.last_key()? {
            copy.write(vec![(last, None)])?;
        }
        Ok(copy)
    }

    fn drop_page_cache(&self, path: &Path) -> Result<(), StoreError> {
        self.files.drop_page_cache(path)
    }

    fn create_journal(&self, generation: Generation) -> Result<NextJournal, StoreError> {
        self.files.create_journal(generation)
    }

    fn set_current(&self, current: CurrentGeneration) -> Result<(), StoreError> {
        self.files.set_current(current)
    }

    fn remove_database(&self, path: &Path) -> Result<(), StoreError> {
        self.files.remove_database(path)
    }

    fn remove_leftovers(&self, current: CurrentGeneration) -> Result<Vec<PathBuf>, StoreError> {
        self.files.remove_leftovers(current)
    }

    fn watch_publication(
        &self,
        snapshots: &Path,
        publish: &mut dyn FnMut() -> Result<Vec<PathBuf>, StoreError>,
    ) -> Result<(), StoreError> {
        self.files.watch_publication(snapshots, publish)
    }

    fn new_throttle(&self) -> Option<IoThrottle> {
        None
    }
}

#[test]
fn after_an_unclean_end_two_readings_of_the_newest_journal_agree() {
    for close in [false, true] {
        let directory = written(&[vec![record(1, 1, 5)]], close);
        let mut log = recovered(directory.path()).unwrap().1.into_log().unwrap();
        log.append(&[record(1, 2, 5)]).unwrap();
        if close {
            log.close().unwrap();
        } else {
            drop(log);
        }
        let files = DirectoryFiles { directory: directory.path().to_owned(), presence: None };
        let source = RecoverySource {
            files: &FailingFiles { files, read: Mutex::default() },
            current: generation::read_current(directory.path()).unwrap().unwrap(),
            watermark: DurableWatermark::open(directory.path()).unwrap().current(),
        };
        let mut seen = CollectingVisitor::default();
        match source.recover(&mut seen) {
            Ok(_) => assert!(close, "a shorter reading is noticed"),
            Err(StoreError::ReadingsDiffer { path }) => {
                assert!(!close, "after a clean end one reading is enough");
                assert!(path.ends_with("journal-000002"), "{}", path.display());
            }
            Err(error) => panic!("{error}"),
        }
        assert_eq!(seen.records.len(), 2);
    }
}
