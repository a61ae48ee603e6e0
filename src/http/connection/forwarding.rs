//! A server that follows its cluster: it forwards each request to the server that decides, and each
//! answer back, piece by piece. Reference 11.1.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{
    CONNECTION, EXPECT, HOST, HeaderName, ORIGIN, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE,
    TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use axum::http::{HeaderMap, HeaderValue, Method, Request, Version, request};
use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::GracefulShutdown;
use ipnet::IpNet;
use parking_lot::Mutex;
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::clock::{Clock as _, SystemClock};
use crate::domain::directory::cluster_secret::ClusterSecret;
use crate::http::connection::connection_table::{ConnectionPlace, ConnectionTable};
use crate::http::connection::departure::Successor;
use crate::http::connection::forwarded::{ForwardingHeader, TrustedProxies};
use crate::http::connection::forwarding_body::RetainedBody;
use crate::http::connection::forwarding_client::{ForwardingClient, uri_at};
use crate::http::connection::forwarding_seal::{
    ForwardedFrom, ForwardingSeal, WrongSeal, X_SLOTBOOK_FORWARDED,
};
use crate::http::connection::listener::{
    HEADERS_TIMEOUT, SHUTDOWN_TIMEOUT, accept_all, connection_builder, note_activity, run_in_place,
    serve_commands,
};
use crate::http::connection::request_id::{RequestId, X_REQUEST_ID};
use crate::http::connection::request_target::RequestTargetFilter;
use crate::http::connection::slow_reader_timeout::SlowReaderTimeout;
use crate::http::connection::start_proof::StartProof;
use crate::http::cors::AllowedPages;
use crate::http::error::ApiError;
use crate::http::resources::health::{self, HealthCheck};
use crate::http::resources::operator::store::BACKUPS;
use crate::http::response::require_tls;
use crate::wire::errors::Problem;

/// Longest time for the answer of a server after another one decides: one that hands over still
/// answers, or passes the request on.
const FORMER_HOLDER_TIME: Duration = Duration::from_secs(2);
/// Longest time since which no server that decides was reached, in which requests wait for one:
/// more than a takeover needs.
const HOLDING_TIME: Duration = Duration::from_secs(6);
/// Longest time for which a request that another server has forwarded waits while a third one is
/// known to decide: that of a beat, as old as what is known may be. Until a takeover, a server that
/// has died and was started again is taken for the one that decides.
const OTHER_HOLDER_TIME: Duration = Duration::from_millis(500);
/// Pauses of a request between two tries, unless another server decides meanwhile.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(80);
/// Time after which the connections of a server that has taken over are closed: those without a
/// request have ended by then.
const LAST_REQUEST_TIME: Duration = HEADERS_TIMEOUT.saturating_add(Duration::from_secs(5));
/// Headers about one connection that the standard library of HTTP does not name.
const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");

/// Forwards requests to the server of the cluster that decides.
pub struct Forwarder {
    client: ForwardingClient,
    seal: ForwardingSeal,
    proxies: TrustedProxies,
    /// The address of the server that decides, if it is known to.
    holder: watch::Receiver<Option<String>>,
    /// Address of this server.
    own_url: String,
    unreached: Mutex<Option<Unreached>>,
    /// Whether each answer is the last one of its connection.
    is_closing: AtomicBool,
    connections_max: usize,
    source_connections_max: usize,
    /// Proves to this server that it is the one that it has asked; `None` in tests without a check.
    start_proof: Option<StartProof>,
    /// Whether browsers reach the server over TLS only.
    behind_tls: bool,
}

/// The servers that may answer a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answering {
    /// Each that decides.
    Any,
    /// This one, once it decides: servers that take one another for the one that does must not pass
    /// a request on for ever.
    This,
}

impl Forwarder {
    /// A forwarder for a cluster. `holder` has the URL of the server that decides; `None` while
    /// none is known, or if it is this one and does not answer yet. At most `connections_max`
    /// clients are connected at once.
    pub fn new(
        secret: &ClusterSecret,
        connections_max: usize,
        holder: watch::Receiver<Option<String>>,
    ) -> Self {
        Self {
            client: ForwardingClient::new(),
            seal: ForwardingSeal::new(secret),
            proxies: TrustedProxies::default(),
            holder,
            own_url: String::new(),
            unreached: Mutex::new(None),
            is_closing: AtomicBool::new(false),
            connections_max,
            source_connections_max: 0,
            start_proof: None,
            behind_tls: false,
        }
    }

