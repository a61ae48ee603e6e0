//! What a client's account sees and does.

use std::sync::Arc;

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use slotbook::domain::availability::catalogue::Catalogue;

use crate::server::{Answer, TestServer, answer};
use crate::shop::{
    CALENDAR, CLEO, CUT, HIDDEN_CALENDAR, KEY_OF_ALL, KNOWN_FICHE, OTHER_CALENDAR, OWN_FICHE, clock,
};

const FICHES: &str = "/groups/4/fiches";
const APPOINTMENTS: &str = "/groups/4/appointments";

/// A booking at a time of Monday, on the calendar of that id.
fn at(time: &str, calendar: u64, more: Value) -> Value {
    let mut booking = json!({"date": format!("2025-06-02 {time}"), "calendar_id": calendar, "intervention_ids": [CUT]});
    booking
        .as_object_mut()
        .expect("an object")
        .extend(more.as_object().expect("an object").clone());
    json!({ "appointment": booking })
}

async fn book(request: RequestBuilder, booking: Value) -> Answer {
    answer(request.json(&booking)).await
}

async fn account_books(server: &TestServer, time: &str, more: Value) -> Answer {
    book(server.by_account(Method::POST, APPOINTMENTS), at(time, CALENDAR, more)).await
}

/// Ann books for a client on the other calendar.
async fn booked_by_ann(server: &TestServer, time: &str, fiche: u64) -> Value {
    let booking = at(time, OTHER_CALENDAR, json!({"fiche": {"id": fiche}}));
    book(server.by_pro(Method::POST, APPOINTMENTS), booking).await.is(201)["records"][0].clone()
}

#[tokio::test]
async fn basic_tries_the_professional_first_then_the_account_of_the_paths_group() {
    let server = TestServer::with_account(|_| {}).await;
    server.account_get(FICHES).await.is(200);
    server.account_get("/groups/4/vevents").await.refused(403, 1, None);
    let elsewhere = format!("/api/v1/groups/5/fiches?apikey={KEY_OF_ALL}");
    let cleo = |path: &str| answer(server.bare(Method::GET, path).basic_auth(CLEO.0, Some(CLEO.1)));
    cleo(&elsewhere).await.refused(401, 5, None);
    let groups = cleo(&format!("/api/v1/groups?apikey={KEY_OF_ALL}")).await.is(200);
    assert_eq!((&groups["totalRecords"], &groups["records"][0]["id"]), (&json!(1), &json!(4)));
    for _ in 0..9 {
        let wrong = server.by_key(Method::GET, FICHES).basic_auth(CLEO.0, Some("wrong"));
        answer(wrong).await.refused(401, 5, None);
    }
    server.account_get(FICHES).await.is(200);
    server.at(clock(8, 2));
    server.account_get(FICHES).await.refused(429, 4, None);
}

#[tokio::test]
async fn an_account_sees_its_own_fiche_without_what_is_for_professionals() {
    let server = TestServer::with_account(|_| {}).await;
    let own = server.account_get(&format!("{FICHES}/{OWN_FICHE}")).await.is(200);
    assert_eq!(
        (&own["lastname"], &own["email"], &own["str0"]),
        (&json!("Client"), &json!(CLEO.0), &Value::Null)
    );
    for hidden in ["comments", "externid", "from_web", "deleted", "str1"] {
        assert!(own.get(hidden).is_none(), "{hidden}");
    }
    let absent = server.account_get(&format!("{FICHES}/9999")).await;
    absent.refused(404, 3, None);
    let foreign = server.account_get(&format!("{FICHES}/{KNOWN_FICHE}")).await;
    assert_eq!(foreign.text_without_numbers(), absent.text_without_numbers());
    let list = server.account_get(&format!("{FICHES}?search=known")).await.is(200);
    assert_eq!(list["totalRecords"], 0);
    for by_hidden in [
        "sort=comments",
        "sort=str1",
        "conditions[0][field]=comments&conditions[0][op]==&conditions[0][value]=x",
    ] {
        assert_eq!(
            server.account_get(&format!("{FICHES}?{by_hidden}")).await.status,
            400,
            "{by_hidden}"
        );
    }
    let pros = server.pro_get(&format!("{FICHES}/{OWN_FICHE}")).await.is(200);
    assert_eq!(pros["comments"], "pays late");
}

