//! Moves by the secret of an appointment that a stranger has booked in a client's name.

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use slotbook::http::{BookingLimits, Server};

use crate::fixture::{ANNA, Answer, Practice, Visitor, answer};

/// A client with an account.
const LOUISE: (&str, &str) = ("louise.thomas@example.org", "demo-password");
/// A client without an account.
const VICTIM: &str = "ines.mathieu@example.org";

/// An appointment whose secret a stranger has.
pub(crate) struct Held {
    id: Value,
    secret: String,
}

impl Held {
    pub(crate) fn of(booked: &Value) -> Self {
        let record = &booked["records"][0];
        let secret = record["key"].as_str().expect("a secret").to_owned();
        Self { id: record["id"].clone(), secret }
    }

    /// A move by the API, with a key alone.
    fn moving(&self, visitor: &Visitor, start: &str) -> RequestBuilder {
        let path = format!("/groups/1/appointments/{}?key={}", self.id, self.secret);
        let body = json!({"appointment": {"date": start}});
        visitor.request(Method::PUT, &path).json(&body)
    }

    pub(crate) async fn move_to(&self, visitor: &Visitor, start: &str) -> Answer {
        answer(self.moving(visitor, start)).await
    }

    /// A move by the page of the mailed link.
    pub(crate) async fn move_by_page(&self, visitor: &Visitor, start: &str) -> Answer {
        let path = format!("{}/move", self.link());
        answer(visitor.form(&path, &[("t", &start[..16].replace(' ', "T"))])).await
    }

    pub(crate) fn id(&self) -> &Value {
        &self.id
    }

    /// A cancellation by the API, with a key alone.
    pub(crate) async fn cancel(&self, visitor: &Visitor) -> Answer {
        let path = format!("/groups/1/appointments/{}?key={}", self.id, self.secret);
        answer(visitor.request(Method::DELETE, &path)).await
    }

    pub(crate) async fn cancel_by_page(&self, visitor: &Visitor) -> Answer {
        answer(visitor.form(&self.link(), &[])).await
    }

    /// The path of the mailed link.
    fn link(&self) -> String {
        format!("/m/c.1.{}.{}", self.id, self.secret)
    }
}

/// A start that no calendar offers, within an appointment at a full hour.
fn off_grid(start: &str) -> String {
    start.replace(":00:00", ":03:00")
}

/// Books an appointment for each address at a time of its own of calendar 1. Returns
/// them with their starts, and the free starts that are left.
async fn book_for(
    practice: &Practice,
    visitor: &Visitor,
    emails: &[&str],
) -> (Vec<(Held, String)>, Vec<String>) {
    let mut starts = practice.hourly_starts().await;
    starts.retain(|(_, calendar)| *calendar == 1);
    let mut held = Vec::new();
    for email in emails {
        // Days ahead, so that it may still be moved.
        let start = starts.pop_back().expect("a free start");
        let booked = visitor.book(&start, email).await.is(201);
        held.push((Held::of(&booked), start.0));
    }
    // The first ones are too near once an hour has passed.
    (held, starts.into_iter().skip(10).map(|(start, _)| start).collect())
}

