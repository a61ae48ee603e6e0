//! The server during recovery: alive, and not ready. Reference 11.4.

use std::future::Future;
use std::sync::Arc;

use axum::response::{IntoResponse as _, Response};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use crate::http::connection::connection_table::{ConnectionPlace, ConnectionTable};
use crate::http::connection::listener::{
    accept_all, connection_builder, note_activity, run_in_place,
};
use crate::http::connection::slow_reader_timeout::SlowReaderTimeout;
use crate::http::error::ApiError;
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
    let table = ConnectionTable::new(CONNECTIONS_MAX, CONNECTIONS_PER_SOURCE_MAX);
    let start = |stream, _, place: ConnectionPlace| {
        let activity = Arc::clone(&place.activity);
        let service = service_fn(move |request: hyper::Request<_>| {
            let response = answer(request.uri().path());
            note_activity(Arc::clone(&activity), async move { response })
        });
        let stream = SlowReaderTimeout::new(stream, Arc::clone(&place.activity));
        let connection =
            connection_builder().keep_alive(false).serve_connection(TokioIo::new(stream), service);
        // After `reading` their answers are still sent; the header timeout ends idle ones.
        tokio::spawn(run_in_place(connection, place));
    };
    let accept_all = accept_all(listener, &table, |_| false, start);
    tokio::select! {
        biased;
        read = reading => read,
        () = accept_all => unreachable!("it accepts for ever"),
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
    use std::net::SocketAddr;
    use std::time::Duration;

    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpSocket, TcpStream};
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

    #[tokio::test]
    async fn silent_connections_of_others_leave_room_for_a_health_check() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        let (done, read) = oneshot::channel();
        let clients = async {
            let mut silent = Vec::new();
            for number in 0..200 {
                let socket = TcpSocket::new_v4().expect("a socket");
                let from = SocketAddr::from(([127, 1, number, 1], 0));
                socket.bind(from).expect("a loopback address");
                silent.push(socket.connect(address).await.expect("it listens"));
            }
            let alive = request(address, "GET /healthz");
            let alive = tokio::time::timeout(Duration::from_secs(1), alive).await;
            assert!(alive.expect("in time").starts_with("HTTP/1.1 200 "));
            done.send(7).expect("it waits");
        };
        let (read, ()) = tokio::join!(serve_until_recovered(read, &listener), clients);
        assert_eq!(read, Ok(7));
    }
}
