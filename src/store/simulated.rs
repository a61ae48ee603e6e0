//! The store on a simulated disk in memory, which keeps synced and unsynced bytes apart.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::store::batch;
use crate::store::checkpoint::{Checkpoint, JournalHandover, JournalRotation, NextJournal};
use crate::store::compaction::Generations;
use crate::store::durable_watermark::Watermark;
use crate::store::error::StoreError;
use crate::store::generation::{FIRST, Generation, journal_path, snapshots_path};
use crate::store::journal::{JournalHeader, Log, header_key, read_header};
use crate::store::record::{BatchNumber, JournalRecord, Position, Stream, StreamPositions};
use crate::store::recovery::{RecoveryReport, RecoverySource, RecoveryVisitor, ReplayedStore};
use crate::store::replay::{JournalChunks, Replay, TornBatch, advance_all};
use crate::store::simulated_contents::{
    Contents, CutAtStep, InjectedFault, SharedContents, Tail, simulated_directory,
};
use crate::store::simulated_files::SimulatedFiles;
use crate::store::snapshot::{Frames, SnapshotsWriter};
use crate::store::store_files::StoreFiles;

/// A disk that outlives the logs opened on it, and can lose power. Clones share one disk.
#[derive(Clone, Debug)]
pub struct SimulatedDisk {
    contents: SharedContents,
}

impl Default for SimulatedDisk {
    fn default() -> Self {
        Self::new()
    }
}

impl SimulatedDisk {
    /// A disk with a store of no stream.
    ///
    /// # Panics
    ///
    /// Never: a new disk takes every write.
    pub fn new() -> Self {
        Self::create(|_| Ok(())).expect("a new disk takes every write")
    }

    /// A disk with a store that begins with these snapshots.
    pub(crate) fn create(
        write_snapshots: impl FnOnce(&mut SnapshotsWriter) -> Result<(), StoreError>,
    ) -> Result<Self, StoreError> {
        let disk = Self { contents: SharedContents::new(Contents::blank()) };
        let files = disk.files();
        let database = files.create_database(&snapshots_path(files.directory(), FIRST))?;
        let mut writer = SnapshotsWriter::new(database);
        write_snapshots(&mut writer)?;
        writer.complete(FIRST.0, BatchNumber(1))?;
        files.begin_journal(FIRST, Some(BatchNumber(1)))?;
        Ok(disk)
    }

