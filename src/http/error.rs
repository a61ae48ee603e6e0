//! Errors of requests, and their responses in the error shape. Reference 2.

use axum::body::Body;
use axum::http::header::{CONNECTION, CONTENT_TYPE, ETAG, LINK, RETRY_AFTER};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

use crate::domain::records::fault::Fault;
use crate::domain::state::precondition::ShownObject;
use crate::domain::state::refusal::Refusal;
use crate::domain::time::zone::Zone;
use crate::engine::ErasureError;
use crate::engine::Rejection;
use crate::engine::health::WritesUnavailable;
use crate::http::answer::answer_parts::AnswerParts;
use crate::http::metrics::Codes;

use crate::wire::error_catalogue::fragment;
use crate::wire::errors::{self, ErrorEntry, Problem};
use crate::wire::field::Audience;
use crate::wire::group::GROUP;

/// Seconds in Retry-After when the server is overloaded or recovering.
const OVERLOADED_RETRY_SECONDS: u32 = 1;
/// Seconds in Retry-After when the store accepts no writes.
const CLOSED_RETRY_SECONDS: u32 = 5;
/// Seconds in Retry-After when the group has no space for what web callers write.
const FULL_RETRY_SECONDS: u32 = 3_600;
/// Seconds in Retry-After when the group is in quarantine.
const QUARANTINE_RETRY_SECONDS: u32 = 600;
/// Seconds after which a client may ask for a stream of changes again.
const STREAM_RETRY_SECONDS: u32 = 10;
/// Time in which a cluster that lost its server has another one.
const SAVING_RETRY_SECONDS: u32 = 5;

/// The header that protects a request from being carried out twice. Reference 6.6.
pub(crate) const IDEMPOTENCY_KEY: &str = "Idempotency-Key";
/// The same, as it is looked up.
pub(crate) static IDEMPOTENCY_KEY_HEADER: HeaderName = HeaderName::from_static("idempotency-key");

/// The header with the places that are left of a limit. Reference 1.5.
pub(crate) const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");

/// The error of a request.
#[derive(Debug)]
pub(crate) struct ApiError {
    /// All problems. The first one gives the status.
    entries: Vec<ErrorEntry>,
    /// The seconds in the header Retry-After.
    retry_after: Option<u32>,
    /// The object as it is, if the caller knows another form of it.
    present: Option<Box<ShownObject>>,
    /// Whether the connection is closed, because the rest of the body is unread.
    closing: bool,
    /// Whether nothing was done, whatever the state.
    is_stateless: bool,
}

/// Marks an answer that tells of no state: nothing was done, whichever server decides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TellsNoState;

impl ApiError {
    /// An error with one problem.
    pub(crate) fn new(problem: Problem, message: impl Into<String>) -> Self {
        Self::from_entries(vec![ErrorEntry::new(problem, message)])
    }

    fn from_entries(entries: Vec<ErrorEntry>) -> Self {
        Self { entries, retry_after: None, present: None, closing: false, is_stateless: false }
    }

    /// 404 for an object that does not exist, or that the caller may not see.
    pub(crate) fn no_result() -> Self {
        Self::from_entries(vec![errors::not_found_entry()])
    }

    /// 400 for a list of which nothing was done, without the reasons yet.
    pub(crate) fn refused_list() -> Self {
        Self::new(Problem::InvalidParameter, "nothing was done: a row is refused, or several are")
    }

    /// Adds the problems of a row of a list, which stands at a place of the body.
    pub(crate) fn add_row(&mut self, place: &str, error: Self) {
        for entry in error.entries {
            let field = match entry.field.as_deref() {
                None => place.to_owned(),
                Some(field) => format!("{place}.{field}"),
            };
            self.entries.push(ErrorEntry { field: Some(field), ..entry });
        }
    }

