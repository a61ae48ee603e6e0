//! Calendar feeds: made, renewed and revoked by the API, and read as files. Reference 19.

use std::collections::BTreeSet;

use icalendar::{Calendar, Component as _, Event};
use reqwest::Method;
use serde_json::{Value, json};
use slotbook::domain::directory::access::ChangeAccess;
use slotbook::domain::directory::roles::{OwnCalendars, ProRole};
use slotbook::domain::records::ids::{CalendarId, GroupId, ProId};
use slotbook::domain::time::Instant;
use slotbook::domain::time::zone_names::ZoneName;

use crate::server::{Answer, TestServer, answer};
use crate::shop::{
    ANN, CALENDAR, CUT, EVE, HIDDEN_CALENDAR, KNOWN_FICHE, OTHER_CALENDAR, OWN_FICHE, PAUL, PIA,
    RITA, clock,
};

const FEEDS: &str = "/groups/4/calendarfeeds";
const HOUR: i64 = 3_600;
const DAY: i64 = 24 * HOUR;

async fn make(server: &TestServer, person: (&str, &str), feed: Value) -> Answer {
    let body = json!({ "calendarfeed": feed });
    answer(server.by(person, Method::POST, FEEDS).json(&body)).await
}

/// The path of the link in an answer.
fn link(made: &Value) -> String {
    made["url"].as_str().expect("a link").to_owned()
}

/// Makes a feed of the first calendar, and returns the path of its link.
async fn feed_of(server: &TestServer, details: &str) -> String {
    link(&make(server, ANN, json!({"calendar_id": CALENDAR, "details": details})).await.is(201))
}

async fn read(server: &TestServer, path: &str) -> Answer {
    answer(server.bare(Method::GET, path)).await
}

/// The events of a file, as a strict parser reads them.
fn events(file: &Answer) -> Vec<Event> {
    assert_eq!(file.status, 200, "{}", file.text);
    for line in file.text.split_inclusive("\r\n") {
        assert!(line.ends_with("\r\n") && line.len() <= 77, "{line:?}");
        assert!(!line.trim_end_matches("\r\n").contains(char::is_control), "{line:?}");
    }
    let calendar: Calendar = file.text.parse().expect("a calendar");
    calendar.events().cloned().collect()
}

async fn file(server: &TestServer, path: &str) -> Vec<Event> {
    events(&read(server, path).await)
}

/// The only event of a file.
async fn only(server: &TestServer, path: &str) -> Event {
    let mut events = file(server, path).await;
    assert_eq!(events.len(), 1);
    events.remove(0)
}

/// The only event of a file that is not cancelled.
async fn only_live(server: &TestServer, path: &str) -> Event {
    let mut events = file(server, path).await;
    events.retain(|event| property(event, "STATUS") == "CONFIRMED");
    assert_eq!(events.len(), 1);
    events.remove(0)
}

fn property<'e>(event: &'e Event, name: &str) -> &'e str {
    event.property_value(name).unwrap_or("")
}

async fn put_vevent(server: &TestServer, fields: Value) -> Value {
    let body = json!({ "vevent": fields });
    answer(server.by_pro(Method::POST, "/groups/4/vevents").json(&body)).await.is(201)
}

fn appointment(start: &str, end: &str) -> Value {
    json!({"calendar_id": CALENDAR, "start": start, "end": end, "intervention_id": CUT,
        "fiche_id": KNOWN_FICHE})
}

async fn change(server: &TestServer, id: &Value, fields: Value) {
    let path = format!("/groups/4/vevents/{id}");
    let body = json!({ "vevent": fields });
    answer(server.by_pro(Method::PUT, &path).json(&body)).await.is(200);
}

async fn cancel(server: &TestServer, id: &Value) {
    answer(server.by_pro(Method::DELETE, &format!("/groups/4/vevents/{id}"))).await.is(200);
}

