//! Moving appointments on the grid of the agenda, in a browser: by pointer, touch and keys; what
//! refuses, and what is asked on top. Reference 15.10.

use std::sync::Arc;
use std::time::Duration;

use fantoccini::actions::{
    InputSource as _, MOUSE_BUTTON_LEFT, MouseActions, PointerAction, TouchActions,
};
use reqwest::Method;
use serde_json::{Value, json};
use slotbook::domain::records::ids::{CalendarId, VeventId};
use slotbook::domain::records::text::{Bounded, Name};

use crate::browser::{Browser, Look, PHONE};
use crate::clients::state;
use crate::practice_looks::log_in;
use crate::server::{TestServer, answer};
use crate::shop::{CALENDAR, CUT, HIDDEN_CALENDAR, KNOWN_FICHE, OTHER_CALENDAR};
use crate::visitor::shop_with;

pub(crate) const DAY: &str = "/p/cut-co/agenda?d=2025-06-03";
const WEEK: &str = "/p/cut-co/agenda?v=week&d=2025-06-03&c=11";
pub(crate) const DESKTOP: Look = Look { width: 1_280, height: 900, ..PHONE };
pub(crate) const ENTER: &str = "\u{e007}";
pub(crate) const ESCAPE: &str = "\u{e00c}";
pub(crate) const DOWN: &str = "\u{e015}";
pub(crate) const RIGHT: &str = "\u{e014}";
pub(crate) const PAGE_DOWN: &str = "\u{e00f}";

/// A point of the window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
}

/// A shop whose calendars are A, B and C, open from 9 to 12, with mails that wait for a minute.
pub(crate) async fn shop() -> TestServer {
    shop_with(|catalogue| {
        catalogue.group.notice_delay_seconds = Bounded::new(60).expect("a delay");
        for (id, name) in [(CALENDAR, "A"), (OTHER_CALENDAR, "B"), (HIDDEN_CALENDAR, "C")] {
            let id = CalendarId::new(id).expect("an id");
            let calendar = Arc::make_mut(catalogue.calendars.get_mut(&id).expect("it is there"));
            calendar.name = Name::new(name).expect("a name");
            calendar.mintime_rdv = Bounded::new(0).expect("a lead");
        }
    })
    .await
}

/// Puts an appointment down.
pub(crate) async fn book(server: &TestServer, calendar: u64, start: &str, end: &str) -> u64 {
    let body = json!({"vevent": {"calendar_id": calendar, "start": start, "end": end,
        "intervention_id": CUT, "fiche_id": KNOWN_FICHE}});
    let made = answer(server.by_pro(Method::POST, "/groups/4/vevents").json(&body)).await.is(201);
    made["id"].as_u64().expect("an id")
}

/// An appointment as the API shows it, without what each change stamps anew.
pub(crate) async fn row(server: &TestServer, id: u64) -> Value {
    let mut row = server.pro_get(&format!("/groups/4/vevents/{id}")).await.is(200);
    let fields = row.as_object_mut().expect("an object");
    for stamp in ["created_at", "updated_at", "revision", "key"] {
        fields.remove(stamp);
    }
    row
}

/// The start, the end and the calendar of an appointment.
pub(crate) async fn place(server: &TestServer, id: u64) -> String {
    let row = row(server, id).await;
    let text = |name: &str| row[name].as_str().unwrap_or_default().replace("2025-", "");
    format!("{} {} {}", text("start"), text("end"), row["calendar_id"])
}

/// The kinds of the messages about an appointment that are not settled.
pub(crate) fn open_messages(server: &TestServer, id: u64) -> Vec<&'static str> {
    let id = VeventId::new(id).expect("an id");
    let state = state(server);
    let open: Vec<_> = state.outbox.open().map(|message| message.id).collect();
    let about = state.outbox.messages_about(id);
    about.filter(|it| open.contains(&it.id)).map(|message| message.kind().name()).collect()
}

/// A browser that is logged in, on a screen.
pub(crate) async fn open(server: &TestServer, look: Look, path: &str) -> Option<Browser> {
    let browser = Browser::open(server.address(), look).await?;
    log_in(&browser).await;
    browser.goto(path).await;
    browser.await_element(".grid").await;
    Some(browser)
}

pub(crate) fn link(id: u64) -> String {
    format!("a[id^=\"e{id}-\"]")
}

