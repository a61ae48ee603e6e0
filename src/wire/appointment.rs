//! Appointments: the body of a booking, and the record that answers it. Reference 12.8, 6.

use std::borrow::Cow;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::domain::booking::book::{channel, nameless, not_bookable_for};
use crate::domain::records::calendar::Calendar;
use crate::domain::records::customfield::Model;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::ids::{CalendarId, FicheId, InterventionId, VeventId};
use crate::domain::records::intervention::Intervention;
use crate::domain::records::place::Place;
use crate::domain::records::text::{Illegal, Text};
use crate::domain::records::vevent::{self, Appointment, Rare, Vevent};
use crate::domain::state::command::{BookAppointment, BookingPermission, Caller, Client};
use crate::domain::state::refusal::Fault;
use crate::domain::time::{Civil, Instant};
use crate::wire::customfield;
use crate::wire::fiche::FICHE;
use crate::wire::field::{Audience, ColumnValue, Field, Kind, Scope, Table, foreign_group};
use crate::wire::value;

/// Fields of the fiche that an appointment shows.
pub const SHOWN_OF_FICHE: [&str; 7] =
    ["birthdate", "lastname", "firstname", "email", "firstphone", "secondphone", "comments"];
/// Fields of a fiche that no booking sets.
const NOT_BY_BOOKING: [&str; 2] = ["from_web", "deleted"];
/// The field that an account changes only by following a link. Reference 3.
const BY_LINK: &str = "email";

/// A booking as it was asked for.
#[derive(Clone, Debug)]
pub struct Booking {
    /// What is to be done.
    pub command: BookAppointment,
    /// What the caller said of the client, as the booking's own answer repeats it.
    pub sent: Map<String, Value>,
}

/// The parts of a booking that decide whether the caller may make it. They are read before all
/// others, because missing rights are reported first. Reference 2.3, 6.1.
#[derive(Clone, Debug)]
pub struct BookingClaims {
    /// Whether the rules of the module hold; the fault of a malformed value is reported later.
    from_web: Result<bool, Illegal>,
    /// Whether the booking names a fiche.
    pub names_fiche: bool,
}

impl BookingClaims {
    /// Reads the claims of a booking's object. Without an object, the rules of the module hold.
    #[must_use]
    pub fn read(object: Option<&Map<String, Value>>) -> Self {
        let Some(object) = object else { return Self { from_web: Ok(true), names_fiche: false } };
        let from_web = match object.get("from_web") {
            Some(given) if !value::is_empty(given) => value::boolean(given),
            Some(_) | None => Ok(true),
        };
        let fiche_id = object.get("fiche").and_then(|fiche| fiche.get("id"));
        let names_fiche = fiche_id.is_some_and(|id| value::id(id) != Ok(None));
        Self { from_web, names_fiche }
    }

    /// Whether the rules of the module hold. They do, unless `from_web` is false.
    #[must_use]
    pub const fn from_web(&self) -> bool {
        !matches!(self.from_web, Ok(false))
    }
}

