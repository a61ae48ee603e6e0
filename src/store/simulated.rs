//! The journal over bytes in memory, with what a power cut would leave apart from what was written.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::store::batch;
use crate::store::durable_watermark::Watermark;
use crate::store::error::StoreError;
use crate::store::journal::Log;
use crate::store::record::{BatchNumber, JournalRecord, StreamPositions};
use crate::store::replay::{JournalChunks, Replay, TornBatch, advance_all};

/// Chunks by key, as the databases hold them; what is visible and what is durable share their bytes.
type ChunkMap = BTreeMap<Vec<u8>, Arc<[u8]>>;

/// A disk that outlives the logs opened on it, and can lose power. Clones are the same disk.
#[derive(Clone, Debug, Default)]
pub struct SimulatedDisk {
    contents: Arc<Mutex<Contents>>,
}

#[derive(Debug, Default)]
struct Contents {
    /// What a reader sees while the power is on.
    live: ChunkMap,
    /// What is there after the power failed; always a state that `live` went through.
    durable: ChunkMap,
    /// The mark goes with the batch: its own sync is not simulated.
    watermark: Watermark,
    /// Counts appends over the life of the disk, from 1.
    appends: u64,
    /// What goes wrong, by the number of the append.
    faults: BTreeMap<u64, InjectedFault>,
}

/// What goes wrong in one append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectedFault {
    /// The write fails; nothing of the batch is anywhere.
    Write,
    /// The sync fails; the batch is visible until the power fails.
    Sync,
    /// The sync fails, and yet the batch is durable, though nobody was answered for it.
    SyncAfterAll,
}

/// What a power cut makes of the batch that was written and not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// Nothing of it reached the disk.
    Lost,
    /// Its first chunks did, this many, never all.
    Torn(usize),
    /// All of it did.
    Whole,
}

impl SimulatedDisk {
    /// An empty disk.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes the `nth` append over the life of the disk, from 1, go wrong.
    pub fn fail_append(&self, nth: u64, fault: InjectedFault) {
        self.with(|contents| contents.faults.insert(nth, fault));
    }

    /// How many appends were tried on this disk.
    #[must_use]
    pub fn appends(&self) -> u64 {
        self.with(|contents| contents.appends)
    }

    /// Cuts the power: only what was synced is there, and of an unsynced batch what `tail` says. Logs opened before
    /// must be dropped.
    pub fn crash(&self, tail: Tail) {
        self.with(|contents| {
            let unsynced: ChunkMap = contents
                .live
                .iter()
                .filter(|(key, _)| !contents.durable.contains_key(*key))
                .map(|(key, value)| (key.clone(), Arc::clone(value)))
                .collect();
            let survive = match tail {
                Tail::Lost => 0,
                Tail::Torn(chunks) => chunks.min(unsynced.len().saturating_sub(1)),
                Tail::Whole => unsynced.len(),
            };
            contents.durable.extend(unsynced.into_iter().take(survive));
            contents.live = contents.durable.clone();
        });
    }

    /// Recovers the journal: hands out every record in order, cuts a torn tail, and goes on after the last batch.
    ///
    /// # Errors
    ///
    /// As [`crate::store::Store::recover`]: damage, or what `visit` returns.
    pub fn recover(
        &self,
        visit: impl FnMut(BatchNumber, JournalRecord) -> Result<(), StoreError>,
    ) -> Result<(SimulatedLog, Option<TornBatch>), StoreError> {
        let path = simulated_path();
        let (image, watermark) = self.with(|contents| (contents.live.clone(), contents.watermark));
        let mut replay = Replay::new(watermark, StreamPositions::default(), BatchNumber(0));
        let chunks = image.into_iter().map(|(key, chunk)| Ok((key, chunk.to_vec())));
        replay.replay_journal(JournalChunks { path: &path, chunks }, visit)?;
        replay.finish(&path)?;
        let Replay { positions, last, torn_batch, .. } = replay;
        self.with(|contents| {
            let end = batch::chunk_key(last.next(), 0).to_vec();
            contents.live.split_off(&end);
            contents.durable = contents.live.clone();
            contents.watermark.clean = false;
        });
        let log =
            SimulatedLog { disk: self.clone(), positions, last, written: None, poisoned: false };
        Ok((log, torn_batch.map(|(torn_batch, _)| torn_batch)))
    }

