//! What a server no longer needs goes back to the system.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::server::{Served, half_hour, practice, store_of};

/// Appointments whose export fills a socket.
const APPOINTMENTS: u64 = 60_000;
/// Connections whose end frees some 4 MiB.
const CONNECTIONS: usize = 500;
/// Without a return it is nothing.
const RETURNED_KIB_MIN: u64 = 1_024;
/// Commands of the operator that are served at once, each by a thread for blocking tasks.
const COMMANDS: usize = 8;
/// Such threads that stay at most: the task each three seconds comes to the first of four after
/// twelve, and it ends after ten.
const KEPT_THREADS_MAX: usize = 3;
const RETURN_TIME_MAX: Duration = Duration::from_secs(120);

fn appointment(number: u64) -> Value {
    json!({
        "calendar_id": 1, "fiche_id": 1 + number % 100, "intervention_id": 1,
        "start": half_hour(number), "end": half_hour(number + 1),
    })
}

fn large_store(folder: &Path) -> PathBuf {
    let mut document = practice(1);
    let group = &mut document["groups"][0];
    group["fiches"] = (1..=100)
        .map(|id| json!({"id": id, "lastname": "Client", "email": format!("{id}@example.org")}))
        .collect();
    let rows = group["vevents"].as_array_mut().expect("a list");
    rows.extend((0..APPOINTMENTS).map(appointment));
    store_of(folder, &document)
}

/// Resident memory now, or its peak, by the name of its line.
fn resident_kib(pid: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a line");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// The threads of the runtime: one for each core, and those for blocking tasks. The store has some
/// of its own, which come and go.
fn count_threads(pid: u32) -> usize {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).expect("it runs");
    // One that ends meanwhile has no name any more.
    let names = threads.filter_map(|it| std::fs::read_to_string(it.ok()?.path().join("comm")).ok());
    names.filter(|name| name.trim_end() == "tokio-rt-worker").count()
}

/// Waits until something holds.
#[expect(clippy::disallowed_methods, reason = "another process frees it, and tells nobody")]
fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + RETURN_TIME_MAX;
    while !holds() {
        assert!(Instant::now() < deadline, "{what}: not yet");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn memory_of_a_burst_goes_back_without_another_request() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let server = Served::on(&data, &["--source-connections-max", "0"]);
    let host = server.base.strip_prefix("http://").expect("an address");
    let open = || {
        let mut stream = TcpStream::connect(host).expect("it listens");
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n").expect("it is taken");
        stream
    };
    let mut connections: Vec<_> = std::iter::repeat_with(open).take(CONNECTIONS).collect();
    for stream in &mut connections {
        stream.read_exact(&mut [0]).expect("an answer begins");
    }
    let resident = |name| resident_kib(server.pid(), name);
    // Each has memory of its own at the same time, and without a return it stays.
    drop(connections);
    wait_until("less memory", || resident("VmRSS:") + RETURNED_KIB_MIN <= resident("VmHWM:"));
}

#[test]
fn threads_of_a_burst_end_after_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = large_store(folder.path());
    let server = Served::on(&data, &[]);
    let cores = std::thread::available_parallelism().expect("it is known").get();
    let mut commands = Vec::new();
    for _ in 0..COMMANDS {
        let mut stream = UnixStream::connect(data.join("operator.sock")).expect("it is served");
        stream
            .write_all(b"GET /api/v1/operator/export HTTP/1.1\r\nHost: a\r\n\r\n")
            .expect("it is read");
        let mut first = [0];
        stream.read_exact(&mut first).expect("an answer begins");
        commands.push(stream);
    }
    // Each waits for its reader.
    let busy = count_threads(server.pid());
    assert!(busy >= cores + COMMANDS, "{busy} threads");
    drop(commands);
    wait_until("fewer threads", || count_threads(server.pid()) <= cores + KEPT_THREADS_MAX);
}
