//! A text that is the same for every shop is compressed once, not for each stranger who reads it.
//! `cargo bench --bench public_reads` judges the processor time of every read.

use std::time::Duration;

use reqwest::Method;
use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::fixture::{Practice, Visitor};
use crate::public_paths::public_paths;

/// Size from which an answer is compressed, in bytes.
const COMPRESSED_BYTES_MIN: usize = 1_024;

/// The demonstration with another name of everything, a day later.
async fn other_practice() -> Practice {
    let rename = |document: &mut Value| {
        for list in document["groups"][0].as_object_mut().expect("a group").values_mut() {
            for row in list.as_array_mut().into_iter().flatten() {
                for name in ["publicname", "pro_label", "user_label"] {
                    if let Some(Value::String(text)) = row.get_mut(name)
                        && !text.is_empty()
                    {
                        text.push_str(" II");
                    }
                }
            }
        }
        document["groups"][0]["name"] = "Another practice".into();
        document["groups"][0]["usercolors"] = r##"{"main_bg":"#101010"}"##.into();
    };
    let practice = Practice::with(rename, |server| server).await;
    practice.pass(24 * 3_600);
    practice
}

/// The headers and the body of an answer in a coding, of which no part is decoded.
async fn sent(stranger: &Visitor, path: &str, coding: &str) -> (HeaderMap, Vec<u8>) {
    let request = stranger.at_root(Method::GET, path).header("accept-encoding", coding);
    let response = request.timeout(Duration::from_secs(30)).send().await.expect("an answer");
    // `/` leads to the only booking page.
    assert_eq!(response.status(), if path == "/" { 303 } else { 200 }, "{path}");
    let headers = response.headers().clone();
    (headers, response.bytes().await.expect("a body").into())
}

#[tokio::test]
async fn a_text_that_is_the_same_for_every_shop_is_compressed_once() {
    let practice = Practice::open().await;
    let other = other_practice().await;
    let stranger = practice.visitor("127.0.0.3");
    let elsewhere = other.visitor("127.0.0.3");
    let paths = public_paths(&practice).await;
    let other_paths = public_paths(&other).await;
    assert_eq!(paths.len(), other_paths.len());
    let mut fixed = Vec::new();
    for (path, other_path) in paths.iter().zip(&other_paths) {
        let (_, plain) = sent(&stranger, path, "identity").await;
        let (_, other_plain) = sent(&elsewhere, other_path, "identity").await;
        // A form depends on its query.
        let is_form = path.starts_with("/login");
        if plain.len() < COMPRESSED_BYTES_MIN || plain != other_plain || is_form {
            continue;
        }
        // An answer that is compressed on its way has no length before its end.
        let (headers, zipped) = sent(&stranger, path, "gzip").await;
        assert!(headers.contains_key("content-encoding"), "{path}");
        assert!(headers.contains_key("content-length"), "{path} is compressed for each request");
        assert_eq!(sent(&elsewhere, other_path, "gzip").await.1, zipped, "{path}");
        assert!(zipped.len() < plain.len(), "{path}");
        fixed.push(path.split('-').next().expect("a part").to_owned());
    }
    fixed.sort_unstable();
    fixed.dedup();
    let expected = [
        "/api/v1/openapi",
        "/assets/practice",
        "/assets/script",
        "/assets/style",
        "/docs",
        "/docs/errors",
        "/embed.js",
    ];
    assert_eq!(fixed, expected);
}
