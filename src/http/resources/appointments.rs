//! Booking, listing, reading and cancelling appointments. Reference 13.8, 6.

use std::sync::Arc;

use axum::response::Response;
use serde_json::{Map, Value};

use crate::domain::booking::book::check_booking_permission;
use crate::domain::identity::account::Account;
use crate::domain::records::ids::VeventId;
use crate::domain::records::text::Email;
use crate::domain::records::vevent::Vevent;
use crate::domain::state::command::{Caller, CancelAppointment, CancelRight, Command};
use crate::domain::state::group_state::GroupState;
use crate::domain::time::{INSTANT_MIN, Instant};
use crate::engine::Committed;
use crate::http::error::ApiError;
use crate::http::pipeline::{GroupCall, Outcome, ok, wrapped};
use crate::http::resources::pagination::page;
use crate::wire::appointment::{claims, parse, render, table_of};
use crate::wire::field::{Audience, Scope};
use crate::wire::list::Query;
use crate::wire::query::flag;
use crate::wire::vevent::VEVENT;

/// POST /api/v1/groups/:group_id/appointments.
pub(crate) async fn book(call: GroupCall) -> Outcome {
    let object = wrapped(&call.body, "appointment");
    let (from_web, names_fiche) = object.as_ref().map_or((true, false), |object| claims(object));
    check_booking_permission(&call.state.catalogue, call.caller(), from_web, names_fiche)
        .map_err(|refusal| ApiError::of_refusals(&[refusal], call.zone(), call.audience()))?;
    let booking = parse(object?, &call.scope(), call.caller())?;
    let (audience, now, sent) = (call.audience(), call.now, booking.sent);
    let made = move |done: &Committed| {
        let scope = Scope::of(&done.group_state);
        let rows = done.appointments.iter().filter_map(|id| done.group_state.rows.get(id));
        let records: Vec<Value> =
            rows.map(|row| render(row, &scope, audience, now, &sent).into()).collect();
        Map::from_iter([("records".to_owned(), records.into())])
    };
    let permit = match call.caller() {
        Caller::Application => {
            let email = booking.command.client.email.as_ref().map(Email::folded);
            Some(call.server.guesses.admit(email, call.from, now).await?)
        }
        Caller::Account(_) | Caller::Pro(_) => None,
    };
    let outcome = call.make(Command::BookAppointment(Box::new(booking.command)), made).await;
    if let (Some(permit), Err(failure)) = (&permit, &outcome)
        && failure.tells_of_a_client()
    {
        permit.count_refusal(now);
    }
    outcome
}

/// GET /api/v1/groups/:group_id/appointments: live ones that end after now; with `include_past` all live ones. An
/// account's own.
pub(crate) async fn list(call: GroupCall) -> Outcome {
    // An event's text is its client's names, which the own client sees in the fiche.
    let query =
        Query::parse(&call.params, table_of(call.audience()), &call.scope(), call.audience())?;
    let query = query.searching(&call.params, &VEVENT, Audience::Pro)?;
    let include_past = flag(&call.params, "include_past", false)?;
    let (now, audience) = (call.now, call.audience());
    let render =
        move |row: &Vevent, scope: &Scope<'_>| render(row, scope, audience, now, &Map::new());
    let after = if include_past { INSTANT_MIN } else { now };
    match call.caller() {
        Caller::Account(account) => {
            let rows = account.own().map(|fiche| call.state.appointments_of(fiche).len()).sum();
            page(&call, rows, query, own(Arc::clone(account), after), |_, _| true, render).await
        }
        Caller::Application | Caller::Pro(_) => {
            page(&call, call.state.rows.len(), query, live(after), |_, _| true, render).await
        }
    }
}

/// Finds the live appointments that end after a moment, without looking at any other.
fn live(after: Instant) -> impl for<'r> Fn(&'r GroupState) -> Vec<&'r Vevent> + Send + 'static {
    move |state| {
        let ids = state
            .calendars
            .values()
            .flat_map(|view| view.taken.ending_after(after))
            .map(|taken| taken.id);
        ids.map(|id| &**state.rows.get(&id).expect("whoever takes time has a row")).collect()
    }
}

/// The same of an account's own.
fn own(
    account: Arc<Account>,
    after: Instant,
) -> impl for<'r> Fn(&'r GroupState) -> Vec<&'r Vevent> + Send + 'static {
    move |state| {
        let live = account.own().flat_map(|fiche| state.appointments_of(fiche));
        let ids = live.filter(|taken| taken.interval.end > after).map(|taken| taken.id);
        ids.map(|id| &**state.rows.get(&id).expect("whoever takes time has a row")).collect()
    }
}

/// GET /api/v1/groups/:group_id/appointments/:id, by a professional, its client's account or by the appointment's secret.
pub(crate) fn show(call: &GroupCall) -> Outcome {
    let id = call.id(VeventId::new)?;
    let row = call.state.rows.get(&id).ok_or_else(ApiError::no_result)?;
    let appointment = row.appointment().ok_or_else(ApiError::no_result)?;
    let knows_secret =
        || call.params.one("key").is_some_and(|secret| appointment.key.matches(secret));
    if is_own(call.caller(), row) || knows_secret() {
        Ok(shown(row, &call.scope(), call))
    } else {
        Err(ApiError::no_result())
    }
}

/// DELETE /api/v1/groups/:group_id/appointments/:id, by a professional, its client's account or by the appointment's
/// secret.
pub(crate) async fn cancel(call: GroupCall) -> Outcome {
    let id = call.id(VeventId::new)?;
    let owned = call.state.rows.get(&id).is_some_and(|row| is_own(call.caller(), row));
    let right = match call.caller() {
        Caller::Pro(_) => CancelRight::Pro,
        Caller::Account(account) if owned => CancelRight::Account(Arc::clone(account)),
        Caller::Account(_) | Caller::Application => {
            CancelRight::Secret(call.params.one("key").unwrap_or_default().to_owned())
        }
    };
    let command = Command::CancelAppointment(CancelAppointment { id, right });
    let done = call.write(call.unless_quiet(command, "appointment")).await?;
    let row = done.group_state.rows.get(&id).ok_or_else(ApiError::no_result)?;
    Ok(shown(row, &Scope::of(&done.group_state), &call))
}

/// Whether a row is the caller's without any secret.
fn is_own(caller: &Caller, row: &Vevent) -> bool {
    match caller {
        Caller::Pro(_) => true,
        Caller::Account(account) => {
            row.appointment().is_some_and(|appointment| account.owns(appointment.fiche_id))
        }
        Caller::Application => false,
    }
}

/// The appointment; to an account that knows only its secret, as to anybody who does.
fn shown(row: &Vevent, scope: &Scope<'_>, call: &GroupCall) -> Response {
    let audience = if is_own(call.caller(), row) { call.audience() } else { Audience::Application };
    ok(&Value::Object(render(row, scope, audience, call.now, &Map::new())))
}
