//! What is answered while the store is still being read: alive, and not ready. Reference 11.

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
use crate::http::health;

/// Connections at a time: enough for whoever watches the server.
const CONNECTIONS_MAX: usize = 64;

/// IdempotencyRecords whoever comes until `reading` is done, and returns what that returns: who asks whether the server is ready, or
/// for anything of the store, hears 503, on a connection that ends with it.
pub async fn serve_until_recovered<T>(
    reading: impl Future<Output = T>,
    listener: &TcpListener,
) -> T {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut conversations = JoinSet::new();
    let mut reading = std::pin::pin!(reading);
    loop {
        let (stream, _, place) = tokio::select! {
            biased;
            read = &mut reading => {
                // Whoever is being answered is answered; who dawdles is cut by the timer of the headers.
                conversations.detach_all();
                return read;
            }
            Some(_) = conversations.join_next() => continue,
            accepted = accept(listener, &places) => accepted,
        };
        let service = service_fn(|request: hyper::Request<_>| async move {
            Ok::<_, Infallible>(answer(request.uri().path()))
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADERS_TIMEOUT)
            .keep_alive(false)
            .serve_connection(TokioIo::new(stream), service);
        conversations.spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended badly");
            }
            drop(place);
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

    async fn asked(address: std::net::SocketAddr, head: &str) -> String {
        let mut stream = TcpStream::connect(address).await.expect("it listens");
        let request = format!("{head} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        stream.write_all(request.as_bytes()).await.expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("it answers and ends");
        answer
    }

    #[tokio::test]
    async fn it_lives_and_is_not_ready_until_the_store_is_read() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        let (done, read) = oneshot::channel();
        let clients = async {
            let _silent = TcpStream::connect(address).await.expect("it listens");
            let alive = asked(address, "GET /healthz").await;
            assert!(
                alive.starts_with("HTTP/1.1 200 ") && alive.ends_with(r#"{"status":"alive"}"#),
                "{alive}"
            );
            let ready = asked(address, "GET /readyz").await;
            assert!(
                ready.starts_with("HTTP/1.1 503 ") && ready.contains("the store is being read"),
                "{ready}"
            );
            let booking = asked(address, "POST /api/v1/groups/1/appointments").await.to_lowercase();
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
        accepted.expect("the port is for the server now");
    }
}
