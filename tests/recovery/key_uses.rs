//! SIGKILL amid uses of keys: the day of a last use may be lost, and nothing else. Reference 3.1.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::json;
use slotbook::clock::{Clock as _, SystemClock};
use slotbook::domain::directory::group_keys::begin_of_day;
use slotbook::domain::time::{DAY, Instant};
use slotbook::engine::recovery;
use slotbook::wire::datetime::format_rfc_3339;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::released::expect_released;
use super::rounds;
use super::server::{Served, complaint, practice, run, store_of};

/// Number of keys beside the first one of the practice.
const KEYS: u64 = 16;
/// Number of requests under way at once.
const CLIENTS: u64 = 4;

fn key(number: u64) -> String {
    format!("key-{number}")
}

/// The UTC day of a moment, `YYYY-MM-DD`.
fn day(at: Instant) -> String {
    format_rfc_3339(at)[..10].to_owned()
}

/// The day of the last use of each key by its label; empty for a key that was never used.
fn last_uses(data: &Path) -> BTreeMap<String, String> {
    let listed = run(&["key", "list"], data);
    assert!(listed.status.success(), "{}", complaint(&listed));
    let text = String::from_utf8(listed.stdout).expect("text");
    let mut uses = BTreeMap::new();
    for line in text.lines() {
        let columns: Vec<&str> = line.split('\t').collect();
        let used = columns.iter().find_map(|column| column.strip_prefix("last used "));
        uses.insert(columns[3].to_owned(), used.unwrap_or_default().to_owned());
    }
    uses
}

/// Waits until the days of last uses are as awaited.
fn await_uses(data: &Path, are_awaited: impl Fn(&BTreeMap<String, String>) -> bool) {
    let mut uses = last_uses(data);
    for _ in 0..1_000 {
        if are_awaited(&uses) {
            return;
        }
        uses = last_uses(data);
    }
    panic!("the uses stay {uses:?}");
}

/// Sets the last use of every other key some days back, and forgets those of the rest.
fn age(data: &Path, days: i64) {
    let mut loaded = recovery::load(data).expect("it is read");
    let before = begin_of_day(SystemClock.now()).plus_seconds(-days * DAY);
    let keys = loaded.directory.apikeys.keys().copied().enumerate();
    let aged = keys.filter(|(nth, _)| nth % 2 == 0).map(|(_, hash)| (hash, before));
    loaded.directory.keys_used = aged.collect();
    let replaced = recovery::replace(loaded.store, &loaded.directory, &loaded.group_states);
    drop(replaced.expect("it is written"));
    expect_released(data);
}

async fn status(http: &reqwest::Client, base: &str, key: &str) -> Option<u16> {
    let url = format!("{base}/api/v1/groups/1?apikey={key}");
    Some(http.get(url).send().await.ok()?.status().as_u16())
}

/// Uses keys one after the other until the server is gone. Returns after so many answers.
async fn use_keys(base: &str, live: &Arc<Vec<String>>, answers: usize) -> JoinSet<()> {
    let (answered, mut answer) = mpsc::unbounded_channel();
    let mut clients = JoinSet::new();
    for nth in 0..CLIENTS {
        let (base, live, answered) = (base.to_owned(), Arc::clone(live), answered.clone());
        clients.spawn(async move {
            let http = reqwest::Client::new();
            let first = usize::try_from(nth).expect("small");
            for key in live.iter().cycle().skip(first) {
                let Some(status) = status(&http, &base, key).await else { return };
                assert_eq!(status, 200, "{key} works");
                answered.send(()).ok();
            }
        });
    }
    drop(answered);
    for _ in 0..answers {
        answer.recv().await.expect("the server answers");
    }
    clients
}

/// Ends a life of the server, and checks what is left of the uses. Returns the number of days that
/// were kept of it.
fn examine(data: &Path, before: &BTreeMap<String, String>, days: &[String; 2]) -> usize {
    let checked = run(&["check"], data);
    assert!(checked.status.success(), "{}", complaint(&checked));
    let mut kept = 0;
    let uses = last_uses(data);
    assert_eq!(uses.len(), before.len(), "{uses:?}");
    for (label, used) in &uses {
        let was = before.get(label).unwrap_or_else(|| panic!("{label} was revoked"));
        let is_new = days.contains(used);
        assert!(used == was || is_new, "{label}: {used} after {was}");
        assert!(used >= was, "{label}: {used} runs back from {was}");
        kept += usize::from(is_new);
    }
    kept
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_amid_uses_of_keys_loses_days_of_uses_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut document = practice(1);
    let keys = document["apikeys"].as_array_mut().expect("a list");
    keys.extend((1..=KEYS).map(|number| json!({"key": key(number), "label": key(number)})));
    let data = store_of(folder.path(), &document);
    let mut chance = StdRng::seed_from_u64(31);
    let kills = rounds(6, KEYS - 2);
    let (mut kept, mut revoked) = (0, Vec::new());
    for life in 1..=kills {
        age(&data, i64::try_from(life).expect("small"));
        let mut before = last_uses(&data);
        let aged = before.values().filter(|used| !used.is_empty()).count();
        assert_eq!(aged, before.len().div_ceil(2), "{before:?}");
        let first_day = day(SystemClock.now());
        let server = Served::on(&data, &["--journal-mib", "0"]);
        // This key is revoked while its use is gathered or written.
        revoked.push(key(life));
        let live = Arc::new((life + 1..=KEYS).map(key).collect::<Vec<String>>());
        let http = reqwest::Client::new();
        assert_eq!(status(&http, &server.base, &key(life)).await, Some(200));
        let clients = use_keys(&server.base, &live, chance.random_range(1..2_000)).await;
        let done = run(&["key", "revoke", &key(life)], &data);
        assert!(done.status.success(), "{}", complaint(&done));
        before.remove(&key(life));
        for key in &revoked {
            assert_eq!(status(&http, &server.base, key).await, Some(403), "{key} is revoked");
        }
        // The others come at any moment, mostly before the write, which is a second later.
        if life % 2 == 0 {
            await_uses(&data, |uses| live.iter().any(|key| uses[key] >= first_day));
        }
        server.end("KILL");
        clients.join_all().await;
        kept += examine(&data, &before, &[first_day, day(SystemClock.now())]);
    }

    // Uses are written a second later, and a kill after that loses none.
    let before = last_uses(&data);
    let first_day = day(SystemClock.now());
    let server = Served::on(&data, &[]);
    let live = Arc::new((kills + 1..=KEYS).map(key).collect::<Vec<String>>());
    let clients = use_keys(&server.base, &live, live.len() * 2).await;
    await_uses(&data, |uses| live.iter().all(|key| uses[key] >= first_day));
    server.end("KILL");
    clients.join_all().await;
    let days = [first_day, day(SystemClock.now())];
    assert!(examine(&data, &before, &days) >= live.len(), "what is shown is durable");
    println!("{kills} kills amid uses of keys, {kept} days of them were kept");
    assert!(kept > 0, "every other kill comes after a write");
}
