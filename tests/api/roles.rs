//! What each role of a professional reads and writes. Reference 3.9.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use slotbook::domain::directory::access::{AccessRefusal, ChangeAccess};
use slotbook::domain::directory::group_keys::ChangeGroupKeys;
use slotbook::domain::directory::professionals::ProDraft;
use slotbook::domain::directory::roles::{GroupRight, ProRole};
use slotbook::domain::records::author::Author;
use slotbook::domain::records::ids::{GroupId, ProId};
use slotbook::domain::records::message::{LinkPurpose, MessageContent};
use slotbook::domain::records::text::{Email, Name, Text};
use slotbook::domain::state::command::{Command, Patch, Put, RecordChange};
use slotbook::domain::state::group_state::GroupState;
use slotbook::engine::{AccessError, Rejection};

use crate::screen_logins::log_in;
use crate::server::{Answer, TestServer, answer};
use crate::shop::{
    ANN, CALENDAR, CUT, EVE, KNOWN_FICHE, OTHER_CALENDAR, OWN_FICHE, PAUL, PIA, RITA, clock,
};

/// Books a cut at an hour of 3 June 2025 by Ann, which is confirmed to the client. Returns the id.
async fn book(server: &TestServer, calendar: u64, hour: u32, fiche: u64) -> u64 {
    let body = json!({"appointment": {"calendar_id": calendar, "intervention_ids": [CUT],
        "fiche": {"id": fiche}, "date": format!("2025-06-03 {hour:02}:00:00")}});
    let path = "/groups/4/appointments";
    let made = answer(server.by_pro(Method::POST, path).json(&body)).await.is(201);
    made["records"][0]["id"].as_u64().expect("an id")
}

async fn get(server: &TestServer, person: (&str, &str), path: &str) -> Answer {
    answer(server.by(person, Method::GET, path)).await
}

async fn send(
    server: &TestServer,
    person: (&str, &str),
    method: Method,
    path: &str,
    body: Value,
) -> Answer {
    answer(server.by(person, method, path).json(&body)).await
}

/// The ids that a list gives a person.
async fn ids(server: &TestServer, person: (&str, &str), path: &str) -> Vec<u64> {
    let page = get(server, person, path).await.is(200);
    let records = page["records"].as_array().expect("a list");
    records.iter().map(|record| record["id"].as_u64().unwrap_or(0)).collect()
}

#[track_caller]
fn lacks(answer: &Answer, right: &str) {
    answer.refused(403, 1, None);
    let named = format!("the right \\\"{right}\\\" is needed");
    assert!(answer.text.contains(&named), "{}", answer.text);
}

#[tokio::test]
async fn own_calendars_and_their_clients_are_all_that_lists_show() {
    let server = TestServer::with_team(|_| {}).await;
    let own = book(&server, CALENDAR, 9, OWN_FICHE).await;
    let theirs = book(&server, OTHER_CALENDAR, 10, KNOWN_FICHE).await;
    for path in ["/groups/4/vevents?start_from=2025-06-03", "/groups/4/appointments"] {
        assert_eq!(ids(&server, PAUL, path).await, [own], "{path}");
        for person in [PIA, RITA, ANN] {
            let mut seen = ids(&server, person, path).await;
            seen.sort_unstable();
            assert_eq!(seen, [own, theirs], "{path} {}", person.0);
        }
    }
    assert_eq!(ids(&server, PAUL, "/groups/4/fiches").await, [OWN_FICHE]);
    assert_eq!(ids(&server, PIA, "/groups/4/fiches").await, [KNOWN_FICHE, OWN_FICHE]);
    let agenda = "/groups/4/agenda?from=2025-06-03&to=2025-06-04";
    let seen = get(&server, PAUL, agenda).await.is(200);
    assert_eq!(seen["calendars"].as_array().map(Vec::len), Some(1));
    assert_eq!(seen["events"].as_array().map(Vec::len), Some(1));
    let named = format!("{agenda}&calendar_ids[]={OTHER_CALENDAR}");
    get(&server, PAUL, &named).await.refused(400, 2, Some("calendar_ids"));
    let about = async |person| {
        let page = get(&server, person, "/groups/4/messages").await.is(200);
        let records = page["records"].as_array().expect("a list").clone();
        let mut about: Vec<u64> =
            records.iter().filter_map(|record| record["appointment_id"].as_u64()).collect();
        about.sort_unstable();
        about.dedup();
        about
    };
    assert_eq!((about(PAUL).await, about(RITA).await), (vec![own], vec![own, theirs]));
    // What is not read is as if it were absent, as an object and as a condition.
    for path in [
        format!("/groups/4/vevents/{theirs}"),
        format!("/groups/4/appointments/{theirs}"),
        format!("/groups/4/fiches/{KNOWN_FICHE}"),
        format!("/groups/4/calendars/{OTHER_CALENDAR}/hours"),
        format!("/vevents/{theirs}"),
    ] {
        get(&server, PAUL, &path).await.refused(404, 3, None);
        get(&server, PIA, &path).await.is(200);
    }
    for query in [format!("fiche_id={KNOWN_FICHE}"), format!("calendar_id={OTHER_CALENDAR}")] {
        let field = query.split('=').next();
        for list in ["vevents", "appointments"] {
            let path = format!("/groups/4/{list}?{query}");
            get(&server, PAUL, &path).await.refused(400, 2, field);
            get(&server, PIA, &path).await.is(200);
        }
    }
    // A cancelled appointment makes no client one's own.
    answer(server.by_pro(Method::DELETE, &format!("/groups/4/vevents/{own}"))).await.is(200);
    assert!(ids(&server, PAUL, "/groups/4/fiches").await.is_empty());
}

