//! Appointments on pages for those who hold their secrets.

use std::sync::Arc;

use crate::domain::availability::postal_address::PostalAddress;
use crate::domain::decisions::cancellation::changeable_until;
use crate::domain::records::ids::{CalendarId, InterventionId, VeventId};
use crate::domain::records::intervention::Intervention;
use crate::domain::records::vevent::{Appointment, Vevent};
use crate::domain::state::group_state::GroupState;
use crate::notify::links::cancel_url;
use crate::notify::mail_appointment::address_lines;
use crate::web::calendar_links::CalendarEntry;
use crate::web::choice::has_calendar_choice;
use crate::web::format;
use crate::web::map_link::map_url;
use crate::web::service_step::TIME_STEP;
use crate::web::shop::Visit;
use crate::web::text::fill;
use crate::wire::params::Params;

/// Maximum number of appointments in the query of a page: those of the longest booking.
const HELD_MAX: usize = 100;

/// An appointment in words.
pub(crate) struct AppointmentView {
    pub(crate) when: String,
    /// The start in seconds since 1970.
    pub(crate) at: i64,
    /// The end and the length: `9:30 am (30 min)`.
    pub(crate) end: String,
    pub(crate) what: String,
    /// The price, if the group shows prices; else empty.
    pub(crate) price: String,
    /// Things to bring: the texts of the service and of the group, as far as they are given.
    pub(crate) bring: Vec<String>,
    /// The attribute `lang` of texts that the shop wrote.
    pub(crate) lang: &'static str,
    pub(crate) whom: String,
    /// The address, line by line.
    pub(crate) place: Vec<String>,
    /// A map of the address; empty without one.
    pub(crate) map_url: String,
    /// Until when it can be moved and cancelled here, in words; else to call.
    pub(crate) until: String,
    /// Whether it can still be moved and cancelled here.
    pub(crate) is_changeable: bool,
    /// The page that books the same again; empty without a booking page.
    pub(crate) again_url: String,
    pub(crate) google_url: String,
    pub(crate) outlook_url: String,
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
    let place = address_lines(match calendar {
        Some(calendar) => PostalAddress::of_calendar(catalogue, calendar),
        None => PostalAddress::of_group(catalogue),
    });
    let group = visit.group();
    let text = visit.text;
    let until = changeable_until(&visit.state, vevent, appointment);
    let is_changeable = until >= visit.now;
    let what = intervention.map_or("", |it| it.publicname.as_str());
    let bring_texts =
        [intervention.map_or("", |it| it.bring_text.as_str()), group.bring_text.as_str()];
    let bring = bring_texts.into_iter().filter(|text| !text.trim().is_empty());
    let entry = CalendarEntry {
        summary: [what, group.name.as_str()].join(" – "),
        location: place.join(", "),
        interval: appointment.interval(),
    };
    Some(AppointmentView {
        when: visit.when(appointment.start),
        at: appointment.start.0,
        end: describe_end(visit, appointment),
        what: what.to_owned(),
        price: intervention.map_or_else(String::new, |it| shown_price(visit, it)),
        bring: bring.map(str::to_owned).collect(),
        lang: visit.shop_lang(),
        whom: calendar.map_or("", |calendar| calendar.publicname.as_str()).to_owned(),
        map_url: map_url(&place),
        place,
        until: if is_changeable {
            fill(text.change_until, "until", &visit.when(until))
        } else {
            text.change_by_phone.to_owned()
        },
        is_changeable,
        again_url: again_url(visit, vevent.calendar_id, appointment.intervention_id),
        google_url: entry.google_url(),
        outlook_url: entry.outlook_url(),
        manage_url: cancel_url("", group.id, vevent.id, &appointment.key),
    })
}

/// Returns the end of an appointment and its length. The day is named only if it is another one.
fn describe_end(visit: &Visit, appointment: &Appointment) -> String {
    let language = visit.language();
    let interval = appointment.interval();
    let [start, end] = [interval.start, interval.end].map(|at| visit.zone().civil_of(at));
    let end = if start.day() == end.day() {
        format::clock(language, end)
    } else {
        format::moment(language, end)
    };
    format!("{end} ({})", format::length(language, i64::from(appointment.minutes())))
}

/// Returns the price of a service; empty if the group shows none.
fn shown_price(visit: &Visit, intervention: &Intervention) -> String {
    let group = visit.group();
    match intervention.price {
        Some(cents) if group.display_intervention_price => {
            format::price(visit.language(), cents.number(), group.currency_code)
        }
        Some(_) | None => String::new(),
    }
}

/// Returns the page with the times of a service and calendar, as far as both are offered; empty
/// without a booking page.
fn again_url(visit: &Visit, calendar: CalendarId, intervention: InterventionId) -> String {
    let group = visit.group();
    let catalogue = &visit.state.catalogue;
    if !group.web_page {
        return String::new();
    }
    if catalogue.intervention_hidden(intervention).is_some() {
        return visit.url("", &[]);
    }
    let mut pairs = vec![("s", intervention.to_string())];
    if has_calendar_choice(group) && visit.offers_all(calendar, &[intervention]) {
        pairs.push(("c", calendar.to_string()));
    }
    visit.url(TIME_STEP, &pairs)
}

/// Returns the URL of the calendar file of some appointments.
pub(crate) fn calendar_file_url(visit: &Visit, vevents: &[&Arc<Vevent>]) -> String {
    let values = vevents.iter().filter_map(|vevent| holder_pair(vevent));
    let pairs: Vec<_> = values.map(|value| ("a", value)).collect();
    visit.url("/appointment.ics", &pairs)
}
