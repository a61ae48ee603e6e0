//! The agenda of a practice: its views over HTTP, and in a browser by keyboard. Reference 15.3.

use std::io::Write as _;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use reqwest::Method;
use serde_json::{Value, json};
use slotbook::domain::records::ids::{CalendarId, InterventionId};
use slotbook::domain::records::text::Name;

use crate::browser::{Browser, Look, PHONE};
use crate::login::Professional;
use crate::server::{TestServer, answer};
use crate::shop::{ANN, CALENDAR, COLOUR, CUT, EVE, HIDDEN_CALENDAR, KNOWN_FICHE, OTHER_CALENDAR};
use crate::visitor::{Page, shop_with};

const AGENDA: &str = "/p/cut-co/agenda";
const DESKTOP: Look = Look { width: 1_280, height: 900, ..PHONE };

/// A name that is no markup, and reads from right to left.
const NAME: &str = "<b>\u{5d0}\u{5d1}</b>";

/// Puts an event down, and returns its id.
async fn put_down(server: &TestServer, fields: Value) -> u64 {
    let body = json!({ "vevent": fields });
    let made = answer(server.by_pro(Method::POST, "/groups/4/vevents").json(&body)).await.is(201);
    made["id"].as_u64().expect("an id")
}

/// A shop with appointments, an absence, a lunch that began years ago and a note on 3 June 2025.
/// Returns the ids of the two appointments.
async fn busy_shop() -> (TestServer, [u64; 2]) {
    let server = shop_with(|catalogue| {
        for (id, name) in [(CALENDAR, "A"), (OTHER_CALENDAR, "B"), (HIDDEN_CALENDAR, "C")] {
            let id = CalendarId::new(id).expect("an id");
            let calendar = catalogue.calendars.get_mut(&id).expect("it is there");
            Arc::make_mut(calendar).name = Name::new(name).expect("a name");
        }
        for (id, name) in [(CUT, "Cut"), (COLOUR, "Colour")] {
            let id = InterventionId::new(id).expect("an id");
            let intervention = catalogue.interventions.get_mut(&id).expect("it is there");
            Arc::make_mut(intervention).name = Name::new(name).expect("a name");
        }
    })
    .await;
    let fiche = json!({"fiche": {"lastname": NAME, "firstphone": "06 12 34 56 78"}});
    let path = format!("/groups/4/fiches/{KNOWN_FICHE}");
    answer(server.by_pro(Method::PUT, &path).json(&fiche)).await.is(200);
    let appointment = |on: u64, start: &str, end: &str| {
        json!({"calendar_id": on, "start": format!("2025-06-03 {start}:00"),
            "end": format!("2025-06-03 {end}:00"), "intervention_id": CUT, "fiche_id": KNOWN_FICHE})
    };
    let mut first = appointment(CALENDAR, "10:00", "10:30");
    first["state"] = json!(1);
    first["from_web"] = json!(true);
    let first = put_down(&server, first).await;
    let second = put_down(&server, appointment(OTHER_CALENDAR, "10:30", "11:00")).await;
    let mut colour = appointment(CALENDAR, "11:00", "12:00");
    colour["intervention_id"] = json!(COLOUR);
    put_down(&server, colour).await;
    let plage = |on: u64, start: &str, end: &str, rrule: &str, text: &str| json!({"calendar_id": on, "start": start, "end": end, "rrule": rrule, "text": text});
    for fields in [
        plage(CALENDAR, "2020-01-06 12:00:00", "2020-01-06 13:00:00", "FREQ=DAILY", "Lunch"),
        plage(OTHER_CALENDAR, "2025-06-02 00:00:00", "2025-06-05 00:00:00", "", "Holiday"),
        // Beside the appointment of ten o'clock.
        plage(CALENDAR, "2025-06-03 10:15:00", "2025-06-03 10:45:00", "", ""),
        json!({"calendar_id": CALENDAR, "start": "2025-06-03", "end": "2025-06-03", "note": 1,
            "text": "Window cleaner"}),
    ] {
        put_down(&server, fields).await;
    }
    (server, [first, second])
}

