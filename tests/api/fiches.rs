//! Clients' records, as professionals keep them.

use reqwest::Method;
use serde_json::{Value, json};

use crate::server::{Answer, TestServer, answer};
use crate::shop::{KNOWN_FICHE, clock};

const PATH: &str = "/groups/4/fiches";

async fn post(server: &TestServer, fiche: Value) -> Answer {
    answer(server.by_pro(Method::POST, PATH).json(&json!({ "fiche": fiche }))).await
}

async fn put(server: &TestServer, id: &Value, fiche: Value) -> Answer {
    answer(server.by_pro(Method::PUT, &format!("{PATH}/{id}")).json(&json!({ "fiche": fiche })))
        .await
}

#[tokio::test]
async fn a_client_is_made_changed_and_listed() {
    let server = TestServer::start().await;
    let made = post(&server, json!({"firstname": "Ada", "email": "a@example.org", "str1": "shy"}))
        .await
        .is(201);
    assert_eq!(
        (&made["lastname"], &made["str1"], &made["str0"]),
        (&json!(""), &json!("shy"), &Value::Null)
    );
    server.at(clock(9, 0));
    let changed =
        put(&server, &made["id"], json!({"lastname": "Byron", "comments": "kind", "str1": ""}))
            .await
            .is(200);
    assert_eq!(
        (&changed["firstname"], &changed["comments"], &changed["str1"]),
        (&json!("Ada"), &json!("kind"), &Value::Null)
    );
    assert_eq!(
        (&changed["created_at"], &changed["updated_at"]),
        (&made["created_at"], &json!("2025-06-02 09:00:00"))
    );
    server.at(clock(9, 30));
    assert_eq!(
        put(&server, &made["id"], changed.clone()).await.is(200),
        changed,
        "given again, it stands as it stood"
    );
    assert_eq!(server.pro_get(&format!("{PATH}/{}", made["id"])).await.is(200), changed);
    let list = server.pro_get(PATH).await.is(200);
    assert_eq!(
        (&list["totalRecords"], &list["records"][0]["id"]),
        (&json!(2), &json!(KNOWN_FICHE))
    );
    let several = post(&server, json!({"birthdate": "x", "str5": "y"})).await;
    assert_eq!(several.errors().len(), 3, "{}", several.text);
    put(&server, &made["id"], json!({"lastname": "", "firstname": ""})).await.refused(
        400,
        2,
        Some("lastname"),
    );
    put(&server, &json!(9_999), json!({"birthdate": "x"})).await.refused(404, 3, None);
    answer(server.by_pro(Method::DELETE, &format!("{PATH}/{KNOWN_FICHE}")))
        .await
        .refused(405, 2, None);
    server.get(PATH).await.refused(403, 1, None);
}

async fn put_by_externid(server: &TestServer, externid: &str, fiche: Value) -> Answer {
    let path = format!("{PATH}?externid={externid}");
    answer(server.by_pro(Method::PUT, &path).json(&json!({ "fiche": fiche }))).await
}

#[tokio::test]
async fn an_externid_makes_one_client_and_changes_it_from_then_on() {
    let server = TestServer::start().await;
    let ada = json!({"firstname": "Ada"});
    let made = put_by_externid(&server, "7", ada.clone()).await;
    let id = made.is(201)["id"].clone();
    assert_eq!(made.headers["location"], format!("/api/v1{PATH}/{id}"));
    assert_eq!(made.json()["externid"], 7);
    assert_eq!(put_by_externid(&server, "7", ada).await.is(200), made.json());
    let changed = put_by_externid(&server, "7", json!({"lastname": "Byron"})).await.is(200);
    assert_eq!((&changed["id"], &changed["firstname"]), (&id, &json!("Ada")));
    put_by_externid(&server, "7", json!({"externid": "7"})).await.is(200);
    put_by_externid(&server, "7", json!({"externid": 8})).await.refused(400, 2, Some("externid"));
    put_by_externid(&server, "seven", json!({})).await.refused(400, 2, Some("externid"));
    put_by_externid(&server, "", json!({})).await.refused(400, 2, Some("externid"));
    put_by_externid(&server, "8", json!({})).await.refused(400, 2, Some("lastname"));
    let by_key = server.by_key(Method::PUT, &format!("{PATH}?externid=7"));
    answer(by_key.json(&json!({"fiche": {}}))).await.refused(403, 1, None);
    let path = format!("{PATH}?externid=7");
    let other_form = server.by_pro(Method::PUT, &path).header("If-Match", "\"nonsense\"");
    answer(other_form.json(&json!({"fiche": {}}))).await.refused(412, 2, Some("If-Match"));
    for tag in ["*", "\"nonsense\""] {
        let new = server.by_pro(Method::PUT, &format!("{PATH}?externid=9")).header("If-Match", tag);
        let refused = answer(new.json(&json!({"fiche": {"lastname": "New"}}))).await;
        refused.refused(412, 2, Some("If-Match"));
        assert!(refused.json().get("current").is_none(), "{}", refused.text);
    }
}

