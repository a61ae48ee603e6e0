//! Lenient parsing of JSON values: numbers as texts, booleans as 1 and 0, `""` as empty.
//! Reference 1.2.

use std::borrow::Cow;

use serde_json::{Map, Number, Value};

use crate::domain::records::ids::ID_MAX;
use crate::domain::records::text::InvalidValue;
use crate::domain::time::Civil;
use crate::wire::datetime::{self, GivenTime};

fn refuse_value<T>(rule: &str) -> Result<T, InvalidValue> {
    Err(InvalidValue(rule.into()))
}

/// Number of members up to which comparing names is faster than hashing one.
const COMPARED_MEMBERS_MAX: usize = 8;

/// Returns the member of an object by its name.
pub fn find_member<'o>(object: &'o Map<String, Value>, name: &str) -> Option<&'o Value> {
    if object.len() > COMPARED_MEMBERS_MAX {
        return object.get(name);
    }
    object.iter().find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// Returns the member of that name, unless its value is empty.
pub fn find_filled<'o>(object: &'o Map<String, Value>, name: &str) -> Option<&'o Value> {
    find_member(object, name).filter(|value| !is_empty(value))
}

/// Returns whether a value is empty: null, a text of white space only, or a list without items.
pub fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

/// Parses a boolean: true, false, 1 or 0, each also as text.
///
/// # Errors
/// Any other value, an empty one included.
pub fn parse_boolean(value: &Value) -> Result<bool, InvalidValue> {
    const RULE: &str = "must be true, false, 1 or 0";
    match value {
        Value::Bool(flag) => Ok(*flag),
        Value::Number(number) => match number.as_u64() {
            Some(0) => Ok(false),
            Some(1) => Ok(true),
            _ => refuse_value(RULE),
        },
        Value::String(text) => match text.as_str() {
            "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            _ => refuse_value(RULE),
        },
        Value::Null | Value::Array(_) | Value::Object(_) => refuse_value(RULE),
    }
}

/// Parses a whole number, also as text; `None` for null and `""`.
///
/// # Errors
/// Any other value, and numbers beyond 64 bits.
pub fn parse_integer(value: &Value) -> Result<Option<i64>, InvalidValue> {
    let read = match value {
        Value::Null => return Ok(None),
        Value::String(text) if text.trim().is_empty() => return Ok(None),
        Value::String(text) => text.trim().parse().ok(),
        Value::Number(number) => to_whole(number),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    match read {
        Some(number) => Ok(Some(number)),
        None => refuse_value("must be a whole number"),
    }
}

/// Number below which every whole number is exact.
pub(crate) const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// Converts a JSON number without a fraction, such as 15 or 15.0.
fn to_whole(number: &Number) -> Option<i64> {
    if let Some(whole) = number.as_i64() {
        return Some(whole);
    }
    let float = number.as_f64()?;
    if float.fract() != 0.0 || float.abs() >= EXACT_MAX {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "a whole number below 2^53 is exact")]
    Some(float as i64)
}

/// Parses a finite decimal number, also as text, whose digits may have spaces between them; `None`
/// for null and `""`.
///
/// # Errors
/// Any other value, and a whole number that would lose digits.
pub fn parse_number(value: &Value) -> Result<Option<f64>, InvalidValue> {
    let text = match value {
        Value::Null => return Ok(None),
        Value::String(text) if text.trim().is_empty() => return Ok(None),
        Value::String(text) => join_digits(text.trim()),
        Value::Number(number) => number.to_string(),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
            return refuse_value("must be a number");
        }
    };
    let Ok(number) = text.parse::<f64>() else { return refuse_value("must be a number") };
    if !number.is_finite() {
        return refuse_value("must be a number");
    }
    let is_whole = text.trim_start_matches(['+', '-']).bytes().all(|byte| byte.is_ascii_digit());
    if is_whole && number.abs() >= EXACT_MAX {
        return refuse_value("must be a number whose digits can be kept: at most 15 digits");
    }
    Ok(Some(number))
}

/// Removes the spaces between two digits, plain or not broken.
fn join_digits(text: &str) -> String {
    let is_space = |letter: char| matches!(letter, ' ' | '\u{a0}' | '\u{2009}' | '\u{202f}');
    let mut joined = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let follows_digit = joined.ends_with(|last: char| last.is_ascii_digit());
        if follows_digit && is_space(letter) && letters.peek().is_some_and(char::is_ascii_digit) {
            continue;
        }
        joined.push(letter);
    }
    joined
}

/// Parses an id, also as text; `None` for null, `""` and 0.
///
/// # Errors
/// Any value other than a whole number from 1 to [`ID_MAX`].
pub fn parse_id(value: &Value) -> Result<Option<u64>, InvalidValue> {
    const RULE: &str = "must be an id: a whole number from 1";
    let Ok(number) = parse_integer(value) else { return refuse_value(RULE) };
    let Some(number) = number else { return Ok(None) };
    match u64::try_from(number) {
        Ok(0) => Ok(None),
        Ok(number) if number <= ID_MAX => Ok(Some(number)),
        Ok(_) | Err(_) => refuse_value(RULE),
    }
}

