//! Conditions on lists: `conditions[n][field|op|value]`, all of which a record must meet. Reference 1.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt::Write as _;

use serde_json::Value;

use crate::domain::records::text::InvalidValue;
use crate::domain::state::refusal::Fault;
use crate::domain::time::zone::Zone;
use crate::wire::datetime;
use crate::wire::field::{Audience, Column, ColumnValue, Kind, Scope, Table};
use crate::wire::like_pattern::{LikePattern, push_folded};
use crate::wire::params::{Object, Params};
use crate::wire::value;

/// Most conditions of one list.
const CONDITIONS_MAX: usize = 50;

/// The relations that a condition can ask for.
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
        let found = Self::ALL.into_iter().find(|(name, _)| *name == given);
        let rule = || {
            InvalidValue(format!("must be one of {}", Self::ALL.map(|(name, _)| name).join(", ")))
        };
        found.map(|(_, relation)| relation).ok_or_else(rule)
    }
}

/// One condition on the records of a list.
pub struct Condition<'t, R> {
    /// The name of its field.
    pub field: String,
    column: Column<'t, R>,
    test: Test,
}

/// What a value is held against; the values are comparable ones of the field's kind.
enum Test {
    /// Whether it is one of these, which ascend; the answer that is wanted.
    OneOf(Vec<ColumnValue<'static>>, bool),
    /// How it must lie to this one; null lies nowhere.
    Lies(fn(Ordering) -> bool, ColumnValue<'static>),
    /// Whether it is shown in this form; the answer that is wanted.
    Shown(LikePattern, bool),
}

impl<'t, R: 'static> Condition<'t, R> {
    /// The conditions that the parameters name, in no particular order.
    ///
    /// # Errors
    /// Everything that is wrong: an index that is no whole number, a field that the audience does not see, an unknown
    /// relation, a value that the field cannot have, too many conditions.
    pub fn parse_all(
        params: &Params,
        table: &'t Table<R>,
        scope: &Scope<'_>,
        audience: Audience,
    ) -> Result<Vec<Self>, Vec<Fault>> {
        let given = params.objects("conditions");
        if given.len() > CONDITIONS_MAX {
            return Err(vec![Fault::new(
                "conditions",
                format!("must be at most {CONDITIONS_MAX}"),
            )]);
        }
        let (mut conditions, mut faults) = (Vec::new(), Vec::new());
        for object in given {
            match Self::parse(&object, table, scope, audience) {
                Ok(condition) => conditions.push(condition),
                Err(wrong) => faults.extend(wrong),
            }
        }
        if faults.is_empty() { Ok(conditions) } else { Err(faults) }
    }

    fn parse(
        given: &Object<'_>,
        table: &'t Table<R>,
        scope: &Scope<'_>,
        audience: Audience,
    ) -> Result<Self, Vec<Fault>> {
        let index = given.index;
        let digits = index.strip_prefix('-').unwrap_or(index);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            let form = "must be numbered, as in conditions[0][field]";
            return Err(vec![Fault::new(format!("conditions[{index}]"), form)]);
        }
        let fault = |part: &str, illegal: InvalidValue| {
            Fault::new(format!("conditions[{index}][{part}]"), illegal.0)
        };
        let field = given.part("field").map_or("", str::trim);
        let column = table.column(field, scope, audience);
        let column =
            column.ok_or_else(|| InvalidValue(format!("must be a field of {}", table.resource)));
        let relation = Relation::parse(given.part("op").unwrap_or_default());
        match (column, relation) {
            (Ok(column), Ok(relation)) => {
                let test = Test::parse(
                    &column,
                    relation,
                    given.part("value").unwrap_or_default(),
                    scope.zone,
                );
                let test = test.map_err(|illegal| vec![fault("value", illegal)])?;
                Ok(Self { field: field.to_owned(), column, test })
            }
            (column, relation) => {
                let field = column.err().map(|illegal| fault("field", illegal));
                Err(field
                    .into_iter()
                    .chain(relation.err().map(|illegal| fault("op", illegal)))
                    .collect())
            }
        }
    }

    /// What it costs to try on a record, in times of looking at the record.
    #[must_use]
    pub fn cost(&self) -> usize {
        match self.test {
            Test::OneOf(..) | Test::Lies(..) => 1,
            Test::Shown(..) => 10,
        }
    }

    /// The value of a record that it looks at.
    #[must_use]
    pub fn cell<'a>(&self, record: &'a R, scope: &Scope<'a>) -> ColumnValue<'a> {
        self.column.cell(record, scope)
    }

    /// Whether a record meets it. Texts are written into `room`, whatever stood there.
    #[must_use]
    pub fn holds(&self, record: &R, scope: &Scope<'_>, room: &mut String) -> bool {
        self.admits(self.cell(record, scope), scope, room)
    }

