//! Strangers who open connections, and send bodies that never end: others are served, and memory
//! stays.

use std::net::{IpAddr, SocketAddr};
use std::process::Command;
use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use crate::fixture::{ANNA, KEY, PROXY, Practice, answer};

/// Connections of one source, in place of 256.
const CONNECTIONS_MAX: usize = 16;

async fn connect(practice: &Practice, from: IpAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind(SocketAddr::new(from, 0)).expect("a loopback address");
    socket.connect(practice.address()).await.expect("it listens")
}

fn stranger(number: u8) -> IpAddr {
    [127, 0, 2, number].into()
}

/// Whether a connection answers a request for the state of the process.
async fn is_served(stream: &mut TcpStream) -> bool {
    let request = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
    let mut first = [0; 12];
    stream.write_all(request).await.is_ok()
        && stream.read_exact(&mut first).await.is_ok()
        && first == *b"HTTP/1.1 200"
}

/// The head of a request with a body of this length, and the first part of the body.
fn unfinished(path: &str, headers: &str, length: usize, sent: usize) -> Vec<u8> {
    let head = format!(
        "POST /api/v1{path} HTTP/1.1\r\nHost: a\r\n{headers}Content-Length: {length}\r\n\r\n"
    );
    let mut bytes = head.into_bytes();
    bytes.extend(std::iter::repeat_n(b' ', sent));
    bytes
}

/// The status of an answer, and whether the server closes the connection.
async fn read_status(stream: &mut TcpStream) -> (u16, bool) {
    let mut read = Vec::new();
    while !read.windows(4).any(|end| end == b"\r\n\r\n") {
        let count = stream.read_buf(&mut read).await.expect("an answer");
        assert!(count > 0, "an answer before the end");
    }
    let text = String::from_utf8_lossy(&read).to_lowercase();
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.expect("a status"), text.contains("connection: close"))
}

/// Whether an answer comes although the body is unfinished. No answer is due, so this waits for
/// none.
async fn is_answered(stream: &mut TcpStream) -> bool {
    let waiting = tokio::time::timeout(Duration::from_millis(1), stream.readable());
    waiting.await.is_ok()
}

/// Waits until so many of the unfinished bodies are refused, and returns the others.
async fn await_refusals(mut streams: Vec<TcpStream>, count: usize) -> Vec<TcpStream> {
    let all = streams.len();
    while all - streams.len() < count {
        let mut unanswered = Vec::new();
        for mut stream in streams {
            if is_answered(&mut stream).await {
                assert_eq!(read_status(&mut stream).await, (503, true));
            } else {
                unanswered.push(stream);
            }
        }
        streams = unanswered;
    }
    streams
}

#[tokio::test]
async fn one_source_gets_its_connections_and_another_one_is_served() {
    let limited = |server: slotbook::http::Server| server.limited_per_source(CONNECTIONS_MAX);
    let practice = Practice::with(|_| {}, limited).await;
    let (mut kept, mut served) = (Vec::new(), 0);
    for _ in 0..3 * CONNECTIONS_MAX {
        let mut stream = connect(&practice, stranger(1)).await;
        if is_served(&mut stream).await {
            served += 1;
            kept.push(stream);
        }
    }
    assert_eq!(served, CONNECTIONS_MAX);
    assert!(is_served(&mut connect(&practice, stranger(2)).await).await);
    kept.pop();
    // The place of the closed connection is free as soon as the server sees its end.
    while !is_served(&mut connect(&practice, stranger(1)).await).await {}
}

#[tokio::test]
async fn a_request_names_one_host() {
    let practice = Practice::open().await;
    for (version, hosts, expected) in [
        ("1.1", "", (400, true)),
        ("1.1", "Host: a\r\nHost: b\r\n", (400, true)),
        ("1.1", "Host: a\r\nHost: a\r\n", (400, true)),
        ("1.0", "Host: a\r\nHost: b\r\n", (400, true)),
        ("1.1", "Host: a b\r\n", (400, true)),
        ("1.1", "Host: a/b\r\n", (400, true)),
        ("1.1", "Host: user@a\r\n", (400, true)),
        ("1.1", "Host: :80\r\n", (400, true)),
        ("1.1", "Host: a:abc\r\n", (400, true)),
        ("1.1", "Host: a:99999\r\n", (400, true)),
        ("1.1", "Host: a\r\n", (200, false)),
        ("1.1", "Host: my_shop:8080\r\n", (200, false)),
        ("1.1", "Host: [::1]:8080\r\n", (200, false)),
        ("1.1", "Host:\r\n", (200, false)),
        ("1.0", "Connection: keep-alive\r\n", (200, false)),
    ] {
        let mut stream = connect(&practice, stranger(1)).await;
        let request = format!("GET /healthz HTTP/{version}\r\n{hosts}\r\n");
        stream.write_all(request.as_bytes()).await.expect("it reads");
        assert_eq!(read_status(&mut stream).await, expected, "{version} {hosts:?}");
    }
}

