//! Typed parsing of query parameters. Reference 1.1, 1.2.

use std::ops::RangeInclusive;

use crate::domain::records::fault::Fault;
use crate::domain::records::text::InvalidValue;
use crate::domain::time::Instant;
use crate::domain::time::zone::Zone;
use crate::wire::datetime::WrittenTime;
use crate::wire::params::Params;

/// Collects the faults of parameters.
#[derive(Debug, Default)]
pub(crate) struct FaultCollector(pub(crate) Vec<Fault>);

impl FaultCollector {
    /// Returns a legal value. A fault is kept, and the default takes the value's place.
    pub(crate) fn keep_fault<T: Default>(&mut self, parsed: Result<T, Fault>) -> T {
        self.keep_faults(parsed.map_err(|fault| vec![fault]))
    }

    /// Does the same with a value that may have several faults.
    pub(crate) fn keep_faults<T: Default>(&mut self, parsed: Result<T, Vec<Fault>>) -> T {
        parsed.unwrap_or_else(|wrong| {
            self.0.extend(wrong);
            T::default()
        })
    }

    /// Returns the last value, or all faults if any was kept.
    pub(crate) fn finish<T>(mut self, last: Result<T, Vec<Fault>>) -> Result<T, Vec<Fault>> {
        match last {
            Ok(value) if self.0.is_empty() => return Ok(value),
            Ok(_) => {}
            Err(wrong) => self.0.extend(wrong),
        }
        Err(self.0)
    }
}

/// Parses a local time of the zone, or an instant; `None` if the parameter is absent or empty.
///
/// # Errors
/// A value that is no datetime, or an instant outside 1970 to 9999.
pub fn parse_moment(params: &Params, name: &str, zone: Zone) -> Result<Option<Instant>, Fault> {
    let Some(text) = params.value(name) else { return Ok(None) };
    let given = WrittenTime::parse_in_query(text).and_then(WrittenTime::to_given_time);
    match given.and_then(|given| given.to_instant(zone)) {
        Ok(instant) => Ok(Some(instant)),
        Err(InvalidValue(rule)) => Err(Fault::new(name, rule)),
    }
}

/// Parses a whole number; `None` if the parameter is absent or empty.
///
/// # Errors
/// A value that is no whole number within the bounds.
pub fn parse_number(
    params: &Params,
    name: &str,
    bounds: RangeInclusive<i64>,
) -> Result<Option<i64>, Fault> {
    let Some(text) = params.value(name) else { return Ok(None) };
    match text.parse() {
        Ok(number) if bounds.contains(&number) => Ok(Some(number)),
        Ok(_) | Err(_) => {
            let (min, max) = bounds.into_inner();
            Err(Fault::new(name, format!("must be a whole number from {min} to {max}")))
        }
    }
}

/// Parses a boolean; `default` if the parameter is absent or empty.
///
/// # Errors
/// A value other than 1, 0, true and false.
pub fn parse_flag(params: &Params, name: &str, default: bool) -> Result<bool, Fault> {
    match params.value(name) {
        None => Ok(default),
        Some("1" | "true") => Ok(true),
        Some("0" | "false") => Ok(false),
        Some(_) => Err(Fault::new(name, "must be 1, 0, true or false")),
    }
}

/// Parses a list of ids, in the order given. `to_id` makes an id of a number.
///
/// # Errors
/// A value that is no id, and an id that is not `known`.
pub fn parse_ids<T: Copy>(
    params: &Params,
    name: &str,
    to_id: impl Fn(u64) -> Option<T>,
    known: impl Fn(T) -> bool,
) -> Result<Vec<T>, Fault> {
    let mut ids = Vec::new();
    for text in params.list(name) {
        let Ok(number) = text.parse::<u64>() else {
            return Err(Fault::new(name, "must be ids, which are whole numbers from 1"));
        };
        match to_id(number) {
            Some(id) if known(id) => ids.push(id),
            // The message omits the id: it must not reveal which ids other groups have.
            _ => {
                return Err(Fault::new(name, "must be ids of the group's objects: one is unknown"));
            }
        }
    }
    Ok(ids)
}

/// Parses a single id; `None` if the parameter is absent or empty.
///
/// # Errors
/// As [`parse_ids`], and more than one id.
pub fn parse_id<T: Copy>(
    params: &Params,
    name: &str,
    to_id: impl Fn(u64) -> Option<T>,
    known: impl Fn(T) -> bool,
) -> Result<Option<T>, Fault> {
    match *parse_ids(params, name, to_id, known)? {
        [] => Ok(None),
        [id] => Ok(Some(id)),
        [_, _, ..] => Err(Fault::new(name, "must be one id")),
    }
}

/// Parses a single id, with 0 for none.
///
/// # Errors
/// As [`parse_id`].
pub fn parse_id_or_zero<T: Copy>(
    params: &Params,
    name: &str,
    to_id: impl Fn(u64) -> Option<T>,
    known: impl Fn(T) -> bool,
) -> Result<Option<T>, Fault> {
    if params.list(name) == ["0"] { Ok(None) } else { parse_id(params, name, to_id, known) }
}
