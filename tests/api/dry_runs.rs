//! Dry runs, and writes that expect their list. Reference 6.19.

use reqwest::Method;
use serde_json::{Value, json};
use slotbook::domain::records::ids::GroupId;

use crate::server::{Answer, TestServer, answer};
use crate::shop::{CALENDAR, COLOUR, CUT, KNOWN_FICHE, OTHER_CALENDAR, clock};

const PATH: &str = "/groups/4/dry-runs";

async fn try_out(server: &TestServer, rows: Value) -> Answer {
    let body = json!({ "requests": rows });
    answer(server.by_pro(Method::POST, PATH).json(&body)).await
}

/// Books a cut on a calendar, `day` June 2025 at some hour. Returns the id.
async fn book(server: &TestServer, calendar: u64, day: u32, hour: u32) -> Value {
    // A client has one appointment at a time.
    let fiche = if calendar == CALENDAR {
        json!({"id": KNOWN_FICHE})
    } else {
        json!({"lastname": "Other"})
    };
    let body = json!({"appointment": {"date": format!("2025-06-{day:02} {hour:02}:00:00"), "calendar_id": calendar,
        "intervention_ids": [CUT], "fiche": fiche, "from_web": 0}});
    let booked = answer(server.by_pro(Method::POST, "/groups/4/appointments").json(&body)).await;
    booked.is(201)["records"][0]["id"].clone()
}

fn hours(calendar: u64, from: &str, to: &str) -> Value {
    let days = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"];
    let rows = days.map(|day| json!({"weekday": day, "ranges": [{"from": from, "to": to}]}));
    json!({"method": "PUT", "path": format!("/api/v1/groups/4/calendars/{calendar}/hours"), "body": {"rows": rows}})
}

fn closure(calendar: u64, from: &str, to: &str) -> Value {
    let body = json!({"calendar_id": calendar, "start": format!("2025-06-{from}:00:00"), "end": format!("2025-06-{to}:00:00")});
    json!({"method": "POST", "path": "/api/v1/groups/4/vevents", "body": body})
}

/// Id and reasons of each appointment of an answer.
fn listed(answered: &Value) -> Vec<(Value, Value)> {
    let rows = answered["appointments"].as_array().expect("a list");
    assert_eq!(answered["count"], rows.len());
    rows.iter().map(|row| (row["id"].clone(), row["reasons"].clone())).collect()
}

/// Sends a row of a dry run by itself, with the list that it expects.
async fn send(server: &TestServer, row: &Value, expected: &Value) -> Answer {
    let path = row["path"].as_str().expect("a path").trim_start_matches("/api/v1");
    let separator = if path.contains('?') { '&' } else { '?' };
    let path = format!("{path}{separator}expected={}", expected.as_str().expect("a digest"));
    let method = row["method"].as_str().expect("a method").parse().expect("a method");
    let request = server.by_pro(method, &path);
    answer(if row["body"].is_null() { request } else { request.json(&row["body"]) }).await
}

fn sequence(server: &TestServer) -> u64 {
    let group = GroupId::new(4).expect("an id");
    server.engine.published().group_state(group).expect("a group").sequence
}

