//! From what the store holds to the states the engine starts from, and back for an import.

use std::collections::BTreeMap;
use std::path::Path;

use crate::domain::directory::{Directory, DirectoryEvent};
use crate::domain::event::Event;
use crate::domain::ids::GroupId;
use crate::domain::root::Root;
use crate::store::state::{self, GroupReader};
use crate::store::{
    BatchNumber, Frames, NewGeneration, Position, Record, Recovered, Store, StoreError, Stream, Visitor, codec,
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
                self.directory.sequence = position.sequence;
                while let Some(frame) = frames.next()? {
                    state::read_directory(&mut self.directory, &frame)?;
                }
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

fn fill(mut generation: NewGeneration, content: &Directory, roots: &[Root]) -> Result<Store, StoreError> {
    let mut snapshot = generation.snapshot(Stream::Directory, Position { epoch: 0, sequence: content.sequence });
    state::write_directory(content, |frame| snapshot.frame(frame))?;
    snapshot.finish()?;
    for root in roots {
        let position = Position { epoch: 0, sequence: root.sequence };
        let mut snapshot = generation.snapshot(Stream::Group(root.catalogue.group.id), position);
        state::write_group(root, |frame| snapshot.frame(frame))?;
        snapshot.finish()?;
    }
    generation.publish()
}
