//! Bookings in the name of another person's address: what they stop, and what they tell.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};
use slotbook::notify::Gateways;

use crate::fixture::{ANNA, Answer, Practice, Visitor, answer};
use crate::mailbox::{Mailbox, code_of, secret};
use crate::moves::Held;

const VICTIM: &str = "victim@example.org";
/// Headers that differ from answer to answer.
const VOLATILE: [&str; 5] = ["date", "x-request-id", "location", "etag", "content-length"];

/// The practice with settings of its group, and a mail server if there is a mailbox. No mails are
/// carried to it, so that each request writes its own events only.
async fn practice_with(group: Value, mailbox: Option<&Mailbox>) -> Practice {
    let change = |document: &mut Value| {
        let settings = group.as_object().expect("fields");
        for (name, value) in settings {
            document["groups"][0][name] = value.clone();
        }
    };
    let gateways = Arc::new(Gateways {
        mail: mailbox.map(Mailbox::client),
        link_secret: Some(secret()),
        ..Gateways::unconfigured("")
    });
    Practice::with(change, |server| server.with_gateways(gateways)).await
}

/// Books for the victim, the next free start each time. Returns the bookings.
async fn book(visitor: &Visitor, free: &mut VecDeque<(String, u64)>, number: usize) -> Vec<Held> {
    let mut held = Vec::new();
    for _ in 0..number {
        let start = free.pop_back().expect("a start");
        held.push(Held::of(&visitor.book(&start, VICTIM).await.is(201)));
    }
    held
}

#[tokio::test]
async fn without_a_mail_server_an_address_is_limited_at_each_source_by_itself() {
    let practice = practice_with(json!({"maxrdv_number": 0}), None).await;
    let mut free = practice.hourly_starts().await;
    let stranger = practice.visitor("127.0.0.2");
    book(&stranger, &mut free, 5).await;
    let start = free.pop_back().expect("a start");
    stranger.book(&start, "Victim+1@example.org").await.refused(429, 4);
    for number in 0..8 {
        book(&practice.forwarded(&format!("198.51.{number}.1")), &mut free, 1).await;
    }
    book(&practice.visitor("127.0.0.9"), &mut free, 5).await;
}

#[tokio::test]
async fn an_address_beyond_its_limit_is_asked_for_a_code_and_never_refused() {
    let mailbox = Mailbox::open().await;
    let practice = practice_with(json!({"maxrdv_number": 0}), Some(&mailbox)).await;
    let mut free = practice.hourly_starts().await;
    let strangers = [practice.forwarded("203.0.113.7"), practice.forwarded("192.0.2.7")];
    for stranger in &strangers {
        book(stranger, &mut free, 5).await;
    }
    let client = practice.visitor("127.0.0.9");
    let asked = client.book(&free.pop_back().expect("a start"), VICTIM).await.is(202);
    let confirmation = json!({"token": asked["token"], "code": code_of(&asked["token"])});
    let path = "/groups/1/appointments/confirm";
    answer(client.request(Method::POST, path).json(&confirmation)).await.is(201);
    // Strangers who use up the codes of the address do not lock it out either.
    for network in 0..8 {
        let stranger = practice.forwarded(&format!("198.51.{network}.1"));
        for _ in 0..3 {
            let start = free.pop_back().expect("a start");
            let status = stranger.book(&start, VICTIM).await.status;
            assert!(status == 202 || status == 201, "{status}");
        }
    }
    let booked = client.book(&free.pop_back().expect("a start"), VICTIM).await;
    assert!(booked.status == 202 || booked.status == 201, "{}", booked.text);
}

#[tokio::test]
async fn cancelled_bookings_do_not_count_against_the_address() {
    let mailbox = Mailbox::open().await;
    let practice = practice_with(json!({"maxrdv_number": 0}), Some(&mailbox)).await;
    let mut free = practice.hourly_starts().await;
    let client = practice.visitor("127.0.0.2");
    // By the secret, by the page, and by the shop.
    let mut held = book(&client, &mut free, 5).await;
    assert_eq!(held.pop().expect("one").cancel_by_page(&client).await.status, 200);
    for one in &held[..2] {
        one.cancel(&client).await.is(200);
    }
    for one in &held[2..] {
        let path = format!("/groups/1/vevents/{}", one.id());
        let by_anna = client.request(Method::DELETE, &path).basic_auth(ANNA.0, Some(ANNA.1));
        answer(by_anna).await.is(200);
    }
    let again = book(&client, &mut free, 5).await;
    let other = practice.forwarded("203.0.113.7");
    let mut elsewhere = book(&other, &mut free, 5).await;
    // Ten bookings stand, so a code is asked for until one of them goes.
    let newcomer = practice.forwarded("198.51.100.1");
    newcomer.book(&free.pop_back().expect("a start"), VICTIM).await.is(202);
    elsewhere.pop().expect("one").cancel(&other).await.is(200);
    book(&newcomer, &mut free, 1).await;
    // What was booked before the hour is forgotten anyway.
    practice.pass(3_600);
    again[0].cancel(&client).await.is(200);
    book(&newcomer, &mut free, 5).await;
    newcomer.book(&free.pop_back().expect("a start"), VICTIM).await.is(202);
}