#[tokio::test]
async fn a_dry_run_lists_the_appointments_and_writes_nothing() {
    let server = TestServer::start().await;
    let nine = book(&server, CALENDAR, 10, 9).await;
    let eleven = book(&server, CALENDAR, 10, 11).await;
    let other = book(&server, OTHER_CALENDAR, 10, 9).await;
    // Outside the hours already: the change brings nothing about.
    book(&server, CALENDAR, 10, 20).await;
    // Over before the change.
    book(&server, CALENDAR, 3, 9).await;
    server.at(clock(6, 0).plus_seconds(3 * 86_400));
    let before = sequence(&server);
    let outside = json!(["outside_availability"]);
    let later = try_out(&server, json!([hours(CALENDAR, "10:00", "12:00")])).await.is(200);
    assert_eq!(listed(&later), [(nine.clone(), outside.clone())]);
    let row = &later["appointments"][0];
    assert_eq!(
        *row,
        json!({"id": nine, "calendar_id": CALENDAR, "calendar": "agenda", "start": "2025-06-10 09:00:00",
            "start_utc": "2025-06-10T07:00:00Z", "fiche_id": KNOWN_FICHE, "client": "Known",
            "intervention_id": CUT, "intervention": "inside name", "reasons": outside})
    );
    let closed = try_out(&server, json!([closure(CALENDAR, "10 11", "11 12")])).await.is(200);
    let under = json!(["under_plage"]);
    assert_eq!(listed(&closed)[0], (eleven.clone(), under.clone()));
    assert_eq!(listed(&closed).len(), 2, "a plage lies over the one outside the hours too");
    let gone = json!([
        {"method": "DELETE", "path": format!("/api/v1/groups/4/calendars/{OTHER_CALENDAR}")},
        {"method": "DELETE", "path": format!("/api/v1/groups/4/interventions/{COLOUR}")},
    ]);
    let gone = try_out(&server, gone).await.is(200);
    assert_eq!(listed(&gone), [(other.clone(), json!(["calendar_deleted"]))]);
    let service =
        json!([{"method": "DELETE", "path": format!("/api/v1/groups/4/interventions/{CUT}")}]);
    assert_eq!(try_out(&server, service).await.is(200)["count"], 4);
    let day = json!([{"method": "DELETE", "path": "/api/v1/groups/4/vevents/51?scope=one&occurrence=2025-06-10"}]);
    assert_eq!(listed(&try_out(&server, day).await.is(200)).len(), 2);
    // Of several writes, each sees those before it.
    let both = json!([hours(CALENDAR, "10:00", "12:00"), hours(CALENDAR, "09:00", "10:00")]);
    let both = try_out(&server, both).await.is(200);
    assert_eq!(listed(&both), [(eleven, outside)]);
    let nothing = try_out(&server, json!([hours(CALENDAR, "08:00", "13:00")])).await.is(200);
    assert_eq!(listed(&nothing), []);
    assert_eq!(sequence(&server), before);
    let made = answer(
        server.by_pro(Method::POST, "/groups/4/fiches").json(&json!({"fiche": {"lastname": "N"}})),
    );
    let first = made.await.is(201)["id"].as_u64().expect("an id");
    try_out(&server, json!([closure(CALENDAR, "10 11", "11 12")])).await.is(200);
    let made = answer(
        server.by_pro(Method::POST, "/groups/4/fiches").json(&json!({"fiche": {"lastname": "N"}})),
    );
    assert_eq!(made.await.is(201)["id"], first + 1, "no id is used up");
}

#[tokio::test]
async fn a_write_whose_list_has_changed_is_refused_with_the_present_one() {
    let server = TestServer::start().await;
    book(&server, CALENDAR, 10, 9).await;
    for (row, status) in [
        (hours(CALENDAR, "10:00", "12:00"), 200),
        (closure(CALENDAR, "10 08", "10 10"), 201),
        (
            json!({"method": "PUT", "path": "/api/v1/groups/4/vevents/52", "body": {"calendar_id": CALENDAR}}),
            200,
        ),
        (json!({"method": "DELETE", "path": "/api/v1/groups/4/vevents/53"}), 200),
        (
            json!({"method": "DELETE", "path": format!("/api/v1/groups/4/interventions/{COLOUR}")}),
            200,
        ),
        (
            json!({"method": "DELETE", "path": format!("/api/v1/groups/4/calendars/{CALENDAR}")}),
            200,
        ),
    ] {
        let foreseen = try_out(&server, json!([row])).await.is(200);
        let digest = &foreseen["digest"];
        let other = json!("0123456789abcdef0123456789abcdef");
        let before = sequence(&server);
        let refused = send(&server, &row, &other).await;
        refused.refused(409, 2, Some("expected"));
        assert_eq!(refused.json()["current"], foreseen, "{row}");
        let wrong = send(&server, &row, &json!("nonsense")).await;
        wrong.refused(400, 2, Some("expected"));
        assert_eq!(sequence(&server), before);
        assert_eq!(send(&server, &row, digest).await.status, status, "{row}");
    }
}

#[tokio::test]
async fn an_appointment_that_is_booked_meanwhile_is_noticed() {
    let server = TestServer::start().await;
    book(&server, CALENDAR, 10, 9).await;
    let row = closure(CALENDAR, "10 08", "10 12");
    let foreseen = try_out(&server, json!([row])).await.is(200);
    let late = book(&server, CALENDAR, 10, 11).await;
    let refused = send(&server, &row, &foreseen["digest"]).await;
    refused.refused(409, 2, Some("expected"));
    let present = &refused.json()["current"];
    assert_eq!(listed(present)[1], (late, json!(["under_plage"])));
    // If-Match is judged first, and without a digest nothing is asked.
    let tag = "\"nonsense\"";
    let path = format!(
        "/groups/4/calendars/{CALENDAR}?expected={}",
        foreseen["digest"].as_str().expect("a text")
    );
    let request = server.by_pro(Method::DELETE, &path).header("If-Match", tag);
    answer(request).await.refused(412, 2, Some("If-Match"));
    answer(server.by_pro(Method::POST, "/groups/4/vevents").json(&row["body"])).await.is(201);
}

