//! The engine in simulated time: seeded delays between actors, a disk that loses power, one story per seed.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use slotbook::clock::ManualClock;
use slotbook::domain::directory::id_blocks::IdKind;
use slotbook::domain::directory::{Directory, DirectoryEvent};
use slotbook::domain::records::author::Author;
use slotbook::domain::records::ids::{GroupId, VeventId};
use slotbook::domain::records::vevent::Permits;
use slotbook::domain::state::command::{CancelAppointment, CancelRight, Command};
use slotbook::domain::state::group_record::GroupRecord;
use slotbook::domain::state::group_state::GroupState;
use slotbook::engine::admission::AdmissionLimits;
use slotbook::engine::health::{FatalCondition, WritesUnavailable};
use slotbook::engine::mailbox::Transport;
use slotbook::engine::randomness::Randomness;
use slotbook::engine::{AcceptanceHook, Engine, EngineParts, Rejection};
use slotbook::store::codec;
use slotbook::store::state;
use slotbook::store::{InjectedFault, SimulatedDisk, Stream, Tail};
use tokio::time::sleep;

use super::shop::{SECRET, Shop, booking_of, calendar};

pub(super) fn group() -> GroupId {
    GroupId::new(1).expect("an id")
}

pub(super) fn parts(
    shop: &Shop,
    directory: Directory,
    group_state: GroupState,
    seed: u8,
) -> EngineParts {
    EngineParts {
        directory,
        group_states: [group_state].into(),
        clock: Arc::new(ManualClock::at(shop.now)),
        randomness: Randomness::seeded([seed; 32]),
        transport: Transport::delayed(u64::from(seed), Duration::from_millis(5)),
        admission_limits: AdmissionLimits::default(),
        decision_timeout: Duration::from_secs(10),
    }
}

pub(super) fn simulated<F: Future>(story: F) -> F::Output {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(story)
}

/// The directory of a shop that was imported.
pub(super) fn imported(shop: &Shop) -> Directory {
    let mut directory = Directory::default();
    shop.group_state.claim_ids(&mut directory);
    directory
}

/// The state on disk, replayed from the first state.
pub(super) fn recovered(shop: &Shop, disk: &SimulatedDisk) -> (Directory, GroupState) {
    let (mut directory, mut group_state) = (imported(shop), shop.group_state.clone());
    disk.recover(|_, record| {
        match record.stream {
            Stream::Directory => {
                directory = directory.apply(&codec::decode::<DirectoryEvent>(&record.bytes)?)
            }
            Stream::Group(_) => {
                group_state = group_state.apply(&codec::decode::<GroupRecord>(&record.bytes)?.event)
            }
        }
        Ok(())
    })
    .expect("what was written is read");
    (directory, group_state)
}

pub(super) fn two_open_calendars() -> Shop {
    Shop::open_on_tuesday().opened(2, "2026-03-03 09:00", "2026-03-03 12:00", "", Permits::All)
}

/// One client's wish.
fn wish(client: usize, half_hour: i64, on: Option<u64>) -> Command {
    let mut command = booking_of(&format!("client{client}"), "2026-03-03 09:00");
    command.date = command.date.plus_seconds(half_hour * 1_800);
    command.calendar_id = on.map(calendar);
    Command::BookAppointment(Box::new(command))
}

/// Tells a story on a disk that loses power after some time; what each client was told, in the order of their wishes.
fn story(
    shop: &Shop,
    disk: &SimulatedDisk,
    seed: u8,
    power: Duration,
) -> Vec<Option<Result<Vec<VeventId>, String>>> {
    simulated(async {
        let (directory, group_state) = recovered(shop, disk);
        let (log, _) = disk.recover(|_, _| Ok(())).expect("it was read before");
        let (engine, journal) = Engine::start(parts(shop, directory, group_state, seed), log).await;
        tokio::spawn(journal.run_simulated(|| Duration::from_millis(3)));
        let clients: Vec<_> = (0..60)
            .map(|client| {
                let engine = engine.clone();
                let on = [None, Some(1), Some(2)][client % 3];
                let half_hour = i64::try_from(client).expect("small") * 7 % 6;
                tokio::spawn(async move {
                    sleep(Duration::from_micros(u64::try_from(client).expect("small") * 700)).await;
                    let done = engine
                        .write(group(), Author::Visitor, wish(client % 20, half_hour, on))
                        .await?;
                    // Whoever has been answered sees the effect in every later read.
                    let published = engine.published().group_state(group()).expect("the group");
                    assert!(done.appointments.iter().all(|id| published.rows.contains_key(id)));
                    Ok::<_, Rejection>(done.appointments)
                })
            })
            .collect();
        let mut told = Vec::new();
        let deadline = tokio::time::Instant::now() + power;
        for client in clients {
            let answer = tokio::time::timeout_at(deadline, client).await.ok();
            told.push(answer.map(|joined| {
                joined.expect("no client panics").map_err(|rejection| format!("{rejection:?}"))
            }));
        }
        told
    })
}

