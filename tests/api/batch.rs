//! Batches: up to 100 writes in one request. Reference 13.18.

use reqwest::Method;
use serde_json::{Value, json};

use crate::server::{Answer, TestServer, answer};
use crate::shop::{CALENDAR, CUT, KNOWN_FICHE};

const PATH: &str = "/groups/4/batch";

async fn send(server: &TestServer, body: Value) -> Answer {
    answer(server.by_pro(Method::POST, PATH).json(&body)).await
}

/// The answers to the rows of a batch, each by itself.
async fn send_rows(server: &TestServer, rows: &[Value]) -> Vec<Value> {
    let answered = send(server, json!({ "requests": rows })).await.is(200);
    answered["responses"].as_array().expect("a list").clone()
}

fn put_client(externid: u64, lastname: &str) -> Value {
    let path = format!("/api/v1/groups/4/fiches?externid={externid}");
    json!({"method": "PUT", "path": path, "body": {"fiche": {"lastname": lastname}}})
}

fn book(hour: u32) -> Value {
    let body = json!({"appointment": {
        "date": format!("2025-06-10 {hour:02}:00:00"), "calendar_id": CALENDAR,
        "intervention_ids": [CUT], "fiche": {"lastname": "Durand"},
    }});
    json!({"method": "POST", "path": "/api/v1/groups/4/appointments", "body": body})
}

fn statuses(answers: &[Value]) -> Vec<u64> {
    answers.iter().map(|answer| answer["status"].as_u64().expect("a status")).collect()
}

async fn clients(server: &TestServer) -> u64 {
    server.pro_get("/groups/4/fiches").await.is(200)["totalRecords"].as_u64().expect("a number")
}

#[tokio::test]
async fn each_write_has_the_answer_of_the_same_request_alone() {
    let server = TestServer::start().await;
    let other_group = put_client(9, "Other").to_string().replace("groups/4", "groups/5");
    let unknown = json!({"method": "DELETE", "path": "/api/v1/groups/4/calendars/999"});
    let known = format!("/api/v1/groups/4/fiches/{KNOWN_FICHE}");
    let rows = [
        put_client(7, "Curie"),
        put_client(7, "Skłodowska"),
        book(10),
        json!({"method": "PUT", "path": known, "body": {"fiche": {"lastname": ""}}}),
        unknown.clone(),
        serde_json::from_str(&other_group).expect("JSON"),
        json!({"method": "PUT", "path": known, "if_match": "\"nonsense\"", "body": {"fiche": {"city": "Ulm"}}}),
        json!({"method": "GET", "path": known}),
        json!({"method": "POST", "path": "/api/v1/groups/4/holds", "body": {}}),
        json!({"method": "PUT", "path": "/api/v1/groups/4", "body": {"group": {}}}),
        json!({"method": "PUT", "path": known, "body": 7}),
        json!([]),
    ];
    let answers = send_rows(&server, &rows).await;
    assert_eq!(statuses(&answers), [201, 200, 201, 400, 404, 400, 412, 400, 400, 400, 400, 400]);
    let made = &answers[0];
    let alone = server.pro_get(&format!("/groups/4/fiches/{}", made["body"]["id"])).await;
    assert_eq!(made["location"], format!("/api/v1/groups/4/fiches/{}", made["body"]["id"]));
    assert_eq!(answers[1]["body"], alone.is(200));
    assert_eq!(answers[1]["etag"], alone.headers["etag"].to_str().expect("a text"));
    assert_eq!(answers[2]["body"]["records"][0]["calendar_id"], CALENDAR);
    let error = |at: usize, field: &str| {
        assert_eq!(answers[at]["body"]["errors"][0]["field"], field, "{}", answers[at]);
    };
    error(3, "lastname");
    let path = unknown["path"].as_str().expect("a path").trim_start_matches("/api/v1");
    let alone = answer(server.by_pro(Method::DELETE, path)).await;
    assert_eq!(answers[4]["body"], alone.json());
    error(5, "path");
    assert_eq!(answers[6]["body"]["current"]["id"], KNOWN_FICHE);
    error(7, "method");
    error(8, "path");
    error(9, "path");
    error(10, "body");
    assert_eq!(clients(&server).await, 3, "the one made, the one who booked and the known one");
}

#[tokio::test]
async fn each_write_sees_those_before_it() {
    let server = TestServer::start().await;
    let answers = send_rows(&server, &[book(10), book(10)]).await;
    assert_eq!(statuses(&answers), [201, 400]);
    assert_eq!(answers[1]["body"]["errors"][0]["code"], 14);
    let path = format!("/api/v1/groups/4/appointments/{}", answers[0]["body"]["records"][0]["id"]);
    let to_eleven = json!({"appointment": {"date": "2025-06-10 11:00:00"}});
    let rows = [
        json!({"method": "PUT", "path": path, "body": to_eleven}),
        book(10),
        book(11),
        json!({"method": "DELETE", "path": path}),
        book(11),
    ];
    assert_eq!(statuses(&send_rows(&server, &rows).await), [200, 201, 400, 200, 201]);
    let live = server.pro_get("/groups/4/appointments").await.is(200);
    assert_eq!(live["totalRecords"], 2);
    // The actor of the calendar knows the newest state too.
    assert_eq!(statuses(&send_rows(&server, &[book(11), book(9)]).await), [400, 201]);
}

