//! Conditions on lists, `conditions[n][field|op|value]`, all of which a record must meet.
//! Reference 1.4.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt::Write as _;

use serde_json::Value;

use crate::domain::records::fault::Fault;
use crate::domain::records::folding::append_folded;
use crate::domain::records::text::InvalidValue;
use crate::domain::time::zone::Zone;
use crate::wire::datetime::{self, WrittenTime};
use crate::wire::field::{Audience, Column, ColumnValue, FieldType, Scope, Table};
use crate::wire::like_pattern::LikePattern;
use crate::wire::params::{ParamObject, Params};
use crate::wire::value;

/// Maximum number of conditions of one list.
const CONDITIONS_MAX: usize = 50;

/// Relations between a field and the value of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Equal,
    Unequal,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    Like,
    NotLike,
    In,
    NotIn,
}

impl Relation {
    const ALL: [(&str, Self); 10] = [
        ("=", Self::Equal),
        ("!=", Self::Unequal),
        (">", Self::Greater),
        (">=", Self::GreaterOrEqual),
        ("<", Self::Less),
        ("<=", Self::LessOrEqual),
        ("like", Self::Like),
        ("not like", Self::NotLike),
        ("in", Self::In),
        ("not in", Self::NotIn),
    ];

    fn parse(text: &str) -> Result<Self, InvalidValue> {
        let given = text.trim().to_ascii_lowercase();
        let named = Self::ALL.into_iter().find(|(name, _)| *name == given);
        named.map(|(_, relation)| relation).ok_or_else(|| {
            let names = Self::ALL.map(|(name, _)| name).join(", ");
            InvalidValue(format!("must be one of {names}"))
        })
    }
}

/// One condition on the records of a list.
pub struct Condition<'t, R> {
    /// The name of its field.
    pub field: String,
    column: Column<'t, R>,
    test: ConditionTest,
}

/// The value of a condition: one text, or a list of them.
enum GivenValue<'p> {
    Text(&'p str),
    List(Vec<&'p str>),
}

impl<'p> GivenValue<'p> {
    /// Returns the only text.
    ///
    /// # Errors
    /// A list of several.
    fn single(&self) -> Result<&'p str, InvalidValue> {
        match self {
            Self::Text(text) => Ok(text),
            Self::List(list) => match list[..] {
                [only] => Ok(only),
                [..] => {
                    Err(InvalidValue("must be one value: only in and not in take a list".into()))
                }
            },
        }
    }
}

/// Test of a value. Its own values are comparable ones of the field's type.
enum ConditionTest {
    /// Tests whether the value is in this ascending list; it must be, if the flag is true.
    OneOf(Vec<ColumnValue<'static>>, bool),
    /// Tests the order of the value relative to this bound; null never passes.
    Ordered(fn(Ordering) -> bool, ColumnValue<'static>),
    /// Tests whether the rendered value matches; it must match, if the flag is true.
    Like(LikePattern, bool),
}

impl<'t, R: 'static> Condition<'t, R> {
    /// Parses all conditions, in the order of first mention.
    ///
    /// # Errors
    /// More than 50 conditions, and the faults of each condition. Its index must be a whole number,
    /// the audience must see its field, and the field must be able to have its value.
    pub fn parse_all(
        params: &Params,
        table: &'t Table<R>,
        scope: &Scope<'_>,
        audience: Audience,
    ) -> Result<Vec<Self>, Vec<Fault>> {
        let given = params.objects("conditions", CONDITIONS_MAX);
        if given.len() > CONDITIONS_MAX {
            let rule = format!("must be at most {CONDITIONS_MAX}");
            return Err(vec![Fault::new("conditions", rule)]);
        }
        let mut conditions = Vec::new();
        let mut faults = Vec::new();
        for object in given {
            match Self::parse(&object, table, scope, audience) {
                Ok(condition) => conditions.push(condition),
                Err(wrong) => faults.extend(wrong),
            }
        }
        if faults.is_empty() { Ok(conditions) } else { Err(faults) }
    }

    fn parse(
        given: &ParamObject<'_>,
        table: &'t Table<R>,
        scope: &Scope<'_>,
        audience: Audience,
    ) -> Result<Self, Vec<Fault>> {
        let index = given.index;
        let digits = index.strip_prefix('-').unwrap_or(index);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            let form = "must have a whole number as index, as in conditions[0][field]";
            return Err(vec![Fault::new(format!("conditions[{index}]"), form)]);
        }
        let fault = |part: &str, illegal: InvalidValue| {
            Fault::new(format!("conditions[{index}][{part}]"), illegal.0)
        };
        let mut faults = Vec::new();
        let field = given.part("field").unwrap_or_default().trim();
        let column = table.column(field, scope, audience);
        if column.is_none() {
            let rule = format!("must be a field of {}", table.resource);
            faults.push(fault("field", InvalidValue(rule)));
        }
        let relation = match Relation::parse(given.part("op").unwrap_or_default()) {
            Ok(relation) => Some(relation),
            Err(illegal) => {
                faults.push(fault("op", illegal));
                None
            }
        };
        let (Some(column), Some(relation)) = (column, relation) else { return Err(faults) };
        let value = match given.list_part("value") {
            Some(list) => GivenValue::List(list),
            None => GivenValue::Text(given.part("value").unwrap_or_default()),
        };
        match ConditionTest::parse(&column, relation, &value, scope.zone) {
            Ok(test) => Ok(Self { field: field.to_owned(), column, test }),
            Err(illegal) => Err(vec![fault("value", illegal)]),
        }
    }