#[test]
fn what_was_answered_survives_a_power_cut_at_any_moment() {
    for seed in 0..40_u8 {
        let shop = two_open_calendars();
        let disk = SimulatedDisk::new();
        let mut answered: Vec<VeventId> = Vec::new();
        for life in 0..3_u8 {
            let power = Duration::from_millis(5 + u64::from(seed) * 3 + u64::from(life) * 11);
            let told = story(&shop, &disk, seed.wrapping_mul(3).wrapping_add(life), power);
            answered.extend(told.into_iter().flatten().filter_map(Result::ok).flatten());
            disk.crash([Tail::Lost, Tail::Torn(1), Tail::Whole][usize::from(seed % 3)]);
            let (_, group_state) = recovered(&shop, &disk);
            for id in &answered {
                let row = group_state
                    .rows
                    .get(id)
                    .unwrap_or_else(|| panic!("{id} was answered and is lost, seed {seed}"));
                let client = row.appointment().expect("an appointment").fiche_id;
                assert!(
                    group_state.fiches.contains_key(&client),
                    "an appointment never comes without its client"
                );
            }
            for view in group_state.calendars.values() {
                let all: Vec<_> = view.taken().iter().collect();
                assert!(
                    all.windows(2).all(|p| p[0].interval.end <= p[1].interval.start),
                    "no hour is given away twice"
                );
            }
        }
        assert!(!answered.is_empty(), "seed {seed} answered nobody");
    }
}

#[test]
fn the_same_seed_tells_the_same_story() {
    let tell = |seed| {
        let (shop, disk) = (two_open_calendars(), SimulatedDisk::new());
        let told = story(&shop, &disk, seed, Duration::from_secs(60));
        (told, state::hash(&recovered(&shop, &disk).1))
    };
    assert_eq!(tell(7), tell(7));
    assert_ne!(tell(7).1, tell(8).1, "keys are drawn anew");
}

#[test]
fn everybody_is_answered_once_and_nobody_gets_a_taken_start() {
    let (shop, disk) = (two_open_calendars(), SimulatedDisk::new());
    let told = story(&shop, &disk, 1, Duration::from_secs(60));
    let booked = told.iter().flatten().filter(|answer| answer.is_ok()).count();
    assert!(told.iter().all(Option::is_some));
    let (directory, group_state) = recovered(&shop, &disk);
    assert_eq!(
        group_state.calendars.values().map(|view| view.taken().iter().count()).sum::<usize>(),
        booked
    );
    assert_eq!(
        directory.blocks.len(),
        3,
        "the import's and one block of ids per kind, however many refusals"
    );
}

#[test]
fn after_a_failed_write_nobody_is_answered_any_more() {
    for fault in [InjectedFault::Write, InjectedFault::Sync, InjectedFault::SyncAfterAll] {
        let (shop, disk) = (two_open_calendars(), SimulatedDisk::new());
        disk.fail_append(2, fault);
        let told = story(&shop, &disk, 3, Duration::from_secs(60));
        let booked: Vec<_> = told.iter().flatten().flatten().flatten().copied().collect();
        assert!(told.iter().any(Option::is_none), "those whose batch failed wait for ever");
        disk.crash(Tail::Lost);
        let (_, group_state) = recovered(&shop, &disk);
        assert!(booked.iter().all(|id| group_state.rows.contains_key(id)));
    }
}

#[test]
fn over_the_bound_and_after_the_deadline_nothing_is_done() {
    simulated(async {
        let (shop, disk) = (two_open_calendars(), SimulatedDisk::new());
        let (log, _) = disk.recover(|_, _| Ok(())).expect("an empty disk");
        let mut parts = parts(&shop, imported(&shop), shop.group_state.clone(), 1);
        parts.admission_limits = AdmissionLimits { writes_max: 10, group_writes_max: 2 };
        parts.decision_timeout = Duration::ZERO;
        let (engine, journal) = Engine::start(parts, log).await;
        let journal = tokio::spawn(journal.run_simulated(|| Duration::from_millis(1)));
        let writes: Vec<_> = (0..3)
            .map(|n| {
                let engine = engine.clone();
                tokio::spawn(async move {
                    engine.write(group(), Author::Visitor, wish(n, 0, Some(1))).await
                })
            })
            .collect();
        let mut told = Vec::new();
        for write in writes {
            told.push(write.await.expect("no panic").expect_err("nothing is done"));
        }
        assert!(
            matches!(
                told[..],
                [Rejection::DecisionTimeout, Rejection::DecisionTimeout, Rejection::Overloaded]
            ),
            "{told:?}"
        );
        let group_less =
            engine.write(GroupId::new(9).expect("an id"), Author::Visitor, wish(0, 0, None)).await;
        assert!(matches!(group_less, Err(Rejection::GroupNotFound)));
        engine.shut_down().await;
        journal.await.expect("no panic").expect("the log closes");
        assert_eq!(recovered(&shop, &disk).1.sequence, 0);
    });
}

