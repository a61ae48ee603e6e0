//! The second step of the login of professionals: a code. Reference 15.1.

use askama::Template;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;

use crate::http::{AuthRequest, CodeResult};
use crate::web::page::{Privacy, redirect, render, respond};
use crate::web::practice::form::ScreenForm;
use crate::web::practice::frame::ScreenFrame;
use crate::web::practice::message;
use crate::web::practice::next_page::{CODE_PATH, lead_on, logged_in, step_url};
use crate::web::practice::screen_request::ScreenRequest;
use crate::web::practice::texts::second_factor::SecondFactorTexts;
use crate::wire::params::Params;

#[derive(Template)]
#[template(path = "web/practice/login_code.html")]
struct CodeScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static SecondFactorTexts,
    /// The form's own address.
    action: String,
    login_url: String,
    /// The sentence of a code that is not accepted; empty without one.
    fault: &'static str,
}

/// GET /login/code. Without the proof of a password it leads to the login.
pub(crate) async fn show(request: ScreenRequest, headers: HeaderMap) -> Response {
    if request.login.is_some() {
        return lead_on(&request);
    }
    let authenticator = &request.pages.server.authenticator;
    if !authenticator.awaits_code(&headers, &request.directory, request.now) {
        return redirect(&step_url(&request, "/login"));
    }
    respond_with_form(&request, StatusCode::OK, "")
}

/// POST /login/code. After some wrong codes the password is asked for again.
pub(crate) async fn log_in(form: ScreenForm) -> Response {
    let ScreenForm { request, given, parts } = form;
    let server = &request.pages.server;
    let auth = AuthRequest::of_page(
        server.engine.published(),
        &request.directory,
        &parts,
        &request.params,
        request.from,
        request.now,
    );
    let text = SecondFactorTexts::in_language(request.language());
    match server.authenticator.log_in_by_code(given_code(&given), &auth).await {
        Ok(CodeResult::LoggedIn(cookies)) => logged_in(&request, cookies),
        Ok(CodeResult::WrongCode) => {
            respond_with_form(&request, StatusCode::UNAUTHORIZED, text.wrong_code)
        }
        Ok(CodeResult::CodesExhausted) => {
            respond_with_form(&request, StatusCode::UNAUTHORIZED, text.exhausted)
        }
        Ok(CodeResult::Over) => redirect(&step_url(&request, "/login")),
        Err(error) => message::failed(&request, &error),
    }
}

/// Returns the code of a form: the recovery code, if one is given.
pub(crate) fn given_code(given: &Params) -> &str {
    match given.value("recovery") {
        Some(recovery) if !recovery.trim().is_empty() => recovery,
        Some(_) | None => given.value("code").unwrap_or_default(),
    }
}

fn respond_with_form(request: &ScreenRequest, status: StatusCode, fault: &'static str) -> Response {
    let text = SecondFactorTexts::in_language(request.language());
    let screen = CodeScreen {
        frame: request.frame(text.code_title),
        text,
        action: step_url(request, CODE_PATH),
        login_url: step_url(request, "/login"),
        fault,
    };
    respond(status, Privacy::Client, render(&screen))
}
