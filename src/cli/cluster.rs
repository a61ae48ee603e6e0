//! `slotbook cluster`: the store that the servers of a cluster share. Reference 11.1.

use std::path::Path;
use std::time::Duration;

use crate::cli::arguments::ClusterCommand;
use crate::cli::error::CommandError;
use crate::cli::hand_over::FORWARDING_TIME;
use crate::cli::joined_cluster::shared_address;
use crate::cli::terminal::print;
use crate::clock::{Clock as _, SystemClock};
use crate::config::options::SharedStoreOptions;
use crate::engine::quarantine::IncompleteDocument;
use crate::engine::recovery::{self, Loaded};
use crate::store::{HandOver, SharedStore, init_cluster, plan_raise};

/// Pause between two looks at whether a successor decides, and their number.
const LOOK_PAUSE: Duration = Duration::from_millis(100);
const HAND_OVER_LOOKS: u32 = 200;

/// Runs a command about the store of a cluster.
///
/// # Errors
/// The shared store cannot be used, or holds what the command would replace.
pub(crate) fn execute(command: ClusterCommand) -> Result<(), CommandError> {
    match command {
        ClusterCommand::Init { config_file: _, shared, role } => {
            init_cluster(&shared_address(&shared)?, &role)?;
            print(&format!(
                "the shared store is made; servers connect to it as {role}: fill it with \
                 `slotbook cluster import`, or start a first server with `slotbook serve --shared`\n"
            ));
            Ok(())
        }
        ClusterCommand::Import { store, shared } => import(&store.data, &shared),
        ClusterCommand::Raise { config_file: _, shared, without } => raise(&shared, &without),
        ClusterCommand::Status { config_file: _, shared } => print_status(&shared),
        ClusterCommand::HandOver { config_file: _, shared, to } => hand_over(&shared, &to),
    }
}

/// Fills the store of a cluster that was never used with the content of a data directory,
/// completely or not at all.
fn import(data: &Path, shared: &SharedStoreOptions) -> Result<(), CommandError> {
    let cluster = SharedStore::open(shared_address(shared)?, SystemClock.now())?;
    let Loaded { directory, group_states, quarantined, store: _locked } = recovery::load(data)?;
    IncompleteDocument::refuse(&quarantined)?;
    let bytes = recovery::fill_shared(&cluster, &directory, &group_states)?;
    print(&format!(
        "{} groups are in the shared store, {bytes} bytes; the directory {} is as it was: serve it \
         no more\n",
        group_states.len(),
        data.display()
    ));
    Ok(())
}

fn print_status(shared: &SharedStoreOptions) -> Result<(), CommandError> {
    let cluster = SharedStore::open(shared_address(shared)?, SystemClock.now())?;
    let in_force = &cluster.in_force;
    print(&format!(
        "cluster {}\nin force: {}, time zone data {}\n",
        cluster.id, in_force.formats, in_force.tzdata
    ));
    for node in cluster.nodes()? {
        let role = match node.obstacle(in_force) {
            _ if node.has_left => "has left".to_owned(),
            _ if node.is_holder => "decides".to_owned(),
            None => "follows, may take over".to_owned(),
            Some(obstacle) => format!("follows, may not take over: {obstacle}"),
        };
        print(&format!(
            "{} {role}; last beat {} ms ago, {} rows behind, slotbook {} ({}, time zone data {})\n",
            node.url,
            node.silent.as_millis(),
            node.lag,
            node.version,
            node.formats,
            node.tzdata
        ));
    }
    Ok(())
}

/// Has the server that decides hand over, and waits until its successor decides.
fn hand_over(shared: &SharedStoreOptions, to: &str) -> Result<(), CommandError> {
    let cluster = SharedStore::open(shared_address(shared)?, SystemClock.now())?;
    let HandOver { from, to } = cluster.ask_hand_over(to.trim_end_matches('/'))?;
    print(&format!("{from} hands over to {to}\n"));
    for _ in 0..HAND_OVER_LOOKS {
        std::thread::park_timeout(LOOK_PAUSE);
        if cluster.nodes()?.iter().any(|node| node.is_holder && node.url == to) {
            print(&format!(
                "{to} decides; {from} forwards for {} s more, and then ends with exit code 71\n",
                FORWARDING_TIME.as_secs()
            ));
            return Ok(());
        }
    }
    let seconds = (LOOK_PAUSE * HAND_OVER_LOOKS).as_secs();
    let what = format!(
        "{to} does not decide after {seconds} s: look at `slotbook cluster status`, and at the logs \
         of both"
    );
    Err(CommandError::Refused(what))
}

/// Puts the newest formats in force that all servers know. `without` are the addresses of servers
/// that are gone for good.
fn raise(shared: &SharedStoreOptions, without: &[String]) -> Result<(), CommandError> {
    let cluster = SharedStore::open(shared_address(shared)?, SystemClock.now())?;
    let before = cluster.in_force.formats;
    let mut gone = Vec::new();
    for url in without {
        gone.push(url.trim_end_matches('/').to_owned());
    }
    match plan_raise(before, &cluster.nodes()?, &gone).map_err(CommandError::Refused)? {
        Some(raised) => {
            cluster.raise_formats(raised)?;
            print(&format!("in force are now {raised}; before: {before}\n"));
        }
        None => {
            print(&format!("nothing to do: in force are {before}, the newest of all servers\n"))
        }
    }
    Ok(())
}
