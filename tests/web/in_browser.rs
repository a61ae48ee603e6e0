//! The pages in a real browser.

use serde_json::{Value, json};

use fantoccini::Locator;

use crate::browser::{Browser, Look, PHONE};
use crate::server::TestServer;
use crate::shop::CUT;
use crate::visitor::{Visitor, live_appointments, set, shop_with};

const DESKTOP: Look = Look { width: 1_280, height: 900, ..PHONE };

/// The paths of the screens and states of a shop with one appointment.
async fn all_screens(server: &TestServer, language: &'static str) -> Vec<(String, String)> {
    let visitor = Visitor::of(server).speaking(language);
    let mut form = visitor.form_of(CUT, "2025-06-02T09:00").await;
    set(&mut form, "fiche.email", &format!("{language}@example.org"));
    let done = visitor.post("/b/cut-co/you", &form).await.location().to_owned();
    let page = visitor.open(&done).await;
    let link = crate::manage::link_of(&page);
    let screens = [
        ("service", "/b/cut-co".to_owned()),
        ("nothing-chosen", "/b/cut-co/time".to_owned()),
        ("time", format!("/b/cut-co/time?s={CUT}")),
        ("month", format!("/b/cut-co/time?s={CUT}&m=2025-07")),
        ("you", format!("/b/cut-co/you?s={CUT}&t=2025-06-02T10:00")),
        ("taken", format!("/b/cut-co/you?s={CUT}&t=2025-06-02T13:00")),
        ("done", done),
        ("manage", link.clone()),
        ("move", format!("{link}/move")),
        ("move-question", format!("{link}/move?t=2025-06-05T10:00")),
        ("gone", "/m/nothing".to_owned()),
        ("not-found", "/b/nowhere".to_owned()),
    ];
    screens.map(|(name, path)| (name.to_owned(), path)).to_vec()
}

#[tokio::test]
async fn a_visitor_books_by_the_keyboard_alone() {
    let server = shop_with(|_| {}).await;
    let Some(browser) = Browser::open(server.address(), DESKTOP).await else { return };
    browser.goto("/b/cut-co").await;
    browser.tab_to("a.service").await;
    browser.press("\u{e007}").await;
    browser.tab_to("button[name=t]").await;
    browser.press("\u{e007}").await;
    browser.tab_to("#fiche-lastname").await;
    // Sent too early: the summary takes the focus, and its link leads to the field.
    browser.press("\u{e007}").await;
    browser.await_truth("return document.activeElement.className === 'alert'").await;
    browser.tab_to("a[href='#fiche-lastname']").await;
    browser.press("\u{e007}").await;
    browser.tab_to("#fiche-lastname").await;
    browser.press("Durand\u{e007}").await;
    browser.arrive_at("/b/cut-co/done").await;
    assert_eq!(live_appointments(&server.engine), 1);
}

#[tokio::test]
async fn an_appointment_is_moved_by_the_keyboard_alone() {
    let (server, _, link) = crate::manage::booked().await;
    let Some(browser) = Browser::open(server.address(), DESKTOP).await else { return };
    browser.goto(&link).await;
    browser.tab_to("a[href$='/move']").await;
    browser.press("\u{e007}").await;
    browser.tab_to("button[value='2025-06-02T10:15']").await;
    browser.press("\u{e007}").await;
    browser.tab_to(".send button").await;
    browser.press("\u{e007}").await;
    browser.await_element("details.danger").await;
    browser.arrive_at(&link).await;
    let when = "return document.querySelector('.appointment .when').textContent";
    assert_eq!(browser.run(when).await, json!("Monday 2 June 2025 at 10:15\u{a0}am"));
    assert_eq!(live_appointments(&server.engine), 1);
}

#[tokio::test]
async fn a_code_is_given_by_the_keyboard_alone() {
    let server = crate::codes::verifying_shop(|_| {}).await;
    let Some(browser) = Browser::open(server.address(), PHONE).await else { return };
    browser.goto(&format!("/b/cut-co/you?s={CUT}&t=2025-06-02T10:00")).await;
    browser.tab_to("#fiche-lastname").await;
    browser.press("Durand").await;
    browser.tab_to("#fiche-email").await;
    browser.press("zoe@example.org\u{e007}").await;
    browser.await_element("#code").await;
    // The code can be typed at once.
    browser.await_truth("return document.activeElement.id === 'code'").await;
    let token = browser.run("return document.querySelector('[name=h]').value").await;
    let code = crate::codes::code(token.as_str().expect("a token"));
    browser.press(&format!("{code}\u{e007}")).await;
    browser.await_element(".ok").await;
    browser.arrive_at("/b/cut-co/done").await;
    assert_eq!(live_appointments(&server.engine), 1);
}

#[tokio::test]
async fn a_browser_without_scripts_gives_a_code_and_moves() {
    let server = crate::codes::verifying_shop(|catalogue| {
        for calendar in catalogue.calendars.values_mut() {
            let lead = slotbook::domain::records::text::Bounded::new(0).expect("a lead");
            std::sync::Arc::make_mut(calendar).mintime_annulation = lead;
        }
    })
    .await;
    let Some(browser) = Browser::open(server.address(), PHONE).await else { return };
    browser.without_scripts().await;
    browser.goto(&format!("/b/cut-co/you?s={CUT}&t=2025-06-02T10:00")).await;
    browser.type_into("#fiche-lastname", "Durand").await;
    browser.type_into("#fiche-email", "zoe@example.org").await;
    browser.click(".send button").await;
    let hold = browser.await_element("[name=h]").await;
    let token = hold.attr("value").await.expect("an attribute").expect("a token");
    browser.type_into("#code", &crate::codes::code(&token)).await;
    browser.click(".send button").await;
    for selector in [".acts a[href$='/move']", "button[value='2025-06-02T10:15']", ".send button"] {
        browser.click(selector).await;
    }
    browser.await_element("details.danger").await;
    let moved = browser.await_element(".appointment .when").await;
    assert_eq!(moved.text().await.expect("a text"), "Monday 2 June 2025 at 10:15 am");
    assert_eq!(live_appointments(&server.engine), 1);
}

