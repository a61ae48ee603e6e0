//! Connections that send or read as slowly as they can, while somebody wants to be served.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::server::Loaded;
use super::{resident_mib, so_many, told};

/// How a connection keeps a server waiting.
#[derive(Clone, Copy)]
enum Manner {
    /// Its head comes byte by byte.
    Head,
    /// Its body does.
    Body,
    /// It reads nothing of a long answer.
    Answer,
}

async fn connect(address: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4_096).expect("a small window");
    socket.connect(address).await.expect("there is a place")
}

/// Dawdles until the server has enough of it.
async fn dawdle(address: SocketAddr, manner: Manner) {
    let mut stream = connect(address).await;
    let path = "/api/v1/groups/1/fiches?apikey=test-key&results=all";
    let (begin, rest) = match manner {
        Manner::Head => ("GET /healthz HTTP/1.1\r\nX-Slow: ".to_owned(), "x".repeat(10_000)),
        Manner::Body => {
            let head = "POST /api/v1/groups/1/appointments?apikey=test-key HTTP/1.1\r\nHost: a\r\n";
            (format!("{head}Content-Length: 10000\r\n\r\n"), " ".repeat(10_000))
        }
        Manner::Answer => {
            // pro@example.org:secret
            let login = "Authorization: Basic cHJvQGV4YW1wbGUub3JnOnNlY3JldA==";
            (format!("GET {path} HTTP/1.1\r\nHost: a\r\n{login}\r\n\r\n"), String::new())
        }
    };
    if stream.write_all(begin.as_bytes()).await.is_err() {
        return;
    }
    for byte in rest.bytes() {
        tokio::time::sleep(Duration::from_secs(1)).await;
        if stream.write_all(&[byte]).await.is_err() {
            return;
        }
    }
    // One byte a second is no reading. What lies on its way here already hides the end, which only sending meets.
    let mut byte = [0];
    while matches!(stream.read(&mut byte).await, Ok(1..)) && stream.write_all(b"\n").await.is_ok() {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dawdlers_keep_nobody_waiting_and_are_left_in_the_end() {
    let server = Loaded::start(Duration::from_millis(1), 64, 4_000).await;
    let http = reqwest::Client::new();
    let base = format!("http://{}/api/v1/groups/1", server.address);
    let slots = format!("{base}/availabletimeslots?apikey=test-key&intervention_ids[]=1&nDays=2");
    // Whoever wants to be served has come before them.
    assert_eq!(http.get(&slots).send().await.expect("an answer").status(), 200);
    let before = resident_mib();
    let each = so_many(70, 333);
    let mut dawdlers = JoinSet::new();
    for _ in 0..each {
        for manner in [Manner::Head, Manner::Body, Manner::Answer] {
            dawdlers.spawn(dawdle(server.address, manner));
        }
    }
    let mut seconds = Vec::new();
    for _ in 0..so_many(300, 3_000) {
        let began = Instant::now();
        let answer = http.get(&slots).send().await.expect("an answer");
        assert_eq!(answer.status(), 200);
        drop(answer.bytes().await.expect("all of it"));
        seconds.push(began.elapsed().as_secs_f64());
    }
    println!("{} dawdlers, a search meanwhile: {}", each * 3, told(seconds));
    // Not even those who ask for long lists wait for those who do not read theirs.
    let fiches = format!("{base}/fiches?apikey=test-key&results=all");
    let began = Instant::now();
    let list = http
        .get(&fiches)
        .basic_auth("pro@example.org", Some("secret"))
        .send()
        .await
        .expect("an answer");
    let bytes = list.bytes().await.expect("all of it").len();
    println!(
        "a list of {bytes} bytes meanwhile: {:.0} ms",
        began.elapsed().as_secs_f64() * 1_000.0
    );
    assert!(bytes > 2_000_000);
    let grown = resident_mib().saturating_sub(before);
    println!("memory grew by {grown} MiB");
    assert!(grown < 256, "{grown} MiB");
    if so_many(0, 1) == 1 {
        let began = Instant::now();
        while let Some(left) = dawdlers.join_next().await {
            assert!(left.is_ok(), "no dawdler panics");
        }
        println!("the last dawdler was left after {:.0} s more", began.elapsed().as_secs_f64());
    }
}
