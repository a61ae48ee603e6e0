//! The journal on a simulated disk in memory, which keeps synced and unsynced bytes apart.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::store::batch;
use crate::store::durable_watermark::Watermark;
use crate::store::error::StoreError;
use crate::store::journal::Log;
use crate::store::record::{BatchNumber, JournalRecord, StreamPositions};
use crate::store::replay::{JournalChunks, Replay, TornBatch, advance_all};

/// Chunks by key, as in a database. The visible and the durable map share their bytes.
type ChunkMap = BTreeMap<Vec<u8>, Arc<[u8]>>;

/// A disk that outlives the logs opened on it, and can lose power. Clones share one disk.
#[derive(Clone, Debug, Default)]
pub struct SimulatedDisk {
    contents: Arc<Mutex<Contents>>,
}

#[derive(Debug, Default)]
struct Contents {
    /// Chunks that a reader sees while the power is on.
    live: ChunkMap,
    /// Chunks left after a power cut; always a former state of `live`.
    durable: ChunkMap,
    /// Moves with each synced batch.
    watermark: Watermark,
    /// The watermark left after a power cut: `watermark` at its last sync.
    durable_watermark: Watermark,
    /// Number of power cuts. A log that was opened before the last one fails.
    power_cuts: u64,
    /// Number of last chunks that the next recovery does not see.
    unread_chunks: usize,
    /// Number of appends over the life of the disk.
    appends: u64,
    /// Faults by the number of the append, from 1.
    faults: BTreeMap<u64, InjectedFault>,
}

/// A fault of one append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectedFault {
    /// The write fails, and no byte of the batch is kept.
    Write,
    /// The sync fails. The batch is visible until a power cut.
    Sync,
    /// The sync fails, and yet the batch is durable, although no answer was sent.
    SyncAfterAll,
}

/// Remainder of an unsynced batch after a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// No chunk reached the disk.
    Lost,
    /// This number of first chunks did, never all.
    Torn(usize),
    /// All chunks did.
    Whole,
}

impl SimulatedDisk {
    /// An empty disk.
    pub fn new() -> Self {
        Self::default()
    }

    /// Injects a fault into the `nth` append over the life of the disk, from 1.
    pub fn fail_append(&self, nth: u64, fault: InjectedFault) {
        self.with(|contents| contents.faults.insert(nth, fault));
    }

    /// Number of appends tried on this disk.
    pub fn appends(&self) -> u64 {
        self.with(|contents| contents.appends)
    }

    /// Hides the last `chunks` chunks from the next recovery only, as if the journal read short.
    pub fn shorten_next_read(&self, chunks: usize) {
        self.with(|contents| contents.unread_chunks = chunks);
    }

    /// Returns the live and the durable image with their watermarks, as bytes for comparisons.
    pub fn bytes(&self) -> Vec<u8> {
        self.with(|contents| {
            let mut bytes = Vec::new();
            let images = [
                (&contents.live, contents.watermark),
                (&contents.durable, contents.durable_watermark),
            ];
            for (chunks, watermark) in images {
                for (key, chunk) in chunks {
                    bytes.extend_from_slice(key);
                    bytes.extend_from_slice(&chunk.len().to_be_bytes());
                    bytes.extend_from_slice(chunk);
                }
                bytes.extend_from_slice(&watermark.batch.0.to_be_bytes());
                bytes.extend_from_slice(&watermark.crc.to_be_bytes());
                bytes.push(u8::from(watermark.clean));
            }
            bytes
        })
    }

    /// Cuts the power: synced chunks and the synced watermark stay, and of an unsynced batch the
    /// part that `tail` names. Logs opened before fail from now on.
    pub fn crash(&self, tail: Tail) {
        self.with(|contents| {
            let mut unsynced = ChunkMap::new();
            for (key, value) in &contents.live {
                if !contents.durable.contains_key(key) {
                    unsynced.insert(key.clone(), Arc::clone(value));
                }
            }
            let survive = match tail {
                Tail::Lost => 0,
                Tail::Torn(chunks) => chunks.min(unsynced.len().saturating_sub(1)),
                Tail::Whole => unsynced.len(),
            };
            contents.durable.extend(unsynced.into_iter().take(survive));
            contents.live = contents.durable.clone();
            contents.watermark = contents.durable_watermark;
            contents.power_cuts += 1;
        });
    }

