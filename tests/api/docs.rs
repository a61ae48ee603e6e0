//! The OpenAPI document and the page to try the API.

use base64::Engine as _;
use reqwest::Method;
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::server::{TestServer, answer};

#[tokio::test]
async fn the_document_needs_no_key_and_says_who_may_do_what() {
    let server = TestServer::start().await;
    let document = answer(server.bare(Method::GET, "/api/v1/openapi.json")).await.is(200);
    assert_eq!(document["openapi"], "3.1.0");
    let booking = &document["paths"]["/api/v1/groups/{group_id}/appointments"]["post"];
    for status in ["201", "400", "401", "403", "404", "413", "415", "429", "500", "503"] {
        assert!(booking["responses"][status].is_object(), "{status}");
    }
    assert_eq!(
        booking["security"].as_array().map(Vec::len),
        Some(7),
        "credentials, a session, a login, or a key alone, each in the header or the query"
    );
    let page = &document["paths"]["/m/{token}"];
    assert!(page["get"]["responses"]["404"]["content"]["text/html"].is_object());
    assert_eq!((&page["get"]["security"], &page["post"]["security"]), (&json!([{}]), &json!([{}])));
    let accounts = &document["paths"]["/api/v1/accounts"]["post"];
    assert_eq!(
        (&accounts["parameters"][0]["name"], &accounts["parameters"][0]["in"]),
        (&json!("Idempotency-Key"), &json!("header"))
    );
    let login = &document["paths"]["/api/v1/sessions/login"]["post"]["requestBody"]["content"];
    assert!(
        login["application/json"]["schema"]["properties"]["pro"]["properties"]["password"]
            .is_object()
    );
    assert_eq!(login.as_object().map(serde_json::Map::len), Some(1), "the JSON form alone");
    let changed = &document["components"]["schemas"]["CalendarFields"]["properties"];
    let create = &document["paths"]["/api/v1/groups/{group_id}/calendars"]["post"]["requestBody"];
    let create = &create["content"]["application/json"]["schema"]["properties"]["calendar"];
    let created = &create["properties"];
    assert_eq!(create["required"], json!(["name"]));
    assert_eq!(
        (&created["publicname"]["maxLength"], &created["publicname"]["default"]),
        (&255.into(), &"".into())
    );
    let interval = &created["generate_interval"];
    assert_eq!((&interval["maximum"], &interval["default"]), (&1_440.into(), &15.into()));
    assert_eq!(interval["type"], json!(["integer", "null"]));
    assert_eq!(interval["description"], "Time between two proposed starts, in minutes.");
    assert!(changed["generate_interval"]["default"].is_null(), "a change resets nothing");
}

#[tokio::test]
async fn the_page_runs_its_own_script_and_loads_nothing_from_anywhere_else() {
    let server = TestServer::start().await;
    let page = answer(server.bare(Method::GET, "/docs")).await;
    assert_eq!(page.status, 200);
    let policy = page.headers["content-security-policy"].to_str().unwrap();
    assert!(policy.starts_with("default-src 'none'"), "{policy}");
    for (begin, end) in [("<script>", "</script>"), ("<style>", "</style>")] {
        let inside = page.text.split_once(begin).unwrap().1.split_once(end).unwrap().0;
        let hash = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(inside));
        assert!(policy.contains(&format!("'sha256-{hash}'")), "{begin}");
    }
    for outside in ["http://", "https://", "//cdn", "@import", "src=\"", "url("] {
        assert!(!page.text.contains(outside), "{outside}");
    }
}