#[tokio::test]
async fn an_explanation_names_obstacles_of_own_calendars_alone() {
    let server = TestServer::with_team(|_| {}).await;
    let theirs = book(&server, OTHER_CALENDAR, 10, KNOWN_FICHE).await;
    let path = format!(
        "/groups/4/availabletimeslots/explanation?intervention_ids[]={CUT}&start=2025-06-03 10:00:00&from_web=0"
    );
    let by_ann = get(&server, ANN, &path).await;
    assert!(by_ann.is(200)["calendars"].to_string().contains(&theirs.to_string()));
    let by_paul = get(&server, PAUL, &path).await.is(200);
    let shown = by_paul["calendars"].as_array().expect("a list").clone();
    assert_eq!(shown.len(), 1);
    assert_eq!(shown[0]["calendar_id"], CALENDAR);
    let moved =
        format!("/groups/4/availabletimeslots?intervention_ids[]={CUT}&appointment_id={theirs}");
    get(&server, PAUL, &moved).await.refused(400, 2, Some("appointment_id"));
    get(&server, PIA, &moved).await.is(200);
}

#[tokio::test]
async fn a_professional_writes_on_own_calendars_and_for_own_clients() {
    let server = TestServer::with_team(|_| {}).await;
    let own = book(&server, CALENDAR, 9, OWN_FICHE).await;
    let theirs = book(&server, OTHER_CALENDAR, 10, KNOWN_FICHE).await;
    let vevent = |calendar: u64| {
        json!({"vevent": {"calendar_id": calendar, "intervention_id": CUT, "fiche_id": KNOWN_FICHE,
        "start": "2025-06-03 14:00:00", "end": "2025-06-03 14:30:00"}})
    };
    for person in [PAUL, PIA] {
        let foreign = vevent(OTHER_CALENDAR);
        lacks(&send(&server, person, Method::POST, "/groups/4/vevents", foreign).await, "agenda");
        // Neither there nor from there.
        let path = format!("/groups/4/vevents/{own}");
        let away = json!({"vevent": {"calendar_id": OTHER_CALENDAR}});
        lacks(&send(&server, person, Method::PUT, &path, away).await, "agenda");
        let hours = format!("/groups/4/calendars/{CALENDAR}/hours");
        send(&server, person, Method::PUT, &hours, json!({"rows": []})).await.is(200);
        let settings = format!("/groups/4/calendars/{CALENDAR}");
        let renamed = json!({"calendar": {"name": "x"}});
        lacks(&send(&server, person, Method::PUT, &settings, renamed).await, "settings");
        lacks(&get(&server, person, "/groups/4/history").await, "history");
    }
    // Pia reads what she may not write, so she learns why.
    let path = format!("/groups/4/vevents/{theirs}");
    let change = json!({"vevent": {"comments": "x"}});
    lacks(&send(&server, PIA, Method::PUT, &path, change.clone()).await, "agenda");
    lacks(&send(&server, PIA, Method::DELETE, &path, json!({})).await, "agenda");
    let moved = json!({"appointment": {"date": "2025-06-03 16:00:00"}});
    let appointment = format!("/groups/4/appointments/{theirs}");
    lacks(&send(&server, PIA, Method::PUT, &appointment, moved).await, "agenda");
    lacks(&send(&server, PIA, Method::DELETE, &appointment, json!({})).await, "agenda");
    let hours = format!("/groups/4/calendars/{OTHER_CALENDAR}/hours");
    lacks(&send(&server, PIA, Method::PUT, &hours, json!({"rows": []})).await, "agenda");
    let fiche = format!("/groups/4/fiches/{KNOWN_FICHE}");
    let renamed = json!({"fiche": {"firstname": "Kim"}});
    lacks(&send(&server, PIA, Method::PUT, &fiche, renamed.clone()).await, "clients");
    send(&server, PAUL, Method::PUT, &fiche, renamed.clone()).await.refused(404, 3, None);
    send(&server, PAUL, Method::PUT, &path, change).await.refused(404, 3, None);
    // A client becomes one's own by an appointment.
    send(&server, PAUL, Method::POST, "/groups/4/vevents", vevent(CALENDAR)).await.is(201);
    send(&server, PAUL, Method::PUT, &fiche, renamed).await.is(200);
    let own_fiche = format!("/groups/4/fiches/{OWN_FICHE}");
    let comments = json!({"fiche": {"comments": "x"}});
    send(&server, PAUL, Method::PUT, &own_fiche, comments).await.is(200);
    let merge = json!({"fiche_id": KNOWN_FICHE});
    let merged = send(&server, PAUL, Method::POST, &format!("{own_fiche}/merge"), merge).await;
    lacks(&merged, "clients");
    send(&server, PAUL, Method::POST, "/groups/4/fiches", json!({"fiche": {"lastname": "New"}}))
        .await
        .is(201);
}

