//! Strangers who guess passwords to keep their owners out.

use reqwest::{Method, StatusCode};
use serde_json::json;
use slotbook::http::BookingLimits;

use crate::fixture::{ANNA, Answer, Practice, Visitor, answer};
use crate::mailbox::{Mail, Mailbox, mailing_practice};

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
    for (site, stranger) in practice.neighbours() {
        for _ in 0..30 {
            let email = format!("{guesses}@example.org");
            let request = stranger.request(Method::GET, "/groups/1/calendars");
            let guess = answer(request.basic_auth(&email, Some("a guess"))).await;
            if guess.status == StatusCode::TOO_MANY_REQUESTS {
                break;
            }
            guesses += 1;
        }
        if site == 0 {
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

#[tokio::test]
async fn a_mailed_link_lets_a_professional_in_with_the_guesses_of_one_browser() {
    let mailbox = Mailbox::open().await;
    let practice = mailing_practice(|_| {}, BookingLimits::DEFAULT, 500, Some(&mailbox)).await;
    lock_out(&practice).await;
    let owner = practice.forwarded("198.51.100.7");
    log_in(&owner, ANNA.1, "").await.refused(429, 4);
    let link = format!("/m/{}", mailed_token(&mailbox, ANNA.0).await);
    let shown = owner.at_root(Method::GET, &link).send().await.expect("an answer");
    assert_eq!(shown.status(), 200);
    log_in(&owner, ANNA.1, "").await.refused(429, 4);
    let follow = async || {
        let followed = answer(owner.form(&link, &[])).await;
        assert_eq!(followed.status, 200);
        device_cookie(&followed)
    };
    let [first, second] = [follow().await, follow().await];
    let away = practice.forwarded("203.0.113.7");
    log_in(&away, ANNA.1, &first).await.is(200);
    // Programs at the source of the link log in too, once it is recorded.
    let mut by_password = StatusCode::TOO_MANY_REQUESTS;
    for _ in 0..200 {
        let request = owner.request(Method::GET, "/groups/1/fiches");
        by_password = answer(request.basic_auth(ANNA.0, Some(ANNA.1))).await.status;
        if by_password == 200 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert_eq!(by_password, 200);
    let thief = practice.forwarded("203.0.113.8");
    for n in 0..10 {
        let cookie = if n < 5 { &first } else { &second };
        assert_eq!(log_in(&thief, "a guess", cookie).await.status, 401);
    }
    for cookie in [&first, &second, &follow().await] {
        assert_eq!(log_in(&thief, "a guess", cookie).await.status, 429);
    }
    let links = || {
        let to_anna = |mail: &&Mail| mail.to == ANNA.0 && mail.text.contains("/m/l.");
        mailbox.mails().iter().filter(to_anna).count()
    };
    assert_eq!(links(), 1, "one in 24 hours");
    practice.pass(24 * 3_600);
    assert_eq!(answer(owner.form(&link, &[])).await.status, 404, "it has expired");
    assert_eq!(links(), 1);
}

#[tokio::test]
async fn a_link_to_log_in_ends_with_the_password_and_cannot_be_forged() {
    let mailbox = Mailbox::open().await;
    let practice = mailing_practice(|_| {}, BookingLimits::DEFAULT, 500, Some(&mailbox)).await;
    let home = practice.forwarded("198.51.100.7");
    log_in(&home, ANNA.1, "").await.is(200);
    lock_out(&practice).await;
    let away = practice.forwarded("203.0.113.7");
    log_in(&away, ANNA.1, "").await.refused(429, 4);
    let token = mailed_token(&mailbox, ANNA.0).await;
    let follow = async |token: &str| answer(away.form(&format!("/m/{token}"), &[])).await.status;
    for part in 0..4 {
        let mut parts: Vec<String> = token.split('.').map(str::to_owned).collect();
        parts[part] += "0";
        assert_eq!(follow(&parts.join(".")).await, 404, "{part}");
    }
    assert_eq!(follow(&token).await, 200);
    let change = home.request(Method::PUT, "/groups/1/pros/1").basic_auth(ANNA.0, Some(ANNA.1));
    let body = json!({"pro": {"password": "another long password"}});
    answer(change.json(&body)).await.is(200);
    assert_eq!(follow(&token).await, 404);
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
    let token = mailed_token(&mailbox, LOUISE).await;
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

/// The token of the link that was mailed to an address.
async fn mailed_token(mailbox: &Mailbox, to: &str) -> String {
    for _ in 0..2_000 {
        let mails = mailbox.mails();
        let mail = mails.iter().find(|mail| mail.to == to && mail.text.contains("/m/"));
        if let Some(mail) = mail {
            let (_, token) = mail.text.split_once("/m/").expect("a link");
            let end = token.find(char::is_whitespace).expect("the mail goes on");
            return token[..end].to_owned();
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    panic!("no link was mailed");
}