/// The booking that an object asks for.
///
/// # Errors
/// Everything that is wrong or missing, each by its field.
pub fn parse(
    object: &Map<String, Value>,
    claims: BookingClaims,
    permission: BookingPermission,
    scope: &Scope<'_>,
    caller: &Caller,
) -> Result<Booking, Vec<Fault>> {
    let audience = Audience::of(caller);
    let mut given = Given { object, faults: Vec::new() };
    given.faults.extend(foreign_group(object, scope));
    let date = given.read("date", value::civil);
    if date.is_none() && !given.is_wrong("date") {
        given.wrong("date", "is required: the start as YYYY-MM-DD HH:MM:SS");
    }
    let from_web = claims.from_web();
    if let Err(illegal) = claims.from_web {
        given.faults.push(Fault::new("from_web", illegal.0));
    }
    let intervention_ids = interventions(&mut given, scope, caller, from_web);
    let calendar_id = given.read("calendar_id", value::id).and_then(CalendarId::new);
    if calendar_id.is_some_and(|id| !scope.state.catalogue.calendars.contains_key(&id)) {
        given.wrong("calendar_id", "must be the id of one of the group's calendars, or 0 for any");
    }
    let comments =
        given.read("comments", |v| Text::new(&value::text(v)?).map(Some)).unwrap_or_default();
    let websource =
        given.read("websource", |v| Text::new(&value::text(v)?).map(Some)).unwrap_or_default();
    let smsreminder = given.read_unless_empty("smsreminder", value::boolean);
    let customs = customfield::given(object, scope, Model::Vevent, audience);
    let customs = given.keep(customs).unwrap_or_default();
    let client = client(object.get("fiche"), scope, caller);
    let client = given.keep(client);
    if client.as_ref().is_some_and(|(client, _)| is_nameless(client, scope, caller)) {
        given.faults.push(nameless());
    }
    let (Some((client, sent)), true) = (client, given.faults.is_empty()) else {
        return Err(given.faults);
    };
    let date = date.unwrap_or(Civil(0));
    let command = BookAppointment {
        caller: caller.clone(),
        from_web,
        date,
        intervention_ids,
        calendar_id,
        client,
        comments,
        websource,
        smsreminder,
        customs,
        permission: Some(permission),
    };
    Ok(Booking { command, sent })
}

/// Whether a booking can only make a new client, who would have no name.
fn is_nameless(client: &Client, scope: &Scope<'_>, caller: &Caller) -> bool {
    let may_be_new = match caller {
        Caller::Application => scope.state.catalogue.group.open,
        Caller::Account(_) => false,
        Caller::Pro(_) => true,
    };
    let mut alone = FICHE.blank.clone();
    client.fields.apply_to(&mut alone);
    let is_new = may_be_new && client.id.is_none() && client.email.is_none();
    is_new && alone.lastname.is_blank() && alone.firstname.is_blank()
}

fn interventions(
    given: &mut Given<'_>,
    scope: &Scope<'_>,
    caller: &Caller,
    from_web: bool,
) -> Vec<InterventionId> {
    let ids = given.read("intervention_ids", |v| value::ids(v).map(Some)).unwrap_or_default();
    let ids: Vec<InterventionId> = ids.into_iter().filter_map(InterventionId::new).collect();
    if !given.is_wrong("intervention_ids") {
        given.faults.extend(scope.state.catalogue.chain(&ids, channel(caller, from_web)).err());
    }
    ids
}

/// The client of a booking, and what the caller said of it.
fn client(
    given: Option<&Value>,
    scope: &Scope<'_>,
    caller: &Caller,
) -> Result<(Client, Map<String, Value>), Vec<Fault>> {
    let audience = Audience::of(caller);
    let nothing = Map::new();
    let object = match given {
        None | Some(Value::Null) => &nothing,
        Some(Value::Object(object)) => object,
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            return Err(vec![Fault::new("fiche", "must be an object with the client's fields")]);
        }
    };
    let mut faults = Vec::new();
    let id = object
        .get("id")
        .map_or(Ok(None), value::id)
        .map(|id| id.and_then(FicheId::new))
        .unwrap_or_else(|wrong| {
            faults.push(Fault::new("id", wrong.0));
            None
        });
    let bookable_for = |id: &FicheId| match caller {
        Caller::Account(account) => account.owns(*id) && scope.state.fiches.contains_key(id),
        Caller::Application | Caller::Pro(_) => scope.state.fiches.contains_key(id),
    };
    if id.is_some_and(|id| !bookable_for(&id)) {
        faults.push(Fault::new("id", not_bookable_for(caller)));
    }
    let mut written = object.clone();
    NOT_BY_BOOKING.iter().for_each(|name| drop(written.shift_remove(*name)));
    let mut fields = FICHE.parse(&written, scope, audience).unwrap_or_else(|wrong| {
        faults.extend(wrong);
        Default::default()
    });
    if !faults.is_empty() {
        return Err(faults.into_iter().map(|fault| fault.within("fiche")).collect());
    }
    let customs = customfield::given(object, scope, Model::Fiche, audience)
        .expect("the table has read them already");
    let mut alone = FICHE.blank.clone();
    fields.apply_to(&mut alone);
    if audience == Audience::Account {
        written.shift_remove(BY_LINK);
        fields = FICHE.parse(&written, scope, audience).expect("it was read with more in it");
    }
    let shown = of_fiche(&alone, scope, audience);
    let writable = |name: &str| {
        FICHE.field(name).and_then(|f| f.writers).is_some_and(|writers| audience >= writers)
    };
    let sent =
        shown.into_iter().filter(|(name, _)| object.contains_key(name) && writable(name)).collect();
    Ok((Client { id, email: alone.email, fields, customs }, sent))
}