/// A point of the grid: a time of a column.
pub(crate) async fn point(browser: &Browser, column: usize, time: &str) -> Point {
    let script = "const [column, time] = arguments;
        const grid = document.querySelector('.grid');
        const body = grid.querySelectorAll('.col .body')[column];
        const [hour, minute] = time.split(':').map(Number);
        body.scrollIntoView({block: 'nearest'});
        const box = body.getBoundingClientRect();
        const row = (hour * 60 + minute) / 5 - Number(grid.dataset.first);
        return [box.left + box.width / 2, box.top + box.height * row / Number(grid.dataset.rows)];";
    let found = browser.client.execute(script, vec![json!(column), json!(time)]).await;
    let found = found.expect("the grid has the column");
    Point { x: found[0].as_f64().expect("a number"), y: found[1].as_f64().expect("a number") }
}

pub(crate) fn glide(to: Point) -> PointerAction {
    PointerAction::MoveTo { duration: Some(Duration::from_millis(40)), x: to.x, y: to.y }
}

/// Drags from a point to another, and lets go there.
pub(crate) async fn drag(browser: &Browser, from: Point, to: Point) {
    let near = Point { x: from.x, y: from.y + 7.0 };
    let mouse = MouseActions::new("mouse".to_owned())
        .then(glide(from))
        .then(PointerAction::Down { button: MOUSE_BUTTON_LEFT })
        .then(glide(near))
        .then(glide(to))
        .then(PointerAction::Up { button: MOUSE_BUTTON_LEFT });
    browser.client.perform_actions(mouse).await.expect("the pointer moves");
}

/// Presses for longer than the threshold, and drags.
async fn press_and_drag(browser: &Browser, from: Point, to: Point) {
    let finger = TouchActions::new("finger".to_owned())
        .then(glide(from))
        .then(PointerAction::Down { button: MOUSE_BUTTON_LEFT })
        .then(PointerAction::Pause { duration: Duration::from_millis(600) })
        .then(glide(Point { x: from.x, y: from.y + 12.0 }))
        .then(glide(to))
        .then(PointerAction::Up { button: MOUSE_BUTTON_LEFT });
    browser.client.perform_actions(finger).await.expect("the finger moves");
}

/// Waits until the line that is read out begins with a text.
pub(crate) async fn said(browser: &Browser, text: &str) {
    let script =
        format!("return document.getElementById('said').textContent.startsWith({})", json!(text));
    browser.await_truth(&script).await;
}

pub(crate) async fn focus(browser: &Browser, id: u64) {
    browser.run(&format!("document.querySelector('{}').focus()", link(id))).await;
}

pub(crate) async fn is_focused(browser: &Browser, id: u64) -> bool {
    let script = format!("return document.activeElement.matches('{}')", link(id));
    browser.run(&script).await == json!(true)
}

/// A way to move the event of ten o'clock on calendar A to eleven o'clock on calendar B.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    Pointer,
    Touch,
    Keys,
    Form,
    NoScript,
}

pub(crate) async fn move_by(way: Way, browser: &Browser, id: u64) {
    match way {
        Way::Pointer => {
            let from = point(browser, 0, "10:10").await;
            drag(browser, from, point(browser, 1, "11:10").await).await;
            said(browser, "Moved: 11:00–11:30, B").await;
        }
        Way::Touch => {
            let from = point(browser, 0, "10:10").await;
            press_and_drag(browser, from, point(browser, 1, "11:10").await).await;
            said(browser, "Moved: 11:00–11:30, B").await;
        }
        Way::Keys => {
            focus(browser, id).await;
            for keys in ["g", RIGHT, DOWN, DOWN, DOWN, DOWN, ENTER] {
                browser.press(keys).await;
            }
            said(browser, "Moved: 11:00–11:30, B").await;
            assert!(is_focused(browser, id).await, "the focus stays with the event");
        }
        Way::Form | Way::NoScript => {
            if matches!(way, Way::NoScript) {
                browser.without_scripts().await;
            }
            browser.goto(&format!("/p/cut-co/events/{id}/move?time=11:00&calendar=12")).await;
            browser.click("form.narrow p button").await;
            browser.arrive_at(&format!("/p/cut-co/events/{id}")).await;
        }
    }
}

