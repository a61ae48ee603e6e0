//! The example of each operation in the OpenAPI document, run against the demonstration.

use std::collections::BTreeMap;

use reqwest::Method;
use serde_json::Value;

use crate::server::{TestServer, answer};
use crate::shop;

const EXAMPLES: &str = include_str!("../../data/openapi/operations.json");

/// Method and path of each operation on a current path, by its operationId.
fn operations(document: &Value) -> BTreeMap<String, (Method, String)> {
    let mut operations = BTreeMap::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("operations") {
            let id = operation["operationId"].as_str().expect("an id");
            let method = method.to_uppercase().parse().expect("a method");
            let id = id.strip_suffix("OnOlderPath").unwrap_or(id);
            // An operation that has only an older path is run on it.
            let is_older = operation["deprecated"] == true;
            if !is_older || !operations.contains_key(id) {
                operations.insert(id.to_owned(), (method, path.clone()));
            }
        }
    }
    operations
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[tokio::test]
async fn each_operation_has_an_example_that_the_demonstration_answers() {
    let server = TestServer::demonstration().await;
    let document = answer(server.bare(Method::GET, "/api/v1/openapi.json")).await.is(200);
    let operations = operations(&document);
    let examples: serde_json::Map<String, Value> =
        serde_json::from_str(EXAMPLES).expect("an entry for each operation");
    assert_eq!(examples.len(), operations.len());
    for (operation_id, entry) in &examples {
        let example = &entry["example"];
        let (method, path) = &operations[operation_id];
        let mut path = path.clone();
        for (name, value) in example["path"].as_object().into_iter().flatten() {
            path = path.replace(&format!("{{{name}}}"), &plain(value));
        }
        assert!(!path.contains('{'), "{operation_id}: {path}");
        let mut query: Vec<(String, String)> = Vec::new();
        for (name, value) in example["query"].as_object().into_iter().flatten() {
            match value.as_array() {
                Some(items) => query.extend(items.iter().map(|it| (name.clone(), plain(it)))),
                None => query.push((name.clone(), plain(value))),
            }
        }
        let by = example["by"].as_str().expect("a caller");
        let key = match by {
            "anyone" => None,
            "operator" => Some(shop::OPERATOR_KEY),
            _ => Some("demo-key-town-practice"),
        };
        query.extend(key.map(|key| ("apikey".to_owned(), key.to_owned())));
        let mut request = server.bare(method.clone(), &path).query(&query);
        let person = match by {
            "professional" => Some("anna@example.org"),
            "account" => Some("louise.thomas@example.org"),
            _ => None,
        };
        if let Some(email) = person {
            request = request.basic_auth(email, Some("demo-password"));
        }
        if let Some(body) = example.get("body") {
            request = request.json(body);
        }
        let answer = answer(request).await;
        let status = example["status"].as_u64().expect("a status");
        assert_eq!(u64::from(answer.status.as_u16()), status, "{operation_id}: {}", answer.text);
    }
}
