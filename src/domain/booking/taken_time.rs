//! The time that live appointments take, by day, so that the next state shares all days it did not
//! change.

use std::collections::BTreeMap;
use std::sync::Arc;

use imbl::OrdMap;

use crate::domain::records::ids::VeventId;
use crate::domain::time::interval_set::Interval;
use crate::domain::time::{DAY, Instant};

/// One live appointment's hold on a calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TakenInterval {
    /// The time it takes.
    pub interval: Interval,
    /// Whose it is.
    pub id: VeventId,
}

/// Days of a block: a block is what a change copies, a pointer a day.
const BLOCK_DAYS: i64 = 32;

type Day = Option<Arc<[TakenInterval]>>;
type Block = [Day; 32];

/// All live appointments of one calendar, found by time.
#[derive(Clone, Debug, Default)]
pub struct TakenTime {
    /// Blocks of 32 UTC days by their number. Each day lists, ascending by start, every appointment
    /// that meets it, so one that runs past midnight stands in several days.
    blocks: OrdMap<i64, Arc<Block>>,
}

fn day_of(moment: Instant) -> i64 {
    moment.0.div_euclid(DAY)
}

#[expect(clippy::cast_possible_truncation, reason = "a remainder of 32 is small and positive")]
fn place(day: i64) -> (i64, usize) {
    (day.div_euclid(BLOCK_DAYS), day.rem_euclid(BLOCK_DAYS) as usize)
}

impl TakenTime {
    /// Gives each day that an interval meets another list.
    fn change(
        &mut self,
        interval: Interval,
        edit: impl Fn(&[TakenInterval]) -> Arc<[TakenInterval]>,
    ) {
        for day in day_of(interval.start)..=day_of(interval.end.plus_seconds(-1)) {
            let (block, at) = place(day);
            let days = Arc::make_mut(self.blocks.entry(block).or_default());
            let list = edit(days[at].as_deref().unwrap_or_default());
            days[at] = if list.is_empty() { None } else { Some(list) };
            if days[at].is_none() && days.iter().all(Option::is_none) {
                self.blocks.remove(&block);
            }
        }
    }

    /// All of these appointments, in any order. The same as adding one after another.
    #[must_use]
    pub fn from_appointments(mut all: Vec<TakenInterval>) -> Self {
        all.sort_unstable();
        let mut days: BTreeMap<i64, Vec<TakenInterval>> = BTreeMap::new();
        for taken in all {
            for day in day_of(taken.interval.start)..=day_of(taken.interval.end.plus_seconds(-1)) {
                days.entry(day).or_default().push(taken);
            }
        }
        let mut blocks: BTreeMap<i64, Block> = BTreeMap::new();
        for (day, list) in days {
            let (block, at) = place(day);
            blocks.entry(block).or_default()[at] = Some(list.into());
        }
        Self { blocks: blocks.into_iter().map(|(block, days)| (block, Arc::new(days))).collect() }
    }

    /// Adds an appointment that takes some time.
    pub fn add(&mut self, taken: TakenInterval) {
        assert!(!taken.interval.is_empty(), "an appointment takes time");
        self.change(taken.interval, |day| {
            let (before, after) = day.split_at(day.partition_point(|other| *other < taken));
            before.iter().chain([&taken]).chain(after).copied().collect()
        });
    }

    /// Takes out an appointment that was added with this very interval.
    pub fn remove(&mut self, taken: TakenInterval) {
        self.change(taken.interval, |day| {
            let at =
                day.binary_search(&taken).expect("an appointment stands in every day it meets");
            day[..at].iter().chain(&day[at + 1..]).copied().collect()
        });
    }

    /// Lists, day by day, of the appointments that may meet `interval`: ascending by start, each
    /// appointment once. Some may end before it starts or start after it ends, but only within its
    /// first and last day.
    pub(crate) fn days(&self, interval: Interval) -> impl Iterator<Item = &[TakenInterval]> {
        let (first, last) = (day_of(interval.start), day_of(interval.end.plus_seconds(-1)));
        // One look-up a block, not a day: the look-ups cost more than the lists.
        (place(first).0..=place(last).0)
            .filter_map(|block| Some((block, self.blocks.get(&block)?)))
            .flat_map(move |(block, days)| {
                let from = if block == place(first).0 { place(first).1 } else { 0 };
                let to = if block == place(last).0 { place(last).1 } else { days.len() - 1 };
                let numbered = (block * BLOCK_DAYS..).zip(days.iter()).take(to + 1).skip(from);
                numbered.map(move |(day, list)| {
                    let list = list.as_deref().unwrap_or_default();
                    // What began on an earlier day stood in that day's list.
                    let begun_here = |t: &TakenInterval| t.interval.start.0 >= day * DAY;
                    let seen = match list.first() {
                        Some(earliest) if day > first && !begun_here(earliest) => {
                            list.partition_point(|t| !begun_here(t))
                        }
                        Some(_) | None => 0,
                    };
                    &list[seen..]
                })
            })
    }

    /// Appointments that meet `interval`, ascending by start.
    pub fn overlapping(&self, interval: Interval) -> impl Iterator<Item = TakenInterval> + '_ {
        self.days(interval).flatten().copied().filter(move |t| t.interval.overlaps(interval))
    }

    /// Every live appointment, ascending by start.
    pub fn iter(&self) -> impl Iterator<Item = TakenInterval> + '_ {
        self.since_block(i64::MIN, i64::MIN)
    }

    /// Live appointments that end after a moment, ascending by start. Costs what is to come, not
    /// what has been.
    pub fn ending_after(&self, moment: Instant) -> impl Iterator<Item = TakenInterval> + '_ {
        let day = day_of(moment);
        self.since_block(place(day).0, day).filter(move |t| t.interval.end > moment)
    }

    /// Each appointment once that meets the day `first` or starts later, of the blocks from `block`
    /// on.
    fn since_block(&self, block: i64, first: i64) -> impl Iterator<Item = TakenInterval> + '_ {
        self.blocks.range(block..).flat_map(move |(block, days)| {
            (block * BLOCK_DAYS..)
                .zip(days.iter())
                .skip_while(move |(day, _)| *day < first)
                .flat_map(move |(day, list)| {
                    let not_seen =
                        move |t: &&TakenInterval| day == first || day_of(t.interval.start) == day;
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

    proptest! {
        #[test]
        fn days_agree_with_a_plain_list(
            rows in proptest::collection::vec((0..60 * DAY, 1..3 * DAY), 0..40),
            gone in proptest::collection::vec(any::<prop::sample::Index>(), 0..20),
            asked in (0..60 * DAY, 1..10 * DAY),
        ) {
            let mut list: Vec<TakenInterval> = (1..).zip(&rows).map(|(id, &(s, l))| taken(id, s, l)).collect();
            let mut time = TakenTime::default();
            list.iter().for_each(|t| time.add(*t));
            prop_assert!(TakenTime::from_appointments(list.clone()).iter().eq(time.iter()));
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
    fn an_emptied_calendar_holds_nothing() {
        let mut time = TakenTime::default();
        time.add(taken(1, 10, 2 * DAY));
        time.remove(taken(1, 10, 2 * DAY));
        assert!(time.blocks.is_empty());
    }
}
