//! More writes than there is room for: they are turned away at once, and nothing else is.

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};
use slotbook::engine::admission::AdmissionLimits;
use tokio::sync::OwnedMutexGuard;
use tokio::task::JoinHandle;

use crate::raw::Connection;
use crate::server::{Answer, TestServer, answer};
use crate::shop::{self, CALENDAR, CUT, EVE, KEY, KEY_OF_ALL, clock};

const PATH: &str = "/groups/4/appointments";
const HEADER: &str = "Idempotency-Key";

fn booking(time: &str) -> Value {
    json!({"appointment": {
        "date": format!("2025-06-02 {time}:00"), "intervention_ids": [CUT], "calendar_id": CALENDAR,
        "fiche": {"lastname": "Durand", "email": format!("{time}@example.org").replace(':', ".")},
    }})
}

/// A server with room for one write of a group, and so many of all together.
async fn narrow(whole: usize) -> TestServer {
    let groups = vec![shop::group_four(|_| {}), shop::group_five()];
    TestServer::within(
        AdmissionLimits { writes_max: whole, group_writes_max: 1 },
        groups,
        |server| server,
    )
    .await
}

/// One write under way, whose answer waits for the disk.
struct Full {
    disk: OwnedMutexGuard<()>,
    first: JoinHandle<Answer>,
}

impl Full {
    async fn with_a_write_of_group_four(server: &TestServer) -> Self {
        let disk = Arc::clone(&server.disk).lock_owned().await;
        let first = tokio::spawn(answer(server.by_key(Method::POST, PATH).json(&booking("09:00"))));
        while server.engine.writes_in_flight() != (1, 1) {
            tokio::task::yield_now().await;
        }
        Self { disk, first }
    }

    /// Lets the write reach the disk.
    async fn ends(self) {
        drop(self.disk);
        self.first.await.expect("no panic").is(201);
    }
}

/// Asserts an answer that turns away, and says when to come again.
#[track_caller]
fn is_turned_away(answer: &Answer) {
    answer.refused(503, 4, None);
    let seconds: u32 =
        answer.headers["retry-after"].to_str().expect("a text").parse().expect("seconds");
    assert!(seconds > 0);
    assert_eq!(answer.headers["content-type"], "application/json");
}

#[tokio::test]
async fn a_write_without_room_is_turned_away_whatever_its_body_is_and_nothing_is_done() {
    let server = narrow(8).await;
    let full = Full::with_a_write_of_group_four(&server).await;
    for body in
        [booking("10:00").to_string(), "nonsense".into(), String::new(), " ".repeat(300 * 1_024)]
    {
        is_turned_away(&answer(server.by_key(Method::POST, PATH).body(body)).await);
    }
    is_turned_away(
        &answer(server.by_key(Method::POST, PATH).header("Content-Type", "text/plain").body("{"))
            .await,
    );
    let older = json!({"appointment": booking("10:00")["appointment"], "group_id": 4});
    is_turned_away(&answer(server.by_key(Method::POST, "/appointments").json(&older)).await);
    let calendar = format!("/groups/4/calendars/{CALENDAR}");
    for (method, path) in
        [(Method::PUT, "/groups/4"), (Method::PUT, &calendar), (Method::DELETE, &calendar)]
    {
        is_turned_away(&answer(server.by_pro(method, path)).await);
    }
    full.ends().await;
    assert_eq!(server.pro_get(PATH).await.is(200)["totalRecords"], 1);
    assert_eq!(server.pro_get(&calendar).await.is(200)["deleted"], false);
    answer(server.by_key(Method::POST, PATH).json(&booking("10:00"))).await.is(201);
}

