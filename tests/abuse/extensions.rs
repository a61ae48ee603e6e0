//! Strangers who have the time of a booking kept while its code is waited for: once, and within the
//! limits on holds.

use reqwest::Method;
use serde_json::{Value, json};
use slotbook::domain::records::hold::{HoldState, HoldToken};
use slotbook::domain::time::Instant;
use slotbook::http::BookingLimits;

use crate::fixture::{ANNA, Answer, Practice, Visitor, answer};
use crate::holds::{HOLDS, hold, holding, starts_of_a_day, token};
use crate::mailbox::{Mailbox, code_of, mailing_practice};

const PAGE: &str = "/b/cabinet-de-sante-des-tilleuls/you";
/// Seconds for which the time of a booking is kept, and for which it is kept longer.
const KEPT_SECONDS: i64 = 15 * 60;

/// The practice, which asks for a code for each booking by a key alone.
async fn asking(mailbox: &Mailbox) -> Practice {
    let verifying = |document: &mut Value| document["groups"][0]["verify_bookings"] = json!("mail");
    mailing_practice(verifying, BookingLimits::DEFAULT, 500, Some(mailbox)).await
}

/// The form of the booking page for a start by its number, with more fields.
async fn send(
    stranger: &Visitor,
    (start, number): (&(String, u64), usize),
    more: &[(&str, &str)],
) -> Answer {
    let calendar = start.1.to_string();
    let at = start.0[..16].replace(' ', "T");
    let key = format!("{number:032x}");
    let email = format!("stranger{number}@example.org");
    let mut form = vec![
        ("s", "1"),
        ("c", &*calendar),
        ("t", &*at),
        ("k", &*key),
        ("fiche.lastname", "Quidam"),
        ("fiche.firstname", "Zoe"),
        ("fiche.firstphone", "0639980001"),
        ("fiche.email", &*email),
    ];
    form.extend(more);
    answer(stranger.form(PAGE, &form)).await
}

/// Sends the form of a start. The page asks for a code; returns its token.
async fn ask(stranger: &Visitor, start: &(String, u64), number: usize) -> String {
    let page = send(stranger, (start, number), &[]).await;
    assert_eq!(page.status, 200, "{}", page.text);
    let (_, rest) = page.text.split_once("name=\"h\" value=\"").expect("a token");
    rest.split('"').next().expect("a token").to_owned()
}

/// Asks to keep the time of a booking longer.
async fn extend(stranger: &Visitor, start: (&(String, u64), usize), token: &str) -> Answer {
    let page = send(stranger, start, &[("h", token), ("longer", "1")]).await;
    // The holder of a booking that was made is led to it.
    assert!([200, 303, 400].contains(&page.status.as_u16()), "{} {}", page.status, page.text);
    page
}

/// The moment at which a hold ends.
fn end_of(practice: &Practice, token: &str) -> Option<Instant> {
    let id = HoldToken::new(token)?.id();
    practice.state().holds().get(id).map(|hold| hold.expires_at)
}

#[tokio::test]
async fn time_is_kept_longer_once_from_any_source_and_is_free_again_at_the_end() {
    let mailbox = Mailbox::open().await;
    let practice = asking(&mailbox).await;
    let free = practice.hourly_starts().await;
    let start = (&free[0], 1);
    let stranger = practice.forwarded("198.51.100.7");
    let others = (0..40).map(|n| practice.forwarded(&format!("2001:db8:{n:x}::1")));
    let others: Vec<Visitor> = others.collect();
    let token = ask(&stranger, start.0, 1).await;
    let began = end_of(&practice, &token).expect("it is held").plus_seconds(-KEPT_SECONDS);
    practice.pass(KEPT_SECONDS - 1);
    // Another browser that has the token is the holder too. All of them together extend it once.
    let pages = others.iter().map(|other| extend(other, start, &token));
    futures_util::future::join_all(pages).await;
    let end = began.plus_seconds(2 * KEPT_SECONDS - 1);
    assert_eq!(end_of(&practice, &token), Some(end));
    for _ in 0..KEPT_SECONDS / 60 - 1 {
        practice.pass(60);
        for source in [&stranger, &others[0], &others[1]] {
            extend(source, start, &token).await;
        }
        assert_eq!(end_of(&practice, &token), Some(end));
    }
    practice.pass(59);
    let newcomer = practice.forwarded("203.0.113.9");
    newcomer.book(start.0, "new@example.org").await.refused(400, 14);
    practice.pass(1);
    extend(&stranger, start, &token).await;
    newcomer.book(start.0, "new@example.org").await.is(202);
}

