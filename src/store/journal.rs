//! The journal: batches of records, each durable before its answers are sent. Reference 8.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::store::batch::{self, chunk_key};
use crate::store::checkpoint::{Checkpoint, JournalHandover, JournalRotation, NextJournal};
use crate::store::codec::{self, STORE_FORMAT};
use crate::store::database::Database;
use crate::store::durable_watermark::{DurableWatermark, Watermark};
use crate::store::error::{DamageLocation, StoreError};
use crate::store::files::{DirectoryLock, find_metadata, remove_directory, sync_parent};
use crate::store::formats::RecordFormat;
use crate::store::generation::{Generation, journal_path};
use crate::store::presence::Presence;
use crate::store::record::{BatchNumber, JournalRecord, StreamPositions};
use crate::store::replay::advance_all;
use crate::store::store_database::StoreDatabase;

/// A write-ahead log. It has one writer, which appends one batch at a time.
pub trait Log: Send {
    /// Writes `records` as one batch, all or none, and returns when it is durable. Each record is
    /// the next of its stream, and gets the epoch of the log unless it has a higher one.
    ///
    /// # Errors
    ///
    /// After any error the content of the disk is unknown, so every later call fails with
    /// [`StoreError::Poisoned`]. The process must end, and recovery reads the disk.
    ///
    /// # Panics
    ///
    /// Without records: an empty batch would cost a sync for nothing.
    fn append(&mut self, records: &[JournalRecord]) -> Result<BatchNumber, StoreError>;

    /// Makes the watermark survive a power cut; to be called each second. It does nothing when
    /// nothing was appended since the last call.
    ///
    /// # Errors
    ///
    /// As for [`Log::append`].
    fn sync_watermark(&mut self) -> Result<(), StoreError>;

    /// Returns the place after all batches so far. A log on disk continues there in the journal
    /// that a compaction has made ready, if it has.
    ///
    /// # Errors
    ///
    /// As for [`Log::append`].
    fn checkpoint(&mut self) -> Result<Checkpoint, StoreError>;

    /// Returns the format in which records for it have to be encoded. It rises while the log is
    /// used, and is the newest unless servers of other releases read the log too.
    fn record_format(&self) -> Arc<RecordFormat> {
        Arc::default()
    }

    /// Marks the end of the journal as clean, so that the next start trusts the page cache.
    ///
    /// # Errors
    ///
    /// Returns an error when the watermark cannot be written, or an earlier append failed.
    /// All appended batches are durable all the same.
    fn close(self) -> Result<(), StoreError>
    where
        Self: Sized;
}

/// Identity of a journal database: its entry (0, 0), before all batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JournalHeader {
    format: u16,
    /// The generation it belongs to.
    generation: u64,
    /// The number of its first batch. 0 when the journal was made before that number was known: it
    /// then continues after the last batch of the journal before it.
    pub(crate) first_batch: u64,
}

/// Creates the empty journal `path`. It gets its name only when it is complete and durable.
pub(crate) fn create_journal(
    path: &Path,
    generation: u64,
    first_batch: Option<BatchNumber>,
) -> Result<(), StoreError> {
    let unfinished = path.with_extension("new");
    let mut database = Database::create(&unfinished)?;
    database.write([header_entry(generation, first_batch)])?;
    database.close()?;
    fs::rename(&unfinished, path).map_err(StoreError::io("rename", &unfinished))?;
    sync_parent(path)
}

/// Opens the journal `path` to be written, without a batch in it and with `first_batch` as the
/// next; creates it where it is missing. Its header is read back: sled takes a failed read for an
/// empty log, and the batches of a journal without a header could not be read.
///
/// # Errors
///
/// Returns an error when the disk refuses, or the header does not come back. A new
/// journal is then removed; one that was there stays, and without a header it counts as empty.
pub(crate) fn open_empty_journal(
    path: &Path,
    generation: u64,
    first_batch: Option<BatchNumber>,
) -> Result<Database, StoreError> {
    let is_new = find_metadata(path)?.is_none();
    if is_new {
        create_journal(path, generation, first_batch)?;
    }
    let opened = Database::open(path).and_then(|mut database| {
        if !is_new {
            database.write([header_entry(generation, first_batch)])?;
        }
        read_header(&database, generation)?;
        database.keep_room_ahead()?;
        Ok(database)
    });
    if opened.is_err() && is_new {
        discard_journal(path)?;
    }
    opened
}

/// Removes the journal `path`, which holds no batch. It loses its name first: the start after a
/// crash halfway would refuse a journal that lacks some of its files.
fn discard_journal(path: &Path) -> Result<(), StoreError> {
    let unfinished = path.with_extension("new");
    fs::rename(path, &unfinished).map_err(StoreError::io("rename", path))?;
    sync_parent(path)?;
    remove_directory(&unfinished)
}

