//! Snapshots: the whole state of each stream at one position, as frames, in a database of their
//! own. Reference 8.
//!
//! A frame is opaque bytes, preceded by their length and crc32. The frames of a stream are
//! concatenated and cut into values of at most 4 KiB, under keys (stream, index from 1). Value 0 is
//! the header, written last: the position, the counts, and the crc32 of all values. The manifest
//! sorts before all streams and is written last of all. It holds the number of streams.

use std::iter::Peekable;

use serde::{Deserialize, Serialize};

use crate::store::batch::{CHUNK_BYTES, Fields, parse_part_key, part_key};
use crate::store::codec::{self, SNAPSHOT_FORMAT, STORE_FORMAT};
use crate::store::database::DatabaseEntry;
use crate::store::error::{DamageLocation, StoreError};
use crate::store::io_throttle::{IoThrottle, THROTTLED_BYTES};
use crate::store::record::{BatchNumber, Position, Stream};
use crate::store::store_database::{Changes, Entries, StoreDatabase};

/// Sorts before every key of a stream, because it is shorter and zero.
const MANIFEST_KEY: [u8; 1] = [0];
/// Bytes written between two syncs of a writer without throttle.
const SYNC_BYTES: usize = 1 << 20;
const FRAME_HEADER_BYTES: usize = 8;

/// Identity of a database of snapshots, and the proof that it is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SnapshotManifest {
    format: u16,
    /// The generation it was written for.
    pub(crate) generation: u64,
    /// Number of the first batch of that generation's journal.
    pub(crate) first_batch: u64,
    /// Number of streams that have a snapshot in it.
    pub(crate) streams: u64,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct SnapshotHeader {
    format: u16,
    epoch: u32,
    sequence: u64,
    frames: u64,
    values: u32,
    /// Checksum of all values, concatenated.
    crc: u32,
}

impl SnapshotHeader {
    const fn position(&self) -> Position {
        Position { epoch: self.epoch, sequence: self.sequence }
    }
}

/// Writes the snapshots of a generation under construction.
pub(crate) struct SnapshotsWriter {
    database: Box<dyn StoreDatabase>,
    /// Values not yet written to the database.
    pending: Changes,
    /// Bytes in `pending`: at most [`SYNC_BYTES`] and one value, [`THROTTLED_BYTES`] with a
    /// throttle.
    pending_bytes: usize,
    /// Streams finished.
    streams: u64,
    /// A stream begun and not finished. The manifest must not be written over it.
    unfinished: Option<Stream>,
    /// Throttle of a writer beside a running server.
    throttle: Option<IoThrottle>,
}

/// Writes one stream's snapshot, frame by frame. It counts only after [`SnapshotWriter::finish`].
pub trait SnapshotWriter {
    /// Format in which frames have to be encoded.
    fn format(&self) -> u16;

    /// Adds a frame. Frames of some 64 KiB keep the memory of writer and reader small. A frame must
    /// be shorter than 4 GiB.
    ///
    /// # Errors
    ///
    /// Returns an error when the store refuses. The caller must then discard the generation.
    fn write_frame(&mut self, bytes: &[u8]) -> Result<(), StoreError>;

    /// Completes the snapshot.
    ///
    /// # Errors
    ///
    /// Returns an error when the store refuses. The caller must then discard the generation.
    fn finish(self) -> Result<(), StoreError>
    where
        Self: Sized;
}

/// The frames of one snapshot, in the order they were written. Each is checked before it is
/// returned.
pub trait Frames {
    /// Format of the frames: [`SNAPSHOT_FORMAT`] or an earlier one.
    fn format(&self) -> u16;

    /// Returns the next frame; `None` after the last, when all checksums matched.
    ///
    /// # Errors
    ///
    /// Damage, with its place. The frames before it are undamaged.
    fn next(&mut self) -> Result<Option<Vec<u8>>, StoreError>;
}

