//! Changes of events: the given fields replace those of the stored event. Reference 6.14.

use serde_json::{Map, Value};

use crate::domain::records::customfield::{CustomName, Model};
use crate::domain::records::fault::Fault;
use crate::domain::records::text::InvalidValue;
use crate::domain::records::vevent::{Appointment, OptionalFields, Vevent, VeventKind};
use crate::domain::recurrence::Series;
use crate::domain::time::zone;
use crate::domain::time::{Civil, Instant};
use crate::wire::custom_values::parse_custom_values;
use crate::wire::datetime::{self, GivenTime};
use crate::wire::field::{Audience, Scope, foreign_group, is_filled};
use crate::wire::value;
use crate::wire::vevent::input::{KindInput, VeventInput};
use crate::wire::vevent::reader::{END_IN_GAP, parse};
use crate::wire::vevent::table::{VEVENT, render_stored};

/// Obsolete fields, which are parsed but are not in the table of fields. Reference 5.4.
pub(crate) const LEGACY: [&str; 5] =
    ["repeat_freq", "repeat_intervall", "repeat_count", "repeat_byday", "repeat_until"];

/// Fields that belong to the old start of an appointment, dropped when the start changes.
const OF_OLD_START: [&str; 3] = ["civil_start", "mail_sent", "sms_sent"];

/// Applies the fields that a professional gives to a stored event.
///
/// Fields that are not given keep their values, to the second. Start and end of an appointment are
/// read only if they differ from their rendered local times. A start without an end keeps the
/// length.
///
/// # Errors
/// All faults, each with its field.
pub fn revise(
    row: &Vevent,
    given: &Map<String, Value>,
    scope: &Scope<'_>,
) -> Result<VeventInput, Vec<Fault>> {
    check_unchangeable(row, given)?;
    // The stored event is parsed again as an import would: with its key and its exact instants.
    let mut whole = render_stored(row, scope);
    whole.retain(|name, _| CustomName::new(name).is_none());
    if is_filled(given, "repeat_freq") && !given.contains_key("rrule") {
        whole.shift_remove("rrule");
    }
    let is_echo = echoes_legacy_fields(row, given, scope);
    for (name, value) in given {
        if is_writable(name) || (LEGACY.contains(&name.as_str()) && !is_echo) {
            whole.insert(name.clone(), value.clone());
        }
    }
    let has_new_comments = whole.get("comments") != Some(&Value::from(row_comments(row)));
    if has_new_comments || row.appointment().is_none() {
        whole.insert("booking_comments".to_owned(), row.booking_comments().into());
    }
    let mut faults = Vec::new();
    faults.extend(foreign_group(given, scope));
    let times = if let Some(appointment) = row.appointment() {
        revise_appointment_times(appointment, given, &mut whole, scope)
    } else if let Some(series) = row.series() {
        revise_series_times(series, given, &mut whole, scope)
    } else {
        Ok(())
    };
    if let Err(wrong) = times {
        faults.extend(wrong);
    }
    let mut customs = row.rare.as_ref().map(|rare| rare.customs.clone()).unwrap_or_default();
    match parse_custom_values(given, scope, Model::Vevent, Audience::Pro) {
        Ok(values) => {
            for (name, value) in values {
                customs.set(name, value);
            }
        }
        Err(wrong) => faults.extend(wrong),
    }
    let parsed = parse(&whole, scope, Audience::Store);
    if let (Ok(input), Some(before)) = (&parsed, row.series()) {
        faults.extend(find_lengthening(before, input));
    }
    match parsed {
        Ok(input) if faults.is_empty() => {
            Ok(VeventInput { rare: OptionalFields { customs, ..input.rare }, ..input })
        }
        Ok(_) => Err(faults),
        Err(wrong) => {
            let first_faults = faults.len();
            for fault in wrong {
                let fault = with_local_name(fault);
                // A field whose fault is known already is not reported twice.
                let known = faults[..first_faults].iter().any(|other| other.field == fault.field);
                if !known {
                    faults.push(fault);
                }
            }
            Err(faults)
        }
    }
}

/// Returns whether a client that gives `rrule` sends the older fields back as it has read them.
/// Then they are no change: an emptied rule stays empty.
fn echoes_legacy_fields(row: &Vevent, given: &Map<String, Value>, scope: &Scope<'_>) -> bool {
    let freq = VEVENT.field("repeat_freq").expect("the table has the older fields");
    given.contains_key("rrule")
        && given.get("repeat_freq") == Some(&freq.read_value(row, scope).to_json(scope.zone))
}

fn row_comments(row: &Vevent) -> &str {
    row.rare.as_deref().map_or("", |rare| rare.comments.as_str())
}

