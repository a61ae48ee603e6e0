//! The store that the servers of a cluster share, in PostgreSQL: a journal that one server at a
//! time can append to, snapshots, and the lease of that server. Reference 8.
//!
//! `schema.sql` has the tables and the functions that servers may call. [`SharedStore::open`]
//! checks them. A follower reads and goes on reading, until it takes over and becomes a
//! [`SharedLog`].

mod address;
mod cluster;
mod connection;
mod counts;
mod follower;
mod hosts;
mod in_force;
mod lease;
mod log;
mod membership;
mod nodes;
mod rows;
mod sessions;
#[cfg(test)]
pub(crate) mod simulation;
mod snapshots;

pub(crate) use address::SharedAddress;
pub(crate) use cluster::{HandOver, Release, SharedStore, init_cluster};
pub(crate) use counts::SharedCounts;
pub(crate) use follower::Takeover;
pub(crate) use lease::uptime;
pub(crate) use lease::{BEAT_INTERVAL, LEASE_TIME, Lease};
pub(crate) use log::SharedLog;
pub(crate) use membership::Membership;
pub(crate) use nodes::plan_raise;
pub(crate) use sessions::{SavedSession, SharedSessions};
pub(crate) use snapshots::{SharedSnapshotsWriter, SoundSnapshot};

use crate::store::error::StoreError;
use crate::store::record::BatchNumber;

/// The part of all rows: there is one journal.
const PART: i32 = 0;
/// Names of the tables, for errors.
const JOURNAL: &str = "slotbook.journal";
const FRAME: &str = "slotbook.frame";
const SNAPSHOT: &str = "slotbook.snapshot";

/// Reports damage of a row.
fn damaged(table: &'static str, n: i64, what: impl Into<String>) -> StoreError {
    StoreError::SharedDamaged { table, part: PART, n, what: what.into() }
}

/// Adds the place to the error of a visitor that cannot decode bytes.
fn locate(error: StoreError, table: &'static str, number: BatchNumber, of: &str) -> StoreError {
    match error {
        StoreError::Rejected { what } => {
            damaged(table, number_i64(number), format!("{of}: not understood: {what}"))
        }
        StoreError::Damaged { place, what, .. } => {
            damaged(table, number_i64(number), format!("{of}, {place}: {what}"))
        }
        error => error,
    }
}

/// Returns the number of a batch as the tables have it.
fn number_i64(number: BatchNumber) -> i64 {
    i64::try_from(number.0).expect("numbers come from PostgreSQL, one after another")
}
