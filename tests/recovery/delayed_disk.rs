//! A disk that takes its time: new writes are refused while one is on its way, reads go on, and where it never arrives the
//! process ends rather than promise anything.

use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use serde_json::Value;

use super::server::{Served, appointments, booking, exported, half_hour, practice, store_of};

/// Has the next sync of each thread of a process wait for so many seconds, until what is returned is ended.
fn slowed(pid: u32, seconds: u64, log: &Path) -> Child {
    let inject = format!("inject=fdatasync:delay_enter={}:when=1", seconds * 1_000_000);
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o"]).arg(log).args([
        "-e",
        "trace=fdatasync",
        "-e",
        &inject,
        "-p",
        &pid.to_string(),
    ]);
    let tracer = command.spawn().expect("strace was found");
    while !is_traced(pid) {
        std::thread::park_timeout(Duration::from_millis(1));
    }
    tracer
}

/// Whether somebody traces every thread of a process.
fn is_traced(pid: u32) -> bool {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("it runs");
    tasks.flatten().all(|task| {
        let status = std::fs::read_to_string(task.path().join("status")).unwrap_or_default();
        !status.lines().any(|line| line == "TracerPid:\t0")
    })
}

fn traceable() -> bool {
    let works = Command::new("strace").args(["-qq", "-e", "trace=none", "true"]).output();
    works.is_ok_and(|output| output.status.success())
}

fn book(base: &str, client: &str, nth: u64) -> reqwest::RequestBuilder {
    let url = format!("{base}/api/v1/groups/1/appointments?apikey=test-key");
    reqwest::Client::new().post(url).json(&booking(client, &half_hour(nth), 1, &[1]))
}

async fn status(base: &str, path: &str) -> u16 {
    reqwest::get(format!("{base}{path}")).await.expect("an answer").status().as_u16()
}

/// Waits until `/readyz` answers so.
async fn until_ready_is(base: &str, expected: u16) {
    for _ in 0..2_000 {
        if status(base, "/readyz").await == expected {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("/readyz never was {expected}");
}

/// Names of the clients that have an appointment.
fn booked(document: &Value) -> Vec<&str> {
    let fiches = document["groups"][0]["fiches"].as_array().expect("a list");
    assert_eq!(appointments(document).count(), fiches.len());
    fiches.iter().map(|fiche| fiche["lastname"].as_str().expect("a name")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_write_keeps_others_out_until_it_is_there() {
    if !traceable() {
        return println!("skipped: strace is not here or may not trace");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let server = Served::on(&data, &[]);
    let mut tracer = slowed(server.pid(), 9, &folder.path().join("strace.log"));
    let first = tokio::spawn(book(&server.base, "first", 0).send());
    until_ready_is(&server.base, 503).await;
    assert!(!first.is_finished(), "nobody is answered before the disk has it");
    let reading = "/api/v1/groups/1?apikey=test-key";
    assert_eq!(
        (status(&server.base, "/healthz").await, status(&server.base, reading).await),
        (200, 200)
    );
    let refused = book(&server.base, "refused", 1).send().await.expect("an answer");
    assert_eq!(refused.status(), 503);
    assert!(refused.headers().contains_key("retry-after"));
    assert_eq!(first.await.expect("no panic").expect("an answer").status(), 201);
    until_ready_is(&server.base, 200).await;
    assert_eq!(book(&server.base, "last", 2).send().await.expect("an answer").status(), 201);
    assert_eq!(server.terminate(), Some(0));
    assert!(tracer.wait().expect("ours").success());
    assert_eq!(booked(&exported(&data)), ["first", "last"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_never_arrives_ends_the_process_unanswered() {
    if !traceable() {
        return println!("skipped: strace is not here or may not trace");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let server = Served::heard(&data, &[]);
    let mut tracer = slowed(server.pid(), 90, &folder.path().join("strace.log"));
    let stuck = book(&server.base, "stuck", 0).send().await;
    assert!(stuck.is_err(), "answered: {stuck:?}");
    let (code, said) = server.left();
    drop(tracer.wait());
    assert_eq!(code, Some(70), "{said}");
    assert!(
        said.contains("a write to the disk has taken 6")
            && said.contains("the next start recovers"),
        "{said}"
    );
    let found = exported(&data);
    assert!(booked(&found).is_empty() || booked(&found) == ["stuck"], "all of it or nothing");
}
