//! What the group offers, as professionals change it and applications see it.

use reqwest::Method;
use serde_json::{Value, json};

use crate::server::{Answer, TestServer, answer};
use crate::shop::{CALENDAR, COLOUR, CUT, OTHER_CALENDAR, clock};

async fn post(server: &TestServer, section: &str, body: Value) -> Answer {
    answer(server.by_pro(Method::POST, &format!("/groups/4/{section}")).json(&body)).await
}

async fn put(server: &TestServer, section: &str, id: &Value, body: Value) -> Answer {
    answer(server.by_pro(Method::PUT, &format!("/groups/4/{section}/{id}")).json(&body)).await
}

async fn delete(server: &TestServer, section: &str, id: &Value) -> Answer {
    answer(server.by_pro(Method::DELETE, &format!("/groups/4/{section}/{id}"))).await
}

fn ids(list: &Value) -> Vec<u64> {
    list["records"]
        .as_array()
        .expect("records")
        .iter()
        .map(|record| record["id"].as_u64().expect("an id"))
        .collect()
}

#[tokio::test]
async fn a_new_calendar_is_opened_and_booked() {
    let server = TestServer::start().await;
    let made = post(
        &server,
        "calendars",
        json!({"calendar": {"name": "third", "publicname": "Cy", "sort": ""}}),
    )
    .await;
    let made = made.is(201);
    assert_eq!(
        (&made["sort"], &made["generate_interval"], &made["group_id"]),
        (&json!(1), &json!(15), &json!(4))
    );
    assert!(made["id"].as_u64().is_some_and(|id| id >= 1_024), "a block of the group's own");
    let next = post(&server, "calendars", json!({"calendar": {"name": "fourth"}})).await.is(201);
    assert_eq!(
        (&next["sort"], next["id"].as_u64()),
        (&json!(2), made["id"].as_u64().map(|id| id + 1))
    );
    let open = json!({"vevent": {"calendar_id": made["id"], "start": "2025-06-02 20:00:00", "end": "2025-06-02 21:00:00",
        "type": "VfreebusyEvent"}});
    post(&server, "vevents", open).await.is(201);
    let path =
        format!("/groups/4/availabletimeslots?intervention_ids=21&calendar_id={}", made["id"]);
    assert_eq!(server.get(&path).await.is(200)["firstSlot"], "2025-06-02 20:00:00");
    let booking = json!({"appointment": {"date": "2025-06-02 20:00:00", "intervention_ids": [CUT],
        "calendar_id": made["id"], "fiche": {"lastname": "Durand"}}});
    let booked =
        answer(server.by_key(Method::POST, "/groups/4/appointments").json(&booking)).await.is(201);
    assert_eq!(booked["records"][0]["calendar_id"], made["id"]);
    post(&server, "calendars", json!({"calendar": {"calendarset_id": 99, "sort": "x"}}))
        .await
        .errors();
    post(&server, "calendars", json!({"calendar": {"publicname": "x"}})).await.refused(
        400,
        2,
        Some("name"),
    );
    let by_key = server
        .by_key(Method::POST, "/groups/4/calendars")
        .json(&json!({"calendar": {"name": "x"}}));
    answer(by_key).await.refused(403, 1, None);
}

#[tokio::test]
async fn a_deleted_calendar_is_hidden_keeps_its_events_and_comes_back() {
    let server = TestServer::start().await;
    let id = json!(CALENDAR);
    server.at(clock(8, 30));
    let deleted = delete(&server, "calendars", &id).await.is(200);
    assert_eq!(
        (&deleted["deleted"], &deleted["updated_at"]),
        (&json!(true), &json!("2025-06-02 08:30:00"))
    );
    server.at(clock(8, 45));
    assert_eq!(delete(&server, "calendars", &id).await.is(200), deleted, "again: unchanged");
    server.get(&format!("/groups/4/calendars/{CALENDAR}")).await.refused(404, 3, None);
    assert_eq!(server.pro_get(&format!("/groups/4/calendars/{CALENDAR}")).await.is(200), deleted);
    assert_eq!(server.pro_get("/groups/4/vevents?calendar_id=11").await.is(200)["totalRecords"], 1);
    put(&server, "calendars", &id, json!({"calendar": {"deleted": false}})).await.is(200);
    assert_eq!(ids(&server.get("/groups/4/calendars").await.is(200)), [CALENDAR, OTHER_CALENDAR]);
    let refused = put(&server, "calendars", &id, json!({"calendar": {"calendarset_id": 99}})).await;
    refused.refused(400, 2, Some("calendarset_id"));
    put(&server, "calendars", &json!(99), json!({"calendar": {"name": "x"}}))
        .await
        .refused(404, 3, None);
    put(&server, "calendars", &id, json!({"calendar": {"name": ""}})).await.refused(
        400,
        2,
        Some("name"),
    );
}

