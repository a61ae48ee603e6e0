//! Events by a professional's hand: made, moved, deleted, restored.

use reqwest::Method;
use serde_json::{Value, json};

use crate::server::{Answer, TestServer, answer};
use crate::shop::{CALENDAR, CUT, KNOWN_FICHE, OTHER_CALENDAR, clock};

const PATH: &str = "/groups/4/vevents";

async fn post(server: &TestServer, body: Value) -> Answer {
    answer(server.by_pro(Method::POST, PATH).json(&body)).await
}

async fn put(server: &TestServer, id: &Value, fields: Value) -> Answer {
    answer(server.by_pro(Method::PUT, &format!("{PATH}/{id}")).json(&json!({ "vevent": fields })))
        .await
}

async fn delete(server: &TestServer, id: &Value) -> Answer {
    answer(server.by_pro(Method::DELETE, &format!("{PATH}/{id}"))).await
}

fn appointment(start: &str, end: &str) -> Value {
    json!({
        "calendar_id": CALENDAR, "start": format!("2025-06-02 {start}:00"), "end": format!("2025-06-02 {end}:00"),
        "intervention_id": CUT, "fiche_id": KNOWN_FICHE,
    })
}

#[tokio::test]
async fn events_of_all_four_kinds_are_made_wrapped_or_bare() {
    let server = TestServer::start().await;
    let made = post(&server, json!({ "vevent": appointment("14:00", "14:45") })).await.is(201);
    assert_eq!((&made["text"], &made["end"]), (&json!("Known"), &json!("2025-06-02 14:45:00")));
    assert_eq!(
        (&made["fiche_id"], &made["key"].as_str().map(str::len)),
        (&json!(KNOWN_FICHE), &Some(20))
    );
    assert_eq!(server.pro_get(&format!("{PATH}/{}", made["id"])).await.is(200), made);
    let plage = json!({"calendar_id": CALENDAR, "start": "2025-06-02 14:00:00", "end": "2025-06-02 15:00:00",
        "text": "lunch", "repeat_freq": "weekly", "repeat_byday": 62, "intervention_id": CUT});
    let plage = post(&server, plage).await.is(201);
    assert_eq!(
        (&plage["intervention_id"], &plage["text"]),
        (&json!(CUT), &json!("lunch")),
        "laid over an appointment"
    );
    assert_eq!(plage["rrule"], "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR");
    let open = json!({"calendar_id": CALENDAR, "start": "2025-06-02 14:00", "end": "2025-06-02 15:00:00",
        "type": "VfreebusyEvent", "availableInterventions": format!(",{CUT},")});
    post(&server, open.clone()).await.refused(400, 2, Some("start"));
    let mut open = open;
    open["start"] = json!("2025-06-02 14:00:00");
    assert_eq!(post(&server, open).await.is(201)["availableInterventions"], format!(",{CUT},"));
    let note =
        json!({"calendar_id": CALENDAR, "start": "2025-06-02", "end": "2025-06-02", "note": 1});
    assert_eq!(post(&server, note).await.is(201)["note"], true);
    let wrong =
        json!({"vevent": {"calendar_id": 99, "start": "2025-06-02", "rrule": "FREQ=NEVER"}});
    assert_eq!(post(&server, wrong).await.errors().len(), 3);
    post(&server, json!({"vevent": 1})).await.refused(400, 2, Some("vevent"));
    let by_key = server.by_key(Method::POST, PATH).json(&appointment("16:00", "17:00"));
    answer(by_key).await.refused(403, 1, None);
}

#[tokio::test]
async fn an_appointment_is_refused_where_another_stands_and_nowhere_else() {
    let server = TestServer::start().await;
    let first = post(&server, appointment("10:00", "11:00")).await.is(201);
    let refused = post(&server, appointment("10:59", "12:00")).await;
    refused.refused(400, 14, Some("start"));
    let second = post(&server, appointment("11:00", "12:00")).await.is(201);
    put(&server, &second["id"], json!({"start": "2025-06-02 10:30:00"})).await.refused(
        400,
        14,
        Some("start"),
    );
    let moved = put(&server, &second["id"], json!({"start": "2025-06-02 11:30:00"})).await.is(200);
    assert_eq!(
        (&moved["start"], &moved["end"]),
        (&json!("2025-06-02 11:30:00"), &json!("2025-06-02 12:30:00"))
    );
    let elsewhere = json!({"calendar_id": OTHER_CALENDAR, "start": "2025-06-02 10:30:00"});
    assert_eq!(put(&server, &second["id"], elsewhere).await.is(200)["calendar_id"], OTHER_CALENDAR);
    let back = json!({ "calendar_id": CALENDAR });
    put(&server, &second["id"], back.clone()).await.refused(400, 14, Some("start"));
    assert_eq!(delete(&server, &first["id"]).await.is(200)["deleted"], true);
    put(&server, &second["id"], back).await.is(200);
    let restore = json!({"deleted": false});
    put(&server, &first["id"], restore.clone()).await.refused(400, 14, Some("start"));
    put(&server, &second["id"], json!({"start": "2025-06-02 11:00:00"})).await.is(200);
    assert_eq!(put(&server, &first["id"], restore).await.is(200)["deleted"], false);
}