#[tokio::test]
async fn the_same_move_gives_the_same_row_by_every_way() {
    let mut rows = Vec::new();
    for way in [Way::Pointer, Way::Touch, Way::Keys, Way::Form, Way::NoScript] {
        let server = shop().await;
        let id = book(&server, CALENDAR, "2025-06-03 10:00:00", "2025-06-03 10:30:00").await;
        let Some(browser) = open(&server, DESKTOP, DAY).await else { return };
        move_by(way, &browser, id).await;
        let row = row(&server, id).await;
        assert_eq!(row["start"], "2025-06-03 11:00:00", "{way:?}");
        assert_eq!(row["calendar_id"], json!(OTHER_CALENDAR), "{way:?}");
        rows.push((way, row, open_messages(&server, id)));
    }
    for (way, row, messages) in &rows {
        assert_eq!((row, messages), (&rows[0].1, &rows[0].2), "{way:?}");
    }
}

#[tokio::test]
async fn lower_edge_and_shift_with_arrows_change_the_length() {
    let server = shop().await;
    let id = book(&server, CALENDAR, "2025-06-03 10:00:00", "2025-06-03 10:30:00").await;
    let Some(browser) = open(&server, DESKTOP, WEEK).await else { return };
    let mut edge = point(&browser, 1, "10:30").await;
    edge.y -= 3.0;
    let to = point(&browser, 1, "10:50").await;
    drag(&browser, edge, to).await;
    said(&browser, "Moved: 10:00–10:50, Tuesday 3 June").await;
    assert_eq!(place(&server, id).await, "06-03 10:00:00 06-03 10:50:00 11");
    focus(&browser, id).await;
    browser.press("g").await;
    said(&browser, "Taken: 10:00–10:50").await;
    browser.press("\u{e008}\u{e013}\u{e013}\u{e008}").await;
    said(&browser, "10:00–10:40").await;
    browser.press(ENTER).await;
    said(&browser, "Moved: 10:00–10:40").await;
    assert_eq!(place(&server, id).await, "06-03 10:00:00 06-03 10:40:00 11");
    // Escape returns it, and to another day of the week it goes by the arrows.
    browser.press("g").await;
    browser.press(RIGHT).await;
    said(&browser, "10:00–10:40, Wednesday 4 June").await;
    browser.press(ESCAPE).await;
    said(&browser, "Back in its place").await;
    assert!(is_focused(&browser, id).await);
    for keys in ["g", RIGHT, ENTER] {
        browser.press(keys).await;
    }
    said(&browser, "Moved: 10:00–10:40, Wednesday 4 June").await;
    assert_eq!(place(&server, id).await, "06-04 10:00:00 06-04 10:40:00 11");
    assert!(is_focused(&browser, id).await);
}

#[tokio::test]
async fn who_stands_in_the_way_and_what_binds_the_web_is_asked_on_top() {
    let server = shop().await;
    let id = book(&server, CALENDAR, "2025-06-03 10:00:00", "2025-06-03 10:30:00").await;
    book(&server, OTHER_CALENDAR, "2025-06-03 11:00:00", "2025-06-03 11:30:00").await;
    let absence = json!({"vevent": {"calendar_id": HIDDEN_CALENDAR, "text": "Congress",
        "start": "2025-06-03 09:00:00", "end": "2025-06-03 09:45:00"}});
    answer(server.by_pro(Method::POST, "/groups/4/vevents").json(&absence)).await.is(201);
    let Some(browser) = open(&server, DESKTOP, DAY).await else { return };
    let from = point(&browser, 0, "10:10").await;
    drag(&browser, from, point(&browser, 1, "11:10").await).await;
    browser.await_element("dialog.sheet[open] [role=alert]:focus").await;
    let text = browser.run("return document.querySelector('.sheet').textContent").await;
    let text = text.as_str().expect("a text");
    assert!(text.contains("Known has an appointment on Tuesday 3 June 2025 from 11:00 to 11:30"));
    browser.assert_accessible("refused").await;
    browser.picture("grid-refused").await;
    browser.press(ESCAPE).await;
    said(&browser, "Back in its place").await;
    assert!(is_focused(&browser, id).await);
    assert_eq!(place(&server, id).await, "06-03 10:00:00 06-03 10:30:00 11");
    // An absence is a warning, which a second press overrides.
    drag(&browser, from, point(&browser, 2, "09:10").await).await;
    browser.await_element("dialog.sheet[open] [role=alert]:focus").await;
    browser.assert_accessible("warned").await;
    browser.picture("grid-warned").await;
    browser.click(".sheet form button").await;
    said(&browser, "Moved: 09:00–09:30, C").await;
    assert_eq!(place(&server, id).await, "06-03 09:00:00 06-03 09:30:00 13");
    // Its way back needs no second press, though Escape while it is dragged leaves it as it is.
    browser.press("z").await;
    said(&browser, "Your last change is taken back").await;
    assert_eq!(place(&server, id).await, "06-03 10:00:00 06-03 10:30:00 11");
}