    /// Sets the URL at which others reach this server, and it itself once it decides.
    #[must_use]
    pub fn reached_at(self, own_url: String) -> Self {
        Self { own_url, ..self }
    }

    /// Sets the networks of trusted proxies, and the header in which they name the client address.
    #[must_use]
    pub fn behind(self, networks: Vec<IpNet>, header: ForwardingHeader) -> Self {
        Self { proxies: TrustedProxies { networks, header }, ..self }
    }

    /// Sets the maximum number of connections of one source, except for trusted proxies; 0, the
    /// default, stands for no maximum.
    #[must_use]
    pub fn limited_per_source(self, connections_max: usize) -> Self {
        Self { source_connections_max: connections_max, ..self }
    }

    /// Sets whether TLS protects the server. Reference 3.3.
    #[must_use]
    pub fn behind_tls(self, behind_tls: bool) -> Self {
        Self { behind_tls, ..self }
    }

    /// Answers with the proof of this start, where it is asked for.
    #[must_use]
    pub fn proving(self, proof: StartProof) -> Self {
        Self { start_proof: Some(proof), ..self }
    }

    async fn answer(&self, request: Request<Incoming>, peer: SocketAddr) -> Response {
        let mut response = self.answer_by_any(request, peer).await;
        if self.behind_tls {
            require_tls(&mut response);
        }
        response
    }

    /// Returns the answer of this server, or that of the one that decides.
    async fn answer_by_any(&self, mut request: Request<Incoming>, peer: SocketAddr) -> Response {
        match HealthCheck::at(request.uri().path()) {
            Some(HealthCheck::Alive) => return health::alive(),
            Some(HealthCheck::Ready) => return self.readiness(request.headers()),
            None => {}
        }
        // The server that decides answers, and logs, with the same id.
        let id = RequestId::from_headers(request.headers());
        let is_from_page = request.headers().contains_key(ORIGIN);
        request.headers_mut().insert(X_REQUEST_ID, id.clone().into_header());
        let request_from = self.seal.take(&mut request, SystemClock.now());
        let request = request.map(Body::new);
        let mut response = match request_from {
            Ok(None) => {
                let client = self.proxies.source(peer.ip(), request.headers());
                self.forward(request, ForwardedFrom::Client(client), Answering::Any).await
            }
            Ok(Some(from)) => self.forward(request, from, Answering::This).await,
            Err(WrongSeal) => ApiError::wrong_seal().into_response(),
        };
        if !response.headers().contains_key(X_REQUEST_ID) {
            // The answer of this server, which tells of no group.
            response.headers_mut().insert(X_REQUEST_ID, id.into_header());
            AllowedPages::All.mark(&mut response, is_from_page);
        }
        response
    }

    /// Answers a request that came over the operator's socket. A file is written only on the
    /// machine on which the command names it.
    async fn answer_operator(&self, request: Request<Body>) -> Response {
        if request.uri().path().starts_with(BACKUPS) {
            let holder = self.holder.borrow().clone();
            let holder = holder.unwrap_or_else(|| "none is known now".to_owned());
            let rule = format!(
                "this server follows its cluster, and a backup is a file on the machine of the \
                 server that decides ({holder}): run the command there"
            );
            return ApiError::new(Problem::Conflict, rule).closing().into_response();
        }
        self.forward(request, ForwardedFrom::OperatorSocket, Answering::Any).await
    }

    /// Returns the answer of the server that decides. Its body comes as that server sends it, and
    /// breaks off where it does. A request that was not sent waits for such a server.
    async fn forward(
        &self,
        request: Request<Body>,
        from: ForwardedFrom,
        answering: Answering,
    ) -> Response {
        if request.method() == Method::CONNECT {
            let rule = "this server opens no connections to others";
            return ApiError::new(Problem::MethodNotAllowed, rule).closing().into_response();
        }
        let (mut head, body) = request.into_parts();
        let body = RetainedBody::new(body);
        prepare(&mut head);
        let began = Instant::now();
        let mut pause = FIRST_PAUSE;
        let mut other_since = None;
        let mut seen = self.holder.clone();
        loop {
            let holder = seen.borrow_and_update().clone();
            let reason = match holder {
                None => {
                    other_since = None;
                    "no server is known to decide"
                }
                Some(holder) if answering == Answering::This && holder != self.own_url => {
                    let reason = "this server does not decide";
                    let since: &mut Instant = other_since.get_or_insert_with(Instant::now);
                    if since.elapsed() >= OTHER_HOLDER_TIME {
                        return ApiError::not_forwarded(reason).into_response();
                    }
                    reason
                }
                Some(holder) => match self.send(&holder, &head, body.clone(), from).await {
                    Ok(response) => return response,
                    Err(NotSent(reason)) => reason,
                },
            };
            if body.is_begun() || self.has_waited(began, answering) {
                return ApiError::not_forwarded(reason).into_response();
            }
            tokio::select! {
                () = next_change(&mut seen) => pause = FIRST_PAUSE,
                () = tokio::time::sleep(pause) => pause = (pause * 2).min(LONGEST_PAUSE),
            }
        }
    }