    /// Whether a record meets it whose value is this. Texts are written into `room`, whatever stood there.
    #[must_use]
    pub fn admits(&self, cell: ColumnValue<'_>, scope: &Scope<'_>, room: &mut String) -> bool {
        match &self.test {
            Test::OneOf(cells, wanted) => {
                let key = cell.comparable(self.column.kind(), scope.zone);
                cells.binary_search_by(|cell| cell.compare(&key)).is_ok() == *wanted
            }
            Test::Lies(how, bound) => {
                !cell.is_null()
                    && how(cell.comparable(self.column.kind(), scope.zone).compare(bound))
            }
            Test::Shown(pattern, wanted) => {
                let matches = if let ColumnValue::Text(text) = &cell {
                    pattern.matches(text, room)
                } else {
                    room.clear();
                    push_shown(&cell, scope.zone, room);
                    pattern.matches_folded(room)
                };
                matches == *wanted
            }
        }
    }
}

impl Test {
    fn parse<R: 'static>(
        column: &Column<'_, R>,
        relation: Relation,
        text: &str,
        zone: Zone,
    ) -> Result<Self, InvalidValue> {
        let cell = |text: &str| cell(column, text, zone);
        let one = |wanted| Ok(Self::OneOf(vec![cell(text)?], wanted));
        let lies = |how| {
            let bound = cell(text)?;
            if bound == ColumnValue::Null {
                return Err(InvalidValue(
                    "must not be empty: nothing lies before or after it".into(),
                ));
            }
            Ok(Self::Lies(how, bound))
        };
        let several = |wanted| {
            let mut cells = entries(column.kind(), text)
                .into_iter()
                .map(cell)
                .collect::<Result<Vec<_>, _>>()?;
            cells.sort_unstable_by(ColumnValue::compare);
            Ok(Self::OneOf(cells, wanted))
        };
        match relation {
            Relation::Equal => one(true),
            Relation::Unequal => one(false),
            Relation::Greater => lies(Ordering::is_gt),
            Relation::GreaterOrEqual => lies(Ordering::is_ge),
            Relation::Less => lies(Ordering::is_lt),
            Relation::LessOrEqual => lies(Ordering::is_le),
            Relation::Like => Ok(Self::Shown(LikePattern::new(text), true)),
            Relation::NotLike => Ok(Self::Shown(LikePattern::new(text), false)),
            Relation::In => several(true),
            Relation::NotIn => several(false),
        }
    }
}

/// The entries of a list. Between two commas stands an empty text; of other kinds no entry is empty but a lone one, so that
/// `,11,13,` is two ids.
fn entries(kind: Kind, text: &str) -> Vec<&str> {
    let entries = text.split(',');
    if matches!(kind.none(), ColumnValue::Text(_)) {
        return entries.collect();
    }
    let given: Vec<&str> = entries.filter(|entry| !entry.trim().is_empty()).collect();
    if given.is_empty() { vec![""] } else { given }
}

/// A value of the field, in the form in which records are held against it.
fn cell<R: 'static>(
    column: &Column<'_, R>,
    text: &str,
    zone: Zone,
) -> Result<ColumnValue<'static>, InvalidValue> {
    let kind = column.kind();
    let given = Value::from(text.trim());
    let cell = match kind {
        Kind::Text { .. } | Kind::Name { .. } | Kind::Email | Kind::Colour | Kind::Choice(_) => {
            ColumnValue::Text(Cow::Owned(text.to_owned()))
        }
        Kind::Id | Kind::Reference => ColumnValue::Reference(value::id(&given)?),
        Kind::Integer { .. } => {
            value::integer(&given)?.map_or(ColumnValue::Null, ColumnValue::Integer)
        }
        Kind::Number => value::number(&given)?.map_or(ColumnValue::Null, ColumnValue::Number),
        // Only a customised attribute may be neither.
        Kind::Boolean if value::is_empty(&given) && matches!(column, Column::Custom(..)) => {
            ColumnValue::Null
        }
        Kind::Boolean => ColumnValue::Boolean(value::boolean(&given)?),
        Kind::Moment => ColumnValue::Moment(
            value::civil(&given)?.map(|civil| datetime::instant(zone, civil)).transpose()?,
        ),
        Kind::CivilMoment => ColumnValue::Civil(value::civil(&given)?),
    };
    Ok(cell.comparable(kind, zone))
}

/// Appends a value as clients are shown it, folded; nothing where it is null.
fn push_shown(cell: &ColumnValue<'_>, zone: Zone, out: &mut String) {
    let written = match cell {
        ColumnValue::Text(text) => return push_folded(text, out),
        ColumnValue::Null
        | ColumnValue::Moment(None)
        | ColumnValue::Civil(None)
        | ColumnValue::Reference(None) => return,
        ColumnValue::Moment(Some(moment)) => {
            return datetime::push(datetime::local(zone, *moment), out);
        }
        ColumnValue::Civil(Some(civil)) => return datetime::push(*civil, out),
        ColumnValue::Reference(Some(id)) => write!(out, "{id}"),
        ColumnValue::Integer(number) => write!(out, "{number}"),
        ColumnValue::Number(number) => write!(out, "{number}"),
        ColumnValue::Boolean(flag) => write!(out, "{flag}"),
    };
    written.expect("memory takes all that is written");
}

#[cfg(test)]
mod tests;
