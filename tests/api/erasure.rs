//! The erasing of clients. Reference 17.1.

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};
use slotbook::domain::directory::link_secret::LinkSecret;
use slotbook::domain::records::group::VerifyBookings;
use slotbook::domain::records::ids::GroupId;
use slotbook::notify::Gateways;
use slotbook::store::state::write_group;

use crate::server::{Answer, TestServer, answer, gateways};
use crate::shop::{CALENDAR, CLEO, CUT, KNOWN_FICHE, OWN_FICHE, clock, group_four};

const FICHES: &str = "/groups/4/fiches";
const HEADER: &str = "Idempotency-Key";

async fn erase(server: &TestServer, id: u64, query: &str) -> Answer {
    answer(server.by_pro(Method::POST, &format!("{FICHES}/{id}/erase{query}"))).await
}

/// Makes an appointment by a professional. Returns the id.
async fn appoint(server: &TestServer, fiche: u64, start: &str, canary: &str) -> u64 {
    let end = start.replace(":00:00", ":30:00");
    let body = json!({"vevent": {"calendar_id": CALENDAR, "intervention_id": CUT,
        "fiche_id": fiche, "start": start, "end": end, "comments": format!("{canary}-a"),
        "internal_comments": format!("{canary}-b"), "taker": format!("{canary}-c"),
        "websource": format!("{canary}-d")}});
    let request = server.by_pro(Method::POST, "/groups/4/vevents").header(HEADER, canary);
    answer(request.json(&body)).await.is(201)["id"].as_u64().expect("an id")
}

/// The bytes of the state of the group, as a snapshot holds them.
fn bytes_of(server: &TestServer) -> Vec<u8> {
    let group = GroupId::new(4).expect("an id");
    let state = server.engine.published().group_state(group).expect("a group");
    let mut bytes = Vec::new();
    let written: Result<(), ()> = write_group(&state, |frame| {
        bytes.extend_from_slice(frame);
        Ok(())
    });
    written.expect("memory takes all");
    bytes
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window.eq_ignore_ascii_case(text.as_bytes()))
}

#[tokio::test]
async fn a_client_is_erased_with_all_that_tells_of_it() {
    let server = TestServer::start().await;
    let client = json!({"fiche": {"lastname": "Canary-ln", "firstname": "Canary-fn",
        "firstphone": "0612345678", "secondphone": "0612345679", "email": "canary-mail@example.org",
        "comments": "Canary-co", "str0": "Canary-s0", "str1": "Canary-s1", "externid": 777_001,
        "birthdate": "1970-02-03"}});
    let request = server.by_pro(Method::POST, FICHES).header(HEADER, "Canary-client");
    let id = answer(request.json(&client)).await.is(201)["id"].as_u64().expect("an id");
    let past = appoint(&server, id, "2025-06-02 09:00:00", "Canary-past").await;
    let next = appoint(&server, id, "2025-06-03 09:00:00", "Canary-next").await;
    let web = json!({"appointment": {"date": "2025-06-04 09:30:00", "intervention_ids": [CUT],
        "calendar_id": CALENDAR, "comments": "Canary-web", "websource": "Canary-source",
        "fiche": {"lastname": "X", "email": "canary-mail@example.org"}}});
    let request = server.by_key(Method::POST, "/groups/4/appointments").header(HEADER, "of-a-page");
    let web = answer(request.json(&web)).await.is(201);
    let web = web["records"][0]["id"].as_u64().expect("an id");
    server.at(clock(13, 0));
    let before = bytes_of(&server);
    for canary in ["canary", "0612345678", "+3361"] {
        assert!(holds(&before, canary) || canary == "+3361", "{canary} is there before");
    }

    let refused = erase(&server, id, "").await;
    refused.refused(409, 2, Some("cancel"));
    assert!(refused.text.contains(&format!("{next}, {web};")), "{}", refused.text);
    assert_eq!(bytes_of(&server), before, "nothing changes");
    assert!(!server.data.path().join("forgotten").exists(), "nor is it listed");
    erase(&server, id, "?cancel=perhaps").await.refused(400, 2, Some("cancel"));

    let erased = erase(&server, id, "?cancel=1").await.is(200);
    let shown = ["id", "lastname", "firstname", "email", "comments", "deleted", "externid"]
        .map(|name| erased[name].clone());
    let blank = [json!(id), json!("$"), json!(""), json!(""), json!(""), json!(true), Value::Null];
    assert_eq!(shown, blank);
    assert_eq!(erased["erased_at"], "2025-06-02 13:00:00");
    let after = bytes_of(&server);
    for canary in ["canary", "0612345678", "0612345679", "61234567"] {
        assert!(!holds(&after, canary), "{canary} is gone");
    }
    let mails = server.pro_get("/groups/4/messages?results=100").await.is(200);
    assert_eq!(mails["totalRecords"], 0, "the cancellation is not mailed: {mails}");
    for (vevent, deleted) in [(past, false), (next, true), (web, true)] {
        let row = server.pro_get(&format!("/groups/4/vevents/{vevent}")).await.is(200);
        assert_eq!((&row["deleted"], &row["fiche_id"]), (&json!(deleted), &json!(id)), "{row}");
        assert!(!row.to_string().contains("anary"), "{row}");
    }
    let history = server.pro_get(&format!("/groups/4/history?object=fiche:{id}")).await.is(200);
    assert_eq!(history["rows"][0]["verb"], "erased");

    let list = std::fs::read_to_string(server.data.path().join("forgotten")).expect("a list");
    assert_eq!(list, format!("4 {id} 2025-06-02T06:00:00Z\n"));
    let again = erase(&server, id, "").await.is(200);
    assert_eq!((again, bytes_of(&server)), (erased, after), "the same again changes nothing");
    let listed = std::fs::read_to_string(server.data.path().join("forgotten")).expect("a list");
    assert_eq!(listed, list, "nor is it listed twice");
    let restored = json!({"fiche": {"deleted": false, "lastname": "Back"}});
    let restored = server.by_pro(Method::PUT, &format!("{FICHES}/{id}")).json(&restored);
    answer(restored).await.refused(400, 2, Some("id"));
    erase(&server, 9_999, "").await.refused(404, 3, None);
}

