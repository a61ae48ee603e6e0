//! The description of one endpoint: paths, right, schemas and handler. Reference 13.
//!
//! Routing, rights, the OpenAPI document and `data/rights.md` are made from these descriptions.

use std::future::Future;
use std::pin::Pin;

use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use axum::routing::MethodFilter;
use utoipa::openapi::{RefOr, Schema};

use crate::domain::records::fault::Fault;
use crate::domain::records::ids::GroupId;
use crate::domain::state::command::Caller;
use crate::http::auth::Identity;
use crate::http::error::ApiError;
use crate::http::legacy_paths::LegacyRecord;
use crate::http::permissions::{Extent, Resource, Right, Verb};
use crate::http::request::{ApiRequest, GroupRequest, SessionRequest};
use crate::http::response::HandlerResult;
use crate::http::server::Server;
use crate::http::writes::expected::only_if_expected;
use crate::http::writes::prepared_write::PreparedWrite;
use crate::wire::displaced::EXPECTED;
use crate::wire::params::Params;
use crate::wire::schema::{file_bytes, only_sendmail};

/// One endpoint of the API.
pub(crate) struct Endpoint {
    /// The operationId in the OpenAPI document.
    pub(crate) operation_id: &'static str,
    /// One line of what it does.
    pub(crate) summary: &'static str,
    pub(crate) method: EndpointMethod,
    /// All its paths, without the optional suffix `.json`.
    pub(crate) paths: &'static [EndpointPath],
    /// The right that callers need; `None` for endpoints without an apikey.
    pub(crate) right: Option<Right>,
    /// Query parameters, besides those that every list has.
    pub(crate) query: &'static [QueryParameter],
    /// The body that it reads, if any.
    pub(crate) body: Option<Body>,
    /// Its answers: success first, then others that are no common errors.
    pub(crate) answers: &'static [Answer],
    /// Whether an Idempotency-Key protects it from a second creation.
    pub(crate) takes_idempotency_key: bool,
    /// Whether it may answer 409 for another reason than an Idempotency-Key.
    pub(crate) may_conflict: bool,
    /// Whether a header If-Match protects an object from a change based on another form of it.
    pub(crate) takes_if_match: bool,
    pub(crate) handler: Handler,
    /// The OpenAPI tag, if it is not the plural of the resource.
    tag: Option<&'static str>,
}

/// An endpoint for the operator alone, whose commands reach it through the socket in the data
/// directory. All others get 403, whatever their key. The OpenAPI document leaves it out. Reference
/// 11.1.
pub(crate) struct OperatorEndpoint {
    pub(crate) method: EndpointMethod,
    pub(crate) path: &'static str,
    pub(crate) handler: fn(ApiRequest) -> HandlerFuture<'static>,
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
    /// The same. The parameter is required.
    RequiredInteger { min: i64, max: i64 },
    /// Any text.
    Text,
    /// One of these texts.
    OneOf(&'static [&'static str]),
}

/// The schema of a body or of an answer. The resource is that of the endpoint's right.
#[derive(Clone, Copy)]
pub(crate) enum Shape {
    /// A record of the resource.
    Record,
    /// A page of such records.
    RecordList,
    /// The fields of a new record.
    NewRecord,
    /// The fields of a record to change.
    ChangedFields,
    /// A schema that the document has in this one place.
    Inline(SchemaMaker),
    /// A schema that the document has under a name.
    Named(&'static str, SchemaMaker),
}

/// A function that makes a schema.
pub(crate) type SchemaMaker = fn() -> RefOr<Schema>;

/// The body that an endpoint reads.
#[derive(Clone, Copy)]
pub(crate) struct Body {
    /// The JSON object.
    pub(crate) json: Shape,
    /// Whether the object stands in a member that has the resource's name.
    pub(crate) is_wrapped: bool,
    pub(crate) is_required: bool,
    /// Whether it is no JSON, but the file of an image.
    pub(crate) is_image: bool,
}

/// An answer of an endpoint.
#[derive(Clone, Copy)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) description: &'static str,
    pub(crate) media_type: &'static str,
    pub(crate) shape: Shape,
    /// A header that only this answer has, and its description.
    pub(crate) header: Option<(&'static str, &'static str)>,
    /// Whether it has an entity tag, by which clients save its repetition.
    pub(crate) has_entity_tag: bool,
    /// Whether it is a single object with an entity tag, by which clients change the form that they
    /// know.
    pub(crate) has_object_tag: bool,
}

