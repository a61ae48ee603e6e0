//! Strangers who hold time that they never book: most of the agenda stays free for others.

use std::collections::{BTreeMap, VecDeque};

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use slotbook::http::BookingLimits;

use crate::fixture::{ANNA, Answer, Practice, Visitor, answer};
use crate::mailbox::{Mailbox, mailing_practice};

/// The client of the demonstration who has an account.
const LOUISE: (&str, &str) = ("louise.thomas@example.org", "demo-password");
const HOLDS: &str = "/groups/1/holds";
/// Seconds after which a hold has ended.
const ENDED_SECONDS: i64 = 600;

fn holding(
    visitor: &Visitor,
    (date, calendar): &(String, u64),
    hold: Option<&str>,
) -> RequestBuilder {
    visitor.request(Method::POST, HOLDS).json(&json!({"hold": {
        "date": date, "intervention_ids": [1], "calendar_id": calendar, "hold": hold,
    }}))
}

async fn hold(visitor: &Visitor, start: &(String, u64)) -> Answer {
    answer(holding(visitor, start, None)).await
}

fn token(made: &Value) -> String {
    made["token"].as_str().expect("a token").to_owned()
}

/// The live holds of the group.
fn live_holds(practice: &Practice) -> usize {
    let (state, now) = (practice.state(), practice.engine.clock().now());
    state.holds().iter().filter(|hold| hold.is_live(now)).count()
}

/// The demonstration, where strangers may take this percentage of a day.
async fn with_share(percent: i64) -> Practice {
    Practice::with(
        |document| document["groups"][0]["unverified_day_percent"] = json!(percent),
        |server| server,
    )
    .await
}

/// Free starts of one calendar on one day, the day with most of them, each 20 minutes or more after
/// the one before.
async fn starts_of_a_day(practice: &Practice) -> Vec<(String, u64)> {
    let mut days: BTreeMap<(String, u64), Vec<(String, u64)>> = BTreeMap::new();
    for start in practice.free_starts().await {
        let day = days.entry((start.0[..10].to_owned(), start.1)).or_default();
        let minute = |start: &str| {
            start[11..13].parse::<i64>().expect("an hour") * 60
                + start[14..16].parse::<i64>().expect("a minute")
        };
        if day.last().is_none_or(|last| minute(&start.0) - minute(&last.0) >= 20) {
            day.push(start);
        }
    }
    days.into_values().max_by_key(Vec::len).expect("a free day")
}

#[tokio::test]
async fn one_source_holds_three_times_however_it_renews_its_holds() {
    let practice = Practice::open().await;
    let free = practice.hourly_starts().await;
    let stranger = practice.visitor("127.0.0.2");
    let mut tokens = VecDeque::new();
    for start in free.range(..3) {
        tokens.push_back(token(&hold(&stranger, start).await.is(201)));
    }
    hold(&stranger, &free[3]).await.refused(429, 4);
    // Each renewal counts: all in all thirty in an hour.
    for number in 3..40 {
        let renewed = tokens.pop_front().expect("three are held");
        let place = number % 3;
        let made = answer(holding(&stranger, &free[place], Some(&renewed))).await;
        if number < 30 {
            tokens.push_back(token(&made.is(201)));
        } else {
            made.refused(429, 4);
            assert!(made.headers.contains_key("retry-after"));
            tokens.push_back(renewed);
        }
        assert_eq!(live_holds(&practice), 3);
    }
    practice.visitor("127.0.0.3").book(&free[3], "other@example.org").await.is(201);
    practice.pass(ENDED_SECONDS);
    assert_eq!(live_holds(&practice), 0);
    practice.visitor("127.0.0.3").book(&free[0], "again@example.org").await.is(201);
}

#[tokio::test]
async fn a_source_without_places_for_bookings_holds_nothing() {
    let practice = Practice::open().await;
    let mut free = practice.hourly_starts().await;
    let stranger = practice.visitor("127.0.0.2");
    for number in 0..10 {
        let start = free.pop_front().expect("a start");
        stranger.book(&start, &format!("c{number}@example.org")).await.is(201);
    }
    hold(&stranger, &free[0]).await.refused(429, 4);
    assert_eq!(live_holds(&practice), 0);
}