#[tokio::test]
async fn only_professionals_of_the_group_erase() {
    let server = TestServer::with_account(|_| {}).await;
    let path = format!("{FICHES}/{OWN_FICHE}/erase");
    answer(server.by_key(Method::POST, &path)).await.refused(403, 1, None);
    answer(server.by_account(Method::POST, &path)).await.refused(403, 1, None);
    let other = format!("/groups/5/fiches/{KNOWN_FICHE}/erase");
    answer(server.by_pro(Method::POST, &other)).await.refused(404, 3, None);
}

#[tokio::test]
async fn the_account_of_an_erased_client_ends_with_its_links() {
    let server = TestServer::with_account(|_| {}).await;
    server.account_get("/groups/4/fiches").await.is(200);
    let wish = json!({"fiche": {"email": "canary@example.org", "current_password": CLEO.1}});
    let wish = server.by_account(Method::PUT, &format!("{FICHES}/{OWN_FICHE}")).json(&wish);
    answer(wish).await.is(200);
    assert!(holds(&bytes_of(&server), "canary@example.org"));
    erase(&server, OWN_FICHE, "").await.is(200);
    let bytes = bytes_of(&server);
    assert!(!holds(&bytes, "canary@example.org") && !holds(&bytes, CLEO.0));
    server.account_get("/groups/4/fiches").await.refused(401, 5, None);
    let rows = server.pro_get(&format!("/groups/4/history?object=account:{OWN_FICHE}")).await;
    assert_eq!(rows.is(200)["rows"][0]["verb"], "removed");
}

#[tokio::test]
async fn a_waiting_booking_of_an_erased_client_ends_with_its_code() {
    let four = group_four(|catalogue| catalogue.group.verify_bookings = VerifyBookings::Mail);
    let gateways = Arc::new(Gateways {
        link_secret: Some(LinkSecret::new([9; 32])),
        ..gateways("https://rdv.example")
    });
    let server = TestServer::serving(vec![four], |server| server.with_gateways(gateways)).await;
    let body = json!({"appointment": {"date": "2025-06-04 09:30:00", "intervention_ids": [CUT],
        "calendar_id": CALENDAR, "comments": "Canary-web",
        "fiche": {"lastname": "Canary", "email": "known@example.org"}}});
    answer(server.by_key(Method::POST, "/groups/4/appointments").json(&body)).await.is(202);
    assert!(holds(&bytes_of(&server), "canary"));
    let mut other = body.clone();
    other["appointment"]["fiche"] = json!({"lastname": "Other", "email": "other@example.org"});
    let taken = server.by_key(Method::POST, "/groups/4/appointments").json(&other);
    answer(taken).await.refused(400, 14, Some("date"));
    erase(&server, KNOWN_FICHE, "").await.is(200);
    let bytes = bytes_of(&server);
    assert!(!holds(&bytes, "canary") && !holds(&bytes, "known@example.org"));
    answer(server.by_key(Method::POST, "/groups/4/appointments").json(&other)).await.is(202);
}

#[tokio::test]
async fn the_records_that_were_merged_go_together() {
    let server = TestServer::start().await;
    let other = json!({"fiche": {"lastname": "Canary"}});
    let other =
        answer(server.by_pro(Method::POST, FICHES).json(&other)).await.is(201)["id"].clone();
    let merge = json!({"fiche_id": other});
    let merge = server.by_pro(Method::POST, &format!("{FICHES}/{KNOWN_FICHE}/merge")).json(&merge);
    answer(merge).await.is(200);
    erase(&server, other.as_u64().expect("an id"), "").await.is(200);
    let kept = server.pro_get(&format!("{FICHES}/{KNOWN_FICHE}")).await.is(200);
    assert_eq!((&kept["lastname"], kept["erased_at"].is_null()), (&json!("$"), false));
    assert!(!holds(&bytes_of(&server), "known@example.org"));
}

