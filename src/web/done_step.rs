//! The page after a booking: what was booked, the calendar file, and the way to change it. Once all
//! of it is cancelled, the page says so, and offers it again.

use std::sync::Arc;

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::records::vevent::Vevent;
use crate::web::appointment_view::{
    AppointmentView, calendar_file_url, held_appointments, view_appointment,
};
use crate::web::embedding::booked_message;
use crate::web::holder::can_search;
use crate::web::message_page;
use crate::web::page::{Frame, Privacy, render, respond};
use crate::web::shop::Visit;

#[derive(Template)]
#[template(path = "web/done.html")]
struct DonePage<'v> {
    frame: Frame<'v>,
    title: &'static str,
    appointments: Vec<AppointmentView>,
    /// Whether a mail confirms the booking.
    has_mail: bool,
    /// Whether the form had booked before, with other details.
    was_used: bool,
    /// Whether the public may see free times, without which nothing is moved.
    can_move: bool,
    ics_url: String,
    again_url: String,
    /// The message about the booking for the page around the frame; empty without one.
    booked: String,
}

#[derive(Template)]
#[template(path = "web/done_cancelled.html")]
struct CancelledPage<'v> {
    frame: Frame<'v>,
    title: &'static str,
    sentence: &'static str,
    appointments: Vec<AppointmentView>,
    /// The first page of a booking.
    again_url: String,
}

/// Returns the URL of this page with the query that proves to hold its appointments.
pub(crate) fn done_url(visit: &Visit, query: &str) -> String {
    let url = visit.url("/done", &[]);
    let separator = if url.contains('?') { '&' } else { '?' };
    format!("{url}{separator}{query}")
}

/// GET /b/{urlname}/done.
pub(crate) async fn show(visit: Visit) -> Response {
    let text = visit.text;
    let mut held = held_appointments(&visit.state, &visit.params);
    let is_cancelled = !held.is_empty() && held.iter().all(|vevent| vevent.deleted);
    if is_cancelled {
        return respond_cancelled(&visit, &held);
    }
    held.retain(|vevent| !vevent.deleted);
    if held.is_empty() {
        let lines = vec![text.gone.to_owned()];
        let status = StatusCode::NOT_FOUND;
        return message_page::of_group(&visit, status, text.your_appointment, lines, true);
    }
    let title = if held.len() > 1 { text.done_title_many } else { text.done_title };
    let mut appointments = Vec::new();
    let mut has_mail = visit.group().sendmail;
    for vevent in &held {
        appointments.extend(view_appointment(&visit, vevent));
        let client = vevent.appointment().and_then(|it| visit.state.fiches.get(&it.fiche_id));
        has_mail &= client.is_some_and(|client| client.email.is_some());
    }
    let was_used = visit.params.value("used").is_some();
    let tells_site = visit.embedder().is_some() && !was_used;
    let page = DonePage {
        frame: visit.frame(title),
        title,
        appointments,
        has_mail,
        was_used,
        can_move: can_search(visit.group()),
        ics_url: calendar_file_url(&visit, &held),
        again_url: visit.url("", &[]),
        booked: if tells_site { booked_message(&held) } else { String::new() },
    };
    respond(StatusCode::OK, Privacy::Holder, render(&page))
}

/// Returns the page of a booking whose appointments are all cancelled. It says no more than the
/// page of each appointment, which the same secrets open.
fn respond_cancelled(visit: &Visit, held: &[&Arc<Vevent>]) -> Response {
    let text = visit.text;
    let (title, sentence) = if held.len() > 1 {
        (text.cancelled_many, text.are_cancelled)
    } else {
        (text.cancelled, text.is_cancelled)
    };
    let page = CancelledPage {
        frame: visit.frame(title),
        title,
        sentence,
        appointments: held.iter().filter_map(|vevent| view_appointment(visit, vevent)).collect(),
        again_url: visit.url("", &[]),
    };
    respond(StatusCode::OK, Privacy::Holder, render(&page))
}