#[tokio::test]
async fn a_booking_without_a_calendar_takes_one_of_the_professionals_own() {
    let server = TestServer::with_team(|_| {}).await;
    let booking = |start: &str, calendar: Option<u64>| {
        json!({"appointment": {"date": start, "intervention_ids": [CUT], "calendar_id": calendar,
            "fiche": {"lastname": "New", "email": format!("new{}@example.org", &start[11..13])}}})
    };
    for hour in 9..12 {
        let body = booking(&format!("2025-06-03 {hour:02}:00:00"), None);
        let made = send(&server, PAUL, Method::POST, "/groups/4/appointments", body).await;
        assert_eq!(made.is(201)["records"][0]["calendar_id"], CALENDAR);
    }
    // The own calendar is taken, and the other one, which is free, is not booked instead.
    let mut body = booking("2025-06-03 09:00:00", None);
    body["appointment"]["fiche"] = json!({"lastname": "Another"});
    send(&server, PAUL, Method::POST, "/groups/4/appointments", body).await.refused(
        400,
        14,
        Some("date"),
    );
    let body = booking("2025-06-03 15:00:00", Some(OTHER_CALENDAR));
    lacks(&send(&server, PAUL, Method::POST, "/groups/4/appointments", body).await, "agenda");
    let hold = json!({"hold": {"date": "2025-06-03 15:00:00", "intervention_ids": [CUT],
        "calendar_id": OTHER_CALENDAR}});
    lacks(&send(&server, PAUL, Method::POST, "/groups/4/holds", hold).await, "agenda");
}

#[tokio::test]
async fn a_batch_and_a_dry_run_go_as_far_as_the_role() {
    let server = TestServer::with_team(|_| {}).await;
    let own = book(&server, CALENDAR, 9, OWN_FICHE).await;
    let theirs = book(&server, OTHER_CALENDAR, 10, KNOWN_FICHE).await;
    let delete =
        |id: u64| json!({"method": "DELETE", "path": format!("/api/v1/groups/4/vevents/{id}")});
    let renamed = json!({"method": "PUT", "path": format!("/api/v1/groups/4/calendars/{CALENDAR}"),
        "body": {"calendar": {"name": "x"}}});
    let rows = json!({"requests": [delete(theirs), renamed, delete(own)], "atomic": false});
    let done = send(&server, PIA, Method::POST, "/groups/4/batch", rows).await.is(200);
    let statuses: Vec<&Value> =
        done["responses"].as_array().expect("a list").iter().map(|row| &row["status"]).collect();
    assert_eq!(statuses, [403, 403, 200], "{done}");
    let dry = json!({"requests": [delete(theirs)]});
    let tried = send(&server, PIA, Method::POST, "/groups/4/dry-runs", dry.clone()).await;
    assert_eq!((tried.status.as_u16(), tried.errors()[1].0), (400, 1), "{}", tried.text);
    let tried = send(&server, PAUL, Method::POST, "/groups/4/dry-runs", dry).await;
    assert_eq!((tried.status.as_u16(), tried.errors()[1].0), (400, 3), "{}", tried.text);
    assert_eq!(
        get(&server, ANN, &format!("/groups/4/vevents/{theirs}")).await.is(200)["deleted"],
        false
    );
}