#[tokio::test]
async fn bookings_in_a_guests_name_fill_neither_its_number_nor_its_time() {
    let group = json!({"maxrdv_number": 3, "mintime_between": 600});
    let practice = practice_with(group, None).await;
    let mut days = days_of_two_calendars(&practice).await;
    let stranger = practice.visitor("127.0.0.2");
    let guest = practice.forwarded("203.0.113.7");
    let taken = days.split_off(days.len() - 3);
    for (start, [one, _]) in &taken {
        stranger.book(&(start.clone(), *one), VICTIM).await.is(201);
    }
    let (start, [one, other]) = days.pop().expect("a day");
    stranger.book(&(start.clone(), one), VICTIM).await.refused(400, 6);
    for (start, [_, free]) in &taken {
        guest.book(&(start.clone(), *free), VICTIM).await.is(201);
    }
    guest.book(&(start, other), VICTIM).await.refused(400, 6);
}

/// The first start of each day that two calendars offer.
async fn days_of_two_calendars(practice: &Practice) -> Vec<(String, [u64; 2])> {
    let path = "/groups/1/availabletimeslots?intervention_ids[]=1&nDays=30";
    let found = practice.visitor("127.0.0.1").get(path).await.is(200);
    let mut days: Vec<(String, [u64; 2])> = Vec::new();
    for slot in found["availabletimeslots"].as_array().expect("a list") {
        let start = slot["start"].as_str().expect("a time");
        let calendars = slot["calendar_ids"].as_array().expect("a list");
        if let [one, other, ..] = &calendars[..]
            && days.last().is_none_or(|last| last.0[..10] != start[..10])
        {
            let calendars = [one, other].map(|id| id.as_u64().expect("an id"));
            days.push((start.to_owned(), calendars));
        }
    }
    days
}

/// The parts of an answer that a stranger could tell apart.
fn visible(answer: &Answer) -> (u16, BTreeMap<String, String>, Value) {
    let mut headers = BTreeMap::new();
    for (name, value) in &answer.headers {
        if !VOLATILE.contains(&name.as_str()) {
            headers.insert(name.to_string(), value.to_str().expect("a text").to_owned());
        }
    }
    let body = serde_json::from_str(&answer.text).map_or(Value::Null, |body| shape(&body));
    (answer.status.as_u16(), headers, body)
}

/// A body without ids, secrets and tokens.
fn shape(body: &Value) -> Value {
    match body {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| {
                let is_random = ["id", "key", "token"].contains(&name.as_str());
                (name.clone(), if is_random { Value::Null } else { shape(value) })
            })
            .collect(),
        Value::Array(all) => all.iter().map(shape).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => body.clone(),
    }
}

/// What a client does within the hour, at a source of its own: five bookings, a move, a hold, and
/// an ask for an account.
async fn be_busy(practice: &Practice, days: &[(String, [u64; 2])]) {
    let client = practice.forwarded("203.0.113.7");
    let mut held = Vec::new();
    for (start, [_, calendar]) in &days[..5] {
        let booked = client.book(&(start.clone(), *calendar), VICTIM).await;
        held.push(booked);
    }
    if held[0].status == 201 {
        Held::of(&held[0].json()).move_to(&client, &days[5].0).await.is(200);
    }
    for _ in 0..3 {
        ask_for_link(&client).await.is(201);
    }
}

async fn ask_for_link(visitor: &Visitor) -> Answer {
    let account = json!({"account": {"email": VICTIM, "group_id": 1, "pendingRdv": "x"}});
    answer(visitor.request(Method::POST, "/accounts").json(&account)).await
}

