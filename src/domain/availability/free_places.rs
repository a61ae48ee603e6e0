//! Free starts of several calendars, merged as they are found. Reference 4.7.

use crate::domain::time::{CivilDay, Instant};

/// Number of calendars whose places fit into one word.
pub(crate) const WORD_PLACES: usize = 64;

/// The free calendars of one start among those of one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FreeWord {
    /// The start, in seconds from some moment.
    seconds: u32,
    /// Number of the word: its first bit stands for 64 times as many places.
    word: u32,
    /// A bit for each free calendar, the lowest first.
    bits: u64,
}

impl FreeWord {
    /// Adds the free calendars of one word at a start, if there is one. Numbers must ascend.
    #[inline]
    pub(crate) fn push(start: &mut Vec<Self>, number: u32, bits: u64) {
        if bits != 0 {
            start.push(Self { seconds: 0, word: number, bits });
        }
    }
}

/// A set of places in the list of searched calendars.
#[derive(Clone, Copy, Debug)]
pub struct FreePlaces<'f>(&'f [FreeWord]);

impl<'f> FreePlaces<'f> {
    /// Returns the set of these words.
    #[inline]
    pub(crate) fn new(words: &'f [FreeWord]) -> Self {
        Self(words)
    }

    /// Returns the number of places.
    pub fn count(self) -> usize {
        self.0.iter().map(|free| free.bits.count_ones() as usize).sum()
    }

    /// Returns whether it is the set of these words.
    #[inline]
    pub(crate) fn has_words(self, words: &[(u32, u64)]) -> bool {
        let mut pairs = self.0.iter().zip(words);
        self.0.len() == words.len() && pairs.all(|(free, word)| (free.word, free.bits) == *word)
    }

    /// Returns the words that are not 0, ascending, each with its number. Sets with the same words
    /// are equal.
    pub fn words(self) -> impl Iterator<Item = (u32, u64)> + use<'f> {
        self.0.iter().map(|free| (free.word, free.bits))
    }

    /// Returns the places, ascending.
    pub fn iter(self) -> impl Iterator<Item = usize> + use<'f> {
        self.words().flat_map(|(word, bits)| {
            let mut left = bits;
            std::iter::from_fn(move || {
                let place = left.trailing_zeros() as usize;
                // Removes the lowest bit; without any there is no place.
                left &= left.checked_sub(1)?;
                Some(word as usize * WORD_PLACES + place)
            })
        })
    }
}

/// The free starts of one local day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DayStarts {
    /// The day.
    pub day: CivilDay,
    /// The number of its free starts; at least 1.
    pub count: usize,
    /// The first of them.
    pub first: Instant,
    /// The places of the first's free calendars in the list of searched calendars, ascending.
    pub places: Vec<usize>,
}

/// The free starts of some calendars, each start once, with the calendars that are free at it.
#[derive(Debug, Default)]
pub(crate) struct MergedStarts {
    /// Ascending once finished. Until then the calendars of each word stand together and ascend.
    free: Vec<FreeWord>,
    /// Number of the word that is filled, and the place where it begins.
    filled: (u32, usize),
    /// Starts of the calendar that is added which no other of its word has. Kept for its memory.
    missing: Vec<u32>,
}

impl MergedStarts {
    pub(crate) fn clear(&mut self) {
        self.free.clear();
        self.filled = (0, 0);
    }

    /// Adds the starts of the calendar at a place, which must ascend. Places must ascend too.
    ///
    /// Most calendars start at the same times, so most starts are found already. Others are merged:
    /// a start moves at most once for each calendar of its word.
    pub(crate) fn add(&mut self, place: usize, starts: impl Iterator<Item = u32>) {
        let word = u32::try_from(place / WORD_PLACES).expect("a group has fewer calendars");
        if word != self.filled.0 {
            self.filled = (word, self.free.len());
        }
        let begin = self.filled.1;
        let bits = 1 << (place % WORD_PLACES);
        if begin == self.free.len() {
            self.free.extend(starts.map(|seconds| FreeWord { seconds, word, bits }));
            return;
        }
        self.missing.clear();
        let mut at = begin;
        for start in starts {
            while self.free.get(at).is_some_and(|other| other.seconds < start) {
                at += 1;
            }
            match self.free.get_mut(at) {
                Some(found) if found.seconds == start => {
                    found.bits |= bits;
                    // The next start is mostly the next one of the others.
                    at += 1;
                }
                _ => self.missing.push(start),
            }
        }
        // From the back, so that each start moves once at most.
        let mut old = self.free.len();
        let mut to = old + self.missing.len();
        self.free.resize(to, FreeWord { seconds: 0, word, bits });
        while let Some(seconds) = self.missing.last().copied() {
            to -= 1;
            if old > begin && self.free[old - 1].seconds > seconds {
                old -= 1;
                self.free[to] = self.free[old];
            } else {
                self.missing.pop();
                self.free[to] = FreeWord { seconds, word, bits };
            }
        }
    }

    /// Ends the additions.
    pub(crate) fn finish(&mut self) {
        if self.filled.0 > 0 {
            // Only merges the sorted runs of the words.
            self.free.sort();
        }
    }

    /// Returns the starts, ascending, with their free calendars. Call it after
    /// [`MergedStarts::finish`].
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, FreePlaces<'_>)> {
        let starts = self.free.chunk_by(|one, next| one.seconds == next.seconds);
        starts.map(|free| (free[0].seconds, FreePlaces(free)))
    }

    /// Returns a number that is not below that of the starts.
    pub(crate) fn count_max(&self) -> usize {
        self.free.len()
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
            let mut merged = MergedStarts::default();
            let mut map: BTreeMap<u32, BTreeSet<usize>> = BTreeMap::new();
            for (place, starts) in calendars.iter().enumerate() {
                merged.add(place, starts.iter().copied());
                for start in starts {
                    map.entry(*start).or_default().insert(place);
                }
            }
            merged.finish();
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

    #[test]
    fn starts_that_calendars_share_are_counted_once() {
        let mut merged = MergedStarts::default();
        for place in 0..3 {
            merged.add(place, [10, 20, 30].into_iter());
        }
        merged.add(3, [5, 20, 40].into_iter());
        assert_eq!(merged.count_max(), 5);
        // That of another word may be counted again.
        merged.add(WORD_PLACES, [10].into_iter());
        merged.finish();
        assert_eq!(merged.count_max(), 6);
        let starts: Vec<_> = merged.iter().map(|(seconds, free)| (seconds, free.count())).collect();
        assert_eq!(starts, [(5, 1), (10, 4), (20, 4), (30, 3), (40, 1)]);
        merged.clear();
        assert_eq!(merged.count_max(), 0);
    }

    #[test]
    fn a_set_has_its_own_words_and_no_others() {
        let mut words = Vec::new();
        FreeWord::push(&mut words, 0, 0b101);
        FreeWord::push(&mut words, 2, 1);
        let free = FreePlaces::new(&words);
        assert!(free.has_words(&[(0, 0b101), (2, 1)]));
        assert!(free.has_words(&free.words().collect::<Vec<_>>()));
        for others in [&[][..], &[(0, 0b101)], &[(0, 0b100), (2, 1)], &[(0, 0b101), (1, 1)]] {
            assert!(!free.has_words(others), "{others:?}");
        }
        assert!(!free.has_words(&[(0, 0b101), (2, 1), (3, 1)]));
    }
}
