//! The files of a store as recoveries and compactions use them: those of a data directory, or those
//! of a simulated disk. So both run the same code.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::store::checkpoint::NextJournal;
use crate::store::database::Database;
use crate::store::error::StoreError;
use crate::store::files::{drop_page_cache, free_bytes, remove_directory};
use crate::store::generation::{self, CurrentGeneration, DirectoryLayout, Generation};
use crate::store::io_throttle::IoThrottle;
use crate::store::journal::open_empty_journal;
use crate::store::presence::Presence;
use crate::store::store_database::StoreDatabase;

/// The files of one store. Errors are those of the disk.
pub(crate) trait StoreFiles: Debug + Send + Sync {
    /// The data directory.
    fn directory(&self) -> &Path;

    /// Reads the names in the directory.
    fn layout(&self) -> Result<DirectoryLayout, StoreError>;

    /// Returns the free bytes of the disk.
    fn free_bytes(&self) -> Result<u64, StoreError>;

    /// Creates an empty database, durable with its name.
    fn create_database(&self, path: &Path) -> Result<Box<dyn StoreDatabase>, StoreError>;

    /// Opens a copy of a database, to be read.
    fn open_copy(
        &self,
        path: &Path,
        throttle: Option<&mut IoThrottle>,
    ) -> Result<Box<dyn StoreDatabase>, StoreError>;

    /// Has the next reads of a database come from the disk.
    fn drop_page_cache(&self, path: &Path) -> Result<(), StoreError>;

    /// Creates the empty journal of a generation, on disk with its name.
    fn create_journal(&self, generation: Generation) -> Result<NextJournal, StoreError>;

    /// Makes a generation the current one, in one durable step.
    fn set_current(&self, current: CurrentGeneration) -> Result<(), StoreError>;

    /// Removes a database, durably.
    fn remove_database(&self, path: &Path) -> Result<(), StoreError>;

    /// Removes what does not belong to the current generation, and returns it.
    fn remove_leftovers(&self, current: CurrentGeneration) -> Result<Vec<PathBuf>, StoreError>;

    /// Runs `publish`, which replaces `CURRENT`, adds the database `snapshots`, and returns the
    /// databases that it has removed.
    fn watch_publication(
        &self,
        snapshots: &Path,
        publish: &mut dyn FnMut() -> Result<Vec<PathBuf>, StoreError>,
    ) -> Result<(), StoreError>;

    /// Returns the throttle of writes beside a running server.
    fn new_throttle(&self) -> Option<IoThrottle>;
}

/// The files of a data directory.
#[derive(Debug)]
pub(crate) struct DirectoryFiles {
    pub(crate) directory: PathBuf,
    /// The files that a monitor checks; `None` before the store is open.
    pub(crate) presence: Option<Arc<Presence>>,
}

impl StoreFiles for DirectoryFiles {
    fn directory(&self) -> &Path {
        &self.directory
    }

    fn layout(&self) -> Result<DirectoryLayout, StoreError> {
        DirectoryLayout::read(&self.directory)
    }

    fn free_bytes(&self) -> Result<u64, StoreError> {
        free_bytes(&self.directory)
    }

    fn create_database(&self, path: &Path) -> Result<Box<dyn StoreDatabase>, StoreError> {
        Ok(Box::new(Database::create(path)?))
    }

    fn open_copy(
        &self,
        path: &Path,
        throttle: Option<&mut IoThrottle>,
    ) -> Result<Box<dyn StoreDatabase>, StoreError> {
        Ok(Box::new(Database::open_copy(path, throttle)?))
    }

    fn drop_page_cache(&self, path: &Path) -> Result<(), StoreError> {
        drop_page_cache(path)
    }

    fn create_journal(&self, generation: Generation) -> Result<NextJournal, StoreError> {
        let path = generation::journal_path(&self.directory, generation);
        let database = open_empty_journal(&path, generation.0, None)?;
        Ok(NextJournal { generation, database: Some(database) })
    }

    fn set_current(&self, current: CurrentGeneration) -> Result<(), StoreError> {
        generation::set_current(&self.directory, current)
    }

    fn remove_database(&self, path: &Path) -> Result<(), StoreError> {
        remove_directory(path)
    }

    fn remove_leftovers(&self, current: CurrentGeneration) -> Result<Vec<PathBuf>, StoreError> {
        self.layout()?.remove_leftovers(Some(current))
    }

    fn watch_publication(
        &self,
        snapshots: &Path,
        publish: &mut dyn FnMut() -> Result<Vec<PathBuf>, StoreError>,
    ) -> Result<(), StoreError> {
        match &self.presence {
            Some(presence) => presence.publish(snapshots, publish),
            None => publish().map(drop),
        }
    }

    fn new_throttle(&self) -> Option<IoThrottle> {
        Some(IoThrottle::new())
    }
}
