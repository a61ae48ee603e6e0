//! What is due on one channel and waits for room there.

use std::collections::VecDeque;

use crate::domain::time::Instant;
use crate::engine::queue::Matter;

/// The matters of one channel: a slow gateway keeps nobody waiting but its own.
///
/// Somebody sits before a screen and waits for an account link or a confirmation, while ten thousand reminders may be due at
/// nine; and a shop that confirms all day has reminders to send too. So the two take turns.
#[derive(Debug, Default)]
pub(super) struct FairQueue {
    /// With when each was due.
    awaited: VecDeque<(Matter, Instant)>,
    reminders: VecDeque<(Matter, Instant)>,
    /// Whether a reminder was the last to begin.
    reminded: bool,
    /// Attempts that have begun and not ended.
    pub(super) under_way: usize,
}

impl FairQueue {
    /// Puts a matter behind those of its sort.
    pub(super) fn push(&mut self, matter: Matter, due: Instant, is_reminder: bool) {
        let waiting = if is_reminder { &mut self.reminders } else { &mut self.awaited };
        waiting.push_back((matter, due));
    }

    /// Takes the next whose turn it is, with when it was due; it is under way from now on.
    pub(super) fn begin(&mut self) -> Option<(Matter, Instant)> {
        let reminds = self.awaited.is_empty() || !(self.reminded || self.reminders.is_empty());
        let next = if reminds { self.reminders.pop_front() } else { self.awaited.pop_front() }?;
        self.reminded = reminds;
        self.under_way += 1;
        Some(next)
    }

    /// Notes that an attempt has ended.
    pub(super) fn end(&mut self) {
        self.under_way = self.under_way.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::messaging::delivery::DueItem;
    use crate::domain::records::ids::{GroupId, MessageId};

    fn matter(id: u64) -> Matter {
        (GroupId::new(1).expect("an id"), DueItem::Message(MessageId::new(id).expect("an id")))
    }

    /// The ids in the order in which they begin.
    fn order(lane: &mut FairQueue) -> Vec<u64> {
        let begun = std::iter::from_fn(|| lane.begin());
        let id = |(matter, _): (Matter, Instant)| {
            (1..100).find(|id| self::matter(*id) == matter).expect("ours")
        };
        begun.map(id).collect()
    }

    #[test]
    fn reminders_and_what_somebody_waits_for_take_turns() {
        let mut lane = FairQueue::default();
        (1..=4).for_each(|id| lane.push(matter(id), Instant(0), true));
        (11..=12).for_each(|id| lane.push(matter(id), Instant(0), false));
        assert_eq!(order(&mut lane), [1, 11, 2, 12, 3, 4]);
        assert_eq!(lane.under_way, 6);
        (21..=23).for_each(|id| lane.push(matter(id), Instant(0), false));
        lane.push(matter(5), Instant(0), true);
        assert_eq!(order(&mut lane), [21, 5, 22, 23], "the last to begin was a reminder");
        (0..10).for_each(|_| lane.end());
        assert_eq!(lane.under_way, 0);
    }
}
