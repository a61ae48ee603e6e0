//! The metrics of servers in a cluster, which are served while they follow as well.

use std::time::{Duration, Instant};

use super::postgres::Pair;
use super::servers::{LAG_SECONDS, Member, Servers};
use crate::server::{booking, half_hour, practice};

/// Longest time until something is seen to happen.
const WAITING_MAX: Duration = Duration::from_secs(30);
const DECIDES: &str = "slotbook_cluster_decides";
const LEASE_AGE: &str = "slotbook_cluster_lease_age_seconds";
const LAG_ROWS: &str = "slotbook_cluster_lag_rows";
const TAIL: &str = "slotbook_cluster_tail_bytes";

/// Waits until a metric of a server is as it should be.
async fn expect(member: &Member, name: &str, is_right: impl Fn(f64) -> bool) -> f64 {
    let began = Instant::now();
    loop {
        let value = member.metric(name).await.unwrap_or_else(|| panic!("it has no {name}"));
        if is_right(value) {
            return value;
        }
        assert!(began.elapsed() < WAITING_MAX, "{name} {value}: {}", member.said());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_serves_its_metrics_while_it_follows_and_after_it_has_taken_over() {
    let pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let mut servers = Servers::start(&pair, &practice(1), 2).await;
    let first = servers.deciding().await;
    let url = format!("{}/api/v1/groups/1/appointments", servers.members[first].base());
    let wish = booking("m", &half_hour(2), 1, &[2]);
    let booked = reqwest::Client::new().post(url).query(&[("apikey", "test-key")]).json(&wish);
    assert_eq!(booked.send().await.expect("it is answered").status(), 201);
    let deciding = &servers.members[first];
    let following = &servers.members[1 - first];
    expect(deciding, DECIDES, |value| value > 0.5).await;
    expect(deciding, LEASE_AGE, |value| value < 2.5).await;
    let tail = expect(deciding, TAIL, |value| value > 0.0).await;
    assert_eq!(following.metric(DECIDES).await, Some(0.0));
    assert_eq!(following.metric(LEASE_AGE).await, Some(0.0));
    assert_eq!(following.metric("slotbook_groups").await, None, "it decides nothing");
    expect(following, TAIL, |value| value >= tail).await;
    expect(following, LAG_ROWS, |value| value < 0.5).await;
    expect(following, LAG_SECONDS, |value| value < 1.0).await;
    following.cut(true);
    expect(following, LAG_SECONDS, |value| value > 3.0).await;
    assert_eq!(deciding.metric(LAG_SECONDS).await, Some(0.0));
    following.cut(false);
    expect(following, LAG_SECONDS, |value| value < 1.0).await;
    deciding.signal("TERM");
    expect(following, DECIDES, |value| value > 0.5).await;
    servers.deciding().await;
    assert_eq!(servers.members[1 - first].metric("slotbook_groups").await, Some(1.0));
}
