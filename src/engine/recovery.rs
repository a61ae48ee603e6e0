//! Recovery: it builds the states of the engine from the store, and writes states as snapshots.
//! Reference 8.

use std::borrow::Borrow;
use std::path::Path;
use std::sync::Arc;

use data_encoding::HEXLOWER;
use serde::Serialize;

use crate::domain::decisions::upkeep;
use crate::domain::directory::link_secret::LinkSecret;
use crate::domain::directory::{Directory, DirectoryEvent};
use crate::domain::records::author::Author;
use crate::domain::state::group_record::GroupRecord;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::invariants;
use crate::domain::time::Instant;
use crate::engine::group_states::GroupStates;
use crate::engine::quarantine::QuarantinedGroup;
use crate::engine::replay::StateRebuilder;
use crate::store::codec;
use crate::store::state;
use crate::store::{
    EmptyDirectory, JournalRecord, Log, NewGeneration, Position, RecoveredStore, SharedStore,
    SimulatedDisk, SimulatedLog, SnapshotWriter, Store, StoreError, Stream,
};

/// Epoch of a store that begins with a given content.
pub(crate) const FIRST_EPOCH: u32 = 0;

/// Records of a batch that updates groups to another time zone database: each batch is a write that
/// waits for the disk, or for a standby.
const ZONES_BATCH_RECORDS: usize = 256;
/// Their bytes, from which a batch has no more.
const ZONES_BATCH_BYTES: usize = 1 << 20;

/// The recovered states, and the store they came from.
#[derive(Debug)]
pub struct Loaded {
    /// Keys, professionals and blocks of ids.
    pub directory: Directory,
    /// Every group that can be served, by id.
    pub group_states: Vec<Arc<GroupState>>,
    /// Groups whose history this release cannot apply, by id.
    pub quarantined: Vec<QuarantinedGroup>,
    /// The store, to be turned into a log or replaced.
    pub store: RecoveredStore,
}

/// Reads a data directory: the snapshots, then every later event. Logs each group's position and
/// broken invariants, which do not keep the group from being served.
///
/// # Errors
/// No store, a store in use, or damage with its place.
pub fn load(directory: &Path) -> Result<Loaded, StoreError> {
    let mut visitor = StateRebuilder::default();
    let store = Store::open(directory)?.recover(&mut visitor)?;
    let recovered = visitor.into_recovered();
    let group_states = recovered.group_states.into_states();
    for group_state in &group_states {
        let group = group_state.catalogue.group.id;
        let state = short_hash(group_state);
        tracing::info!(%group, sequence = group_state.sequence, state, "recovered");
        for broken in invariants::find_broken(group_state) {
            tracing::error!(%group, %broken, "an invariant is broken");
        }
    }
    let restored = store.report().restored;
    if restored > 0 {
        tracing::error!(
            restored,
            "snapshots are damaged; recovered from the previous generation and all later journals"
        );
    }
    Ok(Loaded {
        directory: recovered.directory,
        group_states,
        quarantined: recovered.quarantined,
        store,
    })
}

/// Returns the first half of a state's hash, as 16 hexadecimal digits.
pub fn short_hash(group_state: &GroupState) -> String {
    HEXLOWER.encode(&state::hash(group_state)[..8])
}

/// Updates every group to this release's time zone database, by one event for each group made with
/// another one, many of them in one batch. Future appointments keep their civil time. New overlaps
/// are logged and stay. Reference 12.1.1.
///
/// # Errors
/// A failed write.
pub fn update_time_zones(
    log: &mut impl Log,
    group_states: &mut GroupStates,
    now: Instant,
) -> Result<(), StoreError> {
    let format = log.record_format().get();
    let mut batch = Vec::new();
    let mut batch_bytes = 0;
    for group in group_states.of_other_zones() {
        let Some(group_state) = group_states.get(group) else { continue };
        let Some(event) = upkeep::resolve_instants(group_state, now) else { continue };
        let next = group_state.apply_by(Some(Author::Server), &event);
        let record = GroupRecord::new(Author::Server, event);
        let record = JournalRecord::encode(Stream::Group(group), next.sequence, &record, format);
        batch_bytes += record.bytes.len();
        batch.push(record);
        if batch.len() >= ZONES_BATCH_RECORDS || batch_bytes >= ZONES_BATCH_BYTES {
            log.append(&std::mem::take(&mut batch))?;
            batch_bytes = 0;
        }
        tracing::warn!(%group, from = %group_state.tzdata, to = %next.tzdata, "future appointments follow the new time zone database");
        let overlaps_before = invariants::find_overlaps(group_state);
        for overlap in invariants::find_overlaps(&next) {
            if !overlaps_before.contains(&overlap) {
                tracing::error!(%group, %overlap, "appointments overlap since the time zone database changed; move one");
            }
        }
        group_states.insert(Arc::new(next));
    }
    if !batch.is_empty() {
        log.append(&batch)?;
    }
    Ok(())
}

