//! The booking that the form of step 3 asks for.

use std::net::IpAddr;
use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::domain::decisions::book::permit_page_booking;
use crate::domain::decisions::contact_rule::{GivenContact, find_contact_fault};
use crate::domain::records::author::Author;
use crate::domain::records::channel::Channel;
use crate::domain::records::fault::Fault;
use crate::domain::records::hold::{HoldId, HoldState, HoldToken};
use crate::domain::state::command::{BookAppointment, Caller};
use crate::domain::state::idempotency::IdempotencyShare;
use crate::domain::state::refusal::Refusal;
use crate::engine::{IdempotentRequest, Rejection};
use crate::http::{
    ApiError, ClientAddress, GuardedRejection, GuardedWrite, Incoming, LimitSubjects,
    PAGE_FORM_BYTES_MAX,
};
use crate::web::appointment_view::holder_query;
use crate::web::booking_form::booking_object;
use crate::web::code_step::{self, respond_to_waiting, without_code};
use crate::web::contact_fields::form_fields;
use crate::web::date_parts::join_dates;
use crate::web::done_step::done_url;
use crate::web::form_answer::FormAnswer;
use crate::web::limited_form::respond_to_rejection;
use crate::web::message_page;
use crate::web::page::redirect;
use crate::web::shop::Visit;
use crate::web::you_step::{Request, is_form_key, respond_with_form};
use crate::wire::booking::{BookingClaims, parse};
use crate::wire::field::Scope;
use crate::wire::params::Params;

/// POST /b/{urlname}/you.
pub(crate) async fn book(
    Extension(ClientAddress(from)): Extension<ClientAddress>,
    visit: Visit,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let visit = Arc::new(visit);
    let text = visit.text;
    if visit.pages.server.authenticator.is_cross_site_form(&headers) {
        let lines = vec![text.foreign.to_owned()];
        let status = StatusCode::FORBIDDEN;
        return message_page::of_group(&visit, status, text.foreign_title, lines, true);
    }
    if visit.is_preview() {
        let lines = vec![text.preview_end.to_owned()];
        return message_page::of_group(&visit, StatusCode::OK, text.preview_end_title, lines, true);
    }
    let mut body = Incoming::new(&visit.pages.server, &headers, from, body);
    let given = match body.read_form(PAGE_FORM_BYTES_MAX).await {
        Ok(form) => join_dates(&form.params),
        Err(error) => return message_page::failed(&visit, &error),
    };
    let waiting = given.value("h").and_then(HoldToken::new);
    if let Some(token) = waiting
        && given.value("again").is_none()
    {
        let request = match Request::read(&visit, &given) {
            Ok(request) => request,
            Err(response) => return *response,
        };
        if given.value("edit").is_some() {
            return respond_with_form(&visit, &request, &without_code(&given, None), &[]).await;
        }
        if given.value("longer").is_some() {
            return code_step::extend(&visit, &request, &given, token, from).await;
        }
        return code_step::confirm(&visit, &request, &given, token).await;
    }
    let given = match waiting {
        Some(_) => without_code(&given, given.value("again")),
        None => given,
    };
    let (scope, earlier, replaced) = find_earlier_booking(&visit, &given);
    // Before everything else: the settings may have changed since the booking was made.
    if let Some(EarlierBooking { answer: FormAnswer::Booked(query), is_same }) = &earlier {
        let used = if *is_same { "" } else { "&used=1" };
        return redirect(&done_url(&visit, &format!("{query}{used}")));
    }
    let request = match Request::read(&visit, &given) {
        Ok(request) => request,
        Err(response) => return *response,
    };
    if let Some(EarlierBooking { answer: FormAnswer::Waits(token), .. }) = earlier {
        let state = visit.newest_state();
        return respond_to_waiting(&visit, &request, &given, token, &state).await;
    }
    if visit.pages.server.is_group_full(&visit.state, &Caller::Application) {
        return message_page::failed(&visit, &ApiError::group_full());
    }
    let again = waiting.as_ref().map(HoldToken::id);
    let hold = replaced.or(waiting);
    let object = booking_object(&visit, &request.choice, request.start, &given, hold);
    let command = match read_command(&visit, &given, &object) {
        Ok(command) => command,
        Err(refusals) => return respond_with_form(&visit, &request, &given, &refusals).await,
    };
    let form = SentForm { given: &given, scope, again };
    send_booking(&visit, &request, &form, command, from).await
}

