//! Requests whose parameters would cost far more than their bytes.

use axum::http::StatusCode;
use reqwest::Method;

use crate::fixture::{KEY, Practice, answer};

/// The public page of the practice.
const PAGE: &str = "b/cabinet-de-sante-des-tilleuls";

#[tokio::test]
async fn a_query_has_at_most_2_000_parameters() {
    let practice = Practice::open().await;
    let stranger = practice.visitor("127.0.0.2");
    for path in ["/groups/1", "/openapi.json", "/groups/1/fiches", "/nowhere"] {
        // The key is one of them.
        let path = format!("{path}?{}", ["a"; 1_999].join("&"));
        assert_ne!(stranger.get(&path).await.status, 400);
        stranger.get(&format!("{path}&a")).await.refused(400, 2);
    }
    let page = |parameters: usize| {
        let query = vec!["a"; parameters].join("&");
        reqwest::get(format!("http://{}/{PAGE}?{query}", practice.address()))
    };
    assert_eq!(page(2_000).await.expect("an answer").status(), StatusCode::OK);
    assert_eq!(page(2_001).await.expect("an answer").status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_list_is_refused_at_its_51st_condition() {
    let practice = Practice::open().await;
    let stranger = practice.visitor("127.0.0.2");
    let query: String = (0..1_900).map(|n| format!("conditions[{n}][a]&")).collect();
    stranger.get(&format!("/groups/1/calendars?{query}")).await.refused(400, 2);
}

#[tokio::test]
async fn a_form_has_a_limited_size_and_at_most_2_000_parameters() {
    let practice = Practice::open().await;
    let stranger = practice.visitor("127.0.0.2");
    let login = format!("http://{}/api/v1/sessions/login?apikey={KEY}", practice.address());
    let book = format!("http://{}/{PAGE}/you", practice.address());
    for (url, kib) in [(login, 256), (book, 32)] {
        for (body, status) in
            [(format!("a={}", "x".repeat(kib * 1_024 - 1)), 413), ("a&".repeat(2_000), 400)]
        {
            let request = reqwest::Client::new().request(Method::POST, &url).body(body);
            let request = request.header("content-type", "application/x-www-form-urlencoded");
            let refused = request.send().await.expect("an answer");
            assert_eq!(refused.status().as_u16(), status, "{url}");
        }
    }
    answer(stranger.request(Method::GET, "/groups/1")).await.is(200);
}
