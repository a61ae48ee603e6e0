//! Free starts of several calendars, merged. Reference 4.7.

use std::ops::ControlFlow;
use std::sync::Arc;

use imbl::OrdMap;

use crate::domain::availability::bookable::lead_times;
use crate::domain::availability::catalogue::Catalogue;
use crate::domain::availability::day_table::DayTable;
use crate::domain::availability::free_places::{DayStarts, FreePlaces, MergedStarts};
use crate::domain::availability::kept_search::KeptSearch;
use crate::domain::availability::open_time::CalendarView;
use crate::domain::availability::slot_request::ChainSearch;
use crate::domain::availability::slots::free_starts;
use crate::domain::records::ids::CalendarId;
use crate::domain::time::interval_set::Interval;
use crate::domain::time::zone::Zone;
use crate::domain::time::{DAY, Instant, MINUTE};

/// Maximum length in seconds of one step of a search. It bounds the memory of a search.
const STEP_SECONDS_MAX: i64 = 31 * DAY;
/// Length in seconds of the first step of a search that may end early. Each step is twice as long
/// as the one before, so that the cost follows the distance of the last wanted start.
const FIRST_STEP_SECONDS: i64 = DAY;
/// Number of starts of a calendar for which there is room before the first is found.
const STARTS_RESERVED: usize = 256;
/// Cost of a calendar in one step, beside its grid points and occurrences.
const CALENDAR_COST: i64 = 100;

/// The extent of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchExtent {
    /// All of the window is wanted.
    Whole,
    /// The search ends early as soon as enough starts are found.
    Nearest,
}

impl SearchExtent {
    /// Length of the first step of a search in seconds.
    const fn first_step(self) -> i64 {
        match self {
            Self::Nearest => FIRST_STEP_SECONDS,
            Self::Whole => STEP_SECONDS_MAX,
        }
    }

    /// Returns the number of steps of a search over a window of this length.
    fn count_steps(self, seconds: i64) -> i64 {
        let mut steps = 0;
        let mut searched = 0;
        let mut step = self.first_step();
        while searched < seconds && step < STEP_SECONDS_MAX {
            searched += step;
            step = next_step(step);
            steps += 1;
        }
        let left = (seconds - searched).max(0);
        steps + (left + STEP_SECONDS_MAX - 1) / STEP_SECONDS_MAX
    }
}

/// Returns the length of the step after one of this length.
fn next_step(step_seconds: i64) -> i64 {
    (2 * step_seconds).min(STEP_SECONDS_MAX)
}

/// Calendars that are searched together for starts of one chain.
#[derive(Clone, Copy, Debug)]
pub struct StartSearch<'s> {
    /// The settings of the group.
    pub catalogue: &'s Catalogue,
    /// The time of each calendar of the catalogue.
    pub views: &'s OrdMap<CalendarId, Arc<CalendarView>>,
    /// The interventions to book, the rules that hold, and the caller's own time.
    pub search: ChainSearch<'s>,
    /// The calendars, each of the group.
    pub calendars: &'s [CalendarId],
    /// Minimum number of calendars that must be free at a start.
    pub at_least: usize,
    /// The moment of the request, from which lead times count.
    pub now: Instant,
}

