//! The journal: batches of records, each on disk before anybody is answered for it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::store::batch::{self, chunk_key};
use crate::store::codec::{self, STORE_FORMAT};
use crate::store::compaction::{Generations, JournalRotation, NextJournal};
use crate::store::database::Database;
use crate::store::durable_watermark::{DurableWatermark, Watermark};
use crate::store::error::{DamageLocation, StoreError};
use crate::store::files::{DirectoryLock, sync_directory};
use crate::store::record::{BatchNumber, JournalRecord, Positions};

/// Where records go to become durable. One writer; one batch at a time.
pub trait Log: Send {
    /// Writes `records` as one batch, all or none, and returns when it is on disk. Each record is the next of its
    /// stream.
    ///
    /// # Errors
    ///
    /// After any error nobody knows what the disk holds, so every later call is refused with
    /// [`StoreError::Poisoned`]: the process is to end, and recovery reads what is there.
    ///
    /// # Panics
    ///
    /// Without records: an empty batch would be a sync that nobody needs.
    fn append(&mut self, records: &[JournalRecord]) -> Result<BatchNumber, StoreError>;

    /// Makes the note of how far the journal is durable survive a power cut; to be called each second. It does nothing
    /// when nothing was appended since.
    ///
    /// # Errors
    ///
    /// As for [`Log::append`].
    fn sync_watermark(&mut self) -> Result<(), StoreError>;

    /// Goes on in the next journal, which is on disk already: every later batch goes there.
    ///
    /// # Errors
    ///
    /// As for [`Log::append`]. A log that keeps one journal only refuses, and goes on in it.
    fn rotate(&mut self, next: NextJournal) -> Result<JournalRotation, StoreError> {
        drop(next);
        Err(StoreError::rejected("this log has one journal only"))
    }

    /// Ends the journal on purpose, so that the next start trusts the operating system's memory.
    ///
    /// # Errors
    ///
    /// When the last notes cannot be written, or an earlier append failed. What was appended is durable all the same.
    fn close(self) -> Result<(), StoreError>
    where
        Self: Sized;
}

/// What a database of batches is: its entry (0, 0), before all batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct JournalHeader {
    format: u16,
    /// The generation it belongs to.
    generation: u64,
    /// The number of its first batch; 0 where it was made before that was known, to go on wherever the journal before
    /// it ends.
    pub(super) first_batch: u64,
}

/// Makes the empty journal `path`: it has its name only when it is whole and on disk.
pub(super) fn create(
    path: &Path,
    generation: u64,
    first_batch: Option<BatchNumber>,
) -> Result<(), StoreError> {
    let unborn = path.with_extension("new");
    let mut database = Database::create(&unborn)?;
    let first_batch = first_batch.map_or(0, |batch| batch.0);
    let header = JournalHeader { format: STORE_FORMAT, generation, first_batch };
    database.write([(header_key(), Some(codec::encode_sealed(&header)))])?;
    database.close()?;
    fs::rename(&unborn, path).map_err(StoreError::io("rename", &unborn))?;
    path.parent().map_or(Ok(()), sync_directory)
}

/// Reads the header of the journal in `database`.
///
/// # Errors
///
/// [`StoreError::Damaged`] without a header, or with that of another generation.
pub(super) fn header(database: &Database, generation: u64) -> Result<JournalHeader, StoreError> {
    let damaged = |what: String| StoreError::damaged(database.path(), DamageLocation::Header, what);
    let bytes =
        database.value(&header_key())?.ok_or_else(|| damaged("there is none".to_owned()))?;
    let header: JournalHeader =
        codec::decode_sealed(&bytes).map_err(|error| damaged(error.to_string()))?;
    if header.format > STORE_FORMAT {
        let path = database.path().to_owned();
        return Err(StoreError::Newer { path, format: header.format, known: STORE_FORMAT });
    }
    if header.generation != generation {
        return Err(damaged(format!("it names generation {}", header.generation)));
    }
    Ok(header)
}

