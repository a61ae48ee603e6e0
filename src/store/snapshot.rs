//! Snapshots: the whole state of each stream at one moment, as frames, in a database of their own.
//!
//! A frame is opaque bytes with a length and a crc32 before them. The frames of a stream stand one after the other, cut
//! into values of at most 4 KiB under keys (stream, index from 1). Value 0 is the head, written last: the position, the
//! counts, and the crc32 of all. Before all streams stands the seal, written last of all: it counts them.

use std::iter::Peekable;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::store::batch::{CHUNK_BYTES, Fields};
use crate::store::codec::{self, SNAPSHOT_FORMAT, STORE_FORMAT};
use crate::store::database::{Database, DatabaseEntry, Entries};
use crate::store::error::{DamageLocation, StoreError};
use crate::store::files::drop_page_cache;
use crate::store::io_throttle::{IoThrottle, PIECE_BYTES, read_ahead};
use crate::store::record::{BatchNumber, Position, Stream};

/// Sorts before every key of a stream, because it is shorter and zero.
const MANIFEST_KEY: [u8; 1] = [0];
/// How much is written between two syncs, where nobody else waits for the disk.
const SYNC_BYTES: usize = 1 << 20;
const FRAME_HEADER_BYTES: usize = 8;

/// What a database of snapshots is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SnapshotManifest {
    format: u16,
    /// The generation it was written for.
    pub(crate) generation: u64,
    /// Number of the first batch of that generation's journal.
    pub(crate) first_batch: u64,
    /// How many streams have a snapshot in it.
    pub(crate) streams: u64,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct SnapshotHeader {
    format: u16,
    epoch: u32,
    sequence: u64,
    frames: u64,
    values: u32,
    /// Of all values, one after the other.
    crc: u32,
}

impl SnapshotHeader {
    const fn position(&self) -> Position {
        Position { epoch: self.epoch, sequence: self.sequence }
    }
}

/// Writes the snapshots of a generation that nobody reads yet.
pub(crate) struct SnapshotsWriter {
    database: Database,
    /// Values not yet given to the database.
    pending: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    /// Bytes in `pending`, at most [`SYNC_BYTES`] and one value; [`PIECE_BYTES`] where it is paced.
    pending_bytes: usize,
    /// Streams finished.
    streams: u64,
    /// A stream begun and not finished; the seal refuses to close over it.
    unfinished: Option<Stream>,
    /// For a writer that leaves the disk to others after each part.
    pace: Option<IoThrottle>,
}

/// Writes one stream's snapshot, frame by frame. Nothing of it counts before [`SnapshotWriter::finish`].
pub struct SnapshotWriter<'a> {
    writer: &'a mut SnapshotsWriter,
    stream: Stream,
    /// What will be written as value 0; its counts and checksum cover the values cut so far.
    head: SnapshotHeader,
    hasher: crc32fast::Hasher,
    /// The value being filled, shorter than [`CHUNK_BYTES`].
    value: Vec<u8>,
}

impl SnapshotsWriter {
    pub(crate) fn new(database: Database) -> Self {
        Self {
            database,
            pending: Vec::new(),
            pending_bytes: 0,
            streams: 0,
            unfinished: None,
            pace: None,
        }
    }

    /// A writer that pauses after each part for as long as the part took, so that the journal's syncs never wait long
    /// for it.
    pub(crate) fn throttled(database: Database) -> Self {
        Self::new(database).with_throttle()
    }

    /// The same writer, paced.
    pub(crate) fn with_throttle(self) -> Self {
        Self { pace: Some(IoThrottle::new()), ..self }
    }

    /// Begins the snapshot of `stream`, which has none in this generation yet.
    pub(crate) fn begin_stream(
        &mut self,
        stream: Stream,
        position: Position,
    ) -> SnapshotWriter<'_> {
        assert_eq!(self.unfinished, None, "a snapshot is finished before the next begins");
        self.unfinished = Some(stream);
        let Position { epoch, sequence } = position;
        let head = SnapshotHeader {
            format: SNAPSHOT_FORMAT,
            epoch,
            sequence,
            frames: 0,
            values: 0,
            crc: 0,
        };
        SnapshotWriter {
            writer: self,
            stream,
            head,
            hasher: crc32fast::Hasher::new(),
            value: Vec::new(),
        }
    }

    fn put(&mut self, key: Vec<u8>, value: Vec<u8>) -> Result<(), StoreError> {
        self.pending_bytes += value.len();
        self.pending.push((key, Some(value)));
        let most = if self.pace.is_some() { PIECE_BYTES } else { SYNC_BYTES };
        if self.pending_bytes >= most { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        self.pending_bytes = 0;
        self.database.write(self.pending.drain(..))?;
        if let Some(pace) = &mut self.pace {
            pace.rest();
        }
        Ok(())
    }

    /// Writes the seal, closes the database and reads it back: the snapshots are complete and on disk.
    ///
    /// # Errors
    ///
    /// When the disk refuses, or gives back something else than was written.
    pub(crate) fn complete(
        mut self,
        generation: u64,
        first_batch: BatchNumber,
    ) -> Result<(), StoreError> {
        assert_eq!(self.unfinished, None, "every snapshot begun is finished");
        self.flush()?;
        let seal = SnapshotManifest {
            format: STORE_FORMAT,
            generation,
            first_batch: first_batch.0,
            streams: self.streams,
        };
        self.database.write([(MANIFEST_KEY.to_vec(), Some(codec::encode_with_checksum(&seal)))])?;
        let path = self.database.path().to_owned();
        self.database.close()?;
        verify(&path, generation, self.pace)
    }
}

