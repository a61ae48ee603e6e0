//! Space on disk and in memory that strangers take.

use reqwest::Method;
use serde_json::{Value, json};

use crate::fixture::{Practice, answer};

const APPOINTMENTS: &str = "/groups/1/appointments";

#[tokio::test]
async fn the_texts_of_a_booking_have_2_000_characters_together() {
    let practice = Practice::open().await;
    let (start, calendar) = practice.free_starts().await.pop_front().expect("a free start");
    let stranger = practice.visitor("127.0.0.2");
    let book = async |comments: usize, motive: usize, insurance: usize| {
        let wish = json!({"appointment": {"date": start, "calendar_id": calendar,
            "intervention_ids": [1], "comments": "é".repeat(comments), "str0": "x".repeat(motive),
            "fiche": {"lastname": "X", "str0": "x".repeat(insurance)}}});
        answer(stranger.request(Method::POST, APPOINTMENTS).json(&wish)).await
    };
    for (comments, motive, insurance, field) in
        [(2_001, 0, 0, "comments"), (1_999, 1, 1, "comments"), (65_000, 255, 255, "comments")]
    {
        let refused = book(comments, motive, insurance).await;
        refused.refused(400, 2);
        let entry: Value = refused.json()["errors"][0].clone();
        let message = entry["message"].as_str().expect("a text");
        assert!(entry["field"] == field && message.contains("2000 characters"), "{entry}");
    }
    book(1_490, 255, 255).await.is(201);
}
