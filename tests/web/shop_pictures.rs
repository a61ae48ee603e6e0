//! The pages for clients on the demonstration, as a visitor would see them: the pictures of
//! README.md.

use reqwest::Method;
use serde_json::json;

use crate::browser::{Browser, Look, PHONE};
use crate::framed_site::{enter_frame, leave_frame};
use crate::server::{TestServer, answer};
use crate::shop::OPERATOR_KEY;
use crate::site::Site;

const HOME: &str = "/b/cabinet-de-sante-des-tilleuls";
const DESK: Look = Look { width: 1_280, height: 800, ..PHONE };
const HANDHELD: Look = Look { width: 390, height: 844, ..PHONE };

/// Checks and keeps the present page on telephone and desk, light and dark.
async fn keep(browser: &Browser, name: &str) {
    for (look, device) in [(HANDHELD, "phone"), (DESK, "desk")] {
        for is_dark in [true, false] {
            browser.emulate(Look { is_dark, ..look }).await;
            let scheme = if is_dark { "-dark" } else { "" };
            let what = format!("shop-{name}-{device}{scheme}");
            browser.assert_accessible(&what).await;
            browser.assert_fits(&what).await;
            browser.picture(&what).await;
        }
    }
}

#[tokio::test]
async fn the_pages_of_the_demonstration_are_accessible() {
    let server = TestServer::demonstration().await;
    let Some(browser) = Browser::open(server.address(), HANDHELD).await else { return };
    browser.goto(HOME).await;
    browser.await_element("h1").await;
    keep(&browser, "service").await;
    let stand_out = "return [...document.querySelectorAll('.services')].filter((one) =>
        one.getBoundingClientRect().left < document.querySelector('h1').offsetLeft).length";
    assert_eq!(browser.run(stand_out).await, json!(0), "lists begin where their title does");
    // Three weeks ahead, so that the appointment can still be moved.
    browser.goto(&format!("{HOME}/time?s=1&d=2025-06-23")).await;
    browser.await_element("button[name=t]").await;
    keep(&browser, "time").await;
    browser.click("button[name=t]").await;
    browser.await_element("#fiche-lastname").await;
    keep(&browser, "you").await;
    browser.type_into("#fiche-lastname", "Durand").await;
    browser.type_into("#fiche-firstname", "Zoé").await;
    browser.type_into("#fiche-email", "zoe@example.org").await;
    browser.click(".send button").await;
    browser.await_element(".ok").await;
    keep(&browser, "done").await;
    browser.click(".acts a:not([href$='/move'])").await;
    browser.await_element("details.danger").await;
    keep(&browser, "manage").await;
}

/// The page of a practice with the snippet of docs/embedding.md in its middle.
fn practice_site(base: &str) -> String {
    let style = "*{box-sizing:border-box}body{margin:0;font:1.05rem/1.5 Georgia,serif;\
        color:#23303b;background:#fff}header{background:#1f3d5a;color:#fff}\
        header>div,main{max-width:62rem;margin:0 auto;padding:1rem}\
        header p{margin:0;font-size:1.4rem}nav{display:flex;gap:1.5rem}nav a{color:#fff}\
        h1{font-size:1.8rem;margin:0 0 .5rem;font-weight:normal}";
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>Les Tilleuls</title><link rel=\"icon\" href=\"data:,\">\
         <style>{style}</style></head>\
         <body><header><div><p>Les Tilleuls, a health practice</p><nav aria-label=\"Site\">\
         <a href=\"#team\">Our team</a><a href=\"#access\">Access</a><a href=\"#book\">Book</a>\
         </nav></div></header><main><h1>See one of us</h1>\
         <p>Choose a time below. We answer the telephone from nine to noon.</p>\n\
         <a href=\"{base}{HOME}?s=1\">Book an appointment</a>\n\
         <script src=\"{base}/embed.js\" data-shop=\"{}\" async></script>\n</main></body></html>",
        HOME.trim_start_matches("/b/"),
    )
}

#[tokio::test]
async fn a_site_with_the_pages_of_the_demonstration_is_accessible() {
    let server = TestServer::demonstration().await;
    let site = Site::bind().await;
    let origin = site.origin();
    let listed = json!({"group": {"embed_origins": origin}});
    let change = server.bare(Method::PUT, "/api/v1/groups/1").header("X-Api-Key", OPERATOR_KEY);
    let change = change.basic_auth("anna@example.org", Some("demo-password"));
    answer(change.json(&listed)).await.is(200);
    site.show(practice_site(&format!("http://{}", server.address())));
    let Some(browser) = Browser::open(server.address(), DESK).await else { return };
    browser.client.goto(&origin).await.expect("the site opens");
    browser.await_truth("return document.querySelector('iframe').style.height !== '40rem'").await;
    enter_frame(&browser).await;
    browser.await_element("button[name=t]").await;
    leave_frame(&browser).await;
    keep(&browser, "embedded").await;
    enter_frame(&browser).await;
    browser.assert_accessible("the frame").await;
    leave_frame(&browser).await;
}
