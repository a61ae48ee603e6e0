//! The queue of one channel: due items that wait for a free attempt.

use std::collections::VecDeque;

use crate::domain::time::Instant;
use crate::engine::queue::Matter;

/// The due items of one channel, so that a slow gateway delays only its own channel.
///
/// Account links and confirmations alternate with reminders. A client waits for a link while ten
/// thousand reminders are due at nine. A shop that confirms all day still has to send reminders.
#[derive(Debug, Default)]
pub(crate) struct FairQueue {
    /// Items that are not reminders, each with its due time, in order of arrival.
    interactive: VecDeque<(Matter, Instant)>,
    /// Reminders, each with its due time, in order of arrival.
    reminders: VecDeque<(Matter, Instant)>,
    /// Whether the last item started was a reminder.
    last_was_reminder: bool,
    /// Number of attempts in flight.
    pub(crate) in_flight: usize,
}

impl FairQueue {
    /// Puts an item behind the others of its sort.
    pub(crate) fn push(&mut self, matter: Matter, due: Instant, is_reminder: bool) {
        if is_reminder {
            self.reminders.push_back((matter, due));
        } else {
            self.interactive.push_back((matter, due));
        }
    }

    /// Takes out the next item with its due time, and counts it as in flight.
    pub(crate) fn start_next(&mut self) -> Option<(Matter, Instant)> {
        let reminder_has_turn = !self.last_was_reminder && !self.reminders.is_empty();
        let takes_reminder = self.interactive.is_empty() || reminder_has_turn;
        let next = if takes_reminder {
            self.reminders.pop_front()?
        } else {
            self.interactive.pop_front()?
        };
        self.last_was_reminder = takes_reminder;
        self.in_flight += 1;
        Some(next)
    }

    /// Counts an attempt that has ended.
    pub(crate) fn attempt_ended(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::records::ids::{GroupId, MessageId};
    use crate::domain::state::delivery_step::DueItem;

    fn item(id: u64) -> Matter {
        (GroupId::new(1).expect("an id"), DueItem::Message(MessageId::new(id).expect("an id")))
    }

    fn start_all(queue: &mut FairQueue) -> Vec<Matter> {
        std::iter::from_fn(|| queue.start_next()).map(|(item, _)| item).collect()
    }

    #[test]
    fn reminders_alternate_with_other_messages() {
        let mut queue = FairQueue::default();
        (1..=4).for_each(|id| queue.push(item(id), Instant(0), true));
        (11..=12).for_each(|id| queue.push(item(id), Instant(0), false));
        assert_eq!(start_all(&mut queue), [1, 11, 2, 12, 3, 4].map(item));
        assert_eq!(queue.in_flight, 6);
        (21..=23).for_each(|id| queue.push(item(id), Instant(0), false));
        queue.push(item(5), Instant(0), true);
        assert_eq!(start_all(&mut queue), [21, 5, 22, 23].map(item), "a reminder was the last");
        (0..10).for_each(|_| queue.attempt_ended());
        assert_eq!(queue.in_flight, 0);
    }
}
