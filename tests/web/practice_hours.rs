//! The screens of opening hours: weekly hours, exceptional openings, closures, public holidays.

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};
use slotbook::domain::records::calendar::Calendar;
use slotbook::domain::records::ids::{CalendarId, VeventId};
use slotbook::domain::records::text::Name;
use slotbook::domain::records::vevent::VeventKind;

use crate::browser::{Browser, Look, PHONE};
use crate::clients::{as_str, book, form_to, state};
use crate::login::Professional;
use crate::practice_looks::log_in;
use crate::server::{TestServer, answer};
use crate::shop::{ANN, CALENDAR, COLOUR, CUT, EVE, OTHER_CALENDAR};
use crate::visitor::{Page, Visitor, set};

const HOURS: &str = "/p/cut-co/hours";
pub(crate) const CLOSURE: &str = "/p/cut-co/hours/closure";
pub(crate) const OPENING: &str = "/p/cut-co/hours/opening";
const HOLIDAYS: &str = "/p/cut-co/hours/holidays";

pub(crate) fn path(calendar: u64) -> String {
    format!("{HOURS}/{calendar}")
}

/// The form of a page that is sent to a path, with some fields changed.
pub(crate) fn form(page: &Page, path: &str, changes: &[(&str, &str)]) -> Vec<(String, String)> {
    let action = path.split('?').next().expect("a path").trim_start_matches("/p/");
    let mut pairs = form_to(page, action);
    for (_, value) in &mut pairs {
        for (escape, letter) in [("&#60;", "<"), ("&#62;", ">"), ("&#38;", "&")] {
            *value = value.replace(escape, letter);
        }
    }
    for (name, value) in changes {
        set(&mut pairs, name, value);
    }
    pairs
}

/// Fills in the form of a path and sends it.
pub(crate) async fn send(ann: &mut Professional, path: &str, changes: &[(&str, &str)]) -> Page {
    let page = ann.open(path).await;
    let form = form(&page, path, changes);
    ann.post(path.split('?').next().expect("a path"), &as_str(&form)).await
}

/// Sends the form of an answered page again.
async fn press(ann: &mut Professional, page: &Page, path: &str) -> Page {
    let form = form(page, path, &[]);
    ann.post(path, &as_str(&form)).await
}

/// The times of a day that the booking page offers on the first calendar.
async fn offered_on(server: &TestServer, day: &str) -> Vec<String> {
    let path = format!("/b/cut-co/time?s={CUT}&c={CALENDAR}&d={day}");
    let mut times = Visitor::of(server).open(&path).await.offered();
    times.retain(|time| time.starts_with(day));
    times.iter().map(|time| time[11..].to_owned()).collect()
}

async fn rows(server: &TestServer, calendar: u64) -> Value {
    server.pro_get(&format!("/groups/4/calendars/{calendar}/hours")).await.is(200)["rows"].clone()
}

pub(crate) fn sequence(server: &TestServer) -> u64 {
    state(server).sequence
}

