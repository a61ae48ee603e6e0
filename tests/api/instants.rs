//! Instants by RFC 3339, beside and in place of times on the clocks of the group.

use reqwest::Method;
use serde_json::{Value, json};

use crate::server::{Answer, TestServer, answer};
use crate::shop::{CALENDAR, CUT, KNOWN_FICHE};

async fn pro_posts(server: &TestServer, path: &str, body: Value) -> Answer {
    answer(server.by_pro(Method::POST, path).json(&body)).await
}

#[tokio::test]
async fn each_time_has_its_instant_beside_it_and_the_group_names_its_zone() {
    let server = TestServer::start().await;
    assert_eq!(server.get("/groups/4").await.is(200)["timezone_iana"], "Europe/Paris");
    let appointment = json!({"calendar_id": CALENDAR, "start": "2025-06-02 14:00:00",
        "end": "2025-06-02 14:45:00", "intervention_id": CUT, "fiche_id": KNOWN_FICHE});
    let made = pro_posts(&server, "/groups/4/vevents", appointment).await.is(201);
    assert_eq!(made["start_utc"], "2025-06-02T12:00:00Z");
    assert_eq!(made["end_utc"], "2025-06-02T12:45:00Z");
    assert_eq!(made["created_at_utc"], "2025-06-02T06:00:00Z");
    assert_eq!(made["repeat_until_utc"], Value::Null);
    let shown = server.pro_get(&format!("/groups/4/appointments/{}", made["id"])).await.is(200);
    assert_eq!(shown["start_utc"], "2025-06-02T12:00:00Z");
    // What was shown may be sent back, and changes nothing.
    let path = format!("/groups/4/vevents/{}", made["id"]);
    let same = answer(server.by_pro(Method::PUT, &path).json(&json!({ "vevent": made }))).await;
    assert_eq!(same.is(200)["start"], made["start"]);
}

#[tokio::test]
async fn an_instant_is_accepted_where_one_is_meant() {
    let server = TestServer::start().await;
    let plage = json!({"calendar_id": CALENDAR, "start": "2025-06-02T13:00:00Z",
        "end": "2025-06-02T14:30:00+02:00", "text": "meeting"});
    pro_posts(&server, "/groups/4/vevents", plage.clone()).await.refused(400, 2, Some("end"));
    let mut plage = plage;
    plage["end"] = json!("2025-06-02T16:30:00.000+02:00");
    let made = pro_posts(&server, "/groups/4/vevents", plage).await.is(201);
    assert_eq!(
        (&made["start"], &made["end"]),
        (&json!("2025-06-02 15:00:00"), &json!("2025-06-02 16:30:00"))
    );
    let path = format!("/groups/4/vevents/{}", made["id"]);
    let moved = json!({"vevent": {"start": "2025-06-03T05:00:00-04:00"}});
    let moved = answer(server.by_pro(Method::PUT, &path).json(&moved)).await.is(200);
    assert_eq!(moved["start"], "2025-06-03 11:00:00", "a series keeps the wall clock");
    let booking = json!({"appointment": {"date": "2025-06-02T07:30:00Z", "intervention_ids": [CUT],
        "calendar_id": CALENDAR, "fiche": {"lastname": "Durand", "email": "d@example.org"}}});
    let booked = answer(server.by_key(Method::POST, "/groups/4/appointments").json(&booking)).await;
    assert_eq!(booked.is(201)["records"][0]["start"], "2025-06-02 09:30:00");
    let since = "/groups/4/vevents?conditions[0][field]=start&conditions[0][op]=%3E%3D\
        &conditions[0][value]=2025-06-03T09:00:00Z";
    assert_eq!(server.pro_get(since).await.is(200)["totalRecords"], 1);
}

#[tokio::test]
async fn a_time_without_an_offset_is_the_groups_and_queries_drop_fractions() {
    let server = TestServer::start().await;
    let booking = json!({"appointment": {"date": "2025-06-02T09:30:00", "intervention_ids": [CUT],
        "calendar_id": CALENDAR, "fiche": {"lastname": "Durand", "email": "d@example.org"}}});
    let booked = answer(server.by_key(Method::POST, "/groups/4/appointments").json(&booking)).await;
    assert_eq!(booked.is(201)["records"][0]["start_utc"], "2025-06-02T07:30:00Z");
    let search = "/groups/4/availabletimeslots?intervention_ids[]=21&nDays=1&start=";
    for start in ["2025-06-02T11:00:00", "2025-06-02T11:00:00.25", "2025-06-02T09:00:00.999Z"] {
        let found = server.get(&format!("{search}{start}")).await.is(200);
        assert_eq!(found["firstSlot"], "2025-06-02 11:00:00", "{start}");
    }
    let since = |value: &str| {
        format!(
            "/groups/4/appointments?conditions[0][field]=start&conditions[0][op]=%3E%3D\
             &conditions[0][value]={value}"
        )
    };
    for (start, count) in [
        ("2025-06-02T09:30:00.75", 1),
        ("2025-06-02T09:30:00.75+02:00", 1),
        ("2025-06-02T07:30:01Z", 0),
    ] {
        assert_eq!(server.pro_get(&since(start)).await.is(200)["totalRecords"], count, "{start}");
    }
    let refused = server.pro_get(&since("tomorrow")).await;
    assert!(refused.text.contains("RFC 3339"), "{}", refused.text);
    refused.refused(400, 2, Some("conditions[0][value]"));
}

#[tokio::test]
async fn a_date_of_birth_has_no_offset() {
    let server = TestServer::start().await;
    for birthdate in ["1990-01-01T00:00:00Z", "1990-01-01T00:00:00+01:00"] {
        let fiche = json!({"fiche": {"lastname": "Durand", "birthdate": birthdate}});
        pro_posts(&server, "/groups/4/fiches", fiche).await.refused(400, 2, Some("birthdate"));
    }
}

#[tokio::test]
async fn slots_show_instants_only_if_asked() {
    let server = TestServer::start().await;
    let path = "/groups/4/availabletimeslots?intervention_ids[]=21&nDays=1";
    let plain = server.get(path).await.is(200);
    for name in ["start_utc", "end", "end_utc"] {
        assert_eq!(plain["availabletimeslots"][0].get(name), None, "{name}");
    }
    let exact = server.get(&format!("{path}&instants=1")).await.is(200);
    assert_eq!(exact["firstSlot_utc"], "2025-06-02T07:00:00Z");
    let slots = exact["availabletimeslots"].as_array().expect("a list");
    assert_eq!(slots[10]["start"], "2025-06-02 11:30:00");
    assert_eq!(slots[10]["start_utc"], "2025-06-02T09:30:00Z");
    assert_eq!(slots[10]["end"], "2025-06-02 12:00:00");
    assert_eq!(slots[10]["end_utc"], "2025-06-02T10:00:00Z");
    assert_eq!(slots[10]["calendar_ids"], plain["availabletimeslots"][10]["calendar_ids"]);
    let from = server.get(&format!("{path}&start=2025-06-02T11:00:00+02:00")).await.is(200);
    assert_eq!(from["firstSlot"], "2025-06-02 11:00:00", "a plus sign may be unescaped");
}
