//! Pages of a group with one message.

use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::Response;

use crate::http::ApiError;
use crate::web::bare_page::MessagePage;
use crate::web::page::{Privacy, render, respond};
use crate::web::reason_text::Reasons;
use crate::web::shop::Visit;
use crate::web::text::fill;

/// Seconds of a minute: times in words have no smaller unit.
const MINUTE_SECONDS: i64 = 60;

/// Returns a page with a title, some lines and the phone number.
pub(crate) fn of_group(
    visit: &Visit,
    status: StatusCode,
    title: &str,
    lines: Vec<String>,
    has_way_back: bool,
) -> Response {
    let back = if has_way_back { visit.url("", &[]) } else { String::new() };
    let frame = visit.frame(title);
    let page = MessagePage { frame, title, lines, shows_phone: true, back };
    respond(status, Privacy::Client, render(&page))
}

/// Returns a page with a line, and the sentence to call the group if it has a phone number.
pub(crate) fn with_call(visit: &Visit, title: &str, line: String, has_way_back: bool) -> Response {
    of_group(visit, StatusCode::OK, title, lines_with_call(visit, line), has_way_back)
}

/// Returns the page of a booking whose code the server has no gateway for.
pub(crate) fn no_code(visit: &Visit) -> Response {
    let reason = Reasons::in_language(visit.language()).code_never;
    let lines = lines_with_call(visit, reason.to_owned());
    let status = StatusCode::SERVICE_UNAVAILABLE;
    of_group(visit, status, visit.text.no_code_title, lines, true)
}

/// Returns the moment some seconds from now in words, in the shop's zone, rounded up to a minute.
pub(crate) fn when_after(visit: &Visit, seconds: i64) -> String {
    let moment = visit.now.plus_seconds(seconds + MINUTE_SECONDS - 1);
    visit.when(moment)
}

/// Returns a line, and the sentence to call the group if it has a phone number.
pub(crate) fn lines_with_call(visit: &Visit, line: String) -> Vec<String> {
    let mut lines = vec![line];
    let phone = visit.group().phone.as_str();
    if !phone.trim().is_empty() {
        lines.push(fill(visit.text.call, "phone", phone));
    }
    lines
}

/// Returns the page of an overloaded server.
pub(crate) fn busy(visit: &Visit) -> Response {
    let lines = vec![visit.text.busy.to_owned()];
    let status = StatusCode::SERVICE_UNAVAILABLE;
    let mut response = of_group(visit, status, visit.text.busy_title, lines, false);
    response.headers_mut().insert(RETRY_AFTER, 60.into());
    response
}

/// Returns the page of an error that lies not with the fields of the form.
pub(crate) fn failed(visit: &Visit, error: &ApiError) -> Response {
    let text = visit.text;
    let status =
        StatusCode::from_u16(error.status()).expect("the table of errors holds HTTP statuses");
    let (title, lines) = match (status, error.retry_seconds()) {
        (StatusCode::TOO_MANY_REQUESTS, seconds) => {
            let seconds = seconds.map_or(MINUTE_SECONDS, i64::from);
            let reason = Reasons::in_language(visit.language()).retry_from;
            let line = fill(reason, "when", &when_after(visit, seconds));
            (text.too_many_tries_title, lines_with_call(visit, line))
        }
        (_, Some(_)) => (text.busy_title, vec![text.busy.to_owned()]),
        (_, None) => (text.refused_title, vec![text.failed.to_owned()]),
    };
    let mut response = of_group(visit, status, title, lines, true);
    if let Some(seconds) = error.retry_seconds() {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}
