//! The record of an event: attendance, comments, messages, moves, cancellations; absences, notes.

use reqwest::Method;
use serde_json::{Value, json};
use slotbook::domain::records::ids::VeventId;
use slotbook::domain::records::text::{Bounded, ReminderLead};
use slotbook::domain::records::vevent::{State, Vevent};
use slotbook::domain::time::Civil;
use slotbook::wire::datetime::format_rfc_3339;

use crate::clients::{as_str, book, form_to, state};
use crate::login::Professional;
use crate::server::{TestServer, answer};
use crate::shop::{ANN, CALENDAR, CUT, EVE, KNOWN_FICHE, OTHER_CALENDAR, clock};
use crate::visitor::set;

fn row(server: &TestServer, id: u64) -> Vevent {
    let id = VeventId::new(id).expect("an id");
    state(server).rows[&id].as_ref().clone()
}

fn path(id: u64) -> String {
    format!("/p/cut-co/events/{id}")
}

async fn make(server: &TestServer, fields: Value) -> u64 {
    let body = json!({"vevent": fields});
    let made = answer(server.by_pro(Method::POST, "/groups/4/vevents").json(&body)).await;
    made.is(201)["id"].as_u64().expect("an id")
}

async fn change(server: &TestServer, id: u64, fields: Value) {
    let body = json!({"vevent": fields});
    let api = format!("/groups/4/vevents/{id}");
    answer(server.by_pro(Method::PUT, &api).json(&body)).await.is(200);
}

/// The kinds of the messages about an appointment.
fn kinds(server: &TestServer, id: u64) -> Vec<&'static str> {
    let id = VeventId::new(id).expect("an id");
    let state = state(server);
    state.outbox.messages_about(id).map(|message| message.kind().name()).collect()
}

#[tokio::test]
async fn the_record_of_an_appointment_says_all_and_records_attendance() {
    let server = TestServer::with(|catalogue| {
        catalogue.group.mailreminder = ReminderLead::new(1_440).expect("a lead");
    })
    .await;
    let earlier = book(&server, "2025-06-03 09:00:00", "2025-06-03 09:30:00").await;
    let id = book(&server, "2025-06-04 09:00:00", "2025-06-04 09:30:00").await;
    let later = book(&server, "2025-06-05 09:00:00", "2025-06-05 09:30:00").await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let page = ann.open(&path(id)).await;
    for text in [
        "on Wednesday 4 June 2025 from 09:00 to 09:30",
        "inside name",
        "mailto:known@example.org",
        "not recorded yet",
        "planned for 3 June 2025, 09:00",
        "not planned: the client has no telephone number",
        &format!("/p/cut-co/clients/{KNOWN_FICHE}"),
        &format!("/p/cut-co/events/new?client={KNOWN_FICHE}&#38;c={CALENDAR}&#38;s={CUT}"),
    ] {
        page.shows(text);
    }
    let place = |text: &str| page.html.find(text).unwrap_or_else(|| panic!("{text}"));
    assert!(place(&format!("events/{earlier}\"")) < place(&format!("events/{later}\"")));
    let stale = form_to(&page, "/state");
    for (number, expected) in
        [("1", State::Attended), ("2", State::NoShow), ("0", State::InProgress)]
    {
        let mut form = form_to(&ann.open(&path(id)).await, "/state");
        set(&mut form, "state", number);
        let to = format!("{}/state", path(id));
        assert_eq!(ann.post(&to, &as_str(&form)).await.location(), format!("{}?saved=1", path(id)));
        let row = row(&server, id);
        assert_eq!(row.appointment().expect("an appointment").state, expected);
    }
    change(&server, id, json!({"comments": "changed"})).await;
    let mut form = stale;
    set(&mut form, "state", "2");
    let refused = ann.post(&format!("{}/state", path(id)), &as_str(&form)).await;
    assert_eq!(refused.status, 412);
    refused.shows("changed meanwhile");
    let row = row(&server, id);
    assert_eq!(row.appointment().expect("an appointment").state, State::InProgress);
    for wrong in ["", "4", "x"] {
        let mut form = form_to(&ann.open(&path(id)).await, "/state");
        set(&mut form, "state", wrong);
        let status = ann.post(&format!("{}/state", path(id)), &as_str(&form)).await.status;
        assert!(matches!(status, 400 | 404), "{wrong}: {status}");
    }
}

