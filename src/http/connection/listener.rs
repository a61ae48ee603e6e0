//! Accepting connections: a bounded number, none of which may dawdle over its headers, or over reading what it asked for.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::http::connection::request_target::RequestTargetFilter;
use crate::http::connection::slow_reader_timeout::SlowReaderTimeout;
use crate::http::service::Routes;

/// How long a request's headers may take to arrive, and how long a connection may rest between two requests.
pub(crate) const HEADERS_TIMEOUT: Duration = Duration::from_secs(20);
/// Bytes of a request's head at most.
const HEAD_BYTES_MAX: usize = 64 * 1_024;
/// How long requests under way may take once the server is going down.
const FAREWELL: Duration = Duration::from_secs(7);
/// How long to wait when the system has no more file descriptors.
const BREATH: Duration = Duration::from_millis(50);

/// Serves connections until `farewell` comes, then ends what is under way and returns.
pub async fn serve(
    listener: TcpListener,
    routes: Routes,
    connections_max: usize,
    farewell: impl Future<Output = ()>,
) {
    let places = Arc::new(Semaphore::new(connections_max));
    let graceful = GracefulShutdown::new();
    let mut farewell = std::pin::pin!(farewell);
    loop {
        let (stream, peer, place) = tokio::select! {
            biased;
            () = &mut farewell => break,
            accepted = accept(&listener, &places) => accepted,
        };
        converse(stream, peer, place, routes.clone(), &graceful);
    }
    drop(listener);
    let waiting = graceful.count();
    if tokio::time::timeout(FAREWELL, graceful.shutdown()).await.is_err() {
        tracing::warn!(waiting, "some connections were cut: their requests took too long");
    }
}

/// The next connection, once there is a place for it.
pub(crate) async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> (TcpStream, SocketAddr, OwnedSemaphorePermit) {
    let place = Arc::clone(places).acquire_owned().await.expect("the semaphore is never closed");
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => return (stream, peer, place),
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(BREATH).await;
            }
        }
    }
}

/// IdempotencyRecords the requests of one connection, as a task of its own.
fn converse(
    stream: TcpStream,
    peer: SocketAddr,
    place: OwnedSemaphorePermit,
    routes: Routes,
    graceful: &GracefulShutdown,
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection was gone before it began");
    }
    let connections = routes.metrics.connections.clone();
    let service = service_fn(move |request| {
        let routes = routes.clone();
        async move { Ok::<_, Infallible>(routes.respond(request, peer).await) }
    });
    let stream = TokioIo::new(RequestTargetFilter::new(SlowReaderTimeout::new(stream)));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS_TIMEOUT)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(stream, service);
    let connection = graceful.watch(connection);
    tokio::spawn(async move {
        connections.increment(1);
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection ended badly");
        }
        connections.decrement(1);
        drop(place);
    });
}