    /// Returns the cost of the condition on one record, relative to a comparison.
    pub fn cost_per_record(&self) -> usize {
        match self.test {
            ConditionTest::OneOf(..) | ConditionTest::Ordered(..) => 1,
            ConditionTest::Like(..) => 10,
        }
    }

    /// Returns the value of a record that the condition tests.
    pub fn read_value<'a>(&self, record: &'a R, scope: &Scope<'a>) -> ColumnValue<'a> {
        self.column.read_value(record, scope)
    }

    /// Returns whether a record meets the condition. `buffer` is overwritten.
    pub fn matches_record(&self, record: &R, scope: &Scope<'_>, buffer: &mut String) -> bool {
        self.matches_value(self.read_value(record, scope), scope, buffer)
    }

    /// Returns whether a value meets the condition. `buffer` is overwritten.
    pub fn matches_value(
        &self,
        value: ColumnValue<'_>,
        scope: &Scope<'_>,
        buffer: &mut String,
    ) -> bool {
        match &self.test {
            ConditionTest::OneOf(values, wanted) => {
                let key = value.into_comparable(self.column.field_type(), scope.zone);
                values.binary_search_by(|value| value.compare(&key)).is_ok() == *wanted
            }
            ConditionTest::Ordered(passes, bound) => {
                if value.is_null() {
                    return false;
                }
                let key = value.into_comparable(self.column.field_type(), scope.zone);
                passes(key.compare(bound))
            }
            ConditionTest::Like(pattern, wanted) => {
                let matches = if let ColumnValue::Text(text) = &value {
                    pattern.matches(text, buffer)
                } else {
                    buffer.clear();
                    append_rendered(&value, scope.zone, buffer);
                    pattern.matches_folded(buffer)
                };
                matches == *wanted
            }
        }
    }
}

impl ConditionTest {
    fn parse<R: 'static>(
        column: &Column<'_, R>,
        relation: Relation,
        value: &GivenValue<'_>,
        zone: Zone,
    ) -> Result<Self, InvalidValue> {
        let one = || Ok(vec![parse_value(column, value.single()?, zone)?]);
        let bound = || parse_bound(column, value.single()?, zone);
        let pattern = || Ok(LikePattern::new(value.single()?));
        match relation {
            Relation::Equal => Ok(Self::OneOf(one()?, true)),
            Relation::Unequal => Ok(Self::OneOf(one()?, false)),
            Relation::Greater => Ok(Self::Ordered(Ordering::is_gt, bound()?)),
            Relation::GreaterOrEqual => Ok(Self::Ordered(Ordering::is_ge, bound()?)),
            Relation::Less => Ok(Self::Ordered(Ordering::is_lt, bound()?)),
            Relation::LessOrEqual => Ok(Self::Ordered(Ordering::is_le, bound()?)),
            Relation::Like => Ok(Self::Like(pattern()?, true)),
            Relation::NotLike => Ok(Self::Like(pattern()?, false)),
            Relation::In => Ok(Self::OneOf(parse_list(column, value, zone)?, true)),
            Relation::NotIn => Ok(Self::OneOf(parse_list(column, value, zone)?, false)),
        }
    }
}