#[tokio::test]
async fn comments_and_attributes_are_changed_in_one_form() {
    let server = TestServer::start().await;
    let id = book(&server, "2025-06-04 09:00:00", "2025-06-04 09:30:00").await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let action = format!("events/{id}");
    let first = form_to(&ann.open(&path(id)).await, &action);
    let mut form = first.clone();
    set(&mut form, "comments", "of the client");
    set(&mut form, "internal_comments", "inside\r\nonly");
    set(&mut form, "num0", "2.5");
    ann.post(&path(id), &as_str(&form)).await.location();
    let rare = row(&server, id).rare.expect("comments");
    assert_eq!(rare.comments.as_str(), "of the client");
    assert_eq!(rare.internal_comments.as_str(), "inside\nonly");
    let mut wrong = form_to(&ann.open(&path(id)).await, &action);
    set(&mut wrong, "num0", "many");
    set(&mut wrong, "comments", "kept");
    let refused = ann.post(&path(id), &as_str(&wrong)).await;
    assert_eq!(refused.status, 400);
    refused.shows("id=\"num0-fault\"");
    refused.shows(">kept</textarea>");
    let mut stale = first;
    set(&mut stale, "comments", "mine");
    let overtaken = ann.post(&path(id), &as_str(&stale)).await;
    assert_eq!(overtaken.status, 412);
    overtaken.shows("<bdi>of the client</bdi>");
    overtaken.shows("<bdi>mine</bdi>");
    ann.post(&path(id), &as_str(&form_to(&overtaken, &action))).await.location();
    assert_eq!(row(&server, id).rare.expect("comments").comments.as_str(), "mine");
}

#[tokio::test]
async fn an_appointment_is_cancelled_with_or_without_a_mail_and_restored() {
    let server = TestServer::start().await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    for (hour, mails) in [(9, true), (10, false)] {
        let start = format!("2025-06-04 {hour:02}:00:00");
        let id = book(&server, &start, &format!("2025-06-04 {hour:02}:30:00")).await;
        let before = kinds(&server, id);
        let mut form = form_to(&ann.open(&path(id)).await, "/cancel");
        if !mails {
            form.retain(|(name, _)| name != "mail");
        }
        let to = format!("{}/cancel", path(id));
        ann.post(&to, &as_str(&form)).await.location();
        assert!(row(&server, id).deleted);
        let after = kinds(&server, id);
        let expected: &[&str] = if mails { &["cancellation"] } else { &[] };
        assert_eq!(&after[before.len()..], expected);
        let page = ann.open(&path(id)).await;
        page.shows("This appointment is cancelled.");
        page.hides("/cancel\"");
        assert_eq!(ann.post(&to, &as_str(&form)).await.status, 412, "the form is of before");
        if hour == 10 {
            book(&server, &start, &format!("2025-06-04 {hour:02}:30:00")).await;
            let form = form_to(&page, "/restore");
            let refused = ann.post(&format!("{}/restore", path(id)), &as_str(&form)).await;
            assert_eq!(refused.status, 409);
            refused.shows("Known has an appointment on Wednesday 4 June 2025 from 10:00 to 10:30");
        } else {
            let form = form_to(&page, "/restore");
            ann.post(&format!("{}/restore", path(id)), &as_str(&form)).await.location();
            assert!(!row(&server, id).deleted);
        }
    }
}

