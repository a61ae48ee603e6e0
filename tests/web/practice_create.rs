//! The form of a new appointment, and the explanation of a start.

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};
use slotbook::domain::records::customfield::Model;
use slotbook::domain::records::text::Name;
use slotbook::domain::records::vevent::{Vevent, VeventKind};

use crate::browser::{Browser, PHONE};
use crate::clients::{add, as_str, book, form_to, state};
use crate::login::Professional;
use crate::practice_looks::log_in;
use crate::server::{TestServer, answer};
use crate::shop::{
    ANN, CALENDAR, COLOUR, CUT, EVE, HIDDEN_CALENDAR, KEY_OF_ALL, KNOWN_FICHE, OTHER_CALENDAR,
};
use crate::visitor::{Page, live_appointments, set};

const NEW: &str = "/p/cut-co/events/new";
const WHY: &str = "/p/cut-co/events/why";

type Pairs = Vec<(String, String)>;

/// The form of an address, as a browser sends it.
async fn form_of(ann: &Professional, query: &str) -> Pairs {
    form_to(&ann.open(&format!("{NEW}{query}")).await, "")
}

async fn send(ann: &mut Professional, form: &Pairs) -> Page {
    ann.post(NEW, &as_str(form)).await
}

/// The live appointments, the newest last.
fn appointments(server: &TestServer) -> Vec<Vevent> {
    let state = state(server);
    let live = state.rows.values().filter(|row| !row.deleted && row.appointment().is_some());
    let mut rows: Vec<Vevent> = live.map(|row| row.as_ref().clone()).collect();
    rows.sort_by_key(|row| row.id);
    rows
}

/// A free time of the shop.
fn cut_at(time: &str) -> String {
    format!("?c={CALENDAR}&d=2025-06-04&t={time}&s={CUT}&client={KNOWN_FICHE}")
}

#[tokio::test]
async fn a_client_is_searched_and_booked_by_forms_alone() {
    let server = TestServer::start().await;
    let other = json!({"lastname": "Lefèvre", "firstphone": "06 12 34 56 78"});
    let other = add(&server, other).await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let agenda = ann.open("/p/cut-co/agenda?v=week&d=2025-06-02&c=11").await;
    agenda.shows("href=\"/p/cut-co/events/new?v=week&#38;d=2025-06-02&#38;c=11\" data-key=\"c\"");
    let mut form = form_of(&ann, "?v=week&d=2025-06-02&c=11").await;
    set(&mut form, "comments", "kept while searching");
    set(&mut form, "t", "09:30");
    set(&mut form, "d", "2025-06-04");
    set(&mut form, "s", &CUT.to_string());
    for search in ["lefev", "34 56"] {
        set(&mut form, "search", search);
        let found = send(&mut ann, &form).await;
        assert_eq!(found.status, 200, "Enter in the search searches");
        found.shows(&format!("name=\"pick\" value=\"{other}\""));
        found.shows("06 12 34 56 78");
        found.shows("kept while searching");
        found.hides(&format!("value=\"{KNOWN_FICHE}\""));
    }
    assert_eq!(live_appointments(&server.engine), 0);
    set(&mut form, "search", "known@example");
    set(&mut form, "find", "1");
    send(&mut ann, &form).await.shows(&format!("name=\"pick\" value=\"{KNOWN_FICHE}\""));
    form.retain(|(name, _)| name != "find");
    set(&mut form, "pick", &KNOWN_FICHE.to_string());
    let picked = send(&mut ann, &form).await;
    assert_eq!(picked.status, 200);
    picked.shows("<bdi>Known</bdi>");
    picked.shows("kept while searching");
    // Another client can still be chosen.
    let mut again = form_to(&picked, "");
    set(&mut again, "other", "1");
    let other = send(&mut ann, &again).await;
    other.shows("name=\"search\"");
    other.hides("name=\"client\"");
    let form = form_to(&picked, "");
    let view = format!("{NEW}?v=week&d=2025-06-02&c=11");
    let saved = ann.post(&view, &as_str(&form)).await;
    let [row] = &appointments(&server)[..] else { panic!("one appointment") };
    let place = format!("/p/cut-co/agenda?v=week&d=2025-06-04&c=11#e{}-", row.id);
    assert!(saved.location().starts_with(&place), "{}", saved.location());
    let (path, anchor) = saved.location().split_once('#').expect("an anchor");
    ann.open(path).await.shows(&format!("id=\"{anchor}\""));
    let appointment = row.appointment().expect("an appointment");
    assert_eq!(appointment.fiche_id.number(), KNOWN_FICHE);
    assert_eq!(appointment.length_seconds, 30 * 60, "the service sets the length");
    assert!(!appointment.from_web);
    let comments = row.rare.as_ref().map(|rare| rare.comments.as_str());
    assert_eq!(comments, Some("kept while searching"));
}

