//! Strangers who fill the forms of the booking page: codes take the place of refusals, in bounded
//! number, and what comes after names the hour and the telephone.

use std::collections::VecDeque;

use serde_json::{Value, json};
use slotbook::http::BookingLimits;

use crate::fixture::{Answer, Visitor, answer};
use crate::mailbox::{Mailbox, mailing_practice};

/// The telephone number of the demonstration.
const PHONE: &str = "01 99 00 12 30";
/// Codes of one source that were not given, in 24 hours.
const CODES_MAX: usize = 50;
/// Bookings of one source within an hour without a code.
const BOOKINGS_MAX: usize = 10;

/// Sends the form of the booking page for a start, with a key of its own.
async fn fill_in(stranger: &Visitor, start: &(String, u64), number: usize) -> Answer {
    let calendar = start.1.to_string();
    let at = start.0[..16].replace(' ', "T");
    let key = format!("{number:032x}");
    let email = format!("stranger{number}@example.org");
    let form = [
        ("s", "1"),
        ("c", &calendar),
        ("t", &at),
        ("k", &key),
        ("fiche.lastname", "Quidam"),
        ("fiche.firstname", "Zoe"),
        ("fiche.firstphone", "0639980001"),
        ("fiche.email", &email),
    ];
    answer(stranger.form("/b/cabinet-de-sante-des-tilleuls/you", &form)).await
}

#[tokio::test]
async fn forms_beyond_a_limit_lead_to_codes_in_bounded_number_and_then_to_the_telephone() {
    let networks: [fn(usize) -> String; 2] =
        [|_| "198.51.100.7".to_owned(), |n| format!("2001:db8::{n:x}")];
    for source in networks {
        let mailbox = Mailbox::open().await;
        let change = |document: &mut Value| document["groups"][0]["phone"] = json!(PHONE);
        let practice = mailing_practice(change, BookingLimits::DEFAULT, 500, Some(&mailbox)).await;
        let mut free: VecDeque<_> = practice.hourly_starts().await;
        let (mut booked, mut asked, mut refused) = (0, 0, 0);
        for number in 0..150 {
            let start = free.pop_front().expect("enough starts");
            let page = fill_in(&practice.forwarded(&source(number)), &start, number).await;
            match page.status.as_u16() {
                303 => booked += 1,
                200 => {
                    assert!(page.text.contains("id=\"code\""), "{}", page.text);
                    asked += 1;
                }
                429 => {
                    let call = format!("Appelez le {PHONE}.");
                    for part in [&*call, "partir du", "value=\"Quidam\"", "value=\"0639980001\""] {
                        assert!(page.text.contains(part), "{part}: {}", page.text);
                    }
                    assert!(page.headers.contains_key("retry-after"));
                    refused += 1;
                    // Its start is free, and serves again.
                    free.push_front(start);
                }
                // The start overlaps the one before.
                status => assert_eq!(status, 400, "{}", page.text),
            }
        }
        assert!(booked <= BOOKINGS_MAX && asked <= CODES_MAX, "{booked} {asked}");
        assert_eq!(booked, BOOKINGS_MAX, "the attack is as large as its share");
        assert!(asked >= CODES_MAX * 9 / 10 && refused > 0, "{asked} {refused}");
        let state = practice.state();
        let codes = state.outbox.messages().filter(|one| {
            let kind = one.kind().name();
            kind.contains("code") && kind != "codes_asked"
        });
        assert!(codes.count() <= CODES_MAX);
    }
}
