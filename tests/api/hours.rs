//! Weekly opening hours of a calendar. Reference 6.17, 13.2.

use reqwest::Method;
use serde_json::{Value, json};

use crate::server::{Answer, TestServer, answer};
use crate::shop::{CALENDAR, COLOUR, CUT, OTHER_CALENDAR};

fn path(calendar: u64) -> String {
    format!("/groups/4/calendars/{calendar}/hours")
}

async fn put(server: &TestServer, rows: Value) -> Answer {
    let request = server.by_pro(Method::PUT, &path(OTHER_CALENDAR));
    answer(request.json(&json!({ "rows": rows }))).await
}

async fn shown(server: &TestServer) -> Answer {
    server.pro_get(&path(OTHER_CALENDAR)).await
}

fn row(weekday: &str, from: &str, to: &str) -> Value {
    json!({"weekday": weekday, "ranges": [{"from": from, "to": to}]})
}

/// The vevents of the other calendar, deleted ones included.
async fn vevents(server: &TestServer) -> Vec<Value> {
    let path = format!("/groups/4/vevents?calendar_id={OTHER_CALENDAR}&results=all");
    let listed = server.pro_get(&path);
    listed.await.is(200)["records"].as_array().expect("a list").clone()
}

/// Closes the other calendar, so that each test begins without hours.
async fn closed() -> TestServer {
    let server = TestServer::start().await;
    for row in vevents(&server).await {
        let path = format!("/groups/4/vevents/{}", row["id"]);
        answer(server.by_pro(Method::DELETE, &path)).await.is(200);
    }
    server
}

#[tokio::test]
async fn the_hours_that_were_put_are_shown_and_opened() {
    let server = closed().await;
    let rows = json!([
        {"weekday": "TU", "ranges": [{"from": "14:00", "to": "18:00"}, {"from": "09:00", "to": "12:00"}], "valid_from": "2025-06-03"},
        {"weekday": "MO", "ranges": [{"from": "09:00", "to": "12:00"}]},
        {"weekday": "SA", "ranges": [{"from": "22:00", "to": "24:00"}], "weeks": 2, "valid_from": "2025-06-10",
         "valid_until": "2025-07-31", "intervention_ids": [CUT]},
        {"weekday": "SU", "ranges": []},
    ]);
    let done = put(&server, rows.clone()).await.is(200);
    let expected = json!([
        {"weekday": "MO", "ranges": [{"from": "09:00", "to": "12:00"}], "intervention_ids": [], "weeks": 1,
         "valid_from": "2025-06-02", "valid_until": null},
        {"weekday": "TU", "ranges": [{"from": "09:00", "to": "12:00"}, {"from": "14:00", "to": "18:00"}],
         "intervention_ids": [], "weeks": 1, "valid_from": "2025-06-03", "valid_until": null},
        {"weekday": "SA", "ranges": [{"from": "22:00", "to": "24:00"}], "intervention_ids": [CUT], "weeks": 2,
         "valid_from": "2025-06-14", "valid_until": "2025-07-26"},
    ]);
    assert_eq!(done["rows"], expected, "{done}");
    assert_eq!(done["others"], json!([]));
    let answered = shown(&server).await;
    assert_eq!(answered.is(200), done);
    let live: Vec<Value> =
        vevents(&server).await.into_iter().filter(|row| row["deleted"] == false).collect();
    let texts: Vec<(&Value, &Value, &Value)> =
        live.iter().map(|row| (&row["start"], &row["rrule"], &row["taker"])).collect();
    let taker = json!("Pro A");
    assert_eq!(
        texts,
        [
            (&json!("2025-06-02 09:00:00"), &json!("FREQ=WEEKLY;BYDAY=MO,TU"), &taker),
            (&json!("2025-06-03 14:00:00"), &json!("FREQ=WEEKLY;BYDAY=TU"), &taker),
            (
                &json!("2025-06-14 22:00:00"),
                &json!("FREQ=WEEKLY;INTERVAL=2;BYDAY=SA;UNTIL=20250726T215959Z"),
                &taker
            ),
        ]
    );
    let open = format!(
        "/groups/4/availabletimeslots?intervention_ids[]={CUT}&calendar_id={OTHER_CALENDAR}&start=2025-06-10&nDays=1"
    );
    let found = server.get(&open).await.is(200);
    assert_eq!(found["availabletimeslots"][0]["start"], "2025-06-10 09:00:00", "{found}");
    let emptied = put(&server, json!([])).await.is(200);
    assert_eq!(emptied["rows"], json!([]));
    assert!(vevents(&server).await.iter().all(|row| row["deleted"] == true));
}

#[tokio::test]
async fn what_was_read_may_be_put_again_and_changes_nothing() {
    let server = closed().await;
    put(&server, json!([row("MO", "09:00", "12:00"), row("FR", "09:00", "12:00")])).await.is(200);
    let read = shown(&server).await;
    let before = vevents(&server).await;
    let again = put(&server, read.is(200)["rows"].clone()).await;
    assert_eq!(again.is(200), read.json());
    assert_eq!(again.headers["etag"], read.headers["etag"]);
    assert_eq!(vevents(&server).await, before);
}