#[tokio::test]
async fn weekly_hours_are_set_without_a_script_and_offered_to_clients() {
    let server = TestServer::start().await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let list = ann.open(HOURS).await;
    list.shows("Monday to Sunday 09:00–12:00");
    list.shows(&path(CALENDAR));
    list.shows("aria-current=\"page\">Hours</a>");
    ann.open(&format!("/p/cut-co/settings/calendars/{CALENDAR}")).await.shows(&path(CALENDAR));
    let page = ann.open(&path(CALENDAR)).await;
    page.shows("name=\"d0.0.from\" value=\"09:00\"");
    page.shows("name=\"d6.2.to\" value=\"\"");
    page.hides("d6.3.to");
    // One more range for Wednesday, with what was typed.
    let typed = [("d2.1.from", "13"), ("more", "2")];
    let more = send(&mut ann, &path(CALENDAR), &typed).await;
    assert_eq!(more.status, 200);
    more.shows("name=\"d2.1.from\" value=\"13\"");
    more.shows("name=\"d2.3.to\" value=\"\"");
    more.hides("d3.3.to");
    let changes = [
        ("d0.1.from", "14h"),
        ("d0.1.to", "1530"),
        ("d1.0.from", ""),
        ("d1.0.to", ""),
        ("d6.0.from", "22:00"),
        ("d6.0.to", "24:00"),
    ];
    let saved = send(&mut ann, &path(CALENDAR), &changes).await;
    let page = ann.open(saved.location()).await;
    page.shows("role=\"status\"");
    page.shows("name=\"d0.1.to\" value=\"15:30\"");
    page.shows("name=\"d6.0.to\" value=\"24:00\"");
    let sentence = "Monday 09:00–12:00, 14:00–15:30 ; Wednesday to Saturday 09:00–12:00 ; \
                    Sunday 22:00–24:00";
    ann.open(HOURS).await.shows(sentence);
    let monday = offered_on(&server, "2025-06-09").await;
    assert_eq!((monday.first(), monday.last()), (Some(&"09:00".into()), Some(&"15:00".into())));
    assert_eq!(offered_on(&server, "2025-06-10").await, Vec::<String>::new());
    assert_eq!(offered_on(&server, "2025-06-15").await.last(), Some(&"23:30".into()));
    // The other calendar keeps its hours. The same hours again write nothing.
    assert_eq!(rows(&server, OTHER_CALENDAR).await.as_array().map(Vec::len), Some(7));
    let before = sequence(&server);
    send(&mut ann, &path(CALENDAR), &[]).await.location();
    assert_eq!(sequence(&server), before);
}

#[tokio::test]
async fn hours_from_next_month_on_keep_the_old_ones_before_and_planned_ones_after() {
    let server = TestServer::start().await;
    let outside = book(&server, "2025-07-07 09:00:00", "2025-07-07 09:30:00").await;
    book(&server, "2025-06-30 09:00:00", "2025-06-30 09:30:00").await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let july = [("from", "2025-07-01"), ("d0.0.from", "14:00"), ("d0.0.to", "16:00")];
    let asked = send(&mut ann, &path(CALENDAR), &july).await;
    assert_eq!(asked.status, 409);
    asked.shows("1 appointment falls outside:");
    asked.shows(&format!("/p/cut-co/events/{outside}\""));
    assert_eq!(rows(&server, CALENDAR).await.as_array().map(Vec::len), Some(7));
    press(&mut ann, &asked, &path(CALENDAR)).await.location();
    assert_eq!(offered_on(&server, "2025-06-23").await[0], "09:00");
    let july = offered_on(&server, "2025-07-14").await;
    assert_eq!((july[0].as_str(), july[july.len() - 1].as_str()), ("14:00", "15:30"));
    assert_eq!(offered_on(&server, "2025-07-15").await[0], "09:00");
    let today = ann.open(&path(CALENDAR)).await;
    today.shows("name=\"d0.0.from\" value=\"09:00\"");
    today.shows("From 7 July 2025");
    ann.open(HOURS).await.shows("A change is planned from 7 July 2025.");
    let planned = format!("{}?timetable=every&from=2025-07-07", path(CALENDAR));
    ann.open(&planned).await.shows("name=\"d0.0.from\" value=\"14:00\"");
    // A change from today on ends where the planned one begins.
    let ten = [("d0.0.from", "10:00"), ("d0.0.to", "11:00")];
    let asked = send(&mut ann, &path(CALENDAR), &ten).await;
    asked.shows("1 appointment falls outside:");
    press(&mut ann, &asked, &path(CALENDAR)).await.location();
    assert_eq!(offered_on(&server, "2025-06-23").await[0], "10:00");
    assert_eq!(offered_on(&server, "2025-07-14").await[0], "14:00");
    // With the hours of before, the planned change is none.
    let page = ann.open(&planned).await;
    let again = form(&page, &path(CALENDAR), &ten);
    ann.post(&path(CALENDAR), &as_str(&again)).await.location();
    ann.open(&path(CALENDAR)).await.hides("Planned changes");
}