#[tokio::test]
async fn a_batch_and_many_vevents_expect_one_list() {
    let server = TestServer::start().await;
    book(&server, CALENDAR, 10, 9).await;
    book(&server, OTHER_CALENDAR, 10, 9).await;
    let rows =
        json!([closure(CALENDAR, "10 08", "10 12"), closure(OTHER_CALENDAR, "10 08", "10 12")]);
    let foreseen = try_out(&server, rows.clone()).await.is(200);
    assert_eq!(foreseen["count"], 2);
    let batch = |atomic: bool, expected: Value| {
        let body = json!({"requests": rows, "atomic": atomic, "expected": expected});
        answer(server.by_pro(Method::POST, "/groups/4/batch").json(&body))
    };
    let before = sequence(&server);
    let other = json!("0123456789abcdef0123456789abcdef");
    let refused = batch(true, other.clone()).await;
    refused.refused(409, 2, Some("expected"));
    assert_eq!(refused.json()["current"], foreseen);
    batch(false, other).await.refused(400, 2, Some("expected"));
    batch(true, json!(7)).await.refused(400, 2, Some("expected"));
    let list: Vec<Value> =
        rows.as_array().expect("a list").iter().map(|row| row["body"].clone()).collect();
    let bulk = |digest: &str| {
        let path = format!("/groups/4/vevents/bulk?expected={digest}");
        answer(server.by_pro(Method::POST, &path).json(&json!({"vevents": list})))
    };
    bulk("0123456789abcdef0123456789abcdef").await.refused(409, 2, Some("expected"));
    assert_eq!(sequence(&server), before);
    let digest = foreseen["digest"].as_str().expect("a text");
    bulk(digest).await.is(201);
    // Under the plages they are displaced no more.
    let again = try_out(&server, rows.clone()).await.is(200);
    assert_eq!(again["count"], 0);
    batch(true, again["digest"].clone()).await.is(200);
    assert_eq!(sequence(&server), before + 2);
}

#[tokio::test]
async fn a_dry_run_refuses_what_the_write_would_refuse() {
    let server = TestServer::start().await;
    for body in [json!({}), json!({"requests": []}), json!({"requests": vec![json!(1); 501]})] {
        answer(server.by_pro(Method::POST, PATH).json(&body)).await.refused(
            400,
            2,
            Some("requests"),
        );
    }
    let fiche = json!({"method": "PUT", "path": format!("/api/v1/groups/4/fiches/{KNOWN_FICHE}"), "body": {"fiche": {}}});
    let rows = json!([
        fiche,
        hours(CALENDAR, "12:00", "09:00"),
        {"method": "DELETE", "path": "/api/v1/groups/5/calendars/11"},
        {"method": "DELETE", "path": "/api/v1/groups/4/vevents/51?scope=one"},
        7,
    ]);
    let wrong = try_out(&server, rows).await;
    assert_eq!(wrong.status, 400);
    let fields: Vec<Option<String>> = wrong.errors().into_iter().map(|(_, field)| field).collect();
    assert_eq!(fields[1].as_deref(), Some("requests[0].path"));
    assert_eq!(fields[2].as_deref(), Some("requests[1].rows[0].ranges[0].to"));
    let last = ["requests[2].path", "requests[3].occurrence", "requests[4]"];
    assert_eq!(fields[fields.len() - 3..], last.map(|field| Some(field.to_owned())));
    let refused = json!([
        closure(CALENDAR, "10 08", "10 12"),
        {"method": "DELETE", "path": "/api/v1/groups/4/vevents/51?scope=one&occurrence=2025-05-01"},
    ]);
    let refused = try_out(&server, refused).await;
    assert_eq!(refused.errors()[1], (2, Some("requests[1].occurrence".to_owned())));
    let absent = json!([{"method": "DELETE", "path": "/api/v1/groups/4/vevents/999999"}]);
    assert_eq!(try_out(&server, absent).await.errors()[1], (3, Some("requests[0]".to_owned())));
    let request = server.by_key(Method::POST, PATH).json(&json!({"requests": []}));
    answer(request).await.refused(403, 1, None);
}
