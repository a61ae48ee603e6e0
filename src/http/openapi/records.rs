//! The components of records, from the field tables of `wire/`: records in responses, and fields in
//! bodies. Reference 12.

use serde_json::Value;
use utoipa::openapi::schema::{ComponentsBuilder, Object, ObjectBuilder};
use utoipa::openapi::{RefOr, Schema};

use crate::domain::availability::catalogue::Catalogue;
use crate::domain::records::customfield::Model;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;
use crate::http::openapi::texts::field_text;
use crate::http::permissions::Resource;
use crate::wire::account::ACCOUNT;
use crate::wire::appointment::{APPOINTMENT, SHOWN_OF_FICHE};
use crate::wire::calendar::{CALENDAR, CALENDARSET};
use crate::wire::customfield::CUSTOMFIELD;
use crate::wire::fiche::FICHE;
use crate::wire::field::{Audience, ColumnValue, Field, FieldType, Scope, Table};
use crate::wire::group::GROUP;
use crate::wire::intervention::{INTERVENTION, INTERVENTIONSET};
use crate::wire::message::MESSAGE;
use crate::wire::pro::PROFESSIONAL;
use crate::wire::schema::{
    all_required, at_least, described, filled, given, given_or_nothing, group_given, id, instant,
    list, named, object, one_of, sendmail, shown, text, whole,
};
use crate::wire::vevent::VEVENT;

/// The resources that have records.
const RECORDS: [Resource; 12] = [
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
    Resource::Account,
];

/// The parts of the document that are made from a table of fields.
trait RecordTable {
    /// The fields that lists can be sorted and filtered by.
    fn columns(&self) -> Vec<String>;
    /// The object of a response. Audiences below professionals see fewer fields.
    fn shown(&self, resource: Resource) -> ObjectBuilder;
    /// The fields of a body, without defaults.
    fn given(&self, resource: Resource) -> ObjectBuilder;
    /// The object of a body that creates: the fields with their defaults, and those that are
    /// required.
    fn new_object(&self, resource: Resource) -> Object;
}

impl<R: 'static> RecordTable for Table<R> {
    fn columns(&self) -> Vec<String> {
        let fields = self.fields.iter().filter(|field| field.readers <= Audience::Pro);
        let mut names: Vec<String> = fields.map(|field| field.name.to_owned()).collect();
        if self.customs.is_some() {
            for (stem, count, ..) in CUSTOMS {
                names.extend((0..count).map(|n| format!("{stem}{n}")));
            }
        }
        names
    }

    fn shown(&self, resource: Resource) -> ObjectBuilder {
        let least = self.fields.iter().map(|field| field.readers).min().unwrap_or(Audience::Pro);
        let component = resource.name();
        let mut object = object();
        for field in &self.fields {
            if field.readers > Audience::Pro {
                continue;
            }
            let is_nullable = default_value(self, field).is_null();
            let schema = shown(field.field_type, is_nullable);
            let text = field_text(&component, field.name);
            let mut shown: Vec<(String, Object, String)> = Vec::new();
            if let Some(name) = &field.utc_name {
                let exact = format!("The field {} as an instant: RFC 3339 in UTC.", field.name);
                shown.push((name.clone(), instant(is_nullable), exact));
            }
            shown.push((field.name.to_owned(), schema, text.to_owned()));
            for (name, schema, mut text) in shown {
                if field.readers > least {
                    text += " For professionals only.";
                    object = object.property(name, described(schema, &text));
                } else {
                    object = object.property(&name, described(schema, &text)).required(name);
                }
            }
        }
        match self.customs {
            Some(member) => with_customs(object, member.model, |kind| shown(kind, true)),
            None => object,
        }
    }

    fn given(&self, resource: Resource) -> ObjectBuilder {
        let component = resource.name();
        let mut object = object();
        if self.field("group_id").is_some() {
            object = object.property("group_id", group_given());
        }
        for field in &self.fields {
            if field.writers.is_none_or(|writers| writers > Audience::Pro) {
                continue;
            }
            let is_always_required = self.required.iter().any(|names| *names == [field.name]);
            let schema: RefOr<Schema> = if is_always_required {
                // A field that each object has cannot be emptied.
                filled(field.field_type).into()
            } else if resource == Resource::Vevent {
                // Vevents take an empty value for each field. A field of another kind is ignored.
                let mut schema = given_or_nothing(field.field_type);
                schema.pattern = None;
                schema.into()
            } else {
                given(field.field_type).into()
            };
            let text = field_text(&component, field.name);
            object = object.property(field.name, described(schema, text));
        }
        if resource == Resource::Vevent {
            object = with_older_fields(object);
        }
        match self.customs {
            Some(member) => customs_given(object, member.model),
            None => object,
        }
    }

    fn new_object(&self, resource: Resource) -> Object {
        let mut new = self.given(resource).build();
        for names in self.required {
            if let [only] = names {
                new.required.push((*only).to_owned());
            } else {
                new.description = Some(format!("Required: {}.", names.join(" or ")));
            }
        }
        for field in &self.fields {
            let is_required = self.required.iter().any(|names| names.contains(&field.name));
            let default = default_value(self, field);
            // The default of `sort` is the place after the last record, which is no constant, and
            // the group is that of the request.
            if is_required || default.is_null() || matches!(field.name, "sort" | "group_id") {
                continue;
            }
            match new.properties.get_mut(field.name) {
                Some(RefOr::T(Schema::Object(property))) => property.default = Some(default),
                Some(RefOr::T(Schema::Array(property))) => property.default = Some(default),
                // Fields that the system sets are not in the body.
                _ => {}
            }
        }
        new
    }
}

