//! Paths, methods, suffixes and formats.

use reqwest::Method;

use crate::server::{TestServer, answer};

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
    for path in ["/", "/api/v1/nothing", "/api/v1/groups/4/nothing", "/api/v1/groups/", "/.json", "/api/v1/nothing.xml"]
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
    let preflight = server
        .bare(Method::OPTIONS, "/api/v1/groups/4/appointments")
        .header("Origin", "https://shop.example")
        .header("Access-Control-Request-Method", "POST");
    let preflight = answer(preflight).await;
    assert_eq!(preflight.status, 204);
    assert!(!preflight.headers.contains_key("access-control-allow-credentials"));
}
