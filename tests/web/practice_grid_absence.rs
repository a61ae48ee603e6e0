//! Moving absences on the grid of the agenda and by "Move…": the question about the appointments
//! under them, and what is not moved. Reference 15.10, 15.11.

use reqwest::Method;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::clients::{as_str, form_to};
use crate::login::Professional;
use crate::practice_grid::{
    DAY, DESKTOP, DOWN, ENTER, ESCAPE, Way, book, drag, focus, is_focused, link, move_by, open,
    place, point, row, said, shop,
};
use crate::server::{TestServer, answer};
use crate::shop::{ANN, CALENDAR, OTHER_CALENDAR};
use crate::visitor::set;

/// Makes an absence or a note on calendar A.
async fn make(server: &TestServer, start: &str, end: &str, other: Value) -> u64 {
    let mut event = json!({"calendar_id": CALENDAR, "start": start, "end": end, "text": "Team"});
    let fields = event.as_object_mut().expect("an object");
    fields.extend(other.as_object().expect("an object").clone());
    let body = json!({"vevent": event});
    let made = answer(server.by_pro(Method::POST, "/groups/4/vevents").json(&body)).await;
    made.is(201)["id"].as_u64().expect("an id")
}

/// An absence at a time within one day.
async fn absent(server: &TestServer, start: &str, end: &str) -> u64 {
    make(server, start, end, json!({})).await
}

async fn is_deleted(server: &TestServer, id: u64) -> bool {
    row(server, id).await["deleted"] == json!(true)
}

#[tokio::test]
async fn an_absence_is_moved_alike_by_every_way() {
    let mut rows = Vec::new();
    for way in [Way::Pointer, Way::Touch, Way::Keys, Way::Form, Way::NoScript] {
        let server = shop().await;
        let id = absent(&server, "2025-06-03 10:00:00", "2025-06-03 10:30:00").await;
        let Some(browser) = open(&server, DESKTOP, DAY).await else { return };
        move_by(way, &browser, id).await;
        assert_eq!(place(&server, id).await, "06-03 11:00:00 06-03 11:30:00 12", "{way:?}");
        rows.push((way, row(&server, id).await));
    }
    for (way, row) in &rows {
        assert_eq!(row, &rows[0].1, "{way:?}");
    }
}

#[tokio::test]
async fn a_longer_or_moved_absence_is_taken_back_by_the_key() {
    let server = shop().await;
    let id = absent(&server, "2025-06-03 10:00:00", "2025-06-03 10:30:00").await;
    let Some(browser) = open(&server, DESKTOP, DAY).await else { return };
    let taken_back = async || {
        browser.press("z").await;
        said(&browser, "Your last change is taken back").await;
        assert_eq!(place(&server, id).await, "06-03 10:00:00 06-03 10:30:00 11");
    };
    let mut edge = point(&browser, 0, "10:30").await;
    edge.y -= 3.0;
    drag(&browser, edge, point(&browser, 0, "10:50").await).await;
    said(&browser, "Moved: 10:00–10:50, A").await;
    assert_eq!(place(&server, id).await, "06-03 10:00:00 06-03 10:50:00 11");
    taken_back().await;
    focus(&browser, id).await;
    for keys in ["g", "\u{e008}\u{e015}\u{e008}", DOWN, ENTER] {
        browser.press(keys).await;
    }
    said(&browser, "Moved: 10:15–10:50, A").await;
    assert!(is_focused(&browser, id).await);
    taken_back().await;
    // "Move…" leads back to the record, which knows the move.
    browser.goto(&format!("/p/cut-co/events/{id}")).await;
    browser.click("a[href$='/move']").await;
    browser.await_element("#time").await;
    browser.assert_accessible("move-absence").await;
    browser.picture("move-absence").await;
    browser.goto(&format!("/p/cut-co/events/{id}/move?time=11:00")).await;
    browser.click("form.narrow p button").await;
    browser.arrive_at(&format!("/p/cut-co/events/{id}")).await;
    browser.await_element(".done[role=status]").await;
    assert_eq!(place(&server, id).await, "06-03 11:00:00 06-03 11:30:00 11");
    browser.goto(DAY).await;
    taken_back().await;
    // One that changed since stays.
    drag(&browser, point(&browser, 0, "10:10").await, point(&browser, 2, "09:10").await).await;
    said(&browser, "Moved: 09:00–09:30, C").await;
    let change = json!({"vevent": {"text": "Congress"}});
    let path = format!("/groups/4/vevents/{id}");
    answer(server.by_pro(Method::PUT, &path).json(&change)).await.is(200);
    browser.press("z").await;
    said(&browser, "Changed meanwhile: nothing was taken back").await;
    assert_eq!(place(&server, id).await, "06-03 09:00:00 06-03 09:30:00 13");
}

/// Moves the absence of ten o'clock to nine o'clock. The key takes that back.
async fn move_to_nine(browser: &Browser) {
    let from = point(browser, 0, "10:10").await;
    drag(browser, from, point(browser, 0, "09:10").await).await;
    said(browser, "Moved: 09:00–09:30, A").await;
}

