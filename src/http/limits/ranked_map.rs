//! A map whose entries are also found by two ranks, for tables that evict the entry of least rank.

use std::collections::{BTreeMap, BTreeSet};

/// A value with two ranks.
pub(crate) trait Ranked {
    type First: Ord;
    type Second: Ord;

    fn ranks(&self) -> (Self::First, Self::Second);
}

/// Values by key and by each of their ranks. A value changes by [`RankedMap::change`], or by being
/// removed and put again, so that its ranks stay those of the indexes.
#[derive(Debug)]
pub(crate) struct RankedMap<K, V: Ranked> {
    by_key: BTreeMap<K, V>,
    by_first: BTreeSet<(V::First, K)>,
    by_second: BTreeSet<(V::Second, K)>,
}

impl<K: Ord + Clone, V: Ranked> RankedMap<K, V> {
    pub(crate) const fn new() -> Self {
        Self { by_key: BTreeMap::new(), by_first: BTreeSet::new(), by_second: BTreeSet::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.by_key.len()
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.by_key.get(key)
    }

    /// Puts the value of a key that has none.
    pub(crate) fn put(&mut self, key: K, value: V) {
        let (first, second) = value.ranks();
        self.by_first.insert((first, key.clone()));
        self.by_second.insert((second, key.clone()));
        let replaced = self.by_key.insert(key, value);
        debug_assert!(replaced.is_none(), "its ranks would stay");
    }

    /// Changes the value of a key. Returns whether it has one.
    pub(crate) fn change(&mut self, key: &K, change: impl FnOnce(&mut V)) -> bool {
        let Some(value) = self.by_key.get_mut(key) else { return false };
        let (first_before, second_before) = value.ranks();
        change(value);
        let (first, second) = value.ranks();
        if first != first_before {
            self.by_first.remove(&(first_before, key.clone()));
            self.by_first.insert((first, key.clone()));
        }
        if second != second_before {
            self.by_second.remove(&(second_before, key.clone()));
            self.by_second.insert((second, key.clone()));
        }
        true
    }

    /// Removes a key, and returns its value.
    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        let value = self.by_key.remove(key)?;
        let (first, second) = value.ranks();
        self.by_first.remove(&(first, key.clone()));
        self.by_second.remove(&(second, key.clone()));
        Some(value)
    }

    /// Returns the key of the least first rank, with that rank.
    pub(crate) fn least_by_first(&self) -> Option<&(V::First, K)> {
        self.by_first.first()
    }

    /// Returns the key of the least second rank, with that rank.
    pub(crate) fn least_by_second(&self) -> Option<&(V::Second, K)> {
        self.by_second.first()
    }

    /// Returns the keys from a second rank and key on, ascending, each with its rank.
    pub(crate) fn starting_at_second(
        &self,
        least: (V::Second, K),
    ) -> impl Iterator<Item = &(V::Second, K)> {
        self.by_second.range(least..)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    impl Ranked for (u8, u8) {
        type First = u8;
        type Second = u8;

        fn ranks(&self) -> (u8, u8) {
            *self
        }
    }

    proptest! {
        #[test]
        fn the_indexes_hold_what_the_map_holds(
            steps in prop::collection::vec((0..3, 0_u8..8, any::<(u8, u8)>()), 0..60)
        ) {
            let mut map = RankedMap::new();
            let mut plain = BTreeMap::new();
            for (step, key, value) in steps {
                if step == 0 {
                    let changed = map.change(&key, |known| *known = value);
                    let known = plain.get_mut(&key);
                    prop_assert_eq!(changed, known.is_some());
                    if let Some(known) = known {
                        *known = value;
                    }
                } else {
                    prop_assert_eq!(map.remove(&key), plain.remove(&key));
                }
                if step == 1 {
                    map.put(key, value);
                    plain.insert(key, value);
                }
                let least = |rank: fn(&(u8, u8)) -> u8| {
                    plain.iter().map(|(key, value)| (rank(value), *key)).min()
                };
                prop_assert_eq!(map.least_by_first().copied(), least(|value| value.0));
                prop_assert_eq!(map.least_by_second().copied(), least(|value| value.1));
                prop_assert_eq!(map.starting_at_second((0, 0)).count(), plain.len());
                prop_assert_eq!((map.len(), map.get(&key)), (plain.len(), plain.get(&key)));
            }
        }
    }
}
