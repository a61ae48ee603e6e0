//! Parameters of a query as values. Reference 1.

use std::ops::RangeInclusive;

use crate::domain::state::refusal::Fault;
use crate::domain::time::Instant;
use crate::domain::time::zone::Zone;
use crate::wire::datetime;
use crate::wire::params::Params;

/// A moment on the clocks of the group, if one is given.
///
/// # Errors
/// What is no datetime, or lies outside 1970 to 9999.
pub fn moment(params: &Params, name: &str, zone: Zone) -> Result<Option<Instant>, Fault> {
    let read = |text: &str| datetime::parse(text).and_then(|civil| datetime::instant(zone, civil));
    params.one(name).map(read).transpose().map_err(|illegal| Fault::new(name, illegal.0))
}

/// A whole number within bounds, if one is given.
///
/// # Errors
/// What is no such number.
pub fn number(
    params: &Params,
    name: &str,
    bounds: RangeInclusive<i64>,
) -> Result<Option<i64>, Fault> {
    let Some(text) = params.one(name) else { return Ok(None) };
    let number = text.parse().ok().filter(|number| bounds.contains(number));
    let rule = || {
        Fault::new(
            name,
            format!("must be a whole number from {} to {}", bounds.start(), bounds.end()),
        )
    };
    number.ok_or_else(rule).map(Some)
}

/// A boolean; `otherwise` where none is given.
///
/// # Errors
/// What is no boolean.
pub fn flag(params: &Params, name: &str, otherwise: bool) -> Result<bool, Fault> {
    match params.one(name) {
        None => Ok(otherwise),
        Some("1" | "true") => Ok(true),
        Some("0" | "false") => Ok(false),
        Some(_) => Err(Fault::new(name, "must be 1, 0, true or false")),
    }
}

/// The ids of a list, in the order given.
///
/// # Errors
/// What is no id, or not one that is `known`.
pub fn ids<T: Copy>(
    params: &Params,
    name: &str,
    of: impl Fn(u64) -> Option<T>,
    known: impl Fn(T) -> bool,
) -> Result<Vec<T>, Fault> {
    let mut ids = Vec::new();
    for text in params.list(name) {
        let number: u64 =
            text.parse().map_err(|_| Fault::new(name, "must hold ids, which are whole numbers"))?;
        match of(number) {
            Some(id) if known(id) => ids.push(id),
            // Without the number: what is another group's and what is nobody's get the same answer.
            Some(_) | None => {
                return Err(Fault::new(name, "must be ids of the group's own, and one is not"));
            }
        }
    }
    Ok(ids)
}

/// An id, if one is given.
///
/// # Errors
/// As [`ids`], and where several are given.
pub fn id<T: Copy>(
    params: &Params,
    name: &str,
    of: impl Fn(u64) -> Option<T>,
    known: impl Fn(T) -> bool,
) -> Result<Option<T>, Fault> {
    match *ids(params, name, of, known)? {
        [] => Ok(None),
        [id] => Ok(Some(id)),
        [_, _, ..] => Err(Fault::new(name, "must be one id")),
    }
}

/// An id, if one is given, where 0 stands for none.
///
/// # Errors
/// As [`id`].
pub fn id_or_zero<T: Copy>(
    params: &Params,
    name: &str,
    of: impl Fn(u64) -> Option<T>,
    known: impl Fn(T) -> bool,
) -> Result<Option<T>, Fault> {
    if params.list(name) == ["0"] { Ok(None) } else { id(params, name, of, known) }
}