#[tokio::test]
async fn an_account_changes_what_is_the_clients_to_say_and_nothing_else() {
    let server = TestServer::with_account(|_| {}).await;
    let own = format!("{FICHES}/{OWN_FICHE}");
    let put = |path: &str, fiche: Value| {
        answer(server.by_account(Method::PUT, path).json(&json!({ "fiche": fiche })))
    };
    let changed = put(
        &own,
        json!({"firstname": "Cleo", "firstphone": "1", "secondphone": "2", "birthdate": "1990-01-02",
        "rappel_email": 0, "rappel_sms": 0, "str0": "seen", "str1": "unseen", "comments": "nice", "externid": 7,
        "from_web": 1, "deleted": 1, "lastname": "Own"}),
    )
    .await
    .is(200);
    assert_eq!(
        (&changed["firstname"], &changed["lastname"], &changed["str0"]),
        (&json!("Cleo"), &json!("Own"), &json!("seen"))
    );
    let kept = server.pro_get(&own).await.is(200);
    assert_eq!(
        (&kept["comments"], &kept["externid"], &kept["str1"]),
        (&json!("pays late"), &Value::Null, &Value::Null)
    );
    assert_eq!(
        (&kept["from_web"], &kept["deleted"], &kept["rappel_sms"]),
        (&json!(false), &json!(false), &json!(false))
    );
    put(&own, json!({"birthdate": "soon"})).await.refused(400, 2, Some("birthdate"));
    put(&format!("{FICHES}/{KNOWN_FICHE}"), json!({"firstname": "X"})).await.refused(404, 3, None);
    answer(server.by_account(Method::POST, FICHES).json(&json!({"fiche": {"lastname": "X"}})))
        .await
        .refused(403, 1, None);
}

#[tokio::test]
async fn a_deleted_own_fiche_is_still_there_and_cannot_be_booked_for() {
    let server = TestServer::with_account(|_| {}).await;
    let own = format!("{FICHES}/{OWN_FICHE}");
    answer(server.by_pro(Method::PUT, &own).json(&json!({"fiche": {"deleted": true}})))
        .await
        .is(200);
    assert_eq!(server.account_get(&own).await.is(200)["lastname"], "$Client");
    assert_eq!(server.account_get(FICHES).await.is(200)["totalRecords"], 1);
    account_books(&server, "09:00:00", json!({})).await.refused(400, 2, Some("fiche.id"));
    account_books(&server, "09:00:00", json!({"fiche": {"id": OWN_FICHE}})).await.refused(
        400,
        2,
        Some("fiche.id"),
    );
}

#[tokio::test]
async fn an_account_books_for_its_own_fiche_whatever_it_says_of_the_client() {
    let server = TestServer::with_account(|_| {}).await;
    let told = json!({"fiche": {"lastname": "Other", "email": "known@example.org"}});
    let booked = account_books(&server, "09:00:00", told).await.is(201);
    let fiche = &booked["records"][0]["fiche"];
    assert_eq!(
        (&fiche["id"], &fiche["lastname"], &fiche["email"]),
        (&json!(OWN_FICHE), &json!("Client"), &json!(CLEO.0))
    );
    assert!(fiche.get("comments").is_none());
    assert_eq!(booked["records"][0]["calendar_name"], "Ann");
    account_books(&server, "10:00:00", json!({})).await.is(201);
    assert_eq!(server.pro_get(FICHES).await.is(200)["totalRecords"], 2, "no client was made");
    assert_eq!(
        server.pro_get(&format!("{FICHES}/{OWN_FICHE}")).await.is(200)["lastname"],
        "Client"
    );
}

#[tokio::test]
async fn an_account_names_only_its_own_fiche_and_writes_only_what_it_may() {
    let server = TestServer::with_account(|_| {}).await;
    let given = json!({"fiche": {"id": OWN_FICHE, "firstname": "Cleo", "comments": "nice", "email": "new@example.org",
        "str1": "unseen", "deleted": true}});
    account_books(&server, "09:00:00", given).await.is(201);
    let kept = server.pro_get(&format!("{FICHES}/{OWN_FICHE}")).await.is(200);
    assert_eq!(
        (&kept["firstname"], &kept["comments"], &kept["email"]),
        (&json!("Cleo"), &json!("pays late"), &json!(CLEO.0))
    );
    assert_eq!((&kept["str1"], &kept["deleted"]), (&Value::Null, &json!(false)));
    let absent = account_books(&server, "10:00:00", json!({"fiche": {"id": 9999}})).await;
    absent.refused(400, 2, Some("fiche.id"));
    let foreign = account_books(&server, "10:00:00", json!({"fiche": {"id": KNOWN_FICHE}})).await;
    assert_eq!(foreign.text, absent.text);
    account_books(&server, "10:00:00", json!({"from_web": 0})).await.refused(403, 1, None);
    account_books(&server, "10:00:00", json!({"calendar_id": HIDDEN_CALENDAR})).await.refused(
        400,
        14,
        Some("date"),
    );
    account_books(&server, "09:15:00", json!({"calendar_id": OTHER_CALENDAR})).await.refused(
        400,
        12,
        Some("date"),
    );
}

