//! The practice's own screens in a browser: axe, the width of a small phone, targets, both
//! languages and both schemes of colours, without a message about the policy.

use crate::browser::{Browser, Look, PHONE};
use crate::clients::{add, book};
use crate::server::{TestServer, answer};
use crate::shop::{ANN, CALENDAR, CUT, KNOWN_FICHE};

/// A screen, and what is pressed on it before it is checked.
struct Step {
    name: &'static str,
    path: String,
    pressed: &'static [&'static str],
    /// An element of the state that is checked.
    awaited: &'static str,
}

fn step(name: &'static str, path: &str) -> Step {
    Step { name, path: path.to_owned(), pressed: &[], awaited: "h1" }
}

/// Logs Ann in at the form.
pub(crate) async fn log_in(browser: &Browser) {
    log_in_as(browser, ANN).await;
}

/// Logs a professional of the shop in at the form.
pub(crate) async fn log_in_as(browser: &Browser, (email, password): (&str, &str)) {
    browser.goto("/login").await;
    browser.type_into("#email", email).await;
    browser.type_into("#password", password).await;
    browser.click("main button").await;
    browser.arrive_at("/p/cut-co/agenda").await;
}

async fn check(server: &TestServer, language: &'static str, steps: Vec<Step>) {
    let look = Look { language, ..PHONE };
    let Some(browser) = Browser::open(server.address(), look).await else { return };
    log_in(&browser).await;
    for Step { name, path, pressed, awaited } in steps {
        browser.emulate(look).await;
        browser.goto(&path).await;
        for selector in pressed {
            browser.click(selector).await;
        }
        browser.await_element(awaited).await;
        // 320 px are 1,280 at a zoom of 400 %, and so many points of the screen to each.
        for (width, is_dark, scale) in [
            (320, false, 4),
            (320, true, 1),
            (1_280, false, 1),
            (1_280, true, 1),
            (1_920, false, 1),
            (1_920, true, 1),
        ] {
            browser.emulate(Look { width, is_dark, scale, ..look }).await;
            browser.assert_accessible(&format!("{name} {language} {width} dark={is_dark}")).await;
            let scheme = if is_dark { "dark" } else { "light" };
            browser.picture(&format!("practice-{name}-{language}-{width}-{scheme}")).await;
        }
        browser.emulate(Look { width: 320, ..look }).await;
        browser.assert_fits(&format!("{name} {language}")).await;
        browser.assert_targets(&format!("{name} {language}")).await;
        let logs = browser.console().await;
        assert!(!logs.contains("Content Security Policy"), "{name}: {logs}");
    }
}

#[tokio::test]
async fn the_screens_of_clients_are_accessible() {
    let server = TestServer::start().await;
    for nth in 0..51 {
        add(&server, serde_json::json!({"lastname": format!("Row {nth:02}")})).await;
    }
    let hostile = "<script>document.title='owned'</script>שלוםWWWWWWWWWWWWWWWWW";
    let long = serde_json::json!({"lastname": hostile, "comments": hostile, "email": "a@b.org"});
    let long = add(&server, long).await;
    book(&server, "2025-06-03 09:00:00", "2025-06-03 09:30:00").await;
    let known = format!("/p/cut-co/clients/{KNOWN_FICHE}");
    for language in ["en", "fr"] {
        let steps = vec![
            step("clients", "/p/cut-co/clients"),
            step("clients-nothing", "/p/cut-co/clients?search=nothing"),
            step("clients-fault", &format!("/p/cut-co/clients?search={}", "a".repeat(256))),
            step("client-new", "/p/cut-co/clients/new"),
            Step {
                pressed: &["form.once:not(.account form) p button"],
                awaited: ".fault",
                ..step("client-faults", "/p/cut-co/clients/new")
            },
            step("client", &known),
            Step {
                pressed: &["#edit summary"],
                awaited: "#lastname",
                ..step("client-edit", &known)
            },
            step("merge-search", &format!("{known}/merge?search=row")),
            step("merge", &format!("{known}/merge?other={long}")),
            step("client-hostile", &format!("/p/cut-co/clients/{long}")),
        ];
        check(&server, language, steps).await;
    }
}

#[tokio::test]
async fn the_records_of_events_are_accessible() {
    let server = TestServer::start().await;
    let id = book(&server, "2025-06-04 09:00:00", "2025-06-04 09:30:00").await;
    book(&server, "2025-06-05 09:00:00", "2025-06-05 09:30:00").await;
    let event = format!("/p/cut-co/events/{id}");
    let moved = format!("{event}/move");
    let taken = format!("{moved}?day=2025-06-05");
    let closed = format!("{moved}?time=20:00");
    let send = &["form.narrow p button"];
    for language in ["en", "fr"] {
        let steps = vec![
            step("event", &event),
            Step {
                pressed: &["#cancel summary"],
                awaited: "#cancel button",
                ..step("event-cancel", &event)
            },
            step("move", &moved),
            Step { pressed: send, awaited: ".alert", ..step("move-taken", &taken) },
            Step { pressed: send, awaited: ".alert", ..step("move-warned", &closed) },
            step("availability", "/p/cut-co/events/51"),
        ];
        check(&server, language, steps).await;
    }
}

