//! The resources as components, made from the tables of the wire: what answers show, and what bodies may give.

use serde_json::Value;
use utoipa::openapi::schema::{
    AllOfBuilder, AnyOfBuilder, ComponentsBuilder, Object, ObjectBuilder,
};
use utoipa::openapi::{RefOr, Schema};

use crate::domain::records::catalogue::Catalogue;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;
use crate::http::openapi::answers::sendmail;
use crate::http::openapi::schema::{
    any_of, at_least, filled, given, id, list, named, nothing, object, of_type, shown, text, whole,
    with_default,
};
use crate::wire::appointment::APPOINTMENT;
use crate::wire::calendar::{CALENDAR, CALENDARSET};
use crate::wire::customfield::CUSTOMFIELD;
use crate::wire::fiche::FICHE;
use crate::wire::field::{Audience, ColumnValue, Field, FieldType, Scope, Table};
use crate::wire::group::GROUP;
use crate::wire::intervention::{INTERVENTION, INTERVENTIONSET};
use crate::wire::message::MESSAGE;
use crate::wire::pro::PROFESSIONAL;
use crate::wire::vevent::VEVENT;

use utoipa::openapi::schema::Type;

/// A resource of the API, by the name of its component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resource {
    Group,
    Calendar,
    Calendarset,
    Intervention,
    Interventionset,
    Customfield,
    Fiche,
    Vevent,
    Appointment,
    Pro,
    Message,
}

impl Resource {
    const ALL: [Self; 11] = [
        Self::Group,
        Self::Calendar,
        Self::Calendarset,
        Self::Intervention,
        Self::Interventionset,
        Self::Customfield,
        Self::Fiche,
        Self::Vevent,
        Self::Appointment,
        Self::Pro,
        Self::Message,
    ];

    /// The name of the component that shows one.
    pub(crate) fn name(self) -> String {
        format!("{self:?}")
    }

    /// The names of the fields that lists can be sorted and filtered by; a customised attribute is one where the group
    /// has defined it.
    pub(crate) fn columns(self) -> Vec<&'static str> {
        match self {
            Self::Group => columns(&GROUP),
            Self::Calendar => columns(&CALENDAR),
            Self::Calendarset => columns(&CALENDARSET),
            Self::Intervention => columns(&INTERVENTION),
            Self::Interventionset => columns(&INTERVENTIONSET),
            Self::Customfield => columns(&CUSTOMFIELD),
            Self::Fiche => columns(&FICHE),
            Self::Vevent => columns(&VEVENT),
            Self::Appointment => columns(&APPOINTMENT),
            Self::Pro => columns(&PROFESSIONAL),
            Self::Message => columns(&MESSAGE),
        }
    }

    fn components(self, components: ComponentsBuilder) -> ComponentsBuilder {
        match self {
            Self::Group => both(components, self, &GROUP),
            Self::Calendar => both(components, self, &CALENDAR),
            Self::Calendarset => both(components, self, &CALENDARSET),
            Self::Intervention => both(components, self, &INTERVENTION),
            Self::Interventionset => both(components, self, &INTERVENTIONSET),
            Self::Customfield => both(components, self, &CUSTOMFIELD),
            Self::Fiche => both(components, self, &FICHE),
            Self::Vevent => both(components, self, &VEVENT),
            Self::Appointment => components.schema(self.name(), appointment()),
            Self::Pro => components.schema(self.name(), answer(&PROFESSIONAL).build()),
            Self::Message => {
                let readings =
                    ["subject", "text"].into_iter().fold(answer(&MESSAGE), |entry, name| {
                        entry.property(name, shown(FieldType::Text { max: 65_535 }, true))
                    });
                components.schema(self.name(), readings.build())
            }
        }
    }
}

/// Every resource, how it is listed, and how it is given.
pub(crate) fn all(components: ComponentsBuilder) -> ComponentsBuilder {
    let shown_customs = customs(|kind| shown(kind, true).into());
    let given_customs = customs(|kind| any_of([given(kind), named("Nothing")]));
    let components =
        components.schema("Customs", shown_customs).schema("CustomsGiven", given_customs);
    let components = Resource::ALL
        .into_iter()
        .fold(components, |components, resource| resource.components(components));
    Resource::ALL.into_iter().fold(components, |components, resource| {
        components.schema(format!("{}List", resource.name()), envelope(&resource.name()))
    })
}

