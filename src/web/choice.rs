//! The choices of a client so far: services and calendar. They stand in the query of each page, so
//! that the pages need no session.

use crate::domain::records::ids::{CalendarId, InterventionId};
use crate::domain::state::group_state::GroupState;
use crate::wire::params::Params;

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
}

impl Choice {
    /// Reads the choices in a query or a form. Unknown calendars are left out.
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
                _ => {}
            }
        }
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
        pairs
    }
}

fn parse_id(text: &str) -> Option<u64> {
    // `parse` accepts a plus sign, which is no part of an id.
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}
