//! The feed of the changes of a group. Reference 18.

use reqwest::Method;
use serde_json::{Value, json};

use crate::server::{TestServer, answer};
use crate::shop::{
    ANN, CALENDAR, CUT, EVE, KNOWN_FICHE, OTHER_CALENDAR, OWN_FICHE, PAUL, PIA, RITA,
};

const PATH: &str = "/groups/4/changes";

async fn page(server: &TestServer, person: (&str, &str), query: &str) -> Value {
    answer(server.by(person, Method::GET, &format!("{PATH}?{query}"))).await.is(200)
}

/// The cursor of this moment.
async fn now(server: &TestServer) -> String {
    let page = page(server, ANN, "since=now").await;
    assert_eq!(page["changes"], json!([]));
    page["next"].as_str().expect("a cursor").to_owned()
}

fn changes(page: &Value) -> &[Value] {
    page["changes"].as_array().expect("a list")
}

/// Object, verb and presence of each change.
fn acts(page: &Value) -> Vec<Value> {
    let act = |it: &Value| json!([it["object"], it["verb"], it["deleted"], it["record"].is_null()]);
    changes(page).iter().map(act).collect()
}

async fn book(server: &TestServer, calendar: u64, hour: u32, fiche: u64) -> u64 {
    let body = json!({"appointment": {"calendar_id": calendar, "intervention_ids": [CUT],
        "fiche": {"id": fiche}, "date": format!("2025-06-03 {hour:02}:00:00")}});
    let made = answer(server.by_pro(Method::POST, "/groups/4/appointments").json(&body)).await;
    made.is(201)["records"][0]["id"].as_u64().expect("an id")
}

async fn change(server: &TestServer, path: &str, body: Value) -> Value {
    answer(server.by_pro(Method::PUT, path).json(&body)).await.is(200)
}

#[tokio::test]
async fn each_change_comes_once_in_order_with_the_object_as_it_is_now() {
    let server = TestServer::start().await;
    let begin = now(&server).await;
    let id = book(&server, CALENDAR, 9, KNOWN_FICHE).await;
    let path = format!("/groups/4/vevents/{id}");
    change(&server, &path, json!({"vevent": {"comments": "By the window"}})).await;
    let body = json!({"fiche": {"firstphone": "0100000041"}});
    change(&server, &format!("/groups/4/fiches/{KNOWN_FICHE}"), body).await;
    change(&server, "/groups/4", json!({"group": {"phone": "0100000004"}})).await;
    let shown = answer(server.by_pro(Method::GET, &path)).await.is(200);
    let all = page(&server, ANN, &format!("since={begin}")).await;
    let vevent = format!("vevent:{id}");
    let fiche = format!("fiche:{KNOWN_FICHE}");
    let expected = [
        json!([vevent, "made", false, false]),
        json!([vevent, "changed", false, false]),
        json!([fiche, "changed", false, false]),
        json!(["group:4", "changed", false, false]),
    ];
    assert_eq!(acts(&all), expected);
    assert!(changes(&all).iter().all(|it| it["author"] == "professional:1"));
    assert_eq!(changes(&all)[0]["record"]["comments"], "By the window", "as it is now");
    assert_eq!(changes(&all)[0]["record"]["revision"], shown["revision"]);
    assert_eq!(changes(&all)[2]["record"]["firstphone"], "0100000041");
    assert_eq!(changes(&all)[3]["record"]["phone"], "0100000004");
    assert_eq!((&all["more"], &all["next"]), (&json!(false), &changes(&all)[3]["cursor"]));
    // A cancelled appointment is still there, marked as deleted.
    answer(server.by_pro(Method::DELETE, &path)).await.is(200);
    let next = all["next"].as_str().expect("a cursor");
    let cancelled = page(&server, ANN, &format!("since={next}")).await;
    assert_eq!(acts(&cancelled), [json!([vevent, "deleted", true, false])]);
    assert_eq!(changes(&cancelled)[0]["record"]["deleted"], true);
}

#[tokio::test]
async fn pages_of_any_length_one_after_the_other_are_the_whole_feed() {
    let server = TestServer::start().await;
    for hour in 9..12 {
        let id = book(&server, CALENDAR, hour, KNOWN_FICHE).await;
        answer(server.by_pro(Method::DELETE, &format!("/groups/4/vevents/{id}"))).await.is(200);
    }
    let whole = page(&server, ANN, "").await;
    assert!(changes(&whole).len() >= 6, "{whole}");
    for limit in [1, 2, 5] {
        let mut found = Vec::new();
        let mut since = String::new();
        loop {
            let next = page(&server, ANN, &format!("{since}limit={limit}")).await;
            assert!(changes(&next).len() <= limit);
            found.extend(changes(&next).iter().cloned());
            since = format!("since={}&", next["next"].as_str().expect("a cursor"));
            if next["more"] == false {
                break;
            }
        }
        assert_eq!(json!(found), whole["changes"], "limit {limit}");
    }
}

