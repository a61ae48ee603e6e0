//! Booking: publishing the next state of a group, and the whole engine with and without a disk under it.

mod practice;

use std::sync::Arc;
use std::time::{Duration, Instant as Stopwatch};

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use practice::{MONDAY, calendar, group, intervention, morning, practice};
use slotbook::clock::ManualClock;
use slotbook::domain::booking::book::{BookingStep, prepare_booking};
use slotbook::domain::booking::bookable::bookable;
use slotbook::domain::identity::directory::Directory;
use slotbook::domain::records::fiche::Fiche;
use slotbook::domain::records::ids::{FicheId, VeventId};
use slotbook::domain::records::text::{LongText, Name, Text};
use slotbook::domain::records::vevent::AppointmentKey;
use slotbook::domain::state::command::{
    BookAppointment, BookingDraws, Caller, Client, Command, Patch,
};
use slotbook::domain::state::event::Event;
use slotbook::domain::state::group_state::GroupState;
use slotbook::domain::time::{DAY, HOUR, Instant};
use slotbook::engine::admission::AdmissionLimits;
use slotbook::engine::mailbox::Transport;
use slotbook::engine::randomness::Randomness;
use slotbook::engine::recovery;
use slotbook::engine::{Engine, EngineParts};
use slotbook::store::{BatchNumber, JournalRecord, Log, StoreError};

/// The `nth` free start of a practice whose appointments begin at full hours: half past, on one calendar after another.
fn booking(nth: u64, calendars: u64) -> BookAppointment {
    let round = i64::try_from(nth / calendars).expect("small");
    let mut fields = Patch::default();
    let name = Name::new("Somebody").expect("a name");
    fields.push(move |fiche: &mut Fiche| fiche.lastname = name.clone());
    BookAppointment {
        permission: None,
        caller: Caller::Application,
        from_web: true,
        date: MONDAY.plus_seconds(round / 12 * DAY + (8 + round % 12) * HOUR + 1_800),
        intervention_ids: vec![intervention()],
        calendar_id: Some(calendar(nth % calendars + 1)),
        client: Client { id: None, email: None, fields, customs: Vec::new() },
        comments: LongText::default(),
        internal_comments: Text::default(),
        websource: Text::default(),
        smsreminder: None,
        customs: Vec::new(),
    }
}

/// Books a free start on a state whose calendars reply at once.
fn decide_booking(
    state: &GroupState,
    command: &BookAppointment,
    draws: &BookingDraws,
    now: Instant,
) -> Event {
    let pending = prepare_booking(state, command, draws.clone(), now).expect("legal");
    let slot = pending.query();
    let view = state.calendars.get(&slot.calendar_id).expect("every calendar has a view");
    let verdict = bookable(&state.catalogue, view, &slot.request, now);
    match pending.on_reply(verdict, state, command, now) {
        BookingStep::Booked(event) => event,
        other @ (BookingStep::Ask(_) | BookingStep::Refused(_)) => {
            panic!("the only candidate is free: {other:?}")
        }
    }
}

fn publishing(c: &mut Criterion) {
    let group_state = practice(1_000, 84, 12);
    assert_eq!(group_state.rows.len(), 1_009_000);
    let draws = BookingDraws {
        fiche_id: FicheId::new(2_000_000).expect("an id"),
        legs: vec![(
            VeventId::new(2_000_000).expect("an id"),
            AppointmentKey::new("abcdefghijklmnopqrst").expect("20 letters"),
        )],
        order: 0,
    };
    let mut nth = 0;
    let mut next = || {
        nth = (nth + 7) % 100_000;
        booking(nth, 1_000)
    };
    c.bench_function("booking/decide_in_1000_calendars_1M_appointments", |b| {
        b.iter_batched_ref(
            &mut next,
            |wish| decide_booking(&group_state, wish, &draws, morning()),
            BatchSize::SmallInput,
        );
    });
    c.bench_function("booking/publish_into_1000_calendars_1M_appointments", |b| {
        b.iter_batched_ref(
            || decide_booking(&group_state, &next(), &draws, morning()),
            |event| {
                let after = group_state.apply(event);
                assert_eq!(after.sequence, 1);
                after
            },
            BatchSize::SmallInput,
        );
    });
}

/// A log that forgets: what the engine costs without a disk.
struct NoDisk(BatchNumber);

impl Log for NoDisk {
    fn append(&mut self, _: &[JournalRecord]) -> Result<BatchNumber, StoreError> {
        self.0 = self.0.next();
        Ok(self.0)
    }

    fn sync_watermark(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    fn close(self) -> Result<(), StoreError> {
        Ok(())
    }
}

const CALENDARS: u64 = 100;

/// Books `count` starts from `clients` tasks at once; the time it took. Every booking is answered and found.
fn book_all<L: Log + 'static>(
    log: L,
    directory: Directory,
    group_state: GroupState,
    clients: u64,
    count: u64,
) -> Duration {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build();
    runtime.expect("a runtime").block_on(async move {
        let parts = EngineParts {
            directory,
            group_states: vec![group_state],
            clock: Arc::new(ManualClock::at(morning())),
            randomness: Randomness::seeded([7; 32]),
            transport: Transport::direct(),
            admission_limits: AdmissionLimits::default(),
            decision_timeout: Duration::from_secs(60),
        };
        let (engine, journal) = Engine::start(parts, log).await;
        let journal = std::thread::spawn(move || journal.run());
        let started = Stopwatch::now();
        let tasks: Vec<_> = (0..clients)
            .map(|client| {
                let engine = engine.clone();
                tokio::spawn(async move {
                    for nth in (client..count).step_by(usize::try_from(clients).expect("small")) {
                        let wish = Command::BookAppointment(Box::new(booking(nth, CALENDARS)));
                        let done = engine.write(group(), wish).await.expect("a free start");
                        assert_eq!(done.appointments.len(), 1);
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.expect("no task panics");
        }
        let took = started.elapsed();
        engine.shut_down().await;
        tokio::task::spawn_blocking(move || journal.join().expect("no panic").expect("it closes"))
            .await
            .expect("joined");
        took
    })
}

fn engine(c: &mut Criterion) {
    let group_state = practice(CALENDARS, 1, 1);
    let mut directory = Directory::default();
    group_state.claim_ids(&mut directory);
    for clients in [1, 64] {
        c.bench_function(&format!("booking/engine_without_disk_{clients}_clients"), |b| {
            b.iter_custom(|count| {
                book_all(
                    NoDisk(BatchNumber(0)),
                    directory.clone(),
                    group_state.clone(),
                    clients,
                    count,
                )
            });
        });
        c.bench_function(&format!("booking/engine_durable_{clients}_clients"), |b| {
            b.iter_custom(|count| {
                let folder = tempfile::tempdir().expect("a folder");
                let path = folder.path().join("data");
                drop(
                    recovery::create(&path, &directory, std::slice::from_ref(&group_state))
                        .expect("a new store"),
                );
                let loaded = recovery::load(&path).expect("it was just made");
                let log = loaded.store.into_log().expect("it opens");
                book_all(log, loaded.directory, group_state.clone(), clients, count)
            });
        });
    }
}

criterion_group!(benches, publishing, engine);
criterion_main!(benches);
