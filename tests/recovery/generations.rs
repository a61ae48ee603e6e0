//! New generations of the store beside bookings: those that cannot be made harm nobody, and none keeps what is no more.

use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use slotbook::clock::ManualClock;
use slotbook::domain::decisions::founding::FoundGroup;
use slotbook::domain::records::author::Author;
use slotbook::domain::records::fiche::Fiche;
use slotbook::domain::records::ids::{GroupId, InterventionId, VeventId};
use slotbook::domain::records::text::{Email, LongText, Name, Text};
use slotbook::domain::state::command::{
    BookAppointment, Caller, CancelAppointment, CancelRight, Client, Command, Patch,
};
use slotbook::domain::state::group_state::GroupState;
use slotbook::domain::state::history::History;
use slotbook::domain::time::{Civil, CivilDay, DAY, Instant};
use slotbook::engine::admission::AdmissionLimits;
use slotbook::engine::compaction::{CompactionCheck, CompactionStats};
use slotbook::engine::journal::JournalError;
use slotbook::engine::mailbox::Transport;
use slotbook::engine::randomness::Randomness;
use slotbook::engine::recovery;
use slotbook::engine::{Engine, EngineParts};
use slotbook::store::state;
use slotbook::store::{Generations, StoreError};
use slotbook::wire::group::parse_new_group;

use super::released::expect_released;
use super::server::{practice, store_of};

/// A store being served, without its HTTP.
struct Running {
    engine: Engine,
    clock: Arc<ManualClock>,
    journal: JoinHandle<Result<(), JournalError>>,
}

fn group() -> GroupId {
    GroupId::new(1).expect("an id")
}

fn midnight() -> Civil {
    CivilDay::from_ymd(2030, 1, 1).expect("a day").midnight()
}

impl Running {
    async fn on(data: &Path) -> (Self, Generations) {
        let loaded = recovery::load(data).expect("a store");
        let log = loaded.store.into_log().expect("it opens");
        let generations = log.generations().expect("it stands");
        // The practice's clock shows UTC.
        let clock = Arc::new(ManualClock::at(Instant(midnight().0 - DAY)));
        let parts = EngineParts {
            directory: loaded.directory,
            group_states: loaded.group_states.into_iter().collect(),
            clock: Arc::clone(&clock) as Arc<_>,
            randomness: Randomness::seeded([7; 32]),
            transport: Transport::direct(),
            admission_limits: AdmissionLimits::default(),
            decision_timeout: Duration::from_secs(60),
        };
        let (engine, journal) = Engine::start(parts, log).await;
        let journal = std::thread::spawn(move || journal.run());
        (Self { engine, clock, journal }, generations)
    }

    /// Books the `nth` half hour.
    async fn book(&self, nth: i64) -> VeventId {
        let mut fields = Patch::default();
        let (name, email) =
            (Name::new("Somebody").expect("a name"), Email::new("a@x.org").expect("an address"));
        let shown = email.clone();
        fields.push(move |fiche: &mut Fiche| {
            (fiche.lastname, fiche.email) = (name.clone(), Some(shown.clone()))
        });
        let wish = BookAppointment {
            permission: None,
            calendarset_ids: Vec::new(),
            is_by_page: false,
            is_code_demanded: false,
            needs_contact: false,
            booking_origin: None,
            hold: None,
            caller: Caller::Application,
            from_web: true,
            date: midnight().plus_seconds(nth * 1_800),
            intervention_ids: vec![InterventionId::new(1).expect("an id")],
            calendar_id: None,
            client: Client { id: None, email: Some(email), fields, customs: Vec::new() },
            comments: LongText::default(),
            internal_comments: Text::default(),
            taker: Text::default(),
            websource: Text::default(),
            smsreminder: None,
            customs: Vec::new(),
        };
        let done = self
            .engine
            .write(group(), Author::Visitor, Command::BookAppointment(Box::new(wish)))
            .await
            .expect("it is free");
        done.appointments[0]
    }

    async fn cancel(&self, id: VeventId) {
        let wish = CancelAppointment { id, right: CancelRight::Pro };
        self.engine
            .write(group(), Author::Visitor, Command::CancelAppointment(wish))
            .await
            .expect("it is there");
    }

    fn group_state(&self) -> Arc<GroupState> {
        self.engine.published().group_state(group()).expect("it is there")
    }

