//! The components of records, from the field tables of `wire/`: records in responses, and fields in
//! bodies. Reference 12.

use serde_json::Value;
use utoipa::openapi::schema::{
    AllOfBuilder, AnyOfBuilder, ComponentsBuilder, Object, ObjectBuilder,
};
use utoipa::openapi::{RefOr, Schema};

use crate::domain::records::catalogue::Catalogue;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;
use crate::http::openapi::schema::{
    any_of, at_least, filled, given, id, list, named, nothing, object, sendmail, shown, text,
    whole, with_default,
};
use crate::http::permissions::Resource;
use crate::wire::appointment::{APPOINTMENT, SHOWN_OF_FICHE};
use crate::wire::calendar::{CALENDAR, CALENDARSET};
use crate::wire::customfield::CUSTOMFIELD;
use crate::wire::fiche::FICHE;
use crate::wire::field::{Audience, ColumnValue, Field, FieldType, Scope, Table};
use crate::wire::group::GROUP;
use crate::wire::intervention::{INTERVENTION, INTERVENTIONSET};
use crate::wire::message::MESSAGE;
use crate::wire::pro::PROFESSIONAL;
use crate::wire::vevent::VEVENT;

/// The resources that have records.
const RECORDS: [Resource; 11] = [
    Resource::Group,
    Resource::Calendar,
    Resource::Calendarset,
    Resource::Intervention,
    Resource::Interventionset,
    Resource::Customfield,
    Resource::Fiche,
    Resource::Vevent,
    Resource::Appointment,
    Resource::Pro,
    Resource::Message,
];

/// Returns the fields that lists of a resource can be sorted and filtered by, without customised
/// attributes.
pub(crate) fn columns(resource: Resource) -> Vec<&'static str> {
    match resource {
        Resource::Group => readable_fields(&GROUP),
        Resource::Calendar => readable_fields(&CALENDAR),
        Resource::Calendarset => readable_fields(&CALENDARSET),
        Resource::Intervention => readable_fields(&INTERVENTION),
        Resource::Interventionset => readable_fields(&INTERVENTIONSET),
        Resource::Customfield => readable_fields(&CUSTOMFIELD),
        Resource::Fiche => readable_fields(&FICHE),
        Resource::Vevent => readable_fields(&VEVENT),
        Resource::Appointment => readable_fields(&APPOINTMENT),
        Resource::Pro => readable_fields(&PROFESSIONAL),
        Resource::Message => readable_fields(&MESSAGE),
        Resource::Slot | Resource::Account | Resource::Session => Vec::new(),
    }
}

/// Adds the components of each resource: its record, its body, and its list.
pub(crate) fn add_components(components: ComponentsBuilder) -> ComponentsBuilder {
    let shown_customs = customs(|kind| shown(kind, true).into());
    let given_customs = customs(|kind| any_of([given(kind), named("Nothing")]));
    let mut components =
        components.schema("Customs", shown_customs).schema("CustomsGiven", given_customs);
    for resource in RECORDS {
        components = add_record(components, resource);
        let name = resource.name();
        components = components.schema(format!("{name}List"), list_envelope(&name));
    }
    components
}

fn add_record(components: ComponentsBuilder, resource: Resource) -> ComponentsBuilder {
    match resource {
        Resource::Group => add_table(components, resource, &GROUP),
        Resource::Calendar => add_table(components, resource, &CALENDAR),
        Resource::Calendarset => add_table(components, resource, &CALENDARSET),
        Resource::Intervention => add_table(components, resource, &INTERVENTION),
        Resource::Interventionset => add_table(components, resource, &INTERVENTIONSET),
        Resource::Customfield => add_table(components, resource, &CUSTOMFIELD),
        Resource::Fiche => add_table(components, resource, &FICHE),
        Resource::Vevent => add_table(components, resource, &VEVENT),
        Resource::Appointment => components.schema(resource.name(), appointment()),
        Resource::Pro => components.schema(resource.name(), record_object(&PROFESSIONAL).build()),
        Resource::Message => {
            let text = || shown(FieldType::Text { max: 65_535 }, true);
            let entry =
                record_object(&MESSAGE).property("subject", text()).property("text", text());
            components.schema(resource.name(), entry.build())
        }
        Resource::Slot | Resource::Account | Resource::Session => components,
    }
}

