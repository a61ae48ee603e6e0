//! Appointments on pages for those who hold their secrets.

use std::sync::Arc;

use crate::domain::availability::postal_address::PostalAddress;
use crate::domain::records::ids::VeventId;
use crate::domain::records::vevent::Vevent;
use crate::domain::state::group_state::GroupState;
use crate::notify::links::cancel_url;
use crate::notify::mail_appointment::address_lines;
use crate::web::shop::Visit;
use crate::wire::params::Params;

/// Maximum number of appointments in the query of a page: those of the longest booking.
const HELD_MAX: usize = 100;

/// An appointment in words.
pub(crate) struct AppointmentView {
    pub(crate) when: String,
    pub(crate) what: String,
    pub(crate) whom: String,
    /// The address, line by line.
    pub(crate) place: Vec<String>,
    /// The page to move or cancel it.
    pub(crate) manage_url: String,
}

/// Returns the value that proves to hold an appointment: its id and its secret.
pub(crate) fn holder_pair(vevent: &Vevent) -> Option<String> {
    let appointment = vevent.appointment()?;
    Some(format!("{}.{}", vevent.id, appointment.key.as_str()))
}

/// Returns the query that proves to hold some appointments.
pub(crate) fn holder_query(state: &GroupState, appointments: &[VeventId]) -> String {
    let vevents = appointments.iter().filter_map(|id| state.rows.get(id));
    let values = vevents.filter_map(|vevent| holder_pair(vevent));
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(values.map(|value| ("a", value))).finish()
}

/// Returns the appointments that the values `a` of a query prove to hold, in their order. Wrong
/// values are left out.
pub(crate) fn held_appointments<'s>(
    state: &'s GroupState,
    params: &Params,
) -> Vec<&'s Arc<Vevent>> {
    let mut held = Vec::new();
    for (name, value) in params.iter() {
        if name != "a" || held.len() == HELD_MAX {
            continue;
        }
        let Some((id, key)) = value.split_once('.') else { continue };
        let Some(id) = id.parse().ok().and_then(VeventId::new) else { continue };
        if let Some(vevent) = state.rows.get(&id)
            && let Some(appointment) = vevent.appointment()
            && appointment.key.matches(key)
        {
            held.push(vevent);
        }
    }
    held
}

/// Returns an appointment in words. `None` for another kind of event.
pub(crate) fn view_appointment(visit: &Visit, vevent: &Vevent) -> Option<AppointmentView> {
    let catalogue = &visit.state.catalogue;
    let appointment = vevent.appointment()?;
    let calendar = catalogue.calendars.get(&vevent.calendar_id);
    let intervention = catalogue.interventions.get(&appointment.intervention_id);
    let place = match calendar {
        Some(calendar) => PostalAddress::of_calendar(catalogue, calendar),
        None => PostalAddress::of_group(catalogue),
    };
    Some(AppointmentView {
        when: visit.when(appointment.start),
        what: intervention.map_or("", |it| it.publicname.as_str()).to_owned(),
        whom: calendar.map_or("", |calendar| calendar.publicname.as_str()).to_owned(),
        place: address_lines(place),
        manage_url: cancel_url("", visit.group().id, vevent.id, &appointment.key),
    })
}

/// Returns the URL of the calendar file of some appointments.
pub(crate) fn calendar_file_url(visit: &Visit, vevents: &[&Arc<Vevent>]) -> String {
    let values = vevents.iter().filter_map(|vevent| holder_pair(vevent));
    let pairs: Vec<_> = values.map(|value| ("a", value)).collect();
    visit.url("/appointment.ics", &pairs)
}
