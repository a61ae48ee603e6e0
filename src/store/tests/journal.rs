//! The journal on real files.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;

use proptest::prelude::*;

use super::*;
use crate::store::batch::{self, chunk_key};
use crate::store::durable_watermark::{DurableWatermark, Watermark};
use crate::store::files::list_paths;

fn three_batches() -> Vec<Vec<JournalRecord>> {
    vec![
        vec![record(1, 1, 10)],
        vec![record(1, 2, 9000), record(2, 1, 10)],
        vec![record(2, 2, 9000)],
    ]
}

fn removal(batch: u64, chunk: u32) -> (Vec<u8>, Option<Vec<u8>>) {
    (chunk_key(BatchNumber(batch), chunk).to_vec(), None)
}

fn chunks(batch: u64, records: &[JournalRecord]) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
    let encoded = batch::encode_batch(BatchNumber(batch), 0, records);
    let keys = (0..).map(|index| chunk_key(BatchNumber(batch), index).to_vec());
    keys.zip(encoded.chunks.into_iter().map(Some)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn recovered_batches_equal_the_appended_ones(
        batches in prop::collection::vec(prop::collection::vec((1..4_u64, 0..6000_usize), 1..6), 0..8),
        close in any::<bool>(),
        reopened in 0..8_usize,
    ) {
        let directory = tempfile::tempdir().unwrap();
        let store = NewGeneration::create(directory.path()).unwrap().publish().unwrap();
        let mut log = store.recover(&mut CollectingVisitor::default()).unwrap().into_log().unwrap();
        let mut sequences = BTreeMap::new();
        let mut expected = Vec::new();
        for (index, batch) in batches.iter().enumerate() {
            if index == reopened {
                if close { log.close().unwrap() } else { drop(log) }
                log = recovered(directory.path()).unwrap().1.into_log().unwrap();
            }
            let next = |&(id, bytes): &(u64, usize)| {
                let sequence = sequences.entry(id).or_insert(0);
                *sequence += 1;
                record(id, *sequence, bytes)
            };
            let records: Vec<JournalRecord> = batch.iter().map(next).collect();
            let number = log.append(&records).unwrap();
            expected.extend(records.into_iter().map(|record| (number, record)));
        }
        if close { log.close().unwrap() } else { drop(log) }
        let (seen, recovered) = recovered(directory.path()).unwrap();
        prop_assert_eq!(seen.records, expected);
        prop_assert_eq!(recovered.report().clean, close);
        prop_assert_eq!(recovered.report().batches, batches.len() as u64);
        prop_assert_eq!(recovered.report().last, BatchNumber(batches.len() as u64));
        prop_assert_eq!(recovered.report().torn_batch, None);
    }
}

#[test]
fn a_torn_batch_after_the_watermark_is_removed_and_its_number_reused() {
    for torn in 0..3 {
        let directory = written(&three_batches(), false);
        let mut tail = chunks(4, &[record(1, 3, 9000)]);
        assert_eq!(tail.len(), 3);
        tail.remove(torn);
        change(&journal_path(&directory), tail);
        let (seen, recovered) = recovered(directory.path()).unwrap();
        assert_eq!(seen.records.len(), 4);
        assert_eq!(
            recovered.report().torn_batch,
            Some(TornBatch { batch: BatchNumber(4), chunks: 2 })
        );
        let mut log = recovered.into_log().unwrap();
        assert_eq!(log.append(&[record(1, 3, 1)]).unwrap(), BatchNumber(4));
        log.close().unwrap();
        let (seen, recovered) = self::recovered(directory.path()).unwrap();
        assert_eq!(seen.records.last(), Some(&(BatchNumber(4), record(1, 3, 1))));
        assert_eq!(recovered.report().torn_batch, None);
    }
}