#[tokio::test]
async fn everything_about_one_client_is_exported_and_nothing_of_others() {
    let server = TestServer::with_account(|_| {}).await;
    let vevent = appoint(&server, OWN_FICHE, "2025-06-03 09:00:00", "Canary-own").await;
    appoint(&server, KNOWN_FICHE, "2025-06-04 09:00:00", "Canary-other").await;
    let wish = json!({"fiche": {"email": "asked@example.org", "current_password": CLEO.1}});
    let wish = server.by_account(Method::PUT, &format!("{FICHES}/{OWN_FICHE}")).json(&wish);
    answer(wish).await.is(200);
    let path = format!("{FICHES}/{OWN_FICHE}/export");
    let export = server.pro_get(&path).await.is(200);
    assert_eq!(export["fiche"]["comments"], "pays late");
    assert_eq!(export["accounts"][0]["email"], CLEO.0);
    assert!(!export.to_string().contains("$argon2"), "no password: {export}");
    assert_eq!(export["vevents"][0]["id"], vevent);
    assert_eq!(export["vevents"][0]["internal_comments"], "Canary-own-b");
    assert_eq!(export["links"][0]["email"], "asked@example.org");
    assert_eq!(export["messages"][0]["recipient"], "asked@example.org");
    assert_eq!(export["history"][0]["object"], format!("vevent:{vevent}"));
    assert!(!export.to_string().contains("Canary-other") && export["holds"] == json!([]));
    answer(server.by_account(Method::GET, &path)).await.refused(403, 1, None);
    answer(server.by_key(Method::GET, &path)).await.refused(403, 1, None);
    server.pro_get(&format!("{FICHES}/9999/export")).await.refused(404, 3, None);
    erase(&server, OWN_FICHE, "?cancel=1").await.is(200);
    let left = server.pro_get(&path).await.is(200);
    assert_eq!((&left["accounts"], &left["messages"]), (&json!([]), &json!([])));
    assert!(!left.to_string().contains("anary"), "{left}");
}

#[tokio::test]
async fn a_group_is_exported_as_a_document_without_what_belongs_to_others() {
    let server = TestServer::start().await;
    let document = server.pro_get("/groups/4/export").await.is(200);
    let groups = document["groups"].as_array().expect("a list");
    assert_eq!((groups.len(), &groups[0]["id"]), (1, &json!(4)));
    assert_eq!(groups[0]["fiches"][0]["lastname"], "Known");
    assert_eq!(groups[0]["pros"].as_array().map(Vec::len), Some(1), "{}", groups[0]["pros"]);
    assert_eq!(document["apikeys"].as_array().map(Vec::len), Some(1), "{}", document["apikeys"]);
    server.get("/groups/4/export").await.refused(403, 1, None);
    server.pro_get("/groups/5/export").await.refused(404, 3, None);
}

#[tokio::test]
async fn an_address_that_a_family_shares_stays_with_the_others() {
    let server = TestServer::start().await;
    let booked = json!({"appointment": {"date": "2025-06-04 09:30:00", "intervention_ids": [CUT],
        "calendar_id": CALENDAR, "fiche": {"lastname": "X", "email": "known@example.org"}}});
    answer(server.by_key(Method::POST, "/groups/4/appointments").json(&booked)).await.is(201);
    let child = json!({"fiche": {"lastname": "Child", "email": "known@example.org"}});
    let child = answer(server.by_pro(Method::POST, FICHES).json(&child)).await.is(201);
    let child = child["id"].as_u64().expect("an id");
    let own = appoint(&server, child, "2025-06-03 09:00:00", "Canary").await;
    let moved = json!({"vevent": {"start": "2025-06-03 10:00:00"}});
    let moved = server.by_pro(Method::PUT, &format!("/groups/4/vevents/{own}")).json(&moved);
    answer(moved).await.is(200);
    let messages = async || {
        let list = server.pro_get("/groups/4/messages?results=100").await.is(200);
        let rows = list["records"].as_array().expect("a list").clone();
        rows.iter().filter(|row| row["id"].is_u64()).map(|row| row["kind"].clone()).collect()
    };
    let before: Vec<Value> = messages().await;
    assert_eq!(before.len(), 2, "{before:?}");
    erase(&server, child, "?cancel=1").await.is(200);
    assert_eq!(messages().await, [json!("confirmation")], "the mail to the parent stays");
    let parent = server.pro_get(&format!("{FICHES}/{KNOWN_FICHE}")).await.is(200);
    assert_eq!(parent["email"], "known@example.org");
    assert!(!holds(&bytes_of(&server), "canary") && !holds(&bytes_of(&server), "Child"));
}
