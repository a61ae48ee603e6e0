//! Webhooks as administrators keep them, and the end of one that fails for three days. Reference 18.4, 18.6.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use slotbook::domain::records::ids::GroupId;
use slotbook::domain::records::message::MessageKind;
use slotbook::domain::time::HOUR;
use slotbook::engine::webhooks::WebhookOptions;
use slotbook::http::webhook_sender;
use slotbook::notify::webhook::addresses::AllowedNetworks;

use crate::server::{Answer, TestServer, answer};
use crate::shop::{ANN, EVE, PAUL, RITA, clock, group_four};

const HOOK: &str = "https://hooks.example.org/slotbook";

async fn send(server: &TestServer, method: Method, path: &str, body: Value) -> Answer {
    answer(server.by_pro(method, &format!("/groups/4{path}")).json(&body)).await
}

async fn make(server: &TestServer, body: Value) -> Value {
    send(server, Method::POST, "/webhooks", body).await.is(201)
}

#[tokio::test]
async fn a_webhook_is_made_changed_listed_and_removed() {
    let server = TestServer::start().await;
    let made = make(&server, json!({"url": HOOK, "objects": ["vevent", "fiche"]})).await;
    assert!(made["secret"].as_str().is_some_and(|it| it.starts_with("whsec_") && it.len() == 50));
    assert_eq!((&made["id"], &made["active"]), (&json!(1), &json!(true)));
    assert_eq!(made["objects"], json!(["fiche", "vevent"]));
    let listed = server.pro_get("/groups/4/webhooks").await.is(200);
    assert_eq!(listed["records"][0]["url"], HOOK);
    assert_eq!(listed["records"][0].get("secret"), None);
    let change = json!({"active": false, "objects": []});
    let changed = send(&server, Method::PUT, "/webhooks/1", change).await.is(200);
    assert_eq!((&changed["off_reason"], &changed["objects"]), (&json!("by_hand"), &json!([])));
    assert_eq!(changed["url"], HOOK);
    let shown = server.pro_get("/groups/4/webhooks/1").await.is(200);
    assert_eq!(shown["answers"], json!([]));
    send(&server, Method::DELETE, "/webhooks/1", Value::Null).await.is(200);
    server.pro_get("/groups/4/webhooks/1").await.refused(404, 3, None);
    // Its number is not given again.
    assert_eq!(make(&server, json!({"url": HOOK})).await["id"], 2);
}

#[tokio::test]
async fn a_wrong_field_is_named_and_changes_nothing() {
    let server = TestServer::start().await;
    let group = GroupId::new(4).expect("an id");
    let sequence = || server.engine.published().group_state(group).expect("a group").sequence;
    let before = sequence();
    for (body, field) in [
        (json!({}), "url"),
        (json!({"url": "http://hooks.example.org/"}), "url"),
        (json!({"url": "https://user@hooks.example.org/"}), "url"),
        (json!({"url": "https://hooks.example.org/#a"}), "url"),
        (json!({"url": "https://127.0.0.1/"}), "url"),
        (json!({"url": "https://[::1]/"}), "url"),
        (json!({"url": "https://169.254.169.254/latest"}), "url"),
        (json!({"url": "https://localhost/"}), "url"),
        (json!({"url": 7}), "url"),
        (json!({"url": HOOK, "objects": ["message"]}), "objects"),
        (json!({"url": HOOK, "objects": "vevent"}), "objects"),
        (json!({"url": HOOK, "objects": ["webhook"]}), "objects"),
        (json!({"url": HOOK, "active": "perhaps"}), "active"),
        (json!({"url": HOOK, "since": "yesterday"}), "since"),
        (json!({"url": HOOK, "secret": "whsec_x"}), "secret"),
    ] {
        let refused = send(&server, Method::POST, "/webhooks", body.clone()).await;
        assert_eq!(refused.errors(), [(2, Some(field.to_owned()))], "{body}");
    }
    let gone = json!({"url": HOOK, "since": "1-1-00000001"});
    assert_eq!(send(&server, Method::POST, "/webhooks", gone).await.status, 410);
    assert_eq!(sequence(), before);
    for _ in 0..10 {
        make(&server, json!({"url": HOOK})).await;
    }
    let eleventh = send(&server, Method::POST, "/webhooks", json!({"url": HOOK})).await;
    eleventh.refused(400, 2, Some("webhook"));
}

