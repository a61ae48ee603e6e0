//! The primary of PostgreSQL dies, and its standby is promoted: the servers go on with that one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::faults::stop;
use super::postgres::Pair;
use super::servers::Servers;
use crate::rounds;
use crate::server::{booking, half_hour, practice};
use crate::witness::{CALENDARS, Witness};

/// Longest time from the death of the primary to the next booking.
const BOOKING_MAX: Duration = Duration::from_secs(30);
/// Time between two searches, which leaves the cores to the rest.
const SEARCH_PAUSE: Duration = Duration::from_millis(5);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_promotion_loses_nothing_and_searches_go_on_meanwhile() {
    let mut pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let mut servers = Servers::start(&pair, &practice(CALENDARS), 2).await;
    let witness = Arc::new(Witness::brief());
    let http = reqwest::Client::new();
    let count = rounds(5, 1_000);
    let mut slowest = Duration::ZERO;
    for round in 0..count {
        let first = servers.deciding().await;
        let load = witness.load(&servers.members[first].base(), 60).await;
        let base = servers.members[first].base();
        let began = Instant::now();
        let failing_over = tokio::task::spawn_blocking(move || {
            pair.fail_over();
            pair
        });
        // Its lease is over for a while, and it says how old its answer is.
        let search = format!(
            "{base}/api/v1/groups/1/availabletimeslots?apikey=test-key&intervention_ids[]=1\
             &start=2035-01-01%2000:00:00&nDays=1&from_web=1"
        );
        let mut searches = 0;
        while !failing_over.is_finished() {
            let answer = http.get(&search).send().await;
            let answer = answer.unwrap_or_else(|_| panic!("{}", servers.members[first].said()));
            assert_eq!(answer.status(), 200, "{}", answer.text().await.expect("text"));
            searches += 1;
            tokio::time::sleep(SEARCH_PAUSE).await;
        }
        pair = failing_over.await.expect("PostgreSQL fails over");
        let wish = booking(&format!("p{round}"), &half_hour(90_000 + 2 * round), 1, &[2]);
        loop {
            assert!(began.elapsed() < 2 * BOOKING_MAX, "nothing can be booked");
            let deciding = servers.deciding().await;
            let url = format!("{}/api/v1/groups/1/appointments", servers.members[deciding].base());
            let request = http.post(url).query(&[("apikey", "test-key")]).json(&wish);
            let request = request.header("Idempotency-Key", format!("promotion-{round}"));
            if let Ok(answer) = request.timeout(Duration::from_secs(20)).send().await
                && answer.status() == 201
            {
                break;
            }
        }
        slowest = slowest.max(began.elapsed());
        stop(load).await;
        println!("promotion {round}: {searches} searches, {} answered", witness.answered());
    }
    let last = servers.deciding().await;
    let mut document = servers.exported(last);
    without_own(&mut document);
    witness.examine(&document);
    println!("{count} promotions, slowest booking after {slowest:?}");
    assert!(slowest < BOOKING_MAX, "{slowest:?}");
}

/// Removes the bookings after each promotion, once they were counted.
fn without_own(document: &mut serde_json::Value) {
    let group = &mut document["groups"][0];
    let fiches = group["fiches"].as_array_mut().expect("a list");
    let mut own = Vec::new();
    fiches.retain(|fiche| {
        let is_own = fiche["lastname"].as_str().is_some_and(|name| name.starts_with('p'));
        if is_own {
            own.push(fiche["id"].clone());
        }
        !is_own
    });
    let vevents = group["vevents"].as_array_mut().expect("a list");
    let before = vevents.len();
    vevents.retain(|vevent| !own.contains(&vevent["fiche_id"]));
    assert_eq!(before - vevents.len(), own.len(), "each is there once");
    assert_eq!(u64::try_from(own.len()).expect("small"), rounds(5, 1_000));
}
