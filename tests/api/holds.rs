//! Held time and bookings that wait for a code, over HTTP. Reference 6.7, 6.8.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use slotbook::domain::availability::catalogue::Catalogue;
use slotbook::domain::directory::confirmation_code::ConfirmationCode;
use slotbook::domain::directory::link_secret::LinkSecret;
use slotbook::domain::records::fiche::Fiche;
use slotbook::domain::records::group::VerifyBookings;
use slotbook::domain::records::hold::HoldToken;
use slotbook::domain::records::ids::{FicheId, GroupId};
use slotbook::domain::records::text::{Bounded, Email, Name, Text};
use slotbook::notify::Gateways;
use slotbook::notify::sms::SmsGateway;
use slotbook::notify::smtp::{SmtpClient, SmtpServer, TlsMode};

use crate::server::{Answer, TestServer, answer};
use crate::shop::{self, CALENDAR, CUT, OTHER_CALENDAR, clock};

const HOLDS: &str = "/groups/4/holds";
const BOOKINGS: &str = "/groups/4/appointments";
const CONFIRM: &str = "/groups/4/appointments/confirm";

fn secret() -> LinkSecret {
    LinkSecret::new([3; 32])
}

/// The shop with a secret, where Cleo has an account and a second client the number of a phone.
async fn shop_with(change: impl FnOnce(&mut Catalogue)) -> TestServer {
    let mut four = shop::group_four(change);
    shop::open_account(&mut four, shop::OWN_FICHE, shop::CLEO.0);
    let mut phoned = Fiche::new(FicheId::new(43).expect("an id"), clock(6, 0));
    phoned.lastname = Name::new("Phoned").expect("a name");
    phoned.email = Some(Email::new("phoned@example.org").expect("an address"));
    phoned.secondphone = Text::new("06 11 22 33 44").expect("a number");
    four.put_fiche(Arc::new(phoned));
    // Nothing in these tests sends any message.
    let mail = SmtpClient::new(&SmtpServer {
        host: "127.0.0.1".to_owned(),
        port: 9,
        tls_mode: TlsMode::None,
        root_certificates: None,
        login: None,
        from: "rdv@practice.example".to_owned(),
        timeout: Duration::from_secs(1),
    });
    let sms = SmsGateway::new("http://127.0.0.1:9/", "the-token", Duration::from_secs(1));
    let gateways = Arc::new(Gateways {
        mail: Some(mail.expect("legal options")),
        sms: Some(sms.expect("a legal URL")),
        link_secret: Some(secret()),
        ..Gateways::unconfigured("")
    });
    TestServer::serving(vec![four, shop::group_five()], |server| server.with_gateways(gateways))
        .await
}

async fn verifying(by: VerifyBookings) -> TestServer {
    shop_with(|catalogue| {
        catalogue.group.verify_bookings = by;
        catalogue.group.validate_email = true;
        catalogue.group.country_code = Text::new("33").expect("a prefix");
    })
    .await
}

async fn hold(server: &TestServer, time: &str) -> Answer {
    let body = json!({"hold": {
        "date": format!("2025-06-02 {time}:00"), "intervention_ids": [CUT], "calendar_id": CALENDAR,
    }});
    answer(server.by_key(Method::POST, HOLDS).json(&body)).await
}

async fn release(server: &TestServer, token: &str) -> Answer {
    answer(server.by_key(Method::DELETE, &format!("{HOLDS}?token={token}"))).await
}

fn booking(time: &str, hold: &str) -> Value {
    json!({"appointment": {
        "date": format!("2025-06-02 {time}:00"), "intervention_ids": [CUT], "calendar_id": CALENDAR,
        "hold": hold, "fiche": {"lastname": "Durand", "email": "d@example.org"},
    }})
}

async fn book(server: &TestServer, body: &Value) -> Answer {
    answer(server.by_key(Method::POST, BOOKINGS).json(body)).await
}

fn booking_for(email: &str, time: &str) -> Value {
    json!({"appointment": {
        "date": format!("2025-06-02 {time}:00"), "intervention_ids": [CUT], "calendar_id": CALENDAR,
        "fiche": {"lastname": "Durand", "email": email, "firstphone": "0611223344"},
    }})
}

