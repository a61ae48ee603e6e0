//! Changes of a part of a series by `scope` and `occurrence`. Reference 6.18.

use reqwest::Method;
use serde_json::{Value, json};

use crate::server::{Answer, TestServer, answer};
use crate::shop::{CUT, KNOWN_FICHE, OTHER_CALENDAR};

const PATH: &str = "/groups/4/vevents";

/// Makes a weekly lunch, 2 June 2025 and five weeks after it.
async fn lunch(server: &TestServer) -> Value {
    let body = json!({"calendar_id": OTHER_CALENDAR, "start": "2025-06-02 12:00:00", "end": "2025-06-02 13:00:00",
        "rrule": "FREQ=WEEKLY;COUNT=6", "text": "lunch"});
    answer(server.by_pro(Method::POST, PATH).json(&body)).await.is(201)
}

async fn put(server: &TestServer, id: &Value, query: &str, fields: Value) -> Answer {
    let path = format!("{PATH}/{id}?{query}");
    answer(server.by_pro(Method::PUT, &path).json(&json!({ "vevent": fields }))).await
}

async fn delete(server: &TestServer, id: &Value, query: &str) -> Answer {
    answer(server.by_pro(Method::DELETE, &format!("{PATH}/{id}?{query}"))).await
}

async fn shown(server: &TestServer, id: &Value) -> Value {
    server.pro_get(&format!("{PATH}/{id}")).await.is(200)
}

#[tokio::test]
async fn one_occurrence_becomes_an_event_of_its_own() {
    let server = TestServer::start().await;
    let series = lunch(&server).await;
    let id = &series["id"];
    let query = "scope=one&occurrence=2025-06-16";
    let made = put(&server, id, query, json!({"start": "2025-06-16 12:30:00"})).await;
    let made_json = made.is(200);
    assert_ne!(made_json["id"], *id);
    let fields = |row: &Value| {
        ["start", "end", "rrule", "text", "repeat_exceptions"].map(|name| row[name].clone())
    };
    assert_eq!(
        fields(&made_json),
        ["2025-06-16 12:30:00", "2025-06-16 13:30:00", "", "lunch", ""].map(|text| json!(text))
    );
    let alone = server.pro_get(&format!("{PATH}/{}", made_json["id"])).await;
    assert_eq!((alone.json(), &alone.headers["etag"]), (made_json.clone(), &made.headers["etag"]));
    let left = shown(&server, id).await;
    assert_eq!(
        fields(&left),
        [
            "2025-06-02 12:00:00",
            "2025-06-02 13:00:00",
            "FREQ=WEEKLY;COUNT=6",
            "lunch",
            "2025-06-16 00:00:00"
        ]
        .map(|text| json!(text))
    );
    // The same date is no occurrence any more.
    put(&server, id, query, json!({"text": "x"})).await.refused(400, 2, Some("occurrence"));
    let gone = delete(&server, id, "scope=one&occurrence=2025-06-09").await.is(200);
    assert_eq!(gone["repeat_exceptions"], "2025-06-09 00:00:00,2025-06-16 00:00:00");
    assert_eq!((&gone["id"], &gone["deleted"]), (id, &json!(false)));
}

#[tokio::test]
async fn a_series_is_cut_and_another_goes_on() {
    let server = TestServer::start().await;
    let series = lunch(&server).await;
    let id = &series["id"];
    let query = "scope=following&occurrence=2025-06-16";
    let fields = json!({"start": "2025-06-16 12:15:00", "end": "2025-06-16 13:00:00"});
    let made = put(&server, id, query, fields).await.is(200);
    assert_eq!(
        (&made["start"], &made["rrule"]),
        (&json!("2025-06-16 12:15:00"), &json!("FREQ=WEEKLY;COUNT=4"))
    );
    assert_eq!(shown(&server, id).await["rrule"], "FREQ=WEEKLY;UNTIL=20250616T095959Z");
    // A client that sends everything back as it has read it changes the rest of the rule by nothing.
    let mut echo = made.clone();
    echo["start"] = json!("2025-06-23 12:15:00");
    echo["end"] = json!("2025-06-23 13:00:00");
    let same =
        put(&server, &made["id"], "scope=following&occurrence=2025-06-23", echo.clone()).await;
    assert_eq!(same.is(200), made, "nothing was changed");
    echo["text"] = json!("later");
    let rest =
        put(&server, &made["id"], "scope=following&occurrence=2025-06-23", echo).await.is(200);
    assert_eq!((&rest["rrule"], &rest["text"]), (&json!("FREQ=WEEKLY;COUNT=3"), &json!("later")));
    // Another rule holds from the part on.
    let fields = json!({"rrule": "FREQ=DAILY;COUNT=2"});
    let query = "scope=following&occurrence=2025-06-30";
    let daily = put(&server, &rest["id"], query, fields).await.is(200);
    assert_eq!(daily["rrule"], "FREQ=DAILY;COUNT=2");
    let ended = delete(&server, id, "scope=following&occurrence=2025-06-09").await.is(200);
    assert_eq!(ended["rrule"], "FREQ=WEEKLY;UNTIL=20250609T095959Z");
    let nothing = delete(&server, id, "scope=one&occurrence=2025-06-02").await.is(200);
    assert_eq!(nothing["deleted"], true, "no occurrence is left");
    delete(&server, id, "scope=one&occurrence=2025-06-02").await.refused(400, 2, Some("scope"));
}

