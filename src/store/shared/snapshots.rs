//! Snapshots in a shared store: one stream of bytes for all states, cut into frames.
//!
//! The stream is a sequence of items. A stream of records begins with 1, its number, epoch and
//! sequence; each of its frames is 2, a length and the bytes; 3 and the count of its frames end it.
//! At the end there are 4 and the count of streams. All numbers are big-endian.

use std::path::PathBuf;

use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::store::codec::SNAPSHOT_FORMAT;
use crate::store::error::StoreError;
use crate::store::record::{BatchNumber, JournalRecord, Position, Stream, StreamPositions};
use crate::store::recovery::RecoveryVisitor;
use crate::store::shared::connection::{CallError, SharedConnection};
use crate::store::shared::number_i64;
use crate::store::shared::{FRAME, PART, SNAPSHOT, damaged, locate};
use crate::store::snapshot::{Frames, SnapshotWriter};

/// Largest frame.
const FRAME_BYTES: usize = 256 << 10;
/// Frames that are read at once.
const FRAMES_READ: i32 = 8;

const STREAM_BEGIN: u8 = 1;
const STREAM_FRAME: u8 = 2;
const STREAM_END: u8 = 3;
const SNAPSHOT_END: u8 = 4;

/// A published snapshot, as its row has it.
#[derive(Clone, Debug)]
pub(crate) struct SnapshotRow {
    /// The row of the journal that it follows.
    pub(crate) number: BatchNumber,
    format: u16,
    frames: i64,
    /// Bytes of all frames.
    pub(crate) bytes: u64,
    sha256: Vec<u8>,
}

/// A snapshot that this server has read or written, and found sound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SoundSnapshot {
    /// The row of the journal that it follows; 0 without a snapshot.
    pub(crate) number: BatchNumber,
    /// Its size.
    pub(crate) bytes: u64,
}

/// The condition on which a snapshot becomes the newest one.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Publication {
    /// There is no newer one. The one that follows this row is kept as the one before it.
    Kept(BatchNumber),
    /// It is the first one, and this owner of the last row has filled the store.
    Import(Uuid),
}

/// Returns the published snapshots, newest first.
///
/// # Errors
/// PostgreSQL refuses, or a row has values that none can have.
fn list_snapshots(connection: &mut SharedConnection) -> Result<Vec<SnapshotRow>, StoreError> {
    let rows = connection
        .call("SELECT n, format, frames, bytes, sha256 FROM slotbook.list_snapshots($1)", &[&PART]);
    let rows = rows.map_err(|error| error.into_store_error("read"))?;
    let mut snapshots = Vec::new();
    for row in rows {
        let number: i64 = row.get(0);
        let format: i32 = row.get(1);
        let bytes: i64 = row.get(3);
        let (Ok(number), Ok(format), Ok(bytes)) =
            (u64::try_from(number), u16::try_from(format), u64::try_from(bytes))
        else {
            let what = format!("it has the format {format} and {bytes} bytes");
            return Err(damaged(SNAPSHOT, number, what));
        };
        let number = BatchNumber(number);
        snapshots.push(SnapshotRow {
            number,
            format,
            frames: row.get(2),
            bytes,
            sha256: row.get(4),
        });
    }
    Ok(snapshots)
}

/// Passes every stream of a snapshot to `visitor`, and checks all of its frames.
///
/// # Errors
/// The first damage, with table, part, snapshot and frame; or the error of `visitor`.
pub(crate) fn read_snapshot(
    connection: &mut SharedConnection,
    snapshot: &SnapshotRow,
    visitor: &mut impl RecoveryVisitor,
) -> Result<(), StoreError> {
    if snapshot.format > SNAPSHOT_FORMAT {
        let path = PathBuf::from(SNAPSHOT);
        return Err(StoreError::Newer { path, format: snapshot.format, known: SNAPSHOT_FORMAT });
    }
    let mut bytes = SnapshotBytes::new(connection, snapshot);
    let mut streams = 0;
    loop {
        match bytes.take_byte()? {
            STREAM_BEGIN => {}
            SNAPSHOT_END => break,
            other => return Err(bytes.damaged(format!("an item begins with {other}"))),
        }
        let number = bytes.take_u64()?;
        let position = Position { epoch: bytes.take_u32()?, sequence: bytes.take_u64()? };
        let Some(stream) = Stream::from_number(number) else {
            return Err(bytes.damaged(format!("{number} is the number of no stream")));
        };
        let mut frames = SharedFrames { bytes: &mut bytes, read: 0, has_ended: false };
        let visited = visitor.snapshot(stream, position, &mut frames);
        visited.map_err(|error| locate(error, FRAME, snapshot.number, &stream.to_string()))?;
        while frames.next()?.is_some() {}
        streams += 1;
    }
    let written = bytes.take_u64()?;
    if written != streams {
        return Err(bytes.damaged(format!("{streams} streams were read of {written}")));
    }
    bytes.finish()
}

