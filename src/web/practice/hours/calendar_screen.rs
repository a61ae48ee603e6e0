//! The screen of the hours of a calendar: the form, its other timetables, planned changes, and
//! what rows of a week do not express. Reference 15.8.

use std::sync::Arc;

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::availability::timetable::{
    OpenWeeks, TimetableKey, changes_after, hours_from, timetables,
};
use crate::domain::availability::weekly_hours::WeeklyRange;
use crate::domain::records::vevent::{Vevent, VeventKind};
use crate::domain::time::CivilDay;
use crate::web::format::{self, iso_day};
use crate::web::page::{Privacy, render, respond};
use crate::web::practice::frame::{ScreenFrame, Section};
use crate::web::practice::hours::calendar_hours::CalendarHours;
use crate::web::practice::hours::day_ranges::DayRanges;
use crate::web::practice::hours::form_parts::{DayField, HoursChoice};
use crate::web::practice::hours::saving::SaveQuestion;
use crate::web::practice::hours::timetable_address::{
    FROM, NEW, TIMETABLE, timetable_slug, weeks_slug,
};
use crate::web::practice::hours::words::{
    opening_in_words, timetable_in_words, week_in_words, weeks_in_words,
};
use crate::web::practice::record_fields::VersionRow;
use crate::web::practice::texts::form::FormTexts;
use crate::web::practice::texts::hours::HoursTexts;
use crate::web::practice::visit::ProVisit;
use crate::web::text::fill;

/// Maximum number of timetables that the screen links to.
const TIMETABLES_MAX: usize = 50;
/// Maximum number of openings beside the rows that the screen lists.
const OTHERS_MAX: usize = 50;

/// The form of a timetable, as it was filled in.
pub(crate) struct CalendarForm {
    /// The days of the week, from Monday on.
    pub(crate) days: Vec<DayRanges>,
    /// The timetable that it changes, as the form names it.
    pub(crate) timetable: String,
    /// The same; `None` for a new one.
    pub(crate) key: Option<TimetableKey>,
    pub(crate) weeks: OpenWeeks,
    pub(crate) services: Vec<HoursChoice>,
    /// The day from which its hours hold.
    pub(crate) from: DayField,
    pub(crate) revision: String,
    /// Sentences about the whole form.
    pub(crate) faults: Vec<String>,
    pub(crate) is_overtaken: bool,
    /// The days in which the hours differ, if they were changed meanwhile.
    pub(crate) versions: Vec<VersionRow>,
    pub(crate) question: Option<SaveQuestion>,
}

#[derive(Template)]
#[template(path = "web/practice/hours_calendar.html")]
struct CalendarScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static HoursTexts,
    form_text: &'static FormTexts,
    back: String,
    action: String,
    here: String,
    is_saved: bool,
    /// The other timetables and a new one, with their hours.
    timetables: Vec<TimetableLink>,
    timetables_more: String,
    new_url: String,
    /// The changes of this timetable that are planned.
    planned: Vec<TimetableLink>,
    weeks: Vec<HoursChoice>,
    form: CalendarForm,
    has_faults: bool,
    others: Vec<String>,
    others_more: String,
}

/// A link to a timetable, or to its hours from a day on.
struct TimetableLink {
    url: String,
    label: String,
    hours: String,
    is_current: bool,
}

