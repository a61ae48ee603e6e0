//! Replay of the store: it applies snapshots and events in place, and quarantines a group whose
//! event panics. Invariant 9.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use crate::domain::directory::{Directory, DirectoryEvent};
use crate::domain::records::ids::GroupId;
use crate::domain::state::group_record::GroupRecord;
use crate::domain::state::group_state::GroupState;
use crate::engine::group_states::GroupStates;
use crate::engine::quarantine::QuarantinedGroup;
use crate::engine::used_blocks::UsedBlocks;
use crate::store::codec;
use crate::store::state::{self, GroupReader, QuarantinedEvent};
use crate::store::{
    BatchNumber, Frames, JournalRecord, Position, RecoveryVisitor, StoreError, Stream,
    panic_message,
};

/// The states that a replay has built.
pub struct RecoveredStates {
    /// Keys, professionals and blocks of ids.
    pub directory: Directory,
    /// Every group that can be served. None is shared yet.
    pub group_states: GroupStates,
    /// Groups whose history this release cannot apply, by id.
    pub quarantined: Vec<QuarantinedGroup>,
}

/// Builds the states from the snapshots and events of a store.
#[derive(Debug, Default)]
pub struct StateRebuilder {
    directory: Directory,
    /// States so far, each where it will be published, since moving them would take long. A group
    /// is here or in `quarantined`.
    group_states: GroupStates,
    quarantined: BTreeMap<GroupId, QuarantinedGroup>,
    /// Position of each group's snapshot, ascending by group: it is given up at once.
    snapshots: Vec<(GroupId, Position)>,
    redo_log: RedoLog,
    used_blocks: UsedBlocks,
}

/// Size of the applied events that the redo log keeps, in bytes. Beyond it the log starts anew.
const REDO_BYTES_MAX: usize = 8 << 20;
/// Number of states that the redo log copies. Beyond it the log starts anew: to drop the copies
/// takes long, and a server that takes over does so while its clients wait.
const CHECKPOINTS_MAX: usize = 256;

/// Restores a state that a panicking event has left half changed, since events are applied in
/// place: an older copy of the state, and the events applied since.
#[derive(Debug, Default)]
struct RedoLog {
    /// Copies of states, each from before the group's first event in `events`.
    checkpoints: BTreeMap<GroupId, GroupState>,
    /// The events applied since the checkpoints, in order.
    events: Vec<(GroupId, JournalRecord)>,
    /// Size of `events`, at most [`REDO_BYTES_MAX`] plus one event.
    bytes: usize,
}

impl RedoLog {
    /// Copies a state before it changes, unless the log has a copy. The copy shares its unchanged
    /// parts with the state, so checkpoints that live long cost less.
    fn checkpoint(&mut self, group: GroupId, group_state: &GroupState) {
        self.checkpoints.entry(group).or_insert_with(|| group_state.clone());
    }

    /// Records an event that was applied. A full log starts anew.
    fn record_applied(&mut self, group: GroupId, record: JournalRecord) {
        self.bytes += record.bytes.len();
        self.events.push((group, record));
        if self.bytes > REDO_BYTES_MAX || self.checkpoints.len() > CHECKPOINTS_MAX {
            *self = Self::default();
        }
    }

    /// Returns a group's state after its last applied event, and forgets the group.
    fn restore(&mut self, group: GroupId) -> Result<GroupState, StoreError> {
        let mut group_state =
            self.checkpoints.remove(&group).expect("a checkpoint precedes every change");
        for (owner, record) in &self.events {
            if *owner == group {
                let record: GroupRecord = codec::decode_format(&record.bytes, record.format)?;
                group_state.apply_in_place(record.author, &record.event);
            }
        }
        self.forget(group);
        Ok(group_state)
    }

    /// Drops the checkpoint and the events of a group that is read anew or quarantined.
    fn forget(&mut self, group: GroupId) {
        self.checkpoints.remove(&group);
        self.events.retain(|(owner, _)| *owner != group);
    }
}

