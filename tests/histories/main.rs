//! Histories of many clients on the real server, and whether they are linearizable.
//!
//! A history is drawn from a seed: 8 to 64 clients book, cancel, move, hold and search in two groups
//! over HTTP. Clients go away without their answers, and the server is killed and started again.
//! The checker knows requests, answers and times. `SLOTBOOK_HISTORIES=from..to` chooses the seeds,
//! `SLOTBOOK_LONG=1` runs 1,000.

mod call;
mod checker;
mod client;
mod hand_written;
mod play;
mod recorder;
#[expect(dead_code, reason = "the program's tests use more of it")]
#[path = "../binary/server.rs"]
mod server;
mod shop;
mod specification;
mod verdicts;
mod wishes;

use std::ops::Range;

use play::play_and_check;
use verdicts::Figures;

/// Seeds of every run, and of the long one.
const SEEDS: Range<u64> = 0..20;
const LONG_SEEDS: Range<u64> = 0..1_000;

/// The seeds to run: `SLOTBOOK_HISTORIES=from..to`, 1,000 with `SLOTBOOK_LONG`, else 20.
fn seeds() -> Range<u64> {
    if let Ok(range) = std::env::var("SLOTBOOK_HISTORIES") {
        let (from, to) = range.split_once("..").expect("SLOTBOOK_HISTORIES=from..to");
        return from.parse().expect("a number")..to.parse().expect("a number");
    }
    if std::env::var_os("SLOTBOOK_LONG").is_some() { LONG_SEEDS } else { SEEDS }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_history_over_http_is_linearizable() {
    let mut all = Figures::default();
    let mut most_steps = 0;
    let seeds = seeds();
    for seed in seeds.clone() {
        let found = play_and_check(seed).await;
        let figures = found.unwrap_or_else(|violation| {
            panic!(
                "seed {seed}: {violation}\nrun it again: SLOTBOOK_HISTORIES={seed}..{} \
                 cargo test --test histories every_history",
                seed + 1
            )
        });
        all.add(figures);
        most_steps = most_steps.max(figures.steps);
        if (seed + 1) % 50 == 0 {
            println!("seed {seed}: {all:?}, at most {most_steps} steps");
        }
    }
    println!("seeds {seeds:?}: {all:?}, at most {most_steps} steps");
    let histories = usize::try_from(seeds.end - seeds.start).expect("few");
    assert!(all.calls > histories * 50 && all.refused > histories, "{all:?}");
}