#[tokio::test]
async fn a_new_client_is_made_with_the_appointment_or_not_at_all() {
    let server = TestServer::with(|catalogue| {
        for field in catalogue.customfields.values_mut() {
            let field = Arc::make_mut(field);
            // One of the client, and the one of the appointment.
            field.pro_required = field.model == Model::Vevent || field.name.to_string() == "str1";
        }
    })
    .await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let query = format!("?c={CALENDAR}&d=2025-06-04&t=09:00&s={CUT}");
    let mut form = form_of(&ann, &query).await;
    // A search without a result begins the new client.
    set(&mut form, "search", "Durand");
    let nothing = send(&mut ann, &form).await;
    nothing.shows("No record was found.");
    nothing.shows("name=\"fiche.lastname\" value=\"Durand\"");
    nothing.hides("name=\"fiche.str0\"");
    let mut form = form_to(&nothing, "");
    let before = state(&server).sequence;
    set(&mut form, "fiche.email", "no address");
    set(&mut form, "num0", "5");
    let refused = send(&mut ann, &form).await;
    assert_eq!(refused.status, 400);
    refused.shows("id=\"fiche-email-fault\"");
    refused.shows("value=\"no address\"");
    set(&mut form, "fiche.email", "durand@example.org");
    for (name, value, fault) in [
        ("fiche.str1", "", "id=\"fiche-str1-fault\""),
        ("num0", "", "id=\"num0-fault\""),
        ("num0", "many", "id=\"num0-fault\""),
    ] {
        let mut form = form.clone();
        set(&mut form, "fiche.str1", "given");
        set(&mut form, name, value);
        let refused = send(&mut ann, &form).await;
        assert_eq!(refused.status, 400, "{name} {value}");
        refused.shows(fault);
        refused.shows("value=\"durand@example.org\"");
    }
    assert_eq!(state(&server).sequence, before, "neither client nor appointment");
    set(&mut form, "fiche.str1", "given");
    set(&mut form, "fiche.firstphone", "0611");
    let saved = send(&mut ann, &form).await.location().to_owned();
    assert_eq!(state(&server).sequence, before + 1, "one event for both");
    assert_eq!(send(&mut ann, &form).await.location(), saved);
    assert_eq!(state(&server).sequence, before + 1);
    let [row] = &appointments(&server)[..] else { panic!("one appointment") };
    let client = row.fiche_id().expect("a client");
    assert_ne!(client.number(), KNOWN_FICHE);
    let fiche = state(&server).fiches[&client].clone();
    assert_eq!(fiche.lastname.as_str(), "Durand");
    assert_eq!(fiche.firstphone.as_str(), "0611");
    assert_eq!(state(&server).fiches.len(), 2);
}

