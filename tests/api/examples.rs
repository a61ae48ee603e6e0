//! The example of each operation in the OpenAPI document, run against the demonstration by its own caller and by all
//! others.

use std::collections::BTreeMap;

use reqwest::{Method, RequestBuilder};
use serde_json::{Map, Value, json};

use crate::server::{Answer, TestServer, answer};
use crate::shop;

const LOGO: &[u8] = include_bytes!("../../data/openapi/logo.png");
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

fn examples() -> Map<String, Value> {
    serde_json::from_str(EXAMPLES).expect("an entry for each operation")
}

/// The request of an example, by a caller of the demonstration.
fn request(
    server: &TestServer,
    (method, path): &(Method, String),
    example: &Value,
    by: &str,
) -> RequestBuilder {
    let mut path = path.clone();
    for (name, value) in example["path"].as_object().into_iter().flatten() {
        path = path.replace(&format!("{{{name}}}"), &plain(value));
    }
    assert!(!path.contains('{'), "{path}");
    let mut query: Vec<(String, String)> = Vec::new();
    for (name, value) in example["query"].as_object().into_iter().flatten() {
        match value.as_array() {
            Some(items) => query.extend(items.iter().map(|it| (name.clone(), plain(it)))),
            None => query.push((name.clone(), plain(value))),
        }
    }
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
    if example["file"] == "logo.png" {
        return request.body(LOGO);
    }
    match example.get("body") {
        Some(body) => request.json(body),
        None => request,
    }
}

/// The departures of an answer from what the document says of an operation.
fn departures(document: &Value, operation: &(Method, String), answer: &Answer) -> Vec<String> {
    let (method, path) = operation;
    let method = method.as_str().to_lowercase();
    let responses = &document["paths"][path][&method]["responses"];
    let status = answer.status.as_str();
    let Some(mut response) = responses.get(status) else {
        return vec![format!("the status {status} is not documented: {}", answer.text)];
    };
    if let Some(reference) = response["$ref"].as_str() {
        response = document.pointer(&reference[1..]).expect("the reference leads somewhere");
    }
    let Some(schema) = response.pointer("/content/application~1json/schema") else {
        return Vec::new();
    };
    let Ok(body) = serde_json::from_str(&answer.text) else {
        return vec![format!("the body is no JSON: {}", answer.text)];
    };
    let schema = json!({"allOf": [schema], "components": document["components"]});
    let validator = jsonschema::draft202012::new(&schema).expect("a schema");
    let wrong = validator.iter_errors(&body);
    wrong.map(|error| format!("{status} {}: {error}", error.instance_path())).collect()
}

