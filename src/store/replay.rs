//! Reads chunks back into records, and tells a tear at the end from damage. No I/O: disk and simulation share it.

use std::path::{Path, PathBuf};

use crate::store::batch::{self, BatchFault, chunk_of_key};
use crate::store::codec::RECORD_FORMAT;
use crate::store::durable_watermark::Watermark;
use crate::store::error::{DamageLocation, StoreError};
use crate::store::journal::gap;
use crate::store::record::{BatchNumber, Continues, JournalRecord, Positions};

/// A batch at the end of the journal that was being written when the process ended. Nobody was answered for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TornBatch {
    /// Its number, which the next batch takes over.
    pub batch: BatchNumber,
    /// How many of its chunks had reached the disk.
    pub chunks: usize,
}

/// A replay under way: what was read, and what must come next.
#[derive(Debug)]
pub(super) struct Replay {
    /// What the mark promises.
    pub(super) watermark: Watermark,
    pub(super) positions: Positions,
    /// The last whole batch so far.
    pub(super) last: BatchNumber,
    /// Batches read.
    pub(super) batches: u64,
    /// Records handed out.
    pub(super) records: u64,
    /// The torn batch, if a journal ends in one, and which does. No batch may follow it.
    pub(super) cut: Option<(TornBatch, PathBuf)>,
}

/// A journal to be read.
pub(super) struct JournalChunks<'a, C> {
    /// Named in errors.
    pub(super) path: &'a Path,
    /// Its chunks by key, without the header.
    pub(super) chunks: C,
}

impl Replay {
    pub(super) fn new(watermark: Watermark, positions: Positions, last: BatchNumber) -> Self {
        Self { watermark, positions, last, batches: 0, records: 0, cut: None }
    }

    /// Hands out the records of one journal that its snapshots do not hold.
    ///
    /// # Errors
    ///
    /// The first thing that is neither whole nor a tear at the very end; or what `visit` returns.
    pub(super) fn journal<C>(
        &mut self,
        source: JournalChunks<'_, C>,
        mut visit: impl FnMut(BatchNumber, JournalRecord) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>
    where
        C: Iterator<Item = Result<(Vec<u8>, Vec<u8>), StoreError>>,
    {
        let JournalChunks { path, chunks } = source;
        let mut chunks = chunks.map(|entry| chunk_of_entry(path, entry?)).peekable();
        while let Some(first) = chunks.next() {
            let (number, index, bytes) = first?;
            let mut found = vec![(index, bytes)];
            while let Some(next) =
                chunks.next_if(|next| next.as_ref().is_ok_and(|(other, ..)| *other == number))
            {
                let (_, index, bytes) = next?;
                found.push((index, bytes));
            }
            let expected = self.last.next();
            if number != expected {
                let what = format!("batch {expected} is missing before it");
                return Err(StoreError::damaged(path, DamageLocation::Batch(number), what));
            }
            if let Some((TornBatch { batch, chunks }, torn)) = &self.cut {
                let what =
                    format!("only {chunks} of its chunks are there, and a later journal goes on");
                return Err(StoreError::damaged(torn, DamageLocation::Batch(*batch), what));
            }
            let at_end = chunks.peek().is_none();
            let Some((crc, records)) = self.decode(path, number, &found, at_end)? else { break };
            self.check_mark(path, number, crc)?;
            self.records(path, number, records, &mut visit)?;
            self.last = number;
            self.batches += 1;
        }
        Ok(())
    }

    /// The crc and records of a whole batch, or `None` where a crash may have torn it.
    fn decode(
        &mut self,
        path: &Path,
        number: BatchNumber,
        chunks: &[(u32, Vec<u8>)],
        at_end: bool,
    ) -> Result<Option<(u32, Vec<JournalRecord>)>, StoreError> {
        let what = match batch::decode(number, chunks) {
            Ok(batch) => return Ok(Some(batch)),
            Err(BatchFault::Torn { found }) => {
                if at_end && number > self.watermark.batch && !self.watermark.clean {
                    self.cut = Some((TornBatch { batch: number, chunks: found }, path.to_owned()));
                    return Ok(None);
                }
                format!("only {found} of its chunks are there")
            }
            Err(BatchFault::Wrong(what)) => what,
        };
        Err(StoreError::damaged(path, DamageLocation::Batch(number), what))
    }

    fn check_mark(&self, path: &Path, number: BatchNumber, crc: u32) -> Result<(), StoreError> {
        if number != self.watermark.batch || crc == self.watermark.crc {
            return Ok(());
        }
        let what =
            format!("its checksum is {crc:08x}, but the mark says {:08x}", self.watermark.crc);
        Err(StoreError::damaged(path, DamageLocation::Batch(number), what))
    }

    fn records(
        &mut self,
        path: &Path,
        batch: BatchNumber,
        records: Vec<JournalRecord>,
        visit: &mut impl FnMut(BatchNumber, JournalRecord) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        for record in records {
            if record.format > RECORD_FORMAT {
                let path = path.to_owned();
                return Err(StoreError::Newer {
                    path,
                    format: record.format,
                    known: RECORD_FORMAT,
                });
            }
            let continues = self
                .positions
                .advance(&record)
                .map_err(|expected| gap(path, batch, &record, expected))?;
            if continues == Continues::Anew {
                let place = DamageLocation::Record {
                    batch,
                    stream: record.stream,
                    sequence: record.sequence,
                };
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
    /// [`StoreError::JournalShort`] when batches are missing that were durable once.
    pub(super) fn end(&mut self, path: &Path) -> Result<(), StoreError> {
        if self.last < self.watermark.batch {
            return Err(StoreError::JournalShort {
                path: path.to_owned(),
                ends: self.last,
                watermark: self.watermark.batch,
            });
        }
        self.positions.settle().map_err(|(stream, found, snapshot)| {
            let what = format!(
                "{stream} ends at record {found}, but its snapshot holds record {snapshot}"
            );
            StoreError::damaged(path, DamageLocation::Whole, what)
        })
    }
}

fn chunk_of_entry(
    path: &Path,
    entry: (Vec<u8>, Vec<u8>),
) -> Result<(BatchNumber, u32, Vec<u8>), StoreError> {
    let (key, value) = entry;
    match chunk_of_key(&key) {
        Some((number, index)) => Ok((number, index, value)),
        None => Err(StoreError::damaged(
            path,
            DamageLocation::Whole,
            format!("{key:02x?} is nobody's key"),
        )),
    }
}
