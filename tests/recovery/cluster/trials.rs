//! Commits of PostgreSQL that wait for a standby, damaged rows, and starts that are refused.

use std::time::{Duration, Instant};

use reqwest::Response;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::postgres::{Pair, database_url};
use super::servers::Servers;
use crate::server::{appointments, booking, complaint, half_hour, practice, run};

/// Longest time until something is seen to happen.
const WAITING_MAX: Duration = Duration::from_secs(30);
const LOG_ROWS: &str = "SELECT count(*) FROM slotbook.journal";

/// A booking that is sent and not yet answered.
fn send_booking(servers: &Servers, index: usize, nth: u64) -> JoinHandle<Option<Response>> {
    let url = format!("{}/api/v1/groups/1/appointments", servers.members[index].base());
    let wish = booking(&format!("t{nth}"), &half_hour(2 * nth), 1, &[2]);
    let request = reqwest::Client::new().post(url).query(&[("apikey", "test-key")]).json(&wish);
    tokio::spawn(async move { request.send().await.ok() })
}

fn booked(document: &Value) -> usize {
    appointments(document).count()
}

/// Waits until a query counts something.
async fn expect_counted(pair: &Pair, query: &str) {
    let began = Instant::now();
    while pair.query(query) == "0" {
        assert!(began.elapsed() < WAITING_MAX, "{query}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Waits until an append of a server waits for a standby.
async fn expect_waiting(pair: &Pair) {
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' \
                   AND query LIKE '%append%'";
    expect_counted(pair, waiting).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_no_standby_has_is_not_answered() {
    let pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let mut servers = Servers::start(&pair, &practice(1), 1).await;
    let cancel = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity \
                  WHERE wait_event = 'SyncRep' AND query LIKE '%append%'";
    let terminate = cancel.replace("pg_cancel_backend", "pg_terminate_backend");
    let endings = [cancel.to_owned(), terminate, String::new()];
    for (nth, ending) in (1..).zip(&endings) {
        let deciding = servers.deciding().await;
        pair.set_standby_names("nobody");
        let asked = send_booking(&servers, deciding, nth);
        expect_waiting(&pair).await;
        // A server that took the end for success would answer now. What it had begun to write by
        // itself may wait before the booking: so each wait is ended.
        let unconfirmed = "the shared store has not confirmed a batch";
        let unconfirmed = || servers.members[0].said().matches(unconfirmed).count();
        let before = unconfirmed();
        let began = Instant::now();
        while !asked.is_finished() && unconfirmed() == before {
            if ending.is_empty() {
                // Releases all that wait, without a notice.
                pair.set_standby_names("");
            } else {
                pair.query(ending);
            }
            assert!(began.elapsed() < WAITING_MAX, "{ending}: {}", servers.members[0].said());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert!(!asked.is_finished(), "{ending}: it was answered before a standby had it");
        pair.set_standby_names("*");
        let answer = asked.await.expect("no panic");
        let answer = answer.unwrap_or_else(|| panic!("{ending}: {}", servers.members[0].said()));
        assert_eq!(answer.status(), 201, "{ending}");
        let deciding = servers.deciding().await;
        let document = servers.exported(deciding);
        assert_eq!(booked(&document), usize::try_from(nth).expect("small"), "{ending}: once each");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_take_that_no_standby_has_decides_nothing() {
    let pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let mut servers = Servers::start(&pair, &practice(1), 1).await;
    let only = servers.deciding().await;
    // What it does after its start waits for standbys as well, but for this call.
    pair.query(
        "CREATE FUNCTION slotbook.wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
         PERFORM pg_sleep(2); RETURN new; END $$; \
         CREATE TRIGGER wait BEFORE INSERT ON slotbook.journal \
         FOR EACH ROW WHEN (new.bytes = '') EXECUTE FUNCTION slotbook.wait()",
    );
    servers.members[only].kill();
    let taking = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%take_over%' \
                  AND query NOT LIKE '%pg_stat%' AND state = 'active'";
    expect_counted(&pair, &format!("{taking} AND wait_event = 'PgSleep'")).await;
    pair.set_standby_names("nobody");
    expect_counted(&pair, &format!("{taking} AND wait_event = 'SyncRep'")).await;
    let rows = pair.query(LOG_ROWS);
    // The wait ends with success and a warning.
    pair.query(
        "SELECT pg_cancel_backend(pid) FROM pg_stat_activity \
         WHERE wait_event = 'SyncRep' AND query LIKE '%take_over%'",
    );
    let ready = format!("{}/readyz", servers.members[only].base());
    for _ in 0..20 {
        let answer = reqwest::get(&ready).await.expect("it is answered");
        assert_eq!(answer.status(), 503, "{}", servers.members[only].said());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(!servers.members[only].said().contains("has taken over after its start"));
    pair.set_standby_names("*");
    pair.query("DROP TRIGGER wait ON slotbook.journal");
    let only = servers.deciding().await;
    let answer = send_booking(&servers, only, 1).await.expect("no panic");
    assert_eq!(answer.expect("it is answered").status(), 201);
    assert_ne!(pair.query(LOG_ROWS), rows, "it has taken once more");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_role_that_waits_for_no_standby_from_now_on_writes_nothing() {
    let pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let mut servers = Servers::start(&pair, &practice(1), 1).await;
    let only = servers.deciding().await;
    pair.query("ALTER ROLE slotbook_server SET synchronous_commit = 'local'");
    // Settings of a role hold for connections that are made after it.
    pair.end_connections();
    let rows = pair.query(LOG_ROWS);
    let answer = send_booking(&servers, only, 1).await.expect("no panic");
    let answer = answer.expect("it is answered");
    assert_eq!(answer.status(), 503);
    assert_eq!(pair.query(LOG_ROWS), rows);
    pair.query("ALTER ROLE slotbook_server RESET synchronous_commit");
    pair.end_connections();
    let only = servers.deciding().await;
    let answer = send_booking(&servers, only, 2).await.expect("no panic");
    assert_eq!(answer.expect("it is answered").status(), 201);
    assert_ne!(pair.query(LOG_ROWS), rows);
    // The first was not refused: whether it was done was not known.
    assert_eq!(booked(&servers.exported(only)), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_of_another_owner_ends_the_server_before_it_answers() {
    let pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let mut servers = Servers::start(&pair, &practice(1), 1).await;
    let deciding = servers.deciding().await;
    // As after a take whose wait was cancelled, a promotion and another take: the same epoch twice.
    pair.query(
        "UPDATE slotbook.journal SET owner = gen_random_uuid() \
         WHERE n = (SELECT max(n) FROM slotbook.journal)",
    );
    let rows = pair.query(LOG_ROWS);
    let asked = send_booking(&servers, deciding, 1);
    assert!(asked.await.expect("no panic").is_none(), "it is not answered");
    servers.expect_fenced(deciding).await;
    assert_eq!(pair.query(LOG_ROWS), rows, "nothing was added");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_server_answers_nothing_from_before_its_pause() {
    let pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let mut servers = Servers::start(&pair, &practice(1), 2).await;
    let first = servers.deciding().await;
    let answer = send_booking(&servers, first, 1).await.expect("no panic");
    let answer: Value = answer.expect("it is answered").json().await.expect("JSON");
    let url = format!("{}/api/v1/groups/1", servers.members[first].base());
    let http = reqwest::Client::new();
    let key = [("apikey", "test-key")];
    // The connections are there before the pause, and the requests come during it.
    let ready = http.get(format!("{url}/calendars")).query(&key).send().await;
    assert_eq!(ready.expect("it is answered").status(), 200);
    servers.members[first].pause();
    let read = http.get(format!("{url}/calendars")).query(&key).send();
    let id = &answer["records"][0]["id"];
    let refused = http
        .put(format!("{url}/vevents/{id}"))
        .query(&key)
        .basic_auth("pro@example.org", Some("wrong"));
    let refused = refused.json(&serde_json::json!({"vevent": {}})).send();
    let asked = tokio::spawn(async move { tokio::join!(read, refused) });
    let second = loop {
        let deciding = servers.deciding().await;
        if deciding != first {
            break deciding;
        }
    };
    let booked_elsewhere = send_booking(&servers, second, 2).await.expect("no panic");
    assert_eq!(booked_elsewhere.expect("it is answered").status(), 201);
    // It cannot learn that another one has taken over, and end.
    servers.members[first].cut(true);
    servers.members[first].signal("CONT");
    let (read, refused) = asked.await.expect("no panic");
    for answer in [read, refused] {
        assert_eq!(answer.expect("it is answered").status(), 503, "its lease is over");
    }
    servers.members[first].cut(false);
    servers.expect_fenced(first).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn appends_read_the_journal_by_its_key_however_it_grows() {
    let pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let mut servers = Servers::start(&pair, &practice(1), 1).await;
    let deciding = servers.deciding().await;
    let scans = "SELECT seq_scan FROM pg_stat_user_tables \
                 WHERE schemaname || '.' || relname = 'slotbook.journal'";
    // Its index was built by one.
    let before = pair.query(scans);
    for nth in 1..=20 {
        let answer = send_booking(&servers, deciding, nth).await.expect("no panic");
        assert_eq!(answer.expect("it is answered").status(), 201);
    }
    // The statistics of a session arrive with its end.
    pair.end_connections();
    let deciding = servers.deciding().await;
    let answer = send_booking(&servers, deciding, 21).await.expect("no panic");
    assert_eq!(answer.expect("it is answered").status(), 201);
    assert_eq!(pair.query(scans), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_row_is_refused_with_its_place_and_nothing_is_removed() {
    let pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let mut servers = Servers::start(&pair, &practice(1), 1).await;
    let deciding = servers.deciding().await;
    let answer = send_booking(&servers, deciding, 1).await.expect("no panic");
    assert_eq!(answer.expect("it is answered").status(), 201);
    servers.members[deciding].signal("TERM");
    assert_eq!(servers.members[deciding].left(), Some(0));
    let last = pair.query("SELECT max(n) FROM slotbook.journal");
    for table in ["journal", "frame"] {
        let place = if table == "journal" { last.as_str() } else { "1" };
        let flip = format!(
            "UPDATE slotbook.{table} SET bytes = set_byte(bytes, 20, 255 - get_byte(bytes, 20)) \
             WHERE n = {place}"
        );
        pair.query(&flip);
        let rows = pair.query(LOG_ROWS);
        servers.members[deciding].restart();
        assert_eq!(servers.members[deciding].left(), Some(70));
        let said = servers.members[deciding].said();
        let named = format!("the table slotbook.{table}, part 0, n {place} is damaged");
        assert!(said.contains(&named), "{said}");
        assert_eq!(pair.query(LOG_ROWS), rows);
        pair.query(&flip);
    }
    servers.members[deciding].restart();
    let deciding = servers.deciding().await;
    assert_eq!(booked(&servers.exported(deciding)), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_snapshot_that_was_read_is_kept_in_place_of_a_damaged_one_after_it() {
    let pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let mut servers = Servers::start(&pair, &practice(1), 1).await;
    let only = servers.deciding().await;
    let done = run(&["compact", "--now"], &servers.members[only].data);
    assert!(done.status.success(), "{}", complaint(&done));
    let snapshots =
        || pair.query("SELECT string_agg(n::text, ' ' ORDER BY n) FROM slotbook.snapshot");
    let made = snapshots();
    let (read, damaged) = made.split_once(' ').expect("two are kept");
    let flip = |of: &str| {
        pair.query(&format!(
            "UPDATE slotbook.frame SET bytes = set_byte(bytes, 20, 255 - get_byte(bytes, 20)) \
             WHERE n = {of}"
        ))
    };
    let restart = async |servers: &mut Servers| {
        servers.members[only].signal("TERM");
        assert_eq!(servers.members[only].left(), Some(0));
        servers.members[only].restart();
        servers.deciding().await;
        let said = servers.members[only].said();
        assert!(said.contains("a snapshot is damaged; reading the one before"), "{said}");
    };
    flip(damaged);
    restart(&mut servers).await;
    let answer = send_booking(&servers, only, 1).await.expect("no panic");
    assert_eq!(answer.expect("it is answered").status(), 201);
    // The journal grows until a snapshot is due.
    let url = format!("{}/api/v1/groups/1/fiches/1", servers.members[only].base());
    let http = reqwest::Client::new();
    let mut changes = 0;
    while snapshots() == made {
        let comments = format!("{changes} {}", "so long a comment ".repeat(3_000));
        let request = http.put(&url).query(&[("apikey", "test-key")]);
        let request = request.basic_auth("pro@example.org", Some("secret"));
        let change = json!({"fiche": {"comments": comments}});
        let answer = request.json(&change).send().await.expect("it is answered");
        assert_eq!(answer.status(), 200, "{}", answer.text().await.expect("text"));
        changes += 1;
        assert!(changes < 1_000, "no snapshot is made");
    }
    let now = snapshots();
    let (before, newest) = now.split_once(' ').expect("two are kept");
    assert_eq!(before, read, "the damaged one is gone");
    flip(newest);
    restart(&mut servers).await;
    let document = servers.exported(only);
    let comments = document["groups"][0]["fiches"][0]["comments"].as_str().expect("text");
    assert!(comments.starts_with(&format!("{} ", changes - 1)), "all batches since are there");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_refuses_what_would_lose_writes_and_names_the_remedy() {
    let pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let folder = tempfile::tempdir().expect("a folder");
    let empty = folder.path().join("empty");
    let url = database_url("slotbook_server", &pair.ports);
    let refusal = |data: &std::path::Path, more: &[&str]| {
        let serve = ["serve", "--listen", "127.0.0.1:0", "--shared", &url];
        let output = run(&[serve.as_slice(), more].concat(), data);
        assert_eq!(output.status.code(), Some(1), "{}", complaint(&output));
        complaint(&output)
    };
    let advertised = ["--advertise", "http://127.0.0.1:1"];
    let said = refusal(&empty, &advertised);
    assert!(said.contains("slotbook cluster init"), "{said}");
    let servers = Servers::start(&pair, &practice(1), 0).await;
    let said = refusal(&empty, &[]);
    assert!(said.contains("--advertise"), "{said}");
    let said = refusal(&empty, &["--advertise", "http://127.0.0.1:1", "--demo"]);
    assert!(said.contains("--demo"), "{said}");
    let said = refusal(&servers.store(), &advertised);
    assert!(said.contains("slotbook cluster import"), "{said}");
    pair.set_standby_names("");
    let said = refusal(&empty, &advertised);
    assert!(said.contains("synchronous_standby_names"), "{said}");
    pair.set_standby_names("*");
    pair.query("ALTER ROLE slotbook_server SET synchronous_commit = 'local'");
    let said = refusal(&empty, &advertised);
    assert!(said.contains("synchronous_commit is local"), "{said}");
    pair.query("ALTER ROLE slotbook_server RESET synchronous_commit");
    pair.set("fsync", "off");
    let said = refusal(&empty, &advertised);
    assert!(said.contains("set fsync = on"), "{said}");
    pair.set("fsync", "on");
    pair.query("UPDATE slotbook.cluster SET version = 99");
    let said = refusal(&empty, &advertised);
    assert!(said.contains("version 99"), "{said}");
    let nowhere = database_url("slotbook_server", &[1, 2]);
    let output = run(
        &["serve", "--listen", "127.0.0.1:0", "--shared", &nowhere, advertised[0], advertised[1]],
        &empty,
    );
    assert!(complaint(&output).contains("a writable PostgreSQL"), "{}", complaint(&output));
    let standby = database_url("slotbook_server", &[pair.ports[1 - pair.primary]]);
    let output = run(
        &["serve", "--listen", "127.0.0.1:0", "--shared", &standby, advertised[0], advertised[1]],
        &empty,
    );
    assert!(complaint(&output).contains("a writable PostgreSQL"), "{}", complaint(&output));
}