/// Writes one stream's snapshot into a database.
pub struct DatabaseSnapshot<'a> {
    writer: &'a mut SnapshotsWriter,
    stream: Stream,
    /// The future value 0. Its counts and checksum cover the values written so far.
    header: SnapshotHeader,
    hasher: crc32fast::Hasher,
    /// The value being filled, shorter than [`CHUNK_BYTES`].
    value: Vec<u8>,
}

impl SnapshotsWriter {
    pub(crate) fn new(database: Box<dyn StoreDatabase>) -> Self {
        Self {
            database,
            pending: Vec::new(),
            pending_bytes: 0,
            streams: 0,
            unfinished: None,
            throttle: None,
        }
    }

    /// Returns the same writer, which pauses after each sync for as long as the write took. So the
    /// journal's syncs never wait long for it.
    pub(crate) fn with_throttle(self, throttle: Option<IoThrottle>) -> Self {
        Self { throttle, ..self }
    }

    /// Begins the snapshot of `stream`, which must have none in this generation yet.
    pub(crate) fn begin_stream(
        &mut self,
        stream: Stream,
        position: Position,
    ) -> DatabaseSnapshot<'_> {
        assert_eq!(self.unfinished, None, "a snapshot is finished before the next begins");
        self.unfinished = Some(stream);
        let Position { epoch, sequence } = position;
        let header = SnapshotHeader {
            format: SNAPSHOT_FORMAT,
            epoch,
            sequence,
            frames: 0,
            values: 0,
            crc: 0,
        };
        DatabaseSnapshot {
            writer: self,
            stream,
            header,
            hasher: crc32fast::Hasher::new(),
            value: Vec::new(),
        }
    }

    fn put_value(&mut self, key: Vec<u8>, value: Vec<u8>) -> Result<(), StoreError> {
        self.pending_bytes += value.len();
        self.pending.push((key, Some(value)));
        let most = if self.throttle.is_some() { THROTTLED_BYTES } else { SYNC_BYTES };
        if self.pending_bytes >= most { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        self.pending_bytes = 0;
        self.database.write(std::mem::take(&mut self.pending))?;
        if let Some(throttle) = &mut self.throttle {
            throttle.pause();
        }
        Ok(())
    }

    /// Writes the manifest, closes the database and reads it back from the disk.
    ///
    /// # Errors
    ///
    /// Returns an error when the disk refuses, or returns other bytes than were written.
    pub(crate) fn complete(
        mut self,
        generation: u64,
        first_batch: BatchNumber,
    ) -> Result<(), StoreError> {
        assert_eq!(self.unfinished, None, "every snapshot begun is finished");
        self.flush()?;
        let manifest = SnapshotManifest {
            format: STORE_FORMAT,
            generation,
            first_batch: first_batch.0,
            streams: self.streams,
        };
        self.database
            .write(vec![(MANIFEST_KEY.to_vec(), Some(codec::encode_with_checksum(&manifest)))])?;
        verify_snapshots(self.database, generation, self.throttle)
    }
}

/// Reads all snapshots of a database back from the disk, with `throttle` where it is given.
///
/// # Errors
///
/// [`StoreError::Damaged`] where the disk returns other bytes than were written.
fn verify_snapshots(
    database: Box<dyn StoreDatabase>,
    generation: u64,
    mut throttle: Option<IoThrottle>,
) -> Result<(), StoreError> {
    let copy = database.reopen(throttle.as_mut())?;
    let snapshots = Snapshots::open(copy, generation)?;
    snapshots.for_each_stream(|_, _, frames| {
        while let Some(frame) = frames.next()? {
            if let Some(throttle) = &mut throttle {
                throttle.add_bytes(frame.len());
            }
        }
        Ok(())
    })?;
    snapshots.close()
}

impl SnapshotWriter for DatabaseSnapshot<'_> {
    fn format(&self) -> u16 {
        self.header.format
    }

    fn write_frame(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let length = u32::try_from(bytes.len()).expect("a frame stays below 4 GiB");
        self.header.frames += 1;
        self.push_bytes(&length.to_be_bytes())?;
        self.push_bytes(&crc32fast::hash(bytes).to_be_bytes())?;
        self.push_bytes(bytes)
    }

    fn finish(mut self) -> Result<(), StoreError> {
        if !self.value.is_empty() {
            self.write_value()?;
        }
        self.header.crc = self.hasher.finalize();
        self.writer
            .put_value(value_key(self.stream, 0), codec::encode_with_checksum(&self.header))?;
        self.writer.streams += 1;
        self.writer.unfinished = None;
        Ok(())
    }
}

