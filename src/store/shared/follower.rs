//! A server that follows the journal of a shared store: a recovery that has not ended.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use uuid::Uuid;

use crate::planted_faults::PlantedFault;
use crate::store::batch;
use crate::store::durable_watermark::Watermark;
use crate::store::error::StoreError;
use crate::store::record::{BatchNumber, JournalRecord, Position, Stream, StreamPositions};
use crate::store::recovery::RecoveryVisitor;
use crate::store::replay::Replay;
use crate::store::shared::connection::{CallError, SharedConnection};
use crate::store::shared::lease::uptime;
use crate::store::shared::log::{OwnedRow, SharedLog, number_i64, owned_row};
use crate::store::shared::membership::Membership;
use crate::store::shared::snapshots::{list_snapshots, read_snapshot};
use crate::store::shared::{JOURNAL, PART, damaged, locate};
use crate::store::snapshot::Frames;

/// Rows of the journal that are read at once.
const ROWS_READ: i32 = 1_000;
/// Pause before what a follower could not read is read again.
const RETRY_PAUSE: Duration = Duration::from_millis(200);

/// The states that a follower has read so far, with the place of the next row.
pub struct Follower<V> {
    connection: SharedConnection,
    membership: Arc<Membership>,
    read: Option<ReadStates<V>>,
}

/// What was read: the states, and the place in the journal.
struct ReadStates<V> {
    visitor: V,
    replay: Replay,
    /// The last row read; `None` where only a snapshot after it was.
    last: Option<OwnedRow>,
    /// Bytes of the journal since the snapshot.
    tail_bytes: u64,
    /// Bytes of the snapshot.
    snapshot_bytes: u64,
}

/// A server that has taken over.
pub struct Takeover<V> {
    /// All states.
    pub visitor: V,
    /// The log, whose last row belongs to this server.
    pub log: SharedLog,
    /// Bytes of the newest snapshot; 0 without one.
    pub snapshot_bytes: u64,
}

/// Reason why the journal cannot be followed from where a follower is.
enum FollowError {
    /// The rows are others than those that were read before: all has to be read anew.
    Diverged(StoreError),
    Store(StoreError),
}

impl From<StoreError> for FollowError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl<V: RecoveryVisitor + Default> Follower<V> {
    /// Creates a follower that has read nothing.
    pub(crate) fn new(connection: SharedConnection, membership: Arc<Membership>) -> Self {
        Self { connection, membership, read: None }
    }

    /// Reads what was added since the last call; the first call reads the newest snapshot as well.
    /// After a promotion whose journal is another, all is read anew.
    ///
    /// # Errors
    /// Damage, with its place; or PostgreSQL does not answer, and may later.
    pub fn follow(&mut self) -> Result<(), StoreError> {
        if let Some(read) = &mut self.read {
            match read.follow(&mut self.connection) {
                Ok(()) => return Ok(()),
                Err(FollowError::Diverged(error)) => {
                    tracing::warn!(%error, "the journal is another than before; reading it anew");
                    self.read = None;
                }
                Err(FollowError::Store(error)) => return Err(error),
            }
        }
        let mut read = ReadStates::read_snapshots(&mut self.connection)?;
        match read.follow(&mut self.connection) {
            Ok(()) => {}
            Err(FollowError::Diverged(error) | FollowError::Store(error)) => return Err(error),
        }
        self.read = Some(read);
        Ok(())
    }

    /// The last batch that was read; 0 before the first.
    pub fn last(&self) -> BatchNumber {
        self.read.as_ref().map_or(BatchNumber(0), |read| read.replay.last)
    }

