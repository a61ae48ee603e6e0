//! Changes of an appointment by forms: details, attendance, cancellation, restoration.
//! Reference 15.6.

use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Map, Value, json};

use crate::domain::records::ids::VeventId;
use crate::domain::state::command::{CancelAppointment, CancelRight, Command};
use crate::domain::state::refusal::Refusal;
use crate::engine::Rejection;
use crate::http::{GuardedRejection, make_change, show_vevent_later};
use crate::web::contact_fields::FieldView;
use crate::web::page::redirect;
use crate::web::practice::event_page::{
    DetailsForm, Notice, details_fields, event_revision, respond_with_event,
};
use crate::web::practice::form::ProForm;
use crate::web::practice::message;
use crate::web::practice::obstacle_words::obstacles_in_words;
use crate::web::practice::record_fields::{
    changed_object, compare_versions, filled_in, place_faults,
};
use crate::web::practice::record_path::RecordPath;
use crate::web::practice::revision::{REVISION, faults_among, still_at, write};
use crate::web::practice::texts::event::EventTexts;
use crate::web::practice::texts::form::FormTexts;
use crate::web::practice::visit::ProVisit;
use crate::wire::field::Audience;
use crate::wire::params::Params;

/// POST /p/{urlname}/events/{id}: comments and customised attributes.
pub(crate) async fn change(Path(path): Path<RecordPath>, form: ProForm) -> Response {
    let ProForm { mut visit, given } = form;
    let Some(id) = find_appointment(&visit, &path) else {
        return message::not_found(&visit.request);
    };
    let before = details_fields(&visit, &visit.state.rows[&id]);
    let mut fields = filled_in(&before, &given);
    let object = changed_object(&before, &fields);
    if object.is_empty() {
        return redirect(&saved_url(&visit, id));
    }
    let revision = given.value(REVISION).unwrap_or_default().to_owned();
    let command = Command::PutVevent(make_change(id, object))
        .only_if(still_at(&revision, show_vevent_later(id, Audience::Pro)));
    let refusals = match write(&visit, command).await {
        Ok(_) => return redirect(&saved_url(&visit, id)),
        Err(GuardedRejection::Rejected(Rejection::Refused(refusals))) => refusals,
        Err(rejection) => return failed(&visit, rejection),
    };
    let form = match refusals.first() {
        Some(Refusal::NoResult) => return message::not_found(&visit.request),
        Some(Refusal::PreconditionFailed(_)) => {
            visit.renew();
            overtaken_form(&visit, id, fields)
        }
        _ => {
            let text = FormTexts::in_language(visit.language());
            let others = place_faults(&mut fields, &faults_among(refusals), text);
            DetailsForm { fields, revision, others, has_faults: true, versions: Vec::new() }
        }
    };
    let status =
        if form.has_faults { StatusCode::BAD_REQUEST } else { StatusCode::PRECONDITION_FAILED };
    respond_with_event(&visit, status, &visit.state.rows[&id], Some(form), Notice::None)
}

/// Returns the form of details that were changed meanwhile. It keeps what was typed, and is based
/// on the newest record now.
fn overtaken_form(visit: &ProVisit, id: VeventId, fields: Vec<FieldView>) -> DetailsForm {
    let theirs = details_fields(visit, &visit.state.rows[&id]);
    DetailsForm {
        versions: compare_versions(&theirs, &fields, visit.language()),
        fields,
        revision: event_revision(visit, id),
        others: Vec::new(),
        has_faults: false,
    }
}

/// POST /p/{urlname}/events/{id}/state: whether the client came.
pub(crate) async fn set_state(Path(path): Path<RecordPath>, form: ProForm) -> Response {
    let ProForm { visit, given } = form;
    let Some(id) = find_appointment(&visit, &path) else {
        return message::not_found(&visit.request);
    };
    let state = given.value("state").and_then(|text| text.parse::<i64>().ok());
    let mut object = Map::new();
    object.insert("state".to_owned(), state.map_or(Value::from(""), Value::from));
    if state.is_none() {
        return message::not_found(&visit.request);
    }
    carry_out(visit, id, &given, Command::PutVevent(make_change(id, object))).await
}

