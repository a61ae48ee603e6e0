//! Strangers who have the practice write to others.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use slotbook::http::BookingLimits;

use crate::fixture::{ANNA, Practice, Visitor, answer};
use crate::mailbox::{Mail, Mailbox, code_of, mailing_practice};

/// A practice that mails through a server of the test.
async fn mailing(by_key_daily_max: usize, mailbox: Option<&Mailbox>) -> Practice {
    mailing_with(|_| {}, by_key_daily_max, mailbox).await
}

/// A practice whose bookings by a key alone need a code by a channel.
async fn verifying(channel: &str, mailbox: Option<&Mailbox>) -> Practice {
    mailing_with(|document| document["groups"][0]["verify_bookings"] = json!(channel), 0, mailbox)
        .await
}

async fn mailing_with(
    change: impl FnOnce(&mut Value),
    by_key_daily_max: usize,
    mailbox: Option<&Mailbox>,
) -> Practice {
    mailing_practice(change, BookingLimits::NONE, by_key_daily_max, mailbox).await
}

/// The messages by Anna's list, once `number` of them are settled.
async fn settled(practice: &Practice, number: usize) -> Vec<Value> {
    for _ in 0..2_000 {
        let path = "/groups/1/messages?results=1000";
        let list = practice.visitor("127.0.0.1").request(Method::GET, path);
        let list = answer(list.basic_auth(ANNA.0, Some(ANNA.1))).await.is(200);
        let records = list["records"].as_array().expect("a list").clone();
        let is_settled = |record: &&Value| {
            !["planned", "sending"].contains(&record["state"].as_str().expect("a text"))
        };
        if records.iter().filter(is_settled).count() >= number {
            return records;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{number} messages are not settled in time");
}

/// Books the nth free start under a name, and returns the appointment.
async fn book_as(stranger: &Visitor, start: &(String, u64), name: &str, email: &str) -> Value {
    let (date, calendar) = start;
    let booking = stranger.request(Method::POST, "/groups/1/appointments");
    let made = answer(booking.json(&json!({"appointment": {
        "date": date, "intervention_ids": [1], "calendar_id": calendar,
        "fiche": {"lastname": name, "email": email, "firstphone": "+88213999999"},
    }})))
    .await
    .is(201);
    made["records"][0].clone()
}

/// Books a start, gives the code that was sent, and returns the appointment.
async fn book_with_code(practice: &Practice, start: &(String, u64), fiche: Value) -> Value {
    let stranger = practice.visitor("127.0.0.2");
    let (date, calendar) = start;
    let booking = stranger.request(Method::POST, "/groups/1/appointments");
    let waiting = answer(booking.json(&json!({"appointment": {
        "date": date, "intervention_ids": [1], "calendar_id": calendar, "smsreminder": true,
        "fiche": fiche,
    }})))
    .await
    .is(202);
    // A code that is given before it is sent is not sent any more.
    settled(practice, 1).await;
    let token = &waiting["token"];
    let confirmation = stranger.request(Method::POST, "/groups/1/appointments/confirm");
    let given = json!({"token": token, "code": code_of(token)});
    answer(confirmation.json(&given)).await.is(201)["records"][0].clone()
}

/// The number of text messages that are planned about an appointment.
async fn planned_texts(practice: &Practice, booked: &Value) -> usize {
    let path = "/groups/1/messages?results=1000";
    let list = practice.visitor("127.0.0.1").request(Method::GET, path);
    let list = answer(list.basic_auth(ANNA.0, Some(ANNA.1))).await.is(200);
    let mut planned = 0;
    for record in list["records"].as_array().expect("a list") {
        let is_text = record["kind"] == "sms_reminder";
        planned += usize::from(is_text && record["appointment_id"] == booked["id"]);
    }
    planned
}

/// Changes the countries that the shop sends text messages to.
async fn set_countries(practice: &Practice, countries: &str) {
    let group = json!({"group": {"sms_countries": countries}});
    let change = practice.visitor("127.0.0.1").request(Method::PUT, "/groups/1").json(&group);
    answer(change.basic_auth(ANNA.0, Some(ANNA.1))).await.is(200);
}

/// The mails to an address, once there are `number` of them.
async fn mails_to(mailbox: &Mailbox, to: &str, number: usize) -> Vec<Mail> {
    for _ in 0..2_000 {
        let mut mails = mailbox.mails();
        mails.retain(|mail| mail.to == to);
        if mails.len() >= number {
            return mails;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{number} mails to {to} have not come in time");
}

/// The states of the reminders of an appointment, by mail and by text message.
async fn reminders(practice: &Practice, booked: &Value) -> Vec<String> {
    let mut states = Vec::new();
    for record in settled(practice, 0).await {
        let kind = record["kind"].as_str().expect("a text");
        if kind.ends_with("_reminder") && record["appointment_id"] == booked["id"] {
            states.push(record["state"].as_str().expect("a text").to_owned());
        }
    }
    states
}

#[tokio::test]
async fn a_stranger_has_at_most_the_daily_maximum_mailed_and_the_shop_still_writes() {
    let mailbox = Mailbox::open().await;
    let practice = mailing(8, Some(&mailbox)).await;
    let mut free = practice.hourly_starts().await;
    let stranger = practice.visitor("127.0.0.2");
    let mut made = Vec::new();
    for number in 0..20 {
        let start = free.pop_front().expect("a start");
        let email = format!("c{number}@example.org");
        made.push(book_as(&stranger, &start, "Durand", &email).await);
    }
    settled(&practice, 20).await;
    assert_eq!(mailbox.mails().len(), 8);
    // Who was never told of a booking is not told of its end either.
    for record in &made {
        let (id, key) = (&record["id"], record["key"].as_str().expect("a secret"));
        let path = format!("/groups/1/appointments/{id}?key={key}");
        answer(stranger.request(Method::DELETE, &path)).await.is(200);
    }
    let records = settled(&practice, 40).await;
    assert_eq!(mailbox.mails().len(), 8, "the maximum holds for cancellations too");
    let unconfirmed = |record: &&Value| {
        record["reason"].as_str().is_some_and(|reason| reason.contains("never confirmed"))
    };
    assert_eq!(records.iter().filter(unconfirmed).count(), 12);
    // A booking by the shop is mailed as ever.
    let anna = practice.visitor("127.0.0.1");
    let booking = anna.booking(&free.pop_front().expect("a start"), "guest@example.org");
    answer(booking.basic_auth(ANNA.0, Some(ANNA.1))).await.is(201);
    settled(&practice, 41).await;
    assert_eq!(mailbox.mails().last().expect("a mail").to, "guest@example.org");
}

#[tokio::test]
async fn a_mail_caused_by_a_stranger_repeats_no_address_and_no_link() {
    let mailbox = Mailbox::open().await;
    let practice = mailing(0, Some(&mailbox)).await;
    let mut free = practice.hourly_starts().await;
    let stranger = practice.visitor("127.0.0.2");
    let names = ["Win at evil.example/now", "EVIL.example", "pay@evil.example", "call 0900123456"];
    for (number, name) in names.iter().enumerate() {
        let start = free.pop_front().expect("a start");
        book_as(&stranger, &start, name, &format!("c{number}@example.org")).await;
    }
    let start = free.pop_front().expect("a start");
    book_as(&stranger, &start, "Marie Curie", "marie@example.org").await;
    settled(&practice, 5).await;
    let mails = mailbox.mails();
    assert_eq!(mails.len(), 5);
    for mail in mails {
        let text = mail.text.to_lowercase();
        assert!(!text.contains("evil") && !text.contains("0900123456"), "{}", mail.text);
        assert_eq!(text.contains("marie curie"), mail.to == "marie@example.org");
    }
}

#[tokio::test]
async fn a_stranger_has_no_text_message_sent_abroad() {
    let practice = mailing(0, None).await;
    // In three days, so that its reminder is among those planned.
    let mut free = practice.hourly_starts().await.into_iter();
    let start = free.find(|(date, _)| date.starts_with("2026-03-05")).expect("a start");
    let stranger = practice.visitor("127.0.0.2");
    let booked = book_as(&stranger, &start, "Durand", "c@example.org").await;
    assert_eq!(planned_texts(&practice, &booked).await, 0);
    for (countries, number) in [("+882", 1), ("country_code,+32", 0), ("", 1)] {
        set_countries(&practice, countries).await;
        assert_eq!(planned_texts(&practice, &booked).await, number, "{countries:?}");
    }
    let wrong = json!({"group": {"sms_countries": "France"}});
    let change = practice.visitor("127.0.0.1").request(Method::PUT, "/groups/1").json(&wrong);
    answer(change.basic_auth(ANNA.0, Some(ANNA.1))).await.refused(400, 2);
}

#[tokio::test]
async fn a_stranger_with_a_mailbox_has_no_text_message_sent_abroad() {
    for (channel, phone, expected) in
        [("mail", "+88213999999", 0), ("mail", "0639980001", 1), ("sms", "0639980001", 1)]
    {
        let mailbox = Mailbox::open().await;
        let practice = verifying(channel, Some(&mailbox)).await;
        let mut free = practice.hourly_starts().await.into_iter();
        let start = free.find(|(date, _)| date.starts_with("2026-03-05")).expect("a start");
        let fiche = json!({"lastname": "Durand", "email": "own@example.org", "firstphone": phone});
        let booked = book_with_code(&practice, &start, fiche).await;
        assert_eq!(planned_texts(&practice, &booked).await, expected, "{channel} {phone}");
        set_countries(&practice, "").await;
        assert_eq!(planned_texts(&practice, &booked).await, 1, "every country is allowed");
    }
}

#[tokio::test]
async fn a_code_by_text_message_proves_no_mail_address() {
    for (channel, shows_name) in [("sms", false), ("mail", true)] {
        let mailbox = Mailbox::open().await;
        let practice = verifying(channel, Some(&mailbox)).await;
        let mut free = practice.hourly_starts().await.into_iter();
        let start = free.find(|(date, _)| date.starts_with("2026-03-05")).expect("a start");
        let address = "victim@elsewhere.example";
        let booked = book_with_code(
            &practice,
            &start,
            json!({"lastname": "Win at evil.example/now", "email": address,
                "firstphone": "0639980001"}),
        )
        .await;
        let before = if channel == "mail" { 2 } else { 1 };
        for mail in mails_to(&mailbox, address, before).await {
            assert!(!mail.text.contains("evil"), "{}", mail.text);
        }
        // A day before the appointment its reminder leaves: until the evening before.
        practice.pass(60 * 3_600);
        let mails = mails_to(&mailbox, address, before + 1).await;
        let reminder = &mails.last().expect("a reminder").text;
        assert_eq!(reminder.contains("evil"), shows_name, "{channel}: {reminder}");
        let path = format!("/groups/1/appointments/{}", booked["id"]);
        let cancellation = practice.visitor("127.0.0.1").request(Method::DELETE, &path);
        answer(cancellation.basic_auth(ANNA.0, Some(ANNA.1))).await.is(200);
        let mails = mails_to(&mailbox, address, before + 2).await;
        let cancelled = &mails.last().expect("a cancellation").text;
        assert_eq!(cancelled.contains("evil"), shows_name, "{channel}: {cancelled}");
    }
}

/// The first and the last free start of a day whose reminders are due in three days.
async fn first_and_last_start(practice: &Practice) -> [(String, u64); 2] {
    let mut free = practice.free_starts().await;
    free.retain(|(date, _)| date.starts_with("2026-03-05"));
    [free.pop_front().expect("a start"), free.pop_back().expect("a start")]
}

#[tokio::test]
async fn no_reminder_is_sent_of_a_strangers_booking_beyond_the_daily_maximum() {
    let mailbox = Mailbox::open().await;
    let practice = mailing(1, Some(&mailbox)).await;
    set_countries(&practice, "").await;
    let starts = first_and_last_start(&practice).await;
    let stranger = practice.visitor("127.0.0.2");
    let mut made = Vec::new();
    for (number, start) in starts.iter().enumerate() {
        let email = format!("c{number}@example.org");
        made.push(book_as(&stranger, start, "Durand", &email).await);
        settled(&practice, number + 1).await;
    }
    assert_eq!(reminders(&practice, &made[0]).await, ["planned", "planned"]);
    assert_eq!(reminders(&practice, &made[1]).await, [""; 0]);
    // To the evening before, when both reminders by mail are due.
    practice.pass(60 * 3_600);
    mails_to(&mailbox, "c0@example.org", 2).await;
    assert_eq!(reminders(&practice, &made[1]).await, [""; 0]);
    assert!(mailbox.mails().iter().all(|mail| mail.to != "c1@example.org"));
    // The shop moves it and mails its client, who is then reminded of it.
    let path = format!("/groups/1/vevents/{}", made[1]["id"]);
    let body = json!({"vevent": {"start": "2026-03-07 06:00:00"}});
    let change = practice.visitor("127.0.0.1").request(Method::PUT, &path).json(&body);
    answer(change.basic_auth(ANNA.0, Some(ANNA.1))).await.is(200);
    mails_to(&mailbox, "c1@example.org", 1).await;
    assert_eq!(reminders(&practice, &made[1]).await, ["planned", "planned"]);
}

#[tokio::test]
async fn reminders_of_strangers_bookings_that_no_mail_announced_count_in_the_daily_maximum() {
    let mailbox = Mailbox::open().await;
    let confirms_nothing = |document: &mut Value| document["groups"][0]["sendmail"] = json!(false);
    let practice = mailing_with(confirms_nothing, 1, Some(&mailbox)).await;
    let starts = first_and_last_start(&practice).await;
    let stranger = practice.visitor("127.0.0.2");
    let mut made = Vec::new();
    for (number, start) in starts.iter().enumerate() {
        let email = format!("c{number}@example.org");
        made.push(book_as(&stranger, start, "Durand", &email).await);
    }
    // To the evening before, when both reminders are due.
    practice.pass(60 * 3_600);
    let mut states = Vec::new();
    for booked in &made {
        let mut state = reminders(&practice, booked).await;
        for _ in 0..2_000 {
            if state == ["sent"] || state == ["suppressed"] {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
            state = reminders(&practice, booked).await;
        }
        states.extend(state);
    }
    states.sort_unstable();
    assert_eq!(states, ["sent", "suppressed"]);
    let mut mails = mailbox.mails();
    mails.retain(|mail| ["c0@example.org", "c1@example.org"].contains(&mail.to.as_str()));
    assert_eq!(mails.len(), 1);
}
