//! The files of a simulated disk, as one process has opened them.

use std::io;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::store::checkpoint::NextJournal;
use crate::store::error::StoreError;
use crate::store::generation::{CurrentGeneration, DirectoryLayout, Generation, journal_path};
use crate::store::io_throttle::IoThrottle;
use crate::store::journal::header_entry;
use crate::store::record::BatchNumber;
use crate::store::simulated_contents::{
    Contents, DatabaseMap, NameChange, SIMULATED_DIRECTORY, SharedContents, simulated_directory,
};
use crate::store::store_database::{Changes, Entries, StoreDatabase};
use crate::store::store_files::StoreFiles;

/// The files of a disk as one process has opened them. They fail once that has ended.
#[derive(Clone, Debug)]
pub(crate) struct SimulatedFiles {
    pub(crate) disk: SharedContents,
    /// Ends of processes before this one was started.
    pub(crate) ends: u64,
}

impl SimulatedFiles {
    /// Runs one step, unless the process has ended before it.
    fn run_step<T>(
        &self,
        step: impl FnOnce(&mut Contents) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.disk.with(|contents| {
            contents.begin_step();
            if contents.ends != self.ends {
                return Err(StoreError::Poisoned { path: simulated_directory() });
            }
            step(contents)
        })
    }

    /// Changes a name, which survives a power cut after the next step.
    fn change_name(&self, change: NameChange) -> Result<(), StoreError> {
        self.run_step(|contents| {
            if !matches!(change, NameChange::Removed(_)) {
                contents.expect_room()?;
            }
            contents.change_name(change);
            Ok(())
        })?;
        self.run_step(|contents| {
            contents.sync_names();
            Ok(())
        })
    }

    /// Begins the journal of a generation, or sets the header of an empty one.
    pub(crate) fn begin_journal(
        &self,
        generation: Generation,
        first_batch: Option<BatchNumber>,
    ) -> Result<(), StoreError> {
        let path = journal_path(self.directory(), generation);
        let (key, header) = header_entry(generation.0, first_batch);
        let header: Arc<[u8]> = header.expect("it is set").into();
        let is_there = self.disk.with(|contents| contents.live.databases.contains_key(&path));
        if !is_there {
            let content = DatabaseMap::from([(key, header)]);
            return self.change_name(NameChange::Created(path, content));
        }
        self.run_step(|contents| {
            contents.expect_room()?;
            for image in [&mut contents.live, &mut contents.durable] {
                if let Some(content) = image.databases.get_mut(&path) {
                    content.insert(key.clone(), Arc::clone(&header));
                }
            }
            Ok(())
        })
    }
}

impl StoreFiles for SimulatedFiles {
    fn directory(&self) -> &Path {
        Path::new(SIMULATED_DIRECTORY)
    }

    fn layout(&self) -> Result<DirectoryLayout, StoreError> {
        let paths = self.disk.with(|contents| contents.live.databases.keys().cloned().collect());
        Ok(DirectoryLayout::of_paths(self.directory(), paths))
    }

    fn free_bytes(&self) -> Result<u64, StoreError> {
        Ok(self.disk.with(|contents| contents.free_bytes()))
    }

    fn create_database(&self, path: &Path) -> Result<Box<dyn StoreDatabase>, StoreError> {
        self.change_name(NameChange::Created(path.to_owned(), DatabaseMap::new()))?;
        self.open_copy(path, None)
    }

    fn open_copy(
        &self,
        path: &Path,
        _: Option<&mut IoThrottle>,
    ) -> Result<Box<dyn StoreDatabase>, StoreError> {
        let content = self.disk.with(|contents| contents.live.databases.get(path).cloned());
        let Some(content) = content else {
            return Err(StoreError::io("open", path)(io::ErrorKind::NotFound.into()));
        };
        let files = self.clone();
        Ok(Box::new(SimulatedDatabase { files, path: path.to_owned(), content }))
    }

    fn drop_page_cache(&self, _: &Path) -> Result<(), StoreError> {
        Ok(())
    }

    fn create_journal(&self, generation: Generation) -> Result<NextJournal, StoreError> {
        self.begin_journal(generation, None)?;
        Ok(NextJournal { generation, database: None })
    }

    fn set_current(&self, current: CurrentGeneration) -> Result<(), StoreError> {
        self.change_name(NameChange::Current(current))
    }

    fn remove_database(&self, path: &Path) -> Result<(), StoreError> {
        self.change_name(NameChange::Removed(path.to_owned()))
    }

    fn remove_leftovers(&self, current: CurrentGeneration) -> Result<Vec<PathBuf>, StoreError> {
        let leftovers = self.layout()?.leftovers(Some(current));
        for leftover in &leftovers {
            self.remove_database(leftover)?;
        }
        Ok(leftovers)
    }

    fn watch_publication(
        &self,
        _: &Path,
        publish: &mut dyn FnMut() -> Result<Vec<PathBuf>, StoreError>,
    ) -> Result<(), StoreError> {
        publish().map(drop)
    }

    fn new_throttle(&self) -> Option<IoThrottle> {
        None
    }
}

/// A database of a simulated disk.
#[derive(Debug)]
struct SimulatedDatabase {
    files: SimulatedFiles,
    path: PathBuf,
    /// The content as it was read or written by this handle.
    content: DatabaseMap,
}

impl StoreDatabase for SimulatedDatabase {
    fn path(&self) -> &Path {
        &self.path
    }

    fn write(&mut self, changes: Changes) -> Result<(), StoreError> {
        let mut content = DatabaseMap::new();
        for (key, value) in changes {
            content.insert(key, value.expect("nothing of a snapshot is removed").into());
        }
        self.content.extend(content.clone());
        self.files.run_step(|contents| {
            contents.expect_room()?;
            let live = contents.live.databases.get_mut(&self.path);
            live.expect("it was created").extend(content.clone());
            Ok(())
        })?;
        self.files.run_step(|contents| {
            let durable = contents.durable.databases.get_mut(&self.path);
            durable.expect("its name is durable").extend(content);
            Ok(())
        })
    }

    fn value(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.content.get(key).map(|value| value.to_vec()))
    }

    fn last_key(&self) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.content.keys().next_back().cloned())
    }

    fn after(&self, key: &[u8]) -> Entries<'_> {
        let range = (Bound::Excluded(key), Bound::Unbounded);
        let entries = self.content.range::<[u8], _>(range);
        Box::new(entries.map(|(key, value)| Ok((key.clone(), value.to_vec()))))
    }

    fn reopen(
        self: Box<Self>,
        throttle: Option<&mut IoThrottle>,
    ) -> Result<Box<dyn StoreDatabase>, StoreError> {
        self.files.open_copy(&self.path, throttle)
    }

    fn close(self: Box<Self>) -> Result<(), StoreError> {
        Ok(())
    }
}
