//! The header Idempotency-Key: what is sent twice is done once.

use reqwest::Method;
use serde_json::{Value, json};
use slotbook::domain::records::ids::GroupId;

use crate::server::{Answer, TestServer, answer};
use crate::shop::{self, CALENDAR, CUT, KEY_OF_ALL, OTHER_CALENDAR, clock};

const PATH: &str = "/groups/4/appointments";
const HEADER: &str = "Idempotency-Key";

fn booking(time: &str) -> Value {
    json!({"appointment": {
        "date": format!("2025-06-02 {time}:00"), "intervention_ids": [CUT], "calendar_id": CALENDAR,
        "fiche": {"lastname": "Durand", "email": "d@example.org"},
    }})
}

async fn book(server: &TestServer, key: &str, body: &Value) -> Answer {
    answer(server.by_key(Method::POST, PATH).header(HEADER, key).json(body)).await
}

async fn pro_makes(server: &TestServer, resource: &str, key: &str, body: &Value) -> Answer {
    answer(
        server
            .by_pro(Method::POST, &format!("/groups/4/{resource}"))
            .header(HEADER, key)
            .json(body),
    )
    .await
}

async fn booked(server: &TestServer) -> u64 {
    server.pro_get(PATH).await.is(200)["totalRecords"].as_u64().expect("a number")
}

#[tokio::test]
async fn the_same_request_is_answered_byte_for_byte_as_the_first_time_and_done_once() {
    let server = TestServer::start().await;
    let first = book(&server, "a", &booking("09:30")).await;
    first.is(201);
    server.at(clock(8, 30));
    let other_writing = r#" {"appointment":{"calendar_id":11.0,"fiche":{"email":"d@example.org","lastname":"Dur\u0061nd"},
        "intervention_ids":[2.1e1],"date":"2025-06-02 09:30:00"}} "#;
    let again = server
        .by_key(Method::POST, &format!("{PATH}.json"))
        .header(HEADER, "a")
        .body(other_writing);
    for again in [book(&server, "a", &booking("09:30")).await, answer(again).await] {
        assert_eq!((again.status, &again.text), (first.status, &first.text));
        assert_eq!(again.headers["content-type"], "application/json");
    }
    assert_eq!(booked(&server).await, 1);
}

#[tokio::test]
async fn the_first_answer_is_given_even_when_the_request_could_not_be_made_any_more() {
    let server = TestServer::start().await;
    let first = book(&server, "a", &booking("09:30")).await;
    first.is(201);
    answer(server.by_pro(Method::DELETE, &format!("/groups/4/calendars/{CALENDAR}"))).await.is(200);
    server.at(clock(11, 0));
    assert_eq!(book(&server, "a", &booking("09:30")).await.text, first.text);
    book(&server, "b", &booking("09:30")).await.refused(400, 14, Some("date"));
}

#[tokio::test]
async fn the_same_key_with_something_else_conflicts_and_does_nothing() {
    let server = TestServer::start().await;
    book(&server, "a", &booking("09:30")).await.is(201);
    book(&server, "a", &booking("10:30")).await.refused(409, 2, Some(HEADER));
    // Not even what would be refused for itself is looked at.
    book(&server, "a", &json!({"appointment": {}})).await.refused(409, 2, Some(HEADER));
    assert_eq!(booked(&server).await, 1);
    let set = json!({"name": "x", "calendarset": {"name": "x"}, "interventionset": {"name": "x"}});
    pro_makes(&server, "calendarsets", "b", &set).await.is(201);
    pro_makes(&server, "interventionsets", "b", &set).await.refused(409, 2, Some(HEADER));
}

#[tokio::test]
async fn a_key_is_the_callers_own() {
    let server = TestServer::start().await;
    let first = book(&server, "a", &booking("09:30")).await.is(201);
    // By the professional, by another application: the same words mean another request, whose hour is taken.
    pro_makes(&server, "appointments", "a", &booking("09:30")).await.refused(400, 14, Some("date"));
    let path = format!("/api/v1{PATH}?apikey={KEY_OF_ALL}");
    answer(server.bare(Method::POST, &path).header(HEADER, "a").json(&booking("09:30")))
        .await
        .refused(400, 12, Some("date"));
    let other = pro_makes(&server, "appointments", "a", &booking("10:30")).await.is(201);
    assert_ne!(first["records"][0]["id"], other["records"][0]["id"]);
}