#[test]
fn a_batch_whose_write_was_cut_at_any_byte_counts_for_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let store = NewGeneration::create(directory.path()).unwrap().publish().unwrap();
    let mut log = store.recover(&mut CollectingVisitor::default()).unwrap().into_log().unwrap();
    log.append(&[record(1, 1, 10)]).unwrap();
    let data = journal_path(&directory).join("db");
    let mark = fs::read(directory.path().join("mark")).unwrap();
    let mut before = fs::read(&data).unwrap();
    log.append(&[record(1, 2, 9000)]).unwrap();
    let whole = fs::read(&data).unwrap();
    drop(log);
    before.resize(whole.len(), 0);
    let is_changed = |byte: &usize| whole[*byte] != before[*byte];
    let first = (0..whole.len()).find(is_changed).unwrap();
    let end = (0..whole.len()).rfind(is_changed).unwrap() + 1;
    assert!(first + 9000 < end, "the second batch was written in one place");
    let mut torn = 0;
    for cut in (first + 1..end).step_by(497).chain([end]) {
        let only_start = [&whole[..cut], &before[cut..]].concat();
        let only_end = [&before[..cut], &whole[cut..]].concat();
        for (content, batches) in [(only_start, if cut == end { 2 } else { 1 }), (only_end, 1)] {
            fs::write(&data, content).unwrap();
            fs::write(directory.path().join("mark"), &mark).unwrap();
            let (seen, recovered) = recovered(directory.path()).unwrap();
            torn += usize::from(recovered.report().torn_batch.is_some());
            assert_eq!(recovered.report().last, BatchNumber(batches), "cut at {cut} before {end}");
            assert_eq!(seen.records.len() as u64, batches, "cut at {cut} before {end}");
        }
    }
    assert!(torn > 0, "some cuts leave the first chunks");
}

#[test]
fn a_whole_batch_after_the_watermark_is_kept() {
    let directory = written(&three_batches(), false);
    change(&journal_path(&directory), chunks(4, &[record(1, 3, 9000)]));
    let (seen, recovered) = recovered(directory.path()).unwrap();
    assert_eq!(seen.records.len(), 5);
    assert_eq!(recovered.into_log().unwrap().append(&[record(1, 4, 1)]).unwrap(), BatchNumber(5));
}

#[test]
fn a_batch_after_the_watermark_is_covered_once_it_was_recovered() {
    let directory = written(&three_batches(), false);
    change(&journal_path(&directory), chunks(4, &[record(1, 3, 9000)]));
    drop(recovered(directory.path()).unwrap().1.into_log().unwrap());
    change(&journal_path(&directory), (0..3).map(|index| removal(4, index)).collect());
    assert!(matches!(
        refusal(directory.path()),
        StoreError::JournalShort { ends: BatchNumber(3), watermark: BatchNumber(4), .. }
    ));
}

#[test]
fn a_torn_batch_that_no_crash_leaves_is_refused() {
    let four = |_: &TempDir| chunks(4, &[record(1, 3, 9000)])[..2].to_vec();
    let before_the_mark = |_: &TempDir| vec![removal(3, 2)];
    let in_the_middle = |_: &TempDir| vec![removal(2, 0)];
    let after_a_clean_end: (_, fn(&TempDir) -> _, _) = (true, four, 4);
    for (close, changes, place) in
        [after_a_clean_end, (false, before_the_mark, 3), (false, in_the_middle, 2)]
    {
        let directory = written(&three_batches(), close);
        change(&journal_path(&directory), changes(&directory));
        let error = refusal(directory.path());
        let StoreError::Damaged { path, place: DamageLocation::Batch(found), .. } = &error else {
            panic!("{error}")
        };
        assert_eq!((path, *found), (&journal_path(&directory), BatchNumber(place)), "{error}");
    }
}

#[test]
fn a_torn_batch_followed_by_others_is_refused() {
    let directory = written(&three_batches(), false);
    let mut tail = chunks(4, &[record(1, 3, 9000)])[..1].to_vec();
    tail.extend(chunks(5, &[record(1, 4, 1)]));
    change(&journal_path(&directory), tail);
    assert!(matches!(
        refusal(directory.path()),
        StoreError::Damaged { place: DamageLocation::Batch(BatchNumber(4)), .. }
    ));
}

