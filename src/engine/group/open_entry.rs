//! The journal's entry that a group adds bookings to, one decided after another. They change one
//! state, which no reader has yet, so that each of its parts is copied once for all of them.

use std::sync::Arc;

use smallvec::SmallVec;
use tokio::sync::oneshot;

use crate::domain::decisions::decision::Outcome;
use crate::domain::state::changed_records::ChangedRecords;
use crate::domain::state::group_record::GroupRecord;
use crate::domain::state::group_state::GroupState;
use crate::engine::admission::Permit;
use crate::engine::journal::{EntryEffect, JournalEntry, PendingReply};
use crate::engine::write::{Committed, WriteResult};
use crate::store::JournalRecord;

/// The bookings of a turn that are not handed to the journal yet.
pub(crate) struct OpenEntry {
    /// The state before the first of them.
    base: Arc<GroupState>,
    /// Their events, by which the newest state follows from `base`.
    events: Vec<GroupRecord>,
    records: SmallVec<[JournalRecord; 1]>,
    changed: ChangedRecords,
    replies: Vec<WaitingReply>,
}

/// A booking that was decided and applied.
pub(crate) struct OpenBooking {
    pub(crate) event: GroupRecord,
    /// The event as the journal stores it.
    pub(crate) record: JournalRecord,
    pub(crate) outcome: Outcome,
    pub(crate) reply: oneshot::Sender<WriteResult>,
    pub(crate) permit: Permit,
}

/// A reply that waits until the entry is durable.
enum WaitingReply {
    /// To a booking. It is rendered from the state after all bookings of the entry: none of them
    /// changes what another one shows.
    Booking { sequence: u64, outcome: Outcome, reply: oneshot::Sender<WriteResult>, permit: Permit },
    /// To another command that was decided meanwhile, and that changes nothing.
    Other(PendingReply),
}

impl OpenEntry {
    /// Begins an entry after a state.
    pub(crate) fn new(base: Arc<GroupState>) -> Self {
        Self {
            base,
            events: Vec::new(),
            records: SmallVec::new(),
            changed: ChangedRecords::default(),
            replies: Vec::new(),
        }
    }

    /// Adds a booking.
    pub(crate) fn add_booking(&mut self, booking: OpenBooking) {
        let OpenBooking { event, record, outcome, reply, permit } = booking;
        let sequence = record.sequence;
        self.changed.extend(ChangedRecords::by_event(&event.event));
        self.events.push(event);
        self.records.push(record);
        self.replies.push(WaitingReply::Booking { sequence, outcome, reply, permit });
    }

    /// Adds a reply that depends on the bookings so far.
    pub(crate) fn add_reply(&mut self, reply: PendingReply) {
        self.replies.push(WaitingReply::Other(reply));
    }

    /// The records that its bookings changed.
    pub(crate) const fn changed(&self) -> &ChangedRecords {
        &self.changed
    }

    /// Makes the state after its bookings again.
    pub(crate) fn replay(&self) -> Arc<GroupState> {
        let mut state = GroupState::clone(&self.base);
        for GroupRecord { author, event } in &self.events {
            state.apply_in_place(*author, event);
        }
        Arc::new(state)
    }

    /// Ends it. `newest` is the state after its bookings.
    pub(crate) fn close(self, newest: &Arc<GroupState>) -> JournalEntry {
        let Self { base, records, changed, replies, .. } = self;
        let close = |reply| match reply {
            WaitingReply::Booking { sequence, outcome, reply, permit } => {
                let before = Arc::clone(&base);
                let unchanged = Committed::unchanged(newest, outcome);
                let committed = Committed { before, sequence, ..unchanged };
                PendingReply::to_caller(reply, Ok(committed), permit)
            }
            WaitingReply::Other(reply) => reply,
        };
        let replies = replies.into_iter().map(close).collect();
        let group = newest.catalogue.group.id;
        let effect = EntryEffect::PublishGroup(group, Arc::clone(newest), changed);
        JournalEntry { records, effect, replies }
    }
}
