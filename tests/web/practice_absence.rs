//! New absences and notes, and the appointments under them: cancelled, moved or left.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};
use slotbook::domain::directory::id_blocks::IdKind;
use slotbook::domain::records::ids::{CalendarId, FicheId, GroupId, InterventionId, VeventId};
use slotbook::domain::records::vevent::{
    Appointment, AppointmentKey, Reminders, State, Vevent, VeventKind,
};
use slotbook::domain::time::Civil;
use slotbook::engine::admission::AdmissionLimits;
use slotbook::wire::datetime::format_civil;

use crate::browser::{Browser, PHONE};
use crate::clients::{add, as_str, form_to, state};
use crate::login::Professional;
use crate::practice_looks::log_in;
use crate::program::{Served, exported, practice, store_of, text};
use crate::server::{TestServer, answer};
use crate::shop::{
    ANN, CALENDAR, CUT, EVE, HIDDEN_CALENDAR, KNOWN_FICHE, OTHER_CALENDAR, clock, directory,
    group_four,
};
use crate::visitor::{Page, set};

const NEW: &str = "/p/cut-co/absences/new";
/// Three starts on Wednesday 4 June.
const STARTS: [&str; 3] = ["09:00", "10:00", "11:00"];

fn row(server: &TestServer, id: u64) -> Vevent {
    state(server).rows[&VeventId::new(id).expect("an id")].as_ref().clone()
}

fn is_live(server: &TestServer, id: u64) -> bool {
    !row(server, id).deleted
}

fn calendar_of(server: &TestServer, id: u64) -> u64 {
    row(server, id).calendar_id.number()
}

/// The live absences that were made by a professional, by calendar.
fn absences(server: &TestServer) -> Vec<(u64, String)> {
    let state = state(server);
    let rows = state.rows.values();
    let live = rows.filter(|row| !row.deleted && matches!(row.kind, VeventKind::Plage(_)));
    live.map(|row| {
        let series = row.series().expect("a plage is a series");
        (
            row.calendar_id.number(),
            format!("{} to {}", format_civil(series.start()), format_civil(series.end())),
        )
    })
    .collect()
}

/// The kinds of the messages about an appointment.
fn kinds(server: &TestServer, id: u64) -> Vec<&'static str> {
    let id = VeventId::new(id).expect("an id");
    let state = state(server);
    state.outbox.messages_about(id).map(|message| message.kind().name()).collect()
}

/// Makes an appointment of a new client.
async fn booked(server: &TestServer, name: &str, calendar: u64, start: &str) -> u64 {
    let fields = json!({"lastname": name, "email": format!("{name}@example.org"),
        "firstphone": "0199001231"});
    let client = add(server, fields).await;
    let (hour, minute) = start.split_once(':').expect("a time");
    let half = if minute == "00" { format!("{hour}:30") } else { format!("{hour}:59") };
    let body = json!({"vevent": {"calendar_id": calendar, "fiche_id": client,
        "intervention_id": CUT, "start": format!("2025-06-04 {start}:00"),
        "end": format!("2025-06-04 {half}:00")}});
    let made = answer(server.by_pro(Method::POST, "/groups/4/vevents").json(&body)).await;
    made.is(201)["id"].as_u64().expect("an id")
}

async fn three_booked(server: &TestServer) -> [u64; 3] {
    let mut ids = [0; 3];
    for (id, (name, start)) in ids.iter_mut().zip(["Adam", "Beth", "Carl"].iter().zip(STARTS)) {
        *id = booked(server, name, CALENDAR, start).await;
    }
    ids
}

/// The form of a new absence on a day of a calendar.
async fn new_form(ann: &Professional, calendar: u64, day: &str) -> Vec<(String, String)> {
    let page = ann.open(&format!("{NEW}?d={day}&c={calendar}")).await;
    form_to(&page, &format!("absences/new?v=day&#38;d={day}&#38;c={calendar}"))
}

/// Ticks exactly these appointments, and chooses what happens to them.
fn choose(form: &mut Vec<(String, String)>, ids: &[u64], treatment: &str) {
    form.retain(|(name, _)| name != "chosen");
    form.extend(ids.iter().map(|id| ("chosen".to_owned(), id.to_string())));
    set(form, "treatment", treatment);
}