/// A future of a handler's result.
pub(crate) type HandlerFuture<'r> = Pin<Box<dyn Future<Output = HandlerResult> + Send + 'r>>;

/// The function that answers an endpoint's requests.
#[derive(Clone, Copy)]
pub(crate) enum Handler {
    /// Answers without an apikey.
    Open(fn(&Server, &HeaderMap) -> Response),
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
    InGroup(GroupHandler),
}

/// The function that answers requests about one group.
#[derive(Clone, Copy)]
pub(crate) enum GroupHandler {
    /// Answers by itself.
    Answer(fn(GroupRequest) -> HandlerFuture<'static>),
    /// Prepares a write, which professionals may also send in a batch.
    Write(WriteHandler),
}

/// The function that prepares a write in a group.
#[derive(Clone, Copy)]
pub(crate) struct WriteHandler {
    /// Checks the request, and returns what it asks the group for.
    pub(crate) prepare: fn(&GroupRequest) -> Result<PreparedWrite, ApiError>,
    /// Answers callers who are no professionals, if something else applies to them.
    pub(crate) by_clients: Option<fn(GroupRequest) -> HandlerFuture<'static>>,
}

/// Makes a [`Handler`] of an async function: `handler!(InGroup, list)`.
macro_rules! handler {
    (InGroup, $function:expr) => {
        $crate::http::endpoint::Handler::Keyed($crate::http::endpoint::KeyedHandler::InGroup(
            $crate::http::endpoint::GroupHandler::Answer(|request| Box::pin($function(request))),
        ))
    };
    ($kind:ident, $function:expr) => {
        $crate::http::endpoint::Handler::Keyed($crate::http::endpoint::KeyedHandler::$kind(
            |request| Box::pin($function(request)),
        ))
    };
}
pub(crate) use handler;

/// Makes a [`Handler`] of a function that prepares a write, with an async function for callers who
/// are no professionals if they need another: `write_handler!(prepare, answer_client)`.
macro_rules! write_handler {
    ($prepare:expr) => {
        $crate::http::endpoint::write_handler!(@ $prepare, None)
    };
    ($prepare:expr, $by_clients:expr) => {
        $crate::http::endpoint::write_handler!(@ $prepare, Some(|request| Box::pin($by_clients(request))))
    };
    (@ $prepare:expr, $by_clients:expr) => {
        $crate::http::endpoint::Handler::Keyed($crate::http::endpoint::KeyedHandler::InGroup(
            $crate::http::endpoint::GroupHandler::Write($crate::http::endpoint::WriteHandler {
                prepare: $prepare,
                by_clients: $by_clients,
            }),
        ))
    };
}
pub(crate) use write_handler;

impl GroupHandler {
    /// Answers a request. Each future has an allocation of its own, so that the pipeline, which
    /// moves its own several times, has no room for the largest.
    pub(crate) fn answer(
        self,
        request: GroupRequest,
        endpoint: &'static Endpoint,
    ) -> HandlerFuture<'static> {
        let handler = match self {
            Self::Answer(answer) => return answer(request),
            Self::Write(handler) => handler,
        };
        match handler.by_clients {
            Some(answer) if !matches!(request.caller(), Caller::Pro(_)) => answer(request),
            _ => Box::pin(async move {
                let prepared = (handler.prepare)(&request)?;
                request.send(endpoint.as_expected(prepared, &request.params)?).await
            }),
        }
    }
}

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
    /// The list of appointments that a write is expected to displace. Reference 6.19.
    pub(crate) const EXPECTED: Self = QueryKind::Text
        .named(EXPECTED, "the digest of a dry run: 409 if other appointments would be displaced");
}

impl QueryKind {
    /// A parameter with such values.
    pub(crate) const fn named(
        self,
        name: &'static str,
        description: &'static str,
    ) -> QueryParameter {
        QueryParameter { name, kind: self, description }
    }
}

impl Body {
    /// The fields of a new record, wrapped in the resource's name.
    pub(crate) const NEW_RECORD: Self = Self::wrapped(Shape::NewRecord);
    /// The fields to change, wrapped in the resource's name.
    pub(crate) const CHANGED_FIELDS: Self = Self::wrapped(Shape::ChangedFields);
    /// The optional field `sendmail`.
    pub(crate) const SENDMAIL: Self = Self { is_required: false, ..Self::plain(only_sendmail) };

