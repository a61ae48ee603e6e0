//! The functions in PostgreSQL, called as no server calls them: what they refuse.

use super::postgres::{Pair, database_url};
use super::servers::Servers;
use crate::server::{complaint, practice, run};

/// Calls that servers rely on.
const RELIED_ON: [&str; 11] = [
    "append(0, 99, 1, gen_random_uuid(), '')",
    "take(0, gen_random_uuid(), NULL)",
    "take_empty(0, gen_random_uuid())",
    "take_over(0, gen_random_uuid(), 1, gen_random_uuid(), 0)",
    "beat(0, 1, gen_random_uuid(), 0)",
    "publish_snapshot(0, 99, 1, 0, 0, '', 0)",
    "publish_import(0, (SELECT max(n) FROM slotbook.journal), 1, 0, 0, '', \
     (SELECT owner FROM slotbook.journal ORDER BY n DESC LIMIT 1))",
    "ask_hand_over(0, '')",
    "raise_formats(1, 1)",
    "raise_tzdata('2999z')",
    "save_sessions(0, 1, gen_random_uuid(), '{}', '{}', true)",
];

/// Calls a function after a setting, and expects a condition.
fn expect_condition(pair: &Pair, setting: &str, call: &str, condition: &str) {
    let done = pair.query(&format!(
        "DO $$ BEGIN {setting} PERFORM slotbook.{call}; RAISE 'it was done'; \
         EXCEPTION WHEN SQLSTATE '{condition}' THEN NULL; END $$"
    ));
    assert_eq!(done, "DO", "{call}");
}

/// Makes a cluster without content.
fn init(pair: &Pair) {
    let owner = database_url("postgres", &pair.ports);
    let init = ["cluster", "init", "--role", "slotbook_server", "--shared", &owner];
    let made = run(&init, pair.folder.path());
    assert!(made.status.success(), "{}", complaint(&made));
}

#[test]
fn no_function_does_anything_that_no_standby_would_have() {
    let pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return println!("skipped: {reason}"),
    };
    init(&pair);
    // Nothing else stands against the calls.
    pair.query(
        "INSERT INTO slotbook.node (url, incarnation, version, record_format, snapshot_format, \
             tzdata) VALUES ('http://a', gen_random_uuid(), '1', 99, 99, '2999z')",
    );
    for setting in ["local", "off", "remote_write"] {
        let setting = format!("PERFORM set_config('synchronous_commit', '{setting}', true);");
        for call in RELIED_ON {
            expect_condition(&pair, &setting, call, "SB002");
        }
    }
    assert_eq!(pair.query("SELECT count(*) FROM slotbook.journal"), "1", "nothing was added");
    assert_eq!(pair.query("SELECT count(*) FROM slotbook.snapshot"), "0");
}

#[test]
fn servers_touch_no_table_and_their_functions_look_into_no_schema_of_others() {
    let pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return println!("skipped: {reason}"),
    };
    init(&pair);
    let touched = pair.query(
        "SELECT string_agg(c.relname, ' ') FROM pg_class c \
         WHERE c.relnamespace = 'slotbook'::regnamespace AND c.relkind = 'r' \
             AND 'slotbook.' <> '' AND has_table_privilege('slotbook_server', c.oid, \
                 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')",
    );
    assert_eq!(touched, "");
    // Two are called by functions alone, and touch nothing.
    let unsafe_functions = pair.query(
        "SELECT string_agg(p.proname, ' ' ORDER BY p.proname) FROM pg_proc p \
         WHERE p.pronamespace = 'slotbook'::regnamespace AND 'slotbook.' <> '' AND NOT \
             (p.prosecdef AND 'search_path=slotbook, pg_temp' = ANY (p.proconfig))",
    );
    assert_eq!(unsafe_functions, "is_synchronous require_synchronous");
    let closed = pair.query(
        "SELECT count(*) FROM pg_proc p \
         WHERE p.pronamespace = 'slotbook'::regnamespace AND 'slotbook.' <> '' \
             AND NOT has_function_privilege('slotbook_server', p.oid, 'EXECUTE')",
    );
    assert_eq!(closed, "0");
    pair.query("CREATE ROLE stranger LOGIN");
    let open = pair.query(
        "SELECT count(*) FROM pg_proc p \
         WHERE p.pronamespace = 'slotbook'::regnamespace AND 'slotbook.' <> '' \
             AND has_function_privilege('stranger', p.oid, 'EXECUTE')",
    );
    assert_eq!(open, "0");
}

#[test]
fn a_journal_without_a_row_is_not_begun_anew() {
    let pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return println!("skipped: {reason}"),
    };
    init(&pair);
    pair.query("DELETE FROM slotbook.journal");
    expect_condition(&pair, "", "take(0, gen_random_uuid(), NULL)", "SB003");
    assert_eq!(pair.query("SELECT count(*) FROM slotbook.journal"), "0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_snapshot_replaces_a_newer_one_or_lacks_a_frame() {
    let pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let mut servers = Servers::start(&pair, &practice(1), 1).await;
    let only = servers.deciding().await;
    let done = run(&["compact", "--now"], &servers.members[only].data);
    assert!(done.status.success(), "{}", complaint(&done));
    let snapshots = "SELECT string_agg(n::text, ' ' ORDER BY n) FROM slotbook.snapshot";
    let before = pair.query(snapshots);
    let older = "SELECT slotbook.publish_snapshot(0, 0, 1, 0, 0, '', 0)";
    assert_eq!(pair.query(older), "f", "there is a newer one");
    expect_condition(&pair, "", "publish_snapshot(0, 99, 1, 3, 0, '', 0)", "SB005");
    assert_eq!(pair.query(snapshots), before);
    // It has not trimmed the last row, nor one that the older of both needs.
    let kept = pair.query(
        "SELECT min(j.n) > (SELECT min(s.n) FROM slotbook.snapshot s) \
             OR min(j.n) = max(j.n) FROM slotbook.journal j",
    );
    assert_eq!(kept, "t");
}
