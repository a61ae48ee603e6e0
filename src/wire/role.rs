//! The role of a professional in requests and answers. Reference 3.9.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::domain::directory::roles::{OWN_CALENDARS_MAX, OwnCalendars, ProRole};
use crate::domain::records::fault::Fault;
use crate::domain::records::ids::CalendarId;
use crate::domain::records::text::InvalidValue;
use crate::domain::state::group_state::GroupState;
use crate::wire::field::is_filled;
use crate::wire::value;

/// The field with the name of the role.
pub const ROLE: &str = "role";
/// The field with the calendars of a professional's own.
pub const CALENDAR_IDS: &str = "calendar_ids";
/// The field that says whether a professional reads the calendars of others.
pub const READS_ALL: &str = "reads_all";

/// Reads the role that an object gives a professional of a group; `None` if it gives none. What it
/// leaves out stays as in `before`.
///
/// # Errors
/// A role that there is not, a calendar that the group does not have, calendars for a role that
/// needs none.
pub fn parse_role(
    object: &Map<String, Value>,
    state: &GroupState,
    before: &ProRole,
) -> Result<Option<ProRole>, Vec<Fault>> {
    if ![ROLE, CALENDAR_IDS, READS_ALL].iter().any(|name| object.contains_key(*name)) {
        return Ok(None);
    }
    let name = match object.get(ROLE) {
        Some(given) => parse_name(given).map_err(|rule| vec![Fault::new(ROLE, rule.0)])?,
        None => before.name(),
    };
    if name != ProRole::NAMES[2] {
        let needless = [CALENDAR_IDS, READS_ALL].into_iter().filter(|name| is_filled(object, name));
        let rule = format!("is for the role {} only: leave it out", ProRole::NAMES[2]);
        let faults: Vec<Fault> = needless.map(|name| Fault::new(name, rule.clone())).collect();
        if !faults.is_empty() {
            return Err(faults);
        }
        let is_reception = name == ProRole::NAMES[1];
        return Ok(Some(if is_reception { ProRole::Reception } else { ProRole::Administrator }));
    }
    let mut own = match before {
        ProRole::Professional(own) => own.clone(),
        ProRole::Administrator | ProRole::Reception => {
            OwnCalendars { calendars: Arc::new([]), reads_all: false }
        }
    };
    let mut faults = Vec::new();
    if let Some(given) = object.get(CALENDAR_IDS) {
        match parse_calendars(given, state) {
            Ok(calendars) => own.calendars = calendars,
            Err(InvalidValue(rule)) => faults.push(Fault::new(CALENDAR_IDS, rule)),
        }
    }
    if let Some(given) = object.get(READS_ALL) {
        match value::parse_boolean(given) {
            Ok(reads_all) => own.reads_all = reads_all,
            Err(InvalidValue(rule)) => faults.push(Fault::new(READS_ALL, rule)),
        }
    }
    if faults.is_empty() { Ok(Some(ProRole::Professional(own))) } else { Err(faults) }
}

/// Parses the name of a role.
///
/// # Errors
/// Another text.
pub(crate) fn parse_name(given: &Value) -> Result<&'static str, InvalidValue> {
    let given = value::parse_text(given)?;
    let known = ProRole::NAMES.into_iter().find(|name| *name == given);
    known.ok_or_else(|| InvalidValue(format!("must be one of {}", ProRole::NAMES.join(", "))))
}

/// Parses the calendars of a professional's own.
///
/// # Errors
/// Values that are no ids, calendars that the group does not have, or too many of them.
pub(crate) fn parse_calendars(
    given: &Value,
    state: &GroupState,
) -> Result<Arc<[CalendarId]>, InvalidValue> {
    let mut calendars = BTreeSet::new();
    for number in value::parse_ids(given)? {
        let id = CalendarId::new(number).filter(|id| state.calendars.contains_key(id));
        let rule = format!("{number} is not the id of one of the group's calendars");
        calendars.insert(id.ok_or(InvalidValue(rule))?);
    }
    if calendars.len() > OWN_CALENDARS_MAX {
        return Err(InvalidValue(format!("must be at most {OWN_CALENDARS_MAX} calendars")));
    }
    Ok(calendars.into_iter().collect())
}

/// Writes the calendars of a professional's own as a list of ids in a text, such as `,11,13,`.
pub(crate) fn calendars_text(role: &ProRole) -> String {
    let ProRole::Professional(own) = role else { return String::new() };
    if own.calendars.is_empty() {
        return String::new();
    }
    let ids: Vec<String> = own.calendars.iter().map(ToString::to_string).collect();
    format!(",{},", ids.join(","))
}