#[tokio::test]
async fn on_the_day_of_a_clock_change_the_clocks_decide() {
    let server = shop().await;
    // 26 October 2025: the clocks go from three back to two. 30 March 2026: from two to three.
    let second = book(&server, CALENDAR, "2025-10-26T01:15:00Z", "2025-10-26T01:45:00Z").await;
    let spring = book(&server, CALENDAR, "2026-03-29 01:00:00", "2026-03-29 01:30:00").await;
    // The whole day is in sight.
    let look = Look { height: 1_600, ..DESKTOP };
    for view in ["day", "week"] {
        let column = if view == "week" { 6 } else { 0 };
        let path = format!("/p/cut-co/agenda?v={view}&c=11");
        let Some(browser) = open(&server, look, &format!("{path}&d=2025-10-26")).await else {
            return;
        };
        // A longer one begins in the second pass as before. Both times are outside opening hours.
        focus(&browser, second).await;
        browser.press("g").await;
        browser.press("\u{e008}\u{e015}\u{e008}").await;
        browser.press(ENTER).await;
        browser.await_element("dialog.sheet[open] [name=pass]:checked").await;
        browser.click(".sheet form button").await;
        said(&browser, "Moved: 02:15").await;
        let row = row(&server, second).await;
        assert_eq!(row["start_utc"], "2025-10-26T01:15:00Z", "{view}: {row}");
        browser.press("g").await;
        browser.press(DOWN).await;
        browser.press(ENTER).await;
        browser.await_element("dialog.sheet[open]").await;
        browser.click(".sheet form button").await;
        said(&browser, "Moved: 02:30").await;
        browser.press("z").await;
        said(&browser, "Your last change is taken back").await;
        let row = self::row(&server, second).await;
        assert_eq!(row["start_utc"], "2025-10-26T01:15:00Z", "{view}: in the second pass again");
        // In spring the hour after two does not take place.
        browser.goto(&format!("{path}&d=2026-03-29")).await;
        let from = point(&browser, column, "01:10").await;
        drag(&browser, from, point(&browser, column, "02:25").await).await;
        browser.await_element("dialog.sheet[open] #sheet-time-fault").await;
        browser.press(ESCAPE).await;
        said(&browser, "Back in its place").await;
        assert_eq!(self::row(&server, spring).await["start"], "2026-03-29 01:00:00");
    }
}

#[tokio::test]
async fn empty_time_leads_to_a_new_appointment_there() {
    let server = shop().await;
    let id = book(&server, CALENDAR, "2025-06-03 10:00:00", "2025-06-03 10:30:00").await;
    let Some(browser) = open(&server, DESKTOP, DAY).await else { return };
    let query = "return location.pathname + location.search";
    let new = "/p/cut-co/events/new";
    let at = point(&browser, 1, "09:33").await;
    let click = MouseActions::new("mouse".to_owned())
        .then(glide(at))
        .then(PointerAction::Down { button: MOUSE_BUTTON_LEFT })
        .then(PointerAction::Up { button: MOUSE_BUTTON_LEFT });
    browser.client.perform_actions(click).await.expect("a click");
    browser.arrive_at(new).await;
    assert_eq!(browser.run(query).await, json!(format!("{new}?c=12&d=2025-06-03&t=09%3A30")));
    browser.goto(DAY).await;
    let from = point(&browser, 1, "11:20").await;
    drag(&browser, from, point(&browser, 1, "10:40").await).await;
    browser.arrive_at(new).await;
    let address = format!("{new}?c=12&d=2025-06-03&t=10%3A30&to=11%3A30");
    assert_eq!(browser.run(query).await, json!(address));
    browser.goto(DAY).await;
    focus(&browser, id).await;
    browser.press("c").await;
    browser.arrive_at(new).await;
    assert_eq!(browser.run(query).await, json!(format!("{new}?c=11&d=2025-06-03&t=10%3A00")));
    browser.goto(DAY).await;
    browser.press("/").await;
    browser.arrive_at("/p/cut-co/clients").await;
    browser.await_element("#search:focus").await;
}