/// A form that books.
struct SentForm<'f> {
    given: &'f Params,
    /// The scope of its key, within which it books once.
    scope: Option<[u8; 32]>,
    /// The hold whose code it asks for again.
    again: Option<HoldId>,
}

/// Sends a booking, once for each key of a form, and answers with its result.
async fn send_booking(
    visit: &Arc<Visit>,
    request: &Request,
    form: &SentForm<'_>,
    mut command: BookAppointment,
    from: IpAddr,
) -> Response {
    let SentForm { given, scope, again } = *form;
    let server = &visit.pages.server;
    let subjects = LimitSubjects::of_page(visit.group().id, command.client.email.as_ref(), from);
    command.calendarset_ids.clone_from(&request.choice.calendarsets);
    command.booking_origin = Some(server.source_hasher.page_origin(from));
    let once = scope.map(|scope| IdempotentRequest {
        scope,
        body: form_body(given),
        share: IdempotencyShare::Application,
        render: Arc::new(FormAnswer::record),
    });
    let write = GuardedWrite::booking(visit.group(), command, Some(subjects), visit.now);
    match write.send(server, Author::Visitor, once).await {
        Ok((done, _)) => {
            let recorded = done.answer.as_deref().map(FormAnswer::parse);
            match recorded.unwrap_or_else(|| FormAnswer::parse(&FormAnswer::record(&done))) {
                FormAnswer::Booked(query) => redirect(&done_url(visit, &query)),
                FormAnswer::Waits(token) => {
                    respond_to_waiting(visit, request, given, token, &done.group_state).await
                }
            }
        }
        Err(GuardedRejection::Rejected(Rejection::Refused(refusals))) => {
            respond_with_form(visit, request, given, &refusals).await
        }
        // Another form with this key was faster; the recorded answer is visible by now.
        Err(GuardedRejection::Rejected(Rejection::IdempotencyConflict)) => {
            let earlier = scope.and_then(|scope| find_record(visit, scope, given));
            let answer = earlier.map(|earlier| earlier.answer);
            let state = visit.newest_state();
            let is_own = answer.as_ref().is_some_and(|one| one.is_open_to(&state, given));
            match answer {
                Some(FormAnswer::Booked(query)) if is_own => {
                    redirect(&done_url(visit, &format!("{query}&used=1")))
                }
                Some(FormAnswer::Booked(_) | FormAnswer::Waits(_)) | None => {
                    message_page::busy(visit)
                }
            }
        }
        Err(rejection) => respond_to_rejection(visit, request, given, again, rejection),
    }
}

/// Reads the command of a booking by the wire's rules, as an application with its key alone.
fn read_command(
    visit: &Visit,
    given: &Params,
    object: &Map<String, Value>,
) -> Result<BookAppointment, Vec<Refusal>> {
    let mut missing = missing_fields(visit, given);
    let caller = Caller::Application;
    let claims = BookingClaims::read(Some(object));
    let permission =
        permit_page_booking(&visit.state.catalogue).map_err(|refusal| vec![refusal])?;
    let scope = Scope::for_group(&visit.state).at_moment(visit.now);
    match parse(object, claims, permission, &scope, &caller) {
        Ok(booking) if missing.is_empty() => {
            Ok(BookAppointment { is_by_page: true, needs_contact: true, ..booking.command })
        }
        Ok(_) => Err(missing),
        Err(faults) => {
            missing.extend(faults.into_iter().map(Refusal::InvalidParameter));
            Err(missing)
        }
    }
}

/// Returns a fault for each required field without a value, so that all are reported at once.
fn missing_fields(visit: &Visit, given: &Params) -> Vec<Refusal> {
    let fields = form_fields(visit, given).into_iter();
    let missing = fields.filter(|field| field.is_required && field.value.is_empty());
    let mut faults: Vec<Fault> = find_missing_contact(visit, given).into_iter().collect();
    for field in missing {
        // The other number will do as well, where the group needs one and sends no code there.
        let is_contact =
            field.name == "fiche.firstphone" && visit.code_channel() != Some(Channel::Sms);
        if !is_contact && !faults.iter().any(|fault| fault.field == field.name) {
            faults.push(Fault::new(field.name, "is required"));
        }
    }
    faults.into_iter().map(Refusal::InvalidParameter).collect()
}

