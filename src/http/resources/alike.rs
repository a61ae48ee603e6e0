//! Endpoint that counts, or cancels together, the web bookings of one origin. Reference 6.13, 13.8.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::domain::decisions::alike::find_alike;
use crate::domain::records::fault::Fault;
use crate::domain::records::ids::VeventId;
use crate::domain::records::text::InvalidValue;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;
use crate::domain::time::zone::Zone;
use crate::http::endpoint::{Answer, Body, Endpoint, EndpointPath, Shape, handler};
use crate::http::error::ApiError;
use crate::http::permissions::{PROS_ONLY, Resource, Verb};
use crate::http::request::GroupRequest;
use crate::http::response::{HandlerResult, ok_response};
use crate::wire::errors::{ErrorEntry, Problem};
use crate::wire::object_reader::ObjectReader;
use crate::wire::schema::{Count, GivenMoment, GivenSendmail, schema_of};
use crate::wire::value;

const ALIKE: EndpointPath =
    EndpointPath::current("/api/v1/groups/{group_id}/appointments/{id}/cancel_alike");

const ALIKE_COUNT: Answer = Answer::json(
    200,
    "the number of such bookings",
    Shape::Named("Alike", schema_of::<AlikeCount>),
);

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[Endpoint] =
    &[Endpoint::post(&[ALIKE], handler!(InGroup, cancel_alike))
        .named("CancelAlike", "Count or cancel the web bookings with the origin of an appointment")
        .right(Resource::Appointment, Verb::DeleteMany, PROS_ONLY)
        .body(Body::plain(schema_of::<AlikeBody>))
        .answers(&[ALIKE_COUNT])];

/// The bookings of one origin to cancel together.
#[derive(ToSchema)]
struct AlikeBody {
    /// Bookings made at this time or later are meant.
    #[schema(value_type = GivenMoment)]
    since: Instant,
    /// Number of bookings that the caller expects; without it they are counted only.
    #[schema(value_type = Option<Count>)]
    count: Option<i64>,
    /// 0: the client gets no message about this change.
    #[schema(value_type = Option<GivenSendmail>)]
    sendmail: bool,
}

/// The bookings of one origin, counted.
#[derive(Serialize, ToSchema)]
struct AlikeCount {
    /// Number of upcoming bookings of the same origin.
    #[schema(value_type = Count)]
    count: usize,
    /// Number of those that this request has cancelled.
    #[schema(value_type = Count)]
    cancelled: usize,
}

/// POST /api/v1/groups/{group_id}/appointments/{id}/cancel_alike: without `count` the number of the
/// bookings. With it they are cancelled, each by an event of its own. A repetition finds those that
/// are left, so no Idempotency-Key is recorded.
async fn cancel_alike(request: GroupRequest) -> HandlerResult {
    let id = request.id(VeventId::new)?;
    let AlikeBody { since, count, sendmail } = AlikeBody::parse(&request.body, request.zone())?;
    let state = Arc::clone(&request.state);
    let now = request.now;
    let found =
        request.server.blocking_pool.run(move || find_alike(&state, id, since, now)).await?;
    let bookings = match found {
        Ok(bookings) => bookings,
        Err(refusal) => {
            return Err(ApiError::from_refusals(&[refusal], request.zone(), request.audience()));
        }
    };
    let number = bookings.len();
    let response = |cancelled| ok_response(&AlikeCount { count: number, cancelled });
    let Some(count) = count else { return Ok(response(0)) };
    if i64::try_from(number).is_ok_and(|number| number != count) {
        let rule =
            format!("count: there are {number} such appointments, not {count}; nothing was done");
        let entry = ErrorEntry::new(Problem::Conflict, rule);
        return Err(ErrorEntry { field: Some("count".to_owned()), ..entry }.into());
    }
    let group = request.state.catalogue.group.id;
    let done = request.server.engine.cancel_many(group, &bookings, !sendmail).await;
    let Err(rejection) = done else { return Ok(response(number)) };
    // Of an overloaded server, the answer says how many are cancelled, unless none is.
    let state = request.server.engine.published().group_state(group);
    let cancelled = state.map_or(0, |state| count_deleted(&state, &bookings));
    if cancelled > 0 {
        return Ok(response(cancelled));
    }
    Err(ApiError::from_rejection(rejection, request.zone(), request.audience()))
}

fn count_deleted(state: &GroupState, ids: &[VeventId]) -> usize {
    ids.iter().filter(|id| state.rows.get(id).is_none_or(|row| row.deleted)).count()
}

impl AlikeBody {
    /// # Errors
    /// All faults, each with its field.
    fn parse(body: &Map<String, Value>, zone: Zone) -> Result<Self, Vec<Fault>> {
        let mut reader = ObjectReader::new(body);
        let count = reader.read("count", |given| match value::parse_integer(given)? {
            Some(count) if count < 0 => Err(InvalidValue("must be at least 0".into())),
            count => Ok(count),
        });
        let rule = "is required: the time from which bookings are meant";
        let since = reader.require("since", rule, |given| match value::parse_time(given)? {
            Some(time) => Ok(Some(time.to_instant(zone)?)),
            None => Ok(None),
        });
        let sendmail = reader.read("sendmail", |given| {
            if given.is_null() { Ok(None) } else { Ok(Some(value::parse_boolean(given)?)) }
        });
        match since {
            Some(since) => reader.finish(Self { since, count, sendmail: sendmail.unwrap_or(true) }),
            None => Err(reader.faults),
        }
    }
}
