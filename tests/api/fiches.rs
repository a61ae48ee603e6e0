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