#[tokio::test]
async fn the_occurrence_at_until_is_the_last_and_repeats_no_more() {
    let server = TestServer::start().await;
    let body = json!({"calendar_id": OTHER_CALENDAR, "start": "2025-06-02 12:00:00", "end": "2025-06-02 13:00:00",
        "rrule": "FREQ=WEEKLY;UNTIL=20250616T100000Z"});
    let series = answer(server.by_pro(Method::POST, PATH).json(&body)).await.is(201);
    let query = "scope=following&occurrence=2025-06-16";
    let made = put(&server, &series["id"], query, json!({"text": "last"})).await.is(200);
    assert_eq!(
        (&made["start"], &made["rrule"], &made["text"]),
        (&json!("2025-06-16 12:00:00"), &json!(""), &json!("last"))
    );
    let query = "scope=following&occurrence=2025-06-09";
    let made = put(&server, &series["id"], query, json!({"text": "next"})).await.is(200);
    assert_eq!(made["rrule"], "FREQ=WEEKLY;UNTIL=20250616T095959Z");
}

#[tokio::test]
async fn all_and_no_scope_are_the_whole_series() {
    let server = TestServer::start().await;
    let series = lunch(&server).await;
    let id = &series["id"];
    for query in ["scope=all", "scope=all&occurrence=2025-06-16", ""] {
        let changed = put(&server, id, query, json!({"text": query})).await.is(200);
        let mut expected = series.clone();
        expected["text"] = json!(query);
        expected["revision"] = changed["revision"].clone();
        assert_eq!(changed, expected);
    }
    assert_eq!(delete(&server, id, "scope=all").await.is(200)["deleted"], true);
}

#[tokio::test]
async fn a_wrong_scope_or_occurrence_changes_nothing() {
    let server = TestServer::start().await;
    let series = lunch(&server).await;
    let id = &series["id"];
    let body = json!({"calendar_id": OTHER_CALENDAR, "start": "2025-06-16 15:00:00", "end": "2025-06-16 16:00:00"});
    let single = answer(server.by_pro(Method::POST, PATH).json(&body)).await.is(201)["id"].clone();
    for (id, query, field) in [
        (id, "scope=some&occurrence=2025-06-16", "scope"),
        (id, "occurrence=2025-06-16", "scope"),
        (id, "scope=one", "occurrence"),
        (id, "scope=following&occurrence=", "occurrence"),
        (id, "scope=one&occurrence=monday", "occurrence"),
        (id, "scope=one&occurrence=2025-06-31", "occurrence"),
        (id, "scope=one&occurrence=2025-06-16%2012:00:00", "occurrence"),
        (id, "scope=all&occurrence=never", "occurrence"),
        (id, "scope=one&occurrence=2025-06-17", "occurrence"),
        (id, "scope=following&occurrence=2025-05-26", "occurrence"),
        (id, "scope=following&occurrence=2025-07-14", "occurrence"),
        (&single, "scope=one&occurrence=2025-06-16", "scope"),
    ] {
        put(&server, id, query, json!({"text": "x"})).await.refused(400, 2, Some(field));
        delete(&server, id, query).await.refused(400, 2, Some(field));
    }
    let query = "scope=one&occurrence=2025-06-16";
    for (fields, field) in [
        (json!({"rrule": "FREQ=DAILY"}), "rrule"),
        (json!({"repeat_freq": "daily"}), "repeat_freq"),
        (json!({"repeat_exceptions": "2025-06-16"}), "repeat_exceptions"),
        (json!({"end": "2025-06-16 11:00:00"}), "end"),
        (json!({"calendar_id": 99}), "calendar_id"),
        (json!({"type": "VfreebusyEvent"}), "type"),
        (json!({"fiche_id": KNOWN_FICHE, "intervention_id": CUT}), "fiche_id"),
    ] {
        put(&server, id, query, fields).await.refused(400, 2, Some(field));
    }
    put(&server, &json!(999_999), query, json!({})).await.refused(404, 3, None);
    assert_eq!(shown(&server, id).await, series);
}

