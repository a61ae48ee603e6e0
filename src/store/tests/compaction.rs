//! Compaction of a store that is being written, with a crash after each step.

use std::fs;

use super::generations::{AT, frames};
use super::*;
use crate::store::batch;
use crate::store::compaction::{Compaction, Generations};
use crate::store::files::directory_bytes;
use crate::store::generation::{self, CurrentGeneration, Generation};

/// Copies a data directory as a killed process leaves it.
pub(super) fn copied(from: &Path) -> TempDir {
    fn copy(from: &Path, to: &Path) {
        for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
            let to = to.join(entry.file_name());
            if entry.path().is_dir() {
                fs::create_dir(&to).unwrap();
                copy(&entry.path(), &to);
            } else {
                fs::copy(entry.path(), &to).unwrap();
            }
        }
    }
    let to = tempfile::tempdir().unwrap();
    copy(from, to.path());
    to
}

/// A store that is written and compacted at once, with the expected records.
struct Running {
    directory: TempDir,
    log: SledLog,
    generations: Generations,
    /// Records appended of each stream.
    appended: BTreeMap<u64, u64>,
}

impl Running {
    fn new() -> Self {
        let directory = written(&[], true);
        let log = recovered(directory.path()).unwrap().1.into_log().unwrap();
        let generations = log.generations().unwrap();
        Self { directory, log, generations, appended: BTreeMap::new() }
    }

    fn append(&mut self, id: u64) {
        let sequence = self.appended.entry(id).or_default();
        *sequence += 1;
        self.log.append(&[record(id, *sequence, 3_000)]).unwrap();
    }

    /// Begins a generation in the next journal.
    fn begin_compaction(&mut self) -> Compaction<'_> {
        self.generations.offer_journal().unwrap();
        let checkpoint = self.log.checkpoint().unwrap();
        self.generations.begin_compaction(checkpoint).unwrap()
    }

    /// Makes a generation of all streams. Those that have not changed are copied.
    fn compact(&mut self) {
        let appended = self.appended.clone();
        let mut compaction = self.begin_compaction();
        for (id, sequence) in appended {
            if !compaction.copy_snapshot(group(id), sequence).unwrap() {
                snapshot(&mut compaction, id, sequence);
            }
        }
        compaction.publish().unwrap();
    }

    fn closed(self) -> TempDir {
        let Self { directory, log, generations, .. } = self;
        drop(generations);
        log.close().unwrap();
        directory
    }

    fn is_whole(&self, step: &str) {
        is_whole(self.directory.path(), &self.appended, step);
    }
}

/// Checks that a copy of the disk recovers all appended records and accepts more.
fn is_whole(directory: &Path, appended: &BTreeMap<u64, u64>, step: &str) {
    let copy = copied(directory);
    let (seen, recovered) =
        recovered(copy.path()).unwrap_or_else(|error| panic!("{step}: {error}"));
    assert_eq!(last_records(&seen), *appended, "{step}");
    let mut log = recovered.into_log().unwrap();
    let last = log.last();
    let next = appended.get(&1).copied().unwrap_or_default() + 1;
    assert_eq!(log.append(&[record(1, next, 10)]).unwrap(), last.next(), "{step}");
    drop(log);
    let (seen, _) =
        self::recovered(copy.path()).unwrap_or_else(|error| panic!("{step}, once more: {error}"));
    assert_eq!(last_records(&seen).get(&1), Some(&next), "{step}, once more");
}

/// The last record of each stream, from its snapshot or the journal.
fn last_records(seen: &CollectingVisitor) -> BTreeMap<u64, u64> {
    let mut last_records: BTreeMap<u64, u64> = BTreeMap::new();
    for (stream, (at, frames)) in &seen.snapshots {
        assert_eq!(frames, &state_at(at.sequence), "the snapshot of {stream}");
        last_records.insert(stream.number(), at.sequence);
    }
    for (_, record) in &seen.records {
        let last = last_records.entry(record.stream.number()).or_default();
        assert_eq!(record.sequence, *last + 1, "{}", record.stream);
        *last = record.sequence;
    }
    last_records
}