#[tokio::test]
async fn a_set_that_is_deleted_is_no_more_and_its_members_go_on() {
    let server = TestServer::start().await;
    let gone = delete(&server, "calendarsets", &json!(31)).await.is(200);
    assert_eq!((&gone["id"], &gone["name"]), (&json!(31), &json!("Hair")));
    delete(&server, "calendarsets", &json!(31)).await.refused(404, 3, None);
    let member = server.pro_get(&format!("/groups/4/calendars/{CALENDAR}")).await.is(200);
    assert_eq!(member["calendarset_id"], Value::Null);
    for (publicname, still_shown) in [("Care", true), ("", false)] {
        let set = json!({"interventionset": {"name": "care", "publicname": publicname}});
        let set = post(&server, "interventionsets", set).await.is(201);
        let member =
            json!({"intervention": {"interventionset_id": set["id"], "publicname": "shown name"}});
        put(&server, "interventions", &json!(CUT), member).await.is(200);
        let path = format!("/groups/4/interventionsets/{}", set["id"]);
        assert_eq!(server.get(&path).await.status == 200, still_shown);
        delete(&server, "interventionsets", &set["id"]).await.is(200);
        let member = server.pro_get(&format!("/groups/4/interventions/{CUT}")).await.is(200);
        assert_eq!(
            (&member["interventionset_id"], member["publicname"] != ""),
            (&Value::Null, still_shown)
        );
    }
}

#[tokio::test]
async fn a_set_of_calendars_lists_what_its_calendars_offer() {
    let server = TestServer::start().await;
    let set = post(
        &server,
        "interventionsets",
        json!({"interventionset": {"name": "c", "publicname": "Care"}}),
    )
    .await;
    let set = set.is(201);
    let member = json!({"intervention": {"interventionset_id": set["id"]}});
    put(&server, "interventions", &json!(CUT), member).await.is(200);
    let only = json!({"vevent": {"availableInterventions": format!(",{CUT},")}});
    assert_eq!(
        ids(&server.get("/groups/4/calendarsets/31/interventions").await.is(200)),
        [CUT, COLOUR]
    );
    put(&server, "vevents", &json!(51), only).await.is(200);
    assert_eq!(ids(&server.get("/groups/4/calendarsets/31/interventions").await.is(200)), [CUT]);
    let sets = server.get("/groups/4/calendarsets/31/interventionsets").await.is(200);
    assert_eq!(ids(&sets), [set["id"].as_u64().expect("an id")]);
    assert_eq!(
        server.get("/groups/4/calendarsets").await.is(200)["records"][0]["publicname"],
        "Hair"
    );
    put(&server, "calendarsets", &json!(31), json!({"calendarset": {"hidden": 1}})).await.is(200);
    server.get("/groups/4/calendarsets/31").await.refused(404, 3, None);
    server.get("/groups/4/calendarsets/31/interventions").await.refused(404, 3, None);
    assert_eq!(server.pro_get("/groups/4/calendarsets").await.is(200)["totalRecords"], 1);
    server.pro_get("/groups/4/calendarsets/99/interventionsets").await.refused(404, 3, None);
}

#[tokio::test]
async fn an_attribute_is_defined_once_and_keeps_its_name() {
    let server = TestServer::start().await;
    let list = server.pro_get("/groups/4/customfields").await.is(200);
    assert_eq!((ids(&list), &list["records"][0]["name"]), (vec![61, 62, 63], &json!("str0")));
    let shown = server.get("/groups/4/customfields").await.is(200);
    for field in shown["records"].as_array().expect("records") {
        assert_eq!(field["user_visible"], true, "clients see the attributes that they fill");
        assert!(field.get("pro_label").is_none() && field["user_label"].is_string(), "{field}");
    }
    let hidden = ids(&list).into_iter().find(|id| !ids(&shown).contains(id)).expect("one");
    server.get(&format!("/groups/4/customfields/{hidden}")).await.refused(404, 3, None);
    let definition =
        json!({"customfield": {"model": "Fiche", "name": "str0", "pro_label": "Hair"}});
    post(&server, "customfields", definition.clone()).await.refused(400, 2, Some("name"));
    assert_eq!(delete(&server, "customfields", &json!(61)).await.is(200)["deleted"], true);
    assert_eq!(ids(&server.pro_get("/groups/4/customfields").await.is(200)), [62, 63]);
    let named = "conditions[0][field]=deleted&conditions[0][op]=in&conditions[0][value]=0,1";
    let all = server.pro_get(&format!("/groups/4/customfields?{named}")).await.is(200);
    assert_eq!(ids(&all), [61, 62, 63], "a condition names what is left out else");
    post(&server, "customfields", definition).await.is(201);
    let restore = json!({"customfield": {"deleted": 0}});
    put(&server, "customfields", &json!(61), restore).await.refused(400, 2, Some("name"));
    let renamed = json!({"customfield": {"name": "str5", "model": "Vevent"}});
    assert_eq!(put(&server, "customfields", &json!(62), renamed).await.errors().len(), 2);
    post(&server, "customfields", json!({"customfield": {"pro_label": "x"}})).await.errors();
}

