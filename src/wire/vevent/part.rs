//! Changes of a part of a series: its parameters, and the fields given for it. Reference 6.18.

use serde_json::{Map, Value};

use crate::domain::records::fault::Fault;
use crate::domain::records::text::InvalidValue;
use crate::domain::records::vevent::Vevent;
use crate::domain::state::put_vevent::SeriesPart;
use crate::domain::time::CivilDay;
use crate::wire::datetime;
use crate::wire::field::{Scope, is_filled};
use crate::wire::params::Params;
use crate::wire::vevent::input::VeventInput;
use crate::wire::vevent::revision::{LEGACY, revise};
use crate::wire::vevent::table::VEVENT;

/// The values of the parameter `scope`.
pub const SCOPES: [&str; 3] = ["one", "following", "all"];

/// Fields of a rule that one occurrence has not.
const OF_SERIES: [&str; 3] = ["rrule", "repeat_exceptions", "repeat_freq"];

/// Parses the parameters `scope` and `occurrence`; `None` for a change of the whole event.
///
/// # Errors
/// A scope that is none, a date that is none, or one of the two without the other.
pub fn parse_part(params: &Params) -> Result<Option<SeriesPart>, Fault> {
    let occurrence = params.value("occurrence");
    let part = match params.value("scope") {
        None if occurrence.is_none() => return Ok(None),
        None => {
            let rule = "is required with occurrence: one, following or all";
            return Err(Fault::new("scope", rule));
        }
        Some("one") => SeriesPart::One,
        Some("following") => SeriesPart::Following,
        Some("all") => {
            occurrence.map(parse_day).transpose()?;
            return Ok(None);
        }
        Some(_) => return Err(Fault::new("scope", "must be one, following or all")),
    };
    match occurrence {
        Some(text) => Ok(Some(part(parse_day(text)?))),
        None => {
            let rule = "is required with this scope: the date on which the occurrence begins";
            Err(Fault::new("occurrence", rule))
        }
    }
}

fn parse_day(text: &str) -> Result<CivilDay, Fault> {
    match datetime::parse(text) {
        Ok(civil) if civil.second_of_day() == 0 => Ok(civil.day()),
        Ok(_) | Err(InvalidValue(_)) => {
            Err(Fault::new("occurrence", "must be a date YYYY-MM-DD that exists"))
        }
    }
}

/// Applies the fields that a professional gives to a part of a stored series. `part` is the part as
/// an event of its own. Fields of the rule that are sent back as the series shows them are no
/// change.
///
/// # Errors
/// All faults, each with its field.
pub fn revise_part(
    series: &Vevent,
    part: &Vevent,
    given: &Map<String, Value>,
    scope: &Scope<'_>,
) -> Result<VeventInput, Vec<Fault>> {
    let mut given = given.clone();
    if is_echo(series, &given, "repeat_freq", scope) {
        LEGACY.iter().for_each(|name| drop(given.shift_remove(*name)));
    }
    for name in ["rrule", "repeat_exceptions"] {
        if is_echo(series, &given, name, scope) {
            given.shift_remove(name);
        }
    }
    let is_single = part.series().is_some_and(|series| series.rule().is_none());
    let mut faults = Vec::new();
    for name in OF_SERIES {
        if is_single && is_filled(&given, name) {
            let rule = "must be left out: the occurrence becomes an event that does not repeat";
            faults.push(Fault::new(name, rule));
        }
    }
    match revise(part, &given, scope) {
        Ok(input) if faults.is_empty() => Ok(input),
        Ok(_) => Err(faults),
        Err(wrong) => {
            faults.extend(wrong);
            Err(faults)
        }
    }
}

/// Returns whether a field is given as the series shows it.
fn is_echo(series: &Vevent, given: &Map<String, Value>, name: &str, scope: &Scope<'_>) -> bool {
    let field = VEVENT.field(name).expect("the table has the fields of rules");
    given.get(name) == Some(&field.read_value(series, scope).to_json(scope.zone))
}