#[tokio::test]
async fn each_answer_to_each_caller_is_as_the_document_says() {
    let mut wrong = Vec::new();
    for by in ["anyone", "application", "account", "professional", "operator"] {
        let server = TestServer::demonstration().await;
        let document = answer(server.bare(Method::GET, "/api/v1/openapi.json")).await.is(200);
        let operations = operations(&document);
        for (operation_id, entry) in &examples() {
            let operation = &operations[operation_id];
            let answer = answer(request(&server, operation, &entry["example"], by)).await;
            for departure in departures(&document, operation, &answer) {
                wrong.push(format!("{operation_id} by {by}: {departure}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} departures:\n{}", wrong.len(), wrong.join("\n"));
}

/// A caller's requests one after another, each answer held against the document.
struct Walk<'s> {
    server: &'s TestServer,
    document: Value,
    operations: BTreeMap<String, (Method, String)>,
    by: &'static str,
    wrong: Vec<String>,
}

impl Walk<'_> {
    /// Sends the request of an operation and returns the status and the body of its answer.
    async fn step(&mut self, operation_id: &str, path: Value, query: Value, body: Value) -> Value {
        let mut example = json!({"path": path, "query": query});
        example["path"]["group_id"] = json!(1);
        if !body.is_null() {
            example["body"] = body;
        }
        let operation = &self.operations[operation_id];
        let answer = answer(request(self.server, operation, &example, self.by)).await;
        for departure in departures(&self.document, operation, &answer) {
            self.wrong.push(format!("{operation_id} by {}: {departure}", self.by));
        }
        let body: Value = serde_json::from_str(&answer.text).unwrap_or_default();
        json!({"status": answer.status.as_u16(), "body": body})
    }
}

#[tokio::test]
async fn each_answer_in_the_life_of_an_appointment_is_as_the_document_says() {
    let none = Value::Null;
    for (by, fiche) in [
        (
            "application",
            json!({"lastname": "Durand", "email": "durand@example.org", "comments": "new"}),
        ),
        ("account", json!({"lastname": "Thomas", "firstname": "Louise"})),
        ("professional", json!({"lastname": "Durand"})),
        ("operator", json!({"lastname": "Durand", "email": "durand@example.org"})),
    ] {
        let server = TestServer::demonstration().await;
        let document = answer(server.bare(Method::GET, "/api/v1/openapi.json")).await.is(200);
        let operations = operations(&document);
        let mut walk = Walk { server: &server, document, operations, by, wrong: Vec::new() };
        let search = json!({"intervention_ids[]": [1], "nDays": 14, "by": "day"});
        let found = walk.step("SearchSlots", json!({}), search.clone(), none.clone()).await;
        let starts = found["body"]["availabletimeslots"].as_array().expect("starts").clone();
        let start = |n: usize| starts[n]["start"].clone();
        let wish = |date: Value| json!({"date": date, "intervention_ids": [1], "fiche": fiche});
        let booking = json!({"appointment": wish(start(2))});
        let booked = walk.step("BookAppointment", json!({}), json!({}), booking.clone()).await;
        assert_eq!(booked["status"], 201, "{by}: {booked}");
        let record = &booked["body"]["records"][0];
        assert_eq!(
            record["fiche_id"] == 0,
            ["application", "operator"].contains(&by),
            "{by}: {record}"
        );
        walk.step("BookAppointment", json!({}), json!({}), booking).await;
        let (id, key) = (json!({"id": record["id"]}), json!({"key": record["key"]}));
        let shown = walk.step("ShowAppointment", id.clone(), key.clone(), none.clone()).await;
        assert_eq!(shown["status"], 200, "{by}: {shown}");
        walk.step("ListAppointments", json!({}), json!({}), none.clone()).await;
        walk.step(
            "ExplainStart",
            json!({}),
            json!({"intervention_ids[]": [1], "start": start(2)}),
            none.clone(),
        )
        .await;
        let held = json!({"hold": {"date": start(3), "intervention_ids": [1]}});
        let held = walk.step("HoldTime", json!({}), json!({}), held).await;
        let token = json!({"token": held["body"]["token"]});
        if held["status"] == 201 {
            let released = walk.step("ReleaseHold", json!({}), token, none.clone()).await;
            assert_eq!(released["status"], 200, "{by}: {released}");
        }
        for date in [start(4), json!("2020-01-06 09:00:00")] {
            let moved = json!({"appointment": {"date": date}});
            walk.step("MoveAppointment", id.clone(), key.clone(), moved).await;
        }
        for status in [200, 404] {
            let cancelled =
                walk.step("CancelAppointment", id.clone(), key.clone(), none.clone()).await;
            assert!(status == 404 || cancelled["status"] == status, "{by}: {cancelled}");
        }
        assert!(walk.wrong.is_empty(), "{}", walk.wrong.join("\n"));
    }
}

#[tokio::test]
async fn another_number_of_bookings_than_expected_is_answered_as_the_document_says() {
    let server = TestServer::demonstration().await;
    let document = answer(server.bare(Method::GET, "/api/v1/openapi.json")).await.is(200);
    let operations = operations(&document);
    let by = "professional";
    let mut walk = Walk { server: &server, document, operations, by, wrong: Vec::new() };
    let body = json!({"since": "2026-11-20 00:00:00", "count": 99});
    let refused = walk.step("CancelWebBookings", json!({}), json!({}), body.clone()).await;
    assert_eq!(refused["status"], 409, "{refused}");
    let appointments = walk.step("ListAppointments", json!({}), json!({}), Value::Null).await;
    let id = json!({"id": appointments["body"]["records"][0]["id"]});
    walk.step("CancelAlike", id, json!({}), body).await;
    assert!(walk.wrong.is_empty(), "{}", walk.wrong.join("\n"));
}

#[tokio::test]
async fn each_operation_has_an_example_that_the_demonstration_answers() {
    let server = TestServer::demonstration().await;
    let document = answer(server.bare(Method::GET, "/api/v1/openapi.json")).await.is(200);
    let operations = operations(&document);
    let examples = examples();
    assert_eq!(examples.len(), operations.len());
    for (operation_id, entry) in &examples {
        let example = &entry["example"];
        let by = example["by"].as_str().expect("a caller");
        let answer = answer(request(&server, &operations[operation_id], example, by)).await;
        let status = example["status"].as_u64().expect("a status");
        assert_eq!(u64::from(answer.status.as_u16()), status, "{operation_id}: {}", answer.text);
    }
}

#[tokio::test]
async fn each_operation_with_the_header_refuses_an_idempotency_key_that_is_none() {
    let server = TestServer::demonstration().await;
    let document = answer(server.bare(Method::GET, "/api/v1/openapi.json")).await.is(200);
    let mut refused = Vec::new();
    let mut accepted = Vec::new();
    for (operation_id, entry) in &examples() {
        let (method, path) = &operations(&document)[operation_id];
        let operation = &document["paths"][path][method.as_str().to_lowercase()];
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        if !parameters.into_iter().any(|it| it["name"] == "Idempotency-Key") {
            continue;
        }
        let example = &entry["example"];
        let by = example["by"].as_str().expect("a caller");
        let sent = request(&server, &(method.clone(), path.clone()), example, by);
        let answer = answer(sent.header("Idempotency-Key", "k".repeat(256))).await;
        if answer.status == 400 && answer.text.contains("Idempotency-Key") {
            refused.push(operation_id.clone());
        } else {
            accepted.push(format!("{operation_id}: {} {}", answer.status, answer.text));
        }
    }
    assert!(accepted.is_empty(), "{}", accepted.join("\n"));
    assert!(refused.contains(&"BookAppointment".to_owned()), "{refused:?}");
}
