//! Step 2: the choice of a free start, by week and by month.

use std::ops::ControlFlow;
use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;

use crate::domain::booking::bookable::lead_times;
use crate::domain::booking::module_offer::{offers_all, shown_calendars};
use crate::domain::booking::slot_request::{BookingMode, Chain};
use crate::domain::records::ids::CalendarId;
use crate::domain::time::interval_set::Interval;
use crate::domain::time::{CivilDay, DAY, HOUR, Instant};
use crate::http::INLINE_COST_MAX;
use crate::web::choice::Choice;
use crate::web::format::{self, iso_time, parse_day, service_facts};
use crate::web::message_page;
use crate::web::month::{MonthView, WeekLink, first_of_month, monday_of, view_month, week_url};
use crate::web::page::{Frame, Privacy, render, respond};
use crate::web::pages::Pages;
use crate::web::service_step::{
    CalendarOption, calendar_options, find_closed, respond_with_services,
};
use crate::web::shop::Visit;
use crate::web::text::fill;
use crate::wire::params::Params;

/// Maximum number of days that a page searches for the next free start.
const SEARCH_DAYS_MAX: i32 = 366;

/// A chosen service, for the summary of later steps.
pub(crate) struct ServiceLine {
    pub(crate) name: String,
    pub(crate) facts: String,
}

/// The free starts of one day.
struct DayView {
    label: String,
    /// `3 times, from 09:00`.
    count: String,
    is_open: bool,
    morning: Vec<TimeView>,
    afternoon: Vec<TimeView>,
}

/// A free start.
struct TimeView {
    /// As in URLs.
    value: String,
    label: String,
}

#[derive(Template)]
#[template(path = "web/time.html")]
struct TimePage<'v> {
    frame: Frame<'v>,
    services: Vec<ServiceLine>,
    change_url: String,
    calendars: Vec<CalendarOption>,
    /// Names and values of the form around the starts.
    kept: Vec<(&'static str, String)>,
    you_url: String,
    week_title: String,
    days: Vec<DayView>,
    previous_week: Option<WeekLink>,
    next_week: Option<WeekLink>,
    /// The next free start, after a week without one.
    next_free: Option<WeekLink>,
    month: MonthView,
}

/// The free starts that a page shows, as far as they were searched.
struct Found {
    /// The Monday of the shown week.
    monday: CivilDay,
    /// The starts of the week.
    starts: Vec<Instant>,
    /// The first start after a week without one.
    next: Option<Instant>,
    /// For each day of the month with a start, their number.
    month: Vec<(CivilDay, usize)>,
}

/// GET /b/{urlname}/time.
pub(crate) async fn show(
    State(pages): State<Arc<Pages>>,
    Path(urlname): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let visit = match Visit::begin(pages, &urlname, &uri, &headers) {
        Ok(visit) => Arc::new(visit),
        Err(response) => return *response,
    };
    if let Some(closed) = find_closed(&visit) {
        return closed;
    }
    let (choice, chain) = match read_choice(&visit, &visit.params) {
        Ok(read) => read,
        Err(response) => return *response,
    };
    let calendars = searched_calendars(&visit, &choice);
    let month_day = visit.params.value("m").and_then(|month| parse_day(&format!("{month}-01")));
    let week_day = visit.params.value("d").and_then(parse_day);
    let days = i64::from(SEARCH_DAYS_MAX) * DAY;
    let searched = Interval { start: visit.now, end: visit.now.plus_seconds(days) };
    let cost = visit.search(&chain, &calendars).estimate_cost(searched);
    let found = if cost <= INLINE_COST_MAX {
        find_starts(&visit, &chain, &calendars, week_day, month_day)
    } else {
        let (searched, names) = (Arc::clone(&visit), calendars.clone());
        let find = move || find_starts(&searched, &chain, &names, week_day, month_day);
        match visit.pages.server.blocking_pool.run_weighed(cost, find).await {
            Ok(found) => found,
            Err(_) => return message_page::busy(&visit),
        }
    };
    match found {
        Some(found) => respond_with_times(&visit, &choice, &calendars, &found),
        None => nothing_free(&visit, &calendars),
    }
}