/// An object being read, and what was wrong with it so far.
struct Given<'a> {
    object: &'a Map<String, Value>,
    faults: Vec<Fault>,
}

impl Given<'_> {
    /// A field's value; `None` where it is not given, empty or wrong.
    fn read<T>(
        &mut self,
        field: &str,
        read: impl FnOnce(&Value) -> Result<Option<T>, Illegal>,
    ) -> Option<T> {
        read(self.object.get(field)?).unwrap_or_else(|illegal| {
            self.faults.push(Fault::new(field, illegal.0));
            None
        })
    }

    /// The same for what knows no empty value.
    fn read_unless_empty<T>(
        &mut self,
        field: &str,
        read: impl FnOnce(&Value) -> Result<T, Illegal>,
    ) -> Option<T> {
        self.read(
            field,
            |given| if value::is_empty(given) { Ok(None) } else { read(given).map(Some) },
        )
    }

    fn keep<T>(&mut self, read: Result<T, Vec<Fault>>) -> Option<T> {
        read.map_err(|wrong| self.faults.extend(wrong)).ok()
    }

    fn wrong(&mut self, field: &str, rule: &str) {
        self.faults.push(Fault::new(field, rule));
    }

    fn is_wrong(&self, field: &str) -> bool {
        self.faults.iter().any(|fault| fault.field == field)
    }
}

/// The plain fields of an appointment's record: what lists can be sorted by. Its rows are vevents that are appointments.
pub static APPOINTMENT: LazyLock<Table<Vevent>> = LazyLock::new(|| {
    appointment([
        Field::derived("calendar_name", NAME, Audience::Pro, |row, scope| {
            ColumnValue::Text(
                calendar_of(row, scope).map_or("", |calendar| calendar.name.as_str()).into(),
            )
        }),
        Field::derived("intervention_name", NAME, Audience::Pro, |row, scope| {
            ColumnValue::Text(intervention_of(row, scope).map_or("", |it| it.name.as_str()).into())
        }),
    ])
});

/// The same as those are shown it who are no professionals: calendars and interventions go by their public names.
static SHOWN_APPOINTMENT: LazyLock<Table<Vevent>> = LazyLock::new(|| {
    appointment([
        shown("calendar_name", NAME, |row, scope| {
            ColumnValue::Text(
                calendar_of(row, scope).map_or("", |calendar| calendar.publicname.as_str()).into(),
            )
        }),
        shown("intervention_name", NAME, |row, scope| {
            ColumnValue::Text(
                intervention_of(row, scope).map_or("", |it| it.publicname.as_str()).into(),
            )
        }),
    ])
});

/// The table that an audience's appointments are shown and found by.
#[must_use]
pub fn table_of(audience: Audience) -> &'static Table<Vevent> {
    match audience {
        Audience::Application | Audience::Account => &SHOWN_APPOINTMENT,
        Audience::Pro | Audience::Store => &APPOINTMENT,
    }
}

/// Seconds.
const AGE: Kind = Kind::Integer { min: 0, max: i64::MAX };
const NAME: Kind = Kind::Text { max: 255 };
const ONE: Kind = Kind::Integer { min: 1, max: 1 };
const NONE: Kind = Kind::Integer { min: 0, max: 0 };

