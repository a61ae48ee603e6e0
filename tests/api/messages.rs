//! What clients are told, as far as the API shows it: the ledger, the links, and who asks for silence. Reference 7.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use slotbook::domain::directory::link_secret::LinkSecret;
use slotbook::domain::records::text::{Bounded, ReminderLead, Text};
use slotbook::domain::state::recipient_quota::MessageQuota;
use slotbook::engine::MessagingOptions;
use slotbook::engine::mailbox::Transport;
use slotbook::engine::randomness::Randomness;
use slotbook::notify::Gateways;

use super::server::{self, TestServer, answer};
use super::shop::{self, CALENDAR, CUT};

fn gateways() -> Gateways {
    let link_secret = Some(LinkSecret::new([3; 32]));
    Gateways { link_secret, ..Gateways::unconfigured("https://rdv.example.org") }
}

/// The shop, where nobody carries messages, so that they are to be read.
async fn writing(
    change: impl FnOnce(&mut slotbook::domain::availability::catalogue::Catalogue),
) -> TestServer {
    let gateways = Arc::new(gateways());
    let group_states = vec![shop::group_four(change), shop::group_five()];
    // It knows a mail server, since without one no account link is made.
    let mail = server::gateways("").mail;
    let link_secret = gateways.link_secret.clone();
    let public_url = gateways.public_url.clone();
    let known = Arc::new(Gateways { mail, sms: None, public_url, link_secret });
    let server = TestServer::serving(group_states, |server| server.with_gateways(known)).await;
    let sending = MessagingOptions {
        gateways,
        quota: MessageQuota { recipient_daily_max: 20, by_key_daily_max: 0 },
        randomness: Randomness::seeded([9; 32]),
        transport: Transport::direct(),
        poll_interval_max: Duration::from_millis(5),
        concurrent_attempts_max: 4,
    };
    server.engine.send_messages(sending).await;
    server
}

async fn booked(server: &TestServer, start: &str) -> Value {
    let body = json!({"appointment": {"date": start, "calendar_id": CALENDAR, "intervention_ids": [CUT],
        "fiche": {"lastname": "Durand", "email": "durand@example.org"}}});
    let made =
        answer(server.by_key(Method::POST, "/groups/4/appointments").json(&body)).await.is(201);
    made["records"][0].clone()
}

