//! The first run: from an empty directory to a booked appointment in a browser, and the ends of its
//! link.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};
use slotbook::domain::directory::DirectoryEvent;
use slotbook::store::codec;
use slotbook::store::{
    BatchNumber, Frames, JournalRecord, Position, RecoveryVisitor, Store, StoreError, Stream,
};

use crate::browser::{Browser, Look, PHONE};
use crate::program::{Served, appointments, complaint, exported, run};
use crate::visitor::{Visitor, set};

const PASSWORD: &str = "three plain words";

/// Path of a link that the operator gets.
#[track_caller]
fn link(data: &Path) -> String {
    let output = run(&["first-run"], data);
    assert!(output.status.success(), "{}", complaint(&output));
    let url = String::from_utf8(output.stdout).expect("text");
    let (_, path) = url.trim().split_once("/first-run/").expect("a link");
    format!("/first-run/{path}")
}

/// Name and port at which a browser reaches the server on its own machine.
fn address(server: &Served) -> String {
    server.base.trim_start_matches("http://127.0.0.1").to_owned()
}

fn visitor(server: &Served) -> Visitor {
    Visitor::at(&format!("localhost{}", address(server)))
}

/// The last form with everything that the pages ask for.
fn last_form(name: &str) -> Vec<(String, String)> {
    let fields = [
        ("step", "owner"),
        ("name", name),
        ("timezone", "Europe/Paris"),
        ("country", "United Kingdom"),
        ("phone", "01 99 00 12 30"),
        ("MO1.from", "09:00"),
        ("MO1.to", "12:00"),
        ("MO2.from", "14:00"),
        ("MO2.to", "18:00"),
        ("TU1.from", "20:00"),
        ("TU1.to", "00:00"),
        ("service1", "Cut"),
        ("minutes1", "30"),
        ("service2", ""),
        ("minutes2", "30"),
        ("service3", "Colour"),
        ("minutes3", "90"),
        ("firstname", "Ann"),
        ("lastname", "Lee"),
        ("email", "ann@example.org"),
        ("password", PASSWORD),
    ];
    fields.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

/// Asserts that a store has the shop of [`last_form`], whole.
#[track_caller]
fn assert_whole(document: &Value) {
    let groups = document["groups"].as_array().expect("a list");
    assert_eq!(groups.len(), 1, "{document}");
    let group = &groups[0];
    assert_eq!(group["timezone"], "Paris");
    assert_eq!(group["validateEmail"], false, "clients need no account");
    // An export leaves out defaults, which both have.
    assert_eq!((&group["web_page"], &group["openData"]), (&Value::Null, &Value::Null));
    let names = |section: &str, field: &str| {
        let rows = group[section].as_array().expect("a list").iter();
        rows.map(|row| row[field].clone()).collect::<Vec<_>>()
    };
    assert_eq!(names("calendars", "publicname"), ["Ann Lee"]);
    assert_eq!(names("interventions", "publicname"), ["Cut", "Colour"]);
    assert_eq!(names("interventions", "length"), [30, 90]);
    assert_eq!(names("pros", "email"), ["ann@example.org"]);
    assert_eq!(group["vevents"].as_array().expect("a list").len(), 3, "{group}");
}

/// The start on Monday and on Saturday that the page proposes.
fn proposed() -> (Vec<String>, Vec<String>) {
    (vec!["09:00".to_owned()], vec![String::new()])
}

/// Sends wrong hours, which are refused beside their fields. Returns the form with right ones.
async fn hours_given(
    visitor: &Visitor,
    path: &str,
    mut form: Vec<(String, String)>,
) -> Vec<(String, String)> {
    for day in ["TU", "TH"] {
        set(&mut form, &format!("{day}1.from"), "09:00");
        set(&mut form, &format!("{day}1.to"), "12:00");
    }
    for (name, value) in [("MO1.from", "12:00"), ("MO1.to", "9:00"), ("SU2.from", "25:00")] {
        set(&mut form, name, value);
    }
    let refused = visitor.post(path, &form).await;
    assert_eq!(refused.status, 400);
    refused.shows("id=\"MO1-fault\"");
    refused.shows("id=\"SU2-fault\"");
    refused.hides("id=\"TH1-fault\"");
    refused.shows("value=\"25:00\"");
    for (name, value) in [("MO1.from", "09:00"), ("MO1.to", "12:00"), ("SU2.from", "")] {
        set(&mut form, name, value);
    }
    form
}

/// Sends wrong services, asks for more rows, and goes back. Returns the form with a right one.
async fn services_given(
    visitor: &Visitor,
    path: &str,
    mut form: Vec<(String, String)>,
) -> Vec<(String, String)> {
    set(&mut form, "service1", "");
    let refused = visitor.post(path, &form).await;
    assert_eq!(refused.status, 400);
    refused.shows("id=\"service1-fault\"");
    for nth in 2..=3 {
        set(&mut form, &format!("service{nth}"), "");
        set(&mut form, &format!("minutes{nth}"), "30");
    }
    set(&mut form, "service1", "Cut");
    set(&mut form, "minutes1", "1441");
    visitor.post(path, &form).await.shows("id=\"minutes1-fault\"");
    set(&mut form, "minutes1", "45");
    set(&mut form, "go", "more");
    visitor.post(path, &form).await.shows("id=\"service6\"");
    set(&mut form, "go", "back");
    let back = visitor.post(path, &form).await;
    assert!(back.hidden().contains(&("service1".to_owned(), "Cut".to_owned())));
    set(&mut form, "go", "next");
    form
}

#[tokio::test]
async fn the_pages_work_without_a_script_and_keep_what_was_typed() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let server = Served::on(&data, &["--create"]);
    let visitor = visitor(&server);
    let path = link(&data);
    let page = visitor.open(&path).await;
    page.shows("Europe/Zurich");
    assert_eq!(page.headers["cache-control"], "no-store");
    let mut form = page.hidden();
    let refused = visitor.post(&path, &form).await;
    assert_eq!(refused.status, 400);
    refused.shows("id=\"name-fault\"");
    refused.shows("id=\"timezone-fault\"");
    for (name, value) in [("name", "Bob"), ("timezone", "Europe/Paris")] {
        set(&mut form, name, value);
    }
    let page = visitor.post(&path, &form).await;
    assert_eq!((page.values("MO1.from"), page.values("SA1.from")), proposed());
    let form = hours_given(&visitor, &path, page.hidden()).await;
    let page = visitor.post(&path, &form).await;
    let form = services_given(&visitor, &path, page.hidden()).await;
    let page = visitor.post(&path, &form).await;
    let mut form = page.hidden();
    for (name, value) in [("lastname", "Lee"), ("email", "ann"), ("password", "azertyuiop")] {
        set(&mut form, name, value);
    }
    let refused = visitor.post(&path, &form).await;
    assert_eq!(refused.status, 400);
    refused.shows("id=\"email-fault\"");
    refused.shows("id=\"password-fault\"");
    refused.hides("azertyuiop");
    assert_eq!(exported(&data)["groups"], json!([]), "nothing is made before the end");
    set(&mut form, "email", "ann@example.org");
    set(&mut form, "password", PASSWORD);
    // What other pages have checked is checked again.
    let mut forged = form.clone();
    set(&mut forged, "timezone", "Nowhere");
    let refused = visitor.post(&path, &forged).await;
    assert_eq!(refused.status, 400);
    refused.shows("id=\"timezone-fault\"");
    refused.hides(PASSWORD);
    let done = visitor.post(&path, &form).await;
    assert_eq!(done.location(), "/p/bob/welcome");
    assert!(done.headers.get_all("set-cookie").iter().count() > 0);
    visitor.open("/b/bob").await.shows("Cut");
    assert_eq!(visitor.get(&path).await.status, 404, "a second browser finds nothing");
    assert_eq!(visitor.post(&path, &form).await.status, 404);
}