#[tokio::test]
async fn a_part_is_changed_only_in_the_form_of_the_series_that_the_caller_knows() {
    let server = TestServer::start().await;
    let series = lunch(&server).await;
    let id = &series["id"];
    let tag = server.pro_get(&format!("{PATH}/{id}")).await.headers["etag"].clone();
    let send = |day: u32| {
        let path = format!("{PATH}/{id}?scope=one&occurrence=2025-06-{day:02}");
        answer(server.by_pro(Method::DELETE, &path).header("If-Match", &tag))
    };
    let first = send(9).await;
    first.is(200);
    let second = send(16).await;
    second.refused(412, 2, Some("If-Match"));
    assert_eq!(second.json()["current"], first.json());
    let rows = json!([{"method": "DELETE", "path": format!("/api/v1{PATH}/{id}?scope=one&occurrence=2025-06-16"),
        "if_match": first.headers["etag"].to_str().expect("a text")}]);
    let batch = server.by_pro(Method::POST, "/groups/4/batch").json(&json!({"requests": rows}));
    let done = answer(batch).await.is(200);
    assert_eq!(done["responses"][0]["status"], 200, "{done}");
}

/// The closures of some days for each of two calendars.
fn closures(number: usize) -> Vec<Value> {
    (0..number)
        .map(|n| {
            let day = 1 + n / 2 % 28;
            let month = 1 + n / 56 % 12;
            let year = 2026 + n / 672;
            let start = format!("{year}-{month:02}-{day:02} 00:00:00");
            let end = format!("{year}-{month:02}-{day:02} 23:00:00");
            json!({"calendar_id": if n % 2 == 0 { OTHER_CALENDAR } else { 11 }, "start": start, "end": end})
        })
        .collect()
}

#[tokio::test]
async fn many_events_are_made_in_one_step_or_none_is() {
    let server = TestServer::start().await;
    let path = format!("{PATH}/bulk");
    let send =
        |list: Value| answer(server.by_pro(Method::POST, &path).json(&json!({"vevents": list})));
    let count =
        async || server.pro_get(PATH).await.is(200)["totalRecords"].as_u64().expect("a number");
    let before = count().await;
    let sequence = || {
        let id = slotbook::domain::records::ids::GroupId::new(4).expect("an id");
        server.engine.published().group_state(id).expect("a group").sequence
    };
    let entries = sequence();
    for list in [json!([]), json!(null), json!({}), json!(closures(2_001))] {
        send(list).await.refused(400, 2, Some("vevents"));
    }
    let mut wrong = closures(220);
    wrong[7] = json!(1);
    wrong[8]["calendar_id"] = json!(99);
    wrong[219]["end"] = json!("2020-01-01");
    let refused = send(json!(wrong)).await;
    let fields: Vec<Option<String>> =
        refused.errors().into_iter().map(|(_, field)| field).collect();
    let expected = ["vevents[7]", "vevents[8].calendar_id", "vevents[219].end"];
    assert_eq!(fields, expected.map(|field| Some(field.to_owned())));
    let mut appointment = closures(2);
    appointment[1]["fiche_id"] = json!(KNOWN_FICHE);
    appointment[1]["intervention_id"] = json!(CUT);
    send(json!(appointment)).await.refused(400, 2, Some("vevents[1].fiche_id"));
    assert_eq!((count().await, sequence()), (before, entries));
    let made = send(json!(closures(220))).await;
    let records = made.is(201)["records"].as_array().expect("a list").clone();
    assert_eq!(made.headers["location"], format!("/api/v1{PATH}/{}", records[0]["id"]));
    assert_eq!((records.len(), sequence()), (220, entries + 1));
    let last = shown(&server, &records[219]["id"]).await;
    assert_eq!((&last["calendar_id"], &last["taker"]), (&json!(11), &json!("Pro A")));
    assert_eq!(last["start"], closures(220)[219]["start"]);
    send(json!(closures(2_000))).await.is(201);
    assert_eq!((count().await, sequence()), (before + 2_220, entries + 2));
    let keyed = |list: Value| {
        let request = server.by_pro(Method::POST, &path).header("Idempotency-Key", "closures-2026");
        answer(request.json(&json!({"vevents": list})))
    };
    let first = keyed(json!(closures(3))).await;
    assert_eq!(keyed(json!(closures(3))).await.text, first.text);
    keyed(json!(closures(4))).await.refused(409, 2, Some("Idempotency-Key"));
    assert_eq!(count().await, before + 2_223);
}