fn token(answer: &Value) -> &str {
    answer["token"].as_str().expect("a token")
}

/// The code that was sent for a token.
fn code(token: &str) -> String {
    let id = HoldToken::new(token).expect("a token").id();
    let group = GroupId::new(4).expect("an id");
    ConfirmationCode::derive(&secret(), group, id).as_str().to_owned()
}

/// A code that was not sent.
fn wrong(token: &str) -> String {
    if code(token) == "000000" { "000001" } else { "000000" }.to_owned()
}

async fn confirm(server: &TestServer, token: &str, code: &str) -> Answer {
    let body = json!({"token": token, "code": code});
    answer(server.by_key(Method::POST, CONFIRM).json(&body)).await
}

/// Whether the search offers a time of calendar 11 on Monday, and what explain says of it.
async fn seen(server: &TestServer, time: &str, hold: &str) -> (bool, Vec<String>) {
    let path = format!(
        "/groups/4/availabletimeslots?intervention_ids[]={CUT}&calendar_id={CALENDAR}&hold={hold}"
    );
    let start = format!("2025-06-02 {time}:00");
    let found = server.get(&format!("{path}&nDays=1")).await.is(200);
    let slots = found["availabletimeslots"].as_array().expect("slots");
    let explained = server.get(&format!("{path}&explain={start}")).await.is(200);
    let reasons = explained["calendars"][0]["reasons"].as_array().expect("reasons");
    let rules = reasons.iter().map(|reason| reason["rule"].as_str().expect("a rule").to_owned());
    (slots.iter().any(|slot| slot["start"] == start), rules.collect())
}

#[tokio::test]
async fn held_time_is_free_for_its_holder_and_taken_for_every_other_web_caller() {
    let server = shop_with(|_| {}).await;
    let held = hold(&server, "09:00").await.is(201);
    assert_eq!(held["expires_at"], "2025-06-02 08:10:00");
    assert_eq!(
        (&held["start"], &held["end"]),
        (&json!("2025-06-02 09:00:00"), &json!("2025-06-02 09:30:00"))
    );
    assert_eq!(seen(&server, "09:00", "").await, (false, vec!["held".to_owned()]));
    assert_eq!(seen(&server, "09:00", token(&held)).await, (true, Vec::new()));
    book(&server, &booking("09:00", "")).await.refused(400, 14, Some("date"));
    hold(&server, "09:00").await.refused(400, 14, Some("date"));
    let other = json!({"appointment": {"date": "2025-06-02 09:00:00", "intervention_ids": [CUT],
        "calendar_id": CALENDAR}});
    answer(server.by_account(Method::POST, BOOKINGS).json(&other)).await.refused(
        400,
        14,
        Some("date"),
    );
    let booked = book(&server, &booking("09:00", token(&held))).await.is(201);
    assert_eq!(booked["records"][0]["start"], "2025-06-02 09:00:00");
    assert_eq!(seen(&server, "09:00", token(&held)).await, (false, vec!["taken".to_owned()]));
    release(&server, token(&held)).await.refused(404, 3, None);
    assert_eq!(
        server.pro_get("/groups/4/vevents").await.is(200)["totalRecords"],
        4,
        "one appointment"
    );
}

#[tokio::test]
async fn a_hold_ends_with_its_ten_minutes_and_when_it_is_given_back() {
    let server = shop_with(|_| {}).await;
    let first = hold(&server, "09:00").await.is(201);
    let given_back = release(&server, token(&first)).await.is(200);
    assert_eq!(given_back["start"], "2025-06-02 09:00:00");
    assert!(seen(&server, "09:00", "").await.0);
    release(&server, token(&first)).await.refused(404, 3, None);
    hold(&server, "09:00").await.is(201);
    server.at(clock(8, 10));
    assert!(seen(&server, "09:00", "").await.0);
    book(&server, &booking("09:00", "")).await.is(201);
}

