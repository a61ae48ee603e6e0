//! The checks of a request on its way to the handler, in the order of Reference 2.3.

use std::sync::Arc;

use axum::body::HttpBody as _;
use axum::extract::{RawPathParams, Request};
use axum::http::header::{IF_MATCH, IF_NONE_MATCH};
use axum::http::request::Parts as HttpParts;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt as _;
use serde_json::{Map, Value};

use crate::domain::records::fault::Fault;
use crate::domain::records::ids::GroupId;
use crate::domain::state::command::Caller;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;
use crate::engine::published::Published;
use crate::http::answer::compression::accepts_gzip;
use crate::http::answer::entity_tag::{NamedTags, tag_response};
use crate::http::answer::page_links::add_page_links;
use crate::http::answer::piecewise_body::in_pieces;
use crate::http::auth::{AuthRequest, Identity, apikey, find_key};
use crate::http::body::Incoming;
use crate::http::endpoint::{
    Endpoint, EndpointMethod, Handler, KeyedHandler, OperatorEndpoint, Route,
};
use crate::http::error::{ApiError, IDEMPOTENCY_KEY_HEADER};
use crate::http::idempotency::{BodyDigest, IdempotencyKey};
use crate::http::legacy_paths::{self, NamedGroup};
use crate::http::limits::write_capacity;
use crate::http::preferences::{is_strict, mark_deprecated, mark_strict};
use crate::http::request::{
    ApiRequest, AtOperatorSocket, ClientAddress, GroupRequest, SessionRequest, XmlRequested,
    find_visible_group, name_group,
};
use crate::http::response::{HandlerResult, created_response, json_response};
use crate::http::server::Server;
use crate::http::streams::reader::is_stream;
use crate::wire::errors::Problem;
use crate::wire::field::{Scope, foreign_group};
use crate::wire::params::Params;

/// Answers a request on a route.
///
/// The future is that of the handler, and then that of its answer. An async function would have
/// room for both, and for the request.
pub(crate) fn respond(
    server: Arc<Server>,
    route: Route,
    ids: Option<RawPathParams>,
    request: Request,
) -> impl Future<Output = Response> {
    let endpoint = route.endpoint;
    let headers = request.headers();
    let form = AnswerForm {
        route,
        path_id: id_in_path(ids.as_ref(), "id"),
        known: if endpoint.has_entity_tag() {
            NamedTags::read(headers, IF_NONE_MATCH)
        } else {
            NamedTags::default()
        },
        list: endpoint.is_list().then(|| request.uri().clone()),
        is_strict: is_strict(headers),
        may_compress: accepts_gzip(headers),
    };
    let answered = handle(server, route, ids, request, form.is_strict);
    answered.then(move |answered| form.show(answered))
}

/// The form of an answer, as far as its request decides it.
struct AnswerForm {
    route: Route,
    /// The number that stands for `{id}` in the path.
    path_id: Option<u64>,
    /// The tags of answers that the client has.
    known: NamedTags,
    /// The target of a request for a list.
    list: Option<Uri>,
    is_strict: bool,
    may_compress: bool,
}

impl AnswerForm {
    /// Returns the response to a handler's result, with the links and the tag of its endpoint.
    async fn show(self, answered: HandlerResult) -> Response {
        let mut response = match answered {
            Ok(mut response) => {
                if let Some(uri) = &self.list {
                    add_page_links(&mut response, uri);
                }
                if self.route.endpoint.has_entity_tag() {
                    response = tag_response(response, &self.known).await;
                }
                // Pieces share the thread while one is made or compressed. A body that is there as
                // a whole, and leaves as it is, would only take a turn and a system call more for
                // each.
                let is_ready = response.body().size_hint().exact().is_some();
                if is_ready && !self.may_compress { response } else { in_pieces(response) }
            }
            Err(error) => {
                let asked = name_asked_object(self.route, self.path_id);
                error.naming(&asked).into_response()
            }
        };
        if self.is_strict {
            mark_strict(&mut response);
        }
        if self.route.path.legacy.is_some() {
            mark_deprecated(&mut response);
        }
        response
    }
}

/// Returns the kind and the id of the object that the path asks for. The older paths do not say in
/// which group it is.
pub(crate) fn name_asked_object(route: Route, id: Option<u64>) -> String {
    let path = route.path();
    let Some((list, _)) = path.split_once("/{id}") else { return "such object".to_owned() };
    let kind = list.rsplit('/').next().unwrap_or(list);
    let kind = kind.strip_suffix('s').unwrap_or(kind);
    match id {
        Some(id) if route.path.legacy.is_some() => format!("{kind} {id}"),
        Some(id) => format!("{kind} {id} in this group"),
        None => format!("such {kind}"),
    }
}

