//! Holds in requests and answers. Reference 6.14.

use serde_json::{Map, Value, json};

use crate::domain::availability::slot_request::BookingMode;
use crate::domain::records::fault::Fault;
use crate::domain::records::hold::{Hold, HoldId, HoldToken};
use crate::domain::records::ids::{CalendarId, InterventionId};
use crate::domain::records::text::InvalidValue;
use crate::domain::state::command::{Caller, HoldTime};
use crate::domain::time::Civil;
use crate::domain::time::zone::Zone;
use crate::wire::datetime::{GivenTime, format_local};
use crate::wire::field::{Scope, foreign_group};
use crate::wire::params::Params;
use crate::wire::value;

/// The rule of a text that is no token of a hold.
const NO_TOKEN: &str = "must be the token of a hold: 32 letters and digits";

/// Parses the token of a hold; `None` for an empty one.
///
/// # Errors
/// A value that no hold has as its token.
pub fn parse_hold(given: &Value) -> Result<Option<HoldId>, InvalidValue> {
    if value::is_empty(given) {
        return Ok(None);
    }
    match HoldToken::new(&value::parse_text(given)?) {
        Some(token) => Ok(Some(token.id())),
        None => Err(InvalidValue(NO_TOKEN.into())),
    }
}

/// Parses a query parameter with the token of a hold; `None` if it is absent or empty.
///
/// # Errors
/// A value that no hold has as its token.
pub fn parse_hold_parameter(params: &Params, name: &str) -> Result<Option<HoldId>, Fault> {
    let Some(text) = params.value(name) else { return Ok(None) };
    match HoldToken::new(text) {
        Some(token) => Ok(Some(token.id())),
        None => Err(Fault::new(name, NO_TOKEN)),
    }
}

/// Parses the start of a booking, a move or a hold: on the clocks of the group, or an instant.
///
/// # Errors
/// A malformed time, or one in the second pass of a repeated hour.
pub fn parse_date(given: &Value, zone: Zone) -> Result<Option<Civil>, InvalidValue> {
    let Some(time) = value::parse_time(given)? else { return Ok(None) };
    let civil = time.to_civil(zone);
    // Of an hour that occurs twice, bookings know the first pass only.
    if let GivenTime::Exact(instant) = time
        && zone.instant_of(civil) != instant
    {
        let rule = "must not be in the second pass of an hour that occurs twice";
        return Err(InvalidValue(rule.into()));
    }
    Ok(Some(civil))
}

/// Parses the object of a new hold: `date`, `intervention_ids`, `calendar_id` and `hold`. The
/// source is that by which the caller's holds are counted.
///
/// # Errors
/// All faults, each with its field.
pub fn parse(
    object: &Map<String, Value>,
    scope: &Scope<'_>,
    caller: &Caller,
    source: Option<[u8; 16]>,
) -> Result<HoldTime, Vec<Fault>> {
    let mut faults = Vec::new();
    faults.extend(foreign_group(object, scope));
    let given = |name: &str| object.get(name).unwrap_or(&Value::Null);
    let date = match parse_date(given("date"), scope.zone) {
        Ok(Some(date)) => Some(date),
        Ok(None) => {
            faults.push(Fault::new("date", "is required: the start as YYYY-MM-DD HH:MM:SS"));
            None
        }
        Err(illegal) => {
            faults.push(Fault::new("date", illegal.0));
            None
        }
    };
    let catalogue = &scope.state.catalogue;
    let mut intervention_ids = Vec::new();
    match value::parse_ids(given("intervention_ids")) {
        Ok(numbers) => {
            intervention_ids.extend(numbers.into_iter().filter_map(InterventionId::new));
            faults.extend(catalogue.chain(&intervention_ids, BookingMode::Module).err());
        }
        Err(illegal) => faults.push(Fault::new("intervention_ids", illegal.0)),
    }
    let calendar_id = match value::parse_id(given("calendar_id")) {
        Ok(number) => number.and_then(CalendarId::new),
        Err(illegal) => {
            faults.push(Fault::new("calendar_id", illegal.0));
            None
        }
    };
    if calendar_id.is_some_and(|id| !catalogue.calendars.contains_key(&id)) {
        let rule = "must be the id of one of the group's calendars, or 0 for any";
        faults.push(Fault::new("calendar_id", rule));
    }
    let hold = match parse_hold(given("hold")) {
        Ok(hold) => hold,
        Err(illegal) => {
            faults.push(Fault::new("hold", illegal.0));
            None
        }
    };
    match date {
        Some(date) if faults.is_empty() => {
            let is_by_key = *caller == Caller::Application;
            Ok(HoldTime { date, intervention_ids, calendar_id, hold, source, is_by_key })
        }
        Some(_) | None => Err(faults),
    }
}

/// Renders a hold for its holder.
#[must_use]
pub fn render(hold: &Hold, zone: Zone) -> Map<String, Value> {
    let interval = hold.interval();
    let mut interventions = Vec::with_capacity(hold.legs.len());
    for leg in &hold.legs {
        interventions.push(leg.intervention_id.number());
    }
    let mut object = render_receipt(hold, zone);
    object.insert("calendar_id".into(), hold.calendar_id.number().into());
    object.insert("start".into(), format_local(zone, interval.start).into());
    object.insert("end".into(), format_local(zone, interval.end).into());
    object.insert("intervention_ids".into(), json!(interventions));
    object
}

/// Renders the answer of a booking that waits for its code. It tells nothing but the token and its
/// end, because the client may be known.
#[must_use]
pub fn render_receipt(hold: &Hold, zone: Zone) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("token".into(), hold.token.as_str().into());
    object.insert("expires_at".into(), format_local(zone, hold.expires_at).into());
    object
}
