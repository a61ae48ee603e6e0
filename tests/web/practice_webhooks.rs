//! The webhooks of a group on a screen of the practice. Reference 15.20.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use reqwest::Method;
use serde_json::json;
use slotbook::engine::admission::AdmissionLimits;
use slotbook::engine::webhooks::{WebhookOptions, WebhookSender, WebhooksHandle};
use slotbook::http::webhook_sender;
use slotbook::notify::webhook::addresses::AllowedNetworks;

use crate::browser::{Browser, Look, PHONE};
use crate::login::Professional;
use crate::practice_looks::log_in;
use crate::server::{TestServer, answer};
use crate::shop::{self, ANN, EVE, PAUL, RITA, group_five, group_four};
use crate::visitor::Page;

const WEBHOOKS: &str = "/p/cut-co/settings/webhooks";
const FIRST: &str = "/p/cut-co/settings/webhooks/1";

/// The shop, whose webhooks may be on this machine, and a receiver there.
struct Shop {
    server: TestServer,
    sender: Arc<WebhookSender>,
    url: String,
    /// What the receiver answers.
    status: Arc<AtomicU16>,
}

impl Shop {
    async fn open() -> Self {
        let allowed = vec!["127.0.0.0/8".parse().expect("a network")];
        let sender = Arc::new(webhook_sender(AllowedNetworks::new(allowed)));
        let served = Arc::clone(&sender);
        let mut directory = shop::directory();
        shop::add_team(&mut directory);
        let groups = vec![group_four(|_| {}), group_five()];
        let limits = AdmissionLimits::default();
        let server =
            TestServer::begin(limits, directory, groups, |it| it.with_webhooks(served)).await;
        let status = Arc::new(AtomicU16::new(204));
        let answered = Arc::clone(&status);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let receiver = Router::new().fallback(async move || {
            StatusCode::from_u16(answered.load(Ordering::Relaxed)).expect("a status")
        });
        tokio::spawn(async move { axum::serve(listener, receiver).await });
        Self { server, sender, url: format!("http://{address}/changes"), status }
    }

    /// Makes a webhook of the receiver, and returns its secret.
    async fn make(&self, ann: &mut Professional) -> String {
        shown_secret(&ann.post(WEBHOOKS, &[("url", &self.url)]).await)
    }

    /// Delivers from now on.
    fn deliver(&self) -> WebhooksHandle {
        self.server.engine.deliver_webhooks(WebhookOptions {
            sender: Arc::clone(&self.sender),
            poll_interval_max: Duration::from_millis(5),
            record_interval: Duration::from_millis(5),
            sends_mail: false,
        })
    }