#[test]
fn shutting_down_answers_all_that_was_let_in_and_ends_the_journal() {
    simulated(async {
        let (shop, disk) = (two_open_calendars(), SimulatedDisk::new());
        let (log, _) = disk.recover(|_, _| Ok(())).expect("an empty disk");
        let (engine, journal) =
            Engine::start(parts(&shop, imported(&shop), shop.group_state.clone(), 1), log).await;
        let journal = tokio::spawn(journal.run_simulated(|| Duration::from_millis(1)));
        let booked = tokio::spawn({
            let engine = engine.clone();
            async move { engine.write(group(), Author::Visitor, wish(0, 0, Some(1))).await }
        });
        tokio::task::yield_now().await;
        let late = engine.clone();
        engine.shut_down().await;
        let id = booked.await.expect("no panic").expect("it was let in").appointments[0];
        let refused = late.write(group(), Author::Visitor, wish(1, 1, Some(1))).await;
        assert!(matches!(refused, Err(Rejection::Overloaded)));
        drop(late);
        journal.await.expect("no panic").expect("the log closes");
        assert!(recovered(&shop, &disk).1.rows.contains_key(&id));
    });
}

#[test]
fn a_cancel_gives_the_start_back_to_the_next_search() {
    simulated(async {
        let (shop, disk) = (two_open_calendars(), SimulatedDisk::new());
        let (log, _) = disk.recover(|_, _| Ok(())).expect("an empty disk");
        let (engine, journal) =
            Engine::start(parts(&shop, imported(&shop), shop.group_state.clone(), 1), log).await;
        tokio::spawn(journal.run_simulated(|| Duration::from_millis(1)));
        let done = engine.write(group(), Author::Visitor, wish(0, 0, Some(1))).await.expect("free");
        let row = done.group_state.rows.get(&done.appointments[0]).expect("there");
        let key = row.appointment().expect("one").key.as_str().to_owned();
        assert_ne!(key, SECRET);
        let cancel = |right| Command::CancelAppointment(CancelAppointment { id: row.id, right });
        let wrong = engine
            .write(group(), Author::Visitor, cancel(CancelRight::Secret(SECRET.into())))
            .await;
        assert!(matches!(wrong, Err(Rejection::Refused(_))));
        for _ in 0..2 {
            let done = engine
                .write(group(), Author::Visitor, cancel(CancelRight::Secret(key.clone())))
                .await
                .expect("its own key");
            assert!(done.group_state.rows.get(&row.id).expect("kept").deleted);
        }
        engine.write(group(), Author::Visitor, wish(1, 0, Some(1))).await.expect("free again");
        assert_eq!(recovered(&shop, &disk).1.sequence, 3, "the second cancel was no event");
    });
}

/// One worker of a real runtime, because only such a one runs a woken task before the others.
#[test]
fn ready_requests_are_read_before_a_group_decides_and_those_that_wait_are_decided_at_once() {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(1).event_interval(u32::MAX).enable_time().build();
    let runtime = runtime.expect("a runtime");
    let order = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&order);
    let story = async move {
        let (shop, disk) = (two_open_calendars(), SimulatedDisk::new());
        let (log, _) = disk.recover(|_, _| Ok(())).expect("an empty disk");
        let parts = parts(&shop, imported(&shop), shop.group_state.clone(), 1);
        let at_once = EngineParts { transport: Transport::direct(), ..parts };
        let (engine, journal) = Engine::start(at_once, log).await;
        tokio::spawn(journal.run_simulated(|| Duration::ZERO));
        let note = move |what: &'static str| noted.lock().expect("whole").push(what);
        let mut tasks = Vec::new();
        for (client, what) in [(0, "first"), (1, "second")] {
            let half_hour = i64::try_from(client).expect("small");
            let booked =
                engine.write(group(), Author::Visitor, wish(client, half_hour, Some(1))).await;
            let (id, right) = (booked.expect("free").appointments[0], CancelRight::Pro);
            let command = Command::CancelAppointment(CancelAppointment { id, right });
            let (engine, note) = (engine.clone(), note.clone());
            tasks.push(async move {
                let hook = AcceptanceHook::new(move || {
                    note(what);
                    tokio::spawn(async move { note("read later") });
                });
                let done = engine
                    .write_idempotent(group(), Author::Visitor, command, None, Some(hook))
                    .await;
                done.expect("it is cancelled");
            });
        }
        let mut running: Vec<_> = tasks.into_iter().map(tokio::spawn).collect();
        running.push(tokio::spawn(async move { note("read") }));
        // The last task spawned would be the next to run, before the others.
        running.push(tokio::spawn(async {}));
        for task in running {
            task.await.expect("no panic");
        }
    };
    runtime.block_on(runtime.spawn(story)).expect("no panic");
    let order = order.lock().expect("whole");
    assert_eq!(order[..3], ["read", "first", "second"]);
}

