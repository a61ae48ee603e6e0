//! Fields of the definitions of customised attributes. Reference 12.9.

use std::borrow::Cow;
use std::sync::LazyLock;

use serde_json::Value;

use crate::domain::records::customfield::{CustomName, Customfield, Model};
use crate::domain::records::ids::CustomfieldId;
use crate::domain::records::text::InvalidValue;
use crate::domain::time::Instant;
use crate::wire::field::{
    Audience, ColumnValue, Field, FieldType, OPEN, PRO, Table, fields, plain,
};
use crate::wire::value;

/// Every field of a definition. `model` and `name` cannot change after creation.
pub static CUSTOMFIELD: LazyLock<Table<Customfield>> = LazyLock::new(|| Table {
    resource: "customfield",
    fields: fields!(
        Customfield,
        Audience::Application,
        [
            model_field(),
            name_field(),
            plain!("pro_label", pro_label, PRO),
            plain!("pro_inputex", pro_inputex, PRO),
            plain!("pro_position", pro_position, PRO),
            plain!("pro_required", pro_required, PRO),
            plain!("user_inputex", user_inputex, OPEN),
            plain!("user_label", user_label, OPEN),
            plain!("user_position", user_position, OPEN),
            plain!("user_required", user_required, OPEN),
            plain!("user_visible", user_visible, OPEN),
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

fn model_field() -> Field<Customfield> {
    let field_type = FieldType::Choice(model_names);
    Field::derived("model", field_type, Audience::Application, |field: &Customfield, _| {
        ColumnValue::Text(Cow::Borrowed(field.model.name()))
    })
    .with_writer(Audience::Pro, |given, _, _, patch| {
        let model = parse_model(given)?;
        patch.push(move |field| field.model = model);
        Ok(())
    })
}

fn name_field() -> Field<Customfield> {
    let field_type = FieldType::Name { max: 5 };
    Field::derived("name", field_type, Audience::Application, |field: &Customfield, _| {
        ColumnValue::Text(field.name.to_string().into())
    })
    .with_writer(Audience::Pro, |given, _, _, patch| {
        let name = parse_custom_name(given)?;
        patch.push(move |field| field.name = name);
        Ok(())
    })
}

fn model_names() -> Vec<&'static str> {
    vec![Model::Fiche.name(), Model::Vevent.name()]
}

fn parse_model(given: &Value) -> Result<Model, InvalidValue> {
    let text = value::parse_text(given)?;
    let model = [Model::Fiche, Model::Vevent].into_iter().find(|model| model.name() == text);
    model.ok_or_else(|| InvalidValue("must be Fiche or Vevent".into()))
}

fn parse_custom_name(given: &Value) -> Result<CustomName, InvalidValue> {
    let Some(name) = CustomName::new(&value::parse_text(given)?) else {
        let rule =
            "must be one of bool0 to bool9, dt0 to dt1, num0 to num3, str0 to str14, txt0 to txt2";
        return Err(InvalidValue(rule.into()));
    };
    Ok(name)
}
