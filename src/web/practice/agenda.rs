//! The agenda of a group: the appointments of today.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::records::ids::VeventId;
use crate::domain::time::DAY;
use crate::domain::time::interval_set::Interval;
use crate::web::format;
use crate::web::page::{Privacy, redirect, render, respond};
use crate::web::practice::frame::{ScreenFrame, Section};
use crate::web::practice::texts::agenda::AgendaTexts;
use crate::web::practice::visit::ProVisit;

#[derive(Template)]
#[template(path = "web/practice/agenda.html")]
struct AgendaScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static AgendaTexts,
    day: String,
    rows: Vec<AgendaRow>,
}

/// An appointment in words.
struct AgendaRow {
    time: String,
    client: String,
    service: String,
    calendar: String,
}

/// GET /p/{urlname}.
pub(crate) async fn lead(visit: ProVisit) -> Response {
    redirect(&visit.url(Section::Agenda.path(), &[]))
}

/// GET /p/{urlname}/agenda.
pub(crate) async fn show(visit: ProVisit) -> Response {
    let language = visit.language();
    let text = AgendaTexts::in_language(language);
    let today = visit.zone().civil_of(visit.request.now).day();
    let screen = AgendaScreen {
        frame: visit.frame(text.title, Section::Agenda),
        text,
        day: format::day(language, today),
        rows: find_rows(&visit),
    };
    respond(StatusCode::OK, Privacy::Client, render(&screen))
}

/// Returns the live appointments of today, by start.
fn find_rows(visit: &ProVisit) -> Vec<AgendaRow> {
    let zone = visit.zone();
    let midnight = zone.civil_of(visit.request.now).day().midnight();
    let start = zone.instant_of(midnight);
    let end = zone.instant_of(midnight.plus_seconds(DAY));
    let mut found = Vec::new();
    for view in visit.state.calendars.values() {
        for taken in view.taken.overlapping(Interval { start, end }) {
            found.push((taken.interval.start, taken.id));
        }
    }
    found.sort_unstable();
    found.iter().filter_map(|(_, id)| make_row(visit, *id)).collect()
}

fn make_row(visit: &ProVisit, id: VeventId) -> Option<AgendaRow> {
    let catalogue = &visit.state.catalogue;
    let vevent = visit.state.rows.get(&id)?;
    let appointment = vevent.appointment()?;
    let client = visit.state.fiches.get(&appointment.fiche_id)?;
    let names = format!("{} {}", client.firstname.as_str(), client.lastname.as_str());
    let service = catalogue.interventions.get(&appointment.intervention_id);
    let calendar = catalogue.calendars.get(&vevent.calendar_id);
    Some(AgendaRow {
        time: format::time(visit.zone().civil_of(appointment.start)),
        client: names.trim().to_owned(),
        service: service.map_or("", |service| service.name.as_str()).to_owned(),
        calendar: calendar.map_or("", |calendar| calendar.name.as_str()).to_owned(),
    })
}
