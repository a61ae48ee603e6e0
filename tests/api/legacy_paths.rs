//! Older paths without the group segment: which group they mean, and where the key may stand.

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use slotbook::password::{hash_password, sha1_hex};

use crate::server::{Answer, TestServer, answer};
use crate::shop::{
    self, ANN, CALENDAR, CLEO, COLOUR, CUT, EVE, HIDDEN_CALENDAR, KEY, KEY_OF_ALL, KNOWN_FICHE,
    OTHER_CALENDAR, clock,
};

/// A request with the key that covers every group.
fn by_key_of_all(server: &TestServer, method: Method, path: &str) -> RequestBuilder {
    let separator = if path.contains('?') { '&' } else { '?' };
    server.bare(method, &format!("/api/v1{path}{separator}apikey={KEY_OF_ALL}"))
}

/// The id of a client of group 5.
async fn eves_fiche(server: &TestServer) -> u64 {
    let request =
        by_key_of_all(server, Method::POST, "/groups/5/fiches").basic_auth(EVE.0, Some(EVE.1));
    answer(request.json(&json!({"fiche": {"lastname": "Elsewhere"}}))).await.is(201)["id"]
        .as_u64()
        .expect("an id")
}

async fn pro(server: &TestServer, method: Method, path: &str, body: Value) -> Answer {
    answer(server.by_pro(method, path).json(&body)).await
}

#[tokio::test]
async fn an_object_is_read_changed_and_deleted_in_its_own_group() {
    let server = TestServer::start().await;
    for path in [
        format!("calendars/{CALENDAR}"),
        format!("fiches/{KNOWN_FICHE}"),
        "vevents/51".into(),
        format!("calendars/{HIDDEN_CALENDAR}"),
    ] {
        let grouped = server.pro_get(&format!("/groups/4/{path}")).await;
        assert_eq!(server.pro_get(&format!("/{path}")).await.is(200), grouped.is(200), "{path}");
    }
    let path = format!("/calendars/{CALENDAR}");
    let changed =
        pro(&server, Method::PUT, &path, json!({"calendar": {"name": "New", "group_id": "4"}}))
            .await;
    assert_eq!(changed.is(200)["name"], "New");
    let foreign = json!({"calendar": {"name": "No", "group_id": 5}});
    pro(&server, Method::PUT, &path, foreign).await.refused(400, 2, Some("group_id"));
    let deleted = pro(&server, Method::DELETE, &path, json!({})).await.is(200);
    assert_eq!((&deleted["name"], &deleted["deleted"]), (&json!("New"), &json!(true)));
    pro(&server, Method::DELETE, &format!("/fiches/{KNOWN_FICHE}"), json!({}))
        .await
        .refused(405, 2, None);
    let fiche = pro(
        &server,
        Method::PUT,
        &format!("/fiches/{KNOWN_FICHE}"),
        json!({"fiche": {"firstname": "A"}}),
    )
    .await;
    assert_eq!(fiche.is(200)["firstname"], "A");
}

#[tokio::test]
async fn foreign_and_absent_objects_are_the_same_404() {
    let server = TestServer::start().await;
    let foreign = eves_fiche(&server).await;
    let is_unknown = |kind: &str, id: &str, answer: Answer| {
        answer.refused(404, 3, None);
        let named = if id.parse::<u64>().is_ok() && !id.starts_with('+') {
            format!("no {kind} {id}")
        } else {
            format!("no such {kind}")
        };
        assert_eq!(answer.json()["errors"][0]["message"], named);
    };
    for id in [&foreign.to_string(), "999999999", "0", "x", "+1", "99999999999999999999", "%FF"] {
        for kind in ["calendar", "fiche", "vevent", "appointment"] {
            is_unknown(kind, id, server.pro_get(&format!("/{kind}s/{id}")).await);
        }
        let path = format!("/fiches/{id}");
        let put = pro(&server, Method::PUT, &path, json!({"fiche": {"lastname": "x"}})).await;
        is_unknown("fiche", id, put);
        let listed = server.pro_get(&format!("/interventions/{id}/calendars")).await;
        is_unknown("intervention", id, listed);
    }
    let malformed = server.by_pro(Method::PUT, &format!("/fiches/{foreign}")).body("{");
    // The group comes before the body.
    is_unknown("fiche", &foreign.to_string(), answer(malformed).await);
    let eve = by_key_of_all(&server, Method::GET, &format!("/fiches/{foreign}"))
        .basic_auth(EVE.0, Some(EVE.1));
    assert_eq!(answer(eve).await.is(200)["group_id"], 5);
    let of_all = by_key_of_all(&server, Method::GET, &format!("/fiches/{KNOWN_FICHE}"))
        .basic_auth(EVE.0, Some(EVE.1));
    // Not her group.
    is_unknown("fiche", &KNOWN_FICHE.to_string(), answer(of_all).await);
}

