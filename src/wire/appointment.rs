//! Record of an appointment in answers: fields and rendering. Reference 6.5.

use std::borrow::Cow;
use std::sync::LazyLock;

use serde_json::Value;

use crate::domain::availability::postal_address::PostalAddress;
use crate::domain::records::calendar::Calendar;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::ids::{CalendarId, FicheId, InterventionId, VeventId};
use crate::domain::records::intervention::Intervention;
use crate::domain::records::vevent::{self, Appointment, OptionalFields, Vevent};
use crate::domain::time::{Civil, Instant};
use crate::wire::fiche::FICHE;
use crate::wire::field::{Audience, ColumnValue, Field, FieldType, Scope, Table};
use crate::wire::json_writer::ObjectWriter;

/// Fields of the fiche in an appointment's record.
pub const SHOWN_OF_FICHE: [&str; 7] =
    ["birthdate", "lastname", "firstname", "email", "firstphone", "secondphone", "comments"];
/// The fields of a client that a booking gave, by their names, as its answer repeats them.
pub type SentFields = Vec<(&'static str, Value)>;
/// Fields of an appointment, as professionals see it. Lists sort and filter by them.
///
/// Its rows must be vevents that are appointments.
pub static APPOINTMENT: LazyLock<Table<Vevent>> = LazyLock::new(|| {
    let names = [
        Field::derived("calendar_name", NAME, Audience::Pro, |row, scope| {
            let calendar = find_calendar(row, scope);
            ColumnValue::Text(calendar.map_or("", |calendar| calendar.name.as_str()).into())
        }),
        Field::derived("intervention_name", NAME, Audience::Pro, |row, scope| {
            let intervention = find_intervention(row, scope);
            ColumnValue::Text(intervention.map_or("", |it| it.name.as_str()).into())
        }),
    ];
    let mut table = make_table(names);
    table.fields.push(updated_at());
    table.fields.push(Field::derived("internal_comments", COMMENTS, Audience::Pro, |row, _| {
        rare_text(row, |rare| rare.internal_comments.as_str())
    }));
    table
});

/// Fields of an appointment, as accounts see it: names are the public ones.
static PUBLIC_APPOINTMENT: LazyLock<Table<Vevent>> = LazyLock::new(|| {
    let mut table = make_table(public_names());
    table.fields.push(updated_at());
    table
});

/// Fields of an appointment for a key alone: those for accounts, but nothing that tells whose
/// appointment it is or what professionals think of it. Reference 3.6.
static KEY_APPOINTMENT: LazyLock<Table<Vevent>> = LazyLock::new(|| {
    let mut table = make_table(public_names());
    for field in &mut table.fields {
        match field.name {
            "fiche_id" => *field = public_field(field.name, FieldType::Reference, |_, _| NO_NUMBER),
            "state" => *field = public_field(field.name, STATE, |_, _| NO_NUMBER),
            "comments" => {
                *field = public_field(field.name, COMMENTS, |row, _| {
                    ColumnValue::Text(row.booking_comments().into())
                });
            }
            _ => {}
        }
    }
    table
});

/// Returns the table by which an audience lists and reads appointments.
pub fn table_for_audience(audience: Audience) -> &'static Table<Vevent> {
    match audience {
        Audience::Application => &KEY_APPOINTMENT,
        Audience::Account => &PUBLIC_APPOINTMENT,
        Audience::Pro | Audience::Store => &APPOINTMENT,
    }
}

/// Type of `created_since`, in seconds.
const AGE: FieldType = FieldType::Integer { min: 0, max: i64::MAX };
const NAME: FieldType = FieldType::Text { max: 255 };
const COMMENTS: FieldType = FieldType::Text { max: 65_535 };
const STATE: FieldType = FieldType::Integer { min: 0, max: 3 };
/// The value of a number that a key alone does not learn.
const NO_NUMBER: ColumnValue<'static> = ColumnValue::Integer(0);
const ALWAYS_ONE: FieldType = FieldType::Integer { min: 1, max: 1 };
const ALWAYS_ZERO: FieldType = FieldType::Integer { min: 0, max: 0 };

fn make_table(names: [Field<Vevent>; 2]) -> Table<Vevent> {
    Table {
        resource: "appointment",
        fields: [own_fields(), reference_fields(), related_fields(), names.into()]
            .into_iter()
            .flatten()
            .collect(),
        required: &[],
        customs: None,
        id: |row| row.id.number(),
        order: |a, b, _| to_appointment(a).start.cmp(&to_appointment(b).start),
        blank: blank_appointment(),
    }
}

