//! The record of an event. Reference 15.6.

use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::records::customfield::Model;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::ids::VeventId;
use crate::domain::records::vevent::{Appointment, State, Vevent};
use crate::domain::state::history::row::{HistoryObject, ObjectKind};
use crate::http::show_vevent_later;
use crate::web::contact_fields::FieldView;
use crate::web::page::{Privacy, render, respond};
use crate::web::practice::agenda::way_back::way_back;
use crate::web::practice::appointment_lines::{ListedAppointment, appointment_lines};
use crate::web::practice::book_again::book_again_url;
use crate::web::practice::frame::{ScreenFrame, Section};
use crate::web::practice::history_lines::{ObjectHistory, history_beside};
use crate::web::practice::message;
use crate::web::practice::message_lines::{MessageLine, message_lines};
use crate::web::practice::obstacle_words::interval_in_words;
use crate::web::practice::record_fields::{
    Fact, VersionRow, attribute_fields, facts, fiche_fields, vevent_fields,
};
use crate::web::practice::record_path::RecordPath;
use crate::web::practice::revision::revision;
use crate::web::practice::series_event;
use crate::web::practice::texts::event::EventTexts;
use crate::web::practice::texts::form::FormTexts;
use crate::web::practice::visit::ProVisit;
use crate::wire::field::Audience;

#[derive(Template)]
#[template(path = "web/practice/event.html")]
struct EventScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static EventTexts,
    form: &'static FormTexts,
    /// The way back to the event in the agenda.
    back: String,
    /// The address of this screen.
    here: String,
    /// The address of the forms of this screen.
    state_action: String,
    cancel_action: String,
    restore_action: String,
    move_url: String,
    facts: Vec<Fact>,
    /// Whether the professional changes it.
    is_writable: bool,
    is_cancelled: bool,
    /// A sentence about what was done or refused; empty without one.
    notice: String,
    is_refusal: bool,
    presence: &'static str,
    choices: Vec<StateChoice>,
    client: ClientView,
    messages: Vec<MessageLine>,
    sends_mails: bool,
    can_mail: bool,
    previous: Vec<ListedAppointment>,
    next: Vec<ListedAppointment>,
    history: Option<ObjectHistory>,
    edit: DetailsForm,
}

/// A state that a button sets.
struct StateChoice {
    number: i64,
    label: &'static str,
}

/// The client of an appointment.
struct ClientView {
    name: String,
    /// The address of the record; empty if the professional does not read it.
    url: String,
    /// The form of another appointment; empty likewise.
    book_again: String,
    facts: Vec<Fact>,
}

/// The form of the comments and the customised attributes.
pub(crate) struct DetailsForm {
    pub(crate) fields: Vec<FieldView>,
    /// The revision that it was filled in on.
    pub(crate) revision: String,
    /// Sentences about the whole form.
    pub(crate) others: Vec<String>,
    pub(crate) has_faults: bool,
    /// The fields in which the record differs, if it was changed meanwhile.
    pub(crate) versions: Vec<VersionRow>,
}

/// The refusal that the screen shows beside the record.
pub(crate) enum Notice {
    None,
    /// Nothing was done, and why.
    Refused(String),
}

/// GET /p/{urlname}/events/{id}.
pub(crate) async fn show(Path(path): Path<RecordPath>, visit: ProVisit) -> Response {
    let Some(row) = path.id(VeventId::new).and_then(|id| visit.state.rows.get(&id)) else {
        return message::not_found(&visit.request);
    };
    match row.appointment() {
        Some(appointment) => {
            let read_log = &visit.request.pages.server.read_log;
            let client = appointment.fiche_id;
            read_log.note_client(visit.group().id, visit.author(), client, visit.request.now);
            respond_with_event(&visit, StatusCode::OK, row, None, Notice::None)
        }
        None => series_event::show(&visit, row).await,
    }
}

/// The revision of an event in the state of a visit.
pub(crate) fn event_revision(visit: &ProVisit, id: VeventId) -> String {
    revision(show_vevent_later(id, Audience::Pro)(&visit.state))
}

/// The fields of an appointment that its form changes.
pub(crate) fn details_fields(visit: &ProVisit, row: &Vevent) -> Vec<FieldView> {
    let names = ["comments", "internal_comments"];
    let mut fields = vevent_fields(&visit.state, row, &names, visit.language());
    let customs = row.rare.as_deref().map(|rare| &rare.customs);
    fields.extend(attribute_fields(&visit.state, Model::Vevent, customs));
    fields
}

