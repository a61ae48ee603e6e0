//! The screen that makes links to the booking page. Reference 15.17.

use serde_json::json;
use slotbook::domain::records::embed_origins::EmbedOrigins;

use crate::browser::{Browser, Look, PHONE};
use crate::login::Professional;
use crate::practice_looks::log_in;
use crate::server::TestServer;
use crate::shop::{ANN, CALENDAR, COLOUR, CUT, PAUL, RITA};
use crate::visitor::{Page, Visitor, shop_with};

const LINKS: &str = "/p/cut-co/settings/links";

/// The text of the first element that is to be copied, decoded.
fn copied(page: &Page, at: usize) -> String {
    let rest = page.html.split("class=\"copied\">").nth(at + 1).expect("a text to copy");
    let text = rest.trim_start_matches("<code>").split("</code>").next().expect("its end");
    text.replace("&#60;", "<").replace("&#62;", ">").replace("&#34;", "\"").replace("&#38;", "&")
}

#[tokio::test]
async fn a_link_made_here_does_what_was_chosen() {
    let server = shop_with(|catalogue| {
        catalogue.group.embed_origins =
            EmbedOrigins::new("https://shop.example.org").expect("an origin");
    })
    .await;
    let ann = Professional::logged_in(&server, ANN).await;
    let plain = ann.open(LINKS).await;
    assert!(copied(&plain, 0).ends_with("/b/cut-co"), "{}", copied(&plain, 0));
    plain.shows("<svg class=\"qr\"");
    plain.hides("First add the address of your site");
    let chosen = format!(
        "{LINKS}?intervention_ids%5B%5D={CUT}&calendar_id={CALENDAR}&freeze=1&nofooter=1\
         &websource=gare+%26+%22caf%C3%A9%22&intervention_ids[]=99&lang=fr"
    );
    let page = ann.open(&chosen).await;
    let link = copied(&page, 0);
    let path = &link[link.find("/b/").expect("a booking page")..];
    assert!(!path.contains("99") && !path.contains("nologo"), "{path}");
    let snippet = copied(&page, 1);
    assert!(snippet.contains("<script src=\"") && snippet.contains("data-shop=\"cut-co\" async>"));
    assert!(snippet.contains(&format!("<a href=\"{}\">", link.replace('&', "&amp;"))), "{snippet}");
    assert!(copied(&page, 2).contains("data-mode=\"button\""));
    // The link that the screen shows is followed as it is.
    let visitor = Visitor::of(&server);
    let led = visitor.get(path).await;
    assert!(led.location().starts_with("/b/cut-co/time?s=21&c=11&p="), "{}", led.location());
    let time = visitor.open(led.location()).await;
    time.hides("<footer>");
    time.hides("edit=1");
    // A page of the other choices is not frozen.
    let other = format!("{LINKS}?intervention_ids%5B%5D={COLOUR}");
    let link = copied(&ann.open(&other).await, 0);
    assert!(link.ends_with(&format!("/b/cut-co?intervention_ids%5B%5D={COLOUR}")), "{link}");
}

#[tokio::test]
async fn the_screen_says_what_is_missing_and_is_for_settings() {
    let server = TestServer::with_team(|catalogue| catalogue.group.web_page = false).await;
    let ann = Professional::logged_in(&server, ANN).await;
    let page = ann.open(LINKS).await;
    page.shows("The shop has no booking page.");
    page.shows("First add the address of your site");
    for person in [RITA, PAUL] {
        let person = Professional::logged_in(&server, person).await;
        assert_eq!(person.get(LINKS).await.status, 403);
    }
}

/// The address in the frame of the screen.
fn preview_of(page: &Page) -> String {
    let rest = page.html.split("<iframe class=\"preview\" src=\"").nth(1).expect("a frame");
    rest.split('"').next().expect("an address").replace("&#38;", "&")
}

