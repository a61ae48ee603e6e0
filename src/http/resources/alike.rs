//! Endpoints that list, or cancel together, the web bookings of one origin or of some time.
//! Reference 6.13, 13.8.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::domain::decisions::alike::{AlikeBookings, AlikeSearch, find_alike};
use crate::domain::records::booking_origin::NetworkWidth;
use crate::domain::records::fault::Fault;
use crate::domain::records::ids::VeventId;
use crate::domain::records::text::InvalidValue;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;
use crate::domain::time::zone::Zone;
use crate::http::endpoint::{Answer, Body, Endpoint, EndpointPath, Shape, handler};
use crate::http::error::ApiError;
use crate::http::permissions::{RECEPTION, Resource, Verb};
use crate::http::request::GroupRequest;
use crate::http::response::{HandlerResult, ok_response};
use crate::wire::datetime::LocalTime;
use crate::wire::errors::{ErrorEntry, Problem};
use crate::wire::object_reader::ObjectReader;
use crate::wire::schema::{Count, GivenFlag, GivenMoment, GivenSendmail, GivenWidth, schema_of};
use crate::wire::value;

const ALIKE: EndpointPath =
    EndpointPath::current("/api/v1/groups/{group_id}/appointments/{id}/cancel_alike");
const OF_SOME_TIME: EndpointPath =
    EndpointPath::current("/api/v1/groups/{group_id}/appointments/cancel_alike");

const ALIKE_COUNT: Answer = Answer::json(
    200,
    "the number of such bookings",
    Shape::Named("Alike", schema_of::<AlikeAnswer>),
);

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[Endpoint] = &[
    Endpoint::post(&[ALIKE], handler!(InGroup, cancel_alike))
        .named("CancelAlike", "Count or cancel the web bookings with the origin of an appointment")
        .right(Resource::Appointment, Verb::DeleteMany, RECEPTION)
        .idempotency_key(false)
        .conflicting()
        .body(Body::plain(schema_of::<AlikeBody>))
        .answers(&[ALIKE_COUNT]),
    Endpoint::post(&[OF_SOME_TIME], handler!(InGroup, cancel_of_some_time))
        .named("CancelWebBookings", "Count or cancel the web bookings that were made in some time")
        .right(Resource::Appointment, Verb::DeleteMany, RECEPTION)
        .idempotency_key(false)
        .conflicting()
        .body(Body::plain(schema_of::<AlikeBody>))
        .answers(&[ALIKE_COUNT]),
];

/// The bookings to cancel together.
#[derive(ToSchema)]
struct AlikeBody {
    /// Bookings made at this time or later are meant.
    #[schema(value_type = GivenMoment)]
    since: Instant,
    /// Bookings made before this time are meant; without it all later ones.
    #[schema(value_type = Option<GivenMoment>)]
    until: Option<Instant>,
    /// true: only bookings with a key alone, whose client gave no code, are meant.
    #[schema(value_type = Option<GivenFlag>)]
    unverified: bool,
    /// The network that all share with the appointment: source, its /56, or its /48. Both are the
    /// /24 of an IPv4 address. Without an appointment it is refused.
    #[schema(value_type = Option<GivenWidth>)]
    network: Option<NetworkWidth>,
    /// true: the bookings are listed.
    #[schema(value_type = Option<GivenFlag>)]
    list: bool,
    /// Number of bookings that the caller expects; without it they are counted only.
    #[schema(value_type = Option<Count>)]
    count: Option<i64>,
    /// 0: the client gets no message about this change.
    #[schema(value_type = Option<GivenSendmail>)]
    sendmail: bool,
}

/// The bookings, counted.
#[derive(Serialize, ToSchema)]
struct AlikeAnswer {
    /// Number of such upcoming bookings.
    #[schema(value_type = Count)]
    count: usize,
    /// Number of those that this request has cancelled.
    #[schema(value_type = Count)]
    cancelled: usize,
    /// The bookings; only with `list`.
    #[serde(skip_serializing_if = "Option::is_none")]
    appointments: Option<Vec<AlikeRow>>,
    /// The time that the same callers hold; only with `list`.
    #[serde(skip_serializing_if = "Option::is_none")]
    holds: Option<AlikeHolds>,
}

/// A booking to cancel together with others.
#[derive(Serialize, ToSchema)]
struct AlikeRow {
    /// Id of the appointment.
    id: VeventId,
    /// Start, YYYY-MM-DD HH:MM:SS on the clocks of the group.
    start: LocalTime,
    /// Time of the booking.
    created_at: LocalTime,
    /// Last and first name of the client.
    client: String,
}

/// Live holds of the callers whose bookings are meant.
#[derive(Serialize, ToSchema)]
struct AlikeHolds {
    /// Number of those that wait for their booking.
    #[schema(value_type = Count)]
    chosen: usize,
    /// Number of bookings that wait for their code.
    #[schema(value_type = Count)]
    unconfirmed: usize,
    /// Number of both that this request has ended.
    #[schema(value_type = Count)]
    ended: usize,
}

/// POST /api/v1/groups/{group_id}/appointments/{id}/cancel_alike.
async fn cancel_alike(request: GroupRequest) -> HandlerResult {
    let id = request.id(VeventId::new)?;
    let body = AlikeBody::parse(&request)?;
    cancel(request, body, Some(id)).await
}

/// POST /api/v1/groups/{group_id}/appointments/cancel_alike.
async fn cancel_of_some_time(request: GroupRequest) -> HandlerResult {
    let body = AlikeBody::parse(&request)?;
    if body.network.is_some() {
        return Err(Fault::new("network", "needs an appointment: name one in the path").into());
    }
    cancel(request, body, None).await
}

