//! The calls of a server to a shared store: to PostgreSQL, or in a simulation to a model of it.

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use crate::store::error::StoreError;
use crate::store::record::BatchNumber;
use crate::store::recovery::RecoveryVisitor;
use crate::store::shared::connection::{CallError, SharedConnection};
use crate::store::shared::lease::{TakeoverCondition, uptime};
use crate::store::shared::membership::Membership;
use crate::store::shared::snapshots::{SnapshotStates, read_newest_snapshot};
use crate::store::shared::{PART, number_i64};

/// Rows of the journal that are read at once.
const ROWS_READ: i32 = 1_000;

/// A row of the journal, without its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OwnedRow {
    pub(crate) number: BatchNumber,
    pub(crate) epoch: u32,
    pub(crate) owner: Uuid,
}

impl OwnedRow {
    /// Returns the row after it, of the same owner.
    pub(crate) fn next(self) -> Self {
        Self { number: self.number.next(), ..self }
    }
}

/// The functions of a shared store, and the clock of the machine that calls them.
pub(crate) trait SharedRows {
    /// Adds a row after the one before it, if that is of the same owner and epoch.
    fn append(&mut self, row: OwnedRow, bytes: &[u8]) -> Result<(), CallError>;

    /// Adds a row of a new owner after the last row, if that is of one of `own`.
    fn take_again(&mut self, owner: Uuid, own: &[Uuid]) -> Result<OwnedRow, CallError>;

    /// Adds a row of a new owner on a condition; `None` if it is not met.
    fn take_over(
        &mut self,
        owner: Uuid,
        condition: TakeoverCondition,
    ) -> Result<Option<OwnedRow>, CallError>;

    /// Returns the row `from` without its bytes, and rows after it.
    fn read_journal(&mut self, from: BatchNumber) -> Result<Vec<(OwnedRow, Vec<u8>)>, CallError>;

    /// Reads the newest snapshot that is not damaged.
    fn read_snapshot<V: RecoveryVisitor + Default>(
        &mut self,
    ) -> Result<SnapshotStates<V>, StoreError>;

    /// Waits before the next try.
    fn pause(&mut self, time: Duration);

    /// Returns the time by which leases are counted.
    fn now(&self) -> Duration;

    /// Returns an owner that no server has had.
    fn new_owner(&mut self) -> Uuid;
}

/// The functions in PostgreSQL, for one server.
pub(crate) struct PostgresRows {
    pub(crate) connection: SharedConnection,
    pub(crate) membership: Arc<Membership>,
}

impl SharedRows for PostgresRows {
    fn append(&mut self, row: OwnedRow, bytes: &[u8]) -> Result<(), CallError> {
        let appended = self.connection.commit_bytes(
            "SELECT slotbook.append($1, $2, $3, $4, $5)",
            &[&PART, &number_i64(row.number), &i64::from(row.epoch), &row.owner, &bytes],
            bytes.len(),
        );
        appended.map(drop)
    }

    fn take_again(&mut self, owner: Uuid, own: &[Uuid]) -> Result<OwnedRow, CallError> {
        let rows = self
            .connection
            .commit("SELECT n, epoch FROM slotbook.take($1, $2, $3)", &[&PART, &owner, &own])?;
        let row = rows.first().expect("a function returns a row");
        owned_row(row.get(0), row.get(1), owner)
    }

    fn take_over(
        &mut self,
        owner: Uuid,
        condition: TakeoverCondition,
    ) -> Result<Option<OwnedRow>, CallError> {
        let seen = match condition {
            TakeoverCondition::NoBeatSince(beat) => Some(beat),
            TakeoverCondition::LeftToThis => None,
        };
        let Membership { node, incarnation, .. } = &*self.membership;
        let rows = self.connection.commit(
            "SELECT n, epoch FROM slotbook.take_over($1, $2, $3, $4, $5)",
            &[&PART, &owner, node, incarnation, &seen],
        )?;
        let row = rows.first().map(|row| owned_row(row.get(0), row.get(1), owner));
        row.transpose()
    }

    fn read_journal(&mut self, from: BatchNumber) -> Result<Vec<(OwnedRow, Vec<u8>)>, CallError> {
        let rows = self.connection.call(
            "SELECT n, epoch, owner, bytes FROM slotbook.read_journal($1, $2, $3)",
            &[&PART, &number_i64(from), &ROWS_READ],
        )?;
        let row = |row: &tokio_postgres::Row| {
            Ok((owned_row(row.get(0), row.get(1), row.get(2))?, row.get(3)))
        };
        rows.iter().map(row).collect()
    }

    fn read_snapshot<V: RecoveryVisitor + Default>(
        &mut self,
    ) -> Result<SnapshotStates<V>, StoreError> {
        read_newest_snapshot(&mut self.connection)
    }

    fn pause(&mut self, time: Duration) {
        self.connection.pause(time);
    }

    fn now(&self) -> Duration {
        uptime()
    }

    fn new_owner(&mut self) -> Uuid {
        Uuid::new_v4()
    }
}

/// Returns the row of a function's numbers.
pub(crate) fn owned_row(number: i64, epoch: i64, owner: Uuid) -> Result<OwnedRow, CallError> {
    let (Ok(number), Ok(epoch)) = (u64::try_from(number), u32::try_from(epoch)) else {
        return Err(CallError::Refused(format!("a row has the number {number}, epoch {epoch}")));
    };
    Ok(OwnedRow { number: BatchNumber(number), epoch, owner })
}
