//! Endpoints of holds, and the confirmation of a booking that waits for its code.
//! Reference 6.7, 6.8, 13.17.

use axum::http::StatusCode;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::{RefOr, Schema};

use crate::domain::decisions::book::check_booking_permission;
use crate::domain::directory::confirmation_code::ConfirmationCode;
use crate::domain::records::fault::Fault;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::hold::{HoldId, HoldState, HoldToken, WRONG_CODES_MAX};
use crate::domain::records::ids::GroupId;
use crate::domain::state::command::{Command, ConfirmBooking};
use crate::engine::Committed;
use crate::http::endpoint::{Answer, Body, Endpoint, EndpointPath, QueryKind, Shape, handler};
use crate::http::error::ApiError;
use crate::http::limits::booking_limit::LimitSubjects;
use crate::http::limits::guarded_write::GuardedWrite;
use crate::http::permissions::{OWN_OR_ALLOWED, Resource, Verb};
use crate::http::request::{GroupRequest, wrapped_object};
use crate::http::resources::appointments::BOOKED;
use crate::http::response::{HandlerResult, json_response, ok_response, to_json};
use crate::http::server::Server;
use crate::wire::appointment::{self, SentFields, visible_fiche_fields};
use crate::wire::field::{Audience, Scope};
use crate::wire::hold::{HoldAnswer, HoldBody, parse, parse_hold_parameter};
use crate::wire::schema::{GivenCode, Token, group_given, object_of, schema_of};

const HOLDS: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/holds");
const CONFIRM: EndpointPath =
    EndpointPath::current("/api/v1/groups/{group_id}/appointments/confirm");

