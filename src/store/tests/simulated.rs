//! The simulated disk: what a crash leaves of it, and which logs it refuses.

use crate::store::*;

fn record(sequence: u64) -> JournalRecord {
    JournalRecord::new(Stream::Directory, sequence, vec![7; 3000])
}

fn open(disk: &SimulatedDisk) -> (SimulatedLog, Vec<u64>, Option<TornBatch>) {
    let mut sequences = Vec::new();
    let (log, torn_batch) = disk
        .recover(|_, record| {
            sequences.push(record.sequence);
            Ok(())
        })
        .unwrap();
    (log, sequences, torn_batch)
}

#[test]
fn a_crash_loses_only_what_was_not_synced() {
    let disk = SimulatedDisk::new();
    let (mut log, ..) = open(&disk);
    log.append(&[record(1)]).unwrap();
    log.write(&[record(2)]).unwrap();
    disk.crash(Tail::Lost);
    let (mut log, sequences, torn_batch) = open(&disk);
    assert_eq!((sequences, torn_batch), (vec![1], None));
    assert_eq!(log.append(&[record(2)]).unwrap(), BatchNumber(2));
    disk.crash(Tail::Lost);
    assert_eq!(open(&disk).1, [1, 2]);
}

#[test]
fn a_torn_tail_is_cut_and_its_number_given_again() {
    let disk = SimulatedDisk::new();
    let (mut log, ..) = open(&disk);
    log.append(&[record(1)]).unwrap();
    log.write(&[record(2), record(3), record(4)]).unwrap();
    disk.crash(Tail::Torn(9));
    let (mut log, sequences, torn_batch) = open(&disk);
    assert_eq!(
        (sequences, torn_batch),
        (vec![1], Some(TornBatch { batch: BatchNumber(2), chunks: 2 }))
    );
    assert_eq!(log.append(&[record(2)]).unwrap(), BatchNumber(2));
    disk.crash(Tail::Lost);
    assert_eq!(open(&disk).1, [1, 2]);
}

#[test]
fn a_batch_may_be_durable_without_an_answer() {
    let disk = SimulatedDisk::new();
    let (mut log, ..) = open(&disk);
    log.write(&[record(1)]).unwrap();
    disk.crash(Tail::Whole);
    assert_eq!(open(&disk).1, [1]);
}

#[test]
fn watermark_survives_a_power_cut_only_when_it_was_synced() {
    for synced in [false, true] {
        let disk = SimulatedDisk::new();
        let (mut log, ..) = open(&disk);
        log.append(&[record(1)]).unwrap();
        if synced {
            log.sync_watermark().unwrap();
        }
        disk.crash(Tail::Lost);
        disk.shorten_next_read(1);
        let before = disk.bytes();
        let recovered = disk.recover(|_, _| Ok(()));
        assert_eq!(recovered.is_err(), synced);
        if synced {
            assert_eq!(disk.bytes(), before);
            assert_eq!(open(&disk).1, [1]);
        }
    }
}

#[test]
fn recovered_batches_are_covered_by_the_watermark() {
    let disk = SimulatedDisk::new();
    let (mut log, ..) = open(&disk);
    log.append(&[record(1)]).unwrap();
    disk.crash(Tail::Lost);
    assert_eq!(open(&disk).1, [1]);
    disk.crash(Tail::Lost);
    disk.shorten_next_read(1);
    assert!(matches!(disk.recover(|_, _| Ok(())), Err(StoreError::JournalShort { .. })));
}

#[test]
fn after_a_power_cut_the_log_refuses_everything() {
    let disk = SimulatedDisk::new();
    let (mut log, ..) = open(&disk);
    log.write(&[record(1)]).unwrap();
    disk.crash(Tail::Lost);
    assert!(log.sync().is_err());
    assert!(log.write(&[record(1)]).is_err());
    assert!(open(&disk).1.is_empty());
}

#[test]
fn after_a_fault_the_log_refuses_everything() {
    for (fault, kept) in [
        (InjectedFault::Write, vec![1]),
        (InjectedFault::Sync, vec![1]),
        (InjectedFault::SyncAfterAll, vec![1, 2]),
    ] {
        let disk = SimulatedDisk::new();
        disk.fail_append(2, fault);
        let (mut log, ..) = open(&disk);
        log.append(&[record(1)]).unwrap();
        assert!(matches!(log.append(&[record(2)]), Err(StoreError::Io { .. })), "{fault:?}");
        assert!(matches!(log.append(&[record(2)]), Err(StoreError::Poisoned { .. })), "{fault:?}");
        assert!(matches!(log.sync_watermark(), Err(StoreError::Poisoned { .. })), "{fault:?}");
        assert!(log.close().is_err());
        disk.crash(Tail::Lost);
        assert_eq!(open(&disk).1, kept, "{fault:?}");
        assert_eq!(disk.appends(), 2);
    }
}