/// Drags the absence at a time of calendar A onto eleven o'clock of calendar B, which asks.
async fn drag_over_booked_time(browser: &Browser, time: &str) {
    let from = point(browser, 0, time).await;
    drag(browser, from, point(browser, 1, "11:10").await).await;
    browser.await_element("dialog.sheet[open] .booked [role=alert]:focus").await;
}

#[tokio::test]
async fn an_absence_over_booked_time_asks_on_top() {
    let server = shop().await;
    let id = absent(&server, "2025-06-03 10:00:00", "2025-06-03 10:30:00").await;
    let booked = book(&server, OTHER_CALENDAR, "2025-06-03 11:00:00", "2025-06-03 11:30:00").await;
    let Some(browser) = open(&server, DESKTOP, DAY).await else { return };
    drag_over_booked_time(&browser, "10:10").await;
    let text = browser.run("return document.querySelector('.sheet').textContent").await;
    assert!(text.as_str().expect("a text").contains("Known"), "{text}");
    browser.assert_accessible("move-absence-booked").await;
    browser.picture("move-absence-booked").await;
    // Closed, nothing is written.
    browser.press(ESCAPE).await;
    said(&browser, "Back in its place").await;
    assert!(is_focused(&browser, id).await);
    assert_eq!(place(&server, id).await, "06-03 10:00:00 06-03 10:30:00 11");
    // Without a choice it asks again.
    drag_over_booked_time(&browser, "10:10").await;
    browser.click(".sheet .actions button").await;
    browser.await_element("dialog.sheet[open] #sheet-treatment-fault").await;
    assert_eq!(place(&server, id).await, "06-03 10:00:00 06-03 10:30:00 11");
    browser.click(".sheet input[value=leave]").await;
    browser.click(".sheet .actions button").await;
    said(&browser, "Moved: 11:00–11:30, B").await;
    assert_eq!(place(&server, id).await, "06-03 11:00:00 06-03 11:30:00 12");
    assert!(!is_deleted(&server, booked).await);
    browser.press("z").await;
    said(&browser, "Your last change is taken back").await;
    assert_eq!(place(&server, id).await, "06-03 10:00:00 06-03 10:30:00 11");
    // With a cancellation more was done than the key takes back.
    move_to_nine(&browser).await;
    drag_over_booked_time(&browser, "09:10").await;
    browser.click(".sheet input[value=cancel-quietly]").await;
    browser.click(".sheet .actions button").await;
    said(&browser, "Moved: 11:00–11:30, B").await;
    assert!(is_deleted(&server, booked).await);
    browser.press("z").await;
    said(&browser, "Nothing to take back").await;
    assert_eq!(place(&server, id).await, "06-03 11:00:00 06-03 11:30:00 12");
}

#[tokio::test]
async fn the_way_back_over_booked_time_asks_as_well() {
    let server = shop().await;
    let id = absent(&server, "2025-06-03 10:00:00", "2025-06-03 10:30:00").await;
    let Some(browser) = open(&server, DESKTOP, DAY).await else { return };
    move_by(Way::Pointer, &browser, id).await;
    let booked = book(&server, CALENDAR, "2025-06-03 10:00:00", "2025-06-03 10:30:00").await;
    browser.press("z").await;
    browser.await_element("dialog.sheet[open] .booked [role=alert]:focus").await;
    browser.press(ESCAPE).await;
    said(&browser, "Nothing was taken back").await;
    assert_eq!(place(&server, id).await, "06-03 11:00:00 06-03 11:30:00 12");
    browser.press("z").await;
    browser.await_element("dialog.sheet[open] .booked [role=alert]:focus").await;
    browser.click(".sheet input[value=leave]").await;
    browser.click(".sheet .actions button").await;
    said(&browser, "Your last change is taken back").await;
    assert_eq!(place(&server, id).await, "06-03 10:00:00 06-03 10:30:00 11");
    assert!(!is_deleted(&server, booked).await);
}

#[tokio::test]
async fn the_form_asks_too_with_and_without_scripts() {
    for has_scripts in [true, false] {
        for treatment in ["leave", "cancel"] {
            let server = shop().await;
            let id = absent(&server, "2025-06-03 10:00:00", "2025-06-03 10:30:00").await;
            let start = "2025-06-03 11:00:00";
            let booked = book(&server, OTHER_CALENDAR, start, "2025-06-03 11:30:00").await;
            let Some(browser) = open(&server, DESKTOP, DAY).await else { return };
            let mut before = "06-03 10:00:00 06-03 10:30:00 11";
            if has_scripts {
                move_to_nine(&browser).await;
                before = "06-03 09:00:00 06-03 09:30:00 11";
            } else {
                browser.without_scripts().await;
            }
            browser.goto(&format!("/p/cut-co/events/{id}/move?time=11:00&calendar=12")).await;
            browser.click("form.narrow p button").await;
            browser.await_element("form.wide .booked").await;
            assert_eq!(place(&server, id).await, before);
            browser.click(&format!("input[value={treatment}]")).await;
            browser.click("form.wide .actions button").await;
            browser.arrive_at(&format!("/p/cut-co/events/{id}")).await;
            assert_eq!(place(&server, id).await, "06-03 11:00:00 06-03 11:30:00 12");
            assert_eq!(is_deleted(&server, booked).await, treatment == "cancel");
            if !has_scripts {
                continue;
            }
            browser.goto(DAY).await;
            browser.press("z").await;
            if treatment == "cancel" {
                said(&browser, "Nothing to take back").await;
                continue;
            }
            said(&browser, "Your last change is taken back").await;
            assert_eq!(place(&server, id).await, before);
        }
    }
}

