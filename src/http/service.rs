//! The service that answers requests: routing, panics, headers for web pages, metrics. Reference
//! 1.1.

use std::any::Any;
use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{RawPathParams, Request, State};
use axum::http::header::{ACCEPT_ENCODING, ACCESS_CONTROL_REQUEST_METHOD, HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderValue, Method, StatusCode, Uri, Version};
use axum::middleware::map_response;
use axum::response::{IntoResponse, Response};
use axum::routing::on;
use hyper::body::Incoming;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use tower_http::compression::Compression;

use crate::clock::{Clock as _, SystemClock};
use crate::http::answer::compression::{
    COMPRESSION, LONG_COMPRESSION, WorthCompressing, WorthCompressingWell, accepts_gzip,
    mark_compressible,
};
use crate::http::answer::leased::LeasedRequest;
use crate::http::answer::piecewise_body::in_pieces;
use crate::http::connection::connection_table::SourceExemption;
use crate::http::connection::departure::AnsweredBy;
use crate::http::connection::forwarding_seal::{ForwardedFrom, ForwardingSeal, WrongSeal};
use crate::http::connection::request_id::{CURRENT, RequestId, X_REQUEST_ID};
use crate::http::cors::{AllowedPages, may_send_credentials, preflight_response};
use crate::http::error::ApiError;
use crate::http::metrics::HttpMetrics;
use crate::http::request::{AtOperatorSocket, ClientAddress, XmlRequested};
use crate::http::resources::health::HealthCheck;
use crate::http::response::{hold_until_sent, require_tls};
use crate::http::route_table::{operator_endpoints, routes};
use crate::http::server::{ClusterRequests, Server};
use crate::http::{openapi, pipeline};
use crate::wire::errors::Problem;
use crate::wire::params::Params;

/// Stands for the operator's socket, which has no address. No connection comes from it.
const SOCKET_ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// The service that answers requests.
#[derive(Clone)]
pub struct HttpService {
    router: TowerToHyperService<Router>,
    /// The same router for requests that accept gzip. The outer layer compresses what the inner one
    /// leaves.
    compressing: TowerToHyperService<
        Compression<Compression<Router, WorthCompressingWell>, WorthCompressing>,
    >,
    pub(crate) server: Arc<Server>,
    pub(crate) metrics: Arc<HttpMetrics>,
}

impl HttpService {
    /// Builds the service of a server, with the pages that `pages` makes.
    pub fn new(mut server: Server, pages: impl FnOnce(Arc<Server>) -> Router) -> Self {
        server.openapi_document = openapi::fixed_document;
        server.known_names = openapi::known_names;
        let server = Arc::new(server);
        let metrics = Arc::clone(&server.metrics);
        let mut router = Router::new();
        for route in routes() {
            let handler = move |State(server): State<Arc<Server>>,
                                ids: Result<RawPathParams, _>,
                                request: Request| {
                pipeline::respond(server, route, ids.ok(), request)
            };
            router = router.route(route.path(), on(route.endpoint.method.filter(), handler));
        }
        for endpoint in operator_endpoints() {
            let handler = move |State(server): State<Arc<Server>>, request: Request| {
                pipeline::respond_to_operator(server, endpoint, request)
            };
            router = router.route(endpoint.path, on(endpoint.method.filter(), handler));
        }
        let router = router
            .with_state(Arc::clone(&server))
            .merge(pages(Arc::clone(&server)).layer(map_response(divide_long)))
            .fallback(not_found)
            .method_not_allowed_fallback(method_not_allowed);
        let compressing = Compression::new(router.clone()).quality(COMPRESSION);
        let compressing = Compression::new(compressing.compress_when(WorthCompressingWell));
        let compressing = compressing.quality(LONG_COMPRESSION).compress_when(WorthCompressing);
        Self {
            router: TowerToHyperService::new(router),
            compressing: TowerToHyperService::new(compressing),
            server,
            metrics,
        }
    }