#[tokio::test]
async fn a_key_answers_no_other_person_of_the_group() {
    let dora = ("dora@example.org", "secret");
    let mut four = shop::group_four(|_| {});
    for (fiche, (email, _)) in [(shop::OWN_FICHE, shop::CLEO), (43, dora)] {
        shop::open_account(&mut four, fiche, email);
    }
    let server = TestServer::serving(vec![four, shop::group_five()], |server| server).await;
    let book = async |client, time: &str| {
        let body = json!({"appointment": {"date": format!("2025-06-02 {time}:00"),
            "intervention_ids": [CUT], "calendar_id": CALENDAR}});
        answer(server.by(client, Method::POST, PATH).header(HEADER, "a").json(&body)).await
    };
    let first = book(shop::CLEO, "09:30").await.is(201);
    assert_eq!(first["records"][0]["fiche_id"], shop::OWN_FICHE);
    book(dora, "09:30").await.refused(400, 14, Some("date"));
    assert_eq!(book(dora, "10:30").await.is(201)["records"][0]["fiche_id"], 43);
    assert_eq!(book(shop::CLEO, "09:30").await.is(201), first);
    // The same holds among professionals.
    let server = TestServer::with_team(|_| {}).await;
    let make = async |person| {
        let body = json!({"fiche": {"lastname": "Durand"}});
        let request = server.by(person, Method::POST, "/groups/4/fiches");
        answer(request.header(HEADER, "a").json(&body)).await.is(201)
    };
    assert_ne!(make(shop::ANN).await["id"], make(shop::RITA).await["id"]);
}

#[tokio::test]
async fn a_refusal_is_not_kept_but_decided_anew() {
    let server = TestServer::start().await;
    let taken = book(&server, "a", &booking("09:30")).await.is(201)["records"][0].clone();
    let mut other = booking("09:30");
    other["appointment"]["fiche"]["email"] = json!("other@example.org");
    book(&server, "b", &other).await.refused(400, 14, Some("date"));
    answer(server.by_pro(Method::DELETE, &format!("{PATH}/{}", taken["id"]))).await.is(200);
    book(&server, "b", &other).await.is(201);
    book(&server, "c", &json!({"appointment": {"date": "never"}})).await.is(400);
    book(&server, "c", &booking("10:30")).await.is(201);
}

#[tokio::test]
async fn a_day_later_the_key_is_a_new_one() {
    let server = TestServer::start().await;
    let later = |time: &str| {
        let mut wish = booking(time);
        wish["appointment"]["date"] = json!(format!("2025-06-20 {time}:00"));
        wish
    };
    let first = book(&server, "a", &later("09:30")).await;
    server.at(clock(8, 0).plus_seconds(24 * 3_600 - 1));
    assert_eq!(book(&server, "a", &later("09:30")).await.text, first.text);
    book(&server, "a", &later("10:30")).await.refused(409, 2, Some(HEADER));
    server.at(clock(8, 0).plus_seconds(24 * 3_600));
    let second = book(&server, "a", &later("10:30")).await;
    second.is(201);
    assert_eq!(book(&server, "a", &later("10:30")).await.text, second.text);
    assert_eq!(booked(&server).await, 2);
}

#[tokio::test]
async fn requests_that_meet_wait_for_one_another() {
    let server = TestServer::start().await;
    for round in 0..20_u64 {
        let hour = 2 + round;
        let sent = (0..10).map(|number: u64| {
            let mut wish = booking("09:30");
            wish["appointment"]["date"] = json!(format!("2025-06-{hour:02} 09:30:00"));
            wish["appointment"]["calendar_id"] =
                json!(if number.is_multiple_of(5) { OTHER_CALENDAR } else { CALENDAR });
            let request = server
                .by_key(Method::POST, PATH)
                .header(HEADER, format!("round {round}"))
                .json(&wish);
            tokio::spawn(answer(request))
        });
        let mut made = Vec::new();
        let mut conflicts = 0;
        for sent in sent.collect::<Vec<_>>() {
            let told = sent.await.expect("no panic");
            match told.status.as_u16() {
                201 => made.push(told.text),
                _ => {
                    told.refused(409, 2, Some(HEADER));
                    conflicts += 1;
                }
            }
        }
        assert!(
            made.len() == 8 && conflicts == 2 || made.len() == 2 && conflicts == 8,
            "{} and {conflicts}",
            made.len()
        );
        made.dedup();
        assert_eq!(made.len(), 1, "all that were made are one and the same");
        assert_eq!(booked(&server).await, round + 1);
    }
}

#[tokio::test]
async fn everything_that_is_made_in_a_group_is_made_once() {
    let server = TestServer::start().await;
    let plage = json!({"calendar_id": CALENDAR, "start": "2025-06-02 09:00:00", "end": "2025-06-02 10:00:00"});
    for (resource, body) in [
        ("calendars", json!({"calendar": {"name": "a"}})),
        ("calendarsets", json!({"calendarset": {"name": "a"}})),
        ("interventions", json!({"intervention": {"name": "a", "length": 10}})),
        ("interventionsets", json!({"interventionset": {"name": "a"}})),
        ("fiches", json!({"fiche": {"lastname": "a"}})),
        ("vevents", plage),
        ("customfields", json!({"customfield": {"model": "Fiche", "name": "num1"}})),
    ] {
        let before =
            server.pro_get(&format!("/groups/4/{resource}")).await.is(200)["totalRecords"].as_u64();
        let first = pro_makes(&server, resource, resource, &body).await;
        assert_eq!(first.status, 201, "{resource}: {}", first.text);
        assert_eq!(pro_makes(&server, resource, resource, &body).await.text, first.text);
        let after =
            server.pro_get(&format!("/groups/4/{resource}")).await.is(200)["totalRecords"].as_u64();
        assert_eq!(after, before.map(|before| before + 1), "{resource}");
    }
}

