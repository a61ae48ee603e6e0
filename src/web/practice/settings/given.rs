//! The fields of a form, as the object that an application would send.

use serde_json::{Map, Value};

use crate::domain::records::group::Usercolors;
use crate::web::practice::settings::fields::field_text::{FieldText, FieldWidget};
use crate::wire::params::Params;

/// Cents of a unit of money.
const CENTS: u64 = 100;

/// Returns the object with the fields that a form gives. A record that is not new keeps some.
pub(crate) fn to_object(words: &[FieldText], given: &Params, is_new: bool) -> Map<String, Value> {
    let mut object = Map::new();
    for text in words {
        if text.is_kept && !is_new {
            continue;
        }
        let Some(value) = given_value(text, given) else { continue };
        let value = match text.widget {
            FieldWidget::Price => to_cents(&value),
            FieldWidget::ByType
            | FieldWidget::Minutes
            | FieldWidget::Choice(_)
            | FieldWidget::Calendarset
            | FieldWidget::Interventionset
            | FieldWidget::Zone
            | FieldWidget::Colours
            | FieldWidget::AttributeName => value.into(),
        };
        object.insert(text.name.to_owned(), value);
    }
    object
}

/// Returns the text that a form gives for a field; `None` if it does not have the field. Before a
/// box to tick stands a hidden field with the value of the empty one.
pub(crate) fn given_value(text: &FieldText, given: &Params) -> Option<String> {
    let value = last_value(given, text.name)?;
    if !matches!(text.widget, FieldWidget::Colours) {
        return Some(value.to_owned());
    }
    let mut colours = Map::new();
    for key in Usercolors::KEYS {
        if given.value(&format!("{}.{key}.on", text.name)).is_some() {
            let colour = last_value(given, &format!("{}.{key}", text.name)).unwrap_or_default();
            colours.insert(key.to_owned(), colour.trim().into());
        }
    }
    Some(if colours.is_empty() { String::new() } else { Value::from(colours).to_string() })
}

/// Returns the last value of a name, as it was given.
fn last_value<'p>(given: &'p Params, name: &str) -> Option<&'p str> {
    given.iter().rev().find(|(other, _)| *other == name).map(|(_, value)| value)
}

/// Returns the cents of an amount such as `30.50` or `30,5`. Any other text becomes a value that
/// no number is read from.
fn to_cents(amount: &str) -> Value {
    let amount = amount.trim().replace(',', ".");
    if amount.is_empty() {
        return Value::Null;
    }
    let (whole, part) = amount.split_once('.').unwrap_or((amount.as_str(), ""));
    let is_plain = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    let cents = format!("{part:0<2}");
    let is_amount = !whole.is_empty() && is_plain(whole) && is_plain(&cents) && cents.len() == 2;
    let units = whole.parse::<u64>().ok().and_then(|units| units.checked_mul(CENTS));
    match (is_amount, units, cents.parse::<u64>()) {
        (true, Some(units), Ok(cents)) => units.saturating_add(cents).into(),
        (_, _, _) => Value::Array(vec![Value::from(amount)]),
    }
}

/// Returns the amount of some cents, as a form gives it.
pub(crate) fn to_amount(cents: i64) -> String {
    let cents = cents.unsigned_abs();
    format!("{}.{:02}", cents / CENTS, cents % CENTS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_amount_has_at_most_two_decimals() {
        for (amount, cents) in [("30", 3_000), ("30.5", 3_050), (" 30,05 ", 3_005), ("0", 0)] {
            assert_eq!(to_cents(amount), json!(cents), "{amount}");
        }
        assert_eq!(to_cents(""), Value::Null);
        for wrong in ["+5", "-5", "5.123", ".5", "1e3", "5 €", "1.2.3", "99999999999999999999"] {
            assert!(to_cents(wrong).is_array(), "{wrong}");
        }
        assert_eq!(to_amount(3_005), "30.05");
    }
}