/// Answers a request on a route for the operator's socket.
///
/// # Errors
/// 403 for a request that came in another way; otherwise the first failed check.
pub(crate) async fn respond_to_operator(
    server: Arc<Server>,
    endpoint: &OperatorEndpoint,
    request: Request,
) -> HandlerResult {
    let (parts, body) = request.into_parts();
    if parts.extensions.get::<AtOperatorSocket>().is_none() {
        let needed =
            "only the operator's commands may do this, through the socket in the data directory";
        // The body is unread.
        return Err(ApiError::unauthorized(needed).closing());
    }
    let params = read_params(&parts, None, is_strict(&parts.headers))?;
    let from = parts.extensions.get::<ClientAddress>().expect("the service sets the address").0;
    let mut body = Incoming::new(&server, &parts.headers, from, body);
    let object = if endpoint.method == EndpointMethod::Get {
        Map::new()
    } else {
        body.read_object().await?
    };
    drop(body);
    (endpoint.handler)(ApiRequest {
        identity: Identity::operator(server.engine.published().directory()),
        params,
        from,
        now: server.engine.clock().now(),
        headers: parts.headers,
        path_id: None,
        body: object,
        digest: None,
        server,
    })
    .await
}

/// Checks format, apikey, credentials, group, body and rights, in this order, then calls the
/// handler, which checks the parameters.
async fn handle(
    server: Arc<Server>,
    route: Route,
    ids: Option<RawPathParams>,
    request: Request,
    is_strict: bool,
) -> HandlerResult {
    let (parts, body) = request.into_parts();
    let mut params = read_params(&parts, ids.as_ref(), is_strict)?;
    let handler = match route.endpoint.handler {
        Handler::Open(handler) => return Ok(handler(&server, &parts.headers)),
        Handler::Keyed(handler) => handler,
    };
    let path_id = id_in_path(ids.as_ref(), "id");
    let published = server.engine.published();
    let from = parts.extensions.get::<ClientAddress>().expect("the service sets the address").0;
    // Its share of memory is held until the response is made.
    let mut body = Incoming::new(&server, &parts.headers, from, body);
    let (implied_group, names_target) =
        find_implied_group(route, path_id, &mut params, &mut body, published).await?;
    let now = server.engine.clock().now();
    let auth = AuthRequest {
        published,
        directory: &published.directory(),
        parts: &parts,
        params: &params,
        group: id_in_path(ids.as_ref(), "group_id").and_then(GroupId::new),
        implied_group,
        names_target,
        from,
        is_at_socket: parts.extensions.get::<AtOperatorSocket>().is_some(),
        now,
    };
    match handler {
        KeyedHandler::Session(run) => run(SessionRequest { server: &server, auth, body }).await,
        KeyedHandler::AtLarge(handler) => {
            let (identity, body, digest) = check_at_large(&server, route, &auth, &mut body).await?;
            handler(ApiRequest {
                server: Arc::clone(&server),
                identity,
                params,
                from,
                now,
                headers: parts.headers.clone(),
                path_id,
                body,
                digest,
            })
            .await
        }
        KeyedHandler::InGroup(handler) => {
            let checked = check_in_group(&server, route, path_id, &auth, &mut body).await?;
            checked.record_account_use(&server, now);
            if let Some(answer) = checked.find_answer(&server, route) {
                return answer;
            }
            let_requests_be_read(route.endpoint).await;
            let request = GroupRequest {
                server: Arc::clone(&server),
                identity: checked.identity,
                params,
                from,
                now,
                state: checked.state,
                path: route.path(),
                path_id,
                body: checked.object,
                content: checked.content,
                idempotency_key: checked.key,
                if_match: NamedTags::read(&parts.headers, IF_MATCH),
                headers: is_stream(route.endpoint).then(|| Box::new(parts.headers.clone())),
                is_strict,
            };
            handler.answer(request, route.endpoint).await
        }
    }
}

/// Lets the requests that are ready be read before a write goes on. What it goes on with is other
/// code than that which reads requests: so either runs for several requests while the processor has
/// it in its caches (docs/benchmarks.md).
async fn let_requests_be_read(endpoint: &Endpoint) {
    if endpoint.method != EndpointMethod::Get {
        tokio::task::yield_now().await;
    }
}