/// All that a stranger's requests for an address tell, with the number of events that each writes,
/// which takes most of its time.
async fn probe(
    practice: &Practice,
    days: &[(String, [u64; 2])],
    sources: &[&str],
) -> Vec<(u64, (u16, BTreeMap<String, String>, Value))> {
    let stranger = practice.forwarded(sources[0]);
    let mut seen = Vec::new();
    let mut before = practice.state().sequence;
    let mut tell = |answer: &Answer| {
        let now = practice.state().sequence;
        seen.push((now - before, visible(answer)));
        before = now;
    };
    let hold = json!({"hold": {"date": days[6].0, "intervention_ids": [1],
        "calendar_id": days[6].1[0]}});
    tell(&answer(stranger.request(Method::POST, "/groups/1/holds").json(&hold)).await);
    let mut held = None;
    for (number, (start, [calendar, _])) in days[..8].iter().enumerate() {
        let booker = practice.forwarded(sources[number % sources.len()]);
        let booked = booker.book(&(start.clone(), *calendar), VICTIM).await;
        if held.is_none() && booked.status == 201 {
            held = Some(Held::of(&booked.json()));
        }
        tell(&booked);
    }
    if let Some(held) = held {
        for (start, _) in days[8..].iter().take(3) {
            tell(&held.move_to(&stranger, start).await);
        }
        tell(&held.move_by_page(&stranger, &days[9].0).await);
        tell(&held.cancel(&stranger).await);
    }
    for _ in 0..7 {
        tell(&ask_for_link(&stranger).await);
    }
    let (start, [calendar, _]) = &days[10];
    let (start, calendar) = (start[..16].replace(' ', "T"), calendar.to_string());
    let form = [
        ("s", "1"),
        ("c", &*calendar),
        ("t", &*start),
        ("k", "00112233445566778899aabbccddeeff"),
        ("fiche.lastname", "Durand"),
        ("fiche.firstname", "Ada"),
        ("fiche.firstphone", "0639980001"),
        ("fiche.email", VICTIM),
    ];
    tell(&answer(stranger.form("/b/cabinet-de-sante-des-tilleuls/you", &form)).await);
    seen
}

#[tokio::test]
async fn nothing_tells_whether_an_address_has_booked_within_the_hour() {
    let mailbox = Mailbox::open().await;
    let one = vec!["198.51.100.1"];
    let of_a_48 = vec!["2001:db8:7::1", "2001:db8:7:1::1", "2001:db8:7:100::1"];
    for (verify, mailbox, sources) in [
        ("off", None, &one),
        ("off", Some(&mailbox), &one),
        ("mail", Some(&mailbox), &one),
        ("off", None, &of_a_48),
        ("off", Some(&mailbox), &of_a_48),
    ] {
        let group = json!({"verify_bookings": verify, "maxrdv_number": 6, "mintime_between": 60});
        let mut told = Vec::new();
        for is_busy in [false, true] {
            let practice = practice_with(group.clone(), mailbox).await;
            let days = days_of_two_calendars(&practice).await;
            let days = &days[days.len() - 11..];
            if is_busy {
                be_busy(&practice, days).await;
            }
            told.push(probe(&practice, days, sources).await);
        }
        for (number, (quiet, busy)) in told[0].iter().zip(&told[1]).enumerate() {
            assert_eq!(quiet, busy, "request {number}, verify_bookings={verify}, {sources:?}");
        }
        assert_eq!(told[0].len(), told[1].len());
    }
}

#[tokio::test]
async fn refusals_in_the_name_of_an_address_do_not_keep_its_owner_out() {
    for has_mail in [false, true] {
        let mailbox = Mailbox::open().await;
        let mailbox = has_mail.then_some(&mailbox);
        let practice = practice_with(json!({"maxrdv_number": 0}), mailbox).await;
        let mut free = practice.hourly_starts().await;
        let stranger = practice.forwarded("2001:db8:aa::1");
        let search = "/groups/1/availabletimeslots?intervention_ids[]=1&nDays=30";
        let found = stranger.get(search).await.is(200);
        let slots = found["availabletimeslots"].as_array().expect("a list");
        let slot = slots.iter().rev().find(|slot| slot["capacity"] == 2).expect("two calendars");
        let start = slot["start"].as_str().expect("a time").to_owned();
        let calendar = |n: usize| slot["calendar_ids"][n].as_u64().expect("an id");
        stranger.book(&(start.clone(), calendar(0)), VICTIM).await.is(201);
        for _ in 0..10 {
            stranger.book(&(start.clone(), calendar(1)), VICTIM).await.refused(400, 12);
        }
        stranger.book(&(start.clone(), calendar(1)), VICTIM).await.refused(429, 4);
        free.retain(|(other, _)| other[..10] != start[..10]);
        let owner = practice.forwarded("198.51.100.7");
        let answer = owner.book(&free.pop_back().expect("a start"), VICTIM).await;
        assert!([201, 202].contains(&answer.status.as_u16()), "{has_mail}: {answer:?}");
    }
}

#[tokio::test]
async fn no_code_is_promised_to_an_address_that_no_mail_can_name() {
    let mailbox = Mailbox::open().await;
    let practice = practice_with(json!({"verify_bookings": "mail"}), Some(&mailbox)).await;
    let mut free = practice.hourly_starts().await;
    let client = practice.visitor("127.0.0.9");
    for email in ["a..b@example.org", ".a@example.org", "a(b)@example.org"] {
        let start = free.pop_back().expect("a start");
        let refused = client.book(&start, email).await.is(400);
        assert_eq!(refused["errors"][0]["field"], "fiche.email", "{refused}");
        client.book(&start, "a.b@example.org").await.is(202);
    }
}
