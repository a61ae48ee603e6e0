//! Snapshots in the shared store: what is written wrong is not published, and those who are behind read anew.

use std::time::{Duration, Instant};

use super::from_one_to_three::book;
use super::postgres::{Pair, database_url};
use super::servers::Servers;
use crate::server::{appointments, complaint, practice, run};

/// Longest time until something is seen to happen.
const WAITING_MAX: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_that_is_read_back_otherwise_is_not_published_and_nothing_is_trimmed() {
    let pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let mut servers = Servers::start(&pair, &practice(1), 1).await;
    let only = servers.deciding().await;
    book(&servers.members[only].base(), 1).await;
    let state = "SELECT (SELECT string_agg(n::text, ' ') FROM slotbook.snapshot), \
                 (SELECT min(n) FROM slotbook.journal)";
    let before = pair.query(state);
    // The frames of the one before are there in place of its own, whole in themselves.
    pair.query(
        "CREATE FUNCTION slotbook.change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
         DELETE FROM slotbook.frame WHERE n = new.n; \
         INSERT INTO slotbook.frame SELECT new.part, new.n, i, crc32, bytes FROM slotbook.frame \
             WHERE n < new.n; RETURN NULL; END $$; \
         CREATE TRIGGER change AFTER INSERT ON slotbook.frame \
         FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION slotbook.change()",
    );
    let refused = run(&["compact", "--now"], &servers.members[only].data);
    assert!(!refused.status.success());
    let said = servers.members[only].said();
    assert!(said.contains("no new snapshot was made"), "{said}");
    assert_eq!(pair.query(state), before);
    pair.query("DROP TRIGGER change ON slotbook.frame");
    let done = run(&["compact", "--now"], &servers.members[only].data);
    assert!(done.status.success(), "{}", complaint(&done));
    assert_ne!(pair.query(state), before);
    servers.members[only].kill();
    let only = servers.deciding().await;
    assert_eq!(appointments(&servers.exported(only)).count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_behind_what_was_trimmed_reads_anew() {
    let pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let mut servers = Servers::start(&pair, &practice(1), 2).await;
    let first = servers.deciding().await;
    let second = 1 - first;
    book(&servers.members[first].base(), 1).await;
    servers.expect_followed().await;
    servers.members[second].pause();
    for nth in 2..=4 {
        book(&servers.members[first].base(), nth).await;
    }
    let url = database_url("slotbook_server", &pair.ports);
    let status = run(&["cluster", "status", "--shared", &url], &servers.store());
    let printed = String::from_utf8_lossy(&status.stdout).into_owned();
    let line = printed.lines().find(|line| line.contains(&servers.members[second].base()));
    let line = line.unwrap_or_else(|| panic!("{printed}"));
    let (_, behind) = line.split_once(" ms ago, ").expect("it has beaten");
    let rows = behind.split(' ').next().expect("a number").parse::<u64>().expect("a number");
    assert!(rows >= 3 && behind.contains(" rows behind"), "{line}");
    for nth in 5..=6 {
        let done = run(&["compact", "--now"], &servers.members[first].data);
        assert!(done.status.success(), "{}", complaint(&done));
        book(&servers.members[first].base(), nth).await;
    }
    servers.members[second].signal("CONT");
    let began = Instant::now();
    let anew = "the journal is another than before; reading it anew";
    while !servers.members[second].said().contains(anew) {
        assert!(began.elapsed() < WAITING_MAX, "{}", servers.members[second].said());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    servers.expect_followed().await;
    servers.members[first].signal("TERM");
    assert_eq!(servers.members[first].left(), Some(0));
    assert_eq!(servers.deciding().await, second);
    book(&servers.members[second].base(), 7).await;
    assert_eq!(appointments(&servers.exported(second)).count(), 7);
    // Its snapshots have the epoch in which it decides, behind the number of the first stream.
    let done = run(&["compact", "--now"], &servers.members[second].data);
    assert!(done.status.success(), "{}", complaint(&done));
    let are_same = "SELECT get_byte(f.bytes, 12) = (SELECT max(j.epoch) FROM slotbook.journal j) \
                    FROM slotbook.frame f WHERE f.i = 1 ORDER BY f.n DESC LIMIT 1";
    assert_eq!(pair.query(are_same), "t");
}
