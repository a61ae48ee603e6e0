//! What stays of appointments that are booked and cancelled again: the memory and the disk of each, and nothing where
//! deleted events are not kept.
//!
//! `cargo bench --bench growth` prints; `-- --test` does the same in small.

mod practice;
#[path = "practice/serving.rs"]
mod serving;
#[path = "practice/trial.rs"]
mod trial;

use std::path::Path;
use std::process::Command as Process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant as Stopwatch};

use practice::{MONDAY, calendar, group, intervention, morning, practice};
use serving::{Serving, block_on, of_process, say};
use slotbook::clock::{Clock as _, ManualClock};
use slotbook::domain::records::author::Author;
use slotbook::domain::records::ids::{FicheId, ProId};
use slotbook::domain::records::text::{LongText, Text};
use slotbook::domain::state::command::{
    BookAppointment, Caller, CancelAppointment, CancelRight, Client, Command, Patch,
};
use slotbook::domain::time::{DAY, HOUR};
use slotbook::engine::Engine;
use trial::is_a_trial;

/// Names the store that a child process is to fill.
const STORE: &str = "GROWTH_STORE";
/// How many clients book and cancel, each on a calendar of its own.
const CLIENTS: u64 = 64;
/// Days that deleted events are kept, where they are not kept for good.
const KEEP_DAYS: u32 = 5;
/// What a compaction waits for, as the server does by default.
const JOURNAL_BYTES: u64 = 64 << 20;

fn main() {
    // Book-and-cancels of each step, and steps.
    let (each, steps) = if is_a_trial() { (640, 3) } else { (200_000, 10) };
    if let Some(data) = std::env::var_os(STORE) {
        let data = Path::new(&data);
        return block_on(grow(data, data.ends_with("kept"), each, steps));
    }
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["kept", "removed"] {
        let mut child = Process::new(std::env::current_exe().expect("it runs"));
        child.args(std::env::args().skip(1)).env(STORE, folder.path().join(name));
        assert!(child.status().expect("it runs again").success());
    }
}

fn wish(client: u64) -> Command {
    Command::BookAppointment(Box::new(BookAppointment {
        permission: None,
        calendarset_ids: Vec::new(),
        is_by_page: false,
        is_code_demanded: false,
        needs_contact: false,
        booking_origin: None,
        hold: None,
        caller: Caller::Pro(ProId::new(1).expect("an id")),
        from_web: true,
        date: MONDAY.plus_seconds(5 * 365 * DAY + 8 * HOUR),
        intervention_ids: vec![intervention()],
        calendar_id: Some(calendar(client)),
        client: Client {
            id: FicheId::new(client),
            email: None,
            fields: Patch::default(),
            customs: Vec::new(),
        },
        comments: LongText::default(),
        internal_comments: Text::default(),
        taker: Text::default(),
        websource: Text::default(),
        smsreminder: None,
        customs: Vec::new(),
    }))
}

/// Books and cancels so often, from all clients at once.
async fn book_and_cancel(engine: &Engine, count: u64) {
    let clients: Vec<_> = (1..=CLIENTS)
        .map(|client| {
            let engine = engine.clone();
            tokio::spawn(async move {
                for _ in 0..count / CLIENTS {
                    let done = engine
                        .write(group(), Author::Visitor, wish(client))
                        .await
                        .expect("it is free");
                    let cancel =
                        CancelAppointment { id: done.appointments[0], right: CancelRight::Pro };
                    engine
                        .write(group(), Author::Visitor, Command::CancelAppointment(cancel))
                        .await
                        .expect("it is there");
                }
            })
        })
        .collect();
    for client in clients {
        client.await.expect("no client panics");
    }
}

fn memory_bytes() -> u64 {
    let resident = of_process("VmRSS:");
    resident.trim_end_matches(" kB").parse::<u64>().expect("a number of kB") * 1_024
}

/// Bytes of all files in a directory. What goes while it is looked at counts for nothing.
fn disk_bytes(directory: &Path) -> u64 {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let bytes = entries.map(|entry| match entry.metadata() {
        Ok(found) if found.is_dir() => disk_bytes(&entry.path()),
        Ok(found) => found.len(),
        Err(_) => 0,
    });
    bytes.sum()
}

/// Fills a store, and says after each step what it takes.
async fn grow(data: &Path, kept: bool, each: u64, steps: u64) {
    let name = if kept { "kept" } else { "removed" };
    serving::store(data, &practice(CLIENTS, 0, 12));
    let clock = Arc::new(ManualClock::at(morning()));
    let (serving, generations) = Serving::on(data, Arc::clone(&clock)).await;
    let empty = serving.engine.published().group_state(group()).expect("it is there").rows.len();
    let (stop, stopped) = std::sync::mpsc::channel();
    let compactor = serving.engine.new_compactor(generations, JOURNAL_BYTES, 0);
    let compacting = std::thread::spawn(move || compactor.run(&stopped));
    let most_disk = Arc::new(AtomicU64::new(0));
    let looking = tokio::spawn(look(data.to_owned(), Arc::clone(&most_disk)));
    let (before, began) = (memory_bytes(), Stopwatch::now());
    for step in 1..=steps {
        book_and_cancel(&serving.engine, each).await;
        if !kept {
            clock.set(clock.now().plus_seconds(i64::from(KEEP_DAYS) * DAY + 1));
            serving.engine.remove_deleted(KEEP_DAYS).await;
        }
        let rows = serving.engine.published().group_state(group()).expect("it is there").rows.len()
            - empty;
        let done = step * (each / CLIENTS * CLIENTS);
        assert_eq!(u64::try_from(rows).expect("a count"), if kept { done } else { 0 });
        let memory = memory_bytes();
        let a_row = memory.saturating_sub(before) / if kept { done } else { 1 };
        let a_row = if kept { format!(", {a_row} bytes a row") } else { String::new() };
        let (memory, disk, most) =
            (memory >> 20, disk_bytes(data) >> 20, most_disk.load(Ordering::Relaxed) >> 20);
        let seconds = began.elapsed().as_secs();
        say(&format!(
            "growth/{name}: {done} booked and cancelled in {seconds} s, {rows} rows, memory {memory} MiB{a_row}, \
             disk {disk} MiB, at most {most} MiB"
        ));
    }
    drop(stop);
    compacting.join().expect("no panic").expect("the disk takes it");
    looking.abort();
    serving.end().await;
    say_bound(data, name, most_disk.load(Ordering::Relaxed));
}

/// Notes the most disk that is ever taken.
async fn look(data: std::path::PathBuf, most: Arc<AtomicU64>) {
    let mut often = tokio::time::interval(Duration::from_millis(100));
    loop {
        often.tick().await;
        most.fetch_max(disk_bytes(&data), Ordering::Relaxed);
    }
}

/// Holds what was taken against five times a fresh generation of the same content and 256 MiB.
fn say_bound(data: &Path, name: &str, most: u64) {
    let loaded = slotbook::engine::recovery::load(data).expect("it was closed");
    let fresh = data.with_extension("fresh");
    let store = slotbook::engine::recovery::create(&fresh, &loaded.directory, &loaded.group_states)
        .expect("a new store");
    drop(store);
    let fresh = disk_bytes(&fresh);
    let bound = 5 * fresh + (256 << 20);
    let (most_mib, fresh_mib, bound_mib) = (most >> 20, fresh >> 20, bound >> 20);
    say(&format!(
        "growth/{name}: disk at most {most_mib} MiB; a fresh generation takes {fresh_mib} MiB, so the bound is {bound_mib} MiB"
    ));
    assert!(most <= bound, "the disk outgrew its bound");
}