#[tokio::test]
async fn the_row_is_the_one_that_the_api_makes() {
    let server = TestServer::start().await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let mut form = form_of(&ann, &cut_at("09:00")).await;
    set(&mut form, "to", "09:50");
    set(&mut form, "comments", "of the client");
    set(&mut form, "internal_comments", "inside\r\nonly");
    send(&mut ann, &form).await.location();
    let body = json!({"vevent": {
        "calendar_id": OTHER_CALENDAR, "intervention_id": CUT, "fiche_id": KNOWN_FICHE,
        "start": "2025-06-04 09:00:00", "end": "2025-06-04 09:50:00",
        "comments": "of the client", "internal_comments": "inside\nonly",
    }});
    answer(server.by_pro(Method::POST, "/groups/4/vevents").json(&body)).await.is(201);
    let [by_form, by_api] = &appointments(&server)[..] else { panic!("two appointments") };
    let mut expected = by_api.clone();
    expected.id = by_form.id;
    expected.calendar_id = by_form.calendar_id;
    expected.created_at = by_form.created_at;
    expected.updated_at = by_form.updated_at;
    let VeventKind::Appointment(appointment) = &mut expected.kind else { panic!("{expected:?}") };
    let own = by_form.appointment().expect("an appointment");
    appointment.key = own.key;
    appointment.reminders = own.reminders;
    assert_eq!(*by_form, expected);
    assert_eq!(own.length_seconds, 50 * 60);
    assert_eq!(by_form.rare.as_ref().expect("a taker").taker.as_str(), "Pro A");
}

async fn absence(server: &TestServer, start: &str, end: &str) -> u64 {
    let fields = json!({"calendar_id": CALENDAR, "start": start, "end": end, "text": "Congress"});
    let body = json!({"vevent": fields});
    let made = answer(server.by_pro(Method::POST, "/groups/4/vevents").json(&body)).await;
    made.is(201)["id"].as_u64().expect("an id")
}

#[tokio::test]
async fn web_rules_and_absences_warn_and_a_second_press_overrides_them() {
    let server = TestServer::start().await;
    let id = absence(&server, "2025-06-06 09:00:00", "2025-06-06 12:00:00").await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let setting = format!("/p/cut-co/settings/calendars/{CALENDAR}#mintime_rdv");
    for (day, time, sentence, link) in [
        ("2025-06-06", "09:30", "Absence “Congress”", format!("/events/{id}?o=2025-06-06")),
        ("2025-06-05", "20:00", "Outside opening hours", format!("/hours/{CALENDAR}\"")),
        ("2025-06-01", "10:00", "Online, the first time", setting),
        ("2025-06-05", "09:07", "Online, times follow", "#generate_interval".to_owned()),
    ] {
        let before = state(&server).sequence;
        let query = format!("?c={CALENDAR}&d={day}&t={time}&s={CUT}&client={KNOWN_FICHE}");
        let form = form_of(&ann, &query).await;
        let warned = send(&mut ann, &form).await;
        assert_eq!(warned.status, 409, "{day} {time}");
        warned.shows(sentence);
        warned.shows(&link);
        warned.shows("Save anyway");
        let second = form_to(&warned, "");
        assert_eq!(state(&server).sequence, before);
        send(&mut ann, &second).await.location();
        assert_eq!(state(&server).sequence, before + 1);
    }
}

#[tokio::test]
async fn a_second_press_is_for_the_target_that_was_warned_of() {
    let server = TestServer::start().await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let form = form_of(&ann, &cut_at("20:00")).await;
    let warned = send(&mut ann, &form).await;
    let second = form_to(&warned, "");
    let calendar = OTHER_CALENDAR.to_string();
    let service = COLOUR.to_string();
    for (name, value) in [
        ("d", "2025-06-05"),
        ("t", "20:30"),
        ("to", "21:00"),
        ("c", calendar.as_str()),
        ("s", service.as_str()),
    ] {
        let mut other = second.clone();
        set(&mut other, name, value);
        assert_eq!(send(&mut ann, &other).await.status, 409, "{name} {value}");
    }
    assert_eq!(live_appointments(&server.engine), 0);
    let mut commented = second.clone();
    set(&mut commented, "comments", "no part of the target");
    send(&mut ann, &commented).await.location();
    assert_eq!(live_appointments(&server.engine), 1);
}