#[tokio::test]
async fn refusals_of_moves_that_tell_of_a_client_count_as_guesses() {
    let practice = Practice::open().await;
    let stranger = practice.visitor("127.0.0.2");
    let emails = [VICTIM, VICTIM, "two@example.org", "two@example.org", "three@example.org"];
    let (held, free) = book_for(&practice, &stranger, &emails).await;
    let [(first, _), (_, of_first), (second, _), (_, of_second), (third, at)] = &held[..] else {
        panic!("five appointments")
    };
    let unoffered = off_grid(&free[0]);
    for _ in 0..10 {
        // A refusal about the time tells nothing of the client.
        first.move_to(&stranger, &unoffered).await.refused(400, 14);
        first.move_to(&stranger, &off_grid(of_first)).await.refused(400, 12);
    }
    let limited = first.move_to(&stranger, &off_grid(of_first)).await;
    limited.refused(429, 4);
    assert_eq!(limited.headers["retry-after"], "3600");
    // Another source gets no more for this client, and the client books from there.
    let other = practice.visitor("127.0.0.3");
    first.move_to(&other, &off_grid(of_first)).await.refused(429, 4);
    other.book(&(of_first.clone(), 2), VICTIM).await.refused(400, 14);
    // Without the secret, the answer does not even tell that.
    let forged = Held { id: first.id.clone(), secret: "abcdefghijklmnopqrst".to_owned() };
    forged.move_to(&other, &off_grid(of_first)).await.refused(404, 3);
    for _ in 0..10 {
        second.move_to(&stranger, &off_grid(of_second)).await.refused(400, 12);
    }
    third.move_to(&stranger, &free[0]).await.refused(429, 4);
    third.move_to(&stranger, at).await.is(200);
    third.move_to(&other, &free[0]).await.is(200);
    practice.pass(3_600);
    first.move_to(&stranger, &off_grid(of_first)).await.refused(400, 12);
}

#[tokio::test]
async fn moves_on_the_page_are_no_way_round_the_guesses() {
    let practice = Practice::open().await;
    let stranger = practice.visitor("127.0.0.2");
    let (held, free) = book_for(&practice, &stranger, &[VICTIM, VICTIM]).await;
    let (first, _) = &held[0];
    let guess = off_grid(&held[1].1);
    for _ in 0..10 {
        let refused = first.move_by_page(&stranger, &guess).await;
        assert!(refused.status == 400 && refused.text.contains("déjà"), "{}", refused.text);
    }
    for start in [&guess, &free[0]] {
        let limited = first.move_by_page(&stranger, start).await;
        assert_eq!(limited.status, 429, "{}", limited.text);
        assert_eq!(limited.headers["retry-after"], "3600");
    }
    first.move_to(&stranger, &guess).await.refused(429, 4);
    practice.pass(3_600);
    let moved = first.move_by_page(&stranger, &free[0]).await;
    assert_eq!(moved.status, 303, "{}", moved.text);
}

#[tokio::test]
async fn guesses_at_an_address_do_not_stop_moves_of_what_the_shop_has_booked() {
    let practice = Practice::open().await;
    let stranger = practice.visitor("127.0.0.2");
    let mut starts = practice.hourly_starts().await;
    starts.retain(|(_, calendar)| *calendar == 1);
    let own = starts.pop_back().expect("a free start");
    let by_anna = stranger.booking(&own, VICTIM).basic_auth(ANNA.0, Some(ANNA.1));
    let own = Held::of(&answer(by_anna).await.is(201));
    let (held, free) = book_for(&practice, &stranger, &[VICTIM, VICTIM]).await;
    for _ in 0..10 {
        held[0].0.move_to(&stranger, &off_grid(&held[1].1)).await.refused(400, 12);
    }
    held[0].0.move_to(&stranger, &off_grid(&held[1].1)).await.refused(429, 4);
    let victim = practice.visitor("127.0.0.3");
    own.move_to(&victim, &free[0]).await.is(200);
    assert_eq!(own.move_by_page(&victim, &free[1]).await.status, 303);
}

#[tokio::test]
async fn an_account_learns_no_times_of_another_client_by_a_secret() {
    let practice = Practice::open().await;
    let stranger = practice.visitor("127.0.0.2");
    let (held, _) = book_for(&practice, &stranger, &[VICTIM, VICTIM]).await;
    let (first, guess) = (&held[0].0, off_grid(&held[1].1));
    let plain = first.move_to(&stranger, &guess).await;
    plain.refused(400, 12);
    let as_louise =
        |start: &str| answer(first.moving(&stranger, start).basic_auth(LOUISE.0, Some(LOUISE.1)));
    let refused = as_louise(&guess).await;
    assert_eq!((refused.status, &refused.text), (plain.status, &plain.text));
    assert!(!refused.text.contains(&guess[..10]), "{}", refused.text);
    for _ in 2..10 {
        as_louise(&guess).await.refused(400, 12);
    }
    as_louise(&guess).await.refused(429, 4);
}

