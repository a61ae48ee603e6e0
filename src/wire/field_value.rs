//! How each type of the domain is read from JSON and shown: one implementation a type, whatever field it stands in.

use std::borrow::Cow;

use serde_json::Value;

use crate::domain::records::group::{Currency, Usercolors};
use crate::domain::records::ids::{CalendarsetId, InterventionsetId};
use crate::domain::records::text::{
    Bounded, Colour, Email, InvalidValue, Name, ReminderLead, Text,
};
use crate::domain::time::zone_names::ZoneName;
use crate::domain::time::{Civil, Instant};
use crate::wire::datetime;
use crate::wire::field::{ColumnValue, Kind, Scope};
use crate::wire::value;

/// A type that fields have.
pub trait FieldValue: Clone + Send + Sync + 'static {
    /// What it is on the wire.
    const KIND: Kind;

    /// The value as it is shown and compared.
    fn cell(&self) -> ColumnValue<'_>;

    /// The value that was given; `None` where it was unset, which gives the field its default.
    ///
    /// # Errors
    /// What is wrong and what would be right.
    fn parse(value: &Value, scope: &Scope<'_>) -> Result<Option<Self>, InvalidValue>;
}

/// A type that is read from a text.
macro_rules! from_text {
    ($($type:ty, $kind:expr, [$($generics:tt)*], $parse:expr, |$this:ident| $shown:expr;)*) => {$(
        impl<$($generics)*> FieldValue for $type {
            const KIND: Kind = $kind;

            fn cell(&self) -> ColumnValue<'_> {
                let $this = self;
                ColumnValue::Text(Cow::Borrowed($shown))
            }

            fn parse(value: &Value, _: &Scope<'_>) -> Result<Option<Self>, InvalidValue> {
                let parse: fn(&str) -> Result<Option<Self>, InvalidValue> = $parse;
                parse(&value::text(value)?)
            }
        }
    )*};
}

/// `None` for the empty text.
fn unless_empty<T>(
    text: &str,
    parse: fn(&str) -> Result<T, InvalidValue>,
) -> Result<Option<T>, InvalidValue> {
    // Spaces alone: a control character beside the value is none that may be dropped.
    let text = text.trim_matches(' ');
    if text.is_empty() { Ok(None) } else { parse(text).map(Some) }
}

fn zone_name(text: &str) -> Result<Option<ZoneName>, InvalidValue> {
    let name = ZoneName::from_name(text);
    name.map_or_else(
        || Err(InvalidValue("must be one of the listed zone names, such as Paris".into())),
        |name| Ok(Some(name)),
    )
}

fn zone_names() -> Vec<&'static str> {
    ZoneName::all().map(ZoneName::name).collect()
}

fn currencies() -> Vec<&'static str> {
    Currency::ALL.map(Currency::code).to_vec()
}

from_text! {
    Text<MAX>, Kind::Text { max: MAX }, [const MAX: usize], |text| Self::new(text).map(Some), |this| this.as_str();
    Name<MAX>, Kind::Name { max: MAX }, [const MAX: usize], |text| Self::new(text).map(Some), |this| this.as_str();
    Option<Email>, Kind::Email, [], |text| unless_empty(text, Email::new).map(Some),
        |this| this.as_ref().map_or("", Email::as_str);
    Option<Colour>, Kind::Colour, [], |text| unless_empty(text, Colour::new).map(Some),
        |this| this.as_ref().map_or("", Colour::as_str);
    Option<Usercolors>, Kind::Text { max: 255 }, [], |text| unless_empty(text, Usercolors::new).map(Some),
        |this| this.as_ref().map_or("", Usercolors::as_str);
    Colour, Kind::Colour, [], |text| unless_empty(text, Self::new), |this| this.as_str();
    Currency, Kind::Choice(currencies), [], |text| unless_empty(text, Self::new), |this| this.code();
    ZoneName, Kind::Choice(zone_names), [], zone_name, |this| this.name();
}

impl FieldValue for bool {
    const KIND: Kind = Kind::Boolean;

    fn cell(&self) -> ColumnValue<'_> {
        ColumnValue::Boolean(*self)
    }

    fn parse(value: &Value, _: &Scope<'_>) -> Result<Option<Self>, InvalidValue> {
        value::boolean(value).map(Some)
    }
}