#[tokio::test]
async fn an_account_books_where_the_key_alone_may_not() {
    for change in [
        (|catalogue: &mut Catalogue| catalogue.group.validate_email = true) as fn(&mut Catalogue),
        |catalogue| catalogue.group.open_data = false,
        |catalogue| catalogue.group.open = false,
    ] {
        let server = TestServer::with_account(change).await;
        account_books(&server, "09:00:00", json!({})).await.is(201);
    }
    let closed = TestServer::with_account(|catalogue| catalogue.group.open_data = false).await;
    let slots = format!("/groups/4/availabletimeslots?intervention_ids[]={CUT}");
    closed.get(&slots).await.refused(403, 1, None);
    assert_ne!(closed.account_get(&slots).await.is(200)["firstSlot"], Value::Null);
    closed.account_get(&format!("{slots}&from_web=0")).await.refused(403, 1, None);
    let taken = format!("{slots}&explain=2025-06-02%2009:00:00");
    account_books(&closed, "09:00:00", json!({})).await.is(201);
    let explained = closed.account_get(&taken).await.is(200);
    assert_eq!(explained["calendars"][0]["reasons"][0]["message"], "taken");
    assert_eq!(
        explained["calendars"].as_array().map(Vec::len),
        Some(2),
        "the hidden one is not told of"
    );
}

#[tokio::test]
async fn the_key_alone_cannot_book_in_an_accounts_name() {
    let server = TestServer::with_account(|_| {}).await;
    let as_cleo =
        at("09:00:00", CALENDAR, json!({"fiche": {"lastname": "C", "email": "Cleo@example.org"}}));
    book(server.by_key(Method::POST, APPOINTMENTS), as_cleo).await.refused(
        400,
        11,
        Some("fiche.email"),
    );
}

#[tokio::test]
async fn an_account_sees_and_cancels_its_own_appointments_in_time() {
    let server = TestServer::with_account(|catalogue| {
        for calendar in catalogue.calendars.values_mut() {
            Arc::make_mut(calendar).mintime_annulation =
                slotbook::domain::records::text::Bounded::known(60);
        }
    })
    .await;
    let own = booked_by_ann(&server, "10:00:00", OWN_FICHE).await;
    let foreign = booked_by_ann(&server, "11:00:00", KNOWN_FICHE).await;
    let list = server.account_get(APPOINTMENTS).await.is(200);
    assert_eq!((&list["totalRecords"], &list["records"][0]["id"]), (&json!(1), &own["id"]));
    assert!(list["records"][0]["fiche"].get("comments").is_none());
    let shown = server.account_get(&format!("{APPOINTMENTS}/{}", own["id"])).await.is(200);
    assert_eq!(
        (&shown["fiche"]["lastname"], &shown["calendar_name"]),
        (&json!("Client"), &json!("Bob"))
    );
    let absent = server.account_get(&format!("{APPOINTMENTS}/9999")).await;
    absent.refused(404, 3, None);
    let hers = format!("{APPOINTMENTS}/{}", foreign["id"]);
    let absent = absent.text_without_numbers();
    assert_eq!(server.account_get(&hers).await.text_without_numbers(), absent);
    let delete = |path: &str| answer(server.by_account(Method::DELETE, path));
    assert_eq!(delete(&hers).await.text_without_numbers(), absent);
    let by_secret = format!("{hers}?key={}", foreign["key"].as_str().expect("a secret"));
    let seen = server.account_get(&by_secret).await.is(200);
    assert_eq!(seen["fiche"], json!({"id": 0}), "no more than anybody who knows the secret");
    server.at(clock(9, 0));
    assert_eq!(delete(&format!("{APPOINTMENTS}/{}", own["id"])).await.is(200)["deleted"], true);
    assert_eq!(server.account_get(APPOINTMENTS).await.is(200)["totalRecords"], 0);
    server.at(clock(10, 1));
    delete(&by_secret).await.refused(400, 10, None);
    let later = booked_by_ann(&server, "10:30:00", OWN_FICHE).await;
    delete(&format!("{APPOINTMENTS}/{}", later["id"])).await.refused(400, 10, None);
    assert_eq!(server.pro_get(APPOINTMENTS).await.is(200)["totalRecords"], 2);
}

#[tokio::test]
async fn an_account_finds_its_own_appointments_by_its_name() {
    let server = TestServer::with_account(|_| {}).await;
    let booked = account_books(&server, "09:00:00", json!({})).await.is(201);
    let found =
        async |query: &str| server.account_get(&format!("{APPOINTMENTS}?{query}")).await.is(200);
    assert_eq!(found("search=CLIENT").await["records"][0]["id"], booked["records"][0]["id"]);
    assert_eq!(found("search=nobody").await["totalRecords"], 0);
    assert_eq!(found("sort=location").await["totalRecords"], 1);
    assert_eq!(
        found("sort=calendar_name").await["records"][0]["calendar_name"],
        "Ann",
        "the public one"
    );
    let by_name =
        server.pro_get(&format!("{APPOINTMENTS}?sort=calendar_name&dir=desc")).await.is(200);
    assert_eq!(by_name["totalRecords"], 1);
}
