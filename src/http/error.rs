//! An answer that says no, in the error shape. Reference 2.

use axum::body::Body;
use axum::http::header::{CONNECTION, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

use crate::domain::state::refusal::{Fault, Refusal};
use crate::domain::time::zone::Zone;
use crate::engine::Rejection;
use crate::engine::health::Closed;
use crate::http::metrics::Codes;
use crate::wire::errors::{self, Entry, Problem};
use crate::wire::field::Audience;

/// Seconds after which a caller who met an overloaded server may try again.
const RETRY_SECONDS: u32 = 1;
/// The same for one who met a store that takes no writes.
const CLOSED_SECONDS: u32 = 5;
/// The same for one who asked for a group that is set aside.
const ASIDE_SECONDS: u32 = 600;

/// The header under which a request is carried out once.
pub(crate) const IDEMPOTENCY_KEY: &str = "Idempotency-Key";

/// Why a request is not answered as asked.
#[derive(Debug)]
pub(crate) struct ApiError {
    /// All that is refused; the first gives the status.
    entries: Vec<Entry>,
    /// Seconds after which trying again makes sense.
    retry_after: Option<u32>,
    /// Whether the rest of the connection cannot be read any more.
    closing: bool,
}

impl ApiError {
    /// One problem in words.
    pub(crate) fn new(problem: Problem, message: impl Into<String>) -> Self {
        Self::from_entries(vec![Entry::new(problem, message)])
    }

    fn from_entries(entries: Vec<Entry>) -> Self {
        Self { entries, retry_after: None, closing: false }
    }

    /// What does not exist, and what is not the caller's.
    pub(crate) fn no_result() -> Self {
        Self::from_entries(vec![errors::no_result()])
    }

    /// What the caller's role may not do.
    pub(crate) fn unauthorized(needed: &str) -> Self {
        Self::new(Problem::Unauthorized, needed)
    }

    /// Too much is under way; nothing was done.
    pub(crate) fn overloaded() -> Self {
        let failure = Self::new(
            Problem::ServiceUnavailable,
            "too much is under way; nothing was done: try again",
        );
        Self { retry_after: Some(RETRY_SECONDS), ..failure }
    }

    /// The store is still being read; nothing was done.
    pub(crate) fn recovering() -> Self {
        let failure = Self::new(
            Problem::ServiceUnavailable,
            "the store is being read; nothing was done: try again",
        );
        Self { retry_after: Some(RETRY_SECONDS), ..failure }
    }

    /// The store takes no writes; nothing was done.
    fn closed(closed: Closed) -> Self {
        let why = match closed {
            Closed::Slow(_) => "the disk is slow",
            Closed::ShortOfRoom => "the disk is nearly full",
        };
        let failure = Self::new(
            Problem::ServiceUnavailable,
            format!("{why}; nothing was done: try again later"),
        );
        Self { retry_after: Some(CLOSED_SECONDS), ..failure }
    }

    /// The group's history cannot be carried out; nothing was done.
    pub(crate) fn quarantined() -> Self {
        let message =
            "this group is set aside until its operator has looked into it; nothing of it is lost";
        Self { retry_after: Some(ASIDE_SECONDS), ..Self::new(Problem::ServiceUnavailable, message) }
    }

    /// Too many of something in too short a time.
    pub(crate) fn too_many(what: &str, seconds: i64) -> Self {
        let message = format!("too many {what}: try again in {seconds} seconds");
        Self {
            retry_after: u32::try_from(seconds).ok(),
            ..Self::new(Problem::TooManyRequests, message)
        }
    }

    /// An Idempotency-Key that came with something else before.
    pub(crate) fn conflict() -> Self {
        let rule =
            "another request came with this key within 24 hours; use a new key for a new request";
        let entry = Entry::new(Problem::Conflict, format!("{IDEMPOTENCY_KEY}: {rule}"));
        Self::from_entries(vec![Entry { field: Some(IDEMPOTENCY_KEY.to_owned()), ..entry }])
    }

    /// A bug of ours, with nothing of the inside in it.
    pub(crate) fn internal() -> Self {
        Self::new(Problem::ServerError, "an error of the server; it has been logged")
    }

    /// Whether it tells something of a client: codes 6, 7, 11, 12 and 13. Reference 3.
    pub(crate) fn reveals_client(&self) -> bool {
        let telling = [
            Problem::MaxRdvNumber,
            Problem::MintimeBetween,
            Problem::EmailAlreadyExists,
            Problem::SameTimeRdv,
            Problem::EmailNotFound,
        ];
        self.entries.iter().any(|entry| telling.contains(&entry.problem))
    }

    /// The same, told of a body that calls a field by another name.
    pub(crate) fn with_renamed_field(mut self, field: &str, name: &str) -> Self {
        for entry in self.entries.iter_mut().filter(|entry| entry.field.as_deref() == Some(field)) {
            entry.field = Some(name.to_owned());
        }
        self
    }

    /// The same, and the connection ends with it.
    pub(crate) fn closing(self) -> Self {
        Self { closing: true, ..self }
    }

    /// What an engine's rejection means to a caller.
    pub(crate) fn from_rejection(rejection: Rejection, zone: Zone, audience: Audience) -> Self {
        match rejection {
            Rejection::Refused(refusals) => Self::from_refusals(&refusals, zone, audience),
            Rejection::Overloaded | Rejection::Expired => Self::overloaded(),
            Rejection::Closed(closed) => Self::closed(closed),
            Rejection::Conflict => Self::conflict(),
            Rejection::NoGroup => Self::no_result(),
            Rejection::Failed => Self::internal(),
        }
    }

    /// What rules say, in words.
    pub(crate) fn from_refusals(refusals: &[Refusal], zone: Zone, audience: Audience) -> Self {
        Self::from_entries(
            refusals.iter().map(|refusal| errors::entry(refusal, zone, audience)).collect(),
        )
    }
}

impl From<Entry> for ApiError {
    fn from(entry: Entry) -> Self {
        Self::from_entries(vec![entry])
    }
}

impl From<Vec<Fault>> for ApiError {
    fn from(faults: Vec<Fault>) -> Self {
        Self::from_entries(faults.into_iter().map(Entry::from).collect())
    }
}

impl From<Fault> for ApiError {
    fn from(fault: Fault) -> Self {
        vec![fault].into()
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        if self.entries.is_empty() {
            // Nothing can be refused for nothing: that is a bug of ours.
            return Self::internal().into_response();
        }
        let status = self.entries.first().map_or(500, |entry| entry.problem.status());
        let mut response = Response::new(Body::from(errors::body(&self.entries)));
        *response.status_mut() =
            StatusCode::from_u16(status).expect("the table holds HTTP statuses");
        let codes = self.entries.iter().map(|entry| entry.problem.row().0).collect();
        response.extensions_mut().insert(Codes(codes));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(seconds) = self.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.closing {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}
