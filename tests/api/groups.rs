//! Groups that a program of the operator founds.

use reqwest::Method;
use serde_json::json;
use slotbook::engine::admission::AdmissionLimits;

use crate::server::{TestServer, answer};
use crate::shop;

async fn start() -> TestServer {
    let mut directory = shop::directory();
    shop::add_operator_key(&mut directory);
    let groups = vec![shop::group_four(|_| {}), shop::group_five()];
    TestServer::begin(AdmissionLimits::default(), directory, groups, |server| server).await
}

#[tokio::test]
async fn a_key_of_the_operator_founds_groups_and_lists_all() {
    let server = start().await;
    let by_operator = |method: Method, path: &str| {
        server.bare(method, path).header("X-Api-Key", shop::OPERATOR_KEY)
    };
    let body = json!({"group": {"name": "Nails & Co", "timezone": "Paris", "mailreminder": 60}});
    let made = answer(by_operator(Method::POST, "/api/v1/groups").json(&body)).await;
    assert_eq!(made.headers["location"], "/api/v1/groups/6");
    let group = made.is(201);
    assert_eq!((&group["id"], &group["urlname"]), (&json!(6), &json!("nails-co")));
    assert_eq!(group["mailreminder"], 60);
    let shown = answer(by_operator(Method::GET, "/api/v1/groups/6")).await.is(200);
    assert_eq!(shown["name"], "Nails & Co");
    let list = answer(by_operator(Method::GET, "/api/v1/groups")).await.is(200);
    assert_eq!(list["totalRecords"], 3);
    for (query, ids, start) in [
        ("", vec![4, 5, 6], 0),
        ("?results=2", vec![4, 5], 0),
        ("?results=2&startIndex=2", vec![6], 2),
        ("?results=all&startIndex=1", vec![5, 6], 1),
        ("?results=1&startIndex=9", vec![], 9),
        ("?results=2&dir=desc", vec![6, 5], 0),
        ("?results=2&startIndex=1&sort=id", vec![5, 6], 1),
    ] {
        let page =
            answer(by_operator(Method::GET, &format!("/api/v1/groups{query}"))).await.is(200);
        let records = page["records"].as_array().expect("a list");
        let shown: Vec<_> =
            records.iter().map(|group| group["id"].as_i64().expect("an id")).collect();
        assert_eq!(shown, ids, "{query}");
        let counts = (&page["totalRecords"], &page["recordsReturned"], &page["startIndex"]);
        assert_eq!(counts, (&json!(3), &json!(ids.len()), &json!(start)), "{query}");
    }
    let module = answer(by_operator(Method::GET, "/api/v1/modules/nails-co")).await;
    assert_eq!(module.status, 200, "{}", module.text);
}

#[tokio::test]
async fn a_new_group_needs_a_key_of_the_operator_legal_fields_and_no_idempotency_key() {
    let server = start().await;
    let post = |key: &str| server.bare(Method::POST, "/api/v1/groups").header("X-Api-Key", key);
    let body = json!({"group": {"name": "Nails", "timezone": "Paris"}});
    for key in [shop::KEY, shop::KEY_OF_ALL] {
        answer(post(key).json(&body)).await.refused(403, 1, None);
        let by_pro = post(key).basic_auth(shop::ANN.0, Some(shop::ANN.1)).json(&body);
        answer(by_pro).await.refused(403, 1, None);
    }
    let wrong = json!({"group": {"name": " ", "timezone": "Nowhere"}});
    let refused = answer(post(shop::OPERATOR_KEY).json(&wrong)).await;
    let field = |name: &str| Some(name.to_owned());
    assert_eq!(refused.errors(), [(2, field("name")), (2, field("timezone"))]);
    let once = post(shop::OPERATOR_KEY).header("Idempotency-Key", "a-key-of-sixteen-letters");
    answer(once.json(&body)).await.refused(400, 2, Some("Idempotency-Key"));
    let list = server.bare(Method::GET, "/api/v1/groups").header("X-Api-Key", shop::OPERATOR_KEY);
    assert_eq!(answer(list).await.is(200)["totalRecords"], 2, "nothing was made");
}
