//! The stream of the changes of a group. Reference 18.3.

use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};

use crate::screen_logins::log_in;
use crate::server::{TestServer, answer};
use crate::shop::{
    ANN, CALENDAR, CUT, EVE, KNOWN_FICHE, OTHER_CALENDAR, OWN_FICHE, PAUL, PIA, RITA,
};

const PATH: &str = "/groups/4/events";

/// A frame of a stream.
#[derive(Debug, PartialEq)]
struct SentEvent {
    name: String,
    id: String,
    data: Value,
}

/// A stream that is read frame by frame.
struct SentEvents {
    response: Response,
    read: String,
}

impl SentEvents {
    async fn open(request: RequestBuilder) -> Self {
        let response = request.send().await.expect("the server answers");
        assert_eq!(response.status(), 200);
        Self { response, read: String::new() }
    }

    /// The next frame; `None` at the end. Comments are left out.
    async fn next(&mut self) -> Option<SentEvent> {
        loop {
            if let Some((frame, rest)) = self.read.split_once("\n\n") {
                let event = parse(frame);
                self.read = rest.to_owned();
                if event.is_some() {
                    return event;
                }
            } else {
                let chunk = self.response.chunk().await.expect("the stream is whole")?;
                self.read.push_str(std::str::from_utf8(&chunk).expect("a text"));
            }
        }
    }

    async fn expect(&mut self, name: &str) -> SentEvent {
        let event = self.next().await.expect("the stream goes on");
        assert_eq!(event.name, name, "{event:?}");
        event
    }
}

fn parse(frame: &str) -> Option<SentEvent> {
    let field = |name: &str| {
        let mut lines = frame.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).map(str::to_owned)
    };
    let data = serde_json::from_str(&field("data")?).expect("JSON");
    let name = field("event").unwrap_or_else(|| "message".to_owned());
    Some(SentEvent { name, id: field("id").expect("a place"), data })
}

fn stream(server: &TestServer, person: (&str, &str)) -> RequestBuilder {
    server.by(person, Method::GET, PATH)
}

async fn book(server: &TestServer, calendar: u64, hour: u32, fiche: u64) -> u64 {
    let body = json!({"appointment": {"calendar_id": calendar, "intervention_ids": [CUT],
        "fiche": {"id": fiche}, "date": format!("2025-06-03 {hour:02}:00:00")}});
    let made = answer(server.by_pro(Method::POST, "/groups/4/appointments").json(&body)).await;
    made.is(201)["records"][0]["id"].as_u64().expect("an id")
}

async fn change(server: &TestServer, path: &str, body: Value) {
    answer(server.by_pro(Method::PUT, path).json(&body)).await.is(200);
}

/// The changes behind a place, as the feed has them.
async fn feed(server: &TestServer, since: &str) -> Vec<Value> {
    let page = server.pro_get(&format!("/groups/4/changes?since={since}")).await.is(200);
    page["changes"].as_array().expect("a list").clone()
}

#[tokio::test]
async fn a_change_comes_by_its_ids_with_the_place_that_the_feed_has() {
    let server = TestServer::start().await;
    let mut events = SentEvents::open(stream(&server, ANN).header("accept-encoding", "gzip")).await;
    let headers = events.response.headers().clone();
    assert_eq!(headers["content-type"], "text/event-stream");
    assert_eq!(headers["cache-control"], "no-cache");
    assert!(!headers.contains_key("content-encoding"), "{headers:?}");
    let begin = events.expect("begin").await;
    let id = book(&server, CALENDAR, 9, KNOWN_FICHE).await;
    answer(server.by_pro(Method::DELETE, &format!("/groups/4/vevents/{id}"))).await.is(200);
    let mut seen = Vec::new();
    for (verb, deleted) in [("made", None), ("deleted", Some(true))] {
        let event = events.expect("message").await;
        assert_eq!(event.data["object"], format!("vevent:{id}"));
        assert_eq!(event.data["verb"], verb);
        // The first may be sent after the second change.
        assert!(deleted.is_none_or(|deleted| event.data["deleted"] == deleted));
        assert_eq!(event.data["cursor"], event.id);
        let names: Vec<&String> = event.data.as_object().expect("an object").keys().collect();
        assert_eq!(names, ["cursor", "at_utc", "object", "verb", "deleted"], "no person is in it");
        seen.push(event.id);
    }
    let cursors: Vec<String> = feed(&server, &begin.id)
        .await
        .iter()
        .map(|it| it["cursor"].as_str().expect("a text").to_owned())
        .collect();
    assert_eq!(seen, cursors);
}

#[tokio::test]
async fn a_stream_goes_on_where_the_one_before_ended() {
    let server = TestServer::start().await;
    let mut events = SentEvents::open(stream(&server, ANN)).await;
    let begin = events.expect("begin").await.id;
    drop(events);
    let mut ids = Vec::new();
    for hour in 9..12 {
        ids.push(book(&server, CALENDAR, hour, KNOWN_FICHE).await);
    }
    for request in [
        stream(&server, ANN).header("last-event-id", &begin),
        server.by(ANN, Method::GET, &format!("{PATH}?since={begin}")),
        // A browser connects again with its first address.
        server
            .by(ANN, Method::GET, &format!("{PATH}?since=1-1-00000001"))
            .header("last-event-id", &begin),
    ] {
        let mut events = SentEvents::open(request).await;
        assert_eq!(events.expect("begin").await.id, begin);
        for id in &ids {
            let event = events.expect("message").await;
            assert_eq!(event.data["object"], format!("vevent:{id}"));
        }
    }
}

