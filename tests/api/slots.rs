//! availabletimeslots: parameters, shapes, rights.

use serde_json::{Value, json};

use crate::server::TestServer;
use crate::shop::{CALENDAR, COLOUR, CUT, HIDDEN_CALENDAR, OTHER_CALENDAR, clock};

fn starts(answer: &Value) -> Vec<&str> {
    let slots = answer["availabletimeslots"].as_array().expect("a list");
    slots.iter().map(|slot| slot["start"].as_str().expect("a time")).collect()
}

#[tokio::test]
async fn a_start_is_listed_once_with_every_calendar_free_then() {
    let server = TestServer::start().await;
    let answer =
        server.get("/groups/4/availabletimeslots?intervention_ids[]=21&nDays=1").await.is(200);
    assert_eq!(answer["group_id"], 4);
    assert_eq!(answer["firstSlot"], "2025-06-02 09:00:00");
    assert_eq!(answer["intervention_ids"], json!([CUT]));
    assert_eq!((&answer["calendar_id"], &answer["calendar_ids"]), (&Value::Null, &json!([])));
    let slots = answer["availabletimeslots"].as_array().unwrap();
    assert_eq!(slots.len(), 11, "every quarter from 9:00 to 11:30");
    let ids = [CALENDAR, OTHER_CALENDAR];
    assert_eq!(
        slots[10],
        json!({"start": "2025-06-02 11:30:00", "capacity": 2, "calendar_ids": ids})
    );
}

#[tokio::test]
async fn days_are_local_days_and_a_week_is_searched_by_default() {
    let server = TestServer::start().await;
    server.at(clock(11, 0));
    let search = async |query: &str| {
        let path = format!("/groups/4/availabletimeslots?intervention_ids=21{query}");
        server.get(&path).await.is(200)
    };
    assert_eq!(
        starts(&search("&nDays=1").await),
        ["2025-06-02 11:00:00", "2025-06-02 11:15:00", "2025-06-02 11:30:00"]
    );
    let week = search("").await;
    assert_eq!(starts(&week).last(), Some(&"2025-06-08 11:30:00"));
    let from_to = search("&start=2025-06-03%2009:00:00&end=2025-06-03+09:30:00").await;
    assert_eq!(starts(&from_to), ["2025-06-03 09:00:00", "2025-06-03 09:15:00"]);
    let day = search("&start=2025-06-04&nDays=1").await;
    assert_eq!(starts(&day).first(), Some(&"2025-06-04 09:00:00"));
    assert_eq!(
        starts(&search("&start=2025-06-04&nDays=366").await).len(),
        90 * 11,
        "91.25 days of lead time"
    );
}

#[tokio::test]
async fn by_day_a_search_lists_the_first_start_and_the_number_of_each_day() {
    let server = TestServer::start().await;
    server.at(clock(11, 0));
    let path = "/groups/4/availabletimeslots?intervention_ids=21";
    let answer = server.get(&format!("{path}&nDays=2&by=day")).await.is(200);
    let ids = [CALENDAR, OTHER_CALENDAR];
    assert_eq!(
        answer["availabletimeslots"],
        json!([
            {"start": "2025-06-02 11:00:00", "capacity": 2, "calendar_ids": ids, "count": 3},
            {"start": "2025-06-03 09:00:00", "capacity": 2, "calendar_ids": ids, "count": 11},
        ])
    );
    assert_eq!(answer["firstSlot"], "2025-06-02 11:00:00");
    let two = server.get(&format!("{path}&nDays=366&cal_qty=2&by=day&instants=1")).await.is(200);
    let days = two["availabletimeslots"].as_array().expect("a list");
    assert_eq!(days.len(), 92, "91.25 days of lead time");
    assert_eq!(days[1]["start_utc"], "2025-06-03T07:00:00Z");
    let all = server.get(&format!("{path}&nDays=366")).await.is(200);
    let counted: u64 = days.iter().map(|day| day["count"].as_u64().expect("a number")).sum();
    assert_eq!(counted, u64::try_from(starts(&all).len()).expect("small"));
    let none = server.get(&format!("{path}&calendar_id=13&by=day")).await.is(200);
    assert_eq!((&none["firstSlot"], &none["availabletimeslots"]), (&Value::Null, &json!([])));
    for wrong in ["by=week", "by=day&first=1"] {
        server.get(&format!("{path}&{wrong}")).await.refused(400, 2, Some("by"));
    }
}

#[tokio::test]
async fn calendars_are_chosen_by_id_and_by_set_and_by_how_many_must_be_free() {
    let server = TestServer::start().await;
    let found = async |query: &str| {
        let path = format!("/groups/4/availabletimeslots?intervention_ids%5B%5D=21&nDays=1{query}");
        let answer = server.get(&path).await.is(200);
        answer["availabletimeslots"]
            .as_array()
            .unwrap()
            .first()
            .map(|slot| slot["calendar_ids"].clone())
    };
    assert_eq!(found("&calendar_id=12").await, Some(json!([OTHER_CALENDAR])));
    assert_eq!(found("&calendar_id=0").await, Some(json!([CALENDAR, OTHER_CALENDAR])));
    assert_eq!(found("&calendar_id=").await, Some(json!([CALENDAR, OTHER_CALENDAR])));
    assert_eq!(
        found("&calendar_ids[]=11&calendar_ids[]=12").await,
        Some(json!([CALENDAR, OTHER_CALENDAR]))
    );
    assert_eq!(found("&calendarset_ids[]=31").await, Some(json!([CALENDAR])));
    assert_eq!(found("&cal_qty=2").await, Some(json!([CALENDAR, OTHER_CALENDAR])));
    assert_eq!(found("&cal_qty=3").await, None);
    assert_eq!(found("&min_capacity=2&calendar_id=12").await, None);
    assert_eq!(found("&calendar_id=13").await, None, "a hidden calendar offers nothing");
}