    async fn ends(self) {
        self.engine.shut_down().await;
        let journal = self.journal;
        let ended = tokio::task::spawn_blocking(move || journal.join().expect("no panic"));
        ended.await.expect("joined").expect("it closes");
    }

    /// Ends it, and holds what is read again against what was there.
    async fn ends_whole(self, data: &Path) {
        let before = state::hash(&self.group_state());
        self.ends().await;
        expect_released(data);
        let loaded = recovery::load(data).expect("a store");
        assert_eq!(state::hash(&loaded.group_states[0]), before);
        drop(loaded);
        expect_released(data);
    }
}

/// A group to found.
fn shop() -> FoundGroup {
    let fields = serde_json::json!({"name": "Shop", "timezone": "UTC"});
    parse_new_group(fields.as_object().expect("an object")).expect("legal fields")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_founded_beside_a_new_generation_is_in_the_store_either_way() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let (running, generations) = Running::on(&data).await;
    let mut compactor = running.engine.new_compactor(generations, 0, 0);
    let mut hashes = vec![state::hash(&running.group_state())];
    for copied in [1, 2] {
        let founded =
            running.engine.found_group(Author::Operator, shop()).await.expect("a new group");
        hashes.push(state::hash(&founded));
        let compacting = tokio::task::spawn_blocking(move || (compactor.compact(), compactor));
        let (made, back) = compacting.await.expect("joined");
        let made = made.expect("the disk takes it").expect("the journal runs");
        assert_eq!(made, CompactionStats { copied, written: 2 }, "no snapshot of it to copy");
        compactor = back;
    }
    let founded = running
        .engine
        .found_group(Author::Operator, shop())
        .await
        .expect("one in the journal alone");
    hashes.push(state::hash(&founded));
    drop(compactor);
    running.ends_whole(&data).await;
    let loaded = recovery::load(&data).expect("a store");
    let read: Vec<_> = loaded.group_states.iter().map(|it| state::hash(it)).collect();
    assert_eq!(read, hashes);
}

