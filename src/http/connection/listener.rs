//! The listener: accepts a bounded number of connections, with timeouts for slow headers and slow
//! readers. Reference 1.1.

use std::convert::Infallible;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::http::header::{CONNECTION, CONTENT_TYPE};
use axum::http::{HeaderValue, Request};
use axum::response::Response;
use futures_util::FutureExt as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::{GracefulConnection, GracefulShutdown};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::sync::Semaphore;

use crate::http::connection::activity::Activity;
use crate::http::connection::connection_table::{
    ConnectionPlace, ConnectionTable, SourceExemption,
};
use crate::http::connection::request_target::RequestTargetFilter;
use crate::http::connection::shared_timer::SharedTimer;
use crate::http::connection::slow_reader_timeout::{SlowReaderTimeout, poll_departure};
use crate::http::service::HttpService;
use crate::http::streams::EVENT_STREAM;

/// Longest time for the headers of a request to arrive, including the pause before the request.
pub(crate) const HEADERS_TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum size of a request line with its headers, in bytes.
const HEAD_BYTES_MAX: usize = 64 * 1_024;
/// Longest time that requests under way may take after the signal to stop.
pub(crate) const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(7);
/// Maximum number of connections at once of the operator's commands. Others wait.
const OPERATOR_CONNECTIONS_MAX: usize = 8;
/// Pause after a failed accept, such as for want of file descriptors.
const ACCEPT_RETRY_PAUSE: Duration = Duration::from_millis(50);

/// Serves at most `connections_max` connections at once until `stop` completes, and closes those of
/// a source above its own maximum. Requests under way then have seven seconds to end.
pub async fn serve(
    listener: TcpListener,
    routes: HttpService,
    connections_max: usize,
    stop: impl Future<Output = ()>,
) {
    let table = ConnectionTable::new(connections_max, routes.server.source_connections_max);
    let graceful = GracefulShutdown::new();
    let is_proxy = |address| routes.server.proxies.trusts(address);
    let start = |stream, peer, place| {
        spawn_connection(stream, peer, place, routes.clone(), &graceful);
    };
    tokio::select! {
        biased;
        () = stop => {}
        () = accept_all(&listener, &table, is_proxy, start) => {}
    }
    drop(listener);
    routes.server.streams.end_all();
    let waiting = graceful.count();
    if tokio::time::timeout(SHUTDOWN_TIMEOUT, graceful.shutdown()).await.is_err() {
        tracing::warn!(waiting, "some connections were closed: their requests took too long");
    }
}

/// Accepts connections for ever, and starts each that has a place.
///
/// A connection is accepted before it has a place: its source, by which places are shared, is not
/// known earlier.
pub(crate) async fn accept_all(
    listener: &TcpListener,
    table: &Arc<ConnectionTable>,
    is_proxy: impl Fn(IpAddr) -> bool,
    mut start: impl FnMut(TcpStream, SocketAddr, ConnectionPlace),
) {
    let accept = async {
        loop {
            match listener.accept().await {
                Ok((stream, peer)) => match table.admit(peer.ip(), is_proxy(peer.ip())).await {
                    Some(place) => start(stream, peer, place),
                    // A trusted proxy's connections carry the requests of many clients, which are
                    // counted.
                    None => {
                        tracing::debug!(%peer, "a connection was closed: its source has too many")
                    }
                },
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_RETRY_PAUSE).await;
                }
            }
        }
    };
    tokio::join!(accept, table.end_overdue());
}

/// Starts a task that answers the requests of a connection.
fn spawn_connection(
    stream: TcpStream,
    peer: SocketAddr,
    place: ConnectionPlace,
    routes: HttpService,
    graceful: &GracefulShutdown,
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection was closed before its first request");
    }
    let connections = routes.metrics.connections.clone();
    // Without a cluster no other server forwards anything.
    let exemption = routes.server.cluster.is_some().then(|| place.exemption());
    let activity = Arc::clone(&place.activity);
    let stream = SlowReaderTimeout::new(stream, Arc::clone(&activity));
    let stream = stream.watching_departure(poll_departure);
    let connection = graceful.watch(open_connection(stream, peer, activity, routes, exemption));
    tokio::spawn(async move {
        connections.increment(1);
        run_in_place(connection, place).await;
        connections.decrement(1);
    });
}

