//! Conversion of each domain type from and to JSON: one implementation per type, for all fields.
//! Reference 1.2, 1.3.

use std::borrow::Cow;

use serde_json::Value;

use crate::domain::records::embed_origins::EmbedOrigins;
use crate::domain::records::group::{ContactNeeded, Currency, Usercolors, VerifyBookings};
use crate::domain::records::ids::{CalendarsetId, InterventionsetId};
use crate::domain::records::nearest::nearest;
use crate::domain::records::sms_countries::SmsCountries;
use crate::domain::records::text::{
    Bounded, Colour, Email, InvalidValue, Name, ReminderLead, Text,
};
use crate::domain::time::zone_names::ZoneName;
use crate::domain::time::{Civil, Instant};
use crate::wire::column_value::{ColumnValue, FieldType};
use crate::wire::scope::Scope;
use crate::wire::value;

/// Parses a field's value from JSON and renders it.
pub trait FieldCodec: Clone + Send + Sync + 'static {
    /// The type of such a field on the wire.
    const FIELD_TYPE: FieldType;

    /// Returns the value for rendering and comparison.
    fn to_column_value(&self) -> ColumnValue<'_>;

    /// Parses a given value; `None` if it is empty, which resets the field to its default.
    ///
    /// # Errors
    /// The rule that the value breaks.
    fn parse(value: &Value, scope: &Scope<'_>) -> Result<Option<Self>, InvalidValue>;
}

/// Implements [`FieldCodec`] for types that are written as a text.
macro_rules! from_text {
    ($($type:ty, $kind:expr, [$($generics:tt)*], $parse:expr, |$this:ident| $shown:expr;)*) => {$(
        impl<$($generics)*> FieldCodec for $type {
            const FIELD_TYPE: FieldType = $kind;

            fn to_column_value(&self) -> ColumnValue<'_> {
                let $this = self;
                ColumnValue::Text(Cow::Borrowed($shown))
            }

            fn parse(value: &Value, _: &Scope<'_>) -> Result<Option<Self>, InvalidValue> {
                let parse: fn(&str) -> Result<Option<Self>, InvalidValue> = $parse;
                parse(&value::parse_text(value)?)
            }
        }
    )*};
}

/// Parses a text without its surrounding spaces; `None` for the empty text.
fn parse_unless_empty<T>(
    text: &str,
    parse: fn(&str) -> Result<T, InvalidValue>,
) -> Result<Option<T>, InvalidValue> {
    // Only spaces are trimmed: a control character next to the value must be refused.
    let text = text.trim_matches(' ');
    if text.is_empty() { Ok(None) } else { parse(text).map(Some) }
}

fn parse_zone_name(text: &str) -> Result<Option<ZoneName>, InvalidValue> {
    match ZoneName::from_name(text) {
        Some(name) => Ok(Some(name)),
        None => {
            let known = "must be a zone name of the reference, such as Paris, or an IANA name";
            Err(InvalidValue(match nearest_zone(text) {
                Some(near) => format!("{known}: the nearest is {near}"),
                None => known.to_owned(),
            }))
        }
    }
}

/// Returns the name of a zone that resembles a text most, by the whole name or by its city.
fn nearest_zone(text: &str) -> Option<&'static str> {
    let city_of = |name: &'static str| name.rsplit('/').next().unwrap_or(name);
    let found = nearest(text, ZoneName::texts().chain(ZoneName::texts().map(city_of)))?;
    ZoneName::texts().find(|name| *name == found || city_of(name) == found)
}

fn currencies() -> Vec<&'static str> {
    Currency::ALL.map(Currency::code).to_vec()
}

fn verify_bookings_names() -> Vec<&'static str> {
    VerifyBookings::ALL.map(VerifyBookings::name).to_vec()
}

fn contact_needed_names() -> Vec<&'static str> {
    ContactNeeded::ALL.map(ContactNeeded::name).to_vec()
}

