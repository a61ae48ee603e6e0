//! Moving an appointment. Reference 15.6.
//!
//! Rules that bind only the web, and absences, are warnings: a second press overrides those that
//! it has shown. A live appointment in the way refuses.

use axum::http::StatusCode;
use axum::response::Response;
use serde_json::Map;

use crate::domain::availability::obstacle::Obstacle;
use crate::domain::availability::slot_request::{BookingMode, Chain, Leg, OwnTime, SlotRequest};
use crate::domain::records::vevent::{Appointment, Vevent};
use crate::domain::state::command::Command;
use crate::engine::Rejection;
use crate::http::{ApiError, GuardedRejection, make_change, show_vevent_later};
use crate::web::page::redirect;
use crate::web::practice::event_change::{failed, mailed_if_asked};
use crate::web::practice::event_move::form::{MoveForm, refuse, respond_with_form};
use crate::web::practice::event_move::target::EventPlace;
use crate::web::practice::message;
use crate::web::practice::obstacle_words::obstacles_in_words;
use crate::web::practice::revision::{still_at, write};
use crate::web::practice::target_obstacles::find_obstacles;
use crate::web::practice::visit::ProVisit;
use crate::wire::datetime::format_rfc_3339;
use crate::wire::field::Audience;
use crate::wire::params::Params;
use crate::wire::vevent::revision_text;

/// Moves an appointment as a form wants it.
pub(crate) async fn carry_out(
    visit: ProVisit,
    row: &Vevent,
    mut form: MoveForm,
    target: EventPlace,
    given: &Params,
) -> Response {
    match find_target_obstacles(&visit, row, target).await {
        Ok(obstacles) => form.words = obstacles_in_words(&visit, &obstacles),
        Err(error) => return message::failed(&visit.request, &error),
    }
    if !form.words.appointments.is_empty() {
        return respond_with_form(&visit, StatusCode::CONFLICT, row, form);
    }
    if !form.words.warnings.is_empty() && given.value("seen") != Some(&target.mark(visit.zone())) {
        form.seen = target.mark(visit.zone());
        return respond_with_form(&visit, StatusCode::CONFLICT, row, form);
    }
    match send_move(&visit, row, target, &form.revision, given).await {
        // The revision after this move alone, by which the script takes it back.
        Ok(revision) => {
            redirect(&visit.url(&format!("/events/{}", row.id), &[("moved", &revision)]))
        }
        Err(GuardedRejection::Rejected(Rejection::Refused(refusals))) => {
            refuse(visit, row.id, form, target, refusals)
        }
        Err(rejection) => failed(&visit, rejection),
    }
}

/// Moves the appointment, and returns its revision after that.
async fn send_move(
    visit: &ProVisit,
    row: &Vevent,
    target: EventPlace,
    revision: &str,
    given: &Params,
) -> Result<String, GuardedRejection> {
    let id = row.id;
    let present = row.appointment().map(Appointment::interval);
    let mut object = Map::new();
    if present.is_none_or(|present| present.start != target.interval.start) {
        object.insert("start".to_owned(), format_rfc_3339(target.interval.start).into());
    }
    if present != Some(target.interval) {
        object.insert("end".to_owned(), format_rfc_3339(target.interval.end).into());
    }
    object.insert("calendar_id".to_owned(), target.calendar.number().into());
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
    target: EventPlace,
) -> Result<Vec<Obstacle>, ApiError> {
    let Some(appointment) = row.appointment() else { return Ok(Vec::new()) };
    let leg =
        Leg { intervention_id: appointment.intervention_id, length_seconds: target.length_seconds };
    let request = SlotRequest {
        chain: Chain::new(vec![leg]).expect("one leg is a chain"),
        start: target.interval.start,
        mode: BookingMode::ModuleByPro,
        own: OwnTime { hold: None, appointment: Some(row.id) },
    };
    find_obstacles(visit, target.calendar, request).await
}
