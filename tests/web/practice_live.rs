//! The agenda in a browser while others change it. Reference 15.10.

use reqwest::Method;
use serde_json::json;

use crate::browser::Browser;
use crate::practice_grid::{DAY, DESKTOP, ESCAPE, book, focus, is_focused, link, open, said, shop};
use crate::server::{TestServer, answer};
use crate::shop::CALENDAR;

const CHANGED: &str = "The agenda has just been changed";

async fn book_at(server: &TestServer, hour: u32) -> u64 {
    let time = |minute: u32| format!("2025-06-03 {hour:02}:{minute:02}:00");
    book(server, CALENDAR, &time(0), &time(30)).await
}

/// Counts the sentences that a screen reader gets from now on.
async fn count_sentences(browser: &Browser) {
    browser
        .run(
            "self.sentences = 0; new MutationObserver(() => {
             if (document.getElementById('said').textContent) self.sentences += 1;
         }).observe(document.getElementById('said'), {childList: true});",
        )
        .await;
}

#[tokio::test]
async fn a_change_by_others_is_shown_and_said_once() {
    let server = shop().await;
    let Some(browser) = open(&server, DESKTOP, DAY).await else { return };
    count_sentences(&browser).await;
    for hour in 9..12 {
        let id = book_at(&server, hour).await;
        browser.await_element(&link(id)).await;
    }
    said(&browser, CHANGED).await;
    assert_eq!(browser.run("return self.sentences").await, 1);
    browser.assert_accessible("live").await;
}

#[tokio::test]
async fn a_change_that_the_view_does_not_have_is_not_said() {
    let server = shop().await;
    let Some(browser) = open(&server, DESKTOP, DAY).await else { return };
    count_sentences(&browser).await;
    book(&server, CALENDAR, "2025-06-04 09:00:00", "2025-06-04 09:30:00").await;
    browser.run("self.view = document.querySelector('.grid').firstElementChild").await;
    let id = book_at(&server, 9).await;
    browser.await_element(&link(id)).await;
    assert_eq!(browser.run("return self.sentences").await, 1);
}

#[tokio::test]
async fn focus_and_what_is_in_the_hand_stay() {
    let server = shop().await;
    let first = book_at(&server, 9).await;
    let Some(browser) = open(&server, DESKTOP, DAY).await else { return };
    focus(&browser, first).await;
    let second = book_at(&server, 10).await;
    browser.await_element(&link(second)).await;
    assert!(is_focused(&browser, first).await);
    // Taken by the keys: the view waits until it is put back.
    browser.press("g").await;
    browser.await_element(".ghost").await;
    let third = book_at(&server, 11).await;
    let path = format!("/groups/4/vevents/{second}");
    answer(server.by_pro(Method::DELETE, &path)).await.is(200);
    assert_eq!(browser.run("return document.querySelector('.ghost') !== null").await, true);
    browser.press(ESCAPE).await;
    browser.await_element(&link(third)).await;
    browser.await_truth(&format!("return !document.querySelector('{}')", link(second))).await;
    assert!(is_focused(&browser, first).await);
}

#[tokio::test]
async fn ten_tabs_share_one_stream_and_another_takes_over() {
    let server = shop().await;
    let Some(browser) = open(&server, DESKTOP, DAY).await else { return };
    let first = browser.client.window().await.expect("a window");
    for _ in 1..10 {
        let tab = browser.client.new_window(true).await.expect("a tab");
        browser.client.switch_to_window(tab.handle).await.expect("it is open");
        browser.goto(DAY).await;
        browser.await_element(".grid").await;
    }
    let locks = "return navigator.locks.query().then(({held, pending}) =>
        held.length + ' ' + pending.length)";
    browser
        .await_truth("return navigator.locks.query().then((it) => it.pending.length === 9)")
        .await;
    assert_eq!(browser.run(locks).await, "1 9");
    let id = book_at(&server, 9).await;
    for tab in browser.client.windows().await.expect("ten") {
        browser.client.switch_to_window(tab).await.expect("it is open");
        browser.await_element(&link(id)).await;
    }
    // The tab with the stream is closed.
    browser.client.switch_to_window(first).await.expect("it is open");
    browser.client.close_window().await.expect("it closes");
    let tabs = browser.client.windows().await.expect("nine");
    browser.client.switch_to_window(tabs[0].clone()).await.expect("it is open");
    browser
        .await_truth("return navigator.locks.query().then((it) => it.pending.length === 8)")
        .await;
    let id = book_at(&server, 10).await;
    browser.await_element(&link(id)).await;
}

#[tokio::test]
async fn without_locks_a_tab_asks_every_ten_seconds() {
    let server = shop().await;
    let Some(browser) = open(&server, DESKTOP, DAY).await else { return };
    // As on a page without HTTPS.
    let script = "Object.defineProperty(Navigator.prototype, 'locks', {value: undefined});";
    browser.devtools("Page.addScriptToEvaluateOnNewDocument", json!({"source": script})).await;
    browser.goto(DAY).await;
    browser.await_element(".grid").await;
    assert_eq!(browser.run("return navigator.locks === undefined").await, true);
    let id = book_at(&server, 9).await;
    browser.await_element(&link(id)).await;
}
