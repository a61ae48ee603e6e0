//! Replay of journals: decodes chunks into records, and tells a torn batch at the end from damage.
//! It does no I/O, so disk and simulation share it.

use std::iter::Peekable;
use std::path::{Path, PathBuf};

use crate::planted_faults::PlantedFault;
use crate::store::batch::{self, BatchFault, parse_chunk_key};
use crate::store::codec::RECORD_FORMAT;
use crate::store::durable_watermark::Watermark;
use crate::store::error::{DamageLocation, StoreError};
use crate::store::record::{BatchNumber, JournalRecord, RecordCoverage, StreamPositions};

/// An incomplete batch at the end of the journal: the process ended while it wrote the batch. No
/// answer depended on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TornBatch {
    /// Its number, which the next batch takes over.
    pub batch: BatchNumber,
    /// Number of its chunks that had reached the disk.
    pub chunks: usize,
}

/// A replay in progress: the totals so far, and the expected continuation.
#[derive(Debug)]
pub(crate) struct Replay {
    /// The last batch known to be durable.
    pub(crate) watermark: Watermark,
    /// The watermark for the batches read so far; at least `watermark`.
    pub(crate) next_watermark: Watermark,
    /// Positions of the streams after the records so far.
    pub(crate) positions: StreamPositions,
    /// The last whole batch so far.
    pub(crate) last: BatchNumber,
    /// Batches read.
    pub(crate) batches: u64,
    /// Records passed to the visitor.
    pub(crate) records: u64,
    /// The torn batch at the end of a journal, with that journal. No batch may follow it.
    pub(crate) torn_batch: Option<(TornBatch, PathBuf)>,
}

/// A chunk with its batch and its index there.
type Chunk = (BatchNumber, u32, Vec<u8>);
/// A batch with its chunks by index.
type BatchChunks = (BatchNumber, Vec<(u32, Vec<u8>)>);

/// The chunks of one journal.
pub(crate) struct JournalChunks<'a, C> {
    /// The directory of the journal, for errors.
    pub(crate) path: &'a Path,
    /// Number of its first batch by its header; `None` where the header leaves it open.
    pub(crate) first_batch: Option<BatchNumber>,
    /// Chunks by key, without the header.
    pub(crate) chunks: C,
}

impl Replay {
    pub(crate) fn new(watermark: Watermark, positions: StreamPositions, last: BatchNumber) -> Self {
        let next_watermark = Watermark { clean: false, ..watermark };
        Self {
            watermark,
            next_watermark,
            positions,
            last,
            batches: 0,
            records: 0,
            torn_batch: None,
        }
    }