    /// Returns a disk of its own with the same files, as after a power cut.
    #[must_use]
    pub fn copy(&self) -> Self {
        let (image, removed, watermark) = self
            .with(|contents| (contents.live.clone(), contents.removed.clone(), contents.watermark));
        let copied = Contents {
            live: image.clone(),
            durable: image,
            removed,
            watermark,
            durable_watermark: watermark,
            ..Contents::blank()
        };
        Self { contents: SharedContents::new(copied) }
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

    /// Ends the process before the step after `steps` further steps of compactions and new
    /// journals: by a power cut, or with `None` by a kill. Another call replaces it.
    pub fn end_after_steps(&self, steps: u64, tail: Option<Tail>) {
        self.with(|contents| {
            contents.cut_at_step = Some(CutAtStep { step: contents.steps + steps + 1, tail });
        });
    }

    /// Takes back [`SimulatedDisk::end_after_steps`]. Returns whether it was still to come.
    pub fn forget_end(&self) -> bool {
        self.with(|contents| contents.cut_at_step.take().is_some())
    }

    /// Fills the disk: the newest journal has room for this number of chunks, and nothing else can
    /// be written.
    pub fn fill(&self, room_chunks: usize) {
        self.with(|contents| contents.room = Some(room_chunks));
    }

    /// Frees space on the disk.
    pub fn free(&self) {
        self.with(|contents| contents.room = None);
    }

    /// Returns the free bytes: none while the disk is full.
    pub fn free_bytes(&self) -> u64 {
        self.with(|contents| contents.free_bytes())
    }

    /// Number of the current generation.
    pub fn generation(&self) -> u64 {
        self.with(|contents| contents.live.current.generation.0)
    }

    /// Puts a batch with this body into the first journal, synced and under a valid checksum. The
    /// body may be one that [`Log::append`] would never write.
    ///
    /// # Panics
    ///
    /// If the first journal was removed.
    pub fn put_batch(&self, number: BatchNumber, body: &[u8]) {
        let encoded = batch::seal_body(number, body);
        let path = journal_path(&simulated_directory(), FIRST);
        self.with(|contents| {
            let journal = contents.live.databases.get_mut(&path).expect("a disk begins with it");
            let keys = (0..).map(|index| batch::chunk_key(number, index));
            journal.extend(keys.zip(encoded.chunks.into_iter().map(Arc::from)));
            contents.durable = contents.live.clone();
        });
    }

    /// Returns the live and the durable image with their watermarks, as bytes for comparisons.
    pub fn bytes(&self) -> Vec<u8> {
        self.with(|contents| {
            let mut bytes = Vec::new();
            let images = [
                (&contents.live, contents.watermark),
                (&contents.durable, contents.durable_watermark),
            ];
            for (image, watermark) in images {
                bytes.extend_from_slice(&image.current.generation.0.to_be_bytes());
                for (path, content) in &image.databases {
                    bytes.extend_from_slice(path.as_os_str().as_encoded_bytes());
                    for (key, chunk) in content {
                        bytes.extend_from_slice(key);
                        bytes.extend_from_slice(&chunk.len().to_be_bytes());
                        bytes.extend_from_slice(chunk);
                    }
                }
                bytes.extend_from_slice(&watermark.batch.0.to_be_bytes());
                bytes.extend_from_slice(&watermark.crc.to_be_bytes());
                bytes.push(u8::from(watermark.clean));
            }
            bytes
        })
    }

    /// Cuts the power: what was synced stays, and of the rest the part that `tail` names. Logs
    /// opened before fail from now on.
    pub fn crash(&self, tail: Tail) {
        self.with(|contents| contents.crash(tail));
    }

    /// Recovers the journals of a disk without snapshots: passes every record to `visit` in order.
    /// The log continues after the last whole batch.
    ///
    /// # Errors
    ///
    /// As [`crate::store::Store::recover`]: damage, or the error of `visit`. The disk is unchanged.
    pub fn recover(
        &self,
        visit: impl FnMut(BatchNumber, JournalRecord) -> Result<(), StoreError>,
    ) -> Result<(SimulatedLog, Option<TornBatch>), StoreError> {
        let (log, report) = self.recover_into(&mut RecordVisitor(visit))?;
        Ok((log, report.torn_batch))
    }

    /// Recovers the store as [`crate::store::Store::recover`] does, and continues it as
    /// [`crate::store::RecoveredStore::into_log`] does.
    ///
    /// # Errors
    ///
    /// As [`crate::store::Store::recover`]. The disk is then unchanged.
    pub fn recover_into(
        &self,
        visitor: &mut impl RecoveryVisitor,
    ) -> Result<(SimulatedLog, RecoveryReport), StoreError> {
        let unread = self.with(|contents| std::mem::take(&mut contents.unread_chunks));
        let read = if unread == 0 { self.clone() } else { self.copy() };
        read.with(|contents| contents.live.hide_chunks(unread));
        let (current, watermark) =
            self.with(|contents| (contents.live.current, contents.watermark));
        let source = RecoverySource { files: &read.files(), current, watermark };
        let ReplayedStore { next_watermark, positions, first_journal, report } =
            source.recover(visitor)?;
        self.with(|contents| {
            // A process that reads the disk syncs it first. What it did not read is gone.
            contents.unsynced_names.clear();
            if unread > 0 {
                contents.live.hide_chunks(unread);
            }
            contents.durable = contents.live.clone();
            // Synced with its change, as in a real store.
            contents.watermark = next_watermark;
            contents.durable_watermark = next_watermark;
        });
        let files = self.files();
        let first_journal = match first_journal {
            Some(empty) => empty,
            None => files.layout()?.unused_generation(),
        };
        files.remove_leftovers(current)?;
        let log = SimulatedLog {
            files,
            journal: None,
            first_journal,
            handover: JournalHandover::default(),
            epoch: positions.highest_epoch(),
            positions,
            last: report.last,
            written: None,
            poisoned: false,
        };
        Ok((log, report))
    }

    /// Passes every record that is on the disk or was in a removed journal to `visit`, in order.
    ///
    /// # Errors
    ///
    /// Damage, or the error of `visit`.
    pub fn visit_history(
        &self,
        mut visit: impl FnMut(BatchNumber, JournalRecord) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let read = self.copy();
        read.with(|contents| {
            let removed = std::mem::take(&mut contents.removed);
            for (path, content) in removed {
                contents.live.databases.entry(path).or_insert(content);
            }
        });
        let files = read.files();
        let mut replay =
            Replay::new(Watermark::default(), StreamPositions::default(), BatchNumber(0));
        for generation in files.layout()?.journals_from(FIRST) {
            let path = journal_path(files.directory(), generation);
            let database = files.open_copy(&path, None)?;
            let JournalHeader { first_batch, .. } = read_header(&*database, generation.0)?;
            let first_batch = (first_batch != 0).then_some(BatchNumber(first_batch));
            let chunks = database.after(&header_key());
            replay
                .replay_journal(JournalChunks { path: &path, first_batch, chunks }, &mut visit)?;
        }
        Ok(())
    }

    fn files(&self) -> SimulatedFiles {
        let ends = self.with(|contents| contents.ends);
        SimulatedFiles { disk: self.contents.clone(), ends }
    }

    fn with<T>(&self, use_contents: impl FnOnce(&mut Contents) -> T) -> T {
        self.contents.with(use_contents)
    }
}

/// A visitor of records.
struct RecordVisitor<V>(V);

impl<V> RecoveryVisitor for RecordVisitor<V>
where
    V: FnMut(BatchNumber, JournalRecord) -> Result<(), StoreError>,
{
    fn snapshot(
        &mut self,
        stream: Stream,
        _: Position,
        _: &mut dyn Frames,
    ) -> Result<(), StoreError> {
        Err(StoreError::rejected(format!("there is a snapshot of {stream}")))
    }

    fn record(&mut self, batch: BatchNumber, record: JournalRecord) -> Result<(), StoreError> {
        (self.0)(batch, record)
    }
}

/// A log on a [`SimulatedDisk`].
#[derive(Debug)]
pub struct SimulatedLog {
    files: SimulatedFiles,
    /// The journal that receives the batches; `None` until the first batch after a start.
    journal: Option<PathBuf>,
    /// Generation whose journal receives the first batch.
    first_journal: Generation,
    /// The place where compactions leave the next journal.
    handover: JournalHandover,
    /// Positions of the streams, including the batch being written.
    positions: StreamPositions,
    /// Epoch of every record written.
    epoch: u32,
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
        let directory = simulated_directory();
        advance_all(&mut self.positions, &directory, number, self.epoch, records)?;
        let fault = self.files.disk.with(|contents| {
            contents.appends += 1;
            contents.faults.remove(&contents.appends)
        });
        if fault == Some(InjectedFault::Write) {
            return Err(injected("write"));
        }
        let journal = match self.journal.take() {
            Some(journal) => journal,
            None => {
                self.files.begin_journal(self.first_journal, Some(number))?;
                journal_path(&directory, self.first_journal)
            }
        };
        let encoded = batch::encode_batch(number, self.epoch, records);
        self.files
            .disk
            .with(|contents| contents.append_chunks(&journal, number, encoded.chunks))?;
        self.journal = Some(journal);
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
        let (Some((watermark, fault)), Some(journal)) = (written, &self.journal) else {
            return Err(self.poison());
        };
        self.poisoned = fault.is_some();
        self.files.disk.with(|contents| {
            if fault != Some(InjectedFault::Sync) {
                // Earlier batches are durable already.
                let from = batch::chunk_key(watermark.batch, 0);
                let live = contents.live.databases.get(journal).expect("it was begun");
                let durable = contents.durable.databases.get_mut(journal);
                let durable = durable.expect("its name is durable");
                for (key, value) in live.range(from..) {
                    durable.insert(key.clone(), Arc::clone(value));
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

    /// Returns access to new generations while this log is being written.
    pub fn generations(&self) -> Generations {
        let current = self.files.disk.with(|contents| contents.live.current);
        let files = Box::new(self.files.clone());
        Generations::simulated(files, current, self.first_journal, self.handover.clone())
    }

    fn is_unusable(&self) -> bool {
        self.poisoned || self.files.disk.with(|contents| contents.ends) != self.files.ends
    }

    fn poison(&mut self) -> StoreError {
        self.poisoned = true;
        StoreError::Poisoned { path: simulated_directory() }
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
        self.files.disk.with(|contents| contents.durable_watermark = contents.watermark);
        Ok(())
    }

    fn checkpoint(&mut self) -> Result<Checkpoint, StoreError> {
        if self.is_unusable() || self.written.is_some() {
            return Err(self.poison());
        }
        if let Some(NextJournal { generation, .. }) = self.handover.take_offered() {
            self.journal = Some(journal_path(&simulated_directory(), generation));
            self.handover.set_rotated(JournalRotation { generation, ended: None });
        }
        Ok(Checkpoint { last: self.last, epoch: self.epoch })
    }

    fn close(mut self) -> Result<(), StoreError> {
        if self.is_unusable() || self.written.is_some() {
            return Err(self.poison());
        }
        self.files.disk.with(|contents| {
            contents.watermark.clean = true;
            contents.durable_watermark = contents.watermark;
        });
        Ok(())
    }
}

fn injected(doing: &'static str) -> StoreError {
    StoreError::io(doing, &simulated_directory())(io::Error::other("injected fault"))
}