#[tokio::test]
async fn a_list_is_of_the_group_named_or_of_the_callers_own() {
    let server = TestServer::start().await;
    let ids = |list: Value| {
        let records = list["records"].as_array().unwrap().clone();
        records.iter().map(|record| record["id"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(
        ids(server.pro_get("/calendars").await.is(200)),
        [CALENDAR, OTHER_CALENDAR, HIDDEN_CALENDAR]
    );
    assert_eq!(
        ids(server.get("/calendars.json?group_id=").await.is(200)),
        [CALENDAR, OTHER_CALENDAR]
    );
    assert_eq!(ids(server.pro_get("/vevents?group_id=4&calendar_id=12").await.is(200)), [52]);
    server.pro_get("/calendars?group_id=5").await.refused(404, 3, None);
    server.pro_get("/calendars?group_id=99").await.refused(404, 3, None);
    server.pro_get("/calendars?group_id=x").await.refused(400, 2, Some("group_id"));
    let nameless = by_key_of_all(&server, Method::GET, "/calendars");
    answer(nameless).await.refused(400, 2, Some("group_id"));
    assert_eq!(
        ids(answer(by_key_of_all(&server, Method::GET, "/calendars?group_id=4")).await.is(200)),
        [11, 12]
    );
    answer(by_key_of_all(&server, Method::GET, "/fiches")).await.refused(403, 1, None);
    let eve = by_key_of_all(&server, Method::GET, "/calendars").basic_auth(EVE.0, Some(EVE.1));
    assert_eq!(answer(eve).await.is(200)["totalRecords"], 0, "her main group");
    let eve = server.by_key(Method::GET, "/calendars").basic_auth(EVE.0, Some(EVE.1));
    answer(eve).await.refused(404, 3, None);
}

#[tokio::test]
async fn an_object_is_made_in_the_group_that_query_or_body_name() {
    let server = TestServer::start().await;
    for (path, body) in [
        ("/fiches", json!({"fiche": {"group_id": "4", "lastname": "A"}})),
        ("/fiches", json!({"group_id": 4, "fiche": {"lastname": "B"}})),
        ("/fiches?group_id=4", json!({"fiche": {"lastname": "C"}})),
        ("/fiches", json!({"fiche": {"lastname": "D", "group_id": ""}})),
    ] {
        let made = answer(
            by_key_of_all(&server, Method::POST, path).basic_auth(ANN.0, Some(ANN.1)).json(&body),
        )
        .await;
        assert_eq!(made.is(201)["group_id"], 4, "{path} {body}");
    }
    let fiche = |group: u64| json!({"fiche": {"group_id": group, "lastname": "A"}});
    pro(&server, Method::POST, "/fiches", fiche(5)).await.refused(404, 3, None);
    pro(&server, Method::POST, "/fiches", fiche(99)).await.refused(404, 3, None);
    pro(&server, Method::POST, "/fiches?group_id=4", fiche(5)).await.refused(
        400,
        2,
        Some("group_id"),
    );
    let vevent = json!({"calendar_id": CALENDAR, "start": "2025-06-02 14:00:00", "end": "2025-06-02 15:00:00"});
    assert_eq!(pro(&server, Method::POST, "/vevents", vevent).await.is(201)["group_id"], 4);
    let calendar = json!({"calendar": {"name": "Third", "group_id": 4}});
    let made = pro(&server, Method::POST, "/calendars", calendar).await.is(201);
    let again = server.pro_get(&format!("/calendars/{}", made["id"])).await.is(200);
    assert_eq!(again, made, "its id leads to its group at once");
}

#[tokio::test]
async fn the_key_may_stand_in_the_body_beside_the_object_on_older_paths_alone() {
    let server = TestServer::start().await;
    let send = |method: Method, path: &str, body: Value| {
        answer(
            server
                .bare(method, &format!("/api/v1{path}"))
                .basic_auth(ANN.0, Some(ANN.1))
                .json(&body),
        )
    };
    let made = send(Method::POST, "/fiches", json!({"apikey": KEY, "fiche": {"lastname": "Body"}}))
        .await
        .is(201);
    let path = format!("/fiches/{}", made["id"]);
    let changed =
        send(Method::PUT, &path, json!({"apikey": KEY, "fiche": {"firstname": "B"}})).await.is(200);
    assert_eq!(send(Method::GET, &path, json!({"apikey": KEY})).await.is(200), changed);
    send(Method::DELETE, "/vevents/51", json!({"apikey": KEY})).await.is(200);
    for wrong in [
        json!({"fiche": {"apikey": KEY, "lastname": "x"}}),
        json!({"apikey": "wrong"}),
        json!({"apikey": 1}),
    ] {
        send(Method::POST, "/fiches", wrong).await.refused(403, 1, None);
    }
    let in_body = json!({"apikey": KEY, "fiche": {"lastname": "x"}});
    send(Method::POST, "/fiches?apikey=wrong", in_body.clone()).await.refused(403, 1, None);
    send(Method::POST, "/groups/4/fiches", in_body).await.refused(403, 1, None);
    for body in ["{", "[]", ""] {
        let request =
            server.bare(Method::POST, "/api/v1/fiches").basic_auth("a", Some("b")).body(body);
        answer(request).await.refused(403, 1, None);
        answer(server.by_pro(Method::POST, "/fiches").body(body)).await.refused(400, 2, None);
    }
    let huge = server.bare(Method::POST, "/api/v1/fiches").body(" ".repeat(300 * 1024));
    answer(huge).await.refused(403, 1, None);
    answer(server.by_pro(Method::POST, "/fiches").body(" ".repeat(300 * 1024)))
        .await
        .refused(413, 2, None);
}

#[tokio::test]
async fn a_key_alone_books_reads_and_cancels_by_older_paths() {
    let server = TestServer::start().await;
    let booking = json!({"apikey": KEY, "appointment": {
        "date": "2025-06-10 09:00:00", "intervention_ids": [CUT], "fiche": {"lastname": "Durand", "email": "d@x.org"},
    }});
    let made =
        answer(server.bare(Method::POST, "/api/v1/appointments").json(&booking)).await.is(201);
    let record = &made["records"][0];
    let (id, key) = (record["id"].as_u64().unwrap(), record["key"].as_str().unwrap());
    server.get(&format!("/appointments/{id}")).await.refused(403, 1, None);
    server.get(&format!("/appointments/{id}?key=wrong")).await.refused(404, 3, None);
    server.get(&format!("/appointments/51?key={key}")).await.refused(404, 3, None);
    assert_eq!(server.get(&format!("/appointments/{id}?key={key}")).await.is(200)["id"], id);
    assert_eq!(server.pro_get("/appointments").await.is(200)["totalRecords"], 1);
    server.get("/appointments").await.refused(403, 1, None);
    server.at(clock(9, 0));
    let request = server.bare(Method::DELETE, &format!("/api/v1/appointments/{id}?key={key}"));
    assert_eq!(answer(request.json(&json!({"apikey": KEY}))).await.is(200)["deleted"], true);
}

#[tokio::test]
async fn a_booking_with_a_key_of_all_groups_is_of_the_group_that_has_its_ids() {
    let server = TestServer::start().await;
    let book = async |time: &str, given: Value| {
        let mut booking = json!({"date": format!("2025-06-02 {time}:00"), "intervention_ids": [CUT],
            "fiche": {"lastname": "Durand", "email": "d@example.org"}});
        for (name, value) in given.as_object().expect("an object") {
            booking[name] = value.clone();
        }
        let request = by_key_of_all(&server, Method::POST, "/appointments");
        answer(request.json(&json!({ "appointment": booking }))).await
    };
    let of_fiche = |group: u64| json!({"fiche": {"group_id": group, "lastname": "Durand", "email": "d@example.org"}});
    let calendar = json!({"calendar_id": CALENDAR});
    for (time, given) in [("09:00", calendar), ("10:00", json!({})), ("11:00", of_fiche(4))] {
        let booked = book(time, given.clone()).await.is(201);
        assert_eq!(booked["records"][0]["group_id"], 4, "{given}");
    }
    for given in [
        json!({"calendar_id": 999_999}),
        json!({"intervention_ids": [CUT, 999_999]}),
        json!({"intervention_ids": []}),
        of_fiche(5),
        of_fiche(99),
    ] {
        book("14:00", given).await.refused(400, 2, Some("group_id"));
    }
    let mut foreign = of_fiche(5);
    foreign["group_id"] = json!(4);
    // A name of the group comes first.
    book("15:00", foreign).await.refused(400, 2, Some("fiche.group_id"));
}

#[tokio::test]
async fn the_calendars_of_an_intervention_are_those_that_offer_it() {
    let server = TestServer::with(|catalogue| {
        let colour =
            catalogue.interventions.values_mut().find(|row| row.id.number() == COLOUR).unwrap();
        std::sync::Arc::make_mut(colour).publicname = Default::default();
    })
    .await;
    let older = server.get(&format!("/interventions/{CUT}/calendars")).await.is(200);
    assert_eq!(
        older,
        server.get(&format!("/groups/4/calendars?intervention_ids[]={CUT}")).await.is(200)
    );
    assert_eq!(older["totalRecords"], 2);
    let all = server
        .pro_get(&format!("/interventions/{CUT}/calendars?sort=id&dir=desc&results=1"))
        .await
        .is(200);
    assert_eq!(
        (&all["totalRecords"], &all["records"][0]["id"]),
        (&json!(3), &json!(HIDDEN_CALENDAR))
    );
    server.get(&format!("/interventions/{COLOUR}/calendars")).await.refused(404, 3, None);
    assert_eq!(
        server.pro_get(&format!("/interventions/{COLOUR}/calendars")).await.is(200)["totalRecords"],
        3
    );
}

#[tokio::test]
async fn an_account_in_two_groups_is_the_one_of_the_group_that_is_meant() {
    let (mut four, mut five) = (shop::group_four(|_| {}), shop::group_five());
    shop::open_account(&mut four, shop::OWN_FICHE, CLEO.0);
    shop::open_account(&mut five, 9_001, CLEO.0);
    let server = TestServer::serving(vec![four, five], |server| server).await;
    let cleo = async |method: Method, path: &str, body: Value| {
        answer(by_key_of_all(&server, method, path).basic_auth(CLEO.0, Some(CLEO.1)).json(&body))
            .await
    };
    let own = format!("/fiches/{}", shop::OWN_FICHE);
    assert_eq!(cleo(Method::GET, &own, json!({})).await.is(200)["id"], shop::OWN_FICHE);
    for group in [4, 5] {
        let list = cleo(Method::GET, &format!("/fiches?group_id={group}"), json!({})).await.is(200);
        assert_eq!(
            (&list["totalRecords"], &list["records"][0]["group_id"]),
            (&json!(1), &json!(group))
        );
    }
    let put = json!({"fiche": {"firstname": "Cleo", "group_id": 4}});
    assert_eq!(cleo(Method::PUT, &own, put).await.is(200)["firstname"], "Cleo");
    // Nothing says which of the two is meant.
    cleo(Method::GET, "/fiches", json!({})).await.refused(401, 5, None);
}

#[tokio::test]
async fn an_account_of_several_groups_finds_nothing_alike_whatever_a_number_is_of_and_is_not_locked_out()
 {
    let (mut four, mut five) = (shop::group_four(|_| {}), shop::group_five());
    shop::open_account(&mut four, shop::OWN_FICHE, CLEO.0);
    shop::open_account(&mut five, 9_001, CLEO.0);
    // Of the same address, with a password of its own.
    let mut elsewhere = five.accounts[CLEO.0].as_ref().clone();
    elsewhere.password_hash = hash_password(&sha1_hex("another"));
    five.accounts.insert(elsewhere.email.folded(), elsewhere.into());
    let server = TestServer::serving(vec![four, five], |server| server).await;
    let eves = eves_fiche(&server).await;
    let ask = async |method: Method, path: &str, password: &str| {
        answer(by_key_of_all(&server, method, path).basic_auth(CLEO.0, Some(password))).await
    };
    let absent = ask(Method::GET, "/fiches/999999999", "secret").await;
    absent.refused(404, 3, None);
    // Of another client, of her other account, of another group's client, of nobody.
    let foreign = [KNOWN_FICHE, 9_001, eves, 0].map(|id| format!("/fiches/{id}"));
    let others =
        ["/fiches/x", "/appointments/999999999", "/fiches?group_id=5", "/fiches?group_id=99"]
            .map(str::to_owned);
    for path in foreign.iter().chain(&others).cycle().take(24) {
        let answered = ask(Method::GET, path, "secret").await;
        answered.refused(404, 3, None);
        if foreign.contains(path) {
            assert_eq!(answered.text_without_numbers(), absent.text_without_numbers(), "{path}");
        }
    }
    let wrong = ask(Method::GET, "/fiches/999999999", "wrong").await;
    wrong.refused(401, 5, None);
    for path in &foreign {
        assert_eq!(ask(Method::GET, path, "wrong").await.text, wrong.text, "{path}");
    }
    let own = [(shop::OWN_FICHE, "secret"), (9_001, "another")];
    for (id, password) in own {
        assert_eq!(ask(Method::GET, &format!("/fiches/{id}"), password).await.is(200)["id"], id);
    }
    ask(Method::GET, &format!("/fiches/{}", shop::OWN_FICHE), "another")
        .await
        .refused(404, 3, None);
    ask(Method::GET, "/fiches?group_id=4", "another").await.refused(404, 3, None);
}