    /// Takes over, if the server that decides has not been heard for long, and reads the rest.
    /// Returns `None` while another decides.
    ///
    /// # Errors
    /// Damage, with its place; or PostgreSQL does not answer, and may later.
    pub fn take_over(&mut self) -> Result<Option<OwnedJournal>, StoreError> {
        let Some(seen) = self.membership.lease.may_take_at(uptime()) else { return Ok(None) };
        let sent = uptime();
        let owner = Uuid::new_v4();
        let taken = self.connection.commit(
            "SELECT n, epoch FROM slotbook.take_over($1, $2, $3, $4, $5)",
            &[&PART, &owner, &self.membership.node, &self.membership.incarnation, &seen],
        );
        let rows = match taken {
            Ok(rows) => rows,
            // Another server takes at this moment.
            Err(CallError::Fenced | CallError::KeyTaken) => return Ok(None),
            // The next beat shows whether it was done, and by whom.
            Err(error) => return Err(error.into_store_error("take over")),
        };
        let Some(row) = rows.first() else { return Ok(None) };
        let last = owned_row(row.get(0), row.get(1), owner)?;
        self.membership.lease.note_takeover(sent);
        Ok(Some(OwnedJournal { last }))
    }

    /// Reads all up to the row of this server's own, and turns into its log. While PostgreSQL does
    /// not answer, it waits.
    ///
    /// # Errors
    /// Damage, with its place; [`StoreError::Fenced`] if another server has taken over meanwhile.
    pub fn into_takeover(mut self, owned: OwnedJournal) -> Result<Takeover<V>, StoreError> {
        let last = owned.last;
        loop {
            match self.follow() {
                Ok(()) => {}
                Err(error @ StoreError::Shared { .. }) => {
                    tracing::warn!(%error, "reading the shared store again");
                    self.connection.pause(RETRY_PAUSE);
                    continue;
                }
                Err(error) => return Err(error),
            }
            let read = self.read.as_ref().expect("it was read");
            match read.last {
                Some(row) if row.number == last.number && row.owner == last.owner => break,
                Some(row) if row.number < last.number => {}
                _ => return Err(StoreError::Fenced),
            }
        }
        let ReadStates { visitor, mut replay, tail_bytes, snapshot_bytes, .. } =
            self.read.expect("it was read");
        replay.finish(Path::new(JOURNAL))?;
        let tail_bytes = Arc::new(AtomicU64::new(tail_bytes));
        let Replay { positions, .. } = replay;
        let log = SharedLog::new(self.connection, last, positions, tail_bytes);
        Ok(Takeover { visitor, log, snapshot_bytes })
    }
}

/// The journal of a server that has taken over and has still to read it.
#[derive(Clone, Copy, Debug)]
pub struct OwnedJournal {
    last: OwnedRow,
}

impl<V: RecoveryVisitor + Default> ReadStates<V> {
    /// Reads the newest snapshot that is not damaged.
    fn read_snapshots(connection: &mut SharedConnection) -> Result<Self, StoreError> {
        let begun = connection.run_script("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY");
        begun.map_err(|error| error.into_store_error("read"))?;
        let read = Self::read_newest(connection);
        // The connection is closed if that fails, and so the transaction ends as well.
        if connection.run_script("COMMIT").is_err() {
            connection.close();
        }
        read
    }