#[tokio::test]
async fn a_place_that_is_gone_or_none_or_too_far_back_is_a_reset_to_this_moment() {
    let server = TestServer::start().await;
    let mut events = SentEvents::open(stream(&server, ANN)).await;
    let begin = events.expect("begin").await.id;
    book(&server, CALENDAR, 9, KNOWN_FICHE).await;
    for unknown in ["1-1-00000001", "yesterday", "é"] {
        let request = stream(&server, ANN).header("last-event-id", unknown);
        let event = SentEvents::open(request).await.expect("reset").await;
        assert_eq!(event.data["cursor"], event.id);
        assert_eq!(feed(&server, &event.id).await, [json!(null); 0]);
    }
    let path = format!("/groups/4/fiches/{KNOWN_FICHE}");
    for number in 0..256 {
        change(&server, &path, json!({"fiche": {"comments": format!("{number}")}})).await;
    }
    // 257 changes are too many, 256 are not.
    let request = stream(&server, ANN).header("last-event-id", &begin);
    let mut events = SentEvents::open(request).await;
    assert_eq!(events.expect("begin").await.id, begin);
    let reset = events.expect("reset").await;
    assert_eq!(feed(&server, &reset.id).await, [json!(null); 0]);
    let first = feed(&server, &begin).await[0]["cursor"].as_str().expect("a text").to_owned();
    let mut events = SentEvents::open(stream(&server, ANN).header("last-event-id", &first)).await;
    events.expect("begin").await;
    for _ in 0..256 {
        events.expect("message").await;
    }
}

#[tokio::test]
async fn a_professional_who_reads_its_own_calendars_hears_of_no_other_event() {
    let server = TestServer::with_team(|_| {}).await;
    let mut events = SentEvents::open(stream(&server, PAUL)).await;
    events.expect("begin").await;
    book(&server, OTHER_CALENDAR, 10, KNOWN_FICHE).await;
    let own = book(&server, CALENDAR, 9, OWN_FICHE).await;
    assert_eq!(events.expect("message").await.data["object"], format!("vevent:{own}"));
    let path = format!("/groups/4/vevents/{own}");
    change(&server, &path, json!({"vevent": {"calendar_id": OTHER_CALENDAR}})).await;
    let left = events.expect("message").await.data;
    assert_eq!((&left["verb"], &left["deleted"]), (&json!("changed"), &json!(true)));
}

#[tokio::test]
async fn a_stream_ends_with_its_login_and_with_another_role() {
    let server = TestServer::with_team(|_| {}).await;
    let cookie = log_in(&server, ANN).await;
    let path = format!("/api/v1{PATH}");
    let by_login = || server.bare(Method::GET, &path).header("cookie", &cookie);
    let mut login = SentEvents::open(by_login()).await;
    let mut paul = SentEvents::open(stream(&server, PAUL)).await;
    let mut ann = SentEvents::open(stream(&server, ANN)).await;
    for events in [&mut login, &mut paul, &mut ann] {
        events.expect("begin").await;
    }
    let logout = server.bare(Method::POST, "/logout").header("cookie", &cookie);
    answer(logout.header("sec-fetch-site", "same-origin")).await;
    let role = json!({"pro": {"role": "reception"}});
    change(&server, "/groups/4/pros/4", role).await;
    // Nothing leaves after that, not even a change that comes at once.
    let id = book(&server, CALENDAR, 9, KNOWN_FICHE).await;
    assert_eq!(login.next().await, None);
    assert_eq!(paul.next().await, None);
    assert_eq!(ann.expect("message").await.data["object"], format!("vevent:{id}"));
    answer(by_login()).await.refused(403, 1, None);
}

#[tokio::test]
async fn a_login_has_16_streams_and_a_place_is_free_once_one_ends() {
    let server = TestServer::start().await;
    let mut streams = Vec::new();
    for _ in 0..16 {
        streams.push(SentEvents::open(stream(&server, ANN)).await);
    }
    let refused = answer(stream(&server, ANN)).await;
    refused.refused(503, 4, None);
    assert_eq!(refused.headers["retry-after"], "10");
    streams.pop();
    // The server notices the closed connection by itself.
    loop {
        let response = stream(&server, ANN).send().await.expect("an answer");
        if response.status() == 200 {
            break;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn readers_of_more_than_one_turn_get_each_change_once() {
    let server = TestServer::with_team(|_| {}).await;
    let mut streams = Vec::new();
    for person in [ANN, RITA] {
        for _ in 0..16 {
            let mut events = SentEvents::open(stream(&server, person)).await;
            events.expect("begin").await;
            streams.push(events);
        }
    }
    let first = book(&server, CALENDAR, 9, KNOWN_FICHE).await;
    for events in &mut streams {
        assert_eq!(events.expect("message").await.data["object"], format!("vevent:{first}"));
    }
    // Most of the first turn leave, and another reader comes.
    streams.drain(..20);
    let mut last = SentEvents::open(stream(&server, PIA)).await;
    last.expect("begin").await;
    streams.push(last);
    let second = book(&server, CALENDAR, 10, KNOWN_FICHE).await;
    for events in &mut streams {
        assert_eq!(events.expect("message").await.data["object"], format!("vevent:{second}"));
    }
}

#[tokio::test]
async fn only_professionals_of_the_group_follow_it() {
    let server = TestServer::start().await;
    server.get(PATH).await.refused(403, 1, None);
    answer(stream(&server, EVE)).await.refused(404, 3, None);
    server.pro_get(&format!("{PATH}?since=yesterday")).await.refused(400, 2, Some("since"));
}
