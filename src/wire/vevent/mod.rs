//! The fields of events, of all four kinds. Reference 12.7, 3, 6, 7.

mod input;
mod revision;

use std::borrow::Cow;
use std::sync::LazyLock;

pub use self::input::{AppointmentInput, KindInput, VeventInput, parse};
pub use self::revision::revise;

use crate::domain::messaging::channel::Channel;
use crate::domain::messaging::planning;
use crate::domain::records::customfield::Model;
use crate::domain::records::ids::{CalendarId, VeventId};
use crate::domain::records::text::Colour;
use crate::domain::records::vevent::{
    Appointment, OptionalFields, Permits, ReminderOutcome, State, Vevent, VeventKind,
};
use crate::domain::recurrence::{Exceptions, Series};
use crate::domain::time::zone::{self, Zone};
use crate::domain::time::{Civil, DAY, Instant};
use crate::wire::customfield::CustomMember;
use crate::wire::datetime;
use crate::wire::field::{Audience, ColumnValue, Field, Kind, Scope, Table, fields};

/// The `type` of an availability. Reference 12.7.
pub const AVAILABILITY: &str = "VfreebusyEvent";

/// Every field of an event. It is read by [`parse`], since what a field means depends on the kind.
pub static VEVENT: LazyLock<Table<Vevent>> = LazyLock::new(|| Table {
    resource: "vevent",
    fields: common().into_iter().chain(appointment()).chain(other_kinds()).chain(store()).collect(),
    required: &[&["calendar_id"], &["start"], &["end"]],
    customs: Some(CustomMember {
        model: Model::Vevent,
        get: |row| row.rare.as_ref().map(|rare| &rare.customs),
        set: |row, name, value| {
            let mut rare = row.rare.take().map_or_else(OptionalFields::default, |rare| *rare);
            rare.customs.set(name, value);
            row.rare = rare.boxed();
        },
    }),
    id: |row| row.id.number(),
    order: |a, b, scope| start(a, scope.zone).cmp(&start(b, scope.zone)),
    blank: blank(),
});

fn blank() -> Vevent {
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

/// The instant at which an event, or its first instance, starts.
#[must_use]
pub fn start(row: &Vevent, zone: Zone) -> Instant {
    match &row.kind {
        VeventKind::Appointment(appointment) => appointment.start,
        VeventKind::Plage(series) | VeventKind::Note(series) => zone.instant_of(series.start()),
        VeventKind::Availability(availability) => zone.instant_of(availability.series.start()),
    }
}

/// A field that professionals see and give.
fn given<R: 'static>(
    name: &'static str,
    kind: Kind,
    read: impl for<'a> Fn(&'a R, &Scope<'a>) -> ColumnValue<'a> + Send + Sync + 'static,
) -> Field<R> {
    Field::derived(name, kind, Audience::Pro, read).given_by(Audience::Pro)
}

/// A text that few events have.
fn rare(row: &Vevent, read: for<'a> fn(&'a OptionalFields) -> &'a str) -> ColumnValue<'_> {
    ColumnValue::Text(Cow::Borrowed(row.rare.as_deref().map_or("", read)))
}

/// A boolean of appointments, false of all else.
fn flag(row: &Vevent, read: fn(&Appointment) -> bool) -> ColumnValue<'_> {
    ColumnValue::Boolean(row.appointment().is_some_and(read))
}

fn common() -> Vec<Field<Vevent>> {
    fields!(
        Vevent,
        Audience::Pro,
        [
            given("calendar_id", Kind::Reference, |row: &Vevent, _| {
                ColumnValue::Reference(Some(row.calendar_id.number()))
            }),
            given("start", Kind::Moment, |row: &Vevent, _| match row.appointment() {
                Some(appointment) => ColumnValue::Moment(Some(appointment.start)),
                None => ColumnValue::Civil(row.series().map(Series::start)),
            }),
            given("end", Kind::Moment, |row: &Vevent, _| match row.appointment() {
                Some(appointment) => ColumnValue::Moment(Some(appointment.interval().end)),
                None => ColumnValue::Civil(row.series().map(Series::end)),
            }),
            given("taker", Kind::Text { max: 255 }, |row, _| rare(row, |rare| rare.taker.as_str())),
            given("colorref", Kind::Colour, |row, _| {
                rare(row, |rare| rare.colorref.as_ref().map_or("", Colour::as_str))
            }),
            given("text", Kind::Text { max: 65_535 }, shown_text),
            given("deleted", Kind::Boolean, |row: &Vevent, _| ColumnValue::Boolean(row.deleted)),
        ]
    )
}

/// An appointment's text holds its client's names.
fn shown_text<'a>(row: &'a Vevent, scope: &Scope<'a>) -> ColumnValue<'a> {
    match row.appointment() {
        Some(appointment) => {
            let fiche = scope.state.fiches.get(&appointment.fiche_id);
            ColumnValue::Text(fiche.map_or_else(String::new, |fiche| fiche.names()).into())
        }
        None => rare(row, |rare| rare.text.as_str()),
    }
}