#[tokio::test]
async fn the_reception_keeps_the_agenda_and_the_clients_but_no_settings() {
    let server = TestServer::with_team(|_| {}).await;
    let theirs = book(&server, OTHER_CALENDAR, 10, KNOWN_FICHE).await;
    let path = format!("/groups/4/vevents/{theirs}");
    send(&server, RITA, Method::PUT, &path, json!({"vevent": {"comments": "x"}})).await.is(200);
    let fiche = format!("/groups/4/fiches/{KNOWN_FICHE}");
    let renamed = json!({"fiche": {"firstname": "Kim"}});
    send(&server, RITA, Method::PUT, &fiche, renamed).await.is(200);
    let group = json!({"group": {"name": "x"}});
    lacks(&send(&server, RITA, Method::PUT, "/groups/4", group).await, "settings");
    lacks(&get(&server, RITA, "/groups/4/history").await, "history");
    let administrator = json!({"pro": {"role": "administrator"}});
    lacks(&send(&server, RITA, Method::PUT, "/groups/4/pros/3", administrator).await, "team");
    assert_eq!(ids(&server, RITA, "/groups/4/pros").await, [3]);
    get(&server, RITA, "/groups/4/pros/1").await.refused(404, 3, None);
    assert_eq!(ids(&server, ANN, "/groups/4/pros").await, [1, 3, 4, 5]);
}

#[tokio::test]
async fn an_administrator_gives_roles_and_the_last_one_stays() {
    let server = TestServer::with_team(|_| {}).await;
    let put = |id: u64, fields: Value| {
        let path = format!("/groups/4/pros/{id}");
        let request = server.by(ANN, Method::PUT, &path);
        answer(request.json(&json!({"pro": fields})))
    };
    let paul = get(&server, ANN, "/groups/4/pros/4").await.is(200);
    assert_eq!(
        (&paul["role"], &paul["calendar_ids"], &paul["reads_all"]),
        (&json!("professional"), &json!(",11,"), &json!(false))
    );
    put(4, json!({"role": "boss"})).await.refused(400, 2, Some("role"));
    put(4, json!({"calendar_ids": [99]})).await.refused(400, 2, Some("calendar_ids"));
    put(4, json!({"role": "reception", "reads_all": true})).await.refused(
        400,
        2,
        Some("reads_all"),
    );
    put(4, json!({"email": "x@example.org"})).await.refused(400, 2, Some("email"));
    assert_eq!(get(&server, ANN, "/groups/4/pros/4").await.is(200), paul);
    // Fields that are left out stay.
    let more = put(4, json!({"calendar_ids": [OTHER_CALENDAR, CALENDAR]})).await.is(200);
    assert_eq!(more["calendar_ids"], ",11,12,");
    let seeing = put(4, json!({"reads_all": true})).await.is(200);
    assert_eq!((&seeing["calendar_ids"], &seeing["reads_all"]), (&json!(",11,12,"), &json!(true)));
    let path = format!("/groups/4/calendars/{OTHER_CALENDAR}/hours");
    send(&server, PAUL, Method::PUT, &path, json!({"rows": []})).await.is(200);
    // The last administrator stays one, by whatever way.
    let lowered = put(1, json!({"role": "reception"})).await;
    assert_eq!(lowered.status, 409, "{}", lowered.text);
    let removed = answer(server.by_pro(Method::DELETE, "/groups/4/pros/1")).await;
    assert_eq!(removed.status, 409, "{}", removed.text);
    put(3, json!({"role": "administrator"})).await.is(200);
    put(1, json!({"role": "reception"})).await.is(200);
    put(3, json!({"role": "reception"})).await.refused(404, 3, None);
    lacks(&put(1, json!({"role": "administrator"})).await, "team");
    let by_rita = send(&server, RITA, Method::PUT, "/groups/4", json!({"group": {"name": "x"}}));
    by_rita.await.is(200);
}

