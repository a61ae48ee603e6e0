//! Appointments as lines of a list.

use crate::domain::records::ids::VeventId;
use crate::domain::records::vevent::State;
use crate::domain::time::Instant;
use crate::notify::language::Language;
use crate::web::format;
use crate::web::practice::texts::client::ClientTexts;
use crate::web::practice::visit::ProVisit;

/// An appointment in words.
pub(crate) struct ListedAppointment {
    /// Its record.
    pub(crate) url: String,
    pub(crate) day: String,
    pub(crate) time: String,
    pub(crate) service: String,
    pub(crate) calendar: String,
    /// Whether the client came; empty while that is open.
    pub(crate) state: &'static str,
}

/// Returns a day with its year, `mardi 3 mars 2026`.
pub(crate) fn long_day(visit: &ProVisit, at: Instant) -> String {
    let day = visit.zone().civil_of(at).day();
    format!("{} {}", format::day(visit.language(), day), day.ymd().0)
}

/// Returns the lines of those appointments that the professional reads.
pub(crate) fn appointment_lines(
    visit: &ProVisit,
    ids: impl Iterator<Item = VeventId>,
) -> Vec<ListedAppointment> {
    ids.filter_map(|id| appointment_line(visit, id)).collect()
}

fn appointment_line(visit: &ProVisit, id: VeventId) -> Option<ListedAppointment> {
    let catalogue = &visit.state.catalogue;
    let vevent = visit.state.rows.get(&id).filter(|row| visit.sight().shows_vevent(row))?;
    let appointment = vevent.appointment()?;
    let service = catalogue.interventions.get(&appointment.intervention_id);
    let calendar = catalogue.calendars.get(&vevent.calendar_id);
    Some(ListedAppointment {
        url: visit.url(&format!("/events/{id}"), &[]),
        day: long_day(visit, appointment.start),
        time: format::time(visit.zone().civil_of(appointment.start)),
        service: service.map_or("", |service| service.name.as_str()).to_owned(),
        calendar: calendar.map_or("", |calendar| calendar.name.as_str()).to_owned(),
        state: state_in_words(appointment.state, visit.language()),
    })
}

/// Returns whether the client came, in words; empty while that is open.
pub(crate) fn state_in_words(state: State, language: Language) -> &'static str {
    let text = ClientTexts::in_language(language);
    match state {
        State::InProgress => "",
        State::Attended => text.attended,
        State::NoShow => text.no_show,
        State::Pending => text.pending,
    }
}