/// The bytes of a snapshot, read frame by frame.
struct SnapshotBytes<'a> {
    connection: &'a mut SharedConnection,
    snapshot: &'a SnapshotRow,
    /// The last frame that was read, from 1; 0 before the first.
    frame: i64,
    /// Bytes that were read and not yet taken, from `taken` on.
    buffer: Vec<u8>,
    taken: usize,
    /// Bytes of all frames read.
    total: u64,
    hasher: Sha256,
}

impl<'a> SnapshotBytes<'a> {
    fn new(connection: &'a mut SharedConnection, snapshot: &'a SnapshotRow) -> Self {
        let hasher = Sha256::new();
        Self { connection, snapshot, frame: 0, buffer: Vec::new(), taken: 0, total: 0, hasher }
    }

    fn take(&mut self, count: usize) -> Result<&[u8], StoreError> {
        while self.buffer.len() - self.taken < count {
            self.read_frames()?;
        }
        let from = self.taken;
        self.taken += count;
        Ok(&self.buffer[from..self.taken])
    }

    fn take_byte(&mut self) -> Result<u8, StoreError> {
        Ok(self.take(1)?[0])
    }

    fn take_u32(&mut self) -> Result<u32, StoreError> {
        Ok(u32::from_be_bytes(self.take(4)?.try_into().expect("four were taken")))
    }

    fn take_u64(&mut self) -> Result<u64, StoreError> {
        Ok(u64::from_be_bytes(self.take(8)?.try_into().expect("eight were taken")))
    }

    fn read_frames(&mut self) -> Result<(), StoreError> {
        if self.frame >= self.snapshot.frames {
            return Err(self.damaged("its items are longer than its frames"));
        }
        self.buffer.drain(..self.taken);
        self.taken = 0;
        let number = number_i64(self.snapshot.number);
        let rows = self.connection.call(
            "SELECT i, crc32, bytes FROM slotbook.read_frames($1, $2, $3, $4)",
            &[&PART, &number, &self.frame, &FRAMES_READ],
        );
        let rows = rows.map_err(|error| error.into_store_error("read"))?;
        if rows.is_empty() {
            self.frame += 1;
            return Err(self.damaged("the frame is missing"));
        }
        for row in rows {
            self.frame += 1;
            let index: i64 = row.get(0);
            let crc32: i64 = row.get(1);
            let bytes: &[u8] = row.get(2);
            if index != self.frame {
                return Err(self.damaged("the frame is missing"));
            }
            let found = i64::from(crc32fast::hash(bytes));
            if found != crc32 {
                return Err(
                    self.damaged(format!("its checksum is {found:08x} instead of {crc32:08x}"))
                );
            }
            self.hasher.update(bytes);
            self.total += u64::try_from(bytes.len()).expect("a 64-bit machine");
            self.buffer.extend_from_slice(bytes);
        }
        Ok(())
    }

    /// Checks that all was read, and that it is what was published.
    fn finish(self) -> Result<(), StoreError> {
        let Self { snapshot, frame, ref buffer, taken, total, ref hasher, .. } = self;
        if frame != snapshot.frames || total != snapshot.bytes || taken != buffer.len() {
            return Err(self.damaged(format!("{total} bytes were read of {}", snapshot.bytes)));
        }
        let found = hasher.clone().finalize();
        if *found != *snapshot.sha256 {
            return Err(self.damaged("the hash of all frames is not the published one"));
        }
        Ok(())
    }

    fn damaged(&self, what: impl Into<String>) -> StoreError {
        let what = format!("frame {}: {}", self.frame, what.into());
        damaged(FRAME, number_i64(self.snapshot.number), what)
    }
}

/// The frames of one stream.
struct SharedFrames<'a, 'b> {
    bytes: &'a mut SnapshotBytes<'b>,
    read: u32,
    has_ended: bool,
}

impl Frames for SharedFrames<'_, '_> {
    fn format(&self) -> u16 {
        self.bytes.snapshot.format
    }