async fn send(ann: &mut Professional, form: &[(String, String)]) -> Page {
    ann.post(&format!("{NEW}?v=day&d=2025-06-04&c={CALENDAR}"), &as_str(form)).await
}

/// The form of a page that asks what happens to the appointments.
fn asked(page: &Page) -> Vec<(String, String)> {
    form_to(page, "absences/new?v=day&#38;d=2025-06-04&#38;c=11")
}

#[tokio::test]
async fn an_absence_over_free_time_is_written_at_once() {
    let server = TestServer::start().await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    ann.open("/p/cut-co/agenda?d=2025-06-04").await.shows("/absences/new?v=day&#38;d=2025-06-04");
    let mut form = new_form(&ann, CALENDAR, "2025-06-04").await;
    set(&mut form, "to_day", "2025-06-05");
    let made = send(&mut ann, &form).await;
    assert_eq!(made.location(), format!("/p/cut-co/agenda?d=2025-06-04&c={CALENDAR}"));
    let whole = "2025-06-04 00:00:00 to 2025-06-06 00:00:00".to_owned();
    assert_eq!(absences(&server), [(CALENDAR, whole)]);
    // Hours of a day, each week, of all calendars.
    let mut form = new_form(&ann, CALENDAR, "2025-06-12").await;
    form.retain(|(name, _)| name != "whole");
    for (name, value) in [
        ("all", "1"),
        ("from_time", "09:00"),
        ("to_time", "10:15"),
        ("text", "Team"),
        ("weekly", "1"),
        ("until", "2025-07-03"),
    ] {
        set(&mut form, name, value);
    }
    send(&mut ann, &form).await.location();
    let hours = "2025-06-12 09:00:00 to 2025-06-12 10:15:00".to_owned();
    for calendar in [CALENDAR, OTHER_CALENDAR, HIDDEN_CALENDAR] {
        assert!(absences(&server).contains(&(calendar, hours.clone())), "{calendar}");
    }
    let state = state(&server);
    let last = state.rows.values().next_back().expect("an absence");
    let rule = last.series().and_then(|series| series.rule()).expect("a rule").to_string();
    assert_eq!(rule, "FREQ=WEEKLY;UNTIL=20250703T215959Z");
    let rare = last.rare.as_deref().expect("a text");
    assert_eq!((rare.text.as_str(), rare.taker.as_str()), ("Team", "Pro A"));
    // A note has one day and blocks nothing.
    let mut form = new_form(&ann, CALENDAR, "2025-06-13").await;
    set(&mut form, "kind", "note");
    set(&mut form, "text", "Call");
    let before = absences(&server).len();
    send(&mut ann, &form).await.location();
    assert_eq!(absences(&server).len(), before);
    ann.open("/p/cut-co/agenda?d=2025-06-13").await.shows("Call");
}

#[tokio::test]
async fn faults_of_an_absence_stand_beside_their_fields_and_all_is_kept() {
    let server = TestServer::start().await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let hours = [("whole", ""), ("from_time", "09:00"), ("to_time", "10:00")];
    let cases: [(&[(&str, &str)], &str); 9] = [
        (&[("from_day", "2025-02-30")], "from_day-fault"),
        (&[("to_day", "2025-06-03")], "to_day-fault"),
        (&[("to_day", "9999-12-31")], "to_day-fault"),
        (&[("weekly", "1")], "until-fault"),
        (&[("weekly", "1"), ("until", "2025-06-03")], "until-fault"),
        (&[("whole", "")], "from_time-fault"),
        (&[("whole", ""), ("from_time", "09:00"), ("to_time", "08:59")], "to_time-fault"),
        (&[("calendars", ""), ("all", "")], "calendars-fault"),
        (&[("calendars", "999")], "calendars-fault"),
    ];
    for (changes, fault) in cases {
        let mut form = new_form(&ann, CALENDAR, "2025-06-04").await;
        set(&mut form, "text", "kept <b>");
        for (name, value) in changes {
            set(&mut form, name, value);
        }
        let refused = send(&mut ann, &form).await;
        assert_eq!(refused.status, 400, "{changes:?}");
        refused.shows(&format!("id=\"{fault}\""));
        refused.shows("kept &#60;b&#62;");
    }
    // An hour that the clock change leaves out.
    let mut form = new_form(&ann, CALENDAR, "2026-03-29").await;
    hours.iter().for_each(|(name, value)| set(&mut form, name, value));
    set(&mut form, "from_time", "02:30");
    send(&mut ann, &form).await.shows("This hour does not take place");
    assert_eq!(absences(&server), []);
    let mut eve = Professional::logged_in(&server, EVE).await;
    assert_eq!(eve.get(NEW).await.status, 404);
    assert_eq!(send(&mut eve, &form).await.status, 404);
}

