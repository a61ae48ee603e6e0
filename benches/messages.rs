//! What reminders cost: planning those of a million appointments, and how late they leave when a thousand are due at once.

mod practice;

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant as Stopwatch};

use criterion::{Criterion, criterion_group, criterion_main};
use practice::{group, morning, practice};
use slotbook::clock::{Clock, ManualClock};
use slotbook::domain::directory::{Directory, IdKind};
use slotbook::domain::planning;
use slotbook::domain::root::Root;
use slotbook::domain::text::{Email, ReminderLead};
use slotbook::domain::time::{DAY, HOUR, MINUTE};
use slotbook::engine::admission::Bounds;
use slotbook::engine::draws::Draws;
use slotbook::engine::link::Wiring;
use slotbook::engine::{Engine, Parts, Sending};
use slotbook::notify::Carriers;
use slotbook::store::SimulatedDisk;

/// A practice that reminds every client by mail an hour before.
fn reminding(calendars: u64, days: i64, a_day: i64) -> Root {
    let mut root = practice(calendars, days, a_day);
    let catalogue = Arc::make_mut(&mut root.catalogue);
    catalogue.group.mailreminder = ReminderLead::new(60).expect("a lead");
    let fiches: Vec<_> = root.fiches.values().cloned().collect();
    for mut fiche in fiches {
        Arc::make_mut(&mut fiche).email = Some(Email::new("client@example.org").expect("an address"));
        root.put_fiche(fiche);
    }
    root
}

/// The queue of the next four days, made anew of a million appointments over 92 days.
fn planning_of_a_million(c: &mut Criterion) {
    let root = reminding(906, 92, 12);
    assert!(root.rows.len() > 1_000_000);
    c.bench_function("messages/plan_4_days_of_1000000_appointments", |b| {
        b.iter(|| {
            let until = morning().plus_seconds(4 * DAY);
            let planned = planning::due_before(black_box(&root), morning(), until).count();
            assert!(planned >= 4 * 12 * 906, "{planned}");
        });
    });
    c.bench_function("messages/plan_all_of_1000000_appointments", |b| {
        b.iter(|| {
            let until = morning().plus_seconds(100 * DAY);
            let planned = planning::due_before(black_box(&root), morning(), until).count();
            assert!(planned > 990_000, "{planned}");
        });
    });
}

/// From the second in which a thousand are due to the last of them settled, with nobody to carry them.
fn lateness(c: &mut Criterion) {
    let mut group_of = c.benchmark_group("messages");
    group_of.sample_size(10);
    group_of.bench_function("1000_due_in_one_second", |b| b.iter_custom(|times| (0..times).map(|_| once()).sum()));
    group_of.finish();
}

fn once() -> Duration {
    let root = reminding(1_000, 1, 1);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let clock = Arc::new(ManualClock::at(morning().plus_seconds(-HOUR)));
    let (log, _) = SimulatedDisk::new().recover(|_, _| Ok(())).expect("an empty disk");
    let mut directory = Directory::default();
    root.rows.keys().for_each(|id| directory.claim(IdKind::Vevent, id.number(), group()));
    runtime.block_on(async {
        let parts = Parts {
            directory,
            roots: vec![root],
            clock: Arc::clone(&clock) as Arc<dyn Clock>,
            draws: Draws::seeded([1; 32]),
            wiring: Wiring::direct(),
            bounds: Bounds::default(),
            patience: Duration::from_secs(10),
        };
        let (engine, journal) = Engine::start(parts, log).await;
        std::thread::spawn(move || journal.run());
        let sending = Sending {
            carriers: Arc::new(Carriers::nobody("http://localhost")),
            daily_max: 2_000,
            draws: Draws::seeded([2; 32]),
            wiring: Wiring::direct(),
            doze: Duration::from_millis(1),
            lane: 16,
        };
        engine.send_messages(sending).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        let settled = || engine.published().root(group()).expect("the group").outbox.messages().len();
        assert_eq!(settled(), 0, "none before its time");
        let begun = Stopwatch::now();
        // Five past seven: the reminders of eight o'clock are due.
        clock.set(morning().plus_seconds(-25 * MINUTE));
        while settled() < 1_000 {
            tokio::task::yield_now().await;
        }
        begun.elapsed()
    })
}

criterion_group!(benches, planning_of_a_million, lateness);
criterion_main!(benches);
