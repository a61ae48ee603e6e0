//! A server that follows its cluster: it forwards each request to the server that decides, and each
//! answer back, piece by piece. Reference 11.1.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{
    CONNECTION, EXPECT, HOST, HeaderName, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderMap, HeaderValue, Method, Request, Uri, Version};
use axum::response::{IntoResponse as _, Response};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::GracefulShutdown;
use ipnet::IpNet;
use tokio::net::{TcpListener, TcpStream, UnixListener};

use crate::clock::{Clock as _, SystemClock};
use crate::domain::directory::cluster_secret::ClusterSecret;
use crate::http::connection::connection_table::{ConnectionPlace, ConnectionTable};
use crate::http::connection::forwarded::{ForwardingHeader, TrustedProxies};
use crate::http::connection::forwarding_client::ForwardingClient;
use crate::http::connection::forwarding_seal::{
    ForwardedFrom, ForwardingSeal, WrongSeal, X_SLOTBOOK_FORWARDED,
};
use crate::http::connection::listener::{
    SHUTDOWN_TIMEOUT, accept_all, connection_builder, note_activity, run_in_place, serve_commands,
};
use crate::http::connection::request_target::RequestTargetFilter;
use crate::http::connection::slow_reader_timeout::SlowReaderTimeout;
use crate::http::error::ApiError;
use crate::http::resources::health;
use crate::http::resources::operator::store::BACKUPS;
use crate::wire::errors::Problem;

/// Pause between two looks at which server decides, while its answer is awaited.
const HOLDER_LOOK_PAUSE: Duration = Duration::from_millis(250);
/// Headers about one connection that the standard library of HTTP does not name.
const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");

/// Forwards requests to the server of the cluster that decides.
pub struct Forwarder {
    client: ForwardingClient,
    seal: ForwardingSeal,
    proxies: TrustedProxies,
    /// Returns the address of the server that decides, if another is known to.
    holder: Box<dyn Fn() -> Option<String> + Send + Sync>,
    connections_max: usize,
    source_connections_max: usize,
}