#[tokio::test]
async fn of_the_appointments_under_an_absence_the_ticked_ones_are_cancelled_in_one_event() {
    for (treatment, mailed) in [("cancel", true), ("cancel-quietly", false)] {
        let server = TestServer::start().await;
        let ids = three_booked(&server).await;
        let mut ann = Professional::logged_in(&server, ANN).await;
        let form = new_form(&ann, CALENDAR, "2025-06-04").await;
        let question = send(&mut ann, &form).await;
        assert_eq!(question.status, 409);
        for text in ["Adam", "Beth", "Carl", "Wednesday 4 June 2025, 10:00", "0199001231"] {
            question.shows(text);
        }
        assert_eq!(absences(&server), []);
        let mut form = asked(&question);
        assert_eq!(form.iter().filter(|(name, _)| name == "chosen").count(), 3, "all are ticked");
        // Without a choice nothing happens.
        let unanswered = send(&mut ann, &form).await;
        assert_eq!(unanswered.status, 400);
        unanswered.shows("treatment-fault");
        choose(&mut form, &ids[..2], treatment);
        send(&mut ann, &form).await.location();
        assert_eq!(absences(&server).len(), 1);
        assert_eq!(ids.map(|id| is_live(&server, id)), [false, false, true]);
        for id in &ids[..2] {
            let is_told = kinds(&server, *id).contains(&"cancellation");
            assert_eq!(is_told, mailed, "{treatment}");
        }
        assert!(!kinds(&server, ids[2]).contains(&"cancellation"));
        // The absence stands, and still lists the one that is left.
        let state = state(&server);
        let absence = state.rows.values().next_back().expect("the absence").id.number();
        let here = format!("/p/cut-co/events/{absence}");
        let page = ann.open(&here).await;
        page.shows("Carl");
        page.hides("Adam");
        let to = format!("{here}/booked");
        let mut form = form_to(&page, "/booked");
        choose(&mut form, &ids[2..], treatment);
        assert_eq!(ann.post(&to, &as_str(&form)).await.location(), format!("{here}?saved=1"));
        assert!(!is_live(&server, ids[2]));
        ann.open(&here).await.hides("/booked");
    }
}

#[tokio::test]
async fn appointments_are_moved_to_another_calendar_or_nothing_is_written() {
    let server = TestServer::start().await;
    let ids = three_booked(&server).await;
    let late = booked(&server, "Dora", CALENDAR, "14:00").await;
    let other = booked(&server, "Erik", OTHER_CALENDAR, "10:00").await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let form = new_form(&ann, CALENDAR, "2025-06-04").await;
    let mut form = asked(&send(&mut ann, &form).await);
    set(&mut form, "treatment", "move");
    let nowhere = send(&mut ann, &form).await;
    assert_eq!(nowhere.status, 400);
    nowhere.shows("id=\"to-fault\"");
    set(&mut form, "to", &OTHER_CALENDAR.to_string());
    let refused = send(&mut ann, &form).await;
    assert_eq!(refused.status, 409);
    refused.shows("Erik has an appointment on Wednesday 4 June 2025 from 10:00 to 10:30");
    refused.shows(&format!("id=\"fault-{}\"", ids[1]));
    refused.shows(&format!("id=\"fault-{late}\"><bdi>The chosen calendar is closed"));
    refused.hides(&format!("id=\"fault-{}\"", ids[0]));
    let all = [ids[0], ids[1], ids[2], late];
    assert_eq!(all.map(|id| calendar_of(&server, id)), [CALENDAR; 4], "nothing is written");
    assert_eq!(absences(&server), []);
    // Into the absence itself.
    set(&mut form, "to", &CALENDAR.to_string());
    assert_eq!(send(&mut ann, &form).await.status, 409);
    // The form keeps what was chosen. Without those that do not fit it is done.
    let mut form = asked(&refused);
    choose(&mut form, &[ids[0], ids[2]], "move");
    send(&mut ann, &form).await.location();
    let moved = [OTHER_CALENDAR, CALENDAR, OTHER_CALENDAR, CALENDAR];
    assert_eq!(all.map(|id| calendar_of(&server, id)), moved);
    assert!(all.iter().all(|id| is_live(&server, *id)));
    assert_eq!(calendar_of(&server, other), OTHER_CALENDAR);
    assert!(kinds(&server, ids[0]).contains(&"change"), "{:?}", kinds(&server, ids[0]));
    assert_eq!(absences(&server).len(), 1);
}