    /// Answers a request. A panic of a handler becomes a 500, and affects no other request. The
    /// answer has the id of the request, and so has each line of the log about it.
    pub(crate) async fn respond<B>(
        &self,
        request: Box<hyper::Request<B>>,
        peer: SocketAddr,
    ) -> Response
    where
        B: HttpBody<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let id = RequestId::from_headers(request.headers());
        let mut response = match &self.server.cluster {
            None => CURRENT.scope(id.clone(), self.answer(request, peer, None)).await,
            Some(cluster) => {
                let answering = self.answer_in_cluster(cluster, request, peer);
                // On the heap, so that a server without a cluster has no larger futures.
                Box::pin(CURRENT.scope(id.clone(), answering)).await
            }
        };
        response.headers_mut().insert(X_REQUEST_ID, id.into_header());
        if self.server.authenticator.sessions.behind_tls {
            require_tls(&mut response);
        }
        response
    }

    /// Answers a request to a server of a cluster: here, or by way of its successor once it has
    /// handed over. Its health is its own.
    async fn answer_in_cluster<B>(
        &self,
        cluster: &ClusterRequests,
        mut request: Box<hyper::Request<B>>,
        peer: SocketAddr,
    ) -> Response
    where
        B: HttpBody<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let Ok(from) = open_seal(&cluster.seal, &mut request) else {
            return ApiError::wrong_seal().into_response();
        };
        let departure = &cluster.departure;
        let _under_way = match (HealthCheck::at(request.uri().path()), departure.begun()) {
            (Some(HealthCheck::Ready), Some(successor)) => {
                return successor.readiness(request.headers());
            }
            (Some(_), _) => None,
            (None, _) => match departure.enter().await {
                AnsweredBy::This(permit) => Some(permit),
                AnsweredBy::Successor(successor) => {
                    let from = from.unwrap_or_else(|| {
                        let client = self.server.proxies.source(peer.ip(), request.headers());
                        ForwardedFrom::Client(client)
                    });
                    return successor.pass_on(request.map(Body::new), from).await;
                }
            },
        };
        match from {
            Some(ForwardedFrom::OperatorSocket) => self.respond_to_operator(*request).await,
            from => self.answer(request, peer, from.and_then(ForwardedFrom::client)).await,
        }
    }

    /// Answers a request that came over the operator's socket: here, or by way of the successor of
    /// a server that has handed over.
    pub(crate) async fn respond_at_operator_socket(
        &self,
        request: hyper::Request<Incoming>,
    ) -> Response {
        let Some(cluster) = &self.server.cluster else {
            return self.respond_to_operator(request).await;
        };
        match cluster.departure.enter().await {
            AnsweredBy::This(_under_way) => self.respond_to_operator(request).await,
            AnsweredBy::Successor(successor) => {
                successor.pass_command_on(request.map(Body::new)).await
            }
        }
    }

    /// Answers a request of a peer, or of the client `forwarded` by way of another server of the
    /// cluster.
    async fn answer<B>(
        &self,
        request: Box<hyper::Request<B>>,
        peer: SocketAddr,
        forwarded: Option<IpAddr>,
    ) -> Response
    where
        B: HttpBody<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let began = tokio::time::Instant::now();
        let method = request.method().clone();
        let headers = request.headers();
        let client = match forwarded {
            None => self.server.proxies.source(peer.ip(), headers),
            Some(client) => client,
        };
        let is_proxied = self.server.proxies.trusts(peer.ip());
        let share = if is_proxied || forwarded.is_some() {
            if forwarded.is_none() {
                let header = self.server.proxies.header;
                self.server.unbelieved_headers.warn_of_other(header, headers);
            }
            match self.server.forwarded_requests.take(client, 1) {
                Some(share) => Some(share),
                None => {
                    let response = too_many_requests();
                    self.metrics.record_response(&method, &response, began.elapsed());
                    return response;
                }
            }
        } else {
            self.server.unbelieved_headers.warn(peer.ip(), headers);
            None
        };
        let directory = || self.server.engine.published().directory();
        let pages = AllowedPages::find(&method, headers, request.uri(), directory);
        let is_from_page = headers.contains_key(ORIGIN);
        let is_preflight =
            method == Method::OPTIONS && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        let may_log_in = is_preflight && may_send_credentials(headers, request.uri(), directory);
        let mut request = Box::new(strip_suffix(request.map(Body::new)));
        request.extensions_mut().insert(ClientAddress(client));
        let mut response = self.route(request).await;
        // No route takes OPTIONS, so 405 means that the path exists.
        if is_preflight && response.status() == StatusCode::METHOD_NOT_ALLOWED {
            response = preflight_response(&response, may_log_in);
        }
        pages.mark(&mut response, is_from_page && !is_preflight);
        let elapsed = began.elapsed();
        let micros = elapsed.as_micros();
        self.metrics.record_response(&method, &response, elapsed);
        tracing::debug!(
            %peer, source = %client, %method, status = response.status().as_u16(), micros, "answered"
        );
        match share {
            // A request is under way until its response is sent.
            Some(share) => hold_until_sent(response, share),
            None => response,
        }
    }

    /// Answers a request that came over the operator's socket, or in this process from its command.
    /// Neither limits by source nor pages of other sites concern it.
    pub(crate) async fn respond_to_operator<B>(&self, request: hyper::Request<B>) -> Response
    where
        B: HttpBody<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let mut request = Box::new(strip_suffix(request.map(Body::new)));
        request.extensions_mut().insert(ClientAddress(SOCKET_ADDRESS));
        request.extensions_mut().insert(AtOperatorSocket);
        self.route(request).await
    }

    /// Returns the answer of a request's route, or 503 in a cluster if it may not leave this
    /// server.
    async fn route(&self, request: Box<Request>) -> Response {
        let Some(lease) = self.server.engine.lease() else {
            return self.route_anyway(request).await;
        };
        let leased = LeasedRequest::new(lease, request.method(), request.uri());
        // On the heap, so that a server without a cluster has no larger futures.
        Box::pin(leased.answer(self.route_anyway(request))).await
    }

    /// Returns the answer of a request's route, compressed if it is worth it and accepted.
    async fn route_anyway(&self, mut request: Box<Request>) -> Response {
        if let Err(rule) = check_host(&request) {
            return ApiError::new(Problem::InvalidParameter, rule).closing().into_response();
        }
        let query = request.uri().query().unwrap_or_default();
        if let Err(rule) = Params::check_request(query) {
            let rule = format!("the query {rule}");
            return ApiError::new(Problem::InvalidParameter, rule).closing().into_response();
        }
        let answered = if accepts_gzip(request.headers()) {
            // Otherwise the library would weigh gzip against codings that it does not have, and
            // answer 406 although the write was done.
            request.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
            let answer = CatchPanic(pin!(self.compressing.call(*request))).await;
            answer.map(|Ok(response)| response.map(Body::new))
        } else {
            let answer = CatchPanic(pin!(self.router.call(*request))).await;
            answer.map(|Ok(mut response)| {
                mark_compressible(&mut response);
                response
            })
        };
        answered.unwrap_or_else(|_| ApiError::internal().into_response())
    }
}

