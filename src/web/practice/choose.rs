//! The page `/p`: the only group of a professional, or the choice among several.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::web::group_path::practice_path;
use crate::web::page::{Privacy, redirect, render, respond};
use crate::web::practice::frame::{ScreenFrame, Section};
use crate::web::practice::message;
use crate::web::practice::screen_request::ScreenRequest;

#[derive(Template)]
#[template(path = "web/practice/choose.html")]
struct ChooseScreen<'v> {
    frame: ScreenFrame<'v>,
    groups: Vec<GroupChoice>,
}

/// A group of the professional.
struct GroupChoice {
    name: String,
    town: String,
    url: String,
}

/// GET /p.
pub(crate) async fn show(request: ScreenRequest) -> Response {
    let Some(login) = request.login else { return request.lead_to_login() };
    let published = request.pages.server.engine.published();
    let mut groups = Vec::new();
    for group in &request.pro(login).groups {
        let Some(state) = published.group_state(*group) else { continue };
        let group = &state.catalogue.group;
        groups.push(GroupChoice {
            name: group.name.as_str().to_owned(),
            town: group.city.as_str().to_owned(),
            url: request.url(&practice_path(group, Section::Agenda.path()), &[]),
        });
    }
    let text = request.text();
    match &groups[..] {
        [] => {
            let status = StatusCode::SERVICE_UNAVAILABLE;
            message::with_line(&request, status, text.busy_title, text.no_group)
        }
        [only] => redirect(&only.url),
        [_, _, ..] => {
            let screen = ChooseScreen { frame: request.frame(text.choose_title), groups };
            respond(StatusCode::OK, Privacy::Client, render(&screen))
        }
    }
}