/// Gives a store that is served for the first time its link secret.
///
/// # Errors
/// A failed write.
pub fn ensure_link_secret(
    log: &mut impl Log,
    directory: &mut Directory,
    create: impl FnOnce() -> LinkSecret,
) -> Result<(), StoreError> {
    if directory.link_secret.is_some() {
        return Ok(());
    }
    let event = DirectoryEvent::LinkSecretSet { link_secret: create() };
    directory.apply_in_place(&event);
    append_event(log, Stream::Directory, directory.sequence, &event)
}

/// Writes one event, in the format that the log has records written in.
fn append_event(
    log: &mut impl Log,
    stream: Stream,
    sequence: u64,
    event: &impl Serialize,
) -> Result<(), StoreError> {
    let format = log.record_format().get();
    log.append(&[JournalRecord::encode(stream, sequence, event, format)])?;
    Ok(())
}

/// Creates a store with this content in a data directory, completely or not at all.
///
/// # Errors
/// A directory that is not empty, or a failed write.
pub fn create<S: Borrow<GroupState>>(
    directory: &Path,
    content: &Directory,
    group_states: &[S],
) -> Result<Store, StoreError> {
    write_generation(NewGeneration::create(directory)?, content, group_states)
}

/// Creates a store with this content and no group in a directory that was claimed for it,
/// completely or not at all.
///
/// # Errors
/// A failed write.
pub fn create_within(
    directory: EmptyDirectory,
    content: &Directory,
) -> Result<RecoveredStore, StoreError> {
    let store = write_generation::<GroupState>(directory.create()?, content, &[])?;
    store.recover(&mut StateRebuilder::default())
}

/// Replaces the content of a store, completely or not at all.
///
/// # Errors
/// A failed write. The old content then stays.
pub fn replace<S: Borrow<GroupState>>(
    store: RecoveredStore,
    content: &Directory,
    group_states: &[S],
) -> Result<Store, StoreError> {
    write_generation(store.replace()?, content, group_states)
}

/// Fills the shared store of a cluster that never had content. Returns the bytes of its snapshot.
///
/// # Errors
/// It has content already, or PostgreSQL refuses.
pub(crate) fn fill_shared(
    store: &SharedStore,
    content: &Directory,
    group_states: &[Arc<GroupState>],
) -> Result<u64, StoreError> {
    let taken = store.take_empty()?;
    let epoch = taken.epoch;
    // Servers with older data would resolve their appointments back.
    if let Some(newest) = group_states.iter().map(|group_state| &group_state.tzdata).max() {
        store.raise_tzdata(newest)?;
    }
    let snapshot = store.fill(taken, |writer| {
        let position = directory_position(epoch, content);
        write_directory(writer.begin_stream(Stream::Directory, position)?, content)?;
        for group_state in group_states {
            let stream = Stream::Group(group_state.catalogue.group.id);
            let position = group_position(epoch, group_state);
            write_group(writer.begin_stream(stream, position)?, group_state)?;
        }
        Ok(())
    })?;
    Ok(snapshot.bytes)
}

fn write_generation<S: Borrow<GroupState>>(
    mut generation: NewGeneration,
    content: &Directory,
    group_states: &[S],
) -> Result<Store, StoreError> {
    write_directory(
        generation.begin_snapshot(Stream::Directory, directory_position(FIRST_EPOCH, content)),
        content,
    )?;
    for group_state in group_states.iter().map(Borrow::borrow) {
        let stream = Stream::Group(group_state.catalogue.group.id);
        write_group(
            generation.begin_snapshot(stream, group_position(FIRST_EPOCH, group_state)),
            group_state,
        )?;
    }
    generation.publish()
}

/// Creates a store with this content on a simulated disk.
///
/// # Errors
/// None: a new disk takes every write.
pub fn create_simulated(
    content: &Directory,
    group_states: &[GroupState],
) -> Result<SimulatedDisk, StoreError> {
    SimulatedDisk::create(|writer| {
        write_directory(
            writer.begin_stream(Stream::Directory, directory_position(FIRST_EPOCH, content)),
            content,
        )?;
        for group_state in group_states {
            let stream = Stream::Group(group_state.catalogue.group.id);
            write_group(
                writer.begin_stream(stream, group_position(FIRST_EPOCH, group_state)),
                group_state,
            )?;
        }
        Ok(())
    })
}