#[tokio::test]
async fn an_appointment_in_the_way_refuses_and_is_named_with_a_link() {
    let server = TestServer::start().await;
    let id = book(&server, "2025-06-04 09:00:00", "2025-06-04 09:30:00").await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let mut form = form_of(&ann, &cut_at("09:15")).await;
    let taken = send(&mut ann, &form).await;
    assert_eq!(taken.status, 409);
    taken.shows("Known has an appointment on Wednesday 4 June 2025 from 09:00 to 09:30");
    taken.shows(&format!("href=\"/p/cut-co/events/{id}\""));
    taken.hides("Save anyway");
    // No second press overrides it, whatever it says that it has seen.
    let end = "2025-06-04T07:45:00Z";
    set(&mut form, "seen", &format!("2025-06-04 09:15:00 {end} {CALENDAR} {CUT}"));
    assert_eq!(send(&mut ann, &form).await.status, 409);
    assert_eq!(live_appointments(&server.engine), 1);
}

#[tokio::test]
async fn a_form_that_is_sent_twice_makes_one_appointment() {
    let server = TestServer::start().await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let mut other = Professional::stranger(&server);
    other.cookies = ann.cookies.clone();
    let form = form_of(&ann, &cut_at("09:00")).await;
    // A double click.
    let (one, two) = tokio::join!(send(&mut ann, &form), send(&mut other, &form));
    assert_eq!(one.location(), two.location());
    assert_eq!(live_appointments(&server.engine), 1);
    // The page is loaded again.
    assert_eq!(send(&mut ann, &form).await.location(), one.location());
    assert_eq!(live_appointments(&server.engine), 1);
    // The browser went back, and another time was chosen.
    let mut changed = form.clone();
    set(&mut changed, "t", "10:00");
    let asked = send(&mut ann, &changed).await;
    assert_eq!(asked.status, 409);
    asked.shows("This form has saved an appointment already.");
    assert_eq!(live_appointments(&server.engine), 1);
    let again = form_to(&asked, "");
    assert_ne!(send(&mut ann, &again).await.location(), one.location());
    assert_eq!(live_appointments(&server.engine), 2);
    // A key that no page makes stands for no form.
    let mut made_up = form_of(&ann, &cut_at("11:00")).await;
    set(&mut made_up, "k", "short");
    let made = send(&mut ann, &made_up).await.location().to_owned();
    set(&mut made_up, "t", "11:30");
    assert_ne!(send(&mut ann, &made_up).await.location(), made);
    assert_eq!(live_appointments(&server.engine), 4);
}

#[tokio::test]
async fn of_two_forms_for_one_time_the_later_is_refused() {
    let server = TestServer::start().await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let mut other = Professional::stranger(&server);
    other.cookies = ann.cookies.clone();
    for time in ["09:00", "09:30", "10:00", "10:30"] {
        let before = live_appointments(&server.engine);
        let one = form_of(&ann, &cut_at(time)).await;
        let two = form_of(&ann, &cut_at(time)).await;
        let (one, two) = tokio::join!(send(&mut ann, &one), send(&mut other, &two));
        let refused = if one.status == 303 { &two } else { &one };
        assert_eq!(one.status + two.status, 303 + 409);
        refused.shows(&format!("Known has an appointment on Wednesday 4 June 2025 from {time}"));
        assert_eq!(live_appointments(&server.engine), before + 1);
    }
}

