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
