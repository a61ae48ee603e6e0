//! What reminders cost: planning those of a million appointments, and how late they leave when a thousand are due at once.

mod practice;
#[path = "practice/trial.rs"]
mod trial;

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use criterion::{Criterion, SamplingMode, criterion_group, criterion_main};
use practice::{group, morning, practice};
use slotbook::clock::{Clock, SystemClock};
use slotbook::domain::directory::Directory;
use slotbook::domain::messaging::planning;
use slotbook::domain::records::text::{Email, ReminderLead};
use slotbook::domain::state::delivery_step::DueItem;
use slotbook::domain::state::group_state::GroupState;
use slotbook::domain::state::recipient_quota::MessageQuota;
use slotbook::domain::time::{DAY, Instant, MINUTE};
use slotbook::engine::admission::AdmissionLimits;
use slotbook::engine::mailbox::Transport;
use slotbook::engine::queue::Queue;
use slotbook::engine::randomness::Randomness;
use slotbook::engine::{Engine, EngineParts, MessagingOptions};
use slotbook::notify::Gateways;
use slotbook::store::SimulatedDisk;
use trial::is_a_trial;

/// A practice that reminds every client by mail an hour before.
fn reminding(calendars: u64, days: i64, a_day: i64) -> GroupState {
    let mut group_state = practice(calendars, days, a_day);
    let catalogue = Arc::make_mut(&mut group_state.catalogue);
    catalogue.group.mailreminder = ReminderLead::new(60).expect("a lead");
    let fiches: Vec<_> = group_state.fiches.values().cloned().collect();
    for mut fiche in fiches {
        Arc::make_mut(&mut fiche).email =
            Some(Email::new("client@example.org").expect("an address"));
        group_state.put_fiche(fiche);
    }
    group_state
}

/// The reminders of a million appointments over 92 days: found, and put into the timer's queue; all of them at once, as
/// though they were due within its horizon.
fn planning_of_a_million(c: &mut Criterion) {
    // A trial plans 110,000.
    let calendars = if is_a_trial() { 100 } else { 906 };
    let group_state = reminding(calendars, 92, 12);
    let a_day = 12 * usize::try_from(calendars).expect("a small number");
    let least = 92 * a_day * 99 / 100;
    assert!(group_state.rows.len() >= 92 * a_day);
    let found = |days: i64| {
        let planned = planning::reminders_due_before(
            black_box(&group_state),
            morning(),
            morning().plus_seconds(days * DAY),
        );
        planned
            .map(|it| (DueItem::Reminder(it.appointment, it.channel), it.due))
            .collect::<Vec<_>>()
    };
    let planned = || {
        let mut queue = Queue::default();
        queue.replace(group(), found(100));
        queue
    };
    // What building one leaves behind serves for the next: three more take what they hold.
    let mut queue = planned();
    let before = resident_bytes();
    let more = [planned(), planned(), planned()];
    let each = resident_bytes().saturating_sub(before)
        / more.iter().map(|queue| queue.len() as u64).sum::<u64>();
    drop(more);
    eprintln!("messages/plan_1000000_reminders: {each} bytes each");
    assert!((40..100).contains(&each), "{each} bytes");
    c.bench_function("messages/find_4_days_of_1000000_appointments", |b| {
        b.iter(|| assert!(found(4).len() >= 4 * a_day));
    });
    let mut group_of = c.benchmark_group("messages");
    group_of.sample_size(10);
    group_of.bench_function("plan_1000000_reminders", |b| {
        b.iter(|| {
            let mut queue = Queue::default();
            queue.replace(group(), found(100));
            assert!(queue.len() > least);
            queue
        });
    });
    group_of.bench_function("plan_1000000_reminders_again", |b| {
        b.iter(|| {
            queue.replace(group(), found(100));
            assert!(queue.len() > least);
        });
    });
    group_of.finish();
}

fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("Linux tells it");
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it is there");
    line.trim().strip_suffix("kB").expect("in KiB").trim().parse::<u64>().expect("a number") * 1_024
}

/// How late the 990th of a thousand is settled that are due in the same second, with nobody to carry them: by then its
/// attempt was decided, durable and published.
fn lateness(c: &mut Criterion) {
    let mut group_of = c.benchmark_group("messages");
    // Each takes two seconds of waiting, of which nothing is measured.
    group_of.sampling_mode(SamplingMode::Flat).sample_size(10);
    group_of.warm_up_time(Duration::from_millis(1)).measurement_time(Duration::from_millis(10));
    group_of.bench_function("p99_lateness_of_1000_due_in_one_second", |b| {
        b.iter_custom(|times| (0..times).map(|_| once()).sum());
    });
    group_of.finish();
}

/// The machine's clock, set so that it soon shows what a benchmark wants.
struct Set {
    ahead_seconds: i64,
}

impl Clock for Set {
    fn now(&self) -> Instant {
        SystemClock.now().plus_seconds(self.ahead_seconds)
    }

    fn subsecond(&self) -> Duration {
        SystemClock.subsecond()
    }
}

fn once() -> Duration {
    let group_state = reminding(1_000, 1, 1);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    // An hour before eight o'clock.
    let due = morning().plus_seconds(-30 * MINUTE);
    let clock =
        Arc::new(Set { ahead_seconds: due.plus_seconds(-2).seconds_since(SystemClock.now()) });
    let (log, _) = SimulatedDisk::new().recover(|_, _| Ok(())).expect("an empty disk");
    let mut directory = Directory::default();
    group_state.claim_ids(&mut directory);
    runtime.block_on(async {
        let parts = EngineParts {
            directory,
            group_states: [group_state].into(),
            clock: Arc::clone(&clock) as Arc<dyn Clock>,
            randomness: Randomness::seeded([1; 32]),
            transport: Transport::direct(),
            admission_limits: AdmissionLimits::default(),
            decision_timeout: Duration::from_secs(10),
        };
        let (engine, journal) = Engine::start(parts, log).await;
        std::thread::spawn(move || journal.run());
        let sending = MessagingOptions {
            gateways: Arc::new(Gateways::unconfigured("http://localhost")),
            quota: MessageQuota { recipient_daily_max: 2_000, by_key_daily_max: 0 },
            randomness: Randomness::seeded([2; 32]),
            transport: Transport::direct(),
            poll_interval_max: Duration::from_secs(15),
            concurrent_attempts_max: 16,
        };
        engine.send_messages(sending).await;
        let settled =
            || engine.published().group_state(group()).expect("the group").outbox.messages().len();
        loop {
            let none = settled() == 0;
            if clock.now() >= due {
                break;
            }
            assert!(none, "none before its time");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        while settled() < 990 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let seconds = clock.now().seconds_since(due);
        Duration::from_secs(u64::try_from(seconds).expect("it was due")) + clock.subsecond()
    })
}

criterion_group!(benches, planning_of_a_million, lateness);
criterion_main!(benches);