fn appointment() -> Vec<Field<Vevent>> {
    vec![
        given("intervention_id", Kind::Reference, |row: &Vevent, _| {
            ColumnValue::Reference(Some(
                row.appointment().map_or(0, |a| a.intervention_id.number()),
            ))
        }),
        given("fiche_id", Kind::Reference, |row: &Vevent, _| {
            ColumnValue::Reference(Some(row.appointment().map_or(0, |a| a.fiche_id.number())))
        }),
        given("state", Kind::Integer { min: 0, max: 3 }, |row: &Vevent, _| {
            ColumnValue::Integer(row.appointment().map_or(State::default(), |a| a.state).number())
        }),
        Field::derived("mailtime", Kind::Moment, Audience::Pro, |row, scope| {
            ColumnValue::Moment(shown(row, scope, Channel::Mail))
        }),
        Field::derived("smstime", Kind::Moment, Audience::Pro, |row, scope| {
            ColumnValue::Moment(shown(row, scope, Channel::Sms))
        }),
        given("smsreminder", Kind::Boolean, |row, _| flag(row, |a| a.smsreminder)),
        given("from_web", Kind::Boolean, |row, _| flag(row, |a| a.from_web)),
        given("comments", Kind::Text { max: 65_535 }, |row, _| {
            rare(row, |rare| rare.comments.as_str())
        }),
        given("websource", Kind::Text { max: 255 }, |row, _| {
            rare(row, |rare| rare.websource.as_str())
        }),
        Field::derived("key", Kind::Text { max: 20 }, Audience::Pro, |row: &Vevent, _| {
            ColumnValue::Text(Cow::Borrowed(row.appointment().map_or("", |a| a.key.as_str())))
        })
        .given_by(Audience::Store),
    ]
}

fn other_kinds() -> Vec<Field<Vevent>> {
    vec![
        given("availableInterventions", Kind::Text { max: 65_535 }, |row, _| {
            ColumnValue::Text(permits(row).into())
        }),
        given("type", Kind::Text { max: 20 }, |row: &Vevent, _| {
            ColumnValue::Text(Cow::Borrowed(match row.kind {
                VeventKind::Availability(_) => AVAILABILITY,
                VeventKind::Appointment(_) | VeventKind::Plage(_) | VeventKind::Note(_) => "",
            }))
        }),
        given("note", Kind::Boolean, |row: &Vevent, _| {
            ColumnValue::Boolean(matches!(row.kind, VeventKind::Note(_)))
        }),
        given("rrule", Kind::Text { max: 65_535 }, |row: &Vevent, _| {
            let rule = row.series().and_then(Series::rule);
            ColumnValue::Text(rule.map_or_else(String::new, ToString::to_string).into())
        }),
        given("repeat_exceptions", Kind::Text { max: 65_535 }, |row: &Vevent, _| {
            ColumnValue::Text(
                row.series()
                    .map_or_else(String::new, |series| series.exceptions().to_string())
                    .into(),
            )
        }),
        Field::derived("repeat_until", Kind::Moment, Audience::Pro, |row: &Vevent, _| {
            ColumnValue::Moment(row.series().and_then(Series::repeat_until))
        }),
    ]
}

/// `,11,13,`, or nothing where every intervention is permitted.
fn permits(row: &Vevent) -> String {
    let VeventKind::Availability(availability) = &row.kind else { return String::new() };
    match &availability.permits {
        Permits::All => String::new(),
        Permits::Only(ids) => ids.iter().fold(",".into(), |list, id| format!("{list}{id},")),
    }
}

/// When a reminder leaves or left.
fn shown(row: &Vevent, scope: &Scope<'_>, channel: Channel) -> Option<Instant> {
    planning::shown_time(scope.state, scope.zone, row, channel)
}

/// Whether a reminder has left for the start that the appointment has; null for all else.
fn was_sent(row: &Vevent, channel: Channel) -> ColumnValue<'static> {
    row.appointment().map_or(ColumnValue::Null, |appointment| {
        ColumnValue::Boolean(
            appointment.reminders.by_channel(channel).settled
                == ReminderOutcome::Sent(appointment.start),
        )
    })
}

/// What export needs beyond what professionals see. Reference 11.
fn store() -> Vec<Field<Vevent>> {
    let stored = |name, kind, read: for<'a> fn(&'a Vevent, &Scope<'a>) -> ColumnValue<'a>| {
        Field::derived(name, kind, Audience::Store, read).given_by(Audience::Store)
    };
    let utc = |moment: Option<Instant>| {
        ColumnValue::Text(
            moment.map_or_else(String::new, |moment| datetime::text(zone::utc_of(moment))).into(),
        )
    };
    let start_utc = move |row: &Vevent| utc(row.appointment().map(|a| a.start));
    let end_utc = move |row: &Vevent| utc(row.appointment().map(|a| a.interval().end));
    vec![
        Field::derived("start_utc", Kind::Text { max: 19 }, Audience::Store, move |row, _| {
            start_utc(row)
        })
        .given_by(Audience::Store),
        Field::derived("end_utc", Kind::Text { max: 19 }, Audience::Store, move |row, _| {
            end_utc(row)
        })
        .given_by(Audience::Store),
        stored("civil_start", Kind::CivilMoment, |row, scope| {
            // Only where the clock's rules have changed since does it say more than the instant.
            let differs = |a: &&Appointment| a.civil_start != scope.zone.civil_of(a.start);
            ColumnValue::Civil(row.appointment().filter(differs).map(|a| a.civil_start))
        }),
        stored("mail_sent", Kind::Boolean, |row, _| was_sent(row, Channel::Mail)),
        stored("sms_sent", Kind::Boolean, |row, _| was_sent(row, Channel::Sms)),
    ]
}

#[cfg(test)]
mod tests;