impl RecoveryVisitor for StateRebuilder {
    fn snapshot(
        &mut self,
        stream: Stream,
        position: Position,
        frames: &mut dyn Frames,
    ) -> Result<(), StoreError> {
        let format = frames.format();
        self.read_snapshot(stream, position, format, || frames.next())
    }

    fn record(&mut self, _: BatchNumber, record: JournalRecord) -> Result<(), StoreError> {
        match record.stream {
            Stream::Directory => {
                let event: DirectoryEvent = codec::decode_format(&record.bytes, record.format)?;
                let before = self.directory.blocks.clone();
                if let Err(message) = catch_panic(|| self.directory.apply_in_place(&event)) {
                    let reason = format!("an event of the directory cannot be applied: {message}");
                    return Err(StoreError::rejected(reason));
                }
                let groups = self.group_states.groups();
                self.used_blocks.follow(&before, &self.directory.blocks, groups);
                Ok(())
            }
            Stream::Group(group) => self.apply_event(group, record),
        }
    }

    fn caught_up(&mut self) {
        self.used_blocks.claim(&self.group_states);
    }
}

impl StateRebuilder {
    /// Reads the snapshot of a stream, whose frames `next` returns in order and then `None`.
    ///
    /// # Errors
    /// Those of `next`, and frames that are none of this release and those before it.
    pub fn read_snapshot(
        &mut self,
        stream: Stream,
        position: Position,
        format: u16,
        mut next: impl FnMut() -> Result<Option<Vec<u8>>, StoreError>,
    ) -> Result<(), StoreError> {
        match stream {
            Stream::Directory => {
                let mut directory =
                    Directory { sequence: position.sequence, ..Directory::default() };
                while let Some(frame) = next()? {
                    state::read_directory(&mut directory, &frame, format)?;
                }
                self.directory = directory;
                let groups = self.group_states.groups();
                self.used_blocks.begin(&self.directory.blocks, groups);
            }
            Stream::Group(group) => {
                let mut reader = GroupReader::default();
                while let Some(frame) = next()? {
                    reader.add_frame(&frame, format)?;
                }
                self.read_group(group, position, reader)?;
            }
        }
        Ok(())
    }

    /// Returns the states that were built. The directory knows which ids the groups use.
    pub fn into_recovered(mut self) -> RecoveredStates {
        self.caught_up();
        self.directory.blocks = self.used_blocks.into_blocks();
        RecoveredStates {
            directory: self.directory,
            group_states: self.group_states,
            quarantined: self.quarantined.into_values().collect(),
        }
    }

    /// Builds a group's state from its snapshot. A group whose snapshot gives no state is
    /// quarantined.
    fn read_group(
        &mut self,
        group: GroupId,
        position: Position,
        mut reader: GroupReader,
    ) -> Result<(), StoreError> {
        // This snapshot may replace one that turned out to be damaged.
        self.group_states.remove(group);
        self.quarantined.remove(&group);
        self.redo_log.forget(group);
        match self.find_snapshot(group) {
            Ok(place) => self.snapshots[place].1 = position,
            // Snapshots come ascending by group, so it is put at the end.
            Err(place) => self.snapshots.insert(place, (group, position)),
        }
        self.used_blocks.note_change(group);
        let pending_events = reader.take_quarantined();
        let sequence = match pending_events.first() {
            Some(first) => first.sequence - 1,
            None => position.sequence,
        };
        match catch_panic(|| reader.group_state(sequence)) {
            Ok(Some(group_state)) => {
                self.group_states.insert(Arc::new(group_state));
                for QuarantinedEvent { sequence, format, bytes } in pending_events {
                    let record = JournalRecord::new(Stream::Group(group), sequence, bytes);
                    let epoch = position.epoch;
                    self.apply_event(group, JournalRecord { format, epoch, ..record })?;
                }
            }
            Ok(None) => return Err(StoreError::rejected("a group's snapshot has no head")),
            Err(message) => self.quarantine(QuarantinedGroup {
                group,
                reason: format!("its snapshot gives no state: {message}"),
                last_state: None,
                snapshot: position,
                // The pending events are part of the snapshot, which is kept unchanged.
                pending_events: Vec::new(),
            }),
        }
        Ok(())
    }

