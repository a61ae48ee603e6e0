//! The calendar file of appointments, for those who hold their secrets.

use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;

use crate::domain::records::vevent::Vevent;
use crate::notify::mail_appointment::render_calendar_file;
use crate::web::appointment_view::held_appointments;
use crate::web::message_page;
use crate::web::shop::UnlistedVisit;

/// GET /b/{urlname}/appointment.ics. Groups without a booking page have it too, for the pages
/// behind the links of their mails.
pub(crate) async fn show(UnlistedVisit(visit): UnlistedVisit) -> Response {
    let held = held_appointments(&visit.state, &visit.params);
    let mut live: Vec<&Vevent> = Vec::new();
    for vevent in held {
        if !vevent.deleted {
            live.push(vevent);
        }
    }
    if live.is_empty() {
        let lines = vec![visit.text.gone.to_owned()];
        let title = visit.text.your_appointment;
        return message_page::of_group(&visit, StatusCode::NOT_FOUND, title, lines, true);
    }
    let file = render_calendar_file(&visit.state, &live, visit.now);
    let mut response = Response::new(Body::from(file));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/calendar; charset=utf-8"));
    let disposition = HeaderValue::from_static("attachment; filename=\"appointment.ics\"");
    headers.insert(CONTENT_DISPOSITION, disposition);
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}
