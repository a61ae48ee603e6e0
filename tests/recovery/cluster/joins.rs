//! Servers that may not join a cluster: by an address that leads elsewhere, with a directory of another cluster, through a
//! pooler, with a wrong clock.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tokio::net::TcpListener;

use super::pooler::Pooler;
use super::postgres::{Pair, database_url, free_port};
use super::required::{find_faketime, skip_or_fail};
use super::servers::Servers;
use crate::server::{complaint, practice, run, slotbook};

/// Longest time until something is seen to happen.
const WAITING_MAX: Duration = Duration::from_secs(30);
const NODES: &str = "SELECT string_agg(url || incarnation, ' ' ORDER BY id) FROM slotbook.node";

/// Starts a server whose words are kept.
fn start(pair: &Pair, data: &Path, port: u16, advertise: &str) -> Child {
    let mut command: Command = slotbook();
    command
        .env("SLOTBOOK_DATA", data)
        .env("SLOTBOOK_SHARED", database_url("slotbook_server", &pair.ports))
        .args(["serve", "--listen", &format!("127.0.0.1:{port}"), "--advertise", advertise])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts")
}

/// Waits for the end of a server that was refused, and returns what it has said.
async fn refusal(mut child: Child) -> String {
    let began = Instant::now();
    while child.try_wait().expect("it is our child").is_none() && began.elapsed() < WAITING_MAX {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // One that was not refused serves on.
    drop(child.kill());
    let output = child.wait_with_output().expect("it has ended");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    said
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_that_leads_elsewhere_is_refused_and_disturbs_no_other_server() {
    let pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let mut servers = Servers::start(&pair, &practice(1), 2).await;
    let deciding = servers.deciding().await;
    let began = Instant::now();
    while pair.query("SELECT count(*) FROM slotbook.node") != "2" {
        assert!(began.elapsed() < WAITING_MAX, "{}", servers.members[1 - deciding].said());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let nodes = pair.query(NODES);
    let folder = tempfile::tempdir().expect("a folder");
    let page = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let page_url = format!("http://{}", page.local_addr().expect("bound"));
    let pages = serve_page(page);
    let nowhere = format!("http://127.0.0.1:{}", free_port());
    let port = free_port();
    let silent = start(&pair, &folder.path().join("a"), port, &nowhere);
    let elsewhere = start(&pair, &folder.path().join("b"), free_port(), &page_url);
    // The address of the one that decides, and of the one that follows.
    for index in [deciding, 1 - deciding] {
        let url = servers.members[index].base();
        let said = refusal(start(&pair, &folder.path().join("c"), free_port(), &url)).await;
        let named = format!("--advertise {url} does not lead to this server");
        assert!(said.contains(&named), "{said}");
        assert!(said.contains("another server of a cluster answers there"), "{said}");
    }
    let health = format!("http://127.0.0.1:{port}/healthz");
    let alive = reqwest::get(health).await.expect("it is answered while the address is tried");
    assert_eq!(alive.status(), 200);
    let said = refusal(silent).await;
    assert!(said.contains("nothing answers there: Connection refused"), "{said}");
    let said = refusal(elsewhere).await;
    assert!(said.contains("no server of a cluster answers there, with status 404"), "{said}");
    pages.abort();
    assert_eq!(pair.query(NODES), nodes, "no row was changed");
    assert_eq!(servers.deciding().await, deciding, "it decides on");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_stays_that_of_its_cluster() {
    let pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let mut servers = Servers::start(&pair, &practice(1), 1).await;
    let deciding = servers.deciding().await;
    servers.members[deciding].signal("TERM");
    assert_eq!(servers.members[deciding].left(), Some(0));
    let data = servers.members[deciding].data.clone();
    let id = pair.query("SELECT id FROM slotbook.cluster");
    let file = data.join("cluster");
    assert_eq!(std::fs::read_to_string(&file).expect("it was noted"), format!("{id}\n"));
    let serve = ["serve", "--listen", "127.0.0.1:0"];
    let add = ["group", "add", "Practice", "--timezone", "Paris"];
    let commands: [&[&str]; 5] = [
        &serve,
        &[serve.as_slice(), &["--create"]].concat(),
        &["serve", "--demo"],
        &add,
        &["check"],
    ];
    for arguments in commands {
        let output = run(arguments, &data);
        let said = complaint(&output);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
        assert!(
            said.contains(&format!("of a server in the cluster {id}")),
            "{arguments:?}: {said}"
        );
    }
    // Another database, or one that was made anew.
    let other = "11111111-2222-3333-4444-555555555555";
    let nodes = pair.query(NODES);
    pair.query(&format!("UPDATE slotbook.cluster SET id = '{other}'"));
    servers.members[deciding].restart();
    assert_eq!(servers.members[deciding].left(), Some(1));
    let said = servers.members[deciding].said();
    for named in [id.as_str(), other, file.to_str().expect("a plain path"), "correct --shared"] {
        assert!(said.contains(named), "{named}: {said}");
    }
    assert_eq!(pair.query(NODES), nodes, "it has not joined");
    pair.query(&format!("UPDATE slotbook.cluster SET id = '{id}'"));
    servers.members[deciding].restart();
    servers.deciding().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pooler_that_changes_sessions_is_refused_and_one_that_keeps_them_is_not() {
    let pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let servers = Servers::start(&pair, &practice(1), 0).await;
    for (mode, sessions, is_refused) in
        [("transaction", 1, true), ("statement", 1, true), ("session", 10, false)]
    {
        let pooler = match Pooler::start(&pair, mode, sessions) {
            Ok(pooler) => pooler,
            Err(reason) => return println!("skipped: {reason}"),
        };
        let url = database_url("slotbook_server", &[pooler.port]);
        let output = run(&["cluster", "status", "--shared", &url], &servers.store());
        let said = complaint(&output);
        assert_eq!(output.status.code(), Some(i32::from(is_refused)), "{mode}: {said}");
        assert_eq!(said.contains("pool by session"), is_refused, "{mode}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_is_off_is_refused_with_the_difference() {
    let pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let Some(library) = find_faketime() else {
        return println!("skipped: {}", skip_or_fail("libfaketime is not installed"));
    };
    let servers = Servers::start(&pair, &practice(1), 0).await;
    let url = database_url("slotbook_server", &pair.ports);
    for (offset, is_refused) in [("+5", false), ("-5", false), ("+14", true), ("-14", true)] {
        let mut command = slotbook();
        command.args(["cluster", "status", "--shared", &url]).env("LD_PRELOAD", &library);
        command.env("FAKETIME", offset).env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        let output = command.current_dir(servers.store()).output().expect("the program runs");
        let said = complaint(&output);
        assert_eq!(output.status.code(), Some(i32::from(is_refused)), "{offset}: {said}");
        assert_eq!(
            said.contains("s off its clock: set both by NTP"),
            is_refused,
            "{offset}: {said}"
        );
    }
}

/// Serves a page that answers everything with 404.
fn serve_page(listener: TcpListener) -> tokio::task::JoinHandle<()> {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = [0; 4096];
            let answer =
                b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            if stream.read(&mut head).await.is_ok() {
                drop(stream.write_all(answer).await);
            }
        }
    })
}
