//! Attacks on the logins of professionals at their own screens.

use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::json;
use slotbook::http::BookingLimits;
use slotbook::notify::Gateways;
use slotbook::password;

use crate::fixture::{ANNA, Answer, Practice, Visitor, answer};
use crate::mailbox::{Mailbox, mailing_practice};

const EVIL: &str = "https://evil.example";

/// The form of a login, as a browser of the visitor sends it from the page of the login.
fn login_form(visitor: &Visitor, password: &str, next: &str) -> RequestBuilder {
    let query = form_urlencoded::Serializer::new(String::new()).append_pair("next", next).finish();
    visitor.form(&format!("/login?{query}"), &[("email", ANNA.0), ("password", password)])
}

/// The cookies that an answer sets.
fn cookies(answer: &Answer) -> Vec<String> {
    let set = answer.headers.get_all("set-cookie").iter();
    set.map(|set| set.to_str().expect("a text").split(';').next().expect("a pair").to_owned())
        .collect()
}

/// Logs Anna in, and returns the cookie of the login.
async fn log_in(visitor: &Visitor) -> String {
    let made = answer(login_form(visitor, ANNA.1, "")).await;
    assert_eq!(made.status, 303, "{}", made.text);
    let cookie = cookies(&made).into_iter().find(|pair| pair.starts_with("_practice="));
    cookie.expect("a login")
}

/// A request that changes something, with the cookie of a login and no key.
fn write(visitor: &Visitor, cookie: &str) -> RequestBuilder {
    let request = visitor.bare(Method::POST, "/groups/1/fiches").header("cookie", cookie);
    request.json(&json!({"fiche": {"lastname": "Durand"}}))
}

fn with(request: RequestBuilder, headers: &[(&str, &str)]) -> RequestBuilder {
    headers.iter().fold(request, |request, (name, value)| request.header(*name, *value))
}

#[tokio::test]
async fn a_form_of_another_site_logs_no_one_in_or_out_and_asks_for_no_link() {
    let mailbox = Mailbox::open().await;
    let practice = Practice::with(|_| {}, |server| server.with_gateways(mailbox.gateways())).await;
    let visitor = practice.visitor("127.0.0.2");
    let cookie = log_in(&visitor).await;
    let logins = || practice.engine.published().directory().pro_logins.len();
    let before = practice.state();
    for headers in [
        &[("origin", EVIL)][..],
        &[("origin", "null")],
        &[("origin", EVIL), ("sec-fetch-site", "same-origin"), ("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site")],
        &[("sec-fetch-site", "none")],
    ] {
        for form in [
            login_form(&visitor, ANNA.1, ""),
            visitor.form("/logout", &[]),
            visitor.form("/login/forgotten", &[("email", ANNA.0)]),
            visitor.form("/p/cabinet-de-sante-des-tilleuls/logins", &[("end", "others")]),
        ] {
            let form = with(form, headers).header("cookie", &cookie);
            let refused = answer(form).await;
            assert_eq!(refused.status, 403, "{headers:?} {}", refused.text);
            assert!(cookies(&refused).is_empty());
        }
        assert_eq!(logins(), 1, "{headers:?}");
    }
    assert!(practice.state().outbox.messages().eq(before.outbox.messages()));
}

#[tokio::test]
async fn after_a_login_no_address_leads_to_another_host() {
    let practice = Practice::open().await;
    let visitor = practice.visitor("127.0.0.2");
    for next in [
        "//evil.example/",
        "/\\evil.example/",
        "\\\\evil.example",
        "https://evil.example/",
        "/\t/evil.example",
        "/\r\nSet-Cookie: _practice=stolen",
        "javascript:alert(1)",
        "evil.example",
        "/caf\u{e9}",
    ] {
        let made = answer(login_form(&visitor, ANNA.1, next)).await;
        assert_eq!(made.status, 303);
        assert_eq!(made.headers["location"], "/p", "{next:?}");
        assert!(!cookies(&made).contains(&"_practice=stolen".to_owned()));
        // Neither does the page of the form repeat it.
        let refused = answer(login_form(&visitor, "a guess", next)).await;
        assert_eq!(refused.status, 401);
        assert!(refused.text.contains("action=\"/login\""), "{}", refused.text);
    }
    let made = answer(login_form(&visitor, ANNA.1, "/p/a?b=c&d=//e")).await;
    assert_eq!(made.headers["location"], "/p/a?b=c&d=//e");
}

