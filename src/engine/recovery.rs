//! From what the store holds to the states the engine starts from, and back for an import.

use std::collections::BTreeMap;
use std::path::Path;

use crate::domain::directory::{Directory, DirectoryEvent};
use crate::domain::event::Event;
use crate::domain::ids::GroupId;
use crate::domain::root::Root;
use crate::store::state::{self, GroupReader};
use crate::store::{
    BatchNumber, Frames, Log as _, NewGeneration, Position, Record, Recovered, SnapshotWriter, Store, StoreError,
    Stream, Visitor, codec,
};

/// What a store holds, and the way to go on writing it.
#[derive(Debug)]
pub struct Loaded {
    /// Keys, professionals, blocks of ids.
    pub directory: Directory,
    /// Every group, by id.
    pub roots: Vec<Root>,
    /// The store, to be turned into a log or replaced.
    pub store: Recovered,
}

/// The states in the making.
#[derive(Debug, Default)]
struct States {
    directory: Directory,
    roots: BTreeMap<GroupId, Root>,
}

impl Visitor for States {
    fn snapshot(&mut self, stream: Stream, position: Position, frames: &mut Frames<'_, '_>) -> Result<(), StoreError> {
        match stream {
            Stream::Directory => {
                let mut directory = Directory { sequence: position.sequence, ..Directory::default() };
                while let Some(frame) = frames.next()? {
                    state::read_directory(&mut directory, &frame)?;
                }
                self.directory = directory;
            }
            Stream::Group(group) => {
                let mut reader = GroupReader::default();
                while let Some(frame) = frames.next()? {
                    reader.frame(&frame)?;
                }
                let root = reader.root(position.sequence);
                let root = root.ok_or_else(|| StoreError::rejected("a group's snapshot has no head"))?;
                self.roots.insert(group, root);
            }
        }
        Ok(())
    }

    fn record(&mut self, _: BatchNumber, record: Record) -> Result<(), StoreError> {
        match record.stream {
            Stream::Directory => {
                let event: DirectoryEvent = codec::decode(&record.bytes)?;
                self.directory = self.directory.apply(&event);
            }
            Stream::Group(group) => {
                let event: Event = codec::decode(&record.bytes)?;
                let root = self.roots.get_mut(&group);
                let root = root.ok_or_else(|| StoreError::rejected("an event of a group that has no snapshot"))?;
                *root = root.apply(&event);
            }
        }
        Ok(())
    }
}

/// Reads a data directory: the snapshots, then every event since.
///
/// # Errors
/// No store, a store in use, or damage with its place.
pub fn load(directory: &Path) -> Result<Loaded, StoreError> {
    let mut states = States::default();
    let store = Store::open(directory)?.recover(&mut states)?;
    for (group, root) in &states.roots {
        let hash: String = state::hash(root).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        tracing::info!(%group, sequence = root.sequence, state = hash, "recovered");
    }
    Ok(Loaded { directory: states.directory, roots: states.roots.into_values().collect(), store })
}

/// Makes the first content of a data directory, whole or not at all.
///
/// # Errors
/// A directory that holds something, or a disk that refuses.
pub fn create(directory: &Path, content: &Directory, roots: &[Root]) -> Result<Store, StoreError> {
    fill(NewGeneration::create(directory)?, content, roots)
}

/// Replaces the content of a store, whole or not at all.
///
/// # Errors
/// A disk that refuses; the old content then stands.
pub fn replace(store: Recovered, content: &Directory, roots: &[Root]) -> Result<Store, StoreError> {
    fill(store.replace()?, content, roots)
}

/// Makes an event of the directory durable in a store that nobody serves.
///
/// # Errors
/// A disk that refuses: then it is not known whether the event will be there.
pub fn append_to_directory(loaded: Loaded, event: &DirectoryEvent) -> Result<(), StoreError> {
    let next = loaded.directory.apply(event);
    let mut log = loaded.store.into_log()?;
    log.append(&[Record::new(Stream::Directory, 0, next.sequence, codec::encode(event))])?;
    log.close()
}

fn fill(mut generation: NewGeneration, content: &Directory, roots: &[Root]) -> Result<Store, StoreError> {
    write_directory(generation.snapshot(Stream::Directory, directory_position(content)), content)?;
    for root in roots {
        write_group(generation.snapshot(Stream::Group(root.catalogue.group.id), position(root)), root)?;
    }
    generation.publish()
}

/// Where a group's state stands.
pub(super) fn position(root: &Root) -> Position {
    Position { epoch: 0, sequence: root.sequence }
}

/// Where the directory stands.
pub(super) fn directory_position(directory: &Directory) -> Position {
    Position { epoch: 0, sequence: directory.sequence }
}

/// Writes a group's whole snapshot.
pub(super) fn write_group(mut snapshot: SnapshotWriter<'_>, root: &Root) -> Result<(), StoreError> {
    state::write_group(root, |frame| snapshot.frame(frame))?;
    snapshot.finish()
}

/// Writes the directory's whole snapshot.
pub(super) fn write_directory(mut snapshot: SnapshotWriter<'_>, directory: &Directory) -> Result<(), StoreError> {
    state::write_directory(directory, |frame| snapshot.frame(frame))?;
    snapshot.finish()
}