/// Returns the header as an entry of the database.
pub(crate) fn header_entry(
    generation: u64,
    first_batch: Option<BatchNumber>,
) -> (Vec<u8>, Option<Vec<u8>>) {
    let first_batch = first_batch.map_or(0, |batch| batch.0);
    let header = JournalHeader { format: STORE_FORMAT, generation, first_batch };
    (header_key(), Some(codec::encode_with_checksum(&header)))
}

/// Reads the header of the journal in `database`.
///
/// # Errors
///
/// [`StoreError::Damaged`] without a header, or with that of another generation.
pub(crate) fn read_header(
    database: &dyn StoreDatabase,
    generation: u64,
) -> Result<JournalHeader, StoreError> {
    let damaged = |what: &str| StoreError::damaged(database.path(), DamageLocation::Header, what);
    let Some(bytes) = database.value(&header_key())? else { return Err(damaged("it is missing")) };
    let header: JournalHeader = match codec::decode_with_checksum(&bytes) {
        Ok(header) => header,
        Err(error) => return Err(damaged(&error.to_string())),
    };
    if header.format > STORE_FORMAT {
        let path = database.path().to_owned();
        return Err(StoreError::Newer { path, format: header.format, known: STORE_FORMAT });
    }
    if header.generation != generation {
        return Err(damaged(&format!("it names generation {}", header.generation)));
    }
    Ok(header)
}

/// Returns the key of the header: batch 0 does not exist.
pub(crate) fn header_key() -> Vec<u8> {
    chunk_key(BatchNumber(0), 0)
}

/// The journal on disk. One OS thread owns it.
#[derive(Debug)]
pub struct SledLog {
    /// The data directory.
    pub(crate) directory: PathBuf,
    /// Excludes every other process while this one may write.
    pub(crate) lock: Arc<DirectoryLock>,
    /// The files of the store, which a monitor checks.
    pub(crate) presence: Arc<Presence>,
    /// The newest journal, which receives the batches. `None` until the first batch after a start,
    /// which begins a new one: journals of earlier lives are only read.
    pub(crate) journal: Option<Database>,
    /// Generation whose journal receives the first batch of this life: missing yet, or empty.
    /// Compactions use higher numbers, so that journals are replayed in the order of writing.
    pub(crate) first_journal: Generation,
    /// Never ahead of what is on disk: it is moved after the sync of each batch.
    pub(crate) watermark: DurableWatermark,
    /// The place where compactions leave the next journal.
    pub(crate) handover: JournalHandover,
    /// Positions of the streams on disk. They prevent the write of a gap.
    pub(crate) positions: StreamPositions,
    /// Epoch of every record written: the highest one read.
    pub(crate) epoch: u32,
    /// The last batch on disk.
    pub(crate) last: BatchNumber,
    /// Set before each step and reset after its success. A failed step leaves it set for good.
    pub(crate) poisoned: bool,
}

impl SledLog {
    /// The last batch on disk; 0 before the first.
    pub const fn last(&self) -> BatchNumber {
        self.last
    }

    /// The files of the store, for a monitor.
    pub fn presence(&self) -> Arc<Presence> {
        Arc::clone(&self.presence)
    }

    fn append_batch(
        &mut self,
        number: BatchNumber,
        records: &[JournalRecord],
    ) -> Result<(), StoreError> {
        advance_all(&mut self.positions, &self.directory, number, self.epoch, records)?;
        if self.journal.is_none() {
            let path = journal_path(&self.directory, self.first_journal);
            self.journal = Some(open_empty_journal(&path, self.first_journal.0, Some(number))?);
            self.presence.begin_database(&path)?;
        }
        let journal = self.journal.as_mut().expect("it was begun");
        let encoded = batch::encode_batch(number, self.epoch, records);
        let chunks = (0..).zip(encoded.chunks);
        // Replay takes a batch without all of its chunks for none, so that it need not be atomic.
        journal.append(chunks.map(|(index, chunk)| (chunk_key(number, index), chunk)))?;
        self.watermark.write(Watermark { batch: number, crc: encoded.crc, clean: false })
    }

    /// Runs `step` unless an earlier one failed.
    fn run_step<T>(
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
        self.run_step(|log| log.append_batch(number, records))?;
        self.last = number;
        Ok(number)
    }

    fn sync_watermark(&mut self) -> Result<(), StoreError> {
        self.run_step(|log| log.watermark.sync())
    }

    fn checkpoint(&mut self) -> Result<Checkpoint, StoreError> {
        self.run_step(|log| {
            if let Some(NextJournal { generation, database }) = log.handover.take_offered() {
                let database = database.expect("a journal of a data directory has one");
                log.presence.begin_database(database.path())?;
                let ended = log.journal.replace(database);
                log.handover.set_rotated(JournalRotation { generation, ended });
            }
            Ok(Checkpoint { last: log.last, epoch: log.epoch })
        })
    }

    fn close(mut self) -> Result<(), StoreError> {
        self.run_step(|log| {
            log.watermark.sync()?;
            log.watermark.write(Watermark { clean: true, ..log.watermark.current() })?;
            log.watermark.sync()
        })?;
        match self.journal {
            Some(journal) => journal.close(),
            None => Ok(()),
        }
    }
}