    /// Returns the answer of the server at `holder`, or 503 if whether it answers is not known.
    ///
    /// # Errors
    /// [`NotSent`], with the reason.
    async fn send(
        &self,
        holder: &str,
        head: &request::Parts,
        body: RetainedBody,
        from: ForwardedFrom,
    ) -> Result<Response, NotSent> {
        let Some(uri) = uri_at(holder, &head.uri) else {
            tracing::warn!(url = holder, "the server that decides has no usable URL: --advertise");
            return Err(NotSent("the server that decides has a wrong address"));
        };
        let is_read = head.method.is_safe();
        let sealed = self.seal.seal(from, &head.method, &uri, SystemClock.now());
        let mut request = Request::from_parts(head.clone(), body);
        *request.uri_mut() = uri;
        request.headers_mut().insert(X_SLOTBOOK_FORWARDED, sealed);
        let answered = tokio::select! {
            answered = self.client.send(request) => answered,
            () = self.holder_changes(holder) => {
                return Ok(ApiError::unanswered(is_read).into_response());
            }
        };
        match answered {
            Ok(mut response) => {
                *self.unreached.lock() = None;
                remove_hop_headers(response.headers_mut());
                *response.version_mut() = Version::HTTP_11;
                Ok(response.map(Body::new))
            }
            Err(error) if error.is_connect() => {
                tracing::debug!(%error, url = holder, "the server that decides was not reached");
                Err(NotSent("the server that decides cannot be reached"))
            }
            Err(error) => {
                tracing::debug!(%error, url = holder, "the server that decides has not answered");
                Ok(ApiError::unanswered(is_read).into_response())
            }
        }
    }

    /// Whether a request that began to wait at `began` waits no longer. While a cluster has no
    /// server that decides for long, requests are refused at once.
    fn has_waited(&self, began: Instant, answering: Answering) -> bool {
        let since = match answering {
            Answering::Any => self.note_unreached(),
            Answering::This => began,
        };
        since.elapsed() >= HOLDING_TIME
    }

    /// Notes that no server that decides was reached, and returns since when. What no request has
    /// tried for long is not known any more.
    fn note_unreached(&self) -> Instant {
        let now = Instant::now();
        let mut unreached = self.unreached.lock();
        let since = match *unreached {
            Some(Unreached { since, last }) if now - last < HOLDING_TIME => since,
            _ => now,
        };
        *unreached = Some(Unreached { since, last: now });
        since
    }

    /// Returns some time after another server decides than the one with this URL. A server that was
    /// stopped answers nothing, and its machine keeps the connection.
    async fn holder_changes(&self, holder: &str) {
        let mut seen = self.holder.clone();
        while seen.borrow_and_update().as_deref() == Some(holder) {
            next_change(&mut seen).await;
        }
        tokio::time::sleep(FORMER_HOLDER_TIME).await;
    }
}

/// Returns once another server decides, or none; never where none is awaited any more.
async fn next_change(holder: &mut watch::Receiver<Option<String>>) {
    if holder.changed().await.is_err() {
        std::future::pending().await
    }
}

impl Successor for Forwarder {
    fn pass_on(&self, request: Request<Body>, from: ForwardedFrom) -> BoxFuture<'_, Response> {
        self.forward(request, from, Answering::Any).map(closing).boxed()
    }

    fn pass_command_on(&self, request: Request<Body>) -> BoxFuture<'_, Response> {
        self.answer_operator(request).boxed()
    }

    fn readiness(&self, headers: &HeaderMap) -> Response {
        let mut response = health::following(self.holder.borrow().as_deref());
        if let Some(proof) = &self.start_proof {
            proof.answer(headers, &mut response);
        }
        response
    }
}

/// The time in which no server that decides was reached.
#[derive(Clone, Copy, Debug)]
struct Unreached {
    since: Instant,
    /// The last try.
    last: Instant,
}