#[tokio::test]
async fn a_race_of_two_last_steps_makes_one_shop() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let server = Served::on(&data, &["--create"]);
    let path = link(&data);
    let sent = ["One", "Two", "Three", "Four"].map(|name| {
        let visitor = visitor(&server);
        let path = path.clone();
        tokio::spawn(async move { visitor.post(&path, &last_form(name)).await.status })
    });
    let mut statuses = Vec::new();
    for one in sent {
        statuses.push(one.await.expect("an answer"));
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [303, 404, 404, 404]);
    assert_whole(&exported(&data));
}

#[tokio::test]
async fn a_kill_leaves_the_whole_shop_or_nothing_and_a_new_link_goes_on() {
    for round in 0..6 {
        let folder = tempfile::tempdir().expect("a folder");
        let data = folder.path().join("data");
        let server = Served::on(&data, &["--create"]);
        let path = link(&data);
        let host = format!("localhost{}", address(&server));
        let mut body = form_urlencoded::Serializer::new(String::new());
        let body = body.extend_pairs(last_form("Shop")).finish();
        let mut stream = TcpStream::connect(server.base.trim_start_matches("http://"))
            .expect("the server listens");
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
            body.len(),
        );
        let before = newest_write(&data);
        stream.write_all(request.as_bytes()).expect("the server reads");
        match round % 3 {
            0 => {}
            // The store is being written.
            1 => while newest_write(&data) == before {},
            _ => stream.read_exact(&mut [0]).expect("the answer begins"),
        }
        server.end("KILL");
        if round % 3 == 2 {
            assert_one_batch(&data);
        }
        // The store is made with the shop.
        let document = data.join("CURRENT").exists().then(|| exported(&data));
        let server = Served::on(&data, &["--create"]);
        if document.as_ref().is_none_or(|document| document["groups"] == json!([])) {
            assert_ne!(round % 3, 2, "what was answered is there");
            assert!(document.is_none_or(|document| document["apikeys"] == json!([])));
            let again = visitor(&server).post(&link(&data), &last_form("Shop")).await;
            assert_eq!(again.location(), "/p/shop/welcome");
        }
        assert_whole(&exported(&data));
        let login = [("email", "ann@example.org"), ("password", PASSWORD)];
        let login = login.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let visitor = Visitor::at(server.base.trim_start_matches("http://"));
        assert_eq!(visitor.post("/login", &login).await.location(), "/p");
        let checked = run(&["check"], &data);
        assert!(checked.status.success() || complaint(&checked).contains("in use"));
    }
}