#[tokio::test]
async fn whoever_is_turned_away_goes_on_with_the_connection() {
    let server = narrow(8).await;
    let mut connection = Connection::to(&server).await;
    let bookings = format!("/api/v1{PATH}?apikey={KEY}");
    assert_eq!(connection.get(bookings.as_bytes()).await.0, 200);
    let full = Full::with_a_write_of_group_four(&server).await;
    for _ in 0..3 {
        assert_eq!(connection.post(&bookings, &booking("10:00")).await.0, 503);
    }
    // What looks like a request inside a body is none, in whatever pieces the body comes.
    let smuggled = format!("GET {bookings} HTTP/1.1\r\nHost: a\r\n\r\n");
    let body = smuggled.repeat(200);
    let (early, late) = body.as_bytes().split_at(body.len() / 2);
    for chunked in [false, true] {
        let length = body.len();
        let (framing, end) = match chunked {
            false => (format!("Content-Length: {length}\r\n\r\n"), &b""[..]),
            true => {
                (format!("Transfer-Encoding: chunked\r\n\r\n{length:x}\r\n"), &b"\r\n0\r\n\r\n"[..])
            }
        };
        connection.send(format!("POST {bookings}").as_bytes(), &framing).await;
        assert_eq!(connection.answer().await.0, 503, "before any of the body is there");
        for part in [early, late, end] {
            connection.go_on(part).await.expect("it is taken");
        }
        connection.send(b"GET /healthz", "\r\n").await;
        assert_eq!(connection.answer().await, (200, r#"{"status":"alive"}"#.into()));
    }
    full.ends().await;
    assert_eq!(connection.post(&bookings, &booking("10:00")).await.0, 201);
}

#[tokio::test]
async fn a_body_without_end_ends_the_connection_of_whoever_is_turned_away() {
    let server = narrow(8).await;
    let full = Full::with_a_write_of_group_four(&server).await;
    let mut connection = Connection::to(&server).await;
    let line = format!("POST /api/v1{PATH}?apikey={KEY}");
    connection.send(line.as_bytes(), "Content-Length: 1000000000\r\n\r\n").await;
    assert_eq!(connection.answer().await.0, 503);
    let mut sent = 0;
    while connection.go_on(&[b' '; 64 * 1_024]).await.is_ok() {
        sent += 64 * 1_024;
        assert!(sent < 64 * 1_024 * 1_024, "some of it fits between here and there, no more");
    }
    assert!(connection.ends().await);
    full.ends().await;
}

#[tokio::test]
async fn what_needs_no_room_is_answered_as_ever() {
    let server = narrow(8).await;
    let full = Full::with_a_write_of_group_four(&server).await;
    let book = |path: String| answer(server.bare(Method::POST, &path).json(&booking("10:00")));
    book(format!("/api/v1{PATH}")).await.refused(403, 1, None);
    book(format!("/api/v1{PATH}?apikey=unknown")).await.refused(403, 1, None);
    book(format!("/api/v1/groups/5/appointments?apikey={KEY}")).await.refused(404, 3, None);
    book(format!("/api/v1/groups/99/appointments?apikey={KEY_OF_ALL}")).await.refused(404, 3, None);
    book(format!("/api/v1{PATH}.xml?apikey={KEY}")).await.refused(406, 2, None);
    book(format!("/api/v1/groups/4/nothing?apikey={KEY}")).await.refused(404, 3, None);
    let wrong = server.by_key(Method::POST, PATH).basic_auth("ann@example.org", Some("wrong"));
    answer(wrong.json(&booking("10:00"))).await.refused(401, 5, None);
    let not_theirs = server
        .by_key(Method::POST, "/groups/4/calendars")
        .json(&json!({"calendar": {"name": "a"}}));
    answer(not_theirs).await.refused(403, 1, None);
    server.get("/groups/4/calendars").await.is(200);
    server.get(&format!("/groups/4/availabletimeslots?intervention_ids[]={CUT}")).await.is(200);
    server.pro_get("/groups/4/vevents").await.is(200);
    full.ends().await;
}

#[tokio::test]
async fn what_was_answered_before_is_answered_again_without_room() {
    let server = narrow(8).await;
    let send = |key: &'static str, time: &str| {
        answer(server.by_key(Method::POST, PATH).header(HEADER, key).json(&booking(time)))
    };
    let made = send("a", "10:00").await;
    made.is(201);
    let full = Full::with_a_write_of_group_four(&server).await;
    let again = send("a", "10:00").await;
    assert_eq!((again.status, &again.text), (made.status, &made.text));
    send("a", "11:00").await.refused(409, 2, Some(HEADER));
    is_turned_away(&send("b", "11:00").await);
    // A day later it is a new key.
    server.at(clock(8, 0).plus_seconds(24 * 3_600));
    is_turned_away(&send("a", "10:00").await);
    full.ends().await;
}

#[tokio::test]
async fn a_group_without_room_leaves_the_others_theirs_and_all_together_have_a_bound_of_their_own()
{
    for (whole, status) in [(2, 201), (1, 503)] {
        let server = narrow(whole).await;
        let path = format!("/api/v1/groups/5/calendars?apikey={KEY_OF_ALL}");
        let by_eve = |method| server.bare(method, &path).basic_auth(EVE.0, Some(EVE.1));
        answer(by_eve(Method::GET)).await.is(200);
        let full = Full::with_a_write_of_group_four(&server).await;
        let other =
            tokio::spawn(answer(by_eve(Method::POST).json(&json!({"calendar": {"name": "a"}}))));
        while status == 201 && server.engine.writes_in_flight() != (2, 1) {
            tokio::task::yield_now().await;
        }
        if status == 503 {
            is_turned_away(&other.await.expect("no panic"));
            full.ends().await;
        } else {
            full.ends().await;
            other.await.expect("no panic").is(201);
        }
    }
}