#[tokio::test]
async fn a_page_of_another_origin_does_nothing_with_the_cookie_of_a_login() {
    let practice = Practice::open().await;
    let own = format!("http://{}", practice.address());
    let visitor = practice.visitor("127.0.0.2");
    let cookie = log_in(&visitor).await;
    let before = practice.state().fiches.len();
    let read = || visitor.bare(Method::GET, "/groups/1/fiches").header("cookie", &cookie);
    for headers in [
        &[("origin", EVIL)][..],
        &[("origin", "null")],
        &[("origin", &*own), ("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site")],
        &[("sec-fetch-site", "none")],
    ] {
        answer(with(write(&visitor, &cookie), headers)).await.refused(403, 1);
        let refused = answer(with(read(), headers)).await;
        refused.refused(403, 1);
        assert!(!refused.headers.contains_key("access-control-allow-origin"), "{headers:?}");
    }
    answer(write(&visitor, &cookie)).await.refused(403, 1);
    assert_eq!(practice.state().fiches.len(), before);
    for headers in [&[("origin", &*own)][..], &[("sec-fetch-site", "same-origin")]] {
        answer(with(write(&visitor, &cookie), headers)).await.is(201);
        answer(with(read(), headers)).await.is(200);
    }
    assert_eq!(practice.state().fiches.len(), before + 2);
}

#[tokio::test]
async fn under_another_name_than_the_public_one_a_login_is_of_no_use() {
    let public = "https://practice.example";
    let configure = |server: slotbook::http::Server| {
        server.with_gateways(std::sync::Arc::new(Gateways::unconfigured(public)))
    };
    let practice = Practice::with(|_| {}, configure).await;
    let visitor = practice.visitor("127.0.0.2");
    let rebound = "http://evil.example";
    let host = [("host", "evil.example"), ("origin", rebound), ("sec-fetch-site", "same-origin")];
    let refused = answer(with(login_form(&visitor, ANNA.1, ""), &host)).await;
    assert_eq!(refused.status, 403);
    let own = [("origin", public), ("sec-fetch-site", "same-origin")];
    let made = answer(with(login_form(&visitor, ANNA.1, ""), &own)).await;
    assert_eq!(made.status, 303);
    let cookie = cookies(&made).remove(0);
    answer(with(write(&visitor, &cookie), &host)).await.refused(403, 1);
    answer(with(write(&visitor, &cookie), &own)).await.is(201);
}

#[tokio::test]
async fn guesses_at_the_screens_and_by_the_api_count_together() {
    let practice = Practice::open().await;
    let visitor = practice.visitor("127.0.0.2");
    let by_api = async |password: &str| {
        let login = json!({"pro": {"email": ANNA.0, "password": password::sha1_hex(password)}});
        answer(visitor.request(Method::POST, "/sessions/login").json(&login)).await.status
    };
    for number in 0..5 {
        assert_eq!(answer(login_form(&visitor, "a guess", "")).await.status, 401, "{number}");
        assert_eq!(by_api("another guess").await, StatusCode::UNAUTHORIZED, "{number}");
    }
    assert_eq!(by_api(ANNA.1).await, StatusCode::TOO_MANY_REQUESTS);
    let refused = answer(login_form(&visitor, ANNA.1, "")).await;
    assert_eq!(refused.status, 429);
    assert!(refused.headers.contains_key("retry-after"));
    assert!(refused.text.contains("<h1>"), "{}", refused.text);
    // A browser that is known goes on, as at the API.
    let other = practice.visitor("127.0.0.3");
    let known = answer(login_form(&other, ANNA.1, "")).await;
    let device = cookies(&known).into_iter().find(|pair| pair.starts_with("_device="));
    let device = device.expect("the cookie of the browser");
    let form = login_form(&visitor, ANNA.1, "").header("cookie", device);
    assert_eq!(answer(form).await.status, 303);
}

