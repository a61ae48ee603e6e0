//! Strangers who ask for codes to the mailboxes of others: those of clients still leave.

use std::collections::VecDeque;

use reqwest::Method;
use serde_json::{Value, json};
use slotbook::http::BookingLimits;

use crate::fixture::{Answer, Practice, answer};
use crate::mailbox::{Mailbox, code_of, mailing_practice};

/// The telephone number of the demonstration.
const PHONE: &str = "01 99 00 12 30";

/// A practice that asks for a code with every booking, with the limits as they come.
async fn verifying(mailbox: Option<&Mailbox>) -> Practice {
    let change = |document: &mut Value| {
        document["groups"][0]["verify_bookings"] = json!("mail");
        document["groups"][0]["phone"] = json!(PHONE);
    };
    mailing_practice(change, BookingLimits::DEFAULT, 500, mailbox).await
}

/// The live holds of the group.
fn live_holds(practice: &Practice) -> usize {
    let state = practice.state();
    let now = practice.engine.clock().now();
    state.holds().iter().filter(|hold| hold.is_live(now)).count()
}

/// Asserts that an answer is a refusal of a code, with the telephone number.
#[track_caller]
fn assert_calls(refused: &Answer, status: u16) {
    let message = &refused.is(status)["errors"][0]["message"];
    assert!(message.as_str().expect("a text").contains(PHONE), "{message}");
}

