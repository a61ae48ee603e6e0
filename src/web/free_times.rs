//! Free starts for pages: those of a booking, and those of a move.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::domain::availability::bookable::lead_times;
use crate::domain::availability::free_places::DayStarts;
use crate::domain::availability::merged_starts::{SearchExtent, StartSearch};
use crate::domain::availability::slot_request::{BookingMode, Chain, ChainSearch, OwnTime};
use crate::domain::decisions::appointment_move::move_mode_by_secret;
use crate::domain::records::ids::CalendarId;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::interval_set::Interval;
use crate::domain::time::{CivilDay, DAY, Instant};
use crate::http::{ApiError, INLINE_COST_MAX};
use crate::web::format::{self, iso_time};
use crate::web::month::{first_of_month, monday_of};
use crate::web::shop::Visit;

/// Maximum number of days that a page searches for the next free start.
const SEARCH_DAYS_MAX: i32 = 366;
/// Number of times that are offered in place of one that is no longer free.
const NEAREST: usize = 3;
/// Days before and after a refused time in which others are searched.
const NEAREST_DAYS: (i64, i64) = (7, 31);

/// The search for the starts of a chain, by the rules of the module.
#[derive(Clone)]
pub(crate) struct TimeSearch {
    state: Arc<GroupState>,
    now: Instant,
    chain: Chain,
    /// Ascending by id.
    calendars: Vec<CalendarId>,
    own: OwnTime,
    /// The start of the appointment that moves. It is free, and no other time.
    present: Option<Instant>,
}

/// The free starts that a page shows.
pub(crate) struct FoundTimes {
    /// The Monday of the shown week.
    pub(crate) monday: CivilDay,
    /// The starts of the week.
    pub(crate) starts: Vec<Instant>,
    /// The first start after a week without one; if none comes after it, the first of all.
    pub(crate) next: Option<Instant>,
    /// The days of the month with a start.
    pub(crate) month: Vec<DayStarts>,
}

/// Another time to choose.
pub(crate) struct OtherTime {
    /// As in URLs.
    pub(crate) value: String,
    pub(crate) label: String,
    /// Seconds since 1970, for the visitor's own time.
    pub(crate) at: i64,
}

impl TimeSearch {
    /// Returns the search of a visitor, whose own time counts as free.
    pub(crate) fn new(
        visit: &Visit,
        chain: Chain,
        calendars: Vec<CalendarId>,
        own: OwnTime,
    ) -> Self {
        let state = Arc::clone(&visit.state);
        let moved = own.appointment.and_then(|id| state.rows.get(&id));
        let present = moved.and_then(|row| row.appointment()).map(|appointment| appointment.start);
        Self { state, now: visit.now, chain, calendars, own, present }
    }

    /// The start of the appointment that moves.
    pub(crate) fn present(&self) -> Option<Instant> {
        self.present
    }