    /// The file of an image, by its own bytes.
    pub(crate) const IMAGE: Self = Self { is_image: true, ..Self::plain(file_bytes) };

    /// An object.
    pub(crate) const fn plain(schema: SchemaMaker) -> Self {
        Self { is_wrapped: false, ..Self::wrapped(Shape::Inline(schema)) }
    }

    /// An object in a member that has the resource's name.
    pub(crate) const fn wrapped(json: Shape) -> Self {
        Self { json, is_wrapped: true, is_required: true, is_image: false }
    }
}

impl Answer {
    /// 200 with the object.
    pub(crate) const RECORD: Self =
        Self { has_object_tag: true, ..Self::json(200, "the object", Shape::Record) };
    /// 201 with the object.
    pub(crate) const NEW_RECORD: Self =
        Self { has_object_tag: true, ..Self::json(201, "the new object", Shape::Record) };
    /// 200 with one page of a list.
    pub(crate) const LIST: Self = Self::json(200, "a page of the list", Shape::RecordList);
    /// The same, with an entity tag.
    pub(crate) const TAGGED_LIST: Self = Self { has_entity_tag: true, ..Self::LIST };

    /// A JSON object.
    pub(crate) const fn json(status: u16, description: &'static str, shape: Shape) -> Self {
        let media_type = "application/json";
        Self {
            status,
            description,
            media_type,
            shape,
            header: None,
            has_entity_tag: false,
            has_object_tag: false,
        }
    }
}

impl OperatorEndpoint {
    pub(crate) const fn new(
        method: EndpointMethod,
        path: &'static str,
        handler: fn(ApiRequest) -> HandlerFuture<'static>,
    ) -> Self {
        Self { method, path, handler }
    }
}

impl Endpoint {
    /// An endpoint that changes nothing. By default it answers with an object.
    pub(crate) const fn get(paths: &'static [EndpointPath], handler: Handler) -> Self {
        Self::new(EndpointMethod::Get, paths, handler)
    }

    /// An endpoint that answers with a page of a list.
    pub(crate) const fn list(paths: &'static [EndpointPath], handler: Handler) -> Self {
        Self::get(paths, handler).answers(&[Answer::LIST])
    }

    /// The same, with an entity tag.
    pub(crate) const fn tagged_list(paths: &'static [EndpointPath], handler: Handler) -> Self {
        Self::get(paths, handler).answers(&[Answer::TAGGED_LIST])
    }

    /// An endpoint that creates something, or carries out an action. By default it reads the fields
    /// of a new record, and answers with that record.
    pub(crate) const fn post(paths: &'static [EndpointPath], handler: Handler) -> Self {
        let is_in_group = matches!(handler, Handler::Keyed(KeyedHandler::InGroup(_)));
        Self::new(EndpointMethod::Post, paths, handler)
            .body(Body::NEW_RECORD)
            .answers(&[Answer::NEW_RECORD])
            .idempotency_key(is_in_group)
    }

    /// An endpoint that changes an object. By default it reads the fields to change, and answers
    /// with the object.
    pub(crate) const fn put(paths: &'static [EndpointPath], handler: Handler) -> Self {
        Self::new(EndpointMethod::Put, paths, handler).body(Body::CHANGED_FIELDS)
    }

    /// An endpoint that deletes an object. By default it answers with the object.
    pub(crate) const fn delete(paths: &'static [EndpointPath], handler: Handler) -> Self {
        Self::new(EndpointMethod::Delete, paths, handler)
    }

    const fn new(method: EndpointMethod, paths: &'static [EndpointPath], handler: Handler) -> Self {
        Self {
            operation_id: "",
            summary: "",
            method,
            paths,
            right: None,
            query: &[],
            body: None,
            answers: &[Answer::RECORD],
            takes_idempotency_key: false,
            may_conflict: false,
            takes_if_match: matches!(method, EndpointMethod::Put | EndpointMethod::Delete),
            handler,
            tag: None,
        }
    }

    /// Sets its operationId in the OpenAPI document, and one line of what it does.
    pub(crate) const fn named(self, operation_id: &'static str, summary: &'static str) -> Self {
        Self { operation_id, summary, ..self }
    }

    /// Sets the OpenAPI tag, which groups endpoints on the page /docs.
    pub(crate) const fn tagged(self, tag: &'static str) -> Self {
        Self { tag: Some(tag), ..self }
    }

