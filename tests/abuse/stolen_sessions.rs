//! A session of a professional in a stranger's hands: it sets no password, and its owner ends it.

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use slotbook::domain::records::message::MessageContent;
use slotbook::password;

use crate::fixture::{ANNA, Answer, Practice, Visitor, answer};
use crate::mailbox::Mailbox;

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
        (json!({"password": password::sha1_hex("1"), "current_password": ANNA.1}), "password"),
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
    for number in 0..24 {
        // A stolen session goes to other networks.
        let visitor = practice.forwarded(&format!("2001:db8:{:x}::1", number / 2));
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
async fn guesses_of_the_present_password_that_come_at_once_are_no_more() {
    let practice = with_ben().await;
    let visitor = practice.visitor("127.0.0.2");
    let cookie = log_in(&visitor, ANNA).await;
    let mut guesses = tokio::task::JoinSet::new();
    for number in 0..60 {
        let guess = json!({
            "password": "another-long-password", "current_password": format!("guess-{number}-guess"),
        });
        let request = visitor.request(Method::PUT, "/groups/1/pros/1");
        let request = with_cookie(request, &cookie).json(&json!({ "pro": guess }));
        guesses.spawn(async move { answer(request).await.status });
    }
    let statuses = guesses.join_all().await;
    let tried = statuses.iter().filter(|status| **status == 401).count();
    // Two are verified at once, and two more may begin before those are counted.
    assert!((10..=10 + 4).contains(&tried), "{tried} of {statuses:?}");
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

/// The token of the last link that was mailed.
fn last_token(practice: &Practice) -> String {
    let state = practice.state();
    let mut last = None;
    for message in state.outbox.messages() {
        if let MessageContent::AccountLink { token, .. } = &message.content {
            last = Some(token.as_str().to_owned());
        }
    }
    last.expect("a link was mailed")
}

/// The notices about accounts, each with its recipient.
fn notices(practice: &Practice) -> Vec<(&'static str, String)> {
    let state = practice.state();
    let mut notices = Vec::new();
    for message in state.outbox.messages() {
        if matches!(&message.content, MessageContent::AccountNotice(_)) {
            notices.push((message.kind().name(), message.recipient.as_str().to_owned()));
        }
    }
    notices
}

#[tokio::test]
async fn the_former_address_is_told_of_another_password_and_of_another_address() {
    let mailbox = Mailbox::open().await;
    let practice = Practice::with(|_| {}, |server| server.with_gateways(mailbox.gateways())).await;
    let visitor = practice.visitor("127.0.0.2");
    let follow = async |body: Value| {
        answer(visitor.request(Method::POST, "/accounts/confirm").json(&body)).await
    };
    let ask = async |email: &str| {
        let body = json!({"account": {"email": email, "group_id": 1}});
        answer(visitor.request(Method::POST, "/accounts").json(&body)).await.is(201);
    };
    ask("new.client@example.org").await;
    let password = "the-first-password";
    follow(json!({"token": last_token(&practice), "password": password})).await.is(200);
    assert_eq!(notices(&practice), [], "there was no account before");
    let louise = "louise.thomas@example.org";
    ask(louise).await;
    let password = "another-long-password";
    follow(json!({"token": last_token(&practice), "password": password})).await.is(200);
    let mut expected = vec![("password_changed", louise.to_owned())];
    assert_eq!(notices(&practice), expected);
    let fiche = practice.state().accounts[louise].fiche_id;
    let change = visitor.request(Method::PUT, &format!("/groups/1/fiches/{fiche}"));
    let change = change.basic_auth(louise, Some(password));
    let body = json!({"fiche": {"email": "louise.elsewhere@example.org"}});
    answer(change.json(&body)).await.is(200);
    assert_eq!(notices(&practice), expected, "not before the link is followed");
    follow(json!({"token": last_token(&practice)})).await.is(200);
    expected.push(("email_changed", louise.to_owned()));
    assert_eq!(notices(&practice), expected);
}

#[tokio::test]
async fn a_login_with_a_new_device_is_mailed_to_its_owner_a_few_times_a_day() {
    let mailbox = Mailbox::open().await;
    let practice = Practice::with(|_| {}, |server| server.with_gateways(mailbox.gateways())).await;
    // Returns the cookie of the browser, once so many sources are known and notices written.
    let log_in = async |address: &str, cookies: &str, [sources, told]: [usize; 2]| {
        let login = json!({"pro": {"email": ANNA.0, "password": password::sha1_hex(ANNA.1)}});
        let visitor = practice.forwarded(address);
        let request = visitor.request(Method::POST, "/sessions/login").json(&login);
        let answer = answer(request.header("cookie", cookies)).await;
        assert_eq!(answer.status, 200);
        let found = || {
            let directory = practice.engine.published().directory();
            [directory.known_logins.iter().count(), notices(&practice).len()]
        };
        for _ in 0..400 {
            if found() == [sources, told] {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        assert_eq!(found(), [sources, told], "{address}");
        let cookies = answer.headers.get_all("set-cookie").iter();
        let mut cookies = cookies.filter_map(|cookie| cookie.to_str().ok());
        let device = cookies.find(|cookie| cookie.starts_with("_device=")).expect("a cookie");
        device.split(';').next().expect("a pair").to_owned()
    };
    // Neither the first login of all is news, nor a known browser, nor a known source.
    let device = log_in("198.51.100.7", "", [1, 0]).await;
    log_in("203.0.113.1", &device, [2, 0]).await;
    log_in("198.51.100.7", "", [2, 0]).await;
    for (number, expected) in [(1, [3, 1]), (1, [3, 1]), (2, [4, 2]), (3, [5, 3]), (4, [6, 3])] {
        log_in(&format!("192.0.2.{number}"), "", expected).await;
    }
    assert_eq!(notices(&practice)[0], ("new_device", ANNA.0.to_owned()));
    practice.pass(24 * 3_600);
    log_in("192.0.2.5", "", [7, 4]).await;
}