impl DatabaseSnapshot<'_> {
    fn push_bytes(&mut self, mut bytes: &[u8]) -> Result<(), StoreError> {
        while !bytes.is_empty() {
            let (taken, rest) = bytes.split_at(bytes.len().min(CHUNK_BYTES - self.value.len()));
            self.value.extend_from_slice(taken);
            bytes = rest;
            if self.value.len() == CHUNK_BYTES {
                self.write_value()?;
            }
        }
        Ok(())
    }

    fn write_value(&mut self) -> Result<(), StoreError> {
        self.hasher.update(&self.value);
        self.header.values += 1;
        let value = std::mem::take(&mut self.value);
        self.writer.put_value(value_key(self.stream, self.header.values), value)
    }
}

/// The complete snapshots of a generation.
pub(crate) struct Snapshots {
    database: Box<dyn StoreDatabase>,
    manifest: SnapshotManifest,
}

impl Snapshots {
    /// Reads the manifest.
    ///
    /// # Errors
    ///
    /// [`StoreError::Damaged`] without a manifest, or with that of another generation.
    pub(crate) fn open(
        database: Box<dyn StoreDatabase>,
        generation: u64,
    ) -> Result<Self, StoreError> {
        let damaged =
            |what: &str| StoreError::damaged(database.path(), DamageLocation::Header, what);
        let Some(bytes) = database.value(&MANIFEST_KEY)? else {
            return Err(damaged("it is missing"));
        };
        let manifest: SnapshotManifest = match codec::decode_with_checksum(&bytes) {
            Ok(manifest) => manifest,
            Err(error) => return Err(damaged(&error.to_string())),
        };
        if manifest.format > STORE_FORMAT {
            let path = database.path().to_owned();
            return Err(StoreError::Newer { path, format: manifest.format, known: STORE_FORMAT });
        }
        if manifest.generation != generation {
            return Err(damaged(&format!("it names generation {}", manifest.generation)));
        }
        Ok(Self { database, manifest })
    }

    /// Number of the first batch to be replayed on these snapshots.
    pub(crate) const fn first_batch(&self) -> BatchNumber {
        BatchNumber(self.manifest.first_batch)
    }

    /// Number of streams that were written.
    pub(crate) fn streams(&self) -> usize {
        usize::try_from(self.manifest.streams).expect("a 64-bit machine")
    }

    /// Visits every stream's snapshot, the directory first, then groups by id. Frames that `visit`
    /// does not read are read and checked all the same.
    ///
    /// # Errors
    ///
    /// The first damage, with its place; or the error of `visit`.
    pub(crate) fn for_each_stream(
        &self,
        visit: impl FnMut(Stream, Position, &mut dyn Frames) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.visit_streams(visit, |_, read| read)
    }