from_text! {
    Text<MAX>, FieldType::Text { max: MAX }, [const MAX: usize],
        |text| Ok(Some(Self::new(text)?)), |this| this.as_str();
    Name<MAX>, FieldType::Name { max: MAX }, [const MAX: usize],
        |text| Ok(Some(Self::new(text)?)), |this| this.as_str();
    Option<Email>, FieldType::Email, [], |text| Ok(Some(parse_unless_empty(text, Email::new)?)),
        |this| this.as_ref().map_or("", Email::as_str);
    Option<Colour>, FieldType::Colour, [], |text| Ok(Some(parse_unless_empty(text, Colour::new)?)),
        |this| this.as_ref().map_or("", Colour::as_str);
    SmsCountries, FieldType::Text { max: 255 }, [], |text| Ok(Some(Self::new(text)?)),
        |this| this.as_str();
    Colour, FieldType::Colour, [], |text| parse_unless_empty(text, Self::new), |this| this.as_str();
    Currency, FieldType::Choice(currencies), [], |text| parse_unless_empty(text, Self::new),
        |this| this.code();
    VerifyBookings, FieldType::Choice(verify_bookings_names), [],
        |text| parse_unless_empty(text, Self::new), |this| this.name();
    ContactNeeded, FieldType::Choice(contact_needed_names), [],
        |text| parse_unless_empty(text, Self::new), |this| this.name();
    ZoneName, FieldType::Text { max: 255 }, [], parse_zone_name, |this| this.name();
}

impl FieldCodec for Option<Usercolors> {
    const FIELD_TYPE: FieldType = FieldType::Text { max: 255 };

    fn to_column_value(&self) -> ColumnValue<'_> {
        match self {
            Some(colours) => ColumnValue::Text(Cow::Borrowed(colours.as_str())),
            None => ColumnValue::Null,
        }
    }

    fn parse(value: &Value, _: &Scope<'_>) -> Result<Option<Self>, InvalidValue> {
        Ok(Some(parse_unless_empty(&value::parse_text(value)?, Usercolors::new)?))
    }
}

impl FieldCodec for EmbedOrigins {
    const FIELD_TYPE: FieldType = FieldType::Text { max: 4_096 };

    fn to_column_value(&self) -> ColumnValue<'_> {
        ColumnValue::Text(Cow::Borrowed(self.as_str()))
    }

    fn parse(value: &Value, _: &Scope<'_>) -> Result<Option<Self>, InvalidValue> {
        let text = match value {
            Value::Array(list) => {
                let origins: Result<Vec<_>, _> = list.iter().map(value::parse_text).collect();
                Cow::Owned(origins?.join(","))
            }
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Object(_) => value::parse_text(value)?,
        };
        Ok(Some(Self::new(&text)?))
    }
}

impl FieldCodec for bool {
    const FIELD_TYPE: FieldType = FieldType::Boolean;

    fn to_column_value(&self) -> ColumnValue<'_> {
        ColumnValue::Boolean(*self)
    }

    fn parse(value: &Value, _: &Scope<'_>) -> Result<Option<Self>, InvalidValue> {
        Ok(Some(value::parse_boolean(value)?))
    }
}

impl<const MIN: i64, const MAX: i64> FieldCodec for Bounded<MIN, MAX> {
    const FIELD_TYPE: FieldType = FieldType::Integer { min: MIN, max: MAX };

    fn to_column_value(&self) -> ColumnValue<'_> {
        ColumnValue::Integer(self.number())
    }

    fn parse(value: &Value, _: &Scope<'_>) -> Result<Option<Self>, InvalidValue> {
        match value::parse_integer(value)? {
            Some(number) => Ok(Some(Self::new(number)?)),
            None => Ok(None),
        }
    }
}

impl<const MAX: i64> FieldCodec for ReminderLead<MAX> {
    const FIELD_TYPE: FieldType = FieldType::Integer { min: 0, max: MAX };