#[tokio::test]
async fn nothing_but_a_booking_that_waits_is_kept_longer() {
    let mailbox = Mailbox::open().await;
    let practice = asking(&mailbox).await;
    let free = practice.hourly_starts().await;
    let stranger = practice.forwarded("198.51.100.7");
    let chosen = token(&hold(&stranger, &free[0]).await.is(201));
    let released = token(&hold(&stranger, &free[1]).await.is(201));
    let release = stranger.request(Method::DELETE, &format!("{HOLDS}?token={released}"));
    answer(release).await.is(200);
    let confirmed = ask(&stranger, &free[2], 2).await;
    let code = code_of(&json!(confirmed));
    let booked = send(&stranger, (&free[2], 2), &[("h", &*confirmed), ("code", &*code)]).await;
    assert_eq!(booked.status, 303, "{}", booked.text);
    let overwritten = ask(&stranger, &free[3], 3).await;
    let by_anna = stranger.booking(&free[3], "guest@example.org");
    answer(by_anna.basic_auth(ANNA.0, Some(ANNA.1))).await.is(201);
    let guessed = ask(&stranger, &free[4], 4).await;
    let wrong = if code_of(&json!(guessed)) == "000000" { "000001" } else { "000000" };
    for _ in 0..5 {
        send(&stranger, (&free[4], 4), &[("h", &*guessed), ("code", wrong)]).await;
    }
    let replaced = ask(&stranger, &free[5], 5).await;
    let again = format!("{:032x}", 99);
    let other = send(&stranger, (&free[5], 5), &[("h", &*replaced), ("again", &*again)]).await;
    assert!(other.text.contains("id=\"code\"") && !other.text.contains(&replaced));
    let invented = "A".repeat(32);
    practice.pass(300);
    let dead = [&chosen, &released, &confirmed, &overwritten, &guessed, &replaced, &invented];
    for (number, token) in dead.into_iter().enumerate() {
        let before = end_of(&practice, token);
        extend(&stranger, (&free[number], number), token).await;
        assert_eq!(end_of(&practice, token), before, "number {number}");
    }
    let expired = ask(&stranger, &free[6], 6).await;
    let end = end_of(&practice, &expired);
    practice.pass(KEPT_SECONDS);
    extend(&stranger, (&free[6], 6), &expired).await;
    assert_eq!(end_of(&practice, &expired), end);
    practice.forwarded("203.0.113.9").book(&free[6], "new@example.org").await.is(202);
}