#[tokio::test]
async fn the_table_of_dates_follows_the_keys_of_the_date_grid() {
    let server = shop_with(|_| {}).await;
    let Some(browser) = Browser::open(server.address(), DESKTOP).await else { return };
    browser.goto(&format!("/b/cut-co/time?s={CUT}&m=2025-06")).await;
    browser.tab_to("table.dates a").await;
    let focused = "return document.activeElement.firstChild.textContent";
    assert_eq!(browser.run(focused).await, json!("2"));
    for (key, day) in [
        ("\u{e014}", "3"),
        ("\u{e015}", "10"),
        ("\u{e010}", "15"),
        ("\u{e011}", "9"),
        ("\u{e013}", "2"),
        ("\u{e012}", "1"),
    ] {
        browser.press(key).await;
        assert_eq!(browser.run(focused).await, json!(day), "{key:?}");
    }
    browser.press("\u{e00f}").await;
    let title = "return document.querySelector('caption').textContent";
    browser.client.wait().for_element(Locator::Css("a[href*='m=2025-06']")).await.expect("July");
    assert_eq!(browser.run(title).await, json!("July 2025"));
}

#[tokio::test]
async fn of_two_browsers_with_one_time_one_books_and_the_other_gets_the_nearest() {
    let server = shop_with(|catalogue| {
        crate::visitor::first_calendar(catalogue).deleted = true;
    })
    .await;
    let Some(one) = Browser::open_whole(server.address(), PHONE, &[]).await else { return };
    let Some(other) = Browser::open(server.address(), DESKTOP).await else { return };
    for (browser, name) in [(&one, "Durand"), (&other, "Martin")] {
        browser.goto(&format!("/b/cut-co/you?s={CUT}&t=2025-06-02T10:00")).await;
        browser.type_into("#fiche-lastname", name).await;
    }
    one.click(".send button").await;
    one.arrive_at("/b/cut-co/done").await;
    other.click(".send button").await;
    other.await_element("button[name=other]").await;
    other.arrive_at("/b/cut-co/you").await;
    let typed = other.run("return document.querySelector('#fiche-lastname').value").await;
    assert_eq!(typed, json!("Martin"));
    other.picture("taken-meanwhile").await;
    other.click("button[name=other]").await;
    other.arrive_at("/b/cut-co/done").await;
    // Back to the form, and sent again: nothing more is booked.
    one.client.back().await.expect("back");
    one.click(".send button").await;
    one.arrive_at("/b/cut-co/done").await;
    assert_eq!(live_appointments(&server.engine), 2);
}

#[tokio::test]
async fn a_browser_without_scripts_books_too() {
    let server = shop_with(|_| {}).await;
    let Some(browser) = Browser::open(server.address(), PHONE).await else { return };
    browser.without_scripts().await;
    browser.goto("/b/cut-co").await;
    for selector in ["a.service", "button[name=t]"] {
        browser.click(selector).await;
    }
    browser.type_into("#fiche-lastname", "Durand").await;
    browser.click(".send button").await;
    browser.arrive_at("/b/cut-co/done").await;
    assert_eq!(live_appointments(&server.engine), 1);
}

/// The weight of one page with all that it loads.
fn weigh(entries: &Value) -> (u64, usize) {
    let entries = entries.as_array().expect("a list");
    let bytes = entries.iter().map(|entry| entry["bytes"].as_u64().expect("a number")).sum();
    (bytes, entries.len())
}

#[tokio::test]
async fn each_step_is_light_and_breaks_no_policy() {
    let server = shop_with(|catalogue| {
        for calendar in catalogue.calendars.values_mut() {
            let lead = slotbook::domain::records::text::Bounded::new(0).expect("a lead");
            std::sync::Arc::make_mut(calendar).mintime_annulation = lead;
        }
        let colours = r##"{"content_links":"#2f6f4f"}"##;
        let colours = slotbook::domain::records::group::Usercolors::new(colours);
        catalogue.group.usercolors = Some(colours.expect("colours"));
    })
    .await;
    let screens = all_screens(&server, "en").await;
    for (name, path) in screens {
        // A browser of its own for each screen, so that nothing is in its cache.
        let Some(browser) = Browser::open(server.address(), PHONE).await else { return };
        browser.goto(&path).await;
        let script = "return [...performance.getEntriesByType('navigation'),
            ...performance.getEntriesByType('resource')]
            .map((one) => ({url: one.name, bytes: one.transferSize}));";
        let entries = browser.run(script).await;
        let (bytes, requests) = weigh(&entries);
        println!("{name}: {bytes} bytes in {requests} requests");
        assert!(bytes <= 20_000, "{name}: {entries}");
        assert!(requests <= 4, "{name}: {entries}");
        let shift = "return new Promise((done) => { let sum = 0;
            new PerformanceObserver((list) => { for (const one of list.getEntries()) sum += one.value; })
                .observe({type: 'layout-shift', buffered: true});
            requestAnimationFrame(() => requestAnimationFrame(() => done(sum))); });";
        assert_eq!(browser.run(shift).await, json!(0), "{name}: the layout shifts");
        let logs = browser.console().await;
        assert!(!logs.contains("Content Security Policy"), "{name}: {logs}");
    }
}
