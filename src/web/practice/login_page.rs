//! The login of professionals. Reference 15.1.

use askama::Template;
use axum::http::StatusCode;
use axum::http::header::SET_COOKIE;
use axum::response::Response;

use crate::http::{AuthRequest, ScreenLogin, ScreenLoginResult};
use crate::web::page::{Privacy, redirect, render, respond};
use crate::web::practice::forgotten;
use crate::web::practice::form::ScreenForm;
use crate::web::practice::frame::ScreenFrame;
use crate::web::practice::message;
use crate::web::practice::next_page::{CODE_PATH, lead_on, logged_in, step_url};
use crate::web::practice::screen_request::ScreenRequest;
use crate::web::practice::texts::login::LoginTexts;
use crate::wire::params::Params;

#[derive(Template)]
#[template(path = "web/practice/login.html")]
struct LoginScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static LoginTexts,
    /// The form's own address.
    action: String,
    email: &'v str,
    stays: bool,
    forgotten_url: String,
    /// Whether the address or the password was wrong.
    is_wrong: bool,
}

/// GET /login. A professional who is logged in goes on at once.
pub(crate) async fn show(request: ScreenRequest) -> Response {
    if request.login.is_some() {
        return lead_on(&request);
    }
    respond_with_form(&request, StatusCode::OK, &request.params)
}

/// POST /login. Another login of the same browser ends.
pub(crate) async fn log_in(form: ScreenForm) -> Response {
    let ScreenForm { request, given, parts } = form;
    let server = &request.pages.server;
    let published = server.engine.published();
    let auth = AuthRequest::of_page(
        published,
        &request.directory,
        &parts,
        &request.params,
        request.from,
        request.now,
    );
    let login = ScreenLogin {
        email: given.value("email").unwrap_or_default(),
        password: given.value("password").unwrap_or_default(),
        stays: given.value("stay").is_some(),
    };
    match server.authenticator.log_in_at_screens(login, &auth).await {
        Ok(ScreenLoginResult::LoggedIn(cookies)) => logged_in(&request, cookies),
        Ok(ScreenLoginResult::CodeNeeded(cookie)) => {
            let mut response = redirect(&step_url(&request, CODE_PATH));
            response.headers_mut().append(SET_COOKIE, cookie);
            response
        }
        Ok(ScreenLoginResult::Wrong) => {
            respond_with_form(&request, StatusCode::UNAUTHORIZED, &given)
        }
        Err(error) => message::failed(&request, &error),
    }
}

/// Returns the form. After a wrong password it keeps all but the password.
fn respond_with_form(request: &ScreenRequest, status: StatusCode, given: &Params) -> Response {
    let text = LoginTexts::in_language(request.language());
    let screen = LoginScreen {
        frame: request.frame(text.title),
        text,
        action: step_url(request, "/login"),
        email: given.value("email").unwrap_or_default(),
        stays: given.value("stay").is_some(),
        forgotten_url: request.url(forgotten::PATH, &[]),
        is_wrong: status == StatusCode::UNAUTHORIZED,
    };
    respond(status, Privacy::Client, render(&screen))
}