/// Waits until as many mails to addresses that begin so have left.
async fn mailed(mailbox: &Mailbox, to: &str, number: usize) {
    let count = || mailbox.mails().iter().filter(|mail| mail.to.starts_with(to)).count();
    for _ in 0..2_000 {
        if count() >= number {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    panic!("{} of {number} mails to {to} have left", count());
}

/// Starts that repeat once all were asked for: their earlier bookings have expired by then.
struct Starts(VecDeque<(String, u64)>);

impl Starts {
    fn next(&mut self) -> (String, u64) {
        let start = self.0.pop_front().expect("some starts");
        self.0.push_back(start.clone());
        start
    }
}

/// Makes the address of a request by its number.
type Source = fn(usize) -> String;

#[tokio::test]
async fn codes_asked_for_from_many_networks_leave_those_of_newcomers() {
    // Of one /56, of a /48, of many /48: the codes that they have sent.
    let sources: [(Source, usize); 3] = [
        (|n| format!("2001:db8:1:{:x}::1", n % 75), 100),
        (|n| format!("2001:db8:1:{:x}00::1", n % 75), 200),
        (|n| format!("2001:db8:{:x}::1", n % 75), 250),
    ];
    for (source, most) in sources {
        let mailbox = Mailbox::open().await;
        let practice = verifying(Some(&mailbox)).await;
        let mut free = Starts(practice.hourly_starts().await);
        let mut sent = 0;
        for n in 0..568 {
            let stranger = practice.forwarded(&source(n));
            let asked = stranger.book(&free.next(), &format!("stranger{n}@example.org")).await;
            match asked.status.as_u16() {
                202 => sent += 1,
                429 => assert_calls(&asked, 429),
                status => assert_eq!(status, 400, "its start is held: {}", asked.text),
            }
            // The starts that were asked for become free again, and the limits by hour rest. Each
            // code that was promised leaves before.
            if n % 60 == 59 {
                mailed(&mailbox, "stranger", sent).await;
                practice.pass(3_600);
            }
        }
        assert!(sent <= most, "{sent} codes of {most}");
        assert!(sent >= most * 9 / 10, "the attack is as large as its share: {sent} of {most}");
        practice.pass(900);
        let newcomer = practice.forwarded("198.51.100.7");
        newcomer.book(&free.next(), "newcomer@shop.example").await.is(202);
        mailed(&mailbox, "newcomer@shop.example", 1).await;
    }
}

#[tokio::test]
async fn without_a_mail_server_no_code_is_promised_and_no_time_held() {
    let practice = verifying(None).await;
    let start = practice.hourly_starts().await.pop_front().expect("a start");
    let stranger = practice.forwarded("198.51.100.7");
    assert_calls(&stranger.book(&start, "one@example.org").await, 503);
    assert_eq!(live_holds(&practice), 0);
    assert_eq!(practice.state().outbox.messages().count(), 0);
}

#[tokio::test]
async fn a_page_that_can_send_no_code_says_whom_to_call() {
    let mailbox = Mailbox::open().await;
    let practice = verifying(Some(&mailbox)).await;
    let mut free = practice.hourly_starts().await;
    let stranger = practice.forwarded("198.51.100.7");
    for _ in 0..5 {
        let start = free.pop_front().expect("a start");
        stranger.book(&start, "victim@example.org").await.is(202);
    }
    let held = live_holds(&practice);
    let (start, calendar) = free.pop_front().expect("a start");
    let (start, calendar) = (start[..16].replace(' ', "T"), calendar.to_string());
    let form = [
        ("s", "1"),
        ("c", &calendar),
        ("t", &start),
        ("k", "00112233445566778899aabbccddeeff"),
        ("fiche.lastname", "Quidam"),
        ("fiche.firstname", "Zoe"),
        ("fiche.firstphone", "0639980001"),
        ("fiche.email", "victim@example.org"),
    ];
    let page = answer(stranger.form("/b/cabinet-de-sante-des-tilleuls/you", &form)).await;
    assert_eq!(page.status, 429, "{}", page.text);
    assert!(page.text.contains(PHONE), "{}", page.text);
    assert_eq!(live_holds(&practice), held);
    // Another network may still ask for the codes of that client.
    let start = free.pop_front().expect("a start");
    practice.forwarded("203.0.113.7").book(&start, "victim@example.org").await.is(202);
}

/// Books a start and gives the code that was mailed.
async fn book_with_code(practice: &Practice, source: &str, start: &(String, u64), email: &str) {
    let client = practice.forwarded(source);
    let asked = client.book(start, email).await.is(202);
    give_code(practice, source, &asked["token"]).await;
}

async fn give_code(practice: &Practice, source: &str, token: &Value) {
    let confirmation =
        practice.forwarded(source).request(Method::POST, "/groups/1/appointments/confirm");
    let given = json!({"token": token, "code": code_of(token)});
    answer(confirmation.json(&given)).await.is(201);
}

#[tokio::test]
async fn two_hundred_clients_of_a_mobile_network_book_within_an_hour() {
    let mailbox = Mailbox::open().await;
    let practice = verifying(Some(&mailbox)).await;
    let free = practice.free_starts().await;
    let mut booked = 0;
    let mut last = String::new();
    for start in &free {
        // Starts of one calendar that do not overlap.
        let is_full = start.0[14..16].parse::<u32>().is_ok_and(|minute| minute % 20 == 0);
        if !is_full || start.0 == last || booked == 200 {
            continue;
        }
        last.clone_from(&start.0);
        book_with_code(&practice, "198.51.100.7", start, &format!("c{booked}@example.org")).await;
        booked += 1;
        if booked % 20 == 0 {
            practice.pass(300);
        }
    }
    assert_eq!(booked, 200);
}

#[tokio::test]
async fn forty_clients_of_a_waiting_room_book_at_once() {
    for source in ["198.51.100.7", "2001:db8::7"] {
        for asks_always in [true, false] {
            let mailbox = Mailbox::open().await;
            let practice = if asks_always {
                verifying(Some(&mailbox)).await
            } else {
                mailing_practice(|_| {}, BookingLimits::DEFAULT, 500, Some(&mailbox)).await
            };
            let mut free = practice.hourly_starts().await;
            let mut tokens = Vec::new();
            for n in 0..40 {
                let start = free.pop_front().expect("a start");
                let client = practice.forwarded(source);
                let asked = client.book(&start, &format!("c{n}@example.org")).await;
                if asks_always || n >= 10 {
                    tokens.push(asked.is(202)["token"].clone());
                } else {
                    asked.is(201);
                }
            }
            for token in &tokens {
                give_code(&practice, source, token).await;
            }
        }
    }
}