/// Checks credentials, body and rights of a request outside any group, and returns the caller, the
/// object of the body, and its digest if that is needed.
///
/// # Errors
/// The first failed check.
async fn check_at_large(
    server: &Server,
    route: Route,
    auth: &AuthRequest<'_>,
    body: &mut Incoming<'_>,
) -> Result<(Identity, Map<String, Value>, Option<BodyDigest>), ApiError> {
    let identity = server.authenticator.identify(auth).await?;
    let object = read_body(route.endpoint, body, &auth.parts.method).await?;
    route.endpoint.check_right(&identity, None, auth.params)?;
    check_names(server, route, auth.parts, &object)?;
    let (object, digest) =
        digest_body(server, route, &auth.parts.headers, object, body.is_long()).await?;
    Ok((identity, object, digest))
}

/// The results of the checks of a request about one group.
struct Checked {
    identity: Identity,
    state: Arc<GroupState>,
    /// The JSON object of the body.
    object: Map<String, Value>,
    /// The bytes of the file of an image.
    content: Vec<u8>,
    key: Result<Option<IdempotencyKey>, Fault>,
}

impl Checked {
    /// Records that a client used their account, if one called.
    fn record_account_use(&self, server: &Server, now: Instant) {
        if let Caller::Account(account) = &self.identity.caller {
            let group = self.state.catalogue.group.id;
            server.account_uses.record(&server.engine, group, account, now);
        }
    }

    /// Returns the answer to an earlier request under the same idempotency key, if there was one.
    fn find_answer(&self, server: &Server, route: Route) -> Option<HandlerResult> {
        let key = self.key.as_ref().ok()?.as_ref()?;
        let answer = key.find_answer(&self.state, server.engine.steady_now())?;
        Some(answer.map(|answer| {
            if route.endpoint.creation_status() == StatusCode::OK {
                return json_response(StatusCode::OK, answer.bytes);
            }
            created_response(answer, route.path(), &self.state)
        }))
    }
}

/// Checks credentials, group, write capacity, body and rights of a request about one group.
///
/// # Errors
/// The first failed check.
async fn check_in_group(
    server: &Server,
    route: Route,
    path_id: Option<u64>,
    auth: &AuthRequest<'_>,
    body: &mut Incoming<'_>,
) -> Result<Checked, ApiError> {
    let endpoint = route.endpoint;
    let published = auth.published;
    let identity = server.authenticator.identify(auth).await?;
    let named = match route.path.legacy {
        Some(record) if route.path.has_id() => NamedGroup::Found(legacy_paths::find_visible_owner(
            record, path_id, &identity, published,
        )?),
        Some(record) => {
            let params = auth.params;
            // On the heap, as what few requests need besides.
            let found = legacy_paths::find_named_group(record, params, body, &identity, published);
            Box::pin(found).await?
        }
        None => match find_visible_group(auth.group, &identity, published) {
            Ok(state) => NamedGroup::Found(state),
            Err(error) => return Err(error.naming(&name_group(auth.group))),
        },
    };
    if let Some(state) = named.found() {
        identity.check_second_factor(&state.catalogue.group)?;
    }
    write_capacity::admit(body, server, endpoint, &identity, named.found(), auth)?;
    let content = if endpoint.takes_image() {
        Box::pin(body.read_image(&auth.parts.headers)).await?
    } else {
        Vec::new()
    };
    let object = read_body(endpoint, body, &auth.parts.method).await?;
    let group = named.found().map(|state| state.catalogue.group.id);
    endpoint.check_right(&identity, group, auth.params)?;
    let state = match named {
        NamedGroup::Found(state) => state,
        NamedGroup::Missing(fault) => return Err(fault.into()),
    };
    check_names(server, route, auth.parts, &object)?;
    if let Some(fault) = foreign_group(&object, &Scope::for_group(&state)) {
        return Err(fault.into());
    }
    let (object, digest) =
        digest_body(server, route, &auth.parts.headers, object, body.is_long()).await?;
    let key = if endpoint.creates() {
        IdempotencyKey::from_request(&auth.parts.headers, &identity, auth.from, &state, digest)
    } else {
        Ok(None)
    };
    Ok(Checked { identity, state, object, content, key })
}