#[tokio::test]
async fn each_feed_tells_what_its_details_say_and_no_more() {
    let server = TestServer::start().await;
    let client = json!({"fiche": {"lastname": "Knöwn, \"the\" Second;", "firstname": "Émile",
        "firstphone": "06 12 34 56 78"}});
    let path = format!("/groups/4/fiches/{KNOWN_FICHE}");
    answer(server.by_pro(Method::PUT, &path).json(&client)).await.is(200);
    let mut booked = appointment("2025-06-03 09:00:00", "2025-06-03 09:30:00");
    booked["comments"] = json!("first line\nsecond; with, signs \\ and 日本語".repeat(9));
    let id = put_vevent(&server, booked).await["id"].clone();
    put_vevent(
        &server,
        json!({"calendar_id": CALENDAR, "start": "2025-06-03 12:00:00",
        "end": "2025-06-03 13:00:00", "text": "Dentist"}),
    )
    .await;
    put_vevent(
        &server,
        json!({"calendar_id": CALENDAR, "start": "2025-06-04",
        "end": "2025-06-04", "note": 1, "text": "Order towels"}),
    )
    .await;
    let busy = file(&server, &feed_of(&server, "busy").await).await;
    let words: Vec<_> = busy.iter().map(|event| property(event, "SUMMARY")).collect();
    assert_eq!(words, ["Occupé", "Occupé"], "a note takes no time");
    let text = read(&server, &feed_of(&server, "busy").await).await.text;
    for told in ["Kn", "Émile", "06 12", "first line", "Dentist", "towels", "inside", "shown"] {
        assert!(!text.contains(told), "{told}: {text}");
    }
    let initials = file(&server, &feed_of(&server, "initials").await).await;
    let words: Vec<_> = initials.iter().map(|event| property(event, "SUMMARY")).collect();
    assert_eq!(words, ["É. K.", "Occupé"]);
    assert!(initials.iter().all(|event| event.get_description().is_none()));
    let full = file(&server, &feed_of(&server, "full").await).await;
    let words: Vec<_> = full.iter().map(|event| property(event, "SUMMARY")).collect();
    assert_eq!(words, ["Émile Knöwn, \"the\" Second; – inside name", "Dentist", "Order towels"]);
    let description = full[0].get_description().expect("a description");
    assert!(
        description
            .starts_with("06 12 34 56 78\nfirst line\nsecond; with, signs \\ and 日本語first")
    );
    let note = &full[2];
    assert_eq!(property(note, "DTSTART"), "20250604");
    assert_eq!((property(note, "DTEND"), property(note, "TRANSP")), ("20250605", "TRANSPARENT"));
    assert_eq!(property(&full[0], "TRANSP"), "OPAQUE");
    assert!(full.iter().all(|event| event.property_value("ATTENDEE").is_none()));
    assert!(id.is_u64());
}

#[tokio::test]
async fn an_appointment_has_the_uid_of_its_other_files_and_a_series_one_for_each_occurrence() {
    let server = TestServer::start().await;
    let made = put_vevent(&server, appointment("2025-06-03 09:00:00", "2025-06-03 09:30:00")).await;
    let series = put_vevent(
        &server,
        json!({"calendar_id": CALENDAR,
        "start": "2025-05-20 12:00:00", "end": "2025-05-20 13:00:00", "text": "lunch",
        "rrule": "FREQ=WEEKLY;COUNT=5"}),
    )
    .await;
    let path = feed_of(&server, "full").await;
    let secret = format!("{}.{}", made["id"], made["key"].as_str().expect("a key"));
    let own = read(&server, &format!("/b/cut-co/appointment.ics?a={secret}")).await;
    let shown = file(&server, &path).await;
    let uid = events(&own)[0].get_uid().expect("a UID").to_owned();
    assert_eq!(shown.iter().filter(|event| event.get_uid() == Some(&uid)).count(), 1);
    let uids: Vec<_> = shown.iter().filter_map(Event::get_uid).filter(|it| *it != uid).collect();
    let id = &series["id"];
    let days = ["20250520", "20250527", "20250603", "20250610", "20250617"];
    assert_eq!(uids, days.map(|day| format!("4-{id}-{day}@slotbook")));
    server.at(Instant(clock(8, 0).0 + 20 * DAY));
    let later = file(&server, &path).await;
    let uids: Vec<_> = later.iter().filter_map(Event::get_uid).filter(|it| *it != uid).collect();
    assert_eq!(
        uids,
        days[1..].iter().map(|day| format!("4-{id}-{day}@slotbook")).collect::<Vec<_>>()
    );
}

