//! The agenda of a window, over HTTP. Reference 4.10.

use std::io::Read as _;

use flate2::read::GzDecoder;
use reqwest::Method;
use serde_json::{Value, json};
use slotbook::domain::time::CivilDay;
use slotbook::transfer::demo::KEY as DEMO_KEY;

use crate::server::{TestServer, answer};
use crate::shop::{CALENDAR, CUT, HIDDEN_CALENDAR, KNOWN_FICHE, OTHER_CALENDAR};

const VEVENTS: &str = "/groups/4/vevents";

async fn put_down(server: &TestServer, fields: Value) -> Value {
    answer(server.by_pro(Method::POST, VEVENTS).json(&json!({ "vevent": fields }))).await.is(201)
}

async fn agenda(server: &TestServer, query: &str) -> Value {
    server.pro_get(&format!("/groups/4/agenda?{query}")).await.is(200)
}

fn ids(agenda: &Value) -> Vec<u64> {
    let events = agenda["events"].as_array().expect("events");
    events.iter().map(|event| event["id"].as_u64().expect("an id")).collect()
}

#[tokio::test]
async fn an_appointment_is_shown_with_all_that_a_screen_draws_of_it() {
    let server = TestServer::start().await;
    let made = put_down(
        &server,
        json!({"calendar_id": CALENDAR, "start": "2025-06-03 14:00:00", "end": "2025-06-03 14:45:00",
            "intervention_id": CUT, "fiche_id": KNOWN_FICHE, "state": 2, "internal_comments": "late"}),
    )
    .await;
    let phone = json!({"fiche": {"secondphone": "06 12"}});
    let path = format!("/groups/4/fiches/{KNOWN_FICHE}");
    answer(server.by_pro(Method::PUT, &path).json(&phone)).await.is(200);
    let found =
        agenda(&server, &format!("from=2025-06-03&to=2025-06-04&calendar_ids[]={CALENDAR}")).await;
    assert_eq!(
        found["events"],
        json!([{
            "id": made["id"], "revision": made["revision"], "kind": "appointment",
            "calendar_id": CALENDAR,
            "start": "2025-06-03 14:00:00", "start_utc": "2025-06-03T12:00:00Z",
            "end": "2025-06-03 14:45:00", "end_utc": "2025-06-03T12:45:00Z",
            "all_day": false, "text": "Known", "fiche_id": KNOWN_FICHE, "phone": "06 12",
            "intervention_id": CUT, "state": 2, "from_web": false, "has_internal_comments": true,
        }])
    );
    assert_eq!(found["from"], "2025-06-03 00:00:00");
    assert_eq!(found["to_utc"], "2025-06-03T22:00:00Z");
    assert_eq!(found["interventions"][0]["id"], CUT);
    assert_eq!(found["interventions"].as_array().map(Vec::len), Some(1));
    let path = format!("{VEVENTS}/{}", made["id"]);
    answer(server.by_pro(Method::DELETE, &path)).await.is(200);
    assert_eq!(ids(&agenda(&server, "from=2025-06-03&to=2025-06-04").await), [0_u64; 0]);
}

#[tokio::test]
async fn events_and_series_that_began_before_the_window_are_in_it() {
    let server = TestServer::start().await;
    let plage = |start: &str, end: &str, rrule: &str| {
        json!({"calendar_id": OTHER_CALENDAR, "start": start, "end": end, "rrule": rrule,
            "text": "é".repeat(90)})
    };
    let lunch = plage("2020-01-06 12:00:00", "2020-01-06 13:00:00", "FREQ=DAILY");
    let lunch = put_down(&server, lunch).await["id"].as_u64().expect("an id");
    let holiday = plage("2025-05-26 00:00:00", "2025-06-08 00:00:00", "");
    let holiday = put_down(&server, holiday).await["id"].as_u64().expect("an id");
    let note = json!({"calendar_id": OTHER_CALENDAR, "start": "2025-06-04", "end": "2025-06-04",
        "note": 1, "text": "stocktaking"});
    let note = put_down(&server, note).await["id"].as_u64().expect("an id");
    let window = "from=2025-06-03 12:30:00&to=2025-06-05&calendar_ids[]=";
    let found = agenda(&server, &format!("{window}{OTHER_CALENDAR}")).await;
    assert_eq!(ids(&found), [holiday, lunch, note, lunch]);
    let [days, first, day, second] = [0, 1, 2, 3].map(|place| &found["events"][place]);
    assert_eq!((&days["all_day"], &days["occurrence"]), (&json!(true), &Value::Null));
    assert_eq!(days["start"], "2025-05-26 00:00:00", "its whole time");
    assert_eq!(days["text"], "é".repeat(80));
    assert_eq!((&first["occurrence"], &first["all_day"]), (&json!("2025-06-03"), &json!(false)));
    assert_eq!((&day["kind"], &day["all_day"]), (&json!("note"), &json!(true)));
    assert_eq!(day["end"], "2025-06-05 00:00:00");
    assert_eq!(second["occurrence"], "2025-06-04");
    assert_eq!(found["calendars"].as_array().map(Vec::len), Some(1));
    assert_eq!(found["calendars"][0]["open"], json!([]), "closed over the holiday");
}

