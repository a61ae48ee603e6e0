//! The screens of each role, the team and its invitations. Reference 3.9, 3.10, 15.14.

use reqwest::Method;
use serde_json::json;
use slotbook::domain::records::ids::GroupId;
use slotbook::domain::records::message::{LinkPurpose, MessageContent};

use crate::browser::{Browser, Look, PHONE};
use crate::login::Professional;
use crate::practice_grid::book;
use crate::practice_looks::{log_in, log_in_as};
use crate::server::{TestServer, answer};
use crate::shop::{ANN, CALENDAR, KNOWN_FICHE, OTHER_CALENDAR, OWN_FICHE, PAUL, PIA, RITA};

const TEAM: &str = "/p/cut-co/settings/team";

/// An appointment on the calendar of Paul and Pia, and one on another.
async fn booked(server: &TestServer) -> (u64, u64) {
    let own = book(server, CALENDAR, "2025-06-03 09:00:00", "2025-06-03 09:30:00").await;
    let body = json!({"vevent": {"calendar_id": OTHER_CALENDAR, "fiche_id": OWN_FICHE,
        "intervention_id": 21, "start": "2025-06-03 10:00:00", "end": "2025-06-03 10:30:00",
        "comments": "for the other one"}});
    let made = answer(server.by_pro(Method::POST, "/groups/4/vevents").json(&body)).await.is(201);
    (own, made["id"].as_u64().expect("an id"))
}

#[tokio::test]
async fn each_screen_opens_to_the_roles_that_it_is_for() {
    let server = TestServer::with_team(|_| {}).await;
    let (own, theirs) = booked(&server).await;
    let event = |id: u64| format!("/p/cut-co/events/{id}");
    let client = |id: u64| format!("/p/cut-co/clients/{id}");
    let table = [
        // Path, and the status for Paul, Pia, Rita and Ann.
        ("/p/cut-co/agenda".to_owned(), [200, 200, 200, 200]),
        ("/p/cut-co/settings".to_owned(), [403, 403, 403, 200]),
        ("/p/cut-co/settings/shop".to_owned(), [403, 403, 403, 200]),
        (format!("/p/cut-co/settings/calendars/{CALENDAR}"), [403, 403, 403, 200]),
        (TEAM.to_owned(), [403, 403, 403, 200]),
        (format!("{TEAM}/1"), [403, 403, 403, 200]),
        ("/p/cut-co/history".to_owned(), [403, 403, 403, 200]),
        ("/p/cut-co/clients".to_owned(), [200, 200, 200, 200]),
        (client(KNOWN_FICHE), [200, 200, 200, 200]),
        (client(OWN_FICHE), [404, 200, 200, 200]),
        (format!("{}/merge", client(KNOWN_FICHE)), [403, 403, 200, 200]),
        (event(own), [200, 200, 200, 200]),
        (event(theirs), [404, 200, 200, 200]),
        (format!("{}/move", event(own)), [200, 200, 200, 200]),
        (format!("{}/move", event(theirs)), [404, 403, 200, 200]),
        (format!("/p/cut-co/hours/{CALENDAR}"), [200, 200, 200, 200]),
        (format!("/p/cut-co/hours/{OTHER_CALENDAR}"), [404, 200, 200, 200]),
        ("/p/cut-co/hours/closure".to_owned(), [200, 200, 200, 200]),
        ("/p/cut-co/logins".to_owned(), [200, 200, 200, 200]),
    ];
    for (nth, person) in [PAUL, PIA, RITA, ANN].into_iter().enumerate() {
        let browser = Professional::logged_in(&server, person).await;
        for (path, statuses) in &table {
            let page = browser.get(path).await;
            assert_eq!(page.status, statuses[nth], "{} {path}: {}", person.0, page.html);
        }
    }
}

