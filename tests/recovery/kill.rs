//! SIGKILL under load, again and again: what was answered is there, and the history tells of it.

use std::sync::Arc;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use tokio::task::JoinSet;

use super::history::assert_told;
use super::rounds;
use super::server::{Served, exported, practice, store_of};
use super::witness::{CALENDARS, Witness};

/// Number of lives after which a new store is begun, so that reading it back stays quick.
fn lives() -> u64 {
    rounds(10, 50)
}

/// The servers that are killed beside each other, each with a store of its own.
const SERVERS: u64 = 3;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn kills_under_load_lose_nothing_that_was_answered() {
    let kills = rounds(10, 334);
    let servers: JoinSet<_> = (0..SERVERS).map(|nth| kill_one_server(11 + nth, kills)).collect();
    let (mut answered, mut generations) = (0, 0);
    for (its_answers, its_generations) in servers.join_all().await {
        answered += its_answers;
        generations += its_generations;
    }
    let kills = kills * SERVERS;
    println!(
        "{kills} kills, {answered} answered writes, {generations} new generations: nothing lost"
    );
    assert!(
        answered > kills * 50 && generations > 0,
        "{answered} answers, {generations} generations"
    );
}

/// Kills a server, and looks for all that it has answered after each time. Returns the numbers of
/// answered writes and of new generations.
async fn kill_one_server(seed: u64, kills: u64) -> (u64, u64) {
    let mut chance = StdRng::seed_from_u64(seed);
    let (mut answered, mut generations) = (0, 0);
    for first in (0..kills).step_by(usize::try_from(lives()).expect("small")) {
        let folder = tempfile::tempdir().expect("a folder");
        let data = store_of(folder.path(), &practice(CALENDARS));
        let witness = Arc::new(Witness::brief());
        for life in first..kills.min(first + lives()) {
            // New generations are made all the time: one is looked for each second, so some lives last longer.
            let server = Served::on(&data, &["--journal-mib", "0"]);
            let lasting = if life % 4 == 3 { 1_500..3_000 } else { 1..500 };
            let load = witness.load(&server.base, chance.random_range(lasting)).await;
            server.end("KILL");
            load.join_all().await;
            let document = exported(&data);
            witness.examine(&document);
            assert_told(&document);
        }
        assert_eq!(Served::heard(&data, &[]).terminate(), Some(0), "it opens and closes in peace");
        answered += witness.answered();
        let current = std::fs::read_to_string(data.join("CURRENT")).expect("it stands");
        let generation: u64 =
            current.split(' ').next().and_then(|n| n.parse().ok()).expect("a number");
        generations += generation - 1;
    }
    (answered, generations)
}