#[tokio::test]
async fn a_move_warns_of_web_rules_and_absences_and_names_who_stands_in_the_way() {
    let server = TestServer::start().await;
    let id = book(&server, "2025-06-04 09:00:00", "2025-06-04 09:45:00").await;
    book(&server, "2025-06-05 09:00:00", "2025-06-05 09:30:00").await;
    let absence = json!({"calendar_id": CALENDAR, "start": "2025-06-06 09:00:00",
        "end": "2025-06-06 12:00:00", "text": "Congress"});
    make(&server, absence).await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let to = format!("{}/move", path(id));
    let form = form_to(&ann.open(&to).await, "/move");
    let target = |day: &str, time: &str, calendar: u64| {
        let mut form = form.clone();
        set(&mut form, "day", day);
        set(&mut form, "time", time);
        set(&mut form, "calendar", &calendar.to_string());
        form
    };
    let taken = ann.post(&to, &as_str(&target("2025-06-05", "09:15", CALENDAR))).await;
    assert_eq!(taken.status, 409);
    taken.shows(
        "Known has an appointment on Thursday 5 June 2025 from 09:00 to 09:30, calendar agenda.",
    );
    taken.hides("Move anyway");
    for (day, time, text) in [
        ("2025-06-06", "09:15", "Absence “Congress”"),
        ("2025-06-05", "20:00", "Outside opening hours"),
        ("2025-06-01", "10:00", "Online, the first time"),
    ] {
        let warned = ann.post(&to, &as_str(&target(day, time, CALENDAR))).await;
        assert_eq!(warned.status, 409, "{day}");
        warned.shows(text);
        warned.shows("Move anyway");
        // The second press is for the target that was warned of.
        let mut other = form_to(&warned, "/move");
        set(&mut other, "time", "20:30");
        let warned_again = ann.post(&to, &as_str(&other)).await;
        assert_eq!(warned_again.status, 409);
    }
    let warned = ann.post(&to, &as_str(&target("2025-06-06", "09:15", CALENDAR))).await;
    let second = form_to(&warned, "/move");
    let done = ann.post(&to, &as_str(&second)).await;
    assert!(done.location().starts_with(&format!("{}?moved=", path(id))));
    let moved = row(&server, id);
    let appointment = moved.appointment().expect("an appointment");
    assert_eq!(appointment.length_seconds, 45 * 60, "a move keeps the length");
    assert_eq!(kinds(&server, id).last(), Some(&"change"));
    let stale = ann.post(&to, &as_str(&target("2025-06-04", "09:00", OTHER_CALENDAR))).await;
    assert_eq!(stale.status, 412);
    stale.shows("changed meanwhile");
    let mut again = form_to(&stale, "/move");
    again.retain(|(name, _)| name != "mail");
    ann.post(&to, &as_str(&again)).await.location();
    assert_eq!(row(&server, id).calendar_id.number(), OTHER_CALENDAR);
    assert_eq!(kinds(&server, id).iter().filter(|kind| **kind == "change").count(), 1);
}

#[tokio::test]
async fn a_wrong_target_of_a_move_is_said_beside_its_field() {
    let server = TestServer::start().await;
    let id = book(&server, "2025-06-04 09:00:00", "2025-06-04 09:30:00").await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let to = format!("{}/move", path(id));
    let form = form_to(&ann.open(&to).await, "/move");
    let before = state(&server).sequence;
    for (name, value, fault) in [
        ("day", "", "day-fault"),
        ("day", "2025-02-30", "day-fault"),
        ("time", "", "time-fault"),
        ("time", "25:00", "time-fault"),
        ("calendar", "99", "calendar-fault"),
        ("calendar", "", "calendar-fault"),
        ("length", "", "length-fault"),
        ("length", "0", "length-fault"),
        ("length", "1441", "length-fault"),
        ("length", "30.5", "length-fault"),
    ] {
        let mut form = form.clone();
        set(&mut form, name, value);
        let refused = ann.post(&to, &as_str(&form)).await;
        assert_eq!(refused.status, 400, "{name} {value}");
        refused.shows(&format!("id=\"{fault}\""));
        if name != "calendar" {
            refused.shows(&format!("value=\"{value}\""));
        }
    }
    // The clocks of Paris leave this hour out.
    let mut form = form;
    set(&mut form, "day", "2026-03-29");
    set(&mut form, "time", "02:30");
    let refused = ann.post(&to, &as_str(&form)).await;
    assert_eq!(refused.status, 400);
    refused.shows("the clocks go forward");
    assert_eq!(state(&server).sequence, before);
}

