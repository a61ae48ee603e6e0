//! Snapshots and generations on real files: creation, interruptions and replacement.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use proptest::prelude::*;

use super::compaction::copied;
use super::*;
use crate::store::batch::{self, chunk_key};
use crate::store::durable_watermark::DurableWatermark;
use crate::store::generation::{self, CurrentGeneration, Generation};
use crate::store::journal;

pub(super) const AT: Position = Position { epoch: 2, sequence: 40 };

fn filled(generation: &mut NewGeneration, stream: Stream, frames: &[Vec<u8>]) {
    let mut writer = generation.begin_snapshot(stream, AT);
    for frame in frames {
        writer.write_frame(frame).unwrap();
    }
    writer.finish().unwrap();
}

pub(super) fn frames(sizes: &[usize]) -> Vec<Vec<u8>> {
    sizes.iter().zip(1..).map(|(size, byte)| vec![byte; *size]).collect()
}

/// A store of the directory and two groups.
fn imported() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let mut generation = NewGeneration::create(directory.path()).unwrap();
    filled(&mut generation, Stream::Directory, &frames(&[100]));
    filled(&mut generation, group(1), &frames(&[65_536, 10, 20_000]));
    filled(&mut generation, group(7), &frames(&[5000]));
    generation.publish().unwrap();
    directory
}

fn snapshots_path(directory: &TempDir) -> PathBuf {
    directory.path().join("snapshots-000001")
}

fn snapshot_key(stream: u64, value: u32) -> Vec<u8> {
    let mut key = stream.to_be_bytes().to_vec();
    key.extend_from_slice(&value.to_be_bytes());
    key
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn recovered_snapshots_equal_the_written_ones(
        streams in prop::collection::btree_map(0..1000_u64, prop::collection::vec(0..70_000_usize, 0..6), 0..6),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let mut generation = NewGeneration::create(directory.path()).unwrap();
        let mut expected = BTreeMap::new();
        // Written in descending order, read in ascending order.
        for (id, sizes) in streams.iter().rev() {
            let stream = GroupId::new(*id).map_or(Stream::Directory, Stream::Group);
            filled(&mut generation, stream, &frames(sizes));
            expected.insert(stream, (AT, frames(sizes)));
        }
        let mut seen = CollectingVisitor::default();
        let recovered = generation.publish().unwrap().recover(&mut seen).unwrap();
        prop_assert_eq!(&seen.snapshots, &expected);
        prop_assert_eq!(recovered.report().snapshots, expected.len() as u64);
        prop_assert!(recovered.report().clean);
    }
}

#[test]
fn records_continue_right_after_the_snapshot() {
    let directory = imported();
    let mut log = recovered(directory.path()).unwrap().1.into_log().unwrap();
    log.append(&[record(1, 41, 5), record(9, 1, 5)]).unwrap();
    drop(log);
    let (seen, recovered) = recovered(directory.path()).unwrap();
    // Each record has the highest epoch that the log has read.
    let epoch = AT.epoch;
    let next = JournalRecord { epoch, ..record(1, 41, 5) };
    let first = JournalRecord { epoch, ..record(9, 1, 5) };
    assert_eq!(seen.records, [(BatchNumber(1), next), (BatchNumber(1), first)]);
    let mut log = recovered.into_log().unwrap();
    assert!(matches!(
        log.append(&[record(7, 40, 5)]),
        Err(StoreError::Gap { expected: 41, found: 40, .. })
    ));
}

#[test]
fn records_in_the_snapshot_are_skipped() {
    let directory = imported();
    let records: Vec<JournalRecord> =
        (38..=42).map(|sequence| JournalRecord { epoch: 2, ..record(1, sequence, 5) }).collect();
    let encoded = batch::encode_batch(BatchNumber(1), 0, &records);
    change(
        &journal_path(&directory),
        vec![(chunk_key(BatchNumber(1), 0).to_vec(), encoded.chunks.first().cloned())],
    );
    let (seen, _) = recovered(directory.path()).unwrap();
    assert_eq!(
        seen.records.iter().map(|(_, record)| record.sequence).collect::<Vec<_>>(),
        [41, 42]
    );
}

#[test]
fn journals_after_the_current_generation_are_replayed_in_turn() {
    let directory = written(&[vec![record(1, 1, 5)]], false);
    let second = directory.path().join("journal-000002");
    journal::create_journal(&second, 2, Some(BatchNumber(2))).unwrap();
    let mut log = recovered(directory.path()).unwrap().1.into_log().unwrap();
    assert!(log.journal.is_none(), "journals of earlier lives are only read");
    assert_eq!(log.append(&[record(1, 2, 5)]).unwrap(), BatchNumber(2));
    assert_eq!(log.journal.as_ref().unwrap().path(), second, "it was empty");
    drop(log);
    let (seen, _) = recovered(directory.path()).unwrap();
    assert_eq!(
        seen.records,
        [(BatchNumber(1), record(1, 1, 5)), (BatchNumber(2), record(1, 2, 5))]
    );
    let mut log = recovered(directory.path()).unwrap().1.into_log().unwrap();
    log.append(&[record(1, 3, 5)]).unwrap();
    drop(log);
    let third = directory.path().join("journal-000003");
    assert_eq!(recovered(directory.path()).unwrap().0.records.len(), 3);
    fs::remove_dir_all(&third).unwrap();
    assert!(matches!(refusal(directory.path()), StoreError::JournalShort { .. }));
    fs::remove_dir_all(&second).unwrap();
    journal::create_journal(&second, 2, Some(BatchNumber(3))).unwrap();
    assert!(matches!(
        refusal(directory.path()),
        StoreError::Damaged { place: DamageLocation::Header, .. }
    ));
}