impl Forwarder {
    /// A forwarder for a cluster. `holder` returns the URL of the server that decides; `None` if
    /// none is known, or if it is this one. At most `connections_max` clients are connected at
    /// once.
    pub fn new(
        secret: &ClusterSecret,
        connections_max: usize,
        holder: impl Fn() -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        Self {
            client: ForwardingClient::new(),
            seal: ForwardingSeal::new(secret),
            proxies: TrustedProxies::default(),
            holder: Box::new(holder),
            connections_max,
            source_connections_max: 0,
        }
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

    async fn answer(&self, mut request: Request<Incoming>, peer: SocketAddr) -> Response {
        match request.uri().path() {
            "/healthz" => return health::alive(),
            "/readyz" => return health::following((self.holder)().as_deref()),
            _ => {}
        }
        // Servers that take one another for the one that decides must not pass it on for ever.
        match self.seal.take(&mut request, SystemClock.now()) {
            Ok(None) => {}
            Ok(Some(_)) => return ApiError::not_forwarded("no server decides yet").into_response(),
            Err(WrongSeal) => return ApiError::wrong_seal().into_response(),
        }
        let client = self.proxies.source(peer.ip(), request.headers());
        self.forward(request, ForwardedFrom::Client(client)).await
    }

    /// Answers a request that came over the operator's socket. A file is written only on the
    /// machine on which the command names it.
    async fn answer_operator(&self, request: Request<Incoming>) -> Response {
        if request.uri().path().starts_with(BACKUPS) {
            let holder = (self.holder)().unwrap_or_else(|| "none is known now".to_owned());
            let rule = format!(
                "this server follows its cluster, and a backup is a file on the machine of the \
                 server that decides ({holder}): run the command there"
            );
            return ApiError::new(Problem::Conflict, rule).closing().into_response();
        }
        self.forward(request, ForwardedFrom::OperatorSocket).await
    }

    /// Returns the answer of the server that decides. Its body comes as that server sends it, and
    /// breaks off where it does.
    async fn forward(&self, mut request: Request<Incoming>, from: ForwardedFrom) -> Response {
        if request.method() == Method::CONNECT {
            let rule = "this server opens no connections to others";
            return ApiError::new(Problem::MethodNotAllowed, rule).closing().into_response();
        }
        let Some(holder) = (self.holder)() else {
            return ApiError::not_forwarded("no server is known to decide").into_response();
        };
        let Some(uri) = uri_at(&holder, request.uri()) else {
            tracing::warn!(url = holder, "the server that decides has no usable URL: --advertise");
            return ApiError::not_forwarded("the server that decides has a wrong address")
                .into_response();
        };
        let is_read = request.method().is_safe();
        let sealed = self.seal.seal(from, request.method(), &uri, SystemClock.now());
        *request.uri_mut() = uri;
        prepare(&mut request, sealed);
        let answered = tokio::select! {
            answered = self.client.send(request) => answered,
            () = self.holder_changes(&holder) => {
                return ApiError::unanswered(is_read).into_response();
            }
        };
        match answered {
            Ok(mut response) => {
                remove_hop_headers(response.headers_mut());
                *response.version_mut() = Version::HTTP_11;
                response.map(Body::new)
            }
            Err(error) if error.is_connect() => {
                tracing::debug!(%error, url = holder, "the server that decides was not reached");
                ApiError::not_forwarded("the server that decides cannot be reached").into_response()
            }
            Err(error) => {
                tracing::debug!(%error, url = holder, "the server that decides has not answered");
                ApiError::unanswered(is_read).into_response()
            }
        }
    }

    /// Returns once another server decides than the one with this URL. A server that was stopped
    /// answers nothing, and its machine keeps the connection.
    async fn holder_changes(&self, holder: &str) {
        loop {
            tokio::time::sleep(HOLDER_LOOK_PAUSE).await;
            if (self.holder)().as_deref() != Some(holder) {
                return;
            }
        }
    }
}

/// Returns the address of a request's target at another server.
fn uri_at(server: &str, target: &Uri) -> Option<Uri> {
    let mut parts = server.parse::<Uri>().ok()?.into_parts();
    let target = target.path_and_query().cloned();
    parts.path_and_query = Some(target.unwrap_or_else(|| PathAndQuery::from_static("/")));
    parts.scheme.as_ref()?;
    Uri::from_parts(parts).ok()
}

/// Makes a request one to another server. Its host stays.
fn prepare<B>(request: &mut Request<B>, sealed: HeaderValue) {
    remove_hop_headers(request.headers_mut());
    let is_older = request.version() != Version::HTTP_11;
    *request.version_mut() = Version::HTTP_11;
    let headers = request.headers_mut();
    // This server asks for the body itself, by reading it.
    headers.remove(EXPECT);
    headers.insert(X_SLOTBOOK_FORWARDED, sealed);
    if is_older && !headers.contains_key(HOST) {
        // Only HTTP/1.1 needs one.
        headers.insert(HOST, HeaderValue::from_static(""));
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
pub struct FollowingConnections(GracefulShutdown);

impl FollowingConnections {
    /// Closes connections without a request, and the others after their answer. Waits for them for
    /// seven seconds.
    pub async fn finish(self) {
        // Longer ones go on as long as the runtime.
        let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, self.0.shutdown()).await;
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
    (followed, FollowingConnections(graceful))
}

/// Forwards the operator's commands to the server that decides, until it is dropped. Requests under
/// way then go on, and the listener can be served anew.
pub async fn serve_operator_following(listener: &UnixListener, forwarder: &Arc<Forwarder>) {
    let forwarder = Arc::clone(forwarder);
    let answer = move |request| {
        let forwarder = Arc::clone(&forwarder);
        async move { forwarder.answer_operator(request).await }
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
        let answered = async move { forwarder.answer(request, peer).await };
        note_activity(Arc::clone(&activity), answered)
    });
    let stream = TokioIo::new(RequestTargetFilter::new(stream));
    let connection = graceful.watch(connection_builder().serve_connection(stream, service));
    tokio::spawn(run_in_place(connection, place));
}

#[cfg(test)]
mod tests;
