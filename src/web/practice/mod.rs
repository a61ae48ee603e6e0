//! The practice's own screens: `/login`, `/logout`, and `/p/<urlname>/…` for professionals who are
//! logged in. Reference 15.
//!
//! A screen is rendered on the server and works without JavaScript. It begins with a
//! [`visit::ProVisit`], or with a [`form::ProForm`] if it sends something.

mod agenda;
mod choose;
mod forgotten;
mod form;
mod frame;
mod login_page;
mod logins;
mod logout;
mod message;
pub(crate) mod new_password;
mod next_page;
pub(crate) mod screen_request;
mod texts;
mod visit;

use std::sync::Arc;

use axum::Router;
use axum::routing::get;

use crate::web::pages::Pages;

/// The routes of the screens.
pub(crate) fn routes() -> Router<Arc<Pages>> {
    Router::new()
        .route("/login", get(login_page::show).post(login_page::log_in))
        .route(forgotten::PATH, get(forgotten::show).post(forgotten::ask))
        .route("/logout", get(logout::show).post(logout::log_out))
        .route("/p", get(choose::show))
        .route("/p/{urlname}", get(agenda::lead))
        .route("/p/{urlname}/agenda", get(agenda::show))
        .route("/p/{urlname}/logins", get(logins::show).post(logins::end))
}