#[tokio::test]
async fn a_stolen_login_ends_with_the_next_password_and_with_its_professional() {
    let practice = Practice::with(
        |document| {
            let pros = document["groups"][0]["pros"].as_array_mut().expect("a list");
            pros.push(
                json!({"id": 2, "email": "ben@example.org", "password": "bens-own-password"}),
            );
        },
        |server| server,
    )
    .await;
    let owner = practice.visitor("127.0.0.2");
    let thief = practice.visitor("127.0.0.3");
    let stolen = log_in(&owner).await;
    let read = || thief.bare(Method::GET, "/groups/1/fiches").header("cookie", &stolen);
    answer(read()).await.is(200);
    // Alone it sets no password.
    let own = format!("http://{}", practice.address());
    let put = thief.bare(Method::PUT, "/groups/1/pros/1").header("cookie", &stolen);
    let put = put.header("origin", &own).json(&json!({"pro": {"password": "three plain words"}}));
    answer(put).await.refused(403, 1);
    let change = owner.request(Method::PUT, "/groups/1/pros/1").basic_auth(ANNA.0, Some(ANNA.1));
    answer(change.json(&json!({"pro": {"password": "three plain words"}}))).await.is(200);
    answer(read()).await.refused(403, 1);
    let page = thief.at_root(Method::GET, "/p").header("cookie", &stolen);
    assert_eq!(answer(page).await.headers["location"], "/login?next=%2Fp");
    assert!(practice.engine.published().directory().pro_logins.is_empty());
    let form = [("email", "ben@example.org"), ("password", "bens-own-password")];
    let made = answer(owner.form("/login", &form)).await;
    let ben = cookies(&made).remove(0);
    let remove = owner.request(Method::DELETE, "/groups/1/pros/2");
    answer(remove.basic_auth(ANNA.0, Some("three plain words"))).await.is(200);
    let read = thief.bare(Method::GET, "/groups/1/fiches").header("cookie", &ben);
    answer(read).await.refused(403, 1);
    assert!(practice.engine.published().directory().pro_logins.is_empty());
}

#[tokio::test]
async fn a_person_has_100_logins_and_the_oldest_makes_room() {
    let practice = Practice::open().await;
    let visitor = practice.visitor("127.0.0.2");
    let first = log_in(&visitor).await;
    practice.pass(1);
    for _ in 0..100 {
        log_in(&visitor).await;
    }
    assert_eq!(practice.engine.published().directory().pro_logins.len(), 100);
    let read = visitor.bare(Method::GET, "/groups/1/fiches").header("cookie", &first);
    answer(read).await.refused(403, 1);
}

#[tokio::test]
async fn strangers_cause_two_mails_an_hour_to_a_professional_and_200_asks_by_a_source() {
    let mailbox = Mailbox::open().await;
    let practice = mailing_practice(|_| {}, BookingLimits::DEFAULT, 500, Some(&mailbox)).await;
    let own = "https://practice.example";
    let ask = async |stranger: &Visitor, email: &str| {
        let form = stranger.form("/login/forgotten", &[("email", email)]);
        answer(form.header("origin", own)).await
    };
    let links = || mailbox.mails().iter().filter(|mail| mail.text.contains("/m/p.")).count();
    for number in 0..30 {
        let stranger = practice.forwarded(&format!("2001:db8:{number:x}::1"));
        assert_eq!(ask(&stranger, ANNA.0).await.status, 200);
    }
    for _ in 0..400 {
        if links() == 2 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert_eq!(links(), 2);
    let messages = practice.state().outbox.messages().count();
    assert_eq!(messages, 2, "nothing is written beyond");
    // Unknown addresses are mailed too, so that they cost the same: 1,000 a day from all sources.
    for source in 1..=6 {
        let stranger = practice.forwarded(&format!("198.51.{source}.7"));
        for number in 0..200 {
            let email = format!("{source}.{number}@example.org");
            assert_eq!(ask(&stranger, &email).await.status, 200);
        }
        let refused = ask(&stranger, ANNA.0).await;
        assert_eq!(refused.status, 429);
        assert!(refused.headers.contains_key("retry-after"));
    }
    let messages = || practice.state().outbox.messages().count();
    for _ in 0..400 {
        if messages() == 1_002 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert_eq!(messages(), 1_002);
}

#[tokio::test]
async fn a_login_at_the_screens_with_a_new_device_is_mailed_to_its_owner() {
    let mailbox = Mailbox::open().await;
    let practice = Practice::with(|_| {}, |server| server.with_gateways(mailbox.gateways())).await;
    let known = || practice.engine.published().directory().known_logins.iter().count();
    let notices = || {
        let state = practice.state();
        let kinds: Vec<&str> =
            state.outbox.messages().map(|message| message.kind().name()).collect();
        kinds
    };
    for (address, sources, expected) in
        [("198.51.100.7", 1, &[][..]), ("203.0.113.7", 2, &["new_device"])]
    {
        log_in(&practice.forwarded(address)).await;
        for _ in 0..400 {
            if known() == sources && notices() == expected {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        assert_eq!((known(), &notices()[..]), (sources, expected), "{address}");
    }
}