#[test]
fn damage_in_a_snapshot_is_refused_with_its_location() {
    for (stream, value, byte) in [(0, 1, 50), (1, 0, 1), (1, 3, 7), (1, 17, 3), (7, 2, 100)] {
        let directory = imported();
        flipped(&snapshots_path(&directory), &snapshot_key(stream, value), byte);
        let error = refusal(directory.path());
        let StoreError::Damaged { place: DamageLocation::Snapshot { stream: found, .. }, .. } =
            error
        else {
            panic!("{error}")
        };
        assert_eq!(found, GroupId::new(stream).map_or(Stream::Directory, Stream::Group));
    }
}

#[test]
fn a_missing_part_of_a_snapshot_is_refused() {
    for missing in
        [snapshot_key(1, 0), snapshot_key(1, 4), snapshot_key(7, 2), snapshot_key(0, 1), vec![0]]
    {
        let directory = imported();
        change(&snapshots_path(&directory), vec![(missing.clone(), None)]);
        let error = refusal(directory.path());
        assert!(matches!(error, StoreError::Damaged { .. }), "{missing:?}: {error}");
    }
    let directory = imported();
    change(
        &snapshots_path(&directory),
        (0..=2).map(|value| (snapshot_key(7, value), None)).collect(),
    );
    assert!(matches!(
        refusal(directory.path()),
        StoreError::Damaged { place: DamageLocation::Header, .. }
    ));
}

#[test]
fn bytes_that_the_visitor_rejects_are_damage_with_a_location() {
    struct RejectingVisitor;
    impl RecoveryVisitor for RejectingVisitor {
        fn snapshot(
            &mut self,
            _: Stream,
            _: Position,
            frames: &mut dyn Frames,
        ) -> Result<(), StoreError> {
            let frame = frames.next()?.expect("each has one");
            Ok(codec::decode::<(u64, String)>(&frame).map(|_| ())?)
        }
        fn record(&mut self, _: BatchNumber, _: JournalRecord) -> Result<(), StoreError> {
            Ok(())
        }
    }
    let directory = imported();
    let error = Store::open(directory.path()).unwrap().recover(&mut RejectingVisitor).unwrap_err();
    let StoreError::Damaged { path, place, .. } = error else { panic!("{error}") };
    assert_eq!(
        (path, place),
        (
            snapshots_path(&directory),
            DamageLocation::Snapshot { stream: Stream::Directory, value: 0 }
        )
    );
}

#[test]
fn an_interrupted_creation_leaves_an_empty_store() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data");
    assert!(Store::is_empty(&path).unwrap());
    let mut generation = NewGeneration::create(&path).unwrap();
    filled(&mut generation, group(1), &frames(&[2_000_000]));
    generation.begin_snapshot(group(2), AT).write_frame(&[1; 100]).unwrap();
    let killed = copied(&path);
    drop(generation);
    assert!(!path.exists(), "a creation that is dropped removes its files");
    let path = killed.path().to_owned();
    assert!(Store::is_empty(&path).unwrap());
    assert!(matches!(Store::open(&path), Err(StoreError::Empty { .. })));

    // The last state before the creation is complete.
    let generation = NewGeneration::create(&path).unwrap();
    let mark = fs::read(path.join("mark")).unwrap();
    generation.publish().unwrap();
    fs::remove_file(path.join("CURRENT")).unwrap();
    fs::write(path.join("mark"), mark).unwrap();
    assert!(Store::is_empty(&path).unwrap());

    let mut generation = NewGeneration::create(&path).unwrap();
    filled(&mut generation, group(3), &frames(&[10]));
    generation.publish().unwrap();
    let (seen, _) = recovered(&path).unwrap();
    assert_eq!(seen.snapshots.keys().copied().collect::<Vec<_>>(), [group(3)]);
    assert!(matches!(NewGeneration::create(&path), Err(StoreError::Occupied { .. })));
}

#[test]
fn a_dropped_creation_removes_its_own_files_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made/for/it");
    let note = folder.path().join("made/note");
    let generation = NewGeneration::create(&path).unwrap();
    fs::write(&note, "foreign").unwrap();
    drop(generation);
    assert!(!folder.path().join("made/for").exists() && note.exists());
    assert!(matches!(
        NewGeneration::create(&folder.path().join("made")),
        Err(StoreError::Foreign { .. })
    ));
    assert!(note.exists());
    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    drop(NewGeneration::create(&empty.join("data")).unwrap());
    assert_eq!(fs::read_dir(&empty).unwrap().count(), 0, "it was there before");
}