#[tokio::test]
async fn the_window_has_thirty_days_back_a_year_ahead_and_no_opening_hours() {
    let server = TestServer::start().await;
    for (start, end) in [
        ("2025-05-02 09:00:00", "2025-05-02 09:30:00"),
        ("2025-05-03 09:00:00", "2025-05-03 09:30:00"),
        ("2026-06-01 09:00:00", "2026-06-01 09:30:00"),
        ("2026-06-03 09:00:00", "2026-06-03 09:30:00"),
    ] {
        put_vevent(&server, appointment(start, end)).await;
    }
    let shown = file(&server, &feed_of(&server, "busy").await).await;
    let starts: Vec<_> = shown.iter().map(|event| property(event, "DTSTART")).collect();
    assert_eq!(starts, ["20250503T070000Z", "20260601T070000Z"]);
    let other = make(&server, ANN, json!({"calendar_id": OTHER_CALENDAR})).await.is(201);
    assert_eq!(file(&server, &link(&other)).await.len(), 0, "another calendar");
}

#[tokio::test]
async fn times_on_the_days_of_both_clock_changes_are_instants() {
    let server = TestServer::start().await;
    let zone = ZoneName::from_name("Paris").expect("a name").zone();
    for (day, hours) in [
        ("2026-10-25", ["20261024T233000Z", "20261025T003000Z", "20261025T023000Z"]),
        ("2027-03-28", ["20270328T003000Z", "20270328T013000Z", "20270328T013000Z"]),
        ("2027-10-31", ["20271030T233000Z", "20271031T003000Z", "20271031T023000Z"]),
    ] {
        let noon = slotbook::wire::datetime::parse(&format!("{day} 12:00:00"));
        let noon = noon.expect("a time");
        server.at(zone.instant_of(noon));
        let path = feed_of(&server, "busy").await;
        for (hour, expected) in ["01", "02", "03"].into_iter().zip(hours) {
            let booked =
                appointment(&format!("{day} {hour}:30:00"), &format!("{day} {hour}:50:00"));
            let made = put_vevent(&server, booked).await;
            let event = only_live(&server, &path).await;
            assert_eq!(property(&event, "DTSTART"), expected, "{day} {hour}:30");
            let ends = expected.replace("3000Z", "5000Z");
            assert_eq!(property(&event, "DTEND"), ends, "{day} {hour}:50");
            cancel(&server, &made["id"]).await;
        }
        // A daily pause begins at the same hour on the clocks.
        let pause = put_vevent(
            &server,
            json!({"calendar_id": CALENDAR,
            "start": format!("{day} 14:00:00"), "end": format!("{day} 15:00:00"),
            "rrule": "FREQ=DAILY;COUNT=2"}),
        )
        .await;
        let shown = file(&server, &path).await;
        let starts: Vec<_> = shown.iter().map(|event| property(event, "DTSTART")).collect();
        let offset = zone.offset_at(zone.instant_of(noon)) / HOUR;
        let time = format!("T{:02}0000Z", 14 - offset);
        assert!(starts[..2].iter().all(|start| start.ends_with(&time)), "{starts:?} {time}");
        assert_eq!(shown.len(), 5, "three were cancelled");
        cancel(&server, &pause["id"]).await;
        assert_eq!(file(&server, &path).await.len(), 3, "a deleted pause is gone");
    }
}