#[tokio::test]
async fn an_externid_of_two_clients_is_a_conflict_until_one_is_deleted() {
    let server = TestServer::start().await;
    let first =
        post(&server, json!({"lastname": "One", "externid": 7})).await.is(201)["id"].clone();
    let second =
        post(&server, json!({"lastname": "Two", "externid": 7})).await.is(201)["id"].clone();
    let both = put_by_externid(&server, "7", json!({"lastname": "Three"})).await;
    both.refused(409, 2, Some("externid"));
    assert!(both.text.contains(&format!("fiches {first} and {second} ")), "{}", both.text);
    put(&server, &first, json!({"deleted": true})).await.is(200);
    let changed = put_by_externid(&server, "7", json!({"lastname": "Three"})).await.is(200);
    assert_eq!(changed["id"], second);
    put(&server, &second, json!({"deleted": true})).await.is(200);
    put_by_externid(&server, "7", json!({"lastname": "Four"})).await.refused(
        409,
        2,
        Some("externid"),
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_at_once_make_one_client() {
    let server = TestServer::start().await;
    // From now on the check of the password takes no time, so that the requests meet.
    server.pro_get(PATH).await.is(200);
    let mut senders = tokio::task::JoinSet::new();
    for _ in 0..32 {
        let request = server.by_pro(Method::PUT, &format!("{PATH}?externid=7"));
        senders.spawn(answer(request.json(&json!({"fiche": {"lastname": "One"}}))));
    }
    let answers = senders.join_all().await;
    let made = answers.iter().filter(|answer| answer.status == 201).count();
    let found = answers.iter().filter(|answer| answer.status == 200).count();
    assert_eq!((made, found), (1, 31));
    let list = server.pro_get(PATH).await.is(200);
    assert_eq!(list["totalRecords"], 2, "the one made and the known one");
}

#[tokio::test]
async fn a_deleted_client_shows_a_dollar_and_comes_back_under_the_own_name() {
    let server = TestServer::start().await;
    let id = json!(KNOWN_FICHE);
    let deleted = put(&server, &id, json!({"deleted": true})).await.is(200);
    assert_eq!((&deleted["lastname"], &deleted["deleted"]), (&json!("$Known"), &json!(true)));
    let again = put(&server, &id, json!({"lastname": "$Known"})).await.is(200);
    assert_eq!(again["lastname"], "$Known");
    let back = put(&server, &id, json!({"lastname": "$Known", "deleted": 0})).await.is(200);
    assert_eq!((&back["lastname"], &back["deleted"]), (&json!("Known"), &json!(false)));
}

#[tokio::test]
async fn what_the_group_demands_of_a_new_client_is_demanded() {
    let server = TestServer::with(|catalogue| {
        for field in catalogue.customfields.values_mut() {
            std::sync::Arc::make_mut(field).pro_required = true;
        }
    })
    .await;
    let refused = post(&server, json!({"lastname": "Byron"})).await;
    assert_eq!(refused.errors().len(), 2, "{}", refused.text);
    let made = post(&server, json!({"lastname": "Byron", "str0": "a", "str1": "b"})).await.is(201);
    put(&server, &made["id"], json!({"str0": ""})).await.is(200);
}

/// Makes two records of one client, each with an appointment.
async fn two_records(server: &TestServer) -> (u64, u64) {
    let mut ids = [0, 0];
    for (id, (name, hour)) in ids.iter_mut().zip([("Kept", 9), ("Other", 10)]) {
        let email = format!("{name}@example.org");
        let made = post(server, json!({"lastname": name, "email": email})).await.is(201);
        *id = made["id"].as_u64().expect("an id");
        let event = json!({"vevent": {"calendar_id": crate::shop::CALENDAR, "fiche_id": *id,
            "intervention_id": crate::shop::CUT, "start": format!("2025-06-04 {hour:02}:00:00"),
            "end": format!("2025-06-04 {hour:02}:30:00")}});
        answer(server.by_pro(Method::POST, "/groups/4/vevents").json(&event)).await.is(201);
    }
    (ids[0], ids[1])
}

async fn merge(server: &TestServer, kept: u64, body: &Value) -> Answer {
    answer(server.by_pro(Method::POST, &format!("{PATH}/{kept}/merge")).json(body)).await
}

#[tokio::test]
async fn two_records_of_a_client_become_one_and_both_ids_are_read() {
    let server = TestServer::start().await;
    let (kept, other) = two_records(&server).await;
    server.at(clock(9, 0));
    let body = json!({"fiche_id": other, "fiche": {"firstname": "Ada"}});
    let merged = merge(&server, kept, &body).await.is(200);
    assert_eq!((&merged["id"], &merged["firstname"]), (&json!(kept), &json!("Ada")));
    assert_eq!(merged["merged_into"], Value::Null);
    let read = server.pro_get(&format!("{PATH}/{other}")).await.is(200);
    assert_eq!((&read["id"], &read["lastname"]), (&json!(kept), &json!("Kept")));
    assert_eq!(read["merged_into"], json!(kept));
    let appointments =
        server.pro_get(&format!("/groups/4/appointments?fiche_id={kept}")).await.is(200);
    assert_eq!(appointments["totalRecords"], 2);
    let list = server.pro_get(&format!("{PATH}?results=all")).await.is(200);
    let rows = list["records"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["id"] == json!(other)).expect("it is there");
    assert_eq!((&row["deleted"], &row["merged_into"]), (&json!(true), &json!(kept)));
    assert_eq!((&row["email"], &row["lastname"]), (&json!(""), &json!("$")));
    assert_eq!(row["updated_at"], merged["updated_at"], "a program that synchronises sees it");
    // Sent again, it changes nothing.
    let again = merge(&server, kept, &json!({"fiche_id": other})).await.is(200);
    assert_eq!(again, merged);
}

#[tokio::test]
async fn a_merged_record_is_not_written_and_the_refusal_names_the_kept_one() {
    let server = TestServer::start().await;
    let (kept, other) = two_records(&server).await;
    merge(&server, kept, &json!({"fiche_id": other})).await.is(200);
    let refused = put(&server, &json!(other), json!({"firstname": "X"})).await;
    refused.refused(400, 2, Some("id"));
    assert!(refused.text.contains(&format!("was merged into fiche {kept}")), "{}", refused.text);
    put(&server, &json!(other), json!({"deleted": false})).await.refused(400, 2, Some("id"));
    let event = json!({"vevent": {"calendar_id": crate::shop::CALENDAR, "fiche_id": other,
        "intervention_id": crate::shop::CUT, "start": "2025-06-04 11:00:00",
        "end": "2025-06-04 11:30:00"}});
    answer(server.by_pro(Method::POST, "/groups/4/vevents").json(&event)).await.refused(
        400,
        2,
        Some("fiche_id"),
    );
}

#[tokio::test]
async fn a_merge_of_wrong_records_is_refused_and_changes_nothing() {
    let server = TestServer::start().await;
    let (kept, other) = two_records(&server).await;
    let gone = post(&server, json!({"lastname": "Gone", "deleted": true})).await.is(201);
    let gone = gone["id"].as_u64().expect("an id");
    let state = || {
        let four = slotbook::domain::records::ids::GroupId::new(4).expect("an id");
        server.engine.published().group_state(four).expect("group 4").sequence
    };
    let before = state();
    for body in [
        json!({}),
        json!({"fiche_id": kept}),
        json!({"fiche_id": 999_999}),
        json!({"fiche_id": "x"}),
        json!({"fiche_id": 0}),
        json!({"fiche_id": []}),
    ] {
        merge(&server, kept, &body).await.refused(400, 2, Some("fiche_id"));
    }
    merge(&server, kept, &json!({"fiche_id": other, "fiche": 3})).await.refused(
        400,
        2,
        Some("fiche"),
    );
    let wrong = json!({"fiche_id": other, "fiche": {"email": "none"}});
    merge(&server, kept, &wrong).await.refused(400, 2, Some("email"));
    let nameless = json!({"fiche_id": other, "fiche": {"lastname": "", "firstname": ""}});
    merge(&server, kept, &nameless).await.refused(400, 2, Some("lastname"));
    merge(&server, gone, &json!({"fiche_id": other})).await.refused(400, 2, Some("id"));
    assert_eq!(merge(&server, 999_999, &json!({"fiche_id": other})).await.status, 404);
    let request = server.by_pro(Method::POST, &format!("{PATH}/{kept}/merge"));
    let stale = request.header("if-match", "\"other\"").json(&json!({"fiche_id": other}));
    assert_eq!(answer(stale).await.status, 412);
    for by in [
        server.by_key(Method::POST, &format!("{PATH}/{kept}/merge")),
        server.by_account(Method::POST, &format!("{PATH}/{kept}/merge")),
    ] {
        let refused = answer(by.json(&json!({"fiche_id": other}))).await;
        assert!(matches!(refused.status.as_u16(), 401 | 403), "{}", refused.text);
    }
    assert_eq!(state(), before);
}
