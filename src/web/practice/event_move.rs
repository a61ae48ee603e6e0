//! Moving an appointment by fields: day, time, calendar, length. Reference 15.6.
//!
//! Rules that bind only the web, and absences, are warnings: a second press overrides those that
//! it has shown. A live appointment in the way refuses.

use std::sync::Arc;

use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::Map;

use crate::domain::availability::obstacle::Obstacle;
use crate::domain::availability::slot_request::{BookingMode, Chain, Leg, OwnTime, SlotRequest};
use crate::domain::records::ids::CalendarId;
use crate::domain::records::vevent::{Appointment, Vevent};
use crate::domain::state::command::Command;
use crate::domain::state::refusal::Refusal;
use crate::domain::time::interval_set::Interval;
use crate::domain::time::zone::Zone;
use crate::domain::time::{Civil, DAY, Instant};
use crate::engine::Rejection;
use crate::http::{ApiError, GuardedRejection, make_change, show_vevent_later};
use crate::web::format::{self, iso_day, parse_start};
use crate::web::page::{Privacy, redirect, render, respond};
use crate::web::practice::event_change::{failed, find_appointment, mailed_if_asked};
use crate::web::practice::event_page::event_revision;
use crate::web::practice::form::ProForm;
use crate::web::practice::frame::{ScreenFrame, Section};
use crate::web::practice::message;
use crate::web::practice::obstacle_words::{ObstacleWords, interval_in_words, obstacles_in_words};
use crate::web::practice::record_path::RecordPath;
use crate::web::practice::revision::{REVISION, faults_among, still_at, write};
use crate::web::practice::target_obstacles::find_obstacles;
use crate::web::practice::texts::event::EventTexts;
use crate::web::practice::typed_start::{TypedStart, read_start};
use crate::web::practice::visit::ProVisit;
use crate::wire::datetime::{format_civil, format_rfc_3339};
use crate::wire::field::Audience;
use crate::wire::params::Params;
use crate::wire::vevent::revision_text;

/// Maximum length in minutes that the form gives an appointment: a day.
const LENGTH_MINUTES_MAX: u32 = 1_440;
const MINUTE_SECONDS: u32 = 60;

#[derive(Template)]
#[template(path = "web/practice/move.html")]
struct MoveScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static EventTexts,
    action: String,
    back: String,
    /// The present time and calendar of the appointment.
    present: String,
    /// The same as the form sends it, by which the script takes the move back.
    from: TargetView,
    from_calendar: u64,
    client: String,
    target: TargetView,
    revision: String,
    mails: bool,
    words: ObstacleWords,
    /// Whether the appointment was changed since the form was opened.
    is_overtaken: bool,
    /// The target in words, beside the present time of an appointment that was changed meanwhile.
    wanted: String,
    /// The target whose warnings the form shows, for the second press; empty without warnings.
    seen: String,
}

/// The fields of the target, as they were typed.
#[derive(Default)]
struct TargetView {
    day: String,
    time: String,
    /// Whether the clocks show this time twice on this day.
    is_repeated: bool,
    /// Whether the second of both is meant.
    is_second: bool,
    /// Minutes.
    length: String,
    calendars: Vec<CalendarOption>,
    day_fault: &'static str,
    time_fault: &'static str,
    calendar_fault: &'static str,
    length_fault: &'static str,
    /// Sentences about the whole form.
    others: Vec<String>,
}

struct CalendarOption {
    id: u64,
    name: String,
    is_chosen: bool,
}

/// A time and a calendar to move to.
#[derive(Clone, Copy)]
struct Target {
    /// The start on the clocks of the group.
    civil: Civil,
    start: Instant,
    calendar: CalendarId,
    length_seconds: u32,
}

impl Target {
    fn interval(self) -> Interval {
        let end = self.start.plus_seconds(i64::from(self.length_seconds));
        Interval { start: self.start, end }
    }

    /// The target as the second press of a form names it. The script of the agenda makes the same.
    fn mark(self, zone: Zone) -> String {
        let minutes = self.length_seconds.div_ceil(MINUTE_SECONDS);
        let pass = if zone.is_first_pass(self.start) { "" } else { " 2" };
        format!("{} {} {minutes}{pass}", format_civil(self.civil), self.calendar)
    }
}

/// The state of the form.
struct MoveForm {
    target: TargetView,
    revision: String,
    mails: bool,
    words: ObstacleWords,
    is_overtaken: bool,
    wanted: String,
    seen: String,
}

/// GET /p/{urlname}/events/{id}/move. `day`, `time`, `pass`, `calendar` and `length`
/// may be given.
pub(crate) async fn show(Path(path): Path<RecordPath>, visit: ProVisit) -> Response {
    let Some(id) = find_appointment(&visit, &path) else {
        return message::not_found(&visit.request);
    };
    let row = &visit.state.rows[&id];
    let form = MoveForm {
        target: view_target(&visit, row, &visit.request.params),
        revision: event_revision(&visit, id),
        mails: true,
        words: ObstacleWords::default(),
        is_overtaken: false,
        wanted: String::new(),
        seen: String::new(),
    };
    respond_with_form(&visit, StatusCode::OK, row, form)
}