/// What an answer shows, and the fields that a body gives, as one component each.
fn both<R: 'static>(
    components: ComponentsBuilder,
    resource: Resource,
    table: &Table<R>,
) -> ComponentsBuilder {
    let name = resource.name();
    let shown = with_customs(answer(table).build(), table, "Customs");
    let given = with_customs(fields(table, resource), table, "CustomsGiven");
    let made = AllOfBuilder::new().item(named(&format!("{name}Fields")));
    let made = table.required.iter().fold(made, |made, names| made.item(required(names)));
    components
        .schema(&name, shown)
        .schema(format!("{name}Fields"), given)
        .schema(format!("New{name}"), made)
}

fn with_customs<R>(own: Object, table: &Table<R>, customs: &str) -> RefOr<Schema> {
    match table.customs {
        Some(_) => AllOfBuilder::new().item(own).item(named(customs)).into(),
        None => own.into(),
    }
}

/// Of several names at least one.
fn required(names: &[&str]) -> RefOr<Schema> {
    let one = |name: &&str| object().required(*name).build();
    match names {
        [only] => one(only).into(),
        _ => names.iter().map(one).fold(AnyOfBuilder::new(), AnyOfBuilder::item).into(),
    }
}

fn columns<R: 'static>(table: &Table<R>) -> Vec<&'static str> {
    table
        .fields
        .iter()
        .filter(|field| field.readers <= Audience::Pro)
        .map(|field| field.name)
        .collect()
}

/// The object of an answer. Who sees less than professionals is shown fewer fields.
fn answer<R: 'static>(table: &Table<R>) -> ObjectBuilder {
    let least = table.fields.iter().map(|field| field.readers).min().unwrap_or(Audience::Pro);
    let seen = table.fields.iter().filter(|field| field.readers <= Audience::Pro);
    seen.fold(object(), |object, field| {
        let mut schema = shown(field.field_type, is_null(&default(table, field)));
        if field.readers > least {
            schema.description = Some("shown to professionals only".into());
            object.property(field.name, schema)
        } else {
            object.property(field.name, schema).required(field.name)
        }
    })
}

/// The fields of a body, with what holds where a new object is not given them.
fn fields<R: 'static>(table: &Table<R>, resource: Resource) -> Object {
    let mut object = object();
    if table.field("group_id").is_some() {
        object = object.property("group_id", named("GroupGiven"));
    }
    let writable =
        |field: &&Field<R>| field.writers.is_some_and(|writers| writers <= Audience::Pro);
    for field in table.fields.iter().filter(writable) {
        let schema = match resource {
            // Events take nothing for any of their fields.
            Resource::Vevent => vevent_field(field.name, field.field_type),
            Resource::Group
            | Resource::Calendar
            | Resource::Calendarset
            | Resource::Intervention
            | Resource::Interventionset
            | Resource::Customfield
            | Resource::Fiche
            | Resource::Appointment
            | Resource::Pro
            | Resource::Message => given(field.field_type),
        };
        let required = table.required.iter().any(|names| names.contains(&field.name));
        // What every object has cannot be unset.
        let alone = table.required.iter().any(|names| *names == [field.name]);
        let schema = if alone { filled(field.field_type) } else { schema };
        let default = default(table, field);
        // The order of a new object is the one after the last.
        let told =
            !required && field.name != "sort" && !matches!(field.field_type, FieldType::Moment);
        object =
            object.property(field.name, if told { with_default(schema, default) } else { schema });
    }
    if resource == Resource::Vevent {
        for name in ["repeat_intervall", "repeat_count", "repeat_byday"] {
            let old = any_of([
                whole(0, i64::from(u32::MAX)).into(),
                named("IntegerText"),
                named("Nothing"),
            ]);
            object = object.property(name, old);
        }
        object = object.property("sendmail", sendmail());
        object = object.property("repeat_freq", any_of([text().into(), named("Nothing")]));
    }
    object.build()
}