#[tokio::test]
async fn a_closure_over_a_booked_day_is_asked_and_saved_as_it_was_said() {
    let server = TestServer::start().await;
    let id = book(&server, "2025-06-04 09:00:00", "2025-06-04 09:30:00").await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let before = sequence(&server);
    let days = [
        ("first", "2025-06-04"),
        ("last", "2025-06-05"),
        ("text", "Works <b>"),
        ("calendar", "all"),
    ];
    let asked = send(&mut ann, CLOSURE, &days).await;
    assert_eq!(asked.status, 409);
    asked.shows("1 appointment falls outside:");
    asked.shows(&format!(
        "<a href=\"/p/cut-co/events/{id}\"><span><bdi>Known</bdi>, Wednesday 4 June 2025, 09:00"
    ));
    asked.shows("Works &#60;b&#62;");
    assert_eq!(sequence(&server), before, "nothing is written");
    // Another appointment comes between: the list is another one.
    let second = book(&server, "2025-06-05 10:00:00", "2025-06-05 10:30:00").await;
    let before = sequence(&server);
    let changed = press(&mut ann, &asked, CLOSURE).await;
    assert_eq!(changed.status, 412);
    changed.shows("This list has changed meanwhile.");
    changed.shows("2 appointments fall outside:");
    changed.shows(&format!("/p/cut-co/events/{second}\""));
    assert_eq!(sequence(&server), before, "nothing is written");
    press(&mut ann, &changed, CLOSURE).await.location();
    assert_eq!(sequence(&server), before + 1, "one event for all calendars");
    for day in ["2025-06-04", "2025-06-05"] {
        assert_eq!(offered_on(&server, day).await, Vec::<String>::new(), "{day}");
    }
    let list = ann.open(HOURS).await;
    list.shows("Wednesday 4 June 2025 – Thursday 5 June 2025");
    list.shows("<bdi>Works &#60;b&#62;</bdi>");
    list.shows("<bdi>all calendars</bdi>");
    let form = form(&list, "/hours/delete", &[]);
    ann.post(&format!("{HOURS}/delete"), &as_str(&form)).await.location();
    assert_eq!(offered_on(&server, "2025-06-05").await[0], "09:00");
    ann.open(HOURS).await.shows("No closure or exceptional opening to come.");
    // A second press of the same button meets deleted events.
    assert_eq!(ann.post(&format!("{HOURS}/delete"), &as_str(&form)).await.status, 412);
}