#[tokio::test]
async fn reads_and_messages_are_no_changes() {
    let server = TestServer::with_team(|_| {}).await;
    book(&server, CALENDAR, 9, OWN_FICHE).await;
    let begin = now(&server).await;
    answer(server.by(RITA, Method::GET, &format!("/groups/4/fiches/{OWN_FICHE}"))).await.is(200);
    // The read is in the history within a second or so, and in no feed.
    let history = format!("/groups/4/history?object=fiche:{OWN_FICHE}");
    loop {
        let rows = answer(server.by_pro(Method::GET, &history)).await.is(200);
        if rows["rows"].as_array().expect("a list").iter().any(|row| row["verb"] == "read") {
            break;
        }
        tokio::task::yield_now().await;
    }
    let page = page(&server, ANN, &format!("since={begin}")).await;
    assert_eq!(page["changes"], json!([]));
    // The place moves on all the same.
    assert_ne!(page["next"], json!(begin));
}

#[tokio::test]
async fn a_professional_who_reads_its_own_calendars_gets_no_other_event() {
    let server = TestServer::with_team(|_| {}).await;
    let begin = now(&server).await;
    let own = book(&server, CALENDAR, 9, OWN_FICHE).await;
    let theirs = book(&server, OTHER_CALENDAR, 10, KNOWN_FICHE).await;
    let query = format!("since={begin}");
    let made = |id: u64| json!([format!("vevent:{id}"), "made", false, false]);
    assert_eq!(acts(&page(&server, PAUL, &query).await), [made(own)]);
    for person in [PIA, RITA, ANN] {
        assert_eq!(acts(&page(&server, person, &query).await), [made(own), made(theirs)]);
    }
    // What leaves its calendars is gone; what enters them is there.
    let before = now(&server).await;
    let move_to = |calendar: u64| json!({"vevent": {"calendar_id": calendar}});
    change(&server, &format!("/groups/4/vevents/{own}"), move_to(OTHER_CALENDAR)).await;
    change(&server, &format!("/groups/4/vevents/{theirs}"), move_to(CALENDAR)).await;
    let moved = page(&server, PAUL, &format!("since={before}")).await;
    let gone = json!([format!("vevent:{own}"), "changed", true, true]);
    let entered = json!([format!("vevent:{theirs}"), "changed", false, false]);
    assert_eq!(acts(&moved), [gone, entered]);
    // A later change of what has left says nothing.
    let after = now(&server).await;
    let body = json!({"vevent": {"comments": "Not for Paul"}});
    change(&server, &format!("/groups/4/vevents/{own}"), body).await;
    let rest = page(&server, PAUL, &format!("since={after}")).await;
    assert_eq!(rest["changes"], json!([]));
    assert_eq!(changes(&page(&server, PIA, &format!("since={after}")).await).len(), 1);
}

#[tokio::test]
async fn a_wrong_cursor_is_refused_by_its_field_and_a_foreign_one_is_gone() {
    let server = TestServer::start().await;
    book(&server, CALENDAR, 9, KNOWN_FICHE).await;
    let next = now(&server).await;
    for query in ["since=yesterday", "since=1-2-3", "since=0", "since=1-1-0000000G"] {
        server.pro_get(&format!("{PATH}?{query}")).await.refused(400, 2, Some("since"));
    }
    for query in ["limit=0", "limit=1001", "limit=many"] {
        server.pro_get(&format!("{PATH}?{query}")).await.refused(400, 2, Some("limit"));
    }
    let (place, bits) = next.rsplit_once('-').expect("a cursor");
    let other = if bits == "0badf00d" { "0badf00e" } else { "0badf00d" };
    let (sequence, number) = place.split_once('-').expect("a cursor");
    let later = number.parse::<u64>().expect("a number") + 1;
    for gone in [
        format!("{place}-{other}"),
        format!("{sequence}-{later}-{bits}"),
        format!("9{sequence}-{number}-{bits}"),
        "9-0-00000000".to_owned(),
    ] {
        server.pro_get(&format!("{PATH}?since={gone}")).await.refused(410, 2, None);
    }
    server.pro_get(&format!("{PATH}?since={next}")).await.is(200);
}

#[tokio::test]
async fn another_time_zone_gives_every_copy_up() {
    let server = TestServer::start().await;
    let before = now(&server).await;
    change(&server, "/groups/4", json!({"group": {"timezone": "London"}})).await;
    server.pro_get(&format!("{PATH}?since={before}")).await.refused(410, 2, None);
    let next = now(&server).await;
    book(&server, CALENDAR, 9, KNOWN_FICHE).await;
    assert_eq!(changes(&page(&server, ANN, &format!("since={next}")).await).len(), 1);
}

#[tokio::test]
async fn only_professionals_of_the_group_read_its_feed() {
    let server = TestServer::start().await;
    server.get(PATH).await.refused(403, 1, None);
    answer(server.by(EVE, Method::GET, PATH)).await.refused(404, 3, None);
}
