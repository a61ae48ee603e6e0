//! Request body of a booking. Reference 6.2, 6.3, 12.8.

use std::borrow::Cow;
use std::fmt::Display;

use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::domain::decisions::book::booking_mode;
use crate::domain::decisions::client_record::{missing_name_fault, unknown_fiche_rule};
use crate::domain::records::customfield::{CustomValue, Model};
use crate::domain::records::fault::Fault;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::hold::HoldId;
use crate::domain::records::ids::{CalendarId, FicheId, InterventionId, VeventId};
use crate::domain::records::text::{InvalidValue, Text};
use crate::domain::state::booking_permission::BookingPermission;
use crate::domain::state::command::{
    BookAppointment, Caller, CancelRight, Client, GivenCustoms, MoveAppointment,
};
use crate::domain::time::Civil;
use crate::wire::appointment::{SentFields, visible_fiche_fields};
use crate::wire::custom_values::parse_custom_values;
use crate::wire::fiche::FICHE;
use crate::wire::field::{Audience, Scope, foreign_group};
use crate::wire::hold::{parse_hold, read_calendar, read_interventions, read_start};
use crate::wire::object_reader::ObjectReader;
use crate::wire::schema::{
    GivenComment, GivenFlag, GivenId, GivenIds, GivenLabel, GivenMoment, GivenToken,
};
use crate::wire::value::{self, find_filled, find_member};

/// Fields of a fiche that a booking ignores.
const NOT_BY_BOOKING: [&str; 2] = ["from_web", "deleted"];
/// Maximum number of characters of all texts that one booking by the public or an account writes:
/// its comments, its label and its customised attributes, those of the client included.
pub(crate) const WEB_TEXT_CHARS_MAX: usize = 2_000;
/// The field that an account changes only by a confirmed link, not by a booking. Reference 3.5.
const BY_LINK: &str = "email";

/// A booking.
#[derive(Debug, ToSchema)]
pub struct BookingBody {
    /// Start, YYYY-MM-DD HH:MM:SS on the clocks of the group.
    #[schema(value_type = GivenMoment)]
    date: Civil,
    /// Ids of the interventions, in order. Each begins right after the one before.
    #[schema(value_type = GivenIds)]
    intervention_ids: Vec<InterventionId>,
    /// Id of the calendar; 0 or nothing for any calendar that is free.
    #[schema(value_type = Option<GivenId>)]
    calendar_id: Option<CalendarId>,
    /// Token of the caller's hold, whose time is free for the caller.
    #[schema(value_type = Option<GivenToken>)]
    hold: Option<HoldId>,
    /// Comment, which the client can read.
    #[schema(value_type = Option<GivenComment>)]
    comments: Text<65_535>,
    /// Comment for professionals only.
    #[schema(value_type = Option<GivenComment>)]
    internal_comments: Text<65_535>,
    /// Label of the origin, for statistics.
    #[schema(value_type = Option<GivenLabel>)]
    websource: Text<255>,
    /// false, for professionals: the rules for clients do not apply. The default is true.
    #[schema(value_type = Option<GivenFlag>)]
    from_web: bool,
    /// Whether the client gets an SMS reminder. The default is a setting of the group.
    #[schema(value_type = Option<GivenFlag>)]
    smsreminder: Option<bool>,
}

/// Parsed request body of a booking.
#[derive(Clone, Debug)]
pub struct Booking {
    /// The command to execute.
    pub command: BookAppointment,
    /// The fiche fields that the caller sent, repeated in the answer.
    pub sent: SentFields,
}

/// The parts of a booking that decide whether the caller may make it. They are read before all
/// others, because missing rights are reported first. Reference 2.3, 6.1.
#[derive(Clone, Debug)]
pub struct BookingClaims {
    /// Whether the rules of the module hold; the fault of a malformed value is reported later.
    from_web: Result<bool, InvalidValue>,
    /// Whether the booking names a fiche.
    pub names_fiche: bool,
}

impl BookingClaims {
    /// Reads the claims of a booking's object. Without an object, the rules of the module hold.
    pub fn read(object: Option<&Map<String, Value>>) -> Self {
        let Some(object) = object else { return Self { from_web: Ok(true), names_fiche: false } };
        let from_web = find_filled(object, "from_web").map_or(Ok(true), value::parse_boolean);
        let names_fiche = match object.get("fiche").and_then(|fiche| fiche.get("id")) {
            Some(id) => value::parse_id(id) != Ok(None),
            None => false,
        };
        Self { from_web, names_fiche }
    }

    /// Whether the rules of the module hold. They do, unless `from_web` is false.
    pub const fn from_web(&self) -> bool {
        !matches!(self.from_web, Ok(false))
    }
}