#[tokio::test]
async fn many_sources_hold_no_more_of_a_day_than_the_share_of_strangers() {
    let practice = with_share(40).await;
    let starts = starts_of_a_day(&practice).await;
    let (mut held, mut refused) = (0, Vec::new());
    for (number, start) in starts.iter().enumerate() {
        let made = hold(&practice.forwarded(&format!("203.0.113.{number}")), start).await;
        if made.status == 201 {
            held += 1;
        } else {
            made.refused(400, 14);
            assert!(made.text.contains("without a login"), "{}", made.text);
            refused.push(start);
        }
    }
    assert!(held > 1 && refused.len() > 3, "{held} of {}", starts.len());
    // The search offers nothing more of that day, for the same reason as explain.
    let stranger = practice.visitor("127.0.0.2");
    let (start, calendar) = refused[0];
    let path = format!(
        "/groups/1/availabletimeslots?intervention_ids[]=1&calendar_id={calendar}&start={}&nDays=1",
        &start[..10]
    );
    assert_eq!(stranger.get(&path).await.is(200)["availabletimeslots"], json!([]));
    let path = format!(
        "/groups/1/availabletimeslots/explanation?intervention_ids[]=1&calendar_id={calendar}&start={start}"
    );
    let explained = stranger.get(&path).await.is(200);
    assert_eq!(explained["calendars"][0]["reasons"][0]["rule"], "unverified_share");
    // An account and the shop are not bound.
    let booking = stranger.request(Method::POST, "/groups/1/appointments");
    let body = json!({"appointment": {
        "date": start, "intervention_ids": [1], "calendar_id": calendar,
    }});
    answer(booking.basic_auth(LOUISE.0, Some(LOUISE.1)).json(&body)).await.is(201);
    let by_anna = stranger.booking(refused[1], "guest@example.org");
    answer(by_anna.basic_auth(ANNA.0, Some(ANNA.1))).await.is(201);
    // The holds end, and leave nothing behind.
    practice.pass(ENDED_SECONDS);
    stranger.book(refused[2], "late@example.org").await.is(201);
}

#[tokio::test]
async fn bookings_of_many_sources_take_no_more_of_a_day_than_the_share_of_strangers() {
    let practice = with_share(25).await;
    let starts = starts_of_a_day(&practice).await;
    let (mut booked, mut refused) = (0, 0);
    for (number, start) in starts.iter().enumerate() {
        let stranger = practice.forwarded(&format!("203.0.113.{number}"));
        let made = stranger.book(start, &format!("c{number}@example.org")).await;
        if made.status == 201 {
            booked += 1;
        } else {
            made.refused(400, 14);
            refused += 1;
        }
    }
    assert!(booked > 0 && booked < refused, "{booked} of {}", starts.len());
}

#[tokio::test]
async fn a_hold_is_made_once_for_an_idempotency_key_and_counts_for_each_key() {
    let practice = Practice::open().await;
    let free = practice.hourly_starts().await;
    let stranger = practice.visitor("127.0.0.2");
    let keyed = |start, key: &str| holding(&stranger, start, None).header("idempotency-key", key);
    let first = answer(keyed(&free[0], "the-first-key-of-all")).await.is(201);
    for _ in 0..40 {
        assert_eq!(answer(keyed(&free[0], "the-first-key-of-all")).await.is(201), first);
    }
    assert_eq!(live_holds(&practice), 1);
    for (number, start) in free.iter().enumerate().take(5).skip(1) {
        let made = answer(keyed(start, &format!("another-long-key-{number}"))).await;
        if number < 3 {
            made.is(201);
        } else {
            made.refused(429, 4);
        }
    }
    assert_eq!(live_holds(&practice), 3);
}

