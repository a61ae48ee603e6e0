//! Paths, methods, suffixes and formats.

use reqwest::Method;

use crate::server::{Answer, TestServer, answer};
use crate::shop::{CLEO, KEY, KEY_OF_ALL};

#[tokio::test]
async fn health_needs_no_key() {
    let server = TestServer::start().await;
    for path in ["/healthz", "/readyz"] {
        assert_eq!(answer(server.bare(Method::GET, path)).await.status, 200);
    }
}

#[tokio::test]
async fn an_unknown_path_is_404_and_a_wrong_method_405_before_any_key_is_asked_for() {
    let server = TestServer::start().await;
    for path in
        ["/api/v1/nothing", "/api/v1/groups/4/nothing", "/api/v1/groups/", "/api/v1/nothing.xml"]
    {
        answer(server.bare(Method::GET, path)).await.refused(404, 3, None);
    }
    let refused = answer(server.bare(Method::PATCH, "/api/v1/groups/4/appointments")).await;
    refused.refused(405, 2, None);
    let allowed = refused.headers["allow"].to_str().unwrap();
    assert!(allowed.contains("GET") && allowed.contains("POST"), "{allowed}");
}

#[tokio::test]
async fn json_is_the_only_format() {
    let server = TestServer::start().await;
    for path in ["/groups", "/groups.json", "/groups?format=json", "/groups?format="] {
        assert_eq!(server.get(path).await.status, 200, "{path}");
    }
    for path in ["/groups.xml", "/groups?format=xml", "/groups/4.xml", "/groups/99.xml"] {
        server.get(path).await.refused(406, 2, None);
    }
}

#[tokio::test]
async fn web_pages_may_read_what_the_key_alone_is_told_and_nothing_else() {
    let server = TestServer::start().await;
    assert_eq!(server.get("/groups/4").await.headers["access-control-allow-origin"], "*");
    assert!(!server.pro_get("/groups/4").await.headers.contains_key("access-control-allow-origin"));
}

/// The answer to a browser before a page of another address sends a request.
async fn preflight(server: &TestServer, path: &str, method: &str, headers: &str) -> Answer {
    let request = server
        .bare(Method::OPTIONS, path)
        .header("Origin", "https://shop.example")
        .header("Access-Control-Request-Method", method)
        .header("Access-Control-Request-Headers", headers);
    answer(request).await
}

#[tokio::test]
async fn a_page_may_send_what_a_path_takes_and_never_credentials() {
    let server = TestServer::start().await;
    for (path, methods) in [
        ("/api/v1/groups/4/appointments", vec!["GET", "HEAD", "POST"]),
        ("/api/v1/groups/4/appointments.json?apikey=x", vec!["GET", "HEAD", "POST"]),
        ("/api/v1/groups/4/appointments/7", vec!["DELETE", "GET", "HEAD", "PUT"]),
        ("/api/v1/groups/4/availabletimeslots", vec!["GET", "HEAD"]),
        ("/api/v1/accounts/confirm", vec!["POST"]),
    ] {
        let allowed =
            preflight(&server, path, "POST", "authorization,content-type,cookie,idempotency-key")
                .await;
        assert_eq!((allowed.status.as_u16(), allowed.text.as_str()), (204, ""), "{path}");
        let header =
            |name: &str| allowed.headers.get(name).map(|value| value.to_str().expect("a text"));
        assert_eq!(header("access-control-allow-origin"), Some("*"), "{path}");
        let mut allows: Vec<&str> =
            header("access-control-allow-methods").expect("they are named").split(',').collect();
        allows.sort_unstable();
        assert_eq!(allows, methods, "{path}");
        assert_eq!(
            header("access-control-allow-headers"),
            Some("content-type, idempotency-key, if-match, prefer, x-api-key, x-request-id"),
            "{path}"
        );
        assert_eq!(header("access-control-max-age"), Some("86400"), "{path}");
        assert_eq!(header("access-control-allow-credentials"), None, "{path}");
    }
    for path in ["/api/v1/sessions/login", "/api/v1/sessions/logout"] {
        let refused = preflight(&server, path, "POST", "content-type").await;
        assert!(
            !refused.headers.contains_key("access-control-allow-origin"),
            "what a login answers is for no page"
        );
    }
}

#[tokio::test]
async fn a_page_logs_people_in_by_basic_if_its_key_names_the_page() {
    let server = TestServer::with_account(|_| {}).await;
    let ask = |key: &'static str, origin: &'static str| {
        let request = server.bare(Method::GET, "/api/v1/groups/4/fiches");
        let request = request.header("X-Api-Key", key).header("Origin", origin);
        answer(request.basic_auth(CLEO.0, Some(CLEO.1)))
    };
    let named = ask(KEY_OF_ALL, "https://app.example").await;
    named.is(200);
    assert_eq!(named.headers["access-control-allow-origin"], "https://app.example");
    assert!(named.headers.get_all("vary").iter().any(|name| name == "origin"));
    assert!(!named.headers.contains_key("access-control-allow-credentials"));
    for (key, origin) in [
        (KEY_OF_ALL, "https://shop.example"),
        (KEY_OF_ALL, "http://app.example"),
        (KEY_OF_ALL, "null"),
        (KEY, "https://app.example"),
        ("unknown", "https://app.example"),
    ] {
        let other = ask(key, origin).await;
        assert!(!other.headers.contains_key("access-control-allow-origin"), "{key} {origin}");
    }
    let allowed = |path: &'static str, origin: &'static str| {
        let request = server
            .bare(Method::OPTIONS, path)
            .header("Origin", origin)
            .header("Access-Control-Request-Method", "GET")
            .header("Access-Control-Request-Headers", "authorization, x-api-key");
        async {
            let headers = answer(request).await.headers;
            let allowed = headers["access-control-allow-headers"].to_str().expect("a text");
            allowed.split(", ").any(|name| name == "authorization")
        }
    };
    assert!(allowed("/api/v1/groups/4/fiches", "https://app.example").await);
    assert!(allowed("/api/v1/groups/4/fiches?apikey=key-of-all", "https://app.example").await);
    assert!(!allowed("/api/v1/groups/4/fiches?apikey=key-of-four", "https://app.example").await);
    assert!(!allowed("/api/v1/groups/4/fiches", "https://shop.example").await);
    assert!(!allowed("/api/v1/sessions/login", "https://app.example").await);
}

#[tokio::test]
async fn a_page_that_asks_about_no_path_is_told_so_and_options_alone_is_no_method() {
    let server = TestServer::start().await;
    for path in ["/api/v1/nothing", "/api/v1/groups/4/nothing"] {
        preflight(&server, path, "POST", "content-type").await.refused(404, 3, None);
    }
    let refused = answer(server.bare(Method::OPTIONS, "/api/v1/groups/4/appointments")).await;
    refused.refused(405, 2, None);
    assert!(!refused.headers.contains_key("access-control-allow-methods"));
}
