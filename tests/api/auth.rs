//! Keys, credentials, and what foreign groups look like.

use reqwest::Method;
use slotbook::http::ForwardingHeader;

use crate::server::{TestServer, answer};
use crate::shop::{EVE, KEY, KEY_OF_ALL, clock};

#[tokio::test]
async fn a_missing_or_unknown_key_is_403() {
    let server = TestServer::start().await;
    for query in ["", "?apikey=", "?apikey=wrong"] {
        answer(server.bare(Method::GET, &format!("/api/v1/groups/4{query}")))
            .await
            .refused(403, 1, None);
    }
}

#[tokio::test]
async fn wrong_credentials_are_401_without_a_challenge() {
    let server = TestServer::start().await;
    let path = format!("/api/v1/groups/4?apikey={KEY}");
    for (email, password) in
        [("ann@example.org", "wrong"), ("nobody@example.org", "secret"), ("", "")]
    {
        let refused =
            answer(server.bare(Method::GET, &path).basic_auth(email, Some(password))).await;
        refused.refused(401, 5, None);
        assert!(!refused.headers.contains_key("www-authenticate"));
    }
    answer(server.bare(Method::GET, &path).header("Authorization", "Digest x"))
        .await
        .refused(401, 5, None);
}

#[tokio::test]
async fn the_key_may_stand_in_a_header_and_two_different_keys_are_400() {
    let server = TestServer::start().await;
    let bare = || server.bare(Method::GET, "/api/v1/groups/4/calendars");
    let by_query = server.get("/groups/4/calendars").await;
    for request in [
        bare().header("X-Api-Key", KEY),
        bare().bearer_auth(KEY),
        bare().bearer_auth(KEY).header("X-Api-Key", KEY).query(&[("apikey", KEY)]),
    ] {
        let by_header = answer(request).await;
        assert_eq!((by_header.status, &by_header.text), (by_query.status, &by_query.text));
        assert_eq!(by_header.headers["access-control-allow-origin"], "*");
    }
    for request in [
        bare().header("X-Api-Key", KEY).query(&[("apikey", KEY_OF_ALL)]),
        bare().bearer_auth(KEY_OF_ALL).header("X-Api-Key", KEY),
        bare().bearer_auth("wrong").query(&[("apikey", KEY)]),
    ] {
        answer(request).await.refused(400, 2, Some("apikey"));
    }
    answer(bare().header("X-Api-Key", "wrong")).await.refused(403, 1, None);
    let pro = server.bare(Method::GET, "/api/v1/groups/4/vevents").header("X-Api-Key", KEY);
    answer(pro.basic_auth("ann@example.org", Some("secret"))).await.is(200);
}

#[tokio::test]
async fn credentials_are_looked_at_before_the_group_and_the_key_before_them() {
    let server = TestServer::start().await;
    let wrong = |path: &str| answer(server.bare(Method::GET, path).basic_auth("a@b", Some("c")));
    wrong("/api/v1/groups/99?apikey=wrong").await.refused(403, 1, None);
    wrong(&format!("/api/v1/groups/99?apikey={KEY}")).await.refused(401, 5, None);
}

#[tokio::test]
async fn an_address_is_known_in_any_letter_case_and_stays_known_for_a_minute() {
    let server = TestServer::start().await;
    let path = format!("/api/v1/groups/4/vevents?apikey={KEY}");
    for minute in 0..3 {
        server.at(clock(8, minute));
        let request = server.bare(Method::GET, &path).basic_auth("Ann@Example.ORG", Some("secret"));
        answer(request).await.is(200);
    }
}

#[tokio::test]
async fn a_foreign_group_looks_like_an_absent_one() {
    let server = TestServer::start().await;
    let absent = server.get("/groups/99").await;
    absent.refused(404, 3, None);
    assert!(absent.text.contains("\"no group 99\""), "{}", absent.text);
    let absent = absent.text_without_numbers();
    for path in ["/groups/5", "/groups/5/calendars", "/groups/5/calendars/31"] {
        assert_eq!(server.get(path).await.text_without_numbers(), absent, "{path}");
    }
    for path in ["/groups/0", "/groups/x", "/groups/+4", "/groups/%FF"] {
        let malformed = server.get(path).await;
        assert!(malformed.text.contains("\"no such group\""), "{path}: {}", malformed.text);
        malformed.refused(404, 3, None);
    }
    let as_eve =
        |path: &str| answer(server.by_key(Method::GET, path).basic_auth(EVE.0, Some(EVE.1)));
    assert_eq!(as_eve("/groups/4").await.text_without_numbers(), absent);
    let not_of_the_key = as_eve("/groups/5").await;
    assert_eq!(not_of_the_key.text_without_numbers(), absent, "her group, but not the key's");
    let path = format!("/api/v1/groups/5?apikey={KEY_OF_ALL}");
    answer(server.bare(Method::GET, &path).basic_auth(EVE.0, Some(EVE.1))).await.is(200);
}