#[tokio::test]
async fn this_server_alone_shows_a_preview_and_the_page_of_a_link_is_in_no_frame() {
    let server = shop_with(|_| {}).await;
    let ann = Professional::logged_in(&server, ANN).await;
    let screen = ann.open(&format!("{LINKS}?intervention_ids[]={CUT}&freeze=1")).await;
    let policy = |page: &Page| {
        let policy = page.headers["content-security-policy"].to_str().expect("ASCII");
        (policy.to_owned(), page.headers.get("x-frame-options").cloned())
    };
    let (allowed, frames) = policy(&screen);
    assert!(allowed.ends_with("frame-ancestors 'none'; frame-src 'self'"), "{allowed}");
    assert_eq!(frames.expect("a header"), "DENY");
    let visitor = Visitor::of(&server);
    let led = visitor.get(&preview_of(&screen)).await.location().to_owned();
    assert!(led.starts_with(&format!("/b/cut-co/time?s={CUT}&lang=en&p=")), "{led}");
    let page = visitor.open(&led).await;
    page.shows("Preview: nothing is booked here.");
    let (allowed, frames) = policy(&page);
    assert!(allowed.ends_with("; frame-ancestors 'self'"), "{allowed}");
    assert_eq!(frames.expect("a header"), "SAMEORIGIN");
    // The same page without the seal, with a broken one, and with that of a link.
    let (plain, sealed) = led.split_once("&p=").expect("a seal");
    let first = if sealed.starts_with('A') { 'B' } else { 'A' };
    let forged = format!("{plain}&p={first}{}", &sealed[1..]);
    let link = visitor.get(&format!("/b/cut-co?intervention_ids[]={CUT}&websource=x")).await;
    for path in [plain, &forged, link.location()] {
        let page = visitor.open(path).await;
        page.hides("Preview");
        let (allowed, frames) = policy(&page);
        assert!(allowed.ends_with("; frame-ancestors 'none'"), "{allowed}");
        assert_eq!(frames.expect("a header"), "DENY");
    }
    // A form of the preview books nothing.
    let form = visitor.form_of(CUT, "2025-06-02T10:00").await;
    let end = visitor.post(&format!("/b/cut-co/you?lang=en&p={sealed}"), &form).await;
    assert_eq!(end.status, 200);
    end.shows("The preview saved nothing.");
    assert_eq!(server.pro_get("/groups/4/appointments").await.is(200)["records"], json!([]));
}

#[tokio::test]
async fn the_owner_walks_through_a_preview_beside_the_choices() {
    let server = shop_with(|_| {}).await;
    let Some(browser) = Browser::open(server.address(), PHONE).await else { return };
    log_in(&browser).await;
    browser.goto(&format!("{LINKS}?intervention_ids[]={CUT}")).await;
    browser.run("document.querySelector('.preview').scrollIntoView()").await;
    browser.client.enter_frame(0).await.expect("the frame");
    browser.click("button[name=t]").await;
    browser.type_into("#fiche-lastname", "Durand").await;
    browser.type_into("#fiche-email", "zoe@example.org").await;
    browser.click(".send button").await;
    browser.await_truth("return document.body.textContent.includes('saved nothing')").await;
    browser.assert_accessible("the end of the preview").await;
    browser.client.enter_parent_frame().await.expect("the screen");
    assert!(browser.run("return location.pathname").await == LINKS, "the screen stays");
    browser.picture("links-preview").await;
    assert_eq!(server.pro_get("/groups/4/appointments").await.is(200)["records"], json!([]));
}

#[tokio::test]
async fn the_screen_is_accessible() {
    let server = shop_with(|_| {}).await;
    for language in ["en", "fr"] {
        let look = Look { width: 320, language, ..PHONE };
        let Some(browser) = Browser::open(server.address(), look).await else { return };
        log_in(&browser).await;
        browser.goto(&format!("{LINKS}?intervention_ids[]={CUT}&freeze=1")).await;
        browser.assert_screen(look, "links").await;
    }
}
