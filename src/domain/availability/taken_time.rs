//! Time that live appointments and holds take on a calendar, stored by day. A new state shares all
//! days that did not change. Reference 4.4.

use std::collections::BTreeMap;
use std::sync::Arc;

use imbl::OrdMap;

use crate::domain::records::hold::HoldId;
use crate::domain::records::ids::VeventId;
use crate::domain::time::interval_set::Interval;
use crate::domain::time::{DAY, Instant};

/// Time that one live appointment takes on a calendar, or another row with an id of type `I`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TakenInterval<I = VeventId> {
    /// The time.
    pub interval: Interval,
    /// The row that takes it.
    pub id: I,
}

/// The hold that takes some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeHolder {
    /// The moment from which the time is free again.
    pub expires_at: Instant,
    /// The hold.
    pub id: HoldId,
}

/// Days of a block. A change copies one block: one pointer per day.
const BLOCK_DAYS: i64 = 32;

/// Rows that overlap a day, ascending by start; `None` without any.
type Day<I> = Option<Arc<[TakenInterval<I>]>>;
type Block<I> = [Day<I>; 32];

/// All live appointments of one calendar, or all its rows of another kind, indexed by time.
#[derive(Clone, Debug)]
pub struct TakenTime<I = VeventId> {
    /// Blocks of 32 UTC days by block number. Each day lists all rows that overlap it. One that
    /// runs past midnight is in several days. A block without any row is removed.
    blocks: OrdMap<i64, Arc<Block<I>>>,
}

impl<I> Default for TakenTime<I> {
    fn default() -> Self {
        Self { blocks: OrdMap::new() }
    }
}

/// Returns the UTC day of a moment, in days since 1970-01-01.
fn day_of(moment: Instant) -> i64 {
    moment.0.div_euclid(DAY)
}

/// Returns the block of a day and the place in it.
#[expect(clippy::cast_possible_truncation, reason = "a remainder of 32 is small and positive")]
fn place_of(day: i64) -> (i64, usize) {
    (day.div_euclid(BLOCK_DAYS), day.rem_euclid(BLOCK_DAYS) as usize)
}

impl<I: Copy + Ord> TakenTime<I> {
    /// Whether nothing takes time.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Replaces the list of each day that the interval overlaps.
    fn edit_days(
        &mut self,
        interval: Interval,
        edit: impl Fn(&[TakenInterval<I>]) -> Arc<[TakenInterval<I>]>,
    ) {
        for day in day_of(interval.start)..=day_of(interval.end.plus_seconds(-1)) {
            let (block, at) = place_of(day);
            let days = Arc::make_mut(self.blocks.entry(block).or_default());
            let list = edit(days[at].as_deref().unwrap_or_default());
            days[at] = if list.is_empty() { None } else { Some(list) };
            if days[at].is_none() && days.iter().all(Option::is_none) {
                self.blocks.remove(&block);
            }
        }
    }

    /// Returns these rows, given in any order. Equal to adding one after another.
    pub fn from_rows(mut all: Vec<TakenInterval<I>>) -> Self {
        all.sort_unstable();
        let mut days: BTreeMap<i64, Vec<TakenInterval<I>>> = BTreeMap::new();
        for taken in all {
            for day in day_of(taken.interval.start)..=day_of(taken.interval.end.plus_seconds(-1)) {
                days.entry(day).or_default().push(taken);
            }
        }
        let mut blocks: BTreeMap<i64, Block<I>> = BTreeMap::new();
        for (day, list) in days {
            let (block, at) = place_of(day);
            blocks.entry(block).or_default()[at] = Some(list.into());
        }
        Self { blocks: blocks.into_iter().map(|(block, days)| (block, Arc::new(days))).collect() }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// If its interval is empty.
    pub fn add(&mut self, taken: TakenInterval<I>) {
        assert!(!taken.interval.is_empty(), "a row takes time");
        self.edit_days(taken.interval, |day| {
            let (before, after) = day.split_at(day.partition_point(|other| *other < taken));
            before.iter().chain([&taken]).chain(after).copied().collect()
        });
    }

    /// Removes a row.
    ///
    /// # Panics
    /// If the row was not added with exactly this interval.
    pub fn remove(&mut self, taken: TakenInterval<I>) {
        self.edit_days(taken.interval, |day| {
            let at = day.binary_search(&taken).expect("a row is in every day that it overlaps");
            day[..at].iter().chain(&day[at + 1..]).copied().collect()
        });
    }

    /// Returns, day by day, the rows that may overlap `interval`: ascending by start, each
    /// once. Those of the first and last day may end before the interval or start after it.
    pub(crate) fn days(&self, interval: Interval) -> impl Iterator<Item = &[TakenInterval<I>]> {
        let first = day_of(interval.start);
        let last = day_of(interval.end.plus_seconds(-1));
        // One look-up per block, not per day: the look-ups cost more than the lists.
        (place_of(first).0..=place_of(last).0)
            .filter_map(|block| Some((block, self.blocks.get(&block)?)))
            .flat_map(move |(block, days)| {
                let from = if block == place_of(first).0 { place_of(first).1 } else { 0 };
                let to = if block == place_of(last).0 { place_of(last).1 + 1 } else { days.len() };
                let numbered = (block * BLOCK_DAYS..).zip(days.iter()).take(to).skip(from);
                numbered.map(move |(day, list)| {
                    let list = list.as_deref().unwrap_or_default();
                    // A row that began on an earlier day was in that day's list.
                    let begun_here = |t: &TakenInterval<I>| t.interval.start.0 >= day * DAY;
                    let seen = match list.first() {
                        Some(earliest) if day > first && !begun_here(earliest) => {
                            list.partition_point(|t| !begun_here(t))
                        }
                        _ => 0,
                    };
                    &list[seen..]
                })
            })
    }

    /// Returns the rows that overlap `interval`, ascending by start.
    pub fn overlapping(&self, interval: Interval) -> impl Iterator<Item = TakenInterval<I>> + '_ {
        self.days(interval).flatten().copied().filter(move |t| t.interval.overlaps(interval))
    }