/// Waits until this many writes have no answer yet.
async fn await_writes(server: &TestServer, number: usize) {
    while server.engine.writes_in_flight().0 != number {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn an_appointment_that_is_booked_while_a_closure_is_decided_is_named() {
    let server = TestServer::start().await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let page = ann.open(CLOSURE).await;
    let closure = form(&page, CLOSURE, &[("first", "2025-06-04"), ("calendar", "all")]);
    let closure = as_str(&closure);
    let disk = Arc::clone(&server.disk).lock_owned().await;
    // Its booking is decided and not published: the dry run does not see it.
    let (id, answered) =
        tokio::join!(book(&server, "2025-06-04 09:00:00", "2025-06-04 09:30:00"), async {
            await_writes(&server, 1).await;
            let release = async {
                await_writes(&server, 2).await;
                drop(disk);
            };
            tokio::join!(ann.post(CLOSURE, &closure), release).0
        });
    assert_eq!(answered.status, 412);
    answered.shows("1 appointment falls outside:");
    answered.shows(&format!("/p/cut-co/events/{id}\""));
    ann.open(HOURS).await.shows("No closure or exceptional opening to come.");
    press(&mut ann, &answered, CLOSURE).await.location();
    assert_eq!(offered_on(&server, "2025-06-04").await, Vec::<String>::new());
}

#[tokio::test]
async fn a_list_that_has_become_empty_is_no_question() {
    let server = TestServer::start().await;
    let id = book(&server, "2025-06-04 09:00:00", "2025-06-04 09:30:00").await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let days = [("first", "2025-06-04"), ("calendar", "11")];
    let asked = send(&mut ann, CLOSURE, &days).await;
    assert_eq!(asked.status, 409);
    answer(server.by_pro(Method::DELETE, &format!("/groups/4/vevents/{id}"))).await.is(200);
    press(&mut ann, &asked, CLOSURE).await.location();
    assert_eq!(offered_on(&server, "2025-06-04").await, Vec::<String>::new());
}

#[tokio::test]
async fn an_exceptional_opening_opens_its_day_and_leaves_appointments_outside_when_deleted() {
    let server = TestServer::start().await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let more = send(&mut ann, OPENING, &[("day", "2025-06-07"), ("more", "0")]).await;
    more.shows("times.3.to");
    more.shows("value=\"2025-06-07\"");
    let times =
        [("day", "2025-06-07"), ("times.0.from", "18"), ("times.0.to", "20"), ("calendar", "11")];
    send(&mut ann, OPENING, &times).await.location();
    assert!(offered_on(&server, "2025-06-07").await.contains(&"19:30".to_owned()));
    ann.open(HOURS).await.shows("Saturday 7 June 2025, 18:00–20:00");
    book(&server, "2025-06-07 18:00:00", "2025-06-07 18:30:00").await;
    let list = ann.open(HOURS).await;
    let to_delete = form(&list, "/hours/delete", &[]);
    let delete = format!("{HOURS}/delete");
    let asked = ann.post(&delete, &as_str(&to_delete)).await;
    assert_eq!(asked.status, 409);
    asked.shows("1 appointment falls outside:");
    asked.shows("Exceptional opening");
    press(&mut ann, &asked, &delete).await.location();
    assert!(!offered_on(&server, "2025-06-07").await.contains(&"19:30".to_owned()));
    assert_eq!(ann.get(&delete).await.location(), HOURS);
}

/// A shop with this many calendars more.
async fn shop_of(calendars: u64) -> TestServer {
    TestServer::with(|catalogue| {
        for number in 0..calendars {
            let id = CalendarId::new(100 + number).expect("an id");
            let mut calendar = Calendar::new(id, crate::shop::clock(6, 0));
            calendar.name = Name::new(&format!("Room {number}")).expect("a name");
            catalogue.calendars.insert(id, Arc::new(calendar));
        }
    })
    .await
}

#[tokio::test]
async fn holidays_are_closed_only_where_they_are_chosen_and_in_one_event() {
    let server = shop_of(17).await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let next_year = format!("{HOLIDAYS}?country=FR&year=2026");
    let page = ann.open(&next_year).await;
    page.hides(" checked");
    let days = page.values("day");
    assert_eq!(days.len(), 11);
    page.shows("Friday 25 December 2026 <strong>Christmas Day</strong>");
    ann.open(&format!("{next_year}&region=6AE")).await.shows("Good Friday");
    page.hides("Good Friday");
    ann.open(&format!("{HOLIDAYS}?country=FR")).await.hides("2025-05-08");
    let before = sequence(&server);
    for wrong in [
        vec![("calendar", "all")],
        vec![("day", "2026-12-25")],
        vec![("day", "2026-12-24"), ("calendar", "all")],
    ] {
        let refused = send(&mut ann, &next_year, &wrong).await;
        assert_eq!(refused.status, 400, "{wrong:?}");
        refused.shows("2026-12-25");
    }
    assert_eq!(sequence(&server), before);
    let mut chosen = form(&page, HOLIDAYS, &[("calendar", "all")]);
    chosen.extend(days.iter().map(|day| ("day".to_owned(), day.clone())));
    let saved = ann.post(HOLIDAYS, &as_str(&chosen)).await;
    assert_eq!(saved.location(), "/p/cut-co/hours?saved=1");
    assert_eq!(sequence(&server), before + 1);
    let closures = |server: &TestServer| {
        let state = state(server);
        let plages = state.rows.values().filter(|row| matches!(row.kind, VeventKind::Plage(_)));
        plages.filter(|row| !row.deleted).count()
    };
    assert_eq!(closures(&server), 220);
    ann.open(HOURS)
        .await
        .shows("<bdi>Christmas Day</bdi> <span class=\"facts\"><bdi>all calendars</bdi>");
    // What is closed already is not closed again.
    ann.open(&next_year).await.shows("(closed already)");
    ann.post(HOLIDAYS, &as_str(&chosen)).await.location();
    assert_eq!(closures(&server), 220);
    assert_eq!(sequence(&server), before + 1);
    for country in ["FR", "BE", "CH", "LU", "DE", "GB"] {
        let list = ann.open(&format!("{HOLIDAYS}?country={country}&year=2027")).await;
        assert!(list.values("day").len() >= 4, "{country}");
    }
}

#[tokio::test]
async fn two_who_change_the_hours_see_both_versions() {
    let server = TestServer::start().await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let stale = ann.open(&path(CALENDAR)).await;
    send(&mut ann, &path(CALENDAR), &[("d0.0.to", "11:00")]).await.location();
    let mine = form(&stale, &path(CALENDAR), &[("d0.0.to", "10:00")]);
    let refused = ann.post(&path(CALENDAR), &as_str(&mine)).await;
    assert_eq!(refused.status, 412);
    refused.shows("<bdi>09:00–11:00</bdi>");
    refused.shows("<bdi>09:00–10:00</bdi>");
    refused.shows("Changed meanwhile");
    assert_eq!(offered_on(&server, "2025-06-09").await.last(), Some(&"10:30".to_owned()));
    press(&mut ann, &refused, &path(CALENDAR)).await.location();
    assert_eq!(offered_on(&server, "2025-06-09").await.last(), Some(&"09:30".to_owned()));
    for wrong in ["", "no-tag"] {
        let page = ann.open(&path(CALENDAR)).await;
        let form = form(&page, &path(CALENDAR), &[("revision", wrong), ("d0.0.to", "10:30")]);
        assert_eq!(ann.post(&path(CALENDAR), &as_str(&form)).await.status, 412, "{wrong}");
    }
}

#[tokio::test]
async fn hours_of_some_services_and_of_every_other_week_are_timetables_of_their_own() {
    let server = TestServer::start().await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let new = format!("{}?timetable=new", path(CALENDAR));
    let cut = CUT.to_string();
    let page = ann.open(&new).await;
    page.shows("Every other week, next from Monday 2 June 2025");
    page.shows("Every other week, next from Monday 9 June 2025");
    page.shows("value=\"odd\">Every other week, next from Monday 9");
    let evening =
        [("d0.0.from", "18:00"), ("d0.0.to", "20:00"), ("weeks", "odd"), ("service", cut.as_str())];
    let saved = send(&mut ann, &new, &evening).await;
    let here = saved.location().to_owned();
    assert!(here.contains(&format!("timetable=odd.{CUT}")), "{here}");
    let page = ann.open(&here).await;
    page.shows("name=\"d0.0.from\" value=\"18:00\"");
    page.shows("All services, every week");
    ann.open(HOURS).await.shows(
        "Every other week, next from Monday 9 June 2025, only inside name : Monday 18:00–20:00",
    );
    for (day, is_open) in [("2025-06-09", true), ("2025-06-16", false), ("2025-06-23", true)] {
        let times = offered_on(&server, day).await;
        assert_eq!(times.contains(&"19:30".to_owned()), is_open, "{day}: {times:?}");
    }
    // A day in a week between does not move its weeks.
    let later = format!("{here}&from=2025-06-16");
    let page = ann.open(&later).await;
    let longer = form(&page, &path(CALENDAR), &[("d0.0.to", "21:00")]);
    ann.post(&path(CALENDAR), &as_str(&longer)).await.location();
    assert!(!offered_on(&server, "2025-06-16").await.contains(&"20:30".to_owned()));
    assert!(offered_on(&server, "2025-06-23").await.contains(&"20:30".to_owned()));
    // The same services and weeks twice are refused; so are hours over those of other weeks.
    let twice = send(&mut ann, &new, &evening).await;
    assert_eq!(twice.status, 400);
    twice.shows("These services have hours in these weeks already.");
    let over = [("d0.0.from", "17:00"), ("d0.0.to", "19:00"), ("service", cut.as_str())];
    let over = send(&mut ann, &new, &over).await;
    assert_eq!(over.status, 400);
    over.shows("17:00–19:00: overlaps other hours of the same services, 18:00–20:00");
    over.shows("id=\"d0-fault\"");
    let colour = COLOUR.to_string();
    let other = [("d0.0.from", "17:00"), ("d0.0.to", "19:00"), ("service", colour.as_str())];
    send(&mut ann, &new, &other).await.location();
}

#[tokio::test]
async fn openings_that_rows_do_not_express_are_shown_and_left_alone() {
    let server = TestServer::start().await;
    let body = json!({"vevent": {"calendar_id": CALENDAR, "type": "VfreebusyEvent",
        "start": "2025-06-05 18:00:00", "end": "2025-06-05 20:00:00", "rrule": "FREQ=MONTHLY"}});
    let made = answer(server.by_pro(Method::POST, "/groups/4/vevents").json(&body)).await;
    let id = made.is(201)["id"].as_u64().and_then(VeventId::new).expect("an id");
    let mut ann = Professional::logged_in(&server, ANN).await;
    ann.open(HOURS).await.shows("other openings: 1");
    let page = ann.open(&path(CALENDAR)).await;
    page.shows("The rows above cannot express these openings.");
    page.shows("Thursday 5 June 2025, 18:00–20:00 · repeats: FREQ=MONTHLY");
    let before = state(&server).rows[&id].clone();
    send(&mut ann, &path(CALENDAR), &[("d0.0.to", "11:00")]).await.location();
    assert_eq!(state(&server).rows[&id], before);
}

#[tokio::test]
async fn a_question_names_fifty_appointments_and_the_number_of_the_others() {
    let server = TestServer::start().await;
    for day in 3..=29 {
        for hour in [9, 11] {
            let start = format!("2025-06-{day:02} {hour:02}:00:00");
            book(&server, &start, &format!("2025-06-{day:02} {hour:02}:30:00")).await;
        }
    }
    let mut ann = Professional::logged_in(&server, ANN).await;
    let days = [("first", "2025-06-03"), ("last", "2025-06-29"), ("calendar", "11")];
    let asked = send(&mut ann, CLOSURE, &days).await;
    assert_eq!(asked.status, 409);
    asked.shows("54 appointments fall outside:");
    asked.shows("… and 4 more.");
    assert_eq!(asked.html.matches("/p/cut-co/events/").count(), 50);
}

#[tokio::test]
async fn hours_of_another_group_have_no_screen() {
    let server = TestServer::start().await;
    let mut eve = Professional::logged_in(&server, EVE).await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    for page in [HOURS, CLOSURE, OPENING, HOLIDAYS, &path(CALENDAR)] {
        assert_eq!(eve.get(page).await.status, 404, "{page}");
        assert!(Visitor::of(&server).get(page).await.location().starts_with("/login"), "{page}");
    }
    let before = sequence(&server);
    let closure = [("first", "2025-06-04"), ("calendar", "all")];
    assert_eq!(eve.post(CLOSURE, &closure).await.status, 404);
    for id in ["0", "999", "x", "-1"] {
        assert_eq!(ann.get(&format!("{HOURS}/{id}")).await.status, 404, "{id}");
    }
    // The form of deletions takes exceptions only.
    let id = book(&server, "2025-06-04 09:00:00", "2025-06-04 09:30:00").await;
    for (ids, status) in [(id.to_string(), 404), ("51".to_owned(), 412), ("9999".to_owned(), 404)] {
        let given = [("ids", ids.as_str()), ("revision", "x")];
        assert_eq!(ann.post(&format!("{HOURS}/delete"), &given).await.status, status, "{ids}");
    }
    assert_eq!(sequence(&server), before + 1, "the booking alone");
}

#[tokio::test]
async fn hours_are_set_in_a_browser_without_a_script() {
    let server = TestServer::start().await;
    let look = Look { width: 1_280, height: 900, ..PHONE };
    let Some(browser) = Browser::open(server.address(), look).await else { return };
    log_in(&browser).await;
    browser.without_scripts().await;
    browser.click("nav a[href$='/hours']").await;
    browser.click(&format!("a[href='{}']", path(CALENDAR))).await;
    browser.click("#d5 button[name=more]").await;
    browser.await_element("input[name='d5.3.to']").await;
    // Enter saves; it does not add a range.
    browser.type_into("input[name='d5.1.from']", "14").await;
    browser.type_into("input[name='d5.1.to']", "16\u{e007}").await;
    browser.await_element("[role=status]:not(#said)").await;
    assert!(offered_on(&server, "2025-06-07").await.contains(&"15:30".to_owned()));
}

#[tokio::test]
async fn faults_and_two_versions_of_hours_are_mended_in_a_browser() {
    let server = TestServer::start().await;
    let look = Look { width: 1_280, height: 900, ..PHONE };
    let Some(browser) = Browser::open(server.address(), look).await else { return };
    log_in(&browser).await;
    browser.goto(&path(CALENDAR)).await;
    browser.type_into("input[name='d5.2.from']", "20").await;
    browser.type_into("input[name='d5.2.to']", "19").await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    send(&mut ann, &path(CALENDAR), &[("d5.1.from", "14"), ("d5.1.to", "17")]).await.location();
    browser.click("form.wide p.actions button").await;
    browser.await_element("#d5-fault").await;
    browser.picture("practice-hours-faults").await;
    browser.type_into("input[name='d5.2.to']", "\u{8}\u{8}21\u{e007}").await;
    browser.await_element(".alert table").await;
    for is_dark in [false, true] {
        browser.emulate(Look { is_dark, ..look }).await;
        browser.assert_accessible("two versions of hours").await;
        browser.picture(&format!("practice-hours-versions-{is_dark}")).await;
    }
    browser.click(".alert button").await;
    browser.await_element("[role=status]:not(#said)").await;
    let saturday = offered_on(&server, "2025-06-07").await;
    assert!(saturday.contains(&"20:30".to_owned()) && !saturday.contains(&"16:30".to_owned()));
}

#[tokio::test]
async fn a_calendar_whose_hours_are_for_some_services_shows_the_first_of_them() {
    let server = TestServer::demonstration().await;
    let anna = Professional::logged_in(&server, ("anna@example.org", "demo-password")).await;
    let hours = "/p/cabinet-de-sante-des-tilleuls/hours";
    let list = anna.open(hours).await;
    list.hides("closed");
    list.shows("other openings: 1");
    let page = anna.open(&format!("{hours}/1")).await;
    page.shows("name=\"timetable\" value=\"every.1.2.4\"");
    page.shows("name=\"d0.0.from\" value=\"14:00\"");
    let page = anna.open(&format!("{hours}/1?timetable=new")).await;
    page.shows("name=\"timetable\" value=\"new\"");
    page.hides("value=\"14:00\"");
}
