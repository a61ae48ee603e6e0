//! Responses with JSON bodies, and the result type of handlers. Reference 1.5.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, LOCATION, STRICT_TRANSPORT_SECURITY};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use http_body_util::BodyExt as _;
use serde::{Deserialize, Serialize};

use crate::domain::records::ids::VeventId;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::precondition::ShownObject;
use crate::http::answer::answer_parts::AnswerParts;
use crate::http::answer::entity_tag::{object_tag, quoted_tag};
use crate::http::error::ApiError;
use crate::http::error::RATE_LIMIT;
use crate::http::limits::booking_limit::RateLimit;
use crate::http::limits::source_shares::SourceShare;

/// The result of a handler: a response, or an error in the error shape.
pub(crate) type HandlerResult = Result<Response, ApiError>;

/// Returns a response with a serialised JSON body that no cache may keep.
pub(crate) fn json_response(status: StatusCode, bytes: impl Into<Body>) -> Response {
    let mut response = Response::new(bytes.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Returns a 200 response with an object and its entity tag.
pub(crate) fn object_response(shown: ShownObject) -> Response {
    parts_response(AnswerParts::object(shown))
}

/// Tells browsers to reach this host over TLS only. Other hosts of its domain may have none.
/// Reference 3.3.
pub(crate) fn require_tls(response: &mut Response) {
    let one_year = HeaderValue::from_static("max-age=31536000");
    response.headers_mut().insert(STRICT_TRANSPORT_SECURITY, one_year);
}

/// Returns a response whose body keeps a share of a bounded resource until it is sent.
pub(crate) fn hold_until_sent(response: Response, share: SourceShare) -> Response {
    response.map(|body| {
        // The combinator passes everything on, the size too, and is dropped with the body.
        Body::new(body.map_err(move |error| {
            let _kept = &share;
            error
        }))
    })
}

/// The body of the response to a POST.
pub(crate) struct CreatedAnswer {
    /// Serialised JSON.
    pub(crate) bytes: Vec<u8>,
    /// The first appointment that was booked, if known.
    pub(crate) appointment: Option<VeventId>,
    /// Whether nothing was created yet, because the request waits for a code. Reference 6.8.
    pub(crate) awaits_code: bool,
    /// The limit of the source that has the fewest places left, if one counts the request.
    pub(crate) limit: Option<RateLimit>,
}

/// The id in the response to a POST, or those of its records, and the revision of an event.
#[derive(Deserialize)]
struct CreatedIds {
    id: Option<u64>,
    revision: Option<String>,
    #[serde(default)]
    records: Vec<CreatedIds>,
}

impl CreatedIds {
    fn first(&self) -> Option<u64> {
        self.id.or_else(|| self.records.first()?.id)
    }
}

/// Returns the answer about new objects, made by a POST on a path of the route table: 201 with
/// their JSON, and with the path in its group of the object, or of the first of several. A single
/// object has its tag. The first appointment that was booked is given if it is known.
pub(crate) fn created_parts(
    bytes: Vec<u8>,
    appointment: Option<VeventId>,
    pattern: &str,
    state: &GroupState,
) -> AnswerParts {
    let mut tag = None;
    let id = match appointment {
        Some(id) => Some(id.number()),
        None => {
            let ids: Option<CreatedIds> = serde_json::from_slice(&bytes).ok();
            if let Some(CreatedIds { id: Some(_), revision, .. }) = &ids {
                tag = Some(match revision {
                    Some(revision) => quoted_tag(revision),
                    None => object_tag(&bytes),
                });
            }
            ids.and_then(|ids| ids.first())
        }
    };
    // Several are made on a path below that of their list.
    let list = pattern.trim_end_matches("/bulk");
    let name = list.rsplit('/').next().unwrap_or_default();
    let group = state.catalogue.group.id;
    let location = id.map(|id| format!("/api/v1/groups/{group}/{name}/{id}"));
    AnswerParts { status: StatusCode::CREATED, bytes, tag, location }
}

/// Returns the response to a POST on a path of the route table, as [`created_parts`]. A request
/// that waits for a code gets 202.
pub(crate) fn created_response(
    answer: CreatedAnswer,
    pattern: &str,
    state: &GroupState,
) -> Response {
    let CreatedAnswer { bytes, appointment, awaits_code, limit } = answer;
    let response = if awaits_code {
        json_response(StatusCode::ACCEPTED, bytes)
    } else {
        parts_response(created_parts(bytes, appointment, pattern, state))
    };
    with_rate_limit(response, limit)
}

fn parts_response(parts: AnswerParts) -> Response {
    let AnswerParts { status, bytes, tag, location } = parts;
    let mut response = json_response(status, bytes);
    for (name, text) in [(ETAG, tag), (LOCATION, location)] {
        if let Some(text) = text {
            let value = HeaderValue::from_str(&text).expect("tags and paths are ASCII");
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// Returns a response with the header RateLimit, if a limit is given.
fn with_rate_limit(mut response: Response, limit: Option<RateLimit>) -> Response {
    if let Some(RateLimit { name, remaining, seconds }) = limit {
        let text = format!("\"{name}\";r={remaining};t={seconds}");
        let value = HeaderValue::from_str(&text).expect("a name and numbers");
        response.headers_mut().insert(RATE_LIMIT, value);
    }
    response
}

/// Returns a 200 response with a JSON value.
pub(crate) fn ok_response(value: &impl Serialize) -> Response {
    json_response(StatusCode::OK, to_json(value))
}

/// Returns the JSON of an answer.
pub(crate) fn to_json(answer: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(answer).expect("answers hold texts, numbers and names")
}
