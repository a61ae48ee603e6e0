//! The team of a group: its professionals, their roles, and invitations. Reference 15.14.

pub(crate) mod invitation_page;
mod list;
mod member;
pub(crate) mod role_form;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

use crate::web::pages::Pages;

/// The path of the list below `/p/<urlname>`.
pub(crate) const PATH: &str = "/settings/team";

/// The routes of the team.
pub(crate) fn routes() -> Router<Arc<Pages>> {
    Router::new()
        .route("/p/{urlname}/settings/team", get(list::show).post(list::invite))
        .route("/p/{urlname}/settings/team/invitations/{id}", post(list::withdraw))
        .route("/p/{urlname}/settings/team/{id}", get(member::show).post(member::change))
        .route(
            "/p/{urlname}/settings/team/{id}/remove",
            get(member::ask_removal).post(member::remove),
        )
}