#[tokio::test]
async fn the_sequence_never_falls_and_a_cancelled_appointment_is_shown_for_thirty_days() {
    let server = TestServer::start().await;
    let id =
        put_vevent(&server, appointment("2025-06-20 09:00:00", "2025-06-20 09:30:00")).await["id"]
            .clone();
    let made = make(&server, ANN, json!({"calendar_id": CALENDAR})).await.is(201);
    let mut path = link(&made);
    let mut last = 0;
    let mut uids = BTreeSet::new();
    let at = |days: i64| Instant(clock(8, 0).0 + days * DAY);
    for (day, step, status) in [
        (1, "move", "CONFIRMED"),
        (2, "cancel", "CANCELLED"),
        (3, "restore", "CONFIRMED"),
        (4, "renew", "CONFIRMED"),
        (5, "move back", "CONFIRMED"),
        (6, "cancel", "CANCELLED"),
    ] {
        server.at(at(day));
        match step {
            "move" => change(&server, &id, json!({"start": "2025-06-20 10:00:00"})).await,
            "move back" => change(&server, &id, json!({"start": "2025-06-20 09:00:00"})).await,
            "cancel" => cancel(&server, &id).await,
            "restore" => change(&server, &id, json!({"deleted": false})).await,
            _ => {
                let renewed = format!("{FEEDS}/{}/renew", made["calendarfeed"]["id"]);
                let renewed = answer(server.by_pro(Method::POST, &renewed)).await.is(200);
                assert_eq!(read(&server, &path).await.status, 404, "the link before");
                path = link(&renewed);
            }
        }
        let event = only(&server, &path).await;
        let sequence: i64 = property(&event, "SEQUENCE").parse().expect("a number");
        let has_changed = step != "renew";
        assert!(sequence > last || !has_changed && sequence == last, "{step}: {sequence} {last}");
        last = sequence;
        assert_eq!(property(&event, "STATUS"), status, "{step}");
        uids.insert(event.get_uid().expect("a UID").to_owned());
    }
    assert_eq!(uids.len(), 1);
    server.at(at(36));
    assert_eq!(only(&server, &path).await.property_value("TRANSP"), Some("TRANSPARENT"));
    server.at(Instant(at(36).0 + 1));
    assert_eq!(file(&server, &path).await.len(), 0, "cancelled for more than thirty days");
}

#[tokio::test]
async fn equal_files_have_one_tag_which_answers_304_until_an_event_changes() {
    let server = TestServer::start().await;
    let path = feed_of(&server, "full").await;
    let id =
        put_vevent(&server, appointment("2025-06-20 09:00:00", "2025-06-20 09:30:00")).await["id"]
            .clone();
    let first = read(&server, &path).await;
    assert_eq!(first.headers["content-type"], "text/calendar; charset=utf-8");
    assert_eq!(first.headers["cache-control"], "private, no-cache");
    let tag = first.headers["etag"].to_str().expect("a text").to_owned();
    server.at(Instant(clock(8, 0).0 + 5 * DAY));
    let again = read(&server, &path).await;
    assert_eq!(again.text, first.text);
    let known = || server.bare(Method::GET, &path).header("if-none-match", &tag);
    let unchanged = answer(known()).await;
    assert_eq!((unchanged.status.as_u16(), unchanged.text.as_str()), (304, ""));
    assert_eq!(unchanged.headers["etag"], *tag);
    let head = answer(server.bare(Method::HEAD, &path)).await;
    assert_eq!((head.status.as_u16(), &head.headers["etag"]), (200, &first.headers["etag"]));
    change(&server, &id, json!({"comments": "bring the dog"})).await;
    assert!(answer(known()).await.text.contains("bring the dog"));
}

#[tokio::test]
async fn a_long_file_comes_whole_with_the_tag_of_its_bytes() {
    let server = TestServer::start().await;
    let path = feed_of(&server, "full").await;
    put_vevent(
        &server,
        json!({"calendar_id": CALENDAR, "start": "2025-06-03 12:00:00",
        "end": "2025-06-03 12:10:00", "rrule": "FREQ=DAILY", "text": "é".repeat(250),
        "comments": "long ".repeat(400)}),
    )
    .await;
    let long = read(&server, &path).await;
    assert!(long.text.len() > 512 * 1_024, "{}", long.text.len());
    assert_eq!(events(&long).len(), 364);
    let digest = <sha2::Sha256 as sha2::Digest>::digest(&long.text);
    let hex = data_encoding::HEXLOWER.encode(&digest[..16]);
    assert_eq!(long.headers["etag"], format!("W/\"{hex}\""));
}

/// The answer without what differs between any two.
fn shown(answer: &Answer) -> (u16, String, String) {
    let mut headers = answer.headers.clone();
    for own in ["x-request-id", "date"] {
        headers.remove(own);
    }
    (answer.status.as_u16(), format!("{headers:?}"), answer.text.clone())
}