/// Reads the sealed snapshots in `path` back from the disk, all of them; in its pauses where a pace is given.
///
/// # Errors
///
/// [`StoreError::Damaged`] where the disk gives back something else than was written.
fn verify(path: &Path, generation: u64, mut pace: Option<IoThrottle>) -> Result<(), StoreError> {
    drop_page_cache(path)?;
    if let Some(pace) = &mut pace {
        read_ahead(path, pace)?;
    }
    let snapshots = Snapshots::open(Database::open(path)?, generation)?;
    snapshots.for_each_stream(|_, _, frames| {
        while let Some(frame) = frames.next()? {
            pace.iter_mut().for_each(|pace| pace.go(frame.len()));
        }
        Ok(())
    })?;
    snapshots.close()
}

impl SnapshotWriter<'_> {
    /// Adds a frame. Frames of some 64 KiB keep both sides' memory small; none may reach 4 GiB.
    ///
    /// # Errors
    ///
    /// Whatever the disk refuses; the generation is then to be given up.
    pub fn write_frame(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let length = u32::try_from(bytes.len()).expect("a frame stays below 4 GiB");
        self.head.frames += 1;
        self.bytes(&length.to_be_bytes())?;
        self.bytes(&crc32fast::hash(bytes).to_be_bytes())?;
        self.bytes(bytes)
    }

    /// Completes the snapshot.
    ///
    /// # Errors
    ///
    /// Whatever the disk refuses; the generation is then to be given up.
    pub fn finish(mut self) -> Result<(), StoreError> {
        if !self.value.is_empty() {
            self.cut()?;
        }
        self.head.crc = self.hasher.finalize();
        self.writer.put(value_key(self.stream, 0), codec::encode_with_checksum(&self.head))?;
        self.writer.streams += 1;
        self.writer.unfinished = None;
        Ok(())
    }

    fn bytes(&mut self, mut bytes: &[u8]) -> Result<(), StoreError> {
        while !bytes.is_empty() {
            let (taken, rest) = bytes.split_at(bytes.len().min(CHUNK_BYTES - self.value.len()));
            self.value.extend_from_slice(taken);
            bytes = rest;
            if self.value.len() == CHUNK_BYTES {
                self.cut()?;
            }
        }
        Ok(())
    }

    fn cut(&mut self) -> Result<(), StoreError> {
        self.hasher.update(&self.value);
        self.head.values += 1;
        let value = std::mem::take(&mut self.value);
        self.writer.put(value_key(self.stream, self.head.values), value)
    }
}

/// The snapshots of a generation, complete.
pub(crate) struct Snapshots {
    database: Database,
    seal: SnapshotManifest,
}

impl Snapshots {
    /// Reads the seal.
    ///
    /// # Errors
    ///
    /// [`StoreError::Damaged`] without a seal, or with that of another generation.
    pub(crate) fn open(database: Database, generation: u64) -> Result<Self, StoreError> {
        let damaged =
            |what: String| StoreError::damaged(database.path(), DamageLocation::Header, what);
        let bytes =
            database.value(&MANIFEST_KEY)?.ok_or_else(|| damaged("there is none".to_owned()))?;
        let seal: SnapshotManifest =
            codec::decode_with_checksum(&bytes).map_err(|error| damaged(error.to_string()))?;
        if seal.format > STORE_FORMAT {
            let path = database.path().to_owned();
            return Err(StoreError::Newer { path, format: seal.format, known: STORE_FORMAT });
        }
        if seal.generation != generation {
            return Err(damaged(format!("it names generation {}", seal.generation)));
        }
        Ok(Self { database, seal })
    }

    /// Number of the first batch to be replayed on these snapshots.
    pub(crate) const fn first_batch(&self) -> BatchNumber {
        BatchNumber(self.seal.first_batch)
    }

    /// How many streams were written.
    pub(crate) fn streams(&self) -> usize {
        usize::try_from(self.seal.streams).expect("a 64-bit machine")
    }