#[tokio::test]
async fn an_escaped_number_opens_no_more_than_a_plain_one() {
    let server = TestServer::with_team(|_| {}).await;
    let (own, theirs) = booked(&server).await;
    let mut paul = Professional::logged_in(&server, PAUL).await;
    let escaped = |number: u64| {
        number.to_string().bytes().map(|byte| format!("%{byte:02x}")).collect::<String>()
    };
    let (other, known) = (escaped(OWN_FICHE), escaped(KNOWN_FICHE));
    for (path, status) in [
        (format!("/p/cut-co/events/{}", escaped(theirs)), 404),
        (format!("/p/cut-co/events/{}/move", escaped(theirs)), 404),
        (format!("/p/cut-co/events/{}", escaped(own)), 200),
        (format!("/p/cut-co/clients/{other}"), 404),
        (format!("/p/cut-co/clients/{other}/merge"), 404),
        (format!("/p/cut-co/clients/{known}/merge"), 403),
        (format!("/p/cut-co/clients/{known}/%65rase"), 403),
        (format!("/p/cut-co/hours/{}", escaped(OTHER_CALENDAR)), 404),
        ("/p/cut-co/%73ettings".to_owned(), 403),
        ("/p/cut-co/%68istory".to_owned(), 403),
    ] {
        let page = paul.get(&path).await;
        // A static part of a path has one form.
        assert!(page.status == status || page.status == 404, "{path}: {}", page.status);
    }
    for path in ["merge", "erase", "%65rase"] {
        let path = format!("/p/cut-co/clients/{known}/{path}");
        assert!(paul.post(&path, &[]).await.status >= 403, "{path}");
    }
}

#[tokio::test]
async fn forms_stand_where_the_role_may_send_them_and_others_are_refused() {
    let server = TestServer::with_team(|_| {}).await;
    let (own, theirs) = booked(&server).await;
    let mut pia = Professional::logged_in(&server, PIA).await;
    let page = pia.open(&format!("/p/cut-co/events/{own}")).await;
    page.shows("/cancel\"");
    page.hides("<fieldset class=\"bare\" disabled>");
    page.hides("<details id=\"history\">");
    let page = pia.open(&format!("/p/cut-co/events/{theirs}")).await;
    page.hides("/cancel\"");
    page.shows("<fieldset class=\"bare\" disabled>");
    page.shows("for the other one");
    for form in ["", "/cancel", "/state", "/move", "/restore"] {
        let path = format!("/p/cut-co/events/{theirs}{form}");
        assert_eq!(pia.post(&path, &[("state", "1")]).await.status, 403, "{form}");
    }
    let client = format!("/p/cut-co/clients/{OWN_FICHE}");
    pia.open(&client).await.hides("<details id=\"edit\"");
    let refused = pia.post(&client, &[("lastname", "X")]).await;
    assert_eq!(refused.status, 403);
    refused.shows("You change the clients who have an appointment with you only.");
    pia.open(&format!("/p/cut-co/clients/{KNOWN_FICHE}")).await.shows("<details id=\"edit\"");
    assert_eq!(pia.post(TEAM, &[("email", "x@example.org")]).await.status, 403);
    let row = server.pro_get(&format!("/groups/4/vevents/{theirs}")).await.is(200);
    assert_eq!((&row["deleted"], &row["state"]), (&json!(false), &json!(0)));
    // The frame leads to what opens.
    let page = pia.open("/p/cut-co/agenda").await;
    page.hides("/p/cut-co/settings");
    page.hides("/p/cut-co/history");
    page.shows("/p/cut-co/hours");
}

#[tokio::test]
async fn own_calendars_are_all_that_the_agenda_and_forms_offer() {
    let server = TestServer::with_team(|_| {}).await;
    let (own, theirs) = booked(&server).await;
    let mut paul = Professional::logged_in(&server, PAUL).await;
    for view in ["day", "week", "month", "list"] {
        let page = paul.open(&format!("/p/cut-co/agenda?v={view}&d=2025-06-03")).await;
        page.hides(&format!("/events/{theirs}"));
        page.hides(&format!("value=\"{OTHER_CALENDAR}\""));
    }
    paul.open("/p/cut-co/agenda?v=day&d=2025-06-03").await.shows(&format!("/events/{own}"));
    let page = paul.get(&format!("/p/cut-co/agenda?v=day&c={OTHER_CALENDAR}")).await;
    assert_eq!(page.status, 400);
    page.hides(&format!("/events/{theirs}"));
    for form in ["/p/cut-co/events/new", "/p/cut-co/absences/new", "/p/cut-co/hours/closure"] {
        let page = paul.open(form).await;
        page.hides(&format!("value=\"{OTHER_CALENDAR}\""));
    }
    let list = paul.open("/p/cut-co/clients").await;
    list.shows(&format!("/clients/{KNOWN_FICHE}"));
    list.hides(&format!("/clients/{OWN_FICHE}"));
    // The search for a new appointment finds all clients, and says little of the others.
    let born = json!({"fiche": {"birthdate": "1980-04-05", "firstphone": "0611223344"}});
    let path = format!("/groups/4/fiches/{OWN_FICHE}");
    answer(server.by_pro(Method::PUT, &path).json(&born)).await.is(200);
    let found =
        paul.post("/p/cut-co/events/new", &[("press", "search"), ("search", "Client")]).await;
    found.shows("1980");
    for hidden in ["0611223344", "cleo@example.org", "April", "pays late"] {
        found.hides(hidden);
    }
    // Their other fields are no way to find them.
    for search in ["0611", "cleo", "1980"] {
        let pairs = [("press", "search"), ("search", search)];
        paul.post("/p/cut-co/events/new", &pairs).await.hides("name=\"pick\"");
    }
    // A form that names another calendar makes nothing there.
    let day = [("calendar", "12"), ("day", "2025-06-05"), ("time", "10:00"), ("length", "30")];
    let refused = paul.post(&format!("/p/cut-co/events/{own}/move"), &day).await;
    assert!(refused.status >= 400, "{}", refused.status);
    let row = server.pro_get(&format!("/groups/4/vevents/{own}")).await.is(200);
    assert_eq!(row["calendar_id"], CALENDAR);
}

