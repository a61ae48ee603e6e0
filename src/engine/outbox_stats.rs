//! What is still to be sent, counted for whoever operates the server.

use std::collections::BTreeMap;

use crate::domain::messaging::channel::Channel;
use crate::domain::messaging::message::{MessageKind, Progress};
use crate::domain::messaging::planning;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;
use crate::engine::Engine;

/// What is still to be sent, in all groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutboxStats {
    /// Messages that wait, and reminders that will be messages.
    pub planned: BTreeMap<MessageKind, u64>,
    /// Since when the oldest waits whose time has come. Text messages wait by night.
    pub oldest: BTreeMap<Channel, Instant>,
}

impl Engine {
    /// What is still to be sent within so many seconds. Looks at every group's appointments of that time: not for a thread
    /// that serves connections.
    #[must_use]
    pub fn unsent(&self, within_seconds: i64) -> OutboxStats {
        let now = self.clock().now();
        let mut unsent = OutboxStats::default();
        for group_state in
            self.published().groups().filter_map(|group| self.published().group_state(group))
        {
            unsent.add(&group_state, now, now.plus_seconds(within_seconds));
        }
        unsent
    }
}

impl OutboxStats {
    fn add(&mut self, group_state: &GroupState, now: Instant, until: Instant) {
        for planned in planning::reminders_due_before(group_state, now, until) {
            *self.planned.entry(MessageKind::of_reminder(planned.channel)).or_default() += 1;
            if planned.due <= now {
                self.waits(planned.channel, planned.due);
            }
        }
        for message in group_state.outbox.open() {
            if matches!(message.progress, Progress::Waiting { .. }) {
                *self.planned.entry(message.kind()).or_default() += 1;
            }
            self.waits(message.channel(), message.created_at);
        }
    }

    fn waits(&mut self, channel: Channel, since: Instant) {
        let oldest = self.oldest.entry(channel).or_insert(since);
        *oldest = since.min(*oldest);
    }
}