    fn to_column_value(&self) -> ColumnValue<'_> {
        ColumnValue::Integer(self.minutes().unwrap_or(0))
    }

    fn parse(value: &Value, _: &Scope<'_>) -> Result<Option<Self>, InvalidValue> {
        match value::parse_integer(value)? {
            Some(number) => Ok(Some(Self::new(number)?)),
            None => Ok(None),
        }
    }
}

impl FieldCodec for i64 {
    const FIELD_TYPE: FieldType = FieldType::Integer { min: Self::MIN, max: Self::MAX };

    fn to_column_value(&self) -> ColumnValue<'_> {
        ColumnValue::Integer(*self)
    }

    fn parse(value: &Value, _: &Scope<'_>) -> Result<Option<Self>, InvalidValue> {
        value::parse_integer(value)
    }
}

/// Implements [`FieldCodec`] for optional numbers; an unset one is null.
macro_rules! optional_number {
    ($($type:ty, [$($generics:tt)*];)*) => {$(
        impl<$($generics)*> FieldCodec for Option<$type> {
            const FIELD_TYPE: FieldType = <$type as FieldCodec>::FIELD_TYPE;

            fn to_column_value(&self) -> ColumnValue<'_> {
                match self {
                    Some(number) => number.to_column_value(),
                    None => ColumnValue::Null,
                }
            }

            fn parse(value: &Value, scope: &Scope<'_>) -> Result<Option<Self>, InvalidValue> {
                Ok(Some(<$type as FieldCodec>::parse(value, scope)?))
            }
        }
    )*};
}

optional_number! {
    i64, [];
    Bounded<MIN, MAX>, [const MIN: i64, const MAX: i64];
}

/// Implements [`FieldCodec`] for optional ids of objects in the group's catalogue.
macro_rules! reference {
    ($($id:ty, $map:ident;)*) => {$(
        impl FieldCodec for Option<$id> {
            const FIELD_TYPE: FieldType = FieldType::Reference;

            fn to_column_value(&self) -> ColumnValue<'_> {
                ColumnValue::Reference(self.map(<$id>::number))
            }

            fn parse(value: &Value, scope: &Scope<'_>) -> Result<Option<Self>, InvalidValue> {
                let Some(id) = value::parse_id(value)?.and_then(<$id>::new) else {
                    return Ok(Some(None));
                };
                if scope.state.catalogue.$map.contains_key(&id) {
                    Ok(Some(Some(id)))
                } else {
                    let rule = concat!("must be the id of one of the group's ", stringify!($map));
                    Err(InvalidValue(rule.into()))
                }
            }
        }
    )*};
}

reference! {
    CalendarsetId, calendarsets;
    InterventionsetId, interventionsets;
}

impl FieldCodec for Option<Civil> {
    const FIELD_TYPE: FieldType = FieldType::CivilMoment;

    fn to_column_value(&self) -> ColumnValue<'_> {
        ColumnValue::Civil(*self)
    }

    fn parse(value: &Value, _: &Scope<'_>) -> Result<Option<Self>, InvalidValue> {
        Ok(Some(value::parse_civil(value)?))
    }
}

impl FieldCodec for Instant {
    const FIELD_TYPE: FieldType = FieldType::Moment;

    fn to_column_value(&self) -> ColumnValue<'_> {
        ColumnValue::Moment(Some(*self))
    }

    fn parse(value: &Value, scope: &Scope<'_>) -> Result<Option<Self>, InvalidValue> {
        match value::parse_time(value)? {
            Some(time) => Ok(Some(time.to_instant(scope.zone)?)),
            None => Ok(None),
        }
    }
}

impl FieldCodec for Option<Instant> {
    const FIELD_TYPE: FieldType = FieldType::Moment;

    fn to_column_value(&self) -> ColumnValue<'_> {
        ColumnValue::Moment(*self)
    }

    fn parse(value: &Value, scope: &Scope<'_>) -> Result<Option<Self>, InvalidValue> {
        Ok(Some(Instant::parse(value, scope)?))
    }
}
