//! The history of a group. Reference 16.

use reqwest::Method;
use serde_json::{Value, json};
use slotbook::domain::records::text::Bounded;

use crate::server::{TestServer, answer};
use crate::shop::{CALENDAR, CUT, EVE, KNOWN_FICHE, OTHER_CALENDAR};

const PATH: &str = "/groups/4/history";

async fn rows(server: &TestServer, query: &str) -> Vec<Value> {
    let page = server.pro_get(&format!("{PATH}?{query}")).await.is(200);
    page["rows"].as_array().expect("a list").clone()
}

/// Books a cut by a professional at an hour of 3 June 2025. Returns the id.
async fn book(server: &TestServer, hour: u32) -> u64 {
    let body = json!({"vevent": {"calendar_id": CALENDAR, "intervention_id": CUT,
        "fiche_id": KNOWN_FICHE, "start": format!("2025-06-03 {hour:02}:00:00"),
        "end": format!("2025-06-03 {hour:02}:30:00"), "comments": "A secret of the client"}});
    let made = answer(server.by_pro(Method::POST, "/groups/4/vevents").json(&body)).await.is(201);
    made["id"].as_u64().expect("an id")
}

async fn change(server: &TestServer, path: &str, body: Value) {
    answer(server.by_pro(Method::PUT, path).json(&body)).await.is(200);
}

fn without_stamps(mut row: Value) -> Value {
    let fields = row.as_object_mut().expect("an object");
    for name in ["id", "at", "at_utc", "sequence", "key"] {
        fields.remove(name);
    }
    row
}

#[tokio::test]
async fn each_change_of_an_object_is_a_row_with_its_author_and_values() {
    let server = TestServer::start().await;
    let id = book(&server, 9).await;
    let path = format!("/groups/4/vevents/{id}");
    let moved = json!({"vevent": {"start": "2025-06-03 10:00:00", "end": "2025-06-03 10:30:00",
        "calendar_id": OTHER_CALENDAR}});
    change(&server, &path, moved).await;
    change(&server, &path, json!({"vevent": {"state": 1, "comments": "Another secret"}})).await;
    answer(server.by_pro(Method::DELETE, &path)).await.is(200);
    let rows = rows(&server, &format!("object=vevent:{id}")).await;
    let of = |verb: &str, fields: Value| {
        json!({"author": "professional:1", "author_name": "Pro A",
            "object": format!("vevent:{id}"), "verb": verb, "fields": fields})
    };
    let value = |field: &str, before: Value, after: Value| json!({"field": field, "before": before, "after": after});
    let expected = [
        of("deleted", json!([value("deleted", json!(false), json!(true))])),
        of("changed", json!([value("state", json!(0), json!(1)), {"field": "comments"}])),
        of(
            "changed",
            json!([
                value("calendar_id", json!(CALENDAR), json!(OTHER_CALENDAR)),
                value("start", json!("2025-06-03 09:00:00"), json!("2025-06-03 10:00:00")),
                value("start_utc", json!("2025-06-03T07:00:00Z"), json!("2025-06-03T08:00:00Z")),
            ]),
        ),
        of(
            "made",
            json!([
                {"field": "calendar_id", "after": CALENDAR},
                {"field": "start", "after": "2025-06-03 09:00:00"},
                {"field": "start_utc", "after": "2025-06-03T07:00:00Z"},
                {"field": "length", "after": 1_800},
                {"field": "intervention_id", "after": CUT},
                {"field": "fiche_id", "after": KNOWN_FICHE},
                {"field": "comments"},
                {"field": "taker"},
            ]),
        ),
    ];
    let seen: Vec<Value> = rows.iter().cloned().map(without_stamps).collect();
    assert_eq!(seen, expected);
    assert!(rows.iter().all(|row| row["key"].as_str().is_some_and(|key| key.len() == 12)));
    let whole = server.pro_get(PATH).await.is(200).to_string();
    assert!(!whole.contains("secret"), "{whole}");
}

