//! From what the store holds to the states the engine starts from, and back for an import.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::path::Path;

use crate::domain::identity::directory::{Directory, DirectoryEvent};
use crate::domain::identity::link_secret::LinkSecret;
use crate::domain::records::ids::GroupId;
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::invariants;
use crate::domain::state::upkeep;
use crate::domain::time::Instant;
use crate::engine::quarantine::QuarantinedGroup;
use crate::store::codec;
use crate::store::state::{self, GroupReader, Waiting};
use crate::store::{
    BatchNumber, Frames, Log, NewGeneration, Position, Record, Recovered, SnapshotWriter, Store,
    StoreError, Stream, Visitor,
};

/// What a store holds, and the way to go on writing it.
#[derive(Debug)]
pub struct Loaded {
    /// Keys, professionals, blocks of ids.
    pub directory: Directory,
    /// Every group, by id, but for those set aside.
    pub group_states: Vec<GroupState>,
    /// Groups whose history cannot be carried out by this release.
    pub aside: Vec<QuarantinedGroup>,
    /// The store, to be turned into a log or replaced.
    pub store: Recovered,
}

/// The states in the making.
#[derive(Debug, Default)]
struct States {
    directory: Directory,
    group_states: BTreeMap<GroupId, GroupState>,
    aside: BTreeMap<GroupId, QuarantinedGroup>,
    /// Where each group's snapshot stands.
    snapshots: BTreeMap<GroupId, Position>,
    retrace: Retrace,
}

/// Bytes of events after which the states are held anew.
const RETRACED_BYTES: usize = 8 << 20;

/// The way back to a state that an event has left half changed: events are carried out in place.
#[derive(Debug, Default)]
struct Retrace {
    /// Groups as they stood before the first of `events` that is theirs.
    held: BTreeMap<GroupId, GroupState>,
    /// What has been carried out since, in order.
    events: Vec<(GroupId, Vec<u8>)>,
    /// Bytes of `events`, [`RETRACED_BYTES`] and one event at most.
    bytes: usize,
}

impl Retrace {
    /// Holds a state before it is changed. What it shares with the one that goes on is copied once, so the longer states
    /// are held the less is.
    fn hold(&mut self, group: GroupId, group_state: &GroupState) {
        self.held.entry(group).or_insert_with(|| group_state.clone());
    }

    /// Notes an event that has been carried out.
    fn done(&mut self, group: GroupId, event: Vec<u8>) {
        self.bytes += event.len();
        self.events.push((group, event));
        if self.bytes > RETRACED_BYTES {
            *self = Self::default();
        }
    }

    /// A group that is held, as it stood after its last event that was carried out.
    fn back(&mut self, group: GroupId) -> Result<GroupState, StoreError> {
        let mut group_state =
            self.held.remove(&group).expect("a state is held before it is changed");
        for (_, event) in self.events.iter().filter(|(of, _)| *of == group) {
            group_state.apply_in_place(&codec::decode(event)?);
        }
        self.forget(group);
        Ok(group_state)
    }

    /// Lets go of a group that is made anew, or set aside.
    fn forget(&mut self, group: GroupId) {
        self.held.remove(&group);
        self.events.retain(|(of, _)| *of != group);
    }
}

impl Visitor for States {
    fn snapshot(
        &mut self,
        stream: Stream,
        position: Position,
        frames: &mut Frames<'_, '_>,
    ) -> Result<(), StoreError> {
        match stream {
            Stream::Directory => {
                let mut directory =
                    Directory { sequence: position.sequence, ..Directory::default() };
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
                self.assemble(group, position, reader)?;
            }
        }
        Ok(())
    }

    fn record(&mut self, _: BatchNumber, record: Record) -> Result<(), StoreError> {
        match record.stream {
            Stream::Directory => {
                let event: DirectoryEvent = codec::decode(&record.bytes)?;
                guarded(|| self.directory.apply_in_place(&event)).map_err(|message| {
                    StoreError::rejected(format!(
                        "the directory's event cannot be carried out: {message}"
                    ))
                })
            }
            Stream::Group(group) => self.event(group, record),
        }
    }
}

