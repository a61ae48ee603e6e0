//! The content of a simulated disk: databases with their names, and `CURRENT`. Names and bytes that
//! were not synced may be lost in a power cut, each name only after those before it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::store::batch;
use crate::store::durable_watermark::Watermark;
use crate::store::error::StoreError;
use crate::store::generation::{CurrentGeneration, FIRST};
use crate::store::record::BatchNumber;

/// The directory that errors name.
pub(crate) const SIMULATED_DIRECTORY: &str = "simulated";

/// A disk that several handles share.
#[derive(Clone, Debug)]
pub(crate) struct SharedContents(Arc<Mutex<Contents>>);

impl SharedContents {
    pub(crate) fn new(contents: Contents) -> Self {
        Self(Arc::new(Mutex::new(contents)))
    }

    pub(crate) fn with<T>(&self, use_contents: impl FnOnce(&mut Contents) -> T) -> T {
        use_contents(&mut self.0.lock())
    }
}

#[derive(Debug)]
pub(crate) struct Contents {
    /// Files that a reader sees while the power is on.
    pub(crate) live: DiskImage,
    /// Files left after a power cut.
    pub(crate) durable: DiskImage,
    /// Names of `live` that are not durable, in the order of their changes.
    pub(crate) unsynced_names: Vec<NameChange>,
    /// Journals that were removed, for `SimulatedDisk::visit_history`.
    pub(crate) removed: BTreeMap<PathBuf, DatabaseMap>,
    /// Moves with each synced batch.
    pub(crate) watermark: Watermark,
    /// The watermark left after a power cut: `watermark` at its last sync.
    pub(crate) durable_watermark: Watermark,
    /// Number of power cuts and killed processes. Files opened before the last one fail.
    pub(crate) ends: u64,
    /// Number of last chunks that the next recovery does not see.
    pub(crate) unread_chunks: usize,
    /// Number of appends over the life of the disk.
    pub(crate) appends: u64,
    /// Faults by the number of the append, from 1.
    pub(crate) faults: BTreeMap<u64, InjectedFault>,
    /// Number of steps of compactions and new journals, over the life of the disk.
    pub(crate) steps: u64,
    pub(crate) cut_at_step: Option<CutAtStep>,
    /// Chunks that a journal has room for while the disk is full; `None` while it is not.
    pub(crate) room: Option<usize>,
}

/// A fault of one append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectedFault {
    /// The write fails, and no byte of the batch is kept.
    Write,
    /// The sync fails. The batch is visible until a power cut.
    Sync,
    /// The sync fails, and yet the batch is durable, although no answer was sent.
    SyncAfterAll,
}

/// Remainder of what was not synced, after a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// No chunk and no name reached the disk.
    Lost,
    /// This number of first chunks did, never all; and this number of first names.
    Torn(usize),
    /// All did.
    Whole,
}

/// Values by key, as in a database. The visible and the durable map share their bytes.
pub(crate) type DatabaseMap = BTreeMap<Vec<u8>, Arc<[u8]>>;

/// Everything on the disk but the watermark.
#[derive(Clone, Debug)]
pub(crate) struct DiskImage {
    /// Content of `CURRENT`.
    pub(crate) current: CurrentGeneration,
    /// Databases by path.
    pub(crate) databases: BTreeMap<PathBuf, DatabaseMap>,
}

/// A change of the names in the directory.
#[derive(Debug)]
pub(crate) enum NameChange {
    /// A database has got its name, with this content.
    Created(PathBuf, DatabaseMap),
    Removed(PathBuf),
    Current(CurrentGeneration),
}

impl DiskImage {
    pub(crate) fn change_name(&mut self, change: &NameChange) {
        match change {
            NameChange::Created(path, content) => {
                self.databases.insert(path.clone(), content.clone());
            }
            NameChange::Removed(path) => drop(self.databases.remove(path)),
            NameChange::Current(current) => self.current = *current,
        }
    }

    /// Returns the journals, in order.
    pub(crate) fn journals(&self) -> impl DoubleEndedIterator<Item = (&PathBuf, &DatabaseMap)> {
        self.databases.iter().filter(|(path, _)| is_journal(path))
    }

    /// Removes the last `chunks` chunks of the journals.
    pub(crate) fn hide_chunks(&mut self, mut chunks: usize) {
        let journals: Vec<PathBuf> = self.journals().map(|(path, _)| path.clone()).collect();
        for path in journals.iter().rev() {
            let content = self.databases.get_mut(path).expect("it was listed");
            // The first entry is the header.
            while chunks > 0 && content.len() > 1 {
                content.pop_last();
                chunks -= 1;
            }
        }
    }
}