    /// Visits every stream's snapshot, and passes the result of each to `judge`. Where that returns
    /// `Ok`, the streams after it are visited.
    ///
    /// # Errors
    ///
    /// The error of `judge`, or damage of the list of streams.
    pub(crate) fn visit_streams(
        &self,
        mut visit: impl FnMut(Stream, Position, &mut dyn Frames) -> Result<(), StoreError>,
        mut judge: impl FnMut(Stream, Result<(), StoreError>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut entries = self.database.after(&MANIFEST_KEY).peekable();
        let mut streams = 0;
        while let Some(entry) = entries.next() {
            let (key, bytes) = entry?;
            let Some((stream, value)) = parse_value_key(&key) else {
                let what = format!("{key:02x?} is the key of no value");
                return Err(StoreError::damaged(self.database.path(), DamageLocation::Whole, what));
            };
            let read = self.decode_header(stream, value, &bytes).and_then(|header| {
                let mut frames = DatabaseFrames::new(self, &mut entries, stream, header);
                let place = DamageLocation::Snapshot { stream, value: 0 };
                visit(stream, header.position(), &mut frames)
                    .map_err(|error| error.located(self.database.path(), place))?;
                while frames.next()?.is_some() {}
                Ok(())
            });
            judge(stream, read)?;
            // Skips the rest of a stream that could not be read.
            while entries.next_if(|entry| stream_of_entry(entry) == Some(stream)).is_some() {}
            streams += 1;
        }
        if streams != self.manifest.streams {
            let what = format!(
                "{streams} streams have a snapshot, but {} were written",
                self.manifest.streams
            );
            return Err(StoreError::damaged(self.database.path(), DamageLocation::Header, what));
        }
        Ok(())
    }

    /// Returns the position of the snapshot of `stream`; `None` without one.
    pub(crate) fn position(&self, stream: Stream) -> Result<Option<Position>, StoreError> {
        let Some(bytes) = self.database.value(&value_key(stream, 0))? else { return Ok(None) };
        Ok(Some(self.decode_header(stream, 0, &bytes)?.position()))
    }

    /// Copies the snapshot of `stream` value by value. It must exist.
    ///
    /// # Errors
    ///
    /// [`StoreError::Damaged`] where a checksum does not match. The copy is then invalid.
    pub(crate) fn copy_to(
        &self,
        stream: Stream,
        writer: &mut SnapshotsWriter,
    ) -> Result<(), StoreError> {
        let header_key = value_key(stream, 0);
        let bytes = self.database.value(&header_key)?;
        let header = self.decode_header(stream, 0, &bytes.unwrap_or_default())?;
        let damaged = |value, what: &str| {
            StoreError::damaged(
                self.database.path(),
                DamageLocation::Snapshot { stream, value },
                what,
            )
        };
        let mut hasher = crc32fast::Hasher::new();
        let mut entries = self.database.after(&header_key);
        for value in 1..=header.values {
            let Some((key, bytes)) = entries.next().transpose()? else {
                return Err(damaged(value, "the value is missing"));
            };
            if parse_value_key(&key) != Some((stream, value)) {
                return Err(damaged(value, "the value is missing"));
            }
            hasher.update(&bytes);
            writer.put_value(key, bytes)?;
        }
        if hasher.finalize() != header.crc {
            return Err(damaged(header.values, "the checksum of all its values does not match"));
        }
        writer.put_value(header_key, codec::encode_with_checksum(&header))?;
        writer.streams += 1;
        Ok(())
    }

    /// Passes every frame of the snapshot of `stream` to `visit`. The snapshot must exist.
    ///
    /// # Errors
    ///
    /// The first damage, with its place; or the error of `visit`.
    pub(crate) fn visit_frames(
        &self,
        stream: Stream,
        mut visit: impl FnMut(&[u8]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let header_key = value_key(stream, 0);
        let header =
            self.decode_header(stream, 0, &self.database.value(&header_key)?.unwrap_or_default())?;
        let mut entries = self.database.after(&header_key).peekable();
        let mut frames = DatabaseFrames::new(self, &mut entries, stream, header);
        while let Some(frame) = frames.next()? {
            visit(&frame)?;
        }
        Ok(())
    }

    pub(crate) fn close(self) -> Result<(), StoreError> {
        self.database.close()
    }

    fn decode_header(
        &self,
        stream: Stream,
        value: u32,
        bytes: &[u8],
    ) -> Result<SnapshotHeader, StoreError> {
        let path = self.database.path();
        let place = DamageLocation::Snapshot { stream, value };
        if value != 0 {
            return Err(StoreError::damaged(path, place, "its header is missing"));
        }
        let header: SnapshotHeader = codec::decode_with_checksum(bytes)
            .map_err(|error| StoreError::damaged(path, place, error.to_string()))?;
        if header.format > SNAPSHOT_FORMAT {
            return Err(StoreError::Newer {
                path: path.to_owned(),
                format: header.format,
                known: SNAPSHOT_FORMAT,
            });
        }
        Ok(header)
    }
}

/// The frames of one snapshot in a database.
struct DatabaseFrames<'a, 'e> {
    snapshots: &'a Snapshots,
    /// Iteration over the whole database; its next entry is the next value of this stream.
    entries: &'a mut Peekable<Entries<'e>>,
    stream: Stream,
    header: SnapshotHeader,
    /// Counts read so far. At the end they equal those of `header`.
    read: SnapshotHeader,
    hasher: crc32fast::Hasher,
    /// Bytes read and not yet returned.
    bytes: Vec<u8>,
}

impl<'a, 'e> DatabaseFrames<'a, 'e> {
    fn new(
        snapshots: &'a Snapshots,
        entries: &'a mut Peekable<Entries<'e>>,
        stream: Stream,
        header: SnapshotHeader,
    ) -> Self {
        let read = SnapshotHeader { frames: 0, values: 0, ..header };
        Self {
            snapshots,
            entries,
            stream,
            header,
            read,
            hasher: crc32fast::Hasher::new(),
            bytes: Vec::new(),
        }
    }

    /// Reads values until `bytes` holds at least `count` bytes.
    fn fill_to(&mut self, count: usize) -> Result<(), StoreError> {
        while self.bytes.len() < count {
            if self.read.values == self.header.values {
                return Err(self.damaged("its frames are longer than its values"));
            }
            let expected = Some((self.stream, self.read.values + 1));
            let is_next = |entry: &DatabaseEntry| match entry {
                Ok((key, _)) => parse_value_key(key) == expected,
                // An error is taken and returned.
                Err(_) => true,
            };
            // The entry of another stream stays in the iteration.
            let Some(entry) = self.entries.next_if(is_next) else {
                return Err(self.damaged("the next value is missing"));
            };
            let (_, value) = entry?;
            self.read.values += 1;
            self.hasher.update(&value);
            self.bytes.extend_from_slice(&value);
        }
        Ok(())
    }

    fn check_end(&self) -> Result<(), StoreError> {
        if self.read.values != self.header.values || !self.bytes.is_empty() {
            return Err(self.damaged("its values are longer than its frames"));
        }
        if self.hasher.clone().finalize() != self.header.crc {
            return Err(self.damaged("the checksum of all its values does not match"));
        }
        Ok(())
    }

    fn damaged(&self, what: impl Into<String>) -> StoreError {
        let place = DamageLocation::Snapshot { stream: self.stream, value: self.read.values };
        StoreError::damaged(self.snapshots.database.path(), place, what)
    }
}

impl Frames for DatabaseFrames<'_, '_> {
    fn format(&self) -> u16 {
        self.header.format
    }

    fn next(&mut self) -> Result<Option<Vec<u8>>, StoreError> {
        if self.read.frames == self.header.frames {
            self.check_end()?;
            return Ok(None);
        }
        self.fill_to(FRAME_HEADER_BYTES)?;
        let mut fields = Fields(&self.bytes);
        let (length, crc) = fields.u32().zip(fields.u32()).expect("as many bytes were read");
        let end = FRAME_HEADER_BYTES + usize::try_from(length).expect("a 64-bit machine");
        self.fill_to(end)?;
        let frame = self.bytes[FRAME_HEADER_BYTES..end].to_vec();
        if crc32fast::hash(&frame) != crc {
            return Err(
                self.damaged(format!("the checksum of frame {} does not match", self.read.frames))
            );
        }
        self.bytes.drain(..end);
        self.read.frames += 1;
        Ok(Some(frame))
    }
}

fn value_key(stream: Stream, index: u32) -> Vec<u8> {
    part_key(stream.number(), index)
}

fn parse_value_key(key: &[u8]) -> Option<(Stream, u32)> {
    let (number, index) = parse_part_key(key)?;
    Some((Stream::from_number(number)?, index))
}

/// Returns the stream of an entry; `None` for an error or a key of no value.
fn stream_of_entry(entry: &DatabaseEntry) -> Option<Stream> {
    let (key, _) = entry.as_ref().ok()?;
    let (stream, _) = parse_value_key(key)?;
    Some(stream)
}

#[cfg(test)]
mod tests;
