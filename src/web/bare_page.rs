//! Pages that belong to no group.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::notify::language::Language;
use crate::web::language_choice;
use crate::web::page::{Frame, Privacy, render, respond};
use crate::web::pages::Pages;
use crate::web::text::texts;

/// A page with one message and, where it helps, the phone number and a way back.
#[derive(Template)]
#[template(path = "web/message.html")]
pub(crate) struct MessagePage<'v> {
    pub(crate) frame: Frame<'v>,
    pub(crate) title: &'v str,
    pub(crate) lines: Vec<String>,
    /// Whether the page offers the phone number.
    pub(crate) shows_phone: bool,
    /// A link back; empty for none.
    pub(crate) back: String,
}

/// Returns a page that belongs to no group.
pub(crate) fn without_group(
    pages: &Pages,
    language: Language,
    status: StatusCode,
    title: &str,
    line: &str,
) -> Response {
    let frame = frame_without_group(pages, language, title);
    let lines = vec![line.to_owned()];
    let page = MessagePage { frame, title, lines, shows_phone: false, back: String::new() };
    respond(status, Privacy::Client, render(&page))
}

/// Returns the frame of a page that belongs to no group.
pub(crate) fn frame_without_group(
    pages: &Pages,
    language: Language,
    title: &str,
) -> Frame<'static> {
    Frame {
        lang: language_choice::tag(language),
        text: texts(language),
        title: title.to_owned(),
        style_url: pages.assets.style_url(),
        script_url: pages.assets.script_url(),
        colours_url: String::new(),
        other_lang: "",
        other_url: String::new(),
        embedder: String::new(),
        is_preview: false,
        shop_lang: "",
        place: None,
    }
}