/// Returns the connection of a client over a stream. It answers requests while it is polled.
fn open_connection<S>(
    stream: SlowReaderTimeout<S>,
    peer: SocketAddr,
    activity: Arc<Activity>,
    routes: HttpService,
    exemption: Option<SourceExemption>,
) -> impl GracefulConnection<Error = hyper::Error>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    // A reference count of the connection's own: that of the service is shared by all cores.
    let routes = Arc::new(routes);
    let noted = Arc::clone(&activity);
    let service = service_fn(move |mut request: Request<Incoming>| {
        if let Some(exemption) = &exemption {
            request.extensions_mut().insert(exemption.clone());
        }
        let routes = Arc::clone(&routes);
        // On the heap: each of the futures around it has room for it.
        let request = Box::new(request);
        let decided = async move { routes.respond(request, peer).await };
        note_activity(Arc::clone(&noted), decided)
    });
    let stream = TokioIo::new(RequestTargetFilter::new(stream));
    connection_builder().serve_connection(stream, service)
}

/// Answers the requests of one client over any stream, such as one in memory, until it ends. The
/// client has the address `peer`. No maximum of connections holds. Reference 1.1.
pub async fn serve_stream<S>(stream: S, peer: SocketAddr, routes: HttpService)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let activity = Arc::new(Activity::new());
    let stream = SlowReaderTimeout::new(stream, Arc::clone(&activity));
    if let Err(error) = open_connection(stream, peer, activity, routes, None).await {
        tracing::debug!(%error, "a connection ended with an error");
    }
}

/// Returns the answer to a request, which is noted as the activity of its connection. The last
/// answer says that it is.
///
/// The future is that of the decision with little beside it. An async function would have room for
/// its argument and for what it awaits.
pub(crate) fn note_activity(
    activity: Arc<Activity>,
    decided: impl Future<Output = Response>,
) -> impl Future<Output = Result<Response, Infallible>> {
    activity.begin_decision();
    decided.map(move |mut response| {
        if activity.begin_answer() {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if response.headers().get(CONTENT_TYPE).is_some_and(|it| it == EVENT_STREAM) {
            activity.begin_stream();
        }
        Ok(response)
    })
}

/// Runs a connection until it ends, or until its place is needed. A request that is being decided
/// then still gets its answer, which is the last one.
pub(crate) async fn run_in_place(
    connection: impl Future<Output = hyper::Result<()>>,
    mut place: ConnectionPlace,
) {
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        // The connection first: a request that has just come is not lost.
        biased;
        ended = &mut connection => ended,
        _ = &mut place.ended => {
            if place.activity.waiting_since().is_some() {
                tracing::debug!("a connection was closed: its place was needed");
                return;
            }
            place.activity.end_after_answer();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended with an error");
    }
}

/// Returns the settings of every connection.
pub(crate) fn connection_builder() -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(SharedTimer::default())
        // A client that closes its side after the request still gets the response.
        .half_close(true)
        .header_read_timeout(HEADERS_TIMEOUT)
        .max_buf_size(HEAD_BYTES_MAX);
    builder
}

/// Serves the operator's commands on the socket of the data directory until it is dropped. Requests
/// under way then go on.
pub async fn serve_operator(listener: UnixListener, service: HttpService) {
    let service = Arc::new(service);
    let answer = move |request| {
        let service = Arc::clone(&service);
        async move { service.respond_at_operator_socket(request).await }
    };
    serve_commands(&listener, answer).await;
}

