//! Strangers who guess passwords to keep their owners out.

use reqwest::{Method, StatusCode};
use serde_json::json;
use slotbook::http::BookingLimits;

use crate::fixture::{ANNA, Answer, Practice, Visitor, answer};
use crate::mailbox::{Mailbox, mailing_practice};

/// The client of the demonstration who has an account.
const LOUISE: &str = "louise.thomas@example.org";

/// SHA-1 of the password of the demonstration's people.
fn sha1(password: &str) -> String {
    use sha1::Digest as _;
    data_encoding::HEXLOWER.encode(&sha1::Sha1::digest(password.as_bytes()))
}

/// Logs Anna in by a session, with the cookies of a browser.
async fn log_in(visitor: &Visitor, password: &str, cookies: &str) -> Answer {
    let login = json!({"pro": {"email": ANNA.0, "password": sha1(password)}});
    let request = visitor.request(Method::POST, "/sessions/login").json(&login);
    answer(request.header("cookie", cookies)).await
}

/// The cookie by which a browser is known after a login.
fn device_cookie(logged_in: &Answer) -> String {
    let cookies = logged_in.headers.get_all("set-cookie").iter();
    let mut cookies = cookies.filter_map(|cookie| cookie.to_str().ok());
    let device = cookies.find(|cookie| cookie.starts_with("_device="));
    device.expect("a second cookie").split(';').next().expect("a pair").to_owned()
}

/// Guesses Anna's password from ever new networks until the address is delayed for longest.
async fn lock_out(practice: &Practice) {
    for n in 0..28 {
        let stranger = practice.forwarded(&format!("2001:db8:{n:x}::1"));
        while log_in(&stranger, "a guess", "").await.status == StatusCode::TOO_MANY_REQUESTS {
            practice.pass(30);
        }
    }
}

#[tokio::test]
async fn a_browser_that_has_logged_in_is_let_in_at_any_source() {
    let practice = Practice::open().await;
    let home = practice.forwarded("198.51.100.7");
    let logged_in = log_in(&home, ANNA.1, "").await;
    logged_in.is(200);
    let device = device_cookie(&logged_in);
    lock_out(&practice).await;
    let away = practice.forwarded("203.0.113.7");
    log_in(&away, ANNA.1, "").await.refused(429, 4);
    log_in(&away, ANNA.1, &device).await.is(200);
    // A stolen cookie brings no more guesses than a source has.
    let thief = practice.forwarded("203.0.113.8");
    for _ in 0..10 {
        assert_eq!(log_in(&thief, "a guess", &device).await.status, 401);
    }
    assert_eq!(log_in(&thief, "a guess", &device).await.status, 429);
    practice.pass(600);
    log_in(&away, ANNA.1, &device).await.is(200);
}

#[tokio::test]
async fn a_source_that_has_logged_in_waits_for_no_stranger() {
    let practice = Practice::open().await;
    let home = practice.forwarded("2001:db8:0:7::1");
    log_in(&home, ANNA.1, "").await.is(200);
    lock_out(&practice).await;
    log_in(&home, ANNA.1, "").await.is(200);
}

#[tokio::test]
async fn a_56_guesses_60_times_and_a_48_120_times_in_ten_minutes() {
    let practice = Practice::open().await;
    let mut guesses = 0;
    let mut of_site = 0;
    for n in 0..6 {
        // Two sources of each /56.
        for source in [n * 256, n * 256 + 1, n * 256 + 2] {
            let stranger = practice.forwarded(&format!("2001:db8:0:{source:x}::1"));
            for _ in 0..30 {
                let email = format!("{guesses}@example.org");
                let request = stranger.request(Method::GET, "/groups/1/calendars");
                let guess = answer(request.basic_auth(&email, Some("a guess"))).await;
                if guess.status == StatusCode::TOO_MANY_REQUESTS {
                    break;
                }
                guesses += 1;
            }
        }
        if n == 0 {
            of_site = guesses;
        }
    }
    assert_eq!([of_site, guesses], [60, 120]);
}

#[tokio::test]
async fn a_mailed_link_lets_the_owner_of_an_account_in() {
    link_lets_the_owner_in(async |owner, token, password| {
        let confirmation = json!({"token": token, "password": password});
        let request = owner.request(Method::POST, "/accounts/confirm").json(&confirmation);
        answer(request).await.status
    })
    .await;
}

#[tokio::test]
async fn the_page_of_a_mailed_link_lets_the_owner_of_an_account_in() {
    link_lets_the_owner_in(async |owner, token, password| {
        let request = owner.form(&format!("/m/{token}"), &[("password", password)]);
        request.send().await.expect("an answer").status()
    })
    .await;
}

/// Locks Louise out, and lets her in by a link that is followed in a given way.
async fn link_lets_the_owner_in(follow: impl AsyncFn(&Visitor, &str, &str) -> StatusCode) {
    const PASSWORD: &str = "another long password";
    let mailbox = Mailbox::open().await;
    let practice = mailing_practice(|_| {}, BookingLimits::DEFAULT, 500, Some(&mailbox)).await;
    let path = "/groups/1/appointments";
    for n in 0..30 {
        let stranger = practice.forwarded(&format!("2001:db8:{n:x}::1"));
        answer(stranger.request(Method::GET, path).basic_auth(LOUISE, Some("a guess"))).await;
    }
    let owner = practice.forwarded("198.51.100.7");
    let log_in = async |password| {
        let request = owner.request(Method::GET, path);
        answer(request.basic_auth(LOUISE, Some(password))).await
    };
    log_in("demo-password").await.refused(429, 4);
    let account = json!({"account": {"email": LOUISE, "group_id": 1}});
    answer(owner.request(Method::POST, "/accounts").json(&account)).await.is(201);
    let token = mailed_token(&mailbox).await;
    assert_eq!(follow(&owner, &token, PASSWORD).await, StatusCode::OK);
    // The source is recorded while the answer leaves.
    for _ in 0..200 {
        if log_in(PASSWORD).await.status == StatusCode::OK {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    panic!("the owner is kept out");
}

/// The token of the link that was mailed to Louise.
async fn mailed_token(mailbox: &Mailbox) -> String {
    for _ in 0..2_000 {
        let mails = mailbox.mails();
        let mail = mails.iter().find(|mail| mail.to == LOUISE && mail.text.contains("/m/"));
        if let Some(mail) = mail {
            let (_, token) = mail.text.split_once("/m/").expect("a link");
            let end = token.find(char::is_whitespace).expect("the mail goes on");
            return token[..end].to_owned();
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    panic!("no link was mailed");
}
