//! The hours of all calendars in a sentence each, and the coming exceptions. Reference 15.8.

use std::sync::Arc;

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::availability::timetable::{changes_after, timetables};
use crate::domain::availability::weekly_hours::WeeklyRange;
use crate::domain::records::calendar::Calendar;
use crate::domain::records::ids::CalendarId;
use crate::domain::records::vevent::Vevent;
use crate::domain::recurrence::Series;
use crate::web::format;
use crate::web::page::{Privacy, render, respond};
use crate::web::practice::frame::{ScreenFrame, Section};
use crate::web::practice::hours::calendar_hours::{CalendarHours, read_hours};
use crate::web::practice::hours::calendar_screen::{say_more, week_from};
use crate::web::practice::hours::exceptions::{ComingException, list_coming};
use crate::web::practice::hours::removal::time_in_words;
use crate::web::practice::hours::words::timetable_in_words;
use crate::web::practice::message;
use crate::web::practice::texts::hours::HoursTexts;
use crate::web::practice::visit::ProVisit;
use crate::web::text::fill;

/// Maximum number of coming exceptions that the screen lists.
const COMING_MAX: usize = 200;
/// Maximum number of timetables of a calendar that the screen describes.
const TIMETABLES_MAX: usize = 5;

#[derive(Template)]
#[template(path = "web/practice/hours.html")]
struct HoursScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static HoursTexts,
    is_saved: bool,
    calendars: Vec<CalendarRow>,
    closure_url: String,
    opening_url: String,
    holidays_url: String,
    delete_url: String,
    coming: Vec<ExceptionRow>,
    more: String,
}

/// A calendar with its hours in words.
struct CalendarRow {
    url: String,
    name: String,
    hours: Vec<String>,
}

/// A coming exception.
struct ExceptionRow {
    /// The events, as the form names them.
    ids: String,
    revision: String,
    when: String,
    what: String,
    calendars: String,
    delete: String,
}

/// GET /p/{urlname}/hours.
pub(crate) async fn show(visit: ProVisit) -> Response {
    let ids = visit.shown_calendars().map(|calendar| calendar.id).collect();
    let hours = read_hours(&visit, ids).await;
    let (hours, coming) = match (hours, list_coming(&visit, COMING_MAX).await) {
        (Ok(hours), Ok(coming)) => (hours, coming),
        (Err(error), _) | (_, Err(error)) => return message::failed(&visit.request, &error),
    };
    let text = HoursTexts::in_language(visit.language());
    let screen = HoursScreen {
        frame: visit.frame(text.title, Section::Hours),
        text,
        is_saved: visit.request.params.value("saved").is_some(),
        calendars: hours.iter().map(|hours| calendar_row(&visit, hours)).collect(),
        closure_url: visit.url("/hours/closure", &[]),
        opening_url: visit.url("/hours/opening", &[]),
        holidays_url: visit.url("/hours/holidays", &[]),
        delete_url: visit.url("/hours/delete", &[]),
        coming: coming.first.iter().map(|one| exception_row(&visit, one)).collect(),
        more: say_more(text, coming.number, COMING_MAX),
    };
    respond(StatusCode::OK, Privacy::Client, render(&screen))
}

fn calendar_row(visit: &ProVisit, hours: &CalendarHours) -> CalendarRow {
    let text = HoursTexts::in_language(visit.language());
    let today = visit.today();
    let is_over = |range: &WeeklyRange| range.last().is_some_and(|last| last < today);
    let coming: Vec<WeeklyRange> =
        hours.ranges.iter().filter(|range| !is_over(range)).cloned().collect();
    let mut sentences = Vec::new();
    let mut changes = Vec::new();
    let keys = timetables(&coming);
    for key in keys.iter().take(TIMETABLES_MAX) {
        let words = timetable_in_words(&visit.state, visit.language(), key, today);
        let week = week_from(visit, &coming, key, today);
        sentences.push(if words.is_empty() { week } else { format!("{words} : {week}") });
        changes.extend(changes_after(&coming, key, today).first());
    }
    let is_repeating = |row: &&Arc<Vevent>| row.series().and_then(Series::rule).is_some();
    let others = hours.others.iter().filter(is_repeating).count();
    if sentences.is_empty() && others == 0 {
        sentences.push(text.closed.to_owned());
    }
    if keys.len() > TIMETABLES_MAX {
        sentences.push(say_more(text, keys.len(), TIMETABLES_MAX));
    }
    if let Some(day) = changes.into_iter().min() {
        let day = format::date(visit.language(), day);
        sentences.push(fill(text.planned_from, "day", &day));
    }
    if others > 0 {
        sentences.push(fill(text.other_openings, "count", &others.to_string()));
    }
    let calendar = visit.state.catalogue.calendars.get(&hours.id);
    CalendarRow {
        url: visit.url(&format!("/hours/{}", hours.id), &[]),
        name: calendar.map_or("", |calendar| calendar.name.as_str()).to_owned(),
        hours: sentences,
    }
}

fn exception_row(visit: &ProVisit, coming: &ComingException) -> ExceptionRow {
    let text = HoursTexts::in_language(visit.language());
    let ids: Vec<String> = coming.ids.iter().map(ToString::to_string).collect();
    let (when, what) = time_in_words(visit, &coming.time);
    ExceptionRow {
        ids: ids.join(","),
        revision: coming.tag.clone(),
        delete: fill(text.delete_of, "what", &format!("{what}, {when}")),
        when,
        what,
        calendars: name_calendars(visit, &coming.calendars),
    }
}

/// Returns the names of some calendars, or the words for all live ones.
fn name_calendars(visit: &ProVisit, ids: &[CalendarId]) -> String {
    let text = HoursTexts::in_language(visit.language());
    let live: Vec<&Calendar> = visit.shown_calendars().collect();
    if live.len() > 1 && live.iter().all(|calendar| ids.contains(&calendar.id)) {
        return text.all_calendars.to_owned();
    }
    let named = live.iter().filter(|calendar| ids.contains(&calendar.id));
    let names: Vec<&str> = named.map(|calendar| calendar.name.as_str()).collect();
    names.join(", ")
}