#[tokio::test]
async fn a_proxy_has_any_connections_and_each_client_its_requests_under_way() {
    let limited = |server: slotbook::http::Server| server.limited_per_source(CONNECTIONS_MAX);
    let practice = Practice::with(|_| {}, limited).await;
    let path = format!("/groups/1/appointments?apikey={KEY}");
    let mut kept = Vec::new();
    for number in 0..=CONNECTIONS_MAX {
        let mut stream = connect(&practice, PROXY).await;
        let request = unfinished(&path, "X-Forwarded-For: 203.0.113.9\r\n", 1_000, 1);
        stream.write_all(&request).await.expect("it reads");
        if number == CONNECTIONS_MAX {
            assert_eq!(read_status(&mut stream).await, (429, true));
        }
        kept.push(stream);
    }
    for other in ["203.0.113.10", "203.0.113.11"] {
        practice.forwarded(other).get("/groups/1").await.is(200);
    }
    kept.clear();
    let client = practice.forwarded("203.0.113.9");
    while client.get("/groups/1").await.status != 200 {}
}

/// Asserts that first connections of new sources, and of many clients behind one address, are
/// answered within a second while strangers keep connections to a server of 100.
async fn assert_newcomers_are_answered(strangers: &[IpAddr], sent: &[u8]) {
    let practice = Practice::of_connections(100).await;
    let mut kept = Vec::new();
    let mut come_again = strangers.iter().copied().cycle();
    for number in 0..60 {
        // Before the first visitor there are twice as many as there are places.
        for from in come_again.by_ref().take(if number == 0 { 200 } else { 10 }) {
            let mut stream = connect(&practice, from).await;
            // A server that closes the connection meanwhile takes none of it.
            let _ = stream.write_all(sent).await;
            kept.push(stream);
        }
        let from = if number < 20 { [127, 9, number, 1] } else { [127, 10, 0, 1] };
        let visit = async { is_served(&mut connect(&practice, from.into()).await).await };
        let served = tokio::time::timeout(Duration::from_secs(1), visit).await;
        assert!(served.is_ok_and(|served| served), "visitor {number}");
    }
}

#[tokio::test]
async fn a_new_source_is_answered_while_45_sources_keep_silent_connections() {
    let strangers: Vec<IpAddr> = (0..45).map(|number| [127, 1, number, 1].into()).collect();
    assert_newcomers_are_answered(&strangers, b"").await;
}

#[tokio::test]
async fn a_new_source_is_answered_while_a_network_keeps_one_connection_of_each_address() {
    let strangers: Vec<IpAddr> = (1..=200).map(|number| [127, 1, 0, number].into()).collect();
    assert_newcomers_are_answered(&strangers, b"GET / HTTP/1.1\r\n").await;
}

#[tokio::test]
async fn a_new_source_is_answered_while_bodies_of_others_stall() {
    let strangers: Vec<IpAddr> = (0..45).map(|number| [127, 1, number, 1].into()).collect();
    let path = format!("/groups/1/appointments?apikey={KEY}");
    assert_newcomers_are_answered(&strangers, &unfinished(&path, "", 1_000, 1)).await;
}

#[tokio::test]
async fn a_new_source_is_answered_while_others_take_no_answers() {
    let strangers: Vec<IpAddr> = (0..45).map(|number| [127, 1, number, 1].into()).collect();
    let asked = b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: a\r\n\r\n".repeat(40);
    assert_newcomers_are_answered(&strangers, &asked).await;
}