impl States {
    /// Makes a group's state of its snapshot; a group of which none can be made is set aside.
    fn assemble(
        &mut self,
        group: GroupId,
        at: Position,
        mut reader: GroupReader,
    ) -> Result<(), StoreError> {
        // A snapshot may take the place of one that turned out damaged.
        self.group_states.remove(&group);
        self.aside.remove(&group);
        self.retrace.forget(group);
        self.snapshots.insert(group, at);
        let waiting = reader.take_waiting();
        let sequence = waiting.first().map_or(at.sequence, |first| first.sequence - 1);
        match guarded(|| reader.group_state(sequence)) {
            Ok(Some(group_state)) => {
                self.group_states.insert(group, group_state);
                let stream = Stream::Group(group);
                for Waiting { sequence, format, bytes } in waiting {
                    self.event(
                        group,
                        Record { format, ..Record::new(stream, at.epoch, sequence, bytes) },
                    )?;
                }
            }
            Ok(None) => return Err(StoreError::rejected("a group's snapshot has no head")),
            Err(message) => {
                let why = format!("its snapshot makes no state: {message}");
                // What waits stands in the snapshot already.
                self.set_aside(QuarantinedGroup {
                    group,
                    why,
                    base: None,
                    snapshot: at,
                    waiting: Vec::new(),
                });
            }
        }
        Ok(())
    }

    /// Carries out a group's next event; where that panics, the group is set aside as it stood before.
    fn event(&mut self, group: GroupId, record: Record) -> Result<(), StoreError> {
        if let Some(aside) = self.aside.get_mut(&group) {
            aside.push(record);
            return Ok(());
        }
        let event: Event = codec::decode(&record.bytes)?;
        let group_state = self.group_states.get_mut(&group);
        let group_state = group_state
            .ok_or_else(|| StoreError::rejected("an event of a group that has no snapshot"))?;
        self.retrace.hold(group, group_state);
        match guarded(|| group_state.apply_in_place(&event)) {
            Ok(()) => self.retrace.done(group, record.bytes),
            Err(message) => {
                self.group_states.remove(&group);
                let base = Some(self.retrace.back(group)?);
                let why = format!("its event {} cannot be carried out: {message}", record.sequence);
                let snapshot = self.snapshots.get(&group).copied().unwrap_or_default();
                let mut aside =
                    QuarantinedGroup { group, why, base, snapshot, waiting: Vec::new() };
                aside.push(record);
                self.set_aside(aside);
            }
        }
        Ok(())
    }

    fn set_aside(&mut self, aside: QuarantinedGroup) {
        tracing::error!(group = %aside.group, why = aside.why, "a group is set aside: nobody is let in, nothing is lost");
        self.aside.insert(aside.group, aside);
    }
}

/// Runs a part of the core on states it cannot have changed when it panics; its message where it does.
fn guarded<T>(part: impl FnOnce() -> T) -> Result<T, String> {
    std::panic::catch_unwind(AssertUnwindSafe(part)).map_err(|payload| {
        let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default()
    })
}

/// Reads a data directory: the snapshots, then every event since. Says of each group where it stands, and which promises
/// it breaks: that never keeps the others from being served.
///
/// # Errors
/// No store, a store in use, or damage with its place.
pub fn load(directory: &Path) -> Result<Loaded, StoreError> {
    let mut states = States::default();
    let store = Store::open(directory)?.recover(&mut states)?;
    for (group, group_state) in &states.group_states {
        let state = short_hash(group_state);
        tracing::info!(%group, sequence = group_state.sequence, state, "recovered");
        for broken in invariants::find_broken(group_state) {
            tracing::error!(%group, %broken, "a promise is broken");
        }
    }
    if store.report().restored > 0 {
        let restored = store.report().restored;
        tracing::error!(
            restored,
            "snapshots are damaged: the generation before and all journals since stood in"
        );
    }
    let (group_states, aside) =
        (states.group_states.into_values().collect(), states.aside.into_values().collect());
    Ok(Loaded { directory: states.directory, group_states, aside, store })
}

