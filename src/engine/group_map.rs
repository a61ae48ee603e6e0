//! A map from groups to what the engine keeps of each, to which groups are added while it is read.

use std::sync::Arc;

use arc_swap::ArcSwap;
use imbl::OrdMap;

use crate::domain::records::ids::GroupId;

/// Values by group. A group is never removed. Readers take no lock.
#[derive(Debug)]
pub(crate) struct GroupMap<T> {
    /// The groups of the start, ascending: a map of many, or an allocation for each, would take
    /// long to make.
    first: Arc<[(GroupId, T)]>,
    /// Those that came later.
    added: ArcSwap<OrdMap<GroupId, Arc<T>>>,
}

impl<T> GroupMap<T> {
    /// Creates a map of these values. Of two of one group the first counts.
    pub(crate) fn new(values: impl IntoIterator<Item = (GroupId, T)>) -> Self {
        let mut first: Vec<_> = values.into_iter().collect();
        if !first.is_sorted_by_key(|(group, _)| *group) {
            first.sort_by_key(|(group, _)| *group);
        }
        first.dedup_by_key(|(group, _)| *group);
        Self { first: first.into(), added: ArcSwap::default() }
    }

    /// Finds the value of a group of the start.
    fn find_first(&self, group: GroupId) -> Option<&T> {
        let (least, _) = self.first.first()?;
        // Most are numbered without a gap, so it is often where its number says.
        let offset = usize::try_from(group.number().checked_sub(least.number())?).ok()?;
        let guess = self.first.get(offset).filter(|(found, _)| *found == group);
        let (_, value) = match guess {
            Some(entry) => entry,
            None => {
                let place = self.first.binary_search_by_key(&group, |(group, _)| *group);
                &self.first[place.ok()?]
            }
        };
        Some(value)
    }

    /// Calls `read` with the value of a group; `None` without one.
    pub(crate) fn with<R>(&self, group: GroupId, read: impl FnOnce(&T) -> R) -> Option<R> {
        match self.find_first(group) {
            Some(value) => Some(read(value)),
            None => self.added.load().get(&group).map(|value| read(value)),
        }
    }

    /// Returns the groups as they are now, ascending.
    pub(crate) fn groups(&self) -> impl Iterator<Item = GroupId> + use<T> {
        let first = Arc::clone(&self.first);
        let mut added = OrdMap::clone(&self.added.load()).into_iter().peekable();
        let mut place = 0;
        std::iter::from_fn(move || match first.get(place) {
            Some((group, _)) if added.peek().is_none_or(|(next, _)| group < next) => {
                place += 1;
                Some(*group)
            }
            _ => added.next().map(|(group, _)| group),
        })
    }

    /// Calls `read` with each value, in no order.
    pub(crate) fn each(&self, mut read: impl FnMut(&T)) {
        self.first.iter().for_each(|(_, value)| read(value));
        self.added.load().values().for_each(|value| read(value));
    }

    /// Returns the number of groups.
    pub(crate) fn len(&self) -> usize {
        self.first.len() + self.added.load().len()
    }

    /// Adds a value. A group that has one keeps it.
    pub(crate) fn add(&self, group: GroupId, value: T) {
        if self.find_first(group).is_some() {
            return;
        }
        let value = Arc::new(value);
        self.added.rcu(|map| {
            let mut next = OrdMap::clone(map);
            next.entry(group).or_insert_with(|| Arc::clone(&value));
            next
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_added_group_is_found_and_the_others_keep_their_values() {
        let group = |id| GroupId::new(id).expect("an id");
        let map = GroupMap::new([(group(2), "two")]);
        let before = map.groups();
        map.add(group(1), "one");
        map.add(group(2), "other");
        assert_eq!(map.with(group(2), |value| *value), Some("two"));
        assert_eq!(map.with(group(1), |value| *value), Some("one"));
        assert_eq!((map.with(group(3), |value| *value), before.count()), (None, 1));
        let numbers: Vec<u64> = map.groups().map(GroupId::number).collect();
        assert_eq!(numbers, [1, 2]);
    }

    #[test]
    fn groups_of_the_start_are_found_with_and_without_gaps() {
        let group = |id| GroupId::new(id).expect("an id");
        for ids in [&[3, 4, 5, 6][..], &[9, 2, 4, 100], &[7], &[]] {
            let map = GroupMap::new(ids.iter().map(|id| (group(*id), *id)));
            map.add(group(5), 50);
            map.add(group(200), 200);
            let value = |id: u64| match (ids.contains(&id), id) {
                (true, id) => Some(id),
                (false, 5) => Some(50),
                (false, 200) => Some(200),
                (false, _) => None,
            };
            for id in 1..=210 {
                assert_eq!(map.with(group(id), |value| *value), value(id), "{id} of {ids:?}");
            }
            let all: Vec<_> = (1..=210).filter_map(|id| Some((id, value(id)?))).collect();
            let found: Vec<_> = map.groups().map(GroupId::number).collect();
            assert!(found.iter().eq(all.iter().map(|(id, _)| id)), "{found:?}");
            assert_eq!(map.len(), all.len());
            let mut values = Vec::new();
            map.each(|value| values.push(*value));
            values.sort_unstable();
            let mut expected: Vec<u64> = all.into_iter().map(|(_, value)| value).collect();
            expected.sort_unstable();
            assert_eq!(values, expected);
        }
    }
}