#[test]
fn a_journal_that_ends_before_its_watermark_is_refused() {
    for close in [false, true] {
        let directory = written(&three_batches(), close);
        change(&journal_path(&directory), (0..3).map(|chunk| removal(3, chunk)).collect());
        let error = refusal(directory.path());
        assert!(
            matches!(
                error,
                StoreError::JournalShort { ends: BatchNumber(2), watermark: BatchNumber(3), .. }
            ),
            "{error}"
        );
    }
}

#[test]
fn a_missing_batch_is_refused() {
    let directory = written(&three_batches(), false);
    change(&journal_path(&directory), (0..3).map(|chunk| removal(2, chunk)).collect());
    assert!(matches!(
        refusal(directory.path()),
        StoreError::Damaged { place: DamageLocation::Batch(BatchNumber(3)), .. }
    ));
}

#[test]
fn a_flipped_byte_is_refused_with_its_location() {
    for (batch, chunk, byte) in [(1, 0, 9), (2, 1, 100), (3, 2, 0), (3, 0, 5)] {
        let directory = written(&three_batches(), true);
        flipped(&journal_path(&directory), &chunk_key(BatchNumber(batch), chunk), byte);
        let error = refusal(directory.path());
        let StoreError::Damaged { place, .. } = error else { panic!("{error}") };
        assert_eq!(place, DamageLocation::Batch(BatchNumber(batch)));
    }
}

#[test]
fn a_batch_whose_checksum_differs_from_the_watermark_is_refused() {
    let directory = written(&three_batches(), true);
    let mut watermark = DurableWatermark::open(directory.path()).unwrap();
    watermark.write(Watermark { crc: watermark.current().crc ^ 1, ..watermark.current() }).unwrap();
    assert!(matches!(
        refusal(directory.path()),
        StoreError::Damaged { place: DamageLocation::Batch(BatchNumber(3)), .. }
    ));
}

#[test]
fn a_gap_in_a_group_is_refused() {
    let directory = written(&three_batches(), false);
    change(&journal_path(&directory), chunks(4, &[record(2, 4, 1)]));
    let error = refusal(directory.path());
    let StoreError::Gap { batch, stream, expected, found, .. } = error else { panic!("{error}") };
    assert_eq!((batch, stream, expected, found), (BatchNumber(4), group(2), 3, 4));
}

#[test]
fn a_gap_is_never_written() {
    let directory = written(&three_batches(), false);
    let mut log = recovered(directory.path()).unwrap().1.into_log().unwrap();
    assert!(matches!(
        log.append(&[record(1, 4, 1)]),
        Err(StoreError::Gap { expected: 3, found: 4, .. })
    ));
    assert!(matches!(log.append(&[record(1, 3, 1)]), Err(StoreError::Poisoned { .. })));
    drop(log);
    assert_eq!(recovered(directory.path()).unwrap().0.records.len(), 4);
}

#[test]
fn after_a_failed_sync_everything_is_refused() {
    let directory = written(&three_batches(), false);
    let mut log = recovered(directory.path()).unwrap().1.into_log().unwrap();
    log.append(&[record(1, 3, 1)]).unwrap();
    let file = log.journal.as_mut().unwrap().break_syncs();
    assert!(matches!(log.append(&[record(1, 4, 1)]), Err(StoreError::Io { doing: "sync", .. })));
    log.journal.as_mut().unwrap().mend_syncs(file);
    assert!(matches!(log.append(&[record(1, 4, 1)]), Err(StoreError::Poisoned { .. })));
    assert!(matches!(log.sync_watermark(), Err(StoreError::Poisoned { .. })));
    assert!(matches!(log.close(), Err(StoreError::Poisoned { .. })));
    let watermark = DurableWatermark::open(directory.path()).unwrap().current();
    assert_eq!((watermark.batch, watermark.clean), (BatchNumber(4), false));
}

