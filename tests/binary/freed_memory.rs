//! What a server no longer needs goes back to the system.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::server::{Served, half_hour, practice, store_of};

/// Appointments whose recovery frees several MiB.
const APPOINTMENTS: u64 = 60_000;
const RETURNED_KIB_MIN: u64 = 2_048;

fn resident_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

fn appointment(number: u64) -> Value {
    json!({
        "calendar_id": 1, "fiche_id": 1 + number % 100, "intervention_id": 1,
        "start": half_hour(number), "end": half_hour(number + 1),
    })
}

#[test]
fn memory_that_only_the_start_needed_goes_back_without_a_request() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut document = practice(1);
    let group = &mut document["groups"][0];
    group["fiches"] = (1..=100)
        .map(|id| json!({"id": id, "lastname": "Client", "email": format!("{id}@example.org")}))
        .collect();
    let rows = group["vevents"].as_array_mut().expect("a list");
    rows.extend((0..APPOINTMENTS).map(appointment));
    let server = Served::on(&store_of(folder.path(), &document), &[]);
    let at_start = resident_kib(server.pid());
    let deadline = Instant::now() + Duration::from_secs(120);
    while resident_kib(server.pid()) + RETURNED_KIB_MIN > at_start {
        assert!(Instant::now() < deadline, "{} KiB stay", resident_kib(server.pid()));
        std::thread::sleep(Duration::from_millis(200));
    }
}
