//! Bookings for benchmarks: decided on a state alone, or by a whole engine.

use std::sync::Arc;
use std::time::{Duration, Instant as Stopwatch};

use slotbook::clock::ManualClock;
use slotbook::domain::availability::bookable::bookable;
use slotbook::domain::decisions::book;
use slotbook::domain::decisions::decision::{Context, Decision, Environment, LinkDraws};
use slotbook::domain::directory::Directory;
use slotbook::domain::directory::id_blocks::IdKind;
use slotbook::domain::records::author::Author;
use slotbook::domain::records::hold::HoldToken;
use slotbook::domain::records::ids::GroupId;
use slotbook::domain::records::vevent::AppointmentKey;
use slotbook::domain::state::command::{BookAppointment, Command};
use slotbook::domain::state::delivery_step::LatePolicy;
use slotbook::domain::state::event::Event;
use slotbook::domain::state::group_state::GroupState;
use slotbook::domain::time::Instant;
use slotbook::engine::admission::AdmissionLimits;
use slotbook::engine::mailbox::Transport;
use slotbook::engine::randomness::Randomness;
use slotbook::engine::{Engine, EngineParts};
use slotbook::store::{BatchNumber, Checkpoint, JournalRecord, Log, StoreError};

use crate::booking_command::booking;
use crate::practice::morning;

/// Books a free start on a state whose calendars reply at once.
pub(crate) fn decide_booking(
    state: &GroupState,
    command: &BookAppointment,
    draws: &mut Draws,
    now: Instant,
) -> Event {
    let mut context = Context { state, now, environment: draws };
    let asked = book::decide(&mut context, command).expect("legal");
    let Decision::Ask(pending) = asked else { panic!("a booking asks a calendar: {asked:?}") };
    let slot = pending.slot();
    let view = state.calendars.get(&slot.calendar_id).expect("every calendar has a view");
    let verdict = bookable(&state.catalogue, view, &slot.request, now);
    match pending.on_reply(&mut context, verdict) {
        Ok(Decision::Event(event, _)) => event,
        other => panic!("the only candidate is free: {other:?}"),
    }
}

/// Draws of a booking whose ids are larger than those of any practice.
pub(crate) struct Draws;

impl Environment for Draws {
    fn id(&self, _: IdKind, _: u64, position: usize) -> u64 {
        2_000_000 + position as u64
    }

    fn number(&mut self) -> u64 {
        0
    }

    fn key(&mut self) -> AppointmentKey {
        AppointmentKey::new("abcdefghijklmnopqrst").expect("20 letters")
    }

    fn hold_token(&mut self) -> HoldToken {
        HoldToken::new(&"0".repeat(32)).expect("32 digits")
    }

    fn link(&mut self, _: GroupId) -> LinkDraws {
        unreachable!("a booking makes no link")
    }

    fn steady_now(&self) -> Instant {
        unreachable!("a booking needs no steady time")
    }

    fn late_policy(&self) -> LatePolicy {
        unreachable!("a booking sends no message")
    }
}

/// A log that forgets: what the engine costs without a disk.
pub(crate) struct NoDisk(pub(crate) BatchNumber);

impl Log for NoDisk {
    fn append(&mut self, _: &[JournalRecord]) -> Result<BatchNumber, StoreError> {
        self.0 = self.0.next();
        Ok(self.0)
    }

    fn sync_watermark(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    fn checkpoint(&mut self) -> Result<Checkpoint, StoreError> {
        Ok(Checkpoint { last: self.0, epoch: 0 })
    }

    fn close(self) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Books `count` starts in the first group from `clients` tasks at once; the time it took. Every booking is answered and found.
pub(crate) fn book_all<L: Log + 'static>(
    log: L,
    directory: Directory,
    group_states: Vec<Arc<GroupState>>,
    clients: u64,
    count: u64,
) -> Duration {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build();
    runtime.expect("a runtime").block_on(async move {
        let first = &group_states[0].catalogue;
        let (group, calendars) = (first.group.id, first.calendars.len() as u64);
        let parts = EngineParts {
            directory,
            group_states: group_states.into_iter().collect(),
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
                        let wish = Command::BookAppointment(Box::new(booking(nth, calendars)));
                        let done =
                            engine.write(group, Author::Visitor, wish).await.expect("a free start");
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