fn public_names() -> [Field<Vevent>; 2] {
    [
        public_field("calendar_name", NAME, |row, scope| {
            let calendar = find_calendar(row, scope);
            ColumnValue::Text(calendar.map_or("", |calendar| calendar.publicname.as_str()).into())
        }),
        public_field("intervention_name", NAME, |row, scope| {
            let intervention = find_intervention(row, scope);
            ColumnValue::Text(intervention.map_or("", |it| it.publicname.as_str()).into())
        }),
    ]
}

/// The moment of the last change. A key alone does not learn when professionals change something.
fn updated_at() -> Field<Vevent> {
    Field::derived("updated_at", FieldType::Moment, Audience::Account, |row: &Vevent, _| {
        ColumnValue::Moment(Some(row.updated_at))
    })
}

fn own_fields() -> Vec<Field<Vevent>> {
    vec![
        public_field("id", FieldType::Id, |row, _| ColumnValue::Reference(Some(row.id.number()))),
        public_field("key", FieldType::Text { max: 20 }, |row, _| {
            ColumnValue::Text(to_appointment(row).key.as_str().into())
        }),
        public_field("start", FieldType::Moment, |row, _| {
            ColumnValue::Moment(Some(to_appointment(row).start))
        }),
        public_field("end", FieldType::Moment, |row, _| {
            ColumnValue::Moment(Some(to_appointment(row).interval().end))
        }),
        public_field("created_since", AGE, |row, scope| match scope.now {
            // A stamp never goes back when the clock does, so that it may be in the future.
            Some(now) => ColumnValue::Integer(now.seconds_since(row.created_at).max(0)),
            None => ColumnValue::Null,
        }),
        public_field("state", STATE, |row, _| {
            ColumnValue::Integer(to_appointment(row).state.number())
        }),
    ]
}

fn reference_fields() -> Vec<Field<Vevent>> {
    vec![
        public_field("group_id", FieldType::Reference, |_, scope| {
            ColumnValue::Reference(Some(scope.state.catalogue.group.id.number()))
        }),
        public_field("calendar_id", FieldType::Reference, |row, _| {
            ColumnValue::Reference(Some(row.calendar_id.number()))
        }),
        public_field("fiche_id", FieldType::Reference, |row, _| {
            ColumnValue::Reference(Some(to_appointment(row).fiche_id.number()))
        }),
        public_field("intervention_id", FieldType::Reference, |row, _| {
            ColumnValue::Reference(Some(to_appointment(row).intervention_id.number()))
        }),
    ]
}

fn related_fields() -> Vec<Field<Vevent>> {
    vec![
        public_field("websource", FieldType::Text { max: 255 }, |row, _| {
            rare_text(row, |rare| rare.websource.as_str())
        }),
        public_field("from_web", FieldType::Boolean, |row, _| {
            ColumnValue::Boolean(to_appointment(row).from_web)
        }),
        public_field("comments", COMMENTS, |row, _| rare_text(row, |rare| rare.comments.as_str())),
        public_field("smsreminder", FieldType::Boolean, |row, _| {
            ColumnValue::Boolean(to_appointment(row).smsreminder)
        }),
        public_field("deleted", FieldType::Boolean, |row, _| ColumnValue::Boolean(row.deleted)),
        public_field("location", FieldType::Text { max: 1_024 }, |row, scope| match find_calendar(
            row, scope,
        ) {
            Some(calendar) => ColumnValue::Text(format_location(calendar, scope).into()),
            None => ColumnValue::Text("".into()),
        }),
        public_field(
            "intervention_length",
            FieldType::Integer { min: 1, max: 1_440 },
            |row, scope| match find_intervention(row, scope) {
                Some(intervention) => ColumnValue::Integer(intervention.length.number()),
                None => ColumnValue::Null,
            },
        ),
        public_field("group_name", FieldType::Text { max: 255 }, |_, scope| {
            ColumnValue::Text(scope.state.catalogue.group.name.as_str().into())
        }),
        public_field("capacity", ALWAYS_ONE, |_, _| ColumnValue::Integer(1)),
        public_field("resource_id", ALWAYS_ZERO, |_, _| ColumnValue::Integer(0)),
    ]
}

fn public_field(
    name: &'static str,
    field_type: FieldType,
    read: impl for<'a> Fn(&'a Vevent, &Scope<'a>) -> ColumnValue<'a> + Send + Sync + 'static,
) -> Field<Vevent> {
    Field::derived(name, field_type, Audience::Application, read)
}

/// Returns the calendar of an event; `None` only for the record with the default values.
fn find_calendar<'r>(row: &Vevent, scope: &Scope<'r>) -> Option<&'r Calendar> {
    scope.state.catalogue.calendars.get(&row.calendar_id).map(AsRef::as_ref)
}

/// Returns the intervention of an event; `None` only for the record with the default values.
fn find_intervention<'r>(row: &Vevent, scope: &Scope<'r>) -> Option<&'r Intervention> {
    let id = to_appointment(row).intervention_id;
    scope.state.catalogue.interventions.get(&id).map(AsRef::as_ref)
}