fn group_four(server: &TestServer) -> Arc<GroupState> {
    let group = GroupId::new(4).expect("an id");
    server.engine.published().group_state(group).expect("it is there")
}

/// Invites by Ann, and returns the invitation with the path of its link, once its mail is queued.
async fn invited(server: &TestServer, fields: Value) -> (Value, String) {
    let before = group_four(server).outbox.last_id();
    let made = invite(server, fields).await.is(201);
    for _ in 0..200 {
        let state = group_four(server);
        let newest = state.outbox.messages().last();
        if let Some(newest) = newest.filter(|message| message.id.number() > before) {
            let MessageContent::AccountLink { purpose: LinkPurpose::Invitation, token, .. } =
                &newest.content
            else {
                panic!("{newest:?}")
            };
            return (made, format!("/m/{}", token.as_str()));
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("no mail is queued");
}

async fn send_form(
    server: &TestServer,
    path: &str,
    cookie: &str,
    fields: &[(&str, &str)],
) -> Answer {
    let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let request = server.bare(Method::POST, path).body(body).header("cookie", cookie);
    answer(request.header("content-type", "application/x-www-form-urlencoded")).await
}

async fn invite(server: &TestServer, fields: Value) -> Answer {
    let request = server.by_pro(Method::POST, "/groups/4/pros");
    answer(request.json(&json!({"pro": fields}))).await
}

#[tokio::test]
async fn an_invitation_is_bound_to_its_address_and_works_once() {
    let server = TestServer::with_team(|_| {}).await;
    let fields = json!({"email": "new@example.org", "role": "professional",
        "calendar_ids": [OTHER_CALENDAR]});
    let (made, link) = invited(&server, fields).await;
    assert_eq!(
        (&made["role"], &made["calendar_ids"], &made["expires_at"]),
        (&json!("professional"), &json!(",12,"), &json!("2025-06-09 08:00:00"))
    );
    let listed = get(&server, ANN, "/groups/4/invitations").await.is(200);
    assert_eq!(listed["records"], json!([made]));
    lacks(&get(&server, RITA, "/groups/4/invitations").await, "team");
    let page = answer(server.bare(Method::GET, &link)).await;
    assert_eq!(page.status, 200);
    assert!(page.text.contains("new@example.org") && page.text.contains("name=\"password\""));
    let join = async |password: &str| {
        let form = [("lastname", "New"), ("firstname", "Nina"), ("password", password)];
        send_form(&server, &link, "", &form).await.status.as_u16()
    };
    assert_eq!(join("short").await, 400);
    assert_eq!(join("three plain words").await, 200);
    assert_eq!(join("three plain words").await, 404, "it works once");
    let nina = ("new@example.org", "three plain words");
    let own = get(&server, nina, "/groups/4/pros").await.is(200);
    let own = &own["records"][0];
    assert_eq!((&own["lastname"], &own["calendar_ids"]), (&json!("New"), &json!(",12,")));
    let listed = get(&server, ANN, "/groups/4/invitations").await.is(200);
    assert_eq!(listed["records"], json!([]));
    // Another token opens nothing.
    let forged = link.replacen("/m/i.4.", "/m/i.5.", 1);
    assert_eq!(answer(server.bare(Method::GET, &forged)).await.status, 404);
}

#[tokio::test]
async fn an_invitation_is_withdrawn_replaced_or_expires() {
    let server = TestServer::with_team(|_| {}).await;
    let fields = json!({"email": "new@example.org", "role": "reception"});
    let (first, first_link) = invited(&server, fields.clone()).await;
    let (second, second_link) = invited(&server, fields.clone()).await;
    assert_ne!(first["id"], second["id"]);
    let status = async |link: &str| answer(server.bare(Method::GET, link)).await.status.as_u16();
    assert_eq!((status(&first_link).await, status(&second_link).await), (404, 200));
    let one = format!("/groups/4/invitations/{}", second["id"]);
    lacks(&answer(server.by(RITA, Method::DELETE, &one)).await, "team");
    answer(server.by_pro(Method::DELETE, &one)).await.is(200);
    answer(server.by_pro(Method::DELETE, &one)).await.refused(404, 3, None);
    assert_eq!(status(&second_link).await, 404);
    let (_, third_link) = invited(&server, fields.clone()).await;
    server.at(clock(8, 0).plus_seconds(7 * 86_400 - 1));
    assert_eq!(status(&third_link).await, 200);
    server.at(clock(8, 0).plus_seconds(7 * 86_400));
    assert_eq!(status(&third_link).await, 404);
    for (fields, field) in [
        (json!({"email": "nobody", "role": "reception"}), "email"),
        (json!({"email": "x@example.org", "role": "boss"}), "role"),
        (
            json!({"email": "x@example.org", "role": "professional", "calendar_ids": [7]}),
            "calendar_ids",
        ),
        (json!({"email": "x@example.org", "lastname": "X"}), "lastname"),
        (json!({"email": PAUL.0}), "email"),
    ] {
        invite(&server, fields).await.refused(400, 2, Some(field));
    }
    for number in 0..50 {
        invite(&server, json!({"email": format!("x{number}@example.org")})).await.is(201);
    }
    invite(&server, json!({"email": "one@more.example"})).await.refused(400, 2, Some("email"));
}

#[tokio::test]
async fn an_invitation_says_nothing_of_other_groups() {
    let server = TestServer::with_team(|_| {}).await;
    // Eve works for group 5, and the other address for none.
    let outline = async |email: &str| {
        let writes = server.engine.published().directory().sequence;
        let mails = group_four(&server).outbox.last_id();
        let (mut made, link) = invited(&server, json!({"email": email, "role": "reception"})).await;
        made["email"] = "".into();
        made["id"] = 0.into();
        let writes = server.engine.published().directory().sequence - writes;
        let mails = group_four(&server).outbox.last_id() - mails;
        ((made, writes, mails), link)
    };
    // Ann's first login is recorded meanwhile.
    invited(&server, json!({"email": "first@example.org"})).await;
    let (known, link) = outline(EVE.0).await;
    assert_eq!((known.1, known.2), (1, 1));
    assert_eq!(outline("none@example.org").await.0, known);
    // Only she, logged in, accepts; her name and password stay as they are.
    let page = answer(server.bare(Method::GET, &link)).await;
    assert!(page.text.contains("/login?next=") && !page.text.contains("name=\"password\""));
    let form = [("lastname", "X"), ("password", "three plain words")];
    assert_eq!(send_form(&server, &link, "", &form).await.status, 401);
    let ann = log_in(&server, ANN).await;
    let by_ann = send_form(&server, &link, &ann, &[]).await;
    assert_eq!(by_ann.status, 409, "another person is logged in");
    let eve = log_in(&server, EVE).await;
    assert_eq!(send_form(&server, &link, &eve, &[]).await.status, 200);
    let shown = get(&server, EVE, "/groups/4/pros").await.is(200);
    let shown = &shown["records"][0];
    assert_eq!((&shown["lastname"], &shown["role"]), (&json!("Pro"), &json!("reception")));
}

#[tokio::test]
async fn no_way_round_leads_to_a_client_of_others() {
    let server = TestServer::with_team(|_| {}).await;
    book(&server, OTHER_CALENDAR, 10, KNOWN_FICHE).await;
    let externid = json!({"fiche": {"externid": 4_711}});
    let path = format!("/groups/4/fiches/{KNOWN_FICHE}");
    answer(server.by_pro(Method::PUT, &path).json(&externid)).await.is(200);
    // A change that changes nothing shows the record all the same.
    let put = "/groups/4/fiches?externid=4711";
    lacks(&send(&server, PAUL, Method::PUT, put, json!({"fiche": {}})).await, "clients");
    let row = json!({"method": "PUT", "path": "/api/v1/groups/4/fiches?externid=4711",
        "body": {"fiche": {}}, "if_match": "\"x\""});
    let rows = json!({"requests": [row]});
    let done = send(&server, PAUL, Method::POST, "/groups/4/batch", rows).await;
    assert!(!done.text.contains("known@example.org"), "{}", done.text);
    // The address of a client is not the id, whatever rules apply.
    for from_web in [true, false] {
        let body = json!({"appointment": {"date": "2025-06-03 11:00:00", "calendar_id": CALENDAR,
            "intervention_ids": [CUT], "from_web": from_web,
            "fiche": {"lastname": "X", "email": "known@example.org"}}});
        let made = send(&server, PAUL, Method::POST, "/groups/4/appointments", body).await;
        if made.status == 201 {
            // Another client with the same address is a new one.
            assert_ne!(made.json()["records"][0]["fiche"]["id"], KNOWN_FICHE);
        } else {
            made.refused(400, 2, Some("fiche"));
        }
        get(&server, PAUL, &path).await.refused(404, 3, None);
    }
    let body = json!({"appointment": {"date": "2025-06-03 09:00:00", "calendar_id": CALENDAR,
        "intervention_ids": [CUT], "fiche": {"id": KNOWN_FICHE}}});
    send(&server, PAUL, Method::POST, "/groups/4/appointments", body).await.is(201);
    get(&server, PAUL, &path).await.is(200);
    // Mails to the team are for administrators.
    invited(&server, json!({"email": "new@example.org"})).await;
    let kinds = async |person| get(&server, person, "/groups/4/messages").await.text;
    assert!(kinds(ANN).await.contains("invitation"));
    assert!(!kinds(RITA).await.contains("invitation"));
}

#[tokio::test]
async fn a_right_is_needed_at_the_time_of_the_decision() {
    let server = TestServer::with_team(|_| {}).await;
    let group = GroupId::new(4).expect("an id");
    let author = |id: u64| Author::Professional { id: ProId::new(id).expect("an id"), key: None };
    let patch = || Put { id: None, fields: Patch::default() };
    let make = || Command::ChangeRecord(RecordChange::Calendarset(patch()));
    // As of requests that were checked before the change.
    let lowered = server.engine.write(group, author(3), make()).await;
    assert!(matches!(lowered, Err(Rejection::Refused(_))), "{lowered:?}");
    answer(server.by_pro(Method::DELETE, "/groups/4/pros/4")).await.is(200);
    let removed = server.engine.write(group, author(4), make()).await;
    assert!(matches!(removed, Err(Rejection::Refused(_))), "{removed:?}");
    let promote = ChangeAccess::SetRole {
        pro: ProId::new(3).expect("an id"),
        groups: [group].into(),
        role: ProRole::Administrator,
        former: Some(ProRole::Reception),
        is_operator: false,
    };
    let make_key = ChangeAccess::ChangeGroupKeys(ChangeGroupKeys::Add {
        group,
        hash: [9; 32],
        label: Text::new("site").expect("a text"),
        origins: Vec::new(),
    });
    let revoke_key =
        ChangeAccess::ChangeGroupKeys(ChangeGroupKeys::Revoke { group, hash: [9; 32] });
    for stale in [3, 4, 2] {
        for (change, right) in [
            (&promote, GroupRight::Team),
            (&make_key, GroupRight::Keys),
            (&revoke_key, GroupRight::Keys),
        ] {
            let changed = server.engine.change_access(Some(author(stale)), change.clone()).await;
            let Err(AccessError::Refused(AccessRefusal::Lacks(lacked))) = changed else {
                panic!("{stale} {change:?}: {changed:?}")
            };
            assert_eq!(lacked, right, "{stale}");
        }
    }
    for change in [&promote, &make_key, &revoke_key] {
        server.engine.change_access(Some(author(1)), change.clone()).await.expect("she may");
    }
    // Decided by a role that is no more.
    let again = server.engine.change_access(Some(author(1)), promote).await;
    let changed = matches!(again, Err(AccessError::Refused(AccessRefusal::RoleChanged(_))));
    assert!(changed, "{again:?}");
}

#[tokio::test]
async fn an_invitation_ends_when_its_address_works_for_the_group() {
    let server = TestServer::with_team(|_| {}).await;
    let (_, link) = invited(&server, json!({"email": EVE.0, "role": "administrator"})).await;
    let group = GroupId::new(4).expect("an id");
    let added = ChangeAccess::AddPro(ProDraft {
        email: Email::new(EVE.0).expect("an address"),
        password_hash: None,
        lastname: Name::default(),
        firstname: Name::default(),
        cellphone: Text::default(),
        groups: [group].into(),
        main: None,
        role: ProRole::Reception,
    });
    server.engine.change_access(Some(Author::Operator), added).await.expect("she is added");
    answer(server.by_pro(Method::DELETE, "/groups/4/pros/2")).await.is(200);
    assert_eq!(answer(server.bare(Method::GET, &link)).await.status, 404);
    let listed = get(&server, ANN, "/groups/4/invitations").await.is(200);
    assert_eq!(listed["records"], json!([]));
}