    /// Applies a group's next event. If it panics, the group is quarantined in its state before
    /// the event.
    fn apply_event(&mut self, group: GroupId, record: JournalRecord) -> Result<(), StoreError> {
        if let Some(quarantined) = self.quarantined.get_mut(&group) {
            quarantined.push_event(record);
            return Ok(());
        }
        let GroupRecord { event, author } = codec::decode_format(&record.bytes, record.format)?;
        self.used_blocks.note_change(group);
        let redo_log = &mut self.redo_log;
        let applied = self.group_states.change(group, |group_state| {
            redo_log.checkpoint(group, group_state);
            catch_panic(|| group_state.apply_in_place(author, &event))
        });
        let Some(applied) = applied else {
            return match GroupState::founded_by(author, &event) {
                Some(founded) => {
                    self.group_states.insert(Arc::new(founded));
                    Ok(())
                }
                None => Err(StoreError::rejected("an event of a group that has no snapshot")),
            };
        };
        let Err(message) = applied else {
            self.redo_log.record_applied(group, record);
            return Ok(());
        };
        self.group_states.remove(group);
        let mut quarantined = QuarantinedGroup {
            group,
            reason: format!("its event {} cannot be carried out: {message}", record.sequence),
            last_state: Some(self.redo_log.restore(group)?),
            snapshot: self
                .find_snapshot(group)
                .map(|place| self.snapshots[place].1)
                .unwrap_or_default(),
            pending_events: Vec::new(),
        };
        quarantined.push_event(record);
        self.quarantine(quarantined);
        Ok(())
    }

    /// The place of a group's snapshot, or where it belongs.
    fn find_snapshot(&self, group: GroupId) -> Result<usize, usize> {
        self.snapshots.binary_search_by_key(&group, |(group, _)| *group)
    }

    fn quarantine(&mut self, quarantined: QuarantinedGroup) {
        tracing::error!(
            group = %quarantined.group,
            reason = quarantined.reason,
            "a group is set aside: it is not served, and its data are kept"
        );
        self.quarantined.insert(quarantined.group, quarantined);
    }
}

/// Runs a part of the core, and returns the panic's message if it panics. The caller discards what
/// the part may have half changed.
fn catch_panic<T>(part: impl FnOnce() -> T) -> Result<T, String> {
    let done = std::panic::catch_unwind(AssertUnwindSafe(part));
    done.map_err(|payload| panic_message(&*payload).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::records::author::{Author, KeyId};
    use crate::domain::records::ids::{FicheId, ProId};
    use crate::domain::state::event::Event;
    use crate::domain::time::Instant;
    use crate::store::codec::{decode, decode_format, encode};

    fn authors() -> [(Author, usize); 6] {
        let key = KeyId::of_hash(&[0xab; 32]);
        let client = FicheId::new(70_000).expect("an id");
        let id = ProId::new(7).expect("an id");
        [
            (Author::Server, 2),
            (Author::Operator, 2),
            (Author::Visitor, 2),
            (Author::Application(key), 8),
            (Author::Account { client, key: Some(key) }, 14),
            (Author::Professional { id, key: Some(key) }, 10),
        ]
    }

    #[test]
    fn an_author_is_read_as_written_and_takes_few_bytes() {
        let event = Event::nothing(Instant(1_000));
        let alone = encode(&event);
        for (author, bytes) in authors() {
            let record = GroupRecord::new(author, event.clone());
            let written = encode(&record);
            assert_eq!(written.len() - alone.len(), bytes, "{author:?}");
            assert_eq!(decode::<GroupRecord>(&written).expect("it is read"), record);
        }
    }

    #[test]
    fn a_record_of_an_earlier_format_names_no_author() {
        let event = Event::nothing(Instant(1_000));
        let written = encode(&event);
        for format in 1..=3 {
            let read: GroupRecord = decode_format(&written, format).expect("it is read");
            assert_eq!(read, GroupRecord { author: None, event: event.clone() });
        }
        assert!(decode::<GroupRecord>(&written).is_err(), "the present format holds the author");
    }
}