fn state_at(sequence: u64) -> Vec<Vec<u8>> {
    frames(&[usize::try_from(sequence).unwrap() * 1_000, 10, 200_000])
}

fn snapshot(compaction: &mut Compaction<'_>, id: u64, sequence: u64) {
    let mut writer = compaction.begin_snapshot(group(id), Position { epoch: 0, sequence });
    state_at(sequence).iter().for_each(|frame| writer.write_frame(frame).unwrap());
    writer.finish().unwrap();
}

#[test]
fn a_crash_after_any_step_of_a_compaction_recovers_all_that_was_appended() {
    let mut running = Running::new();
    for round in 0..3 {
        let step = |name: &str| format!("round {round}, {name}");
        running.append(1);
        running.append(2);
        running.is_whole(&step("before"));
        running.generations.offer_journal().unwrap();
        running.is_whole(&step("next journal made"));
        running.append(1);
        running.is_whole(&step("next journal made, the old one continues"));
        let checkpoint = running.log.checkpoint().unwrap();
        running.is_whole(&step("rotation"));
        running.append(2);
        running.is_whole(&step("rotation and appended"));
        let path = running.directory.path().to_owned();
        let mut compaction = running.generations.begin_compaction(checkpoint).unwrap();
        let appended = &mut running.appended;
        is_whole(&path, appended, &step("begun"));
        snapshot(&mut compaction, 1, appended[&1]);
        is_whole(&path, appended, &step("one stream written"));
        appended.insert(1, appended[&1] + 1);
        running.log.append(&[record(1, appended[&1], 3_000)]).unwrap();
        snapshot(&mut compaction, 2, appended[&2]);
        is_whole(&path, appended, &step("all streams written"));
        compaction.publish().unwrap();
        running.is_whole(&step("published"));
        running.append(2);
        running.is_whole(&step("published and appended"));
    }
    let names: Vec<String> = fs::read_dir(running.directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.contains('-'))
        .collect();
    assert_eq!(names.len(), 4, "the current generation and the one before: {names:?}");
}

#[test]
fn a_torn_batch_before_an_empty_journal_is_removed_and_before_a_used_one_refused() {
    let mut running = Running::new();
    running.append(1);
    running.generations.offer_journal().unwrap();
    let Running { directory, log, generations, .. } = running;
    drop((log, generations));
    let torn = batch::encode_batch(BatchNumber(2), 0, &[record(1, 2, 9_000)]);
    change(
        &journal_path(&directory),
        vec![(batch::chunk_key(BatchNumber(2), 0).to_vec(), Some(torn.chunks[0].clone()))],
    );
    let (seen, recovered) = recovered(directory.path()).unwrap();
    assert_eq!(seen.records.len(), 1);
    assert_eq!(recovered.report().torn_batch, Some(TornBatch { batch: BatchNumber(2), chunks: 1 }));
    let used = copied(directory.path());
    let mut log = recovered.into_log().unwrap();
    assert_eq!(log.append(&[record(1, 2, 10)]).unwrap(), BatchNumber(2));
    drop(log);
    assert_eq!(
        self::recovered(directory.path()).unwrap().0.records.len(),
        2,
        "the torn batch is gone from the old journal"
    );

    let next = batch::encode_batch(BatchNumber(2), 0, &[record(1, 2, 10)]);
    let later = used.path().join("journal-000002");
    change(
        &later,
        vec![(batch::chunk_key(BatchNumber(2), 0).to_vec(), Some(next.chunks[0].clone()))],
    );
    assert!(matches!(
        refusal(used.path()),
        StoreError::Damaged { place: DamageLocation::Batch(BatchNumber(2)), .. }
    ));
}

/// A store of two generations with three streams, changed since.
fn compacted() -> TempDir {
    let mut running = Running::new();
    (1..=3).for_each(|id| running.append(id));
    for _ in 0..2 {
        running.compact();
        running.append(1);
    }
    running.closed()
}