/// The name of the link with an id, without the marks that isolate directions.
#[track_caller]
fn name_of(page: &Page, id: &str) -> String {
    let mark = format!("id=\"{id}\"");
    let (_, rest) = page.html.split_once(&mark).unwrap_or_else(|| panic!("{id}: {}", page.html));
    let (tag, _) = rest.split_once('>').expect("the end of the tag");
    let (_, rest) = tag.split_once("aria-label=\"").expect("a name");
    let (name, _) = rest.split_once('"').expect("the end of the name");
    name.replace("&#x2068;", "").replace("&#x2069;", "")
}

/// The id of the element of an event on a day of June 2025.
fn anchor(id: u64, day: i32) -> String {
    let first = slotbook::domain::time::CivilDay::from_ymd(2025, 6, 1).expect("a day");
    format!("e{id}-{}", first.plus_days(day - 1).0)
}

#[tokio::test]
async fn a_day_shows_each_calendar_and_says_all_about_an_event() {
    let (server, [first, second]) = busy_shop().await;
    let ann = Professional::logged_in(&server, ANN).await;
    let page = ann.open(&format!("{AGENDA}?d=2025-06-03")).await;
    page.shows("Tuesday 3 June 2025");
    assert_eq!(page.html.matches("<section class=\"col").count(), 3, "{}", page.html);
    let name = "&#60;b&#62;\u{5d0}\u{5d1}&#60;/b&#62;";
    page.shows(&format!("<bdi>{name}</bdi>"));
    page.hides(NAME);
    assert_eq!(
        name_of(&page, &anchor(first, 3)),
        format!("Tuesday 3 June, 10:00–10:30 {name}, Cut, attended, booked online, A"),
    );
    assert!(name_of(&page, &anchor(second, 3)).ends_with(", planned, B"));
    // The lunch of every day, and what takes the whole day.
    page.shows("12:00–13:00</span> <bdi>Lunch</bdi>");
    page.shows("Monday 2 June to Wednesday 4 June</span> <bdi>Holiday</bdi>");
    assert_eq!(page.html.matches("<ul class=\"banners\"").count(), 2, "above the grid");
    page.shows("all day</span> <bdi>Window cleaner</bdi>");
    // Two that overlap stand side by side; an hour later none does.
    page.shows("l0-2");
    page.shows("l1-2");
    assert_eq!(page.html.matches("l1-2").count(), 1);
    let policy = page.headers["content-security-policy"].to_str().expect("a text");
    assert!(policy.contains("style-src 'self'"));
    page.hides(" style=");
    ann.open(&format!("{AGENDA}?d=2025-06-03&lang=fr")).await.shows("venu, pris en ligne");
    let eve = Professional::logged_in(&server, EVE).await;
    for path in [AGENDA.to_owned(), format!("/p/cut-co/events/{first}")] {
        assert_eq!(eve.get(&path).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn week_month_and_list_show_their_days() {
    let (server, [first, second]) = busy_shop().await;
    let ann = Professional::logged_in(&server, ANN).await;
    let week = ann.open(&format!("{AGENDA}?v=week&d=2025-06-05")).await;
    week.shows("Week of 2 June 2025");
    assert_eq!(week.html.matches("<section class=\"col").count(), 7);
    week.shows(&format!("id=\"{}\"", anchor(first, 3)));
    week.hides(&format!("id=\"{}\"", anchor(second, 3)));
    assert_eq!(week.html.matches("<bdi>Lunch</bdi>").count(), 7);
    let other = ann.open(&format!("{AGENDA}?v=week&d=2025-06-05&c={OTHER_CALENDAR}")).await;
    assert_eq!(other.html.matches("<bdi>Holiday</bdi>").count(), 3, "on each of its days");
    let month = ann.open(&format!("{AGENDA}?v=month&d=2025-06-03")).await;
    month.shows("June 2025");
    month.shows(
        "<span class=\"sr\">Tuesday 3 June</span> <span class=\"facts\">3 <span class=\"unit\">appointments</span></span>",
    );
    assert_eq!(month.html.matches("<td").count(), 42);
    // The clock of the shop stands on the second: a list begins with the third.
    let list = ann.open(&format!("{AGENDA}?v=list")).await;
    list.shows("From Tuesday 3 June 2025");
    let sections: Vec<&str> = list.html.split("<section").skip(1).collect();
    assert_eq!(sections.len(), 7);
    assert!(sections[0].contains("06 12 34 56 78") && sections[0].contains("Window cleaner"));
    assert!(sections[1].contains("Holiday") && !sections[1].contains("Window cleaner"));
    let mut places = Vec::new();
    for text in ["Holiday", "Window cleaner", "10:00–10:30", "10:30–11:00", "12:00–13:00"] {
        places.push(sections[0].find(text).unwrap_or_else(|| panic!("{text}: {}", sections[0])));
    }
    assert!(places.is_sorted(), "{places:?}");
}

#[tokio::test]
async fn a_wrong_address_is_refused_and_keeps_what_was_typed() {
    let server = shop_with(|_| {}).await;
    let ann = Professional::logged_in(&server, ANN).await;
    let page = ann.get(&format!("{AGENDA}?v=week&d=2025-02-30&c={CALENDAR}")).await;
    assert_eq!(page.status, 400);
    page.shows("value=\"2025-02-30\" aria-invalid=\"true\" aria-describedby=\"bad-day\"");
    page.shows("id=\"bad-day\">Enter a day");
    page.shows(&format!("<option value=\"{CALENDAR}\" selected>"));
    for (query, line) in [
        ("d=1969-12-31", "Enter a day"),
        ("d=9999-06-01", "Enter a day"),
        ("v=year", "There is no such view."),
        ("c=999", "There is no such calendar."),
        ("c=x", "There is no such calendar."),
    ] {
        let page = ann.get(&format!("{AGENDA}?{query}")).await;
        assert_eq!(page.status, 400, "{query}");
        page.shows(line);
    }
    ann.open(&format!("{AGENDA}?v=month&d=1971-01-01&c=")).await;
    ann.open(&format!("{AGENDA}?v=month&d=9998-12-31")).await;
}

#[tokio::test]
async fn a_day_of_a_clock_change_shows_both_passes_of_the_repeated_hour() {
    let server = shop_with(|_| {}).await;
    let ann = Professional::logged_in(&server, ANN).await;
    // 26 October 2025: the clock goes from three back to two.
    for (start, end) in [
        ("2025-10-26T00:15:00Z", "2025-10-26T00:45:00Z"),
        ("2025-10-26T01:15:00Z", "2025-10-26T01:45:00Z"),
    ] {
        let fields = json!({"calendar_id": CALENDAR, "intervention_id": CUT,
            "fiche_id": KNOWN_FICHE, "start": start, "end": end});
        put_down(&server, fields).await;
    }
    for view in ["day", "week", "list"] {
        let page = ann.open(&format!("{AGENDA}?v={view}&d=2025-10-26")).await;
        page.shows(">02:15–02:45<");
        page.shows(">02:15 (second pass)–02:45 (second pass)<");
    }
    let page = ann.open(&format!("{AGENDA}?d=2025-10-26")).await;
    assert!(page.html.contains("l0-2") && page.html.contains("l1-2"), "side by side");
}

#[tokio::test]
async fn the_record_of_an_event_leads_back_to_its_place_in_the_view() {
    let (server, [first, _]) = busy_shop().await;
    let ann = Professional::logged_in(&server, ANN).await;
    let page = ann.open(&format!("/p/cut-co/events/{first}?v=week&d=2025-06-03&c=11")).await;
    page.shows(&format!("agenda?v=week&#38;d=2025-06-03&#38;c=11#{}", anchor(first, 3)));
    for id in ["0", "999999", "x"] {
        assert_eq!(ann.get(&format!("/p/cut-co/events/{id}")).await.status, 404, "{id}");
    }
}

fn gzip_bytes(page: &Page) -> usize {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(page.html.as_bytes()).expect("memory");
    encoder.finish().expect("memory").len()
}

#[tokio::test]
async fn each_view_of_the_demonstrations_week_is_short_over_the_wire() {
    let server = TestServer::demonstration().await;
    let anna = ("anna@example.org", "demo-password");
    let anna = Professional::logged_in(&server, anna).await;
    for view in ["day", "week", "month", "list"] {
        let path = format!("/p/cabinet-de-sante-des-tilleuls/agenda?v={view}&d=2025-06-02");
        let page = anna.open(&path).await;
        let bytes = gzip_bytes(&page);
        println!("{view}: {bytes} of {} bytes", page.html.len());
        assert!(bytes <= 25 * 1_000, "{view}: {bytes} bytes");
    }
}

/// A browser that is logged in and has opened a screen.
async fn open(server: &TestServer, look: Look, path: &str) -> Option<Browser> {
    let browser = Browser::open(server.address(), look).await?;
    browser.goto("/login").await;
    browser.type_into("#email", ANN.0).await;
    browser.type_into("#password", ANN.1).await;
    browser.click("main button").await;
    browser.arrive_at(AGENDA).await;
    browser.goto(path).await;
    Some(browser)
}

/// The name that the browser computes for what has the focus.
async fn focus(browser: &Browser) -> String {
    let text = browser.run("return document.activeElement.textContent").await;
    text.as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Presses a key where the focus is, by the browser's own interface.
async fn key(browser: &Browser, key: &str) {
    for kind in ["rawKeyDown", "char", "keyUp"] {
        let text = if kind == "char" && key.chars().count() == 1 { key } else { "" };
        if kind == "char" && text.is_empty() {
            continue;
        }
        let params = json!({"type": kind, "key": key, "text": text});
        browser.devtools("Input.dispatchKeyEvent", params).await;
    }
}

#[tokio::test]
async fn the_whole_agenda_is_read_by_keyboard() {
    let (server, [first, second]) = busy_shop().await;
    let day = format!("{AGENDA}?d=2025-06-03");
    let Some(browser) = open(&server, DESKTOP, &day).await else { return };
    let tabbable = "return document.querySelectorAll('.grid a[tabindex=\"0\"]').length
        + ' of ' + document.querySelectorAll('.grid a').length";
    assert_eq!(browser.run(tabbable).await, json!("1 of 7"), "one tab stop");
    browser.tab_to(".grid a").await;
    assert!(focus(&browser).await.contains("Window cleaner"));
    key(&browser, "ArrowDown").await;
    assert!(focus(&browser).await.contains("10:00–10:30"), "{}", focus(&browser).await);
    // The nearest by time in the next column.
    key(&browser, "ArrowDown").await;
    assert!(focus(&browser).await.contains("10:15–10:45"));
    key(&browser, "ArrowRight").await;
    assert!(focus(&browser).await.contains("10:30–11:00"), "{}", focus(&browser).await);
    key(&browser, "ArrowRight").await;
    assert!(focus(&browser).await.contains("10:30–11:00"), "no event further right");
    key(&browser, "Home").await;
    assert!(focus(&browser).await.contains("Holiday"));
    key(&browser, "End").await;
    assert_eq!(browser.run(tabbable).await, json!("1 of 7"));
    browser.press("\u{e007}").await;
    browser.arrive_at(&format!("/p/cut-co/events/{second}")).await;
    key(&browser, "Escape").await;
    browser.arrive_at(AGENDA).await;
    browser.await_element(&format!("#{}:focus", anchor(second, 3))).await;
    assert_eq!(browser.run(tabbable).await, json!("1 of 7"));
    browser.await_element(&format!("#{}[tabindex=\"0\"]", anchor(second, 3))).await;
    key(&browser, "ArrowLeft").await;
    let id = browser.run("return document.activeElement.id").await;
    assert_ne!(id, json!(anchor(second, 3)));
    assert!(id.as_str().is_some_and(|id| id.starts_with('e')), "{id} {first}");
}

#[tokio::test]
async fn single_keys_lead_to_views_and_can_be_turned_off() {
    let (server, _) = busy_shop().await;
    let day = format!("{AGENDA}?d=2025-06-03");
    let Some(browser) = open(&server, DESKTOP, &day).await else { return };
    for (pressed, title) in [
        ("j", "Wednesday 4 June 2025"),
        ("k", "Tuesday 3 June 2025"),
        ("w", "Week of 2 June 2025"),
        ("m", "June 2025"),
        ("l", "From Tuesday 3 June 2025"),
        ("d", "Tuesday 3 June 2025"),
        ("t", "Monday 2 June 2025"),
    ] {
        key(&browser, pressed).await;
        let begins = format!("//h1[starts-with(., '{title}')]");
        let heading = browser.client.wait().for_element(fantoccini::Locator::XPath(&begins)).await;
        heading.unwrap_or_else(|error| panic!("{pressed}: {error}"));
    }
    key(&browser, "?").await;
    browser.await_element("dialog[open]").await;
    browser.assert_accessible("keys").await;
    browser.picture("agenda-keys").await;
    // While the list of keys is open, they do nothing.
    key(&browser, "j").await;
    browser.click("#keys-on").await;
    browser.click("dialog button").await;
    key(&browser, "j").await;
    key(&browser, "?").await;
    assert_eq!(browser.run("return document.querySelectorAll('dialog[open]').length").await, 0);
    browser.goto(&day).await;
    key(&browser, "j").await;
    browser.click("#keys-button").await;
    let checked = browser.run("return document.getElementById('keys-on').checked").await;
    assert_eq!(checked, json!(false), "it stays off");
    assert_eq!(
        browser.run("return document.querySelector('h1').textContent").await,
        json!("Tuesday 3 June 2025")
    );
    // A key that is typed into a field is text.
    browser.click("#keys-on").await;
    browser.click("dialog button").await;
    browser.run("document.querySelector('[name=d]').focus()").await;
    key(&browser, "w").await;
    assert_eq!(
        browser.run("return document.querySelector('h1').textContent").await,
        json!("Tuesday 3 June 2025")
    );
}

#[tokio::test]
async fn a_phone_shows_one_column_and_the_way_to_the_next() {
    let (server, _) = busy_shop().await;
    let day = format!("{AGENDA}?d=2025-06-03");
    let Some(browser) = open(&server, PHONE, &day).await else { return };
    let columns = "return [...document.querySelectorAll('.col')].filter((one) => one.offsetParent)
        .map((one) => one.querySelector('h2').textContent.trim()).join()";
    assert_eq!(browser.run(columns).await, json!("A"));
    browser.click(".turn a:last-child").await;
    browser.client.wait().for_element(fantoccini::Locator::Css(".turn a + a")).await.expect("both");
    assert_eq!(browser.run(columns).await, json!("B"));
    browser.goto(&format!("{AGENDA}?v=week&d=2025-06-03")).await;
    assert_eq!(browser.run(columns).await, json!("Tuesday 3 June"));
    browser.click(".turn a:last-child").await;
    browser
        .client
        .wait()
        .for_element(fantoccini::Locator::XPath(
            "//section[contains(@class, ' on')]/h2[contains(., 'Wednesday')]",
        ))
        .await
        .expect("the next day");
    browser.assert_fits("the next day").await;
}

#[tokio::test]
async fn each_view_is_accessible_at_every_width() {
    let (server, [first, _]) = busy_shop().await;
    for language in ["en", "fr"] {
        let look = Look { language, ..PHONE };
        let start = format!("{AGENDA}?d=2025-06-03");
        let Some(browser) = open(&server, look, &start).await else { return };
        for (name, path) in [
            ("day", start.clone()),
            ("week", format!("{AGENDA}?v=week&d=2025-06-03")),
            ("month", format!("{AGENDA}?v=month&d=2025-06-03")),
            ("list", format!("{AGENDA}?v=list")),
            ("wrong-day", format!("{AGENDA}?d=soon&c=9999")),
            ("empty", format!("{AGENDA}?d=2019-06-03")),
            ("record", format!("/p/cut-co/events/{first}")),
        ] {
            browser.goto(&path).await;
            for (width, is_dark) in [
                (320, false),
                (320, true),
                (768, false),
                (1_280, false),
                (1_280, true),
                (1_920, true),
            ] {
                let height = if width < 600 { 740 } else { 900 };
                browser.emulate(Look { width, height, is_dark, ..look }).await;
                let scheme = if is_dark { "dark" } else { "light" };
                let what = format!("agenda-{name}-{language}-{width}-{scheme}");
                browser.assert_accessible(&what).await;
                browser.picture(&what).await;
                if width <= 768 && !(width == 768 && matches!(name, "day" | "week" | "empty")) {
                    browser.assert_fits(&what).await;
                }
            }
            browser.emulate(Look { width: 320, ..look }).await;
            browser.assert_targets(&format!("{name} {language}")).await;
            let logs = browser.console().await;
            assert!(!logs.contains("Content Security Policy"), "{name}: {logs}");
        }
    }
}

#[tokio::test]
async fn without_scripts_every_event_can_be_reached_and_opened() {
    let (server, [first, _]) = busy_shop().await;
    let day = format!("{AGENDA}?d=2025-06-03");
    let Some(browser) = open(&server, DESKTOP, &day).await else { return };
    browser.without_scripts().await;
    browser.goto(&day).await;
    browser.click(&format!("#{}", anchor(first, 3))).await;
    browser.arrive_at(&format!("/p/cut-co/events/{first}")).await;
    browser.click("#back").await;
    browser.arrive_at(AGENDA).await;
    browser.click(".controls nav:first-child li:last-child a").await;
    browser.await_element(".days").await;
}