/// Returns the fault of a change that makes an event too long for its rule. One that was stored as
/// too long may keep its length. Reference 5.1.
fn find_lengthening(before: &Series, input: &VeventInput) -> Option<Fault> {
    let KindInput::Other(kind) = &input.kind else { return None };
    let series = kind.series()?;
    if series.has_length_of(before) {
        return None;
    }
    let error = series.check_length().err()?;
    Some(Fault::new("end", error.to_string()))
}

fn is_writable(name: &str) -> bool {
    VEVENT.field(name).is_some_and(|field| field.writers == Some(Audience::Pro))
}

/// Refuses to turn a note into another kind or back, and to remove a start or an end.
fn check_unchangeable(row: &Vevent, given: &Map<String, Value>) -> Result<(), Vec<Fault>> {
    let mut faults = Vec::new();
    let is_note = matches!(row.kind, VeventKind::Note(_));
    if is_filled(given, "note")
        && let Ok(note) = value::parse_boolean(&given["note"])
        && note != is_note
    {
        let rule = if is_note {
            "must stay true: a note cannot become another kind of event"
        } else {
            "must stay false: another kind of event cannot become a note"
        };
        faults.push(Fault::new("note", rule));
    }
    // An empty end together with a start is no removal: the length is kept.
    let keeps_length = is_filled(given, "start");
    for (name, may_be_empty) in [("start", false), ("end", keeps_length)] {
        if given.contains_key(name) && !is_filled(given, name) && !may_be_empty {
            faults.push(Fault::new(name, "must not be empty: leave it out to keep it"));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// Renames a fault of `start_utc` or `end_utc`: professionals give local times only.
fn with_local_name(fault: Fault) -> Fault {
    match fault.field.strip_suffix("_utc") {
        Some(name) => Fault::new(name, fault.rule),
        None => fault,
    }
}

/// Returns the time given under a name, unless it equals the rendered local time.
fn changed_time(
    given: &Map<String, Value>,
    name: &str,
    rendered: Civil,
) -> Result<Option<GivenTime>, Vec<Fault>> {
    let Some(value) = given.get(name) else { return Ok(None) };
    match value::parse_time(value) {
        Ok(Some(time)) if time != GivenTime::Local(rendered) => Ok(Some(time)),
        Ok(_) => Ok(None),
        Err(InvalidValue(rule)) => Err(vec![Fault::new(name, rule)]),
    }
}

/// Writes the new instants of an appointment into the object to parse.
fn revise_appointment_times(
    appointment: &Appointment,
    given: &Map<String, Value>,
    whole: &mut Map<String, Value>,
    scope: &Scope<'_>,
) -> Result<(), Vec<Fault>> {
    let zone = scope.zone;
    let stored = appointment.interval();
    let to_instant = |name: &'static str, time: GivenTime| {
        time.to_instant(zone).map_err(|InvalidValue(rule)| vec![Fault::new(name, rule)])
    };
    let moved = changed_time(given, "start", datetime::to_local(zone, stored.start))?;
    let end = match changed_time(given, "end", datetime::to_local(zone, stored.end))? {
        Some(time) => Some(to_instant("end", time)?),
        None if is_filled(given, "end") => Some(stored.end),
        None => None,
    };
    let start = match moved {
        Some(time) => to_instant("start", time)?,
        None => stored.start,
    };
    let end = match end {
        Some(end) => end,
        None => start.plus_seconds(stored.end.seconds_since(stored.start)),
    };
    if start != stored.start {
        for name in OF_OLD_START {
            whole.shift_remove(name);
        }
    }
    whole.insert("start_utc".to_owned(), format_utc(start).into());
    whole.insert("end_utc".to_owned(), format_utc(end).into());
    Ok(())
}

fn format_utc(moment: Instant) -> String {
    datetime::format_civil(zone::utc_of(moment))
}

/// Keeps the wall-clock length of a series if only a start is given.
///
/// Only times that change are checked against the group's zone. The stored ones may have been
/// legal in a former zone of the group.
fn revise_series_times(
    series: &Series,
    given: &Map<String, Value>,
    whole: &mut Map<String, Value>,
    scope: &Scope<'_>,
) -> Result<(), Vec<Fault>> {
    let to_civil = |time: GivenTime| time.to_civil(scope.zone);
    let moved_start = changed_time(given, "start", series.start())?.map(to_civil);
    let moved_end = changed_time(given, "end", series.end())?.map(to_civil);
    let start = moved_start.unwrap_or(series.start());
    let mut end = moved_end.unwrap_or(series.end());
    if moved_start.is_some() && !is_filled(given, "end") {
        end = start.plus_seconds(series.end().seconds_since(series.start()));
        whole.insert("end".to_owned(), datetime::format_civil(end).into());
    }
    if moved_start.is_none() && moved_end.is_none() {
        return Ok(());
    }
    // A note's start and end are equal; the parser checks them.
    let in_gap = start < end && scope.zone.instant_of(start) >= scope.zone.instant_of(end);
    if in_gap { Err(vec![Fault::new("end", END_IN_GAP)]) } else { Ok(()) }
}