/// POST /p/{urlname}/events/{id}/move.
pub(crate) async fn act(Path(path): Path<RecordPath>, form: ProForm) -> Response {
    let ProForm { mut visit, given } = form;
    let Some(id) = find_appointment(&visit, &path) else {
        return message::not_found(&visit.request);
    };
    let row = Arc::clone(&visit.state.rows[&id]);
    let mut form = MoveForm {
        target: view_target(&visit, &row, &given),
        revision: given.value(REVISION).unwrap_or_default().to_owned(),
        mails: given.value("mail").is_some(),
        words: ObstacleWords::default(),
        is_overtaken: false,
        wanted: String::new(),
        seen: String::new(),
    };
    let Some(target) = read_target(&visit, &row, &given, &mut form.target) else {
        return respond_with_form(&visit, StatusCode::BAD_REQUEST, &row, form);
    };
    match find_target_obstacles(&visit, &row, target).await {
        Ok(obstacles) => form.words = obstacles_in_words(&visit, &obstacles),
        Err(error) => return message::failed(&visit.request, &error),
    }
    if !form.words.appointments.is_empty() {
        return respond_with_form(&visit, StatusCode::CONFLICT, &row, form);
    }
    if !form.words.warnings.is_empty() && given.value("seen") != Some(&target.mark(visit.zone())) {
        form.seen = target.mark(visit.zone());
        return respond_with_form(&visit, StatusCode::CONFLICT, &row, form);
    }
    let refusals = match send_move(&visit, &row, target, &given).await {
        // The revision after this move alone, by which the script takes it back.
        Ok(revision) => {
            return redirect(&visit.url(&format!("/events/{id}"), &[("moved", &revision)]));
        }
        Err(GuardedRejection::Rejected(Rejection::Refused(refusals))) => refusals,
        Err(rejection) => return failed(&visit, rejection),
    };
    visit.renew();
    let Some(row) = visit.state.rows.get(&id) else { return message::not_found(&visit.request) };
    let status = match refusals.first() {
        Some(Refusal::NoResult) => return message::not_found(&visit.request),
        Some(Refusal::PreconditionFailed(_)) => {
            form.is_overtaken = true;
            form.wanted = target_in_words(&visit, target);
            form.revision = event_revision(&visit, id);
            StatusCode::PRECONDITION_FAILED
        }
        // Another client came first.
        Some(Refusal::NotAvailable { obstacles }) => {
            form.words = obstacles_in_words(&visit, obstacles);
            StatusCode::CONFLICT
        }
        _ => {
            let faults = faults_among(refusals);
            form.target.others = faults.into_iter().map(|fault| fault.rule).collect();
            StatusCode::BAD_REQUEST
        }
    };
    respond_with_form(&visit, status, row, form)
}

/// Moves the appointment, and returns its revision after that.
async fn send_move(
    visit: &ProVisit,
    row: &Vevent,
    target: Target,
    given: &Params,
) -> Result<String, GuardedRejection> {
    let id = row.id;
    let present = row.appointment().map(Appointment::interval);
    let mut object = Map::new();
    if present.is_none_or(|present| present.start != target.start) {
        object.insert("start".to_owned(), format_rfc_3339(target.start).into());
    }
    if present != Some(target.interval()) {
        object.insert("end".to_owned(), format_rfc_3339(target.interval().end).into());
    }
    object.insert("calendar_id".to_owned(), target.calendar.number().into());
    let revision = given.value(REVISION).unwrap_or_default();
    let command = mailed_if_asked(Command::PutVevent(make_change(id, object)), given)
        .only_if(still_at(revision, show_vevent_later(id, Audience::Pro)));
    let done = write(visit, command).await?;
    Ok(done.group_state.rows.get(&id).map(|row| revision_text(row)).unwrap_or_default())
}

/// Returns what stands against a target by the rules of the web, without the appointment's own
/// time.
async fn find_target_obstacles(
    visit: &ProVisit,
    row: &Vevent,
    target: Target,
) -> Result<Vec<Obstacle>, ApiError> {
    let Some(appointment) = row.appointment() else { return Ok(Vec::new()) };
    let leg = Leg {
        intervention_id: appointment.intervention_id,
        length_seconds: i64::from(target.length_seconds),
    };
    let request = SlotRequest {
        chain: Chain::new(vec![leg]).expect("one leg is a chain"),
        start: target.start,
        mode: BookingMode::ModuleByPro,
        own: OwnTime { hold: None, appointment: Some(row.id) },
    };
    find_obstacles(visit, target.calendar, request).await
}

