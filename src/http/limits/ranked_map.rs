//! A map whose entries are also found by two ranks, for tables that evict the entry of least rank.

use std::collections::{BTreeMap, BTreeSet};

/// A value with two ranks.
pub(crate) trait Ranked {
    type First: Ord;
    type Second: Ord;

    fn ranks(&self) -> (Self::First, Self::Second);
}

/// Values by key and by each of their ranks. A value changes by being removed and put again, so
/// that its ranks stay those of the indexes.
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

    /// Returns the keys, ascending.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &K> {
        self.by_key.keys()
    }

    /// Puts the value of a key that has none.
    pub(crate) fn put(&mut self, key: K, value: V) {
        let (first, second) = value.ranks();
        self.by_first.insert((first, key.clone()));
        self.by_second.insert((second, key.clone()));
        let replaced = self.by_key.insert(key, value);
        debug_assert!(replaced.is_none(), "its ranks would stay");
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
            steps in prop::collection::vec((any::<bool>(), 0_u8..8, any::<(u8, u8)>()), 0..60)
        ) {
            let mut map = RankedMap::new();
            let mut plain = BTreeMap::new();
            for (puts, key, value) in steps {
                prop_assert_eq!(map.remove(&key), plain.remove(&key));
                if puts {
                    map.put(key, value);
                    plain.insert(key, value);
                }
                let least = |rank: fn(&(u8, u8)) -> u8| {
                    plain.iter().map(|(key, value)| (rank(value), *key)).min()
                };
                prop_assert_eq!(map.least_by_first().copied(), least(|value| value.0));
                let by_second = map.starting_at_second((0, 0)).copied().collect::<Vec<_>>();
                prop_assert_eq!(by_second.first().copied(), least(|value| value.1));
                prop_assert_eq!(by_second.len(), plain.len());
                prop_assert_eq!((map.len(), map.get(&key)), (plain.len(), plain.get(&key)));
            }
        }
    }
}
