//! Rows of a document: the objects of a section, their given fields, and their stamps.

use serde_json::{Map, Value};

use crate::domain::time::{DAY, Instant};
use crate::transfer::faults::ImportFaults;
use crate::wire::field::{Scope, Table};
use crate::wire::value;

/// Returns the rows of a section, each an object with its path. Rows that are no objects are
/// faults.
pub(crate) fn collect_objects<'v>(
    section: Option<&'v Value>,
    path: &str,
    faults: &mut ImportFaults,
) -> Vec<(String, &'v Map<String, Value>)> {
    let list = match section {
        None | Some(Value::Null) => return Vec::new(),
        Some(Value::Array(list)) => list,
        Some(_) => {
            faults.add(path, "must be a list");
            return Vec::new();
        }
    };
    let mut objects = Vec::with_capacity(list.len());
    for (index, row) in list.iter().enumerate() {
        let path = format!("{path}[{index}]");
        match row.as_object() {
            Some(object) => objects.push((path, object)),
            None => faults.add(path, "must be an object"),
        }
    }
    objects
}

/// Returns a field of `row`; `None` where it is missing or empty.
pub(crate) fn given_field<'v>(row: &'v Map<String, Value>, name: &str) -> Option<&'v Value> {
    row.get(name).filter(|value| !value::is_empty(value))
}

/// Returns a text field of `row`; `None` where it is missing, empty or no text.
pub(crate) fn given_text<'v>(row: &'v Map<String, Value>, name: &str) -> Option<&'v str> {
    given_field(row, name)?.as_str()
}

/// Parses the times of creation and of the last change of a row; `now` where they are not given.
///
/// Neither may lie more than a day ahead: later changes must have later stamps. A fault returns
/// `None` when the stamps cannot be parsed.
pub(crate) fn parse_stamps<R: 'static>(
    table: &Table<R>,
    object: &Map<String, Value>,
    scope: &Scope<'_>,
    now: Instant,
    path: &str,
    faults: &mut ImportFaults,
) -> Option<(Instant, Instant)> {
    let (created_at, updated_at) = faults.keep(path, table.parse_stamps(object, scope))?;
    for (name, at) in [("created_at", created_at), ("updated_at", updated_at)] {
        if let Some(at) = at
            && at > now.plus_seconds(DAY)
        {
            faults.add(format!("{path}.{name}"), "lies in the future: leave it out for now");
        }
    }
    Some((created_at.unwrap_or(now), updated_at.unwrap_or(now)))
}
