//! Another password of a professional who is logged in. Reference 15.1.

use std::sync::Arc;

use askama::Template;
use axum::extract::FromRequestParts as _;
use axum::http::StatusCode;
use axum::http::header::SET_COOKIE;
use axum::response::Response;

use crate::http::{AuthRequest, LoginCookies, OwnPassword, PasswordChange};
use crate::web::page::{Privacy, redirect, render, respond};
use crate::web::practice::form::ScreenForm;
use crate::web::practice::frame::{ScreenFrame, Section};
use crate::web::practice::message;
use crate::web::practice::texts::own_password::OwnPasswordTexts;
use crate::web::practice::visit::ProVisit;

/// The path below `/p/<urlname>`.
pub(crate) const PATH: &str = "/password";

#[derive(Template)]
#[template(path = "web/practice/own_password.html")]
struct OwnPasswordScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static OwnPasswordTexts,
    action: String,
    /// The list of logins.
    logins: String,
    /// The sentence of a wrong present password; empty without a fault.
    current_fault: &'static str,
    /// The same of the new one.
    new_fault: &'static str,
}

/// GET /p/{urlname}/password.
pub(crate) async fn show(visit: ProVisit) -> Response {
    respond_with_form(&visit, StatusCode::OK, "", "")
}

/// POST /p/{urlname}/password. The login of this browser goes on as a new one, and all others end.
pub(crate) async fn change(form: ScreenForm) -> Response {
    let ScreenForm { request, given, mut parts } = form;
    let pages = Arc::clone(&request.pages);
    let visit = match ProVisit::from_request_parts(&mut parts, &pages).await {
        Ok(visit) => visit,
        Err(answer) => return answer,
    };
    let text = OwnPasswordTexts::in_language(visit.language());
    let passwords = OwnPassword {
        current: given.value("current").unwrap_or_default(),
        new: given.value("password").unwrap_or_default(),
    };
    let server = &pages.server;
    let auth = AuthRequest::of_page(
        server.engine.published(),
        &visit.request.directory,
        &parts,
        &visit.request.params,
        visit.request.from,
        visit.request.now,
    );
    let changed = server.authenticator.change_own_password(visit.login, passwords, &auth).await;
    let cookies = match changed {
        Ok(PasswordChange::Done(LoginCookies(cookies))) => cookies,
        Ok(PasswordChange::WrongCurrent) => {
            return respond_with_form(&visit, StatusCode::BAD_REQUEST, text.wrong_current, "");
        }
        Ok(PasswordChange::UnfitNew) => {
            return respond_with_form(&visit, StatusCode::BAD_REQUEST, "", text.unfit_new);
        }
        Err(error) => return message::failed(&visit.request, &error),
    };
    let mut response = redirect(&visit.url(Section::Logins.path(), &[("changed", "1")]));
    for cookie in cookies {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    response
}

fn respond_with_form(
    visit: &ProVisit,
    status: StatusCode,
    current_fault: &'static str,
    new_fault: &'static str,
) -> Response {
    let text = OwnPasswordTexts::in_language(visit.language());
    let screen = OwnPasswordScreen {
        frame: visit.frame(text.title, Section::Logins),
        text,
        action: visit.url(PATH, &[]),
        logins: visit.url(Section::Logins.path(), &[]),
        current_fault,
        new_fault,
    };
    respond(status, Privacy::Client, render(&screen))
}
