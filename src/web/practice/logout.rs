//! The logout of a professional. Reference 15.1.

use askama::Template;
use axum::http::StatusCode;
use axum::http::header::SET_COOKIE;
use axum::response::Response;

use crate::web::page::{Privacy, redirect, render, respond};
use crate::web::practice::form::ScreenForm;
use crate::web::practice::frame::ScreenFrame;
use crate::web::practice::message;
use crate::web::practice::screen_request::ScreenRequest;
use crate::web::practice::texts::login::LoginTexts;

#[derive(Template)]
#[template(path = "web/practice/logout.html")]
struct LogoutScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static LoginTexts,
    action: String,
}

/// GET /logout: asks, since GET changes nothing.
pub(crate) async fn show(request: ScreenRequest) -> Response {
    if request.login.is_none() {
        return redirect(&request.url("/login", &[]));
    }
    let text = LoginTexts::in_language(request.language());
    let action = request.url("/logout", &[]);
    let screen = LogoutScreen { frame: request.frame(text.logout_title), text, action };
    respond(StatusCode::OK, Privacy::Client, render(&screen))
}

/// POST /logout.
pub(crate) async fn log_out(form: ScreenForm) -> Response {
    let request = form.request;
    match request.pages.server.authenticator.log_out_at_screens(request.login).await {
        Ok(cookie) => {
            let mut response = redirect(&request.url("/login", &[]));
            response.headers_mut().append(SET_COOKIE, cookie);
            response
        }
        Err(error) => message::failed(&request, &error),
    }
}