async fn ask(server: &TestServer, key: &str, email: &str) -> Answer {
    let body = json!({"account": {"email": email, "group_id": 4}});
    answer(server.by_key(Method::POST, "/accounts").header(HEADER, key).json(&body)).await
}

#[tokio::test]
async fn a_link_that_is_asked_for_twice_under_one_key_is_mailed_once() {
    let server = TestServer::start().await;
    let mailed = || {
        let group_state = server
            .engine
            .published()
            .group_state(GroupId::new(4).expect("an id"))
            .expect("group 4");
        group_state.outbox.messages().count()
    };
    let first = ask(&server, "a", "new@example.org").await;
    assert_eq!(first.is(201), json!({"account": {"email": "new@example.org", "group_id": 4}}));
    for again in
        [ask(&server, "a", "new@example.org").await, ask(&server, "a", "new@example.org").await]
    {
        assert_eq!((again.status, &again.text), (first.status, &first.text));
    }
    assert_eq!(mailed(), 1);
    ask(&server, "b", "new@example.org").await.is(201);
    answer(
        server
            .by_key(Method::POST, "/accounts")
            .json(&json!({"account": {"email": "new@example.org"}})),
    )
    .await
    .is(201);
    assert_eq!(mailed(), 3);
    let by_pro = server.by_pro(Method::POST, "/accounts").header(HEADER, "a");
    answer(by_pro.json(&json!({"account": {"email": "new@example.org", "group_id": 4}})))
        .await
        .is(201);
    assert_eq!(mailed(), 4, "a key is the caller's own");
    ask(&server, "a", "other@example.org").await.refused(409, 2, Some(HEADER));
    book(&server, "a", &booking("09:30")).await.refused(409, 2, Some(HEADER));
    ask(&server, "\u{e9}", "new@example.org").await.refused(400, 2, Some(HEADER));
    assert_eq!(mailed(), 4);
}

#[tokio::test]
async fn what_is_told_under_a_key_does_not_tell_whether_an_address_is_known() {
    let server = TestServer::with(|catalogue| catalogue.group.open = false).await;
    let sequence = || {
        server
            .engine
            .published()
            .group_state(GroupId::new(4).expect("an id"))
            .expect("group 4")
            .sequence
    };
    for (number, email) in ["known@example.org", "nobody@example.org"].into_iter().enumerate() {
        let before = sequence();
        let first = ask(&server, email, email).await;
        assert_eq!(first.is(201), json!({"account": {"email": email, "group_id": 4}}));
        assert_eq!(sequence(), before + 1, "either takes its way to the disk");
        assert_eq!(ask(&server, email, email).await.text, first.text);
        ask(&server, email, "third@example.org").await.refused(409, 2, Some(HEADER));
        let other = json!({"account": {"email": email, "group_id": 4, "pendingRdv": number}});
        answer(server.by_key(Method::POST, "/accounts").header(HEADER, email).json(&other))
            .await
            .refused(409, 2, Some(HEADER));
        assert_eq!(sequence(), before + 1);
        answer(
            server.by_key(Method::POST, "/accounts").json(&json!({"account": {"email": email}})),
        )
        .await
        .is(201);
        assert_eq!(sequence(), before + 2);
    }
}

#[tokio::test]
async fn what_the_caller_may_not_do_is_told_before_what_is_no_key() {
    let server = TestServer::start().await;
    let mut by_hand = booking("09:30");
    by_hand["appointment"]["from_web"] = json!(0);
    book(&server, "", &by_hand).await.refused(403, 1, None);
    let by_key = server.by_key(Method::POST, "/groups/4/calendars").header(HEADER, "");
    answer(by_key.json(&json!({"calendar": {"name": "a"}}))).await.refused(403, 1, None);
    pro_makes(&server, "calendars", "", &json!({"calendar": {"name": "a"}})).await.refused(
        400,
        2,
        Some(HEADER),
    );
}

#[tokio::test]
async fn a_header_that_is_no_key_is_refused_and_only_posts_look_at_it() {
    let server = TestServer::start().await;
    for bad in ["", "\u{e9}", &"x".repeat(256)] {
        book(&server, bad, &booking("09:30")).await.refused(400, 2, Some(HEADER));
    }
    book(&server, &"x".repeat(255), &booking("09:30")).await.is(201);
    answer(server.by_pro(Method::GET, PATH).header(HEADER, "")).await.is(200);
    for name in ["a", "b"] {
        let change = server
            .by_pro(Method::PUT, "/groups/4")
            .header(HEADER, "k")
            .json(&json!({"group": {"name": name}}));
        assert_eq!(answer(change).await.is(200)["name"], name);
    }
}
