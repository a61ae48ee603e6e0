//! Counts of limits, which pass from a server to the one that takes over.

use std::time::{Duration, Instant};

use reqwest::StatusCode;

use super::postgres::Pair;
use super::servers::Servers;
use crate::server::practice;

/// Longest time until something is seen to happen.
const WAITING_MAX: Duration = Duration::from_secs(60);
/// Failed logins for one address from one source after which it has to wait.
const FAILURES_MAX: u64 = 10;
/// The server that decides, as the function has it.
const DECIDING: &str = "SELECT node || ', ''' || incarnation || '''' FROM slotbook.holder";
const ALL: &str = "SELECT md5(string_agg(name || beat || encode(bytes, 'hex'), ',' ORDER BY name)) \
                   FROM slotbook.counts";

/// The status of a wrong password of a person.
async fn guess(servers: &Servers, index: usize, email: &str) -> StatusCode {
    let url = format!("{}/api/v1/groups/1/calendars", servers.members[index].base());
    let request = reqwest::Client::new().get(url).query(&[("apikey", "test-key")]);
    request.basic_auth(email, Some("wrong")).send().await.expect("it is answered").status()
}

/// Pairs of numbers in an image, which have no fixed width there.
type Pairs = Vec<(u64, u64)>;

/// The number of failed logins in the shared store, by address and source.
fn saved_failures(pair: &Pair) -> u64 {
    let image =
        pair.query("SELECT encode(bytes, 'hex') FROM slotbook.counts WHERE name = 'logins.pairs'");
    if image.is_empty() {
        return 0;
    }
    let image = data_encoding::HEXLOWER.decode(image.as_bytes()).expect("hexadecimal digits");
    // Between the format and the checksum: the hashes with their numbers of moments, and those.
    let image = &image[2..image.len() - 4];
    let (_, moments): (Pairs, Pairs) = slotbook::store::codec::decode(image).expect("an image");
    moments.iter().map(|(_, number)| number).sum()
}

async fn expect_saved_failures(pair: &Pair, wanted: u64) {
    let began = Instant::now();
    while saved_failures(pair) != wanted {
        assert!(began.elapsed() < WAITING_MAX, "{} failures are saved", saved_failures(pair));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Tries to save other counts as the server that decides, or as one that it names.
fn try_to_save(pair: &Pair, server: &str) {
    pair.query(&format!(
        "DO $$ BEGIN \
             PERFORM slotbook.save_counts(0, {server}, c.name, '\\x00') FROM slotbook.counts c; \
         EXCEPTION WHEN SQLSTATE 'SB001' THEN NULL; END $$"
    ));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_takeover_forgives_no_failed_login() {
    let pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let mut servers = Servers::start(&pair, &practice(1), 2).await;
    let first = servers.deciding().await;
    for _ in 0..FAILURES_MAX {
        assert_eq!(guess(&servers, first, "pro@example.org").await, 401);
    }
    assert_eq!(guess(&servers, first, "pro@example.org").await, 429);
    expect_saved_failures(&pair, FAILURES_MAX).await;
    let former = pair.query(DECIDING);
    servers.members[first].signal("KILL");
    servers.members[first].left();
    let second = servers.deciding().await;
    assert_ne!(first, second);
    assert_eq!(guess(&servers, second, "pro@example.org").await, 429, "at once");
    let said = servers.members[second].said();
    assert!(said.contains("counts of limits were read"), "{said}");

    // One that was fenced saves nothing, nor does another start of the server that decides.
    let saved = pair.query(ALL);
    try_to_save(&pair, &former);
    let holder = pair.query("SELECT node FROM slotbook.holder");
    try_to_save(&pair, &format!("{holder}, gen_random_uuid()"));
    assert_eq!(pair.query(ALL), saved);
    // Nor does a save that comes after a later one.
    pair.query("UPDATE slotbook.counts SET beat = beat + 1000000");
    let saved = pair.query(ALL);
    try_to_save(&pair, &pair.query(DECIDING));
    assert_eq!(pair.query(ALL), saved);
    pair.query("UPDATE slotbook.counts SET beat = beat - 1000000");

    // A server that stops saves its last counts.
    servers.members[first].restart();
    assert_eq!(guess(&servers, second, "other@example.org").await, 401);
    servers.members[second].signal("TERM");
    assert_eq!(servers.members[second].left(), Some(0));
    assert_eq!(saved_failures(&pair), FAILURES_MAX + 1);
    assert_eq!(servers.deciding().await, first);
    assert_eq!(guess(&servers, first, "pro@example.org").await, 429);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damaged_counts_begin_anew_and_delay_no_takeover() {
    let pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let mut servers = Servers::start(&pair, &practice(1), 1).await;
    let only = servers.deciding().await;
    for _ in 0..FAILURES_MAX {
        assert_eq!(guess(&servers, only, "pro@example.org").await, 401);
    }
    servers.members[only].signal("TERM");
    assert_eq!(servers.members[only].left(), Some(0));
    pair.query(
        "UPDATE slotbook.counts SET bytes = set_byte(bytes, 5, 255 - get_byte(bytes, 5)) \
         WHERE name = 'logins.pairs'",
    );
    pair.query(
        "UPDATE slotbook.counts SET bytes = set_byte(bytes, 1, 9) WHERE name = 'logins.sources'",
    );
    pair.query("UPDATE slotbook.counts SET bytes = '' WHERE name = 'logins.emails'");
    servers.members[only].restart();
    let only = servers.deciding().await;
    assert_eq!(guess(&servers, only, "pro@example.org").await, 401);
    let said = servers.members[only].said();
    for name in ["logins.pairs", "logins.sources", "logins.emails"] {
        let warned = |line: &str| line.contains("begin anew") && line.contains(name);
        assert!(said.lines().any(warned), "{name}: {said}");
    }

    // The commit of counts waits for no standby: what is lost is not relied on.
    pair.set_standby_names("nobody");
    let is_saved = std::thread::scope(|scope| {
        let saving = scope.spawn(|| {
            pair.query(
                "SELECT slotbook.save_counts(0, node, incarnation, 'test', '\\x00') \
                 FROM slotbook.holder",
            );
        });
        let began = Instant::now();
        while !saving.is_finished() && began.elapsed() < WAITING_MAX / 4 {
            std::thread::park_timeout(Duration::from_millis(20));
        }
        let is_saved = saving.is_finished();
        pair.set_standby_names("*");
        is_saved
    });
    assert!(is_saved, "it waits for a standby");
}