/// Returns the screen of a calendar with a form.
pub(crate) fn respond_with_calendar(
    visit: &ProVisit,
    status: StatusCode,
    hours: &CalendarHours,
    form: CalendarForm,
) -> Response {
    let text = HoursTexts::in_language(visit.language());
    let path = format!("/hours/{}", hours.id);
    let calendar = visit.state.catalogue.calendars.get(&hours.id);
    let name = calendar.map_or("", |calendar| calendar.name.as_str());
    let title = fill(text.calendar_title, "name", name);
    let is_new = form.key.is_none();
    let planned = match &form.key {
        Some(key) => list_planned(visit, &path, &hours.ranges, key),
        None => Vec::new(),
    };
    let here = visit.url(&path, &[(TIMETABLE, &form.timetable), (FROM, &form.from.value)]);
    let has_faults = !form.faults.is_empty()
        || !form.from.fault.is_empty()
        || form.days.iter().any(|day| !day.faults.is_empty());
    let in_words = |row: &Arc<Vevent>| match &row.kind {
        VeventKind::Availability(opening) => {
            Some(opening_in_words(&visit.state, visit.language(), opening))
        }
        VeventKind::Plage(_) | VeventKind::Note(_) | VeventKind::Appointment(_) => None,
    };
    let others: Vec<String> =
        hours.others.iter().rev().take(OTHERS_MAX).filter_map(in_words).collect();
    let links = list_timetables(visit, &path, hours, &form);
    let screen = CalendarScreen {
        frame: visit.frame(&title, Section::Hours),
        text,
        form_text: FormTexts::in_language(visit.language()),
        back: visit.url(Section::Hours.path(), &[]),
        action: visit.url(&path, &[]),
        here,
        is_saved: status == StatusCode::OK && visit.request.params.value("saved").is_some(),
        timetables_more: say_more(text, links.len(), TIMETABLES_MAX),
        timetables: links.into_iter().take(TIMETABLES_MAX).collect(),
        new_url: if is_new { String::new() } else { visit.url(&path, &[(TIMETABLE, NEW)]) },
        planned,
        weeks: list_weeks(visit, form.weeks),
        form,
        has_faults,
        others,
        others_more: say_more(text, hours.others.len(), OTHERS_MAX),
    };
    respond(status, Privacy::Client, render(&screen))
}

/// Returns links to the timetables of a calendar that are in force or planned, if there are
/// several.
fn list_timetables(
    visit: &ProVisit,
    path: &str,
    hours: &CalendarHours,
    form: &CalendarForm,
) -> Vec<TimetableLink> {
    let text = HoursTexts::in_language(visit.language());
    let today = visit.today();
    let mut links = Vec::new();
    for key in timetables(&hours.ranges) {
        let of_key = |range: &&WeeklyRange| TimetableKey::new(range) == key;
        let is_over = |range: &WeeklyRange| range.last().is_some_and(|last| last < today);
        let is_current = form.key.as_ref() == Some(&key);
        if hours.ranges.iter().filter(of_key).all(is_over) && !is_current {
            continue;
        }
        let label = timetable_in_words(&visit.state, visit.language(), &key, today);
        links.push(TimetableLink {
            url: visit.url(path, &[(TIMETABLE, &timetable_slug(&key))]),
            label: if label.is_empty() { text.plain.to_owned() } else { label },
            hours: week_from(visit, &hours.ranges, &key, today),
            is_current,
        });
    }
    let is_single = matches!(&links[..], [only] if only.is_current);
    if is_single { Vec::new() } else { links }
}

/// Returns the hours of a timetable in the first weeks from a day on, in words.
pub(crate) fn week_from(
    visit: &ProVisit,
    ranges: &[WeeklyRange],
    key: &TimetableKey,
    from: CivilDay,
) -> String {
    week_in_words(visit.language(), &hours_from(ranges, key, from))
}

/// Returns the changes of a timetable after today.
fn list_planned(
    visit: &ProVisit,
    path: &str,
    ranges: &[WeeklyRange],
    key: &TimetableKey,
) -> Vec<TimetableLink> {
    let text = HoursTexts::in_language(visit.language());
    let today = visit.today();
    let mut links = Vec::new();
    for day in changes_after(ranges, key, today) {
        let pairs = [(TIMETABLE, timetable_slug(key)), (FROM, iso_day(day))];
        let pairs = pairs.each_ref().map(|(name, value)| (*name, value.as_str()));
        links.push(TimetableLink {
            url: visit.url(path, &pairs),
            label: fill(text.from_day, "day", &format::date(visit.language(), day)),
            hours: week_from(visit, ranges, key, day),
            is_current: false,
        });
    }
    links
}

fn list_weeks(visit: &ProVisit, chosen: OpenWeeks) -> Vec<HoursChoice> {
    let today = visit.today();
    let all = [OpenWeeks::Every, OpenWeeks::Even, OpenWeeks::Odd];
    let choice = |weeks: OpenWeeks| HoursChoice {
        value: weeks_slug(weeks).to_owned(),
        label: weeks_in_words(visit.language(), weeks, today),
        is_chosen: weeks == chosen,
    };
    all.into_iter().map(choice).collect()
}

/// Returns the sentence about those of a list that are not shown; empty without any.
pub(crate) fn say_more(text: &HoursTexts, number: usize, shown_max: usize) -> String {
    match number.saturating_sub(shown_max) {
        0 => String::new(),
        more => fill(text.more, "count", &more.to_string()),
    }
}