#[tokio::test]
async fn a_short_touch_opens_a_swipe_turns_and_escape_ends_a_drag() {
    let server = shop().await;
    let id = book(&server, CALENDAR, "2025-06-03 10:00:00", "2025-06-03 10:30:00").await;
    let Some(browser) = open(&server, PHONE, DAY).await else { return };
    let from = point(&browser, 0, "10:10").await;
    let aside = Point { x: from.x - 120.0, y: from.y + 5.0 };
    let swipe = TouchActions::new("finger".to_owned())
        .then(glide(from))
        .then(PointerAction::Down { button: MOUSE_BUTTON_LEFT })
        .then(glide(aside))
        .then(PointerAction::Up { button: MOUSE_BUTTON_LEFT });
    browser.client.perform_actions(swipe).await.expect("a swipe");
    browser.await_truth("return location.search.includes('c=12')").await;
    browser.goto(DAY).await;
    let from = point(&browser, 0, "10:10").await;
    let touch = TouchActions::new("finger".to_owned())
        .then(glide(from))
        .then(PointerAction::Down { button: MOUSE_BUTTON_LEFT })
        .then(PointerAction::Up { button: MOUSE_BUTTON_LEFT });
    browser.client.perform_actions(touch).await.expect("a touch");
    browser.arrive_at(&format!("/p/cut-co/events/{id}")).await;
    browser.goto(DAY).await;
    browser.emulate(DESKTOP).await;
    let from = point(&browser, 0, "10:10").await;
    let to = point(&browser, 1, "11:10").await;
    let mouse = MouseActions::new("mouse".to_owned())
        .then(glide(from))
        .then(PointerAction::Down { button: MOUSE_BUTTON_LEFT })
        .then(glide(to));
    browser.client.perform_actions(mouse).await.expect("the pointer moves");
    said(&browser, "11:00–11:30, B").await;
    browser.picture("grid-dragged").await;
    browser.press(ESCAPE).await;
    said(&browser, "Back in its place").await;
    browser.client.release_actions().await.expect("the pointer is let go");
    assert_eq!(place(&server, id).await, "06-03 10:00:00 06-03 10:30:00 11");
}

#[tokio::test]
async fn what_other_screens_changed_is_taken_back_by_the_same_key() {
    let server = shop().await;
    let id = book(&server, CALENDAR, "2025-06-03 10:00:00", "2025-06-03 10:30:00").await;
    let Some(browser) = open(&server, DESKTOP, DAY).await else { return };
    let is_deleted = async || row(&server, id).await["deleted"].clone();
    // A cancellation.
    browser.goto(&format!("/p/cut-co/events/{id}")).await;
    browser.click("#cancel summary").await;
    browser.click("#cancel button").await;
    browser.await_element("form[action*='/restore']").await;
    assert_eq!(is_deleted().await, json!(true));
    browser.goto(DAY).await;
    browser.press("z").await;
    said(&browser, "Your last change is taken back").await;
    assert_eq!(is_deleted().await, json!(false));
    browser.await_element(&link(id)).await;
    // A cancellation whose time is taken since: nothing is taken back, and the line says why.
    browser.goto(&format!("/p/cut-co/events/{id}")).await;
    browser.click("#cancel summary").await;
    browser.click("#cancel button").await;
    browser.await_element("form[action*='/restore']").await;
    let other = book(&server, CALENDAR, "2025-06-03 10:15:00", "2025-06-03 10:45:00").await;
    browser.goto(DAY).await;
    browser.press("z").await;
    said(&browser, "This time is taken").await;
    assert_eq!(is_deleted().await, json!(true));
    // The form of "Move…", on its second press.
    browser.goto(&format!("/p/cut-co/events/{other}/move?time=20:00")).await;
    browser.click("form.narrow p button").await;
    browser.await_element(".alert").await;
    browser.click("form.narrow p button").await;
    browser.arrive_at(&format!("/p/cut-co/events/{other}")).await;
    browser.goto(DAY).await;
    browser.press("z").await;
    said(&browser, "Your last change is taken back").await;
    assert_eq!(place(&server, other).await, "06-03 10:15:00 06-03 10:45:00 11");
}