#[test]
fn a_store_without_current_that_was_never_served_is_damaged_and_not_empty() {
    for damaged_mark in [None, Some(&b""[..]), Some(&[0xff; 8192])] {
        let directory = imported();
        fs::remove_file(directory.path().join("CURRENT")).unwrap();
        if let Some(bytes) = damaged_mark {
            fs::write(directory.path().join("mark"), bytes).unwrap();
        }
        let damaged =
            |error| matches!(error, StoreError::Damaged { path, .. } if path.ends_with("CURRENT"));
        assert!(damaged(Store::is_empty(directory.path()).unwrap_err()));
        assert!(damaged(NewGeneration::create(directory.path()).err().unwrap()));
        assert!(snapshots_path(&directory).is_dir(), "nothing is removed");
    }
    let directory = imported();
    fs::remove_file(directory.path().join("CURRENT")).unwrap();
    fs::remove_file(directory.path().join("mark")).unwrap();
    assert!(matches!(refusal(directory.path()), StoreError::Damaged { .. }));
}

#[test]
fn a_store_is_not_created_among_foreign_files() {
    let names = [
        "copy",
        "snapshots-2024",
        "snapshots-000002",
        "journal-1",
        "journal-old.new",
        "journal-000002.new",
    ];
    for name in names {
        let directory = tempfile::tempdir().unwrap();
        let foreign = directory.path().join(name).join("photographs");
        fs::create_dir_all(&foreign).unwrap();
        let refused = NewGeneration::create(directory.path()).err();
        let refused = refused.unwrap_or_else(|| panic!("{name} is foreign"));
        // A generation without a watermark may be a whole store.
        assert!(
            matches!(refused, StoreError::Foreign { .. } | StoreError::Damaged { .. }),
            "{name}: {refused}"
        );
        assert!(foreign.is_dir(), "{name} was removed");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "{name}: nothing was added");
    }
}

#[test]
fn a_running_store_leaves_foreign_files_alone() {
    let directory = imported();
    let foreign = ["copy", "snapshots-2024", "journal-1", "journal-old.new"]
        .map(|name| directory.path().join(name));
    foreign.iter().for_each(|path| fs::create_dir(path).unwrap());
    recovered(directory.path()).unwrap().1.into_log().unwrap().close().unwrap();
    assert!(foreign.iter().all(|path| path.is_dir()));
}

#[test]
fn a_directory_made_for_a_store_is_accessible_to_its_owner_only() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("more").join("data");
    NewGeneration::create(&path).unwrap().publish().unwrap();
    for made in [&path, path.parent().unwrap()] {
        assert_eq!(fs::metadata(made).unwrap().permissions().mode() & 0o777, 0o700);
    }
}

#[test]
fn a_replacement_replaces_all_content_and_batch_numbers_continue() {
    let directory = written(&[vec![record(1, 1, 5)], vec![record(1, 2, 5)]], false);
    let mut replacement = recovered(directory.path()).unwrap().1.replace().unwrap();
    filled(&mut replacement, group(1), &frames(&[10]));
    let mut seen = CollectingVisitor::default();
    let recovered = replacement.publish().unwrap().recover(&mut seen).unwrap();
    let replaced = CurrentGeneration { generation: Generation(2), previous: None };
    assert_eq!(generation::read_current(directory.path()).unwrap(), Some(replaced));
    assert_eq!(seen.snapshots.len(), 1);
    assert_eq!(seen.records, []);
    assert!(recovered.report().clean, "a replacement ends the journals before it");
    let mut log = recovered.into_log().unwrap();
    assert_eq!(
        log.append(&[JournalRecord { epoch: 2, ..record(1, 41, 5) }]).unwrap(),
        BatchNumber(3)
    );
    assert_eq!(DurableWatermark::open(directory.path()).unwrap().current().batch, BatchNumber(3));
}

#[test]
fn an_interrupted_replacement_leaves_the_old_content() {
    let directory = written(&[vec![record(1, 1, 5)]], false);
    let before = recovered(directory.path()).unwrap().0;
    let mut replacement = recovered(directory.path()).unwrap().1.replace().unwrap();
    filled(&mut replacement, group(1), &frames(&[10]));
    drop(replacement);
    assert_eq!(recovered(directory.path()).unwrap().0, before);

    let mut replacement = recovered(directory.path()).unwrap().1.replace().unwrap();
    filled(&mut replacement, group(1), &frames(&[10]));
    replacement.publish().unwrap();
    generation::set_current(
        directory.path(),
        CurrentGeneration { generation: Generation(1), previous: None },
    )
    .unwrap();
    let (seen, recovered) = recovered(directory.path()).unwrap();
    assert_eq!(seen, before);
    let mut log = recovered.into_log().unwrap();
    assert_eq!(log.append(&[record(1, 2, 5)]).unwrap(), BatchNumber(2));
    log.close().unwrap();
    assert_eq!(self::recovered(directory.path()).unwrap().0.records.len(), 2);
}