#[tokio::test]
async fn hours_that_rows_cannot_express_are_named_and_left_alone() {
    let server = closed().await;
    let single = json!({"vevent": {"calendar_id": OTHER_CALENDAR, "type": "VfreebusyEvent",
        "start": "2025-06-07 10:00:00", "end": "2025-06-07 16:00:00", "availableInterventions": [CUT]}});
    let made = answer(server.by_pro(Method::POST, "/groups/4/vevents").json(&single)).await.is(201);
    let others = json!([{"id": made["id"], "start": "2025-06-07 10:00:00", "end": "2025-06-07 16:00:00",
        "rrule": "", "repeat_exceptions": "", "intervention_ids": [CUT]}]);
    for rows in [json!([row("MO", "09:00", "12:00")]), json!([])] {
        let done = put(&server, rows).await.is(200);
        assert_eq!((&done["others"], &done["others_total"]), (&others, &json!(1)));
    }
    let kept = server.pro_get(&format!("/groups/4/vevents/{}", made["id"])).await.is(200);
    assert_eq!(kept, made);
}

#[tokio::test]
async fn wrong_hours_are_refused_by_field_and_change_nothing() {
    let server = closed().await;
    put(&server, json!([row("MO", "09:00", "12:00")])).await.is(200);
    let before = shown(&server).await.is(200);
    let with = |name: &str, value: Value| {
        let mut wrong = row("TU", "09:00", "12:00");
        wrong[name] = value;
        json!([row("MO", "09:00", "12:00"), wrong])
    };
    let range = |from: Value, to: Value| with("ranges", json!([{"from": from, "to": to}]));
    let wrong = [
        (json!(null), "rows"),
        (json!([7]), "rows[0]"),
        (json!([{"ranges": []}]), "rows[0].weekday"),
        (with("weekday", json!("XX")), "rows[1].weekday"),
        (with("weekday", json!(2)), "rows[1].weekday"),
        (with("ranges", json!(null)), "rows[1].ranges"),
        (with("ranges", json!([1])), "rows[1].ranges[0]"),
        (with("weeks", json!(3)), "rows[1].weeks"),
        (with("weeks", json!("x")), "rows[1].weeks"),
        (with("intervention_ids", json!([CUT, 999])), "rows[1].intervention_ids"),
        (with("valid_from", json!("2025-06-31")), "rows[1].valid_from"),
        (with("valid_from", json!("2025-06-03 09:00:00")), "rows[1].valid_from"),
        (with("valid_from", json!("1969-12-30")), "rows[1].valid_from"),
        (with("valid_from", json!("9999-12-31")), "rows[1].valid_from"),
        (with("valid_until", json!("2025-06-02")), "rows[1].valid_until"),
        (range(json!("12:00"), json!("09:00")), "rows[1].ranges[0].to"),
        (range(json!("12:00"), json!("12:00")), "rows[1].ranges[0].to"),
        (range(json!("9:00"), json!("12:00")), "rows[1].ranges[0].from"),
        (range(json!("09:00"), json!("24:01")), "rows[1].ranges[0].to"),
        (range(json!("09:60"), json!("12:00")), "rows[1].ranges[0].from"),
        (range(json!(9), json!("12:00")), "rows[1].ranges[0].from"),
        (range(json!(null), json!("12:00")), "rows[1].ranges[0].from"),
        (
            with(
                "ranges",
                json!([{"from": "09:00", "to": "12:00"}, {"from": "11:59", "to": "13:00"}]),
            ),
            "rows[1].ranges[1]",
        ),
        (with("weekday", json!("MO")), "rows[1].ranges[0]"),
    ];
    for (rows, field) in wrong {
        put(&server, rows).await.refused(400, 2, Some(field));
    }
    // All faults come together.
    let two = json!([{"weekday": "XX", "ranges": [{"from": "9", "to": "10:00"}], "weeks": 0}]);
    let fields: Vec<Option<String>> =
        put(&server, two).await.errors().into_iter().map(|(_, field)| field).collect();
    let expected = ["rows[0].weekday", "rows[0].weeks", "rows[0].ranges[0].from"];
    assert_eq!(fields, expected.map(|field| Some(field.to_owned())));
    // Other interventions, another week or another time may share a day.
    let legal = json!([
        row("MO", "09:00", "12:00"),
        {"weekday": "MO", "ranges": [{"from": "08:00", "to": "10:00"}], "intervention_ids": [COLOUR]},
        {"weekday": "TU", "ranges": [{"from": "08:00", "to": "10:00"}], "weeks": 2, "valid_from": "2025-06-03"},
        {"weekday": "TU", "ranges": [{"from": "09:00", "to": "11:00"}], "weeks": 2, "valid_from": "2025-06-10"},
        row("MO", "12:00", "13:00"),
    ]);
    assert_eq!(shown(&server).await.is(200), before);
    put(&server, legal).await.is(200);
}