#[tokio::test]
async fn extensions_count_as_the_holds_of_their_source() {
    // Thirty holds and extensions of a source in an hour, and twice as many of a /56.
    type Source = fn(usize) -> String;
    let practices: [(Source, usize); 2] = [
        (|_| "198.51.100.7".to_owned(), 30),
        (|number| format!("2001:db8:0:{:x}::1", number / 20), 60),
    ];
    for (source, most) in practices {
        let mailbox = Mailbox::open().await;
        let practice = asking(&mailbox).await;
        let mut free = practice.hourly_starts().await;
        let mut waiting = Vec::new();
        for number in 0..most + 15 {
            let start = free.pop_front().expect("a start");
            let token = ask(&practice.forwarded(&source(number)), &start, number).await;
            waiting.push((token, start));
        }
        practice.pass(60);
        let mut extended = 0;
        for (number, (token, start)) in waiting.iter().enumerate() {
            let before = end_of(&practice, token);
            let stranger = practice.forwarded(&source(number));
            extend(&stranger, (start, number), token).await;
            extended += usize::from(end_of(&practice, token) != before);
        }
        assert_eq!(extended, most);
        let next = practice.forwarded(&source(most));
        hold(&next, &free[0]).await.refused(429, 4);
        hold(&practice.forwarded("203.0.113.9"), &free[0]).await.is(201);
        // An hour later they may again; what waited is free by then.
        practice.pass(3_600);
        let state = practice.state();
        let live = state.holds().iter().filter(|hold| hold.is_live(practice.engine.clock().now()));
        assert_eq!(live.count(), 0);
        hold(&next, &free[1]).await.is(201);
    }
}

#[tokio::test]
async fn a_source_that_has_held_as_much_as_it_may_extends_nothing() {
    let mailbox = Mailbox::open().await;
    let practice = asking(&mailbox).await;
    let free = practice.hourly_starts().await;
    let stranger = practice.forwarded("198.51.100.7");
    let waiting = ask(&stranger, &free[0], 0).await;
    let mut held = token(&hold(&stranger, &free[1]).await.is(201));
    for number in 1..30 {
        let renewed = holding(&stranger, &free[1 + number % 2], Some(&held));
        held = token(&answer(renewed).await.is(201));
    }
    practice.pass(60);
    let end = end_of(&practice, &waiting);
    let page = extend(&stranger, (&free[0], 0), &waiting).await;
    assert!(page.text.contains("id=\"code\""), "the code may still be given: {}", page.text);
    assert_eq!(end_of(&practice, &waiting), end);
    // The same browser at another network has places of its own.
    extend(&practice.forwarded("203.0.113.9"), (&free[0], 0), &waiting).await;
    assert_ne!(end_of(&practice, &waiting), end);
}

#[tokio::test]
async fn extensions_take_nothing_of_the_share_of_holds_and_leave_the_day_free() {
    let mailbox = Mailbox::open().await;
    let practice = asking(&mailbox).await;
    let starts = starts_of_a_day(&practice).await;
    let (mut held, mut waiting) = (0, Vec::new());
    for (number, start) in starts.iter().enumerate() {
        let stranger = practice.forwarded(&format!("2001:db8:{number:x}::1"));
        if hold(&stranger, start).await.status == 201 {
            held += 1;
        } else {
            let token = ask(&stranger, start, number).await;
            waiting.push((token, (start, number), stranger));
        }
    }
    assert!(held > 0 && waiting.len() > held, "{held} held, {} wait", waiting.len());
    practice.pass(KEPT_SECONDS - 1);
    for (token, start, stranger) in &waiting {
        let before = end_of(&practice, token);
        extend(stranger, *start, token).await;
        assert_ne!(end_of(&practice, token), before);
    }
    // The holds have ended, and as many fit again beside what is extended.
    let mut again = 0;
    for (number, start) in starts.iter().enumerate() {
        let stranger = practice.forwarded(&format!("2001:db8:1{number:x}::1"));
        again += usize::from(hold(&stranger, start).await.status == 201);
    }
    assert_eq!(again, held);
    practice.pass(KEPT_SECONDS);
    let state = practice.state();
    let now = practice.engine.clock().now();
    let waits = |state: &HoldState| matches!(state, HoldState::Unconfirmed(_));
    assert!(!state.holds().iter().any(|hold| hold.is_live(now) && waits(&hold.state)));
    for (_, (start, number), _) in &waiting {
        let newcomer = practice.forwarded(&format!("203.0.{number}.9"));
        newcomer.book(start, &format!("new{number}@example.org")).await.is(202);
    }
}