/// Reason why nothing of a request was sent.
struct NotSent(&'static str);

/// Makes an answer the last one of its connection.
fn closing(mut response: Response) -> Response {
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Makes the head of a request one to another server. Its host stays.
fn prepare(head: &mut request::Parts) {
    remove_hop_headers(&mut head.headers);
    let is_older = head.version != Version::HTTP_11;
    head.version = Version::HTTP_11;
    // This server asks for the body itself, by reading it.
    head.headers.remove(EXPECT);
    if is_older && !head.headers.contains_key(HOST) {
        // Only HTTP/1.1 needs one.
        head.headers.insert(HOST, HeaderValue::from_static(""));
    }
}

/// Removes the headers that are about one connection, as RFC 9110, 7.6.1 has it. No client takes
/// the host from its request by that.
fn remove_hop_headers(headers: &mut HeaderMap) {
    let mut named = Vec::new();
    for value in headers.get_all(CONNECTION) {
        for name in value.as_bytes().split(|byte| *byte == b',') {
            named.extend(HeaderName::from_bytes(name.trim_ascii()).ok());
        }
    }
    for name in named.into_iter().filter(|name| name != HOST) {
        headers.remove(name);
    }
    for name in [
        CONNECTION,
        KEEP_ALIVE,
        PROXY_AUTHENTICATE,
        PROXY_AUTHORIZATION,
        PROXY_CONNECTION,
        TE,
        TRAILER,
        TRANSFER_ENCODING,
        UPGRADE,
    ] {
        headers.remove(name);
    }
}

/// The connections of a server that has followed its cluster.
pub struct FollowingConnections {
    graceful: GracefulShutdown,
    forwarder: Arc<Forwarder>,
}

impl FollowingConnections {
    /// Closes each connection after its next answer, or once it has had no request for long. One
    /// that was closed at once could meet a request on its way.
    pub async fn finish_slowly(self) {
        self.forwarder.is_closing.store(true, Ordering::SeqCst);
        tokio::time::sleep(LAST_REQUEST_TIME).await;
        self.finish().await;
    }

    /// Closes connections without a request, and the others after their answer. Waits for them for
    /// seven seconds.
    pub async fn finish(self) {
        // Longer ones go on as long as the runtime.
        let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, self.graceful.shutdown()).await;
    }
}

/// Serves /healthz and /readyz, and forwards everything else, until `following` completes. Returns
/// its output and the open connections, which go on until they are finished.
pub async fn serve_following<T>(
    following: impl Future<Output = T>,
    listener: &TcpListener,
    forwarder: &Arc<Forwarder>,
) -> (T, FollowingConnections) {
    let table = ConnectionTable::new(forwarder.connections_max, forwarder.source_connections_max);
    let graceful = GracefulShutdown::new();
    let is_proxy = |address| forwarder.proxies.trusts(address);
    let start = |stream, peer, place| {
        spawn_connection(stream, peer, place, Arc::clone(forwarder), &graceful);
    };
    let accept_all = accept_all(listener, &table, is_proxy, start);
    let followed = tokio::select! {
        biased;
        followed = following => followed,
        () = accept_all => unreachable!("it accepts for ever"),
    };
    (followed, FollowingConnections { graceful, forwarder: Arc::clone(forwarder) })
}

/// Forwards the operator's commands to the server that decides, until it is dropped. Requests under
/// way then go on, and the listener can be served anew.
pub async fn serve_operator_following(listener: &UnixListener, forwarder: &Arc<Forwarder>) {
    let forwarder = Arc::clone(forwarder);
    let answer = move |request: Request<Incoming>| {
        let forwarder = Arc::clone(&forwarder);
        async move { forwarder.answer_operator(request.map(Body::new)).await }
    };
    serve_commands(listener, answer).await;
}

/// Starts a task that forwards the requests of a connection.
fn spawn_connection(
    stream: TcpStream,
    peer: SocketAddr,
    place: ConnectionPlace,
    forwarder: Arc<Forwarder>,
    graceful: &GracefulShutdown,
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection was closed before its first request");
    }
    let activity = Arc::clone(&place.activity);
    let stream = SlowReaderTimeout::new(stream, Arc::clone(&activity));
    let service = service_fn(move |request| {
        let forwarder = Arc::clone(&forwarder);
        let answered = async move {
            let response = forwarder.answer(request, peer).await;
            let is_last = forwarder.is_closing.load(Ordering::SeqCst);
            if is_last { closing(response) } else { response }
        };
        note_activity(Arc::clone(&activity), answered)
    });
    let stream = TokioIo::new(RequestTargetFilter::new(stream));
    let connection = graceful.watch(connection_builder().serve_connection(stream, service));
    tokio::spawn(run_in_place(connection, place));
}

#[cfg(test)]
mod tests;
