//! The log in a shared store: one row of PostgreSQL for each batch, and one for each change of the
//! owner. Only the owner of the last row can add one.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use uuid::Uuid;

use crate::planted_faults::PlantedFault;
use crate::store::batch;
use crate::store::checkpoint::Checkpoint;
use crate::store::error::StoreError;
use crate::store::formats::RecordFormat;
use crate::store::journal::Log;
use crate::store::record::{BatchNumber, JournalRecord, StreamPositions};
use crate::store::replay::advance_all;
use crate::store::shared::JOURNAL;
use crate::store::shared::connection::CallError;
use crate::store::shared::rows::{OwnedRow, PostgresRows, SharedRows};

/// Longest time of a commit before its connection counts as lost.
pub(crate) const COMMIT_DEADLINE: Duration = Duration::from_secs(10);
/// Pauses between two tries: from the first to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The log of the server that decides. While PostgreSQL is away, an append waits for it.
pub(crate) struct SharedLog<R = PostgresRows> {
    rows: R,
    last: OwnedRow,
    /// Owners under which this process has taken, or may have: the present one first.
    own: Vec<Uuid>,
    /// Positions of the streams. They prevent the write of a gap.
    positions: StreamPositions,
    /// Bytes of the journal since the newest snapshot.
    tail_bytes: Arc<AtomicU64>,
    /// The format in force, in which records are encoded for this log.
    record_format: Arc<RecordFormat>,
    /// The last checkpoint; the next one is another.
    checkpointed: Option<BatchNumber>,
    /// Set before each step and reset after its success.
    poisoned: bool,
}

impl<R: SharedRows> SharedLog<R> {
    pub(crate) fn new(
        rows: R,
        last: OwnedRow,
        positions: StreamPositions,
        tail_bytes: Arc<AtomicU64>,
        record_format: Arc<RecordFormat>,
    ) -> Self {
        let own = vec![last.owner];
        let checkpointed = None;
        Self {
            rows,
            last,
            own,
            positions,
            tail_bytes,
            record_format,
            checkpointed,
            poisoned: false,
        }
    }

    /// The bytes of the journal since the newest snapshot, for a compactor.
    pub(crate) fn tail_bytes(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.tail_bytes)
    }

    /// Adds a batch, and returns the length of its row.
    fn append_batch(&mut self, records: &[JournalRecord]) -> Result<usize, StoreError> {
        let OwnedRow { number, epoch, .. } = self.last;
        // Each record keeps the format of its bytes over all tries: one that was encoded before a
        // raise is in a format that all servers read.
        let in_force = self.record_format.get();
        assert!(
            records.iter().all(|record| record.format <= in_force),
            "records are encoded in the format of their log, which never falls"
        );
        advance_all(&mut self.positions, Path::new(JOURNAL), number.next(), epoch, records)?;
        let mut pause = Pause::new();
        loop {
            let row = self.last.next();
            let bytes = batch::encode_row(row.number, row.epoch, records);
            match self.rows.append(row, &bytes) {
                Ok(()) => {
                    self.last = row;
                    return Ok(bytes.len());
                }
                Err(CallError::Fenced | CallError::KeyTaken) => return Err(StoreError::Fenced),
                Err(CallError::Unknown(reason)) => {
                    pause.warn(&reason);
                    if PlantedFault::SharedResendAfterUnknown.is_active() {
                        continue;
                    }
                    if self.take_again(row.number, &bytes, &mut pause)? {
                        return Ok(bytes.len());
                    }
                }
                Err(
                    error @ (CallError::Refused(_) | CallError::Replaced | CallError::Outdated),
                ) => {
                    pause.warn(&format!("{error:?}"));
                    pause.wait(&mut self.rows);
                }
            }
        }
    }

    /// Takes once more, over a row of this process only, after a batch whose end is unknown.
    /// Returns whether the batch is there.
    fn take_again(
        &mut self,
        number: BatchNumber,
        bytes: &[u8],
        pause: &mut Pause,
    ) -> Result<bool, StoreError> {
        loop {
            let owner = self.rows.new_owner();
            let taken = self.rows.take_again(owner, &self.own);
            if matches!(taken, Ok(_) | Err(CallError::Unknown(_))) {
                // It may be there, although it looks as if it were not.
                self.own.push(owner);
            }
            let last = match taken {
                Ok(last) => last,
                Err(CallError::Fenced) => return Err(StoreError::Fenced),
                // The call before has been carried out meanwhile.
                Err(CallError::KeyTaken) => continue,
                Err(error) => {
                    pause.warn(&format!("{error:?}"));
                    pause.wait(&mut self.rows);
                    continue;
                }
            };
            // Only now is what can be read on a standby as well.
            let found = match self.rows.read_journal(BatchNumber(number.0 - 1)) {
                Ok(rows) => rows.into_iter().find(|(row, _)| row.number == number),
                Err(error) => {
                    pause.warn(&format!("{error:?}"));
                    pause.wait(&mut self.rows);
                    continue;
                }
            };
            self.last = last;
            let is_there =
                found.is_some_and(|(row, found)| self.own.contains(&row.owner) && found == bytes);
            self.own = vec![owner];
            return Ok(is_there);
        }
    }

    /// Runs `step` unless an earlier one failed.
    fn run_step<T>(
        &mut self,
        step: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if self.poisoned {
            return Err(StoreError::Poisoned { path: Path::new(JOURNAL).to_owned() });
        }
        self.poisoned = true;
        let done = step(self)?;
        self.poisoned = false;
        Ok(done)
    }
}

impl<R: SharedRows + Send> Log for SharedLog<R> {
    fn append(&mut self, records: &[JournalRecord]) -> Result<BatchNumber, StoreError> {
        assert!(!records.is_empty(), "a batch has records");
        let bytes = self.run_step(|log| log.append_batch(records))?;
        let bytes = u64::try_from(bytes).expect("a 64-bit machine");
        self.tail_bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(self.last.number)
    }

    fn sync_watermark(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    fn checkpoint(&mut self) -> Result<Checkpoint, StoreError> {
        self.run_step(|log| {
            if log.checkpointed == Some(log.last.number) {
                // A second snapshot is of another row, even if nothing was written since.
                log.take_again(log.last.number.next(), &[], &mut Pause::new())?;
            }
            log.checkpointed = Some(log.last.number);
            Ok(Checkpoint { last: log.last.number, epoch: log.last.epoch })
        })
    }

    fn record_format(&self) -> Arc<RecordFormat> {
        Arc::clone(&self.record_format)
    }

    fn close(self) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Pauses between the tries of one append, each longer than the one before.
struct Pause {
    next: Duration,
    has_warned: bool,
}

impl Pause {
    const fn new() -> Self {
        Self { next: FIRST_PAUSE, has_warned: false }
    }

    /// Logs the first reason.
    fn warn(&mut self, reason: &str) {
        if !std::mem::replace(&mut self.has_warned, true) {
            tracing::warn!(reason, "the shared store has not confirmed a batch; trying on");
        }
    }

    fn wait(&mut self, rows: &mut impl SharedRows) {
        rows.pause(self.next);
        self.next = (self.next * 2).min(LONGEST_PAUSE);
    }
}
