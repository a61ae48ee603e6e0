//! A stranger has booked in bulk: the operator finds and cancels those bookings, and no others.

use reqwest::Method;
use serde_json::{Value, json};
use slotbook::domain::decisions::alike::{AlikeBookings, AlikeSearch, find_alike};
use slotbook::domain::records::author::Author;
use slotbook::domain::records::booking_origin::NetworkWidth;
use slotbook::domain::records::ids::{GroupId, VeventId};
use slotbook::domain::state::refusal::Refusal;
use slotbook::domain::time::Instant;
use slotbook::http::BookingLimits;
use slotbook::wire::datetime;

use crate::fixture::{ANNA, Practice, answer};

fn id_of(made: &Value) -> VeventId {
    made["records"][0]["id"].as_u64().and_then(VeventId::new).expect("an id")
}

fn from_source_of(id: VeventId, since: Instant) -> AlikeSearch {
    let width = NetworkWidth::Source;
    AlikeSearch { like: Some(id), width, since, until: None, is_unverified: false }
}

#[tokio::test]
async fn all_bookings_of_one_source_are_counted_and_cancelled_together() {
    let practice =
        Practice::with(|_| {}, |server| server.limit_bookings(BookingLimits::NONE)).await;
    let mut free = practice.hourly_starts().await;
    let mut book = async |source: &str, email: String| {
        let start = free.pop_front().expect("a start");
        id_of(&practice.forwarded(source).book(&start, &email).await.is(201))
    };
    let early = book("203.0.113.7", "early@example.org".to_owned()).await;
    practice.pass(60);
    let since = practice.engine.clock().now();
    let mut ids = Vec::new();
    for number in 0..70 {
        ids.push(book("203.0.113.7", format!("c{number}@example.org")).await);
    }
    let honest = book("203.0.113.8", "honest@example.org".to_owned()).await;
    let now = practice.engine.clock().now();
    let search = from_source_of(ids[3], since);
    let alike = find_alike(&practice.state(), &search, now).expect("it has an origin").appointments;
    assert_eq!(alike, ids);
    let group = GroupId::new(1).expect("an id");
    practice
        .engine
        .cancel_many(group, Author::Operator, &alike, true)
        .await
        .expect("they are there");
    let state = practice.state();
    assert!(ids.iter().all(|id| state.rows[id].deleted));
    assert!(!state.rows[&early].deleted && !state.rows[&honest].deleted, "others stay");
    let mut messages = state.outbox.messages();
    assert!(!messages.any(|message| message.kind().name() == "cancellation"), "quietly");
    // A repetition finds nothing left, and changes nothing.
    assert_eq!(find_alike(&state, &search, now), Ok(AlikeBookings::default()));
    practice
        .engine
        .cancel_many(group, Author::Operator, &alike, true)
        .await
        .expect("they are cancelled already");
    assert_eq!(practice.state().sequence, state.sequence);
}

#[tokio::test]
async fn a_booking_by_the_shop_keeps_no_origin() {
    let practice = Practice::open().await;
    let free = practice.hourly_starts().await;
    let by_anna = practice.visitor("127.0.0.1").booking(&free[0], "guest@example.org");
    let made = answer(by_anna.basic_auth(ANNA.0, Some(ANNA.1))).await.is(201);
    let now = practice.engine.clock().now();
    let found = find_alike(&practice.state(), &from_source_of(id_of(&made), now), now);
    assert!(matches!(found, Err(Refusal::InvalidParameter(_))), "{found:?}");
}