/// Reads a simulated disk as [`load`] reads a data directory, and continues it. Its snapshots are
/// never damaged, so the previous generation has to replace none.
///
/// # Errors
/// Damage with its place; the disk is then unchanged. Snapshots that are not complete.
pub fn load_simulated(
    disk: &SimulatedDisk,
) -> Result<(Directory, Vec<Arc<GroupState>>, SimulatedLog), StoreError> {
    let mut visitor = StateRebuilder::default();
    let (log, report) = disk.recover_into(&mut visitor)?;
    if report.restored > 0 {
        return Err(StoreError::rejected("the snapshots of the current generation are incomplete"));
    }
    let recovered = visitor.into_recovered();
    assert!(recovered.quarantined.is_empty(), "a simulated history is applied as it was made");
    Ok((recovered.directory, recovered.group_states.into_states(), log))
}

/// Returns the position of a group's state in its history, in a log with the epoch `epoch`.
pub(crate) fn group_position(epoch: u32, group_state: &GroupState) -> Position {
    Position { epoch, sequence: group_state.sequence }
}

/// Returns the position of the directory in its history, in a log with the epoch `epoch`.
pub(crate) fn directory_position(epoch: u32, directory: &Directory) -> Position {
    Position { epoch, sequence: directory.sequence }
}

/// Writes a group's whole snapshot.
pub(crate) fn write_group(
    mut snapshot: impl SnapshotWriter,
    group_state: &GroupState,
) -> Result<(), StoreError> {
    codec::in_format(snapshot.format(), || {
        state::write_group(group_state, |frame| snapshot.write_frame(frame))
    })?;
    snapshot.finish()
}

/// Writes the directory's whole snapshot.
pub(crate) fn write_directory(
    mut snapshot: impl SnapshotWriter,
    directory: &Directory,
) -> Result<(), StoreError> {
    codec::in_format(snapshot.format(), || {
        state::write_directory(directory, |frame| snapshot.write_frame(frame))
    })?;
    snapshot.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::availability::catalogue::Catalogue;
    use crate::domain::records::group::Group;
    use crate::domain::records::ids::GroupId;
    use crate::domain::time::zone::tzdata_version;
    use crate::domain::time::zone_names::ZoneName;

    #[test]
    fn many_groups_follow_new_time_zones_by_few_batches() {
        let states = (1..=600).map(|id| {
            let zone = ZoneName::from_name("Paris").unwrap();
            let group = Group::new(GroupId::new(id).unwrap(), zone, Instant(0));
            let mut state = GroupState::new(Catalogue::new(group));
            state.tzdata = "2019a".into();
            state
        });
        let folder = tempfile::tempdir().unwrap();
        let states: Vec<GroupState> = states.collect();
        drop(create(folder.path(), &Directory::default(), &states).unwrap());
        let Loaded { group_states, store, .. } = load(folder.path()).unwrap();
        let mut group_states: GroupStates = group_states.into_iter().collect();
        let mut log = store.into_log().unwrap();
        let before = log.checkpoint().unwrap().last;
        update_time_zones(&mut log, &mut group_states, Instant(1)).unwrap();
        assert_eq!(log.checkpoint().unwrap().last.0, before.0 + 3);
        assert_eq!(group_states.of_other_zones(), []);
        log.close().unwrap();
        let read = load(folder.path()).unwrap().group_states;
        let kept = |state: &Arc<GroupState>| *state.tzdata == *tzdata_version();
        assert_eq!(read.iter().filter(|state| kept(state)).count(), 600);
        for state in &read {
            let known = group_states.get(state.catalogue.group.id).unwrap();
            assert_eq!(short_hash(state), short_hash(known));
        }
    }

    #[test]
    fn the_link_secret_is_created_once_and_kept_in_journal_and_snapshots() {
        let folder = tempfile::tempdir().unwrap();
        drop(create::<GroupState>(folder.path(), &Directory::default(), &[]).unwrap());
        let served = |bits: u8| {
            let Loaded { mut directory, store, .. } = load(folder.path()).unwrap();
            let mut log = store.into_log().unwrap();
            ensure_link_secret(&mut log, &mut directory, || LinkSecret::new([bits; 32])).unwrap();
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
        drop(replace::<GroupState>(store, &directory, &[]).unwrap());
        assert_eq!(served(4), directory, "it is read back from the snapshot");
    }
}
