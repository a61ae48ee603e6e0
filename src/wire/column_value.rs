//! Types and values of fields: JSON rendering and comparison. Reference 1.3, 1.4.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde::Serialize;
use serde_json::Value;

use crate::domain::records::folding::compare_texts;
use crate::domain::time::zone::Zone;
use crate::domain::time::{Civil, Instant};
use crate::wire::datetime;
use crate::wire::value::EXACT_MAX;

/// Type of a field, for the API description and for conditions. Reference 1.3.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the reference's types and their bounds")]
pub enum FieldType {
    Id,
    /// An id of another object. Without one it is null, or 0 in an event.
    Reference,
    /// A text of at most `max` characters.
    Text {
        max: usize,
    },
    /// A text of at most `max` characters, none of them a control character.
    Name {
        max: usize,
    },
    Email,
    Colour,
    /// A whole number from `min` to `max`, both included.
    Integer {
        min: i64,
        max: i64,
    },
    Number,
    Boolean,
    /// An instant, rendered in the group's time zone.
    Moment,
    /// A wall-clock time without a zone.
    CivilMoment,
    /// One of the listed texts.
    Choice(fn() -> Vec<&'static str>),
}

impl FieldType {
    /// Returns the value that conditions use for an empty field: the empty text, the id 0, or null.
    pub const fn empty_value(self) -> ColumnValue<'static> {
        match self {
            Self::Text { .. }
            | Self::Name { .. }
            | Self::Email
            | Self::Colour
            | Self::Choice(_) => ColumnValue::Text(Cow::Borrowed("")),
            Self::Id | Self::Reference => ColumnValue::Reference(Some(0)),
            Self::Integer { .. }
            | Self::Number
            | Self::Boolean
            | Self::Moment
            | Self::CivilMoment => ColumnValue::Null,
        }
    }
}

/// Value of one field of one record.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "one variant per type of value")]
pub enum ColumnValue<'a> {
    Null,
    Text(Cow<'a, str>),
    Integer(i64),
    Number(f64),
    Boolean(bool),
    /// An instant, rendered in the group's time zone; `None` renders as null.
    Moment(Option<Instant>),
    /// A wall-clock time, rendered as stored; `None` renders as null.
    Civil(Option<Civil>),
    /// `None` renders as null.
    Reference(Option<u64>),
}

impl ColumnValue<'_> {
    /// Returns whether the value renders as null. Order relations never match null.
    pub const fn is_null(&self) -> bool {
        match self {
            Self::Null | Self::Moment(None) | Self::Civil(None) | Self::Reference(None) => true,
            Self::Text(_)
            | Self::Integer(_)
            | Self::Number(_)
            | Self::Boolean(_)
            | Self::Moment(Some(_))
            | Self::Civil(Some(_))
            | Self::Reference(Some(_)) => false,
        }
    }

    /// Prefetches a text's first cache line. Prefetching a batch overlaps its cache misses.
    pub fn prefetch(&self) {
        if let Self::Text(text) = self {
            std::hint::black_box(text.as_bytes().first().copied());
        }
    }

    /// Renders the value as JSON, with instants as local times of the zone.
    pub fn to_json(&self, zone: Zone) -> Value {
        match self {
            Self::Null | Self::Moment(None) | Self::Civil(None) | Self::Reference(None) => {
                Value::Null
            }
            Self::Text(text) => Value::from(text.as_ref()),
            Self::Integer(number) => Value::from(*number),
            Self::Number(number) => match to_whole(*number) {
                Some(whole) => whole.into(),
                None => Value::from(*number),
            },
            Self::Boolean(flag) => Value::from(*flag),
            Self::Moment(Some(moment)) => datetime::format_local(zone, *moment).into(),
            Self::Civil(Some(civil)) => datetime::format_civil(*civil).into(),
            Self::Reference(Some(id)) => Value::from(*id),
        }
    }

    /// Appends the same JSON as bytes.
    pub fn append_json(&self, zone: Zone, out: &mut Vec<u8>) {
        match self {
            Self::Null | Self::Moment(None) | Self::Civil(None) | Self::Reference(None) => {
                out.extend_from_slice(b"null");
            }
            Self::Text(text) => append_value(text, out),
            Self::Integer(number) => append_value(number, out),
            Self::Number(number) => match to_whole(*number) {
                Some(whole) => append_value(&whole, out),
                None => append_value(number, out),
            },
            Self::Boolean(flag) => append_value(flag, out),
            Self::Moment(Some(moment)) => {
                append_quoted_civil(datetime::to_local(zone, *moment), out);
            }
            Self::Civil(Some(civil)) => append_quoted_civil(*civil, out),
            Self::Reference(Some(id)) => append_value(id, out),
        }
    }

    /// Returns a time as the text of an instant, by RFC 3339 in UTC; null for every other value. A
    /// wall-clock time is one of the zone.
    pub fn to_rfc_3339(&self, zone: Zone) -> ColumnValue<'static> {
        let instant = match self {
            Self::Moment(moment) => *moment,
            Self::Civil(civil) => civil.map(|civil| zone.instant_of(civil)),
            Self::Null
            | Self::Text(_)
            | Self::Integer(_)
            | Self::Number(_)
            | Self::Boolean(_)
            | Self::Reference(_) => None,
        };
        match instant {
            Some(instant) => ColumnValue::Text(datetime::format_rfc_3339(instant).into()),
            None => ColumnValue::Null,
        }
    }

    /// Converts the value into a form in which all values of one field have a single total order.
    ///
    /// A wall-clock time in an instant field becomes the instant that it names. Comparing some
    /// values as instants and others as local times is not transitive around a clock change.
    #[must_use]
    pub fn into_comparable(self, field_type: FieldType, zone: Zone) -> Self {
        match self {
            Self::Null | Self::Moment(None) | Self::Civil(None) | Self::Reference(None) => {
                field_type.empty_value()
            }
            Self::Civil(Some(civil)) if matches!(field_type, FieldType::Moment) => {
                Self::Moment(Some(zone.instant_of(civil)))
            }
            // Adding 0.0 turns -0.0 into 0.0, so that both compare as equal.
            Self::Number(number) => Self::Number(number + 0.0),
            Self::Text(_)
            | Self::Integer(_)
            | Self::Boolean(_)
            | Self::Moment(Some(_))
            | Self::Civil(Some(_))
            | Self::Reference(Some(_)) => self,
        }
    }

    /// Orders two [comparable](Self::into_comparable) values of one field. Null comes first.
    pub fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            // An empty text is decided by its length: a zero-length memcmp is slower here.
            (Self::Text(a), Self::Text(b)) if a.is_empty() || b.is_empty() => a.len().cmp(&b.len()),
            (Self::Text(a), Self::Text(b)) => compare_texts(a, b),
            (Self::Integer(a), Self::Integer(b)) => a.cmp(b),
            (Self::Number(a), Self::Number(b)) => a.total_cmp(b),
            (Self::Boolean(a), Self::Boolean(b)) => a.cmp(b),
            (Self::Reference(a), Self::Reference(b)) => a.cmp(b),
            (Self::Civil(a), Self::Civil(b)) => a.cmp(b),
            (Self::Moment(a), Self::Moment(b)) => a.cmp(b),
            // All values of one field have one type, so that one of these two is null.
            (a, b) => (*b == Self::Null).cmp(&(*a == Self::Null)),
        }
    }
}

