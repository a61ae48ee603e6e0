//! Limits by source against strangers who write headers of their own.

use reqwest::Method;

use crate::fixture::{ANNA, Practice, answer};

const PATH: &str = "/groups/1/calendars";

#[tokio::test]
async fn a_forged_header_makes_no_new_source_and_locks_nobody_else_out() {
    let practice = Practice::open().await;
    let stranger = practice.visitor("127.0.0.2");
    let guess = async |forged: &str| {
        let guess = stranger.request(Method::GET, PATH).basic_auth(ANNA.0, Some("a guess"));
        answer(guess.header("x-forwarded-for", forged)).await
    };
    for number in 0..10 {
        guess(&format!("203.0.113.{number}")).await.is(401);
    }
    let refused = guess("203.0.113.99").await;
    refused.refused(429, 4);
    assert!(refused.headers.contains_key("retry-after"));
    for other in [practice.forwarded("203.0.113.5"), practice.visitor("127.0.0.3")] {
        let login = other.request(Method::GET, PATH).basic_auth(ANNA.0, Some(ANNA.1));
        answer(login).await.is(200);
    }
    assert!(!practice.free_starts().await.is_empty());
    practice.pass(600);
    guess("203.0.113.99").await.is(401);
}