#[tokio::test]
async fn on_a_day_of_a_clock_change_local_times_and_instants_are_exact() {
    let server = TestServer::start().await;
    let open = json!({"calendar_id": HIDDEN_CALENDAR, "type": "VfreebusyEvent",
        "start": "2025-10-20 01:00:00", "end": "2025-10-20 05:00:00", "rrule": "FREQ=DAILY"});
    put_down(&server, open).await;
    let plage = json!({"calendar_id": HIDDEN_CALENDAR, "start": "2025-10-20 02:30:00",
        "end": "2025-10-20 03:30:00", "rrule": "FREQ=DAILY", "text": "deliveries"});
    put_down(&server, plage).await;
    let window = format!("calendar_ids[]={HIDDEN_CALENDAR}&from=2025-10-26&to=2025-10-27");
    let found = agenda(&server, &window).await;
    // The first pass of half past two, and the only half past three.
    let event = &found["events"][0];
    assert_eq!(event["start_utc"], "2025-10-26T00:30:00Z");
    assert_eq!(
        (&event["end"], &event["end_utc"]),
        (&json!("2025-10-26 03:30:00"), &json!("2025-10-26T02:30:00Z"))
    );
    let open = &found["calendars"][0]["open"];
    assert_eq!(open.as_array().map(Vec::len), Some(3), "and the hours of every day");
    assert_eq!(
        open[0],
        json!({"date": "2025-10-26",
            "start": "2025-10-26 01:00:00", "start_utc": "2025-10-25T23:00:00Z",
            "end": "2025-10-26 02:30:00", "end_utc": "2025-10-26T00:30:00Z"})
    );
    assert_eq!(
        (&open[1]["start_utc"], &open[1]["end_utc"]),
        (&json!("2025-10-26T02:30:00Z"), &json!("2025-10-26T04:00:00Z"))
    );
    // 42 days over a clock change have an hour more, and are a legal window.
    let window = format!("calendar_ids[]={HIDDEN_CALENDAR}&from=2025-10-01&to=2025-11-12");
    assert_eq!(ids(&agenda(&server, &window).await).len(), 23);
}

