//! Fields of events, of all four kinds. Reference 12.7.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::domain::messaging::planning;
use crate::domain::records::channel::Channel;
use crate::domain::records::customfield::Model;
use crate::domain::records::ids::{CalendarId, FicheId, InterventionId, VeventId};
use crate::domain::records::text::Colour;
use crate::domain::records::vevent::{
    Appointment, BookingComments, OptionalFields, Permits, ReminderOutcome, State, Vevent,
    VeventKind,
};
use crate::domain::recurrence::{Exceptions, LegacyFields, Series};
use crate::domain::time::zone::{self, Zone};
use crate::domain::time::{Civil, DAY, INSTANT_MAX, Instant};
use crate::wire::custom_values::CustomMember;
use crate::wire::datetime;
use crate::wire::field::{Audience, ColumnValue, Field, FieldType, Scope, Table, fields};
use crate::wire::vevent::revision_tag::{REVISION_LENGTH, revision_text};

/// The `type` of an availability. Reference 12.7.
pub const AVAILABILITY: &str = "VfreebusyEvent";

/// Every field of an event. [`crate::wire::vevent::parse`] parses them, since the meaning of a
/// field depends on the kind of event.
pub static VEVENT: LazyLock<Table<Vevent>> = LazyLock::new(|| Table {
    resource: "vevent",
    fields: [common_fields(), appointment_fields(), other_kinds_fields(), store_fields()]
        .into_iter()
        .flatten()
        .collect(),
    required: &[&["calendar_id"], &["start"], &["end"]],
    customs: Some(CustomMember {
        model: Model::Vevent,
        get: |row| row.rare.as_ref().map(|rare| &rare.customs),
        set: |row, name, value| {
            let mut rare = match row.rare.take() {
                Some(rare) => *rare,
                None => OptionalFields::default(),
            };
            rare.customs.set(name, value);
            row.rare = rare.boxed();
        },
    }),
    id: |row| row.id.number(),
    order: |a, b, scope| first_start(a, scope.zone).cmp(&first_start(b, scope.zone)),
    blank: blank_plage(),
});

fn blank_plage() -> Vevent {
    let utc = Zone::from_iana("Etc/UTC").expect("the zone database has UTC");
    let day = Series::new(utc, Civil(0), Civil(DAY), None, Exceptions::default());
    Vevent {
        id: VeventId::new(1).expect("1 is an id"),
        calendar_id: CalendarId::new(1).expect("1 is an id"),
        kind: VeventKind::Plage(Box::new(day.expect("a day ends after it begins"))),
        deleted: false,
        created_at: Instant(0),
        updated_at: Instant(0),
        rare: None,
    }
}

/// Returns the start of an event, or that of its first instance.
pub fn first_start(row: &Vevent, zone: Zone) -> Instant {
    match &row.kind {
        VeventKind::Appointment(appointment) => appointment.start,
        VeventKind::Plage(series) | VeventKind::Note(series) => zone.instant_of(series.start()),
        VeventKind::Availability(availability) => zone.instant_of(availability.series.start()),
    }
}

/// Creates a field that professionals see and set.
fn pro_field<R: 'static>(
    name: &'static str,
    field_type: FieldType,
    read: impl for<'a> Fn(&'a R, &Scope<'a>) -> ColumnValue<'a> + Send + Sync + 'static,
) -> Field<R> {
    Field::derived(name, field_type, Audience::Pro, read).writable_by(Audience::Pro)
}

/// Returns a text that few events have.
fn rare_text(row: &Vevent, read: for<'a> fn(&'a OptionalFields) -> &'a str) -> ColumnValue<'_> {
    ColumnValue::Text(Cow::Borrowed(row.rare.as_deref().map_or("", read)))
}

/// Returns a boolean of an appointment; false for other kinds.
fn appointment_flag(row: &Vevent, read: fn(&Appointment) -> bool) -> ColumnValue<'_> {
    ColumnValue::Boolean(row.appointment().is_some_and(read))
}

/// Type of the revision of an event.
const REVISION: FieldType = FieldType::Text { max: REVISION_LENGTH };

fn common_fields() -> Vec<Field<Vevent>> {
    fields!(
        Vevent,
        Audience::Pro,
        [
            pro_field("calendar_id", FieldType::Reference, |row: &Vevent, _| {
                ColumnValue::Reference(Some(row.calendar_id.number()))
            }),
            pro_field("start", FieldType::Moment, |row: &Vevent, _| match row.appointment() {
                Some(appointment) => ColumnValue::Moment(Some(appointment.start)),
                None => ColumnValue::Civil(row.series().map(Series::start)),
            }),
            pro_field("end", FieldType::Moment, |row: &Vevent, _| match row.appointment() {
                Some(appointment) => ColumnValue::Moment(Some(appointment.interval().end)),
                None => ColumnValue::Civil(row.series().map(Series::end)),
            }),
            pro_field("taker", FieldType::Text { max: 255 }, shown_taker),
            pro_field("colorref", FieldType::Colour, |row, _| {
                rare_text(row, |rare| rare.colorref.as_ref().map_or("", Colour::as_str))
            }),
            pro_field("text", FieldType::Text { max: 65_535 }, shown_text),
            pro_field("deleted", FieldType::Boolean, |row: &Vevent, _| ColumnValue::Boolean(
                row.deleted
            )),
            Field::derived("revision", REVISION, Audience::Pro, |row, _| {
                ColumnValue::Text(revision_text(row).into())
            }),
        ]
    )
}