#[tokio::test]
async fn wrong_values_are_said_beside_their_fields_and_the_rest_is_kept() {
    let server = TestServer::start().await;
    let gone = add(&server, json!({"lastname": "Gone", "deleted": true})).await.to_string();
    let mut ann = Professional::logged_in(&server, ANN).await;
    let form = form_of(&ann, &cut_at("09:00")).await;
    let before = state(&server).sequence;
    for (name, value, fault, kept) in [
        ("d", "", "id=\"d-fault\"", ""),
        ("d", "2025-02-30", "id=\"d-fault\"", "value=\"2025-02-30\""),
        ("d", "1800-01-01", "id=\"d-fault\"", "value=\"1800-01-01\""),
        ("t", "", "id=\"t-fault\"", ""),
        ("t", "25:00", "id=\"t-fault\"", "value=\"25:00\""),
        ("to", "09:00", "id=\"to-fault\"", "value=\"09:00\""),
        ("to", "noon", "id=\"to-fault\"", "value=\"noon\""),
        ("c", "99", "id=\"c-fault\"", ""),
        ("s", "99", "id=\"s-fault\"", ""),
        ("s", "", "id=\"s-fault\"", ""),
        ("client", "99", "id=\"search-fault\"", ""),
        ("client", "", "id=\"search-fault\"", ""),
        ("client", &gone, "This record is deleted.", ""),
    ] {
        let mut form = form.clone();
        set(&mut form, "comments", "kept");
        set(&mut form, name, value);
        let refused = send(&mut ann, &form).await;
        assert_eq!(refused.status, 400, "{name} {value}");
        refused.shows(fault);
        refused.shows(kept);
        refused.shows(">kept</textarea>");
        refused.shows("Nothing was saved.");
        // The address of the form has the same rules, except that all may be missing.
        let status = if value.is_empty() { 200 } else { 400 };
        let mut query = cut_at("09:00");
        if name == "to" {
            query = query.replace(&format!("&s={CUT}"), "");
        }
        let page = ann.get(&format!("{NEW}{query}&{name}={value}")).await;
        // An end before the start is a fault once it is saved.
        let status = if value == "09:00" { 200 } else { status };
        assert_eq!(page.status, status, "{name}={value}");
        if status == 400 {
            page.shows(fault);
            page.shows(kept);
        }
    }
    // The clocks of Paris leave this hour out.
    for (name, value) in [("t", "02:30"), ("to", "02:30")] {
        let mut form = form.clone();
        set(&mut form, "d", "2026-03-29");
        set(&mut form, "t", "01:30");
        set(&mut form, name, value);
        let refused = send(&mut ann, &form).await;
        assert_eq!(refused.status, 400);
        refused.shows(&format!("id=\"{name}-fault\">This hour does not take place"));
        refused.shows("value=\"02:30\"");
    }
    assert_eq!(state(&server).sequence, before);
}

#[tokio::test]
async fn the_length_is_that_of_the_service_over_a_clock_change() {
    let server = TestServer::start().await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    // The clocks go from 03:00 back to 02:00, from 02:00 ahead to 03:00, and a day ends.
    for (day, time, end) in [
        ("2025-10-26", "02:45", "2025-10-26T01:15:00Z"),
        ("2026-03-29", "01:45", "2026-03-29T01:15:00Z"),
        ("2025-06-04", "23:45", "2025-06-04T22:15:00Z"),
    ] {
        let query = format!("?c={CALENDAR}&d={day}&t={time}&s={CUT}&client={KNOWN_FICHE}");
        let form = form_of(&ann, &query).await;
        let warned = send(&mut ann, &form).await;
        assert_eq!(warned.status, 409);
        warned.shows(end);
        send(&mut ann, &form_to(&warned, "")).await.location();
        let rows = appointments(&server);
        let appointment = rows.last().and_then(Vevent::appointment).expect("an appointment");
        assert_eq!(appointment.length_seconds, 30 * 60, "{day}");
    }
}

#[tokio::test]
async fn an_address_fills_the_form_in() {
    let server = TestServer::start().await;
    let ann = Professional::logged_in(&server, ANN).await;
    let page = ann.open(NEW).await;
    page.shows("name=\"d\" value=\"2025-06-02\"");
    page.shows("name=\"t\" value=\"\"");
    page.shows(&format!("<option value=\"{CALENDAR}\" selected>"));
    let chosen = format!("?c={OTHER_CALENDAR}&d=2025-06-04&t=10:00&to=10:40");
    let page = ann.open(&format!("{NEW}{chosen}")).await;
    page.shows(&format!("<option value=\"{OTHER_CALENDAR}\" selected>"));
    page.shows("name=\"t\" value=\"10:00\"");
    page.shows("name=\"to\" value=\"10:40\"");
    let page = ann.open(&format!("{NEW}{chosen}&s={COLOUR}&client={KNOWN_FICHE}")).await;
    page.shows("name=\"to\" value=\"\"");
    page.shows(&format!("<option value=\"{COLOUR}\" selected>inside name · 1 h</option>"));
    page.shows(&format!("name=\"client\" value=\"{KNOWN_FICHE}\""));
    let french = ann.open(&format!("{NEW}{chosen}&lang=fr")).await;
    french.shows("Nouveau rendez-vous");
    french.shows("lang=fr");
}