pub(crate) fn is_journal(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"journal-"))
}

/// A loss of power at one of the steps of the disk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CutAtStep {
    /// Number of the step before which it comes, over the life of the disk.
    pub(crate) step: u64,
    /// Remainder of what is not synced; `None` if only the process is killed.
    pub(crate) tail: Option<Tail>,
}

impl Contents {
    /// A disk whose `CURRENT` names a first generation that is still to be written.
    pub(crate) fn blank() -> Self {
        let current = CurrentGeneration { generation: FIRST, previous: None };
        let image = DiskImage { current, databases: BTreeMap::new() };
        Self {
            live: image.clone(),
            durable: image,
            unsynced_names: Vec::new(),
            removed: BTreeMap::new(),
            watermark: Watermark::default(),
            durable_watermark: Watermark::default(),
            ends: 0,
            unread_chunks: 0,
            appends: 0,
            faults: BTreeMap::new(),
            steps: 0,
            cut_at_step: None,
            room: None,
        }
    }

    pub(crate) fn change_name(&mut self, change: NameChange) {
        if let NameChange::Removed(path) = &change
            && is_journal(path)
            && let Some(content) = self.live.databases.get(path)
        {
            self.removed.insert(path.clone(), content.clone());
        }
        self.live.change_name(&change);
        self.unsynced_names.push(change);
    }

    pub(crate) fn sync_names(&mut self) {
        for change in self.unsynced_names.drain(..) {
            self.durable.change_name(&change);
        }
    }

    /// Counts a step, and cuts the power where that was asked for.
    pub(crate) fn begin_step(&mut self) {
        self.steps += 1;
        let Some(cut) = self.cut_at_step.take_if(|cut| cut.step == self.steps) else { return };
        match cut.tail {
            Some(tail) => self.crash(tail),
            None => self.ends += 1,
        }
    }

    /// Returns the free bytes: none while the disk is full.
    pub(crate) const fn free_bytes(&self) -> u64 {
        if self.room.is_some() { 0 } else { u64::MAX }
    }

    /// Refuses what needs free space while the disk is full.
    pub(crate) fn expect_room(&self) -> Result<(), StoreError> {
        if self.room.is_some() { Err(disk_is_full()) } else { Ok(()) }
    }

    /// Writes chunks at the end of a journal: all of them, or those that a full disk has room for.
    pub(crate) fn append_chunks(
        &mut self,
        journal: &Path,
        number: BatchNumber,
        chunks: Vec<Vec<u8>>,
    ) -> Result<(), StoreError> {
        let fitting = self.room.unwrap_or(usize::MAX).min(chunks.len());
        let is_whole = fitting == chunks.len();
        let keys = (0..).map(|index| batch::chunk_key(number, index));
        let written = keys.zip(chunks.into_iter().map(Arc::from)).take(fitting);
        self.live.databases.get_mut(journal).expect("it was begun").extend(written);
        if let Some(room) = &mut self.room {
            *room -= fitting;
        }
        if is_whole { Ok(()) } else { Err(disk_is_full()) }
    }

    pub(crate) fn crash(&mut self, tail: Tail) {
        let mut unsynced = Vec::new();
        for (path, durable) in &self.durable.databases {
            for (key, value) in self.live.databases.get(path).into_iter().flatten() {
                if !durable.contains_key(key) {
                    unsynced.push((path.clone(), key.clone(), Arc::clone(value)));
                }
            }
        }
        let (chunks, names) = match tail {
            Tail::Lost => (0, 0),
            Tail::Torn(count) => (count.min(unsynced.len().saturating_sub(1)), count),
            Tail::Whole => (unsynced.len(), usize::MAX),
        };
        for (path, key, value) in unsynced.into_iter().take(chunks) {
            self.durable.databases.get_mut(&path).expect("it is durable").insert(key, value);
        }
        for change in self.unsynced_names.drain(..).take(names) {
            self.durable.change_name(&change);
        }
        self.live = self.durable.clone();
        self.watermark = self.durable_watermark;
        self.ends += 1;
    }
}

pub(crate) fn simulated_directory() -> PathBuf {
    PathBuf::from(SIMULATED_DIRECTORY)
}

pub(crate) fn disk_is_full() -> StoreError {
    StoreError::io("write", &simulated_directory())(io::ErrorKind::StorageFull.into())
}