impl StartSearch<'_> {
    /// Calls `found` with each free start of a window, ascending, and its free calendars. Ends
    /// early when `found` breaks, and returns that.
    pub fn each_start(
        &self,
        window: Interval,
        extent: SearchExtent,
        mut found: impl FnMut(Instant, FreePlaces<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.each_step(window, extent, |step| step.each_start(&mut found))
    }

    /// Returns the first free start of a window.
    pub fn first_start(&self, window: Interval) -> Option<Instant> {
        let mut first = None;
        let end = self.each_start(window, SearchExtent::Nearest, |start, _| {
            first = Some(start);
            ControlFlow::Break(())
        });
        debug_assert_eq!(end.is_break(), first.is_some(), "a found start ends the search");
        first
    }

    /// Returns the local days of a window with free starts, ascending.
    pub fn count_by_day(&self, window: Interval) -> Vec<DayStarts> {
        let mut days: Vec<DayStarts> = Vec::new();
        let end = self.each_step(window, SearchExtent::Whole, |step| {
            step.each_day(|day| match days.last_mut() {
                // Two steps met on that day.
                Some(last) if last.day == day.day => last.count += day.count,
                _ => days.push(day),
            });
            ControlFlow::Continue(())
        });
        debug_assert!(end.is_continue(), "nothing ends the search early");
        days
    }

    /// Calls `found` with all free starts of a window, ascending, and their free calendars.
    pub fn for_each_start(&self, window: Interval, mut found: impl FnMut(Instant, FreePlaces<'_>)) {
        let end = self.each_start(window, SearchExtent::Whole, |start, free| {
            found(start, free);
            ControlFlow::Continue(())
        });
        debug_assert!(end.is_continue(), "nothing ends the search early");
    }

    /// Calls `found` with the free starts of each step of a window. Ends early when `found` breaks,
    /// and returns that.
    pub fn each_step(
        &self,
        window: Interval,
        extent: SearchExtent,
        mut found: impl FnMut(&StartStep<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut starts: Vec<Instant> = Vec::new();
        let mut table = DayTable::default();
        let mut merged = MergedStarts::default();
        let mut from = window.start;
        let mut step_seconds = extent.first_step();
        while from < window.end {
            let end = from.plus_seconds(step_seconds).min(window.end);
            let step = Interval { start: from, end };
            from = step.end;
            step_seconds = next_step(step_seconds);
            let starts = if self.fill(step, &mut table) {
                StepStarts::Kept(&table)
            } else {
                merged.clear();
                self.merge_anew(step, &mut starts, &mut merged);
                StepStarts::Found(step.start, &merged)
            };
            found(&StartStep { zone: self.catalogue.zone(), starts, at_least: self.at_least })?;
        }
        ControlFlow::Continue(())
    }

    /// Fills a table with the starts of a step. Returns `false` if they are not all kept by day.
    fn fill(&self, step: Interval, table: &mut DayTable) -> bool {
        let Some(kept) = KeptSearch::new(self.catalogue, self.search, step, self.now) else {
            return false;
        };
        let views = self.calendars.iter().map(|id| self.views.get(id));
        let views = views.map(|view| view.expect("each calendar has a view").as_ref());
        table.fill(&kept, step, views)
    }

    /// Finds the starts of a step that are not kept by day.
    fn merge_anew(&self, step: Interval, starts: &mut Vec<Instant>, merged: &mut MergedStarts) {
        starts.reserve(STARTS_RESERVED);
        for (place, id) in self.calendars.iter().enumerate() {
            let view = self.views.get(id).expect("each calendar has a view");
            starts.clear();
            free_starts(self.catalogue, view, self.search, step, self.now, starts);
            let seconds = |at: &Instant| u32::try_from(at.seconds_since(step.start));
            let within = "a start lies within its step, which is a month at most";
            merged.add(place, starts.iter().map(|at| seconds(at).expect(within)));
        }
        merged.finish();
    }

    /// Returns an upper bound on the grid points and the occurrences that a search of a window
    /// looks at, and the cost of its calendars. One that finds days to be kept for later searches
    /// may look at four times as much, once.
    pub fn estimate_cost(&self, window: Interval, extent: SearchExtent) -> i64 {
        let catalogue = self.catalogue;
        let mut cost: i64 = 0;
        for id in self.calendars {
            let Some(calendar) = catalogue.calendars.get(id) else { continue };
            let Some((_, latest)) = lead_times(catalogue, *id, self.now) else { continue };
            let mut end = window.end;
            if self.search.mode.follows_module_rules() {
                end = end.min(latest);
            }
            let seconds = end.seconds_since(window.start);
            if seconds <= 0 {
                continue;
            }
            let points = seconds / (calendar.generate_interval.number() * MINUTE);
            let view = self.views.get(id).expect("each calendar has a view");
            // The last step looks back at least as far as any other.
            let last_step = Interval { start: end.plus_seconds(-STEP_SECONDS_MAX), end };
            let occurrences = view.rules().count_looked_at(catalogue.zone(), last_step);
            let steps = extent.count_steps(seconds);
            let each_step = occurrences.saturating_add(CALENDAR_COST);
            cost = cost.saturating_add(points).saturating_add(each_step.saturating_mul(steps));
        }
        cost
    }
}

/// The free starts of one step of a search.
#[derive(Clone, Copy, Debug)]
pub struct StartStep<'f> {
    zone: Zone,
    starts: StepStarts<'f>,
    at_least: usize,
}

/// The starts of a step, as they were found.
#[derive(Clone, Copy, Debug)]
enum StepStarts<'f> {
    /// In the kept days of the calendars.
    Kept(&'f DayTable),
    /// Found anew, in seconds from a moment.
    Found(Instant, &'f MergedStarts),
}

impl StartStep<'_> {
    /// Returns a number that is not below that of the starts.
    pub fn count_max(&self) -> usize {
        match self.starts {
            StepStarts::Kept(table) => table.count(),
            StepStarts::Found(_, merged) => merged.count_max(),
        }
    }

    /// Calls `found` with each start of the step, ascending, and its free calendars. Ends early
    /// when `found` breaks, and returns that.
    pub fn each_start(
        &self,
        mut found: impl FnMut(Instant, FreePlaces<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.each_run(|starts, free| {
            for start in starts {
                found(start, free)?;
            }
            ControlFlow::Continue(())
        })
    }

    /// Calls `found` with the starts of the step, ascending: each time with some that have the same
    /// free calendars, and these. Ends early when `found` breaks, and returns that.
    pub fn each_run(
        &self,
        mut found: impl FnMut(&mut dyn Iterator<Item = Instant>, FreePlaces<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        // Each start has one free calendar at least.
        let is_wanted = |free: FreePlaces<'_>| self.at_least <= 1 || free.count() >= self.at_least;
        match self.starts {
            StepStarts::Kept(table) => table.each_run(self.zone, |mut run, free| {
                if is_wanted(free) { found(&mut run, free) } else { ControlFlow::Continue(()) }
            }),
            StepStarts::Found(from, merged) => {
                for (seconds, free) in merged.iter() {
                    if is_wanted(free) {
                        let start = from.plus_seconds(i64::from(seconds));
                        found(&mut std::iter::once(start), free)?;
                    }
                }
                ControlFlow::Continue(())
            }
        }
    }

    /// Calls `found` with each local day of the step that has free starts, ascending.
    fn each_day(&self, mut found: impl FnMut(DayStarts)) {
        if let StepStarts::Kept(table) = self.starts
            && self.at_least <= 1
        {
            table.each_day(self.zone, found);
            return;
        }
        let mut last: Option<DayStarts> = None;
        let end = self.each_start(|start, free| {
            let day = self.zone.civil_of(start).day();
            match &mut last {
                Some(last) if last.day == day => last.count += 1,
                _ => {
                    let places = free.iter().collect();
                    let next = DayStarts { day, count: 1, first: start, places };
                    if let Some(done) = last.replace(next) {
                        found(done);
                    }
                }
            }
            ControlFlow::Continue(())
        });
        debug_assert!(end.is_continue(), "nothing ends the step early");
        if let Some(done) = last {
            found(done);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::availability::searched::{Searched, at, chain_of, days};
    use crate::domain::availability::slot_request::BookingMode;

    #[test]
    fn a_step_is_a_month_and_the_first_of_a_search_that_may_end_early_is_a_day() {
        // 1, 2, 4, 8 and 16 days are 31.
        for (seconds, whole, nearest) in [
            (0, 0, 0),
            (1, 1, 1),
            (DAY, 1, 1),
            (DAY + 1, 1, 2),
            (3 * DAY, 1, 2),
            (3 * DAY + 1, 1, 3),
            (15 * DAY, 1, 4),
            (31 * DAY, 1, 5),
            (31 * DAY + 1, 2, 6),
            (62 * DAY, 2, 6),
            (62 * DAY + 1, 3, 7),
        ] {
            assert_eq!(SearchExtent::Whole.count_steps(seconds), whole, "{seconds} seconds");
            assert_eq!(SearchExtent::Nearest.count_steps(seconds), nearest, "{seconds} seconds");
        }
    }

    #[test]
    fn the_steps_of_a_search_are_those_that_are_counted() {
        let searched = Searched::new();
        let chain = chain_of(15);
        for (from, to) in [(0, 0), (0, 1), (0, 2), (3, 6), (0, 15), (1, 32), (0, 40), (0, 100)] {
            for extent in [SearchExtent::Whole, SearchExtent::Nearest] {
                let mut steps = 0;
                let end = searched.search(&chain, BookingMode::Module, |search| {
                    search.each_step(days(from, to), extent, |_| {
                        steps += 1;
                        ControlFlow::Continue(())
                    })
                });
                assert!(end.is_continue());
                assert_eq!(steps, extent.count_steps(i64::from(to - from) * DAY));
            }
        }
    }

    #[test]
    fn the_cost_is_that_of_grid_points_occurrences_and_calendars() {
        let searched = Searched::new();
        let chain = chain_of(15);
        let cost = |mode, window, extent| {
            searched.search(&chain, mode, |search| search.estimate_cost(window, extent))
        };
        // Of each of two calendars: the grid points, and for each step the calendar and the days of
        // its availability in the month before the end.
        let of = |points: i64, occurrences: i64, steps| 2 * (points + steps * (100 + occurrences));
        let module = BookingMode::Module;
        let office = BookingMode::BackOffice;
        let whole = SearchExtent::Whole;
        let nearest = SearchExtent::Nearest;
        let month = days(50, 81);
        assert_eq!(cost(module, month, whole), of(31 * 96, 35, 1));
        assert_eq!(cost(module, month, nearest), of(31 * 96, 35, 5));
        assert_eq!(cost(module, days(81, 81), whole), 0);
        // The calendars take bookings for a year.
        let years = days(350, 1_080);
        assert_eq!(cost(module, years, whole), of(15 * 96, 35, 1));
        assert_eq!(cost(office, years, whole), of(730 * 96, 35, 24));
        assert_eq!(cost(module, Interval { start: at(365, 0), end: at(400, 0) }, whole), 0);
    }

    #[test]
    fn the_room_for_the_starts_of_a_step_is_their_number() {
        let searched = Searched::new();
        let chain = chain_of(15);
        // From 9 to 13, on one calendar or both.
        for (window, expected) in [(days(0, 8), 8 * 16), (days(0, 1), 16), (days(0, 0), 0)] {
            let mut rooms = Vec::new();
            let end = searched.search(&chain, BookingMode::Module, |search| {
                search.each_step(window, SearchExtent::Whole, |step| {
                    rooms.push(step.count_max());
                    ControlFlow::Continue(())
                })
            });
            assert!(end.is_continue());
            assert_eq!(rooms.iter().sum::<usize>(), expected);
        }
        let fresh = Searched::new();
        let room = fresh.search(&chain, BookingMode::BackOffice, |search| {
            let mut rooms = 0;
            let end = search.each_step(days(0, 1), SearchExtent::Whole, |step| {
                rooms += step.count_max();
                ControlFlow::Continue(())
            });
            assert!(end.is_continue());
            rooms
        });
        assert_eq!(room, 96, "the back office books at each quarter of an hour");
    }

    /// Returns what is found by `look` where this many calendars must be free.
    fn found<T>(mode: BookingMode, at_least: usize, look: impl FnOnce(StartSearch<'_>) -> T) -> T {
        let searched = Searched::new();
        let chain = chain_of(15);
        searched.search(&chain, mode, |search| look(StartSearch { at_least, ..search }))
    }

    #[test]
    fn the_starts_of_each_day_are_those_at_which_enough_calendars_are_free() {
        // One calendar is open from 9 to 12, the other from 10 to 13.
        for (mode, at_least, count, minute, places) in [
            (BookingMode::Module, 1, 16, 9 * 60, &[0][..]),
            (BookingMode::Module, 2, 8, 10 * 60, &[0, 1]),
            (BookingMode::BackOffice, 1, 96, 0, &[0, 1]),
            (BookingMode::BackOffice, 2, 96, 0, &[0, 1]),
        ] {
            // Five days are kept, one is found anew.
            for number in [5, 1] {
                let expected: Vec<DayStarts> = (0..number)
                    .map(|day| {
                        let first = at(day, minute);
                        let places = places.to_vec();
                        let day = crate::domain::availability::searched::TODAY.plus_days(day);
                        DayStarts { day, count, first, places }
                    })
                    .collect();
                let window = days(0, number);
                let by_day = found(mode, at_least, |search| search.count_by_day(window));
                assert_eq!(by_day, expected, "{mode:?}, {at_least} calendars");
                let mut starts = Vec::new();
                found(mode, at_least, |search| {
                    search.for_each_start(window, |start, free| starts.push((start, free.count())));
                });
                assert_eq!(starts.len(), count * expected.len());
                assert_eq!(starts[0], (expected[0].first, places.len()));
                assert!(starts.is_sorted() && starts.iter().all(|(_, free)| *free >= at_least));
            }
        }
    }

    #[test]
    fn a_search_of_days_keeps_their_starts_for_the_next_one() {
        let searched = Searched::new();
        let chain = chain_of(15);
        let is_kept = || searched.views.iter().all(|view| view.free_days().kinds().is_some());
        let first = |window| {
            searched.search(&chain, BookingMode::Module, |search| {
                search.for_each_start(window, |_, _| {});
            });
        };
        first(days(0, 1));
        assert!(!is_kept(), "a day alone is not worth it");
        first(days(0, 8));
        assert!(is_kept());
    }
}
