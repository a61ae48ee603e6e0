//! A cluster: its schema, the checks before a server joins, and its members.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use uuid::Uuid;

use crate::domain::directory::cluster_secret::ClusterSecret;
use crate::domain::time::Instant;
use crate::domain::time::zone::tzdata_version;
use crate::planted_faults::PlantedFault;
use crate::store::error::StoreError;
use crate::store::formats::Formats;
use crate::store::record::BatchNumber;
use crate::store::recovery::RecoveryVisitor;
use crate::store::shared::PART;
use crate::store::shared::address::SharedAddress;
use crate::store::shared::connection::{CallError, SharedConnection};
use crate::store::shared::counts::{COUNTS_DEADLINE, SharedCounts};
use crate::store::shared::follower::Follower;
use crate::store::shared::in_force::InForce;
use crate::store::shared::lease::Lease;
use crate::store::shared::log::COMMIT_DEADLINE;
use crate::store::shared::membership::{Beats, Membership, RELEASE};
use crate::store::shared::nodes::ClusterNode;
use crate::store::shared::rows::{OwnedRow, PostgresRows, owned_row};
use crate::store::shared::sessions::SharedSessions;
use crate::store::shared::snapshots::{Publication, SharedSnapshotsWriter, SoundSnapshot};

/// The tables and functions.
const SCHEMA: &str = include_str!("schema.sql");
/// Version of the schema.
const SCHEMA_VERSION: i32 = 1;
/// The oldest version of PostgreSQL, as it numbers them.
const OLDEST_POSTGRES: i32 = 150_000;
/// Largest difference of the clocks of a server and of PostgreSQL.
const CLOCK_DIFFERENCE_MAX: Duration = Duration::from_secs(10);
/// Longest time of a statement that removes or adds much.
const LONG_DEADLINE: Duration = Duration::from_secs(60);

/// Returns the cluster, with what is in force from the fourth column on.
const DESCRIBE: &str = "SELECT id, version, secret, record_format, snapshot_format, tzdata \
                        FROM slotbook.describe_cluster()";

/// Makes the schema of a new cluster, whose functions the role `role` may call. The formats and the
/// time zone data of this release are in force in it.
///
/// # Errors
/// The database has the schema already, or PostgreSQL refuses. Nothing is made then.
pub(crate) fn init_cluster(address: &SharedAddress, role: &str) -> Result<(), StoreError> {
    let mut connection = SharedConnection::new(address.clone(), LONG_DEADLINE)?;
    check_version(&mut connection)?;
    if has_schema(&mut connection)? {
        let what = "the database has a schema slotbook already: choose another database";
        return Err(StoreError::shared("make", what));
    }
    let role = format!("\"{}\"", role.replace('"', "\"\""));
    let schema = planted(SCHEMA);
    let Formats { records, snapshots } = Formats::NEWEST;
    let tzdata = tzdata_version();
    let script = format!(
        "BEGIN;\n{schema}\n\
         INSERT INTO slotbook.cluster (version, secret, record_format, snapshot_format, tzdata) \
             VALUES ({SCHEMA_VERSION}, \
             uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()), \
             {records}, {snapshots}, '{tzdata}');\n\
         GRANT USAGE ON SCHEMA slotbook TO {role};\n\
         GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA slotbook TO {role};\n\
         COMMIT;"
    );
    connection.run_script(&script).map_err(|error| error.into_store_error("make"))
}

/// Returns the schema, or one with the fault that is planted.
fn planted(schema: &str) -> Cow<'_, str> {
    if PlantedFault::SharedOwnerUncompared.is_active() {
        return schema.replace("AND j.epoch = e AND j.owner = o", "AND j.epoch = e").into();
    }
    if PlantedFault::SharedPredecessorUnchecked.is_active() {
        return schema.replace("WHERE EXISTS (", "WHERE true OR EXISTS (").into();
    }
    if PlantedFault::SharedZonesUncompared.is_active() {
        return schema.replace("AND o.tzdata >= c.tzdata", "").into();
    }
    schema.into()
}