/// Moves an appointment to and fro until it is refused, and returns the number of moves.
async fn move_until_refused(
    moves: impl AsyncFn(&str) -> Answer,
    free: &[String],
) -> (usize, Answer) {
    let mut moved = 0;
    for start in free[..2].iter().cycle().take(100) {
        let answered = moves(start).await;
        if answered.status != 200 && answered.status != 303 {
            return (moved, answered);
        }
        moved += 1;
    }
    panic!("{moved} moves without an end")
}

#[tokio::test]
async fn moves_by_a_secret_have_limits_by_appointment_and_by_source() {
    let practice = Practice::open().await;
    let stranger = practice.visitor("127.0.0.2");
    let emails = ["one@example.org", "two@example.org", "three@example.org"];
    let (held, free) = book_for(&practice, &stranger, &emails).await;
    let [(first, _), (second, _), (third, _)] = &held[..] else { panic!("three appointments") };
    let (moved, refused) =
        move_until_refused(async |start| first.move_to(&stranger, start).await, &free).await;
    refused.refused(429, 4);
    assert_eq!((moved, &refused.headers["retry-after"]), (15, &"3600".parse().expect("a value")));
    first.move_to(&stranger, &free[0]).await.is(200);
    let other = practice.visitor("127.0.0.3");
    first.move_to(&other, &free[1]).await.refused(429, 4);
    // A move that is refused for another reason takes no place.
    for _ in 0..20 {
        second.move_to(&stranger, &off_grid(&free[4])).await.refused(400, 14);
    }
    let (moved, refused) =
        move_until_refused(async |start| second.move_by_page(&stranger, start).await, &free[2..])
            .await;
    assert_eq!((moved, refused.status.as_u16()), (15, 429), "{}", refused.text);
    third.move_to(&stranger, &free[4]).await.refused(429, 4);
    assert_eq!(third.move_by_page(&stranger, &free[4]).await.status, 429);
    third.move_to(&other, &free[4]).await.is(200);
    practice.pass(3_600);
    first.move_to(&stranger, &free[1]).await.is(200);
}

#[tokio::test]
async fn moves_by_accounts_have_the_same_limits_and_those_of_professionals_have_none() {
    let practice = Practice::open().await;
    let client = practice.visitor("127.0.0.2");
    let mut starts = practice.hourly_starts().await;
    starts.retain(|(_, calendar)| *calendar == 1);
    let (own, calendar) = starts.pop_back().expect("a free start");
    let booking = client.request(Method::POST, "/groups/1/appointments").json(&json!({
        "appointment": {"date": own, "calendar_id": calendar, "intervention_ids": [1]},
    }));
    let own = answer(booking.basic_auth(LOUISE.0, Some(LOUISE.1))).await.is(201);
    let path = format!("/groups/1/appointments/{}", own["records"][0]["id"]);
    let free: Vec<String> = starts.into_iter().map(|(start, _)| start).collect();
    let move_as = async |(email, password): (&str, &str), start: &str| {
        let body = json!({"appointment": {"date": start}});
        let request = client.request(Method::PUT, &path).json(&body);
        answer(request.basic_auth(email, Some(password))).await
    };
    let (moved, refused) =
        move_until_refused(async |start| move_as(LOUISE, start).await, &free).await;
    refused.refused(429, 4);
    assert_eq!(moved, 15);
    for start in free[..2].iter().cycle().take(40) {
        move_as(ANNA, start).await.is(200);
    }
}

#[tokio::test]
async fn moves_without_a_limit_keep_the_message_of_the_last_one_only() {
    let unlimited = |server: Server| server.limit_bookings(BookingLimits::NONE);
    let practice = Practice::with(|_| {}, unlimited).await;
    let client = practice.visitor("127.0.0.2");
    let (held, free) = book_for(&practice, &client, &["one@example.org"]).await;
    for start in free[..2].iter().cycle().take(40) {
        held[0].0.move_to(&client, start).await.is(200);
    }
    // The one of the booking, and one for all changes that have not left.
    assert_eq!(practice.state().outbox.messages().len(), 2);
}