#[tokio::test]
async fn a_revoked_link_is_answered_as_one_that_never_was() {
    let server = TestServer::start().await;
    let made = make(&server, ANN, json!({"calendar_id": CALENDAR})).await.is(201);
    let feed = &made["calendarfeed"];
    assert_eq!(
        (&feed["calendar_id"], &feed["pro_id"], &feed["details"], &feed["works"]),
        (&json!(CALENDAR), &Value::Null, &json!("busy"), &json!(true))
    );
    let path = link(&made);
    assert!(path.len() >= "/ics/4-.ics".len() + 43, "{path}");
    let never = shown(&read(&server, &path.replace("/4-", "/4-A")).await);
    assert_eq!(never.0, 404);
    assert_eq!(read(&server, &path).await.status, 200);
    for wrong in [
        path.replace("/4-", "/5-"),
        path.replace("/4-", "/99-"),
        path.replace(".ics", ""),
        "/ics/4-.ics".to_owned(),
        "/ics/-.ics".to_owned(),
        "/ics/%FF.ics".to_owned(),
        "/ics/x.ics".to_owned(),
    ] {
        assert_eq!(shown(&read(&server, &wrong).await), never, "{wrong}");
    }
    let one = format!("{FEEDS}/{}", feed["id"]);
    let revoked = answer(server.by_pro(Method::DELETE, &one)).await.is(200);
    assert_eq!(revoked["id"], feed["id"]);
    assert_eq!(shown(&read(&server, &path).await), never);
    answer(server.by_pro(Method::DELETE, &one)).await.refused(404, 3, None);
    answer(server.by_pro(Method::POST, &format!("{one}/renew"))).await.refused(404, 3, None);
    assert_eq!(server.pro_get(FEEDS).await.is(200)["records"], json!([]));
    let next = make(&server, ANN, json!({"calendar_id": CALENDAR})).await.is(201);
    assert_ne!(next["calendarfeed"]["id"], feed["id"], "no number is given twice");
}

#[tokio::test]
async fn the_secret_is_in_no_list_no_history_no_export_and_no_kept_answer() {
    let server = TestServer::start().await;
    let body = json!({"calendarfeed": {"calendar_id": CALENDAR, "details": "full"}});
    let post = || server.by_pro(Method::POST, FEEDS).header("idempotency-key", "one").json(&body);
    let first = answer(post()).await.is(201);
    let second = answer(post()).await.is(201);
    assert_ne!(first["url"], second["url"], "no answer is kept");
    let renew = format!("{FEEDS}/1/renew");
    let third = answer(server.by_pro(Method::POST, &renew)).await.is(200);
    answer(server.by_pro(Method::DELETE, &format!("{FEEDS}/2"))).await.is(200);
    let state = server.engine.published().group_state(GroupId::new(4).expect("an id"));
    let mut told = format!("{state:?}");
    for path in [FEEDS, "/groups/4/history", "/groups/4/export", "/groups/4/history/access"] {
        let answer = server.pro_get(path).await;
        assert_eq!(answer.status, 200, "{path}");
        told += &answer.text;
    }
    for made in [&first, &second, &third] {
        let path = link(made);
        let random = path.trim_start_matches("/ics/4-").trim_end_matches(".ics");
        assert_eq!(random.len(), 43);
        assert!(!told.contains(random));
        let hash = <sha2::Sha256 as sha2::Digest>::digest(format!("4-{random}"));
        assert!(!told.contains(&data_encoding::HEXLOWER.encode(&hash)));
    }
    let history = server.pro_get("/groups/4/history?object=calendarfeed:1").await.is(200);
    let rows = history["rows"].as_array().expect("rows");
    let acts: Vec<_> = rows.iter().map(|row| (&row["verb"], &row["author"])).collect();
    let by = json!("professional:1");
    assert_eq!(acts, [(&json!("changed"), &by), (&json!("made"), &by)]);
    assert_eq!(
        rows[1]["fields"],
        json!([{"field": "calendar_id", "after": CALENDAR}, {"field": "secret"}])
    );
    let other = server.pro_get("/groups/4/history?object=calendarfeed:2").await.is(200);
    assert_eq!(other["rows"][0]["verb"], "removed");
    server.pro_get("/groups/4/history?object=calendarfeed:9").await.refused(404, 3, None);
}