/// Parses the request body of a booking. Reference 12.8.
///
/// # Errors
/// All faults, each with its field.
pub fn parse(
    object: &Map<String, Value>,
    claims: BookingClaims,
    permission: BookingPermission,
    scope: &Scope<'_>,
    caller: &Caller,
) -> Result<Booking, Vec<Fault>> {
    let audience = Audience::for_caller(caller);
    let mut reader = ObjectReader::new(object);
    let body = BookingBody::read(&mut reader, claims, scope, caller);
    let customs = parse_custom_values(object, scope, Model::Vevent, audience);
    let customs = reader.keep_faults(customs).unwrap_or_default();
    let client = parse_client(object.get("fiche"), scope, caller);
    let client = reader.keep_faults(client);
    if let Some(BookedClient { client, has_name: false, .. }) = &client
        && needs_name(client, caller)
    {
        reader.faults.push(missing_name_fault());
    }
    if let Some(BookedClient { client, .. }) = &client
        && !matches!(caller, Caller::Pro(_))
    {
        let own = [("comments", body.comments.as_str()), ("websource", body.websource.as_str())];
        reader.faults.extend(find_excess_text(&own, &customs, &client.customs));
    }
    let BookedClient { client, sent, .. } = match client {
        Some(client) if reader.faults.is_empty() => client,
        _ => return Err(reader.faults),
    };
    let command = BookAppointment {
        caller: caller.clone(),
        from_web: body.from_web,
        date: body.date,
        intervention_ids: body.intervention_ids,
        calendar_id: body.calendar_id,
        client,
        comments: body.comments,
        internal_comments: body.internal_comments,
        taker: Text::default(),
        websource: body.websource,
        smsreminder: body.smsreminder,
        customs,
        permission: Some(permission),
        booking_origin: None,
        hold: body.hold,
        calendarset_ids: Vec::new(),
        is_by_page: false,
        is_code_demanded: false,
        needs_contact: false,
    };
    Ok(Booking { command, sent })
}

impl BookingBody {
    /// Reads the members. Those that are wrong are faults of the reader, and have any value.
    fn read(
        reader: &mut ObjectReader<'_>,
        claims: BookingClaims,
        scope: &Scope<'_>,
        caller: &Caller,
    ) -> Self {
        reader.faults.extend(foreign_group(reader.object, scope));
        let date = read_start(reader, "is required: the start as YYYY-MM-DD HH:MM:SS", scope);
        let from_web = claims.from_web();
        if let Err(invalid) = claims.from_web {
            reader.add_fault("from_web", invalid.0);
        }
        Self {
            date,
            from_web,
            intervention_ids: read_interventions(reader, scope, booking_mode(caller, from_web)),
            calendar_id: read_calendar(reader, scope),
            comments: reader.read_text("comments"),
            internal_comments: match caller {
                Caller::Pro(_) => reader.read_text("internal_comments"),
                Caller::Application | Caller::Account(_) => Text::default(),
            },
            websource: reader.read_text("websource"),
            smsreminder: reader.read_filled("smsreminder", value::parse_boolean),
            hold: reader.read("hold", parse_hold),
        }
    }
}

/// The new start of an appointment.
#[derive(Debug, ToSchema)]
pub struct MoveBody {
    /// Start, YYYY-MM-DD HH:MM:SS on the clocks of the group.
    #[schema(value_type = GivenMoment)]
    date: Civil,
    /// Token of the caller's hold, whose time is free for the caller.
    #[schema(value_type = Option<GivenToken>)]
    hold: Option<HoldId>,
}

/// The members of the object of a move. `sendmail` is read with the request.
const OF_A_MOVE: [&str; 4] = ["date", "hold", "sendmail", "group_id"];

/// Parses the object of a move: its new start, and the hold that it takes over. Reference 6.9.
///
/// # Errors
/// All faults, each with its field.
pub fn parse_move(
    object: &Map<String, Value>,
    scope: &Scope<'_>,
    id: VeventId,
    right: CancelRight,
) -> Result<MoveAppointment, Vec<Fault>> {
    let mut reader = ObjectReader::new(object);
    reader.faults.extend(foreign_group(object, scope));
    let rule = "is required: the new start as YYYY-MM-DD HH:MM:SS";
    let date = read_start(&mut reader, rule, scope);
    let body = MoveBody { date, hold: reader.read("hold", parse_hold) };
    for name in object.keys() {
        if !OF_A_MOVE.contains(&name.as_str()) {
            reader.add_fault(name, "cannot be changed here: only the date can");
        }
    }
    reader.finish(MoveAppointment { id, right, date: body.date, hold: body.hold })
}

/// Returns whether a booking needs the name of its client, as far as the request shows it. A key
/// alone always gives one, so that the answer does not depend on the address. Reference 3.6.
fn needs_name(client: &Client, caller: &Caller) -> bool {
    match caller {
        Caller::Application => true,
        Caller::Account(_) => false,
        Caller::Pro(_) => client.id.is_none() && client.email.is_none(),
    }
}