/// Adds the record of a table, the fields that a body may give, and the body of a new record.
fn add_table<R: 'static>(
    components: ComponentsBuilder,
    resource: Resource,
    table: &Table<R>,
) -> ComponentsBuilder {
    let name = resource.name();
    let record = with_customs(record_object(table).build(), table, "Customs");
    let fields = with_customs(body_fields(table, resource), table, "CustomsGiven");
    let mut new = AllOfBuilder::new().item(named(&format!("{name}Fields")));
    for names in table.required {
        new = new.item(require_any(names));
    }
    components
        .schema(&name, record)
        .schema(format!("{name}Fields"), fields)
        .schema(format!("New{name}"), new)
}

fn with_customs<R>(own: Object, table: &Table<R>, customs: &str) -> RefOr<Schema> {
    match table.customs {
        Some(_) => AllOfBuilder::new().item(own).item(named(customs)).into(),
        None => own.into(),
    }
}

/// Requires at least one of the names.
fn require_any(names: &[&str]) -> RefOr<Schema> {
    if let [only] = names {
        return object().required(*only).build().into();
    }
    let mut any = AnyOfBuilder::new();
    for name in names {
        any = any.item(object().required(*name).build());
    }
    any.into()
}

fn readable_fields<R: 'static>(table: &Table<R>) -> Vec<&'static str> {
    let mut names = Vec::new();
    for field in &table.fields {
        if field.readers <= Audience::Pro {
            names.push(field.name);
        }
    }
    names
}

/// The object of a response. Audiences below professionals see fewer fields.
fn record_object<R: 'static>(table: &Table<R>) -> ObjectBuilder {
    let least = table.fields.iter().map(|field| field.readers).min().unwrap_or(Audience::Pro);
    let mut object = object();
    for field in &table.fields {
        if field.readers > Audience::Pro {
            continue;
        }
        let mut schema = shown(field.field_type, default_value(table, field).is_null());
        if field.readers > least {
            schema.description = Some("for professionals only".into());
            object = object.property(field.name, schema);
        } else {
            object = object.property(field.name, schema).required(field.name);
        }
    }
    object
}

/// The fields of a body, with the defaults of a new object.
fn body_fields<R: 'static>(table: &Table<R>, resource: Resource) -> Object {
    let mut object = object();
    if table.field("group_id").is_some() {
        object = object.property("group_id", named("GroupGiven"));
    }
    for field in &table.fields {
        if field.writers.is_none_or(|writers| writers > Audience::Pro) {
            continue;
        }
        let is_required = table.required.iter().any(|names| names.contains(&field.name));
        let is_always_required = table.required.iter().any(|names| *names == [field.name]);
        let schema = if is_always_required {
            // A field that each object has cannot be emptied.
            filled(field.field_type)
        } else if resource == Resource::Vevent {
            // Vevents take an empty value for each field.
            vevent_field(field.name, field.field_type)
        } else {
            given(field.field_type)
        };
        // The default of `sort` is the place after the last record, which is no constant.
        let has_default =
            !is_required && field.name != "sort" && !matches!(field.field_type, FieldType::Moment);
        let schema =
            if has_default { with_default(schema, default_value(table, field)) } else { schema };
        object = object.property(field.name, schema);
    }
    if resource == Resource::Vevent {
        for name in ["repeat_intervall", "repeat_count", "repeat_byday"] {
            let number = whole(0, i64::from(u32::MAX));
            let older = any_of([number.into(), named("IntegerText"), named("Nothing")]);
            object = object.property(name, older);
        }
        object = object.property("sendmail", sendmail());
        object = object.property("repeat_freq", any_of([text().into(), named("Nothing")]));
    }
    object.build()
}