#[tokio::test]
async fn an_atomic_batch_does_all_or_nothing() {
    let server = TestServer::start().await;
    let atomic = |rows: Vec<Value>| send(&server, json!({"requests": rows, "atomic": true}));
    let before = clients(&server).await;
    let entry = |code: i64, place: &str| (code, Some(place.to_owned()));
    let nameless = atomic(vec![put_client(7, "One"), put_client(8, ""), put_client(9, "")]).await;
    assert_eq!(nameless.status, 400);
    assert_eq!(nameless.errors(), [(2, None), entry(2, "requests[1].lastname")]);
    let missing = json!({"method": "DELETE", "path": "/api/v1/groups/4/vevents/999999"});
    let absent = json!({"method": "POST", "path": "/api/v1/groups/5/fiches", "body": {}});
    let wrong = atomic(vec![put_client(7, "One"), missing, json!(1), absent]).await;
    let places = [entry(2, "requests[2]"), entry(2, "requests[3].path")];
    assert_eq!(wrong.errors()[1..], places, "{}", wrong.text);
    let taken = atomic(vec![put_client(7, "One"), book(10), book(10), put_client(9, "")]).await;
    assert_eq!(taken.status, 400);
    assert_eq!(taken.errors()[1..], [entry(14, "requests[2].date")]);
    assert_eq!(clients(&server).await, before, "nothing was done");
    let done = atomic(vec![put_client(7, "One"), book(10), put_client(7, "Two")]).await.is(200);
    assert_eq!(statuses(done["responses"].as_array().expect("a list")), [201, 201, 200]);
    assert_eq!(clients(&server).await, before + 2);
}

#[tokio::test]
async fn a_list_has_1_to_100_writes() {
    let server = TestServer::start().await;
    let before = clients(&server).await;
    let of = |number: u64| (1..=number).map(|externid| put_client(externid, "One"));
    for requests in [json!([]), json!(of(101).collect::<Vec<Value>>()), json!({}), json!(null)] {
        send(&server, json!({ "requests": requests })).await.refused(400, 2, Some("requests"));
    }
    send(&server, json!({})).await.refused(400, 2, Some("requests"));
    let rows: Vec<Value> = of(100).collect();
    let unclear = json!({"requests": rows, "atomic": "perhaps"});
    send(&server, unclear).await.refused(400, 2, Some("atomic"));
    assert_eq!(clients(&server).await, before);
    assert_eq!(statuses(&send_rows(&server, &rows).await), [201; 100]);
    assert_eq!(statuses(&send_rows(&server, &rows).await), [200; 100], "nothing is doubled");
    assert_eq!(clients(&server).await, before + 100);
}

#[tokio::test]
async fn only_professionals_send_batches() {
    let server = TestServer::start().await;
    let body = json!({"requests": [put_client(7, "One")]});
    answer(server.by_key(Method::POST, PATH).json(&body)).await.refused(403, 1, None);
    let body = json!({"requests": [put_client(7, "One")]});
    let elsewhere = server.by_pro(Method::POST, "/groups/5/batch").json(&body);
    answer(elsewhere).await.refused(404, 3, None);
}

#[tokio::test]
async fn a_batch_under_a_key_is_carried_out_once() {
    let server = TestServer::start().await;
    let client = |name: &str| json!({"fiche": {"lastname": name}});
    let post = |name: &str| json!({"method": "POST", "path": "/api/v1/groups/4/fiches", "body": client(name)});
    let keyed = |rows: Value| {
        let request = server.by_pro(Method::POST, PATH).header("Idempotency-Key", "batch-1");
        answer(request.json(&json!({ "requests": rows })))
    };
    let rows = json!([post("One"), book(10), post(""), post("Two")]);
    let first = keyed(rows.clone()).await;
    let answered = first.is(200);
    assert_eq!(statuses(answered["responses"].as_array().expect("a list")), [201, 201, 400, 201]);
    let again = keyed(rows).await;
    again.is(200);
    assert_eq!(again.text, first.text);
    keyed(json!([post("One")])).await.refused(409, 2, Some("Idempotency-Key"));
    assert_eq!(clients(&server).await, 4);
}

#[tokio::test]
async fn a_strict_batch_refuses_unknown_names_in_its_rows() {
    let server = TestServer::start().await;
    let strict = |rows: Value| {
        let request = server.by_pro(Method::POST, PATH).header("Prefer", "handling=strict");
        answer(request.json(&json!({ "requests": rows })))
    };
    let mut row = put_client(7, "One");
    row["body"]["fiche"]["firstnam"] = json!("Ada");
    let answered = strict(json!([row.clone(), put_client(8, "Two")])).await.is(200);
    let answers = answered["responses"].as_array().expect("a list");
    assert_eq!(statuses(answers), [400, 201]);
    let error = &answers[0]["body"]["errors"][0];
    assert!(error["message"].as_str().expect("a text").contains("firstname"), "{error}");
    row["boddy"] = json!({});
    strict(json!([row])).await.refused(400, 2, Some("requests.boddy"));
}