#[tokio::test]
async fn a_day_turns_in_place_and_the_browser_leads_back() {
    let server = shop().await;
    let id = book(&server, CALENDAR, "2025-06-04 10:00:00", "2025-06-04 10:30:00").await;
    let Some(browser) = open(&server, DESKTOP, DAY).await else { return };
    browser.run("window.isSame = true").await;
    browser.tab_to("a[data-key=j]").await;
    browser.press(ENTER).await;
    said(&browser, "Wednesday 4 June 2025").await;
    browser.await_element("a[data-key=j]:focus").await;
    browser.await_element(&link(id)).await;
    let seen = "return [isSame, document.title, document.querySelector('[name=d]').value].join()";
    assert_eq!(browser.run(seen).await, json!("true,Wednesday 4 June 2025 · Cut & Co,2025-06-04"));
    // The screen is whole: the appointment is moved on it.
    let from = point(&browser, 0, "10:10").await;
    drag(&browser, from, point(&browser, 1, "11:10").await).await;
    said(&browser, "Moved: 11:00–11:30, B").await;
    browser.client.back().await.expect("back");
    said(&browser, "Tuesday 3 June 2025").await;
    assert_eq!(browser.run("return isSame + location.search").await, json!("true?d=2025-06-03"));
    browser.press("m").await;
    browser.await_element("table.month").await;
}

#[tokio::test]
async fn a_view_that_was_fetched_ahead_shows_what_changed_since() {
    let server = shop().await;
    book(&server, CALENDAR, "2025-06-04 10:00:00", "2025-06-04 10:30:00").await;
    let Some(browser) = open(&server, DESKTOP, DAY).await else { return };
    let fetched = "return performance.getEntriesByType('resource')
        .some((one) => one.name.includes('d=2025-06-04') && one.responseEnd > 0)";
    browser.await_truth(fetched).await;
    let late = book(&server, CALENDAR, "2025-06-04 11:00:00", "2025-06-04 11:30:00").await;
    browser.press("j").await;
    said(&browser, "Wednesday 4 June 2025").await;
    browser.await_element(&link(late)).await;
    // The way goes on in the direction of the last turn.
    browser.press("k").await;
    said(&browser, "Tuesday 3 June 2025").await;
    browser.await_truth(&fetched.replace("06-04", "06-02")).await;
}

/// The id of the appointment that the address names.
async fn targeted(browser: &Browser) -> u64 {
    let script = "return parseInt(document.querySelector('.event:target').id.slice(1))";
    browser.run(script).await.as_u64().expect("an id")
}

#[tokio::test]
async fn a_new_appointment_is_taken_back_by_the_same_key() {
    let server = shop().await;
    let Some(browser) = open(&server, DESKTOP, DAY).await else { return };
    let new = "/p/cut-co/events/new?d=2025-06-03&c=11";
    browser.goto(&format!("{new}&t=10:00&s={CUT}&client={KNOWN_FICHE}")).await;
    browser.click(".actions button:not(.quiet)").await;
    browser.await_element(".event:target").await;
    let made = targeted(&browser).await;
    assert_eq!(place(&server, made).await, "06-03 10:00:00 06-03 10:30:00 11");
    browser.press("z").await;
    said(&browser, "Your last change is taken back").await;
    assert_eq!(row(&server, made).await["deleted"], json!(true));
    browser.press("z").await;
    said(&browser, "Nothing to take back").await;
    // One that another professional has changed since stays.
    browser.goto(&format!("{new}&t=11:00&s={CUT}&client={KNOWN_FICHE}")).await;
    browser.click(".actions button:not(.quiet)").await;
    browser.await_element(".event:target").await;
    let second = targeted(&browser).await;
    let change = json!({"vevent": {"comments": "Bring the file"}});
    let path = format!("/groups/4/vevents/{second}");
    answer(server.by_pro(Method::PUT, &path).json(&change)).await.is(200);
    browser.press("z").await;
    said(&browser, "Changed meanwhile: nothing was taken back").await;
    assert_eq!(row(&server, second).await["deleted"], json!(false));
}