/// The first half of a group's state hash, in hex.
#[must_use]
pub fn short_hash(group_state: &GroupState) -> String {
    state::hash(group_state).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Has every group follow this release's zone database: one event each where another one made it. Overlaps that come of
/// it are told, and stand.
///
/// # Errors
/// A disk that refuses.
pub fn follow_zones(
    log: &mut impl Log,
    group_states: &mut [GroupState],
    now: Instant,
) -> Result<(), StoreError> {
    for group_state in group_states {
        let Some(event) = upkeep::resolve_instants(group_state, now) else { continue };
        let group = group_state.catalogue.group.id;
        let next = group_state.apply(&event);
        log.append(&[Record::new(Stream::Group(group), 0, next.sequence, codec::encode(&event))])?;
        tracing::warn!(%group, from = %group_state.tzdata, to = %next.tzdata, "appointments to come follow the zone database");
        let before = invariants::find_overlaps(group_state);
        for overlap in
            invariants::find_overlaps(&next).into_iter().filter(|overlap| !before.contains(overlap))
        {
            tracing::error!(%group, %overlap, "the zone database has changed, and now they overlap: move one");
        }
        *group_state = next;
    }
    Ok(())
}

/// Seals a store that is served for the first time.
///
/// # Errors
/// A disk that refuses.
pub fn seal(
    log: &mut impl Log,
    directory: &mut Directory,
    seal: impl FnOnce() -> LinkSecret,
) -> Result<(), StoreError> {
    if directory.link_secret.is_none() {
        let event = DirectoryEvent::LinkSecretSet { link_secret: seal() };
        directory.apply_in_place(&event);
        log.append(&[Record::new(
            Stream::Directory,
            0,
            directory.sequence,
            codec::encode(&event),
        )])?;
    }
    Ok(())
}

/// Makes the first content of a data directory, whole or not at all.
///
/// # Errors
/// A directory that holds something, or a disk that refuses.
pub fn create(
    directory: &Path,
    content: &Directory,
    group_states: &[GroupState],
) -> Result<Store, StoreError> {
    fill(NewGeneration::create(directory)?, content, group_states)
}

/// Replaces the content of a store, whole or not at all.
///
/// # Errors
/// A disk that refuses; the old content then stands.
pub fn replace(
    store: Recovered,
    content: &Directory,
    group_states: &[GroupState],
) -> Result<Store, StoreError> {
    fill(store.replace()?, content, group_states)
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

fn fill(
    mut generation: NewGeneration,
    content: &Directory,
    group_states: &[GroupState],
) -> Result<Store, StoreError> {
    write_directory(generation.snapshot(Stream::Directory, directory_position(content)), content)?;
    for group_state in group_states {
        write_group(
            generation
                .snapshot(Stream::Group(group_state.catalogue.group.id), position(group_state)),
            group_state,
        )?;
    }
    generation.publish()
}

/// Where a group's state stands.
pub(super) fn position(group_state: &GroupState) -> Position {
    Position { epoch: 0, sequence: group_state.sequence }
}

/// Where the directory stands.
pub(super) fn directory_position(directory: &Directory) -> Position {
    Position { epoch: 0, sequence: directory.sequence }
}

/// Writes a group's whole snapshot.
pub(super) fn write_group(
    mut snapshot: SnapshotWriter<'_>,
    group_state: &GroupState,
) -> Result<(), StoreError> {
    state::write_group(group_state, |frame| snapshot.frame(frame))?;
    snapshot.finish()
}

/// Writes the directory's whole snapshot.
pub(super) fn write_directory(
    mut snapshot: SnapshotWriter<'_>,
    directory: &Directory,
) -> Result<(), StoreError> {
    state::write_directory(directory, |frame| snapshot.frame(frame))?;
    snapshot.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_sealed_once_and_its_seal_is_in_the_journal_and_in_snapshots() {
        let folder = tempfile::tempdir().unwrap();
        drop(create(folder.path(), &Directory::default(), &[]).unwrap());
        let served = |bits: u8| {
            let Loaded { mut directory, store, .. } = load(folder.path()).unwrap();
            let mut log = store.into_log().unwrap();
            seal(&mut log, &mut directory, || LinkSecret::new([bits; 32])).unwrap();
            log.close().unwrap();
            directory
        };
        assert_eq!(served(1).link_secret, Some(LinkSecret::new([1; 32])));
        assert_eq!(
            served(2),
            served(3),
            "it is read back from the journal, and nothing is written"
        );
        let Loaded { directory, store, .. } = load(folder.path()).unwrap();
        assert!(directory.is_blank() && directory.link_secret == Some(LinkSecret::new([1; 32])));
        drop(replace(store, &directory, &[]).unwrap());
        assert_eq!(served(4), directory, "it is read back from the snapshot");
    }
}