    /// Returns all rows, ascending by start.
    pub fn iter(&self) -> impl Iterator<Item = TakenInterval<I>> + '_ {
        self.since_block(i64::MIN, i64::MIN)
    }

    /// Returns the rows that end after a moment, ascending by start. The cost does not
    /// depend on the earlier ones.
    pub fn ending_after(&self, moment: Instant) -> impl Iterator<Item = TakenInterval<I>> + '_ {
        let day = day_of(moment);
        self.since_block(place_of(day).0, day).filter(move |t| t.interval.end > moment)
    }

    /// Returns, each once, the rows of the blocks from `block` on that overlap the day
    /// `first` or start later.
    fn since_block(&self, block: i64, first: i64) -> impl Iterator<Item = TakenInterval<I>> + '_ {
        self.blocks.range(block..).flat_map(move |(block, days)| {
            (block * BLOCK_DAYS..)
                .zip(days.iter())
                .skip_while(move |(day, _)| *day < first)
                .flat_map(move |(day, list)| {
                    let not_seen = move |t: &&TakenInterval<I>| {
                        day == first || day_of(t.interval.start) == day
                    };
                    list.as_deref().unwrap_or_default().iter().filter(not_seen).copied()
                })
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn taken(id: u64, start: i64, length: i64) -> TakenInterval {
        let interval = Interval { start: Instant(start), end: Instant(start + length) };
        TakenInterval { interval, id: VeventId::new(id).expect("an id") }
    }

    #[test]
    fn rows_stand_in_the_lists_of_their_own_days_alone() {
        let rows = vec![taken(1, DAY, 60), taken(2, 2 * DAY - 60, 60), taken(3, 3 * DAY - 1, 2)];
        let mut added = TakenTime::default();
        rows.iter().for_each(|row| added.add(*row));
        for time in [added, TakenTime::from_rows(rows)] {
            let of_days = |from: i64, to: i64| {
                let interval = Interval { start: Instant(from * DAY), end: Instant(to * DAY) };
                let lists = time.days(interval).filter(|list| !list.is_empty());
                lists.map(|list| list.iter().map(|row| row.id.number()).collect()).collect()
            };
            let of_days: &dyn Fn(i64, i64) -> Vec<Vec<u64>> = &of_days;
            assert_eq!(of_days(0, 1), Vec::<Vec<u64>>::new());
            assert_eq!(of_days(1, 2), [[1, 2]]);
            assert_eq!(of_days(2, 3), [[3]]);
            assert_eq!(of_days(3, 4), [[3]], "it runs past midnight");
            assert_eq!(of_days(1, 4), [vec![1, 2], vec![3]]);
            assert_eq!(of_days(4, 40), Vec::<Vec<u64>>::new());
        }
    }

    proptest! {
        #[test]
        fn taken_time_agrees_with_a_plain_list(
            rows in proptest::collection::vec((0..60 * DAY, 1..3 * DAY), 0..40),
            gone in proptest::collection::vec(any::<prop::sample::Index>(), 0..20),
            asked in (0..60 * DAY, 1..10 * DAY),
        ) {
            let mut list: Vec<TakenInterval> = (1..).zip(&rows).map(|(id, &(s, l))| taken(id, s, l)).collect();
            let mut time = TakenTime::default();
            list.iter().for_each(|t| time.add(*t));
            prop_assert!(TakenTime::from_rows(list.clone()).iter().eq(time.iter()));
            for index in gone {
                if !list.is_empty() {
                    time.remove(list.swap_remove(index.index(list.len())));
                }
            }
            list.sort_unstable();
            prop_assert_eq!(time.iter().collect::<Vec<_>>(), list.clone());
            let asked = Interval { start: Instant(asked.0), end: Instant(asked.0 + asked.1) };
            let to_come: Vec<TakenInterval> = list.iter().copied().filter(|t| t.interval.end > asked.start).collect();
            prop_assert_eq!(time.ending_after(asked.start).collect::<Vec<_>>(), to_come);
            let met: Vec<TakenInterval> = list.into_iter().filter(|t| t.interval.overlaps(asked)).collect();
            prop_assert_eq!(time.overlapping(asked).collect::<Vec<_>>(), met);
        }
    }

    #[test]
    fn a_calendar_without_appointments_keeps_no_block() {
        let mut time = TakenTime::default();
        time.add(taken(1, 10, 2 * DAY));
        time.remove(taken(1, 10, 2 * DAY));
        assert!(time.blocks.is_empty());
    }
}