#[tokio::test]
async fn wrong_input_names_its_field_and_makes_nothing() {
    let server = TestServer::with_team(|_| {}).await;
    let path = format!("/groups/4/calendars/{HIDDEN_CALENDAR}");
    answer(server.by_pro(Method::DELETE, &path)).await.is(200);
    for (feed, field) in [
        (json!({}), "calendar_id"),
        (json!({"calendar_id": ""}), "calendar_id"),
        (json!({"calendar_id": 99}), "calendar_id"),
        (json!({"calendar_id": HIDDEN_CALENDAR}), "calendar_id"),
        (json!({"calendar_id": "eleven"}), "calendar_id"),
        (json!({"calendar_id": CALENDAR, "pro_id": 4}), "pro_id"),
        (json!({"pro_id": 2}), "pro_id"),
        (json!({"pro_id": 99}), "pro_id"),
        (json!({"pro_id": 1}), "pro_id"),
        (json!({"pro_id": 3}), "pro_id"),
        (json!({"calendar_id": CALENDAR, "details": "all"}), "details"),
        (json!({"calendar_id": CALENDAR, "details": 1}), "details"),
    ] {
        make(&server, ANN, feed.clone()).await.refused(400, 2, Some(field));
    }
    let bare = server.by_pro(Method::POST, FEEDS).json(&json!({"calendar_id": CALENDAR}));
    answer(bare).await.refused(400, 2, Some("calendarfeed"));
    assert_eq!(server.pro_get(FEEDS).await.is(200)["records"], json!([]));
    for _ in 0..100 {
        make(&server, ANN, json!({"calendar_id": CALENDAR})).await.is(201);
    }
    let one_more = make(&server, ANN, json!({"calendar_id": CALENDAR})).await;
    one_more.refused(400, 2, Some("calendarfeed"));
    answer(server.by_pro(Method::DELETE, &format!("{FEEDS}/7"))).await.is(200);
    make(&server, ANN, json!({"calendar_id": CALENDAR})).await.is(201);
}

async fn list(server: &TestServer, person: (&str, &str)) -> Vec<u64> {
    let list = answer(server.by(person, Method::GET, FEEDS)).await.is(200);
    let records = list["records"].as_array().expect("a list");
    records.iter().map(|record| record["id"].as_u64().expect("a number")).collect()
}

#[tokio::test]
async fn each_role_makes_sees_and_ends_the_feeds_of_its_calendars() {
    let server = TestServer::with_team(|_| {}).await;
    let calendar = |id: u64| json!({"calendar_id": id});
    let pro = |id: u64| json!({"pro_id": id});
    make(&server, ANN, calendar(OTHER_CALENDAR)).await.is(201);
    make(&server, RITA, calendar(CALENDAR)).await.is(201);
    make(&server, PAUL, calendar(CALENDAR)).await.is(201);
    make(&server, PAUL, pro(4)).await.is(201);
    make(&server, ANN, pro(5)).await.is(201);
    make(&server, PAUL, calendar(OTHER_CALENDAR)).await.refused(400, 2, Some("calendar_id"));
    make(&server, PIA, calendar(OTHER_CALENDAR)).await.refused(403, 1, None);
    make(&server, PAUL, pro(5)).await.refused(400, 2, Some("pro_id"));
    make(&server, RITA, pro(4)).await.refused(400, 2, Some("pro_id"));
    assert_eq!(list(&server, ANN).await, [1, 2, 3, 4, 5]);
    assert_eq!(list(&server, RITA).await, [1, 2, 3]);
    assert_eq!(list(&server, PAUL).await, [2, 3, 4]);
    assert_eq!(list(&server, PIA).await, [2, 3, 5]);
    for (person, id) in [(PAUL, 1), (PAUL, 5), (PIA, 4), (RITA, 4), (RITA, 5)] {
        let one = format!("{FEEDS}/{id}");
        answer(server.by(person, Method::DELETE, &one)).await.refused(404, 3, None);
        let renew = format!("{one}/renew");
        answer(server.by(person, Method::POST, &renew)).await.refused(404, 3, None);
    }
    answer(server.by_key(Method::GET, FEEDS)).await.refused(403, 1, None);
    answer(server.by_account(Method::POST, FEEDS).json(&json!({}))).await.refused(403, 1, None);
    answer(server.by(EVE, Method::GET, FEEDS)).await.refused(404, 3, None);
    answer(server.by(PAUL, Method::DELETE, &format!("{FEEDS}/2"))).await.is(200);
    answer(server.by(RITA, Method::DELETE, &format!("{FEEDS}/3"))).await.is(200);
    assert_eq!(list(&server, ANN).await, [1, 4, 5]);
}

