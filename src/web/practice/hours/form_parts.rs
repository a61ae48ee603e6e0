//! Parts that the forms of the hours share: calendars, services, days.

use crate::domain::records::calendar::Calendar;
use crate::domain::records::ids::{CalendarId, InterventionId};
use crate::domain::records::vevent::Permits;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::CivilDay;
use crate::web::practice::hours::words::service_name;
use crate::web::practice::texts::hours::HoursTexts;
use crate::web::practice::typed_start::parse_legal_day;
use crate::web::practice::visit::ProVisit;
use crate::wire::params::Params;

/// The name of the choice of calendars in forms.
pub(crate) const CALENDARS: &str = "calendar";
/// The value that stands for all calendars.
const ALL: &str = "all";
/// The name of the choice of services in forms.
pub(crate) const SERVICES: &str = "service";

/// A choice in a form.
pub(crate) struct HoursChoice {
    pub(crate) value: String,
    pub(crate) label: String,
    pub(crate) is_chosen: bool,
}

/// The choice of calendars in a form.
pub(crate) struct CalendarsField {
    pub(crate) is_all: bool,
    pub(crate) rows: Vec<HoursChoice>,
    pub(crate) fault: &'static str,
}

/// A day in a form.
pub(crate) struct DayField {
    pub(crate) value: String,
    pub(crate) fault: &'static str,
}

impl CalendarsField {
    /// The choice as a form or an address gives it. The only calendar is always chosen.
    pub(crate) fn given(visit: &ProVisit, given: &Params) -> Self {
        let chosen = given.list(CALENDARS);
        let live: Vec<&Calendar> = visit.written_calendars().collect();
        let is_only = live.len() == 1;
        let rows = live.iter().map(|calendar| {
            let value = calendar.id.to_string();
            HoursChoice {
                is_chosen: is_only || chosen.contains(&value.as_str()),
                value,
                label: calendar.name.as_str().to_owned(),
            }
        });
        Self { is_all: chosen.contains(&ALL), rows: rows.collect(), fault: "" }
    }

    /// Reads the choice. Without any, it gets a fault.
    pub(crate) fn read(&mut self, text: &HoursTexts) -> Vec<CalendarId> {
        let mut ids = Vec::new();
        for row in &self.rows {
            let id = row.value.parse().ok().and_then(CalendarId::new);
            ids.extend(id.filter(|_| self.is_all || row.is_chosen));
        }
        if ids.is_empty() {
            self.fault = text.choose_calendar;
        }
        ids
    }
}

impl DayField {
    pub(crate) fn new(value: &str) -> Self {
        Self { value: value.to_owned(), fault: "" }
    }

    /// Reads the day. A wrong one gets a fault.
    pub(crate) fn read(&mut self, text: &HoursTexts) -> Option<CivilDay> {
        let day = parse_legal_day(&self.value);
        if day.is_none() {
            self.fault = text.bad_day;
        }
        day
    }
}

/// Returns the services that hours may name: live ones in their order, and chosen ones.
pub(crate) fn services(
    state: &GroupState,
    text: &HoursTexts,
    chosen: &Permits,
) -> Vec<HoursChoice> {
    let is_chosen = |id: InterventionId| match chosen {
        Permits::All => false,
        Permits::Only(ids) => ids.contains(&id),
    };
    let mut listed: Vec<_> = state
        .catalogue
        .interventions
        .values()
        .filter(|service| !service.deleted || is_chosen(service.id))
        .collect();
    listed.sort_by_key(|service| (service.sort, service.id));
    let choice = |id: InterventionId| HoursChoice {
        value: id.to_string(),
        label: service_name(state, id, text),
        is_chosen: is_chosen(id),
    };
    listed.iter().map(|service| choice(service.id)).collect()
}

/// Reads the chosen services; none of them means all.
///
/// # Errors
/// An id that no service of the group has.
pub(crate) fn read_services(state: &GroupState, given: &Params) -> Result<Permits, ()> {
    let mut ids = Vec::new();
    for text in given.list(SERVICES) {
        let id = text.parse().ok().and_then(InterventionId::new);
        let known = id.filter(|id| state.catalogue.interventions.contains_key(id));
        ids.push(known.ok_or(())?);
    }
    Ok(Permits::only(ids))
}