#[tokio::test]
async fn a_list_that_changed_meanwhile_is_shown_again() {
    let server = TestServer::start().await;
    let ids = three_booked(&server).await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let form = new_form(&ann, CALENDAR, "2025-06-04").await;
    let mut form = asked(&send(&mut ann, &form).await);
    choose(&mut form, &ids[..1], "cancel");
    // A digest that is none counts as that of another list.
    let mut wrong = form.clone();
    set(&mut wrong, "expected", "x");
    assert_eq!(send(&mut ann, &wrong).await.status, 412);
    let new = booked(&server, "Dora", CALENDAR, "09:30").await;
    let overtaken = send(&mut ann, &form).await;
    assert_eq!(overtaken.status, 412);
    overtaken.shows("The list has changed meanwhile.");
    assert!(ids.iter().all(|id| is_live(&server, *id)));
    assert_eq!(absences(&server), []);
    // What was unticked stays so; the new one is ticked.
    let again = asked(&overtaken);
    let chosen: Vec<&str> = again
        .iter()
        .filter(|(name, _)| name == "chosen")
        .map(|(_, value)| value.as_str())
        .collect();
    assert_eq!(chosen, [ids[0].to_string(), new.to_string()]);
    send(&mut ann, &again).await.location();
    assert_eq!([ids[0], new].map(|id| is_live(&server, id)), [false, false]);
    assert!(is_live(&server, ids[1]));
}

#[tokio::test]
async fn a_longer_absence_asks_likewise() {
    let server = TestServer::start().await;
    let ids = three_booked(&server).await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let body = json!({"vevent": {"calendar_id": CALENDAR, "start": "2025-06-03 09:00:00",
        "end": "2025-06-03 12:00:00"}});
    let made = answer(server.by_pro(Method::POST, "/groups/4/vevents").json(&body)).await;
    let here = format!("/p/cut-co/events/{}", made.is(201)["id"]);
    let to = format!("{here}/series");
    let mut form = form_to(&ann.open(&here).await, "/series");
    set(&mut form, "text", "Ill");
    ann.post(&to, &as_str(&form)).await.location();
    let stale = form.clone();
    let mut form = form_to(&ann.open(&here).await, "/series");
    set(&mut form, "end", "2025-06-04T10:30");
    let question = ann.post(&to, &as_str(&form)).await;
    assert_eq!(question.status, 409);
    question.shows("Beth");
    question.hides("Carl");
    let mut answered = form_to(&question, "/series");
    choose(&mut answered, &ids[1..2], "cancel");
    // A change meanwhile is found first.
    let mut old = stale;
    old.extend(answered.iter().filter(|(name, _)| name != "revision").cloned());
    set(&mut old, "end", "2025-06-04T10:30");
    assert_eq!(ann.post(&to, &as_str(&old)).await.status, 412);
    assert!(is_live(&server, ids[1]));
    assert_eq!(ann.post(&to, &as_str(&answered)).await.location(), format!("{here}?saved=1"));
    assert_eq!(ids.map(|id| is_live(&server, id)), [true, false, true]);
    let whole = "2025-06-03 09:00:00 to 2025-06-04 10:30:00".to_owned();
    assert_eq!(absences(&server), [(CALENDAR, whole)]);
    // Deleted opening hours displace the others.
    let hours = ann.open("/p/cut-co/events/51?o=2025-06-04").await;
    let mut form = form_to(&hours, "/series");
    set(&mut form, "deleted", "1");
    let question = ann.post("/p/cut-co/events/51/series", &as_str(&form)).await;
    assert_eq!(question.status, 409);
    question.shows("Carl");
}

