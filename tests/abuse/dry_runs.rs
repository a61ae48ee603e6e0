//! Dry runs by a professional, which look at a whole agenda.

use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::fixture::{ANNA, Practice, Visitor, answer};

const PATH: &str = "/groups/1/dry-runs";

async fn try_out(anna: &Visitor, row: Value) -> crate::fixture::Answer {
    let request = anna.request(Method::POST, PATH).basic_auth(ANNA.0, Some(ANNA.1));
    answer(request.json(&json!({"requests": [row]}))).await
}

fn closing_of_calendar_1() -> Value {
    let body =
        json!({"calendar_id": 1, "start": "2026-11-23 00:00:00", "end": "2099-01-01 00:00:00"});
    json!({"method": "POST", "path": "/api/v1/groups/1/vevents", "body": body})
}

#[tokio::test]
async fn a_dry_run_of_a_full_agenda_lists_100_and_counts_all() {
    let import = |document: &mut Value| {
        let vevents = document["groups"][0]["vevents"].as_array_mut().expect("a list");
        // 3,000 appointments, one every two months, up to the year 2526.
        for number in 0..3_000 {
            let year = 2_027 + number / 6;
            let month = 1 + number % 6 * 2;
            vevents.push(json!({"id": 900_000 + number, "calendar_id": 1, "fiche_id": 1, "intervention_id": 1,
                "start": format!("{year}-{month:02}-04 09:00:00"), "end": format!("{year}-{month:02}-04 09:15:00")}));
        }
    };
    let practice = Practice::with(import, |server| server).await;
    let anna = practice.visitor("127.0.0.2");
    let sequence = practice.state().sequence;
    let gone = json!({"method": "DELETE", "path": "/api/v1/groups/1/calendars/1"});
    let answered = try_out(&anna, gone).await;
    let count = answered.is(200)["count"].as_u64().expect("a number");
    assert!(count > 3_000, "{count}");
    assert_eq!(answered.is(200)["appointments"].as_array().expect("a list").len(), 100);
    assert!(answered.text.len() < 48 * 1_024, "{} bytes", answered.text.len());
    assert_eq!(practice.state().sequence, sequence);
}

#[tokio::test]
async fn expensive_dry_runs_leave_the_search_to_others() {
    let import = |document: &mut Value| {
        let vevents = document["groups"][0]["vevents"].as_array_mut().expect("a list");
        // An import may bring events that overlap themselves for two centuries.
        for number in 0..4 {
            vevents.push(json!({"id": 900_000 + number, "type": "VfreebusyEvent", "calendar_id": 1,
                "rrule": "FREQ=DAILY", "start": format!("1970-01-02 0{number}:00:00"), "end": "2220-01-01 00:00:00"}));
        }
    };
    let practice = Practice::with(import, |server| server).await;
    let mut expensive = JoinSet::new();
    for number in 1..=24 {
        let anna = practice.visitor(&format!("127.0.2.{number}"));
        expensive
            .spawn(async move { try_out(&anna, closing_of_calendar_1()).await.status.as_u16() });
    }
    // One runs and 16 wait.
    for _ in 17..24 {
        assert_eq!(expensive.join_next().await.expect("an answer").expect("no panic"), 503);
    }
    assert!(!practice.free_starts().await.is_empty());
}
