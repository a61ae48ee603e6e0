//! The form of a move, and what it says to refusals. Reference 15.6.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::records::ids::VeventId;
use crate::domain::records::vevent::Vevent;
use crate::domain::state::refusal::{Refusal, Refusals};
use crate::web::page::{Privacy, render, respond};
use crate::web::practice::agenda::entry::title_of;
use crate::web::practice::displaced::question::Question;
use crate::web::practice::event_move::target::{EventPlace, TargetView};
use crate::web::practice::event_page::event_revision;
use crate::web::practice::frame::{ScreenFrame, Section};
use crate::web::practice::message;
use crate::web::practice::obstacle_words::{ObstacleWords, interval_in_words, obstacles_in_words};
use crate::web::practice::revision::{REVISION, faults_among};
use crate::web::practice::texts::agenda::AgendaTexts;
use crate::web::practice::texts::event::EventTexts;
use crate::web::practice::visit::ProVisit;
use crate::wire::params::Params;

#[derive(Template)]
#[template(path = "web/practice/move.html")]
struct MoveScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static EventTexts,
    action: String,
    back: String,
    is_absence: bool,
    /// The client of an appointment, or the text of an absence.
    name: String,
    /// The present time and calendar of the event.
    present: String,
    /// The same as the form sends it, by which the script takes the move back.
    from: TargetView,
    from_calendar: u64,
    form: MoveForm,
}

/// The state of the form.
pub(crate) struct MoveForm {
    pub(crate) target: TargetView,
    pub(crate) revision: String,
    mails: bool,
    /// Obstacles to the target.
    pub(crate) words: ObstacleWords,
    /// Whether the event was changed since the form was opened.
    is_overtaken: bool,
    /// The target in words, beside the present time of an event that was changed meanwhile.
    wanted: String,
    /// The target whose warnings the form shows, for the second press; empty without warnings.
    pub(crate) seen: String,
    /// The question about the appointments that the move displaces.
    pub(crate) question: Option<Box<Question>>,
}

impl MoveForm {
    /// Returns the form that an address opens.
    pub(crate) fn open(visit: &ProVisit, row: &Vevent, present: EventPlace) -> Self {
        let mut form = Self::fill_in(visit, present, &visit.request.params);
        form.revision = event_revision(visit, row.id);
        form.mails = true;
        form
    }

    /// Returns the form as it was sent.
    pub(crate) fn fill_in(visit: &ProVisit, present: EventPlace, given: &Params) -> Self {
        Self {
            target: TargetView::fill_in(visit, present, given),
            revision: given.value(REVISION).unwrap_or_default().to_owned(),
            mails: given.value("mail").is_some(),
            words: ObstacleWords::default(),
            is_overtaken: false,
            wanted: String::new(),
            seen: String::new(),
            question: None,
        }
    }
}

/// Returns the screen of a move that is refused when it is decided.
pub(crate) fn refuse(
    mut visit: ProVisit,
    id: VeventId,
    mut form: MoveForm,
    target: EventPlace,
    refusals: Refusals,
) -> Response {
    visit.renew();
    let Some(row) = visit.state.rows.get(&id) else { return message::not_found(&visit.request) };
    let status = match refusals.first() {
        Some(Refusal::NoResult) => return message::not_found(&visit.request),
        Some(Refusal::PreconditionFailed(_)) => {
            form.is_overtaken = true;
            form.wanted = place_in_words(&visit, target);
            form.revision = event_revision(&visit, id);
            StatusCode::PRECONDITION_FAILED
        }
        // Another client came first.
        Some(Refusal::NotAvailable { obstacles }) => {
            form.words = obstacles_in_words(&visit, obstacles);
            StatusCode::CONFLICT
        }
        _ => {
            let faults = faults_among(refusals);
            form.target.others = faults.into_iter().map(|fault| fault.rule).collect();
            StatusCode::BAD_REQUEST
        }
    };
    respond_with_form(&visit, status, row, form)
}

/// The time and the calendar of a place in words.
fn place_in_words(visit: &ProVisit, place: EventPlace) -> String {
    let calendar = visit.state.catalogue.calendars.get(&place.calendar);
    let name = calendar.map_or("", |calendar| calendar.name.as_str());
    format!("{} · {name}", interval_in_words(visit, place.interval))
}

/// Returns the screen of a form. An event that can no longer be moved is not found.
pub(crate) fn respond_with_form(
    visit: &ProVisit,
    status: StatusCode,
    row: &Vevent,
    form: MoveForm,
) -> Response {
    let Some(present) = EventPlace::find(row, visit.zone()) else {
        return message::not_found(&visit.request);
    };
    let text = EventTexts::in_language(visit.language());
    let here = format!("/events/{}", row.id);
    let client = row.fiche_id().and_then(|id| visit.state.fiches.get(&id));
    let client = client.map(|client| client.names());
    let title = if present.is_absence { text.move_absence_title } else { text.move_title };
    let screen = MoveScreen {
        frame: visit.frame(title, Section::Agenda),
        text,
        action: visit.url(&format!("{here}/move"), &[]),
        back: visit.url(&here, &[]),
        is_absence: present.is_absence,
        name: title_of(row, client, AgendaTexts::in_language(visit.language())),
        present: place_in_words(visit, present),
        from: TargetView::fill_in(visit, present, &Params::from_query("")),
        from_calendar: row.calendar_id.number(),
        form,
    };
    respond(status, Privacy::Client, render(&screen))
}
