//! Live events of a calendar that are no appointments, found by the days of a window. Reference
//! 4.10.
//!
//! Their times belong to no zone, so that the index stays when the zone of the group changes.

use imbl::OrdMap;

use crate::domain::availability::taken_time::{TakenInterval, TakenTime};
use crate::domain::records::ids::VeventId;
use crate::domain::records::vevent::{Vevent, VeventKind};
use crate::domain::recurrence::Series;
use crate::domain::time::interval_set::Interval;
use crate::domain::time::{Civil, DAY, zone};

/// Maximum length of an event that is found by its days. A longer one would be in the list of each.
const INDEXED_DAYS_MAX: i64 = 62;

/// Live availabilities, plages and notes by time. A window costs what takes place in it, what
/// repeats until then or later, and the long events that end then or later.
#[derive(Clone, Debug, Default)]
pub struct SeriesIndex {
    /// Events that take place once, at the time that their wall clock would name in UTC.
    single: TakenTime,
    /// First day of all others, by a day on or after their last one and their id.
    spanning: OrdMap<(i64, VeventId), i64>,
}

impl SeriesIndex {
    /// Adds a live event. An appointment or a deleted event changes nothing.
    pub fn add(&mut self, row: &Vevent) {
        match place_of(row) {
            Some(Place::Single(taken)) => self.single.add(taken),
            Some(Place::Spanning { first, last }) => {
                self.spanning.insert((last, row.id), first);
            }
            None => {}
        }
    }

    /// Removes an event that was added.
    ///
    /// # Panics
    /// If it was not added in exactly this form.
    pub fn remove(&mut self, row: &Vevent) {
        match place_of(row) {
            Some(Place::Single(taken)) => self.single.remove(taken),
            Some(Place::Spanning { last, .. }) => {
                self.spanning.remove(&(last, row.id)).expect("a removed event was added");
            }
            None => {}
        }
    }

    /// Returns, each once, the events that may take place in `from <= t < to`. Those of the days
    /// around it may be among them.
    pub fn near(&self, from: Civil, to: Civil) -> impl Iterator<Item = VeventId> + '_ {
        let window = Interval { start: zone::instant_of_utc(from), end: zone::instant_of_utc(to) };
        let first = i64::from(from.day().0);
        let last = i64::from(to.day().0);
        let single = self.single.overlapping(window).map(|taken| taken.id);
        let id_min = VeventId::new(1).expect("1 is an id");
        let spanning = self
            .spanning
            .range((first, id_min)..)
            .filter(move |(_, begins)| **begins <= last)
            .map(|((_, id), _)| *id);
        single.chain(spanning)
    }
}

/// Place of an event in the index.
enum Place {
    /// Among those that take place once.
    Single(TakenInterval),
    /// Among the others, with the first day and a day on or after the last one.
    Spanning { first: i64, last: i64 },
}

/// Returns the place of a live event; `None` for one that is not indexed.
fn place_of(row: &Vevent) -> Option<Place> {
    let series = row.series()?;
    if row.deleted {
        return None;
    }
    let span = series.days_spanned();
    if series.rule().is_some() || span.end() - span.start() > INDEXED_DAYS_MAX {
        return Some(Place::Spanning { first: *span.start(), last: *span.end() });
    }
    let is_note = matches!(row.kind, VeventKind::Note(_));
    let interval = wall_clock_interval(series, is_note);
    Some(Place::Single(TakenInterval { interval, id: row.id }))
}

/// Returns the time of an event that takes place once, as if its zone were UTC. A note takes its
/// day. An end before the start, which a clock change can bring about, counts as a second later.
fn wall_clock_interval(series: &Series, is_note: bool) -> Interval {
    let start = zone::instant_of_utc(series.start());
    let length_seconds = if is_note { DAY } else { series.end().seconds_since(series.start()) };
    Interval { start, end: start.plus_seconds(length_seconds.max(1)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::availability::searched::{TODAY, daily, zone};
    use crate::domain::time::HOUR;

    /// A plage of some days, which repeats by a rule unless that is empty.
    fn plage(number: u64, rule: &str, days: i64) -> Vevent {
        let start = TODAY.midnight().plus_seconds(9 * HOUR);
        let end = start.plus_seconds(days * DAY + HOUR);
        let rule = if rule.is_empty() { None } else { Some(rule.parse().expect("a rule")) };
        let series = Series::new(zone(), start, end, rule, Default::default()).expect("a series");
        let row = daily(number, zone(), start, HOUR);
        Vevent { kind: VeventKind::Plage(Box::new(series)), ..(*row).clone() }
    }

    #[test]
    fn an_event_is_found_near_each_day_on_which_it_takes_place_until_it_is_removed() {
        let rows = [
            plage(1, "", 0),
            plage(2, "", 90),
            plage(3, "FREQ=WEEKLY;COUNT=2", 0),
            plage(4, "FREQ=WEEKLY", 0),
        ];
        let mut index = SeriesIndex::default();
        for row in &rows {
            index.add(row);
        }
        let near = |index: &SeriesIndex, day: i32| {
            let from = TODAY.plus_days(day).midnight();
            let found = index.near(from, from.plus_seconds(DAY));
            let mut found: Vec<u64> = found.map(|id| id.number()).collect();
            found.sort_unstable();
            found
        };
        assert!(near(&index, -2).is_empty());
        assert_eq!(near(&index, 0), [1, 2, 3, 4]);
        assert_eq!(near(&index, 7), [2, 3, 4]);
        assert_eq!(near(&index, 14), [2, 4]);
        assert_eq!(near(&index, 90), [2, 4]);
        assert_eq!(near(&index, 140), [4]);
        for (row, left) in rows.iter().zip([&[2, 3, 4][..], &[3, 4], &[4], &[]]) {
            index.remove(row);
            assert_eq!(near(&index, 0), left);
        }
    }
}
