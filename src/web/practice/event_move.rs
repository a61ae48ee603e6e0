//! Moving an appointment by fields: day, time, calendar. Reference 15.6.
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
use crate::domain::records::ids::{CalendarId, VeventId};
use crate::domain::records::vevent::Vevent;
use crate::domain::state::command::Command;
use crate::domain::state::refusal::Refusal;
use crate::domain::time::Civil;
use crate::engine::Rejection;
use crate::http::{ApiError, GuardedRejection, make_change, show_vevent_later};
use crate::web::format::{self, iso_day};
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
use crate::wire::datetime::format_civil;
use crate::wire::field::Audience;
use crate::wire::params::Params;

#[derive(Template)]
#[template(path = "web/practice/move.html")]
struct MoveScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static EventTexts,
    action: String,
    back: String,
    /// The present time and calendar of the appointment.
    present: String,
    client: String,
    target: TargetView,
    revision: String,
    mails: bool,
    words: ObstacleWords,
    /// Whether the appointment was changed since the form was opened.
    is_overtaken: bool,
    /// The target whose warnings the form shows, for the second press; empty without warnings.
    seen: String,
}

/// The fields of the target, as they were typed.
#[derive(Default)]
struct TargetView {
    day: String,
    time: String,
    calendars: Vec<CalendarOption>,
    day_fault: &'static str,
    time_fault: &'static str,
    calendar_fault: &'static str,
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
    start: Civil,
    calendar: CalendarId,
}

impl Target {
    /// The target as the second press of a form names it.
    fn mark(self) -> String {
        format!("{} {}", format_civil(self.start), self.calendar)
    }
}

/// The state of the form.
struct MoveForm {
    target: TargetView,
    revision: String,
    mails: bool,
    words: ObstacleWords,
    is_overtaken: bool,
    seen: String,
}

/// GET /p/{urlname}/events/{id}/move. `day`, `time` and `calendar` may be given.
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
        seen: String::new(),
    };
    let Some(target) = read_target(&visit, &given, &mut form.target) else {
        return respond_with_form(&visit, StatusCode::BAD_REQUEST, &row, form);
    };
    match find_target_obstacles(&visit, &row, target).await {
        Ok(obstacles) => form.words = obstacles_in_words(&visit, &obstacles),
        Err(error) => return message::failed(&visit.request, &error),
    }
    if !form.words.appointments.is_empty() {
        return respond_with_form(&visit, StatusCode::CONFLICT, &row, form);
    }
    if !form.words.warnings.is_empty() && given.value("seen") != Some(&target.mark()) {
        form.seen = target.mark();
        return respond_with_form(&visit, StatusCode::CONFLICT, &row, form);
    }
    let refusals = match send_move(&visit, id, target, &given).await {
        Ok(()) => return redirect(&visit.url(&format!("/events/{id}"), &[("moved", "1")])),
        Err(GuardedRejection::Rejected(Rejection::Refused(refusals))) => refusals,
        Err(rejection) => return failed(&visit, rejection),
    };
    visit.renew();
    let Some(row) = visit.state.rows.get(&id) else { return message::not_found(&visit.request) };
    let status = match refusals.first() {
        Some(Refusal::NoResult) => return message::not_found(&visit.request),
        Some(Refusal::PreconditionFailed(_)) => {
            form.is_overtaken = true;
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

async fn send_move(
    visit: &ProVisit,
    id: VeventId,
    target: Target,
    given: &Params,
) -> Result<(), GuardedRejection> {
    let mut object = Map::new();
    object.insert("start".to_owned(), format_civil(target.start).into());
    object.insert("calendar_id".to_owned(), target.calendar.number().into());
    let revision = given.value(REVISION).unwrap_or_default();
    let command = mailed_if_asked(Command::PutVevent(make_change(id, object)), given)
        .only_if(still_at(revision, show_vevent_later(id, Audience::Pro)));
    write(visit, command).await.map(|_| ())
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
        length_seconds: i64::from(appointment.length_seconds),
    };
    let request = SlotRequest {
        chain: Chain::new(vec![leg]).expect("one leg is a chain"),
        start: visit.zone().instant_of(target.start),
        mode: BookingMode::ModuleByPro,
        own: OwnTime { hold: None, appointment: Some(row.id) },
    };
    find_obstacles(visit, target.calendar, request).await
}

/// Returns the fields of the target as a form gives them, or else as the appointment is now.
fn view_target(visit: &ProVisit, row: &Vevent, given: &Params) -> TargetView {
    let present = row.appointment().map(|appointment| visit.zone().civil_of(appointment.start));
    let given_or = |name: &str, present: String| {
        let is_given = given.iter().any(|(given, _)| given == name);
        if is_given { given.value(name).unwrap_or_default().to_owned() } else { present }
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
    TargetView {
        day: given_or("day", present.map(|at| iso_day(at.day())).unwrap_or_default()),
        time: given_or("time", present.map(format::time).unwrap_or_default()),
        calendars: calendars.iter().map(|it| option(it.id, it.name.as_str())).collect(),
        ..TargetView::default()
    }
}

/// Reads the target of a form. `None` if a field is wrong, which then has its fault.
fn read_target(visit: &ProVisit, given: &Params, view: &mut TargetView) -> Option<Target> {
    let TypedStart { at, day_fault, time_fault } = read_start(visit, &view.day, &view.time);
    view.day_fault = day_fault;
    view.time_fault = time_fault;
    let calendar = given.value("calendar").and_then(|text| text.parse().ok());
    let calendar = calendar.and_then(CalendarId::new);
    let calendar = calendar.filter(|id| view.calendars.iter().any(|it| it.id == id.number()));
    if calendar.is_none() {
        view.calendar_fault = EventTexts::in_language(visit.language()).bad_calendar;
    }
    Some(Target { start: at?, calendar: calendar? })
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
    let calendar = visit.state.catalogue.calendars.get(&row.calendar_id);
    let interval = row.appointment().map(|it| interval_in_words(visit, it.interval()));
    let calendar = calendar.map_or("", |calendar| calendar.name.as_str());
    let MoveForm { target, revision, mails, words, is_overtaken, seen } = form;
    let screen = MoveScreen {
        frame: visit.frame(text.move_title, Section::Agenda),
        text,
        action: visit.url(&format!("{here}/move"), &[]),
        back: visit.url(&here, &[]),
        present: format!("{} · {calendar}", interval.unwrap_or_default()),
        client: client.map(|client| client.names()).unwrap_or_default(),
        target,
        revision,
        mails,
        words,
        is_overtaken,
        seen,
    };
    respond(status, Privacy::Client, render(&screen))
}
