//! The server during recovery: alive, and not ready. Reference 11.4.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;

use axum::response::{IntoResponse as _, Response};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::http::connection::listener::{HEADERS_TIMEOUT, accept};
use crate::http::error::ApiError;
use crate::http::limits::source_shares::SourceShares;
use crate::http::resources::health;

/// Maximum number of connections at once: enough for health checks.
const CONNECTIONS_MAX: usize = 64;
/// Maximum number of them from one source.
const CONNECTIONS_PER_SOURCE_MAX: usize = CONNECTIONS_MAX / 4;

/// Serves /healthz, and 503 for everything else, until `reading` completes, and returns its output.
/// Each connection ends with its answer.
pub async fn serve_until_recovered<T>(
    reading: impl Future<Output = T>,
    listener: &TcpListener,
) -> T {
    let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let shares = SourceShares::new(CONNECTIONS_MAX, CONNECTIONS_PER_SOURCE_MAX);
    let mut connections = JoinSet::new();
    let mut reading = std::pin::pin!(reading);
    loop {
        let (stream, peer, permit) = tokio::select! {
            biased;
            read = &mut reading => {
                // Their answers are still sent; the header timeout ends idle ones.
                connections.detach_all();
                return read;
            }
            Some(_) = connections.join_next() => continue,
            accepted = accept(listener, &permits) => accepted,
        };
        let Some(share) = shares.take(peer.ip(), 1) else { continue };
        let service = service_fn(|request: hyper::Request<_>| async move {
            Ok::<_, Infallible>(answer(request.uri().path()))
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADERS_TIMEOUT)
            .keep_alive(false)
            .serve_connection(TokioIo::new(stream), service);
        connections.spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended with an error");
            }
            drop((permit, share));
        });
    }
}

fn answer(path: &str) -> Response {
    match path {
        "/healthz" => health::alive(),
        "/readyz" => health::recovering(),
        _ => ApiError::recovering().into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;
    use tokio::sync::oneshot;

    async fn request(address: std::net::SocketAddr, head: &str) -> String {
        let mut stream = TcpStream::connect(address).await.expect("it listens");
        let bytes = format!("{head} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        stream.write_all(bytes.as_bytes()).await.expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("it answers and ends");
        answer
    }

    #[tokio::test]
    async fn the_server_is_alive_and_not_ready_until_the_store_is_read() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        let (done, read) = oneshot::channel();
        let clients = async {
            let _silent = TcpStream::connect(address).await.expect("it listens");
            let alive = request(address, "GET /healthz").await;
            assert!(
                alive.starts_with("HTTP/1.1 200 ") && alive.ends_with(r#"{"status":"alive"}"#),
                "{alive}"
            );
            let ready = request(address, "GET /readyz").await;
            assert!(
                ready.starts_with("HTTP/1.1 503 ") && ready.contains("the store is being read"),
                "{ready}"
            );
            let booking =
                request(address, "POST /api/v1/groups/1/appointments").await.to_lowercase();
            assert!(
                booking.starts_with("http/1.1 503 ") && booking.contains("\r\nretry-after: 1\r\n"),
                "{booking}"
            );
            assert!(booking.contains("nothing was done"), "{booking}");
            done.send(7).expect("it waits");
        };
        let (read, ()) = tokio::join!(serve_until_recovered(read, &listener), clients);
        assert_eq!(read, Ok(7));
        let (_, accepted) = tokio::join!(TcpStream::connect(address), listener.accept());
        accepted.expect("the port is free for the server");
    }
}