#[tokio::test]
async fn the_team_gives_roles_and_keeps_its_last_administrator() {
    let server = TestServer::with_team(|_| {}).await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let page = ann.open(TEAM).await;
    page.shows("Reception");
    page.shows("sees only these");
    let refused = ann.post(&format!("{TEAM}/4"), &[("role", "professional")]).await;
    assert_eq!(refused.status, 400);
    refused.shows("Choose at least one calendar.");
    let own = [("role", "professional"), ("calendar_ids[]", "12"), ("reads_all", "1")];
    assert_eq!(ann.post(&format!("{TEAM}/4"), &own).await.status, 303);
    let paul = server.pro_get("/groups/4/pros/4").await.is(200);
    assert_eq!((&paul["calendar_ids"], &paul["reads_all"]), (&json!(",12,"), &json!(true)));
    for (path, pairs) in
        [(format!("{TEAM}/1"), &[("role", "reception")][..]), (format!("{TEAM}/1/remove"), &[])]
    {
        let refused = ann.post(&path, pairs).await;
        assert_eq!(refused.status, 409, "{path}");
        refused.shows("This is the last administrator of the practice");
    }
    assert_eq!(ann.post(&format!("{TEAM}/5/remove"), &[]).await.status, 303);
    ann.open(&format!("{TEAM}?done=removed")).await.hides(PIA.0);
    assert_eq!(ann.get(&format!("{TEAM}/5")).await.status, 404);
    assert_eq!(ann.get(&format!("{TEAM}/2")).await.status, 404, "she works for another group");
}

#[tokio::test]
async fn a_form_on_a_role_that_was_changed_meanwhile_changes_nothing() {
    let server = TestServer::with_team(|_| {}).await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let page = ann.open(&format!("{TEAM}/3")).await;
    let (_, rest) = page.html.split_once("name=\"former\" value=\"").expect("the field");
    let former = rest.split('"').next().expect("a value").to_owned();
    let body = json!({"pro": {"role": "administrator"}});
    answer(server.by_pro(Method::PUT, "/groups/4/pros/3").json(&body)).await.is(200);
    let form = [("former", former.as_str()), ("role", "reception")];
    let refused = ann.post(&format!("{TEAM}/3"), &form).await;
    assert_eq!(refused.status, 409);
    refused.shows("The role was changed meanwhile");
    let rita = server.pro_get("/groups/4/pros/3").await.is(200);
    assert_eq!(rita["role"], "administrator");
}

#[tokio::test]
async fn an_administrator_who_leaves_the_team_is_led_on() {
    let server = TestServer::with_team(|_| {}).await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    for id in [3, 4] {
        let promoted = ann.post(&format!("{TEAM}/{id}"), &[("role", "administrator")]).await;
        assert_eq!(promoted.status, 303, "{id}");
    }
    let mut rita = Professional::logged_in(&server, RITA).await;
    let lowered = rita.post(&format!("{TEAM}/3"), &[("role", "reception")]).await;
    assert_eq!((lowered.status, lowered.location()), (303, "/p/cut-co/agenda"));
    assert_eq!(rita.get("/p/cut-co/agenda").await.status, 200);
    let left = ann.post(&format!("{TEAM}/1/remove"), &[]).await;
    assert_eq!((left.status, left.location()), (303, "/p"));
}