#[tokio::test]
async fn a_browser_cancels_some_appointments_under_an_absence() {
    for has_scripts in [true, false] {
        let server = TestServer::start().await;
        let ids = three_booked(&server).await;
        let Some(browser) = Browser::open(server.address(), PHONE).await else { return };
        if !has_scripts {
            browser.without_scripts().await;
        }
        log_in(&browser).await;
        browser.goto("/p/cut-co/agenda?v=day&d=2025-06-04&c=11").await;
        browser.click("a[href*='absences/new']").await;
        browser.click("form.once.wide > p button").await;
        browser.await_element(".booked").await;
        browser.click(&format!("input[value='{}']", ids[2])).await;
        browser.click("input[value='cancel']").await;
        browser.click("form.once.wide > p button").await;
        browser.arrive_at("/p/cut-co/agenda").await;
        assert_eq!(ids.map(|id| is_live(&server, id)), [false, false, true], "{has_scripts}");
        assert_eq!(absences(&server).len(), 1);
    }
}

/// Sends a form of a professional, and reads nothing of the answer.
fn send_blind(address: &str, cookie: &str, form: &[(String, String)]) -> TcpStream {
    let mut body = form_urlencoded::Serializer::new(String::new());
    body.extend_pairs(form);
    let body = body.finish();
    let mut stream = TcpStream::connect(address).expect("the server listens");
    let request = format!(
        "POST /p/practice/absences/new HTTP/1.1\r\nHost: {address}\r\nOrigin: http://{address}\r\n\
         Cookie: {cookie}\r\nContent-Type: application/x-www-form-urlencoded\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len(),
    );
    stream.write_all(request.as_bytes()).expect("the server reads");
    stream
}

/// Days on which the professional falls ill, each with a server that is killed.
const ROUNDS: usize = 6;

/// A practice with three appointments on each of these days.
fn booked_practice() -> Value {
    let mut document = practice(1);
    let group = &mut document["groups"][0];
    group["urlname"] = json!("practice");
    let clients = ["Adam", "Beth", "Carl"];
    let fiches: Vec<Value> = (1..).zip(clients).map(|(id, name)| {
        json!({"id": id, "lastname": name, "email": format!("{name}@example.org")})
    }).collect();
    group["fiches"] = json!(fiches);
    let vevents = group["vevents"].as_array_mut().expect("a list");
    for round in 1..=ROUNDS {
        for (client, hour) in (1..=3).zip(9..) {
            let day = format!("2030-01-{round:02} {hour:02}");
            vevents.push(json!({"calendar_id": 1, "fiche_id": client, "intervention_id": 1,
                "start": format!("{day}:00:00"), "end": format!("{day}:30:00")}));
        }
    }
    document
}

#[tokio::test]
async fn a_kill_leaves_all_of_an_absence_and_its_cancellations_or_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &booked_practice());
    let mut cookies = String::new();
    let mut done = 0;
    for round in 1..=ROUNDS {
        let server = Served::on(&data, &[]);
        let address = server.base.trim_start_matches("http://").to_owned();
        let mut ann = Professional::at(&address, &cookies);
        if cookies.is_empty() {
            ann.log_in("/login", "pro@example.org", "secret", &[]).await.location();
            cookies.clone_from(&ann.cookies);
        }
        let path = format!("/p/practice/absences/new?d=2030-01-{round:02}&c=1");
        let form = form_to(&ann.open(&path).await, "c=1");
        let question = ann.post(&path, &as_str(&form)).await;
        assert_eq!(question.status, 409);
        let mut form = form_to(&question, "c=1");
        let chosen = form.iter().filter(|(name, _)| name == "chosen");
        let ids: Vec<u64> = chosen.map(|(_, id)| id.parse().expect("an id")).collect();
        choose(&mut form, &ids[..2], "cancel");
        let mut stream = send_blind(&address, &cookies, &form);
        let is_answered = round % 2 == 0;
        if is_answered {
            // It is on the disk, and the rest of the answer is lost.
            stream.read_exact(&mut [0]).expect("the answer begins");
        }
        server.end("KILL");
        let document = exported(&data);
        let group = &document["groups"][0];
        let rows = |name: &str| group[name].as_array().expect("a list").clone();
        let day = format!("2030-01-{round:02}");
        let is_absence = |row: &Value| {
            row["type"] != "VfreebusyEvent" && row["fiche_id"].as_u64().is_none_or(|id| id == 0)
        };
        let is_written = rows("vevents")
            .iter()
            .any(|row| text(row, "start").starts_with(&day) && is_absence(row));
        let cancelled = rows("vevents")
            .iter()
            .filter(|row| ids.iter().any(|id| row["id"] == *id) && row["deleted"] == true)
            .count();
        assert!(is_written || !is_answered, "round {round}");
        assert_eq!(cancelled, if is_written { 2 } else { 0 }, "round {round}");
        done += usize::from(is_written);
        let messages = rows("messages");
        let mails = messages.iter().filter(|message| message["kind"] == "cancellation").count();
        assert_eq!(mails, 2 * done, "each once");
    }
}

