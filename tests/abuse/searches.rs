//! Events that repeat before they end, which make searches expensive.

use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::fixture::{ANNA, Practice, answer};

/// An availability of two centuries on every day.
fn two_centuries() -> Value {
    json!({
        "type": "VfreebusyEvent", "calendar_id": 1, "rrule": "FREQ=DAILY",
        "start": "2020-01-01 00:00:00", "end": "2220-01-01 00:00:00",
    })
}

#[tokio::test]
async fn an_event_does_not_repeat_more_often_than_it_lasts_31_times() {
    let practice = Practice::open().await;
    let anna = practice.visitor("127.0.0.2");
    let post = async |vevent: Value| {
        let request = anna.request(Method::POST, "/groups/1/vevents");
        answer(request.basic_auth(ANNA.0, Some(ANNA.1)).json(&json!({ "vevent": vevent }))).await
    };
    for (rrule, end, is_legal) in [
        ("FREQ=DAILY", "2020-02-01 00:00:00", true),
        ("FREQ=DAILY", "2020-02-01 00:00:01", false),
        ("FREQ=DAILY;INTERVAL=2", "2020-03-03 00:00:00", true),
        ("FREQ=WEEKLY;BYDAY=MO,TU", "2020-08-05 00:00:00", true),
        ("FREQ=WEEKLY;BYDAY=MO,TU", "2020-08-06 00:00:00", false),
        ("FREQ=MONTHLY", "2021-01-01 00:00:00", true),
        ("FREQ=YEARLY", "2021-01-01 00:00:01", false),
        ("", "2220-01-01 00:00:00", true),
    ] {
        let mut vevent = two_centuries();
        vevent["rrule"] = rrule.into();
        vevent["end"] = end.into();
        let posted = post(vevent).await;
        if is_legal {
            posted.is(201);
        } else {
            posted.refused(400, 2);
            assert_eq!(posted.json()["errors"][0]["field"], "end", "{}", posted.text);
        }
    }
}

#[tokio::test]
async fn an_imported_event_keeps_its_length_and_gets_no_longer() {
    let import = |document: &mut Value| {
        let vevents = document["groups"][0]["vevents"].as_array_mut().expect("a list");
        let mut vevent = two_centuries();
        vevent["id"] = json!(900_000);
        vevents.push(vevent);
    };
    let practice = Practice::with(import, |server| server).await;
    let anna = practice.visitor("127.0.0.2");
    let put = async |fields: Value| {
        let request = anna.request(Method::PUT, "/groups/1/vevents/900000");
        answer(request.basic_auth(ANNA.0, Some(ANNA.1)).json(&json!({ "vevent": fields }))).await
    };
    put(json!({"text": "always open"})).await.is(200);
    put(json!({"rrule": "FREQ=DAILY;UNTIL=20300101T000000Z"})).await.is(200);
    put(json!({"end": "2221-01-01 00:00:00"})).await.refused(400, 2);
    put(json!({"end": "2020-01-20 00:00:00"})).await.is(200);
}

#[tokio::test]
async fn long_answers_give_their_memory_back_when_they_are_sent() {
    let search = async |practice: &Practice, days: u32| {
        let path = "/groups/1/availabletimeslots?intervention_ids[]=1&from_web=0&instants=1&nDays=";
        let request = practice.visitor("127.0.0.2").request(Method::GET, &format!("{path}{days}"));
        answer(request.basic_auth(ANNA.0, Some(ANNA.1))).await
    };
    let practice = Practice::with(|_| {}, |server| server.limited_answers(1 << 20)).await;
    for days in [40, 40, 366] {
        search(&practice, days).await.is(200);
    }
}

#[tokio::test]
async fn long_availabilities_take_no_search_from_others() {
    let import = |document: &mut Value| {
        let vevents = document["groups"][0]["vevents"].as_array_mut().expect("a list");
        for number in 0..4 {
            let mut vevent = two_centuries();
            vevent["id"] = json!(900_000 + number);
            vevent["start"] = format!("1970-01-02 0{number}:00:00").into();
            vevents.push(vevent);
        }
        document["groups"][0]["calendars"][0]["maxrdv_period"] = json!(5_000_000);
    };
    let practice = Practice::with(import, |server| server).await;
    let path = "/groups/1/availabletimeslots?intervention_ids[]=1&nDays=190&start=2030-01-01";
    let mut expensive = JoinSet::new();
    for number in 1..=24 {
        let stranger = practice.visitor(&format!("127.0.2.{number}"));
        expensive.spawn(async move { stranger.get(path).await.status.as_u16() });
    }
    // One runs and 16 wait.
    for _ in 17..24 {
        assert_eq!(expensive.join_next().await.expect("an answer").expect("no panic"), 503);
    }
    assert!(!practice.free_starts().await.is_empty());
}
