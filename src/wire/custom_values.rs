//! Values of customised attributes in an object: parsing, rendering and visibility. Reference 9.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::domain::records::customfield::{
    CustomKind, CustomName, CustomValue, Customfield, Customs, Model,
};
use crate::domain::records::fault::Fault;
use crate::domain::records::text::{InvalidValue, Text};
use crate::domain::state::command::GivenCustoms;
use crate::wire::column_value::ColumnValue;
use crate::wire::scope::{Audience, Scope};
use crate::wire::value;

/// Access to the customised attributes of one resource's records.
pub struct CustomMember<R> {
    /// The model whose definitions apply.
    pub model: Model,
    /// Returns the values of a record; `None` if it has none.
    pub get: fn(&R) -> Option<&Customs>,
    /// Sets a value of a record; `None` removes it.
    pub set: fn(&mut R, CustomName, Option<CustomValue>),
}

impl<R> Clone for CustomMember<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for CustomMember<R> {}

/// Parses the customised attributes of an object; an empty value is `None`.
///
/// Attributes that applications and accounts may not see are ignored in their input. Reference 9.
///
/// # Errors
/// A non-empty value under a name that the group has not defined; a value of the wrong type.
pub fn parse_custom_values(
    object: &Map<String, Value>,
    scope: &Scope<'_>,
    model: Model,
    audience: Audience,
) -> Result<GivenCustoms, Vec<Fault>> {
    let mut given = Vec::new();
    let mut faults = Vec::new();
    for (key, value) in object {
        let Some(name) = CustomName::new(key) else { continue };
        match find_definition(scope, model, name, audience) {
            None if value::is_empty(value) => {}
            None => faults.push(Fault::new(key, "the group has not defined this attribute")),
            Some(definition) if audience < Audience::Pro && !definition.user_visible => {}
            Some(_) => match parse_custom_value(name, value) {
                Ok(value) => given.push((name, value)),
                Err(InvalidValue(rule)) => faults.push(Fault::new(key, rule)),
            },
        }
    }
    if faults.is_empty() { Ok(given) } else { Err(faults) }
}

/// Returns the definition that permits a value.
///
/// At import, deleted definitions count as well: stored values outlive them.
fn find_definition<'a>(
    scope: &Scope<'a>,
    model: Model,
    name: CustomName,
    audience: Audience,
) -> Option<&'a Customfield> {
    let catalogue = &scope.state.catalogue;
    match audience {
        Audience::Application | Audience::Account | Audience::Pro => {
            catalogue.customfield(model, name)
        }
        Audience::Store => {
            let mut definitions = catalogue.customfields.values().map(AsRef::as_ref);
            definitions.find(|definition| definition.model == model && definition.name == name)
        }
    }
}

/// Parses one value by the type that its name implies; `None` for an empty one.
fn parse_custom_value(
    name: CustomName,
    given: &Value,
) -> Result<Option<CustomValue>, InvalidValue> {
    // An empty list is no empty value of any of these types: it is refused below.
    if value::is_empty(given) && !given.is_array() {
        return Ok(None);
    }
    Ok(match name.kind() {
        CustomKind::Boolean => Some(CustomValue::Boolean(value::parse_boolean(given)?)),
        CustomKind::Datetime => value::parse_civil(given)?.map(CustomValue::Datetime),
        CustomKind::Number => value::parse_number(given)?.map(CustomValue::Number),
        CustomKind::String => Some(CustomValue::String(Text::new(&value::parse_text(given)?)?)),
        CustomKind::Text => Some(CustomValue::Text(Text::new(&value::parse_text(given)?)?)),
    })
}

/// Returns the defined attributes that an audience sees, with a record's values; unset ones are
/// null.
pub(crate) fn visible_custom_values<'a>(
    values: Option<&'a Customs>,
    scope: &Scope<'a>,
    model: Model,
    audience: Audience,
) -> Vec<(CustomName, ColumnValue<'a>)> {
    let mut visible = Vec::new();
    for definition in scope.state.catalogue.customfields.values() {
        let shown = audience >= Audience::Pro || definition.user_visible;
        if definition.model == model && !definition.deleted && shown {
            let value = values.and_then(|values| values.value(definition.name));
            visible.push((definition.name, custom_column_value(value)));
        }
    }
    visible
}

/// Returns an attribute's value for rendering and comparison; null if it is unset.
pub(crate) fn custom_column_value(value: Option<&CustomValue>) -> ColumnValue<'_> {
    match value {
        None => ColumnValue::Null,
        Some(CustomValue::Boolean(flag)) => ColumnValue::Boolean(*flag),
        Some(CustomValue::Datetime(civil)) => ColumnValue::Civil(Some(*civil)),
        Some(CustomValue::Number(number)) => ColumnValue::Number(*number),
        Some(CustomValue::String(text)) => ColumnValue::Text(Cow::Borrowed(text.as_str())),
        Some(CustomValue::Text(text)) => ColumnValue::Text(Cow::Borrowed(text.as_str())),
    }
}