#[tokio::test]
async fn a_source_holds_three_times_and_a_hold_may_replace_another() {
    let server = shop_with(|_| {}).await;
    // The share of a longer day has room for all of them.
    let longer = json!({"vevent": {"calendar_id": CALENDAR, "type": "VfreebusyEvent",
        "start": "2025-06-02 12:00:00", "end": "2025-06-02 22:00:00"}});
    answer(server.by_pro(Method::POST, "/groups/4/vevents").json(&longer)).await.is(201);
    let first = hold(&server, "09:00").await.is(201);
    hold(&server, "09:30").await.is(201);
    hold(&server, "10:00").await.is(201);
    let fourth = hold(&server, "10:30").await;
    fourth.refused(429, 4, None);
    assert_eq!(fourth.headers["retry-after"], "600");
    let body = json!({"hold": {"date": "2025-06-02 10:30:00", "intervention_ids": [CUT],
        "calendar_id": OTHER_CALENDAR, "hold": token(&first)}});
    answer(server.by_key(Method::POST, HOLDS).json(&body)).await.is(201);
    assert!(seen(&server, "09:00", "").await.0, "the first was replaced");
    server.at(clock(8, 10));
    hold(&server, "11:00").await.is(201);
}

#[tokio::test]
async fn a_professionals_appointment_ends_a_hold() {
    let server = shop_with(|_| {}).await;
    let held = hold(&server, "09:00").await.is(201);
    let mut by_hand = booking("09:00", "");
    by_hand["appointment"]["from_web"] = json!(0);
    answer(server.by_pro(Method::POST, BOOKINGS).json(&by_hand)).await.is(201);
    let mut late = booking("09:00", token(&held));
    late["appointment"]["fiche"]["email"] = json!("other@example.org");
    book(&server, &late).await.refused(400, 14, Some("date"));
}

#[tokio::test]
async fn faults_of_a_hold_name_their_fields() {
    let server = shop_with(|_| {}).await;
    let body =
        json!({"hold": {"date": "soon", "intervention_ids": [], "calendar_id": 99, "hold": "?"}});
    let faults = answer(server.by_key(Method::POST, HOLDS).json(&body)).await;
    let fields: Vec<_> = faults.errors().into_iter().filter_map(|(_, field)| field).collect();
    assert_eq!(fields, ["date", "intervention_ids", "calendar_id", "hold"]);
    hold(&server, "07:30").await.refused(400, 9, Some("date"));
}

#[tokio::test]
async fn a_booking_waits_for_its_code_and_tells_nothing_of_the_client() {
    let server = verifying(VerifyBookings::Mail).await;
    let known = book(&server, &booking_for("known@example.org", "09:00")).await.is(202);
    let unknown = book(&server, &booking_for("new@example.org", "09:30")).await.is(202);
    let registered = book(&server, &booking_for(shop::CLEO.0, "10:00")).await.is(202);
    for answer in [&known, &unknown, &registered] {
        let fields: Vec<_> = answer.as_object().expect("an object").keys().collect();
        assert_eq!(fields, ["token", "expires_at"]);
        assert_eq!(answer["expires_at"], "2025-06-02 08:15:00");
    }
    assert_eq!(server.pro_get(BOOKINGS).await.is(200)["totalRecords"], 0);
    assert_eq!(seen(&server, "09:00", "").await.1, ["held"]);
    let messages = server.pro_get("/groups/4/messages").await;
    assert!(!messages.text.contains(&code(token(&known))), "{}", messages.text);
    assert_eq!(messages.is(200)["records"][0]["kind"], "mail_code");
    let booked = confirm(&server, token(&known), &code(token(&known))).await.is(201);
    assert_eq!(booked["records"][0]["start"], "2025-06-02 09:00:00");
    confirm(&server, token(&unknown), &code(token(&unknown))).await.is(201);
    confirm(&server, token(&registered), &code(token(&registered))).await.refused(
        400,
        11,
        Some("fiche.email"),
    );
    let listed = server.pro_get(BOOKINGS).await.is(200);
    assert_eq!(listed["records"][0]["fiche_id"], shop::KNOWN_FICHE);
    assert_ne!(listed["records"][1]["fiche_id"], shop::KNOWN_FICHE);
    let again = confirm(&server, token(&known), &code(token(&known))).await.is(201);
    assert_eq!(again["records"][0]["id"], booked["records"][0]["id"]);
    assert_eq!(server.pro_get(BOOKINGS).await.is(200)["totalRecords"], 2);
}