/// POST /p/{urlname}/events/{id}/cancel: with a mail to the client if the box is ticked.
pub(crate) async fn cancel(Path(path): Path<RecordPath>, form: ProForm) -> Response {
    let ProForm { visit, given } = form;
    let Some(id) = find_appointment(&visit, &path) else {
        return message::not_found(&visit.request);
    };
    let command = CancelAppointment { id, right: CancelRight::Pro };
    carry_out(visit, id, &given, Command::CancelAppointment(command)).await
}

/// POST /p/{urlname}/events/{id}/restore: a cancelled appointment, if its time is free.
pub(crate) async fn restore(Path(path): Path<RecordPath>, form: ProForm) -> Response {
    let ProForm { visit, given } = form;
    let Some(id) = find_appointment(&visit, &path) else {
        return message::not_found(&visit.request);
    };
    let mut object = Map::new();
    object.insert("deleted".to_owned(), json!(false));
    carry_out(visit, id, &given, Command::PutVevent(make_change(id, object))).await
}

/// Wraps a command so that the client gets no mail about it, unless the form asks for one.
pub(crate) fn mailed_if_asked(command: Command, given: &Params) -> Command {
    match given.value("mail") {
        Some(_) => command,
        None => Command::Quietly(Box::new(command)),
    }
}

/// Sends a change that is based on the revision of a form, and shows the appointment after it.
async fn carry_out(
    mut visit: ProVisit,
    id: VeventId,
    given: &Params,
    command: Command,
) -> Response {
    let revision = given.value(REVISION).unwrap_or_default();
    let command = mailed_if_asked(command, given)
        .only_if(still_at(revision, show_vevent_later(id, Audience::Pro)));
    let refusals = match write(&visit, command).await {
        Ok(_) => return redirect(&saved_url(&visit, id)),
        Err(GuardedRejection::Rejected(Rejection::Refused(refusals))) => refusals,
        Err(rejection) => return failed(&visit, rejection),
    };
    let text = EventTexts::in_language(visit.language());
    visit.renew();
    let Some(row) = visit.state.rows.get(&id) else { return message::not_found(&visit.request) };
    let (status, sentence) = match refusals.first() {
        Some(Refusal::NoResult) => return message::not_found(&visit.request),
        Some(Refusal::PreconditionFailed(_)) => {
            (StatusCode::PRECONDITION_FAILED, text.overtaken.to_owned())
        }
        Some(Refusal::NotAvailable { obstacles }) => {
            let words = obstacles_in_words(&visit, obstacles);
            (StatusCode::CONFLICT, format!("{} {}", text.move_taken, words.appointments.join(" ")))
        }
        _ => {
            let rules: Vec<String> = faults_among(refusals).into_iter().map(|it| it.rule).collect();
            (StatusCode::BAD_REQUEST, rules.join(" "))
        }
    };
    respond_with_event(&visit, status, row, None, Notice::Refused(sentence))
}

/// Returns the id of the appointment of a path, if there is one.
fn find_appointment(visit: &ProVisit, path: &RecordPath) -> Option<VeventId> {
    let id = path.id(VeventId::new)?;
    let row = visit.state.rows.get(&id)?;
    row.appointment().map(|_| id)
}

fn saved_url(visit: &ProVisit, id: VeventId) -> String {
    visit.url(&format!("/events/{id}"), &[("saved", "1")])
}

/// Returns the page of a write that failed for another reason than its fields.
pub(crate) fn failed(visit: &ProVisit, rejection: GuardedRejection) -> Response {
    let error = rejection.into_error(visit.zone(), Audience::Pro);
    message::failed(&visit.request, &error)
}
