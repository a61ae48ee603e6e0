//! The scheduler's queue: items by due time. It is a cache, since it follows from the published
//! states.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::records::ids::GroupId;
use crate::domain::state::delivery_step::DueItem;
use crate::domain::time::Instant;

/// An item of a group that has a due time.
pub type Matter = (GroupId, DueItem);

/// A replacement of more than one part in this many rebuilds the queue, which packs it closely.
const REBUILD_FRACTION: usize = 8;

/// Items by due time, each once.
#[derive(Debug, Default)]
pub struct Queue {
    by_due: BTreeSet<(Instant, Matter)>,
    /// The due time of each item: the same pairs as in `by_due`.
    due_times: BTreeMap<Matter, Instant>,
}

impl Queue {
    /// Puts an item at its due time, or removes it.
    pub fn plan(&mut self, matter: Matter, due: Option<Instant>) {
        if let Some(old) = self.due_times.remove(&matter) {
            self.by_due.remove(&(old, matter));
        }
        if let Some(due) = due {
            self.by_due.insert((due, matter));
            self.due_times.insert(matter, due);
        }
    }

    /// Replaces all items of a group. Of an item given twice, the last due time counts.
    pub fn replace(&mut self, group: GroupId, matters: Vec<(DueItem, Instant)>) {
        let mut old = Vec::new();
        // `DueItem::FIRST` is the smallest item.
        for (matter, _) in self.due_times.range((group, DueItem::FIRST)..) {
            if matter.0 != group {
                break;
            }
            old.push(*matter);
        }
        let changed = old.len() + matters.len();
        if changed == 0 {
            return;
        }
        if changed < self.len() / REBUILD_FRACTION {
            for matter in old {
                self.plan(matter, None);
            }
            for (item, due) in matters {
                self.plan((group, item), Some(due));
            }
            return;
        }
        // Collecting into new maps packs their nodes closely.
        let others =
            std::mem::take(&mut self.due_times).into_iter().filter(|(matter, _)| matter.0 != group);
        let replaced = matters.into_iter().map(|(item, due)| ((group, item), due));
        self.due_times = others.chain(replaced).collect();
        self.by_due = self.due_times.iter().map(|(matter, due)| (*due, *matter)).collect();
    }

    /// Returns the first due time; `None` if the queue is empty.
    pub fn next(&self) -> Option<Instant> {
        let (due, _) = self.by_due.first()?;
        Some(*due)
    }

    /// Takes out the first item if it is due by `now`, with its due time.
    pub fn take(&mut self, now: Instant) -> Option<(Instant, Matter)> {
        let (due, matter) = self.by_due.first().copied()?;
        if due > now {
            return None;
        }
        self.plan(matter, None);
        Some((due, matter))
    }

    /// Returns the number of items.
    pub fn len(&self) -> usize {
        self.by_due.len()
    }

    /// Returns whether the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.by_due.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::records::ids::MessageId;

    fn group(id: u64) -> GroupId {
        GroupId::new(id).expect("an id")
    }

    fn item(id: u64) -> DueItem {
        DueItem::Message(MessageId::new(id).expect("an id"))
    }

    #[derive(Clone, Debug)]
    enum Step {
        Plan(u64, u64, Option<i64>),
        Replace(u64, Vec<(u64, i64)>),
        Take(i64),
    }

    fn a_step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (1..4_u64, 1..9_u64, proptest::option::of(0..50_i64))
                .prop_map(|(group, id, due)| Step::Plan(group, id, due)),
            (1..4_u64, proptest::collection::btree_map(1..40_u64, 0..50_i64, 0..40))
                .prop_map(|(group, matters)| Step::Replace(group, matters.into_iter().collect())),
            (0..50_i64).prop_map(Step::Take),
        ]
    }

    proptest! {
        #[test]
        fn the_queue_agrees_with_a_plain_list(steps in proptest::collection::vec(a_step(), 0..60)) {
            let mut queue = Queue::default();
            let mut list: BTreeMap<(u64, u64), i64> = BTreeMap::new();
            for step in steps {
                match step {
                    Step::Plan(of, id, due) => {
                        queue.plan((group(of), item(id)), due.map(Instant));
                        list.remove(&(of, id));
                        list.extend(due.map(|due| ((of, id), due)));
                    }
                    Step::Replace(of, matters) => {
                        queue.replace(group(of), matters.iter().map(|(id, due)| (item(*id), Instant(*due))).collect());
                        list.retain(|(group, _), _| *group != of);
                        list.extend(matters.into_iter().map(|(id, due)| ((of, id), due)));
                    }
                    Step::Take(now) => {
                        let first = list.iter().map(|((of, id), due)| (*due, *of, *id)).min().filter(|it| it.0 <= now);
                        let taken = queue.take(Instant(now));
                        prop_assert_eq!(taken, first.map(|(due, of, id)| (Instant(due), (group(of), item(id)))));
                        list.retain(|key, _| first.is_none_or(|(_, of, id)| *key != (of, id)));
                    }
                }
                prop_assert_eq!(queue.len(), list.len());
                prop_assert_eq!(queue.next(), list.values().min().copied().map(Instant));
            }
        }
    }
}