#[tokio::test]
async fn the_shop_takes_held_time_by_an_appointment_and_by_a_plage() {
    let practice = Practice::open().await;
    let free = practice.hourly_starts().await;
    let stranger = practice.visitor("127.0.0.2");
    let as_anna = |request: RequestBuilder| answer(request.basic_auth(ANNA.0, Some(ANNA.1)));
    let booking = |start: &(String, u64), token: &str| {
        stranger.request(Method::POST, "/groups/1/appointments").json(&json!({"appointment": {
            "date": start.0, "intervention_ids": [1], "calendar_id": start.1, "hold": token,
            "fiche": {"lastname": "Durand", "firstname": "Ada", "firstphone": "0639980001",
                "email": "ada@example.org"},
        }}))
    };
    let taken = token(&hold(&stranger, &free[0]).await.is(201));
    as_anna(stranger.booking(&free[0], "guest@example.org")).await.is(201);
    answer(booking(&free[0], &taken)).await.refused(400, 14);
    assert_eq!(live_holds(&practice), 0, "the appointment has ended it");
    let closed = token(&hold(&stranger, &free[1]).await.is(201));
    let plage = stranger.request(Method::POST, "/groups/1/vevents").json(&json!({"vevent": {
        "calendar_id": free[1].1, "start": free[1].0, "end": free[1].0.replace(":00:00", ":30:00"),
        "text": "closed",
    }}));
    let made = as_anna(plage).await.is(201);
    assert_eq!(live_holds(&practice), 0, "the plage has ended it");
    answer(booking(&free[1], &closed)).await.refused(400, 14);
    // A series that is moved over a hold ends it, and the hold stays ended when the series goes.
    let series = format!("/groups/1/vevents/{}", made["id"]);
    let change = |vevent: Value| {
        as_anna(stranger.request(Method::PUT, &series).json(&json!({ "vevent": vevent })))
    };
    let held = token(&hold(&stranger, &free[2]).await.is(201));
    change(json!({"calendar_id": free[2].1, "start": free[2].0,
        "end": free[2].0.replace(":00:00", ":30:00"), "repeat_freq": "weekly"}))
    .await
    .is(200);
    assert_eq!(live_holds(&practice), 0, "the series has ended it");
    change(json!({"deleted": 1})).await.is(200);
    let release = stranger.request(Method::DELETE, &format!("{HOLDS}?token={held}"));
    answer(release).await.refused(404, 3);
    answer(booking(&free[2], &held)).await.is(201);
    // So does a series that is restored.
    hold(&stranger, &free[3]).await.is(201);
    change(json!({"calendar_id": free[3].1, "start": free[3].0,
        "end": free[3].0.replace(":00:00", ":30:00")}))
    .await
    .is(200);
    assert_eq!(live_holds(&practice), 1, "it is deleted");
    change(json!({"deleted": 0})).await.is(200);
    assert_eq!(live_holds(&practice), 0, "it is restored");
}

#[tokio::test]
async fn holds_with_a_key_of_a_server_count_for_no_source() {
    let practice =
        Practice::with(|document| document["apikeys"][0]["server"] = json!(true), |server| server)
            .await;
    let free = practice.hourly_starts().await;
    let site = practice.visitor("127.0.0.2");
    for start in free.range(..35) {
        hold(&site, start).await.is(201);
    }
    assert_eq!(live_holds(&practice), 35);
}

#[tokio::test]
async fn bookings_that_wait_for_a_code_count_in_the_limits() {
    let mailbox = Mailbox::open().await;
    let verifying = |document: &mut Value| document["groups"][0]["verify_bookings"] = json!("mail");
    let practice = mailing_practice(verifying, BookingLimits::DEFAULT, 500, Some(&mailbox)).await;
    let mut free = practice.hourly_starts().await;
    let mut book = async |source: &str, email: &str| {
        let start = free.pop_front().expect("a start");
        practice.forwarded(source).book(&start, email).await
    };
    for number in 0..52 {
        let waiting = book("203.0.113.7", &format!("c{number}@example.org")).await;
        if number < 50 {
            waiting.is(202);
        } else {
            waiting.refused(429, 4);
        }
    }
    for number in 0..7 {
        let waiting = book(&format!("198.51.100.{number}"), "one@example.org").await;
        if number < 5 {
            waiting.is(202);
        } else {
            waiting.refused(429, 4);
        }
    }
    assert_eq!(live_holds(&practice), 55);
    practice.pass(15 * 60);
    assert_eq!(live_holds(&practice), 0);
}
