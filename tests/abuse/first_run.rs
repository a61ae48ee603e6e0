//! The link of the first run against strangers who guess it, read it or use it from their pages.

use reqwest::Method;
use serde_json::json;

use crate::fixture::{Practice, Visitor};

const EVIL: &str = "https://evil.example";
/// Wrong links of one source, beyond which the answer is 429.
const WRONG_MAX: usize = 30;

/// A server without groups, and the path of its link.
async fn empty() -> (Practice, String) {
    let mut link = None;
    let clear = |document: &mut serde_json::Value| {
        document["groups"] = json!([]);
        document["apikeys"] = json!([]);
    };
    let practice = Practice::with(clear, |server| {
        let server = server.offering_first_run("http://localhost".to_owned());
        link = server.new_first_run_link();
        server
    })
    .await;
    let link = link.expect("the store has no group");
    let path = link.strip_prefix("http://localhost").expect("it begins so");
    (practice, path.to_owned())
}

async fn status(visitor: &Visitor, path: &str) -> u16 {
    let answer = visitor.at_root(Method::GET, path).send().await.expect("an answer");
    answer.status().as_u16()
}

#[tokio::test]
async fn guesses_are_limited_by_source_and_lock_no_holder_of_the_link_out() {
    let (practice, path) = empty().await;
    let stranger = practice.visitor("127.0.0.2");
    let other = if path.ends_with('A') { 'E' } else { 'A' };
    let near = format!("{}{other}", &path[..path.len() - 1]);
    for nth in 0..WRONG_MAX {
        assert_eq!(status(&stranger, &near).await, 404, "guess {nth}");
    }
    assert_eq!(status(&stranger, &near).await, 429);
    assert_eq!(status(&practice.visitor("127.0.0.3"), &near).await, 404);
    assert_eq!(status(&stranger, &path).await, 200, "a container sees all at one address");
    practice.pass(600);
    assert_eq!(status(&stranger, &near).await, 404);
}

#[tokio::test]
async fn a_link_is_good_for_a_day() {
    let (practice, path) = empty().await;
    let visitor = practice.visitor("127.0.0.2");
    practice.pass(86_399);
    assert_eq!(status(&visitor, &path).await, 200);
    practice.pass(1);
    assert_eq!(status(&visitor, &path).await, 404);
}

#[tokio::test]
async fn a_form_of_another_site_is_refused_with_the_right_link_too() {
    let (practice, path) = empty().await;
    let visitor = practice.visitor("127.0.0.2");
    for headers in [
        &[("origin", EVIL), ("sec-fetch-site", "cross-site")][..],
        &[("origin", "null")],
        &[("sec-fetch-site", "same-site")],
        &[("origin", "http://localhost:1")],
    ] {
        let mut form = visitor.form(&path, &[("step", "shop"), ("name", "Evil")]);
        for (name, value) in headers {
            form = form.header(*name, *value);
        }
        let answer = form.send().await.expect("an answer");
        assert_eq!(answer.status(), 403, "{headers:?}");
    }
    assert_eq!(status(&visitor, &path).await, 200, "the link is good all the same");
}

#[tokio::test]
async fn a_container_that_sees_its_gateway_is_set_up_at_a_port_of_the_machine() {
    let (practice, path) = empty().await;
    // The browser opens http://localhost:8080, and the connection comes from the network of the
    // container, as it also does through a tunnel that ends on another machine.
    let gateway = practice.forwarded("10.88.0.1");
    let request = gateway.at_root(Method::GET, &path).header("x-forwarded-for", "10.88.0.1");
    let request = request.header("host", "localhost:8080");
    assert_eq!(request.send().await.expect("an answer").status(), 200);
    let form = gateway.form(&path, &[("step", "shop"), ("name", "")]);
    let form = form.header("host", "localhost:8080").header("origin", "http://localhost:8080");
    let answer = form.send().await.expect("an answer");
    assert_eq!(answer.status(), 400, "the form is read, and lacks a name");
}

#[tokio::test]
async fn a_link_that_crossed_the_network_in_the_clear_ends() {
    let (practice, path) = empty().await;
    let visitor = practice.visitor("127.0.0.2");
    let wrong = visitor.at_root(Method::GET, "/first-run/none").header("host", "rdv.example");
    assert_eq!(wrong.send().await.expect("an answer").status(), 404);
    assert_eq!(status(&visitor, &path).await, 200, "a wrong one ends nothing");
    for host in ["rdv.example", "192.168.1.2:8080", "localhost.evil.example"] {
        let (practice, path) = empty().await;
        let visitor = practice.visitor("127.0.0.2");
        let request = visitor.at_root(Method::GET, &path).header("host", host);
        assert_eq!(request.send().await.expect("an answer").status(), 403, "{host}");
        // A listener repeats it at a name that is let through.
        assert_eq!(status(&visitor, &path).await, 404, "{host}");
    }
}
