//! Imports into the shared store of a cluster.

use slotbook::domain::availability::catalogue::Catalogue;
use slotbook::domain::directory::Directory;
use slotbook::domain::records::group::Group;
use slotbook::domain::records::ids::GroupId;
use slotbook::domain::state::group_state::GroupState;
use slotbook::domain::time::Instant;
use slotbook::domain::time::zone::tzdata_version;
use slotbook::domain::time::zone_names::ZoneName;
use slotbook::engine::recovery;

use super::postgres::{Pair, database_url, free_port};
use super::servers::{ServerOptions, Servers};
use crate::server::{complaint, practice, run, store_of};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_import_that_was_broken_off_is_run_again_and_serves_no_part() {
    let pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let owner = database_url("postgres", &pair.ports);
    let url = database_url("slotbook_server", &pair.ports);
    let init = ["cluster", "init", "--role", "slotbook_server", "--shared", &owner];
    let made = run(&init, &folder.path().join("none"));
    assert!(made.status.success(), "{}", complaint(&made));
    let import = || run(&["cluster", "import", "--shared", &url], &data);
    // It dies before its end.
    pair.query(
        "CREATE FUNCTION slotbook.break_off() RETURNS trigger LANGUAGE plpgsql AS $$ \
         BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN new; END $$; \
         CREATE TRIGGER break_off BEFORE INSERT ON slotbook.snapshot \
         FOR EACH ROW EXECUTE FUNCTION slotbook.break_off()",
    );
    let broken = import();
    assert_eq!(broken.status.code(), Some(1), "{}", complaint(&broken));
    assert_eq!(pair.query("SELECT count(*) > 0 FROM slotbook.frame"), "t", "it had begun");
    let listen = format!("127.0.0.1:{}", free_port());
    let address = format!("http://{listen}");
    let serve = ["serve", "--listen", &listen, "--shared", &url, "--advertise", &address];
    let refused = run(&serve, &folder.path().join("server"));
    assert_eq!(refused.status.code(), Some(1), "{}", complaint(&refused));
    let said = complaint(&refused);
    assert!(said.contains("slotbook cluster import"), "{said}");
    // A server that has joined before, and has read an empty journal, takes no part either.
    let refused = pair.query(
        "DO $$ BEGIN PERFORM slotbook.take_over(0, gen_random_uuid(), 1, gen_random_uuid(), 0); \
         RAISE 'it has taken'; EXCEPTION WHEN SQLSTATE 'SB008' THEN NULL; END $$",
    );
    assert_eq!(refused, "DO");
    pair.query("DROP TRIGGER break_off ON slotbook.snapshot");
    let done = import();
    assert!(done.status.success(), "{}", complaint(&done));
    assert_eq!(pair.query("SELECT count(DISTINCT n) FROM slotbook.frame"), "1", "of one snapshot");
    assert_eq!(pair.query("SELECT min(n) > 0 FROM slotbook.journal"), "t");
    let again = import();
    assert!(complaint(&again).contains("it has been used already"), "{}", complaint(&again));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_takes_over_brings_older_groups_to_its_time_zone_data() {
    let pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let zone = ZoneName::from_name("Paris").expect("it is one");
    let group = Group::new(GroupId::new(1).expect("above 0"), zone, Instant(0));
    let mut state = GroupState::new(Catalogue::new(group));
    state.tzdata = "2019a".into();
    drop(recovery::create(&data, &Directory::default(), &[state]).expect("there is room"));
    let mut servers = Servers::start_on(folder, &pair.ports, &[ServerOptions::default()]).await;
    let only = servers.deciding().await;
    let updates = format!(
        "SELECT count(*) FROM slotbook.journal \
         WHERE position(convert_to('{}', 'UTF8') in bytes) > 0",
        tzdata_version()
    );
    assert_eq!(pair.query(&updates), "1");
    servers.members[only].kill();
    servers.deciding().await;
    assert_eq!(pair.query(&updates), "1", "it is done once");
}
