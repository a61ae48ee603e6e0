//! Followers of a group's changes while one server after another takes over: each change comes once. Reference 18.

use std::sync::Arc;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use super::faults::{FAULTS, stop};
use super::postgres::Pair;
use super::servers::{ServerOptions, Servers};
use crate::followers::{Followers, Way, failing_receiver};
use crate::receivers::Receiver;
use crate::rounds;
use crate::server::practice;
use crate::witness::{CALENDARS, Witness};

/// The servers of the cluster.
const SERVERS: usize = 3;

#[test]
fn each_follower_gets_each_change_once_through_takeovers() {
    let receiver = failing_receiver();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    match runtime.block_on(follow_through_takeovers(&receiver)) {
        Ok(figures) => println!("{figures}: each follower has each change once"),
        Err(reason) => println!("skipped: {reason}"),
    }
}

/// Returns the figures of the run. Followers are at servers that forward them, too.
async fn follow_through_takeovers(receiver: &Receiver) -> Result<String, &'static str> {
    let pair = Pair::start()?;
    let allowed = ["--webhook-allow", "127.0.0.0/8"].map(str::to_owned).to_vec();
    let options = ServerOptions { arguments: allowed, ..ServerOptions::default() };
    let document = practice(CALENDARS);
    let mut servers = Servers::start_with(&pair.ports, &document, &vec![options; SERVERS]).await;
    let witness = Arc::new(Witness::brief());
    let mut chance = StdRng::seed_from_u64(33);
    servers.deciding().await;
    let bases: Vec<_> = servers.members.iter().map(super::servers::Member::base).collect();
    let way = Way::to(bases.clone());
    let followers = Followers::begin(Way::to(bases.clone()), Way::to(bases), receiver).await;
    let count = rounds(2, 50);
    for _ in 0..count {
        for fault in FAULTS {
            let first = servers.deciding().await;
            let base = servers.members[first].base();
            let load = witness.load(&base, chance.random_range(50..300)).await;
            fault.strikes(&mut servers, first);
            let second = fault.awaits_successor(&mut servers, first).await;
            let more = witness.load(&servers.members[second].base(), 50).await;
            fault.ends(&mut servers, first).await;
            stop(load).await;
            stop(more).await;
        }
    }
    let last = servers.deciding().await;
    way.leads_to(&servers.members[last].base());
    let agreement = followers.agree(&way).await;
    let document = servers.exported(last);
    witness.examine(&document);
    agreement.examine(&document);
    let (changes, resets, answered) = (agreement.changes, agreement.resets, witness.answered());
    Ok(format!("{count} of each fault, {answered} answered, {changes} changes, {resets} resets"))
}
