//! Strangers who book from many networks: the group asks for codes by itself, and goes back.

use reqwest::Method;
use serde_json::json;
use slotbook::http::BookingLimits;

use crate::fixture::{ANNA, Practice, answer};
use crate::mailbox::{Mail, Mailbox, code_of, mailing_practice};

/// Hours after which an unusual one does not count any more.
const ALERT_HOURS: i64 = 6;

async fn open(mailbox: Option<&Mailbox>) -> Practice {
    mailing_practice(|_| {}, BookingLimits::DEFAULT, 500, mailbox).await
}

/// Books from a /48 of its own for each booking. Returns the numbers of those that were made, and
/// of those that wait for a code.
async fn attack(practice: &Practice, bookings: usize) -> (usize, usize) {
    let mut free = practice.free_starts().await;
    let mut made = 0;
    let mut waiting = 0;
    let mut n = 0;
    while n < bookings {
        let start = free.pop_front().expect("enough starts");
        let stranger = practice.forwarded(&format!("2001:db8:{n:x}::1"));
        match stranger.book(&start, &format!("stranger{n}@example.org")).await.status.as_u16() {
            201 => made += 1,
            202 => waiting += 1,
            // The start overlaps the one before.
            400 => continue,
            status => panic!("{status}"),
        }
        n += 1;
    }
    (made, waiting)
}

/// Waits for mails to the shop with these words in their text, and returns their number.
async fn count_warnings(mailbox: &Mailbox, words: &str) -> usize {
    let count = || {
        let to_shop = |mail: &&Mail| mail.to == ANNA.0 && mail.text.contains(words);
        mailbox.mails().iter().filter(to_shop).count()
    };
    for _ in 0..200 {
        if count() > 0 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    count()
}

#[tokio::test]
async fn many_bookings_of_an_hour_make_the_group_ask_for_codes_and_warn_its_shop() {
    let mailbox = Mailbox::open().await;
    let practice = open(Some(&mailbox)).await;
    assert_eq!(attack(&practice, 110).await, (21, 89));
    assert_eq!(count_warnings(&mailbox, "cancel_alike").await, 1);
    // A client gives the code, and a professional and an account book as ever.
    let mut free = practice.free_starts().await;
    let client = practice.forwarded("198.51.100.7");
    let asked = client.book(&free.pop_back().expect("a start"), "client@example.org").await.is(202);
    let given = json!({"token": asked["token"], "code": code_of(&asked["token"])});
    let confirmation = client.request(Method::POST, "/groups/1/appointments/confirm").json(&given);
    answer(confirmation).await.is(201);
    let by_anna = client.booking(&free.pop_back().expect("a start"), "guest@example.org");
    answer(by_anna.basic_auth(ANNA.0, Some(ANNA.1))).await.is(201);
    // It goes back after some hours.
    practice.pass((ALERT_HOURS - 1) * 3_600);
    client.book(&free.pop_back().expect("a start"), "late@example.org").await.is(202);
    practice.pass(3_600);
    client.book(&free.pop_back().expect("a start"), "later@example.org").await.is(201);
    client.book(&free.pop_back().expect("a start"), "last@example.org").await.is(201);
    assert_eq!(count_warnings(&mailbox, "est redevenu normal").await, 1);
}

#[tokio::test]
async fn bookings_at_once_are_no_more_than_one_after_another() {
    let mailbox = Mailbox::open().await;
    let practice = open(Some(&mailbox)).await;
    let mut bookings = Vec::new();
    for (n, start) in practice.hourly_starts().await.into_iter().take(110).enumerate() {
        let stranger = practice.forwarded(&format!("2001:db8:{n:x}::1"));
        let booking = stranger.booking(&start, &format!("stranger{n}@example.org"));
        bookings.push(tokio::spawn(async { answer(booking).await.status.as_u16() }));
    }
    let mut made = 0;
    for booking in bookings {
        match booking.await.expect("no panic") {
            201 => made += 1,
            202 => {}
            status => panic!("{status}"),
        }
    }
    assert!((1..=21).contains(&made), "{made}");
}

#[tokio::test]
async fn without_a_mail_server_the_group_asks_for_no_codes() {
    let practice = open(None).await;
    assert_eq!(attack(&practice, 40).await, (40, 0));
    assert_eq!(
        practice.state().outbox.messages().filter(|one| one.kind().name() == "codes_asked").count(),
        0
    );
}