#[tokio::test]
async fn administrators_of_the_group_alone_see_its_webhooks() {
    let server = TestServer::with_team(|_| {}).await;
    make(&server, json!({"url": HOOK})).await;
    for person in [RITA, PAUL] {
        for path in ["/groups/4/webhooks", "/groups/4/webhooks/1"] {
            answer(server.by(person, Method::GET, path)).await.refused(403, 1, None);
        }
        let test = server.by(person, Method::POST, "/groups/4/webhooks/1/test");
        answer(test).await.refused(403, 1, None);
    }
    answer(server.by_key(Method::GET, "/groups/4/webhooks")).await.refused(403, 1, None);
    // A group of others is as if absent.
    answer(server.by(EVE, Method::GET, "/groups/4/webhooks/1")).await.refused(404, 3, None);
    answer(server.by(EVE, Method::DELETE, "/groups/5/webhooks/1")).await.refused(404, 3, None);
    answer(server.by(ANN, Method::GET, "/groups/4/webhooks/1")).await.is(200);
}

#[tokio::test]
async fn a_webhook_that_fails_for_three_days_is_off_and_its_administrators_get_a_mail() {
    let sender = Arc::new(webhook_sender(AllowedNetworks::new(vec![
        "127.0.0.0/8".parse().expect("a network"),
    ])));
    let served = Arc::clone(&sender);
    let server = TestServer::serving(vec![group_four(|_| {})], |it| it.with_webhooks(served)).await;
    // Nothing listens there.
    make(&server, json!({"url": "http://127.0.0.1:9/"})).await;
    let delivering = server.engine.deliver_webhooks(WebhookOptions {
        sender,
        poll_interval_max: Duration::from_millis(5),
        record_interval: Duration::from_millis(5),
        sends_mail: true,
    });
    let client = json!({"fiche": {"lastname": "New"}});
    send(&server, Method::POST, "/fiches", client).await.is(201);
    let mut now = clock(8, 0);
    let mut failures = 0;
    let mut shown = Value::Null;
    for _ in 0..60 {
        for _ in 0..2_000 {
            shown = server.pro_get("/groups/4/webhooks/1").await.is(200);
            if shown["failures"].as_u64() > Some(failures) || shown["active"] == false {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        if shown["active"] == false {
            break;
        }
        failures = shown["failures"].as_u64().expect("a number");
        now = now.plus_seconds(3 * HOUR);
        server.at(now);
    }
    assert_eq!(shown["off_reason"], "failed", "{shown}");
    let hours = now.seconds_since(clock(8, 0)) / HOUR;
    assert!((72..=78).contains(&hours), "{hours}");
    assert_eq!(shown["answers"][0]["failure"], "unreachable");
    let group = GroupId::new(4).expect("an id");
    let state = server.engine.published().group_state(group).expect("a group");
    let mails: Vec<_> =
        state.outbox.messages().filter(|it| it.kind() == MessageKind::WebhookOff).collect();
    assert_eq!(mails.len(), 1, "{mails:?}");
    assert_eq!(mails[0].recipient.as_str(), ANN.0);
    // Once on again it is tried at once, from where it was.
    send(&server, Method::PUT, "/webhooks/1", json!({"active": true})).await.is(200);
    for _ in 0..2_000 {
        shown = server.pro_get("/groups/4/webhooks/1").await.is(200);
        if shown["failures"] == 1 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(shown["failures"], 1, "{shown}");
    delivering.stop().await;
}