fn appointment(names: [Field<Vevent>; 2]) -> Table<Vevent> {
    let mut table = Table {
        resource: "appointment",
        fields: vec![
            shown("id", Kind::Id, |row, _| ColumnValue::Reference(Some(row.id.number()))),
            shown("key", Kind::Text { max: 20 }, |row, _| {
                ColumnValue::Text(of(row).key.as_str().into())
            }),
            shown("start", Kind::Moment, |row, _| ColumnValue::Moment(Some(of(row).start))),
            shown("end", Kind::Moment, |row, _| ColumnValue::Moment(Some(of(row).interval().end))),
            // Stamps never go back, so that one may lie ahead of the clock.
            shown("created_since", AGE, |row, scope| {
                scope.now.map_or(ColumnValue::Null, |now| {
                    ColumnValue::Integer(now.seconds_since(row.created_at).max(0))
                })
            }),
            shown("state", Kind::Integer { min: 0, max: 3 }, |row, _| {
                ColumnValue::Integer(of(row).state.number())
            }),
            shown("group_id", Kind::Reference, |_, scope| {
                ColumnValue::Reference(Some(scope.state.catalogue.group.id.number()))
            }),
            shown("calendar_id", Kind::Reference, |row, _| {
                ColumnValue::Reference(Some(row.calendar_id.number()))
            }),
            shown("fiche_id", Kind::Reference, |row, _| {
                ColumnValue::Reference(Some(of(row).fiche_id.number()))
            }),
            shown("intervention_id", Kind::Reference, |row, _| {
                ColumnValue::Reference(Some(of(row).intervention_id.number()))
            }),
            shown("websource", Kind::Text { max: 255 }, |row, _| {
                rare(row, |rare| rare.websource.as_str())
            }),
            shown("from_web", Kind::Boolean, |row, _| ColumnValue::Boolean(of(row).from_web)),
            shown("comments", Kind::Text { max: 65_535 }, |row, _| {
                rare(row, |rare| rare.comments.as_str())
            }),
            shown("smsreminder", Kind::Boolean, |row, _| ColumnValue::Boolean(of(row).smsreminder)),
            shown("deleted", Kind::Boolean, |row, _| ColumnValue::Boolean(row.deleted)),
            shown("location", Kind::Text { max: 1_024 }, |row, scope| {
                ColumnValue::Text(
                    calendar_of(row, scope)
                        .map_or_else(String::new, |calendar| location(calendar, scope))
                        .into(),
                )
            }),
            shown("intervention_length", Kind::Integer { min: 1, max: 1_440 }, |row, scope| {
                intervention_of(row, scope)
                    .map_or(ColumnValue::Null, |it| ColumnValue::Integer(it.length.number()))
            }),
            shown("group_name", Kind::Text { max: 255 }, |_, scope| {
                ColumnValue::Text(scope.state.catalogue.group.name.as_str().into())
            }),
            shown("capacity", ONE, |_, _| ColumnValue::Integer(1)),
            shown("resource_id", NONE, |_, _| ColumnValue::Integer(0)),
        ],
        required: &[],
        customs: None,
        id: |row| row.id.number(),
        order: |a, b, _| of(a).start.cmp(&of(b).start),
        blank: blank(),
    };
    table.fields.extend(names);
    table
}

fn shown(
    name: &'static str,
    kind: Kind,
    read: impl for<'a> Fn(&'a Vevent, &Scope<'a>) -> ColumnValue<'a> + Send + Sync + 'static,
) -> Field<Vevent> {
    Field::derived(name, kind, Audience::Application, read)
}

/// Every event's calendar exists; that of the row whose values are the defaults does not.
fn calendar_of<'r>(row: &Vevent, scope: &Scope<'r>) -> Option<&'r Calendar> {
    scope.state.catalogue.calendars.get(&row.calendar_id).map(AsRef::as_ref)
}

