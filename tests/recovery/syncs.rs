//! The calls that make files and names durable, seen by strace. A power cut shows a missing sync
//! only by chance; the trace of a run shows it every time. Reference 8.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use super::faults::strace_works;
use super::server::{Served, booking, half_hour, practice, signal, store_of};

/// Longest wait for a sync that is due within a second.
const PATIENCE: Duration = Duration::from_secs(30);

/// The program under a strace that writes its syncs and renames to `log`.
fn traced(data: &Path, log: &Path) -> Command {
    let mut command = Command::new("strace");
    command.args(["-D", "-f", "--seccomp-bpf", "-y", "-qq", "-e", "trace=fsync,fdatasync,rename"]);
    command.arg("-o").arg(log).arg(env!("CARGO_BIN_EXE_slotbook"));
    command.env("SLOTBOOK_LOG", "off").env("SLOTBOOK_DATA", data);
    command
}

/// The calls so far about paths below `data`, in order: `sync mark`, `rename CURRENT`. The data
/// directory itself is `.`, and a renamed file has its new name.
fn calls(log: &Path, data: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let mut calls = Vec::new();
    for line in text.lines() {
        let (kind, path) = if let Some((_, rest)) = line.split_once("sync(") {
            ("sync", rest.split_once('<').and_then(|(_, path)| path.split('>').next()))
        } else if let Some((_, rest)) = line.split_once("rename(") {
            ("rename", rest.split('"').nth(3))
        } else {
            continue;
        };
        let Ok(below) = Path::new(path.expect("strace shows the path")).strip_prefix(data) else {
            continue;
        };
        let name = below.to_str().expect("plain names");
        calls.push(format!("{kind} {}", if name.is_empty() { "." } else { name }));
    }
    calls
}

/// Asserts that each of `before` comes somewhere before the first `call`, and `after` behind it.
fn assert_order(calls: &[String], before: &[&str], call: &str, after: &str) {
    let at = calls.iter().position(|found| found == call);
    let at = at.unwrap_or_else(|| panic!("no {call:?} in {calls:#?}"));
    for wanted in before {
        assert!(calls[..at].iter().any(|found| found == wanted), "{wanted:?} before {calls:#?}");
    }
    assert!(calls[at..].iter().any(|found| found == after), "{after:?} after {call} in {calls:#?}");
}

#[test]
fn a_new_store_is_durable_with_its_names_before_current_names_it() {
    if !strace_works() {
        return println!("skipped: strace is not here or may not trace");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (data, log) = (folder.path().join("data"), folder.path().join("strace.log"));
    let document = folder.path().join("document.json");
    std::fs::write(&document, practice(1).to_string()).expect("it is written");
    let made = traced(&data, &log).arg("import").arg(&document).status().expect("strace was found");
    assert!(made.success());
    let calls = calls(&log, &data);
    let database = ["db", "conf", "blobs"];
    let within = |path: &str| {
        let mut syncs = vec![format!("sync {path}")];
        syncs.extend(database.iter().map(|name| format!("sync {path}/{name}")));
        syncs
    };
    let journal = within("journal-000001.new");
    let journal: Vec<&str> = journal.iter().map(String::as_str).collect();
    assert_order(&calls, &journal, "rename journal-000001", "sync .");
    let mut whole = within("snapshots-000001");
    whole.extend(["rename journal-000001", "sync mark", "sync CURRENT.new"].map(str::to_owned));
    let whole: Vec<&str> = whole.iter().map(String::as_str).collect();
    assert_order(&calls, &whole, "rename CURRENT", "sync .");
    let journal_is_named = calls.iter().position(|call| call == "rename journal-000001");
    let current_is_named = calls.iter().position(|call| call == "rename CURRENT");
    let between = &calls[journal_is_named.expect("seen")..current_is_named.expect("seen")];
    assert!(between.contains(&"sync .".to_owned()), "the journal's name in {calls:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_answer_follows_a_sync_of_its_batch_and_the_watermark_is_synced_each_second() {
    if !strace_works() {
        return println!("skipped: strace is not here or may not trace");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (data, log) = (store_of(folder.path(), &practice(1)), folder.path().join("strace.log"));
    let mut server = traced(&data, &log)
        .args(["serve", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("strace was found");
    let mut line = String::new();
    BufReader::new(server.stdout.as_mut().expect("piped")).read_line(&mut line).expect("text");
    let base = line.trim().strip_prefix("listening on ").expect("it serves");
    let count = |wanted: &str| {
        let calls = calls(&log, &data);
        calls.iter().filter(|call| *call == wanted).count()
    };
    let watermarks = count("sync mark");
    let http = reqwest::Client::new();
    for nth in 0..5 {
        let batches = count("sync journal-000001/db");
        let wish = booking(&format!("c{nth}"), &half_hour(nth), 1, &[1]);
        let url = format!("{base}/api/v1/groups/1/appointments");
        let request = http.post(url).query(&[("apikey", "test-key")]).json(&wish);
        assert_eq!(request.send().await.expect("an answer").status(), 201);
        assert!(count("sync journal-000001/db") > batches, "answer {nth} came without a sync");
    }
    let deadline = Instant::now() + PATIENCE;
    while count("sync mark") == watermarks && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let synced = count("sync mark") > watermarks;
    signal(server.id(), "KILL");
    server.wait().expect("ours");
    assert!(synced, "the watermark was not synced");
}

#[test]
fn the_first_erasure_makes_the_name_of_its_list_durable() {
    if !strace_works() {
        return println!("skipped: strace is not here or may not trace");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut document = practice(1);
    document["groups"][0]["fiches"] = json!([{"id": 1, "lastname": "Client"}]);
    let (data, log) = (store_of(folder.path(), &document), folder.path().join("strace.log"));
    let erase = ["forget", "--group", "1", "--fiche", "1"];
    let erased = traced(&data, &log).args(erase).status().expect("strace was found");
    assert!(erased.success());
    let calls = calls(&log, &data);
    let listed = calls.iter().position(|call| call == "sync forgotten").expect("it is listed");
    // The event is written after it, to a journal.
    let mut named = calls[listed..].iter().take_while(|call| !call.starts_with("sync journal"));
    assert!(named.any(|call| call == "sync ."), "the name of the list in {calls:#?}");
}

#[test]
fn only_after_an_unclean_end_is_all_that_is_read_synced_first() {
    if !strace_works() {
        return println!("skipped: strace is not here or may not trace");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    // What a recovery reads. It syncs these before it drops them from the page cache.
    let read = ["sync CURRENT", "sync snapshots-000001/db", "sync journal-000001/conf"];
    for is_killed in [false, true] {
        if is_killed {
            drop(Served::on(&data, &[]));
        }
        let log = folder.path().join(format!("strace-{is_killed}.log"));
        let mut export = traced(&data, &log);
        let exported = export.arg("export").arg(folder.path().join("export.json")).status();
        assert!(exported.expect("strace was found").success());
        let calls = calls(&log, &data);
        for call in read {
            let is_synced = calls.iter().any(|found| found == call);
            assert_eq!(is_synced, is_killed, "{call} in {calls:#?}");
        }
    }
}
