//! The page of one appointment, for the holder of its link: view, and cancel. Reference 14.6.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::records::author::Author;
use crate::domain::state::command::{CancelAppointment, CancelRight, Command};
use crate::domain::state::refusal::Refusal;
use crate::engine::Rejection;
use crate::web::appointment_view::{AppointmentView, calendar_file_url, view_appointment};
use crate::web::holder::{Holder, Stage};
use crate::web::message_page;
use crate::web::page::{Frame, Privacy, render, respond};
use crate::web::text::fill;

#[derive(Template)]
#[template(path = "web/manage.html")]
struct ManagePage<'v> {
    frame: Frame<'v>,
    title: &'static str,
    lines: Vec<String>,
    /// The appointment, cancelled or not.
    appointment: Option<AppointmentView>,
    shows_phone: bool,
    /// Empty for an appointment that is no longer in the future.
    ics_url: String,
    can_cancel: bool,
    /// Whether the page offers to book the same again.
    offers_again: bool,
    /// The page to choose another time on; empty if none can be chosen.
    move_url: String,
    /// The last moment for a change.
    until: String,
    /// The first page of a booking; empty without one.
    again_url: String,
}

/// Returns the page of an appointment.
pub(crate) fn show(holder: &Holder) -> Response {
    respond_with_appointment(holder, StatusCode::OK)
}

/// Returns the page of an appointment whose change was refused: it shows why.
pub(crate) fn show_refused(holder: &Holder) -> Response {
    respond_with_appointment(holder, StatusCode::BAD_REQUEST)
}

/// Returns the URL of the page of an appointment that was moved.
pub(crate) fn moved_url(holder: &Holder) -> String {
    holder.visit.url_of(&holder.path(), &[("moved", "1".to_owned())])
}

/// Cancels an appointment. One that was cancelled before stays so.
pub(crate) async fn cancel(mut holder: Holder) -> Response {
    let right = CancelRight::Secret(holder.key.clone());
    let command = Command::CancelAppointment(CancelAppointment { id: holder.id, right });
    let server = &holder.visit.pages.server;
    match server.engine.write(holder.visit.group().id, Author::Visitor, command).await {
        Ok(done) => {
            server.booking_limit.forget_cancelled(&done);
            holder.visit.state = done.group_state;
            respond_with_appointment(&holder, StatusCode::OK)
        }
        Err(Rejection::Refused(refusals)) => match refusals.first() {
            Some(Refusal::MintimeAnnulation { .. }) => {
                respond_with_appointment(&holder, StatusCode::BAD_REQUEST)
            }
            _ => {
                let visit = &holder.visit;
                let lines = vec![visit.text.gone.to_owned()];
                let title = visit.text.your_appointment;
                message_page::of_group(visit, StatusCode::NOT_FOUND, title, lines, false)
            }
        },
        Err(rejection) => {
            tracing::warn!(?rejection, "an appointment could not be cancelled by its link");
            message_page::busy(&holder.visit)
        }
    }
}

fn respond_with_appointment(holder: &Holder, status: StatusCode) -> Response {
    let visit = &holder.visit;
    let text = visit.text;
    let until = visit.when(holder.changeable_until());
    let (title, lines) = match holder.stage() {
        Stage::Cancelled => (text.cancelled, vec![text.is_cancelled.to_owned()]),
        Stage::Past => (text.your_appointment, vec![text.past.to_owned()]),
        Stage::TooLate => (text.too_late, vec![fill(text.too_late_why, "until", &until)]),
        Stage::Open if visit.params.value("moved").is_some() => {
            (text.moved, vec![text.is_moved.to_owned()])
        }
        Stage::Open => (text.your_appointment, Vec::new()),
    };
    let (is_live, is_open) = match holder.stage() {
        Stage::Cancelled | Stage::Past => (false, false),
        Stage::TooLate => (true, false),
        Stage::Open => (true, true),
    };
    let (vevent, _) = holder.appointment();
    let row = visit.state.rows.get(&holder.id).expect("a held appointment exists");
    let page = ManagePage {
        frame: visit.frame(title),
        title,
        lines,
        appointment: view_appointment(visit, vevent),
        shows_phone: is_live && !is_open,
        ics_url: if is_live { calendar_file_url(visit, &[row]) } else { String::new() },
        can_cancel: is_open,
        offers_again: !is_live,
        move_url: if is_open && holder.can_search() {
            visit.url_of(&format!("{}/move", holder.path()), &[])
        } else {
            String::new()
        },
        until: fill(text.until, "until", &until),
        again_url: if visit.group().web_page { visit.url("", &[]) } else { String::new() },
    };
    respond(status, Privacy::Holder, render(&page))
}