/// The batches of the journal that hold the founding of a shop.
#[derive(Default)]
struct FoundingBatches {
    of_group: Vec<BatchNumber>,
    of_owner: Vec<BatchNumber>,
}

impl RecoveryVisitor for FoundingBatches {
    fn snapshot(
        &mut self,
        _: Stream,
        _: Position,
        frames: &mut dyn Frames,
    ) -> Result<(), StoreError> {
        while frames.next()?.is_some() {}
        Ok(())
    }

    fn record(&mut self, batch: BatchNumber, record: JournalRecord) -> Result<(), StoreError> {
        match record.stream {
            Stream::Group(_) => self.of_group.push(batch),
            Stream::Directory => {
                let event = match codec::decode_format(&record.bytes, record.format)? {
                    DirectoryEvent::Authored { event, .. } => *event,
                    event => event,
                };
                if let DirectoryEvent::ProPut { .. } | DirectoryEvent::BlockGranted { .. } = event {
                    self.of_owner.push(batch);
                }
            }
        }
        Ok(())
    }
}

/// Asserts that one batch holds the founding of the shop in a store, which is written as a whole.
#[track_caller]
fn assert_one_batch(data: &Path) {
    let mut found = FoundingBatches::default();
    Store::open(data).expect("a store").recover(&mut found).expect("it is read");
    let first = found.of_group[0];
    assert_eq!((found.of_group.len(), found.of_owner.len()), (2, 4));
    assert!(found.of_group.iter().chain(&found.of_owner).all(|batch| *batch == first));
}

/// The moment of the newest write to a file of a store.
fn newest_write(data: &Path) -> Option<std::time::SystemTime> {
    let mut newest = None;
    let mut folders = vec![data.to_owned()];
    while let Some(folder) = folders.pop() {
        // The server may remove one meanwhile.
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        for entry in entries.flatten() {
            let Ok(found) = entry.metadata() else { continue };
            if found.is_dir() {
                folders.push(entry.path());
            } else {
                newest = newest.max(found.modified().ok());
            }
        }
    }
    newest
}

