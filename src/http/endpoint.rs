//! The description of one endpoint: paths, right, schemas and handler. Reference 13.
//!
//! Routing, rights, the OpenAPI document and `data/rights.md` are made from these descriptions.

use std::future::Future;
use std::pin::Pin;

use axum::http::Method;
use axum::response::Response;
use axum::routing::MethodFilter;

use crate::http::auth::Identity;
use crate::http::error::ApiError;
use crate::http::legacy_paths::LegacyRecord;
use crate::http::permissions::{Resource, Right};
use crate::http::request::{ApiRequest, GroupRequest, SessionRequest};
use crate::http::response::HandlerResult;
use crate::http::server::Server;
use crate::wire::params::Params;

/// One endpoint of the API.
pub(crate) struct Endpoint {
    /// The operationId in the OpenAPI document.
    pub(crate) operation_id: &'static str,
    /// One line of what it does.
    pub(crate) summary: &'static str,
    /// The OpenAPI tag, which groups endpoints on the page /docs.
    pub(crate) tag: &'static str,
    pub(crate) method: EndpointMethod,
    /// All its paths, without the optional suffix `.json`.
    pub(crate) paths: &'static [EndpointPath],
    /// The right that callers need; `None` for endpoints without an apikey.
    pub(crate) right: Option<Right>,
    /// Query parameters, besides those that every list has.
    pub(crate) query: &'static [QueryParameter],
    pub(crate) body: BodySchema,
    pub(crate) answer: AnswerSchema,
    pub(crate) handler: Handler,
}

/// The HTTP method of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndpointMethod {
    Get,
    Post,
    Put,
    Delete,
}

/// A path of an endpoint.
pub(crate) struct EndpointPath {
    /// The pattern, with `{group_id}` and `{id}` for ids, and `{urlname}` for a group.
    pub(crate) pattern: &'static str,
    /// On older paths without a group segment: the record type that `{id}` identifies.
    pub(crate) legacy: Option<LegacyRecord>,
}

/// A query parameter of an endpoint.
pub(crate) struct QueryParameter {
    pub(crate) name: &'static str,
    pub(crate) kind: QueryKind,
    pub(crate) description: &'static str,
}

/// The values that a query parameter takes. Except for texts and required values, an empty
/// value counts as absent.
#[derive(Clone, Copy)]
pub(crate) enum QueryKind {
    /// 1, 0, true or false.
    Flag,
    /// An id.
    Id,
    /// An id, or 0 for none.
    IdOrZero,
    /// Any number of ids.
    Ids,
    /// At least one id. The parameter is required.
    RequiredIds,
    /// A date with or without a time.
    DateTime,
    /// The same. The parameter is required.
    RequiredDateTime,
    /// A whole number from `min` to `max`.
    Integer { min: i64, max: i64 },
    /// Any text.
    Text,
    /// One of these texts.
    OneOf(&'static [&'static str]),
}

/// The body that an endpoint reads. The resource is that of the endpoint's right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodySchema {
    None,
    /// A new object, wrapped in its resource's name.
    NewRecord,
    /// The fields to change, wrapped in the resource's name.
    ChangedFields,
    /// The optional field `sendmail`.
    Sendmail,
    Booking,
    Login,
    /// An e-mail address that is to have an account.
    Address,
    /// The token of a mailed link, and a password.
    Token,
    /// A time to hold.
    Hold,
    /// The token of a booking, and its code.
    Code,
    /// The new start of an appointment.
    Move,
    /// A new password, and the present one.
    Password,
    /// The bookings to cancel together.
    Alike,
}

/// The response of an endpoint in case of success. The resource is that of the endpoint's right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerSchema {
    /// 200 with the object.
    Record,
    /// 201 with the object.
    NewRecord,
    /// 200 with one page of a list.
    List,
    /// 201 with one record for each appointment.
    Booked,
    /// The same, or 202 with the token of a booking that waits for its code.
    BookedOrHeld,
    /// 201 with the hold.
    NewHold,
    /// 200 with the hold that was given back.
    ReleasedHold,
    /// 200 with free slots.
    Slots,
    /// 200 with the obstacles of one start.
    Explanation,
    /// 200 with the state of the process.
    Status,
    /// 200 or 503 with whether the server accepts writes.
    Readiness,
    /// 200 with the person who is logged in, and the session cookie.
    LoggedIn,
    /// 200 after the end of a session.
    LoggedOut,
    /// 201 with the address.
    LinkAsked,
    /// 200 with the account.
    LinkFollowed,
    /// 200 with the OpenAPI document.
    Document,
    /// 200 with an HTML page.
    Page,
    /// 200 with everything that a booking page needs.
    Module,
    /// 200 with the number of bookings, and of those that were cancelled.
    Alike,
}

/// A future of a handler's result.
pub(crate) type HandlerFuture<'r> = Pin<Box<dyn Future<Output = HandlerResult> + Send + 'r>>;

