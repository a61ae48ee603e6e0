//! A server that follows the journal of a shared store: a recovery that has not ended.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::planted_faults::PlantedFault;
use crate::store::batch;
use crate::store::durable_watermark::Watermark;
use crate::store::error::StoreError;
use crate::store::recovery::RecoveryVisitor;
use crate::store::replay::Replay;
use crate::store::shared::connection::CallError;
use crate::store::shared::in_force::InForceView;
use crate::store::shared::lease::Lease;
use crate::store::shared::log::SharedLog;
use crate::store::shared::number_i64;
use crate::store::shared::rows::{OwnedRow, PostgresRows, SharedRows};
use crate::store::shared::snapshots::{SnapshotStates, SoundSnapshot};
use crate::store::shared::{JOURNAL, damaged, locate};

/// Readings of a snapshot in turn whose next rows are not there, after which that counts as damage.
const FRESH_READS_MAX: u32 = 3;
/// Pause before what a follower could not read is read again.
const RETRY_PAUSE: Duration = Duration::from_millis(200);

/// The states that a follower has read so far, with the place of the next row.
pub(crate) struct Follower<V, R = PostgresRows> {
    rows: R,
    lease: Arc<Lease>,
    in_force: Arc<InForceView>,
    /// Whether it was logged that none decides that this server may follow.
    has_warned: bool,
    /// Bytes of the journal since the snapshot, for others.
    tail_bytes: Arc<AtomicU64>,
    read: Option<ReadStates<V>>,
}

/// The states that were read, and the place in the journal.
struct ReadStates<V> {
    visitor: V,
    replay: Replay,
    /// The last row read; `None` where only a snapshot after it was.
    last: Option<OwnedRow>,
    /// Bytes of the journal since the snapshot.
    tail_bytes: u64,
    snapshot: SoundSnapshot,
}

/// A server that has taken over.
pub(crate) struct Takeover<V, R = PostgresRows> {
    /// All states.
    pub(crate) visitor: V,
    /// The log, whose last row belongs to this server.
    pub(crate) log: SharedLog<R>,
    /// The snapshot that was read.
    pub(crate) snapshot: SoundSnapshot,
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

impl<V: RecoveryVisitor + Default, R: SharedRows> Follower<V, R> {
    /// Creates a follower that has read nothing.
    pub(crate) fn new(
        rows: R,
        lease: Arc<Lease>,
        in_force: Arc<InForceView>,
        tail_bytes: Arc<AtomicU64>,
    ) -> Self {
        Self { rows, lease, in_force, tail_bytes, has_warned: false, read: None }
    }

    /// Reads what was added since the last call; the first call reads the newest snapshot as well.
    /// After a promotion whose journal is another, all is read anew.
    ///
    /// # Errors
    /// Damage, with its place; or PostgreSQL does not answer, and may later.
    pub(crate) fn follow(&mut self) -> Result<(), StoreError> {
        if let Some(read) = &mut self.read {
            match read.follow(&mut self.rows) {
                Ok(()) => {
                    self.note_read();
                    return Ok(());
                }
                Err(FollowError::Diverged(error)) => {
                    tracing::warn!(%error, "the journal is another than before; reading it anew");
                    self.read = None;
                }
                Err(FollowError::Store(error)) => return Err(error),
            }
        }
        let mut tries = 0;
        loop {
            tries += 1;
            let mut read = ReadStates::read_snapshot(&mut self.rows)?;
            match read.follow(&mut self.rows) {
                Ok(()) => {
                    self.read = Some(read);
                    self.note_read();
                    return Ok(());
                }
                // Newer snapshots may have been published since, and its rows removed.
                Err(FollowError::Diverged(error)) if tries < FRESH_READS_MAX => {
                    tracing::warn!(%error, "reading the newest snapshot again");
                }
                Err(FollowError::Diverged(error) | FollowError::Store(error)) => {
                    return Err(error);
                }
            }
        }
    }

    /// Notes for others how far it has read, and for the visitor that it has caught up.
    fn note_read(&mut self) {
        if let Some(read) = &mut self.read {
            read.visitor.caught_up();
            self.lease.note_applied(read.replay.last, self.rows.now());
            self.tail_bytes.store(read.tail_bytes, Ordering::Relaxed);
        }
    }