#[tokio::test]
async fn the_form_of_a_new_appointment_is_accessible() {
    let server = TestServer::start().await;
    let hostile = "<script>document.title='owned'</script>שלוםWWWWWWWWWWWWWWWWW";
    let long = add(&server, serde_json::json!({"lastname": hostile, "firstphone": "0611"})).await;
    let id = book(&server, "2025-06-05 09:00:00", "2025-06-05 09:30:00").await;
    let new = "/p/cut-co/events/new";
    let at = |rest: &str| format!("{new}?c={CALENDAR}&s={CUT}&client={long}&{rest}");
    let send = &["form.wide .actions button:not(.quiet)"];
    let closed = at("d=2025-06-05&t=20:00");
    let explain = &["form.wide .actions .quiet"];
    let why = |rest: &str| format!("/p/cut-co/events/why?c={CALENDAR}&s={CUT}&{rest}");
    for language in ["en", "fr"] {
        let steps = vec![
            step("create", new),
            Step {
                pressed: &["#new-client summary"],
                awaited: "#fiche-lastname",
                ..step("create-new-client", new)
            },
            Step { pressed: &["button[name=find]"], awaited: ".pick", ..step("create-found", new) },
            Step { pressed: send, awaited: ".alert", ..step("create-faults", new) },
            step("create-client", &at("d=2025-06-05&t=10:00")),
            step("create-bad-address", &format!("{new}?c=99&s=99&d=x&t=x&to=x&client=99")),
            Step { pressed: send, awaited: ".alert", ..step("create-warned", &closed) },
            Step {
                pressed: send,
                awaited: ".alert",
                ..step("create-taken", &at("d=2025-06-05&t=09:15"))
            },
            Step { pressed: explain, awaited: "#explanation", ..step("create-why", &closed) },
            step("why-blank", "/p/cut-co/events/why"),
            step("why", &why("d=2025-06-05&t=20:07")),
            step("why-offered", &why("d=2025-06-05&t=10:00")),
            step("why-faults", &why("d=x&t=x")),
            step("create-made", &format!("/p/cut-co/agenda?d=2025-06-05#e{id}-20244")),
        ];
        check(&server, language, steps).await;
    }
}

#[tokio::test]
async fn the_screens_of_opening_hours_are_accessible() {
    let server = TestServer::start().await;
    book(&server, "2025-06-04 09:00:00", "2025-06-04 09:30:00").await;
    let hostile = "<script>document.title='owned'</script>שלוםWWWWWWWWWWWWWWWWW";
    let monthly = serde_json::json!({"vevent": {"calendar_id": CALENDAR, "type": "VfreebusyEvent",
        "start": "2025-06-05 18:00:00", "end": "2025-06-05 20:00:00", "rrule": "FREQ=MONTHLY"}});
    let closure = serde_json::json!({"vevent": {"calendar_id": CALENDAR, "text": hostile,
        "start": "2025-08-01 00:00:00", "end": "2025-08-16 00:00:00"}});
    for event in [monthly, closure] {
        let made = server.by_pro(reqwest::Method::POST, "/groups/4/vevents").json(&event);
        answer(made).await.is(201);
    }
    let calendar = format!("/p/cut-co/hours/{CALENDAR}");
    let new = format!("{calendar}?timetable=new");
    let closed = "/p/cut-co/hours/closure?first=2025-06-04&calendar=all";
    let left_out = "/p/cut-co/hours/opening?day=2026-03-29&times.0.from=02:30&times.0.to=04:00";
    let holidays = "/p/cut-co/hours/holidays?country=CH&region=ZH";
    let send = &["form.wide p.actions button"];
    for language in ["en", "fr"] {
        let steps = vec![
            step("hours", "/p/cut-co/hours"),
            step("hours-calendar", &calendar),
            Step { pressed: send, awaited: ".done", ..step("hours-saved", &calendar) },
            Step { pressed: send, awaited: ".alert", ..step("hours-new", &new) },
            step("hours-closure", "/p/cut-co/hours/closure"),
            Step { pressed: send, awaited: ".alert", ..step("hours-question", closed) },
            Step { pressed: send, awaited: ".alert", ..step("hours-opening", left_out) },
            Step { pressed: send, awaited: ".alert", ..step("hours-holidays", holidays) },
        ];
        check(&server, language, steps).await;
    }
}

#[tokio::test]
async fn absences_and_the_appointments_under_them_are_accessible() {
    let server = TestServer::start().await;
    for hour in ["09", "10"] {
        let start = format!("2025-06-04 {hour}:00:00");
        book(&server, &start, &format!("2025-06-04 {hour}:30:00")).await;
    }
    let made = |fields: serde_json::Value| {
        let body = serde_json::json!({"vevent": fields});
        answer(server.by_pro(reqwest::Method::POST, "/groups/4/vevents").json(&body))
    };
    let lunch = serde_json::json!({"calendar_id": CALENDAR, "start": "2025-06-02 12:00:00",
        "end": "2025-06-02 13:00:00", "text": "Lunch", "rrule": "FREQ=DAILY"});
    let lunch = format!("/p/cut-co/events/{}", made(lunch).await.is(201)["id"]);
    let stands = serde_json::json!({"calendar_id": CALENDAR, "start": "2025-06-04 10:00:00",
        "end": "2025-06-04 13:00:00", "text": "Ill"});
    let stands = format!("/p/cut-co/events/{}", made(stands).await.is(201)["id"]);
    let new = format!("/p/cut-co/absences/new?d=2025-06-04&c={CALENDAR}");
    const SEND: &str = "form.once.wide > p button";
    for language in ["en", "fr"] {
        let steps = vec![
            step("absence-new", &new),
            Step { pressed: &["#whole", SEND], awaited: ".fault", ..step("absence-fault", &new) },
            Step { pressed: &[SEND], awaited: ".booked", ..step("absence-asks", &new) },
            Step {
                pressed: &[SEND, ".booked input[value='move']", SEND],
                awaited: "#to-fault",
                ..step("absence-nowhere", &new)
            },
            step("absence-stands", &stands),
            step("series", &lunch),
            step("series-occurrence", &format!("{lunch}?o=2025-06-05")),
            step("series-wrong-day", &format!("{lunch}?o=2025-05-05")),
        ];
        check(&server, language, steps).await;
    }
}