#[tokio::test]
async fn book_again_leads_to_the_form_with_the_last_service_and_calendar() {
    let server = TestServer::start().await;
    let id = book(&server, "2025-06-04 09:00:00", "2025-06-04 09:30:00").await;
    let client = format!("/p/cut-co/clients/{KNOWN_FICHE}");
    let ann = Professional::logged_in(&server, ANN).await;
    let link = format!("{NEW}?client={KNOWN_FICHE}&c={CALENDAR}&s={CUT}");
    for path in [client.clone(), format!("/p/cut-co/events/{id}")] {
        let page = ann.open(&path).await;
        page.shows(&format!("href=\"{}\"", link.replace('&', "&#38;")));
    }
    ann.open(&link).await.shows("<bdi>Known</bdi>");
    // What was deleted meanwhile is left out.
    let body = json!({"intervention": {"deleted": true}});
    let api = format!("/groups/4/interventions/{CUT}");
    answer(server.by_pro(Method::PUT, &api).json(&body)).await.is(200);
    let page = ann.open(&client).await;
    page.shows(&format!("href=\"{NEW}?client={KNOWN_FICHE}&#38;c={CALENDAR}\""));
    // A client without appointments.
    let other = add(&server, json!({"lastname": "Other"})).await;
    let page = ann.open(&format!("/p/cut-co/clients/{other}")).await;
    page.shows(&format!("href=\"{NEW}?client={other}\""));
}

#[tokio::test]
async fn a_start_is_explained_with_what_would_remove_each_obstacle() {
    let server = TestServer::start().await;
    let taken = book(&server, "2025-06-04 09:00:00", "2025-06-04 09:30:00").await;
    let absent = absence(&server, "2025-06-06 09:00:00", "2025-06-06 12:00:00").await;
    let ann = Professional::logged_in(&server, ANN).await;
    let why = |calendar: u64, day: &str, time: &str| {
        format!("{WHY}?c={calendar}&d={day}&t={time}&s={CUT}")
    };
    let page = ann.open(WHY).await;
    page.shows("Why is this time not offered?");
    page.hides("This time is offered");
    let offered = ann.open(&why(CALENDAR, "2025-06-04", "10:00")).await;
    offered.shows("This time is offered to clients online.");
    let event = format!("href=\"/p/cut-co/events/{taken}\"");
    let plage = format!("href=\"/p/cut-co/events/{absent}?o=2025-06-06\"");
    let hours = format!("href=\"/p/cut-co/hours/{CALENDAR}\"");
    let calendar = format!("href=\"/p/cut-co/settings/calendars/{CALENDAR}#");
    let hidden = format!("href=\"/p/cut-co/settings/calendars/{HIDDEN_CALENDAR}\"");
    for (id, day, time, link) in [
        (CALENDAR, "2025-06-04", "09:00", event.as_str()),
        (CALENDAR, "2025-06-06", "10:00", &plage),
        (CALENDAR, "2025-06-05", "20:00", &hours),
        (CALENDAR, "2025-06-01", "09:00", &format!("{calendar}mintime_rdv\"")),
        (CALENDAR, "2029-06-05", "09:00", &format!("{calendar}maxrdv_period\"")),
        (CALENDAR, "2025-06-05", "09:07", &format!("{calendar}generate_interval\"")),
        (HIDDEN_CALENDAR, "2025-06-05", "09:00", &hidden),
    ] {
        let page = ann.open(&why(id, day, time)).await;
        page.shows("This time is not offered online:");
        page.shows(link);
    }
    for wrong in ["c=99", "s=99", "d=2025-02-30", "t=25:00", "d=2026-03-29&t=02:30"] {
        let query = format!("{}&{wrong}", why(CALENDAR, "2025-06-05", "09:00"));
        let page = ann.get(&query).await;
        assert_eq!(page.status, 400, "{wrong}");
        page.hides("not offered online");
    }
    let settings = json!({"group": {"inactive": true}});
    answer(server.by_pro(Method::PUT, "/groups/4").json(&settings)).await.is(200);
    let off = ann.open(&why(CALENDAR, "2025-06-04", "10:00")).await;
    off.shows("Online booking is switched off.");
    off.shows("href=\"/p/cut-co/settings/booking\"");
}