    fn next(&mut self) -> Result<Option<Vec<u8>>, StoreError> {
        if self.has_ended {
            return Ok(None);
        }
        match self.bytes.take_byte()? {
            STREAM_FRAME => {
                let length = usize::try_from(self.bytes.take_u32()?).expect("a 64-bit machine");
                self.read += 1;
                Ok(Some(self.bytes.take(length)?.to_vec()))
            }
            STREAM_END => {
                self.has_ended = true;
                let written = self.bytes.take_u32()?;
                if written == self.read {
                    return Ok(None);
                }
                let what = format!("{} frames of a stream were read of {written}", self.read);
                Err(self.bytes.damaged(what))
            }
            other => Err(self.bytes.damaged(format!("an item begins with {other}"))),
        }
    }
}

/// Writes the snapshots of all streams.
pub(crate) struct SharedSnapshotsWriter<'a> {
    connection: &'a mut SharedConnection,
    number: BatchNumber,
    /// Format of the frames of its streams: the one in force.
    format: u16,
    /// Bytes that were not yet written.
    buffer: Vec<u8>,
    frames: i64,
    bytes: u64,
    streams: u64,
    hasher: Sha256,
}

impl<'a> SharedSnapshotsWriter<'a> {
    /// Begins a snapshot, in a format that this release writes, of states that hold at least all
    /// rows of the journal up to `number`.
    ///
    /// # Errors
    /// PostgreSQL refuses.
    pub(crate) fn begin(
        connection: &'a mut SharedConnection,
        number: BatchNumber,
        format: u16,
    ) -> Result<Self, StoreError> {
        let begun = connection
            .call("SELECT slotbook.begin_snapshot($1, $2)", &[&PART, &number_i64(number)]);
        begun.map_err(|error| error.into_store_error("begin a snapshot in"))?;
        Ok(Self {
            connection,
            number,
            format,
            buffer: Vec::with_capacity(FRAME_BYTES),
            frames: 0,
            bytes: 0,
            streams: 0,
            hasher: Sha256::new(),
        })
    }

    /// Begins the snapshot of a stream, which must have none yet.
    ///
    /// # Errors
    /// PostgreSQL refuses.
    pub(crate) fn begin_stream(
        &mut self,
        stream: Stream,
        position: Position,
    ) -> Result<SharedSnapshot<'_, 'a>, StoreError> {
        self.push(&[STREAM_BEGIN])?;
        self.push(&stream.number().to_be_bytes())?;
        self.push(&position.epoch.to_be_bytes())?;
        self.push(&position.sequence.to_be_bytes())?;
        Ok(SharedSnapshot { writer: self, frames: 0 })
    }

    /// Reads all back, and makes it the newest snapshot on a condition.
    ///
    /// # Errors
    /// The condition is not met; PostgreSQL refuses, or returns other bytes than were written.
    pub(crate) fn publish(mut self, publication: Publication) -> Result<SoundSnapshot, StoreError> {
        self.push(&[SNAPSHOT_END])?;
        let streams = self.streams;
        self.push(&streams.to_be_bytes())?;
        self.write_frame()?;
        let Self { connection, number, format, frames, bytes, hasher, .. } = self;
        let sha256 = hasher.finalize().to_vec();
        let row = SnapshotRow { number, format, frames, bytes, sha256 };
        read_snapshot(connection, &row, &mut NoVisitor)?;
        let of_n = number_i64(number);
        let format = i32::from(row.format);
        let of_bytes = i64::try_from(bytes).expect("far below 8 EiB");
        let published = match publication {
            Publication::Kept(sound) => connection.commit(
                "SELECT slotbook.publish_snapshot($1, $2, $3, $4, $5, $6, $7)",
                &[&PART, &of_n, &format, &row.frames, &of_bytes, &row.sha256, &number_i64(sound)],
            ),
            Publication::Import(importer) => connection.commit(
                "SELECT slotbook.publish_import($1, $2, $3, $4, $5, $6, $7)",
                &[&PART, &of_n, &format, &row.frames, &of_bytes, &row.sha256, &importer],
            ),
        };
        match published {
            Ok(rows) if rows.first().is_some_and(|row| row.get(0)) => {
                Ok(SoundSnapshot { number, bytes })
            }
            Ok(_) => Err(StoreError::shared(
                "publish a snapshot in",
                "there is a newer snapshot already",
            )),
            Err(error) => Err(error.into_store_error("publish a snapshot in")),
        }
    }

    fn push(&mut self, mut bytes: &[u8]) -> Result<(), StoreError> {
        while !bytes.is_empty() {
            let (taken, rest) = bytes.split_at(bytes.len().min(FRAME_BYTES - self.buffer.len()));
            self.buffer.extend_from_slice(taken);
            bytes = rest;
            if self.buffer.len() == FRAME_BYTES {
                self.write_frame()?;
            }
        }
        Ok(())
    }