/// Returns the origin of a request, if another server of the cluster has forwarded it. The
/// connections of such a server carry the requests of many clients, which are counted.
fn open_seal<B>(
    seal: &ForwardingSeal,
    request: &mut hyper::Request<B>,
) -> Result<Option<ForwardedFrom>, WrongSeal> {
    let from = seal.take(request, SystemClock.now());
    if let Some(exemption) = request.extensions_mut().remove::<SourceExemption>()
        && matches!(from, Ok(Some(_)))
    {
        exemption.exempt();
    }
    from
}

/// Returns the answer to a request of a client with too many under way. Its body is unread.
fn too_many_requests() -> Response {
    ApiError::too_many("requests are under way from this address", 1).closing().into_response()
}

/// Checks that a request names one host, as RFC 9112, 3.2 has it. Servers in a row might otherwise
/// read different ones. HTTP/1.0 need not name any.
fn check_host(request: &Request) -> Result<(), &'static str> {
    let mut hosts = request.headers().get_all(HOST).iter();
    let Some(host) = hosts.next() else {
        if request.version() == Version::HTTP_11 {
            return Err("the request has no header Host: HTTP/1.1 needs one");
        }
        return Ok(());
    };
    if hosts.next().is_some() {
        return Err("the request has several headers Host: give one");
    }
    // A target without a host has an empty one.
    if host.is_empty() || is_plain_host(host.as_bytes()) || is_host_with_port(host.as_bytes()) {
        Ok(())
    } else {
        Err("the header Host is wrong: give a name or an address, with or without a port")
    }
}

