//! Many clients at once by way of one server that follows: one address for the server that decides.

use std::time::Duration;

use tokio::task::JoinSet;

use super::postgres::Pair;
use super::servers::{ServerOptions, Servers};
use crate::server::practice;

/// Clients at once: more than twice the connections that one address has by default.
const CLIENTS: u16 = 600;
/// Time for which the server that decides is too busy to read a request.
const PAUSE: Duration = Duration::from_millis(80);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_at_one_follower_is_answered() {
    let pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return println!("skipped: {reason}"),
    };
    // The clients are counted by the addresses that a proxy names.
    let arguments = ["--source-connections-max", "0", "--trusted-proxies", "127.0.0.0/8"];
    let arguments = arguments.map(str::to_owned).to_vec();
    let proxied = ServerOptions { arguments, ..ServerOptions::default() };
    let options = [ServerOptions::default(), proxied];
    let mut servers = Servers::start_with(&pair.ports, &practice(1), &options).await;
    if servers.deciding().await == 1 {
        servers.members[1].signal("TERM");
        assert_eq!(servers.members[1].left(), Some(0));
        servers.members[1].restart();
    }
    assert_eq!(servers.deciding().await, 0);
    servers.expect_followed().await;
    let url = format!(
        "{}/api/v1/groups/1/availabletimeslots?apikey=test-key&intervention_ids[]=1\
         &start=2035-01-01%2000:00:00&nDays=1",
        servers.members[1].base()
    );
    let http = reqwest::Client::new();
    for round in 0..3 {
        let mut clients = JoinSet::new();
        servers.members[0].signal("STOP");
        for client in 0..CLIENTS {
            let [high, low] = client.to_be_bytes();
            let request =
                http.get(&url).header("X-Forwarded-For", format!("10.{round}.{high}.{low}"));
            clients.spawn(async move { request.send().await.expect("it is answered").status() });
        }
        tokio::time::sleep(PAUSE).await;
        servers.members[0].signal("CONT");
        for status in clients.join_all().await {
            assert_eq!(status, 200, "{}", servers.members[0].said());
        }
    }
}
