//! A map from groups to what the engine keeps of each, to which groups are added while it is read.

use std::sync::Arc;

use arc_swap::ArcSwap;
use imbl::OrdMap;

use crate::domain::records::ids::GroupId;

/// Values by group. A group is never removed. Readers take no lock.
#[derive(Debug)]
pub(crate) struct GroupMap<T>(ArcSwap<OrdMap<GroupId, Arc<T>>>);

impl<T> GroupMap<T> {
    /// Creates a map of these values.
    pub(crate) fn new(values: impl IntoIterator<Item = (GroupId, T)>) -> Self {
        let mut map = OrdMap::new();
        for (group, value) in values {
            map.insert(group, Arc::new(value));
        }
        Self(ArcSwap::from_pointee(map))
    }

    /// Calls `read` with the value of a group; `None` without one.
    pub(crate) fn with<R>(&self, group: GroupId, read: impl FnOnce(&T) -> R) -> Option<R> {
        let map = self.0.load();
        map.get(&group).map(|value| read(value))
    }

    /// Returns the value of a group; `None` without one.
    pub(crate) fn get(&self, group: GroupId) -> Option<Arc<T>> {
        self.0.load().get(&group).cloned()
    }

    /// Returns the groups and their values as they are now, ascending.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (GroupId, Arc<T>)> + use<T> {
        OrdMap::clone(&self.0.load()).into_iter()
    }

    /// Returns the number of groups.
    pub(crate) fn len(&self) -> usize {
        self.0.load().len()
    }

    /// Adds a value. A group that has one keeps it.
    pub(crate) fn add(&self, group: GroupId, value: T) {
        let value = Arc::new(value);
        self.0.rcu(|map| {
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
        let before = map.entries();
        map.add(group(1), "one");
        map.add(group(2), "other");
        assert_eq!(map.with(group(2), |value| *value), Some("two"));
        assert_eq!(map.get(group(1)).as_deref(), Some(&"one"));
        assert_eq!((map.get(group(3)), before.count()), (None, 1));
        let numbers: Vec<u64> = map.entries().map(|(group, _)| group.number()).collect();
        assert_eq!(numbers, [1, 2]);
    }
}