fn names(data: &Path, kind: &str) -> Vec<String> {
    let all =
        std::fs::read_dir(data).expect("it is there").map(|entry| entry.expect("one").file_name());
    let mut names: Vec<String> = all.map(|name| name.to_string_lossy().into_owned()).collect();
    names.retain(|name| name.starts_with(kind));
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_has_only_its_reserve_left_gets_no_new_generation_and_bookings_go_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let (running, generations) = Running::on(&data).await;
    running.book(0).await;
    let mut compactor = running.engine.new_compactor(generations, 0, u64::MAX);
    let looked = tokio::task::spawn_blocking(move || {
        let looked = compactor.compact_if_due().expect("nothing was written");
        // Begun all the same, it ends before the first group.
        let refused = compactor.compact().expect_err("there is no room");
        assert!(matches!(refused, StoreError::NoRoom { .. }), "{refused}");
        looked
    });
    assert_eq!(looked.await.expect("joined"), CompactionCheck::Postponed);
    assert_eq!(names(&data, "snapshots"), ["snapshots-000001"]);
    running.book(1).await;
    running.ends_whole(&data).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_look_that_fails_harms_no_booking_and_the_next_makes_the_generation() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let (running, generations) = Running::on(&data).await;
    running.book(0).await;
    let mut compactor = running.engine.new_compactor(generations, 0, 0);
    let (snapshots, away) = (data.join("snapshots-000001"), folder.path().join("away"));
    std::fs::rename(&snapshots, &away).expect("it is ours");
    let looking = tokio::task::spawn_blocking(move || {
        (compactor.compact_if_due().expect("nothing was written"), compactor)
    });
    let (looked, mut compactor) = looking.await.expect("joined");
    assert_eq!(
        (looked, names(&data, "journal")),
        (CompactionCheck::Postponed, vec!["journal-000001".to_owned()])
    );
    running.book(1).await;
    std::fs::rename(&away, &snapshots).expect("it is ours");
    let looked =
        tokio::task::spawn_blocking(move || compactor.compact_if_due().expect("the disk takes it"))
            .await;
    assert_eq!(
        looked.expect("joined"),
        CompactionCheck::Completed(CompactionStats { copied: 0, written: 2 })
    );
    assert_eq!(names(&data, "snapshots"), ["snapshots-000001", "snapshots-000002"]);
    running.ends_whole(&data).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn journals_of_many_lives_become_a_new_generation_however_short_they_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    for life in 1..=17 {
        let (running, generations) = Running::on(&data).await;
        running.book(life).await;
        let mut compactor = running.engine.new_compactor(generations, u64::MAX, 0);
        let looking = tokio::task::spawn_blocking(move || compactor.compact_if_due());
        let looked = looking.await.expect("joined").expect("the disk takes it");
        if life <= 16 {
            assert_eq!(looked, CompactionCheck::NotDue, "in life {life}");
            running.ends().await;
        } else {
            let made = CompactionStats { copied: 0, written: 2 };
            assert_eq!(looked, CompactionCheck::Completed(made));
            running.ends_whole(&data).await;
        }
    }
    // It is named by the journal after it.
    assert_eq!(names(&data, "snapshots"), ["snapshots-000001", "snapshots-000018"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_damaged_on_disk_is_written_anew_from_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut document = practice(1);
    let other = serde_json::json!({"id": 2, "name": "Unchanged", "timezone": "UTC"});
    document["groups"].as_array_mut().expect("a list").push(other);
    let data = store_of(folder.path(), &document);
    let (running, generations) = Running::on(&data).await;
    running.book(0).await;
    let path = data.join("snapshots-000001").join("db");
    let mut bytes = std::fs::read(&path).expect("it is there");
    let at =
        bytes.windows(9).position(|window| window == b"Unchanged").expect("it is written plainly");
    bytes[at] = b'X';
    std::fs::write(&path, &bytes).expect("it is written");
    let mut compactor = running.engine.new_compactor(generations, 0, 0);
    let looking = tokio::task::spawn_blocking(move || {
        [compactor.compact_if_due(), compactor.compact_if_due()]
    });
    let [first, second] =
        looking.await.expect("joined").map(|looked| looked.expect("the disk takes it"));
    assert_eq!(
        (first, second),
        (
            CompactionCheck::SourceDamaged,
            CompactionCheck::Completed(CompactionStats { copied: 0, written: 3 })
        )
    );
    running.ends_whole(&data).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_deleted_longer_ago_than_they_are_kept_are_gone_from_memory_and_disk() {
    const ROUND: i64 = 300;
    let folder = tempfile::tempdir().expect("a folder");
    let mut document = practice(1);
    // Messages are remembered by rules of their own.
    document["groups"][0]["sendmail"] = serde_json::json!(false);
    document["groups"][0]["history_days"] = serde_json::json!(0);
    let data = store_of(folder.path(), &document);
    let (running, generations) = Running::on(&data).await;
    let mut compactor = running.engine.new_compactor(generations, 0, 0);
    let kept = running.book(10_000).await;
    let mut sizes = Vec::new();
    let mut last_id = 0;
    for round in 0..3 {
        for nth in 0..ROUND {
            let id = running.book(round * ROUND + nth).await;
            assert!(id.number() > last_id, "no id is given twice");
            last_id = id.number();
            running.cancel(id).await;
        }
        assert_eq!(running.engine.remove_deleted(5).await, 0, "they were deleted just now");
        running.clock.set(running.engine.clock().now().plus_seconds(5 * DAY + 1));
        assert_eq!(running.engine.remove_deleted(5).await, usize::try_from(ROUND).expect("small"));
        assert!(running.engine.end_history().await > 0, "rows of 5 days ago are old");
        let group_state = running.group_state();
        // Those of the removal just now, and what is left of the last chunk before.
        let rows = group_state.history.len();
        assert!((300..400).contains(&rows), "{rows} rows");
        assert!(
            group_state.rows.contains_key(&kept)
                && group_state.rows.values().all(|row| !row.deleted)
        );
        let made;
        (compactor, made) = tokio::task::spawn_blocking(move || {
            let made = compactor.compact().expect("the disk takes it");
            (compactor, made)
        })
        .await
        .expect("joined");
        assert_eq!(made, Some(CompactionStats { copied: 0, written: 2 }));
        let mut without_history = group_state.as_ref().clone();
        without_history.history = History::default();
        let mut bytes = 0;
        let counted: Result<(), std::convert::Infallible> =
            state::write_group(&without_history, |frame| {
                bytes += frame.len();
                Ok(())
            });
        counted.expect("counting never fails");
        sizes.push((group_state.rows.len(), bytes));
    }
    assert_eq!((sizes[1], sizes[2]), (sizes[0], sizes[0]), "events and bytes of a snapshot");
    drop(compactor);
    running.ends_whole(&data).await;
}