/// The key of the header: batch 0 does not exist.
pub(super) fn header_key() -> Vec<u8> {
    chunk_key(BatchNumber(0), 0).to_vec()
}

/// The journal on disk. One OS thread owns it.
#[derive(Debug)]
pub struct SledLog {
    /// The data directory.
    pub(super) directory: PathBuf,
    /// Keeps every other process out for as long as we may write.
    pub(super) lock: Arc<DirectoryLock>,
    /// The journal that batches go to: the newest.
    pub(super) journal: Database,
    /// Never ahead of what is on disk.
    pub(super) watermark: DurableWatermark,
    /// Where each stream stands, counting what is on disk only; keeps a gap from ever being written.
    pub(super) positions: Positions,
    /// The last batch on disk.
    pub(super) last: BatchNumber,
    /// Set before each step and reset after it succeeded; once it stays set it is for good.
    pub(super) poisoned: bool,
}

impl SledLog {
    /// The last batch on disk; 0 before the first.
    #[must_use]
    pub const fn last(&self) -> BatchNumber {
        self.last
    }

    /// The way to make new generations while this log is being written.
    ///
    /// # Errors
    ///
    /// When the data directory cannot be read.
    pub fn generations(&self) -> Result<Generations, StoreError> {
        Generations::of(&self.directory, Arc::clone(&self.lock))
    }

    fn append_unguarded(
        &mut self,
        number: BatchNumber,
        records: &[JournalRecord],
    ) -> Result<(), StoreError> {
        advance_all(&mut self.positions, self.journal.path(), number, records)?;
        let encoded = batch::encode(number, records);
        let chunks = (0..).zip(encoded.chunks);
        self.journal
            .write(chunks.map(|(index, chunk)| (chunk_key(number, index).to_vec(), Some(chunk))))?;
        self.watermark.put(Watermark { batch: number, crc: encoded.crc, clean: false })
    }

    /// Runs `step` unless an earlier one failed.
    fn step<T>(
        &mut self,
        step: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if self.poisoned {
            return Err(StoreError::Poisoned { path: self.directory.clone() });
        }
        self.poisoned = true;
        let done = step(self)?;
        self.poisoned = false;
        Ok(done)
    }
}

impl Log for SledLog {
    fn append(&mut self, records: &[JournalRecord]) -> Result<BatchNumber, StoreError> {
        assert!(!records.is_empty(), "a batch has records");
        let number = self.last.next();
        self.step(|log| log.append_unguarded(number, records))?;
        self.last = number;
        Ok(number)
    }

    fn sync_watermark(&mut self) -> Result<(), StoreError> {
        self.step(|log| log.watermark.sync())
    }

    fn rotate(&mut self, next: NextJournal) -> Result<JournalRotation, StoreError> {
        self.step(|log| {
            let first_batch = log.last.next();
            let (generation, journal) = next.into_parts();
            let ended = std::mem::replace(&mut log.journal, journal);
            Ok(JournalRotation::new(generation, first_batch, ended))
        })
    }

    fn close(mut self) -> Result<(), StoreError> {
        self.step(|log| {
            log.watermark.sync()?;
            log.watermark.put(Watermark { clean: true, ..log.watermark.current() })?;
            log.watermark.sync()
        })?;
        self.journal.close()
    }
}

/// Moves every record's stream to it.
///
/// # Errors
///
/// [`StoreError::Gap`] at the first record that does not continue its stream.
pub(super) fn advance_all(
    positions: &mut Positions,
    path: &Path,
    batch: BatchNumber,
    records: &[JournalRecord],
) -> Result<(), StoreError> {
    records.iter().try_for_each(|record| {
        positions.advance(record).map(|_| ()).map_err(|expected| gap(path, batch, record, expected))
    })
}

/// The error for a record where `expected` belongs.
pub(super) fn gap(
    path: &Path,
    batch: BatchNumber,
    record: &JournalRecord,
    expected: u64,
) -> StoreError {
    let JournalRecord { stream, epoch, sequence, .. } = *record;
    StoreError::Gap { path: path.to_owned(), batch, stream, expected, found: sequence, epoch }
}