/// Answers the operator's commands until it is dropped. Requests under way then go on.
pub(crate) async fn serve_commands<A>(
    listener: &UnixListener,
    answer: impl Fn(Request<Incoming>) -> A + Clone + Send + 'static,
) where
    A: Future<Output = Response> + Send + 'static,
{
    let permits = Arc::new(Semaphore::new(OPERATOR_CONNECTIONS_MAX));
    loop {
        let permit = Arc::clone(&permits).acquire_owned().await;
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "an operator's command could not be accepted");
                tokio::time::sleep(ACCEPT_RETRY_PAUSE).await;
                continue;
            }
        };
        let answer = answer.clone();
        let answer = service_fn(move |request| answer(request).map(Ok::<_, Infallible>));
        let stream = TokioIo::new(SlowReaderTimeout::new(stream, Arc::new(Activity::new())));
        let connection = connection_builder().serve_connection(stream, answer);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::warn!(%error, "an operator's command left before it was answered");
            }
            drop(permit);
        });
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use http_body_util::BodyExt as _;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
    use tokio::sync::{Notify, oneshot};

    use super::*;

    const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

    /// A connection to a server that decides a request when `decide` is notified.
    struct Exchange {
        client: DuplexStream,
        activity: Arc<Activity>,
        decide: Arc<Notify>,
        end: oneshot::Sender<()>,
    }

    impl Exchange {
        async fn open(sent: &[u8], answer_bytes: usize) -> Self {
            let (ours, mut client) = tokio::io::duplex(4_096);
            let table = ConnectionTable::new(10, 0);
            let from = IpAddr::from([192, 0, 2, 1]);
            let mut place = table.admit(from, false).await.expect("there is room");
            let (end, ended) = oneshot::channel();
            place.ended = ended;
            let activity = Arc::clone(&place.activity);
            let decide = Arc::new(Notify::new());
            let answer = {
                let decide = Arc::clone(&decide);
                let activity = Arc::clone(&activity);
                service_fn(move |request: Request<Incoming>| {
                    let decide = Arc::clone(&decide);
                    let decided = async move {
                        request.into_body().collect().await.expect("a body");
                        decide.notified().await;
                        Response::new(Body::from(vec![0; answer_bytes]))
                    };
                    note_activity(Arc::clone(&activity), decided)
                })
            };
            let stream = TokioIo::new(SlowReaderTimeout::new(ours, Arc::clone(&activity)));
            let connection = connection_builder().serve_connection(stream, answer);
            tokio::spawn(run_in_place(connection, place));
            client.write_all(sent).await.expect("it is open");
            // The runtime has one thread: the server runs until it waits.
            tokio::time::sleep(Duration::from_millis(1)).await;
            Self { client, activity, decide, end }
        }

        fn is_waiting_for_the_client(&self) -> bool {
            self.activity.waiting_since().is_some()
        }

        /// Ends the connection. Returns all that comes until it is closed.
        async fn end(self) -> String {
            self.end.send(()).expect("it runs");
            tokio::time::sleep(Duration::from_millis(1)).await;
            self.decide.notify_one();
            let mut client = self.client;
            let mut rest = Vec::new();
            // A closed connection may be reset.
            let _ = client.read_to_end(&mut rest).await;
            String::from_utf8_lossy(&rest).into_owned()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_waits_for_its_client_ends_at_once() {
        let began = tokio::time::Instant::now();
        let with_body = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n123";
        for sent in [&b""[..], b"GET / HTTP/1.1\r\nHost", with_body] {
            let exchange = Exchange::open(sent, 3).await;
            assert!(exchange.is_waiting_for_the_client());
            assert_eq!(exchange.end().await, "");
        }
        assert!(began.elapsed() < Duration::from_secs(1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_is_being_decided_gets_its_answer_which_is_the_last() {
        let with_body = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n123";
        for sent in [GET, with_body] {
            let exchange = Exchange::open(sent, 3).await;
            assert!(!exchange.is_waiting_for_the_client());
            let answer = exchange.end().await;
            assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
            assert!(answer.contains("connection: close\r\n"), "{answer}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_idle_again_after_its_answer() {
        for answer_bytes in [0, 3, 20_000] {
            let mut exchange = Exchange::open(GET, answer_bytes).await;
            for _ in 0..3 {
                assert!(!exchange.is_waiting_for_the_client());
                exchange.decide.notify_one();
                let mut read = Vec::new();
                while !read.windows(4).any(|end| end == b"\r\n\r\n") {
                    exchange.client.read_buf(&mut read).await.expect("an answer");
                }
                let head = String::from_utf8_lossy(&read).into_owned();
                let head_bytes = head.find("\r\n\r\n").expect("a head") + 4;
                tokio::time::sleep(Duration::from_millis(1)).await;
                assert!(exchange.is_waiting_for_the_client(), "idle, or it takes no bytes");
                let mut rest = vec![0; head_bytes + answer_bytes - read.len()];
                exchange.client.read_exact(&mut rest).await.expect("the rest");
                tokio::time::sleep(Duration::from_millis(1)).await;
                assert!(exchange.activity.crowded_end().is_some(), "the next head is awaited");
                exchange.client.write_all(GET).await.expect("it is open");
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            assert!(exchange.end().await.contains("connection: close\r\n"));
        }
    }
}