#[tokio::test]
async fn five_wrong_codes_end_a_booking_and_free_its_time() {
    let server = verifying(VerifyBookings::Mail).await;
    let made = book(&server, &booking_for("new@example.org", "09:00")).await.is(202);
    for _ in 0..5 {
        confirm(&server, token(&made), &wrong(token(&made))).await.refused(400, 2, Some("code"));
    }
    confirm(&server, token(&made), &code(token(&made))).await.refused(400, 2, Some("token"));
    assert!(seen(&server, "09:00", "").await.0);
    confirm(&server, &"0".repeat(32), "123456").await.refused(400, 2, Some("token"));
    let faults = confirm(&server, "short", "12345").await;
    assert_eq!(faults.errors().len(), 2, "{}", faults.text);
}

#[tokio::test]
async fn wrong_codes_before_a_confirmation_count_after_it() {
    let server = verifying(VerifyBookings::Mail).await;
    let made = book(&server, &booking_for("new@example.org", "09:00")).await.is(202);
    for _ in 0..4 {
        confirm(&server, token(&made), &wrong(token(&made))).await.refused(400, 2, Some("code"));
    }
    for _ in 0..2 {
        confirm(&server, token(&made), &code(token(&made))).await.is(201);
    }
    confirm(&server, token(&made), &wrong(token(&made))).await.refused(400, 2, Some("code"));
    confirm(&server, token(&made), &code(token(&made))).await.refused(400, 2, Some("token"));
}

#[tokio::test]
async fn a_booking_that_was_proved_by_a_code_counts_as_the_clients() {
    let server = shop_with(|catalogue| {
        catalogue.group.verify_bookings = VerifyBookings::Mail;
        catalogue.group.maxrdv_number = Bounded::new(1).expect("a number");
    })
    .await;
    let book = async |time| book(&server, &booking_for("known@example.org", time)).await.is(202);
    let (first, second) = (book("09:00").await, book("10:00").await);
    confirm(&server, token(&first), &code(token(&first))).await.is(201);
    confirm(&server, token(&second), &code(token(&second))).await.refused(400, 6, None);
}

#[tokio::test]
async fn a_code_is_good_for_fifteen_minutes_and_time_stays_as_it_was_decided() {
    let server = shop_with(|catalogue| {
        catalogue.group.verify_bookings = VerifyBookings::Mail;
        for calendar in catalogue.calendars.values_mut() {
            Arc::make_mut(calendar).mintime_rdv = Bounded::new(60).expect("a lead");
        }
    })
    .await;
    let first = book(&server, &booking_for("a@example.org", "09:00")).await.is(202);
    let second = book(&server, &booking_for("b@example.org", "09:30")).await.is(202);
    server.at(clock(8, 14));
    confirm(&server, token(&first), &code(token(&first))).await.is(201);
    server.at(clock(8, 15));
    confirm(&server, token(&second), &code(token(&second))).await.refused(400, 2, Some("token"));
    book(&server, &booking_for("b@example.org", "09:00")).await.refused(400, 9, Some("date"));
}

#[tokio::test]
async fn a_professional_may_take_the_time_of_a_booking_that_waits() {
    let server = verifying(VerifyBookings::Mail).await;
    let made = book(&server, &booking_for("a@example.org", "09:00")).await.is(202);
    let mut by_hand = booking("09:00", "");
    by_hand["appointment"]["from_web"] = json!(0);
    answer(server.by_pro(Method::POST, BOOKINGS).json(&by_hand)).await.is(201);
    confirm(&server, token(&made), &code(token(&made))).await.refused(400, 14, Some("date"));
}

