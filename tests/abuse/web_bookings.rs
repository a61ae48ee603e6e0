//! Strangers who book as much as they can: the agenda stays free for others.

use std::collections::BTreeMap;

use reqwest::Method;
use serde_json::json;

use crate::fixture::{ANNA, Practice, Visitor, answer};

/// The client of the demonstration who has an account.
const LOUISE: (&str, &str) = ("louise.thomas@example.org", "demo-password");

/// Starts that do not follow one another, so that no client rule is in the way.
async fn starts(practice: &Practice) -> Vec<(String, u64)> {
    let free = practice.free_starts().await;
    let mut starts: Vec<(String, u64)> = Vec::new();
    for start in free {
        let is_day_new = match starts.last() {
            Some((last, _)) => last[..10] != start.0[..10],
            None => true,
        };
        if is_day_new || start.0.ends_with("10:00:00") || start.0.ends_with("11:00:00") {
            starts.push(start);
        }
    }
    starts.dedup_by(|one, other| one.0 == other.0);
    starts
}

/// Books each start for an address of its own until the first refusal. Returns the number booked.
async fn book_for_many(visitor: &Visitor, starts: &mut Vec<(String, u64)>) -> usize {
    for booked in 0.. {
        let start = starts.pop().expect("enough starts");
        let made = visitor.book(&start, &format!("c{}@example.org", starts.len())).await;
        if made.status != 201 {
            made.refused(429, 4);
            assert!(made.headers.contains_key("retry-after"));
            starts.push(start);
            return booked;
        }
    }
    unreachable!("the loop returns")
}

#[tokio::test]
async fn one_source_books_ten_times_an_hour_and_thirty_times_a_day() {
    let practice = Practice::open().await;
    let mut free = starts(&practice).await;
    let stranger = practice.visitor("127.0.0.2");
    for hour in 0..5 {
        let expected = if hour < 3 { 10 } else { 0 };
        assert_eq!(book_for_many(&stranger, &mut free).await, expected, "in hour {hour}");
        practice.pass(3_600);
    }
    // Others are served: another source, a professional, and the same source a day later.
    let start = free.pop().expect("a start");
    practice.visitor("127.0.0.3").book(&start, "other@example.org").await.is(201);
    let start = free.pop().expect("a start");
    let by_anna = stranger.booking(&start, "anna-books@example.org");
    answer(by_anna.basic_auth(ANNA.0, Some(ANNA.1))).await.is(201);
    practice.pass(20 * 3_600);
    assert_eq!(book_for_many(&stranger, &mut free).await, 10);
}

#[tokio::test]
async fn bookings_for_another_use_up_nothing_of_what_the_shop_may_book_for_that_client() {
    let practice = Practice::with(
        |document| {
            document["groups"][0]["maxrdv_number"] = json!(2);
            document["groups"][0]["mintime_between"] = json!(600);
        },
        |server| server,
    )
    .await;
    let path = "/groups/1/availabletimeslots?intervention_ids[]=1&nDays=30";
    let found = practice.visitor("127.0.0.1").get(path).await.is(200);
    // The first start of each day that two calendars offer.
    let mut free: Vec<(String, [u64; 2])> = Vec::new();
    for slot in found["availabletimeslots"].as_array().expect("a list") {
        let start = slot["start"].as_str().expect("a time");
        let calendars = slot["calendar_ids"].as_array().expect("a list");
        if let [one, other, ..] = &calendars[..]
            && free.last().is_none_or(|last| last.0[..10] != start[..10])
        {
            let calendars = [one, other].map(|id| id.as_u64().expect("an id"));
            free.push((start.to_owned(), calendars));
        }
    }
    let [(first, [of_stranger, of_shop]), (second, calendars), (third, others), ..] = &free[..]
    else {
        panic!("three days offer two calendars at once: {free:?}");
    };
    let stranger = practice.visitor("127.0.0.2");
    let victim = "victim@example.org";
    stranger.book(&(first.clone(), *of_stranger), victim).await.is(201);
    stranger.book(&(second.clone(), calendars[0]), victim).await.is(201);
    // For the public all count: the number of a day, and the time.
    stranger.book(&(third.clone(), others[0]), victim).await.refused(400, 6);
    stranger.book(&(first.clone(), *of_shop), victim).await.refused(400, 12);
    // The shop books the client at the very time, and another.
    for start in [(first.clone(), *of_shop), (third.clone(), others[0])] {
        let by_anna = stranger.booking(&start, victim);
        answer(by_anna.basic_auth(ANNA.0, Some(ANNA.1))).await.is(201);
    }
    // Its own bookings count.
    let again = stranger.booking(&(third.clone(), others[1]), victim);
    answer(again.basic_auth(ANNA.0, Some(ANNA.1))).await.refused(400, 12);
}

