//! The view of free starts: a week with its days, and a month. Booking and moving show it.

use crate::domain::time::{CivilDay, HOUR, Instant};
use crate::web::format::{self, iso_time};
use crate::web::free_times::{FoundTimes, TimeSearch};
use crate::web::month::{MonthView, view_month};
use crate::web::shop::Visit;
use crate::web::text::fill;
use crate::web::times_address::{TimesAddress, WeekLink};

/// The free starts that a page shows.
pub(crate) struct TimesView {
    pub(crate) week_title: String,
    pub(crate) days: Vec<DayView>,
    pub(crate) previous_week: Option<WeekLink>,
    pub(crate) next_week: Option<WeekLink>,
    /// The next free start, after a week without one.
    pub(crate) next_free: Option<WeekLink>,
    pub(crate) month: MonthView,
}

/// The free starts of one day.
pub(crate) struct DayView {
    pub(crate) label: String,
    /// `3 times, from 09:00`.
    pub(crate) count: String,
    pub(crate) is_open: bool,
    pub(crate) morning: Vec<TimeView>,
    pub(crate) afternoon: Vec<TimeView>,
}

/// A free start.
pub(crate) struct TimeView {
    /// As in URLs.
    pub(crate) value: String,
    pub(crate) label: String,
    /// Whether the appointment that moves has this start, so that it is no choice.
    pub(crate) is_present: bool,
}

/// Returns the view of found starts. `named` is the day to open.
pub(crate) fn view_times(
    visit: &Visit,
    address: &TimesAddress,
    search: &TimeSearch,
    found: &FoundTimes,
    named: Option<CivilDay>,
) -> TimesView {
    let text = visit.text;
    let today = visit.zone().civil_of(visit.now).day();
    let last = search.last_day();
    let link = |label: &str, day: CivilDay| WeekLink {
        label: label.to_owned(),
        url: address.week_url(visit, day),
    };
    let previous = found.monday.plus_days(-7);
    let next = found.monday.plus_days(7);
    TimesView {
        week_title: fill(text.week_of, "day", &format::date(visit.language(), found.monday)),
        days: view_days(visit, &found.starts, named, search.present()),
        previous_week: (found.monday > today).then(|| link(text.previous_week, previous)),
        next_week: (next <= last).then(|| link(text.next_week, next)),
        next_free: found.next.map(|start| WeekLink {
            label: fill(text.next_free, "when", &visit.when(start)),
            url: address.week_url(visit, visit.zone().civil_of(start).day()),
        }),
        month: view_month(visit, address, found.monday, &found.month, last),
    }
}

/// Returns the days of ascending starts. The named day is open, else the first one.
fn view_days(
    visit: &Visit,
    starts: &[Instant],
    named: Option<CivilDay>,
    present: Option<Instant>,
) -> Vec<DayView> {
    let zone = visit.zone();
    let mut days: Vec<DayView> = Vec::new();
    let has_named = starts.iter().any(|start| Some(zone.civil_of(*start).day()) == named);
    for of_day in starts.chunk_by(|a, b| zone.civil_of(*a).day() == zone.civil_of(*b).day()) {
        let first = zone.civil_of(of_day[0]);
        let mut morning = Vec::new();
        let mut afternoon = Vec::new();
        for start in of_day {
            let at = zone.civil_of(*start);
            let is_present = present == Some(*start);
            let view = TimeView { value: iso_time(at), label: format::time(at), is_present };
            if at.second_of_day() < 12 * HOUR { morning.push(view) } else { afternoon.push(view) }
        }
        let count = match of_day.len() {
            1 => visit.text.one_time.to_owned(),
            many => fill(visit.text.many_times, "count", &many.to_string()),
        };
        days.push(DayView {
            label: format::day(visit.language(), first.day()),
            count: fill(&count, "first", &format::time(first)),
            is_open: if has_named { Some(first.day()) == named } else { days.is_empty() },
            morning,
            afternoon,
        });
    }
    days
}
