//! The whole store on real files: recovery, refusals and the location of damage.

mod compaction;
mod generations;
mod journal;
mod readings;
mod simulated;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::database::Database;
use super::*;
use crate::domain::records::ids::GroupId;

/// All snapshots and records of a recovery.
#[derive(Debug, Default, PartialEq)]
struct CollectingVisitor {
    snapshots: BTreeMap<Stream, (Position, Vec<Vec<u8>>)>,
    records: Vec<(BatchNumber, JournalRecord)>,
}

impl RecoveryVisitor for CollectingVisitor {
    fn snapshot(
        &mut self,
        stream: Stream,
        at: Position,
        frames: &mut dyn Frames,
    ) -> Result<(), StoreError> {
        let mut all = Vec::new();
        while let Some(frame) = frames.next()? {
            all.push(frame);
        }
        assert_eq!(self.snapshots.insert(stream, (at, all)), None);
        Ok(())
    }

    fn record(&mut self, batch: BatchNumber, record: JournalRecord) -> Result<(), StoreError> {
        self.records.push((batch, record));
        Ok(())
    }
}

/// A new file, locked as another process would lock it.
pub(super) fn locked_file(path: &Path) -> fs::File {
    let file = fs::File::create(path).unwrap();
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive).unwrap();
    file
}

fn group(id: u64) -> Stream {
    Stream::Group(GroupId::new(id).unwrap())
}

fn record(id: u64, sequence: u64, bytes: usize) -> JournalRecord {
    JournalRecord::new(group(id), sequence, vec![u8::try_from(sequence % 251).unwrap(); bytes])
}

/// Creates a store with one batch for each list; closed, or dropped as by a killed process.
fn written(batches: &[Vec<JournalRecord>], close: bool) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let store = NewGeneration::create(directory.path()).unwrap().publish().unwrap();
    let mut log = store.recover(&mut CollectingVisitor::default()).unwrap().into_log().unwrap();
    for batch in batches {
        log.append(batch).unwrap();
    }
    if close {
        log.close().unwrap();
    }
    directory
}

fn recovered(directory: &Path) -> Result<(CollectingVisitor, RecoveredStore), StoreError> {
    let mut seen = CollectingVisitor::default();
    let recovered = Store::open(directory)?.recover(&mut seen)?;
    Ok((seen, recovered))
}

fn refusal(directory: &Path) -> StoreError {
    recovered(directory).expect_err("the store is damaged")
}

fn journal_path(directory: &TempDir) -> PathBuf {
    directory.path().join("journal-000001")
}

fn change(path: &Path, changes: Vec<(Vec<u8>, Option<Vec<u8>>)>) {
    let mut database = Database::open(path).unwrap();
    database.write(changes).unwrap();
    database.close().unwrap();
}

fn flipped(path: &Path, key: &[u8], byte: usize) {
    let database = Database::open(path).unwrap();
    let mut value = database.value(key).unwrap().unwrap();
    value[byte] ^= 0x10;
    database.close().unwrap();
    change(path, vec![(key.to_vec(), Some(value))]);
}