/// A shop with this number of appointments, one after another from 4 June on.
async fn crowded(number: u64) -> TestServer {
    let mut four = group_four(|_| {});
    let zone = four.catalogue.zone();
    let first = Civil::from_ymd_hms(2025, 6, 4, 0, 0, 0).expect("a time");
    for nth in 0..number {
        let start = zone.instant_of(first).plus_seconds(1_800 * i64::try_from(nth).expect("few"));
        let appointment = Appointment {
            civil_start: zone.civil_of(start),
            start,
            length_seconds: 1_800,
            intervention_id: InterventionId::new(CUT).expect("an id"),
            fiche_id: FicheId::new(KNOWN_FICHE).expect("an id"),
            key: AppointmentKey::new("abcdefghijklmnopqrst").expect("letters"),
            state: State::InProgress,
            smsreminder: false,
            from_web: false,
            reminders: Reminders::since(clock(6, 0)),
            booking_origin: None,
        };
        four.put_vevent(Arc::new(Vevent {
            id: VeventId::new(100 + nth).expect("an id"),
            calendar_id: CalendarId::new(CALENDAR).expect("an id"),
            kind: VeventKind::Appointment(appointment),
            deleted: false,
            created_at: clock(6, 0),
            updated_at: clock(6, 0),
            rare: None,
        }));
    }
    let mut keys = directory();
    let group = GroupId::new(4).expect("an id");
    keys.blocks.claim_imported(IdKind::Vevent, 100 + number, group);
    TestServer::begin(AdmissionLimits::default(), keys, vec![four], |server| server).await
}

/// Maximum number of appointments that a form lists.
const LISTED_MAX: u64 = 1_800;

#[tokio::test]
async fn a_form_treats_as_many_appointments_as_it_lists_and_says_how_many() {
    let live = |server: &TestServer| {
        let state = state(server);
        let rows = state.rows.values();
        rows.filter(|row| row.appointment().is_some() && !row.deleted).count() as u64
    };
    for number in [LISTED_MAX, LISTED_MAX + 1] {
        let server = crowded(number).await;
        let mut ann = Professional::logged_in(&server, ANN).await;
        let mut form = new_form(&ann, CALENDAR, "2025-06-04").await;
        set(&mut form, "to_day", "2025-08-01");
        let question = send(&mut ann, &form).await;
        assert_eq!(question.status, 409);
        let mut form = asked(&question);
        set(&mut form, "treatment", "cancel");
        if number == LISTED_MAX {
            send(&mut ann, &form).await.location();
            assert_eq!(live(&server), 0);
            continue;
        }
        question.shows("1801 appointments are concerned. This form treats at most 1800:");
        question.hides("value=\"cancel\"");
        form.push(("chosen".to_owned(), "100,101".to_owned()));
        assert_eq!(send(&mut ann, &form).await.status, 400);
        assert_eq!(live(&server), number);
        set(&mut form, "treatment", "leave");
        send(&mut ann, &form).await.location();
        assert_eq!(live(&server), number);
        assert_eq!(absences(&server).len(), 1);
    }
}