/// The records of the ledger, once there are so many that have been settled.
async fn ledger(server: &TestServer, settled: usize) -> Vec<Value> {
    for _ in 0..2_000 {
        let list = server.pro_get("/groups/4/messages?results=all").await.is(200);
        let records = list["records"].as_array().expect("a list").clone();
        if records.iter().filter(|record| !record["settled_at"].is_null()).count() >= settled {
            return records;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("fewer than {settled} messages were settled");
}

/// The text of the newest message of group 4, as its recipient reads it.
fn letter(server: &TestServer) -> String {
    let group = slotbook::domain::records::ids::GroupId::new(4).expect("an id");
    let state = server.engine.published().group_state(group).expect("group 4");
    let message = state.outbox.messages().last().expect("a message").clone();
    gateways().preview(&state, &message).expect("its object exists").text
}

/// The path of a link in a text: `c.` cancels, `u.` unsubscribes, that of an account has no dot.
fn token(text: &str, what: &str) -> String {
    let link = format!("https://rdv.example.org/m/{what}");
    let begin = text.find(&link).unwrap_or_else(|| panic!("no link {what} in {text}"));
    text[begin + "https://rdv.example.org".len()..]
        .split_whitespace()
        .next()
        .expect("a link")
        .to_owned()
}

#[tokio::test]
async fn a_booking_is_confirmed_and_its_link_cancels_only_when_the_button_is_pressed() {
    let server = writing(|catalogue| {
        let calendar = catalogue.calendars.get_mut(&shop_calendar()).expect("a calendar");
        Arc::make_mut(calendar).mintime_annulation = Bounded::new(60).expect("a lead");
    })
    .await;
    let appointment = booked(&server, "2025-06-03 10:00:00").await;
    let records = ledger(&server, 1).await;
    let mail = &records[0];
    assert_eq!((&mail["kind"], &mail["state"]), (&json!("confirmation"), &json!("kept")), "{mail}");
    assert_eq!(
        (&mail["recipient"], &mail["appointment_id"]),
        (&json!("durand@example.org"), &appointment["id"])
    );
    let text = mail["text"].as_str().expect("it is to be read here");
    assert!(text.contains("https://rdv.example.org/m/…"), "{text}");
    assert!(mail["subject"].as_str().is_some_and(|subject| subject.contains("Cut & Co")), "{mail}");
    let link = token(&letter(&server), "c.");
    let read = format!(
        "/groups/4/appointments/{}?key={}",
        appointment["id"],
        appointment["key"].as_str().expect("a key")
    );
    for _ in 0..2 {
        let page = answer(server.bare(Method::GET, &link)).await;
        assert_eq!(page.status, 200, "{}", page.text);
        assert!(
            page.text.contains("<button")
                && page.headers["content-type"].to_str().expect("ASCII").contains("html")
        );
        assert_eq!(
            server.get(&read).await.is(200)["deleted"],
            json!(false),
            "opening a link does nothing"
        );
    }
    let page = answer(server.bare(Method::POST, &link)).await;
    assert_eq!(page.status, 200, "{}", page.text);
    assert_eq!(server.get(&read).await.is(200)["deleted"], json!(true));
    let records = ledger(&server, 2).await;
    assert_eq!(records[1]["kind"], "cancellation", "{records:?}");
    let wrong = link.replace(appointment["key"].as_str().expect("a key"), "abcdefghijklmnopqrst");
    assert_eq!(answer(server.bare(Method::GET, &wrong)).await.status, 404);
    assert_eq!(answer(server.bare(Method::POST, &wrong)).await.status, 404);
}

#[tokio::test]
async fn it_is_known_which_messages_a_key_alone_has_caused() {
    let server = writing(|_| {}).await;
    let appointment = booked(&server, "2025-06-03 10:00:00").await;
    let path = format!("/groups/4/appointments/{}", appointment["id"]);
    answer(server.by_pro(Method::DELETE, &path)).await.is(200);
    let group = slotbook::domain::records::ids::GroupId::new(4).expect("an id");
    let group_state = server.engine.published().group_state(group).expect("group 4");
    let by_key: Vec<bool> =
        group_state.outbox.messages().map(|message| message.is_by_key()).collect();
    assert_eq!(by_key, [true, false], "the booking, and its cancellation by a professional");
}

#[tokio::test]
async fn what_is_no_link_leads_to_one_page_even_where_it_is_no_text() {
    let server = TestServer::start().await;
    let gone = answer(server.bare(Method::GET, "/m/nothing")).await;
    assert!(gone.text.contains("<html"), "{}", gone.text);
    for token in ["nothing", "%FF", "c.%C3.x", "%"] {
        for method in [Method::GET, Method::POST] {
            let page = answer(server.bare(method, &format!("/m/{token}"))).await;
            assert_eq!((page.status.as_u16(), &page.text), (404, &gone.text), "{token}");
            assert_eq!(page.headers["content-type"], "text/html; charset=utf-8");
        }
    }
}

#[tokio::test]
async fn a_link_that_leads_nowhere_says_so_in_the_language_of_its_group() {
    let server =
        writing(|catalogue| catalogue.group.country = Text::new("Ireland").expect("short")).await;
    for token in
        ["c.4.77.abcdefghijklmnopqrst", "u.4.77.abcdefghijklmnopqrst", "4-abcdefghijklmnopqrst"]
    {
        for method in [Method::GET, Method::POST] {
            let page = answer(server.bare(method, &format!("/m/{token}"))).await;
            assert_eq!(page.status, 404, "{token}");
            assert!(
                page.text.contains("This link leads nowhere any more"),
                "{token}: {}",
                page.text
            );
        }
    }
    let nobodys = answer(server.bare(Method::GET, "/m/c.999.77.abcdefghijklmnopqrst")).await;
    assert!(nobodys.text.contains("Ce lien ne mène plus nulle part"), "{}", nobodys.text);
}

#[tokio::test]
async fn the_links_of_a_client_whose_appointment_went_to_another_lead_nowhere() {
    let server = writing(|catalogue| {
        let calendar = catalogue.calendars.get_mut(&shop_calendar()).expect("a calendar");
        Arc::make_mut(calendar).mintime_annulation = Bounded::new(60).expect("a lead");
    })
    .await;
    let appointment = booked(&server, "2025-06-03 10:00:00").await;
    ledger(&server, 1).await;
    let link = token(&letter(&server), "c.");
    let body = json!({"fiche": {"lastname": "Bob", "email": "bob@example.org"}});
    let bob = answer(server.by_pro(Method::POST, "/groups/4/fiches").json(&body)).await.is(201);
    let row = format!("/groups/4/vevents/{}", appointment["id"]);
    let given = json!({"vevent": {"fiche_id": bob["id"]}});
    answer(server.by_pro(Method::PUT, &row).json(&given)).await.is(200);
    for method in [Method::GET, Method::POST] {
        assert_eq!(answer(server.bare(method, &link)).await.status, 404);
    }
    let secret = format!(
        "/groups/4/appointments/{}?key={}",
        appointment["id"],
        appointment["key"].as_str().expect("a key")
    );
    assert_eq!(server.get(&secret).await.status, 404);
    assert_eq!(answer(server.by_key(Method::DELETE, &secret)).await.status, 404);
    let records = ledger(&server, 3).await;
    let told = |record: &Value| (record["kind"].clone(), record["recipient"].clone());
    assert_eq!(told(&records[1]), (json!("cancellation"), json!("durand@example.org")));
    assert_eq!(told(&records[2]), (json!("confirmation"), json!("bob@example.org")));
    let link = token(&letter(&server), "c.");
    assert_eq!(answer(server.bare(Method::POST, &link)).await.status, 200);
    assert_eq!(server.pro_get(&row).await.is(200)["deleted"], json!(true));
    let records = ledger(&server, 4).await;
    assert_eq!(told(&records[3]), (json!("cancellation"), json!("bob@example.org")));
}

#[tokio::test]
async fn a_long_ledger_comes_whole_and_in_pages() {
    let server =
        writing(|catalogue| catalogue.group.mailreminder = ReminderLead::new(60).expect("a lead"))
            .await;
    for client in 0..70 {
        let body =
            json!({"fiche": {"lastname": "Client", "email": format!("c{client}@example.org")}});
        let fiche =
            answer(server.by_pro(Method::POST, "/groups/4/fiches").json(&body)).await.is(201);
        let start = format!(
            "2025-06-{:02} {:02}:{:02}:00",
            3 + client / 40,
            8 + client % 40 / 4,
            client % 4 * 15
        );
        let end = format!("{}:10:00", &start[..13])
            .replace(":10:00", &format!(":{:02}:00", client % 4 * 15 + 10));
        let row = json!({"vevent": {"calendar_id": CALENDAR, "fiche_id": fiche["id"], "intervention_id": CUT,
            "start": start, "end": end}});
        let row = answer(server.by_pro(Method::POST, "/groups/4/vevents").json(&row)).await.is(201);
        answer(server.by_pro(Method::DELETE, &format!("/groups/4/vevents/{}", row["id"])))
            .await
            .is(200);
        if client % 7 == 0 {
            let back = json!({"vevent": {"deleted": false}, "sendmail": 0});
            answer(
                server.by_pro(Method::PUT, &format!("/groups/4/vevents/{}", row["id"])).json(&back),
            )
            .await
            .is(200);
        }
    }
    let all = ledger(&server, 70).await;
    assert_eq!(all.len(), 80, "70 cancellations, 10 reminders to come");
    let planned: Vec<&Value> = all.iter().filter(|record| record["id"].is_null()).collect();
    assert_eq!(planned.len(), 10);
    assert!(planned.iter().all(|record| record["state"] == "planned"
        && record["recipient"] != ""
        && record["text"].is_null()));
    assert!(
        planned
            .windows(2)
            .all(|pair| pair[0]["planned_at"].as_str() < pair[1]["planned_at"].as_str())
    );
    let mut paged = Vec::new();
    for page in 0..3 {
        let path = format!("/groups/4/messages?results=30&startIndex={}", page * 30);
        let list = server.pro_get(&path).await.is(200);
        assert_eq!(list["totalRecords"], 80);
        paged.extend(list["records"].as_array().expect("a list").clone());
    }
    assert_eq!(paged, all);
    let down = server.pro_get("/groups/4/messages?results=all&dir=desc").await.is(200);
    assert!(
        down["records"].as_array().expect("a list").iter().eq(all.iter().rev()),
        "the last that came to be first"
    );
    let by_recipient =
        server.pro_get("/groups/4/messages?results=all&sort=recipient&dir=desc").await.is(200);
    let names: Vec<&str> = by_recipient["records"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|it| it["recipient"].as_str())
        .collect();
    assert!(names.len() == 80 && names.is_sorted_by(|a, b| a >= b));
}

fn shop_calendar() -> slotbook::domain::records::ids::CalendarId {
    slotbook::domain::records::ids::CalendarId::new(CALENDAR).expect("an id")
}

#[tokio::test]
async fn too_late_a_link_cancels_nothing() {
    let server = writing(|catalogue| {
        let calendar = catalogue.calendars.get_mut(&shop_calendar()).expect("a calendar");
        Arc::make_mut(calendar).mintime_annulation = Bounded::new(60).expect("a lead");
    })
    .await;
    let appointment = booked(&server, "2025-06-02 10:00:00").await;
    ledger(&server, 1).await;
    let text = letter(&server);
    server.at(shop::clock(9, 30));
    let page = answer(server.bare(Method::POST, &token(&text, "c."))).await;
    assert_eq!(page.status, 400, "{}", page.text);
    let row = server.pro_get(&format!("/groups/4/vevents/{}", appointment["id"])).await.is(200);
    assert_eq!(row["deleted"], json!(false));
}

#[tokio::test]
async fn a_reminder_is_planned_then_leaves_and_its_link_ends_reminders() {
    let server = writing(|catalogue| {
        catalogue.group.mailreminder = ReminderLead::new(60).expect("a lead");
        catalogue.group.sendmail = false;
    })
    .await;
    let appointment = booked(&server, "2025-06-02 11:00:00").await;
    let records = ledger(&server, 0).await;
    let [planned] = &records[..] else { panic!("{records:?}") };
    assert_eq!((&planned["kind"], &planned["state"]), (&json!("mail_reminder"), &json!("planned")));
    assert_eq!(
        (&planned["planned_at"], &planned["id"]),
        (&json!("2025-06-02 10:00:00"), &Value::Null)
    );
    server.at(shop::clock(10, 0));
    let records = ledger(&server, 1).await;
    assert_eq!(
        (&records[0]["kind"], &records[0]["settled_at"]),
        (&json!("mail_reminder"), &json!("2025-06-02 10:00:00"))
    );
    let row = format!("/groups/4/vevents/{}", appointment["id"]);
    assert_eq!(server.pro_get(&row).await.is(200)["mailtime"], "2025-06-02 10:00:00");
    let link = token(&letter(&server), "u.");
    let (before, _) = link.rsplit_once('.').expect("a proof");
    let key = appointment["key"].as_str().expect("a secret");
    for proof in [key, "00112233445566778899aabbccddeeff"] {
        let guessed = answer(server.bare(Method::POST, &format!("{before}.{proof}"))).await;
        assert_eq!(guessed.status, 404, "who booked in somebody's name has not read their mail");
    }
    assert_eq!(answer(server.bare(Method::GET, &link)).await.status, 200);
    let body = [("List-Unsubscribe", "One-Click")];
    assert_eq!(answer(server.bare(Method::POST, &link).query(&body)).await.status, 200);
    let client = server.pro_get(&row).await.is(200)["fiche_id"].clone();
    let fiche = server.pro_get(&format!("/groups/4/fiches/{client}")).await.is(200);
    assert_eq!(fiche["rappel_email"], json!(false));
    assert_eq!(server.pro_get(&row).await.is(200)["mailtime"], Value::Null);
    let filter = "/groups/4/messages?conditions[0][field]=state&conditions[0][op]==&conditions[0][value]=planned";
    assert_eq!(server.pro_get(filter).await.is(200)["totalRecords"], 0);
}

#[tokio::test]
async fn changes_by_hand_tell_the_client_unless_silence_is_asked_for() {
    let server = writing(|_| {}).await;
    let body = json!({"vevent": {"calendar_id": CALENDAR, "start": "2025-06-05 10:00:00", "end": "2025-06-05 10:30:00",
        "fiche_id": shop::KNOWN_FICHE, "intervention_id": CUT}});
    let made = answer(server.by_pro(Method::POST, "/groups/4/vevents").json(&body)).await.is(201);
    let path = format!("/groups/4/vevents/{}", made["id"]);
    let put =
        async |body: Value| answer(server.by_pro(Method::PUT, &path).json(&body)).await.is(200);
    put(json!({"vevent": {"start": "2025-06-05 11:00:00"}, "sendmail": 0})).await;
    put(json!({"vevent": {"start": "2025-06-05 12:00:00", "sendmail": "0"}})).await;
    put(json!({"vevent": {"comments": "for ourselves"}})).await;
    assert!(
        ledger(&server, 0).await.is_empty(),
        "made by hand, moved in silence, changed in what no client sees"
    );
    put(json!({"vevent": {"start": "2025-06-05 13:00:00"}})).await;
    assert_eq!(ledger(&server, 1).await[0]["kind"], "change");
    answer(server.by_pro(Method::DELETE, &path).json(&json!({"sendmail": 0}))).await.is(200);
    put(json!({"vevent": {"deleted": 0}, "sendmail": 0})).await;
    assert_eq!(ledger(&server, 1).await.len(), 1);
    answer(server.by_pro(Method::DELETE, &path)).await.is(200);
    assert_eq!(ledger(&server, 2).await[1]["kind"], "cancellation");
}

#[tokio::test]
async fn a_link_to_confirm_an_account_leads_to_a_page_that_asks_for_a_password() {
    let server =
        writing(|catalogue| catalogue.group.country = Text::new("GB").expect("short")).await;
    let body = json!({"account": {"email": "known@example.org", "group_id": 4}});
    answer(server.by_key(Method::POST, "/accounts").json(&body)).await.is(201);
    let records = ledger(&server, 1).await;
    assert_eq!(records[0]["kind"], "account_confirmation");
    let link = token(&letter(&server), "");
    let page = answer(server.bare(Method::GET, &link)).await;
    assert!(page.status == 200 && page.text.contains("type=\"password\""), "{}", page.text);
    let form = |password: &str| {
        let request = server.bare(Method::POST, &link).body(format!("password={password}"));
        answer(request.header("content-type", "application/x-www-form-urlencoded"))
    };
    assert_eq!(form("").await.status, 400);
    assert_eq!(form("long+enough").await.status, 200);
    assert_eq!(form("long+enough").await.status, 404, "it works once");
    let own = server
        .by_key(Method::GET, "/groups/4/fiches")
        .basic_auth("known@example.org", Some("long enough"));
    assert_eq!(answer(own).await.is(200)["totalRecords"], 1);
}

#[tokio::test]
async fn a_message_is_read_alone_as_it_stands_in_the_ledger() {
    let server =
        writing(|catalogue| catalogue.group.mailreminder = ReminderLead::new(60).expect("a lead"))
            .await;
    booked(&server, "2025-06-03 10:00:00").await;
    let records = ledger(&server, 1).await;
    let [sent, planned] = &records[..] else { panic!("{records:?}") };
    let one = server.pro_get(&format!("/groups/4/messages/{}", sent["id"])).await.is(200);
    assert_eq!((&one, one["text"].as_str().is_some()), (sent, true));
    // The reminder stands in the ledger after it, and is no message yet.
    assert_eq!(planned["id"], Value::Null);
    for absent in ["0", "2", "-1", "x", "99999999999999999999"] {
        server.pro_get(&format!("/groups/4/messages/{absent}")).await.refused(404, 3, None);
    }
}

#[tokio::test]
async fn the_ledger_is_for_professionals() {
    let server = writing(|_| {}).await;
    booked(&server, "2025-06-03 10:00:00").await;
    let id = ledger(&server, 1).await[0]["id"].clone();
    server.get("/groups/4/messages").await.refused(403, 1, None);
    server.get(&format!("/groups/4/messages/{id}")).await.refused(403, 1, None);
}

#[tokio::test]
async fn an_appointment_shows_its_reminders_as_the_vectors_say() {
    let server = TestServer::start().await;
    // Before all of them: nothing is past.
    let before = slotbook::domain::time::Civil::from_ymd_hms(2024, 11, 1, 0, 0, 0).expect("a time");
    server.at(slotbook::domain::time::zone::Zone::from_iana("Etc/UTC")
        .expect("a zone")
        .instant_of(before));
    let path = format!("/groups/4/fiches/{}", shop::KNOWN_FICHE);
    // The clock has gone back: the client can be reached since now.
    for accepts in [0, 1] {
        let fiche = json!({"fiche": {"firstphone": "06 12 34 56 78", "rappel_email": accepts}});
        answer(server.by_pro(Method::PUT, &path).json(&fiche)).await.is(200);
    }
    let vectors = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/data/vectors/reminders.jsonl"
    ));
    let mut held = 0;
    for line in vectors.expect("the vectors are there").lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let zone = line["timezone"].as_str().expect("a zone");
        let group = json!({"group": {"timezone": zone_name(zone), "mailreminder": line["mailreminder"],
            "smsreminder": line["smsreminder"]}});
        answer(server.by_pro(Method::PUT, "/groups/4").json(&group)).await.is(200);
        let body = json!({"vevent": {"calendar_id": CALENDAR, "start": line["start"], "end": ends(&line["start"]),
            "fiche_id": shop::KNOWN_FICHE, "intervention_id": CUT, "smsreminder": 1}});
        let row =
            answer(server.by_pro(Method::POST, "/groups/4/vevents").json(&body)).await.is(201);
        assert_eq!(
            (&row["mailtime"], &row["smstime"]),
            (&line["mailtime"], &line["smstime"]),
            "{line}"
        );
        let path = format!("/groups/4/vevents/{}", row["id"]);
        answer(server.by_pro(Method::DELETE, &path).json(&json!({"sendmail": 0}))).await.is(200);
        held += 1;
    }
    assert_eq!(held, 400);
}

/// A day later, whatever clocks do in between.
fn ends(start: &Value) -> String {
    let civil = slotbook::wire::datetime::parse(start.as_str().expect("a text")).expect("a time");
    slotbook::wire::datetime::format_civil(civil.plus_seconds(86_400))
}

/// The listed name of a zone.
fn zone_name(iana: &str) -> &'static str {
    let named = [
        ("America/Los_Angeles", "Pacific Time (US & Canada)"),
        ("America/New_York", "Eastern Time (US & Canada)"),
        ("America/Sao_Paulo", "Brasilia"),
        ("America/St_Johns", "Newfoundland"),
        ("Asia/Katmandu", "Kathmandu"),
        ("Asia/Kolkata", "Kolkata"),
        ("Asia/Tokyo", "Tokyo"),
        ("Australia/Sydney", "Sydney"),
        ("Etc/UTC", "UTC"),
        ("Europe/London", "London"),
        ("Europe/Paris", "Paris"),
        ("Pacific/Auckland", "Auckland"),
    ];
    named.iter().find(|(zone, _)| *zone == iana).unwrap_or_else(|| panic!("no name for {iana}")).1
}