    fn read_newest(connection: &mut SharedConnection) -> Result<Self, StoreError> {
        let mut first_damage = None;
        for snapshot in list_snapshots(connection)? {
            let mut visitor = SnapshotVisitor::<V>::default();
            match read_snapshot(connection, &snapshot, &mut visitor) {
                Ok(()) => {
                    if let Some(error) = first_damage {
                        tracing::error!(
                            %error,
                            "a snapshot is damaged; reading the one before and all batches since"
                        );
                    }
                    let SnapshotVisitor { visitor, positions } = visitor;
                    let replay = Replay::new(Watermark::default(), positions, snapshot.number);
                    let snapshot_bytes = snapshot.bytes;
                    return Ok(Self { visitor, replay, last: None, tail_bytes: 0, snapshot_bytes });
                }
                Err(error @ StoreError::SharedDamaged { .. }) => {
                    first_damage.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
        }
        match first_damage {
            Some(error) => Err(error),
            None => Ok(Self {
                visitor: V::default(),
                replay: Replay::new(
                    Watermark::default(),
                    StreamPositions::default(),
                    BatchNumber(0),
                ),
                last: None,
                tail_bytes: 0,
                snapshot_bytes: 0,
            }),
        }
    }
}

impl<V: RecoveryVisitor> ReadStates<V> {
    /// Reads all rows after the last one. The last one is read again: after a promotion it may be
    /// another.
    fn follow(&mut self, connection: &mut SharedConnection) -> Result<(), FollowError> {
        loop {
            let from = number_i64(self.replay.last);
            let rows = connection.call(
                "SELECT n, epoch, owner, bytes FROM slotbook.read_journal($1, $2, $3)",
                &[&PART, &from, &ROWS_READ],
            );
            let rows = rows.map_err(|error| error.into_store_error("read"))?;
            let mut has_new = false;
            for row in &rows {
                let owned = owned_row(row.get(0), row.get(1), row.get(2))?;
                if owned.number == self.replay.last {
                    self.expect_same(owned)?;
                } else {
                    self.apply(owned, row.get(3))?;
                    has_new = true;
                }
            }
            // The last row of the journal is never removed.
            if rows.is_empty() {
                let what = "the journal ends before it";
                return Err(FollowError::Diverged(damaged(JOURNAL, from, what)));
            }
            if !has_new {
                return Ok(());
            }
        }
    }

    /// Refuses a last row that is another than the one read before.
    fn expect_same(&mut self, row: OwnedRow) -> Result<(), FollowError> {
        let last = self.last.get_or_insert(row);
        if last.epoch == row.epoch && last.owner == row.owner {
            return Ok(());
        }
        let what = "it is of another owner than before";
        Err(FollowError::Diverged(damaged(JOURNAL, number_i64(row.number), what)))
    }

    fn apply(&mut self, row: OwnedRow, bytes: &[u8]) -> Result<(), FollowError> {
        let n = number_i64(row.number);
        let expected = self.replay.last.next();
        if row.number != expected {
            let what = format!("row {expected} is missing before it");
            return Err(FollowError::Diverged(damaged(JOURNAL, n, what)));
        }
        if let Some(last) = self.last {
            let continues = row.epoch == last.epoch && row.owner == last.owner;
            let takes = row.epoch == last.epoch + 1 && row.owner != last.owner && bytes.is_empty();
            if !continues && !takes && !PlantedFault::SharedChainUnchecked.is_active() {
                let what = format!(
                    "it has epoch {} of {} after epoch {} of {}",
                    row.epoch, row.owner, last.epoch, last.owner
                );
                return Err(FollowError::Diverged(damaged(JOURNAL, n, what)));
            }
        }
        if !bytes.is_empty() {
            let records =
                batch::decode_row(row.number, bytes).map_err(|what| damaged(JOURNAL, n, what))?;
            let Self { visitor, replay, .. } = self;
            let visited =
                replay.replay_batch(Path::new(JOURNAL), row.number, records, |batch, record| {
                    visitor.record(batch, record)
                });
            visited.map_err(|error| locate(error, JOURNAL, row.number, "a record"))?;
        }
        self.replay.last = row.number;
        self.last = Some(row);
        self.tail_bytes += u64::try_from(bytes.len()).expect("a 64-bit machine");
        Ok(())
    }
}

/// Passes snapshots on, and notes their positions.
#[derive(Default)]
struct SnapshotVisitor<V> {
    visitor: V,
    positions: StreamPositions,
}

impl<V: RecoveryVisitor> RecoveryVisitor for SnapshotVisitor<V> {
    fn snapshot(
        &mut self,
        stream: Stream,
        position: Position,
        frames: &mut dyn Frames,
    ) -> Result<(), StoreError> {
        self.positions.note_snapshot(stream, position);
        self.visitor.snapshot(stream, position, frames)
    }

    fn record(&mut self, batch: BatchNumber, record: JournalRecord) -> Result<(), StoreError> {
        self.visitor.record(batch, record)
    }
}
