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
mod single;
mod specification;
mod stragglers;
mod verdicts;
mod wishes;

use std::ops::Range;

use play::play_and_check;
use single::Single;
use tokio::task::JoinSet;
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

/// Plays every `nth` history of the seeds, from one on.
async fn play_every(nth: usize, first: usize) -> Figures {
    let mut all = Figures::default();
    for seed in seeds().skip(first).step_by(nth) {
        let played = play_and_check(seed, &mut Single::new()).await;
        let figures = played.unwrap_or_else(|violation| {
            panic!(
                "seed {seed}: {violation}\nrun it again: SLOTBOOK_HISTORIES={seed}..{} \
                 cargo test --test histories every_history",
                seed + 1
            )
        });
        all.add(figures);
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn every_history_over_http_is_linearizable() {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut playing = JoinSet::new();
    for first in 0..threads {
        playing.spawn(play_every(threads, first));
    }
    let mut all = Figures::default();
    while let Some(played) = playing.join_next().await {
        // The first violation ends the test: its panic is shown already.
        all.add(played.expect("every history is linearizable"));
    }
    println!("seeds {:?}: {all:?}", seeds());
    let histories = seeds().count();
    assert!(all.calls > histories * 50 && all.refused > histories, "{all:?}");
}