#[tokio::test]
async fn what_is_given_again_changes_nothing_and_a_second_delete_neither() {
    let server = TestServer::start().await;
    let made = post(&server, appointment("10:00", "11:00")).await.is(201);
    server.at(clock(8, 30));
    assert_eq!(
        put(&server, &made["id"], made.clone()).await.is(200),
        made,
        "the whole object as it was shown"
    );
    let deleted = delete(&server, &made["id"]).await.is(200);
    assert_eq!(deleted["updated_at"], "2025-06-02 08:30:00");
    server.at(clock(8, 45));
    assert_eq!(delete(&server, &made["id"]).await.is(200), deleted);
    let state =
        put(&server, &made["id"], json!({"state": 2, "sendmail": 0, "key": "x", "mailtime": "x"}))
            .await
            .is(200);
    assert_eq!(
        (&state["state"], &state["key"], &state["deleted"]),
        (&json!(2), &made["key"], &json!(true))
    );
    assert_eq!(state["updated_at"], "2025-06-02 08:45:00");
    put(&server, &json!(9_999), json!({"state": 9})).await.refused(404, 3, None);
    delete(&server, &json!(9_999)).await.refused(404, 3, None);
}

#[tokio::test]
async fn kinds_stay_save_that_a_plage_becomes_an_appointment() {
    let server = TestServer::start().await;
    let times = json!({"calendar_id": CALENDAR, "start": "2025-06-02 10:00:00", "end": "2025-06-02 11:00:00"});
    let plage = post(&server, times).await.is(201);
    put(&server, &plage["id"], json!({"note": 1, "start": "2025-06-02", "end": "2025-06-02"}))
        .await
        .refused(400, 2, Some("note"));
    put(&server, &plage["id"], json!({"type": "VfreebusyEvent"})).await.refused(
        400,
        2,
        Some("type"),
    );
    put(&server, &plage["id"], json!({"num0": 7, "str0": ""})).await.is(200);
    let both = json!({"fiche_id": KNOWN_FICHE, "intervention_id": CUT});
    let appointment = put(&server, &plage["id"], both).await.is(200);
    assert_eq!((&appointment["text"], &appointment["num0"]), (&json!("Known"), &json!(7)));
    put(&server, &plage["id"], json!({"fiche_id": 0})).await.refused(400, 2, Some("fiche_id"));
    put(&server, &plage["id"], json!({"rrule": "FREQ=DAILY"})).await.refused(400, 2, Some("rrule"));
    put(&server, &plage["id"], json!({"end": "2025-06-02 10:00:00"})).await.refused(
        400,
        2,
        Some("end"),
    );
    let series = put(&server, &json!(51), json!({"start": "2025-06-01 08:00:00"})).await.is(200);
    assert_eq!(
        (&series["end"], &series["rrule"]),
        (&json!("2025-06-01 11:00:00"), &json!("FREQ=DAILY"))
    );
    let once = put(&server, &json!(51), json!({"rrule": ""})).await.is(200);
    assert_eq!((&once["rrule"], &once["type"]), (&json!(""), &json!("VfreebusyEvent")));
}