/// The shared store of a cluster, as far as a server has checked it.
#[derive(Clone, Debug)]
pub(crate) struct SharedStore {
    address: SharedAddress,
    /// The cluster.
    pub(crate) id: Uuid,
    /// Seals what its servers forward to one another, and hashes what limits count by.
    pub(crate) secret: ClusterSecret,
    /// The formats and the time zone data in force as it was opened.
    pub(crate) in_force: InForce,
}

/// A server that is about to leave the decision to others.
pub(crate) struct Release {
    connection: SharedConnection,
    membership: Arc<Membership>,
}

impl Release {
    /// Passes the decision on to the other servers, who need not wait then. Nothing may be answered
    /// any more.
    ///
    /// # Errors
    /// PostgreSQL refuses. The next beat tries once more, and else the others take over later.
    pub(crate) fn run(mut self) -> Result<(), StoreError> {
        self.membership.lease.end();
        let released = self.membership.release(&mut self.connection);
        released.map_err(|error| error.into_store_error("leave"))
    }
}

/// A hand-over that was asked for: the addresses of the server that decides, and of the one that
/// is to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HandOver {
    pub(crate) from: String,
    pub(crate) to: String,
}

impl SharedStore {
    /// Checks PostgreSQL, its settings, its clock and the schema. `now` is the time of this
    /// machine.
    ///
    /// # Errors
    /// The first part that does not do, with the remedy.
    pub(crate) fn open(address: SharedAddress, now: Instant) -> Result<Self, StoreError> {
        let refuse = |what: String| StoreError::shared("use", what);
        let mut connection = SharedConnection::new(address.clone(), COMMIT_DEADLINE)?;
        check_version(&mut connection)?;
        if text_of(&mut connection, "SELECT current_setting('fsync')")? != "on" {
            return Err(refuse("its fsync is off: set fsync = on".to_owned()));
        }
        if text_of(&mut connection, "SELECT current_setting('synchronous_standby_names')")?
            .is_empty()
        {
            let what = "it has no synchronous standby, so that answered writes could be lost with \
                        its machine: set synchronous_standby_names";
            return Err(refuse(what.to_owned()));
        }
        let commit = text_of(&mut connection, "SELECT current_setting('synchronous_commit')")?;
        if !["on", "remote_apply"].contains(&commit.as_str()) {
            let what = format!("its synchronous_commit is {commit} for this role: set it to on");
            return Err(refuse(what));
        }
        check_clock(&mut connection, now)?;
        check_sessions(&address)?;
        if !has_schema(&mut connection)? {
            let what = "the database has no schema slotbook: `slotbook cluster init` makes it";
            return Err(refuse(what.to_owned()));
        }
        let described =
            connection.call(DESCRIBE, &[]).map_err(|error| error.into_store_error("use"))?;
        let Some(row) = described.first() else {
            let what = "its table slotbook.cluster has no row: restore the database";
            return Err(refuse(what.to_owned()));
        };
        let version: i32 = row.get(1);
        if version != SCHEMA_VERSION {
            let what = format!(
                "its schema has version {version}, this slotbook uses {SCHEMA_VERSION}: start the \
                 release that made it"
            );
            return Err(refuse(what));
        }
        let secret: Vec<u8> = row.get(2);
        let Ok(bits) = secret.try_into() else {
            return Err(refuse("its secret has not 32 bytes: restore the database".to_owned()));
        };
        let in_force = InForce::of_row(row, 3).map_err(|error| error.into_store_error("use"))?;
        Ok(Self { address, id: row.get(0), secret: ClusterSecret::new(bits), in_force })
    }