#[tokio::test]
async fn the_group_changes_and_another_timezone_keeps_wall_clocks() {
    let server = TestServer::start().await;
    let change = async |group: Value| {
        answer(server.by_pro(Method::PUT, "/groups/4").json(&json!({ "group": group }))).await
    };
    let appointment = |start: &str, end: &str| json!({"vevent": {"calendar_id": CALENDAR, "start": start, "end": end, "intervention_id": CUT, "fiche_id": 41}});
    let made = post(&server, "vevents", appointment("2025-06-02 10:00:00", "2025-06-02 11:00:00"))
        .await
        .is(201);
    let changed =
        change(json!({"name": "Cut", "urlname": "x", "timezone": "Lima", "max_multirdvs": 2}))
            .await
            .is(200);
    assert_eq!(
        (&changed["name"], &changed["urlname"], &changed["timezone"]),
        (&json!("Cut"), &json!("cut-co"), &json!("Lima"))
    );
    let path = format!("/groups/4/vevents/{}", made["id"]);
    assert_eq!(server.pro_get(&path).await.is(200)["start"], "2025-06-02 10:00:00");
    post(&server, "vevents", appointment("2025-06-02 10:30:00", "2025-06-02 12:00:00"))
        .await
        .refused(400, 14, Some("start"));
    let path = format!(
        "/groups/4/availabletimeslots?intervention_ids=21&calendar_id={CALENDAR}&start=2025-06-02&nDays=1"
    );
    let slots = server.get(&path).await.is(200);
    assert_eq!(slots["firstSlot"], "2025-06-02 09:00:00", "open at nine by the other clock");
    // Paris leaves out the hour after two that night; Lima does not.
    post(&server, "vevents", appointment("2025-03-30 01:30:00", "2025-03-30 02:00:00"))
        .await
        .is(201);
    post(&server, "vevents", appointment("2025-03-30 02:15:00", "2025-03-30 02:45:00"))
        .await
        .is(201);
    post(&server, "vevents", appointment("2025-03-30 03:00:00", "2025-03-30 04:00:00"))
        .await
        .is(201);
    change(json!({"timezone": "Paris"})).await.refused(400, 14, Some("timezone"));
    change(json!({"timezone": "Nowhere", "name": ""})).await.errors();
    let by_key = server.by_key(Method::PUT, "/groups/4").json(&json!({"group": {"name": "x"}}));
    answer(by_key).await.refused(403, 1, None);
}

#[tokio::test]
async fn another_timezone_keeps_the_clock_of_until_and_leaves_no_event_that_cannot_be_changed() {
    let server = TestServer::start().await;
    let change = async |zone: &str| {
        answer(server.by_pro(Method::PUT, "/groups/4").json(&json!({"group": {"timezone": zone}})))
            .await
    };
    let plage = |start: &str, end: &str, rrule: &str| json!({"vevent": {"calendar_id": CALENDAR, "start": start, "end": end, "rrule": rrule}});
    change("London").await.is(200);
    let daily =
        plage("2027-01-11 10:00:00", "2027-01-11 11:00:00", "FREQ=DAILY;UNTIL=20270115T100000Z");
    let daily = post(&server, "vevents", daily).await.is(201)["id"].clone();
    let once =
        plage("2027-01-11 18:00:00", "2027-01-11 19:00:00", "FREQ=WEEKLY;UNTIL=20270111T180001Z");
    let once = post(&server, "vevents", once).await.is(201)["id"].clone();
    let gap = plage("2027-03-28 02:30:00", "2027-03-28 03:15:00", "");
    let gap = post(&server, "vevents", gap).await.is(201)["id"].clone();
    for (zone, until) in
        [("Eastern Time (US & Canada)", "20270115T150000Z"), ("Paris", "20270115T090000Z")]
    {
        change(zone).await.is(200);
        let shown = server.pro_get(&format!("/groups/4/vevents/{daily}")).await.is(200);
        assert_eq!(shown["repeat_until"], "2027-01-15 10:00:00", "{zone}");
        assert_eq!(shown["rrule"], format!("FREQ=DAILY;UNTIL={until}"), "{zone}");
        for id in [&daily, &once, &gap] {
            let told = json!({"vevent": {"text": zone, "deleted": zone == "Paris"}});
            assert_eq!(put(&server, "vevents", id, told).await.is(200)["text"], zone);
        }
    }
    // What is given anew is held against the clocks that hold now.
    let longer = |end: &str| json!({"vevent": {"end": end}});
    put(&server, "vevents", &gap, longer("2027-03-28 03:20:00")).await.refused(400, 2, Some("end"));
    put(&server, "vevents", &gap, longer("2027-03-28 03:45:00")).await.is(200);
    // Two appointments that the hour left out pushes onto one another are both named.
    change("UTC").await.is(200);
    let appointment = |start: &str, end: &str| json!({"vevent": {"calendar_id": CALENDAR, "start": start, "end": end, "intervention_id": CUT, "fiche_id": 41}});
    let first = post(&server, "vevents", appointment("2027-03-28 02:15:00", "2027-03-28 02:45:00"))
        .await
        .is(201);
    let second =
        post(&server, "vevents", appointment("2027-03-28 03:00:00", "2027-03-28 04:00:00"))
            .await
            .is(201);
    let refused = change("Paris").await;
    refused.refused(400, 14, Some("timezone"));
    let named = format!("appointments {} and {} would overlap", first["id"], second["id"]);
    assert!(refused.text.contains(&named), "{}", refused.text);
    let early = plage("1970-01-01 00:00:00", "1970-01-01 01:00:00", "");
    let early = post(&server, "vevents", early).await.is(201)["id"].clone();
    let refused = change("Tokyo").await;
    refused.refused(400, 2, Some("timezone"));
    assert!(
        refused.text.contains(&format!("event {early} would leave the years 1970 to 9999")),
        "{}",
        refused.text
    );
}

