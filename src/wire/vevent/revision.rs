//! A change of an event: the fields given laid over the event as it stands. Reference 6.

use serde_json::{Map, Value};

use crate::domain::records::customfield::{CustomName, Model};
use crate::domain::records::text::InvalidValue;
use crate::domain::records::vevent::{Appointment, OptionalFields, Vevent, VeventKind};
use crate::domain::recurrence::Series;
use crate::domain::state::refusal::Fault;
use crate::domain::time::zone;
use crate::domain::time::{Civil, Instant};
use crate::wire::customfield;
use crate::wire::datetime;
use crate::wire::field::{Audience, Scope, foreign_group};
use crate::wire::value;
use crate::wire::vevent::VEVENT;
use crate::wire::vevent::input::{SWALLOWED, VeventInput, parse};

/// Fields that are read, though they are no columns of an event. Reference 12.7.
const LEGACY: [&str; 5] =
    ["repeat_freq", "repeat_intervall", "repeat_count", "repeat_byday", "repeat_until"];

/// What an event is to be once the fields that a professional gives have taken their places. Whatever is not given stays,
/// to the second: start and end of an appointment are read from the wall clock only where they differ from what is shown.
/// A start given alone keeps the length.
///
/// # Errors
/// Everything that is wrong, each by its field.
pub fn revise(
    row: &Vevent,
    given: &Map<String, Value>,
    scope: &Scope<'_>,
) -> Result<VeventInput, Vec<Fault>> {
    unchangeable(row, given)?;
    let mut whole = VEVENT.render_for_store(row, scope);
    whole.retain(|name, _| CustomName::new(name).is_none());
    if filled(given, "repeat_freq") {
        whole.shift_remove("rrule");
    }
    let writable =
        |name: &str| VEVENT.field(name).is_some_and(|field| field.writers == Some(Audience::Pro));
    let taken = given.iter().filter(|(name, _)| writable(name) || LEGACY.contains(&name.as_str()));
    whole.extend(taken.map(|(name, value)| (name.clone(), value.clone())));
    let mut faults: Vec<Fault> = foreign_group(given, scope).into_iter().collect();
    let times = match row.appointment() {
        Some(appointment) => appointment_times(appointment, given, &mut whole, scope),
        None => {
            row.series().map_or(Ok(()), |series| series_times(series, given, &mut whole, scope))
        }
    };
    faults.extend(times.err().into_iter().flatten());
    let mut customs = row.rare.as_ref().map(|rare| rare.customs.clone()).unwrap_or_default();
    match customfield::given(given, scope, Model::Vevent, Audience::Pro) {
        Ok(given) => given.into_iter().for_each(|(name, value)| customs.set(name, value)),
        Err(wrong) => faults.extend(wrong),
    }
    // The event as it stands is told as an export tells it, with its secret and its instants.
    match parse(&whole, scope, Audience::Store) {
        Ok(input) if faults.is_empty() => {
            Ok(VeventInput { rare: OptionalFields { customs, ..input.rare }, ..input })
        }
        Ok(_) => Err(faults),
        Err(wrong) => {
            let known: Vec<String> = faults.iter().map(|fault| fault.field.clone()).collect();
            faults
                .extend(wrong.into_iter().map(told).filter(|fault| !known.contains(&fault.field)));
            Err(faults)
        }
    }
}

/// What no change of an event does: make a note of what is none, or the reverse, and take its start or end away.
fn unchangeable(row: &Vevent, given: &Map<String, Value>) -> Result<(), Vec<Fault>> {
    let is_note = matches!(row.kind, VeventKind::Note(_));
    let note = given
        .get("note")
        .filter(|note| !value::is_empty(note))
        .and_then(|note| value::boolean(note).ok());
    let mut faults = Vec::new();
    if note.is_some_and(|note| note != is_note) {
        let rule = if is_note {
            "must stay true: a note stays one"
        } else {
            "must stay false: only a note is one"
        };
        faults.push(Fault::new("note", rule));
    }
    // A start given alone keeps the length, whatever stands for no end.
    for (name, kept) in [("start", false), ("end", filled(given, "start"))] {
        if given.contains_key(name) && !filled(given, name) && !kept {
            faults.push(Fault::new(name, "must not be empty: leave it out to keep it"));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

fn filled(given: &Map<String, Value>, name: &str) -> bool {
    given.get(name).is_some_and(|value| !value::is_empty(value))
}

/// A professional gives no instants in UTC: what is wrong with one is wrong with its local time.
fn told(fault: Fault) -> Fault {
    match fault.field.strip_suffix("_utc") {
        Some(name) => Fault::new(name, fault.rule),
        None => fault,
    }
}

/// The local time given under a name, unless it is the one that is shown anyway.
fn changed(
    given: &Map<String, Value>,
    name: &str,
    shown: Civil,
) -> Result<Option<Civil>, Vec<Fault>> {
    let read = given.get(name).map_or(Ok(None), value::civil);
    let civil = read.map_err(|InvalidValue(rule)| vec![Fault::new(name, rule)])?;
    Ok(civil.filter(|civil| *civil != shown))
}

/// Writes the instants that an appointment would have.
fn appointment_times(
    appointment: &Appointment,
    given: &Map<String, Value>,
    whole: &mut Map<String, Value>,
    scope: &Scope<'_>,
) -> Result<(), Vec<Fault>> {
    let zone = scope.zone;
    let held = appointment.interval();
    let instant = |name: &'static str, civil: Civil| {
        datetime::instant(zone, civil).map_err(|InvalidValue(rule)| vec![Fault::new(name, rule)])
    };
    let moved = changed(given, "start", datetime::local(zone, held.start))?;
    let end = match changed(given, "end", datetime::local(zone, held.end))? {
        Some(civil) => Some(instant("end", civil)?),
        None if filled(given, "end") => Some(held.end),
        None => None,
    };
    let start = match moved {
        Some(civil) => instant("start", civil)?,
        None => held.start,
    };
    let end = end.unwrap_or_else(|| start.plus_seconds(held.end.seconds_since(held.start)));
    if start != held.start {
        // What was sent was sent for another start.
        ["civil_start", "mail_sent", "sms_sent"]
            .iter()
            .for_each(|name| drop(whole.shift_remove(*name)));
    }
    for (name, moment) in [("start_utc", start), ("end_utc", end)] {
        whole.insert(name.to_owned(), utc(moment).into());
    }
    Ok(())
}

fn utc(moment: Instant) -> String {
    datetime::text(zone::utc_of(moment))
}

/// Keeps the length, on the wall clock, of a series that is given a start alone. Times that change are held against the
/// group's clocks; those that stay may be of other clocks.
fn series_times(
    series: &Series,
    given: &Map<String, Value>,
    whole: &mut Map<String, Value>,
    scope: &Scope<'_>,
) -> Result<(), Vec<Fault>> {
    let moved = (changed(given, "start", series.start())?, changed(given, "end", series.end())?);
    let start = moved.0.unwrap_or_else(|| series.start());
    let mut end = moved.1.unwrap_or_else(|| series.end());
    if moved.0.is_some() && !filled(given, "end") {
        end = start.plus_seconds(series.end().seconds_since(series.start()));
        whole.insert("end".to_owned(), datetime::text(end).into());
    }
    // A note's are held against each other by its own rule.
    let swallowed = start < end && scope.zone.instant_of(start) >= scope.zone.instant_of(end);
    if moved != (None, None) && swallowed {
        return Err(vec![Fault::new("end", SWALLOWED)]);
    }
    Ok(())
}
