use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use super::*;
use crate::domain::records::ids::GroupId;

const PATH: &str = "snapshots-000001";
const AT: Position = Position { epoch: 2, sequence: 40 };

/// A database in memory, which can return other bytes than were written.
#[derive(Clone, Debug, Default)]
struct MemoryDatabase {
    content: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The bytes of each write.
    writes: Arc<Mutex<Vec<usize>>>,
    /// The key whose value comes back with another last byte.
    changed: Option<Vec<u8>>,
}

impl StoreDatabase for MemoryDatabase {
    fn path(&self) -> &Path {
        Path::new(PATH)
    }

    fn write(&mut self, changes: Changes) -> Result<(), StoreError> {
        let bytes = changes.iter().map(|(_, value)| value.as_ref().map_or(0, Vec::len)).sum();
        self.writes.lock().push(bytes);
        self.content.extend(changes.into_iter().map(|(key, value)| (key, value.expect("bytes"))));
        Ok(())
    }

    fn value(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.content.get(key).cloned())
    }

    fn last_key(&self) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.content.keys().next_back().cloned())
    }

    fn after(&self, key: &[u8]) -> Entries<'_> {
        let key = key.to_vec();
        let entries = self.content.iter().filter(move |(other, _)| **other > key);
        Box::new(entries.map(|(key, value)| Ok((key.clone(), value.clone()))))
    }

    fn reopen(
        mut self: Box<Self>,
        _: Option<&mut IoThrottle>,
    ) -> Result<Box<dyn StoreDatabase>, StoreError> {
        if let Some(value) = self.changed.as_ref().and_then(|key| self.content.get_mut(key)) {
            *value.last_mut().expect("a value has bytes") ^= 1;
        }
        Ok(self)
    }

    fn close(self: Box<Self>) -> Result<(), StoreError> {
        Ok(())
    }
}

fn stream() -> Stream {
    Stream::Group(GroupId::new(7).unwrap())
}

/// Writes `frames` as the only snapshot of a generation, and reads it back.
fn write_snapshots(
    database: MemoryDatabase,
    throttle: Option<IoThrottle>,
    frames: &[Vec<u8>],
) -> Result<(), StoreError> {
    let mut writer = SnapshotsWriter::new(Box::new(database)).with_throttle(throttle);
    let mut stream_writer = writer.begin_stream(stream(), AT);
    for frame in frames {
        stream_writer.write_frame(frame)?;
    }
    stream_writer.finish()?;
    writer.complete(1, BatchNumber(5))
}

/// A database with one stream of three frames in one value, as `change` leaves its header.
fn with_header(change: impl FnOnce(&mut SnapshotHeader)) -> MemoryDatabase {
    let mut values = Vec::new();
    for frame in [b"one", b"two", b"six"] {
        values.extend_from_slice(&3_u32.to_be_bytes());
        values.extend_from_slice(&crc32fast::hash(frame).to_be_bytes());
        values.extend_from_slice(frame);
    }
    let Position { epoch, sequence } = AT;
    let crc = crc32fast::hash(&values);
    let mut header =
        SnapshotHeader { format: SNAPSHOT_FORMAT, epoch, sequence, frames: 3, values: 1, crc };
    change(&mut header);
    let manifest =
        SnapshotManifest { format: STORE_FORMAT, generation: 1, first_batch: 5, streams: 1 };
    let content = [
        (MANIFEST_KEY.to_vec(), codec::encode_with_checksum(&manifest)),
        (value_key(stream(), 0), codec::encode_with_checksum(&header)),
        (value_key(stream(), 1), values),
    ];
    MemoryDatabase { content: content.into(), ..MemoryDatabase::default() }
}

/// Reads all frames of a database.
fn read_frames(database: MemoryDatabase) -> Result<Vec<Vec<u8>>, StoreError> {
    let snapshots = Snapshots::open(Box::new(database), 1)?;
    let mut read = Vec::new();
    snapshots.for_each_stream(|_, _, frames| {
        while let Some(frame) = frames.next()? {
            read.push(frame);
        }
        Ok(())
    })?;
    snapshots.close()?;
    Ok(read)
}

#[test]
fn other_bytes_than_were_written_are_noticed_before_a_generation_counts() {
    let frames = [vec![1; 3_000], vec![2; 10_000]];
    write_snapshots(MemoryDatabase::default(), None, &frames).unwrap();
    let keys = (0..=4).map(|value| value_key(stream(), value)).chain([MANIFEST_KEY.to_vec()]);
    for key in keys {
        let database = MemoryDatabase { changed: Some(key.clone()), ..MemoryDatabase::default() };
        let written = write_snapshots(database, None, &frames);
        assert!(matches!(written, Err(StoreError::Damaged { .. })), "{key:?}: {written:?}");
    }
}

#[test]
fn a_writer_holds_a_bounded_part_in_memory() {
    let frames = vec![vec![7; 64 << 10]; 40];
    let all: usize = frames.iter().map(|frame| frame.len() + FRAME_HEADER_BYTES).sum();
    for (throttle, most) in [(None, SYNC_BYTES), (Some(IoThrottle::new()), THROTTLED_BYTES)] {
        let database = MemoryDatabase::default();
        let writes = Arc::clone(&database.writes);
        write_snapshots(database, throttle, &frames).unwrap();
        let writes = writes.lock();
        assert!(writes.iter().sum::<usize>() > all);
        assert!(writes.iter().all(|bytes| *bytes < most + CHUNK_BYTES), "{most}: {writes:?}");
        // The manifest and the end of the snapshots have writes of their own.
        assert!(writes.len() <= all / most + 2, "{most}: {writes:?}");
    }
}

#[test]
fn frames_that_do_not_fill_the_values_are_damage() {
    let frames = [b"one", b"two", b"six"].map(|frame| frame.to_vec());
    assert_eq!(read_frames(with_header(|_| {})).unwrap(), frames);
    type Change = fn(&mut SnapshotHeader);
    let changes: [(&str, Change); 4] = [
        ("bytes are left over", |header| header.frames = 2),
        ("a value is left over", |header| header.values = 2),
        ("a frame is missing", |header| header.frames = 4),
        ("the checksum is another", |header| header.crc ^= 1),
    ];
    for (what, change) in changes {
        let read = read_frames(with_header(change));
        assert!(matches!(read, Err(StoreError::Damaged { .. })), "{what}: {read:?}");
    }
}

#[test]
fn snapshots_of_a_later_release_are_named_as_such() {
    let later = |format| SnapshotManifest { format, generation: 1, first_batch: 5, streams: 1 };
    let mut of_later_store = with_header(|_| {});
    let manifest = codec::encode_with_checksum(&later(STORE_FORMAT + 1));
    of_later_store.content.insert(MANIFEST_KEY.to_vec(), manifest);
    let of_later_snapshot = with_header(|header| header.format = SNAPSHOT_FORMAT + 1);
    for database in [of_later_store, of_later_snapshot] {
        let read = read_frames(database);
        assert!(matches!(read, Err(StoreError::Newer { .. })), "{read:?}");
    }
}
