//! The JSON Schema of import documents: the rows of records from the field tables, and the members
//! that no table describes. Reference 11.2.

use serde_json::{Map, Value, json};
use utoipa::openapi::schema::{Object, ObjectBuilder};

use crate::http::openapi::records::customs_given;
use crate::http::openapi::texts::field_text;
use crate::http::permissions::Resource;
use crate::wire::calendar::{CALENDAR, CALENDARSET};
use crate::wire::column_value::FieldType;
use crate::wire::customfield::CUSTOMFIELD;
use crate::wire::fiche::FICHE;
use crate::wire::field::{Audience, Field, Table};
use crate::wire::group::GROUP;
use crate::wire::intervention::{INTERVENTION, INTERVENTIONSET};
use crate::wire::pro::PROFESSIONAL;
use crate::wire::schema::{described, filled, given, given_or_nothing, object};
use crate::wire::vevent::VEVENT;

/// Schemas of the members that no field table has. `$ref` names a section or a row.
const OTHER_MEMBERS: &str = include_str!("../../../data/import.members.json");

/// Texts of fields that only documents have.
const DOCUMENT_FIELDS: [(&str, &str); 6] = [
    ("start_utc", "Start of an appointment in UTC, YYYY-MM-DD HH:MM:SS. It replaces start."),
    ("end_utc", "End of an appointment in UTC, YYYY-MM-DD HH:MM:SS. It replaces end."),
    ("civil_start", "Start on the clocks of the group, where it differs from the instant."),
    ("booking_comments", "Comments as they came with the booking."),
    ("mail_sent", "Whether the mail reminder of this start was sent."),
    ("sms_sent", "Whether the text message of this start was sent."),
];

/// Returns the JSON Schema of import documents, indented.
pub fn import_schema() -> String {
    let mut schema: Value =
        serde_json::from_str(OTHER_MEMBERS).expect("the file holds a schema without the records");
    let definitions = schema["$defs"].as_object_mut().expect("the file has definitions");
    add_row(definitions, Resource::Group, &GROUP);
    add_row(definitions, Resource::Calendarset, &CALENDARSET);
    add_row(definitions, Resource::Calendar, &CALENDAR);
    add_row(definitions, Resource::Interventionset, &INTERVENTIONSET);
    add_row(definitions, Resource::Intervention, &INTERVENTION);
    add_row(definitions, Resource::Customfield, &CUSTOMFIELD);
    add_row(definitions, Resource::Pro, &PROFESSIONAL);
    add_row(definitions, Resource::Fiche, &FICHE);
    add_row(definitions, Resource::Vevent, &VEVENT);
    let mut text = serde_json::to_string_pretty(&schema).expect("a JSON value has a text");
    text.push('\n');
    text
}

/// Adds the fields of a table to the row of that name, after the members that the file gives it.
fn add_row<R: 'static>(rows: &mut Map<String, Value>, resource: Resource, table: &Table<R>) {
    let made = serde_json::to_value(row(resource, table)).expect("a schema is JSON");
    let entry = rows.entry(table.resource).or_insert_with(|| json!({"type": "object"}));
    let Value::Object(entry) = entry else { panic!("the row {} is an object", table.resource) };
    for name in ["properties", "required"] {
        match (entry.get_mut(name), &made[name]) {
            (_, Value::Null) => {}
            (Some(Value::Object(known)), Value::Object(fields)) => {
                // Members of the file replace the fields of the table.
                for (field, schema) in fields {
                    known.entry(field).or_insert_with(|| schema.clone());
                }
            }
            (_, fields) => drop(entry.insert(name.to_owned(), fields.clone())),
        }
    }
}

/// The object of a row: every field that a document may set.
fn row<R: 'static>(resource: Resource, table: &Table<R>) -> Object {
    let mut row = object();
    let text = "Unique number. Without it the row gets the next one after the highest.";
    row = row.property("id", described(given(FieldType::Id), text));
    for field in table.fields.iter().filter(|field| field.writers.is_some()) {
        let is_required = table.required.iter().any(|names| *names == [field.name]);
        row = add_field(row, resource, field, is_required);
        if is_required {
            row = row.required(field.name);
        }
    }
    match table.customs {
        Some(member) => customs_given(row, member.model).build(),
        None => row.build(),
    }
}