const WHOLE: [(u64, u64); 3] = [(1, 3), (2, 1), (3, 1)];

#[test]
fn unchanged_streams_are_copied_without_change() {
    let directory = compacted();
    let (seen, recovered) = recovered(directory.path()).unwrap();
    assert_eq!(last_records(&seen), BTreeMap::from(WHOLE));
    let report = *recovered.report();
    assert_eq!(
        (report.generation, report.snapshots, report.restored, report.records),
        (3, 3, 0, 1)
    );
    let named = CurrentGeneration { generation: Generation(3), previous: Some(Generation(2)) };
    assert_eq!(generation::read_current(directory.path()).unwrap(), Some(named));
}

fn key(stream: u64, value: u32) -> Vec<u8> {
    [&stream.to_be_bytes()[..], &value.to_be_bytes()[..]].concat()
}

/// The removal of all values of a stream.
fn removal_of(stream: u64) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
    (0..=60).map(|value| (key(stream, value), None)).collect()
}

#[test]
fn the_previous_generation_replaces_a_damaged_snapshot() {
    for (stream, value, byte) in [(1, 0, 1), (1, 2, 7), (2, 0, 3), (2, 5, 100), (3, 9, 0)] {
        let directory = compacted();
        flipped(&directory.path().join("snapshots-000003"), &key(stream, value), byte);
        let (seen, recovered) =
            recovered(directory.path()).unwrap_or_else(|error| panic!("{stream} {value}: {error}"));
        assert_eq!(last_records(&seen), BTreeMap::from(WHOLE));
        assert_eq!(recovered.report().restored, 1);
        let mut log = recovered.into_log().unwrap();
        log.append(&[record(1, 4, 10)]).unwrap();
    }
    for missing in
        [vec![(key(2, 0), None)], vec![(key(3, 4), None)], removal_of(2), vec![(vec![0], None)]]
    {
        let directory = compacted();
        change(&directory.path().join("snapshots-000003"), missing);
        assert_eq!(last_records(&recovered(directory.path()).unwrap().0), BTreeMap::from(WHOLE));
    }
    for killed in [false, true] {
        let directory = compacted();
        if killed {
            drop(recovered(directory.path()).unwrap().1.into_log().unwrap());
        }
        fs::remove_dir_all(directory.path().join("snapshots-000003")).unwrap();
        let (seen, recovered) = recovered(directory.path()).unwrap();
        assert_eq!(last_records(&seen), BTreeMap::from(WHOLE));
        assert_eq!((recovered.report().restored, recovered.report().clean), (3, !killed));
    }
}

#[test]
fn a_snapshot_damaged_in_both_generations_is_refused_with_the_current_location() {
    let directory = compacted();
    for generation in ["snapshots-000002", "snapshots-000003"] {
        flipped(&directory.path().join(generation), &key(2, 1), 9);
    }
    let error = refusal(directory.path());
    assert!(error.to_string().contains("snapshots-000003"), "{error}");
    assert!(
        matches!(error, StoreError::Damaged { place: DamageLocation::Snapshot { .. }, .. }),
        "{error}"
    );
}

#[test]
fn each_snapshot_is_taken_from_the_generation_that_has_it_undamaged() {
    let directory = compacted();
    flipped(&directory.path().join("snapshots-000003"), &key(2, 3), 9);
    // Its first frame, so that most of its values are left to be skipped.
    flipped(&directory.path().join("snapshots-000002"), &key(3, 1), 9);
    let (seen, recovered) = recovered(directory.path()).unwrap();
    assert_eq!(last_records(&seen), BTreeMap::from(WHOLE));
    assert_eq!(recovered.report().restored, 1);
}

#[test]
fn a_previous_generation_without_all_of_its_streams_replaces_nothing() {
    let directory = compacted();
    flipped(&directory.path().join("snapshots-000003"), &key(2, 3), 9);
    change(&directory.path().join("snapshots-000002"), removal_of(3));
    let error = refusal(directory.path()).to_string();
    assert!(error.contains("snapshots-000003"), "{error}");
}