    fn with<T>(&self, use_contents: impl FnOnce(&mut Contents) -> T) -> T {
        use_contents(&mut self.contents.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A log on a [`SimulatedDisk`].
#[derive(Debug)]
pub struct SimulatedLog {
    disk: SimulatedDisk,
    /// Where each stream stands, the batch being written included.
    positions: StreamPositions,
    /// The last batch that is durable.
    last: BatchNumber,
    /// A batch that is written and not synced, with what the sync will do.
    written: Option<(Watermark, Option<InjectedFault>)>,
    /// Set by the first failure and never reset.
    poisoned: bool,
}

impl SimulatedLog {
    /// The first half of an append: the batch is visible on the disk, and a power cut may take any of it. Between the
    /// halves a simulation lets time pass, or crashes.
    ///
    /// # Errors
    ///
    /// As [`Log::append`]; also when the batch before was not synced.
    pub fn write(&mut self, records: &[JournalRecord]) -> Result<(), StoreError> {
        assert!(!records.is_empty(), "a batch has records");
        if self.poisoned || self.written.is_some() {
            return Err(self.poison());
        }
        self.poisoned = true;
        let number = self.last.next();
        advance_all(&mut self.positions, &simulated_path(), number, records)?;
        let encoded = batch::encode_batch(number, records);
        let fault = self.disk.with(|contents| {
            contents.appends += 1;
            let fault = contents.faults.remove(&contents.appends);
            if fault != Some(InjectedFault::Write) {
                let keys = (0..).map(|index| batch::chunk_key(number, index).to_vec());
                contents.live.extend(keys.zip(encoded.chunks.into_iter().map(Arc::from)));
            }
            fault
        });
        if fault == Some(InjectedFault::Write) {
            return Err(injected("write"));
        }
        self.written = Some((Watermark { batch: number, crc: encoded.crc, clean: false }, fault));
        self.poisoned = false;
        Ok(())
    }

    /// The second half of an append: returns when the batch is durable.
    ///
    /// # Errors
    ///
    /// As [`Log::append`]; also without a batch to sync.
    pub fn sync(&mut self) -> Result<BatchNumber, StoreError> {
        let Some((watermark, fault)) = self.written.take().filter(|_| !self.poisoned) else {
            return Err(self.poison());
        };
        self.poisoned = fault.is_some();
        self.disk.with(|contents| {
            if fault != Some(InjectedFault::Sync) {
                // All before it is durable already.
                let from = batch::chunk_key(watermark.batch, 0).to_vec();
                contents.durable.extend(
                    contents
                        .live
                        .range(from..)
                        .map(|(key, value)| (key.clone(), Arc::clone(value))),
                );
            }
            if fault.is_none() {
                contents.watermark = watermark;
            }
        });
        if fault.is_some() {
            return Err(injected("sync"));
        }
        self.last = watermark.batch;
        Ok(watermark.batch)
    }

    fn poison(&mut self) -> StoreError {
        self.poisoned = true;
        StoreError::Poisoned { path: simulated_path() }
    }
}

impl Log for SimulatedLog {
    fn append(&mut self, records: &[JournalRecord]) -> Result<BatchNumber, StoreError> {
        self.write(records)?;
        self.sync()
    }

    fn sync_watermark(&mut self) -> Result<(), StoreError> {
        if self.poisoned { Err(self.poison()) } else { Ok(()) }
    }

    fn close(mut self) -> Result<(), StoreError> {
        if self.poisoned || self.written.is_some() {
            return Err(self.poison());
        }
        self.disk.with(|contents| contents.watermark.clean = true);
        Ok(())
    }
}

fn simulated_path() -> PathBuf {
    Path::new("simulated").join("journal")
}

fn injected(doing: &'static str) -> StoreError {
    StoreError::io(doing, &simulated_path())(io::Error::other("injected fault"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Stream;

    fn record(sequence: u64) -> JournalRecord {
        JournalRecord::new(Stream::Directory, 0, sequence, vec![7; 3000])
    }

    fn open(disk: &SimulatedDisk) -> (SimulatedLog, Vec<u64>, Option<TornBatch>) {
        let mut sequences = Vec::new();
        let (log, cut) = disk
            .recover(|_, record| {
                sequences.push(record.sequence);
                Ok(())
            })
            .unwrap();
        (log, sequences, cut)
    }

    #[test]
    fn a_crash_loses_only_what_was_not_synced() {
        let disk = SimulatedDisk::new();
        let (mut log, ..) = open(&disk);
        log.append(&[record(1)]).unwrap();
        log.write(&[record(2)]).unwrap();
        disk.crash(Tail::Lost);
        let (mut log, sequences, cut) = open(&disk);
        assert_eq!((sequences, cut), (vec![1], None));
        assert_eq!(log.append(&[record(2)]).unwrap(), BatchNumber(2));
        disk.crash(Tail::Lost);
        assert_eq!(open(&disk).1, [1, 2]);
    }

    #[test]
    fn a_torn_tail_is_cut_and_its_number_given_again() {
        let disk = SimulatedDisk::new();
        let (mut log, ..) = open(&disk);
        log.append(&[record(1)]).unwrap();
        log.write(&[record(2), record(3), record(4)]).unwrap();
        disk.crash(Tail::Torn(9));
        let (mut log, sequences, cut) = open(&disk);
        assert_eq!(
            (sequences, cut),
            (vec![1], Some(TornBatch { batch: BatchNumber(2), chunks: 2 }))
        );
        assert_eq!(log.append(&[record(2)]).unwrap(), BatchNumber(2));
        disk.crash(Tail::Lost);
        assert_eq!(open(&disk).1, [1, 2]);
    }

    #[test]
    fn a_batch_may_be_durable_though_nobody_was_answered() {
        let disk = SimulatedDisk::new();
        let (mut log, ..) = open(&disk);
        log.write(&[record(1)]).unwrap();
        disk.crash(Tail::Whole);
        assert_eq!(open(&disk).1, [1]);
    }

    #[test]
    fn after_a_fault_the_log_refuses_everything() {
        for (fault, kept) in [
            (InjectedFault::Write, vec![1]),
            (InjectedFault::Sync, vec![1]),
            (InjectedFault::SyncAfterAll, vec![1, 2]),
        ] {
            let disk = SimulatedDisk::new();
            disk.fail_append(2, fault);
            let (mut log, ..) = open(&disk);
            log.append(&[record(1)]).unwrap();
            assert!(matches!(log.append(&[record(2)]), Err(StoreError::Io { .. })), "{fault:?}");
            assert!(
                matches!(log.append(&[record(2)]), Err(StoreError::Poisoned { .. })),
                "{fault:?}"
            );
            assert!(matches!(log.sync_watermark(), Err(StoreError::Poisoned { .. })), "{fault:?}");
            assert!(log.close().is_err());
            disk.crash(Tail::Lost);
            assert_eq!(open(&disk).1, kept, "{fault:?}");
            assert_eq!(disk.appends(), 2);
        }
    }
}
