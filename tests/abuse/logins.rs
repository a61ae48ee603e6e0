//! Strangers who guess passwords.

use reqwest::Method;

use crate::fixture::{ANNA, Practice, Visitor, answer};

const PATH: &str = "/groups/1/calendars";

async fn log_in(visitor: &Visitor, email: &str, password: &str) -> u16 {
    let request = visitor.request(Method::GET, PATH).basic_auth(email, Some(password));
    answer(request).await.status.as_u16()
}

#[tokio::test]
async fn one_source_guesses_30_times_in_ten_minutes_and_no_one_else_waits() {
    let practice = Practice::open().await;
    let stranger = practice.visitor("127.0.0.2");
    let mut guesses = 0;
    while log_in(&stranger, &format!("{guesses}@example.org"), "a guess").await == 401 {
        guesses += 1;
    }
    assert_eq!(guesses, 30);
    assert_eq!(log_in(&stranger, ANNA.0, ANNA.1).await, 429);
    assert_eq!(log_in(&practice.visitor("127.0.0.3"), ANNA.0, ANNA.1).await, 200);
    practice.pass(600);
    assert_eq!(log_in(&stranger, ANNA.0, ANNA.1).await, 200);
}

#[tokio::test]
async fn many_sources_delay_each_other_and_not_the_owner_of_the_address() {
    let practice = Practice::open().await;
    let anna = practice.visitor("127.0.0.9");
    assert_eq!(log_in(&anna, ANNA.0, ANNA.1).await, 200);
    // An hour of guesses from ever new sources.
    let mut guesses = 0;
    for second in 0..3_600 {
        let number = guesses + 1;
        let from = format!("127.0.{}.{}", number / 250 + 1, number % 250 + 1);
        // A source that has guessed is not asked again.
        let is_due = guesses < 20 || second % 4 == 0;
        if is_due
            && log_in(&practice.visitor(&from), ANNA.0, &format!("guess {second}")).await == 401
        {
            guesses += 1;
        }
        practice.pass(1);
    }
    println!("{guesses} guesses of one address in an hour, from as many sources");
    assert!((20..=62).contains(&guesses), "{guesses}");
    // Remembered credentials have expired; the source is known.
    assert_eq!(log_in(&anna, ANNA.0, ANNA.1).await, 200);
}