#[tokio::test]
async fn a_move_sets_the_length_and_names_the_pass_of_a_repeated_hour() {
    let server = TestServer::start().await;
    let id = book(&server, "2025-06-04 09:00:00", "2025-06-04 09:29:50").await;
    book(&server, "2025-06-04 10:00:00", "2025-06-04 10:30:00").await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let to = format!("{}/move", path(id));
    let form = form_to(&ann.open(&to).await, "/move");
    let length =
        |server: &TestServer| row(server, id).appointment().expect("an appointment").length_seconds;
    let mut over = form.clone();
    set(&mut over, "length", "70");
    let taken = ann.post(&to, &as_str(&over)).await;
    assert_eq!(taken.status, 409, "it would reach into the next one");
    taken.hides("Move anyway");
    let mut other = form;
    set(&mut other, "calendar", &OTHER_CALENDAR.to_string());
    ann.post(&to, &as_str(&other)).await.location();
    assert_eq!(length(&server), 29 * 60 + 50, "a length that is not changed is kept to the second");
    let mut longer = form_to(&ann.open(&to).await, "/move");
    set(&mut longer, "length", "45");
    set(&mut longer, "time", "20:00");
    let warned = ann.post(&to, &as_str(&longer)).await;
    let mut longest = form_to(&warned, "/move");
    set(&mut longest, "length", "1440");
    assert_eq!(ann.post(&to, &as_str(&longest)).await.status, 409, "another length was warned of");
    ann.post(&to, &as_str(&form_to(&warned, "/move"))).await.location();
    assert_eq!(length(&server), 45 * 60);
    // 26 October 2025: the clocks go from three back to two.
    let page = ann.open(&to).await;
    page.hides("name=\"pass\"");
    let mut autumn = form_to(&page, "/move");
    set(&mut autumn, "day", "2025-10-26");
    set(&mut autumn, "time", "02:15");
    let first = ann.post(&to, &as_str(&autumn)).await;
    first.shows("name=\"pass\" value=\"2\">");
    let mut second = form_to(&first, "/move");
    set(&mut second, "pass", "2");
    let warned = ann.post(&to, &as_str(&second)).await;
    assert_eq!(warned.status, 409, "the first pass was warned of");
    ann.post(&to, &as_str(&form_to(&warned, "/move"))).await.location();
    let moved = row(&server, id).appointment().expect("an appointment").start;
    assert_eq!(format_rfc_3339(moved), "2025-10-26T01:15:00Z");
    ann.open(&to).await.shows("name=\"pass\" value=\"2\" checked");
}

#[tokio::test]
async fn an_absence_has_a_plain_form() {
    let server = TestServer::start().await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let absence = json!({"calendar_id": CALENDAR, "start": "2025-06-06 09:00:00",
        "end": "2025-06-06 12:00:00", "text": "Congress"});
    let id = make(&server, absence).await;
    let page = ann.open(&path(id)).await;
    page.shows("Absence or blocked time");
    let to = format!("{}/series", path(id));
    let mut form = form_to(&page, "/series");
    set(&mut form, "text", "Holiday");
    set(&mut form, "end", "2025-06-07T18:00");
    ann.post(&to, &as_str(&form)).await.location();
    assert_eq!(row(&server, id).rare.as_ref().expect("a text").text.as_str(), "Holiday");
    set(&mut form, "text", "Mine");
    let overtaken = ann.post(&to, &as_str(&form)).await;
    assert_eq!(overtaken.status, 412);
    overtaken.shows("<bdi>Holiday</bdi>");
    for (name, value) in
        [("end", "2025-06-06T08:00"), ("start", "2025-03-30T02:30"), ("end", "never")]
    {
        let mut form = form_to(&ann.open(&path(id)).await, "/series");
        set(&mut form, name, value);
        let refused = ann.post(&to, &as_str(&form)).await;
        assert_eq!(refused.status, 400, "{name} {value}");
        refused.shows(&format!("id=\"{name}-fault\""));
    }
    let revision = form_to(&ann.open(&path(id)).await, "/series").remove(0).1;
    ann.post(&to, &[("revision", &revision), ("deleted", "1")]).await.location();
    assert!(row(&server, id).deleted);
    assert_eq!(ann.post(&to, &[("revision", &revision), ("deleted", "0")]).await.status, 412);
    ann.open(&path(51)).await.shows("Opening hours");
}

