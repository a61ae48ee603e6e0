//! The form of a professional who has forgotten the password. Reference 15.2.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::records::text::Email;
use crate::web::page::{Privacy, render, respond};
use crate::web::practice::form::ScreenForm;
use crate::web::practice::frame::ScreenFrame;
use crate::web::practice::message;
use crate::web::practice::screen_request::ScreenRequest;
use crate::web::practice::texts::forgotten::ForgottenTexts;

/// The path of the form.
pub(crate) const PATH: &str = "/login/forgotten";

#[derive(Template)]
#[template(path = "web/practice/forgotten.html")]
struct ForgottenScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static ForgottenTexts,
    /// The form's own address.
    action: String,
    email: &'v str,
    /// Whether the address is no address.
    is_bad: bool,
    /// The login.
    login_url: String,
}

/// GET /login/forgotten. Without a mail server it names the operator's command.
pub(crate) async fn show(request: ScreenRequest) -> Response {
    if !request.pages.server.mails_links() {
        return without_mails(&request, StatusCode::OK);
    }
    respond_with_form(&request, StatusCode::OK, "")
}

/// POST /login/forgotten. The answer is the same whether or not a professional has the address, and
/// waits for nothing that depends on it.
pub(crate) async fn ask(form: ScreenForm) -> Response {
    let ScreenForm { request, given, .. } = form;
    let server = &request.pages.server;
    if !server.mails_links() {
        return without_mails(&request, StatusCode::SERVICE_UNAVAILABLE);
    }
    let given = given.value("email").unwrap_or_default().trim();
    let Ok(email) = Email::new(given) else {
        return respond_with_form(&request, StatusCode::BAD_REQUEST, given);
    };
    if let Err(error) = server.links.count_requested(request.from, request.now) {
        return message::failed(&request, &error);
    }
    server.authenticator.mail_password_link(email, request.now);
    let text = ForgottenTexts::in_language(request.language());
    message::with_line(&request, StatusCode::OK, text.mailed_title, text.mailed)
}

fn without_mails(request: &ScreenRequest, status: StatusCode) -> Response {
    let text = ForgottenTexts::in_language(request.language());
    message::with_line(request, status, text.title, text.no_mail)
}

fn respond_with_form(request: &ScreenRequest, status: StatusCode, email: &str) -> Response {
    let text = ForgottenTexts::in_language(request.language());
    let screen = ForgottenScreen {
        frame: request.frame(text.title),
        text,
        action: request.url(PATH, &[]),
        email,
        is_bad: status == StatusCode::BAD_REQUEST,
        login_url: request.url("/login", &[]),
    };
    respond(status, Privacy::Client, render(&screen))
}