#[tokio::test]
async fn the_clients_rules_come_with_the_code_and_leave_the_booking_waiting() {
    let server = verifying(VerifyBookings::Mail).await;
    let mut by_hand = booking("09:00", "");
    by_hand["appointment"]["from_web"] = json!(0);
    by_hand["appointment"]["calendar_id"] = json!(OTHER_CALENDAR);
    by_hand["appointment"]["fiche"] = json!({"id": shop::KNOWN_FICHE});
    let other = answer(server.by_pro(Method::POST, BOOKINGS).json(&by_hand)).await.is(201);
    let made = book(&server, &booking_for("known@example.org", "09:00")).await.is(202);
    let refused = confirm(&server, token(&made), &code(token(&made))).await;
    refused.refused(400, 12, Some("date"));
    // The account of another client does not learn the time either.
    let body = json!({"token": token(&made), "code": code(token(&made))});
    let by_cleo = answer(server.by_account(Method::POST, CONFIRM).json(&body)).await;
    assert_eq!((by_cleo.status, by_cleo.text), (refused.status, refused.text));
    let id = &other["records"][0]["id"];
    answer(server.by_pro(Method::DELETE, &format!("{BOOKINGS}/{id}"))).await.is(200);
    confirm(&server, token(&made), &code(token(&made))).await.is(201);
}

#[tokio::test]
async fn by_text_message_a_known_client_is_joined_only_with_its_own_number() {
    let server = verifying(VerifyBookings::Sms).await;
    let own = book(&server, &booking_for("phoned@example.org", "09:00")).await.is(202);
    confirm(&server, token(&own), &code(token(&own))).await.is(201);
    let others = book(&server, &booking_for("known@example.org", "09:30")).await.is(202);
    confirm(&server, token(&others), &code(token(&others))).await.is(201);
    let accounts = book(&server, &booking_for(shop::CLEO.0, "10:00")).await.is(202);
    confirm(&server, token(&accounts), &code(token(&accounts))).await.is(201);
    let listed = server.pro_get(BOOKINGS).await.is(200);
    let clients: Vec<_> = listed["records"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|row| row["fiche_id"].as_u64())
        .collect();
    assert_eq!(clients[0], Some(43));
    assert!(
        !clients[1..].contains(&Some(shop::KNOWN_FICHE))
            && !clients.contains(&Some(shop::OWN_FICHE))
    );
    let mut unreachable = booking_for("a@example.org", "11:00");
    unreachable["appointment"]["fiche"]["firstphone"] = json!("none");
    book(&server, &unreachable).await.refused(400, 2, Some("fiche.firstphone"));
}

#[tokio::test]
async fn a_waiting_booking_is_made_once_for_an_idempotency_key() {
    let server = verifying(VerifyBookings::Mail).await;
    let send = || async {
        let request =
            server.by_key(Method::POST, BOOKINGS).header("Idempotency-Key", "a-long-enough-key");
        answer(request.json(&booking_for("a@example.org", "09:00"))).await
    };
    let first = send().await;
    let again = send().await;
    assert_eq!((again.status.as_u16(), &again.text), (202, &first.text));
}

#[tokio::test]
async fn a_code_satisfies_validate_email_but_not_open_data_and_is_for_key_alone() {
    let server = verifying(VerifyBookings::Mail).await;
    let own = json!({"appointment": {"date": "2025-06-02 09:00:00", "intervention_ids": [CUT],
        "calendar_id": CALENDAR}});
    answer(server.by_account(Method::POST, BOOKINGS).json(&own)).await.is(201);
    let closed = shop_with(|catalogue| {
        catalogue.group.verify_bookings = VerifyBookings::Mail;
        catalogue.group.open_data = false;
    })
    .await;
    book(&closed, &booking_for("a@example.org", "09:00")).await.refused(403, 1, None);
    hold(&closed, "09:00").await.refused(403, 1, None);
    let open = verifying(VerifyBookings::Off).await;
    book(&open, &booking_for("a@example.org", "09:00")).await.refused(403, 1, None);
}

/// Moves an appointment with its secret.
async fn move_to(server: &TestServer, row: &Value, start: &str, hold: &str) -> Answer {
    let path = format!("{BOOKINGS}/{}?key={}", row["id"], row["key"].as_str().expect("a secret"));
    let body = json!({"appointment": {"date": start, "hold": hold}});
    answer(server.by_key(Method::PUT, &path).json(&body)).await
}

