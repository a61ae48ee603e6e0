//! Holds in requests and answers. Reference 6.7.

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::domain::availability::slot_request::BookingMode;
use crate::domain::records::fault::Fault;
use crate::domain::records::hold::{Hold, HoldId, HoldToken};
use crate::domain::records::ids::{CalendarId, InterventionId};
use crate::domain::records::text::InvalidValue;
use crate::domain::state::command::{Caller, HoldTime};
use crate::domain::time::zone::Zone;
use crate::domain::time::{CIVIL_MIN, Civil};
use crate::wire::datetime::{GivenTime, LocalTime};
use crate::wire::field::{Scope, foreign_group};
use crate::wire::object_reader::ObjectReader;
use crate::wire::params::Params;
use crate::wire::schema::{GivenId, GivenIds, GivenMoment, GivenToken, Token};
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

/// Reads the start of a booking, a move or a hold. A missing one is a fault by this rule.
pub fn read_start(reader: &mut ObjectReader<'_>, rule: &str, scope: &Scope<'_>) -> Civil {
    // A start that is missing or wrong is a fault, so its value is used for nothing.
    reader.require("date", rule, |given| parse_date(given, scope.zone)).unwrap_or(CIVIL_MIN)
}

/// Reads the interventions of a booking or a hold, which must be bookable together.
pub fn read_interventions(
    reader: &mut ObjectReader<'_>,
    scope: &Scope<'_>,
    mode: BookingMode,
) -> Vec<InterventionId> {
    const NAME: &str = "intervention_ids";
    let numbers = reader.read(NAME, |given| Ok(Some(value::parse_ids(given)?))).unwrap_or_default();
    let ids: Vec<InterventionId> = numbers.into_iter().filter_map(InterventionId::new).collect();
    if !reader.has_fault(NAME)
        && let Err(fault) = scope.state.catalogue.chain(&ids, mode)
    {
        reader.faults.push(fault);
    }
    ids
}

/// Reads the calendar of a booking or a hold; `None` for any.
pub fn read_calendar(reader: &mut ObjectReader<'_>, scope: &Scope<'_>) -> Option<CalendarId> {
    let id = reader.read("calendar_id", value::parse_id).and_then(CalendarId::new);
    if id.is_some_and(|id| !scope.state.catalogue.calendars.contains_key(&id)) {
        let rule = "must be the id of one of the group's calendars, or 0 for any";
        reader.add_fault("calendar_id", rule);
    }
    id
}

/// The object of a new hold.
#[derive(Debug, ToSchema)]
pub struct HoldBody {
    /// Start, YYYY-MM-DD HH:MM:SS on the clocks of the group.
    #[schema(value_type = GivenMoment)]
    date: Civil,
    /// Ids of the interventions, in order. Each begins right after the one before.
    #[schema(value_type = GivenIds)]
    intervention_ids: Vec<InterventionId>,
    /// Id of the calendar; 0 or nothing for any calendar that is free.
    #[schema(value_type = Option<GivenId>)]
    calendar_id: Option<CalendarId>,
    /// Token of the caller's hold, whose time is free for the caller.
    #[schema(value_type = Option<GivenToken>)]
    hold: Option<HoldId>,
}

/// Parses the object of a new hold. The source is that by which the caller's holds are counted.
///
/// # Errors
/// All faults, each with its field.
pub fn parse(
    object: &Map<String, Value>,
    scope: &Scope<'_>,
    caller: &Caller,
    source: Option<[u8; 16]>,
) -> Result<HoldTime, Vec<Fault>> {
    let mut reader = ObjectReader::new(object);
    reader.faults.extend(foreign_group(object, scope));
    let rule = "is required: the start as YYYY-MM-DD HH:MM:SS";
    let body = HoldBody {
        date: read_start(&mut reader, rule, scope),
        intervention_ids: read_interventions(&mut reader, scope, BookingMode::Module),
        calendar_id: read_calendar(&mut reader, scope),
        hold: reader.read("hold", parse_hold),
    };
    let HoldBody { date, intervention_ids, calendar_id, hold } = reader.finish(body)?;
    let is_by_key = *caller == Caller::Application;
    Ok(HoldTime { date, intervention_ids, calendar_id, hold, source, is_by_key })
}

/// The answer of a booking that waits for its code. It tells nothing but the token and its end,
/// because the client may be known.
#[derive(Debug, Serialize, ToSchema)]
pub struct BookingReceipt<'h> {
    /// The token to confirm the booking with.
    #[schema(value_type = Token)]
    token: &'h str,
    /// End, YYYY-MM-DD HH:MM:SS on the clocks of the group.
    expires_at: LocalTime,
}

/// A hold, for its holder.
#[derive(Debug, Serialize, ToSchema)]
pub struct HoldAnswer<'h> {
    /// The token that names the hold.
    #[schema(value_type = Token)]
    token: &'h str,
    /// End, YYYY-MM-DD HH:MM:SS on the clocks of the group.
    expires_at: LocalTime,
    /// Id of the calendar.
    calendar_id: CalendarId,
    /// Start, YYYY-MM-DD HH:MM:SS on the clocks of the group.
    start: LocalTime,
    /// End of the last intervention.
    end: LocalTime,
    /// The interventions, in order.
    #[schema(min_items = 1)]
    intervention_ids: Vec<InterventionId>,
}

impl<'h> HoldAnswer<'h> {
    /// The answer with a hold of a group in this zone.
    pub fn new(hold: &'h Hold, zone: Zone) -> Self {
        let interval = hold.interval();
        Self {
            token: hold.token.as_str(),
            expires_at: LocalTime::new(zone, hold.expires_at),
            calendar_id: hold.calendar_id,
            start: LocalTime::new(zone, interval.start),
            end: LocalTime::new(zone, interval.end),
            intervention_ids: hold.legs.iter().map(|leg| leg.intervention_id).collect(),
        }
    }
}

impl<'h> BookingReceipt<'h> {
    /// The answer with a booking of a group in this zone.
    pub fn new(hold: &'h Hold, zone: Zone) -> Self {
        Self { token: hold.token.as_str(), expires_at: LocalTime::new(zone, hold.expires_at) }
    }
}
