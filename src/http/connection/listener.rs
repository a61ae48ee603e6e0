//! The listener: accepts a bounded number of connections, with timeouts for slow headers and slow
//! readers. Reference 1.1.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::http::connection::request_target::RequestTargetFilter;
use crate::http::connection::shared_timer::SharedTimer;
use crate::http::connection::slow_reader_timeout::SlowReaderTimeout;
use crate::http::limits::source_shares::SourceShare;
use crate::http::service::HttpService;

/// Longest time for the headers of a request to arrive, including the pause before the request.
pub(crate) const HEADERS_TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum size of a request line with its headers, in bytes.
const HEAD_BYTES_MAX: usize = 64 * 1_024;
/// Longest time that requests under way may take after the signal to stop.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(7);
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
    let permits = Arc::new(Semaphore::new(connections_max));
    let graceful = GracefulShutdown::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let (stream, peer, permit) = tokio::select! {
            biased;
            () = &mut stop => break,
            accepted = accept(&listener, &permits) => accepted,
        };
        // A trusted proxy's connections carry the requests of many clients, which are counted.
        let share = if routes.server.proxies.trusts(peer.ip()) {
            None
        } else if let Some(share) = routes.server.connections.take(peer.ip(), 1) {
            Some(share)
        } else {
            tracing::debug!(%peer, "a connection was closed: its source has too many");
            continue;
        };
        spawn_connection(stream, peer, (permit, share), routes.clone(), &graceful);
    }
    drop(listener);
    let waiting = graceful.count();
    if tokio::time::timeout(SHUTDOWN_TIMEOUT, graceful.shutdown()).await.is_err() {
        tracing::warn!(waiting, "some connections were closed: their requests took too long");
    }
}

/// Accepts the next connection, once there is a permit for it.
pub(crate) async fn accept(
    listener: &TcpListener,
    permits: &Arc<Semaphore>,
) -> (TcpStream, SocketAddr, OwnedSemaphorePermit) {
    let permit = Arc::clone(permits).acquire_owned().await.expect("the semaphore is never closed");
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => return (stream, peer, permit),
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_RETRY_PAUSE).await;
            }
        }
    }
}

/// Starts a task that answers the requests of a connection.
fn spawn_connection(
    stream: TcpStream,
    peer: SocketAddr,
    permits: (OwnedSemaphorePermit, Option<SourceShare>),
    routes: HttpService,
    graceful: &GracefulShutdown,
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection was closed before its first request");
    }
    let connections = routes.metrics.connections.clone();
    // A reference count of the connection's own: that of the service is shared by all cores.
    let routes = Arc::new(routes);
    let service = service_fn(move |request| {
        let routes = Arc::clone(&routes);
        async move { Ok::<_, Infallible>(routes.respond(request, peer).await) }
    });
    let stream = TokioIo::new(RequestTargetFilter::new(SlowReaderTimeout::new(stream)));
    let connection = connection_builder().serve_connection(stream, service);
    let connection = graceful.watch(connection);
    tokio::spawn(async move {
        connections.increment(1);
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection ended with an error");
        }
        connections.decrement(1);
        drop(permits);
    });
}

/// Returns the settings of every connection.
fn connection_builder() -> http1::Builder {
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
    let permits = Arc::new(Semaphore::new(OPERATOR_CONNECTIONS_MAX));
    let service = Arc::new(service);
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
        let service = Arc::clone(&service);
        let answer = service_fn(move |request| {
            let service = Arc::clone(&service);
            async move { Ok::<_, Infallible>(service.respond_to_operator(request).await) }
        });
        let stream = TokioIo::new(SlowReaderTimeout::new(stream));
        let connection = connection_builder().serve_connection(stream, answer);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::warn!(%error, "an operator's command left before it was answered");
            }
            drop(permit);
        });
    }
}