/// Returns the table of a resource's fields; `None` for a resource without records.
fn find_table(resource: Resource) -> Option<&'static dyn RecordTable> {
    Some(match resource {
        Resource::Group => &*GROUP,
        Resource::Calendar => &*CALENDAR,
        Resource::Calendarset => &*CALENDARSET,
        Resource::Intervention => &*INTERVENTION,
        Resource::Interventionset => &*INTERVENTIONSET,
        Resource::Customfield => &*CUSTOMFIELD,
        Resource::Fiche => &*FICHE,
        Resource::Vevent => &*VEVENT,
        Resource::Appointment => &*APPOINTMENT,
        Resource::Pro => &*PROFESSIONAL,
        Resource::Message => &*MESSAGE,
        Resource::Account => &*ACCOUNT,
        Resource::Image
        | Resource::Agenda
        | Resource::Calendarfeed
        | Resource::Slot
        | Resource::Hold
        | Resource::Session
        | Resource::Module
        | Resource::Batch
        | Resource::Hours
        | Resource::DryRun
        | Resource::Invitation
        | Resource::History
        | Resource::Export
        | Resource::Retention
        | Resource::Change
        | Resource::Webhook => return None,
    })
}

/// Adds the components of each resource: its record, the fields to change, and its list.
pub(crate) fn add_components(mut components: ComponentsBuilder) -> ComponentsBuilder {
    for resource in RECORDS {
        let name = resource.name();
        let table = find_table(resource).expect("the resource has records");
        let mut record = table.shown(resource);
        if resource == Resource::Appointment {
            record = with_appointment_parts(record);
        } else if resource == Resource::Message {
            let shown = shown(FieldType::Text { max: 65_535 }, true);
            record = record
                .property("subject", described(shown.clone(), "Subject; null for a text message."))
                .property("text", described(shown, "Text, in the response with one message."));
        }
        let columns = one_of(table.columns());
        let text = "A field to sort and filter by.";
        components = components
            .schema(&name, record)
            .schema(format!("{name}List"), list_envelope(&name))
            .schema(format!("{name}Column"), described(columns, text));
        // These are not changed field by field.
        if !matches!(
            resource,
            Resource::Appointment | Resource::Pro | Resource::Message | Resource::Account
        ) {
            let fields = table.given(resource);
            let text = "The fields to change. Fields that are not given stay.";
            components = components.schema(format!("{name}Fields"), fields.description(Some(text)));
        }
    }
    components
}

/// Returns the object of a body that creates.
pub(crate) fn new_record(resource: Resource) -> Object {
    let table = find_table(resource).expect("a resource that is created has records");
    table.new_object(resource)
}

/// Adds the fields of a vevent's body that no record shows.
fn with_older_fields(mut object: ObjectBuilder) -> ObjectBuilder {
    let older = |name: &str| field_text("Vevent", name);
    for name in ["repeat_intervall", "repeat_count", "repeat_byday"] {
        let number = given(FieldType::Integer { min: 0, max: i64::from(u32::MAX) });
        object = object.property(name, described(number, older(name)));
    }
    object
        .property("sendmail", sendmail())
        .property("repeat_freq", described(shown(FREQUENCY, true), older("repeat_freq")))
}