#[tokio::test]
async fn a_category_of_calendars_is_found_under_the_name_that_the_caller_is_shown() {
    let server = TestServer::start().await;
    for set in [json!({"name": "Alpha", "publicname": "Zulu"}), json!({"name": "Mike"})] {
        post(&server, "calendarsets", json!({ "calendarset": set })).await.is(201);
    }
    let shown = async |query: &str, by_pro: bool| {
        let path = format!("/groups/4/calendarsets?{query}");
        let list =
            if by_pro { server.pro_get(&path).await } else { server.get(&path).await }.is(200);
        let name = |record: &Value| record["publicname"].as_str().expect("a text").to_owned();
        list["records"].as_array().expect("records").iter().map(name).collect::<Vec<_>>()
    };
    assert_eq!(shown("sort=publicname&dir=desc", false).await, ["Zulu", "Mike", "Hair"]);
    assert_eq!(shown("sort=publicname&dir=desc", true).await, ["Zulu", "", ""]);
    assert_eq!(shown("search=mik", false).await, ["Mike"]);
    assert_eq!(shown("search=alp", false).await, [""; 0], "a name that is not shown");
    let condition = "conditions[0][field]=publicname&conditions[0]";
    assert_eq!(
        shown(&format!("{condition}[op]=%3D&conditions[0][value]=Hair"), false).await,
        ["Hair"]
    );
    assert_eq!(shown(&format!("{condition}[op]=%3D&conditions[0][value]="), false).await, [""; 0]);
    assert_eq!(shown(&format!("{condition}[op]=%3D&conditions[0][value]="), true).await, ["", ""]);
    assert_eq!(
        shown(&format!("{condition}[op]=like&conditions[0][value]=%25i%25"), false).await,
        ["Hair", "Mike"]
    );
}

#[tokio::test]
async fn a_list_that_has_not_changed_is_answered_in_a_few_bytes() {
    let server = TestServer::start().await;
    let ask = |path: &str, known: Option<String>| {
        let request = server.by_key(Method::GET, path);
        answer(match known {
            Some(known) => request.header("If-None-Match", known),
            None => request,
        })
    };
    for path in ["/groups/4/calendars", "/groups/4/interventions?results=all", "/openapi"] {
        let first = ask(path, None).await;
        first.is(200);
        assert_eq!(first.headers["cache-control"], "private, no-cache", "{path}");
        let tag = first.headers["etag"].to_str().expect("a tag").to_owned();
        let again = ask(path, Some(tag.clone())).await;
        assert_eq!((again.status.as_u16(), again.text.as_str()), (304, ""), "{path}");
        assert_eq!(again.headers["etag"], tag.as_str(), "{path}");
        assert_eq!(ask(path, Some("\"other\"".to_owned())).await.text, first.text);
    }
    let before = ask("/groups/4/calendars", None).await.headers["etag"].clone();
    let changed = json!({"calendar": {"publicname": "Anne"}});
    put(&server, "calendars", &json!(CALENDAR), changed).await.is(200);
    let known = before.to_str().expect("a tag").to_owned();
    assert_eq!(ask("/groups/4/calendars", Some(known)).await.status, 200, "it has changed");
    let slots = ask(&format!("/groups/4/availabletimeslots?intervention_ids[]={CUT}"), None).await;
    assert!(!slots.headers.contains_key("etag"), "free time changes always");
}