#[test]
fn a_snapshot_that_the_previous_generation_never_had_is_not_replaced() {
    for missing in [vec![(key(2, 1), None)], removal_of(2)] {
        let mut running = Running::new();
        for id in [1, 2] {
            running.append(id);
            running.compact();
        }
        let directory = running.closed();
        change(&directory.path().join("snapshots-000003"), missing);
        let error = refusal(directory.path()).to_string();
        assert!(error.contains("snapshots-000003"), "{error}");
    }
}

#[test]
fn an_extended_snapshot_holds_the_frames_before_and_those_added() {
    let mut running = Running::new();
    running.append(1);
    running.compact();
    let at = Position { epoch: 0, sequence: 1 };
    let more = frames(&[70_000, 3]);
    let mut compaction = running.begin_compaction();
    compaction.extend_snapshot(group(1), at, &more).unwrap();
    compaction.publish().unwrap();
    let (seen, _) = recovered(running.closed().path()).unwrap();
    assert_eq!(seen.snapshots, BTreeMap::from([(group(1), (at, [state_at(1), more].concat()))]));
}

#[test]
fn the_size_of_a_store_is_that_of_its_current_snapshots_and_the_journals_since() {
    let directory = compacted();
    let sizes = store_sizes(directory.path()).unwrap();
    let bytes = |name| directory_bytes(&directory.path().join(name)).unwrap();
    let snapshots = bytes("snapshots-000003");
    let journals = bytes("journal-000003");
    assert_eq!(sizes, StoreSizes { snapshots, journals, journal_count: 1 });
    assert_eq!(sizes.sum(), snapshots + journals);
    fs::remove_dir_all(directory.path().join("snapshots-000003")).unwrap();
    let refused = store_sizes(directory.path());
    assert!(matches!(refused, Err(StoreError::Io { .. })), "{refused:?}");
}

#[test]
fn a_compaction_goes_on_with_as_much_free_space_as_its_reserve() {
    let disk = SimulatedDisk::new();
    let (mut log, _) = disk.recover(|_, _| Ok(())).unwrap();
    let mut generations = log.generations();
    generations.offer_journal().unwrap();
    let checkpoint = log.checkpoint().unwrap();
    let compaction = generations.begin_compaction(checkpoint).unwrap();
    compaction.expect_room(disk.free_bytes()).unwrap();
    disk.fill(0);
    compaction.expect_room(0).unwrap();
    assert!(matches!(compaction.expect_room(1), Err(StoreError::NoRoom { .. })));
}

#[test]
fn content_replaced_by_an_import_never_replaces_a_snapshot() {
    let directory = written(&[vec![record(1, 1, 5)]], false);
    let mut replacement = recovered(directory.path()).unwrap().1.replace().unwrap();
    let mut writer = replacement.begin_snapshot(group(1), AT);
    writer.write_frame(&[1; 10]).unwrap();
    writer.finish().unwrap();
    drop(replacement.publish().unwrap());
    fs::remove_dir_all(directory.path().join("snapshots-000002")).unwrap();
    let error = refusal(directory.path());
    assert!(error.to_string().contains("snapshots-000002"), "{error}");
}

#[test]
fn damage_is_never_copied_into_the_next_generation() {
    let directory = compacted();
    let mut log = recovered(directory.path()).unwrap().1.into_log().unwrap();
    let mut generations = log.generations().unwrap();
    flipped(&directory.path().join("snapshots-000003"), &key(2, 3), 9);
    generations.offer_journal().unwrap();
    let checkpoint = log.checkpoint().unwrap();
    let mut compaction = generations.begin_compaction(checkpoint).unwrap();
    let copied = compaction.copy_snapshot(group(2), 1);
    assert!(matches!(copied, Err(StoreError::Damaged { .. })));
    compaction.discard().unwrap();
    drop((log, generations));
    assert_eq!(last_records(&recovered(directory.path()).unwrap().0), BTreeMap::from(WHOLE));
}