impl<const MIN: i64, const MAX: i64> FieldValue for Bounded<MIN, MAX> {
    const KIND: Kind = Kind::Integer { min: MIN, max: MAX };

    fn cell(&self) -> ColumnValue<'_> {
        ColumnValue::Integer(self.number())
    }

    fn parse(value: &Value, _: &Scope<'_>) -> Result<Option<Self>, InvalidValue> {
        value::integer(value)?.map(Self::new).transpose()
    }
}

impl<const MAX: i64> FieldValue for ReminderLead<MAX> {
    const KIND: Kind = Kind::Integer { min: 0, max: MAX };

    fn cell(&self) -> ColumnValue<'_> {
        ColumnValue::Integer(self.minutes().unwrap_or(0))
    }

    fn parse(value: &Value, _: &Scope<'_>) -> Result<Option<Self>, InvalidValue> {
        value::integer(value)?.map(Self::new).transpose()
    }
}

impl FieldValue for i64 {
    const KIND: Kind = Kind::Integer { min: Self::MIN, max: Self::MAX };

    fn cell(&self) -> ColumnValue<'_> {
        ColumnValue::Integer(*self)
    }

    fn parse(value: &Value, _: &Scope<'_>) -> Result<Option<Self>, InvalidValue> {
        value::integer(value)
    }
}

/// A number that may be unset, and is null then.
macro_rules! optional_number {
    ($($type:ty, [$($generics:tt)*];)*) => {$(
        impl<$($generics)*> FieldValue for Option<$type> {
            const KIND: Kind = <$type as FieldValue>::KIND;

            fn cell(&self) -> ColumnValue<'_> {
                self.as_ref().map_or(ColumnValue::Null, FieldValue::cell)
            }

            fn parse(value: &Value, scope: &Scope<'_>) -> Result<Option<Self>, InvalidValue> {
                <$type as FieldValue>::parse(value, scope).map(Some)
            }
        }
    )*};
}

optional_number! {
    i64, [];
    Bounded<MIN, MAX>, [const MIN: i64, const MAX: i64];
}

/// An id of the group's catalogue that may be unset.
macro_rules! reference {
    ($($id:ty, $map:ident;)*) => {$(
        impl FieldValue for Option<$id> {
            const KIND: Kind = Kind::Reference;

            fn cell(&self) -> ColumnValue<'_> {
                ColumnValue::Reference(self.map(<$id>::number))
            }

            fn parse(value: &Value, scope: &Scope<'_>) -> Result<Option<Self>, InvalidValue> {
                let Some(id) = value::id(value)?.and_then(<$id>::new) else { return Ok(Some(None)) };
                if scope.state.catalogue.$map.contains_key(&id) {
                    Ok(Some(Some(id)))
                } else {
                    Err(InvalidValue(concat!("must be the id of one of the group's ", stringify!($map)).into()))
                }
            }
        }
    )*};
}

reference! {
    CalendarsetId, calendarsets;
    InterventionsetId, interventionsets;
}

impl FieldValue for Option<Civil> {
    const KIND: Kind = Kind::CivilMoment;

    fn cell(&self) -> ColumnValue<'_> {
        ColumnValue::Civil(*self)
    }

    fn parse(value: &Value, _: &Scope<'_>) -> Result<Option<Self>, InvalidValue> {
        value::civil(value).map(Some)
    }
}

impl FieldValue for Instant {
    const KIND: Kind = Kind::Moment;

    fn cell(&self) -> ColumnValue<'_> {
        ColumnValue::Moment(Some(*self))
    }

    fn parse(value: &Value, scope: &Scope<'_>) -> Result<Option<Self>, InvalidValue> {
        value::civil(value)?.map(|civil| datetime::instant(scope.zone, civil)).transpose()
    }
}

impl FieldValue for Option<Instant> {
    const KIND: Kind = Kind::Moment;

    fn cell(&self) -> ColumnValue<'_> {
        ColumnValue::Moment(*self)
    }

    fn parse(value: &Value, scope: &Scope<'_>) -> Result<Option<Self>, InvalidValue> {
        Instant::parse(value, scope).map(Some)
    }
}