#[tokio::test]
async fn a_note_has_a_text_and_a_day() {
    let server = TestServer::start().await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let note = json!({"calendar_id": CALENDAR, "start": "2025-06-06 00:00:00",
        "end": "2025-06-06 00:00:00", "text": "Call", "note": true});
    let id = make(&server, note).await;
    let to = format!("{}/series", path(id));
    let mut form = form_to(&ann.open(&path(id)).await, "/series");
    set(&mut form, "start", "2025-06-09");
    set(&mut form, "text", "Call again");
    ann.post(&to, &as_str(&form)).await.location();
    let page = ann.open(&path(id)).await;
    page.shows("Call again");
    page.shows("value=\"2025-06-09\"");
    let mut form = form_to(&page, "/series");
    set(&mut form, "start", "2025-02-30");
    let refused = ann.post(&to, &as_str(&form)).await;
    assert_eq!(refused.status, 400);
    refused.shows("id=\"start-fault\"");
}

#[tokio::test]
async fn messages_are_said_to_be_unwanted_and_why() {
    let server = TestServer::with(|catalogue| {
        catalogue.group.mailreminder = ReminderLead::new(1_440).expect("a lead");
        catalogue.group.max_multirdvs = Bounded::new(3).expect("a number");
    })
    .await;
    let id = book(&server, "2025-06-04 09:00:00", "2025-06-04 09:30:00").await;
    let ann = Professional::logged_in(&server, ANN).await;
    let fiche = format!("/groups/4/fiches/{KNOWN_FICHE}");
    for (fields, sentence) in [
        (json!({"rappel_email": false}), "not planned: the client accepts none"),
        (json!({"rappel_email": true, "email": ""}), "not planned: the client has no e-mail"),
        (json!({"email": "known@example.org"}), "planned for 3 June 2025, 09:00"),
    ] {
        let body = json!({"fiche": fields});
        answer(server.by_pro(Method::PUT, &fiche).json(&body)).await.is(200);
        ann.open(&path(id)).await.shows(sentence);
    }
    server.at(clock(12, 0));
    let soon = book(&server, "2025-06-03 09:00:00", "2025-06-03 09:30:00").await;
    let page = ann.open(&path(soon)).await;
    page.shows("not planned: it would have been due before the last change");
}

#[tokio::test]
async fn an_event_of_another_group_has_no_record() {
    let server = TestServer::start().await;
    let id = book(&server, "2025-06-04 09:00:00", "2025-06-04 09:30:00").await;
    let mut eve = Professional::logged_in(&server, EVE).await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let before = state(&server).sequence;
    for end in ["", "/move"] {
        assert_eq!(eve.get(&format!("{}{end}", path(id))).await.status, 404);
        assert_eq!(ann.get(&format!("{}{end}", path(999))).await.status, 404);
    }
    for end in ["", "/state", "/cancel", "/restore", "/move", "/series"] {
        let form = [("state", "1"), ("deleted", "1")];
        assert_eq!(eve.post(&format!("{}{end}", path(id)), &form).await.status, 404, "{end}");
        assert_eq!(ann.post(&format!("{}{end}", path(999)), &form).await.status, 404, "{end}");
    }
    assert_eq!(state(&server).sequence, before);
}

