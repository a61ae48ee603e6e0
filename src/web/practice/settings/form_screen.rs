//! The screen with the form of a record or of a part of the group's fields.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::records::fault::Fault;
use crate::domain::state::history::row::HistoryObject;
use crate::web::page::{Privacy, render, respond};
use crate::web::practice::frame::{ScreenFrame, Section};
use crate::web::practice::history_lines::{ObjectHistory, history_beside};
use crate::web::practice::settings::control::{Control, Element};
use crate::web::practice::settings::part::Part;
use crate::web::practice::texts::settings::SettingsTexts;
use crate::web::practice::visit::ProVisit;
use crate::wire::params::Params;

#[derive(Template)]
#[template(path = "web/practice/settings_form.html")]
struct FormScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static SettingsTexts,
    about: &'static str,
    back_url: String,
    back: &'static str,
    /// The address of the form, and of the same screen without what was typed.
    action: &'v str,
    reload_url: String,
    /// The revision that the form changes; empty for a new record.
    revision: &'v str,
    controls: Vec<Control>,
    attempt: &'v Attempt<'v>,
    is_saved: bool,
    delete_url: &'v str,
    /// The screen of the opening hours of a calendar; empty for another record.
    hours_url: &'v str,
    /// The lines of a preview of the settings; empty for other parts.
    preview: Vec<String>,
    /// The latest changes; `None` for a new record.
    history: Option<ObjectHistory>,
}

/// A form that was sent, and why it was not saved.
#[derive(Default)]
pub(crate) struct Attempt<'a> {
    /// The fields of the form; `None` if none was sent.
    pub(crate) given: Option<&'a Params>,
    pub(crate) faults: Vec<Fault>,
    /// A sentence about the whole form; empty without one.
    pub(crate) sentence: String,
    pub(crate) is_overtaken: bool,
}

/// The place of a form among the settings.
pub(crate) struct FormPlace {
    pub(crate) part: Part,
    pub(crate) title: String,
    /// Its path below `/p/<urlname>`.
    pub(crate) path: String,
    /// The revision that it changes; empty for a new record.
    pub(crate) revision: String,
    /// Whether it stands below the list of its part.
    pub(crate) is_in_list: bool,
    /// Whether the record can be deleted.
    pub(crate) can_be_deleted: bool,
    /// The path of the screen of its opening hours below `/p/<urlname>`, if it has one.
    pub(crate) hours_path: Option<String>,
    /// The record; `None` for a new one.
    pub(crate) object: Option<HistoryObject>,
    /// The lines of a preview of the settings; empty for other parts.
    pub(crate) preview: Vec<String>,
}

impl Attempt<'_> {
    fn is_refused(&self) -> bool {
        !self.is_overtaken && (!self.faults.is_empty() || !self.sentence.is_empty())
    }

    fn status(&self) -> StatusCode {
        if self.is_overtaken {
            StatusCode::PRECONDITION_FAILED
        } else if self.is_refused() {
            StatusCode::BAD_REQUEST
        } else {
            StatusCode::OK
        }
    }
}

/// Returns the screen of a form: 400 if it was refused, 412 if it was overtaken.
pub(crate) fn respond_with_form(
    visit: &ProVisit,
    place: &FormPlace,
    controls: Vec<Control>,
    attempt: &Attempt<'_>,
) -> Response {
    let text = SettingsTexts::in_language(visit.language());
    let action = visit.url(&place.path, &[]);
    let delete_url = if place.can_be_deleted {
        visit.url(&format!("{}/delete", place.path), &[])
    } else {
        String::new()
    };
    let hours_url = place.hours_path.as_ref().map(|path| visit.url(path, &[])).unwrap_or_default();
    let (back, back_path) = if place.is_in_list {
        (place.part.title(text), place.part.path())
    } else {
        (text.back, Section::Settings.path().to_owned())
    };
    let screen = FormScreen {
        frame: visit.frame(&place.title, Section::Settings),
        text,
        about: if place.is_in_list { "" } else { place.part.about(text) },
        back_url: visit.url(&back_path, &[]),
        back,
        reload_url: action.clone(),
        action: &action,
        revision: &place.revision,
        controls,
        attempt,
        is_saved: attempt.given.is_none() && visit.request.params.value("saved").is_some(),
        delete_url: &delete_url,
        preview: place.preview.clone(),
        hours_url: &hours_url,
        history: place.object.and_then(|object| history_beside(visit, object)),
    };
    respond(attempt.status(), Privacy::Client, render(&screen))
}
