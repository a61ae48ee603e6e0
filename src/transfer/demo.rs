//! A small town practice to try the server on, always in the midst of its week. Reference 11.

use serde_json::{Map, Value};

use crate::domain::records::text::{InvalidValue, Text};
use crate::domain::time::zone::Zone;
use crate::domain::time::{Civil, DAY, Instant, Weekday};
use crate::transfer::import::read;
use crate::transfer::{Content, ImportFault};
use crate::wire::datetime;

/// The demonstration as it is written, its dated rows around the Monday that it names as `anchor`.
pub const DOCUMENT: &[u8] = include_bytes!("../../data/demo.json");

/// The content of the demonstration, moved by whole weeks so that its anchor becomes the Monday of `now`'s week.
///
/// # Errors
/// What is wrong with the document.
pub fn content(
    now: Instant,
    hash_password: &dyn Fn(&str) -> Text<255>,
) -> Result<Content, Vec<ImportFault>> {
    let document = moved(DOCUMENT, now).map_err(|fault| vec![fault])?;
    read(&document, now, hash_password)
}

/// The document with the dates of all fiches and events moved to the week of `now`.
fn moved(document: &[u8], now: Instant) -> Result<Vec<u8>, ImportFault> {
    let wrong = |path: &str, rule: String| ImportFault { path: path.into(), rule };
    let mut document: Value = serde_json::from_slice(document).map_err(|error| {
        wrong(&format!("line {}, column {}", error.line(), error.column()), error.to_string())
    })?;
    let anchor = document.get("anchor").and_then(Value::as_str).unwrap_or_default();
    let anchor = datetime::parse(anchor).map_err(|InvalidValue(rule)| wrong("anchor", rule))?;
    if anchor.day().weekday() != Weekday::Monday {
        return Err(wrong("anchor", "must be a Monday".into()));
    }
    let paris = Zone::from_iana("Europe/Paris").expect("the zone database has Paris");
    let today = paris.civil_of(now).day();
    let weeks = i64::from(today.0 - anchor.day().0).div_euclid(7);
    let groups = document.get_mut("groups").and_then(Value::as_array_mut);
    for group in groups.into_iter().flatten() {
        for section in ["fiches", "vevents"] {
            let rows = group.get_mut(section).and_then(Value::as_array_mut);
            for row in rows.into_iter().flatten().filter_map(Value::as_object_mut) {
                move_row(row, weeks * 7 * DAY);
            }
        }
    }
    Ok(serde_json::to_vec(&document).expect("a document that was read can be written"))
}

/// Moves the wall-clock times of one row; birth dates stay.
fn move_row(row: &mut Map<String, Value>, seconds: i64) {
    let later = |text: &str| {
        datetime::parse(text).ok().map(|civil: Civil| datetime::text(civil.plus_seconds(seconds)))
    };
    for name in ["start", "end", "created_at", "updated_at"] {
        if let Some(value) = row.get_mut(name)
            && let Some(text) = value.as_str().and_then(later)
        {
            *value = text.into();
        }
    }
    if let Some(value) = row.get_mut("repeat_exceptions")
        && let Some(dates) = value.as_str()
    {
        let dates: Vec<String> = dates.split(',').filter_map(|date| later(date.trim())).collect();
        *value = dates.join(",").into();
    }
}
