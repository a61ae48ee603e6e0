//! The pages that move one appointment, for the holder of its link: another time, and its
//! confirmation. Reference 14.6.

use std::net::IpAddr;

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::availability::slot_request::OwnTime;
use crate::domain::decisions::appointment_move::moved_chain;
use crate::domain::records::author::Author;
use crate::domain::state::command::{Caller, CancelRight, MoveAppointment};
use crate::domain::state::refusal::Refusal;
use crate::domain::time::{Civil, CivilDay};
use crate::engine::Rejection;
use crate::http::{ApiError, GuardedRejection, LimitSubjects, move_within_limits};
use crate::web::appointment_view::{AppointmentView, view_appointment};
use crate::web::format::{iso_time, parse_start};
use crate::web::free_times::{FoundTimes, OtherTime, TimeSearch};
use crate::web::holder::{Holder, Stage};
use crate::web::manage_page;
use crate::web::message_page;
use crate::web::page::{Frame, Privacy, redirect, render, respond};
use crate::web::refusal_text::describe;
use crate::web::text::fill;
use crate::web::time_step::{nothing_free, read_days};
use crate::web::times_address::TimesAddress;
use crate::web::times_view::{TimesView, view_times};
use crate::wire::field::Audience;
use crate::wire::params::Params;

/// The choice of another time.
#[derive(Template)]
#[template(path = "web/move.html")]
struct MovePage<'v> {
    frame: Frame<'v>,
    appointment: Option<AppointmentView>,
    /// The page of the appointment.
    back_url: String,
    move_url: String,
    /// Names and values of the form around the starts.
    kept: Vec<(&'static str, String)>,
    times: TimesView,
}

/// The question whether to move to a chosen time; after a refusal, other times.
#[derive(Template)]
#[template(path = "web/move_confirm.html")]
struct ConfirmPage<'v> {
    frame: Frame<'v>,
    title: &'static str,
    appointment: Option<AppointmentView>,
    /// The sentences of a refusal; empty without one.
    refusals: Vec<String>,
    others: Vec<OtherTime>,
    /// The chosen time as in URLs, and in words; empty after a refusal.
    value: String,
    when: String,
    /// The same in seconds since 1970.
    at: i64,
    move_url: String,
}

/// Returns the search for other times of an appointment. Its own time counts as free.
fn search(holder: &Holder) -> TimeSearch {
    let (vevent, appointment) = holder.appointment();
    let own = OwnTime { hold: None, appointment: Some(vevent.id) };
    let calendars = vec![vevent.calendar_id];
    TimeSearch::new(&holder.visit, moved_chain(appointment), calendars, own)
}

/// GET /m/{token}/move: the times to choose from, or the question about the chosen one.
pub(crate) async fn show(holder: Holder) -> Response {
    let visit = &holder.visit;
    if let Some(refused) = find_refused(&holder) {
        return refused;
    }
    let search = search(&holder);
    let (_, appointment) = holder.appointment();
    if let Some(start) = visit.params.value("t").and_then(parse_start) {
        let taken = Refusal::NotAvailable { obstacles: Vec::new() };
        return match search.is_free(visit, visit.zone().instant_of(start)).await {
            Ok(true) => respond_with_question(&holder, start),
            Ok(false) => respond_with_refusals(&holder, start, &[taken]).await,
            Err(_) => message_page::busy(visit),
        };
    }
    let (week_day, month_day) = read_days(visit);
    // The visitor first sees the week that the appointment has now.
    let own_day = visit.zone().civil_of(appointment.start).day();
    let shown = week_day.or(if month_day.is_none() { Some(own_day) } else { None });
    match search.find_times(visit, shown, month_day).await {
        Ok(Some(found)) => respond_with_times(&holder, &search, &found, shown),
        Ok(None) => nothing_free(visit, &search),
        Err(_) => message_page::busy(visit),
    }
}

