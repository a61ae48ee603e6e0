//! The membership of a server in a cluster, and its beats.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use uuid::Uuid;

use crate::domain::time::zone::tzdata_version;
use crate::store::error::StoreError;
use crate::store::formats::Formats;
use crate::store::record::BatchNumber;
use crate::store::shared::address::SharedAddress;
use crate::store::shared::connection::{CallError, SharedConnection};
use crate::store::shared::in_force::{InForce, InForceView};
use crate::store::shared::lease::{
    BEAT_INTERVAL, HolderReport, LEASE_TIME, Lease, NamedSuccessor, uptime,
};
use crate::store::shared::{PART, number_i64};

/// The statement by which a server leaves the decision to others.
pub(crate) const RELEASE: &str = "SELECT slotbook.release($1, $2, $3)";
/// Time between two beats once the server that decided has left, until who decides is known.
const LEFT_INTERVAL: Duration = Duration::from_millis(10);

/// A server that has joined a cluster.
#[derive(Debug)]
pub(crate) struct Membership {
    /// Its number in the cluster.
    pub(crate) node: i32,
    /// This start of the server.
    pub(crate) incarnation: Uuid,
    /// Its lease, and its view of the server that decides.
    pub(crate) lease: Arc<Lease>,
    /// The formats and the time zone data in force, as the last beat has said.
    pub(crate) in_force: Arc<InForceView>,
}

impl Membership {
    /// Joins the cluster, in which `in_force` is in force, as the server that others reach at
    /// `url`.
    ///
    /// # Errors
    /// PostgreSQL refuses.
    pub(crate) fn join(
        connection: &mut SharedConnection,
        url: &str,
        lease: Arc<Lease>,
        in_force: InForce,
    ) -> Result<Self, StoreError> {
        lease.note_own_url(url);
        let incarnation = Uuid::new_v4();
        let version = env!("CARGO_PKG_VERSION");
        let Formats { records, snapshots } = Formats::NEWEST;
        let joined = connection.commit(
            "SELECT slotbook.join_cluster($1, $2, $3, $4, $5, $6)",
            &[
                &url,
                &incarnation,
                &version,
                &i32::from(records),
                &i32::from(snapshots),
                &tzdata_version(),
            ],
        );
        let joined = joined.map_err(|error| error.into_store_error("join"))?;
        let node = joined.first().expect("a function returns a row").get(0);
        let in_force = Arc::new(InForceView::new(in_force));
        Ok(Self { node, incarnation, lease, in_force })
    }

    /// Passes the decision on to the other servers, who need not wait then.
    ///
    /// # Errors
    /// PostgreSQL refuses, or does not answer.
    pub(crate) fn release(&self, connection: &mut SharedConnection) -> Result<(), CallError> {
        connection.call(RELEASE, &[&PART, &self.node, &self.incarnation]).map(drop)
    }

    /// Sends one beat, and notes what it says. A server that has left and is still said to decide
    /// releases the decision first: by its beats the others would wait for it.
    ///
    /// # Errors
    /// PostgreSQL refuses, or does not answer.
    pub(crate) fn beat(&self, connection: &mut SharedConnection) -> Result<(), CallError> {
        if self.lease.is_unreleased()
            && let Err(error) = self.release(connection)
        {
            self.lease.note_failure();
            return Err(error);
        }
        let sent = uptime();
        let answered = connection.commit(
            "SELECT holder_node, holder_incarnation, holder_beat, holder_released, \
                    holder_successor, holder_url, last_row, \
                    in_force_records, in_force_snapshots, in_force_tzdata \
             FROM slotbook.beat($1, $2, $3, $4)",
            &[&PART, &self.node, &self.incarnation, &number_i64(self.lease.applied())],
        );
        match answered {
            Ok(rows) => {
                let row = rows.first().expect("a function returns a row");
                let node: Option<i32> = row.get(0);
                let incarnation: Option<Uuid> = row.get(1);
                let successor: Option<i32> = row.get(4);
                let report = HolderReport {
                    beat: row.get(2),
                    is_self: node == Some(self.node) && incarnation == Some(self.incarnation),
                    released: row.get(3),
                    successor: match successor {
                        None => NamedSuccessor::None,
                        Some(node) if node == self.node => NamedSuccessor::This,
                        Some(_) => NamedSuccessor::Other,
                    },
                    url: row.get(5),
                };
                // Before the lease, by which a takeover begins.
                self.in_force.note(InForce::of_row(row, 7)?);
                self.lease.note_beat(sent, uptime(), report);
                let last_row = u64::try_from(row.get::<_, i64>(6)).unwrap_or_default();
                self.lease.note_last_row(BatchNumber(last_row));
                Ok(())
            }
            Err(error) => {
                self.lease.note_failure();
                Err(error)
            }
        }
    }
}

/// The beats of a server. They run on a thread of their own, so that nothing else delays them.
pub(crate) struct Beats {
    membership: Arc<Membership>,
    connection: SharedConnection,
}

impl Beats {
    /// Creates the beats of a server, over a connection of their own.
    ///
    /// # Errors
    /// The connection's runtime cannot be made.
    pub(crate) fn new(
        address: SharedAddress,
        membership: Arc<Membership>,
    ) -> Result<Self, StoreError> {
        Ok(Self { membership, connection: SharedConnection::new(address, LEASE_TIME)? })
    }

    /// Beats until the sender is dropped, and at once where it sends.
    ///
    /// # Errors
    /// [`StoreError::Fenced`] if another server has taken over from this one; or another server has
    /// joined with this one's address.
    pub(crate) fn run(mut self, awaited: &Receiver<()>) -> Result<(), StoreError> {
        let mut failures = 0_u32;
        loop {
            let began = uptime();
            // Read before the beat, whose report may be of the time before a takeover.
            let has_decided = self.membership.lease.has_decided();
            match self.membership.beat(&mut self.connection) {
                Ok(()) => {
                    if failures > 0 {
                        tracing::info!("the shared store takes beats again");
                    }
                    failures = 0;
                    if has_decided && self.membership.lease.was_taken() {
                        return Err(StoreError::Fenced);
                    }
                }
                Err(error @ CallError::Replaced) => return Err(error.into_store_error("beat in")),
                Err(error) => {
                    failures += 1;
                    if failures == 1 {
                        let error = error.into_store_error("beat in");
                        tracing::warn!(%error, "the shared store takes no beat");
                    }
                }
            }
            let now = uptime();
            let has_left = self.membership.lease.awaits_holder_at(now);
            let interval = if has_left { LEFT_INTERVAL } else { BEAT_INTERVAL };
            let pause = interval.saturating_sub(now.saturating_sub(began)).max(interval / 10);
            if awaited.recv_timeout(pause) == Err(RecvTimeoutError::Disconnected) {
                return Ok(());
            }
        }
    }
}