#[tokio::test]
async fn the_first_slot_is_found_beyond_a_week() {
    let server = TestServer::with(|catalogue| {
        catalogue.group.max_multirdvs = slotbook::domain::records::text::Bounded::known(2)
    })
    .await;
    let path = "/groups/4/availabletimeslots?intervention_ids[]=21&intervention_ids[]=22&first=1";
    let answer = server.get(&format!("{path}&start=2025-07-01")).await.is(200);
    assert_eq!(answer["intervention_ids"], json!([CUT, COLOUR]));
    assert_eq!(starts(&answer), ["2025-07-01 09:00:00"]);
    let none = server.get(&format!("{path}&start=2026-07-01")).await.is(200);
    assert_eq!((&none["firstSlot"], starts(&none).len()), (&Value::Null, 0));
}

#[tokio::test]
async fn wrong_parameters_are_named_all_at_once() {
    let server = TestServer::start().await;
    let path = "/groups/4/availabletimeslots?";
    let one = async |query: &str, field: &str| {
        let query = format!("{path}intervention_ids[]=21{query}");
        server.get(&query).await.refused(400, 2, Some(field));
    };
    one("&intervention_ids[]=99", "intervention_ids").await;
    one("&intervention_ids[]=21", "intervention_ids").await;
    one("&calendar_id=99", "calendar_id").await;
    one("&calendar_ids[]=99", "calendar_ids").await;
    one("&calendarset_ids[]=99", "calendarset_ids").await;
    one("&start=tomorrow", "start").await;
    one("&start=1969-01-01", "start").await;
    one("&start=2025-06-02&end=2025-06-02", "end").await;
    one("&start=2025-06-02&end=2026-06-04", "end").await;
    one("&nDays=367", "nDays").await;
    one("&nDays=0", "nDays").await;
    one("&nDays=1&end=2025-06-04", "nDays").await;
    one("&cal_qty=x", "cal_qty").await;
    one("&first=maybe", "first").await;
    one("&from_web=maybe", "from_web").await;
    one("&explain=noon", "explain").await;
    server.get(path).await.refused(400, 2, Some("intervention_ids"));
    let several = server.get(&format!("{path}start=x&nDays=x")).await;
    let fields: Vec<_> = several.errors().into_iter().map(|(_, field)| field.unwrap()).collect();
    assert_eq!(fields, ["intervention_ids", "start", "nDays"]);
}

#[tokio::test]
async fn only_professionals_look_past_the_module() {
    let server = TestServer::start().await;
    let path = format!(
        "/groups/4/availabletimeslots?intervention_ids[]=21&calendar_id={HIDDEN_CALENDAR}&nDays=1&from_web=0"
    );
    server.get(&path).await.refused(403, 1, None);
    let answer = server.pro_get(&path).await.is(200);
    assert_eq!(starts(&answer).first(), Some(&"2025-06-02 08:00:00"));
    let closed = TestServer::with(|catalogue| catalogue.group.open_data = false).await;
    let path = "/groups/4/availabletimeslots?nonsense=1";
    closed.get(path).await.refused(403, 1, None);
    closed.pro_get(path).await.refused(400, 2, Some("intervention_ids"));
}

#[tokio::test]
async fn a_start_is_explained_calendar_by_calendar() {
    let server = TestServer::start().await;
    let path = "/groups/4/availabletimeslots?intervention_ids[]=21&explain=2025-06-02+11:40:00";
    let answer = server.get(path).await.is(200);
    assert_eq!(answer["start"], "2025-06-02 11:40:00");
    let calendars = answer["calendars"].as_array().unwrap();
    assert_eq!(calendars.len(), 2, "the hidden calendar is not mentioned");
    let rules: Vec<_> = calendars[0]["reasons"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["rule"].as_str().unwrap())
        .collect();
    assert_eq!(
        (calendars[0]["offered"].as_bool(), rules),
        (Some(false), vec!["off_grid", "outside_availability"])
    );
    assert_eq!(server.pro_get(path).await.is(200)["calendars"].as_array().unwrap().len(), 3);
    let own = "/groups/4/availabletimeslots/explanation?intervention_ids[]=21";
    let own_answer = server.get(&format!("{own}&start=2025-06-02+11:40:00")).await.is(200);
    assert_eq!(own_answer, answer, "the path of its own answers the same");
    server.get(own).await.refused(400, 2, Some("start"));
    server.get(&format!("{own}&start=noon")).await.refused(400, 2, Some("start"));
}

#[tokio::test]
async fn the_first_free_start_of_the_back_office_is_sought_beyond_all_lead_times() {
    let server = TestServer::start().await;
    // Lead times end after 91.25 days.
    let path =
        "/groups/4/availabletimeslots?intervention_ids=21&first=1&start=2026-01-05%2010:00:00";
    assert_eq!(server.pro_get(path).await.is(200)["firstSlot"], Value::Null);
    assert_eq!(
        server.pro_get(&format!("{path}&from_web=0")).await.is(200)["firstSlot"],
        "2026-01-05 10:00:00"
    );
}
