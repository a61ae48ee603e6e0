//! The value of a field: how it is shown, and how it is held against another.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::Value;

use crate::domain::time::zone::Zone;
use crate::domain::time::{Civil, Instant};
use crate::wire::datetime;

/// What values a field takes, for documents and conditions.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the specification's types and their bounds")]
pub enum Kind {
    Id,
    /// An id of another object; null, or 0 in an event, where there is none.
    Reference,
    Text {
        max: usize,
    },
    /// A text without any control character.
    Name {
        max: usize,
    },
    Email,
    Colour,
    Integer {
        min: i64,
        max: i64,
    },
    Number,
    Boolean,
    /// An instant, shown on the group's clocks.
    Moment,
    /// A time tied to no zone.
    CivilMoment,
    /// One of these texts.
    Choice(fn() -> Vec<&'static str>),
}

impl Kind {
    /// The value that stands for none: the empty text, the id 0 that nothing has, else null.
    #[must_use]
    pub const fn none(self) -> ColumnValue<'static> {
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

/// The value of a field.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "one variant per type of value")]
pub enum ColumnValue<'a> {
    Null,
    Text(Cow<'a, str>),
    Integer(i64),
    Number(f64),
    Boolean(bool),
    /// An instant, shown on the group's clocks; null where it is `None`.
    Moment(Option<Instant>),
    /// A wall-clock time, shown as it is; null where it is `None`.
    Civil(Option<Civil>),
    /// Null where it is `None`.
    Reference(Option<u64>),
}

impl ColumnValue<'_> {
    /// Whether it is shown as null, which lies before and after nothing.
    #[must_use]
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

    /// Has the memory of a text brought near, without waiting for it: whoever looks at many values fetches some first, and
    /// waits once for all of them.
    pub fn fetch(&self) {
        if let Self::Text(text) = self {
            std::hint::black_box(text.as_bytes().first().copied());
        }
    }

    /// The value as JSON, instants on the zone's clocks.
    #[must_use]
    pub fn json(&self, zone: Zone) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Text(text) => Value::from(text.as_ref()),
            Self::Integer(number) => Value::from(*number),
            Self::Number(number) => Value::from(*number),
            Self::Boolean(flag) => Value::from(*flag),
            Self::Moment(moment) => {
                moment.map_or(Value::Null, |at| datetime::local_text(zone, at).into())
            }
            Self::Civil(civil) => civil.map_or(Value::Null, |at| datetime::text(at).into()),
            Self::Reference(id) => id.map_or(Value::Null, Value::from),
        }
    }

    /// The value in the form in which all values of a field of that kind have one order. Among instants a wall-clock
    /// time is the instant it names, whatever stands beside it: half of them compared as they are shown would contradict
    /// the other half around a change of clocks.
    #[must_use]
    pub fn comparable(self, kind: Kind, zone: Zone) -> Self {
        match self {
            Self::Null | Self::Moment(None) | Self::Civil(None) | Self::Reference(None) => {
                kind.none()
            }
            Self::Civil(Some(civil)) if matches!(kind, Kind::Moment) => {
                Self::Moment(Some(zone.instant_of(civil)))
            }
            // The two zeros are one number.
            Self::Number(number) => Self::Number(number + 0.0),
            Self::Text(_)
            | Self::Integer(_)
            | Self::Boolean(_)
            | Self::Moment(Some(_))
            | Self::Civil(Some(_))
            | Self::Reference(Some(_)) => self,
        }
    }

    /// Orders [comparable](Self::comparable) values of one field: dates as dates, numbers as numbers, texts as texts;
    /// null comes first.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            // Two texts of which one is nothing are told apart by that; to compare no bytes takes longer.
            (Self::Text(a), Self::Text(b)) if a.is_empty() || b.is_empty() => a.len().cmp(&b.len()),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            (Self::Integer(a), Self::Integer(b)) => a.cmp(b),
            (Self::Number(a), Self::Number(b)) => a.total_cmp(b),
            (Self::Boolean(a), Self::Boolean(b)) => a.cmp(b),
            (Self::Reference(a), Self::Reference(b)) => a.cmp(b),
            (Self::Civil(a), Self::Civil(b)) => a.cmp(b),
            (Self::Moment(a), Self::Moment(b)) => a.cmp(b),
            // A field's values are of one type or null.
            (a, b) => (*b == Self::Null).cmp(&(*a == Self::Null)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn around_a_change_of_clocks_walls_and_instants_have_one_order() {
        let paris = Zone::from_iana("Europe/Paris").expect("a zone");
        let civil = |text| datetime::parse(text).expect("a time");
        let at = |text| ColumnValue::Moment(Some(paris.instant_of(civil(text))));
        // 02:30 is in the gap and means 03:30.
        let mut cells = vec![
            ColumnValue::Civil(Some(civil("2025-03-30 02:30:00"))),
            ColumnValue::Civil(Some(civil("2025-03-30 03:05:00"))),
            at("2025-03-30 03:15:00"),
            ColumnValue::Moment(None),
        ];
        cells = cells.into_iter().map(|cell| cell.comparable(Kind::Moment, paris)).collect();
        cells.sort_by(ColumnValue::compare);
        let sorted = [
            ColumnValue::Null,
            at("2025-03-30 03:05:00"),
            at("2025-03-30 03:15:00"),
            at("2025-03-30 03:30:00"),
        ];
        assert_eq!(cells, sorted);
    }

    #[test]
    fn none_is_null_the_empty_text_or_the_id_0() {
        let utc = Zone::from_iana("Etc/UTC").expect("a zone");
        assert_eq!(
            ColumnValue::Reference(None).comparable(Kind::Reference, utc),
            ColumnValue::Reference(Some(0))
        );
        assert_eq!(
            ColumnValue::Null.comparable(Kind::Text { max: 255 }, utc),
            ColumnValue::Text("".into())
        );
        assert_eq!(ColumnValue::Null.comparable(Kind::Number, utc), ColumnValue::Null);
        let zero = ColumnValue::Number(-0.0).comparable(Kind::Number, utc);
        assert_eq!(zero.compare(&ColumnValue::Number(0.0)), Ordering::Equal);
    }
}
