//! The choices of a client so far: services and calendar, and the sets they are chosen from. They
//! stand in the query of each page, so that the pages need no session.

use crate::domain::availability::catalogue::Catalogue;
use crate::domain::records::group::Group;
use crate::domain::records::ids::{CalendarId, CalendarsetId, InterventionId, InterventionsetId};
use crate::domain::state::group_state::GroupState;
use crate::wire::params::Params;

/// The value of `calendarChoice` with which the calendar is chosen before the service.
const CALENDAR_FIRST: i64 = 1;
/// The value of `calendarChoice` with which the calendar is chosen after the service.
const SERVICE_FIRST: i64 = 2;

/// Whether visitors of a group choose a calendar.
pub(crate) const fn has_calendar_choice(group: &Group) -> bool {
    group.calendar_choice == CALENDAR_FIRST || group.calendar_choice == SERVICE_FIRST
}

/// The choices of a client so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Choice {
    /// The chosen services, in order, each of the group; empty before the choice.
    pub(crate) services: Vec<InterventionId>,
    /// The chosen calendar, which is one of the group; `None` before the choice, and for no
    /// preference.
    pub(crate) calendar: Option<CalendarId>,
    /// Whether the client has said that any calendar will do.
    pub(crate) has_no_preference: bool,
    /// Whether the query names a service that the group does not have.
    pub(crate) names_unknown_service: bool,
    /// The sets whose services are offered, each with one that is; empty for all.
    pub(crate) sets: Vec<InterventionsetId>,
    /// The sets whose calendars are offered, each with one that is; empty for all.
    pub(crate) calendarsets: Vec<CalendarsetId>,
}

impl Choice {
    /// Reads the choices in a query or a form. Unknown calendars and sets are left out.
    pub(crate) fn read(params: &Params, state: &GroupState) -> Self {
        let catalogue = &state.catalogue;
        let mut choice = Self::default();
        for (name, value) in params.iter() {
            match name {
                "s" => match parse_id(value).and_then(InterventionId::new) {
                    Some(id) if catalogue.intervention_hidden(id).is_none() => {
                        choice.services.push(id);
                    }
                    _ => choice.names_unknown_service = true,
                },
                "c" if value == "0" => choice.has_no_preference = true,
                "c" => {
                    let id = parse_id(value).and_then(CalendarId::new);
                    choice.calendar = id.filter(|id| catalogue.calendar_hidden(*id).is_none());
                }
                "in" => {
                    let id = parse_id(value).and_then(InterventionsetId::new);
                    add(&mut choice.sets, id.filter(|id| offers_set(catalogue, *id)));
                }
                "of" => {
                    let id = parse_id(value).and_then(CalendarsetId::new);
                    add(&mut choice.calendarsets, id.filter(|id| offers_calendars(catalogue, *id)));
                }
                _ => {}
            }
        }
        choice.keep_to_calendarsets(catalogue);
        choice
    }

    /// Returns names and values that stand for the choices in a query or a form.
    pub(crate) fn pairs(&self) -> Vec<(&'static str, String)> {
        let mut pairs: Vec<_> = self.services.iter().map(|id| ("s", id.to_string())).collect();
        if let Some(id) = self.calendar {
            pairs.push(("c", id.to_string()));
        } else if self.has_no_preference {
            pairs.push(("c", "0".to_owned()));
        }
        pairs.extend(self.sets.iter().map(|id| ("in", id.to_string())));
        pairs.extend(self.calendarsets.iter().map(|id| ("of", id.to_string())));
        pairs
    }

    /// Whether the calendar is to be chosen before the services, and is not yet.
    pub(crate) const fn lacks_calendar(&self, group: &Group) -> bool {
        let is_open = self.calendar.is_none() && !self.has_no_preference;
        group.calendar_choice == CALENDAR_FIRST && is_open
    }

    /// Gives up the services if one lies outside the chosen sets.
    pub(crate) fn keep_to_sets(&mut self, catalogue: &Catalogue) {
        if !self.services.iter().all(|id| self.has_service(catalogue, *id)) {
            self.services.clear();
        }
    }

    /// Gives up the calendar if it lies outside the chosen sets.
    pub(crate) fn keep_to_calendarsets(&mut self, catalogue: &Catalogue) {
        self.calendar = self.calendar.filter(|id| self.has_calendar(catalogue, *id));
    }

    /// Whether a service is one of the chosen sets.
    pub(crate) fn has_service(&self, catalogue: &Catalogue, id: InterventionId) -> bool {
        let set = catalogue.interventions.get(&id).and_then(|row| row.interventionset_id);
        self.sets.is_empty() || set.is_some_and(|set| self.sets.contains(&set))
    }

    /// Whether a calendar is one of the chosen sets.
    pub(crate) fn has_calendar(&self, catalogue: &Catalogue, id: CalendarId) -> bool {
        catalogue.calendars.get(&id).is_some_and(|it| it.is_in_sets(&self.calendarsets))
    }
}

/// Whether a set has a service that the module shows.
pub(crate) fn offers_set(catalogue: &Catalogue, set: InterventionsetId) -> bool {
    let mut of_set =
        catalogue.interventions.values().filter(|row| row.interventionset_id == Some(set));
    of_set.any(|row| catalogue.intervention_hidden(row.id).is_none())
}

/// Whether a set has a calendar that the module shows, and is not hidden itself.
pub(crate) fn offers_calendars(catalogue: &Catalogue, set: CalendarsetId) -> bool {
    if catalogue.calendarsets.get(&set).is_none_or(|set| set.hidden) {
        return false;
    }
    let mut of_set = catalogue.calendars.values().filter(|row| row.calendarset_id == Some(set));
    of_set.any(|row| catalogue.calendar_hidden(row.id).is_none())
}

/// Adds an id to a list that has each once.
fn add<I: PartialEq>(list: &mut Vec<I>, id: Option<I>) {
    if let Some(id) = id
        && !list.contains(&id)
    {
        list.push(id);
    }
}

/// Returns the number of an id in digits.
pub(crate) fn parse_id(text: &str) -> Option<u64> {
    // `parse` accepts a plus sign, which is no part of an id.
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}