/// Without `count` the number of the bookings. With it they are cancelled and their holds end, each
/// by an event of its own. A repetition finds those that are left, so no Idempotency-Key is
/// recorded.
async fn cancel(request: GroupRequest, body: AlikeBody, like: Option<VeventId>) -> HandlerResult {
    let AlikeBody { since, until, unverified, network, list, count, sendmail } = body;
    let width = network.unwrap_or(NetworkWidth::Source);
    let search = AlikeSearch { like, width, since, until, is_unverified: unverified };
    let state = Arc::clone(&request.state);
    let now = request.now;
    let found = request.server.blocking_pool.run(move || find_alike(&state, &search, now)).await?;
    let found = match found {
        Ok(found) => found,
        Err(refusal) => {
            return Err(ApiError::from_refusals(&[refusal], request.zone(), request.audience()));
        }
    };
    let number = found.appointments.len();
    let response = |cancelled, ended| {
        let appointments = list.then(|| AlikeRow::of_each(&request, &found));
        let holds = list.then(|| AlikeHolds::new(&found, ended));
        ok_response(&AlikeAnswer { count: number, cancelled, appointments, holds })
    };
    let Some(count) = count else { return Ok(response(0, 0)) };
    if i64::try_from(number).is_ok_and(|number| number != count) {
        let rule =
            format!("count: there are {number} such appointments, not {count}; nothing was done");
        let entry = ErrorEntry::new(Problem::Conflict, rule);
        return Err(ErrorEntry { field: Some("count".to_owned()), ..entry }.into());
    }
    let group = request.state.catalogue.group.id;
    let author = request.identity.author();
    let engine = &request.server.engine;
    // Holds end first: none of them becomes a booking meanwhile.
    let holds = [&found.chosen[..], &found.unconfirmed].concat();
    let ended = engine.end_holds(group, author, &holds).await;
    let done = match &ended {
        Ok(_) => engine.cancel_many(group, author, &found.appointments, !sendmail).await,
        Err(rejection) => Err(rejection.clone()),
    };
    let ended = ended.unwrap_or(0);
    let state = engine.published().group_state(group);
    if let Some(after) = &state {
        for id in &found.appointments {
            request.server.booking_limit.forget_if_cancelled(&request.state, after, *id);
        }
    }
    let Err(rejection) = done else { return Ok(response(number, ended)) };
    // Of an overloaded server, the answer says how many are cancelled, unless none is.
    let cancelled = state.map_or(0, |state| count_deleted(&state, &found.appointments));
    if cancelled > 0 {
        return Ok(response(cancelled, ended));
    }
    Err(ApiError::from_rejection(rejection, request.zone(), request.audience()))
}

fn count_deleted(state: &GroupState, ids: &[VeventId]) -> usize {
    ids.iter().filter(|id| state.rows.get(id).is_none_or(|row| row.deleted)).count()
}

impl AlikeRow {
    fn of_each(request: &GroupRequest, found: &AlikeBookings) -> Vec<Self> {
        let state = &request.state;
        let zone = request.zone();
        let mut rows = Vec::with_capacity(found.appointments.len());
        for id in &found.appointments {
            let row = &state.rows[id];
            let Some(appointment) = row.appointment() else { continue };
            let client = state.fiches.get(&appointment.fiche_id);
            rows.push(Self {
                id: *id,
                start: LocalTime::new(zone, appointment.start),
                created_at: LocalTime::new(zone, row.created_at),
                client: client.map(|fiche| fiche.names()).unwrap_or_default(),
            });
        }
        rows
    }
}

impl AlikeHolds {
    const fn new(found: &AlikeBookings, ended: usize) -> Self {
        Self { chosen: found.chosen.len(), unconfirmed: found.unconfirmed.len(), ended }
    }
}

impl AlikeBody {
    /// # Errors
    /// All faults, each with its field.
    fn parse(request: &GroupRequest) -> Result<Self, Vec<Fault>> {
        let zone = request.zone();
        let mut reader = ObjectReader::new(&request.body);
        let count = reader.read("count", |given| match value::parse_integer(given)? {
            Some(count) if count < 0 => Err(InvalidValue("must be at least 0".into())),
            count => Ok(count),
        });
        let rule = "is required: the time from which bookings are meant";
        let since = reader.require("since", rule, |given| parse_moment(given, zone));
        let until = reader.read("until", |given| parse_moment(given, zone));
        let network = reader.read("network", parse_width);
        let sendmail = reader.read("sendmail", parse_flag).unwrap_or(true);
        let list = reader.read("list", parse_flag).unwrap_or(false);
        let unverified = reader.read("unverified", parse_flag).unwrap_or(false);
        let Some(since) = since else { return Err(reader.faults) };
        reader.finish(Self { since, until, unverified, network, list, count, sendmail })
    }
}

fn parse_moment(given: &Value, zone: Zone) -> Result<Option<Instant>, InvalidValue> {
    match value::parse_time(given)? {
        Some(time) => Ok(Some(time.to_instant(zone)?)),
        None => Ok(None),
    }
}

fn parse_flag(given: &Value) -> Result<Option<bool>, InvalidValue> {
    if given.is_null() { Ok(None) } else { Ok(Some(value::parse_boolean(given)?)) }
}

fn parse_width(given: &Value) -> Result<Option<NetworkWidth>, InvalidValue> {
    match &*value::parse_text(given)? {
        "" => Ok(None),
        "source" => Ok(Some(NetworkWidth::Source)),
        "56" => Ok(Some(NetworkWidth::Middle)),
        "48" => Ok(Some(NetworkWidth::Widest)),
        _ => Err(InvalidValue("must be source, 56 or 48".into())),
    }
}
