//! The death of the server that decides a cluster with many groups: another one books soon after.

use std::time::{Duration, Instant};

use super::hand_over::many_groups;
use super::postgres::Pair;
use super::servers::{Member, Servers};
use crate::rounds;
use crate::server::{appointments, booking, half_hour};

/// Longest time until something is seen to happen, with all that the machine does beside it.
const WAITING_MAX: Duration = Duration::from_secs(60);

/// Books at a server until the cluster takes the booking.
async fn book(member: &Member, nth: u64) {
    let url = format!("{}/api/v1/groups/1/appointments", member.base());
    let wish = booking(&format!("d{nth}"), &half_hour(2 * nth), 1, &[2]);
    let http = reqwest::Client::new();
    let began = Instant::now();
    loop {
        let request = http.post(&url).query(&[("apikey", "test-key")]).json(&wish);
        let answer = request.send().await.expect("it is answered");
        match answer.status().as_u16() {
            201 => return,
            503 => assert!(began.elapsed() < WAITING_MAX, "{}", member.said()),
            other => panic!("{other}: {}", answer.text().await.unwrap_or_default()),
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_death_a_cluster_of_many_groups_books_on() {
    let pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let mut servers = Servers::start(&pair, &many_groups(rounds(100, 100_000)), 3).await;
    let count = rounds(1, 10);
    for round in 0..count {
        let first = servers.deciding().await;
        servers.expect_followed().await;
        let began = Instant::now();
        servers.members[first].kill();
        book(&servers.members[(first + 1) % 3], round).await;
        println!("death {round}: {:?} to the first booking", began.elapsed());
    }
    let last = servers.deciding().await;
    let document = servers.exported(last);
    assert_eq!(appointments(&document).count(), usize::try_from(count).expect("small"));
}