    /// Joins as the server that others reach at `url`.
    ///
    /// # Errors
    /// [`StoreError::NotWritten`] if this release does not write the formats in force; PostgreSQL
    /// refuses.
    pub(crate) fn join(&self, url: &str, lease: Arc<Lease>) -> Result<Arc<Membership>, StoreError> {
        self.in_force.check_formats()?;
        let mut connection = self.connect(COMMIT_DEADLINE)?;
        Ok(Arc::new(Membership::join(&mut connection, url, lease, self.in_force.clone())?))
    }

    /// Returns the beats of a server, over a connection of their own.
    ///
    /// # Errors
    /// The connection's runtime cannot be made.
    pub(crate) fn beats(&self, membership: &Arc<Membership>) -> Result<Beats, StoreError> {
        Beats::new(self.address.clone(), Arc::clone(membership))
    }

    /// Returns a follower that has read nothing yet, over a connection of its own. It puts the
    /// bytes of the journal since the newest snapshot into `tail_bytes`.
    ///
    /// # Errors
    /// The connection's runtime cannot be made.
    pub(crate) fn follower<V: RecoveryVisitor + Default>(
        &self,
        membership: &Arc<Membership>,
        tail_bytes: Arc<AtomicU64>,
    ) -> Result<Follower<V>, StoreError> {
        let lease = Arc::clone(&membership.lease);
        let in_force = Arc::clone(&membership.in_force);
        let membership = Arc::clone(membership);
        let rows = PostgresRows { connection: self.connect(COMMIT_DEADLINE)?, membership };
        Ok(Follower::new(rows, lease, in_force, tail_bytes))
    }

    /// Returns the counts of limits that its servers pass on, over a connection of their own.
    ///
    /// # Errors
    /// The connection's runtime cannot be made.
    pub(crate) fn counts(&self, membership: &Arc<Membership>) -> Result<SharedCounts, StoreError> {
        Ok(SharedCounts::new(self.connect(COUNTS_DEADLINE)?, Arc::clone(membership)))
    }

    /// Returns the sessions that its servers pass on, over a connection of their own.
    ///
    /// # Errors
    /// The connection's runtime cannot be made.
    pub(crate) fn sessions(
        &self,
        membership: &Arc<Membership>,
    ) -> Result<SharedSessions, StoreError> {
        Ok(SharedSessions::new(self.connect(COUNTS_DEADLINE)?, Arc::clone(membership)))
    }

    /// Returns the release of a server's decision, over a connection that is open already.
    ///
    /// # Errors
    /// PostgreSQL refuses, or does not answer.
    pub(crate) fn prepare_release(
        &self,
        membership: &Arc<Membership>,
    ) -> Result<Release, StoreError> {
        let mut connection = self.connect(Duration::from_secs(1))?;
        connection.prepare(RELEASE).map_err(|error| error.into_store_error("leave"))?;
        Ok(Release { connection, membership: Arc::clone(membership) })
    }

    /// Asks the server that decides to hand over to the one that others reach at `to`; where that
    /// is empty, to the follower that has applied most.
    ///
    /// # Errors
    /// None decides, or no such one follows; PostgreSQL refuses.
    pub(crate) fn ask_hand_over(&self, to: &str) -> Result<HandOver, StoreError> {
        let rows = self.connect(COMMIT_DEADLINE)?.commit(
            "SELECT from_url, successor_url FROM slotbook.ask_hand_over($1, $2)",
            &[&PART, &to],
        );
        let rows = rows.map_err(|error| error.into_store_error("hand over in"))?;
        let row = rows.first().expect("a function returns a row");
        Ok(HandOver { from: row.get(0), to: row.get(1) })
    }

    /// Returns the servers that have ever joined.
    ///
    /// # Errors
    /// PostgreSQL refuses.
    pub(crate) fn nodes(&self) -> Result<Vec<ClusterNode>, StoreError> {
        let rows = self.connect(COMMIT_DEADLINE)?.call(
            "SELECT url, version, record_format, snapshot_format, tzdata, silent_ms, is_holder, \
             has_left, lag FROM slotbook.list_nodes($1)",
            &[&PART],
        );
        let nodes = rows.and_then(|rows| rows.iter().map(ClusterNode::of_row).collect());
        nodes.map_err(|error| error.into_store_error("read"))
    }