/// Parses a list of ids, also as a text with commas: `[11,13]`, `",11,13,"`. Null and `""` give
/// none.
///
/// # Errors
/// Any other value, and an entry that is no id.
pub fn parse_ids(value: &Value) -> Result<Vec<u64>, InvalidValue> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(list) => list.iter().map(parse_entry).collect(),
        Value::String(text) => {
            let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
            entries.map(|entry| parse_entry(&Value::from(entry))).collect()
        }
        Value::Number(_) => Ok(vec![parse_entry(value)?]),
        Value::Bool(_) | Value::Object(_) => refuse_value(IDS_RULE),
    }
}

const IDS_RULE: &str = "must be ids: a list such as [11,13], or a text such as ,11,13,";

fn parse_entry(value: &Value) -> Result<u64, InvalidValue> {
    match parse_id(value) {
        Ok(Some(id)) => Ok(id),
        Ok(None) | Err(_) => refuse_value(IDS_RULE),
    }
}

/// Parses a text. Null gives the empty text, and a number its digits.
///
/// # Errors
/// A boolean, a list or an object.
pub fn parse_text(value: &Value) -> Result<Cow<'_, str>, InvalidValue> {
    match value {
        Value::Null => Ok(Cow::Borrowed("")),
        Value::String(text) => Ok(Cow::Borrowed(text)),
        Value::Number(number) => Ok(Cow::Owned(number.to_string())),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => refuse_value("must be a text"),
    }
}

/// Parses a date, with or without a time; `None` for null and `""`.
///
/// # Errors
/// Any other value that [`datetime::parse`] refuses.
pub fn parse_civil(value: &Value) -> Result<Option<Civil>, InvalidValue> {
    match value {
        Value::String(text) if !text.trim().is_empty() => Ok(Some(datetime::parse(text.trim())?)),
        Value::String(_) | Value::Null => Ok(None),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            refuse_value("must be a text YYYY-MM-DD HH:MM:SS")
        }
    }
}

/// Parses a wall-clock time or an instant; `None` for null and `""`.
///
/// # Errors
/// Any other value that [`GivenTime::parse`] refuses.
pub fn parse_time(value: &Value) -> Result<Option<GivenTime>, InvalidValue> {
    match value {
        Value::String(text) if !text.trim().is_empty() => Ok(Some(GivenTime::parse(text.trim())?)),
        Value::String(_) | Value::Null => Ok(None),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            refuse_value("must be a text YYYY-MM-DD HH:MM:SS, or a time of RFC 3339")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn eight_spellings_of_booleans_are_accepted() {
        for value in [json!(true), json!(1), json!("1"), json!("true")] {
            assert_eq!(parse_boolean(&value), Ok(true));
        }
        for value in [json!(false), json!(0), json!("0"), json!("false")] {
            assert_eq!(parse_boolean(&value), Ok(false));
        }
        for value in [json!(null), json!(""), json!(2), json!("yes"), json!([]), json!(1.0)] {
            assert!(parse_boolean(&value).is_err(), "{value}");
        }
    }

    #[test]
    fn numbers_may_be_texts_and_empty_values_are_none() {
        assert_eq!(parse_integer(&json!("15")), Ok(Some(15)));
        assert_eq!(parse_integer(&json!(15.0)), Ok(Some(15)));
        assert_eq!((parse_integer(&json!("")), parse_integer(&json!(null))), (Ok(None), Ok(None)));
        for value in [json!("1e3"), json!(1.5), json!(true), json!([]), json!("15 min")] {
            assert!(parse_integer(&value).is_err(), "{value}");
        }
        assert_eq!(parse_id(&json!("7")), Ok(Some(7)));
        assert_eq!(parse_id(&json!(0)), Ok(None));
        assert!(
            parse_id(&json!(-1)).is_err() && parse_id(&json!(9_007_199_254_740_992_u64)).is_err()
        );
        assert_eq!(parse_number(&json!("2.5")), Ok(Some(2.5)));
        for text in ["12 345", "12\u{a0}345", "12\u{202f}345", "1 2 345.0"] {
            assert_eq!(parse_number(&json!(text)), Ok(Some(12_345.0)), "{text}");
        }
        assert_eq!(parse_number(&json!("185057512345678")), Ok(Some(185_057_512_345_678.0)));
        let wrong =
            ["inf", "1  2", "1 .5", "- 1", "1 a", "9007199254740993", "9 007 199 254 740 993"];
        for text in wrong {
            assert!(parse_number(&json!(text)).is_err(), "{text}");
        }
        assert!(parse_number(&json!(9_007_199_254_740_993_u64)).is_err());
    }

    #[test]
    fn ids_are_a_list_or_a_text_with_commas() {
        assert_eq!(parse_ids(&json!(",11,13,")), Ok(vec![11, 13]));
        assert_eq!(parse_ids(&json!([11, "13"])), Ok(vec![11, 13]));
        assert_eq!(parse_ids(&json!("")), Ok(vec![]));
        assert!(parse_ids(&json!("11,x")).is_err() && parse_ids(&json!([0])).is_err());
    }
}