    /// Visits every stream's snapshot, the directory first, then groups by id; returns how many there are.
    ///
    /// Frames that `visit` leaves are read and checked all the same.
    ///
    /// # Errors
    ///
    /// The first damage, with its place; or what `visit` returns.
    pub(crate) fn for_each_stream(
        &self,
        visit: impl FnMut(Stream, Position, &mut Frames<'_, '_>) -> Result<(), StoreError>,
    ) -> Result<u64, StoreError> {
        let mut streams = 0;
        self.visit_streams(visit, |_, read| {
            streams += 1;
            read
        })?;
        Ok(streams)
    }

    /// The same, where `judge` is told how the reading of each stream ended: what it takes for `Ok` does not keep the
    /// streams after it from being visited.
    ///
    /// # Errors
    ///
    /// What `judge` returns; or damage that hides which streams there are.
    pub(crate) fn visit_streams(
        &self,
        mut visit: impl FnMut(Stream, Position, &mut Frames<'_, '_>) -> Result<(), StoreError>,
        mut judge: impl FnMut(Stream, Result<(), StoreError>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut entries = self.database.after(&MANIFEST_KEY).peekable();
        let mut streams = 0;
        while let Some(entry) = entries.next() {
            let (key, bytes) = entry?;
            let Some((stream, value)) = value_of_key(&key) else {
                let what = format!("{key:02x?} is nobody's key");
                return Err(StoreError::damaged(self.database.path(), DamageLocation::Whole, what));
            };
            let read = self.head(stream, value, &bytes).and_then(|head| {
                let mut frames = Frames::new(self, &mut entries, stream, head);
                let place = DamageLocation::Snapshot { stream, value: 0 };
                visit(stream, head.position(), &mut frames)
                    .map_err(|error| error.located(self.database.path(), place))?;
                while frames.next()?.is_some() {}
                Ok(())
            });
            judge(stream, read)?;
            // What is left of a stream that could not be read.
            let of_stream = |entry: &DatabaseEntry| {
                entry.as_ref().is_ok_and(|(key, _)| {
                    value_of_key(key).is_some_and(|(other, _)| other == stream)
                })
            };
            while entries.next_if(of_stream).is_some() {}
            streams += 1;
        }
        if streams != self.seal.streams {
            let what = format!(
                "{streams} streams have a snapshot, where {} were written",
                self.seal.streams
            );
            return Err(StoreError::damaged(self.database.path(), DamageLocation::Header, what));
        }
        Ok(())
    }

    /// Where the snapshot of `stream` stands, if there is one.
    pub(crate) fn position(&self, stream: Stream) -> Result<Option<Position>, StoreError> {
        let Some(bytes) = self.database.value(&value_key(stream, 0))? else { return Ok(None) };
        Ok(Some(self.head(stream, 0, &bytes)?.position()))
    }

    /// Copies the snapshot of `stream`, which is there, value by value.
    ///
    /// # Errors
    ///
    /// [`StoreError::Damaged`] where a checksum does not hold: what was copied is then worth nothing.
    pub(crate) fn copy_to(
        &self,
        stream: Stream,
        writer: &mut SnapshotsWriter,
    ) -> Result<(), StoreError> {
        let head_key = value_key(stream, 0);
        let bytes = self.database.value(&head_key)?;
        let head = self.head(stream, 0, &bytes.unwrap_or_default())?;
        let damaged = |value, what: &str| {
            StoreError::damaged(
                self.database.path(),
                DamageLocation::Snapshot { stream, value },
                what,
            )
        };
        let mut hasher = crc32fast::Hasher::new();
        let mut entries = self.database.after(&head_key);
        for value in 1..=head.values {
            let (key, bytes) = entries
                .next()
                .transpose()?
                .ok_or_else(|| damaged(value, "the value is missing"))?;
            if value_of_key(&key) != Some((stream, value)) {
                return Err(damaged(value, "the value is missing"));
            }
            hasher.update(&bytes);
            writer.put(key, bytes)?;
        }
        if hasher.finalize() != head.crc {
            return Err(damaged(head.values, "the checksum of all its values does not hold"));
        }
        writer.put(head_key, codec::encode_with_checksum(&head))?;
        writer.streams += 1;
        Ok(())
    }

    /// Hands every frame of the snapshot of `stream`, which is there, to `visit`.
    ///
    /// # Errors
    ///
    /// The first damage, with its place; or what `visit` returns.
    pub(crate) fn visit_frames(
        &self,
        stream: Stream,
        mut visit: impl FnMut(&[u8]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let head_key = value_key(stream, 0);
        let head = self.head(stream, 0, &self.database.value(&head_key)?.unwrap_or_default())?;
        let mut entries = self.database.after(&head_key).peekable();
        let mut frames = Frames::new(self, &mut entries, stream, head);
        while let Some(frame) = frames.next()? {
            visit(&frame)?;
        }
        Ok(())
    }

    pub(crate) fn close(self) -> Result<(), StoreError> {
        self.database.close()
    }

    fn head(&self, stream: Stream, value: u32, bytes: &[u8]) -> Result<SnapshotHeader, StoreError> {
        let path = self.database.path();
        let place = DamageLocation::Snapshot { stream, value };
        if value != 0 {
            return Err(StoreError::damaged(path, place, "a head belongs there"));
        }
        let head: SnapshotHeader = codec::decode_with_checksum(bytes)
            .map_err(|error| StoreError::damaged(path, place, error.to_string()))?;
        if head.format > SNAPSHOT_FORMAT {
            return Err(StoreError::Newer {
                path: path.to_owned(),
                format: head.format,
                known: SNAPSHOT_FORMAT,
            });
        }
        Ok(head)
    }
}

/// The frames of one snapshot, in the order they were written. Each is checked before it is handed out.
pub struct Frames<'a, 'e> {
    snapshots: &'a Snapshots,
    /// The walk over the whole database, standing before the next value of this stream.
    entries: &'a mut Peekable<Entries<'e>>,
    stream: Stream,
    head: SnapshotHeader,
    /// What was read so far; at the end its counts equal the head's.
    read: SnapshotHeader,
    hasher: crc32fast::Hasher,
    /// Bytes read and not yet handed out.
    bytes: Vec<u8>,
}

impl<'a, 'e> Frames<'a, 'e> {
    fn new(
        snapshots: &'a Snapshots,
        entries: &'a mut Peekable<Entries<'e>>,
        stream: Stream,
        head: SnapshotHeader,
    ) -> Self {
        let read = SnapshotHeader { frames: 0, values: 0, ..head };
        Self {
            snapshots,
            entries,
            stream,
            head,
            read,
            hasher: crc32fast::Hasher::new(),
            bytes: Vec::new(),
        }
    }
    /// Format of the frames: [`SNAPSHOT_FORMAT`] or an earlier one.
    #[must_use]
    pub const fn format(&self) -> u16 {
        self.head.format
    }

    /// The next frame, or `None` after the last, when all were found whole.
    ///
    /// # Errors
    ///
    /// Damage, with its place. The frames before it were whole.
    #[expect(clippy::should_implement_trait, reason = "an error must not look like the end")]
    pub fn next(&mut self) -> Result<Option<Vec<u8>>, StoreError> {
        if self.read.frames == self.head.frames {
            return self.end().map(|()| None);
        }
        self.fill(FRAME_HEADER_BYTES)?;
        let mut fields = Fields(&self.bytes);
        let (length, crc) = fields.u32().zip(fields.u32()).expect("as many bytes were read");
        let end = FRAME_HEADER_BYTES + usize::try_from(length).expect("a 64-bit machine");
        self.fill(end)?;
        let frame = self.bytes[FRAME_HEADER_BYTES..end].to_vec();
        if crc32fast::hash(&frame) != crc {
            return Err(
                self.damaged(format!("the checksum of frame {} does not hold", self.read.frames))
            );
        }
        self.bytes.drain(..end);
        self.read.frames += 1;
        Ok(Some(frame))
    }

    /// Reads values until `count` bytes wait.
    fn fill(&mut self, count: usize) -> Result<(), StoreError> {
        while self.bytes.len() < count {
            if self.read.values == self.head.values {
                return Err(self.damaged("its frames are longer than its values"));
            }
            let expected = Some((self.stream, self.read.values + 1));
            let is_next = |entry: &DatabaseEntry| {
                entry.as_ref().map_or(true, |(key, _)| value_of_key(key) == expected)
            };
            // What belongs to another stream is left for whoever reads that.
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

    fn end(&self) -> Result<(), StoreError> {
        if self.read.values != self.head.values || !self.bytes.is_empty() {
            return Err(self.damaged("its values are longer than its frames"));
        }
        if self.hasher.clone().finalize() != self.head.crc {
            return Err(self.damaged("the checksum of all its values does not hold"));
        }
        Ok(())
    }

    fn damaged(&self, what: impl Into<String>) -> StoreError {
        let place = DamageLocation::Snapshot { stream: self.stream, value: self.read.values };
        StoreError::damaged(self.snapshots.database.path(), place, what)
    }
}

fn value_key(stream: Stream, index: u32) -> Vec<u8> {
    let mut key = stream.number().to_be_bytes().to_vec();
    key.extend_from_slice(&index.to_be_bytes());
    key
}

fn value_of_key(key: &[u8]) -> Option<(Stream, u32)> {
    let (stream, index) = key.split_first_chunk::<8>()?;
    let stream = Stream::from_number(u64::from_be_bytes(*stream))?;
    Some((stream, u32::from_be_bytes(index.try_into().ok()?)))
}