#[tokio::test]
async fn the_revision_of_an_agenda_is_the_tag_that_changes_are_based_on() {
    let server = TestServer::start().await;
    let fields = json!({"calendar_id": CALENDAR, "start": "2025-06-03 14:00:00",
        "end": "2025-06-03 14:45:00", "intervention_id": CUT, "fiche_id": KNOWN_FICHE});
    let body = json!({ "vevent": fields });
    let made = answer(server.by_pro(Method::POST, VEVENTS).json(&body)).await;
    let path = format!("{VEVENTS}/{}", made.is(201)["id"]);
    let revision = async || {
        let found = agenda(&server, "from=2025-06-03&to=2025-06-04").await;
        let revision = found["events"][0]["revision"].as_str().expect("a revision").to_owned();
        let shown = server.pro_get(&path).await;
        assert_eq!(shown.headers["etag"], format!("\"{revision}\""));
        assert_eq!(shown.json()["revision"], revision);
        assert_eq!(revision.len(), 11);
        revision
    };
    let first = revision().await;
    assert_eq!(made.headers["etag"], format!("\"{first}\""));
    let change = |fields: Value, known: &str| {
        let body = json!({ "vevent": fields });
        let put = server.by_pro(Method::PUT, &path).json(&body);
        answer(put.header("If-Match", format!("\"{known}\"")))
    };
    let mut known = vec![first.clone()];
    for fields in [
        json!({"comments": "one"}),
        json!({"internal_comments": "one"}),
        json!({"internal_comments": ""}),
        json!({"state": 1}),
        json!({"colorref": "#123456"}),
        json!({"start": "2025-06-03 14:15:00"}),
        json!({"smsreminder": true}),
        json!({"taker": "Zoé"}),
        json!({"calendar_id": OTHER_CALENDAR}),
    ] {
        let before = known.last().expect("a revision").clone();
        change(fields.clone(), &before).await.is(200);
        let after = revision().await;
        assert!(!known.contains(&after) || fields["internal_comments"] == "", "{fields}");
        assert_ne!(after, before, "{fields}");
        let overtaken = change(json!({"comments": "lost"}), &before).await;
        overtaken.refused(412, 2, Some("If-Match"));
        assert_eq!(overtaken.headers["etag"], format!("\"{after}\""));
        known.push(after);
    }
    // Another name of the client makes no other appointment of it.
    let renamed = json!({"fiche": {"lastname": "Other"}});
    let fiche = format!("/groups/4/fiches/{KNOWN_FICHE}");
    answer(server.by_pro(Method::PUT, &fiche).json(&renamed)).await.is(200);
    assert_eq!(Some(&revision().await), known.last());
}

#[tokio::test]
async fn a_wrong_window_is_refused_by_field_and_another_group_is_not_found() {
    let server = TestServer::start().await;
    for (query, fields) in [
        ("", vec!["from", "to"]),
        ("from=2025-06-03&to=soon&calendar_ids[]=99", vec!["to", "calendar_ids"]),
        ("from=2025-06-03&to=2025-06-03", vec!["to"]),
        ("from=2025-06-03&to=2025-06-02", vec!["to"]),
        ("from=2025-06-03&to=2025-07-15 00:00:01", vec!["to"]),
        ("from=2025-06-03&to=2025-06-04&calendar_ids[]=x", vec!["calendar_ids"]),
    ] {
        let refused = server.pro_get(&format!("/groups/4/agenda?{query}")).await;
        assert_eq!(refused.status, 400, "{query}: {}", refused.text);
        let named: Vec<_> = refused.errors().into_iter().filter_map(|(_, field)| field).collect();
        assert_eq!(named, fields, "{query}");
    }
    agenda(&server, "from=2025-06-03&to=2025-07-15").await;
    let path = "/groups/4/agenda?from=2025-06-03&to=2025-06-04";
    server.get(path).await.refused(403, 1, None);
    let path = "/groups/5/agenda?from=2025-06-03&to=2025-06-04";
    server.pro_get(path).await.refused(404, 3, None);
}

#[tokio::test]
async fn each_week_of_the_demonstration_is_short_over_the_wire() {
    let server = TestServer::demonstration().await;
    let mut fullest = (0, 0);
    for week in 0..8_i32 {
        let monday = CivilDay::from_ymd(2025, 5, 19).expect("a day").plus_days(7 * week);
        let [from, to] = [monday, monday.plus_days(7)].map(|day| {
            let (year, month, day) = day.ymd();
            format!("{year}-{month:02}-{day:02}")
        });
        let query = [("apikey", DEMO_KEY), ("from", &from), ("to", &to)];
        let request = server.bare(Method::GET, "/api/v1/groups/1/agenda").query(&query);
        let request = request.basic_auth("anna@example.org", Some("demo-password"));
        let request = request.header("Accept-Encoding", "gzip");
        let answer = request.send().await.expect("the server answers");
        let sent = answer.bytes().await.expect("a body").to_vec();
        let mut plain = String::new();
        GzDecoder::new(&sent[..]).read_to_string(&mut plain).expect("gzip");
        let agenda: Value = serde_json::from_str(&plain).expect("JSON");
        fullest = fullest.max((agenda["events"].as_array().expect("events").len(), sent.len()));
    }
    let (events, bytes) = fullest;
    assert!(events > 200, "{events} events");
    assert!(bytes <= 12_000, "{bytes} bytes for {events} events");
}