/// Reads the choice of services, and makes their chain.
///
/// # Errors
/// The page of step 1 with the fault.
pub(crate) fn read_choice(visit: &Visit, given: &Params) -> Result<(Choice, Chain), Box<Response>> {
    let choice = Choice::read(given, &visit.state);
    let text = visit.text;
    let fault = if choice.names_unknown_service {
        text.unknown_service.to_owned()
    } else if choice.services.is_empty() {
        text.none_chosen.to_owned()
    } else {
        match visit.state.catalogue.chain(&choice.services, BookingMode::Module) {
            Ok(chain) => return Ok((choice, chain)),
            Err(_) => {
                let most = visit.group().max_multirdvs.number().to_string();
                fill(text.too_many_chosen, "most", &most)
            }
        }
    };
    Err(Box::new(respond_with_services(visit, StatusCode::BAD_REQUEST, &fault)))
}

/// Returns the calendars to search: the chosen one, or all that the module shows. Without a choice
/// in a group that wants one, it is the first that offers the services.
pub(crate) fn searched_calendars(visit: &Visit, choice: &Choice) -> Vec<CalendarId> {
    if let Some(chosen) = choice.calendar {
        return vec![chosen];
    }
    let mut shown: Vec<CalendarId> = Vec::new();
    for calendar in shown_calendars(&visit.state.catalogue) {
        if offers_all(&visit.state, calendar.id, &choice.services, visit.now) {
            shown.push(calendar.id);
        }
    }
    let has_choice = !calendar_options(visit, choice, "").is_empty();
    if has_choice && !visit.group().any_calendar {
        shown.truncate(1);
    }
    // The places of a search ascend by id.
    shown.sort_unstable();
    shown
}

/// Searches the starts of a page. The week is that of a named day, of a named month, or of the
/// first free start. `None` if there is no free start at all.
fn find_starts(
    visit: &Visit,
    chain: &Chain,
    calendars: &[CalendarId],
    week_day: Option<CivilDay>,
    month_day: Option<CivilDay>,
) -> Option<Found> {
    let zone = visit.zone();
    let search = visit.search(chain, calendars);
    let first_from = |day: CivilDay| {
        let start = zone.instant_of(day.midnight()).max(visit.now);
        let end = zone.instant_of(day.plus_days(SEARCH_DAYS_MAX).midnight());
        let mut first = None;
        search.each_start(Interval { start, end }, |start, _| {
            first = Some(start);
            ControlFlow::Break(())
        });
        first
    };
    let today = zone.civil_of(visit.now).day();
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
    search.each_start(days_interval(visit, monday, monday.plus_days(7)), |start, _| {
        starts.push(start);
        ControlFlow::Continue(())
    });
    let next = if starts.is_empty() { first_from(monday.plus_days(7)) } else { None };
    let month_start = first_of_month(month_day.unwrap_or(shown_day));
    let mut month: Vec<(CivilDay, usize)> = Vec::new();
    let month_end = first_of_month(month_start.plus_days(31));
    search.each_start(days_interval(visit, month_start, month_end), |start, _| {
        let day = zone.civil_of(start).day();
        match month.last_mut() {
            Some((last, count)) if *last == day => *count += 1,
            Some(_) | None => month.push((day, 1)),
        }
        ControlFlow::Continue(())
    });
    Some(Found { monday, starts, next, month })
}

/// Returns the time from now on of some local days.
fn days_interval(visit: &Visit, first: CivilDay, end: CivilDay) -> Interval {
    let zone = visit.zone();
    Interval {
        start: zone.instant_of(first.midnight()).max(visit.now),
        end: zone.instant_of(end.midnight()),
    }
}