#[tokio::test]
async fn the_form_explains_its_time_and_keeps_what_was_typed() {
    let server = TestServer::start().await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let mut form = form_of(&ann, &cut_at("20:00")).await;
    set(&mut form, "comments", "kept");
    set(&mut form, "explain", "1");
    let page = send(&mut ann, &form).await;
    assert_eq!(page.status, 200);
    page.shows("This time is not offered online:");
    page.shows("Outside opening hours");
    page.shows(">kept</textarea>");
    page.shows("<bdi>Known</bdi>");
    set(&mut form, "t", "10:00");
    send(&mut ann, &form).await.shows("This time is offered to clients online.");
    set(&mut form, "t", "");
    assert_eq!(send(&mut ann, &form).await.status, 400);
    assert_eq!(live_appointments(&server.engine), 0);
}

#[tokio::test]
async fn a_group_of_another_has_no_form_and_ids_of_others_are_unknown() {
    let server = TestServer::start().await;
    let mut eve = Professional::logged_in(&server, EVE).await;
    for path in [NEW, WHY] {
        assert_eq!(eve.get(path).await.status, 404, "{path}");
    }
    assert_eq!(eve.post(NEW, &[("d", "2025-06-04")]).await.status, 404);
    let stranger = Professional::stranger(&server);
    for path in [NEW, WHY] {
        assert!(stranger.get(path).await.location().starts_with("/login?next="), "{path}");
    }
    // Records of the other group are unknown to this one.
    let mut ids = Vec::new();
    for (name, fields) in [
        ("fiche", json!({"lastname": "Of Eve"})),
        ("calendar", json!({"name": "Of Eve"})),
        ("intervention", json!({"name": "Of Eve", "length": 30})),
    ] {
        let path = format!("/api/v1/groups/5/{name}s?apikey={KEY_OF_ALL}");
        let made = server.bare(Method::POST, &path).basic_auth(EVE.0, Some(EVE.1));
        let made = answer(made.json(&json!({ name: fields }))).await;
        ids.push(made.is(201)["id"].as_u64().expect("an id").to_string());
    }
    let mut ann = Professional::logged_in(&server, ANN).await;
    let form = form_of(&ann, &cut_at("09:00")).await;
    for (name, id) in ["client", "c", "s"].into_iter().zip(&ids) {
        let mut form = form.clone();
        set(&mut form, name, id);
        let refused = send(&mut ann, &form).await;
        assert_eq!(refused.status, 400, "{name}");
        refused.hides("Of Eve");
        assert_eq!(ann.get(&format!("{NEW}?{name}={id}")).await.status, 400);
    }
    assert_eq!(live_appointments(&server.engine), 0);
}

