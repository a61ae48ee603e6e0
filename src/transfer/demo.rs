//! Demonstration content: a small town practice whose dates lie around the current week. Reference
//! 11.1.

use serde_json::{Map, Value};

use crate::domain::records::text::{InvalidValue, Text};
use crate::domain::time::zone::Zone;
use crate::domain::time::{DAY, Instant, Weekday};
use crate::transfer::import::read_document;
use crate::transfer::{ImportFault, StoreContent};
use crate::wire::datetime;

/// The demonstration document. Its dates lie around the Monday in its field `anchor`.
pub const DOCUMENT: &[u8] = include_bytes!("../../data/demo.json");

/// The application key of the demonstration. It is public.
pub const KEY: &str = "demo-key-town-practice";

/// Returns the content of the demonstration, moved by whole weeks: its anchor becomes the Monday of
/// the week of `now`.
///
/// # Errors
///
/// The faults of the document.
pub fn demo_content(
    now: Instant,
    hash_password: &dyn Fn(&str) -> Text<255>,
) -> Result<StoreContent, Vec<ImportFault>> {
    let document = move_document(DOCUMENT, now).map_err(|fault| vec![fault])?;
    read_document(&document, now, hash_password)
}

/// Moves the dates of all fiches and vevents to the week of `now`.
fn move_document(document: &[u8], now: Instant) -> Result<Vec<u8>, ImportFault> {
    let fault = |path: &str, rule: String| ImportFault { path: path.into(), rule };
    let mut document: Value = match serde_json::from_slice(document) {
        Ok(document) => document,
        Err(error) => {
            let path = format!("line {}, column {}", error.line(), error.column());
            return Err(fault(&path, error.to_string()));
        }
    };
    let anchor = document.get("anchor").and_then(Value::as_str).unwrap_or_default();
    let anchor = match datetime::parse(anchor) {
        Ok(anchor) => anchor.day(),
        Err(InvalidValue(rule)) => return Err(fault("anchor", rule)),
    };
    if anchor.weekday() != Weekday::Monday {
        return Err(fault("anchor", "must be a Monday".into()));
    }
    let paris = Zone::from_iana("Europe/Paris").expect("the zone database has Paris");
    let today = paris.civil_of(now).day();
    let weeks = i64::from(today.0 - anchor.0).div_euclid(7);
    if let Some(Value::Array(groups)) = document.get_mut("groups") {
        for group in groups {
            for section in ["fiches", "vevents"] {
                if let Some(Value::Array(rows)) = group.get_mut(section) {
                    move_rows(rows, weeks * 7 * DAY);
                }
            }
        }
    }
    Ok(serde_json::to_vec(&document).expect("a parsed document can be written"))
}

fn move_rows(rows: &mut [Value], seconds: i64) {
    for row in rows {
        if let Value::Object(row) = row {
            move_row(row, seconds);
        }
    }
}

/// Moves the wall-clock times of one row. Birth dates stay.
fn move_row(row: &mut Map<String, Value>, seconds: i64) {
    for name in ["start", "end", "created_at", "updated_at"] {
        if let Some(Value::String(text)) = row.get_mut(name)
            && let Some(moved) = move_time(text, seconds)
        {
            *text = moved;
        }
    }
    if let Some(Value::String(text)) = row.get_mut("repeat_exceptions") {
        let mut dates = Vec::new();
        for date in text.split(',') {
            dates.extend(move_time(date.trim(), seconds));
        }
        *text = dates.join(",");
    }
}

/// Returns a wall-clock time moved by `seconds`; `None` for text that is no time.
fn move_time(text: &str, seconds: i64) -> Option<String> {
    let civil = datetime::parse(text).ok()?;
    Some(datetime::format_civil(civil.plus_seconds(seconds)))
}
