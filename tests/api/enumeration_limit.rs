//! Against guessing who is whose client by what a booking is refused for.

use std::collections::BTreeMap;

use reqwest::Method;
use serde_json::{Value, json};

use crate::server::{Answer, TestServer, answer};
use crate::shop::{CALENDAR, CUT, OTHER_CALENDAR, clock};

const PATH: &str = "/groups/4/appointments";

fn booking(calendar: u64, time: &str, email: &str) -> Value {
    json!({"appointment": {
        "date": format!("2025-06-02 {time}:00"), "intervention_ids": [CUT], "calendar_id": calendar,
        "fiche": {"lastname": "Durand", "email": email},
    }})
}

async fn book(server: &TestServer, email: &str) -> Answer {
    answer(server.by_key(Method::POST, PATH).json(&booking(OTHER_CALENDAR, "09:30", email))).await
}

/// A client who has an appointment at half past nine.
async fn has_an_appointment(server: &TestServer, email: &str) {
    answer(server.by_pro(Method::POST, PATH).json(&booking(CALENDAR, "09:30", email)))
        .await
        .is(201);
}

#[tokio::test]
async fn the_eleventh_refusal_of_an_address_in_an_hour_is_not_given() {
    let server = TestServer::start().await;
    has_an_appointment(&server, "d@example.org").await;
    for _ in 0..10 {
        book(&server, "d@example.org").await.refused(400, 12, Some("date"));
    }
    for spelling in ["d@example.org", "D@Example.org"] {
        let refused = book(&server, spelling).await;
        refused.refused(429, 4, None);
        assert_eq!(refused.headers["retry-after"], "3600");
    }
    // Professionals are not bound, nor is another address; and what is no hint is not counted.
    let by_pro =
        server.by_pro(Method::POST, PATH).json(&booking(OTHER_CALENDAR, "09:30", "d@example.org"));
    answer(by_pro).await.refused(400, 12, Some("date"));
    book(&server, "other@example.org").await.is(201);
    for _ in 0..25 {
        book(&server, "third@example.org").await.refused(400, 14, Some("date"));
    }
    server.at(clock(9, 0));
    book(&server, "d@example.org").await.refused(400, 12, Some("date"));
}

#[tokio::test]
async fn a_burst_learns_no_more_than_one_after_another_would() {
    let server = TestServer::start().await;
    has_an_appointment(&server, "d@example.org").await;
    let sent: Vec<_> = (0..60)
        .map(|_| {
            let wish = booking(OTHER_CALENDAR, "09:30", "d@example.org");
            tokio::spawn(answer(server.by_key(Method::POST, PATH).json(&wish)))
        })
        .collect();
    let mut told: BTreeMap<u16, usize> = BTreeMap::new();
    for sent in sent {
        *told.entry(sent.await.expect("no panic").status.as_u16()).or_default() += 1;
    }
    assert_eq!(told, BTreeMap::from([(400, 10), (429, 50)]));
}

#[tokio::test]
async fn many_who_book_for_one_address_at_once_are_all_served() {
    let server = TestServer::start().await;
    let sent: Vec<_> = (3..28)
        .flat_map(|day: u64| [(day, "09:30"), (day, "10:30")])
        .map(|(day, time)| {
            let mut wish = booking(CALENDAR, time, "d@example.org");
            wish["appointment"]["date"] = json!(format!("2025-06-{day:02} {time}:00"));
            tokio::spawn(answer(server.by_key(Method::POST, PATH).json(&wish)))
        })
        .collect();
    for sent in sent {
        sent.await.expect("no panic").is(201);
    }
}

/// Clients with an appointment at half past nine, each on a day of its own.
async fn have_appointments(server: &TestServer, clients: u64) {
    for number in 0..clients {
        let mut wish = booking(CALENDAR, "09:30", &client(number));
        wish["appointment"]["date"] = json!(date(number));
        answer(server.by_pro(Method::POST, PATH).json(&wish)).await.is(201);
    }
}

fn client(number: u64) -> String {
    format!("c{number}@example.org")
}

fn date(number: u64) -> String {
    format!("2025-06-{:02} 09:30:00", 3 + number)
}

/// A booking that is refused if the client exists.
fn guess(server: &TestServer, number: u64) -> impl Future<Output = Answer> + use<> {
    let mut wish = booking(OTHER_CALENDAR, "09:30", &client(number));
    wish["appointment"]["date"] = json!(date(number));
    answer(server.by_key(Method::POST, PATH).json(&wish))
}

#[tokio::test]
async fn a_source_learns_of_20_clients_an_hour() {
    let server = TestServer::start().await;
    have_appointments(&server, 21).await;
    for number in 0..20 {
        guess(&server, number).await.refused(400, 12, Some("date"));
    }
    let refused = guess(&server, 20).await;
    refused.refused(429, 4, None);
    assert_eq!(refused.headers["retry-after"], "3600");
}

#[tokio::test]
async fn a_burst_for_many_addresses_learns_no_more_than_one_after_another_would() {
    let server = TestServer::start().await;
    have_appointments(&server, 25).await;
    let sent: Vec<_> = (0..25).map(|number| tokio::spawn(guess(&server, number))).collect();
    let mut told: BTreeMap<u16, usize> = BTreeMap::new();
    for sent in sent {
        *told.entry(sent.await.expect("no panic").status.as_u16()).or_default() += 1;
    }
    assert_eq!(told, BTreeMap::from([(400, 20), (429, 5)]));
}

#[tokio::test]
async fn where_only_known_clients_book_a_refusal_about_the_time_counts_too() {
    let server = TestServer::with(|catalogue| catalogue.group.open = false).await;
    for _ in 0..10 {
        let mut wish = booking(CALENDAR, "09:30", "known@example.org");
        wish["appointment"]["date"] = json!("2099-06-02 09:30:00");
        answer(server.by_key(Method::POST, PATH).json(&wish)).await.refused(400, 8, Some("date"));
    }
    book(&server, "known@example.org").await.refused(429, 4, None);
}
