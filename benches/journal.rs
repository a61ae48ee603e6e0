//! The price of durability: one batch, written and synced to the disk of the temporary directory (`TMPDIR`).

use std::path::Path;

use criterion::{Criterion, criterion_group, criterion_main};
use slotbook::domain::records::ids::GroupId;
use slotbook::store::{
    BatchNumber, Frames, JournalRecord, Log, NewGeneration, Position, RecoveryVisitor, SledLog,
    StoreError, Stream,
};

const RECORD_BYTES: usize = 200;

/// A new store has nothing to visit.
struct Nothing;

impl RecoveryVisitor for Nothing {
    fn snapshot(&mut self, _: Stream, _: Position, _: &mut dyn Frames) -> Result<(), StoreError> {
        unreachable!("a new store has no snapshot")
    }

    fn record(&mut self, _: BatchNumber, _: JournalRecord) -> Result<(), StoreError> {
        unreachable!("a new store has no record")
    }
}

fn new_log(directory: &Path) -> SledLog {
    let store =
        NewGeneration::create(directory).and_then(NewGeneration::publish).expect("a new store");
    store.recover(&mut Nothing).and_then(slotbook::store::RecoveredStore::into_log).expect("a log")
}

fn append(criterion: &mut Criterion, name: &str, records: u64) {
    criterion.bench_function(name, |bencher| {
        let directory = tempfile::tempdir().expect("a directory");
        let mut log = new_log(directory.path());
        let group = Stream::Group(GroupId::new(1).expect("an id"));
        let (mut batches, mut sequence) = (0, 0);
        bencher.iter(|| {
            let batch: Vec<JournalRecord> = (1..=records)
                .map(|offset| JournalRecord::new(group, sequence + offset, vec![7; RECORD_BYTES]))
                .collect();
            sequence += records;
            batches += 1;
            let number = log.append(&batch).expect("the disk takes it");
            assert_eq!(number, BatchNumber(batches), "each append is the next batch");
        });
        log.close().expect("the disk takes the mark");
    });
}

fn journal(criterion: &mut Criterion) {
    append(criterion, "journal/append_1_record_durable", 1);
    append(criterion, "journal/append_64_records_durable", 64);
}

criterion_group!(benches, journal);
criterion_main!(benches);
