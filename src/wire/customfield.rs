//! Customised attributes: the fields of their definitions, and how their values stand in an object. Reference 12.9, 9.

use std::borrow::Cow;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::domain::records::customfield::{
    CustomKind, CustomName, CustomValue, Customfield, Customs, Model,
};
use crate::domain::records::ids::CustomfieldId;
use crate::domain::records::text::{InvalidValue, Text};
use crate::domain::state::command::GivenCustoms;
use crate::domain::state::refusal::Fault;
use crate::domain::time::Instant;
use crate::wire::field::{Audience, ColumnValue, Field, Kind, Scope, Table, fields, plain};
use crate::wire::value;

const PRO: (Audience, Audience) = (Audience::Pro, Audience::Pro);

/// Every field of a definition. Model and name are set once: an attribute keeps them.
pub static CUSTOMFIELD: LazyLock<Table<Customfield>> = LazyLock::new(|| Table {
    resource: "customfield",
    fields: fields!(
        Customfield,
        Audience::Pro,
        [
            Field::derived(
                "model",
                Kind::Choice(models),
                Audience::Pro,
                |field: &Customfield, _| { ColumnValue::Text(Cow::Borrowed(field.model.name())) }
            )
            .written(Audience::Pro, |given, _, _, patch| {
                let model = model(given)?;
                patch.push(move |field| field.model = model);
                Ok(())
            }),
            Field::derived(
                "name",
                Kind::Name { max: 5 },
                Audience::Pro,
                |field: &Customfield, _| { ColumnValue::Text(field.name.to_string().into()) }
            )
            .written(Audience::Pro, |given, _, _, patch| {
                let name = name(given)?;
                patch.push(move |field| field.name = name);
                Ok(())
            }),
            plain!("pro_label", pro_label, PRO),
            plain!("pro_inputex", pro_inputex, PRO),
            plain!("pro_position", pro_position, PRO),
            plain!("pro_required", pro_required, PRO),
            plain!("user_inputex", user_inputex, PRO),
            plain!("user_label", user_label, PRO),
            plain!("user_position", user_position, PRO),
            plain!("user_required", user_required, PRO),
            plain!("user_visible", user_visible, PRO),
            plain!("deleted", deleted, PRO),
        ]
    ),
    required: &[&["model"], &["name"]],
    customs: None,
    id: |field| field.id.number(),
    order: |a, b, _| a.id.cmp(&b.id),
    blank: Customfield::new(
        CustomfieldId::new(1).expect("1 is an id"),
        Model::Fiche,
        CustomName::new("str0").expect("a custom name"),
        Instant(0),
    ),
});

fn models() -> Vec<&'static str> {
    vec![Model::Fiche.name(), Model::Vevent.name()]
}

fn model(given: &Value) -> Result<Model, InvalidValue> {
    let text = value::text(given)?;
    let found = [Model::Fiche, Model::Vevent].into_iter().find(|model| model.name() == text);
    found.ok_or_else(|| InvalidValue("must be Fiche or Vevent".into()))
}

fn name(given: &Value) -> Result<CustomName, InvalidValue> {
    let rule =
        "must be one of bool0 to bool9, dt0 to dt1, num0 to num3, str0 to str14, txt0 to txt2";
    CustomName::new(&value::text(given)?).ok_or_else(|| InvalidValue(rule.into()))
}

/// How a resource holds customised attributes.
pub struct CustomMember<R> {
    /// Whose definitions count.
    pub model: Model,
    /// The values of a record.
    pub get: fn(&R) -> Option<&Customs>,
    /// Sets a value of a record, or unsets it.
    pub set: fn(&mut R, CustomName, Option<CustomValue>),
}

impl<R> Clone for CustomMember<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for CustomMember<R> {}

/// The customised attributes that an object gives; an empty value is `None`. Web callers' values of attributes that they
/// may not see are ignored. Reference 9.
///
/// # Errors
/// A name that the group has not defined, with a value; a value of the wrong type.
pub fn given(
    object: &Map<String, Value>,
    scope: &Scope<'_>,
    model: Model,
    audience: Audience,
) -> Result<GivenCustoms, Vec<Fault>> {
    let mut given = Vec::new();
    let mut faults = Vec::new();
    for (key, value) in object {
        let Some(name) = CustomName::new(key) else { continue };
        match definition(scope, model, name, audience) {
            None if value::is_empty(value) => {}
            None => faults.push(Fault::new(key, "the group has not defined this attribute")),
            Some(definition) if audience < Audience::Pro && !definition.user_visible => {}
            Some(_) => match parse_value(name, value) {
                Ok(value) => given.push((name, value)),
                Err(InvalidValue(rule)) => faults.push(Fault::new(key, rule)),
            },
        }
    }
    if faults.is_empty() { Ok(given) } else { Err(faults) }
}

/// The definition that allows a value. In the store a value outlives the deletion of its definition.
fn definition<'a>(
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
        Audience::Store => catalogue
            .customfields
            .values()
            .map(AsRef::as_ref)
            .find(|field| field.model == model && field.name == name),
    }
}

/// The value of a customised attribute, or `None` for an empty one.
fn parse_value(name: CustomName, given: &Value) -> Result<Option<CustomValue>, InvalidValue> {
    if value::is_empty(given) && !given.is_array() {
        return Ok(None);
    }
    Ok(match name.kind() {
        CustomKind::Boolean => Some(CustomValue::Boolean(value::boolean(given)?)),
        CustomKind::Datetime => value::civil(given)?.map(CustomValue::Datetime),
        CustomKind::Number => value::number(given)?.map(CustomValue::Number),
        CustomKind::String => Some(CustomValue::String(Text::new(&value::text(given)?)?)),
        CustomKind::Text => Some(CustomValue::Text(Text::new(&value::text(given)?)?)),
    })
}

/// The attributes that the group has defined and an audience sees, with a record's values; unset ones are null.
pub(super) fn shown<'a>(
    values: Option<&'a Customs>,
    scope: &Scope<'a>,
    model: Model,
    audience: Audience,
) -> impl Iterator<Item = (CustomName, ColumnValue<'a>)> {
    let defined = scope.state.catalogue.customfields.values().filter(move |definition| {
        definition.model == model
            && !definition.deleted
            && (audience >= Audience::Pro || definition.user_visible)
    });
    defined.map(move |definition| {
        (definition.name, cell(values.and_then(|values| values.value(definition.name))))
    })
}

/// A value as it is shown; null where it is unset.
pub(super) fn cell(value: Option<&CustomValue>) -> ColumnValue<'_> {
    match value {
        None => ColumnValue::Null,
        Some(CustomValue::Boolean(flag)) => ColumnValue::Boolean(*flag),
        Some(CustomValue::Datetime(civil)) => ColumnValue::Civil(Some(*civil)),
        Some(CustomValue::Number(number)) => ColumnValue::Number(*number),
        Some(CustomValue::String(text)) => ColumnValue::Text(Cow::Borrowed(text.as_str())),
        Some(CustomValue::Text(text)) => ColumnValue::Text(Cow::Borrowed(text.as_str())),
    }
}