    fn write_frame(&mut self) -> Result<(), StoreError> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        self.frames += 1;
        self.bytes += u64::try_from(self.buffer.len()).expect("a 64-bit machine");
        self.hasher.update(&self.buffer);
        let crc32 = i64::from(crc32fast::hash(&self.buffer));
        let put = self.connection.call(
            "SELECT slotbook.put_frame($1, $2, $3, $4, $5)",
            &[&PART, &number_i64(self.number), &self.frames, &crc32, &self.buffer],
        );
        self.buffer.clear();
        match put {
            Ok(_) => Ok(()),
            // Another try of the same snapshot.
            Err(CallError::KeyTaken) => {
                Err(StoreError::shared("write a snapshot in", "its frames are there already"))
            }
            Err(error) => Err(error.into_store_error("write a snapshot in")),
        }
    }
}

/// Writes the snapshot of one stream.
pub(crate) struct SharedSnapshot<'w, 'a> {
    writer: &'w mut SharedSnapshotsWriter<'a>,
    frames: u32,
}

impl SnapshotWriter for SharedSnapshot<'_, '_> {
    fn format(&self) -> u16 {
        self.writer.format
    }

    fn write_frame(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let length = u32::try_from(bytes.len()).expect("a frame stays below 4 GiB");
        self.frames += 1;
        self.writer.push(&[STREAM_FRAME])?;
        self.writer.push(&length.to_be_bytes())?;
        self.writer.push(bytes)
    }

    fn finish(self) -> Result<(), StoreError> {
        self.writer.push(&[STREAM_END])?;
        self.writer.push(&self.frames.to_be_bytes())?;
        self.writer.streams += 1;
        Ok(())
    }
}

/// Takes no frame: a snapshot is read and checked to its end all the same.
struct NoVisitor;

impl RecoveryVisitor for NoVisitor {
    fn snapshot(&mut self, _: Stream, _: Position, _: &mut dyn Frames) -> Result<(), StoreError> {
        Ok(())
    }

    fn record(&mut self, _: BatchNumber, _: JournalRecord) -> Result<(), StoreError> {
        Ok(())
    }
}

/// The states of a snapshot; of none by default.
#[derive(Default)]
pub(crate) struct SnapshotStates<V> {
    pub(crate) visitor: V,
    /// Positions of its streams.
    pub(crate) positions: StreamPositions,
    pub(crate) snapshot: SoundSnapshot,
}

/// Reads the newest snapshot that is not damaged; nothing without one.
///
/// # Errors
/// All snapshots are damaged, with the place of the first damage; or PostgreSQL refuses.
pub(crate) fn read_newest_snapshot<V: RecoveryVisitor + Default>(
    connection: &mut SharedConnection,
) -> Result<SnapshotStates<V>, StoreError> {
    let begun = connection.run_script("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY");
    begun.map_err(|error| error.into_store_error("read"))?;
    let read = read_undamaged(connection);
    // The connection is closed if that fails, and so the transaction ends as well.
    if connection.run_script("COMMIT").is_err() {
        connection.close();
    }
    read
}

fn read_undamaged<V: RecoveryVisitor + Default>(
    connection: &mut SharedConnection,
) -> Result<SnapshotStates<V>, StoreError> {
    let mut first_damage = None;
    for snapshot in list_snapshots(connection)? {
        let mut visitor = NotingVisitor::<V>::default();
        match read_snapshot(connection, &snapshot, &mut visitor) {
            Ok(()) => {
                if let Some(error) = first_damage {
                    tracing::error!(
                        %error,
                        "a snapshot is damaged; reading the one before and all batches since"
                    );
                }
                let NotingVisitor { visitor, positions } = visitor;
                let SnapshotRow { number, bytes, .. } = snapshot;
                let snapshot = SoundSnapshot { number, bytes };
                return Ok(SnapshotStates { visitor, positions, snapshot });
            }
            Err(error @ StoreError::SharedDamaged { .. }) => {
                first_damage.get_or_insert(error);
            }
            Err(error) => return Err(error),
        }
    }
    match first_damage {
        Some(error) => Err(error),
        None => Ok(SnapshotStates::default()),
    }
}

/// Passes snapshots on, and notes their positions.
#[derive(Default)]
struct NotingVisitor<V> {
    visitor: V,
    positions: StreamPositions,
}

impl<V: RecoveryVisitor> RecoveryVisitor for NotingVisitor<V> {
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