fn vevent_field(name: &str, kind: FieldType) -> RefOr<Schema> {
    match name {
        "availableInterventions" => named("IdsGiven"),
        "taker" | "text" | "comments" | "websource" => given(kind),
        _ => any_of([given(kind), nothing().into()]),
    }
}

/// What a field holds where nothing was given.
fn default<R: 'static>(table: &Table<R>, field: &Field<R>) -> Value {
    let nowhere = GroupState::new(Catalogue::new(GROUP.blank.clone()));
    let scope = Scope::for_group(&nowhere).at_moment(Instant(0));
    let cell = field.read_value(&table.blank, &scope);
    // A stand-in for a reference that every object has.
    if matches!(cell, ColumnValue::Reference(Some(1))) {
        1.into()
    } else {
        cell.to_json(scope.zone)
    }
}

fn is_null(value: &Value) -> bool {
    matches!(value, Value::Null)
}

/// A list of records.
fn envelope(name: &str) -> Object {
    let count = || at_least(0);
    let properties = [
        ("records", list(named(name)).into()),
        ("totalRecords", count().into()),
        ("recordsReturned", count().into()),
        ("startIndex", count().into()),
        ("pageSize", at_least(1).into()),
        ("sort", shown(FieldType::Text { max: 255 }, true).into()),
        ("dir", shown(FieldType::Text { max: 4 }, true).into()),
    ];
    let properties: [(&str, RefOr<Schema>); 7] = properties;
    properties
        .into_iter()
        .fold(object(), |object, (name, of)| object.property(name, of).required(name))
        .build()
}

/// The customised attributes that there may be; those that the group has defined stand in an object.
fn customs(schema: fn(FieldType) -> RefOr<Schema>) -> Object {
    let kinds = [
        ("bool", 10, FieldType::Boolean),
        ("dt", 2, FieldType::CivilMoment),
        ("num", 4, FieldType::Number),
        ("str", 15, FieldType::Text { max: 255 }),
        ("txt", 3, FieldType::Text { max: 65_535 }),
    ];
    let names = kinds
        .into_iter()
        .flat_map(|(stem, many, kind)| (0..many).map(move |n| (format!("{stem}{n}"), kind)));
    names
        .fold(object(), |object, (name, kind)| object.property(name, schema(kind)))
        .description(Some("customised attributes; only those that the group has defined"))
        .build()
}

/// An appointment's record: its plain fields, and what it refers to.
fn appointment() -> Object {
    let part = |fields: &[(&str, Object)]| {
        fields
            .iter()
            .fold(object(), |object, (name, of)| object.property(*name, of.clone()).required(*name))
            .build()
    };
    let (text, id, whole) = (|| text().build(), || id().build(), || whole(0, i64::MAX).build());
    let fiche = FICHE
        .fields
        .iter()
        .filter(|field| crate::wire::appointment::SHOWN_OF_FICHE.contains(&field.name));
    let fiche = fiche.fold(object().property("id", id()).required("id"), |object, field| {
        object.property(field.name, shown(field.field_type, is_null(&default(&FICHE, field))))
    });
    let fiche = fiche
        .description(Some("to a key alone the id, and in the booking's own answer what was sent"))
        .build();
    let more = [
        ("group", part(&[("id", id()), ("name", text()), ("urlname", text())])),
        ("calendar", part(&[("id", id()), ("publicname", text())])),
        ("fiche", fiche),
        (
            "intervention",
            part(&[
                ("id", id()),
                ("publicname", text()),
                ("interventionset_id", shown(FieldType::Reference, true)),
                ("length", whole()),
            ]),
        ),
        ("intervention_name", text()),
        ("calendar_name", text()),
    ];
    let plain = answer(&APPOINTMENT);
    more.into_iter()
        .fold(plain, |object, (name, of)| object.property(name, of).required(name))
        .build()
}

/// A flag as answers show it.
pub(crate) fn flag() -> Object {
    of_type(Type::Boolean).build()
}