/// Checks that the operation of a route takes each parameter and field, if the request wants that.
///
/// # Errors
/// A fault for each unknown name.
fn check_names(
    server: &Server,
    route: Route,
    parts: &HttpParts,
    object: &Map<String, Value>,
) -> Result<(), ApiError> {
    if !is_strict(&parts.headers) {
        return Ok(());
    }
    let params = Params::from_request(parts.uri.query().unwrap_or_default());
    let method = route.endpoint.method.to_http();
    (server.known_names)().check(method.as_str(), route.path(), &params, object)?;
    Ok(())
}

/// Returns the group that a request on an older path implies, whether or not the caller sees it.
/// The flag says whether the request names a group or an object. Takes the apikey from the body if
/// the query has none.
///
/// # Errors
/// 403 for an unknown key in the query, before any of the body is read; otherwise as
/// [`Incoming::peek`].
async fn find_implied_group(
    route: Route,
    path_id: Option<u64>,
    params: &mut Params,
    body: &mut Incoming<'_>,
    published: &Published,
) -> Result<(Option<GroupId>, bool), ApiError> {
    let Some(record) = route.path.legacy else { return Ok((None, false)) };
    if let Some(key) = params.value("apikey") {
        find_key(key, &published.directory())?;
    }
    legacy_paths::take_key(params, body).await?;
    if route.path.has_id() {
        return Ok((legacy_paths::find_owner(record, path_id, published), true));
    }
    let named = legacy_paths::named_group(record, params, body).await?;
    Ok((named, named.is_some()))
}

/// Digests a body that was read, if the endpoint creates something under an idempotency key. A long
/// body is digested on a thread that serves no connection.
///
/// # Errors
/// 503 if too much waits for such threads.
async fn digest_body(
    server: &Server,
    route: Route,
    headers: &HeaderMap,
    object: Map<String, Value>,
    is_long: bool,
) -> Result<(Map<String, Value>, Option<BodyDigest>), ApiError> {
    if !route.endpoint.creates() || !headers.contains_key(&IDEMPOTENCY_KEY_HEADER) {
        return Ok((object, None));
    }
    let path = route.path();
    let digest = move || {
        let digest = BodyDigest::new(path, &object);
        (object, Some(digest))
    };
    if is_long { server.blocking_pool.run(digest).await } else { Ok(digest()) }
}

/// Reads the JSON object of a body that the endpoint requires, or the optional one of a DELETE.
async fn read_body(
    endpoint: &Endpoint,
    body: &mut Incoming<'_>,
    method: &Method,
) -> Result<Map<String, Value>, ApiError> {
    if endpoint.requires_body() {
        body.read_object().await
    } else {
        body.read_optional_object(method).await
    }
}

/// Returns the parameters of the query, with the key of the headers, and with the `urlname` or the
/// `slot` of the path.
///
/// # Errors
/// 406 if a format other than JSON is requested, 400 for two different keys.
fn read_params(
    parts: &HttpParts,
    ids: Option<&RawPathParams>,
    is_strict: bool,
) -> Result<Params, ApiError> {
    let mut params = Params::from_request(parts.uri.query().unwrap_or_default());
    check_format(parts, &params)?;
    apikey::take_key(&parts.headers, &mut params)?;
    if is_strict {
        // Only older clients could stumble over a member that they do not expect.
        params.push_default("instants", "1");
    }
    if let Some(ids) = ids
        && let Some((name, text)) = ids.iter().find(|(key, _)| ["urlname", "slot"].contains(key))
    {
        params.push(name, text);
    }
    Ok(params)
}

/// # Errors
/// 406 if a format other than JSON is requested.
fn check_format(parts: &HttpParts, params: &Params) -> Result<(), ApiError> {
    let is_json = match params.value("format") {
        Some(format) => format.eq_ignore_ascii_case("json"),
        None => true,
    };
    if is_json && parts.extensions.get::<XmlRequested>().is_none() {
        return Ok(());
    }
    Err(ApiError::new(
        Problem::NotAcceptable,
        "responses are JSON only: use the suffix .json or no format",
    ))
}

/// Returns the number that stands for a placeholder of the path; `None` if it is malformed.
fn id_in_path(ids: Option<&RawPathParams>, name: &str) -> Option<u64> {
    let (_, text) = ids?.iter().find(|(key, _)| *key == name)?;
    parse_id(text)
}

/// Returns the number of an id in a path; `None` if it is malformed.
pub(crate) fn parse_id(text: &str) -> Option<u64> {
    // `parse` accepts a plus sign, which is no part of an id.
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}