#[tokio::test]
async fn hours_are_changed_only_in_the_form_that_the_caller_knows() {
    let server = closed().await;
    let tag = shown(&server).await.headers["etag"].clone();
    let send = |hour: u32| {
        let body = json!({"rows": [row("MO", &format!("{hour:02}:00"), "12:00")]});
        server.by_pro(Method::PUT, &path(OTHER_CALENDAR)).header("If-Match", &tag).json(&body)
    };
    let first = answer(send(8)).await;
    first.is(200);
    let second = answer(send(9)).await;
    second.refused(412, 2, Some("If-Match"));
    assert_eq!(second.json()["current"], first.json());
    assert_eq!(second.headers["etag"], first.headers["etag"]);
    // An availability that is written by itself is a part of the hours.
    let body = json!({"vevent": {"calendar_id": OTHER_CALENDAR, "type": "VfreebusyEvent",
        "start": "2025-06-07 10:00:00", "end": "2025-06-07 16:00:00"}});
    answer(server.by_pro(Method::POST, "/groups/4/vevents").json(&body)).await.is(201);
    assert_ne!(shown(&server).await.headers["etag"], first.headers["etag"]);
}

#[tokio::test]
async fn hours_have_a_bound_and_a_batch_takes_them() {
    let server = closed().await;
    let many = |number: usize| {
        let range = |n: usize| json!({"from": format!("{:02}:{:02}", n / 60, n % 60), "to": format!("{:02}:{:02}", (n + 1) / 60, (n + 1) % 60)});
        let ranges: Vec<Value> = (0..number).map(range).collect();
        json!([{"weekday": "MO", "ranges": ranges}])
    };
    put(&server, many(501)).await.refused(400, 2, Some("rows"));
    put(&server, many(500)).await.is(200);
    assert_eq!(vevents(&server).await.iter().filter(|row| row["deleted"] == false).count(), 500);
    let faulty: Vec<Value> = (0..200).map(|_| json!(1)).collect();
    assert_eq!(put(&server, json!(faulty)).await.errors().len(), 50);
    let rows = json!([{"method": "PUT", "path": format!("/api/v1{}", path(OTHER_CALENDAR)),
        "body": {"rows": [row("MO", "09:00", "12:00")]}}, {"method": "PUT", "path": format!("/api/v1{}", path(CALENDAR)),
        "body": {"rows": [row("MO", "12:00", "09:00")]}}]);
    let atomic = json!({"requests": rows, "atomic": true});
    let refused = answer(server.by_pro(Method::POST, "/groups/4/batch").json(&atomic)).await;
    assert_eq!(refused.errors()[1].1.as_deref(), Some("requests[1].rows[0].ranges[0].to"));
    let each = json!({"requests": rows});
    let done = answer(server.by_pro(Method::POST, "/groups/4/batch").json(&each)).await.is(200);
    assert_eq!(
        (&done["responses"][0]["status"], &done["responses"][1]["status"]),
        (&json!(200), &json!(400))
    );
    assert_eq!(shown(&server).await.is(200), done["responses"][0]["body"]);
}

#[tokio::test]
async fn a_batch_writes_at_most_2_000_records() {
    let server = TestServer::start().await;
    let path = format!("/api/v1{}", path(OTHER_CALENDAR));
    let of_minutes = |first: usize| {
        let time = |minute: usize| format!("{:02}:{:02}", minute / 60, minute % 60);
        let range = |n: usize| json!({"from": time(first + n), "to": time(first + n + 1)});
        let ranges: Vec<Value> = (0..480).map(range).collect();
        json!({"method": "PUT", "path": path, "body": {"rows": [{"weekday": "MO", "ranges": ranges}]}})
    };
    // Each gives all of the 480 other times.
    let rows: Vec<Value> = [0, 480, 960, 0, 480].map(of_minutes).to_vec();
    let send = |rows: &[Value]| {
        let body = json!({"requests": rows});
        answer(server.by_pro(Method::POST, "/groups/4/batch").json(&body))
    };
    let done = send(&rows).await.is(200);
    let statuses: Vec<&Value> =
        done["responses"].as_array().expect("a list").iter().map(|row| &row["status"]).collect();
    assert_eq!(statuses, [200, 200, 200, 200, 400], "{}", done["responses"][4]);
    assert_eq!(done["responses"][4]["body"]["errors"][0]["field"], "rows");
    assert_eq!(send(&rows[4..]).await.is(200)["responses"][0]["status"], 200);
}

#[tokio::test]
async fn only_professionals_of_the_group_see_hours() {
    let server = TestServer::start().await;
    server.get(&path(CALENDAR)).await.refused(403, 1, None);
    server.pro_get(&path(999)).await.refused(404, 3, None);
    server.pro_get("/groups/5/calendars/11/hours").await.refused(404, 3, None);
    let request = server.by_key(Method::PUT, &path(CALENDAR)).json(&json!({"rows": []}));
    answer(request).await.refused(403, 1, None);
}