    /// Names the object of each 404, such as `calendar 99 in this group`. The name must be what the
    /// request asked for, so that it does not reveal which ids exist.
    pub(crate) fn naming(mut self, object: &str) -> Self {
        let unnamed = errors::not_found_entry();
        for entry in &mut self.entries {
            if *entry == unnamed {
                entry.message = format!("no {object}");
            }
        }
        self
    }

    /// 403. `needed` is the rule that the caller does not meet.
    pub(crate) fn unauthorized(needed: &str) -> Self {
        Self::new(Problem::Unauthorized, needed)
    }

    /// 503 that passes: the caller is to try again.
    fn passing(message: impl Into<String>) -> Self {
        let failure = Self::new(Problem::ServiceUnavailable, message.into());
        Self { retry_after: Some(OVERLOADED_RETRY_SECONDS), ..failure }
    }

    /// 503 that says whether something was done, as far as that is known: a read has done nothing.
    fn of_unknown_end(reason: &str, is_read: bool) -> Self {
        if is_read {
            return Self::passing(format!("{reason}; nothing was done: try again"));
        }
        Self::passing(format!(
            "{reason}; whether something was done is not known: look, or try again with the same \
             Idempotency-Key"
        ))
    }

    /// 503 of an overloaded server.
    pub(crate) fn overloaded() -> Self {
        let failure = Self::passing("the server is overloaded; nothing was done: try again");
        Self { is_stateless: true, ..failure }
    }

    /// 503 during recovery.
    pub(crate) fn recovering() -> Self {
        Self::passing("the store is being read; nothing was done: try again")
    }

    /// 503 of a server in a cluster that does not know whether it still decides.
    pub(crate) fn without_lease(is_read: bool) -> Self {
        Self::of_unknown_end("another server may have taken over", is_read)
    }

    /// 503 of a server in a cluster for a request that has waited for PostgreSQL for long.
    pub(crate) fn unconfirmed(is_read: bool) -> Self {
        let failure = Self::of_unknown_end("the store of the cluster does not answer", is_read);
        Self { retry_after: Some(CLOSED_RETRY_SECONDS), ..failure }
    }

    /// 503 of a server that follows its cluster, for a request that has reached no other.
    pub(crate) fn not_forwarded(reason: &str) -> Self {
        Self::passing(format!("{reason}; nothing was done: try again"))
    }

    /// 503 for a request that says that a server of the cluster has forwarded it, with a seal that
    /// is wrong or old. The connection ends.
    pub(crate) fn wrong_seal() -> Self {
        Self::not_forwarded("the seal of a forwarded request is wrong").closing()
    }

    /// 503 of a server that follows its cluster, for a request that another may have answered.
    pub(crate) fn unanswered(is_read: bool) -> Self {
        Self::of_unknown_end("the server that decides has not answered", is_read)
    }

    /// 503 of a store that accepts no writes.
    fn closed(closed: WritesUnavailable) -> Self {
        let reason = match closed {
            WritesUnavailable::SlowDisk(_) => "the disk is slow",
            WritesUnavailable::SilentStore(_) => "the store of the cluster does not answer",
            WritesUnavailable::LowDiskSpace => "the disk is nearly full",
        };
        let failure = Self::new(
            Problem::ServiceUnavailable,
            format!("{reason}; nothing was done: try again later"),
        );
        Self { retry_after: Some(CLOSED_RETRY_SECONDS), is_stateless: true, ..failure }
    }

    /// 503 of a group without space for what web callers write.
    pub(crate) fn group_full() -> Self {
        let message = "this group has no space for more online entries; nothing was done: call it";
        Self {
            retry_after: Some(FULL_RETRY_SECONDS),
            ..Self::new(Problem::ServiceUnavailable, message)
        }
    }

    /// 503 of a group in quarantine, whose records cannot be replayed.
    pub(crate) fn quarantined() -> Self {
        let message = "this group is in quarantine until the operator has repaired it; none of its data is lost";
        Self {
            retry_after: Some(QUARANTINE_RETRY_SECONDS),
            ..Self::new(Problem::ServiceUnavailable, message)
        }
    }