#[tokio::test]
async fn names_in_a_record_are_text() {
    let server = TestServer::start().await;
    let hostile = "<script>alert(1)</script>\"'>{calendar}";
    let body = json!({"fiche": {"firstname": hostile, "comments": hostile, "str0": hostile}});
    let fiche = format!("/groups/4/fiches/{KNOWN_FICHE}");
    answer(server.by_pro(Method::PUT, &fiche).json(&body)).await.is(200);
    let id = book(&server, "2025-06-04 09:00:00", "2025-06-04 09:30:00").await;
    book(&server, "2025-06-05 09:00:00", "2025-06-05 09:30:00").await;
    change(&server, id, json!({"comments": hostile, "internal_comments": hostile})).await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let to = format!("{}/move", path(id));
    let mut form = form_to(&ann.open(&to).await, "/move");
    set(&mut form, "day", "2025-06-05");
    let taken = ann.post(&to, &as_str(&form)).await;
    assert_eq!(taken.status, 409);
    for page in [ann.open(&path(id)).await, ann.open(&to).await, taken] {
        page.hides("<script>");
        page.shows("<bdi>Known &#60;script&#62;");
    }
}

#[tokio::test]
async fn an_occurrence_that_and_the_following_ones_or_all_are_changed() {
    let server = TestServer::start().await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let lunch = json!({"calendar_id": CALENDAR, "start": "2025-06-02 12:00:00",
        "end": "2025-06-02 13:00:00", "text": "Lunch", "rrule": "FREQ=DAILY"});
    let id = make(&server, lunch).await;
    let to = format!("{}/series", path(id));
    let page = ann.open(&path(id)).await;
    page.shows("Repeats: every day.");
    page.shows("Changes are for the whole series.");
    let shown = format!("{}?o=2025-06-04", path(id));
    let page = ann.open(&shown).await;
    page.shows("value=\"2025-06-04T12:00\"");
    page.shows("Only Wednesday 4 June");
    let series = || row(&server, id).series().expect("a series").clone();
    let changed = |page: &crate::visitor::Page, scope: &str, start: &str, end: &str| {
        let mut form = page.hidden();
        form.truncate(2);
        for (name, value) in [("scope", scope), ("text", "Lunch"), ("start", start), ("end", end)] {
            set(&mut form, name, value);
        }
        form
    };
    let form = changed(&page, "one", "2025-06-04T14:00", "2025-06-04T15:00");
    let moved = ann.post(&to, &as_str(&form)).await.location().to_owned();
    assert_ne!(moved, format!("{}?saved=1", path(id)), "it is an event of its own");
    ann.open(&moved).await.shows("value=\"2025-06-04T14:00\"");
    assert_ne!(series().exceptions().to_string(), "", "the series leaves that day out");
    assert_eq!(ann.post(&to, &as_str(&form)).await.status, 412, "the series has changed");
    // All: the first occurrence is moved by as much.
    let page = ann.open(&format!("{}?o=2025-06-05", path(id))).await;
    let form = changed(&page, "all", "2025-06-05T12:30", "2025-06-05T13:30");
    ann.post(&to, &as_str(&form)).await.location();
    assert_eq!(Some(series().start()), Civil::from_ymd_hms(2025, 6, 2, 12, 30, 0));
    // This one and the following ones.
    let page = ann.open(&format!("{}?o=2025-06-06", path(id))).await;
    let mut form = page.hidden();
    form.truncate(2);
    set(&mut form, "scope", "following");
    set(&mut form, "deleted", "1");
    ann.post(&to, &as_str(&form)).await.location();
    let rule = series().rule().expect("a rule").to_string();
    assert!(rule.contains("UNTIL"), "{rule}");
    // A day on which the series does not begin, or no longer.
    for day in ["2025-06-20", "2025-06-04", "2025-02-30", "x"] {
        let wrong = ann.get(&format!("{}?o={day}", path(id))).await;
        assert_eq!(wrong.status, 400, "{day}");
        wrong.shows("id=\"occurrence-fault\"");
        let mut form = form_to(&ann.open(&path(id)).await, "/series");
        set(&mut form, "occurrence", day);
        set(&mut form, "scope", "one");
        set(&mut form, "text", "Other");
        let before = row(&server, id);
        let refused = ann.post(&to, &as_str(&form)).await;
        assert_eq!(refused.status, 400, "{day}");
        refused.shows("id=\"occurrence-fault\"");
        assert_eq!(row(&server, id), before);
    }
}

/// An event as it is, without what differs between two that were made and changed alike.
fn without_stamps(event: Vevent) -> Vevent {
    let id = VeventId::new(1).expect("an id");
    Vevent { id, created_at: clock(8, 0), updated_at: clock(8, 0), ..event }
}

