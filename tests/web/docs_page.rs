//! The page to try the API: three calls to a booking, and the resources in the order of use.

use serde_json::json;
use sha2::{Digest as _, Sha256};
use slotbook::domain::directory::access::ChangeAccess;
use slotbook::domain::directory::apikeys::ApikeyName;
use slotbook::domain::records::site_origin::SiteOrigin;

use crate::browser::{Browser, PHONE};
use crate::server::TestServer;

/// Sends one of the calls at the top of the page, and returns the status of its answer.
async fn send(browser: &Browser, call: usize) -> String {
    browser
        .run(&format!(
            "const call = document.querySelectorAll('#worked > details')[{call}];
             call.open = true; call.querySelector('form button').click();"
        ))
        .await;
    let status =
        format!("document.querySelectorAll('#worked > details')[{call}].querySelector('.status')");
    browser.await_truth(&format!("return Boolean({status})")).await;
    let text = browser.run(&format!("return {status}.textContent")).await;
    text.as_str().expect("a text").to_owned()
}

#[tokio::test]
async fn three_calls_lead_to_a_booking_on_the_demonstration_without_a_word_typed() {
    let server = TestServer::demonstration().await;
    // The key names the addresses where the demonstration is served by default.
    let text = "demo-key-town-practice".to_owned();
    let name = ApikeyName { hash: Sha256::digest(&text).into(), text };
    let own = SiteOrigin::new(&format!("http://{}", server.address())).expect("an origin");
    let change = ChangeAccess::SetApikey { name, holder: None, origins: Some(vec![own]) };
    server.engine.change_access(None, change).await.expect("the key is known");
    let Some(browser) = Browser::open(server.address(), PHONE).await else { return };
    browser.goto("/docs").await;
    browser.await_truth("return document.querySelectorAll('#worked > details').length === 3").await;
    let key = "return document.getElementById('apikey').value";
    assert_eq!(browser.run(key).await, json!("demo-key-town-practice"));
    let top = "return document.querySelector('main').firstElementChild.id";
    assert_eq!(browser.run(top).await, json!("worked"));
    assert!(send(&browser, 0).await.starts_with("200"));
    assert!(send(&browser, 1).await.starts_with("200"));
    assert!(send(&browser, 2).await.starts_with("201"));
    let tags =
        browser.run("return [...document.querySelectorAll('main > section')].map((one) => one.id)");
    let tags: Vec<String> = serde_json::from_value(tags.await).expect("a list of texts");
    let place = |name: &str| tags.iter().position(|tag| tag == name).expect("a resource");
    let in_use =
        ["groups", "interventions", "availabletimeslots", "appointments", "fiches", "history"];
    assert!(in_use.windows(2).all(|two| place(two[0]) < place(two[1])), "{tags:?}");
    browser.assert_accessible("/docs").await;
    // The search leaves the calls alone.
    browser.type_into("#find", "fiches").await;
    assert_eq!(browser.run("return document.querySelector('#worked').hidden").await, json!(false));
}

#[tokio::test]
async fn a_server_without_the_demonstration_fills_in_no_key() {
    let server = TestServer::start().await;
    let Some(browser) = Browser::open(server.address(), PHONE).await else { return };
    browser.goto("/docs").await;
    browser.await_truth("return document.querySelectorAll('#worked > details').length === 3").await;
    assert_eq!(browser.run("return document.getElementById('apikey').value").await, json!(""));
}
