//! Answers compressed by gzip, for every caller that accepts it.

use std::io::Read as _;
use std::sync::Arc;

use flate2::read::GzDecoder;
use reqwest::header::HeaderMap;
use reqwest::{Method, RequestBuilder};
use serde_json::json;
use slotbook::domain::records::ids::InterventionId;
use slotbook::domain::records::intervention::Intervention;
use slotbook::domain::records::text::Name;

use crate::server::{TestServer, answer};
use crate::shop::{ANN, KEY, clock};

const SERVICES: &str = "/groups/4/interventions?results=all";

/// A server with so many more services.
async fn server_with_services(count: u64) -> TestServer {
    TestServer::with_account(|catalogue| {
        for number in 0..count {
            let id = InterventionId::new(1_000 + number).expect("an id");
            let mut intervention = Intervention::new(id, clock(6, 0));
            intervention.publicname = Name::new(&format!("service {number}")).expect("a name");
            catalogue.interventions.insert(id, Arc::new(intervention));
        }
    })
    .await
}

/// The status, the headers, and the body as it was sent.
async fn sent(request: RequestBuilder) -> (u16, HeaderMap, Vec<u8>) {
    let response = request.send().await.expect("the server answers");
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    (status, headers, response.bytes().await.expect("a body").to_vec())
}

fn unzipped(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut plain).expect("gzip");
    plain
}

fn vary(headers: &HeaderMap) -> Vec<&str> {
    headers.get_all("vary").iter().filter_map(|value| value.to_str().ok()).collect()
}

#[tokio::test]
async fn every_caller_gets_long_answers_compressed_and_short_ones_plain() {
    // The second answer is made part by part.
    for count in [60, 1_500] {
        let server = server_with_services(count).await;
        let login = format!("/api/v1/sessions/login?apikey={KEY}");
        let form = [("pro[email]", ANN.0), ("pro[password]", &slotbook::password::sha1_hex(ANN.1))];
        let body: Vec<String> = form
            .iter()
            .map(|(name, value)| format!("{name}={value}").replace('@', "%40"))
            .collect();
        let login = server
            .bare(Method::POST, &login)
            .header("content-type", "application/x-www-form-urlencoded")
            .header("accept-encoding", "gzip")
            .body(body.join("&"));
        let (status, headers, _) = sent(login).await;
        assert_eq!((status, headers.get("content-encoding")), (200, None));
        let cookie = headers["set-cookie"].to_str().expect("a text").split(';').next();
        let cookie = cookie.expect("a cookie").to_owned();
        for by in ["key", "professional", "account", "session"] {
            let request = || match by {
                "key" => server.by_key(Method::GET, SERVICES),
                "professional" => server.by_pro(Method::GET, SERVICES),
                "account" => server.by_account(Method::GET, SERVICES),
                _ => server
                    .bare(Method::GET, &format!("/api/v1{SERVICES}"))
                    .header("cookie", &cookie),
            };
            let (_, headers, plain) = sent(request()).await;
            assert_eq!(
                (headers.get("content-encoding"), vary(&headers)),
                (None, vec!["accept-encoding"])
            );
            let (status, headers, zipped) = sent(request().header("accept-encoding", "gzip")).await;
            assert_eq!((status, &headers["content-encoding"]), (200, &"gzip".parse().unwrap()));
            assert_eq!(vary(&headers), ["accept-encoding"], "{by}");
            assert!(zipped.len() * 4 < plain.len(), "{} of {} bytes", zipped.len(), plain.len());
            assert_eq!(unzipped(&zipped), plain, "{by}");
        }
        let short = server.by_pro(Method::GET, "/groups/4/fiches?search=nobody");
        let (status, headers, _) = sent(short.header("accept-encoding", "gzip")).await;
        assert_eq!((status, headers.get("content-encoding")), (200, None));
    }
}

#[tokio::test]
async fn a_compressed_list_has_the_tag_of_the_plain_one_and_is_answered_with_304() {
    let server = server_with_services(60).await;
    let (_, plain, _) = sent(server.by_pro(Method::GET, SERVICES)).await;
    let zipped = server.by_pro(Method::GET, SERVICES).header("accept-encoding", "gzip");
    let (_, zipped, _) = sent(zipped).await;
    assert_eq!(plain["etag"], zipped["etag"]);
    assert!(zipped["etag"].to_str().expect("a text").starts_with("W/"));
    for accepted in ["gzip", "identity"] {
        let again = server
            .by_pro(Method::GET, SERVICES)
            .header("accept-encoding", accepted)
            .header("if-none-match", zipped["etag"].clone());
        let (status, headers, body) = sent(again).await;
        assert_eq!((status, body.len(), headers.get("content-encoding")), (304, 0, None));
        assert_eq!((&headers["etag"], vary(&headers)), (&plain["etag"], vec!["accept-encoding"]));
    }
}

#[tokio::test]
async fn head_has_the_headers_of_the_compressed_answer_without_its_body() {
    let server = server_with_services(60).await;
    let head = server.by_pro(Method::HEAD, SERVICES).header("accept-encoding", "gzip");
    let (status, headers, body) = sent(head).await;
    assert_eq!((status, body.len()), (200, 0));
    assert_eq!(headers["content-encoding"], "gzip");
    assert!(headers.contains_key("etag") && !headers.contains_key("content-length"));
}

#[tokio::test]
async fn a_write_is_answered_whatever_codings_its_request_refuses() {
    let server = TestServer::start().await;
    for refused in ["identity;q=0", "*;q=0", "gzip;q=0, identity;q=0"] {
        let made = server
            .by_pro(Method::POST, "/groups/4/fiches")
            .header("accept-encoding", refused)
            .json(&json!({"fiche": {"lastname": "Curie"}}));
        answer(made).await.is(201);
    }
}