#[tokio::test]
async fn an_empty_directory_becomes_a_booked_appointment_in_a_browser() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let begin = Instant::now();
    let server = Served::on(&data, &["--create"]);
    let host = format!("localhost{}", address(&server));
    let look = Look { zone: "Europe/Zurich", ..PHONE };
    let Some(browser) = Browser::open(&host, look).await else { return };
    let path = link(&data);
    browser.goto(&path).await;
    let zone = "return document.querySelector('#timezone').value;";
    assert_eq!(browser.run(zone).await, json!("Europe/Zurich"), "that of the browser");
    browser.type_into("#name", "Bob’s").await;
    let mut steps = 1;
    let mut press = async |awaited: &str| {
        browser.click("main button").await;
        browser.await_element(awaited).await;
        steps += 1;
    };
    press("fieldset").await;
    press("#service1").await;
    browser.type_into("#service1", "Cut").await;
    press("#password").await;
    browser.type_into("#firstname", "Ann").await;
    browser.type_into("#email", "ann@example.org").await;
    browser.type_into("#password", PASSWORD).await;
    press("#to-page").await;
    browser.click("#to-page").await;
    browser.arrive_at("/b/bob-s").await;
    browser.click("a.service").await;
    browser.click("button[name=t]").await;
    browser.type_into("#fiche-lastname", "Durand").await;
    browser.type_into("#fiche-firstname", "Zoé").await;
    browser.type_into("#fiche-email", "zoe@example.org").await;
    browser.click(".send button").await;
    browser.arrive_at("/b/bob-s/done").await;
    let seconds = begin.elapsed().as_secs_f64();
    println!("first run: {steps} pages, then a booked appointment, in {seconds:.1} s");
    assert_eq!(appointments(&exported(&data)).count(), 1);
    browser.goto("/p/bob-s/welcome").await;
    for language in ["en", "fr"] {
        browser.goto(&format!("/p/bob-s/welcome?lang={language}")).await;
        check(&browser, "welcome", Look { language, ..look }).await;
    }
    browser.click("#to-agenda").await;
    browser.arrive_at("/p/bob-s/agenda").await;
    assert_eq!(reqwest::get(format!("{}/readyz", server.base)).await.expect("it").status(), 200);
}

#[tokio::test]
async fn the_first_run_is_accessible() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let server = Served::on(&data, &["--create"]);
    for language in ["en", "fr"] {
        let look = Look { language, ..PHONE };
        let host = format!("localhost{}", address(&server));
        let Some(browser) = Browser::open(&host, look).await else { return };
        let path = link(&data);
        browser.goto(&path).await;
        check(&browser, "shop", look).await;
        browser.run("document.querySelector('#timezone').value = '';").await;
        browser.click("main button").await;
        browser.await_element(".alert").await;
        check(&browser, "shop-faults", look).await;
        browser.type_into("#name", "WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW").await;
        browser.run("document.querySelector('#timezone').value = 'Paris';").await;
        browser.click("main button").await;
        browser.await_element("fieldset").await;
        check(&browser, "hours", look).await;
        browser.run("document.querySelector('[name=\"MO1.to\"]').value = '8';").await;
        browser.click("main button").await;
        browser.await_element(".alert").await;
        check(&browser, "hours-faults", look).await;
        browser.run("document.querySelector('[name=\"MO1.to\"]').value = '12:00';").await;
        browser.click("main button").await;
        browser.await_element("#service1").await;
        check(&browser, "services", look).await;
        browser.click("main button").await;
        browser.await_element(".alert").await;
        check(&browser, "services-faults", look).await;
        browser.type_into("#service1", "Cut").await;
        browser.click("main button").await;
        browser.await_element("#password").await;
        check(&browser, "owner", look).await;
        browser.click("main button").await;
        browser.await_element(".alert").await;
        check(&browser, "owner-faults", look).await;
        browser.goto("/first-run/none").await;
        check(&browser, "gone", look).await;
        // A name that leads to this machine, of which the server cannot know it.
        let open_way = format!("http://shop.localhost{}{path}", address(&server));
        browser.client.goto(&open_way).await.expect("the page opens");
        browser.await_element("code").await;
        check(&browser, "open-way", look).await;
        browser.goto(&path).await;
        assert_eq!(browser.run("return !!document.querySelector('#name')").await, json!(false));
    }
}

/// Checks a page in both schemes of colours, on a small phone and on a desk.
async fn check(browser: &Browser, name: &str, look: Look) {
    let language = look.language;
    for (width, is_dark) in [(320, false), (320, true), (1_280, false), (1_280, true)] {
        browser.emulate(Look { width, is_dark, ..look }).await;
        let what = format!("{name} {language} {width} dark={is_dark}");
        browser.assert_accessible(&what).await;
        let scheme = if is_dark { "dark" } else { "light" };
        browser.picture(&format!("first-run-{name}-{language}-{width}-{scheme}")).await;
    }
    browser.emulate(Look { width: 320, ..look }).await;
    browser.assert_fits(name).await;
    browser.assert_targets(name).await;
    browser.emulate(look).await;
    let logs = browser.console().await;
    assert!(!logs.contains("Content Security Policy"), "{name}: {logs}");
}
