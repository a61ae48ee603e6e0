//! The history of the group, or of one object. Reference 15.13.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::web::page::{Privacy, render, respond};
use crate::web::practice::access_page;
use crate::web::practice::frame::{ScreenFrame, Section};
use crate::web::practice::history_lines::{HistoryLine, history_line, object_in_words};
use crate::web::practice::message;
use crate::web::practice::texts::history::HistoryTexts;
use crate::web::practice::visit::ProVisit;
use crate::web::text::fill;
use crate::wire::history::{is_known, parse_query};

#[derive(Template)]
#[template(path = "web/practice/history.html")]
struct HistoryScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static HistoryTexts,
    /// The sentence about the choice of rows.
    about: String,
    lines: Vec<HistoryLine>,
    nothing: &'static str,
    older_url: String,
    /// The way from one object to all of them; empty on the screen of all.
    all_url: String,
    /// The history of access; empty on the screen of one object.
    access_url: String,
}

/// GET /p/{urlname}/history, with the parameters of GET G/history. 404 for a wrong one.
pub(crate) async fn show(visit: ProVisit) -> Response {
    let text = HistoryTexts::in_language(visit.language());
    let params = &visit.request.params;
    let Ok(query) = parse_query(params, &visit.state, visit.request.now) else {
        return message::not_found(&visit.request);
    };
    if query.object.is_some_and(|object| !is_known(object, &visit.state)) {
        return message::not_found(&visit.request);
    }
    let page = visit.state.history.page(&query);
    let older_url = page.next.map_or_else(String::new, |next| {
        let below = next.to_string();
        let mut pairs = vec![("below", below.as_str())];
        for name in ["object", "author", "from", "to", "results"] {
            pairs.extend(params.value(name).map(|value| (name, value)));
        }
        visit.url(Section::History.path(), &pairs)
    });
    let about = match query.object {
        Some(object) => fill(text.about_one, "object", &object_in_words(&visit, object)),
        None => text.about.to_owned(),
    };
    let screen = HistoryScreen {
        frame: visit.frame(text.title, Section::History),
        text,
        about,
        lines: page.rows.iter().map(|row| history_line(&visit, row)).collect(),
        nothing: if page.next.is_some() { text.nothing_on_page } else { text.nothing },
        older_url,
        all_url: match query.object {
            Some(_) => visit.url(Section::History.path(), &[]),
            None => String::new(),
        },
        access_url: match query.object {
            Some(_) => String::new(),
            None => visit.url(access_page::PATH, &[]),
        },
    };
    respond(StatusCode::OK, Privacy::Client, render(&screen))
}