/// Returns the record of an appointment. Without a form that was refused, its form is that of the
/// record as it is.
pub(crate) fn respond_with_event(
    visit: &ProVisit,
    status: StatusCode,
    row: &Vevent,
    edit: Option<DetailsForm>,
    notice: Notice,
) -> Response {
    let Some(appointment) = row.appointment() else { return message::not_found(&visit.request) };
    let Some(client) = visit.state.fiches.get(&appointment.fiche_id) else {
        return message::not_found(&visit.request);
    };
    let text = EventTexts::in_language(visit.language());
    let form = FormTexts::in_language(visit.language());
    let here = format!("/events/{}", row.id);
    let edit = edit.unwrap_or_else(|| DetailsForm {
        fields: details_fields(visit, row),
        revision: event_revision(visit, row.id),
        others: Vec::new(),
        has_faults: false,
        versions: Vec::new(),
    });
    let taken = visit.appointments_of(client.id);
    let ids: Vec<VeventId> = taken.iter().map(|taken| taken.id).collect();
    let before = taken.partition_point(|taken| taken.interval.start < appointment.start);
    let other = |id: &&VeventId| **id != row.id;
    let previous = ids[..before].iter().rev().find(other).copied();
    let next = ids[before..].iter().find(other).copied();
    let is_done = status == StatusCode::OK;
    let notice_text = match notice {
        Notice::Refused(ref sentence) => sentence.clone(),
        Notice::None if is_done && visit.request.params.value("saved").is_some() => {
            form.saved.to_owned()
        }
        Notice::None if is_done && visit.request.params.value("moved").is_some() => {
            text.moved.to_owned()
        }
        Notice::None => String::new(),
    };
    let sends_mails = visit.group().sendmail;
    let screen = EventScreen {
        frame: visit.frame(text.title, Section::Agenda),
        text,
        form,
        back: way_back(visit, row),
        here: visit.url(&here, &[]),
        state_action: visit.url(&format!("{here}/state"), &[]),
        cancel_action: visit.url(&format!("{here}/cancel"), &[]),
        restore_action: visit.url(&format!("{here}/restore"), &[]),
        move_url: visit.url(&format!("{here}/move"), &[]),
        facts: appointment_facts(visit, row, appointment, text),
        is_writable: visit.role().writes_on(row.calendar_id),
        is_cancelled: row.deleted,
        notice: notice_text,
        is_refusal: matches!(notice, Notice::Refused(_)),
        presence: presence_in_words(appointment.state, text),
        choices: state_choices(appointment.state, text),
        client: view_client(visit, row, client),
        messages: message_lines(visit, row),
        sends_mails,
        can_mail: sends_mails && !client.deleted && client.email.is_some(),
        previous: appointment_lines(visit, previous.into_iter()),
        next: appointment_lines(visit, next.into_iter()),
        history: history_beside(
            visit,
            HistoryObject { kind: ObjectKind::Vevent, id: row.id.number() },
        ),
        edit,
    };
    respond(status, Privacy::Client, render(&screen))
}

fn appointment_facts(
    visit: &ProVisit,
    row: &Vevent,
    appointment: &Appointment,
    text: &EventTexts,
) -> Vec<Fact> {
    let catalogue = &visit.state.catalogue;
    let calendar = catalogue.calendars.get(&row.calendar_id);
    let service = catalogue.interventions.get(&appointment.intervention_id);
    let taker = row.rare.as_deref().map_or("", |rare| rare.taker.as_str());
    let origin = if appointment.from_web { text.from_web } else { text.from_practice };
    let fact =
        |label: &str, value: String| Fact { label: label.to_owned(), value, url: String::new() };
    let mut facts = vec![
        fact(text.when, interval_in_words(visit, appointment.interval())),
        fact(text.calendar, calendar.map_or("", |it| it.name.as_str()).to_owned()),
        fact(text.service, service.map_or("", |it| it.name.as_str()).to_owned()),
        fact(text.origin, origin.to_owned()),
    ];
    if !taker.trim().is_empty() {
        facts.push(fact(text.taker, taker.to_owned()));
    }
    facts
}

fn view_client(visit: &ProVisit, row: &Vevent, client: &Fiche) -> ClientView {
    let id = client.id.to_string();
    // Only the client's cancelled appointments are on the professional's own calendars.
    if !visit.state.shows_client(&visit.sight(), client.id) {
        return ClientView {
            name: client.names(),
            url: String::new(),
            book_again: String::new(),
            facts: Vec::new(),
        };
    }
    let mut fields = fiche_fields(&visit.state, client, visit.language());
    fields.retain(|field| !field.is_checkbox() && !field.name.ends_with("name"));
    ClientView {
        name: client.names(),
        url: visit.url(&format!("/clients/{id}"), &[]),
        book_again: book_again_url(visit, client.id, Some(row)),
        facts: facts(&fields, visit.language()),
    }
}

const fn presence_in_words(state: State, text: &EventTexts) -> &'static str {
    match state {
        State::InProgress => text.state_open,
        State::Attended => text.state_attended,
        State::NoShow => text.state_no_show,
        State::Pending => text.state_pending,
    }
}

/// The states that buttons set, without the present one.
fn state_choices(present: State, text: &EventTexts) -> Vec<StateChoice> {
    let all = [
        (State::Attended, text.attended),
        (State::NoShow, text.no_show),
        (State::InProgress, text.back),
    ];
    let others = all.into_iter().filter(|(state, _)| *state != present);
    others.map(|(state, label)| StateChoice { number: state.number(), label }).collect()
}
