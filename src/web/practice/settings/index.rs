//! The first screen of the settings: the way to each part.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::web::page::{Privacy, render, respond};
use crate::web::practice::feeds;
use crate::web::practice::frame::{ScreenFrame, Section};
use crate::web::practice::settings::part::Part;
use crate::web::practice::team;
use crate::web::practice::texts::feeds::FeedsTexts;
use crate::web::practice::texts::settings::SettingsTexts;
use crate::web::practice::texts::team::TeamTexts;
use crate::web::practice::visit::ProVisit;

#[derive(Template)]
#[template(path = "web/practice/settings.html")]
struct SettingsScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static SettingsTexts,
    parts: Vec<PartLink>,
    /// The booking page; empty if the group has none.
    preview_url: String,
}

struct PartLink {
    title: &'static str,
    about: &'static str,
    url: String,
}

/// GET /p/{urlname}/settings.
pub(crate) async fn show(visit: ProVisit) -> Response {
    let text = SettingsTexts::in_language(visit.language());
    let parts = Part::ALL.into_iter().map(|part| PartLink {
        title: part.title(text),
        about: part.about(text),
        url: visit.url(&part.path(), &[]),
    });
    let team_text = TeamTexts::in_language(visit.language());
    let team = PartLink {
        title: team_text.title,
        about: team_text.about,
        url: visit.url(team::PATH, &[]),
    };
    let feeds_text = FeedsTexts::in_language(visit.language());
    let feeds = PartLink {
        title: feeds_text.title,
        about: feeds_text.settings_about,
        url: visit.url(feeds::PATH, &[]),
    };
    let group = visit.group();
    let screen = SettingsScreen {
        frame: visit.frame(text.title, Section::Settings),
        text,
        parts: parts.chain([team, feeds]).collect(),
        preview_url: if group.web_page { visit.booking_page_url() } else { String::new() },
    };
    respond(StatusCode::OK, Privacy::Client, render(&screen))
}
