//! Free starts of several calendars, merged as they are found. Reference 4.7.

/// Number of calendars whose places fit into one word.
const WORD_PLACES: usize = 64;

/// A set of places in the list of searched calendars: the bits of words, the lowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreePlaces<'f>(pub(crate) &'f [u64]);

impl<'f> FreePlaces<'f> {
    /// Returns the number of places.
    #[must_use]
    pub fn count(self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Returns the places, ascending.
    pub fn iter(self) -> impl Iterator<Item = usize> + use<'f> {
        (0..).step_by(WORD_PLACES).zip(self.0).flat_map(|(first, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let place = left.trailing_zeros() as usize;
                // Removes the lowest bit; without any there is no place.
                left &= left.checked_sub(1)?;
                Some(first + place)
            })
        })
    }
}

/// The free starts of some calendars, each start once, with the calendars that are free at it.
#[derive(Debug)]
pub(crate) struct MergedStarts {
    /// Words of a set of places.
    words: usize,
    /// The starts in seconds from some moment, ascending.
    seconds: Vec<u32>,
    /// The free calendars of each start, `words` for each.
    free: Vec<u64>,
    /// Starts of the calendar that is added which no other has. Kept for its memory.
    missing: Vec<u32>,
}

impl MergedStarts {
    /// Returns no starts of some number of calendars.
    pub(crate) fn new(calendars: usize) -> Self {
        let words = calendars.div_ceil(WORD_PLACES).max(1);
        Self { words, seconds: Vec::new(), free: Vec::new(), missing: Vec::new() }
    }

    pub(crate) fn clear(&mut self) {
        self.seconds.clear();
        self.free.clear();
    }

    /// Adds the starts of the calendar at a place, which must ascend. Most calendars start at the
    /// same times, so most starts are found already.
    pub(crate) fn add(&mut self, place: usize, starts: impl Iterator<Item = u32>) {
        let (word, bit) = (place / WORD_PLACES, 1 << (place % WORD_PLACES));
        self.missing.clear();
        let mut at = 0;
        for start in starts {
            while self.seconds.get(at).is_some_and(|other| *other < start) {
                at += 1;
            }
            if self.seconds.get(at) == Some(&start) {
                self.free[at * self.words + word] |= bit;
                // The next start is mostly the next one of the others.
                at += 1;
            } else {
                self.missing.push(start);
            }
        }
        // From the back, so that each start moves once at most.
        let (mut old, mut new) = (self.seconds.len(), self.missing.len());
        let mut to = old + new;
        self.seconds.resize(to, 0);
        self.free.resize(to * self.words, 0);
        while new > 0 {
            to -= 1;
            if old > 0 && self.seconds[old - 1] > self.missing[new - 1] {
                old -= 1;
                self.seconds[to] = self.seconds[old];
                self.free.copy_within(old * self.words..(old + 1) * self.words, to * self.words);
            } else {
                new -= 1;
                self.seconds[to] = self.missing[new];
                let free = &mut self.free[to * self.words..(to + 1) * self.words];
                free.fill(0);
                free[word] = bit;
            }
        }
    }

    /// Returns the starts, ascending, with their free calendars.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, FreePlaces<'_>)> {
        self.seconds.iter().copied().zip(self.free.chunks_exact(self.words).map(FreePlaces))
    }

    /// Returns the number of starts.
    pub(crate) fn len(&self) -> usize {
        self.seconds.len()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn merged_starts_agree_with_a_map_of_sets(
            calendars in proptest::collection::vec(
                proptest::collection::btree_set(0..40_u32, 0..12),
                1..140,
            ),
        ) {
            let mut merged = MergedStarts::new(calendars.len());
            let mut map: BTreeMap<u32, BTreeSet<usize>> = BTreeMap::new();
            for (place, starts) in calendars.iter().enumerate() {
                merged.add(place, starts.iter().copied());
                for start in starts {
                    map.entry(*start).or_default().insert(place);
                }
            }
            let found: Vec<(u32, Vec<usize>)> =
                merged.iter().map(|(start, free)| (start, free.iter().collect())).collect();
            for (_, free) in merged.iter() {
                prop_assert_eq!(free.count(), free.iter().count());
            }
            let expected: Vec<(u32, Vec<usize>)> =
                map.into_iter().map(|(start, free)| (start, free.into_iter().collect())).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