/// No intervention is ever removed; see [`calendar_of`].
fn intervention_of<'r>(row: &Vevent, scope: &Scope<'r>) -> Option<&'r Intervention> {
    scope.state.catalogue.interventions.get(&of(row).intervention_id).map(AsRef::as_ref)
}

fn of(row: &Vevent) -> &Appointment {
    row.appointment().expect("rows of this table are appointments")
}

fn rare(row: &Vevent, text: fn(&Rare) -> &str) -> ColumnValue<'_> {
    ColumnValue::Text(Cow::Borrowed(row.rare.as_deref().map_or("", text)))
}

fn blank() -> Vevent {
    let appointment = Appointment {
        civil_start: Civil(0),
        start: Instant(0),
        length_seconds: 60,
        intervention_id: InterventionId::new(1).expect("1 is an id"),
        fiche_id: FicheId::new(1).expect("1 is an id"),
        key: vevent::Key::new("00000000000000000000").expect("20 digits are a key"),
        state: vevent::State::default(),
        smsreminder: false,
        from_web: false,
        reminders: vevent::Reminders::since(Instant(0)),
    };
    Vevent {
        id: VeventId::new(1).expect("1 is an id"),
        calendar_id: CalendarId::new(1).expect("1 is an id"),
        kind: vevent::Kind::Appointment(appointment),
        deleted: false,
        created_at: Instant(0),
        updated_at: Instant(0),
        rare: None,
    }
}

/// An appointment's record. A key alone sees of the fiche its id and what it `sent` itself; an account, all but what is
/// for professionals. Both see the names that the module shows. Reference 6.
///
/// # Panics
/// For an event that is no appointment.
#[must_use]
pub fn render(
    row: &Vevent,
    scope: &Scope<'_>,
    audience: Audience,
    now: Instant,
    sent: &Map<String, Value>,
) -> Map<String, Value> {
    let appointment = of(row);
    let group = &scope.state.catalogue.group;
    let calendar = calendar_of(row, scope).expect("an event's calendar exists");
    let intervention = intervention_of(row, scope).expect("an intervention is never removed");
    let mut fiche = Map::new();
    fiche.insert("id".into(), appointment.fiche_id.number().into());
    match audience {
        Audience::Application => fiche.extend(sent.clone()),
        Audience::Account | Audience::Pro | Audience::Store => {
            let record = scope
                .state
                .fiches
                .get(&appointment.fiche_id)
                .expect("an appointment's client exists");
            fiche.extend(of_fiche(record, scope, audience));
        }
    }
    let mut record = table_of(audience).render(row, &scope.at(now), audience);
    let more = json!({
        "group": {"id": group.id.number(), "name": group.name.as_str(), "urlname": group.urlname.as_str()},
        "calendar": {"id": calendar.id.number(), "publicname": calendar.publicname.as_str()},
        "fiche": fiche,
        "intervention": of_intervention(intervention),
    });
    if let Value::Object(more) = more {
        record.extend(more);
    }
    record
}

fn of_intervention(intervention: &Intervention) -> Value {
    json!({
        "id": intervention.id.number(),
        "publicname": intervention.publicname.as_str(),
        "interventionset_id": intervention.interventionset_id.map(|id| id.number()),
        "length": intervention.length.number(),
    })
}

/// What an appointment shows of its client to those who may see it.
fn of_fiche(fiche: &Fiche, scope: &Scope<'_>, audience: Audience) -> Map<String, Value> {
    let shown = |name: &str| FICHE.field(name).filter(|field| audience >= field.readers);
    let cell = |name: &str| {
        shown(name).map(|field| (name.to_owned(), field.cell(fiche, scope).json(scope.zone)))
    };
    SHOWN_OF_FICHE.iter().filter_map(|name| cell(name)).collect()
}

/// Where the client is to go, in one line.
fn location(calendar: &Calendar, scope: &Scope<'_>) -> String {
    let place = Place::of_calendar(&scope.state.catalogue, calendar);
    [place.address, &place.town()]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(", ")
}
