//! A stranger over TCP is never the operator, whatever the request claims.

use reqwest::Method;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use slotbook::domain::directory::access::ChangeAccess;
use slotbook::domain::directory::apikeys::ApikeyHolder;
use slotbook::domain::records::text::Text;
use slotbook::http::operator_routes;

use crate::fixture::{ANNA, KEY, Practice, answer};

const OPERATOR_KEY: &str = "a key that a program of the operator holds";

#[tokio::test]
async fn no_request_over_tcp_reaches_what_the_socket_alone_may() {
    let practice = Practice::open().await;
    let added = practice.engine.change_access(
        None,
        ChangeAccess::AddApikey {
            hash: Sha256::digest(OPERATOR_KEY).into(),
            label: Text::default(),
            groups: None,
            holder: ApikeyHolder::Operator,
            origins: Vec::new(),
        },
    );
    added.await.expect("it takes writes and the key is new");
    let directory = practice.engine.published().directory();
    let stranger = practice.visitor("127.0.0.2");
    let forged = [
        ("x-forwarded-for", "0.0.0.0"),
        ("forwarded", "for=0.0.0.0;by=operator.sock"),
        ("x-operator", "1"),
        ("x-api-key", KEY),
        ("x-api-key", OPERATOR_KEY),
        ("host", "operator.sock"),
        ("authorization", "Bearer operator"),
    ];
    let body = json!({
        "email": ANNA.0, "password_hash": directory.pros.find_by_email(ANNA.0).expect("her").password_hash.as_str(),
        "key": KEY, "sha256": "0".repeat(64), "holder": "operator", "path": "/tmp/stolen",
    });
    let mut asked = 0;
    for (method, path) in operator_routes() {
        let path = path.strip_prefix("/api/v1").expect("of the API");
        for (name, value) in forged {
            let request = stranger.bare(method.clone(), path).header(name, value).json(&body);
            answer(request).await.refused(403, 1);
            asked += 1;
        }
        let by_anna = stranger.request(method, path).basic_auth(ANNA.0, Some(ANNA.1)).json(&body);
        answer(by_anna).await.refused(403, 1);
    }
    assert!(asked >= 70, "{asked}");
    // Nor does the address that stands for the socket, behind a proxy that is trusted.
    let by_proxy = practice.forwarded("0.0.0.0");
    for path in ["/operator/keys", "/operator/export", "/groups"] {
        let request = by_proxy.bare(Method::GET, path).header("x-forwarded-for", "0.0.0.0");
        answer(request).await.refused(403, 1);
    }
    assert_eq!(practice.engine.published().directory(), directory, "nothing changed");
}