/// Returns a number without a fraction, if all of its digits are known.
fn to_whole(number: f64) -> Option<i64> {
    if number.fract() != 0.0 || number.abs() >= EXACT_MAX {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "a whole number below 2^53 is exact")]
    Some(number as i64)
}

/// Appends a value as JSON.
///
/// # Panics
/// If the value is no JSON, such as a map whose keys are no texts.
pub fn append_value(value: &(impl Serialize + ?Sized), out: &mut Vec<u8>) {
    serde_json::to_writer(out, value).expect("plain values are JSON, and memory can be written");
}

fn append_quoted_civil(civil: Civil, out: &mut Vec<u8>) {
    out.push(b'"');
    datetime::append_civil_bytes(civil, out);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wall_clock_times_and_instants_have_one_order_around_a_clock_change() {
        let paris = Zone::from_iana("Europe/Paris").expect("a zone");
        let civil = |text| datetime::parse(text).expect("a time");
        let at = |text| ColumnValue::Moment(Some(paris.instant_of(civil(text))));
        // 02:30 does not exist on that day and is read as 03:30.
        let mut values = vec![
            ColumnValue::Civil(Some(civil("2025-03-30 02:30:00"))),
            ColumnValue::Civil(Some(civil("2025-03-30 03:05:00"))),
            at("2025-03-30 03:15:00"),
            ColumnValue::Moment(None),
        ];
        values = values
            .into_iter()
            .map(|value| value.into_comparable(FieldType::Moment, paris))
            .collect();
        values.sort_by(ColumnValue::compare);
        let sorted = [
            ColumnValue::Null,
            at("2025-03-30 03:05:00"),
            at("2025-03-30 03:15:00"),
            at("2025-03-30 03:30:00"),
        ];
        assert_eq!(values, sorted);
    }

    #[test]
    fn an_empty_value_is_null_the_empty_text_or_the_id_0() {
        let utc = Zone::from_iana("Etc/UTC").expect("a zone");
        assert_eq!(
            ColumnValue::Reference(None).into_comparable(FieldType::Reference, utc),
            ColumnValue::Reference(Some(0))
        );
        assert_eq!(
            ColumnValue::Null.into_comparable(FieldType::Text { max: 255 }, utc),
            ColumnValue::Text("".into())
        );
        assert_eq!(ColumnValue::Null.into_comparable(FieldType::Number, utc), ColumnValue::Null);
        let zero = ColumnValue::Number(-0.0).into_comparable(FieldType::Number, utc);
        assert_eq!(zero.compare(&ColumnValue::Number(0.0)), Ordering::Equal);
    }
}