    /// 503 for an end of sessions that the other servers of the cluster may not know of.
    pub(crate) fn end_unsaved() -> Self {
        let message = "the end of the session could not be saved: try again";
        Self {
            retry_after: Some(SAVING_RETRY_SECONDS),
            ..Self::new(Problem::ServiceUnavailable, message)
        }
    }

    /// 503 for a stream of changes beyond the maximum of its login or of the server.
    pub(crate) fn no_stream() -> Self {
        let message = "too many streams of changes are open (16 of one login, 1024 in all), or the \
                       server stops: ask G/changes every 10 seconds, and try again later";
        Self {
            retry_after: Some(STREAM_RETRY_SECONDS),
            ..Self::new(Problem::ServiceUnavailable, message)
        }
    }

    /// 429. `what` names the events that are limited; `seconds` is the time to wait.
    pub(crate) fn too_many(what: &str, seconds: i64) -> Self {
        let message = format!("too many {what}: try again in {seconds} seconds");
        Self {
            retry_after: u32::try_from(seconds).ok(),
            ..Self::new(Problem::TooManyRequests, message)
        }
    }

    /// 429, or 503 without a gateway, for a booking whose code cannot be sent.
    pub(crate) fn no_code(retry_seconds: Option<i64>, phone: &str) -> Self {
        let call = match phone.trim() {
            "" => "call the group".to_owned(),
            phone => format!("call {phone}"),
        };
        let message =
            format!("no code can be sent for this booking now, so nothing was done: {call}");
        let problem = match retry_seconds {
            Some(_) => Problem::TooManyRequests,
            None => Problem::ServiceUnavailable,
        };
        let retry_after = retry_seconds.and_then(|seconds| u32::try_from(seconds).ok());
        Self { retry_after, ..Self::new(problem, message) }
    }

    /// The error of an erasure that was not carried out.
    pub(crate) fn from_erasure(error: ErasureError, zone: Zone, audience: Audience) -> Self {
        match error {
            ErasureError::Rejected(rejection) => Self::from_rejection(rejection, zone, audience),
            ErasureError::Unlisted(error) => {
                tracing::error!(%error, "a client was not erased");
                let message = "the list of erased clients cannot be written; nothing was erased: \
                               ask the operator";
                let retry_after = Some(CLOSED_RETRY_SECONDS);
                Self { retry_after, ..Self::new(Problem::ServiceUnavailable, message) }
            }
        }
    }

    /// 409 for an idempotency key that was used with another body.
    pub(crate) fn conflict() -> Self {
        let rule = "this key was used for another request within 24 hours: use a new key for a new request";
        let entry = ErrorEntry::new(Problem::Conflict, format!("{IDEMPOTENCY_KEY}: {rule}"));
        Self::from_entries(vec![ErrorEntry { field: Some(IDEMPOTENCY_KEY.to_owned()), ..entry }])
    }

    /// 500 for a bug of the server. It reveals no internals.
    pub(crate) fn internal() -> Self {
        Self::new(Problem::ServerError, "an error of the server; it has been logged")
    }

    /// The seconds after which a caller may try again; `None` for an error that stays.
    pub(crate) const fn retry_seconds(&self) -> Option<u32> {
        self.retry_after
    }

    /// The HTTP status.
    pub(crate) fn status(&self) -> u16 {
        self.entries.first().map_or(500, |entry| entry.problem.status())
    }

    /// Renames a field in all entries, for a body that has another name for it.
    pub(crate) fn with_renamed_field(mut self, field: &str, name: &str) -> Self {
        for entry in &mut self.entries {
            if entry.field.as_deref() == Some(field) {
                entry.field = Some(name.to_owned());
            }
        }
        self
    }

    /// Closes the connection after the response.
    pub(crate) fn closing(self) -> Self {
        Self { closing: true, ..self }
    }

