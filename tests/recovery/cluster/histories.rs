//! Histories of many clients on a cluster, whose deciding server is killed, paused or cut off, are linearizable.
//!
//! The clients, the record and the checker are those of `tests/histories`. Stragglers ask a server that is paused or
//! cut off on, while another decides.

#[path = "../../histories/call.rs"]
mod call;
#[path = "../../histories/checker.rs"]
mod checker;
#[path = "../../histories/client.rs"]
mod client;
#[path = "../../histories/play.rs"]
mod play;
#[path = "../../histories/recorder.rs"]
mod recorder;
#[path = "../../histories/shop.rs"]
mod shop;
#[path = "../../histories/specification.rs"]
mod specification;
#[path = "../../histories/stragglers.rs"]
mod stragglers;
#[path = "../../histories/verdicts.rs"]
mod verdicts;
#[path = "../../histories/wishes.rs"]
mod wishes;

use std::ops::RangeInclusive;
use std::time::Instant;

use play::{Host, Server, play_and_check};
use serde_json::Value;
use verdicts::Figures;

use super::faults::{FAULTS, Fault};
use super::postgres::Pair;
use super::servers::Servers;
use crate::rounds;
use crate::server;

/// A cluster of three servers.
struct Cluster<'a> {
    pair: &'a Pair,
    servers: Option<Servers>,
    /// Number of the next fault.
    next: usize,
    /// The fault that ends the life, and the server that it strikes.
    fault: Option<(Fault, usize)>,
    /// The same of the life before, until it has ended.
    former: Option<(Fault, usize)>,
}

impl Cluster<'_> {
    fn servers(&mut self) -> &mut Servers {
        self.servers.as_mut().expect("it was filled")
    }
}

impl Host for Cluster<'_> {
    // One more than the faults: each of them strikes, and is followed by a life.
    const LIVES: u64 = FAULTS.len() as u64 + 1;
    // So few that the whole of most groups is checked.
    const CLIENTS_MAX: u64 = 20;
    // So many that a life is long enough for stragglers of the one before.
    const REFUSALS: RangeInclusive<u64> = 10..=30;

    async fn fill(&mut self, document: &Value) {
        self.servers = Some(Servers::start(self.pair, document, 3).await);
    }

    async fn serve(&mut self) -> Server {
        let fault = FAULTS[self.next % FAULTS.len()];
        self.next += 1;
        let deciding = self.servers().deciding().await;
        self.fault = Some((fault, deciding));
        let member = &self.servers().members[deciding];
        let (base, ending) = (member.base(), fault.prepared(member));
        Server { base, ending, remains: !matches!(fault, Fault::Kill) }
    }

    async fn settle(&mut self) {
        let (fault, index) = self.fault.take().expect("a life has ended");
        fault.awaits_successor(self.servers(), index).await;
        self.former = Some((fault, index));
    }

    async fn end_former(&mut self) {
        match self.former.take() {
            Some((Fault::Kill, index)) => {
                let member = &mut self.servers().members[index];
                assert_eq!(member.left(), None, "{}", member.said());
                member.restart();
            }
            Some((fault, index)) => fault.ends(self.servers(), index).await,
            None => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_group_is_linearizable_through_takeovers() {
    let pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let count = rounds(1, 100);
    let mut all = Figures::default();
    for seed in 0..count {
        let began = Instant::now();
        // The first life ends by another fault in each history.
        let next = usize::try_from(seed).expect("small");
        let mut cluster = Cluster { pair: &pair, servers: None, next, fault: None, former: None };
        let figures = play_and_check(seed, &mut cluster).await;
        let figures = figures.unwrap_or_else(|violation| panic!("seed {seed}: {violation}"));
        println!("seed {seed}: {figures:?} in {:?}", began.elapsed());
        all.add(figures);
        drop(cluster);
        pair.query("DROP DATABASE slots WITH (FORCE)");
        pair.query("CREATE DATABASE slots");
    }
    println!("{count} histories: {all:?}");
    let histories = usize::try_from(count).expect("small");
    assert!(all.calls > histories * 50 && all.refused > histories, "{all:?}");
    assert!(all.stray > histories && all.wholes > 0, "{all:?}");
}