#[tokio::test]
async fn a_key_alone_may_not_see_what_is_for_professionals() {
    let server = TestServer::start().await;
    for path in [
        "/groups/4/vevents",
        "/groups/4/vevents/51",
        "/groups/4/appointments",
        "/groups/4/appointments/51",
    ] {
        server.get(path).await.refused(403, 1, None);
    }
}

#[tokio::test]
async fn ten_failures_make_a_source_wait_and_remembered_credentials_go_on() {
    let server = TestServer::start().await;
    let path = format!("/api/v1/groups/4?apikey={KEY}");
    let login = |password: &'static str| {
        answer(server.bare(Method::GET, &path).basic_auth("ann@example.org", Some(password)))
    };
    login("secret").await.is(200);
    for _ in 0..10 {
        login("wrong").await.refused(401, 5, None);
    }
    let refused = login("wrong").await;
    refused.refused(429, 4, None);
    assert_eq!(refused.headers["retry-after"], "600");
    login("secret").await.is(200);
    server.at(clock(8, 5));
    login("secret").await.refused(429, 4, None);
    answer(server.bare(Method::GET, &path).basic_auth("bob@example.org", Some("x")))
        .await
        .refused(401, 5, None);
    server.at(clock(8, 10));
    login("secret").await.is(200);
}

#[tokio::test]
async fn behind_a_proxy_that_is_believed_each_client_is_a_source_of_its_own() {
    let group_states = || vec![crate::shop::group_four(|_| {}), crate::shop::group_five()];
    let path = format!("/api/v1/groups/4?apikey={KEY}");
    let login = async |server: &TestServer, header: &str, value: &str| {
        let request = server.bare(Method::GET, &path).basic_auth("ann@example.org", Some("wrong"));
        answer(request.header(header, value)).await
    };
    let proxies =
        vec!["127.0.0.0/8".parse().expect("a network"), "10.0.0.0/8".parse().expect("a network")];
    let reading = |header: ForwardingHeader| {
        let proxies = proxies.clone();
        TestServer::serving(group_states(), move |server| server.behind(proxies, header))
    };
    let server = reading(ForwardingHeader::XForwardedFor).await;
    for made_up in 0..10 {
        let value = format!("198.51.100.{made_up}, 203.0.113.7, 10.0.0.2");
        login(&server, "X-Forwarded-For", &value).await.refused(401, 5, None);
    }
    login(&server, "X-Forwarded-For", "203.0.113.7").await.refused(429, 4, None);
    login(&server, "X-Forwarded-For", "203.0.113.8").await.refused(401, 5, None);
    let server = reading(ForwardingHeader::Forwarded).await;
    for network in 0..10 {
        let value = format!("for=\"[2001:db8::{network}]:4711\"");
        login(&server, "Forwarded", &value).await.refused(401, 5, None);
    }
    login(&server, "Forwarded", "for=\"[2001:db8::99]\";proto=https").await.refused(429, 4, None);
    login(&server, "Forwarded", "for=203.0.113.7;proto=https").await.refused(401, 5, None);
    // Another server, since all failures of the address count there too.
    let server = reading(ForwardingHeader::XForwardedFor).await;
    for garbage in 0..10 {
        login(&server, "X-Forwarded-For", &format!("client {garbage}")).await.refused(401, 5, None);
    }
    login(&server, "X-Forwarded-For", "client").await.refused(429, 4, None);

    let server = TestServer::serving(group_states(), |server| server).await;
    for spoofed in 0..10 {
        login(&server, "X-Forwarded-For", &format!("203.0.113.{spoofed}"))
            .await
            .refused(401, 5, None);
    }
    login(&server, "X-Forwarded-For", "203.0.113.99").await.refused(429, 4, None);
    login(&server, "Forwarded", "for=203.0.113.99").await.refused(429, 4, None);
}