    /// Sets the right that callers need: extents of application, account and professional.
    pub(crate) const fn right(self, resource: Resource, verb: Verb, extents: [Extent; 5]) -> Self {
        Self { right: Some(Right::new(resource, verb, extents)), ..self }
    }

    /// Sets the query parameters, besides those that every list has.
    pub(crate) const fn query(self, query: &'static [QueryParameter]) -> Self {
        Self { query, ..self }
    }

    /// Sets the body that it reads.
    pub(crate) const fn body(self, body: Body) -> Self {
        Self { body: Some(body), ..self }
    }

    /// Leaves the body out.
    pub(crate) const fn without_body(self) -> Self {
        Self { body: None, ..self }
    }

    /// Sets its answers: success first, then others that are no common errors.
    pub(crate) const fn answers(self, answers: &'static [Answer]) -> Self {
        Self { answers, ..self }
    }

    /// Sets whether an Idempotency-Key protects it from a second creation. By default a POST about
    /// a group is protected.
    pub(crate) const fn idempotency_key(self, takes_idempotency_key: bool) -> Self {
        Self { takes_idempotency_key, ..self }
    }

    /// Adds the answer 409.
    pub(crate) const fn conflicting(self) -> Self {
        Self { may_conflict: true, ..self }
    }

    /// Leaves out the header If-Match, for objects without an entity tag.
    pub(crate) const fn without_if_match(self) -> Self {
        Self { takes_if_match: false, ..self }
    }

    /// The OpenAPI tag: by default the plural of the resource.
    pub(crate) fn tag(&self) -> String {
        match (self.tag, self.right) {
            (Some(tag), _) => tag.to_owned(),
            (None, Some(right)) => format!("{}s", right.resource.name().to_lowercase()),
            (None, None) => "server".to_owned(),
        }
    }

    /// The status of the answer about what it made: 201 if it has such an answer.
    pub(crate) fn creation_status(&self) -> StatusCode {
        let makes = self.answers.iter().any(|answer| answer.status == StatusCode::CREATED);
        if makes { StatusCode::CREATED } else { StatusCode::OK }
    }

    /// Whether it answers with a page of a list.
    pub(crate) fn is_list(&self) -> bool {
        self.answers.iter().any(|answer| matches!(answer.shape, Shape::RecordList))
    }

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

    /// Whether an answer has an entity tag: lists of the catalogue, and the OpenAPI document.
    pub(crate) fn has_entity_tag(&self) -> bool {
        self.answers.iter().any(|answer| answer.has_entity_tag)
    }

    /// Returns a write under the expectation of its request. An endpoint without the parameter
    /// ignores it.
    ///
    /// # Errors
    /// A parameter that is no digest.
    pub(crate) fn as_expected(
        &self,
        prepared: PreparedWrite,
        params: &Params,
    ) -> Result<PreparedWrite, Fault> {
        if self.takes_expected() { only_if_expected(prepared, params) } else { Ok(prepared) }
    }

    /// Whether it takes the digest of a dry run, and a dry run takes it.
    pub(crate) fn takes_expected(&self) -> bool {
        self.query.iter().any(|parameter| parameter.name == EXPECTED)
    }

    /// Whether the pipeline requires a JSON body.
    pub(crate) fn requires_body(&self) -> bool {
        let writes = matches!(self.method, EndpointMethod::Post | EndpointMethod::Put);
        writes && self.body.is_some_and(|body| !body.is_image)
    }

    /// Whether the body is the file of an image.
    pub(crate) fn takes_image(&self) -> bool {
        self.body.is_some_and(|body| body.is_image)
    }

    /// Checks that the caller's role in a group may use the endpoint at all. Reference 3.2.
    ///
    /// # Errors
    /// 403 with the rule that the role does not meet.
    pub(crate) fn check_right(
        &self,
        identity: &Identity,
        group: Option<GroupId>,
        params: &Params,
    ) -> Result<(), ApiError> {
        let Some(right) = &self.right else { return Ok(()) };
        let has_secret = params.value("key").is_some();
        match right.check(identity.role_in(group), has_secret, identity.is_operator()) {
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
    pub const fn method(&self) -> Method {
        self.endpoint.method.to_http()
    }

    /// The path; `{group_id}` and `{id}` stand for ids.
    pub const fn path(&self) -> &'static str {
        self.path.pattern
    }

    /// The right that callers need; `None` for routes without an apikey.
    pub const fn right(&self) -> Option<Right> {
        self.endpoint.right
    }
}