/// POST /m/{token}/move. The same time again changes nothing, so that a lost answer does no harm.
pub(crate) async fn act(mut holder: Holder, given: &Params, from: IpAddr) -> Response {
    let start = given.value("other").or_else(|| given.value("t")).and_then(parse_start);
    let Some(date) = start else { return redirect(&move_url(&holder)) };
    // Before everything else: an answer may have been lost.
    let (_, appointment) = holder.appointment();
    if appointment.civil_start == date && matches!(holder.stage(), Stage::Open | Stage::TooLate) {
        return redirect(&manage_page::moved_url(&holder));
    }
    if let Some(refused) = find_refused(&holder) {
        return refused;
    }
    if holder.visit.pages.server.is_group_full(&holder.visit.state, &Caller::Application) {
        return message_page::failed(&holder.visit, &ApiError::group_full());
    }
    let right = CancelRight::Secret(holder.key.clone());
    let command = MoveAppointment { id: holder.id, right, date, hold: None };
    let visit = &holder.visit;
    let server = &visit.pages.server;
    let subjects = LimitSubjects::of_page(visit.group().id, None, from);
    let moved = move_within_limits(
        server,
        Author::Visitor,
        &visit.state,
        command,
        None,
        subjects,
        visit.now,
    );
    match moved.await {
        Ok(_) => redirect(&manage_page::moved_url(&holder)),
        Err(GuardedRejection::Rejected(Rejection::Refused(refusals))) => {
            // The appointment may have changed since the page was asked for.
            let state = visit.newest_state();
            if state.rows.contains_key(&holder.id) {
                holder.visit.state = state;
            }
            if let Some(refused) = find_refused(&holder) {
                return refused;
            }
            respond_with_refusals(&holder, date, &refusals).await
        }
        Err(rejection) => {
            let error = rejection.into_error(visit.zone(), Audience::Application);
            message_page::failed(visit, &error)
        }
    }
}

/// Returns the page of an appointment that cannot be moved here: as it is now, or with the
/// telephone number.
fn find_refused(holder: &Holder) -> Option<Response> {
    let visit = &holder.visit;
    match holder.stage() {
        Stage::Cancelled | Stage::Past => Some(manage_page::show(holder)),
        Stage::TooLate => Some(manage_page::show_refused(holder)),
        Stage::Open if !holder.can_search() => {
            let lines = vec![visit.text.no_moves.to_owned()];
            let title = visit.text.your_appointment;
            Some(message_page::of_group(visit, StatusCode::OK, title, lines, false))
        }
        Stage::Open => None,
    }
}

fn move_url(holder: &Holder) -> String {
    holder.visit.url_of(&format!("{}/move", holder.path()), &[])
}

fn respond_with_times(
    holder: &Holder,
    search: &TimeSearch,
    found: &FoundTimes,
    shown: Option<CivilDay>,
) -> Response {
    let visit = &holder.visit;
    let (vevent, _) = holder.appointment();
    let address = TimesAddress { path: format!("{}/move", holder.path()), pairs: Vec::new() };
    let page = MovePage {
        frame: visit.frame(visit.text.move_title),
        appointment: view_appointment(visit, vevent),
        back_url: visit.url_of(&holder.path(), &[]),
        move_url: address.path.clone(),
        kept: visit.carried_pairs(),
        times: view_times(visit, &address, search, found, shown),
    };
    respond(StatusCode::OK, Privacy::Holder, render(&page))
}

fn respond_with_question(holder: &Holder, start: Civil) -> Response {
    let visit = &holder.visit;
    let (vevent, _) = holder.appointment();
    let title = visit.text.move_question;
    let page = ConfirmPage {
        frame: visit.frame(title),
        title,
        appointment: view_appointment(visit, vevent),
        refusals: Vec::new(),
        others: Vec::new(),
        value: iso_time(start),
        when: visit.when_civil(start),
        at: visit.zone().instant_of(start).0,
        move_url: move_url(holder),
    };
    respond(StatusCode::OK, Privacy::Holder, render(&page))
}

async fn respond_with_refusals(holder: &Holder, start: Civil, refusals: &[Refusal]) -> Response {
    let visit = &holder.visit;
    let text = visit.text;
    let when = visit.when_civil(start);
    let mut sentences = Vec::new();
    let mut wants_other_time = false;
    for refusal in refusals {
        let described = describe(visit, refusal, &[], &when);
        wants_other_time |= described.wants_other_time;
        sentences.push(if let Refusal::NotAvailable { .. } = refusal {
            fill(text.taken_move, "when", &when)
        } else {
            described.sentence
        });
    }
    let refused = visit.zone().instant_of(start);
    let others = if wants_other_time {
        search(holder).nearest_times(visit, refused).await
    } else {
        Vec::new()
    };
    let (vevent, _) = holder.appointment();
    let page = ConfirmPage {
        frame: visit.fault_frame(text.not_moved),
        title: text.not_moved,
        appointment: view_appointment(visit, vevent),
        refusals: sentences,
        others,
        value: String::new(),
        when,
        at: refused.0,
        move_url: move_url(holder),
    };
    respond(StatusCode::BAD_REQUEST, Privacy::Holder, render(&page))
}
