//! What is due when: the timer's memory of the next days. It holds no truth, since all of it follows from published group_states.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::messaging::delivery::DueItem;
use crate::domain::records::ids::GroupId;
use crate::domain::time::Instant;

/// Something that may be due, of one group.
pub type Matter = (GroupId, DueItem);

/// What changes at once is more than this part of what is there: then all is put in order anew, which packs it closely.
const MUCH: usize = 8;

/// Matters by when they are due, each once.
#[derive(Debug, Default)]
pub struct Queue {
    by_due: BTreeSet<(Instant, Matter)>,
    /// When each matter is due: the same, by matter.
    places: BTreeMap<Matter, Instant>,
}

impl Queue {
    /// Puts a matter where it is due, or nowhere.
    pub fn plan(&mut self, matter: Matter, due: Option<Instant>) {
        if let Some(old) = self.places.remove(&matter) {
            self.by_due.remove(&(old, matter));
        }
        if let Some(due) = due {
            self.by_due.insert((due, matter));
            self.places.insert(matter, due);
        }
    }

    /// Puts these matters of a group in place of all that it has. Of a matter that is named twice, the last time counts.
    pub fn replace(&mut self, group: GroupId, matters: Vec<(DueItem, Instant)>) {
        // No id is below the first message's.
        let all =
            self.places.range((group, DueItem::FIRST)..).take_while(|((of, _), _)| *of == group);
        let old: Vec<Matter> = all.map(|(matter, _)| *matter).collect();
        let matters = matters.into_iter().map(|(item, due)| ((group, item), due));
        if old.len() + matters.len() < self.len() / MUCH {
            old.into_iter().for_each(|matter| self.plan(matter, None));
            matters.for_each(|(matter, due)| self.plan(matter, Some(due)));
        } else {
            let others =
                std::mem::take(&mut self.places).into_iter().filter(|((of, _), _)| *of != group);
            self.places = others.chain(matters).collect();
            self.by_due = self.places.iter().map(|(matter, due)| (*due, *matter)).collect();
        }
    }

    /// When the first is due.
    #[must_use]
    pub fn next(&self) -> Option<Instant> {
        self.by_due.first().map(|(due, _)| *due)
    }

    /// Takes out the first, where it is due by `now`.
    pub fn take(&mut self, now: Instant) -> Option<(Instant, Matter)> {
        let (due, matter) = self.by_due.first().copied().filter(|(due, _)| *due <= now)?;
        self.plan(matter, None);
        Some((due, matter))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_due.len()
    }

    /// Whether there is none.
    #[must_use]
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
        fn it_holds_what_a_plain_list_would(steps in proptest::collection::vec(a_step(), 0..60)) {
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