fn to_appointment(row: &Vevent) -> &Appointment {
    row.appointment().expect("rows of this table are appointments")
}

fn rare_text(row: &Vevent, text: fn(&OptionalFields) -> &str) -> ColumnValue<'_> {
    ColumnValue::Text(Cow::Borrowed(row.rare.as_deref().map_or("", text)))
}

fn blank_appointment() -> Vevent {
    let appointment = Appointment {
        civil_start: Civil(0),
        start: Instant(0),
        length_seconds: 60,
        intervention_id: InterventionId::new(1).expect("1 is an id"),
        fiche_id: FicheId::new(1).expect("1 is an id"),
        key: vevent::AppointmentKey::new("00000000000000000000").expect("20 digits are a key"),
        state: vevent::State::default(),
        smsreminder: false,
        from_web: false,
        reminders: vevent::Reminders::since(Instant(0)),
        booking_origin: None,
    };
    Vevent {
        id: VeventId::new(1).expect("1 is an id"),
        calendar_id: CalendarId::new(1).expect("1 is an id"),
        kind: vevent::VeventKind::Appointment(appointment),
        deleted: false,
        created_at: Instant(0),
        updated_at: Instant(0),
        rare: None,
    }
}

/// Appends an appointment's record as JSON. Reference 6.5.
///
/// An application sees of the fiche only the fields in `sent`; its id reads 0. An account sees all
/// fields except those for professionals. Both see public names of calendar and intervention.
///
/// # Panics
/// For an event that is no appointment.
pub fn append(
    row: &Vevent,
    scope: &Scope<'_>,
    audience: Audience,
    now: Instant,
    sent: &[(&'static str, Value)],
    out: &mut Vec<u8>,
) {
    let group = &scope.state.catalogue.group;
    let calendar = find_calendar(row, scope).expect("an event's calendar exists");
    let intervention = find_intervention(row, scope).expect("interventions are never removed");
    let mut record = ObjectWriter::new(out);
    let table = table_for_audience(audience);
    table.append_members(row, &scope.at_moment(now), audience, &mut record);
    record.object("group", |object| {
        object.member("id", &group.id.number());
        object.member("name", group.name.as_str());
        object.member("urlname", group.urlname.as_str());
    });
    record.object("calendar", |object| {
        object.member("id", &calendar.id.number());
        object.member("publicname", calendar.publicname.as_str());
    });
    record.object("fiche", |object| append_fiche(row, scope, audience, sent, object));
    record.object("intervention", |object| {
        object.member("id", &intervention.id.number());
        object.member("publicname", intervention.publicname.as_str());
        let set = intervention.interventionset_id.map(|id| id.number());
        object.member("interventionset_id", &set);
        object.member("length", &intervention.length.number());
    });
    record.end();
}

/// Appends the members of an appointment's fiche.
fn append_fiche(
    row: &Vevent,
    scope: &Scope<'_>,
    audience: Audience,
    sent: &[(&'static str, Value)],
    object: &mut ObjectWriter<'_>,
) {
    let fiche_id = to_appointment(row).fiche_id;
    match audience {
        Audience::Application => {
            object.member("id", &0);
            for (name, value) in sent {
                object.member(name, value);
            }
        }
        Audience::Account | Audience::Pro | Audience::Store => {
            object.member("id", &fiche_id.number());
            let client = scope.state.fiches.get(&fiche_id);
            let client = client.expect("an appointment's client exists");
            for field in visible_fiche_fields(audience) {
                object.column(field.name, &field.read_value(client, scope), scope.zone);
            }
        }
    }
}

/// Returns the fields of a client in an appointment that the audience sees.
pub(crate) fn visible_fiche_fields(
    audience: Audience,
) -> impl Iterator<Item = &'static Field<Fiche>> {
    /// The fields of `SHOWN_OF_FICHE`, found once.
    static SHOWN: LazyLock<Vec<&'static Field<Fiche>>> = LazyLock::new(|| {
        let fields = SHOWN_OF_FICHE.iter().map(|name| FICHE.field(name));
        fields.map(|field| field.expect("these fields are in the table")).collect()
    });
    SHOWN.iter().copied().filter(move |field| audience >= field.readers)
}

/// Returns the address of the appointment in one line; empty if none is set.
fn format_location(calendar: &Calendar, scope: &Scope<'_>) -> String {
    let place = PostalAddress::of_calendar(&scope.state.catalogue, calendar);
    let town = place.town_line();
    match (place.address.is_empty(), town.is_empty()) {
        (false, false) => format!("{}, {town}", place.address),
        (false, true) => place.address.to_string(),
        (true, _) => town.to_string(),
    }
}