/// Returns the fault of a form without the contact that the group needs.
fn find_missing_contact(visit: &Visit, given: &Params) -> Option<Fault> {
    let value = |name| given.value(name).unwrap_or_default();
    let phones = [value("fiche.firstphone"), value("fiche.secondphone")];
    let contact = GivenContact { has_email: !value("fiche.email").is_empty(), phones };
    find_contact_fault(visit.group().contact_needed, contact)
}

/// Returns the scope of a form's key. It covers services and start, so that a visitor who goes back
/// and chooses another time makes another booking. `None` without a key as the pages make it: a
/// shorter one could be another visitor's, who would be shown this booking with its secret.
fn form_scope(visit: &Visit, given: &Params) -> Option<[u8; 32]> {
    if !given.value("k").is_some_and(is_form_key) {
        return None;
    }
    let mut hash = Sha256::new_with_prefix(b"form ");
    hash.update(visit.group().id.number().to_be_bytes());
    let start = given.value("other").or_else(|| given.value("t"));
    for (name, value) in given.iter() {
        if matches!(name, "s" | "c" | "of" | "k") {
            hash.update(name);
            hash.update(value.len().to_be_bytes());
            hash.update(value);
        }
    }
    hash.update(start.unwrap_or_default());
    Some(hash.finalize().into())
}

/// The record of the booking that a form made before, and whether the form sent the same.
struct EarlierBooking {
    answer: FormAnswer,
    is_same: bool,
}

fn find_record(visit: &Visit, scope: [u8; 32], given: &Params) -> Option<EarlierBooking> {
    let engine = &visit.pages.server.engine;
    let state = engine.published().group_state(visit.group().id)?;
    let record = state.idempotency_records.find(&scope, engine.steady_now())?;
    let is_same = record.body == form_body(given);
    Some(EarlierBooking { answer: FormAnswer::parse(&record.answer), is_same })
}

/// Returns the scope of a form that may have been sent before, its earlier booking, and the hold
/// that it takes over. Other details of a booking that waits for its code make a booking of their
/// own, which takes over the time. Another client makes a booking of its own, and learns of
/// no earlier one, because the author of a link to the form knows its key.
fn find_earlier_booking(
    visit: &Visit,
    given: &Params,
) -> (Option<[u8; 32]>, Option<EarlierBooking>, Option<HoldToken>) {
    let Some(scope) = form_scope(visit, given) else { return (None, None, None) };
    let own_scope = || {
        let mut hash = Sha256::new_with_prefix(scope);
        hash.update(form_body(given));
        hash.finalize().into()
    };
    match find_record(visit, scope, given) {
        Some(EarlierBooking { answer, is_same: false })
            if !answer.is_open_to(&visit.newest_state(), given) =>
        {
            let scope = own_scope();
            (Some(scope), find_record(visit, scope, given), None)
        }
        Some(EarlierBooking { answer: FormAnswer::Waits(token), is_same: false }) => {
            let state = visit.newest_state();
            let hold = state.holds().get(token.id());
            if let Some(HoldState::Confirmed { appointments, .. }) = hold.map(|hold| &hold.state) {
                let answer = FormAnswer::Booked(holder_query(&state, appointments));
                return (Some(scope), Some(EarlierBooking { answer, is_same: false }), None);
            }
            let scope = own_scope();
            (Some(scope), find_record(visit, scope, given), Some(token))
        }
        earlier => (Some(scope), earlier, None),
    }
}

/// Returns the hash of all that a form sent.
fn form_body(given: &Params) -> [u8; 32] {
    let mut hash = Sha256::new();
    for (name, value) in given.iter() {
        for text in [name, value] {
            hash.update(text.len().to_be_bytes());
            hash.update(text);
        }
    }
    hash.finalize().into()
}