    /// Adds a client, and waits until the first webhook has an answer about it.
    async fn add_client(&self) {
        let shown = || self.server.pro_get("/groups/4/webhooks/1");
        let count = shown().await.is(200)["answers"].as_array().map_or(0, Vec::len);
        let client = json!({"fiche": {"lastname": "New"}});
        answer(self.server.by_pro(Method::POST, "/groups/4/fiches").json(&client)).await.is(201);
        for _ in 0..2_000 {
            if shown().await.is(200)["answers"].as_array().is_some_and(|it| it.len() > count) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("no answer is shown");
    }
}

/// The secret that a page shows.
fn shown_secret(page: &Page) -> String {
    assert_eq!(page.status, 200, "{}", page.html);
    let rest = page.html.split("<code id=\"secret\">").nth(1).expect("a secret");
    let secret = rest.split('<').next().expect("a secret").to_owned();
    assert!(secret.starts_with("whsec_"), "{secret}");
    secret
}

#[tokio::test]
async fn a_webhook_is_made_tested_changed_and_removed() {
    let shop = Shop::open().await;
    let mut ann = Professional::logged_in(&shop.server, ANN).await;
    ann.open("/p/cut-co/settings").await.shows("href=\"/p/cut-co/settings/webhooks\"");
    ann.open(WEBHOOKS).await.shows("No webhook yet.");
    let first = shop.make(&mut ann).await;
    let list = ann.open(WEBHOOKS).await;
    list.shows(&shop.url);
    list.hides("whsec_");
    ann.open(FIRST).await.hides("whsec_");

    ann.post(FIRST, &[("do", "test")]).await.shows("The test was taken: answer 204.");
    shop.status.store(503, Ordering::Relaxed);
    ann.post(FIRST, &[("do", "test")]).await.shows(
        "<p class=\"alert\" role=\"alert\" id=\"tested\">The receiver answered the test with 503.",
    );

    let second = shown_secret(&ann.post(FIRST, &[("do", "rotate")]).await);
    assert_ne!(first, second);
    ann.open(FIRST).await.shows("The secret before signs until");
    let ended = ann.post(FIRST, &[("do", "end_former")]).await;
    assert_eq!(ended.location(), format!("{FIRST}?saved=1"));
    ann.open(FIRST).await.hides("The secret before signs until");

    ann.post(FIRST, &[("do", "off")]).await;
    ann.open(FIRST).await.shows("Off since 2 June 2025");
    ann.post(FIRST, &[("do", "on")]).await;
    let on = ann.open(FIRST).await;
    on.hides("Off since");
    let other = "https://hooks.example.org/x?a=1&b=2";
    let changed = [("url", other), ("objects[]", "vevent")];
    ann.post(FIRST, &changed).await;
    let shown = ann.open(FIRST).await;
    shown.shows("value=\"https://hooks.example.org/x?a=1&#38;b=2\"");
    shown.shows("value=\"vevent\" checked");
    shown.hides("value=\"fiche\" checked");

    let removed = ann.post(FIRST, &[("do", "remove")]).await;
    assert_eq!(removed.location(), format!("{WEBHOOKS}?removed=1"));
    assert_eq!(ann.get(FIRST).await.status, 404);
    assert_eq!(ann.post(FIRST, &[("do", "rotate")]).await.status, 404);
    ann.open("/p/cut-co/history").await.hides("whsec_");
}

#[tokio::test]
async fn a_wrong_address_stays_in_its_field_with_the_rule() {
    let shop = Shop::open().await;
    let mut ann = Professional::logged_in(&shop.server, ANN).await;
    for wrong in ["", "http://hooks.example.org/", "https://10.0.0.1/", "https://a@b.example/"] {
        let refused = ann.post(WEBHOOKS, &[("url", wrong), ("objects[]", "fiche")]).await;
        assert_eq!(refused.status, 400, "{wrong}");
        refused.shows("aria-invalid=\"true\"");
        refused.shows(&format!("name=\"url\" value=\"{wrong}\""));
        refused.shows("value=\"fiche\" checked");
    }
    ann.open(WEBHOOKS).await.shows("No webhook yet.");
    for _ in 0..10 {
        shop.make(&mut ann).await;
    }
    let eleventh = ann.post(WEBHOOKS, &[("url", &shop.url)]).await;
    assert_eq!(eleventh.status, 409);
    eleventh.shows("10 webhooks");
    let refused = ann.post(FIRST, &[("url", "ftp://hooks.example.org/")]).await;
    assert_eq!(refused.status, 400);
    refused.shows("value=\"ftp://hooks.example.org/\"");
    ann.open(FIRST).await.shows(&shop.url);
}

#[tokio::test]
async fn administrators_alone_see_the_webhooks() {
    let shop = Shop::open().await;
    let mut ann = Professional::logged_in(&shop.server, ANN).await;
    shop.make(&mut ann).await;
    for person in [PAUL, RITA, EVE] {
        let mut other = Professional::logged_in(&shop.server, person).await;
        for path in [WEBHOOKS, FIRST] {
            let refused = other.get(path).await;
            assert!([403, 404].contains(&refused.status), "{person:?} {path}");
            refused.hides(&shop.url);
            for act in ["test", "rotate", "remove"] {
                let refused = other.post(path, &[("do", act), ("url", &shop.url)]).await;
                assert!([403, 404].contains(&refused.status), "{person:?} {path} {act}");
            }
        }
    }
    ann.open(FIRST).await.shows("Nothing was sent yet.");
}

#[tokio::test]
async fn the_webhooks_are_accessible() {
    let shop = Shop::open().await;
    let mut ann = Professional::logged_in(&shop.server, ANN).await;
    shop.make(&mut ann).await;
    let long = format!("https://hooks.example.org/{}", "a-long-path/".repeat(12));
    ann.post(WEBHOOKS, &[("url", &long), ("objects[]", "vevent")]).await;
    ann.post("/p/cut-co/settings/webhooks/2", &[("do", "off")]).await;
    let delivering = shop.deliver();
    shop.add_client().await;
    shop.status.store(500, Ordering::Relaxed);
    shop.add_client().await;
    delivering.stop().await;
    for language in ["en", "fr"] {
        let look = Look { language, ..PHONE };
        let Some(browser) = Browser::open(shop.server.address(), look).await else { return };
        log_in(&browser).await;
        browser.goto(WEBHOOKS).await;
        browser.assert_screen(look, "webhooks").await;
        browser.type_into("#url", "http://10.0.0.1/").await;
        browser.click("form.narrow button").await;
        browser.await_element("#url-fault").await;
        browser.assert_screen(look, "webhooks-fault").await;
        browser.goto(FIRST).await;
        browser.click("button[value=test]").await;
        browser.await_element("#tested").await;
        browser.assert_screen(look, "webhook-tested").await;
        browser.click("button[value=rotate]").await;
        browser.await_element("#secret").await;
        browser.assert_screen(look, "webhook-secret").await;
        browser.click("main .button").await;
        browser.await_element("button[value=end_former]").await;
        browser.assert_screen(look, "webhook").await;
    }
}