fn parse_bound<R: 'static>(
    column: &Column<'_, R>,
    text: &str,
    zone: Zone,
) -> Result<ColumnValue<'static>, InvalidValue> {
    let bound = parse_value(column, text, zone)?;
    if bound == ColumnValue::Null {
        return Err(InvalidValue("must not be empty: an empty value has no order".into()));
    }
    Ok(bound)
}

/// Parses the values of a list, or of a text with commas; they ascend.
fn parse_list<R: 'static>(
    column: &Column<'_, R>,
    value: &GivenValue<'_>,
    zone: Zone,
) -> Result<Vec<ColumnValue<'static>>, InvalidValue> {
    let entries = match value {
        GivenValue::Text(text) => split_list(column.field_type(), text),
        GivenValue::List(list) => list.clone(),
    };
    let parsed = entries.into_iter().map(|entry| parse_value(column, entry, zone));
    let mut values = parsed.collect::<Result<Vec<_>, _>>()?;
    values.sort_unstable_by(ColumnValue::compare);
    Ok(values)
}

/// Splits a list at its commas.
///
/// Empty entries are values of text fields. For other types they are dropped unless the whole
/// list is empty, so that `,11,13,` is two ids.
fn split_list(field_type: FieldType, text: &str) -> Vec<&str> {
    let is_text = matches!(field_type.empty_value(), ColumnValue::Text(_));
    let entries = text.split(',').filter(|entry| is_text || !entry.trim().is_empty());
    let entries: Vec<&str> = entries.collect();
    if entries.is_empty() { vec![""] } else { entries }
}

/// Parses a value of the column into its comparable form.
fn parse_value<R: 'static>(
    column: &Column<'_, R>,
    text: &str,
    zone: Zone,
) -> Result<ColumnValue<'static>, InvalidValue> {
    let field_type = column.field_type();
    let given = Value::from(text.trim());
    let value = match field_type {
        FieldType::Text { .. }
        | FieldType::Name { .. }
        | FieldType::Email
        | FieldType::Colour
        | FieldType::Choice(_) => ColumnValue::Text(Cow::Owned(text.to_owned())),
        FieldType::Id | FieldType::Reference => ColumnValue::Reference(value::parse_id(&given)?),
        FieldType::Integer { .. } => match value::parse_integer(&given)? {
            Some(number) => ColumnValue::Integer(number),
            None => ColumnValue::Null,
        },
        FieldType::Number => match value::parse_number(&given)? {
            Some(number) => ColumnValue::Number(number),
            None => ColumnValue::Null,
        },
        // Customised attributes may be unset; other booleans are always true or false.
        FieldType::Boolean if value::is_empty(&given) && matches!(column, Column::Custom(..)) => {
            ColumnValue::Null
        }
        FieldType::Boolean => ColumnValue::Boolean(value::parse_boolean(&given)?),
        FieldType::Moment => ColumnValue::Moment(match text.trim() {
            "" => None,
            text => Some(WrittenTime::parse_in_query(text)?.to_given_time()?.to_instant(zone)?),
        }),
        FieldType::CivilMoment => ColumnValue::Civil(match text.trim() {
            "" => None,
            text => Some(WrittenTime::parse_in_query(text)?.without_offset()?),
        }),
    };
    Ok(value.into_comparable(field_type, zone))
}

/// Appends a value as it is rendered, folded; nothing for null.
fn append_rendered(value: &ColumnValue<'_>, zone: Zone, out: &mut String) {
    let written = match value {
        ColumnValue::Text(text) => return append_folded(text, out),
        ColumnValue::Null
        | ColumnValue::Moment(None)
        | ColumnValue::Civil(None)
        | ColumnValue::Reference(None) => return,
        ColumnValue::Moment(Some(moment)) => {
            return datetime::append_civil(datetime::to_local(zone, *moment), out);
        }
        ColumnValue::Civil(Some(civil)) => return datetime::append_civil(*civil, out),
        ColumnValue::Reference(Some(id)) => write!(out, "{id}"),
        ColumnValue::Integer(number) => write!(out, "{number}"),
        ColumnValue::Number(number) => write!(out, "{number}"),
        ColumnValue::Boolean(flag) => write!(out, "{flag}"),
    };
    written.expect("writing to a String does not fail");
}

#[cfg(test)]
mod tests;