#[tokio::test]
async fn an_event_with_only_a_client_or_a_service_keeps_it_until_the_other_arrives() {
    let fields = |name: &str, id: u64| {
        json!({"calendar_id": CALENDAR, "start": "2025-06-02 10:00:00", "end": "2025-06-02 10:45:00",
            "text": "New patient", name: id})
    };
    for (given, first, other, second) in [
        ("fiche_id", KNOWN_FICHE, "intervention_id", CUT),
        ("intervention_id", CUT, "fiche_id", KNOWN_FICHE),
    ] {
        let server = TestServer::start().await;
        for unknown in [99, 51] {
            post(&server, fields(given, unknown)).await.refused(400, 2, Some(given));
        }
        let made = post(&server, fields(given, first)).await.is(201);
        let shown = |row: &Value| {
            (row[given].clone(), row[other].clone(), row["text"].clone(), row["type"].clone())
        };
        let alone = (json!(first), json!(0), json!("New patient"), json!(""));
        assert_eq!((shown(&made), &made["key"]), (alone.clone(), &json!("")));
        let row = format!("{PATH}/{}", made["id"]);
        assert_eq!(server.pro_get(&row).await.is(200), made);
        let found = format!(
            "{PATH}?conditions[0][field]={given}&conditions[0][op]=%3D&conditions[0][value]={first}"
        );
        assert_eq!(server.pro_get(&found).await.is(200)["records"], json!([made]));
        let of_client = format!("{PATH}?fiche_id={KNOWN_FICHE}");
        assert_eq!(server.pro_get(&of_client).await.is(200)["totalRecords"], 0, "{given}");
        assert!(!offers_half_past_ten(&server).await, "it takes its time");
        let appointments = "/groups/4/appointments?include_past=1";
        assert_eq!(server.pro_get(appointments).await.is(200)["totalRecords"], 0);

        let moved = json!({"start": "2025-06-02 10:15:00", "end": "2025-06-02 11:00:00"});
        assert_eq!(shown(&put(&server, &made["id"], moved).await.is(200)), alone);
        put(&server, &made["id"], json!({other: 99})).await.refused(400, 2, Some(other));
        let appointment = put(&server, &made["id"], json!({other: second})).await.is(200);
        assert_eq!((&appointment[given], &appointment[other]), (&json!(first), &json!(second)));
        assert_eq!(
            (&appointment["text"], &appointment["key"].as_str().map(str::len)),
            (&json!("Known"), &Some(20))
        );
        assert_eq!(server.pro_get(appointments).await.is(200)["totalRecords"], 1);
        assert_eq!(server.pro_get(&of_client).await.is(200)["totalRecords"], 1, "{given}");
        put(&server, &made["id"], json!({given: 0})).await.refused(400, 2, Some("fiche_id"));
        delete(&server, &made["id"]).await.is(200);
        assert!(offers_half_past_ten(&server).await, "its time is free again");
    }
}

/// Whether the calendar of the tests offers 10:30.
async fn offers_half_past_ten(server: &TestServer) -> bool {
    let search = format!(
        "/groups/4/availabletimeslots?intervention_ids[]={CUT}&calendar_id={CALENDAR}&start=2025-06-02+10:30:00&nDays=1"
    );
    server.pro_get(&search).await.is(200)["firstSlot"] == "2025-06-02 10:30:00"
}

#[tokio::test]
async fn a_series_that_names_a_client_loses_its_rule_to_become_an_appointment() {
    let server = TestServer::start().await;
    let series = json!({"calendar_id": CALENDAR, "start": "2025-06-02 14:00:00", "end": "2025-06-02 14:30:00",
        "rrule": "FREQ=DAILY", "fiche_id": KNOWN_FICHE});
    let made = post(&server, series).await.is(201);
    assert_eq!((&made["fiche_id"], &made["rrule"]), (&json!(KNOWN_FICHE), &json!("FREQ=DAILY")));
    let id = &made["id"];
    put(&server, id, json!({"intervention_id": CUT})).await.refused(400, 2, Some("rrule"));
    let other = put(&server, id, json!({"fiche_id": "", "intervention_id": CUT})).await.is(200);
    assert_eq!((&other["fiche_id"], &other["intervention_id"]), (&json!(0), &json!(CUT)));
    let both = json!({"fiche_id": KNOWN_FICHE, "rrule": ""});
    let appointment = put(&server, id, both).await.is(200);
    assert_eq!(
        (&appointment["fiche_id"], &appointment["rrule"]),
        (&json!(KNOWN_FICHE), &json!(""))
    );

    let note = json!({"calendar_id": CALENDAR, "start": "2025-06-02", "end": "2025-06-02", "note": 1,
        "fiche_id": KNOWN_FICHE});
    let note = post(&server, note).await.is(201);
    assert_eq!((&note["note"], &note["fiche_id"]), (&json!(true), &json!(KNOWN_FICHE)));
    put(&server, &note["id"], json!({"intervention_id": CUT})).await.refused(400, 2, Some("note"));
}

#[tokio::test]
async fn nothing_is_newly_arranged_with_a_deleted_client() {
    let server = TestServer::start().await;
    let stands = post(&server, appointment("10:00", "11:00")).await.is(201);
    let named = json!({"calendar_id": CALENDAR, "start": "2025-06-02 12:00:00", "end": "2025-06-02 13:00:00",
        "fiche_id": KNOWN_FICHE});
    let half = post(&server, named.clone()).await.is(201);
    let client = json!({"fiche": {"deleted": 1}});
    answer(server.by_pro(Method::PUT, &format!("/groups/4/fiches/{KNOWN_FICHE}")).json(&client))
        .await
        .is(200);
    post(&server, appointment("14:00", "15:00")).await.refused(400, 2, Some("fiche_id"));
    let plage = json!({"calendar_id": CALENDAR, "start": "2025-06-02 14:00:00", "end": "2025-06-02 15:00:00"});
    let plage = post(&server, plage).await.is(201);
    let arranged = json!({"fiche_id": KNOWN_FICHE, "intervention_id": CUT});
    put(&server, &plage["id"], arranged).await.refused(400, 2, Some("fiche_id"));
    post(&server, named).await.refused(400, 2, Some("fiche_id"));
    let service = json!({"intervention_id": CUT});
    put(&server, &half["id"], service).await.refused(400, 2, Some("fiche_id"));
    put(&server, &half["id"], json!({"end": "2025-06-02 13:30:00"})).await.is(200);
    let moved = put(&server, &stands["id"], json!({"start": "2025-06-02 10:30:00"})).await.is(200);
    assert_eq!(
        (&moved["start"], &moved["text"]),
        (&json!("2025-06-02 10:30:00"), &json!("$Known"))
    );
}

