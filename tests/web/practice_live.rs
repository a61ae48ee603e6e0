//! The agenda in a browser while others change it. Reference 15.10.

use std::sync::{Arc, Mutex, PoisonError};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};

use crate::browser::Browser;
use crate::figures::open_day;
use crate::practice_grid::{DAY, DESKTOP, ESCAPE, book, focus, is_focused, link, open, said, shop};
use crate::program::{Served, booking, half_hour, practice, store_of};
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

/// A port that leads to the server of the moment.
struct Door {
    address: String,
    leads_to: Arc<Mutex<String>>,
}

impl Door {
    async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound").to_string();
        let leads_to = Arc::<Mutex<String>>::default();
        let found = Arc::clone(&leads_to);
        tokio::spawn(async move {
            while let Ok((mut outside, _)) = listener.accept().await {
                let address = found.lock().unwrap_or_else(PoisonError::into_inner).clone();
                tokio::spawn(async move {
                    if let Ok(mut inside) = TcpStream::connect(address).await {
                        drop(copy_bidirectional(&mut outside, &mut inside).await);
                    }
                });
            }
        });
        Self { address, leads_to }
    }

    fn leads_to(&self, server: &Served) {
        let address = server.base.trim_start_matches("http://").to_owned();
        *self.leads_to.lock().unwrap_or_else(PoisonError::into_inner) = address;
    }
}

/// Books a half hour of the first day of 2030.
async fn book_half_hour(server: &Served, number: u64) -> u64 {
    let wish = booking(&format!("c{number}"), &half_hour(number), 1, &[1]);
    let url = format!("{}/api/v1/groups/1/appointments?apikey=test-key", server.base);
    let booked = reqwest::Client::new().post(url).json(&wish).send().await.expect("an answer");
    assert_eq!(booked.status(), 201);
    let booked: Value = booked.json().await.expect("JSON");
    booked["records"][0]["id"].as_u64().unwrap_or_else(|| panic!("{booked}"))
}

#[tokio::test]
async fn after_kills_of_the_server_the_stream_goes_on_without_a_gap() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut document = practice(1);
    document["groups"][0]["urlname"] = json!("practice");
    let data = store_of(folder.path(), &document);
    let door = Door::open().await;
    let mut server = Served::on(&data, &[]);
    door.leads_to(&server);
    let Some(browser) = open_day(&door.address).await else { return };
    let first = book_half_hour(&server, 0).await;
    browser.await_element(&link(first)).await;
    for number in [1, 2] {
        server.end("KILL");
        server = Served::on(&data, &[]);
        // While the way to the server is closed, so that no stream tells of it.
        let missed = book_half_hour(&server, 2 * number).await;
        door.leads_to(&server);
        browser.await_element(&link(missed)).await;
        let seen = book_half_hour(&server, 2 * number + 1).await;
        browser.await_element(&link(seen)).await;
    }
    assert_eq!(browser.run("return document.querySelectorAll('.grid a.event').length").await, 5);
}