#[tokio::test]
async fn what_the_grid_does_not_move_says_where_it_is_changed() {
    let server = shop().await;
    let weekly = json!({"rrule": "FREQ=WEEKLY;COUNT=3"});
    let repeated = make(&server, "2025-06-03 10:00:00", "2025-06-03 10:30:00", weekly).await;
    let whole = absent(&server, "2025-06-03 00:00:00", "2025-06-04 00:00:00").await;
    let long = absent(&server, "2025-06-03 11:00:00", "2025-06-04 10:00:00").await;
    let note = json!({"note": true});
    let note = make(&server, "2025-06-03 00:00:00", "2025-06-03 00:00:00", note).await;
    let Some(browser) = open(&server, DESKTOP, DAY).await else { return };
    let from = point(&browser, 0, "10:10").await;
    drag(&browser, from, point(&browser, 1, "11:10").await).await;
    assert_eq!(browser.run("return document.querySelector('.ghost') === null").await, json!(true));
    for (lang, repeats, other) in [
        ("en", "What repeats is changed in its form", "This is not moved here"),
        ("fr", "Ce qui se répète se modifie dans son formulaire", "Ceci ne se déplace pas ici"),
    ] {
        browser.goto(&format!("{DAY}&lang={lang}")).await;
        for (id, sentence) in [(repeated, repeats), (whole, other), (long, other), (note, other)] {
            focus(&browser, id).await;
            browser.press("g").await;
            said(&browser, sentence).await;
        }
    }
    assert_eq!(place(&server, repeated).await, "06-03 10:00:00 06-03 10:30:00 11");
    // Nor does the form move what repeats, or a note.
    let ann = Professional::logged_in(&server, ANN).await;
    for id in [repeated, note] {
        assert_eq!(ann.get(&format!("/p/cut-co/events/{id}/move")).await.status, 404);
        ann.open(&format!("/p/cut-co/events/{id}")).await.hides("/move");
    }
    let links = "return document.querySelectorAll('.body a[data-t]').length";
    assert_eq!(browser.run(links).await, json!(0));
    browser.await_element(&link(repeated)).await;
}

#[tokio::test]
async fn the_form_moves_absences_by_the_clocks_of_the_shop() {
    let server = shop().await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    // Three days, which stay three days over a clock change.
    let days = absent(&server, "2025-06-05 00:00:00", "2025-06-08 00:00:00").await;
    let to = format!("/p/cut-co/events/{days}/move");
    let mut form = form_to(&ann.open(&to).await, "/move");
    set(&mut form, "day", "2025-10-25");
    let done = ann.post(&to, &as_str(&form)).await;
    assert!(done.location().starts_with(&format!("/p/cut-co/events/{days}?moved=")));
    assert_eq!(place(&server, days).await, "10-25 00:00:00 10-28 00:00:00 11");
    // The form of before is overtaken.
    set(&mut form, "day", "2025-06-10");
    let stale = ann.post(&to, &as_str(&form)).await;
    assert_eq!(stale.status, 412);
    stale.shows("This event was changed meanwhile");
    ann.post(&to, &as_str(&form_to(&stale, "/move"))).await.location();
    assert_eq!(place(&server, days).await, "06-10 00:00:00 06-13 00:00:00 11");
    // On 29 March 2026 the clocks go from two to three.
    let hours = absent(&server, "2025-06-05 00:30:00", "2025-06-05 03:30:00").await;
    let to = format!("/p/cut-co/events/{hours}/move");
    let mut form = form_to(&ann.open(&to).await, "/move");
    assert!(form.iter().all(|(name, _)| name != "mail" && name != "pass"));
    set(&mut form, "day", "2026-03-29");
    for (name, value, fault) in [
        ("length", "105", "length-fault"),
        ("length", "1441", "length-fault"),
        ("time", "02:30", "time-fault"),
        ("calendar", "999", "calendar-fault"),
    ] {
        let mut wrong = form.clone();
        set(&mut wrong, name, value);
        let page = ann.post(&to, &as_str(&wrong)).await;
        assert_eq!(page.status, 400, "{value}");
        page.shows(&format!("id=\"{fault}\""));
    }
    assert_eq!(place(&server, hours).await, "06-05 00:30:00 06-05 03:30:00 11");
    ann.post(&to, &as_str(&form)).await.location();
    let row = row(&server, hours).await;
    assert_eq!([&row["start"], &row["end"]], ["2026-03-29 00:30:00", "2026-03-29 03:30:00"]);
}
