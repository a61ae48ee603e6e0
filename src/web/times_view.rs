//! The view of free starts: a week with its days, and a month. Booking and moving show it.

use crate::domain::time::{Civil, CivilDay, HOUR, Instant};
use crate::web::format::{self, iso_time};
use crate::web::free_times::{FoundTimes, TimeSearch};
use crate::web::month::{MonthView, ShownWeek, view_month};
use crate::web::shop::Visit;
use crate::web::text::fill;
use crate::web::times_address::{TimesAddress, WeekLink};

/// The hours at which afternoon and evening begin.
const AFTERNOON_HOUR: i64 = 12;
const EVENING_HOUR: i64 = 18;

/// The free starts that a page shows.
pub(crate) struct TimesView {
    pub(crate) week_title: String,
    pub(crate) days: Vec<DayView>,
    pub(crate) previous_week: Option<WeekLink>,
    pub(crate) next_week: Option<WeekLink>,
    /// A week with free starts, in place of one without any: the next one, else the first one.
    pub(crate) next_free: Option<WeekLink>,
    pub(crate) month: MonthView,
}

/// The free starts of one day.
pub(crate) struct DayView {
    pub(crate) label: String,
    /// `3 times, from 9:00 am`.
    pub(crate) count: String,
    pub(crate) is_open: bool,
    /// Morning, afternoon and evening, as far as they have starts.
    pub(crate) parts: Vec<DayPart>,
}

/// The free starts of a part of a day.
pub(crate) struct DayPart {
    pub(crate) label: &'static str,
    /// At least one.
    pub(crate) times: Vec<TimeView>,
}

/// A free start.
pub(crate) struct TimeView {
    /// As in URLs.
    pub(crate) value: String,
    pub(crate) label: String,
    /// Seconds since 1970, for the visitor's own time.
    pub(crate) at: i64,
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
    let open_day = find_open_day(visit, &found.starts, named);
    let shown = ShownWeek { monday: found.monday, open_day };
    TimesView {
        week_title: fill(text.week_of, "day", &format::date(visit.language(), found.monday)),
        days: view_days(visit, &found.starts, open_day, search.present()),
        previous_week: (found.monday > today).then(|| link(text.previous_week, previous)),
        next_week: (next <= last).then(|| link(text.next_week, next)),
        next_free: found.next.map(|start| WeekLink {
            label: next_free_label(visit, found.monday, start),
            url: address.week_url(visit, visit.zone().civil_of(start).day()),
        }),
        month: view_month(visit, address, shown, &found.month, last),
    }
}

/// Returns the words of the link to a free start from a week without one.
fn next_free_label(visit: &Visit, monday: CivilDay, start: Instant) -> String {
    let is_later = visit.zone().civil_of(start).day() > monday;
    let words = if is_later { visit.text.next_free } else { visit.text.first_free };
    fill(words, "when", &visit.when(start))
}

/// Returns the day that is shown open: the named one if it has a start, else the first one.
fn find_open_day(visit: &Visit, starts: &[Instant], named: Option<CivilDay>) -> Option<CivilDay> {
    let zone = visit.zone();
    let mut days = starts.iter().map(|start| zone.civil_of(*start).day());
    let first = days.clone().next();
    days.find(|day| Some(*day) == named).or(first)
}

/// Returns the name of the part of the day that a start lies in.
fn day_part(visit: &Visit, at: Civil) -> &'static str {
    let second = at.second_of_day();
    if second < AFTERNOON_HOUR * HOUR {
        visit.text.morning
    } else if second < EVENING_HOUR * HOUR {
        visit.text.afternoon
    } else {
        visit.text.evening
    }
}

/// Returns the days of ascending starts, one of them open.
fn view_days(
    visit: &Visit,
    starts: &[Instant],
    open_day: Option<CivilDay>,
    present: Option<Instant>,
) -> Vec<DayView> {
    let zone = visit.zone();
    let language = visit.language();
    let mut days: Vec<DayView> = Vec::new();
    for of_day in starts.chunk_by(|a, b| zone.civil_of(*a).day() == zone.civil_of(*b).day()) {
        let first = zone.civil_of(of_day[0]);
        let mut parts: Vec<DayPart> = Vec::new();
        for start in of_day {
            let at = zone.civil_of(*start);
            let view = TimeView {
                value: iso_time(at),
                label: format::clock(language, at),
                at: start.0,
                is_present: present == Some(*start),
            };
            let label = day_part(visit, at);
            match parts.last_mut() {
                Some(part) if part.label == label => part.times.push(view),
                _ => parts.push(DayPart { label, times: vec![view] }),
            }
        }
        let count = match of_day.len() {
            1 => visit.text.one_time.to_owned(),
            many => fill(visit.text.many_times, "count", &many.to_string()),
        };
        days.push(DayView {
            label: format::day(language, first.day()),
            count: fill(&count, "first", &format::clock(language, first)),
            is_open: Some(first.day()) == open_day,
            parts,
        });
    }
    days
}