fn respond_with_times(
    visit: &Visit,
    choice: &Choice,
    calendars: &[CalendarId],
    found: &Found,
) -> Response {
    let text = visit.text;
    let week_day = visit.params.value("d").and_then(parse_day);
    let week_url = |day: CivilDay| week_url(visit, choice, day);
    let today = visit.zone().civil_of(visit.now).day();
    let last = last_day(visit, calendars);
    let link =
        |label: &str, day: CivilDay| WeekLink { label: label.to_owned(), url: week_url(day) };
    let previous = found.monday.plus_days(-7);
    let next = found.monday.plus_days(7);
    let mut kept = choice.pairs();
    kept.push(("k", visit.pages.new_form_key()));
    if visit.lang.is_in_url {
        kept.push(("lang", visit.frame("").lang.to_owned()));
    }
    let options = calendar_options(visit, choice, "/time");
    let page = TimePage {
        frame: visit.frame(text.choose_time),
        services: service_lines(visit, choice),
        change_url: visit.url("", &choice.pairs()),
        calendars: mark_default(options, visit, calendars),
        kept,
        you_url: visit.url("/you", &[]),
        week_title: fill(text.week_of, "day", &format::date(visit.language(), found.monday)),
        days: view_days(visit, &found.starts, week_day),
        previous_week: (found.monday > today).then(|| link(text.previous_week, previous)),
        next_week: (next <= last).then(|| link(text.next_week, next)),
        next_free: found.next.map(|start| WeekLink {
            label: fill(text.next_free, "when", &visit.when(start)),
            url: week_url(visit.zone().civil_of(start).day()),
        }),
        month: view_month(visit, choice, found.monday, &found.month, last),
    };
    respond(StatusCode::OK, Privacy::Public, render(&page))
}

/// Marks the calendar that is searched where the group offers no "no preference".
fn mark_default(
    mut options: Vec<CalendarOption>,
    visit: &Visit,
    calendars: &[CalendarId],
) -> Vec<CalendarOption> {
    if options.iter().any(|option| option.is_chosen) {
        return options;
    }
    if let [only] = calendars
        && let Some(calendar) = visit.state.catalogue.calendars.get(only)
    {
        for option in &mut options {
            option.is_chosen = option.name == calendar.publicname.as_str();
        }
    }
    options
}

/// Returns the last day on which a start can lie.
fn last_day(visit: &Visit, calendars: &[CalendarId]) -> CivilDay {
    let mut last = visit.now;
    for id in calendars {
        if let Some((_, latest)) = lead_times(&visit.state.catalogue, *id, visit.now) {
            last = last.max(latest);
        }
    }
    visit.zone().civil_of(last).day()
}

/// Returns the chosen services for a summary.
pub(crate) fn service_lines(visit: &Visit, choice: &Choice) -> Vec<ServiceLine> {
    let group = visit.group();
    let currency = if group.display_intervention_price { Some(group.currency_code) } else { None };
    let mut lines = Vec::new();
    for id in &choice.services {
        if let Some(intervention) = visit.state.catalogue.interventions.get(id) {
            let shows_length = group.display_intervention_length;
            lines.push(ServiceLine {
                name: intervention.publicname.as_str().to_owned(),
                facts: service_facts(visit.language(), intervention, shows_length, currency),
            });
        }
    }
    lines
}

/// Returns the days of ascending starts. The named day is open, else the first one.
fn view_days(visit: &Visit, starts: &[Instant], named: Option<CivilDay>) -> Vec<DayView> {
    let zone = visit.zone();
    let mut days: Vec<DayView> = Vec::new();
    let has_named = starts.iter().any(|start| Some(zone.civil_of(*start).day()) == named);
    for of_day in starts.chunk_by(|a, b| zone.civil_of(*a).day() == zone.civil_of(*b).day()) {
        let first = zone.civil_of(of_day[0]);
        let (mut morning, mut afternoon) = (Vec::new(), Vec::new());
        for start in of_day {
            let at = zone.civil_of(*start);
            let view = TimeView { value: iso_time(at), label: format::time(at) };
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

/// Returns the page of a choice without any free start.
fn nothing_free(visit: &Visit, calendars: &[CalendarId]) -> Response {
    let until = format::date(visit.language(), last_day(visit, calendars));
    let mut lines = vec![fill(visit.text.nothing_until, "until", &until)];
    let phone = visit.group().phone.as_str();
    if !phone.trim().is_empty() {
        lines.push(fill(visit.text.call, "phone", phone));
    }
    message_page::of_group(visit, StatusCode::OK, visit.text.nothing_free, lines, true)
}