fn vevent_field(name: &str, field_type: FieldType) -> RefOr<Schema> {
    match name {
        "availableInterventions" => named("IdsGiven"),
        "taker" | "text" | "comments" | "internal_comments" | "websource" => given(field_type),
        _ => any_of([given(field_type), nothing().into()]),
    }
}

/// The value of a field in a new object that does not give it.
fn default_value<R: 'static>(table: &Table<R>, field: &Field<R>) -> Value {
    let empty = GroupState::new(Catalogue::new(GROUP.blank.clone()));
    let scope = Scope::for_group(&empty).at_moment(Instant(0));
    let cell = field.read_value(&table.blank, &scope);
    // The id 1 stands in for a reference that each object has.
    if matches!(cell, ColumnValue::Reference(Some(1))) {
        1.into()
    } else {
        cell.to_json(scope.zone)
    }
}

/// A page of a list of records.
fn list_envelope(name: &str) -> Object {
    let properties: [(&str, RefOr<Schema>); 7] = [
        ("records", list(named(name)).into()),
        ("totalRecords", at_least(0).into()),
        ("recordsReturned", at_least(0).into()),
        ("startIndex", at_least(0).into()),
        ("pageSize", at_least(1).into()),
        ("sort", shown(FieldType::Text { max: 255 }, true).into()),
        ("dir", shown(FieldType::Text { max: 4 }, true).into()),
    ];
    let mut envelope = object();
    for (name, schema) in properties {
        envelope = envelope.property(name, schema).required(name);
    }
    envelope.build()
}

/// All customised attributes that a group may define.
fn customs(schema: fn(FieldType) -> RefOr<Schema>) -> Object {
    let kinds = [
        ("bool", 10, FieldType::Boolean),
        ("dt", 2, FieldType::CivilMoment),
        ("num", 4, FieldType::Number),
        ("str", 15, FieldType::Text { max: 255 }),
        ("txt", 3, FieldType::Text { max: 65_535 }),
    ];
    let mut customs = object();
    for (stem, count, kind) in kinds {
        for n in 0..count {
            customs = customs.property(format!("{stem}{n}"), schema(kind));
        }
    }
    customs
        .description(Some("customised attributes; only those that the group has defined"))
        .build()
}

/// An object whose properties are all required.
fn all_required(properties: &[(&str, Object)]) -> ObjectBuilder {
    let mut all = object();
    for (name, schema) in properties {
        all = all.property(*name, schema.clone()).required(*name);
    }
    all
}

/// The record of an appointment: its plain fields, and parts of the records that it refers to.
fn appointment() -> Object {
    let (text, id) = (|| text().build(), || id().build());
    let mut fiche = all_required(&[("id", id())]);
    for field in &FICHE.fields {
        if SHOWN_OF_FICHE.contains(&field.name) {
            let is_nullable = default_value(&FICHE, field).is_null();
            fiche = fiche.property(field.name, shown(field.field_type, is_nullable));
        }
    }
    let fiche = fiche.description(Some(
        "with the key alone: only the id, and in the response to the booking the sent fields",
    ));
    let group = all_required(&[("id", id()), ("name", text()), ("urlname", text())]);
    let calendar = all_required(&[("id", id()), ("publicname", text())]);
    let intervention = all_required(&[
        ("id", id()),
        ("publicname", text()),
        ("interventionset_id", shown(FieldType::Reference, true)),
        ("length", whole(0, i64::MAX).build()),
    ]);
    let parts = [
        ("group", group.build()),
        ("calendar", calendar.build()),
        ("fiche", fiche.build()),
        ("intervention", intervention.build()),
        ("intervention_name", text()),
        ("calendar_name", text()),
    ];
    let mut record = record_object(&APPOINTMENT);
    for (name, schema) in parts {
        record = record.property(name, schema).required(name);
    }
    record.build()
}