const HOLD: Shape = Shape::Named("Hold", schema_of::<HoldAnswer<'_>>);

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[Endpoint] = &[
    Endpoint::post(&[HOLDS], handler!(InGroup, hold))
        .named("HoldTime", "Hold the time of a booking for some minutes")
        .right(Resource::Hold, Verb::Make, OWN_OR_ALLOWED)
        .body(Body::wrapped(Shape::Inline(hold_schema)))
        .answers(&[Answer::json(201, "the hold", HOLD)]),
    Endpoint::delete(&[HOLDS], handler!(InGroup, release))
        .named("ReleaseHold", "Give held time back")
        .without_if_match()
        .right(Resource::Hold, Verb::Delete, OWN_OR_ALLOWED)
        .query(&[QueryKind::Text.named("token", "the token of the hold")])
        .answers(&[Answer::json(200, "the hold, which has ended", HOLD)]),
    Endpoint::post(&[CONFIRM], handler!(InGroup, confirm))
        .named("ConfirmBooking", "Confirm a booking by the code that was sent for it")
        .right(Resource::Appointment, Verb::Make, OWN_OR_ALLOWED)
        .body(Body::plain(schema_of::<CodeBody<'_>>))
        .idempotency_key(false)
        .answers(&[BOOKED]),
];

/// The body of a new hold.
fn hold_schema() -> RefOr<Schema> {
    object_of::<HoldBody>().property("group_id", group_given()).into()
}

/// The token of a booking, and the code that was sent for it.
#[derive(ToSchema)]
struct CodeBody<'b> {
    /// The token of the booking.
    #[schema(value_type = Token)]
    token: &'b str,
    /// The six digits that were sent.
    #[schema(value_type = GivenCode)]
    code: &'b str,
}

/// POST /api/v1/groups/{group_id}/holds.
async fn hold(request: GroupRequest) -> HandlerResult {
    let zone = request.zone();
    let audience = request.audience();
    let catalogue = &request.state.catalogue;
    if let Err(refusal) = check_booking_permission(catalogue, request.caller(), true, false) {
        return Err(ApiError::from_refusals(&[refusal], zone, audience));
    }
    let object = wrapped_object(&request.body, "hold")?;
    let source = request.server.source_hasher.hold_source(&request.identity, request.from);
    let command = parse(object, &request.scope(), request.caller(), source)?;
    let group = catalogue.group.id;
    let subjects = LimitSubjects::new(&request.identity, group, None, request.from);
    let render_hold = move |done: &Committed| {
        let made = done.hold.and_then(|id| done.group_state.holds().get(id));
        to_json(&HoldAnswer::new(made.expect("the engine returns the new hold"), zone))
    };
    let write = GuardedWrite::hold(group, command, subjects, request.now);
    request.send(request.prepare_creation(write, render_hold)).await
}

/// DELETE /api/v1/groups/{group_id}/holds?token=…
async fn release(request: GroupRequest) -> HandlerResult {
    let unknown = |error: ApiError| error.naming("hold with this token, or it has ended");
    let id = parse_hold_parameter(&request.params, "token")?;
    let id = id.ok_or_else(|| unknown(ApiError::no_result()))?;
    let done = request.write(Command::ReleaseHold(id)).await.map_err(unknown)?;
    let released = done.before.holds().get(id).expect("a hold that is released was there");
    Ok(ok_response(&HoldAnswer::new(released, request.zone())))
}

/// POST /api/v1/groups/{group_id}/appointments/confirm. A token is used up by its booking, so no
/// Idempotency-Key is recorded: the same token and code get the same appointments again.
async fn confirm(request: GroupRequest) -> HandlerResult {
    let text = |name: &str| request.body.get(name).and_then(Value::as_str).unwrap_or_default();
    let body = CodeBody { token: text("token").trim(), code: text("code").trim() };
    let mut faults = Vec::new();
    let id = HoldToken::new(body.token).map(|token| token.id());
    if id.is_none() {
        faults.push(Fault::new("token", "must be the token that the booking was answered with"));
    }
    let group = request.state.catalogue.group.id;
    let hold = id.unwrap_or(HoldId::NONE);
    let command = confirmation(&request.server, group, hold, body.code);
    if command.is_none() {
        faults.push(Fault::new("code", "must be the six digits that were sent"));
    }
    let (Some(id), Some(command)) = (id, command) else { return Err(faults.into()) };
    // The token may be of another client's booking, so an account learns no more of that client.
    let audience = match request.audience() {
        Audience::Account => Audience::Application,
        audience @ (Audience::Application | Audience::Pro | Audience::Store) => audience,
    };
    let done = request.write_for(Command::ConfirmBooking(Box::new(command)), audience).await?;
    if done.appointments.is_empty() {
        return Err(wrong_code(&done, id));
    }
    request.server.settle_code(group, id);
    let scope = Scope::for_group(&done.group_state);
    let sent = match find_given_client(&done, id) {
        Some(client) => render_given_client(client, &scope),
        None => SentFields::new(),
    };
    let mut bytes = br#"{"records":["#.to_vec();
    for id in &done.appointments {
        // A repeated confirmation may come after the removal of an appointment.
        let Some(row) = done.group_state.rows.get(id) else { continue };
        if !bytes.ends_with(b"[") {
            bytes.push(b',');
        }
        appointment::append(row, &scope, Audience::Application, request.now, &sent, &mut bytes);
    }
    bytes.extend_from_slice(b"]}");
    Ok(json_response(StatusCode::CREATED, bytes))
}

/// Returns the confirmation of a booking by a code that its client gives; `None` for a text that is
/// no code.
pub(crate) fn confirmation(
    server: &Server,
    group: GroupId,
    hold: HoldId,
    guess: &str,
) -> Option<ConfirmBooking> {
    if guess.len() != ConfirmationCode::LENGTH || !guess.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let secret = server.gateways.link_secret.as_ref();
    let code = secret.map(|secret| ConfirmationCode::derive(secret, group, hold));
    Some(ConfirmBooking { hold, code, guess: guess.into() })
}

/// Returns the number of codes that may still be given after a wrong one, which was counted.
pub(crate) fn tries_left(done: &Committed, id: HoldId) -> u8 {
    let wrong_codes = match done.group_state.holds().get(id).map(|hold| &hold.state) {
        Some(HoldState::Unconfirmed(booking)) => booking.wrong_codes,
        Some(HoldState::Confirmed { wrong_codes, .. }) => *wrong_codes,
        Some(HoldState::Chosen | HoldState::Overwritten | HoldState::Guessed) | None => {
            WRONG_CODES_MAX
        }
    };
    WRONG_CODES_MAX - wrong_codes
}

/// The error of a wrong code.
fn wrong_code(done: &Committed, id: HoldId) -> ApiError {
    let rule = match tries_left(done, id) {
        0 => "is wrong, and was the last try: book again to get another code".to_owned(),
        1 => "is wrong: one more try".to_owned(),
        left => format!("is wrong: {left} more tries"),
    };
    Fault::new("code", rule).into()
}

/// The client as the booking gave it; `None` if the booking was confirmed before.
fn find_given_client(done: &Committed, id: HoldId) -> Option<&Fiche> {
    match &done.before.holds().get(id)?.state {
        HoldState::Unconfirmed(booking) => Some(&booking.client),
        HoldState::Chosen
        | HoldState::Confirmed { .. }
        | HoldState::Overwritten
        | HoldState::Guessed => None,
    }
}

/// Renders the fields that the booking gave, as its answer repeats them.
fn render_given_client(client: &Fiche, scope: &Scope<'_>) -> SentFields {
    let mut sent = SentFields::new();
    for field in visible_fiche_fields(Audience::Application) {
        let value = field.read_value(client, scope).to_json(scope.zone);
        if value.as_str().is_some_and(|text| !text.is_empty()) {
            sent.push((field.name, value));
        }
    }
    sent
}