#[tokio::test]
async fn a_body_is_not_read_before_the_key_is_known() {
    let practice = Practice::open().await;
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    for (path, headers, sent) in [
        ("/groups/1/appointments?apikey=wrong", "", 0),
        ("/groups/1/appointments", "", 0),
        ("/fiches?apikey=wrong", "", 0),
        ("/accounts?apikey=wrong", "", 0),
        ("/sessions/login?apikey=wrong", form, 0),
        ("/sessions/login", form, 9_000),
    ] {
        let mut stream = connect(&practice, stranger(1)).await;
        let request = unfinished(path, headers, 200_000, sent);
        stream.write_all(&request).await.expect("it reads");
        assert_eq!(read_status(&mut stream).await.0, 403, "{path}");
    }
}

#[tokio::test]
async fn few_larger_bodies_are_read_for_a_key_that_may_stand_in_them() {
    let practice = Practice::open().await;
    let mut waiting = Vec::new();
    for source in 1..=6 {
        for _ in 0..20 {
            let mut stream = connect(&practice, stranger(source)).await;
            let request = unfinished("/fiches", "", 100_000, 10_000);
            stream.write_all(&request).await.expect("it reads");
            waiting.push(stream);
        }
    }
    let small = practice.visitor("127.0.2.7").bare(Method::POST, "/fiches");
    answer(small.json(&json!({"apikey": "wrong"}))).await.refused(403, 1);
    assert_eq!(await_refusals(waiting, 6 * 20 - 64).await.len(), 64);
}

#[tokio::test]
async fn bodies_without_a_key_take_no_place_of_a_caller_whose_key_is_known() {
    let practice = Practice::open().await;
    let mut waiting = Vec::new();
    for source in 1..=4 {
        for _ in 0..20 {
            let mut stream = connect(&practice, stranger(source)).await;
            let request = unfinished("/fiches", "", 100_000, 10_000);
            stream.write_all(&request).await.expect("it reads");
            waiting.push(stream);
        }
    }
    let waiting = await_refusals(waiting, 4 * 20 - 64).await;
    let fiche = json!({"fiche": {"lastname": "Durand", "comments": "x".repeat(20_000)}});
    let known = practice.visitor("127.0.2.7").request(Method::POST, "/fiches").json(&fiche);
    answer(known.basic_auth(ANNA.0, Some(ANNA.1))).await.is(201);
    drop(waiting);
}

/// Runs in a process of its own, since it measures the memory of the process.
#[tokio::test]
async fn stalled_bodies_share_a_budget_of_memory_and_bookings_go_on() {
    const ALONE: &str = "SLOTBOOK_TEST_ALONE";
    if std::env::var_os(ALONE).is_none() {
        let name = "connections::stalled_bodies_share_a_budget_of_memory_and_bookings_go_on";
        let mut test = Command::new(std::env::current_exe().expect("a path"));
        let test = test.args([name, "--exact", "--nocapture"]).env(ALONE, "1").status();
        assert!(test.expect("it starts").success());
        return;
    }
    let practice = Practice::open().await;
    let path = format!("/groups/1/appointments?apikey={KEY}");
    let before = resident_mib();
    let mut streams = Vec::new();
    for number in 0..600 {
        let from = stranger(u8::try_from(number % 60 + 1).expect("small"));
        let mut stream = connect(&practice, from).await;
        // A server that closes the connection meanwhile has refused the body.
        let _ = stream.write_all(&unfinished(&path, "", 262_144, 200_000)).await;
        streams.push(stream);
    }
    let (date, calendar) = practice.free_starts().await.pop_front().expect("a free start");
    let client = practice.visitor("127.0.0.9");
    let booking = client.request(Method::POST, "/groups/1/appointments").json(&json!({
        "appointment": {
            "date": date, "intervention_ids": [1], "calendar_id": calendar,
            "fiche": {
                "lastname": "Durand", "firstphone": "0639980001", "email": "ada@example.org",
            },
        },
    }));
    answer(booking).await.is(201);
    let grown = resident_mib().saturating_sub(before);
    // 32 MiB hold 132 bodies of 248 KiB, beside their first 8 KiB.
    let read = await_refusals(streams, 600 - 132).await.len();
    println!("{read} of 600 bodies are read, memory grew by {grown} MiB");
    assert!(grown < 110, "{grown} MiB");
}

/// Memory that this process holds, in MiB.
fn resident_mib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line");
    line.trim().trim_end_matches("kB").trim().parse::<u64>().expect("a number") / 1_024
}