#[tokio::test]
async fn hostile_names_are_text() {
    let hostile = "<script>document.title='owned'</script>{name}\"'>";
    let server = TestServer::with(|catalogue| {
        for calendar in catalogue.calendars.values_mut() {
            Arc::make_mut(calendar).name = Name::new(hostile).expect("a name");
        }
        for service in catalogue.interventions.values_mut() {
            Arc::make_mut(service).name = Name::new(hostile).expect("a name");
        }
    })
    .await;
    let client = add(&server, json!({"lastname": hostile, "firstphone": "\"><b>"})).await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let query = format!("?c={CALENDAR}&d=2025-06-04&t=09:00&s={CUT}&client={client}");
    let form = form_of(&ann, &query).await;
    send(&mut ann, &form).await.location();
    absence(&server, "2025-06-06 09:00:00", "2025-06-06 12:00:00").await;
    let mut searching = form_of(&ann, "").await;
    set(&mut searching, "search", "<script>");
    let mut typed = searching.clone();
    typed.retain(|(name, _)| name != "search");
    set(&mut typed, "fiche.lastname", hostile);
    set(&mut typed, "comments", "</textarea><script>");
    set(&mut typed, "explain", "1");
    let taken = form_of(&ann, &query).await;
    for form in [searching, typed, taken] {
        let page = send(&mut ann, &form).await;
        page.hides("<script>");
        page.hides("<b>");
        page.shows("&#60;script&#62;");
    }
    let why = format!("{WHY}?c={CALENDAR}&d=2025-06-04&t=09:00&s={CUT}");
    for path in [why, format!("{NEW}?c=%3Cscript%3E&d=%22%3E%3Cscript%3E&t=%3Cb%3E")] {
        let page = ann.get(&path).await;
        page.hides("<script>");
        page.hides("<b>");
    }
}

#[tokio::test]
async fn a_browser_without_scripts_books_for_a_found_client_and_for_a_new_one() {
    let server = TestServer::start().await;
    let Some(browser) = Browser::open(server.address(), PHONE).await else { return };
    browser.without_scripts().await;
    log_in(&browser).await;
    browser.goto("/p/cut-co/agenda?d=2025-06-04").await;
    browser.click("a[data-key=c]").await;
    browser.type_into("#search", "known\u{e007}").await;
    browser.click(".pick").await;
    browser.await_element("input[name=client]").await;
    browser.click("#s option:nth-child(2)").await;
    browser.type_into("#t", "0900AM").await;
    browser.click(".actions button:not(.quiet)").await;
    browser.arrive_at("/p/cut-co/agenda").await;
    browser.await_element(".event:target").await;
    browser.goto(&format!("{NEW}?d=2025-06-04&t=20:00&s={CUT}")).await;
    browser.click("#new-client summary").await;
    browser.type_into("#fiche-lastname", "Durand\u{e007}").await;
    browser.await_element(".alert").await;
    browser.click(".actions button:not(.quiet)").await;
    browser.await_element(".event:target").await;
    let rows = appointments(&server);
    let names: Vec<Value> = rows
        .iter()
        .map(|row| state(&server).fiches[&row.fiche_id().expect("a client")].names().into())
        .collect();
    assert_eq!(names, [json!("Known"), json!("Durand")]);
}

#[tokio::test]
async fn the_form_is_filled_in_by_keys_alone() {
    const ENTER: &str = "\u{e007}";
    const ESCAPE: &str = "\u{e00c}";
    const DOWN: &str = "\u{e015}";
    let server = TestServer::start().await;
    let Some(browser) = Browser::open(server.address(), PHONE).await else { return };
    log_in(&browser).await;
    browser.goto("/p/cut-co/agenda?d=2025-06-04").await;
    browser.press("c").await;
    browser.await_element("#search:focus").await;
    // In a field the key is the field's own.
    browser.press(ESCAPE).await;
    browser.press("\u{e004}").await;
    browser.press(ESCAPE).await;
    browser.arrive_at("/p/cut-co/agenda").await;
    browser.press("c").await;
    browser.await_element("#search:focus").await;
    browser.press(&format!("known{ENTER}")).await;
    browser.await_element(".pick:focus").await;
    browser.press(ENTER).await;
    browser.await_element("#s:focus").await;
    browser.press(DOWN).await;
    browser.tab_to("#t").await;
    browser.press(&format!("0930AM{ENTER}")).await;
    browser.await_element(".event:target").await;
    assert_eq!(appointments(&server).len(), 1);
    let console = browser.console().await;
    assert!(!console.contains("Content Security Policy"), "{console}");
}