#[tokio::test]
async fn a_client_is_shown_with_what_the_professional_reads_of_them() {
    let server = TestServer::with_team(|_| {}).await;
    let (own, theirs) = booked(&server).await;
    // The client of the own appointment has another one, which Paul does not read.
    let body = json!({"vevent": {"calendar_id": OTHER_CALENDAR, "fiche_id": KNOWN_FICHE,
        "intervention_id": 21, "start": "2025-06-04 10:00:00", "end": "2025-06-04 10:30:00"}});
    let other = answer(server.by_pro(Method::POST, "/groups/4/vevents").json(&body)).await.is(201);
    let paul = Professional::logged_in(&server, PAUL).await;
    let client = format!("/p/cut-co/clients/{KNOWN_FICHE}");
    let page = paul.open(&client).await;
    page.shows(&format!("/events/{own}"));
    page.hides(&format!("/events/{}", other["id"]));
    page.hides(&format!("c={OTHER_CALENDAR}"));
    let page = paul.open(&format!("/p/cut-co/events/{own}")).await;
    page.shows(&client);
    page.hides(&format!("/events/{}", other["id"]));
    // Once it is cancelled, the client is no longer one of Paul's: the name stays.
    let path = format!("/groups/4/vevents/{own}");
    answer(server.by_pro(Method::DELETE, &path)).await.is(200);
    let page = paul.open(&format!("/p/cut-co/events/{own}")).await;
    page.shows("Known");
    page.hides(&client);
    assert_eq!(paul.get(&client).await.status, 404);
    // Pia reads all and writes on her own calendar: she books again there only.
    let pia = Professional::logged_in(&server, PIA).await;
    let page = pia.open(&format!("/p/cut-co/events/{theirs}")).await;
    page.shows("/events/new?client=");
    page.hides(&format!("c={OTHER_CALENDAR}"));
}

#[tokio::test]
async fn a_person_who_is_invited_joins_and_logs_in() {
    let server = TestServer::with_team(|_| {}).await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let wrong = ann.post(TEAM, &[("email", "x"), ("role", "reception")]).await;
    assert_eq!(wrong.status, 400);
    wrong.shows("This is no e-mail address.");
    let form = [("email", "nina@example.org"), ("role", "reception")];
    assert_eq!(ann.post(TEAM, &form).await.status, 303);
    ann.open(TEAM).await.shows("nina@example.org");
    let link = invitation_link(&server).await;
    let mut nina = Professional::stranger(&server);
    nina.open(&link)
        .await
        .shows("You are invited to work here, with the address nina@example.org.");
    let refused = nina.post(&link, &[("lastname", ""), ("password", "short")]).await;
    assert_eq!(refused.status, 400);
    refused.shows("Write a name of at most 64 characters.");
    let person = [("lastname", "Nova"), ("firstname", "Nina"), ("password", "three plain words")];
    assert_eq!(nina.post(&link, &person).await.status, 200);
    assert_eq!(nina.get(&link).await.status, 404);
    let nina = Professional::logged_in(&server, ("nina@example.org", "three plain words")).await;
    assert_eq!(nina.get("/p/cut-co/settings").await.status, 403);
    nina.open("/p/cut-co/agenda").await.shows("Nina Nova");
    ann.open(TEAM).await.shows("Nina Nova");
}

/// The link of the invitation that is queued, once it is.
async fn invitation_link(server: &TestServer) -> String {
    for _ in 0..200 {
        let group = GroupId::new(4).expect("an id");
        let state = server.engine.published().group_state(group).expect("it is there");
        for message in state.outbox.messages() {
            if let MessageContent::AccountLink { purpose: LinkPurpose::Invitation, token, .. } =
                &message.content
            {
                return format!("/m/{}", token.as_str());
            }
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("no invitation is queued");
}

#[tokio::test]
async fn the_screens_of_the_team_are_accessible() {
    let server = TestServer::with_team(|_| {}).await;
    let (_, theirs) = booked(&server).await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    ann.post(TEAM, &[("email", "nina@example.org"), ("role", "reception")]).await;
    let link = invitation_link(&server).await;
    for language in ["en", "fr"] {
        let look = Look { language, ..PHONE };
        let Some(browser) = Browser::open(server.address(), look).await else { return };
        log_in(&browser).await;
        for (name, path) in [
            ("team", TEAM.to_owned()),
            ("team-member", format!("{TEAM}/4")),
            ("team-remove", format!("{TEAM}/4/remove")),
            ("invitation", link.clone()),
        ] {
            browser.goto(&path).await;
            browser.assert_screen(look, name).await;
        }
        let Some(browser) = Browser::open(server.address(), look).await else { return };
        log_in_as(&browser, PIA).await;
        for (name, path) in [
            ("role-event", format!("/p/cut-co/events/{theirs}")),
            ("role-client", format!("/p/cut-co/clients/{OWN_FICHE}")),
            ("role-refused", "/p/cut-co/settings".to_owned()),
        ] {
            browser.goto(&path).await;
            browser.assert_screen(look, name).await;
        }
    }
}
