//! The code that proves the address of a client: asked for in the place of the form of step 3,
//! while the time is held. Reference 14.4.

use std::net::IpAddr;
use std::sync::Arc;

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::records::author::Author;
use crate::domain::records::channel::Channel;
use crate::domain::records::hold::{Hold, HoldState, HoldToken};
use crate::domain::state::command::{Caller, Command};
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::Refusal;
use crate::engine::Rejection;
use crate::http::{
    ApiError, GuardedRejection, GuardedWrite, LimitSubjects, confirmation, tries_left,
};
use crate::web::appointment_view::holder_query;
use crate::web::contact_fields::{form_fields, relative_fields};
use crate::web::done_step::done_url;
use crate::web::format;
use crate::web::message_page;
use crate::web::page::{Frame, Privacy, redirect, render, respond};
use crate::web::shop::Visit;
use crate::web::text::fill;
use crate::web::time_step::{ServiceLine, service_lines};
use crate::web::you_step::{Request, respond_with_form, respond_with_notice};
use crate::wire::field::Audience;
use crate::wire::params::Params;

/// The names of the fields that only this page sends.
const OWN_FIELDS: [&str; 5] = ["h", "code", "again", "edit", "longer"];

#[derive(Template)]
#[template(path = "web/code.html")]
struct CodePage<'v> {
    frame: Frame<'v>,
    services: Vec<ServiceLine>,
    /// The start in words, and in seconds since 1970.
    when: String,
    at: i64,
    /// The URL that the form is sent to.
    action: String,
    /// Names and values that the form keeps: all that was typed.
    kept: Vec<(String, String)>,
    sent: String,
    held: String,
    /// Seconds until the time is no longer held.
    left_seconds: i64,
    /// Whether the time can be held longer.
    can_extend: bool,
    fault: String,
    /// The key of a booking that gets another code.
    another_key: String,
}

/// Returns a form without the fields of this page, as step 3 sends it. `key` replaces its key.
pub(crate) fn without_code(given: &Params, key: Option<&str>) -> Params {
    let mut kept = form_urlencoded::Serializer::new(String::new());
    for (name, value) in given.iter() {
        if OWN_FIELDS.contains(&name) || (name == "k" && key.is_some()) {
            continue;
        }
        kept.append_pair(name, value);
    }
    if let Some(key) = key {
        kept.append_pair("k", key);
    }
    Params::from_query(&kept.finish())
}

/// Returns the response to a form that a booking with this token answered: the question for the
/// code, the booked appointments, or the form again if the time is no longer held.
pub(crate) async fn respond_to_waiting(
    visit: &Arc<Visit>,
    request: &Request,
    given: &Params,
    token: HoldToken,
    state: &GroupState,
) -> Response {
    let Some(hold) = state.holds().get(token.id()) else {
        return ask_again(visit, request, given, visit.text.code_expired);
    };
    match &hold.state {
        HoldState::Unconfirmed(_) if hold.is_live(visit.now) => {
            respond_with_code(visit, request, given, hold, "")
        }
        HoldState::Confirmed { appointments, .. } => {
            redirect(&done_url(visit, &holder_query(state, appointments)))
        }
        HoldState::Overwritten => {
            let taken = Refusal::NotAvailable { obstacles: Vec::new() };
            respond_with_form(visit, &request.renewed(visit), given, &[taken]).await
        }
        HoldState::Guessed => ask_again(visit, request, given, visit.text.codes_used),
        HoldState::Unconfirmed(_) | HoldState::Chosen => {
            ask_again(visit, request, given, visit.text.code_expired)
        }
    }
}

/// Holds the time of a booking for as many minutes again, once, and asks for the code again. The
/// extension counts as a hold in the limits on the public (Reference 6.11).
pub(crate) async fn extend(
    visit: &Arc<Visit>,
    request: &Request,
    given: &Params,
    token: HoldToken,
    from: IpAddr,
) -> Response {
    let typed = without_code(given, None);
    let server = &visit.pages.server;
    let group = visit.group().id;
    if server.is_group_full(&visit.state, &Caller::Application) {
        return message_page::failed(visit, &ApiError::group_full());
    }
    let subjects = LimitSubjects::of_page(group, None, from);
    let places = request.choice.services.len();
    let write = GuardedWrite::extension(group, token.id(), places, subjects, visit.now);
    let state = match write.send(server, Author::Visitor, None).await {
        Ok((done, _)) => done.group_state,
        // It was extended before, has ended, or the caller has held too much: the page says which.
        Err(
            GuardedRejection::Rejected(Rejection::Refused(_))
            | GuardedRejection::Limited(_)
            | GuardedRejection::NoCode { .. },
        ) => visit.newest_state(),
        Err(GuardedRejection::Rejected(rejection)) => {
            let error = ApiError::from_rejection(rejection, visit.zone(), Audience::Application);
            return message_page::failed(visit, &error);
        }
    };
    respond_to_waiting(visit, request, &typed, token, &state).await
}