    /// Takes over, if the server that decides has not been heard for long, or has left. Returns the
    /// row of this server's own, or `None` while another decides, or where this server may not:
    /// PostgreSQL compares once more what is in force.
    ///
    /// # Errors
    /// Damage, with its place; or PostgreSQL does not answer, and may later.
    pub(crate) fn take_over(&mut self) -> Result<Option<OwnedRow>, StoreError> {
        let Some(condition) = self.lease.may_take_at(self.rows.now()) else {
            self.has_warned = false;
            return Ok(None);
        };
        if !self.in_force.zones_allow_takeover() {
            if !std::mem::replace(&mut self.has_warned, true) {
                tracing::error!(
                    "no server decides, and this one has older time zone data than the cluster: \
                     start a server with the newer release; until then requests are answered 503"
                );
            }
            return Ok(None);
        }
        let sent = self.rows.now();
        let owner = self.rows.new_owner();
        let last = match self.rows.take_over(owner, condition) {
            Ok(Some(last)) => last,
            // Another server takes at this moment, or has been heard; or more is in force than the
            // last beat has said.
            Ok(None) | Err(CallError::Fenced | CallError::KeyTaken | CallError::Outdated) => {
                return Ok(None);
            }
            // The next beat shows whether it was done, and by whom.
            Err(error) => return Err(error.into_store_error("take over")),
        };
        self.lease.note_takeover(sent);
        Ok(Some(last))
    }

    /// Reads all up to `last`, the row of this server's own, and turns into its log. While
    /// PostgreSQL does not answer, it waits.
    ///
    /// # Errors
    /// Damage, with its place; [`StoreError::Fenced`] if another server has taken over meanwhile.
    pub(crate) fn into_takeover(mut self, last: OwnedRow) -> Result<Takeover<V, R>, StoreError> {
        loop {
            if PlantedFault::SharedReadBeforeTake.is_active() && self.read.is_some() {
                break;
            }
            match self.follow() {
                Ok(()) => {}
                Err(error @ StoreError::Shared { .. }) => {
                    tracing::warn!(%error, "reading the shared store again");
                    self.rows.pause(RETRY_PAUSE);
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
        let ReadStates { visitor, mut replay, snapshot, .. } = self.read.expect("it was read");
        replay.finish(Path::new(JOURNAL))?;
        let Replay { positions, .. } = replay;
        let record_format = Arc::clone(&self.in_force.record_format);
        let log = SharedLog::new(self.rows, last, positions, self.tail_bytes, record_format);
        Ok(Takeover { visitor, log, snapshot })
    }
}

impl<V: RecoveryVisitor + Default> ReadStates<V> {
    /// Reads the newest snapshot that is not damaged.
    fn read_snapshot(rows: &mut impl SharedRows) -> Result<Self, StoreError> {
        let SnapshotStates { visitor, positions, snapshot } = rows.read_snapshot()?;
        let replay = Replay::new(Watermark::default(), positions, snapshot.number);
        Ok(Self { visitor, replay, last: None, tail_bytes: 0, snapshot })
    }
}

impl<V: RecoveryVisitor> ReadStates<V> {
    /// Reads all rows after the last one. The last one is read again: after a promotion it may be
    /// another.
    fn follow(&mut self, rows: &mut impl SharedRows) -> Result<(), FollowError> {
        loop {
            let from = self.replay.last;
            let read = rows.read_journal(from).map_err(|error| error.into_store_error("read"))?;
            // The last row of the journal is never removed.
            if read.is_empty() {
                let what = "the journal ends before it";
                return Err(FollowError::Diverged(damaged(JOURNAL, number_i64(from), what)));
            }
            let mut has_new = false;
            for (row, bytes) in read {
                if row.number == self.replay.last {
                    self.expect_same(row)?;
                } else {
                    self.apply(row, &bytes)?;
                    has_new = true;
                }
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
            if !continues && !takes {
                let what = format!(
                    "it has epoch {} of {} after epoch {} of {}",
                    row.epoch, row.owner, last.epoch, last.owner
                );
                return Err(FollowError::Diverged(damaged(JOURNAL, n, what)));
            }
        }
        if bytes.is_empty() {
            self.replay.last = row.number;
        } else {
            let records =
                batch::decode_row(row.number, bytes).map_err(|what| damaged(JOURNAL, n, what))?;
            let Self { visitor, replay, .. } = self;
            let visited =
                replay.replay_batch(Path::new(JOURNAL), row.number, records, |batch, record| {
                    visitor.record(batch, record)
                });
            visited.map_err(|error| locate(error, JOURNAL, row.number, "a record"))?;
        }
        self.last = Some(row);
        self.tail_bytes += u64::try_from(bytes.len()).expect("a 64-bit machine");
        Ok(())
    }
}