/// Returns the fault of a booking whose texts are too long together. It names the longest one.
fn find_excess_text(
    own: &[(&str, &str)],
    customs: &GivenCustoms,
    client_customs: &GivenCustoms,
) -> Option<Fault> {
    let own = own.iter().map(|(name, text)| ("", name as &dyn Display, text.chars().count()));
    let customs = [("", customs), ("fiche.", client_customs)].into_iter();
    let customs = customs.flat_map(|(prefix, given)| {
        let lengths = given.iter().map(|(name, value)| (name, text_length(value.as_ref())));
        lengths.map(move |(name, length)| (prefix, name as &dyn Display, length))
    });
    let lengths = own.chain(customs);
    let total: usize = lengths.clone().map(|(.., length)| length).sum();
    if total <= WEB_TEXT_CHARS_MAX {
        return None;
    }
    let (prefix, longest, _) = lengths.max_by_key(|(.., length)| *length)?;
    let rule = format!(
        "the texts of a booking must have at most {WEB_TEXT_CHARS_MAX} characters together, not \
         {total}: shorten this one"
    );
    Some(Fault::new(format!("{prefix}{longest}"), rule))
}

/// Returns the number of characters of a customised attribute; 0 for one that is no text.
fn text_length(value: Option<&CustomValue>) -> usize {
    match value {
        Some(CustomValue::String(text)) => text.as_str().chars().count(),
        Some(CustomValue::Text(text)) => text.as_str().chars().count(),
        Some(CustomValue::Boolean(_) | CustomValue::Datetime(_) | CustomValue::Number(_))
        | None => 0,
    }
}

/// The client of a booking, as the caller gave it.
struct BookedClient {
    client: Client,
    sent: SentFields,
    /// Whether the caller gave a last or first name.
    has_name: bool,
}

/// Parses the client of a booking.
fn parse_client(
    given: Option<&Value>,
    scope: &Scope<'_>,
    caller: &Caller,
) -> Result<BookedClient, Vec<Fault>> {
    let audience = Audience::for_caller(caller);
    let empty = Map::new();
    let object = match given {
        None | Some(Value::Null) => &empty,
        Some(Value::Object(object)) => object,
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            return Err(vec![Fault::new("fiche", "must be an object with the client's fields")]);
        }
    };
    let mut reader = ObjectReader::new(object);
    let id = reader.read("id", value::parse_id).and_then(FicheId::new);
    if id.is_some_and(|id| !is_bookable_for(id, scope, caller)) {
        reader.add_fault("id", unknown_fiche_rule(caller));
    }
    let mut written = Cow::Borrowed(object);
    for name in NOT_BY_BOOKING {
        if find_member(&written, name).is_some() {
            written.to_mut().shift_remove(name);
        }
    }
    let fields = reader.keep_faults(FICHE.parse(&written, scope, audience));
    let mut fields = reader.finish(fields.unwrap_or_default()).map_err(within_fiche)?;
    let customs = parse_custom_values(object, scope, Model::Fiche, audience)
        .expect("the table has parsed them already");
    let mut fiche = FICHE.blank.clone();
    fields.apply_to(&mut fiche);
    if audience == Audience::Account {
        written.to_mut().shift_remove(BY_LINK);
        fields = FICHE.parse(&written, scope, audience).expect("a larger object was legal");
    }
    let sent = render_sent(&fiche, object, scope, audience);
    let has_name = !(fiche.lastname.is_blank() && fiche.firstname.is_blank());
    let client = Client { id, email: fiche.email, fields, customs };
    Ok(BookedClient { client, sent, has_name })
}

/// Returns whether a caller may book for a fiche of the group.
fn is_bookable_for(id: FicheId, scope: &Scope<'_>, caller: &Caller) -> bool {
    let owned = match caller {
        Caller::Account(account) => account.owns(id),
        Caller::Application | Caller::Pro(_) => true,
    };
    owned && scope.state.fiches.contains_key(&id)
}

/// Renders the fields of a client that an appointment shows, as far as the caller gave and may set
/// them.
fn render_sent(
    fiche: &Fiche,
    object: &Map<String, Value>,
    scope: &Scope<'_>,
    audience: Audience,
) -> SentFields {
    let mut sent = SentFields::new();
    for field in visible_fiche_fields(audience) {
        let is_writable = field.writers.is_some_and(|writers| audience >= writers);
        if is_writable && find_member(object, field.name).is_some() {
            let value = field.read_value(fiche, scope).to_json(scope.zone);
            sent.push((field.name, value));
        }
    }
    sent
}

fn within_fiche(faults: Vec<Fault>) -> Vec<Fault> {
    faults.into_iter().map(|fault| fault.within("fiche")).collect()
}