#[tokio::test]
async fn a_burst_from_one_source_books_no_more_than_a_sequence() {
    let practice = Practice::open().await;
    let stranger = practice.forwarded("203.0.113.7");
    let mut sent = Vec::new();
    for (number, start) in starts(&practice).await.iter().take(40).enumerate() {
        let booking = stranger.booking(start, &format!("c{number}@example.org"));
        sent.push(tokio::spawn(answer(booking)));
    }
    let mut answered: BTreeMap<u16, usize> = BTreeMap::new();
    for sent in sent {
        let status = sent.await.expect("no panic").status;
        *answered.entry(status.as_u16()).or_default() += 1;
    }
    assert_eq!(answered, BTreeMap::from([(201, 10), (429, 30)]));
}

#[tokio::test]
async fn an_ipv6_network_is_one_source() {
    let practice = Practice::open().await;
    let mut free = starts(&practice).await;
    let mut booked = 0;
    for host in 1..=11 {
        let stranger = practice.forwarded(&format!("2001:db8:0:7::{host}"));
        let made = stranger.book(&free.pop().expect("a start"), &format!("c{host}@a.org")).await;
        booked += usize::from(made.status == 201);
    }
    assert_eq!(booked, 10);
    let neighbour = practice.forwarded("2001:db8:0:8::1");
    neighbour.book(&free.pop().expect("a start"), "n@example.org").await.is(201);
}

#[tokio::test]
async fn one_mailbox_is_booked_for_five_times_an_hour_by_one_source() {
    let practice = Practice::open().await;
    let free = starts(&practice).await;
    let stranger = practice.forwarded("203.0.113.7");
    let spellings = ["d@example.org", "D@Example.org", "d+1@example.org", "d+two@example.org"];
    for (number, start) in free.iter().take(8).enumerate() {
        let made = stranger.book(start, spellings[number % spellings.len()]).await;
        if number < 5 {
            made.is(201);
        } else {
            made.refused(429, 4);
        }
    }
}

#[tokio::test]
async fn an_account_books_five_times_an_hour_from_any_number_of_sources() {
    let practice = Practice::with(
        |document| document["groups"][0]["maxrdv_number"] = json!(0),
        |server| server,
    )
    .await;
    let mut free = starts(&practice).await.into_iter();
    for number in 0..6 {
        let louise = practice.forwarded(&format!("198.51.100.{number}"));
        let path = "/groups/1/appointments";
        let (date, calendar) = free.next().expect("a start");
        let booking = louise.request(Method::POST, path).basic_auth(LOUISE.0, Some(LOUISE.1));
        let made = answer(booking.json(&json!({"appointment": {
            "date": date, "intervention_ids": [1], "calendar_id": calendar,
        }})))
        .await;
        if number < 5 {
            made.is(201);
        } else {
            made.refused(429, 4);
        }
    }
}

#[tokio::test]
async fn refused_and_repeated_requests_do_not_count() {
    let practice = Practice::open().await;
    let mut free = starts(&practice).await;
    let client = practice.visitor("127.0.0.2");
    let taken = free.pop().expect("a start");
    client.book(&taken, "first@example.org").await.is(201);
    for number in 0..15 {
        client.book(&taken, &format!("late{number}@example.org")).await.refused(400, 14);
    }
    let start = free.pop().expect("a start");
    let repeated =
        || client.booking(&start, "r@example.org").header("idempotency-key", "one-long-enough-key");
    let first = answer(repeated()).await.is(201);
    let mut sent = Vec::new();
    for _ in 0..15 {
        sent.push(tokio::spawn(answer(repeated())));
    }
    for sent in sent {
        assert_eq!(sent.await.expect("no panic").is(201), first);
    }
    assert_eq!(book_for_many(&client, &mut free).await, 8);
    assert_eq!(answer(repeated()).await.is(201), first, "a repetition needs no place");
}

#[tokio::test]
async fn a_key_of_a_server_books_for_many_clients_and_not_for_one() {
    let practice =
        Practice::with(|document| document["apikeys"][0]["server"] = json!(true), |server| server)
            .await;
    let mut free = starts(&practice).await;
    let site = practice.visitor("127.0.0.2");
    for number in 0..40 {
        site.book(&free.pop().expect("a start"), &format!("c{number}@example.org")).await.is(201);
    }
    for _ in 0..5 {
        site.book(&free.pop().expect("a start"), "d@example.org").await.is(201);
    }
    site.book(&free.pop().expect("a start"), "d@example.org").await.refused(429, 4);
}