#[tokio::test]
async fn personal_fields_have_their_names_and_settings_their_values() {
    let server = TestServer::start().await;
    let client = format!("/groups/4/fiches/{KNOWN_FICHE}");
    change(&server, &client, json!({"fiche": {"lastname": "Newname", "firstphone": "0600000009"}}))
        .await;
    let row = rows(&server, &format!("object=fiche:{KNOWN_FICHE}")).await.remove(0);
    assert_eq!(row["fields"], json!([{"field": "lastname"}, {"field": "firstphone"}]));
    change(&server, "/groups/4", json!({"group": {"phone": "0123456789"}})).await;
    let row = rows(&server, "object=group").await.remove(0);
    let fields = row["fields"].as_array().expect("a list");
    assert_eq!(fields.len(), 1, "{row}");
    assert_eq!((&fields[0]["field"], &fields[0]["after"]), (&json!("phone"), &json!("0123456789")));
    // What changes nothing leaves no row.
    change(&server, "/groups/4", json!({"group": {"phone": "0123456789"}})).await;
    let after = rows(&server, "object=group").await.remove(0);
    assert_eq!(after["id"], row["id"], "{after}");
}

#[tokio::test]
async fn pages_and_choices_give_each_row_once() {
    let server = TestServer::start().await;
    for hour in [9, 10, 11] {
        let id = book(&server, hour).await;
        answer(server.by_pro(Method::DELETE, &format!("/groups/4/vevents/{id}"))).await.is(200);
    }
    let all = rows(&server, "").await;
    assert_eq!(all.last().expect("a row")["verb"], "begun");
    let mut below = String::new();
    let mut seen = Vec::new();
    loop {
        let page = server.pro_get(&format!("{PATH}?results=2{below}")).await.is(200);
        seen.extend(page["rows"].as_array().expect("a list").iter().cloned());
        match page["next"].as_u64() {
            Some(next) => below = format!("&below={next}"),
            None => break,
        }
    }
    assert_eq!(seen, all);
    assert_eq!(rows(&server, "author=professional:1").await.len(), 6);
    assert_eq!(rows(&server, "author=server").await.len(), 1);
    assert_eq!(rows(&server, "author=professional:2").await.len(), 0);
    assert_eq!(rows(&server, "to=2025-06-01").await.len(), 0);
    assert_eq!(rows(&server, "from=2025-06-01&to=2025-06-03").await.len(), all.len());
}

#[tokio::test]
async fn a_row_is_kept_for_the_days_of_the_group() {
    let server = TestServer::with(|catalogue| {
        catalogue.group.history_days = Bounded::new(10).expect("legal");
    })
    .await;
    book(&server, 9).await;
    assert_eq!(rows(&server, "").await.len(), 2);
    let begin = crate::shop::clock(6, 0);
    server.at(begin.plus_seconds(9 * 86_400));
    assert_eq!(rows(&server, "").await.len(), 2);
    server.at(begin.plus_seconds(11 * 86_400));
    assert_eq!(rows(&server, "").await.len(), 0);
}

#[tokio::test]
async fn wrong_parameters_are_refused_by_name_and_foreign_objects_are_absent() {
    let server = TestServer::start().await;
    for (query, field) in [
        ("object=vevent", "object"),
        ("object=person:1", "object"),
        ("object=vevent:0", "object"),
        ("author=somebody", "author"),
        ("author=professional:", "author"),
        ("author=application:xyz", "author"),
        ("from=soon", "from"),
        ("from=2025-06-03&to=2025-06-03", "to"),
        ("below=0", "below"),
        ("results=201", "results"),
    ] {
        server.pro_get(&format!("{PATH}?{query}")).await.refused(400, 2, Some(field));
    }
    assert_eq!(server.pro_get(&format!("{PATH}?object=vevent:999999")).await.status, 404);
    assert_eq!(server.pro_get(&format!("{PATH}?object=group:5")).await.status, 404);
    let eve = server.by_key(Method::GET, PATH).basic_auth(EVE.0, Some(EVE.1));
    assert_eq!(answer(eve).await.status, 404);
    assert_eq!(server.get(PATH).await.status, 403);
}
