//! The calendar feeds of a professional on a screen of the practice. Reference 15.19.

use reqwest::Method;

use crate::browser::{Browser, Look, PHONE};
use crate::login::Professional;
use crate::practice_looks::log_in;
use crate::server::{TestServer, answer};
use crate::shop::{ANN, CALENDAR, OTHER_CALENDAR, PAUL, RITA};
use crate::visitor::Page;

const FEEDS: &str = "/p/cut-co/feeds";

/// The path of the link that a page shows.
fn shown_link(page: &Page) -> String {
    assert_eq!(page.status, 200, "{}", page.html);
    let rest = page.html.split("id=\"link\" value=\"").nth(1).expect("a link");
    rest.split('"').next().expect("a link").to_owned()
}

async fn status(server: &TestServer, link: &str) -> u16 {
    answer(server.bare(Method::GET, link)).await.status.as_u16()
}

#[tokio::test]
async fn a_feed_is_made_shown_once_renewed_and_revoked() {
    let server = TestServer::with_team(|_| {}).await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let list = ann.open(FEEDS).await;
    list.shows("No link yet.");
    list.shows("value=\"pro-4\"");
    list.hides("value=\"pro-1\"");
    for wrong in [
        &[("target", "calendar-99"), ("details", "busy")][..],
        &[("target", "calendar-11"), ("details", "all")],
        &[("target", "pro-1"), ("details", "busy")],
        &[("target", "11"), ("details", "busy")],
        &[("details", "busy")],
    ] {
        let refused = ann.post(FEEDS, wrong).await;
        assert_eq!(refused.status, 400, "{wrong:?}");
        refused.shows("Choose a calendar and the details shown.");
    }
    let target = format!("calendar-{CALENDAR}");
    let made = ann.post(FEEDS, &[("target", &target), ("details", "initials")]).await;
    let link = shown_link(&made);
    assert_eq!(status(&server, &link).await, 200);
    let list = ann.open(FEEDS).await;
    list.hides("/ics/");
    list.shows("Initials of the client");
    list.shows("Made on 2 June 2025 by Pro A");
    let renewed = shown_link(&ann.post(FEEDS, &[("renew", "1")]).await);
    assert_eq!((status(&server, &link).await, status(&server, &renewed).await), (404, 200));
    let revoked = ann.post(FEEDS, &[("revoke", "1")]).await;
    assert_eq!(revoked.location(), "/p/cut-co/feeds?revoked=1");
    assert_eq!(status(&server, &renewed).await, 404);
    assert_eq!(ann.post(FEEDS, &[("revoke", "1")]).await.status, 404);
    assert_eq!(ann.post(FEEDS, &[("renew", "x")]).await.status, 404);
    let history = ann.open("/p/cut-co/history").await;
    history.shows("Calendar link 1");
    history.shows("New secret");
}

#[tokio::test]
async fn each_role_has_the_feeds_of_its_calendars() {
    let server = TestServer::with_team(|_| {}).await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let other = format!("calendar-{OTHER_CALENDAR}");
    shown_link(&ann.post(FEEDS, &[("target", &other), ("details", "full")]).await);
    let mut paul = Professional::logged_in(&server, PAUL).await;
    let list = paul.open(FEEDS).await;
    list.shows("No link yet.");
    list.shows("Your own calendars");
    list.hides(&other);
    let refused = paul.post(FEEDS, &[("target", &other), ("details", "busy")]).await;
    assert_eq!(refused.status, 400);
    assert_eq!(paul.post(FEEDS, &[("revoke", "1")]).await.status, 404);
    shown_link(&paul.post(FEEDS, &[("target", "pro-4"), ("details", "busy")]).await);
    let rita = Professional::logged_in(&server, RITA).await;
    let list = rita.open(FEEDS).await;
    list.shows("value=\"1\"");
    list.hides("value=\"2\"");
    list.hides("value=\"pro-");
    rita.open("/p/cut-co/logins").await.shows("href=\"/p/cut-co/feeds\"");
    ann.open("/p/cut-co/settings").await.shows("href=\"/p/cut-co/feeds\"");
}

#[tokio::test]
async fn the_calendar_feeds_are_accessible() {
    let server = TestServer::with_team(|_| {}).await;
    let mut paul = Professional::logged_in(&server, PAUL).await;
    shown_link(&paul.post(FEEDS, &[("target", "pro-4"), ("details", "full")]).await);
    let target = format!("calendar-{CALENDAR}");
    shown_link(&paul.post(FEEDS, &[("target", &target), ("details", "busy")]).await);
    let gone = answer(server.by_pro(Method::DELETE, "/groups/4/pros/4")).await;
    assert_eq!(gone.status, 200, "{}", gone.text);
    for language in ["en", "fr"] {
        let look = Look { language, ..PHONE };
        let Some(browser) = Browser::open_whole(server.address(), look, &[]).await else { return };
        log_in(&browser).await;
        browser.goto(FEEDS).await;
        browser.assert_screen(look, "feeds").await;
        browser.click("#initials").await;
        browser.click("form.narrow button").await;
        browser.await_element("#link + p button, .field p button").await;
        browser.assert_screen(look, "feed-made").await;
        browser.click("main .field p button").await;
        let copied = browser.await_element("#said:not(:empty)").await;
        let said = copied.text().await.expect("a text");
        assert!(said.contains(if language == "en" { "copied" } else { "copié" }), "{said}");
    }
}
