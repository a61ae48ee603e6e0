//! Servers of two releases in one cluster: another release is played by changing the tables.

use std::process::Output;
use std::time::{Duration, Instant};

use slotbook::domain::time::zone::tzdata_version;
use slotbook::store::Formats;

use super::postgres::{Pair, database_url};
use super::servers::Servers;
use crate::server::{booking, complaint, half_hour, practice, run};

/// Longest time until something is seen to happen.
const WAITING_MAX: Duration = Duration::from_secs(30);

/// Runs a command about the cluster of a pair.
fn cluster(pair: &Pair, command: &str, more: &[&str]) -> Output {
    let url = database_url("slotbook_server", &pair.ports);
    let nowhere = std::env::temp_dir().join("slotbook-none");
    run(&[&["cluster", command, "--shared", &url], more].concat(), &nowhere)
}

fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", complaint(output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn refusal(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{}", complaint(output));
    complaint(output)
}

fn put_records_in_force(pair: &Pair, format: u16) {
    pair.query(&format!("UPDATE slotbook.cluster SET record_format = {format}"));
}

/// Waits until a server has logged a text.
async fn expect_said(servers: &Servers, index: usize, text: &str) {
    let began = Instant::now();
    while !servers.members[index].said().contains(text) {
        assert!(began.elapsed() < WAITING_MAX, "{}", servers.members[index].said());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Books by way of a server, and expects that it is answered.
async fn book(servers: &Servers, index: usize, nth: u64) {
    let url = format!("{}/api/v1/groups/1/appointments", servers.members[index].base());
    let wish = booking(&format!("r{nth}"), &half_hour(2 * nth), 1, &[2]);
    let request = reqwest::Client::new().post(url).query(&[("apikey", "test-key")]).json(&wish);
    let answer = request.send().await.expect("it is answered");
    assert_eq!(answer.status(), 201, "{}", servers.members[index].said());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_joins_only_where_it_writes_the_formats_in_force() {
    let pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let mut servers = Servers::start(&pair, &practice(1), 1).await;
    servers.deciding().await;
    servers.members[0].signal("TERM");
    assert_eq!(servers.members[0].left(), Some(0));
    let Formats { records, snapshots } = Formats::NEWEST;
    for (in_force, remedy) in [
        (records + 1, "start the newer release here"),
        (records - 1, "run `slotbook cluster raise`"),
    ] {
        put_records_in_force(&pair, in_force);
        servers.members[0].restart();
        assert_eq!(servers.members[0].left(), Some(1));
        let said = servers.members[0].said();
        let named =
            format!("in force in the cluster are records {in_force}, snapshots {snapshots}");
        assert!(said.contains(&named) && said.contains(remedy), "{said}");
        assert!(said.contains(&format!("to {}", Formats::NEWEST)), "{said}");
    }
    put_records_in_force(&pair, records);
    servers.members[0].restart();
    servers.deciding().await;
    book(&servers, 0, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_follows_ends_after_a_raise_above_its_formats() {
    let pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let mut servers = Servers::start(&pair, &practice(1), 2).await;
    let first = servers.deciding().await;
    let second = 1 - first;
    expect_said(&servers, second, "joined the cluster").await;
    put_records_in_force(&pair, Formats::NEWEST.records + 1);
    expect_said(&servers, second, "start the newer release here").await;
    assert_eq!(servers.members[second].left(), Some(1));
    let said = servers.members[second].said();
    assert!(!said.contains("has taken over"), "{said}");
    // What the other one writes is in a format that all can read.
    book(&servers, first, 1).await;
    servers.members[first].kill();
    assert_eq!(servers.members[first].left(), Some(1), "{}", servers.members[first].said());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_with_older_time_zone_data_follows_and_never_takes_over() {
    let pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let mut servers = Servers::start(&pair, &practice(1), 2).await;
    let first = servers.deciding().await;
    let second = 1 - first;
    expect_said(&servers, second, "joined the cluster").await;
    pair.query("UPDATE slotbook.cluster SET tzdata = '2999z'");
    expect_said(&servers, second, "older time zone data than the cluster").await;
    book(&servers, second, 1).await;
    let said = refusal(&cluster(&pair, "hand-over", &[]));
    assert!(said.contains("no other server follows now and may take over"), "{said}");
    // It leaves, so that another one need not wait.
    servers.members[first].signal("TERM");
    assert_eq!(servers.members[first].left(), Some(0));
    expect_said(&servers, second, "no server decides").await;
    // Nor does PostgreSQL let it.
    pair.query(
        "DO $$ BEGIN
            PERFORM slotbook.take_over(0, gen_random_uuid(), o.id, o.incarnation, h.beat)
                FROM slotbook.node o, slotbook.holder h WHERE NOT o.has_left;
            RAISE 'it was taken';
        EXCEPTION WHEN SQLSTATE 'SB007' THEN NULL;
        END $$",
    );
    let status = printed(&cluster(&pair, "status", &[]));
    assert!(status.contains("time zone data 2999z\n"), "{status}");
    assert!(status.contains("may not take over: its time zone data are older"), "{status}");
    assert!(status.contains("has left") && !status.contains("decides"), "{status}");
    assert!(!servers.members[second].said().contains("has taken over"));
    // Of data that are older than its own it makes its own.
    pair.query("UPDATE slotbook.cluster SET tzdata = '1999z'");
    assert_eq!(servers.deciding().await, second);
    book(&servers, second, 2).await;
    assert_eq!(pair.query("SELECT tzdata FROM slotbook.cluster"), tzdata_version());
    let said = servers.members[second].said();
    assert_eq!(said.matches("older time zone data than the cluster: it").count(), 1, "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_raise_waits_until_all_servers_know_the_formats() {
    let pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let mut servers = Servers::start(&pair, &practice(1), 2).await;
    let first = servers.deciding().await;
    expect_said(&servers, 1 - first, "joined the cluster").await;
    let said = printed(&cluster(&pair, "raise", &[]));
    assert!(said.contains(&format!("nothing to do: in force are {}", Formats::NEWEST)), "{said}");
    // The one that decides is replaced by a newer release, which the other one has not got.
    let newer = Formats::NEWEST.records + 1;
    let [first_url, second_url] = [first, 1 - first].map(|index| servers.members[index].base());
    let learns = |url: &str| {
        pair.query(&format!("UPDATE slotbook.node SET record_format = {newer} WHERE url = '{url}'"))
    };
    learns(&first_url);
    let said = refusal(&cluster(&pair, "raise", &[]));
    assert!(said.contains(&second_url) && !said.contains(&first_url), "{said}");
    assert!(said.contains("too old"), "{said}");
    learns(&second_url);
    let gone = "http://192.0.2.1:8080";
    pair.query(&format!(
        "INSERT INTO slotbook.node (url, incarnation, version, record_format, snapshot_format, \
             tzdata, beaten_at) \
         VALUES ('{gone}', gen_random_uuid(), '0.1.0', 1, 1, '2025a', now() - interval '1 hour')"
    ));
    let said = refusal(&cluster(&pair, "raise", &[]));
    assert!(said.contains(gone) && said.contains("--without"), "{said}");
    let in_force = "SELECT record_format FROM slotbook.cluster";
    assert_eq!(pair.query(in_force), Formats::NEWEST.records.to_string());
    let said = printed(&cluster(&pair, "raise", &["--without", gone]));
    assert!(said.contains(&format!("in force are now records {newer}")), "{said}");
    assert_eq!(pair.query(in_force), newer.to_string());
    pair.query("SELECT slotbook.raise_formats(1, 1)");
    assert_eq!(pair.query(in_force), newer.to_string(), "none falls");
}
