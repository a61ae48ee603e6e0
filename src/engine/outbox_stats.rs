//! Counts of the messages still to be sent. Reference 11.4.

use std::collections::BTreeMap;

use crate::domain::messaging::planning;
use crate::domain::records::channel::Channel;
use crate::domain::records::message::{MessageKind, Progress};
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;
use crate::engine::handle::Engine;

/// Counts of the messages still to be sent, in all groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutboxStats {
    /// Number of waiting messages and of planned reminders, by kind.
    pub planned: BTreeMap<MessageKind, u64>,
    /// Time since which the oldest due message waits, by channel. Text messages wait by night.
    pub oldest: BTreeMap<Channel, Instant>,
}

impl Engine {
    /// Counts the messages to be sent within this many seconds. It scans every group's
    /// appointments of that time: do not call it on a thread that serves connections.
    pub fn outbox_stats(&self, within_seconds: i64) -> OutboxStats {
        let now = self.clock().now();
        let until = now.plus_seconds(within_seconds);
        let mut stats = OutboxStats::default();
        for group in self.published().groups() {
            if let Some(group_state) = self.published().group_state(group) {
                stats.add_group(&group_state, now, until);
            }
        }
        stats
    }
}

impl OutboxStats {
    fn add_group(&mut self, group_state: &GroupState, now: Instant, until: Instant) {
        for reminder in planning::reminders_due_before(group_state, now, until) {
            *self.planned.entry(MessageKind::of_reminder(reminder.channel)).or_default() += 1;
            if reminder.due <= now {
                self.add_waiting(reminder.channel, reminder.due);
            }
        }
        for message in group_state.outbox.unsent(now) {
            if !matches!(message.progress, Progress::Claimed { .. }) {
                *self.planned.entry(message.kind()).or_default() += 1;
            }
            if let Progress::Waiting { not_before, .. } = message.progress
                && message.known.is_some()
                && message.is_unattempted()
                && now < not_before
            {
                // It waits for further changes, and is not due yet.
                continue;
            }
            self.add_waiting(message.channel(), message.created_at);
        }
    }

    fn add_waiting(&mut self, channel: Channel, since: Instant) {
        let oldest = self.oldest.entry(channel).or_insert(since);
        *oldest = since.min(*oldest);
    }
}