async fn set_role(server: &TestServer, pro: u64, role: ProRole) {
    let change = ChangeAccess::SetRole {
        pro: ProId::new(pro).expect("an id"),
        groups: [GroupId::new(4).expect("an id")].into(),
        role,
        former: None,
        is_operator: true,
    };
    server.engine.change_access(None, change).await.expect("it is done");
}

fn own(calendars: &[u64]) -> ProRole {
    let calendars = calendars.iter().map(|id| CalendarId::new(*id).expect("an id")).collect();
    ProRole::Professional(OwnCalendars { calendars, reads_all: false })
}

#[tokio::test]
async fn a_link_works_as_long_as_its_maker_may_make_it_and_its_calendars_are_there() {
    let server = TestServer::with_team(|_| {}).await;
    let of_paul = link(&make(&server, PAUL, json!({"calendar_id": CALENDAR})).await.is(201));
    let own_of_paul = link(&make(&server, PAUL, json!({"pro_id": 4})).await.is(201));
    let of_ann = link(&make(&server, ANN, json!({"calendar_id": CALENDAR})).await.is(201));
    put_vevent(&server, appointment("2025-06-03 09:00:00", "2025-06-03 09:30:00")).await;
    let mut there = appointment("2025-06-03 10:00:00", "2025-06-03 10:30:00");
    there["calendar_id"] = json!(OTHER_CALENDAR);
    there["fiche_id"] = json!(OWN_FICHE);
    put_vevent(&server, there).await;
    let status = async |path: &String| read(&server, path).await.status.as_u16();
    assert_eq!(file(&server, &own_of_paul).await.len(), 1);
    set_role(&server, 4, own(&[CALENDAR, OTHER_CALENDAR])).await;
    assert_eq!(file(&server, &own_of_paul).await.len(), 2, "as its role says now");
    set_role(&server, 4, own(&[OTHER_CALENDAR])).await;
    assert_eq!(file(&server, &own_of_paul).await.len(), 1);
    assert_eq!((status(&of_paul).await, status(&of_ann).await), (404, 200));
    let listed = server.pro_get(FEEDS).await.is(200);
    assert_eq!(listed["records"][0]["works"], false);
    set_role(&server, 4, ProRole::Reception).await;
    assert_eq!((status(&of_paul).await, status(&own_of_paul).await), (200, 404));
    let gone = answer(server.by_pro(Method::DELETE, "/groups/4/pros/4")).await;
    assert_eq!((gone.status.as_u16(), status(&of_paul).await), (200, 404));
    let calendar = format!("/groups/4/calendars/{CALENDAR}");
    answer(server.by_pro(Method::DELETE, &calendar)).await.is(200);
    assert_eq!(status(&of_ann).await, 404, "a deleted calendar");
    let restored = json!({"calendar": {"deleted": false}});
    answer(server.by_pro(Method::PUT, &calendar).json(&restored)).await.is(200);
    assert_eq!(status(&of_ann).await, 200);
}

#[tokio::test]
async fn a_link_is_read_sixty_times_an_hour_and_wrong_ones_lock_out_no_right_one() {
    let server = TestServer::start().await;
    let [path, other] = [feed_of(&server, "busy").await, feed_of(&server, "busy").await];
    for nth in 1..=60 {
        assert_eq!(read(&server, &path).await.status, 200, "{nth}");
    }
    let beyond = read(&server, &path).await;
    beyond.refused(429, 4, None);
    assert_eq!(beyond.headers["retry-after"], "3600");
    assert!(!beyond.text.contains("4-"), "{}", beyond.text);
    assert_eq!(read(&server, &other).await.status, 200, "another link");
    server.at(Instant(clock(8, 0).0 + HOUR));
    assert_eq!(read(&server, &path).await.status, 200, "an hour later");
    for nth in 1..=30 {
        assert_eq!(read(&server, &format!("/ics/4-{nth}.ics")).await.status, 404, "{nth}");
    }
    let guess = read(&server, "/ics/4-31.ics").await;
    guess.refused(429, 4, None);
    assert_eq!(guess.headers["retry-after"], "600");
    assert_eq!(read(&server, &other).await.status, 200, "the right link");
}
