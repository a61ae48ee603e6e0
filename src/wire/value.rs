//! Inputs as clients write them: numbers as strings, booleans as 1 and 0, `""` for nothing. Reference 1.

use std::borrow::Cow;

use serde_json::{Number, Value};

use crate::domain::records::ids::ID_MAX;
use crate::domain::records::text::InvalidValue;
use crate::domain::time::Civil;
use crate::wire::datetime;

fn illegal<T>(rule: &str) -> Result<T, InvalidValue> {
    Err(InvalidValue(rule.into()))
}

/// Whether a value unsets what it is given for: null, a text of nothing but white space, a list of nothing.
#[must_use]
pub fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

/// A boolean: true, false, 1, 0, or one of them as text.
///
/// # Errors
/// Anything else, nothing included.
pub fn boolean(value: &Value) -> Result<bool, InvalidValue> {
    let known = match value {
        Value::Bool(flag) => Some(*flag),
        Value::Number(number) => match number.as_u64() {
            Some(0) => Some(false),
            Some(1) => Some(true),
            Some(_) | None => None,
        },
        Value::String(text) => match text.as_str() {
            "true" | "1" => Some(true),
            "false" | "0" => Some(false),
            _ => None,
        },
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    known.map_or_else(|| illegal("must be true, false, 1 or 0"), Ok)
}

/// A whole number, perhaps as text; `None` for null and `""`.
///
/// # Errors
/// Anything else.
pub fn integer(value: &Value) -> Result<Option<i64>, InvalidValue> {
    let read = match value {
        Value::Null => return Ok(None),
        Value::String(text) if text.trim().is_empty() => return Ok(None),
        Value::String(text) => text.trim().parse().ok(),
        Value::Number(number) => whole(number),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    read.map_or_else(|| illegal("must be a whole number"), |number| Ok(Some(number)))
}

/// A number written as an integer, or with nothing after its decimal point.
fn whole(number: &Number) -> Option<i64> {
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    if let Some(whole) = number.as_i64() {
        return Some(whole);
    }
    let float = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < EXACT_MAX)?;
    #[expect(clippy::cast_possible_truncation, reason = "a whole number below 2^53 is exact")]
    Some(float as i64)
}

/// A decimal number, perhaps as text; `None` for null and `""`.
///
/// # Errors
/// Anything else, infinities included.
pub fn number(value: &Value) -> Result<Option<f64>, InvalidValue> {
    let read = match value {
        Value::Null => return Ok(None),
        Value::String(text) if text.trim().is_empty() => return Ok(None),
        Value::String(text) => text.trim().parse().ok(),
        Value::Number(number) => number.as_f64(),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    read.filter(|number: &f64| number.is_finite())
        .map_or_else(|| illegal("must be a number"), |n| Ok(Some(n)))
}

/// The number of an id, perhaps as text; `None` for null, `""` and 0.
///
/// # Errors
/// Anything else but 1 to the largest id.
pub fn id(value: &Value) -> Result<Option<u64>, InvalidValue> {
    let rule = || InvalidValue("must be an id: a whole number from 1".into());
    let read = integer(value).map_err(|_| rule())?.map(u64::try_from);
    match read {
        None | Some(Ok(0)) => Ok(None),
        Some(Ok(number)) if number <= ID_MAX => Ok(Some(number)),
        Some(_) => Err(rule()),
    }
}

/// Ids in a list, or separated by commas in a text: `[11,13]`, `",11,13,"`; none for null and `""`.
///
/// # Errors
/// An entry that is no id.
pub fn ids(value: &Value) -> Result<Vec<u64>, InvalidValue> {
    let rule =
        || InvalidValue("must be ids: a list such as [11,13], or a text such as ,11,13,".into());
    let read = |value: &Value| id(value).ok().flatten().ok_or_else(rule);
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(list) => list.iter().map(read).collect(),
        Value::String(text) => {
            let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
            entries.map(|entry| read(&Value::from(entry))).collect()
        }
        Value::Number(_) => Ok(vec![read(value)?]),
        Value::Bool(_) | Value::Object(_) => Err(rule()),
    }
}

/// A text; null is the empty one, and a number stands for its digits.
///
/// # Errors
/// A boolean, a list or an object.
pub fn text(value: &Value) -> Result<Cow<'_, str>, InvalidValue> {
    match value {
        Value::Null => Ok(Cow::Borrowed("")),
        Value::String(text) => Ok(Cow::Borrowed(text)),
        Value::Number(number) => Ok(Cow::Owned(number.to_string())),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => illegal("must be a text"),
    }
}

/// A date, with or without a time; `None` for null and `""`.
///
/// # Errors
/// Anything that [`datetime::parse`] refuses.
pub fn civil(value: &Value) -> Result<Option<Civil>, InvalidValue> {
    match value {
        Value::String(text) if !text.trim().is_empty() => datetime::parse(text.trim()).map(Some),
        Value::String(_) | Value::Null => Ok(None),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            illegal("must be a text YYYY-MM-DD HH:MM:SS")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn booleans_come_in_eight_spellings() {
        for value in [json!(true), json!(1), json!("1"), json!("true")] {
            assert_eq!(boolean(&value), Ok(true));
        }
        for value in [json!(false), json!(0), json!("0"), json!("false")] {
            assert_eq!(boolean(&value), Ok(false));
        }
        for value in [json!(null), json!(""), json!(2), json!("yes"), json!([]), json!(1.0)] {
            assert!(boolean(&value).is_err(), "{value}");
        }
    }

    #[test]
    fn numbers_may_be_texts_and_nothing_unsets() {
        assert_eq!(integer(&json!("15")), Ok(Some(15)));
        assert_eq!(integer(&json!(15.0)), Ok(Some(15)));
        assert_eq!((integer(&json!("")), integer(&json!(null))), (Ok(None), Ok(None)));
        for value in [json!("1e3"), json!(1.5), json!(true), json!([]), json!("15 min")] {
            assert!(integer(&value).is_err(), "{value}");
        }
        assert_eq!(id(&json!("7")), Ok(Some(7)));
        assert_eq!(id(&json!(0)), Ok(None));
        assert!(id(&json!(-1)).is_err() && id(&json!(9_007_199_254_740_992_u64)).is_err());
        assert_eq!(number(&json!("2.5")), Ok(Some(2.5)));
        assert!(number(&json!("inf")).is_err());
    }

    #[test]
    fn ids_are_a_list_or_stand_between_commas() {
        assert_eq!(ids(&json!(",11,13,")), Ok(vec![11, 13]));
        assert_eq!(ids(&json!([11, "13"])), Ok(vec![11, 13]));
        assert_eq!(ids(&json!("")), Ok(vec![]));
        assert!(ids(&json!("11,x")).is_err() && ids(&json!([0])).is_err());
    }
}