/// Returns the name of the creator of an event: the one given, or that of the professional who made
/// it. Every other booking from the web was made by its client.
fn shown_taker<'a>(row: &'a Vevent, scope: &Scope<'a>) -> ColumnValue<'a> {
    let is_from_web = row.appointment().is_some_and(|appointment| appointment.from_web);
    if has_taker(row) || !is_from_web {
        return rare_text(row, |rare| rare.taker.as_str());
    }
    shown_text(row, scope)
}

/// Returns whether the name of the creator was given, rather than follows from the client.
fn has_taker(row: &Vevent) -> bool {
    row.rare.as_deref().is_some_and(|rare| !rare.taker.is_blank())
}

/// Renders an event for the store, without what follows from its client.
pub fn render_stored(row: &Vevent, scope: &Scope<'_>) -> Map<String, Value> {
    let mut object = VEVENT.render_for_store(row, scope);
    if row.appointment().is_some() {
        object.shift_remove("text");
    }
    if !has_taker(row) {
        object.shift_remove("taker");
    }
    object
}

/// Returns the text of an event. For an appointment it is its client's names.
fn shown_text<'a>(row: &'a Vevent, scope: &Scope<'a>) -> ColumnValue<'a> {
    let Some(appointment) = row.appointment() else {
        return rare_text(row, |rare| rare.text.as_str());
    };
    match scope.state.fiches.get(&appointment.fiche_id) {
        Some(fiche) => ColumnValue::Text(fiche.names().into()),
        None => ColumnValue::Text("".into()),
    }
}

fn appointment_fields() -> Vec<Field<Vevent>> {
    vec![
        pro_field("intervention_id", FieldType::Reference, |row: &Vevent, _| {
            ColumnValue::Reference(Some(row.intervention_id().map_or(0, InterventionId::number)))
        }),
        pro_field("fiche_id", FieldType::Reference, |row: &Vevent, _| {
            ColumnValue::Reference(Some(row.fiche_id().map_or(0, FicheId::number)))
        }),
        pro_field("state", FieldType::Integer { min: 0, max: 3 }, |row: &Vevent, _| {
            let state = match row.appointment() {
                Some(appointment) => appointment.state,
                None => State::default(),
            };
            ColumnValue::Integer(state.number())
        }),
        Field::derived("mailtime", FieldType::Moment, Audience::Pro, |row, scope| {
            ColumnValue::Moment(reminder_time(row, scope, Channel::Mail))
        }),
        Field::derived("smstime", FieldType::Moment, Audience::Pro, |row, scope| {
            ColumnValue::Moment(reminder_time(row, scope, Channel::Sms))
        }),
        pro_field("smsreminder", FieldType::Boolean, |row, _| {
            appointment_flag(row, |a| a.smsreminder)
        }),
        pro_field("from_web", FieldType::Boolean, |row, _| appointment_flag(row, |a| a.from_web)),
        pro_field("comments", FieldType::Text { max: 65_535 }, |row, _| {
            rare_text(row, |rare| rare.comments.as_str())
        }),
        pro_field("internal_comments", FieldType::Text { max: 65_535 }, |row, _| {
            rare_text(row, |rare| rare.internal_comments.as_str())
        }),
        pro_field("websource", FieldType::Text { max: 255 }, |row, _| {
            rare_text(row, |rare| rare.websource.as_str())
        }),
        Field::derived("key", FieldType::Text { max: 20 }, Audience::Pro, |row: &Vevent, _| {
            ColumnValue::Text(Cow::Borrowed(row.appointment().map_or("", |a| a.key.as_str())))
        })
        .writable_by(Audience::Store),
    ]
}

fn other_kinds_fields() -> Vec<Field<Vevent>> {
    vec![
        pro_field("availableInterventions", FieldType::Text { max: 65_535 }, |row, _| {
            match permits_text(row) {
                text if text.is_empty() => ColumnValue::Null,
                text => ColumnValue::Text(text.into()),
            }
        }),
        pro_field("type", FieldType::Text { max: 20 }, |row: &Vevent, _| {
            ColumnValue::Text(Cow::Borrowed(match row.kind {
                VeventKind::Availability(_) => AVAILABILITY,
                VeventKind::Appointment(_) | VeventKind::Plage(_) | VeventKind::Note(_) => "",
            }))
        }),
        pro_field("note", FieldType::Boolean, |row: &Vevent, _| {
            ColumnValue::Boolean(matches!(row.kind, VeventKind::Note(_)))
        }),
        pro_field("rrule", FieldType::Text { max: 65_535 }, |row: &Vevent, _| {
            match row.series().and_then(Series::rule) {
                Some(rule) => ColumnValue::Text(rule.to_string().into()),
                None => ColumnValue::Text("".into()),
            }
        }),
        pro_field(
            "repeat_exceptions",
            FieldType::Text { max: 65_535 },
            |row: &Vevent, _| match row.series() {
                Some(series) => ColumnValue::Text(series.exceptions().to_string().into()),
                None => ColumnValue::Text("".into()),
            },
        ),
        legacy_field("repeat_freq", FieldType::Text { max: 7 }, |fields| {
            ColumnValue::Text(fields.freq.into())
        }),
        legacy_field("repeat_intervall", COUNTED, |fields| to_number(fields.interval)),
        legacy_field("repeat_count", COUNTED, |fields| to_number(fields.count)),
        legacy_field("repeat_byday", COUNTED, |fields| to_number(fields.byday)),
        Field::derived("repeat_until", FieldType::Moment, Audience::Pro, |row: &Vevent, _| {
            ColumnValue::Moment(row.series().and_then(Series::repeat_until))
        }),
    ]
}