async fn booked(server: &TestServer, time: &str) -> Value {
    book(server, &booking(time, "")).await.is(201)["records"][0].clone()
}

#[tokio::test]
async fn a_move_keeps_the_appointment_and_frees_its_old_time() {
    let server = shop_with(|catalogue| {
        for calendar in catalogue.calendars.values_mut() {
            Arc::make_mut(calendar).mintime_annulation = Bounded::new(0).expect("minutes");
        }
    })
    .await;
    let row = booked(&server, "09:00").await;
    let path = format!(
        "/groups/4/availabletimeslots?intervention_ids[]={CUT}&nDays=1&appointment_id={}&key={}",
        row["id"],
        row["key"].as_str().expect("a secret")
    );
    let offered = server.get(&path).await.is(200);
    let own = offered["availabletimeslots"].as_array().expect("slots").iter();
    assert!(own.clone().any(|slot| slot["start"] == "2025-06-02 09:00:00"), "its own time");
    assert!(own.clone().all(|slot| slot["calendar_ids"] == json!([CALENDAR])));
    let moved = move_to(&server, &row, "2025-06-02 09:15:00", "").await.is(200);
    for same in ["id", "key", "calendar_id", "intervention_id"] {
        assert_eq!(moved[same], row[same], "{same}");
    }
    assert_eq!(moved["start"], "2025-06-02 09:15:00");
    assert_eq!(seen(&server, "08:45", "").await.1.len(), 1);
    assert!(!seen(&server, "09:15", "").await.0);
    let held = hold(&server, "10:00").await.is(201);
    move_to(&server, &row, "2025-06-02 10:00:00", "").await.refused(400, 14, Some("date"));
    move_to(&server, &row, "2025-06-02 10:00:00", token(&held)).await.is(200);
    assert!(seen(&server, "09:00", "").await.0);
    let messages = server.pro_get("/groups/4/messages").await.is(200);
    let kinds: Vec<&Value> = messages["records"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|message| &message["kind"])
        .collect();
    assert_eq!(kinds, ["confirmation", "change"], "unsent moves are told by one mail");
}

#[tokio::test]
async fn a_move_follows_the_rules_of_a_web_booking_and_of_cancellations() {
    let server = shop_with(|catalogue| {
        catalogue.group.mintime_between = Bounded::new(30).expect("minutes");
        for calendar in catalogue.calendars.values_mut() {
            let calendar = Arc::make_mut(calendar);
            calendar.mintime_annulation = Bounded::new(60).expect("minutes");
            calendar.mintime_rdv = Bounded::new(30).expect("minutes");
        }
    })
    .await;
    let row = booked(&server, "09:30").await;
    booked(&server, "11:00").await;
    let late = "2025-06-02 10:15:00";
    move_to(&server, &row, late, "").await.refused(400, 7, Some("date"));
    move_to(&server, &row, "2025-06-02 11:00:00", "").await.refused(400, 12, Some("date"));
    move_to(&server, &row, "2025-06-02 09:07:00", "").await.refused(400, 14, Some("date"));
    let mut wrong = row.clone();
    wrong["key"] = json!("00000000000000000000");
    move_to(&server, &wrong, late, "").await.refused(404, 3, None);
    let path = format!("{BOOKINGS}/{}?key={}", row["id"], row["key"].as_str().expect("a secret"));
    let other = json!({"appointment": {"date": late, "calendar_id": OTHER_CALENDAR}});
    answer(server.by_key(Method::PUT, &path).json(&other)).await.refused(
        400,
        2,
        Some("calendar_id"),
    );
    server.at(clock(8, 30));
    move_to(&server, &row, "2025-06-02 09:00:00", "").await.is(200);
    server.at(clock(8, 31));
    move_to(&server, &row, "2025-06-02 09:30:00", "").await.refused(400, 10, None);
    answer(server.by_key(Method::DELETE, &path)).await.refused(400, 10, None);
    let by_hand = json!({"appointment": {"date": "2025-06-02 09:30:00"}});
    answer(server.by_pro(Method::PUT, &format!("{BOOKINGS}/{}", row["id"])).json(&by_hand))
        .await
        .is(200);
}