#[test]
fn a_second_process_is_refused_with_the_holder() {
    let directory = written(&[], true);
    let _held = Store::open(directory.path()).unwrap();
    let error = Store::open(directory.path()).unwrap_err().to_string();
    assert!(error.contains(&directory.path().display().to_string()), "{error}");
    assert!(error.contains(&std::process::id().to_string()), "{error}");
    assert!(matches!(NewGeneration::create(directory.path()), Err(StoreError::Locked { .. })));
}

#[test]
fn a_half_written_page_table_of_sled_is_removed() {
    let directory = written(&three_batches(), false);
    let leftover = journal_path(&directory).join("snap.00000000000FFFFF.generating");
    fs::write(&leftover, b"cut sho").unwrap();
    assert_eq!(recovered(directory.path()).unwrap().0.records.len(), 4);
    assert!(leftover.exists(), "a start only reads");
}

#[test]
fn a_damaged_page_table_of_sled_is_removed() {
    let directory = written(&three_batches(), true);
    // sled makes one as it opens a log that holds more than its last table.
    Database::open(&journal_path(&directory)).unwrap().close().unwrap();
    let tables: Vec<PathBuf> = list_paths(&journal_path(&directory)).unwrap();
    let tables: Vec<&PathBuf> = tables
        .iter()
        .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("snap."))
        .collect();
    assert!(!tables.is_empty(), "sled has made one");
    for path in tables {
        let mut bytes = fs::read(path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(path, bytes).unwrap();
    }
    assert_eq!(recovered(directory.path()).unwrap().0.records.len(), 4);
}

#[test]
fn a_missing_file_is_never_created_again() {
    for name in [
        "journal-000001/db",
        "journal-000001/conf",
        "snapshots-000001/db",
        "mark",
        "journal-000001",
    ] {
        let directory = written(&three_batches(), true);
        let path = directory.path().join(name);
        if path.is_dir() {
            fs::remove_dir_all(&path).unwrap()
        } else {
            fs::remove_file(&path).unwrap()
        }
        let _error = refusal(directory.path());
        assert!(!path.exists(), "{name}");
    }
}

#[test]
fn a_lost_current_is_not_an_empty_store() {
    let directory = written(&three_batches(), true);
    fs::remove_file(directory.path().join("CURRENT")).unwrap();
    assert!(matches!(Store::is_empty(directory.path()), Err(StoreError::Damaged { .. })));
    assert!(matches!(NewGeneration::create(directory.path()), Err(StoreError::Damaged { .. })));
    assert!(journal_path(&directory).exists());
}

#[test]
fn no_flipped_bit_in_the_file_shortens_the_journal_unnoticed() {
    let batches: Vec<Vec<JournalRecord>> =
        (1..=12).map(|sequence| vec![record(1, sequence, 5000)]).collect();
    let mut refused = 0;
    let mut whole = 0;
    for step in 0..80_u64 {
        let directory = written(&batches, true);
        let path = journal_path(&directory).join("db");
        let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        // The log is some 120 KiB; a prime stride visits headers and bodies alike.
        let offset = step * 1_493;
        let mut byte = [0];
        file.read_exact_at(&mut byte, offset).unwrap();
        file.write_all_at(&[byte[0] ^ (1 << (step % 8))], offset).unwrap();
        match recovered(directory.path()) {
            Ok((seen, _)) => {
                assert_eq!(seen.records.len(), batches.len(), "bit {} of byte {offset}", step % 8);
                assert!(
                    seen.records
                        .iter()
                        .map(|(_, record)| vec![record.clone()])
                        .eq(batches.iter().cloned())
                );
                whole += 1;
            }
            Err(error) => {
                assert!(error.to_string().contains("journal-000001"), "{error}");
                refused += 1;
            }
        }
    }
    assert!(refused > 0, "some flips hit what matters ({whole} did not)");
}