/// Whether a text is a name or an IPv4 address, with a port of at most four digits or without one.
/// Nearly every request names its host so, and [`is_host_with_port`] would copy it.
fn is_plain_host(text: &[u8]) -> bool {
    let colon = text.iter().position(|byte| *byte == b':').unwrap_or(text.len());
    let (name, port) = text.split_at(colon);
    let digits = port.strip_prefix(b":").unwrap_or_default();
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._".contains(byte);
    !name.is_empty()
        && name.iter().all(is_plain)
        && digits.len() <= 4
        && digits.iter().all(u8::is_ascii_digit)
}

/// Whether a text is a host with a port or without one.
fn is_host_with_port(text: &[u8]) -> bool {
    let Ok(authority) = Authority::try_from(text) else { return false };
    let host = authority.host();
    let port = authority.as_str().strip_prefix(host);
    let is_port = |port: &str| port.is_empty() || port == ":" || authority.port_u16().is_some();
    !host.is_empty() && port.is_some_and(is_port)
}

/// Removes the suffix `.json` or `.xml` from a request's path.
fn strip_suffix(mut request: Request) -> Request {
    let path = request.uri().path();
    let (stem, is_xml) = if let Some(stem) = path.strip_suffix(".json") {
        (stem, false)
    } else if let Some(stem) = path.strip_suffix(".xml") {
        (stem, true)
    } else {
        return request;
    };
    let target = match request.uri().query() {
        Some(query) => format!("{stem}?{query}"),
        None => stem.to_owned(),
    };
    // An empty stem is no target. The path then stays as it is, and no route has it.
    let Ok(uri) = target.parse::<Uri>() else { return request };
    *request.uri_mut() = uri;
    if is_xml {
        request.extensions_mut().insert(XmlRequested);
    }
    request
}

async fn divide_long(response: Response) -> Response {
    in_pieces(response)
}

async fn not_found() -> ApiError {
    ApiError::new(Problem::NoResult, "no such path: the page /docs lists all paths")
}

async fn method_not_allowed() -> ApiError {
    ApiError::new(
        Problem::MethodNotAllowed,
        "the path does not take this method: the header Allow lists its methods",
    )
}

/// A future that returns a panic as an error.
struct CatchPanic<'f, F>(Pin<&'f mut F>);

impl<F: Future> Future for CatchPanic<'_, F> {
    type Output = Result<F::Output, Box<dyn Any + Send>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(context))) {
            Ok(poll) => poll.map(Ok),
            Err(panic) => Poll::Ready(Err(panic)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_host_is_a_host() {
        for (text, is_plain) in [
            ("localhost", true),
            ("my-shop_1.example.org:8080", true),
            ("127.0.0.1:80", true),
            ("a:", true),
            ("a:12345", false),
            ("[::1]:80", false),
            ("a~b", false),
        ] {
            assert_eq!(is_plain_host(text.as_bytes()), is_plain, "{text}");
            assert!(is_host_with_port(text.as_bytes()), "{text}");
        }
        for text in ["", ":80", "a b", "a/b", "user@a", "a:b", "a:+80", "a:80:", "é", "a:99999"] {
            assert!(!is_plain_host(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn a_suffix_is_removed_and_the_query_stays() {
        let stripped = |uri: &str| {
            let request = Request::builder().uri(uri).body(Body::empty()).expect("a request");
            strip_suffix(request).uri().to_string()
        };
        assert_eq!(stripped("/api/v1/groups.json?apikey=a.json"), "/api/v1/groups?apikey=a.json");
        assert_eq!(stripped("/api/v1/groups/4.xml"), "/api/v1/groups/4");
        assert_eq!(stripped("/api/v1/groups?a=b.json"), "/api/v1/groups?a=b.json");
    }
}
