//! A session of a professional in a stranger's hands: it sets no password, and its owner ends it.

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use slotbook::password;

use crate::fixture::{ANNA, Answer, Practice, Visitor, answer};

/// A second professional of the practice.
const BEN: (&str, &str) = ("ben@example.org", "bens-own-password");

async fn with_ben() -> Practice {
    Practice::with(
        |document| {
            let pros = document["groups"][0]["pros"].as_array_mut().expect("a list");
            pros.push(json!({"id": 2, "email": BEN.0, "password": BEN.1, "lastname": "Ben"}));
        },
        |server| server,
    )
    .await
}

/// Logs in and returns the cookie.
async fn log_in(visitor: &Visitor, (email, plain): (&str, &str)) -> String {
    let sha1 = password::sha1_hex(plain);
    let body = json!({"pro": {"email": email, "password": sha1}});
    let made = answer(visitor.request(Method::POST, "/sessions/login").json(&body)).await;
    made.is(200);
    let cookie = made.headers["set-cookie"].to_str().expect("a text");
    cookie.split(';').next().expect("a pair").to_owned()
}

fn with_cookie(request: RequestBuilder, cookie: &str) -> RequestBuilder {
    request.header("cookie", cookie)
}

async fn put(visitor: &Visitor, cookie: &str, id: u64, fields: Value) -> Answer {
    let request = visitor.request(Method::PUT, &format!("/groups/1/pros/{id}"));
    answer(with_cookie(request, cookie).json(&json!({ "pro": fields }))).await
}

#[tokio::test]
async fn a_session_alone_sets_no_password() {
    let practice = with_ben().await;
    let visitor = practice.visitor("127.0.0.2");
    let cookie = log_in(&visitor, ANNA).await;
    let new = "another-long-password";
    put(&visitor, &cookie, 1, json!({"password": new})).await.refused(403, 1);
    let wrong = json!({"password": new, "current_password": "a-wrong-password"});
    put(&visitor, &cookie, 1, wrong).await.refused(401, 5);
    put(&visitor, &cookie, 2, json!({"password": new})).await.refused(403, 1);
    for (fields, field) in [
        (json!({"current_password": ANNA.1}), "password"),
        (json!({"password": "short", "current_password": ANNA.1}), "password"),
        (json!({"password": "password123", "current_password": ANNA.1}), "password"),
        (json!({"password": new, "email": "mallory@example.org"}), "email"),
    ] {
        let refused = put(&visitor, &cookie, 1, fields).await.is(400);
        assert_eq!(refused["errors"][0]["field"], field);
    }
    let shown = with_cookie(visitor.request(Method::GET, "/groups/1/pros/1"), &cookie);
    answer(shown.try_clone().expect("no body")).await.is(200);
    let right = json!({"password": new, "current_password": ANNA.1});
    put(&visitor, &cookie, 1, right).await.is(200);
    answer(shown).await.refused(403, 1);
    for (password, status) in [(ANNA.1, 401), (new, 200)] {
        let shown = visitor.request(Method::GET, "/groups/1/pros/1");
        answer(shown.basic_auth(ANNA.0, Some(password))).await.is(status);
    }
}

#[tokio::test]
async fn guesses_of_the_present_password_are_failed_logins() {
    let practice = with_ben().await;
    let visitor = practice.visitor("127.0.0.2");
    let cookie = log_in(&visitor, ANNA).await;
    for number in 0..12 {
        let guess = json!({
            "password": "another-long-password", "current_password": format!("guess-{number}-guess"),
        });
        let refused = put(&visitor, &cookie, 1, guess).await;
        if number < 10 {
            refused.refused(401, 5);
        } else {
            refused.refused(429, 4);
        }
    }
}

#[tokio::test]
async fn a_professional_who_left_has_no_session_and_no_login() {
    let practice = with_ben().await;
    let visitor = practice.visitor("127.0.0.2");
    let cookie = log_in(&visitor, BEN).await;
    let remove = async |id: u64| {
        let request = visitor.request(Method::DELETE, &format!("/groups/1/pros/{id}"));
        answer(request.basic_auth(ANNA.0, Some(ANNA.1))).await
    };
    let list = || visitor.request(Method::GET, "/groups/1/fiches");
    answer(with_cookie(list(), &cookie)).await.is(200);
    let by_key = visitor.request(Method::DELETE, "/groups/1/pros/2");
    answer(by_key).await.refused(403, 1);
    assert_eq!(remove(2).await.is(200)["email"], BEN.0);
    answer(with_cookie(list(), &cookie)).await.refused(403, 1);
    answer(list().basic_auth(BEN.0, Some(BEN.1))).await.refused(401, 5);
    remove(2).await.refused(404, 3);
    let last = remove(1).await.is(400);
    assert_eq!(last["errors"][0]["field"], "id");
    answer(list().basic_auth(ANNA.0, Some(ANNA.1))).await.is(200);
}