fn add_field<R: 'static>(
    row: ObjectBuilder,
    resource: Resource,
    field: &Field<R>,
    is_required: bool,
) -> ObjectBuilder {
    let text = field_description(resource, field.name, field.readers);
    let schema =
        if is_required { filled(field.field_type) } else { given_or_nothing(field.field_type) };
    let row = row.property(field.name, described(schema, text));
    if !matches!(field.field_type, FieldType::Moment) {
        return row;
    }
    let exact = format!("The field {} in UTC, YYYY-MM-DD HH:MM:SS. It replaces it.", field.name);
    row.property(format!("{}_utc", field.name), described(given(FieldType::CivilMoment), &exact))
}

fn field_description(resource: Resource, name: &str, readers: Audience) -> &'static str {
    for (field, text) in DOCUMENT_FIELDS {
        if field == name && readers == Audience::Store {
            return text;
        }
    }
    field_text(&resource.name(), name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks a value against the parts of JSON Schema that the generated one uses.
    fn find_fault(schema: &Value, value: &Value, all: &Value, path: &str) -> Option<String> {
        if let Some(name) = schema["$ref"].as_str() {
            let name = name.trim_start_matches("#/$defs/");
            return find_fault(&all["$defs"][name], value, all, path);
        }
        let kind = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_f64() => "number",
            Value::Number(_) => "integer",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        let allows = |name: &Value| *name == kind || (*name == "number" && kind == "integer");
        let name = &schema["type"];
        let is_allowed = match name.as_array() {
            Some(types) => types.iter().any(allows),
            None => name.is_null() || allows(name),
        };
        if !is_allowed {
            return Some(format!("{path} is {kind}"));
        }
        if let Some(choices) = schema["enum"].as_array()
            && !choices.contains(value)
        {
            return Some(format!("{path} is {value}"));
        }
        match value {
            Value::Array(items) => items.iter().enumerate().find_map(|(at, item)| {
                find_fault(&schema["items"], item, all, &format!("{path}[{at}]"))
            }),
            Value::Object(members) => {
                let required = schema["required"].as_array().into_iter().flatten();
                for name in required.filter_map(Value::as_str) {
                    if !members.contains_key(name) {
                        return Some(format!("{path}.{name} is missing"));
                    }
                }
                members.iter().find_map(|(name, member)| {
                    let path = format!("{path}.{name}");
                    match schema["properties"].get(name) {
                        Some(schema) => find_fault(schema, member, all, &path),
                        None if name.starts_with("//") || schema["properties"].is_null() => None,
                        None => Some(format!("{path} is not described")),
                    }
                })
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        }
    }

    #[test]
    fn the_schema_describes_every_member_of_the_example_and_the_demonstration() {
        let schema: Value = serde_json::from_str(&import_schema()).expect("JSON");
        for document in [
            include_str!("../../../data/import.example.json"),
            include_str!("../../../data/demo.json"),
        ] {
            let document: Value = serde_json::from_str(document).expect("JSON");
            assert_eq!(find_fault(&schema, &document, &schema, "document"), None);
        }
    }

    #[test]
    fn the_kept_schema_is_up_to_date() {
        let kept = include_str!("../../../docs/import.schema.json");
        let hint = "write what `slotbook import --schema` prints into docs/import.schema.json";
        assert!(kept == import_schema(), "{hint}");
    }

    #[test]
    fn each_row_names_its_required_fields() {
        let schema: Value = serde_json::from_str(&import_schema()).expect("JSON");
        let group = &schema["$defs"]["group"];
        assert_eq!(group["required"], json!(["name", "timezone"]));
        assert_eq!(group["properties"]["vevents"]["items"]["$ref"], "#/$defs/vevent");
        let vevent = &schema["$defs"]["vevent"]["properties"];
        assert!(vevent["start_utc"]["description"].as_str().is_some());
    }
}
