//! Kills, pauses, cuts and promotions under load: what was answered is there, once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use tokio::task::JoinSet;

use super::postgres::Pair;
use super::servers::{Member, Servers};
use crate::rounds;
use crate::server::{practice, signal};
use crate::witness::{CALENDARS, Witness};

/// Longest time from a fault to the next twenty bookings, with all that the machine does beside it.
const TAKEOVER_MAX: Duration = Duration::from_secs(30);
/// Longest time until a server that is cut off knows that it does not decide.
const ENDING_MAX: Duration = Duration::from_secs(20);

/// What befalls the server that decides.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    Kill,
    Pause,
    Cut,
}

/// All of them, in the order in which they come.
pub(super) const FAULTS: [Fault; 3] = [Fault::Kill, Fault::Pause, Fault::Cut];

impl Fault {
    pub(super) fn strikes(self, servers: &mut Servers, index: usize) {
        match self {
            Self::Kill => servers.members[index].kill(),
            Self::Pause => servers.members[index].signal("STOP"),
            Self::Cut => servers.members[index].cut(true),
        }
    }

    /// Returns how it strikes this server, which is not started again after a kill.
    pub(super) fn prepared(self, member: &Member) -> Box<dyn FnOnce() + Send> {
        let (pid, ways) = (member.pid(), member.ways.clone());
        match self {
            Self::Kill => Box::new(move || signal(pid, "KILL")),
            Self::Pause => Box::new(move || signal(pid, "STOP")),
            Self::Cut => Box::new(move || ways.iter().for_each(|way| way.cut(true))),
        }
    }

    /// Waits for the next server that decides. One that was killed may be started again by then.
    pub(super) async fn awaits_successor(self, servers: &mut Servers, index: usize) -> usize {
        let began = Instant::now();
        loop {
            let deciding = servers.deciding().await;
            // Until its lease is over, a cut server still answers what it knows.
            if deciding != index || matches!(self, Self::Kill) {
                return deciding;
            }
            assert!(began.elapsed() < ENDING_MAX, "a server that is cut off decides on");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Ends the fault of a server over which another has taken.
    pub(super) async fn ends(self, servers: &mut Servers, index: usize) {
        match self {
            Self::Kill => return,
            Self::Pause => servers.members[index].signal("CONT"),
            Self::Cut => servers.members[index].cut(false),
        }
        servers.expect_fenced(index).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_dies_loses_nothing_and_doubles_nothing() {
    match take_over_after(Fault::Kill).await {
        Ok(figures) => println!("{figures}"),
        Err(reason) => println!("skipped: {reason}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_paused_loses_nothing_and_doubles_nothing() {
    match take_over_after(Fault::Pause).await {
        Ok(figures) => println!("{figures}"),
        Err(reason) => println!("skipped: {reason}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_cut_off_loses_nothing_and_doubles_nothing() {
    match take_over_after(Fault::Cut).await {
        Ok(figures) => println!("{figures}"),
        Err(reason) => println!("skipped: {reason}"),
    }
}

/// Strikes the server that decides again and again, under load. Returns the figures of the run.
async fn take_over_after(fault: Fault) -> Result<String, &'static str> {
    let pair = Pair::start()?;
    let mut servers = Servers::start(&pair, &practice(CALENDARS), 3).await;
    let witness = Arc::new(Witness::brief());
    let mut chance = StdRng::seed_from_u64(23);
    let count = rounds(20, 1_000);
    let mut slowest = Duration::ZERO;
    for _ in 0..count {
        let first = servers.deciding().await;
        let base = servers.members[first].base();
        let load = witness.load(&base, chance.random_range(1..150)).await;
        fault.strikes(&mut servers, first);
        let began = Instant::now();
        // Those that wait for a paused or cut server wait on.
        let second = fault.awaits_successor(&mut servers, first).await;
        let more = witness.load(&servers.members[second].base(), 20).await;
        slowest = slowest.max(began.elapsed());
        fault.ends(&mut servers, first).await;
        stop(load).await;
        stop(more).await;
        witness.examine(&servers.exported(second));
    }
    let answered = witness.answered();
    assert!(slowest < TAKEOVER_MAX, "{slowest:?}");
    assert!(answered > count * 20, "{answered}");
    Ok(format!("{count} times {fault:?}: {answered} answered writes, slowest {slowest:?}"))
}

/// Stops a load, whose requests may go on by way of other servers. What was wrong in it is wrong here.
pub(super) async fn stop(mut load: JoinSet<()>) {
    while let Some(ended) = load.try_join_next() {
        ended.expect("every answer was right");
    }
    load.shutdown().await;
}
