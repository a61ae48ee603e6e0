//! Endpoint that counts, or cancels together, the web bookings of one origin. Reference 6.17, 13.8.

use std::sync::Arc;

use axum::response::Response;
use serde_json::{Map, Value, json};

use crate::domain::decisions::alike::find_alike;
use crate::domain::records::fault::Fault;
use crate::domain::records::ids::VeventId;
use crate::domain::records::text::InvalidValue;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;
use crate::domain::time::zone::Zone;
use crate::http::endpoint::{Answer, Body, Endpoint, EndpointPath, Shape, handler};
use crate::http::error::ApiError;
use crate::http::openapi::answers;
use crate::http::openapi::bodies;
use crate::http::permissions::{PROS_ONLY, Resource, Verb};
use crate::http::request::GroupRequest;
use crate::http::response::{HandlerResult, ok_response};
use crate::wire::errors::{ErrorEntry, Problem};
use crate::wire::value;

const ALIKE: EndpointPath =
    EndpointPath::current("/api/v1/groups/{group_id}/appointments/{id}/cancel_alike");

const ALIKE_COUNT: Answer =
    Answer::json(200, "the number of such bookings", Shape::Named("Alike", answers::alike));

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[Endpoint] =
    &[Endpoint::post(&[ALIKE], handler!(InGroup, cancel_alike))
        .named("CancelAlike", "Count or cancel the web bookings with the origin of an appointment")
        .right(Resource::Appointment, Verb::DeleteMany, PROS_ONLY)
        .body(Body::plain(bodies::alike))
        .answers(&[ALIKE_COUNT])];

/// The bookings that a request means.
struct AlikeRequest {
    /// Bookings made at this moment or later.
    since: Instant,
    /// The number that the caller expects; `None` to count them only.
    count: Option<i64>,
    /// Whether the clients get no message.
    is_quiet: bool,
}

/// POST /api/v1/groups/{group_id}/appointments/{id}/cancel_alike: without `count` the number of the
/// bookings. With it they are cancelled, each by an event of its own. A repetition finds those that
/// are left, so no Idempotency-Key is recorded.
async fn cancel_alike(request: GroupRequest) -> HandlerResult {
    let id = request.id(VeventId::new)?;
    let AlikeRequest { since, count, is_quiet } = parse(&request.body, request.zone())?;
    let (state, now) = (Arc::clone(&request.state), request.now);
    let found =
        request.server.blocking_pool.run(move || find_alike(&state, id, since, now)).await?;
    let alike = match found {
        Ok(alike) => alike,
        Err(refusal) => {
            return Err(ApiError::from_refusals(&[refusal], request.zone(), request.audience()));
        }
    };
    let number = alike.len();
    let Some(count) = count else { return Ok(response(number, 0)) };
    if i64::try_from(number).is_ok_and(|number| number != count) {
        let rule =
            format!("count: there are {number} such appointments, not {count}; nothing was done");
        let entry = ErrorEntry::new(Problem::Conflict, rule);
        return Err(ErrorEntry { field: Some("count".to_owned()), ..entry }.into());
    }
    let group = request.state.catalogue.group.id;
    let done = request.server.engine.cancel_many(group, &alike, is_quiet).await;
    let Err(rejection) = done else { return Ok(response(number, number)) };
    // Of an overloaded server, the answer says how many are cancelled, unless none is.
    let state = request.server.engine.published().group_state(group);
    let cancelled = state.map_or(0, |state| count_deleted(&state, &alike));
    if cancelled > 0 {
        return Ok(response(number, cancelled));
    }
    Err(ApiError::from_rejection(rejection, request.zone(), request.audience()))
}

fn response(count: usize, cancelled: usize) -> Response {
    ok_response(&json!({"count": count, "cancelled": cancelled}))
}

fn count_deleted(state: &GroupState, ids: &[VeventId]) -> usize {
    ids.iter().filter(|id| state.rows.get(id).is_none_or(|row| row.deleted)).count()
}

/// Reads the body.
///
/// # Errors
/// All faults, each with its field.
fn parse(body: &Map<String, Value>, zone: Zone) -> Result<AlikeRequest, Vec<Fault>> {
    let mut faults = Vec::new();
    let given = |name: &str| body.get(name).unwrap_or(&Value::Null);
    let since = match value::parse_time(given("since")) {
        Ok(Some(time)) => time.to_instant(zone),
        Ok(None) => Err(InvalidValue("is required: the time from which bookings are meant".into())),
        Err(illegal) => Err(illegal),
    };
    let count = match value::parse_integer(given("count")) {
        Ok(Some(count)) if count < 0 => {
            faults.push(Fault::new("count", "must be at least 0"));
            None
        }
        Ok(count) => count,
        Err(illegal) => {
            faults.push(Fault::new("count", illegal.0));
            None
        }
    };
    let sendmail = given("sendmail");
    let sendmail = if sendmail.is_null() { Ok(true) } else { value::parse_boolean(sendmail) };
    match (since, sendmail) {
        (Ok(since), Ok(sendmail)) if faults.is_empty() => {
            Ok(AlikeRequest { since, count, is_quiet: !sendmail })
        }
        (since, sendmail) => {
            faults.extend(since.err().map(|illegal| Fault::new("since", illegal.0)));
            faults.extend(sendmail.err().map(|illegal| Fault::new("sendmail", illegal.0)));
            Err(faults)
        }
    }
}
