//! The month view of step 2: a table of days, each with the number of its free starts.

use crate::domain::availability::free_places::DayStarts;
use crate::domain::recurrence::WEEK;
use crate::domain::time::CivilDay;
use crate::notify::language::weekday_name;
use crate::web::format;
use crate::web::shop::Visit;
use crate::web::text::fill;
use crate::web::times_address::{TimesAddress, WeekLink};

/// The places of the page that the links of the month lead to.
const MONTH_PLACE: &str = "month";
const PREVIOUS_PLACE: &str = "previous-month";
const NEXT_PLACE: &str = "next-month";

/// A month of days.
pub(crate) struct MonthView {
    pub(crate) title: String,
    /// The days of the week: abbreviation and name.
    pub(crate) weekdays: Vec<(String, &'static str)>,
    pub(crate) weeks: Vec<Vec<DateView>>,
    pub(crate) previous: Option<WeekLink>,
    pub(crate) next: Option<WeekLink>,
}

/// The week beside the month.
#[derive(Clone, Copy)]
pub(crate) struct ShownWeek {
    pub(crate) monday: CivilDay,
    /// The day whose starts are shown; `None` in a week without starts.
    pub(crate) open_day: Option<CivilDay>,
}

/// A day of the table; without a number, one of another month.
pub(crate) struct DateView {
    /// 1 to 31; 0 for a day of another month.
    pub(crate) number: u32,
    /// The week of the day; empty for a day without free starts.
    pub(crate) url: String,
    /// `Tuesday 3 March: 4 free times`.
    pub(crate) label: String,
    /// Whether the day is the one that is shown open.
    pub(crate) is_current: bool,
    /// Whether the shown week holds the day.
    pub(crate) is_shown: bool,
}

/// Parses a day that a page shows. The last year of the calendar has no months after it to show.
pub(crate) fn parse_shown_day(text: &str) -> Option<CivilDay> {
    let last = CivilDay::from_ymd(9_998, 12, 31).expect("a day");
    format::parse_day(text).filter(|day| *day <= last)
}

/// Reads the first day of the month that the query names.
pub(crate) fn read_month(visit: &Visit) -> Option<CivilDay> {
    let month = visit.params.value("m")?;
    parse_shown_day(&format!("{month}-01"))
}

/// Returns the view of the month that the query names, or of that of the shown week. `counts` are
/// the days of the month with free starts.
pub(crate) fn view_month(
    visit: &Visit,
    address: &TimesAddress,
    shown: ShownWeek,
    counts: &[DayStarts],
    last: CivilDay,
) -> MonthView {
    let text = visit.text;
    let today = visit.zone().civil_of(visit.now).day();
    let first = match (read_month(visit), counts.first()) {
        (Some(named), _) => first_of_month(named),
        (None, Some(first)) => first_of_month(first.day),
        (None, None) => first_of_month(shown.monday),
    };
    let next_first = first_of_month(first.plus_days(31));
    let previous_first = first_of_month(first.plus_days(-1));
    // The link keeps its place and its focus on the next page, as long as that one has it too.
    let has_previous = previous_first > today;
    let has_next = first_of_month(next_first.plus_days(31)) <= last;
    let month_link = |label: &str, day: CivilDay, place: &str| WeekLink {
        label: label.to_owned(),
        url: format!("{}#{place}", address.month_url(visit, day)),
    };
    let previous_place = if has_previous { PREVIOUS_PLACE } else { MONTH_PLACE };
    let next_place = if has_next { NEXT_PLACE } else { MONTH_PLACE };
    let mut weeks: Vec<Vec<DateView>> = Vec::new();
    let mut day = first;
    let leading = i32::from(first.weekday().days_since_monday());
    let mut week: Vec<DateView> = (0..leading).map(|_| blank()).collect();
    while day < next_first {
        week.push(DateView {
            is_current: shown.open_day == Some(day),
            is_shown: shown.monday <= day && day < shown.monday.plus_days(7),
            ..view_date(visit, address, counts, day)
        });
        if week.len() == 7 {
            weeks.push(std::mem::take(&mut week));
        }
        day = day.plus_days(1);
    }
    if !week.is_empty() {
        week.resize_with(7, blank);
        weeks.push(week);
    }
    MonthView {
        title: format::month(visit.language(), first),
        weekdays: weekday_names(visit),
        weeks,
        previous: (first > today)
            .then(|| month_link(text.previous_month, previous_first, previous_place)),
        next: (next_first <= last).then(|| month_link(text.next_month, next_first, next_place)),
    }
}

fn weekday_names(visit: &Visit) -> Vec<(String, &'static str)> {
    WEEK.map(|day| {
        let name = weekday_name(visit.language(), day);
        (name.chars().take(2).collect(), name)
    })
    .to_vec()
}

/// Returns the Monday of a day's week.
pub(crate) fn monday_of(day: CivilDay) -> CivilDay {
    day.plus_days(-i32::from(day.weekday().days_since_monday()))
}

/// Returns the first day of a day's month.
pub(crate) fn first_of_month(day: CivilDay) -> CivilDay {
    let (year, month, _) = day.ymd();
    CivilDay::from_ymd(year, month, 1).expect("each month has a first day")
}

fn blank() -> DateView {
    let (url, label) = (String::new(), String::new());
    DateView { number: 0, url, label, is_current: false, is_shown: false }
}

fn view_date(
    visit: &Visit,
    address: &TimesAddress,
    counts: &[DayStarts],
    day: CivilDay,
) -> DateView {
    let text = visit.text;
    let (_, _, number) = day.ymd();
    let name = format::day(visit.language(), day);
    let count = match counts.binary_search_by_key(&day, |starts| starts.day) {
        Ok(at) => counts[at].count,
        Err(_) => 0,
    };
    let free = match count {
        0 => text.no_times.to_owned(),
        1 => text.one_free_time.to_owned(),
        many => fill(text.free_times, "count", &many.to_string()),
    };
    DateView {
        number,
        url: if count == 0 { String::new() } else { address.week_url(visit, day) },
        label: format!("{name} : {free}"),
        ..blank()
    }
}