    /// Puts formats in force. None falls by that.
    ///
    /// # Errors
    /// PostgreSQL refuses.
    pub(crate) fn raise_formats(&self, formats: Formats) -> Result<(), StoreError> {
        let Formats { records, snapshots } = formats;
        let raised = self.connect(COMMIT_DEADLINE)?.commit(
            "SELECT slotbook.raise_formats($1, $2)",
            &[&i32::from(records), &i32::from(snapshots)],
        );
        raised.map(drop).map_err(|error| error.into_store_error("raise the formats of"))
    }

    /// Puts time zone data in force, unless newer ones are.
    ///
    /// # Errors
    /// PostgreSQL refuses.
    pub(crate) fn raise_tzdata(&self, tzdata: &str) -> Result<(), StoreError> {
        let raised =
            self.connect(COMMIT_DEADLINE)?.commit("SELECT slotbook.raise_tzdata($1)", &[&tzdata]);
        raised.map(drop).map_err(|error| error.into_store_error("raise the time zone data of"))
    }

    /// Writes a snapshot of states that hold at least all of the journal up to `number`, through
    /// `write`. The snapshot `sound` is kept as the one before it.
    ///
    /// # Errors
    /// The error of `write`; the formats in force are none of this release; PostgreSQL refuses, or
    /// returns other bytes than were written. The newest snapshot stays what it was.
    pub(crate) fn write_snapshot(
        &self,
        number: BatchNumber,
        sound: BatchNumber,
        write: impl FnOnce(&mut SharedSnapshotsWriter<'_>) -> Result<(), StoreError>,
    ) -> Result<SoundSnapshot, StoreError> {
        let mut connection = self.connect(LONG_DEADLINE)?;
        let described = connection.call(DESCRIBE, &[]);
        let in_force = described.and_then(|rows| {
            InForce::of_row(rows.first().expect("it was there as this was opened"), 3)
        });
        let in_force = in_force.map_err(|error| error.into_store_error("use"))?;
        in_force.check_formats()?;
        let format = in_force.formats.snapshots;
        let mut writer = SharedSnapshotsWriter::begin(&mut connection, number, format)?;
        write(&mut writer)?;
        writer.publish(Publication::Kept(sound))
    }

    /// Takes the journal of a cluster in which no server has decided, to fill it. A command that
    /// was broken off may have taken it before.
    ///
    /// # Errors
    /// It has content already; this release does not write the formats in force; or PostgreSQL
    /// refuses.
    pub(crate) fn take_empty(&self) -> Result<OwnedRow, StoreError> {
        self.in_force.check_formats()?;
        let mut connection = self.connect(COMMIT_DEADLINE)?;
        let owner = Uuid::new_v4();
        let taken = connection
            .commit("SELECT n, epoch FROM slotbook.take_empty($1, $2)", &[&PART, &owner])
            .map_err(|error| error.into_store_error("fill"))?;
        let row = taken.first().expect("a function returns a row");
        owned_row(row.get(0), row.get(1), owner).map_err(|error| error.into_store_error("fill"))
    }

    /// Writes the first snapshot, through `write`, after the row that [`SharedStore::take_empty`]
    /// has returned.
    ///
    /// # Errors
    /// The error of `write`; another command has taken the journal since; PostgreSQL refuses, or
    /// returns other bytes than were written. The store then has no content.
    pub(crate) fn fill(
        &self,
        taken: OwnedRow,
        write: impl FnOnce(&mut SharedSnapshotsWriter<'_>) -> Result<(), StoreError>,
    ) -> Result<SoundSnapshot, StoreError> {
        let mut connection = self.connect(LONG_DEADLINE)?;
        let format = self.in_force.formats.snapshots;
        let mut writer = SharedSnapshotsWriter::begin(&mut connection, taken.number, format)?;
        write(&mut writer)?;
        writer.publish(Publication::Import(taken.owner))
    }

    fn connect(&self, deadline: Duration) -> Result<SharedConnection, StoreError> {
        SharedConnection::new(self.address.clone(), deadline)
    }
}

fn text_of(
    connection: &mut SharedConnection,
    statement: &'static str,
) -> Result<String, StoreError> {
    let address = connection.address().to_string();
    match connection.call(statement, &[]) {
        Ok(rows) => Ok(rows.first().expect("a setting has a value").get(0)),
        Err(CallError::Refused(reason) | CallError::Unknown(reason)) => {
            let what = format!(
                "{address}: {reason}; a writable PostgreSQL has to answer at one of its hosts"
            );
            Err(StoreError::shared("reach", what))
        }
        Err(error) => Err(error.into_store_error("use")),
    }
}

fn check_version(connection: &mut SharedConnection) -> Result<(), StoreError> {
    let version = text_of(connection, "SELECT current_setting('server_version_num')")?;
    refuse_old(&version)
}

/// Refuses a version of PostgreSQL, as it numbers them, that is before 15.
fn refuse_old(version: &str) -> Result<(), StoreError> {
    if version.parse().unwrap_or(0) < OLDEST_POSTGRES {
        let what = format!("it is PostgreSQL {version}: use 15 or later");
        return Err(StoreError::shared("use", what));
    }
    Ok(())
}

fn has_schema(connection: &mut SharedConnection) -> Result<bool, StoreError> {
    let found = text_of(connection, "SELECT (to_regnamespace('slotbook') IS NOT NULL)::text")?;
    Ok(found == "true")
}

/// Refuses a clock that is far from PostgreSQL's.
fn check_clock(connection: &mut SharedConnection, now: Instant) -> Result<(), StoreError> {
    let text =
        text_of(connection, "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint::text")?;
    let theirs = Duration::from_millis(text.parse().unwrap_or_default());
    let ours = u64::try_from(now.0).unwrap_or_default();
    let ours = Duration::from_secs(ours);
    let difference = ours.abs_diff(theirs);
    if difference > CLOCK_DIFFERENCE_MAX {
        let what = format!(
            "the clock of this machine is {} s off its clock: set both by NTP",
            difference.as_secs()
        );
        return Err(StoreError::shared("use", what));
    }
    Ok(())
}

/// Refuses a pooler that gives the same session to two connections: statements are prepared, and
/// settings read, in the session that commits.
fn check_sessions(address: &SharedAddress) -> Result<(), StoreError> {
    let mut sessions = Vec::new();
    for _ in 0..2 {
        sessions.push(SharedConnection::new(address.clone(), COMMIT_DEADLINE)?);
    }
    let mut names = Vec::new();
    for connection in &mut sessions {
        let name = Uuid::new_v4().to_string();
        let set = connection.call("SELECT set_config('slotbook.session', $1, false)", &[&name]);
        set.map_err(|error| error.into_store_error("use"))?;
        names.push(name);
    }
    for (connection, name) in sessions.iter_mut().zip(names) {
        let found =
            text_of(connection, "SELECT coalesce(current_setting('slotbook.session', true), '')")?;
        if found != name {
            let what = "a pooler changes its sessions between statements: connect to PostgreSQL \
                        itself, or pool by session";
            return Err(StoreError::shared("use", what));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn postgresql_before_15_is_refused() {
        for version in ["140022", "90624", "", "devel"] {
            let refused = refuse_old(version).unwrap_err().to_string();
            assert!(refused.contains("use 15 or later"), "{refused}");
        }
        for version in ["150000", "150018", "170002"] {
            refuse_old(version).unwrap();
        }
    }
}