#[tokio::test]
async fn an_event_of_no_calendar_is_refused_by_name() {
    let server = TestServer::start().await;
    for none in [json!(0), json!("0"), json!(null), json!("")] {
        let event = json!({"calendar_id": none, "start": "2025-06-02 14:00:00", "end": "2025-06-02 15:00:00"});
        let made = answer(
            server.by_pro(Method::POST, "/groups/4/vevents").json(&json!({ "vevent": event })),
        )
        .await;
        made.refused(400, 2, Some("calendar_id"));
        let moved = server
            .by_pro(Method::PUT, "/groups/4/vevents/51")
            .json(&json!({"vevent": {"calendar_id": none}}));
        answer(moved).await.refused(400, 2, Some("calendar_id"));
    }
}

#[tokio::test]
async fn an_event_names_its_creator_and_its_rule_in_the_older_form() {
    let server = TestServer::start().await;
    let plage = json!({"calendar_id": CALENDAR, "start": "2025-06-03 14:00:00", "end": "2025-06-03 15:00:00",
        "rrule": "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TU"});
    let made = post(&server, plage).await.is(201);
    assert_eq!(made["taker"], "Pro A");
    let older = ["repeat_freq", "repeat_intervall", "repeat_count", "repeat_byday"];
    let shown = older.map(|name| made[name].clone());
    assert_eq!(shown, [json!("weekly"), json!(2), json!(null), json!(6)]);
    assert_eq!(made["availableInterventions"], json!(null));

    let back = put(&server, &made["id"], made.clone()).await.is(200);
    assert_eq!((&back["rrule"], &back["taker"]), (&made["rrule"], &made["taker"]));
    let mut emptied = made.clone();
    emptied["rrule"] = json!("");
    let emptied = put(&server, &made["id"], emptied).await.is(200);
    assert_eq!((&emptied["rrule"], &emptied["repeat_freq"]), (&json!(""), &json!(null)));
    let nth = json!({"rrule": "FREQ=MONTHLY;BYDAY=1TU"});
    assert_eq!(put(&server, &made["id"], nth).await.is(200)["repeat_freq"], json!(null));

    let web = json!({"appointment": {"date": "2025-06-02 10:00:00", "calendar_id": CALENDAR,
        "intervention_ids": [CUT], "fiche": {"lastname": "Curie", "firstname": "Marie",
        "email": "marie@example.org"}}});
    let booked = server.by_key(Method::POST, "/groups/4/appointments").json(&web);
    let id = answer(booked).await.is(201)["records"][0]["id"].clone();
    let shown = server.pro_get(&format!("{PATH}/{id}")).await.is(200);
    assert_eq!(shown["taker"], "Curie Marie");
}

#[tokio::test]
async fn an_appointment_names_who_booked_it_through_every_change() {
    let server = TestServer::start().await;
    let taker =
        async |id: &Value| server.pro_get(&format!("{PATH}/{id}")).await.is(200)["taker"].clone();
    for (hour, from_web) in [("09", json!(0)), ("10", json!(1)), ("11", json!(null))] {
        let wish = json!({"appointment": {"date": format!("2025-06-02 {hour}:00:00"), "calendar_id": CALENDAR,
            "intervention_ids": [CUT], "from_web": from_web, "fiche": {"lastname": "Curie", "firstname": "Marie"}}});
        let booked = server.by_pro(Method::POST, "/groups/4/appointments").json(&wish);
        let id = answer(booked).await.is(201)["records"][0]["id"].clone();
        assert_eq!(taker(&id).await, "Pro A", "from_web {from_web}");
        put(&server, &id, json!({"state": 1, "calendar_id": OTHER_CALENDAR})).await.is(200);
        delete(&server, &id).await.is(200);
        put(&server, &id, json!({"deleted": 0})).await.is(200);
        assert_eq!(taker(&id).await, "Pro A");
        put(&server, &id, json!({"taker": "Front desk"})).await.is(200);
        assert_eq!(taker(&id).await, "Front desk");
    }
}