/// The events with these ids and the newest one, if it is newer.
fn rows_after(server: &TestServer, id: u64, newest: u64) -> Vec<Vevent> {
    let state = state(server);
    let newer = state.rows.keys().map(|id| id.number()).filter(|id| *id > newest);
    let ids: Vec<u64> = std::iter::once(id).chain(newer).collect();
    ids.into_iter().map(|id| without_stamps(row(server, id))).collect()
}

fn newest(server: &TestServer) -> u64 {
    state(server).rows.keys().map(|id| id.number()).max().expect("events")
}

#[tokio::test]
async fn a_part_of_a_series_is_changed_as_the_api_changes_it() {
    let server = TestServer::start().await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let series = |extra: Value| {
        let mut fields = json!({"calendar_id": CALENDAR, "start": "2025-06-02 12:00:00",
            "end": "2025-06-02 13:00:00", "rrule": "FREQ=DAILY"});
        let (all, Value::Object(extra)) = (fields.as_object_mut().expect("fields"), extra) else {
            panic!("an object")
        };
        all.extend(extra);
        fields
    };
    let note = json!({"note": true, "text": "Call", "start": "2025-06-02 00:00:00",
        "end": "2025-06-02 00:00:00"});
    let kinds = [
        (series(json!({"text": "Lunch"})), "T12:00", "T14:00", "T15:30"),
        (series(json!({"type": "VfreebusyEvent"})), "T12:00", "T14:00", "T15:30"),
        (series(note), "", "", ""),
    ];
    for (fields, begins, from, to) in kinds {
        for scope in ["one", "following", "all"] {
            for deletes in [false, true] {
                let [by_screen, by_api] =
                    [make(&server, fields.clone()).await, make(&server, fields.clone()).await];
                let what = format!("{fields} {scope} {deletes}");
                let page = ann.open(&format!("{}?o=2025-06-04", path(by_screen))).await;
                page.shows(&format!("value=\"2025-06-04{begins}\""));
                let mut form = form_to(&page, "/series");
                set(&mut form, "scope", scope);
                // A note of one day has no time.
                let day = if from.is_empty() { "2025-06-05" } else { "2025-06-04" };
                set(&mut form, "start", &format!("{day}{from}"));
                if !to.is_empty() {
                    set(&mut form, "end", &format!("{day}{to}"));
                }
                if deletes {
                    set(&mut form, "deleted", "1");
                }
                let before = newest(&server);
                let to_screen = format!("{}/series", path(by_screen));
                ann.post(&to_screen, &as_str(&form)).await.location();
                let changed = rows_after(&server, by_screen, before);
                let first = if scope == "all" { "2025-06-02" } else { "2025-06-04" };
                let civil = |time: &str| format!("{first} {}:00", time.trim_start_matches('T'));
                let given = match (from, scope) {
                    ("", "all") => json!({"start": "2025-06-03 00:00:00",
                        "end": "2025-06-03 00:00:00"}),
                    ("", _) => json!({"start": "2025-06-05 00:00:00",
                        "end": "2025-06-05 00:00:00"}),
                    _ => json!({"start": civil(from), "end": civil(to)}),
                };
                let asked = match scope {
                    "all" => format!("/groups/4/vevents/{by_api}"),
                    _ => format!("/groups/4/vevents/{by_api}?scope={scope}&occurrence=2025-06-04"),
                };
                let before = newest(&server);
                if deletes {
                    answer(server.by_pro(Method::DELETE, &asked)).await;
                } else {
                    let body = json!({"vevent": given});
                    answer(server.by_pro(Method::PUT, &asked).json(&body)).await.is(200);
                }
                assert_eq!(changed, rows_after(&server, by_api, before), "{what}");
                let original = without_stamps(row(&server, by_screen));
                assert!(deletes || changed.len() == if scope == "all" { 1 } else { 2 }, "{what}");
                assert_eq!(original.deleted, deletes && scope == "all", "{what}");
            }
        }
    }
}
