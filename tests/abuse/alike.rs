//! A stranger has booked in bulk: the operator finds and cancels those bookings, and no others.

use reqwest::Method;
use serde_json::{Value, json};
use slotbook::domain::decisions::alike::find_alike;
use slotbook::domain::records::ids::{GroupId, VeventId};
use slotbook::domain::state::refusal::Refusal;
use slotbook::http::BookingLimits;

use crate::fixture::{ANNA, Practice, answer};

fn id_of(made: &Value) -> VeventId {
    made["records"][0]["id"].as_u64().and_then(VeventId::new).expect("an id")
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
    let alike = find_alike(&practice.state(), ids[3], since, now).expect("it has an origin");
    assert_eq!(alike, ids);
    let group = GroupId::new(1).expect("an id");
    practice.engine.cancel_many(group, &alike, true).await.expect("they are there");
    let state = practice.state();
    assert!(ids.iter().all(|id| state.rows[id].deleted));
    assert!(!state.rows[&early].deleted && !state.rows[&honest].deleted, "others stay");
    let mut messages = state.outbox.messages();
    assert!(!messages.any(|message| message.kind().name() == "cancellation"), "quietly");
    // A repetition finds nothing left, and changes nothing.
    assert_eq!(find_alike(&state, ids[3], since, now), Ok(Vec::new()));
    practice.engine.cancel_many(group, &alike, true).await.expect("they are cancelled already");
    assert_eq!(practice.state().sequence, state.sequence);
}

#[tokio::test]
async fn a_booking_by_the_shop_keeps_no_origin() {
    let practice = Practice::open().await;
    let free = practice.hourly_starts().await;
    let by_anna = practice.visitor("127.0.0.1").booking(&free[0], "guest@example.org");
    let made = answer(by_anna.basic_auth(ANNA.0, Some(ANNA.1))).await.is(201);
    let now = practice.engine.clock().now();
    let found = find_alike(&practice.state(), id_of(&made), now, now);
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