const FREQUENCY: FieldType = FieldType::Text { max: 255 };

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
fn list_envelope(name: &str) -> ObjectBuilder {
    all_required([
        ("records", list(named(name)).into(), "The records of the page."),
        ("totalRecords", at_least(0).into(), "Number of records of the whole list."),
        ("recordsReturned", at_least(0).into(), "Number of records of the page."),
        ("startIndex", at_least(0).into(), "Number of records before the page."),
        ("pageSize", at_least(1).into(), "Maximum number of records of a page."),
        (
            "sort",
            shown(FieldType::Text { max: 255 }, true).into(),
            "Field by which the list is sorted; null for the default order.",
        ),
        (
            "dir",
            shown(FieldType::Text { max: 4 }, true).into(),
            "Direction of the order: asc or desc; null for the default order.",
        ),
    ])
    .description(Some("A page of a list."))
}

/// Customised attributes: stem and number of the names, type, and description of the values.
const CUSTOMS: [(&str, usize, FieldType, &str); 5] = [
    ("bool", 10, FieldType::Boolean, "Customised attribute: a boolean"),
    ("dt", 2, FieldType::CivilMoment, "Customised attribute: a time without a time zone"),
    ("num", 4, FieldType::Number, "Customised attribute: a number"),
    ("str", 15, FieldType::Text { max: 255 }, "Customised attribute: a short text"),
    ("txt", 3, FieldType::Text { max: 65_535 }, "Customised attribute: a long text"),
];

/// Adds the customised attributes of a model that a body may give.
pub(crate) fn customs_given(object: ObjectBuilder, model: Model) -> ObjectBuilder {
    with_customs(object, model, given_or_nothing)
}

/// Adds all customised attributes that a group may define.
fn with_customs(
    mut object: ObjectBuilder,
    model: Model,
    schema: fn(FieldType) -> Object,
) -> ObjectBuilder {
    let model = model.name();
    for (stem, count, kind, text) in CUSTOMS {
        for n in 0..count {
            let text = format!("{text}, if the group has defined it for {model}.");
            object = object.property(format!("{stem}{n}"), described(schema(kind), &text));
        }
    }
    object
}

/// The professional in the response to a login.
pub(crate) fn logged_in_pro() -> ObjectBuilder {
    let group = described(id(), "Id of the main group of the professional.");
    PROFESSIONAL.shown(Resource::Pro).property("group_id", group).required("group_id")
}

/// The fields of the client of a booking: those of a fiche, and the id of one.
pub(crate) fn booked_fiche() -> ObjectBuilder {
    let text = "Id of a fiche, for professionals and accounts.";
    FICHE
        .given(Resource::Fiche)
        .property("id", described(given(FieldType::Reference), text))
        .description(Some(field_text("Booking", "fiche")))
}

/// The fields for the fiche that is kept of two.
pub(crate) fn kept_fiche() -> ObjectBuilder {
    let text = "Fields of the fiche that is kept. What it lacks is taken from the other one.";
    FICHE.given(Resource::Fiche).description(Some(text))
}

/// Adds to the record of an appointment parts of the records that it refers to.
fn with_appointment_parts(mut record: ObjectBuilder) -> ObjectBuilder {
    let of = |component: &'static str, name: &str| field_text(component, name);
    let name = || text().build().into();
    let number = shown(FieldType::Reference, false).into();
    let mut fiche = all_required([("id", number, "Id of the fiche; 0 with the key alone.")]);
    for field in &FICHE.fields {
        if SHOWN_OF_FICHE.contains(&field.name) {
            let schema = shown(field.field_type, default_value(&FICHE, field).is_null());
            fiche = fiche.property(field.name, described(schema, of("Fiche", field.name)));
        }
    }
    let group = all_required([
        ("id", id().into(), "Id of the group."),
        ("name", name(), of("Group", "name")),
        ("urlname", name(), of("Group", "urlname")),
    ]);
    let calendar = all_required([
        ("id", id().into(), "Id of the calendar."),
        ("publicname", name(), of("Calendar", "publicname")),
    ]);
    let set = shown(FieldType::Reference, true).into();
    let intervention = all_required([
        ("id", id().into(), "Id of the intervention."),
        ("publicname", name(), of("Intervention", "publicname")),
        ("interventionset_id", set, of("Intervention", "interventionset_id")),
        ("length", whole(0, i64::from(i32::MAX)).into(), of("Intervention", "length")),
    ]);
    let fiche_text = "The client. With the key alone: the id 0, and in the response to the \
        booking the sent fields.";
    let parts: [(&str, RefOr<Schema>, &str); 6] = [
        ("group", group.into(), "The group."),
        ("calendar", calendar.into(), "The calendar."),
        ("fiche", fiche.into(), fiche_text),
        ("intervention", intervention.into(), "The intervention."),
        ("intervention_name", name(), of("Appointment", "intervention_name")),
        ("calendar_name", name(), of("Appointment", "calendar_name")),
    ];
    for (name, schema, text) in parts {
        record = record.property(name, described(schema, text)).required(name);
    }
    record
}