/// Type of the numbers of the older repeat fields.
const COUNTED: FieldType = FieldType::Integer { min: 0, max: u32::MAX as i64 };

/// Creates an older repeat field: null for an event that does not repeat, and for a rule that these
/// fields cannot say. Reference 5.4.
fn legacy_field(
    name: &'static str,
    field_type: FieldType,
    read: fn(LegacyFields<'static>) -> ColumnValue<'static>,
) -> Field<Vevent> {
    Field::derived(name, field_type, Audience::Pro, move |row: &Vevent, _| {
        let rule = row.series().and_then(Series::rule);
        match rule.and_then(LegacyFields::from_rule) {
            Some(fields) => read(fields),
            None => ColumnValue::Null,
        }
    })
}

fn to_number(number: Option<i64>) -> ColumnValue<'static> {
    number.map_or(ColumnValue::Null, ColumnValue::Integer)
}

/// Returns the permitted interventions as `,11,13,`; the empty text if all are permitted.
fn permits_text(row: &Vevent) -> String {
    let VeventKind::Availability(availability) = &row.kind else { return String::new() };
    let Permits::Only(ids) = &availability.permits else { return String::new() };
    let mut list = String::from(",");
    for id in ids {
        write!(list, "{id},").expect("writing to a String does not fail");
    }
    list
}

/// Returns the time at which a reminder is sent, or was sent.
fn reminder_time(row: &Vevent, scope: &Scope<'_>, channel: Channel) -> Option<Instant> {
    // Without a time of request, a reminder that was given up stays so.
    let now = scope.now.unwrap_or(INSTANT_MAX);
    planning::shown_time(scope.state, scope.zone, row, channel, now)
}

/// Returns whether a reminder was sent for the current start; null for other kinds of events.
fn was_sent(row: &Vevent, channel: Channel) -> ColumnValue<'static> {
    let Some(appointment) = row.appointment() else { return ColumnValue::Null };
    let settled = appointment.reminders.by_channel(channel).settled();
    ColumnValue::Boolean(settled == ReminderOutcome::Sent(appointment.start))
}

/// Lists the fields of export that professionals do not see. Reference 11.2.
fn store_fields() -> Vec<Field<Vevent>> {
    vec![
        store_field("start_utc", FieldType::Text { max: 19 }, |row, _| {
            utc_text(row.appointment().map(|appointment| appointment.start))
        }),
        store_field("end_utc", FieldType::Text { max: 19 }, |row, _| {
            utc_text(row.appointment().map(|appointment| appointment.interval().end))
        }),
        store_field("civil_start", FieldType::CivilMoment, |row, scope| {
            let Some(appointment) = row.appointment() else { return ColumnValue::Civil(None) };
            // It differs from the instant only if the rules of the zone have changed since.
            if appointment.civil_start == scope.zone.civil_of(appointment.start) {
                return ColumnValue::Civil(None);
            }
            ColumnValue::Civil(Some(appointment.civil_start))
        }),
        store_field("booking_comments", FieldType::Text { max: 65_535 }, |row, _| {
            match row.rare.as_deref().map(|rare| &rare.booking_comments) {
                Some(BookingComments::Unchanged | BookingComments::Replaced(_)) => {
                    ColumnValue::Text(row.booking_comments().into())
                }
                Some(BookingComments::Unrecorded) | None => ColumnValue::Null,
            }
        }),
        store_field("mail_sent", FieldType::Boolean, |row, _| was_sent(row, Channel::Mail)),
        store_field("sms_sent", FieldType::Boolean, |row, _| was_sent(row, Channel::Sms)),
    ]
}

fn store_field(
    name: &'static str,
    field_type: FieldType,
    read: for<'a> fn(&'a Vevent, &Scope<'a>) -> ColumnValue<'a>,
) -> Field<Vevent> {
    Field::derived(name, field_type, Audience::Store, read).writable_by(Audience::Store)
}

fn utc_text(moment: Option<Instant>) -> ColumnValue<'static> {
    match moment {
        Some(moment) => ColumnValue::Text(datetime::format_civil(zone::utc_of(moment)).into()),
        None => ColumnValue::Text("".into()),
    }
}