    fn starts(&self) -> StartSearch<'_> {
        let moved = self.own.appointment.and_then(|id| self.state.rows.get(&id));
        let mode = moved.map_or(BookingMode::Module, |row| move_mode_by_secret(row));
        let search = ChainSearch { chain: &self.chain, mode, own: self.own };
        let calendars = &self.calendars;
        StartSearch {
            catalogue: &self.state.catalogue,
            views: &self.state.calendars,
            search,
            calendars,
            at_least: 1,
            now: self.now,
        }
    }

    /// Whether a start is free.
    ///
    /// # Errors
    /// The server is overloaded.
    pub(crate) async fn is_free(&self, visit: &Visit, start: Instant) -> Result<bool, ApiError> {
        let moment = Interval { start, end: start.plus_seconds(1) };
        self.run(visit, moment, move |search| search.starts().first_start(moment).is_some()).await
    }

    /// Returns the last day on which a start can lie.
    pub(crate) fn last_day(&self) -> CivilDay {
        let catalogue = &self.state.catalogue;
        let latest = self.calendars.iter().filter_map(|id| lead_times(catalogue, *id, self.now));
        let last = latest.map(|(_, latest)| latest).fold(self.now, Ord::max);
        catalogue.zone().civil_of(last).day()
    }

    /// Searches the starts of a page. The week is that of a named day, of a named month, or of the
    /// first free start. `None` if there is no free start at all.
    ///
    /// # Errors
    /// The server is overloaded.
    pub(crate) async fn find_times(
        &self,
        visit: &Visit,
        week_day: Option<CivilDay>,
        month_day: Option<CivilDay>,
    ) -> Result<Option<FoundTimes>, ApiError> {
        let days = i64::from(SEARCH_DAYS_MAX) * DAY;
        let searched = Interval { start: self.now, end: self.now.plus_seconds(days) };
        self.run(visit, searched, move |search| search.find(week_day, month_day)).await
    }

    /// Returns the free times that are nearest to a refused one, ascending. An overloaded server
    /// finds none.
    pub(crate) async fn nearest_times(&self, visit: &Visit, refused: Instant) -> Vec<OtherTime> {
        let window = Interval {
            start: refused.plus_seconds(-NEAREST_DAYS.0 * DAY).max(self.now),
            end: refused.plus_seconds(NEAREST_DAYS.1 * DAY),
        };
        let found = self.run(visit, window, move |search| search.nearest(window, refused)).await;
        let view = |start: Instant| {
            let at = visit.zone().civil_of(start);
            let day = format::day(visit.language(), at.day());
            let label = format!("{day}, {}", format::clock(visit.language(), at));
            OtherTime { value: iso_time(at), label, at: start.0 }
        };
        found.unwrap_or_default().into_iter().map(view).collect()
    }

    /// Runs a search of a window: here if it is short, else in the pool for long ones.
    async fn run<T: Send + 'static>(
        &self,
        visit: &Visit,
        window: Interval,
        find: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let cost = self.starts().estimate_cost(window, SearchExtent::Nearest);
        if cost <= INLINE_COST_MAX {
            return Ok(find(self));
        }
        let search = self.clone();
        visit.pages.server.blocking_pool.run_weighed(cost, move || find(&search)).await
    }

    fn find(&self, week_day: Option<CivilDay>, month_day: Option<CivilDay>) -> Option<FoundTimes> {
        let zone = self.state.catalogue.zone();
        let search = self.starts();
        let first_from = |day: CivilDay| {
            let start = zone.instant_of(day.midnight()).max(self.now);
            let end = zone.instant_of(day.plus_days(SEARCH_DAYS_MAX).midnight());
            search.first_start(Interval { start, end })
        };
        let today = zone.civil_of(self.now).day();
        let first = first_from(today)?;
        let wanted = week_day.or(month_day).unwrap_or(today).max(today);
        let shown_day = match week_day {
            Some(_) => wanted,
            // The week of the first free start from then on.
            None => match first_from(wanted) {
                Some(start) => zone.civil_of(start).day(),
                None => zone.civil_of(first).day(),
            },
        };
        let monday = monday_of(shown_day);
        let mut starts = Vec::new();
        let week = self.days_interval(monday, monday.plus_days(7));
        search.for_each_start(week, |start, _| starts.push(start));
        let next =
            if starts.is_empty() { first_from(monday.plus_days(7)).or(Some(first)) } else { None };
        let month_start = first_of_month(month_day.unwrap_or(shown_day));
        let month_end = first_of_month(month_start.plus_days(31));
        let month = search.count_by_day(self.days_interval(month_start, month_end));
        Some(FoundTimes { monday, starts, next, month })
    }

    /// Returns the time from now on of some local days.
    fn days_interval(&self, first: CivilDay, end: CivilDay) -> Interval {
        let zone = self.state.catalogue.zone();
        Interval {
            start: zone.instant_of(first.midnight()).max(self.now),
            end: zone.instant_of(end.midnight()),
        }
    }

    fn nearest(&self, window: Interval, around: Instant) -> Vec<Instant> {
        let mut nearest: Vec<Instant> = Vec::new();
        let distance = |start: &Instant| start.seconds_since(around).abs();
        let end = self.starts().each_start(window, SearchExtent::Whole, |start, _| {
            if start == around || Some(start) == self.present {
                return ControlFlow::Continue(());
            }
            nearest.push(start);
            if nearest.len() > NEAREST {
                // Starts ascend, so that the distances first fall and then rise.
                if distance(&nearest[0]) <= distance(&start) {
                    return ControlFlow::Break(());
                }
                nearest.remove(0);
            }
            ControlFlow::Continue(())
        });
        if end.is_break() {
            nearest.pop();
        }
        nearest
    }
}
