//! Screens with one message.

use askama::Template;
use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::Response;

use crate::domain::directory::access::AccessRefusal;
use crate::domain::directory::roles::GroupRight;
use crate::engine::AccessError;
use crate::http::ApiError;
use crate::web::page::{Privacy, render, respond};
use crate::web::practice::frame::ScreenFrame;
use crate::web::practice::screen_request::ScreenRequest;
use crate::web::text::fill;

/// Seconds of a minute, the unit in which a person is asked to wait.
const MINUTE_SECONDS: u32 = 60;

#[derive(Template)]
#[template(path = "web/practice/login_over.html")]
struct LoginOverScreen<'v> {
    frame: ScreenFrame<'v>,
    login: String,
}

#[derive(Template)]
#[template(path = "web/practice/message.html")]
struct MessageScreen<'v> {
    frame: ScreenFrame<'v>,
    line: &'v str,
    /// The way on.
    start: String,
}

/// Returns the answer to a request without a login. A form that was typed while the login ended
/// gets a page that stays at its address, so that the browser can send it once more.
pub(crate) fn login_needed(request: &ScreenRequest) -> Response {
    if !request.is_form() {
        return request.lead_to_login();
    }
    let screen = LoginOverScreen {
        frame: request.frame(request.text().over_title),
        login: request.url("/login", &[]),
    };
    respond(StatusCode::UNAUTHORIZED, Privacy::Client, render(&screen))
}

/// Returns the page that says that there is no such screen, or none of the person's groups.
pub(crate) fn not_found(request: &ScreenRequest) -> Response {
    let text = request.text();
    with_line(request, StatusCode::NOT_FOUND, text.not_found_title, text.not_found)
}

/// Returns the page of a form that a page of another site sends.
pub(crate) fn foreign(request: &ScreenRequest) -> Response {
    let text = request.text();
    with_line(request, StatusCode::FORBIDDEN, text.foreign_title, text.foreign)
}

/// Returns the page that says which right the role of the person lacks.
pub(crate) fn lacks(request: &ScreenRequest, right: GroupRight) -> Response {
    let text = request.text();
    let line = match right {
        GroupRight::Agenda => text.lacks_agenda,
        GroupRight::Clients => text.lacks_clients,
        GroupRight::Settings
        | GroupRight::Team
        | GroupRight::Keys
        | GroupRight::Export
        | GroupRight::History => text.lacks_administration,
    };
    with_line(request, StatusCode::FORBIDDEN, text.lacks_title, line)
}

/// Returns the page of a change of keys or professionals that was not made. Where the screen has no
/// words for the reason, what was to be changed is there no more.
pub(crate) fn not_changed(request: &ScreenRequest, error: AccessError) -> Response {
    match error {
        AccessError::Refused(AccessRefusal::Lacks(right)) => lacks(request, right),
        AccessError::Refused(_) => not_found(request),
        AccessError::Rejected(rejection) => failed(request, &ApiError::from_store(rejection)),
    }
}

/// Returns the page of an error that lies not with the fields of a form.
pub(crate) fn failed(request: &ScreenRequest, error: &ApiError) -> Response {
    let text = request.text();
    let status =
        StatusCode::from_u16(error.status()).expect("the table of errors holds HTTP statuses");
    let mut response = match (status, error.retry_seconds()) {
        (StatusCode::TOO_MANY_REQUESTS, seconds) => {
            let minutes = seconds.unwrap_or(MINUTE_SECONDS).div_ceil(MINUTE_SECONDS);
            let line = fill(text.too_many, "minutes", &minutes.to_string());
            with_line(request, status, text.too_many_title, &line)
        }
        (StatusCode::FORBIDDEN, None) => {
            with_line(request, status, text.lacks_title, text.lacks_some)
        }
        (_, Some(_)) => with_line(request, status, text.busy_title, text.busy),
        (_, None) => with_line(request, status, text.failed_title, text.failed),
    };
    if let Some(seconds) = error.retry_seconds() {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}

/// Returns a page with a title and a line.
pub(crate) fn with_line(
    request: &ScreenRequest,
    status: StatusCode,
    title: &str,
    line: &str,
) -> Response {
    let start = request.url("/p", &[]);
    let screen = MessageScreen { frame: request.frame(title), line, start };
    respond(status, Privacy::Client, render(&screen))
}
