//! Limits by source against strangers who write headers of their own, or their IPv4 address within
//! an IPv6 address.

use reqwest::Method;
use slotbook::http::ForwardingHeader;

use crate::fixture::{ANNA, Answer, PROXY, Practice, Visitor, answer};

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

/// A guess of a professional's password, with a further header if it has a name.
async fn guess(visitor: &Visitor, (name, value): (&str, &str)) -> Answer {
    let guess = visitor.request(Method::GET, PATH).basic_auth(ANNA.0, Some("a guess"));
    answer(if name.is_empty() { guess } else { guess.header(name, value) }).await
}

#[tokio::test]
async fn the_header_that_the_proxy_does_not_set_neither_hides_nor_moves_a_client() {
    let practice = Practice::open().await;
    let stranger = practice.forwarded("203.0.113.7");
    for number in 0..10 {
        let forged = format!("for=198.51.100.{number}");
        guess(&stranger, ("forwarded", &forged)).await.is(401);
    }
    guess(&stranger, ("", "")).await.refused(429, 4);
    let other = practice.forwarded("203.0.113.8");
    guess(&other, ("forwarded", "for=203.0.113.7")).await.is(401);

    // Behind a proxy that sets Forwarded it is the other way round.
    let set = |server: slotbook::http::Server| {
        server.behind(vec![PROXY.into()], ForwardingHeader::Forwarded)
    };
    let practice = Practice::with(|_| {}, set).await;
    for number in 0..10 {
        let stranger = practice.forwarded(&format!("198.51.100.{number}"));
        guess(&stranger, ("forwarded", "for=203.0.113.7")).await.is(401);
    }
    let stranger = practice.forwarded("198.51.100.99");
    guess(&stranger, ("forwarded", "for=203.0.113.7")).await.refused(429, 4);
    guess(&stranger, ("forwarded", "for=203.0.113.8")).await.is(401);
}

#[tokio::test]
async fn an_ipv4_address_has_no_further_sources_within_ipv6() {
    let practice = Practice::open().await;
    for number in 0..10 {
        let network = practice.forwarded(&format!("2002:cb00:7107:{number}::1"));
        guess(&network, ("", "")).await.is(401);
    }
    for same in ["64:ff9b::203.0.113.7", "::ffff:203.0.113.7", "203.0.113.7"] {
        guess(&practice.forwarded(same), ("", "")).await.refused(429, 4);
    }
    for other in ["64:ff9b::203.0.113.8", "2002:cb00:7109::1"] {
        guess(&practice.forwarded(other), ("", "")).await.is(401);
    }
}
