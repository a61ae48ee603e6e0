//! Strangers who use up or guess Idempotency-Keys.

use std::sync::Arc;

use reqwest::Method;
use serde_json::json;
use slotbook::domain::state::idempotency::{IdempotencyRecord, IdempotencyShare};

use crate::fixture::{ANNA, Practice, answer};

const RANDOM_KEY: &str = "2b1f0b5e-93c1-4f0e-a1e3-5a3c0b7f9d11";

#[tokio::test]
async fn a_share_that_strangers_have_filled_stops_nobody_who_logs_in() {
    let practice = Practice::with_state(|state| {
        let share = IdempotencyShare::Application;
        let answer: Arc<[u8]> = vec![b'x'; share.bytes_max() - 1_000].into();
        let at = state.last_stamp;
        let record = IdempotencyRecord {
            scope: [1; 32],
            body: [1; 32],
            at,
            answer,
            share,
            awaits_code: false,
        };
        let mut full = state.clone();
        full.idempotency_records.insert(record.into());
        full
    })
    .await;
    let free = practice.hourly_starts().await;
    let stranger = practice.visitor("127.0.0.2");
    let with_key =
        stranger.booking(&free[0], "c@example.org").header("idempotency-key", RANDOM_KEY);
    answer(with_key).await.is(503);
    stranger.book(&free[0], "c@example.org").await.is(201);
    let client = json!({"fiche": {"lastname": "Guest"}});
    let anna = stranger.request(Method::POST, "/groups/1/fiches").json(&client);
    let anna = anna.basic_auth(ANNA.0, Some(ANNA.1)).header("idempotency-key", RANDOM_KEY);
    answer(anna).await.is(201);
}

#[tokio::test]
async fn a_short_key_belongs_to_its_source_and_a_random_one_to_the_application() {
    let practice = Practice::open().await;
    let free = practice.hourly_starts().await;
    let (one, other) = (practice.visitor("127.0.0.2"), practice.visitor("127.0.0.3"));
    let book = async |visitor: &crate::fixture::Visitor, start: usize, key: &str| {
        let booking = visitor.booking(&free[start], &format!("c{start}@example.org"));
        answer(booking.header("idempotency-key", key)).await
    };
    let first = book(&one, 0, "1").await.is(201);
    assert_eq!(book(&one, 0, "1").await.is(201), first, "its own repetition");
    book(&other, 0, "1").await.is(400);
    book(&other, 40, "1").await.is(201);
    let first = book(&one, 80, RANDOM_KEY).await.is(201);
    assert_eq!(book(&other, 80, RANDOM_KEY).await.is(201), first);
    book(&other, 40, RANDOM_KEY).await.is(409);
}

#[tokio::test]
async fn a_record_holds_no_text_of_the_stranger_and_repeats_all_fields() {
    let practice = Practice::open().await;
    let free = practice.hourly_starts().await;
    let stranger = practice.visitor("127.0.0.2");
    let book = async || {
        let (date, calendar) = &free[0];
        let booking = stranger.request(Method::POST, "/groups/1/appointments");
        let booking = booking.json(&json!({"appointment": {
            "date": date, "intervention_ids": [1], "calendar_id": calendar,
            "comments": "long ".repeat(300),
            "fiche": {"lastname": "Durand", "email": "c@example.org", "address": "street ".repeat(30)},
        }}));
        answer(booking.header("idempotency-key", RANDOM_KEY)).await
    };
    let first = book().await;
    first.is(201);
    assert!(first.text.contains("long long"), "{}", first.text);
    assert_eq!(book().await.text, first.text, "byte for byte");
    let state = practice.state();
    let record = state.idempotency_records.iter().next().expect("one is kept");
    let kept = String::from_utf8_lossy(&record.answer);
    assert!(!kept.contains("long long") && !kept.contains("street"), "{kept}");
    assert!(record.answer.len() < 1_500, "{} bytes", record.answer.len());
}