    /// Whether the connection is closed after the response.
    pub(crate) fn is_closing(&self) -> bool {
        self.closing
    }

    /// The status and the body, with the tag of the object as it is.
    pub(crate) fn to_parts(&self) -> AnswerParts {
        let present = self.present.as_ref();
        let current = present
            .map(|present| serde_json::from_slice(&present.json).expect("an object was rendered"));
        AnswerParts {
            status: StatusCode::from_u16(self.status()).expect("the table holds HTTP statuses"),
            bytes: errors::render_body(&self.entries, current.as_ref()),
            tag: present.map(|present| present.tag.clone()),
            location: None,
        }
    }

    /// The error of an engine's rejection, in words for the audience.
    pub(crate) fn from_rejection(rejection: Rejection, zone: Zone, audience: Audience) -> Self {
        match rejection {
            Rejection::Refused(refusals) => Self::from_refusals(&refusals, zone, audience),
            Rejection::Overloaded | Rejection::DecisionTimeout => Self::overloaded(),
            Rejection::WritesUnavailable(closed) => Self::closed(closed),
            Rejection::IdempotencyConflict => Self::conflict(),
            Rejection::GroupNotFound => Self::no_result(),
            Rejection::InternalError => Self::internal(),
        }
    }

    /// The error of a store that does not take a change of the directory. No refusal is among its
    /// rejections.
    pub(crate) fn from_store(rejection: Rejection) -> Self {
        let zone = GROUP.blank.timezone.zone();
        Self::from_rejection(rejection, zone, Audience::Pro)
    }

    /// The error of refusals, in words for the audience.
    pub(crate) fn from_refusals(refusals: &[Refusal], zone: Zone, audience: Audience) -> Self {
        let mut error = Self::from_entries(
            refusals
                .iter()
                .map(|refusal| errors::describe_refusal(refusal, zone, audience))
                .collect(),
        );
        match refusals {
            [Refusal::TooManyHolds { retry_seconds, .. }] => {
                error.retry_after = u32::try_from(*retry_seconds).ok();
            }
            [Refusal::PreconditionFailed(present)] => error.present.clone_from(present),
            [Refusal::OtherEffect(effect)] => error.present = Some(effect.clone()),
            _ => {}
        }
        error
    }
}

/// Returns the link to a problem in the catalogue of errors.
pub(crate) fn help_link(problem: Problem) -> HeaderValue {
    let help = format!("</docs/errors#{}>; rel=\"help\"", fragment(problem));
    HeaderValue::from_str(&help).expect("a path of letters and digits")
}

impl From<ErrorEntry> for ApiError {
    fn from(entry: ErrorEntry) -> Self {
        Self::from_entries(vec![entry])
    }
}

impl From<Vec<Fault>> for ApiError {
    fn from(faults: Vec<Fault>) -> Self {
        Self::from_entries(faults.into_iter().map(ErrorEntry::from).collect())
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
            // An error without a problem is a bug of the server.
            return Self::internal().into_response();
        }
        let AnswerParts { status, bytes, tag, .. } = self.to_parts();
        let mut response = Response::new(Body::from(bytes));
        *response.status_mut() = status;
        let codes = self.entries.iter().map(|entry| entry.problem.code_name_status().0).collect();
        response.extensions_mut().insert(Codes(codes));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(entry) = self.entries.first() {
            headers.insert(LINK, help_link(entry.problem));
        }
        if let Some(seconds) = self.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
            if status == StatusCode::TOO_MANY_REQUESTS {
                let exhausted = HeaderValue::from_str(&format!("\"default\";r=0;t={seconds}"));
                headers.insert(RATE_LIMIT, exhausted.expect("a name and a number"));
            }
        }
        if let Some(tag) = tag {
            headers.insert(ETAG, HeaderValue::from_str(&tag).expect("a tag is ASCII"));
        }
        if self.closing {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if self.is_stateless {
            response.extensions_mut().insert(TellsNoState);
        }
        response
    }
}