#[tokio::test]
async fn professionals_count_and_cancel_them_over_http() {
    let practice =
        Practice::with(|_| {}, |server| server.limit_bookings(BookingLimits::NONE)).await;
    let mut free = practice.hourly_starts().await;
    let mut ids = Vec::new();
    for number in 0..6 {
        let start = free.pop_front().expect("a start");
        let stranger = practice.forwarded("203.0.113.7");
        let made = stranger.book(&start, &format!("c{number}@example.org")).await.is(201);
        ids.push(id_of(&made));
    }
    let visitor = practice.visitor("127.0.0.1");
    let path = format!("/groups/1/appointments/{}/cancel_alike", ids[2]);
    let ask = async |body: Value| {
        let request = visitor.request(Method::POST, &path).basic_auth(ANNA.0, Some(ANNA.1));
        answer(request.json(&body)).await
    };
    let by_key = visitor.request(Method::POST, &path).json(&json!({"since": "2020-01-01"}));
    answer(by_key).await.refused(403, 1);
    for (body, field) in [
        (json!({}), "since"),
        (json!({"since": "soon"}), "since"),
        (json!({"since": "2020-01-01", "count": -1}), "count"),
        (json!({"since": "2020-01-01", "count": "all"}), "count"),
        (json!({"since": "2020-01-01", "sendmail": "later"}), "sendmail"),
    ] {
        let refused = ask(body).await.is(400);
        assert_eq!(refused["errors"][0]["field"], field);
    }
    let counted = ask(json!({"since": "2020-01-01"})).await.is(200);
    assert_eq!(counted, json!({"count": 6, "cancelled": 0}));
    let other_number = ask(json!({"since": "2020-01-01", "count": 5})).await;
    other_number.refused(409, 2);
    assert_eq!(other_number.json()["errors"][0]["field"], "count");
    let state = practice.state();
    assert!(ids.iter().all(|id| !state.rows[id].deleted), "nothing was done");
    let since_later = ask(json!({"since": "2099-01-01"})).await.is(200);
    assert_eq!(since_later, json!({"count": 0, "cancelled": 0}));
    let done = ask(json!({"since": "2020-01-01", "count": 6, "sendmail": 0})).await.is(200);
    assert_eq!(done, json!({"count": 6, "cancelled": 6}));
    let state = practice.state();
    assert!(ids.iter().all(|id| state.rows[id].deleted));
    ask(json!({"since": "2020-01-01", "count": 6})).await.refused(409, 2);
}

#[tokio::test]
async fn bookings_of_a_network_are_counted_and_cancelled_with_its_holds() {
    let practice =
        Practice::with(|_| {}, |server| server.limit_bookings(BookingLimits::NONE)).await;
    let mut free = practice.hourly_starts().await;
    let mut ids = Vec::new();
    for source in ["2001:db8::1", "2001:db8:0:7::1", "2001:db8:0:700::1", "2001:db8:7::1"] {
        let start = free.pop_front().expect("a start");
        let stranger = practice.forwarded(source);
        let email = format!("c{}@example.org", ids.len());
        ids.push(id_of(&stranger.book(&start, &email).await.is(201)));
        let start = free.pop_front().expect("a start");
        let body = json!({"hold": {
            "date": start.0, "intervention_ids": [1], "calendar_id": start.1,
        }});
        answer(stranger.request(Method::POST, "/groups/1/holds").json(&body)).await.is(201);
    }
    let visitor = practice.visitor("127.0.0.1");
    let ask = async |like: VeventId, body: Value| {
        let path = format!("/groups/1/appointments/{like}/cancel_alike");
        let request = visitor.request(Method::POST, &path).basic_auth(ANNA.0, Some(ANNA.1));
        answer(request.json(&body)).await
    };
    let wrong = ask(ids[0], json!({"since": "2020-01-01", "network": "32"})).await.is(400);
    assert_eq!(wrong["errors"][0]["field"], "network");
    for (like, network, number) in
        [(0, "source", 1), (0, "56", 2), (1, "56", 2), (2, "56", 1), (2, "48", 3), (3, "48", 1)]
    {
        let body = json!({"since": "2020-01-01", "network": network, "list": true});
        let counted = ask(ids[like], body).await.is(200);
        assert_eq!(counted["count"], number, "{like} {network}");
        assert_eq!(counted["holds"], json!({"chosen": number, "unconfirmed": 0, "ended": 0}));
        let listed = counted["appointments"].as_array().expect("a list");
        assert!(listed.iter().any(|row| row["id"] == json!(ids[like])), "{listed:?}");
    }
    let body = json!({"since": "2020-01-01", "network": 56, "list": true, "count": 2});
    let done = ask(ids[0], body).await.is(200);
    assert_eq!(done["cancelled"], 2);
    assert_eq!(done["holds"], json!({"chosen": 2, "unconfirmed": 0, "ended": 2}));
    let (state, now) = (practice.state(), practice.engine.clock().now());
    let deleted: Vec<bool> = ids.iter().map(|id| state.rows[id].deleted).collect();
    assert_eq!(deleted, [true, true, false, false]);
    assert_eq!(state.holds().iter().filter(|hold| hold.is_live(now)).count(), 2);
}

