//! Pages of a group with one message.

use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::Response;

use crate::web::bare_page::MessagePage;
use crate::web::page::{Privacy, render, respond};
use crate::web::shop::Visit;

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

/// Returns the page of an overloaded server.
pub(crate) fn busy(visit: &Visit) -> Response {
    let lines = vec![visit.text.busy.to_owned()];
    let status = StatusCode::SERVICE_UNAVAILABLE;
    let mut response = of_group(visit, status, visit.text.busy_title, lines, false);
    response.headers_mut().insert(RETRY_AFTER, 60.into());
    response
}