    /// Recovers the journal: passes every record to `visit` in order, and removes a torn batch. The
    /// log continues after the last whole batch.
    ///
    /// # Errors
    ///
    /// As [`crate::store::Store::recover`]: damage, or the error of `visit`. The disk is unchanged.
    pub fn recover(
        &self,
        visit: impl FnMut(BatchNumber, JournalRecord) -> Result<(), StoreError>,
    ) -> Result<(SimulatedLog, Option<TornBatch>), StoreError> {
        let path = simulated_path();
        let (image, watermark) = self.with(|contents| {
            let unread = std::mem::take(&mut contents.unread_chunks);
            let read = contents.live.len().saturating_sub(unread);
            let mut image = ChunkMap::new();
            for (key, chunk) in contents.live.iter().take(read) {
                image.insert(key.clone(), Arc::clone(chunk));
            }
            (image, contents.watermark)
        });
        let mut replay = Replay::new(watermark, StreamPositions::default(), BatchNumber(0));
        let chunks = image.into_iter().map(|(key, chunk)| Ok((key, chunk.to_vec())));
        replay.replay_journal(JournalChunks { path: &path, first_batch: None, chunks }, visit)?;
        replay.finish(&path)?;
        let Replay { positions, last, torn_batch, next_watermark, .. } = replay;
        let power_cuts = self.with(|contents| {
            let end = batch::chunk_key(last.next(), 0);
            contents.live.split_off(&end);
            contents.durable = contents.live.clone();
            // Synced with its change, as in a real store.
            contents.watermark = next_watermark;
            contents.durable_watermark = next_watermark;
            contents.power_cuts
        });
        let disk = self.clone();
        let log =
            SimulatedLog { disk, power_cuts, positions, last, written: None, poisoned: false };
        Ok((log, torn_batch.map(|(torn_batch, _)| torn_batch)))
    }

    fn with<T>(&self, use_contents: impl FnOnce(&mut Contents) -> T) -> T {
        use_contents(&mut self.contents.lock())
    }
}

/// A log on a [`SimulatedDisk`].
#[derive(Debug)]
pub struct SimulatedLog {
    disk: SimulatedDisk,
    /// Power cuts of the disk before this log was opened. After another one, the log fails.
    power_cuts: u64,
    /// Positions of the streams, including the batch being written.
    positions: StreamPositions,
    /// The last batch that is durable.
    last: BatchNumber,
    /// A batch that is written and not synced, with the fault of its sync.
    written: Option<(Watermark, Option<InjectedFault>)>,
    /// Set by the first failure and never reset.
    poisoned: bool,
}