    /// Passes the records of one journal that no snapshot includes to `visit`.
    ///
    /// # Errors
    ///
    /// The first damage, or the error of `visit`. A torn batch at the very end is no error.
    pub(crate) fn replay_journal<C>(
        &mut self,
        journal: JournalChunks<'_, C>,
        mut visit: impl FnMut(BatchNumber, JournalRecord) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>
    where
        C: Iterator<Item = Result<(Vec<u8>, Vec<u8>), StoreError>>,
    {
        let JournalChunks { path, first_batch, chunks } = journal;
        // A start that met a torn batch began this journal in its place: the tear does not count.
        if self.torn_batch.as_ref().is_some_and(|(torn, _)| first_batch == Some(torn.batch)) {
            self.torn_batch = None;
        }
        let chunks =
            chunks.map(|entry| entry.and_then(|(key, value)| parse_chunk(path, &key, value)));
        let mut chunks = chunks.peekable();
        while let Some(first) = chunks.next() {
            let (number, found) = collect_batch(first?, &mut chunks)?;
            self.expect_next(path, number)?;
            let at_end = chunks.peek().is_none();
            let Some((crc, records)) = self.decode(path, number, &found, at_end)? else { break };
            self.check_watermark(path, number, crc)?;
            self.visit_records(path, number, records, &mut visit)?;
            self.last = number;
            if number > self.next_watermark.batch {
                self.next_watermark = Watermark { batch: number, crc, clean: false };
            }
            self.batches += 1;
        }
        Ok(())
    }

    /// Passes the records of a batch of a shared store to `visit`. `batch` follows the last one.
    ///
    /// # Errors
    ///
    /// A record that does not continue its stream, or of a later format; the error of `visit`.
    pub(crate) fn replay_batch(
        &mut self,
        path: &Path,
        batch: BatchNumber,
        records: Vec<JournalRecord>,
        mut visit: impl FnMut(BatchNumber, JournalRecord) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.visit_records(path, batch, records, &mut visit)?;
        self.last = batch;
        self.batches += 1;
        Ok(())
    }

    /// Refuses a batch that does not follow the last one.
    fn expect_next(&self, path: &Path, number: BatchNumber) -> Result<(), StoreError> {
        let expected = self.last.next();
        if number != expected {
            let what = format!("batch {expected} is missing before it");
            return Err(StoreError::damaged(path, DamageLocation::Batch(number), what));
        }
        if let Some((TornBatch { batch, chunks }, torn)) = &self.torn_batch {
            let what = format!("it has only {chunks} of its chunks, and a later journal continues");
            return Err(StoreError::damaged(torn, DamageLocation::Batch(*batch), what));
        }
        Ok(())
    }

    /// Decodes the crc and records of a whole batch; `None` for a batch that a crash may have torn.
    fn decode(
        &mut self,
        path: &Path,
        number: BatchNumber,
        chunks: &[(u32, Vec<u8>)],
        at_end: bool,
    ) -> Result<Option<(u32, Vec<JournalRecord>)>, StoreError> {
        let what = match batch::decode_batch(number, chunks) {
            Ok(batch) => return Ok(Some(batch)),
            Err(BatchFault::Torn { found }) => {
                // The end of the replay decides whether a crash may have torn it.
                if at_end {
                    let torn_batch = TornBatch { batch: number, chunks: found };
                    self.torn_batch = Some((torn_batch, path.to_owned()));
                    return Ok(None);
                }
                format!("it has only {found} of its chunks")
            }
            Err(BatchFault::Wrong(what)) => what,
        };
        Err(StoreError::damaged(path, DamageLocation::Batch(number), what))
    }

    fn check_watermark(
        &self,
        path: &Path,
        number: BatchNumber,
        crc: u32,
    ) -> Result<(), StoreError> {
        let Watermark { batch, crc: expected, .. } = self.watermark;
        if number != batch || crc == expected {
            return Ok(());
        }
        let what = format!("its checksum is {crc:08x}, but the file `mark` says {expected:08x}");
        Err(StoreError::damaged(path, DamageLocation::Batch(number), what))
    }

    fn visit_records(
        &mut self,
        path: &Path,
        batch: BatchNumber,
        records: Vec<JournalRecord>,
        visit: &mut impl FnMut(BatchNumber, JournalRecord) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        for record in records {
            if record.format > RECORD_FORMAT {
                return Err(StoreError::Newer {
                    path: path.to_owned(),
                    format: record.format,
                    known: RECORD_FORMAT,
                });
            }
            let coverage = match self.positions.advance(&record) {
                Ok(coverage) => coverage,
                Err(expected) => return Err(gap_error(path, batch, &record, expected)),
            };
            if coverage == RecordCoverage::AfterSnapshot {
                let JournalRecord { stream, sequence, .. } = record;
                let place = DamageLocation::Record { batch, stream, sequence };
                visit(batch, record).map_err(|error| error.located(path, place))?;
                self.records += 1;
            }
        }
        Ok(())
    }

    /// Ends the replay of all journals; `path` is the newest.
    ///
    /// # Errors
    ///
    /// [`StoreError::JournalShort`] when batches up to the watermark are missing.
    /// [`StoreError::Damaged`] when a stream ends before its snapshot.
    pub(crate) fn finish(&mut self, path: &Path) -> Result<(), StoreError> {
        // A batch up to the watermark was durable, and a clean end leaves no torn batch.
        if let Some((TornBatch { batch, chunks }, torn)) = &self.torn_batch
            && (*batch <= self.watermark.batch || self.watermark.clean)
        {
            let what = format!("it has only {chunks} of its chunks");
            return Err(StoreError::damaged(torn, DamageLocation::Batch(*batch), what));
        }
        if self.last < self.watermark.batch && !PlantedFault::WatermarkIgnored.is_active() {
            return Err(StoreError::JournalShort {
                path: path.to_owned(),
                ends: self.last,
                watermark: self.watermark.batch,
            });
        }
        let Err((stream, found, snapshot)) = self.positions.end_replay() else { return Ok(()) };
        let what =
            format!("{stream} ends at record {found}, but its snapshot holds record {snapshot}");
        Err(StoreError::damaged(path, DamageLocation::Whole, what))
    }
}

/// Reads the further chunks of the batch that `first` begins.
fn collect_batch(
    first: Chunk,
    chunks: &mut Peekable<impl Iterator<Item = Result<Chunk, StoreError>>>,
) -> Result<BatchChunks, StoreError> {
    let (number, index, bytes) = first;
    let mut found = vec![(index, bytes)];
    let is_same_batch =
        |next: &Result<Chunk, _>| next.as_ref().is_ok_and(|(other, ..)| *other == number);
    while let Some(next) = chunks.next_if(is_same_batch) {
        let (_, index, bytes) = next?;
        found.push((index, bytes));
    }
    Ok((number, found))
}

fn parse_chunk(path: &Path, key: &[u8], value: Vec<u8>) -> Result<Chunk, StoreError> {
    match parse_chunk_key(key) {
        Some((number, index)) => Ok((number, index, value)),
        None => {
            let what = format!("{key:02x?} is the key of no chunk");
            Err(StoreError::damaged(path, DamageLocation::Whole, what))
        }
    }
}

/// Advances every record's stream to the record, which a log with the epoch `epoch` writes.
///
/// # Errors
///
/// [`StoreError::Gap`] at the first record that does not continue its stream.
pub(crate) fn advance_all(
    positions: &mut StreamPositions,
    path: &Path,
    batch: BatchNumber,
    epoch: u32,
    records: &[JournalRecord],
) -> Result<(), StoreError> {
    for record in records {
        if let Err(expected) = positions.advance_at(record, record.epoch.max(epoch)) {
            return Err(gap_error(path, batch, record, expected));
        }
    }
    Ok(())
}

/// Returns the error for `record`, found where the sequence `expected` belongs.
pub(crate) fn gap_error(
    path: &Path,
    batch: BatchNumber,
    record: &JournalRecord,
    expected: u64,
) -> StoreError {
    let JournalRecord { stream, epoch, sequence, .. } = *record;
    StoreError::Gap { path: path.to_owned(), batch, stream, expected, found: sequence, epoch }
}