#[tokio::test]
async fn web_bookings_of_some_time_are_listed_and_cancelled_without_an_appointment() {
    let practice =
        Practice::with(|_| {}, |server| server.limit_bookings(BookingLimits::NONE)).await;
    let mut free = practice.hourly_starts().await;
    let mut next = || free.pop_front().expect("a start");
    let stranger = practice.forwarded("203.0.113.7");
    let early = id_of(&stranger.book(&next(), "early@example.org").await.is(201));
    practice.pass(60);
    let zone = practice.state().catalogue.zone();
    let began = practice.engine.clock().now();
    let shown = |moment: Instant| datetime::format_local(zone, moment);
    let first = next();
    let made = stranger.book(&first, "one@example.org").await.is(201);
    let other = practice.forwarded("2001:db8::1").book(&next(), "two@example.org").await.is(201);
    let visitor = practice.visitor("127.0.0.1");
    let start = next();
    let by_account = visitor.request(Method::POST, "/groups/1/appointments").json(&json!({
        "appointment": {"date": start.0, "intervention_ids": [1], "calendar_id": start.1},
    }));
    let louise = ("louise.thomas@example.org", "demo-password");
    let own = answer(by_account.basic_auth(louise.0, Some(louise.1))).await.is(201);
    let by_anna = visitor.booking(&next(), "guest@example.org");
    let by_shop = answer(by_anna.basic_auth(ANNA.0, Some(ANNA.1))).await.is(201);
    let start = next();
    let body = json!({"hold": {
        "date": start.0, "intervention_ids": [1], "calendar_id": start.1,
    }});
    answer(stranger.request(Method::POST, "/groups/1/holds").json(&body)).await.is(201);
    practice.pass(60);
    let late = id_of(&stranger.book(&next(), "late@example.org").await.is(201));
    let path = "/groups/1/appointments/cancel_alike";
    let ask = async |mut body: Value| {
        body["since"] = shown(began).into();
        body["until"] = shown(began.plus_seconds(60)).into();
        let request = visitor.request(Method::POST, path).basic_auth(ANNA.0, Some(ANNA.1));
        answer(request.json(&body)).await
    };
    let by_key = visitor.request(Method::POST, path).json(&json!({"since": "2020-01-01"}));
    answer(by_key).await.refused(403, 1);
    let refused = ask(json!({"network": "48"})).await.is(400);
    assert_eq!(refused["errors"][0]["field"], "network");
    assert_eq!(ask(json!({})).await.is(200), json!({"count": 3, "cancelled": 0}));
    let listed = ask(json!({"unverified": true, "list": true})).await.is(200);
    assert_eq!(listed["count"], 2);
    assert_eq!(
        listed["appointments"][0],
        json!({"id": id_of(&made), "start": first.0,
            "created_at": shown(began), "client": "Durand Ada"})
    );
    assert_eq!(listed["holds"], json!({"chosen": 1, "unconfirmed": 0, "ended": 0}));
    ask(json!({"unverified": true, "count": 3})).await.refused(409, 2);
    let done = ask(json!({"unverified": true, "count": 2, "list": true})).await.is(200);
    assert_eq!((&done["cancelled"], &done["holds"]["ended"]), (&json!(2), &json!(1)));
    let (state, now) = (practice.state(), practice.engine.clock().now());
    for (made, is_deleted) in [(&made, true), (&other, true), (&own, false), (&by_shop, false)] {
        assert_eq!(state.rows[&id_of(made)].deleted, is_deleted, "{made}");
    }
    assert!(!state.rows[&early].deleted && !state.rows[&late].deleted, "at other times");
    assert!(!state.holds().iter().any(|hold| hold.is_live(now)));
}