/// Returns the fields of the target as a form gives them, or else as the appointment is now.
fn view_target(visit: &ProVisit, row: &Vevent, given: &Params) -> TargetView {
    let zone = visit.zone();
    let present = row.appointment();
    let start = present.map(|appointment| zone.civil_of(appointment.start));
    let is_given = |name: &str| given.iter().any(|(given, _)| given == name);
    let given_or = |name: &str, present: String| {
        if is_given(name) { given.value(name).unwrap_or_default().to_owned() } else { present }
    };
    let calendar = given_or("calendar", row.calendar_id.to_string());
    let calendars = visit.state.catalogue.calendars.values();
    let mut calendars: Vec<_> =
        calendars.filter(|it| !it.deleted || it.id == row.calendar_id).collect();
    calendars.sort_by_key(|it| (it.sort, it.id));
    let option = |id: CalendarId, name: &str| CalendarOption {
        id: id.number(),
        name: name.to_owned(),
        is_chosen: id.to_string() == calendar,
    };
    let day = given_or("day", start.map(|at| iso_day(at.day())).unwrap_or_default());
    let time = given_or("time", start.map(format::time).unwrap_or_default());
    let typed = parse_start(&format!("{day}T{time}"));
    // A box that is not ticked is not sent.
    let is_second = if is_given("time") {
        is_given("pass")
    } else {
        present.is_some_and(|appointment| !zone.is_first_pass(appointment.start))
    };
    TargetView {
        day,
        time,
        is_repeated: typed.is_some_and(|civil| second_pass(zone, civil).is_some()),
        is_second,
        length: given_or(
            "length",
            present.map(Appointment::minutes).unwrap_or_default().to_string(),
        ),
        calendars: calendars.iter().map(|it| option(it.id, it.name.as_str())).collect(),
        ..TargetView::default()
    }
}

/// The second moment at which the clocks show a time, if they show it twice.
fn second_pass(zone: Zone, civil: Civil) -> Option<Instant> {
    let first = zone.instant_of(civil);
    let day = Interval { start: first, end: first.plus_seconds(DAY) };
    let mut passes = zone.second_passes(day).into_iter();
    passes.find_map(|pass| {
        let second = pass.start.plus_seconds(civil.seconds_since(zone.civil_of(pass.start)));
        let is_inside = pass.start <= second && second < pass.end;
        is_inside.then_some(second)
    })
}

/// Reads the target of a form. `None` if a field is wrong, which then has its fault.
fn read_target(
    visit: &ProVisit,
    row: &Vevent,
    given: &Params,
    view: &mut TargetView,
) -> Option<Target> {
    let text = EventTexts::in_language(visit.language());
    let TypedStart { at, day_fault, time_fault } = read_start(visit, &view.day, &view.time);
    view.day_fault = day_fault;
    view.time_fault = time_fault;
    let calendar = given.value("calendar").and_then(|text| text.parse().ok());
    let calendar = calendar.and_then(CalendarId::new);
    let calendar = calendar.filter(|id| view.calendars.iter().any(|it| it.id == id.number()));
    if calendar.is_none() {
        view.calendar_fault = text.bad_calendar;
    }
    let length_seconds = read_length(row, &view.length);
    if length_seconds.is_none() {
        view.length_fault = text.bad_length;
    }
    let zone = visit.zone();
    let civil = at?;
    let second = second_pass(zone, civil).filter(|_| view.is_second);
    let start = second.unwrap_or_else(|| zone.instant_of(civil));
    Some(Target { civil, start, calendar: calendar?, length_seconds: length_seconds? })
}

/// Reads a length in minutes. That of the appointment is kept to the second.
fn read_length(row: &Vevent, text: &str) -> Option<u32> {
    let minutes: u32 = text.trim().parse().ok()?;
    let present = row.appointment()?;
    if minutes == present.minutes() {
        return Some(present.length_seconds);
    }
    (1..=LENGTH_MINUTES_MAX).contains(&minutes).then_some(minutes * MINUTE_SECONDS)
}

/// The time and the calendar of a target in words.
fn target_in_words(visit: &ProVisit, target: Target) -> String {
    place_in_words(visit, target.interval(), target.calendar)
}

fn place_in_words(visit: &ProVisit, interval: Interval, calendar: CalendarId) -> String {
    let calendar = visit.state.catalogue.calendars.get(&calendar);
    let name = calendar.map_or("", |calendar| calendar.name.as_str());
    format!("{} · {name}", interval_in_words(visit, interval))
}

fn respond_with_form(
    visit: &ProVisit,
    status: StatusCode,
    row: &Vevent,
    form: MoveForm,
) -> Response {
    let text = EventTexts::in_language(visit.language());
    let here = format!("/events/{}", row.id);
    let client = row.fiche_id().and_then(|id| visit.state.fiches.get(&id));
    let present = row.appointment().map(Appointment::interval);
    let MoveForm { target, revision, mails, words, is_overtaken, wanted, seen } = form;
    let screen = MoveScreen {
        frame: visit.frame(text.move_title, Section::Agenda),
        text,
        action: visit.url(&format!("{here}/move"), &[]),
        back: visit.url(&here, &[]),
        present: present
            .map(|interval| place_in_words(visit, interval, row.calendar_id))
            .unwrap_or_default(),
        from: view_target(visit, row, &Params::from_query("")),
        from_calendar: row.calendar_id.number(),
        client: client.map(|client| client.names()).unwrap_or_default(),
        target,
        revision,
        mails,
        words,
        is_overtaken,
        wanted,
        seen,
    };
    respond(status, Privacy::Client, render(&screen))
}