impl SimulatedLog {
    /// Writes a batch without a sync: it is visible, and a power cut may take any part of it. A
    /// simulation lets time pass before [`SimulatedLog::sync`], or crashes.
    ///
    /// # Errors
    ///
    /// As [`Log::append`]; also when the batch before was not synced.
    pub fn write(&mut self, records: &[JournalRecord]) -> Result<(), StoreError> {
        assert!(!records.is_empty(), "a batch has records");
        if self.is_unusable() || self.written.is_some() {
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
                let keys = (0..).map(|index| batch::chunk_key(number, index));
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

    /// Syncs the written batch: it is durable afterwards.
    ///
    /// # Errors
    ///
    /// As [`Log::append`]; also without a batch to sync.
    pub fn sync(&mut self) -> Result<BatchNumber, StoreError> {
        let written = self.written.take();
        if self.is_unusable() {
            return Err(self.poison());
        }
        let Some((watermark, fault)) = written else { return Err(self.poison()) };
        self.poisoned = fault.is_some();
        self.disk.with(|contents| {
            if fault != Some(InjectedFault::Sync) {
                // Earlier batches are durable already.
                let from = batch::chunk_key(watermark.batch, 0);
                for (key, value) in contents.live.range(from..) {
                    contents.durable.insert(key.clone(), Arc::clone(value));
                }
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

    fn is_unusable(&self) -> bool {
        self.poisoned || self.disk.with(|contents| contents.power_cuts) != self.power_cuts
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
        if self.is_unusable() {
            return Err(self.poison());
        }
        self.disk.with(|contents| contents.durable_watermark = contents.watermark);
        Ok(())
    }

    fn close(mut self) -> Result<(), StoreError> {
        if self.is_unusable() || self.written.is_some() {
            return Err(self.poison());
        }
        self.disk.with(|contents| {
            contents.watermark.clean = true;
            contents.durable_watermark = contents.watermark;
        });
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
        let (log, torn_batch) = disk
            .recover(|_, record| {
                sequences.push(record.sequence);
                Ok(())
            })
            .unwrap();
        (log, sequences, torn_batch)
    }

    #[test]
    fn a_crash_loses_only_what_was_not_synced() {
        let disk = SimulatedDisk::new();
        let (mut log, ..) = open(&disk);
        log.append(&[record(1)]).unwrap();
        log.write(&[record(2)]).unwrap();
        disk.crash(Tail::Lost);
        let (mut log, sequences, torn_batch) = open(&disk);
        assert_eq!((sequences, torn_batch), (vec![1], None));
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
        let (mut log, sequences, torn_batch) = open(&disk);
        assert_eq!(
            (sequences, torn_batch),
            (vec![1], Some(TornBatch { batch: BatchNumber(2), chunks: 2 }))
        );
        assert_eq!(log.append(&[record(2)]).unwrap(), BatchNumber(2));
        disk.crash(Tail::Lost);
        assert_eq!(open(&disk).1, [1, 2]);
    }

    #[test]
    fn a_batch_may_be_durable_without_an_answer() {
        let disk = SimulatedDisk::new();
        let (mut log, ..) = open(&disk);
        log.write(&[record(1)]).unwrap();
        disk.crash(Tail::Whole);
        assert_eq!(open(&disk).1, [1]);
    }

    #[test]
    fn watermark_survives_a_power_cut_only_when_it_was_synced() {
        for synced in [false, true] {
            let disk = SimulatedDisk::new();
            let (mut log, ..) = open(&disk);
            log.append(&[record(1)]).unwrap();
            if synced {
                log.sync_watermark().unwrap();
            }
            disk.crash(Tail::Lost);
            disk.shorten_next_read(1);
            let before = disk.bytes();
            let recovered = disk.recover(|_, _| Ok(()));
            assert_eq!(recovered.is_err(), synced);
            if synced {
                assert_eq!(disk.bytes(), before);
                assert_eq!(open(&disk).1, [1]);
            }
        }
    }

    #[test]
    fn recovered_batches_are_covered_by_the_watermark() {
        let disk = SimulatedDisk::new();
        let (mut log, ..) = open(&disk);
        log.append(&[record(1)]).unwrap();
        disk.crash(Tail::Lost);
        assert_eq!(open(&disk).1, [1]);
        disk.crash(Tail::Lost);
        disk.shorten_next_read(1);
        assert!(matches!(disk.recover(|_, _| Ok(())), Err(StoreError::JournalShort { .. })));
    }

    #[test]
    fn after_a_power_cut_the_log_refuses_everything() {
        let disk = SimulatedDisk::new();
        let (mut log, ..) = open(&disk);
        log.write(&[record(1)]).unwrap();
        disk.crash(Tail::Lost);
        assert!(log.sync().is_err());
        assert!(log.write(&[record(1)]).is_err());
        assert!(open(&disk).1.is_empty());
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
