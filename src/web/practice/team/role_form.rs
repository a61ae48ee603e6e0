//! The fields of a role in a form. Reference 15.14.

use serde_json::{Map, Value};

use crate::domain::directory::roles::ProRole;
use crate::web::practice::listed_calendar::ListedCalendar;
use crate::web::practice::texts::team::TeamTexts;
use crate::web::practice::visit::ProVisit;
use crate::wire::params::Params;
use crate::wire::role::{CALENDAR_IDS, READS_ALL, ROLE, parse_role};

/// The fields of a role.
pub(crate) struct RoleForm {
    pub(crate) choices: Vec<RoleChoice>,
    /// The live calendars, those of the professional's own chosen.
    pub(crate) calendars: Vec<ListedCalendar>,
    pub(crate) reads_all: bool,
    /// The sentence of a form without a role; empty without a fault.
    pub(crate) role_fault: &'static str,
    /// The sentence of wrong calendars; empty without a fault.
    pub(crate) calendars_fault: &'static str,
}

/// A role to choose.
pub(crate) struct RoleChoice {
    pub(crate) name: &'static str,
    pub(crate) label: &'static str,
    pub(crate) about: &'static str,
    pub(crate) is_chosen: bool,
}

impl RoleForm {
    /// The fields of a role as it is.
    pub(crate) fn of_role(visit: &ProVisit, role: &ProRole) -> Self {
        let is_own = |id| match role {
            ProRole::Professional(own) => own.contains(id),
            ProRole::Administrator | ProRole::Reception => false,
        };
        let mut calendars = live_calendars(visit);
        for calendar in &mut calendars {
            calendar.is_chosen = is_own(calendar.id);
        }
        let reads_all = match role {
            ProRole::Professional(own) => own.reads_all,
            ProRole::Administrator | ProRole::Reception => false,
        };
        Self::new(visit, role.name(), calendars, reads_all)
    }

    /// The fields as a form gives them.
    pub(crate) fn given(visit: &ProVisit, given: &Params) -> Self {
        let chosen = given.list(CALENDAR_IDS);
        let mut calendars = live_calendars(visit);
        for calendar in &mut calendars {
            calendar.is_chosen = chosen.contains(&calendar.id.to_string().as_str());
        }
        let role = given.value(ROLE).unwrap_or_default();
        Self::new(visit, role, calendars, given.value(READS_ALL).is_some())
    }

    fn new(
        visit: &ProVisit,
        chosen: &str,
        calendars: Vec<ListedCalendar>,
        reads_all: bool,
    ) -> Self {
        let text = TeamTexts::in_language(visit.language());
        let choices = ProRole::NAMES.map(|name| RoleChoice {
            name,
            label: role_in_words(name, text),
            about: match name {
                "administrator" => text.administrator_about,
                "reception" => text.reception_about,
                _ => text.professional_about,
            },
            is_chosen: name == chosen,
        });
        let choices = choices.into();
        Self { choices, calendars, reads_all, role_fault: "", calendars_fault: "" }
    }

    /// Reads the role. `None` if a field is wrong, which then has its sentence. Calendars count for
    /// a professional only.
    pub(crate) fn read(&mut self, visit: &ProVisit) -> Option<ProRole> {
        let text = TeamTexts::in_language(visit.language());
        let Some(chosen) = self.choices.iter().find(|choice| choice.is_chosen) else {
            self.role_fault = text.choose_role;
            return None;
        };
        let mut object: Map<String, Value> = Map::new();
        object.insert(ROLE.to_owned(), chosen.name.into());
        if chosen.name == ProRole::NAMES[2] {
            let own = self.calendars.iter().filter(|calendar| calendar.is_chosen);
            let own: Vec<u64> = own.map(|calendar| calendar.id.number()).collect();
            if own.is_empty() {
                self.calendars_fault = text.choose_calendar;
                return None;
            }
            object.insert(CALENDAR_IDS.to_owned(), own.into());
            object.insert(READS_ALL.to_owned(), self.reads_all.into());
        }
        let role = parse_role(&object, &visit.state, &ProRole::Administrator);
        if role.is_err() {
            self.calendars_fault = text.too_many_calendars;
        }
        role.ok().flatten()
    }

    pub(crate) fn has_faults(&self) -> bool {
        !self.role_fault.is_empty() || !self.calendars_fault.is_empty()
    }
}

/// Returns the name of a role.
pub(crate) fn role_in_words(name: &str, text: &TeamTexts) -> &'static str {
    match name {
        "administrator" => text.administrator,
        "reception" => text.reception,
        _ => text.professional,
    }
}

fn live_calendars(visit: &ProVisit) -> Vec<ListedCalendar> {
    let live = visit.state.catalogue.live_calendars();
    let listed = live.map(|calendar| ListedCalendar {
        id: calendar.id,
        name: calendar.name.as_str().to_owned(),
        is_chosen: false,
    });
    listed.collect()
}