/// The function that answers an endpoint's requests.
#[derive(Clone, Copy)]
pub(crate) enum Handler {
    /// Answers without an apikey.
    Open(fn(&Server) -> Response),
    /// Answers callers with an apikey.
    Keyed(KeyedHandler),
}

/// The function that answers requests with an apikey.
#[derive(Clone, Copy)]
pub(crate) enum KeyedHandler {
    /// Checks key and credentials itself, in the order of logins.
    Session(for<'r> fn(SessionRequest<'r>) -> HandlerFuture<'r>),
    /// Answers an identified caller, outside any group.
    AtLarge(fn(ApiRequest) -> HandlerFuture<'static>),
    /// Answers an identified caller who sees the group of the path.
    InGroup(fn(GroupRequest) -> HandlerFuture<'static>),
}

/// Makes a [`Handler`] of an async function: `handler!(InGroup, list)`.
macro_rules! handler {
    ($kind:ident, $function:expr) => {
        $crate::http::endpoint::Handler::Keyed($crate::http::endpoint::KeyedHandler::$kind(
            |request| Box::pin($function(request)),
        ))
    };
}
pub(crate) use handler;

impl EndpointMethod {
    /// The method as HTTP names it.
    pub(crate) const fn to_http(self) -> Method {
        match self {
            Self::Get => Method::GET,
            Self::Post => Method::POST,
            Self::Put => Method::PUT,
            Self::Delete => Method::DELETE,
        }
    }

    /// The filter under which the router registers it. GET includes HEAD.
    pub(crate) const fn filter(self) -> MethodFilter {
        match self {
            Self::Get => MethodFilter::GET,
            Self::Post => MethodFilter::POST,
            Self::Put => MethodFilter::PUT,
            Self::Delete => MethodFilter::DELETE,
        }
    }
}

impl EndpointPath {
    /// A path as the reference names it.
    pub(crate) const fn current(pattern: &'static str) -> Self {
        Self { pattern, legacy: None }
    }

    /// An older path without a group segment.
    pub(crate) const fn legacy(pattern: &'static str, record: LegacyRecord) -> Self {
        Self { pattern, legacy: Some(record) }
    }

    /// Whether the path contains the id of an object.
    pub(crate) fn has_id(&self) -> bool {
        self.pattern.contains("{id}")
    }
}

impl QueryParameter {
    pub(crate) const fn new(
        name: &'static str,
        kind: QueryKind,
        description: &'static str,
    ) -> Self {
        Self { name, kind, description }
    }
}

impl Endpoint {
    /// Whether it creates something, which an Idempotency-Key protects from a second creation.
    pub(crate) fn creates(&self) -> bool {
        self.method == EndpointMethod::Post
    }

    /// Whether it changes something, which needs write capacity.
    pub(crate) fn writes(&self) -> bool {
        self.method != EndpointMethod::Get
    }

    /// Whether it can make a group's records larger.
    pub(crate) fn takes_space(&self) -> bool {
        matches!(self.method, EndpointMethod::Post | EndpointMethod::Put)
    }

    /// Whether its answers have entity tags: lists of the catalogue, and the OpenAPI document.
    pub(crate) fn has_entity_tag(&self) -> bool {
        let of_catalogue = match self.right {
            Some(right) => matches!(
                right.resource,
                Resource::Calendar
                    | Resource::Calendarset
                    | Resource::Intervention
                    | Resource::Interventionset
            ),
            None => false,
        };
        self.answer == AnswerSchema::Document || (self.answer == AnswerSchema::List && of_catalogue)
    }

    /// Whether the pipeline requires a JSON body.
    pub(crate) fn requires_body(&self) -> bool {
        matches!(self.method, EndpointMethod::Post | EndpointMethod::Put)
    }

    /// Checks that the caller's role may use the endpoint at all. Reference 3.2.
    ///
    /// # Errors
    /// 403 with the rule that the role does not meet.
    pub(crate) fn check_right(&self, identity: &Identity, params: &Params) -> Result<(), ApiError> {
        let Some(right) = &self.right else { return Ok(()) };
        let has_secret = params.value("key").is_some();
        match right.check(&identity.caller, has_secret, identity.is_operator()) {
            Ok(()) => Ok(()),
            Err(needed) => Err(ApiError::unauthorized(needed)),
        }
    }
}

/// One path of one endpoint.
#[derive(Clone, Copy)]
pub struct Route {
    pub(crate) endpoint: &'static Endpoint,
    pub(crate) path: &'static EndpointPath,
}

impl Route {
    /// The HTTP method.
    #[must_use]
    pub const fn method(&self) -> Method {
        self.endpoint.method.to_http()
    }

    /// The path; `{group_id}` and `{id}` stand for ids.
    #[must_use]
    pub const fn path(&self) -> &'static str {
        self.path.pattern
    }

    /// The right that callers need; `None` for routes without an apikey.
    #[must_use]
    pub const fn right(&self) -> Option<Right> {
        self.endpoint.right
    }
}