/// Confirms a booking by the code of a form.
pub(crate) async fn confirm(
    visit: &Arc<Visit>,
    request: &Request,
    given: &Params,
    token: HoldToken,
) -> Response {
    let digits: String = given.value("code").unwrap_or_default().split_whitespace().collect();
    let server = &visit.pages.server;
    let group = visit.group().id;
    let typed = without_code(given, None);
    let Some(command) = confirmation(server, group, token.id(), &digits) else {
        return match visit.state.holds().get(token.id()) {
            Some(hold) if hold.is_live(visit.now) => {
                respond_with_code(visit, request, &typed, hold, visit.text.code_missing)
            }
            _ => respond_to_waiting(visit, request, &typed, token, &visit.state).await,
        };
    };
    let hold = visit.state.holds().get(token.id());
    let is_waiting = matches!(hold.map(|hold| &hold.state), Some(HoldState::Unconfirmed(_)));
    // A lost answer is given again also by a full group.
    if is_waiting && server.is_group_full(&visit.state, &Caller::Application) {
        return message_page::failed(visit, &ApiError::group_full());
    }
    match server
        .engine
        .write(group, Author::Visitor, Command::ConfirmBooking(Box::new(command)))
        .await
    {
        Ok(done) if done.appointments.is_empty() => {
            let left = tries_left(&done, token.id());
            match done.group_state.holds().get(token.id()) {
                Some(hold) if left > 0 && hold.is_live(visit.now) => {
                    let fault = fill(visit.text.code_wrong, "left", &left.to_string());
                    respond_with_code(visit, request, &typed, hold, &fault)
                }
                _ => respond_to_waiting(visit, request, &typed, token, &done.group_state).await,
            }
        }
        Ok(done) => {
            server.settle_code(group, token.id());
            redirect(&done_url(visit, &holder_query(&done.group_state, &done.appointments)))
        }
        Err(Rejection::Refused(refusals)) => match refusals.first() {
            // The token names no booking that waits.
            Some(Refusal::InvalidParameter(_)) => {
                respond_to_waiting(visit, request, &typed, token, &visit.state).await
            }
            _ => respond_with_form(visit, request, &typed, &refusals).await,
        },
        Err(rejection) => {
            let error = ApiError::from_rejection(rejection, visit.zone(), Audience::Application);
            message_page::failed(visit, &error)
        }
    }
}

/// Returns the form with everything that was typed, after its code can no longer be given.
fn ask_again(visit: &Visit, request: &Request, given: &Params, sentence: &str) -> Response {
    respond_with_notice(visit, &request.renewed(visit), given, vec![sentence.to_owned()])
}

/// Returns the page that asks for the code of a hold, where no other code could be sent.
pub(crate) fn code_again(
    visit: &Visit,
    request: &Request,
    given: &Params,
    hold: &Hold,
    sentence: &str,
) -> Response {
    respond_with_code(visit, request, given, hold, sentence)
}

/// Returns the page that asks for the code of a hold, with the fault of the code before.
fn respond_with_code(
    visit: &Visit,
    request: &Request,
    given: &Params,
    hold: &Hold,
    fault: &str,
) -> Response {
    let text = visit.text;
    let mut kept: Vec<(String, String)> = vec![("h".to_owned(), hold.token.as_str().to_owned())];
    kept.extend(request.kept().into_iter().map(|(name, value)| (name.to_owned(), value)));
    let mut channel = Channel::Mail;
    if let HoldState::Unconfirmed(booking) = &hold.state {
        channel = booking.channel;
    }
    // The address as it was typed: that of a known client may be spelt in another way.
    let (sent, recipient) = match channel {
        Channel::Mail => (text.code_mailed, "fiche.email"),
        Channel::Sms => (text.code_texted, "fiche.firstphone"),
    };
    let recipient = given.value(recipient).unwrap_or_default();
    let fields = form_fields(visit, given).into_iter().chain(relative_fields(text, given));
    let filled = fields.filter(|field| !field.value.is_empty());
    kept.extend(filled.map(|field| (field.name, field.value)));
    let until = visit.zone().civil_of(hold.expires_at);
    let title = text.code_title;
    let page = CodePage {
        frame: if fault.is_empty() { visit.frame(title) } else { visit.fault_frame(title) },
        services: service_lines(visit, &request.choice),
        when: visit.when_civil(request.start),
        at: request.instant(visit).0,
        action: visit.url("/you", &[]),
        kept,
        sent: fill(sent, "to", recipient),
        held: fill(text.code_held, "until", &format::clock(visit.language(), until)),
        left_seconds: hold.expires_at.seconds_since(visit.now),
        can_extend: !hold.is_extended,
        fault: fault.to_owned(),
        another_key: visit.pages.new_form_key(),
    };
    let status = if fault.is_empty() { StatusCode::OK } else { StatusCode::BAD_REQUEST };
    respond(status, Privacy::Client, render(&page))
}
