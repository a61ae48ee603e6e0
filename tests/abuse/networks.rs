//! Strangers with many addresses: a home line with a /56, a rented server with a /48, a /24.

use std::collections::VecDeque;

use reqwest::Method;
use serde_json::{Value, json};
use slotbook::domain::time::DAY;
use slotbook::http::BookingLimits;

use crate::fixture::{ANNA, Practice, answer};
use crate::mailbox::{Mailbox, mailing_practice};

/// Books for a client each from each source in turn until each is refused. Returns the number of
/// answers with a status.
async fn book_from(
    practice: &Practice,
    sources: impl Iterator<Item = String>,
    free: &mut VecDeque<(String, u64)>,
    status: u16,
) -> usize {
    let mut booked = 0;
    for source in sources {
        let stranger = practice.forwarded(&source);
        loop {
            let start = free.pop_front().expect("enough starts");
            let made = stranger.book(&start, &format!("c{}@example.org", free.len())).await;
            if made.status != status {
                // A code holds its start.
                if made.status == 429 {
                    free.push_front(start);
                }
                break;
            }
            booked += 1;
        }
    }
    booked
}

#[tokio::test]
async fn a_56_books_twice_and_a_48_four_times_what_a_source_may() {
    let practice = Practice::open().await;
    let mut free = practice.hourly_starts().await;
    let of_site = (0..30).map(|n| format!("2001:db8:1:{n:x}::1"));
    assert_eq!(book_from(&practice, of_site, &mut free, 201).await, 20, "a /56");
    let of_network = (1..10).map(|n| format!("2001:db8:1:{n:x}00::1"));
    assert_eq!(book_from(&practice, of_network, &mut free, 201).await, 20, "the rest of its /48");
    let of_others = (2..4).map(|n| format!("2001:db8:{n}::1"));
    assert_eq!(book_from(&practice, of_others, &mut free, 201).await, 20, "two other sources");
    practice.pass(3_600);
    let later = (0..30).map(|n| format!("2001:db8:1:{n:x}::1"));
    assert_eq!(book_from(&practice, later, &mut free, 201).await, 20, "an hour later");
}

#[tokio::test]
async fn many_addresses_of_a_24_are_not_refused_but_asked_for_codes() {
    for has_mail in [false, true] {
        let mailbox = Mailbox::open().await;
        let mail = has_mail.then_some(&mailbox);
        let practice = mailing_practice(|_| {}, BookingLimits::DEFAULT, 500, mail).await;
        let mut free = practice.hourly_starts().await;
        let of_24 = (1..5).map(|n| format!("198.51.100.{n}"));
        // More than twenty within an hour are asked for codes too, from wherever they come.
        let most = if has_mail { 21 } else { 40 };
        assert_eq!(book_from(&practice, of_24, &mut free, 201).await, most);
        let start = free.pop_front().expect("a start");
        let next = practice.forwarded("198.51.100.200").book(&start, "new@example.org").await;
        next.is(if has_mail { 202 } else { 201 });
    }
}

#[tokio::test]
async fn a_source_beyond_its_limit_books_with_codes() {
    let mailbox = Mailbox::open().await;
    let practice = mailing_practice(|_| {}, BookingLimits::DEFAULT, 500, Some(&mailbox)).await;
    let mut free = practice.hourly_starts().await;
    let source = || std::iter::once("2001:db8::1".to_owned());
    assert_eq!(book_from(&practice, source(), &mut free, 201).await, 10);
    // One of fifty was asked for by the booking that came next.
    assert_eq!(book_from(&practice, source(), &mut free, 202).await, 49);
    let start = free.pop_front().expect("a start");
    practice.forwarded("2001:db8::1").book(&start, "new@example.org").await.refused(429, 4);
}

#[tokio::test]
async fn the_day_of_a_source_has_24_hours() {
    let limits = BookingLimits { source_daily_max: 2, ..BookingLimits::NONE };
    let practice = Practice::with(|_| {}, |server| server.limit_bookings(limits)).await;
    let mut free = practice.hourly_starts().await.split_off(60);
    let stranger = practice.visitor("127.0.0.2");
    for client in ["a@example.org", "b@example.org"] {
        stranger.book(&free.pop_front().expect("enough starts"), client).await.is(201);
    }
    let start = free.pop_front().expect("enough starts");
    practice.pass(DAY - 1);
    let refused = stranger.book(&start, "c@example.org").await;
    refused.refused(429, 4);
    assert_eq!(refused.headers["retry-after"], "1");
    practice.pass(1);
    stranger.book(&start, "c@example.org").await.is(201);
}

/// Gives the key of the demonstration a second practice, which is always open.
fn add_second_practice(document: &mut Value) {
    let mut second = json!({
        "id": 2, "name": "Second", "timezone": "Paris", "validateEmail": false,
        "calendars": [{"id": 9_001, "name": "C", "publicname": "C", "generate_interval": 10,
            "maxrdv_period": 500_000}],
        "interventions": [{"id": 9_001, "name": "I", "publicname": "I", "length": 20}],
        "vevents": [{"id": 90_001, "calendar_id": 9_001, "type": "VfreebusyEvent",
            "rrule": "FREQ=DAILY", "start": "2020-01-01 00:00:00", "end": "2020-01-02 00:00:00"}],
    });
    second["pros"] = json!([{"email": ANNA.0, "main": false}]);
    document["groups"].as_array_mut().expect("a list").push(second);
    document["apikeys"][0]["groups"] = json!([1, 2]);
}

#[tokio::test]
async fn the_hour_of_a_client_is_one_of_each_practice() {
    let practice = Practice::with(add_second_practice, |server| server).await;
    let mut free = practice.hourly_starts().await;
    let stranger = practice.visitor("127.0.0.2");
    for _ in 0..BookingLimits::DEFAULT.client_hourly_max {
        stranger.book(&free.pop_front().expect("enough starts"), "c@example.org").await.is(201);
    }
    let (date, calendar) = free.pop_front().expect("enough starts");
    stranger.book(&(date.clone(), calendar), "c@example.org").await.refused(429, 4);
    let elsewhere = stranger.request(Method::POST, "/groups/2/appointments");
    let elsewhere = elsewhere.json(&json!({"appointment": {
        "date": date, "intervention_ids": [9_001], "calendar_id": 9_001,
        "fiche": {"lastname": "Durand", "email": "c@example.org"},
    }}));
    answer(elsewhere).await.is(201);
}