#[test]
fn a_batch_that_takes_long_keeps_writes_out_and_one_that_never_ends_is_fatal() {
    simulated(async {
        let (shop, disk) = (two_open_calendars(), SimulatedDisk::new());
        let (log, _) = disk.recover(|_, _| Ok(())).expect("an empty disk");
        let (engine, journal) =
            Engine::start(parts(&shop, imported(&shop), shop.group_state.clone(), 1), log).await;
        tokio::spawn(journal.run_simulated(|| Duration::from_secs(70)));
        let first = tokio::spawn({
            let engine = engine.clone();
            async move { engine.write(group(), Author::Visitor, wish(0, 0, Some(1))).await }
        });
        sleep(Duration::from_secs(4)).await;
        assert_eq!(engine.health().writes_unavailable(), None);
        sleep(Duration::from_secs(2)).await;
        let late = engine.write(group(), Author::Visitor, wish(1, 1, Some(1))).await;
        assert!(
            matches!(late, Err(Rejection::WritesUnavailable(WritesUnavailable::SlowDisk(5)))),
            "{late:?}"
        );
        // A pause of the process is no stalled disk: nothing looked meanwhile.
        sleep(Duration::from_secs(62)).await;
        for look in 1..300 {
            assert_eq!(engine.health().look(), None, "{look}");
        }
        assert_eq!(engine.health().look(), Some(FatalCondition::DiskStalled(60)));
        // The next batch is looked at anew.
        sleep(Duration::from_secs(10)).await;
        let next = tokio::spawn({
            let engine = engine.clone();
            async move { engine.write(group(), Author::Visitor, wish(2, 2, Some(1))).await }
        });
        sleep(Duration::from_secs(1)).await;
        assert_eq!(engine.health().look(), None);
        drop(next);
        drop(first);
    });
}

#[test]
fn a_disk_without_room_keeps_writes_out_until_it_has_some() {
    simulated(async {
        let (shop, disk) = (two_open_calendars(), SimulatedDisk::new());
        let (log, _) = disk.recover(|_, _| Ok(())).expect("an empty disk");
        let (engine, journal) =
            Engine::start(parts(&shop, imported(&shop), shop.group_state.clone(), 1), log).await;
        tokio::spawn(journal.run_simulated(|| Duration::from_millis(1)));
        engine.health().set_disk_has_room(false);
        let refused = engine.write(group(), Author::Visitor, wish(0, 0, Some(1))).await;
        assert!(
            matches!(refused, Err(Rejection::WritesUnavailable(WritesUnavailable::LowDiskSpace))),
            "{refused:?}"
        );
        engine.health().set_disk_has_room(true);
        engine.write(group(), Author::Visitor, wish(0, 0, Some(1))).await.expect("free");
        let health = Arc::clone(engine.health());
        engine.shut_down().await;
        sleep(Duration::from_secs(1)).await;
        assert_eq!(health.look(), None, "a supervisor that was told to end is no failure");
    });
}

#[test]
fn a_group_that_knows_more_than_the_directory_is_never_given_an_id_in_use() {
    simulated(async {
        let (shop, disk, mut used) = (two_open_calendars(), SimulatedDisk::new(), 0);
        for half_hour in 0..3 {
            let (known, group_state) = recovered(&shop, &disk);
            let (log, _) = disk.recover(|_, _| Ok(())).expect("it was read before");
            // Each time the one of the import: it has never heard of the blocks granted since.
            let directory = Directory { sequence: known.sequence, ..imported(&shop) };
            let (engine, journal) =
                Engine::start(parts(&shop, directory, group_state, 1), log).await;
            tokio::spawn(journal.run_simulated(|| Duration::from_millis(1)));
            let client = usize::try_from(half_hour).expect("small");
            let done = engine
                .write(group(), Author::Visitor, wish(client, half_hour, Some(1)))
                .await
                .expect("free");
            assert!(done.appointments.iter().all(|id| !done.before.rows.contains_key(id)));
            assert_eq!(done.group_state.rows.len(), done.before.rows.len() + 1);
            let fiche = done.group_state.highest_id(IdKind::Fiche);
            assert!(fiche > used, "client {fiche} comes after {used}");
            used = fiche;
            engine.shut_down().await;
        }
    });
}
