//! Booking: publishing the next state of a group, and the whole engine with and without a disk under it.

#[path = "practice/booking_command.rs"]
mod booking_command;
mod practice;
#[path = "practice/booking.rs"]
mod practice_booking;

use booking_command::booking;
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use practice::{morning, practice};
use practice_booking::{Draws, NoDisk, book_all, decide_booking};
use slotbook::domain::directory::Directory;
use slotbook::engine::recovery;
use slotbook::store::BatchNumber;

fn publishing(c: &mut Criterion) {
    let group_state = practice(1_000, 84, 12);
    assert_eq!(group_state.rows.len(), 1_009_000);
    let mut nth = 0;
    let mut next = || {
        nth = (nth + 7) % 100_000;
        booking(nth, 1_000)
    };
    c.bench_function("booking/decide_in_1000_calendars_1M_appointments", |b| {
        b.iter_batched_ref(
            &mut next,
            |wish| decide_booking(&group_state, wish, &mut Draws, morning()),
            BatchSize::SmallInput,
        );
    });
    c.bench_function("booking/publish_into_1000_calendars_1M_appointments", |b| {
        b.iter_batched_ref(
            || decide_booking(&group_state, &next(), &mut Draws, morning()),
            |event| {
                let after = group_state.apply(event);
                assert_eq!(after.sequence, 1);
                after
            },
            BatchSize::SmallInput,
        );
    });
}

const CALENDARS: u64 = 100;

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
                    vec![group_state.clone().into()],
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
                book_all(log, loaded.directory, vec![group_state.clone().into()], clients, count)
            });
        });
    }
}

criterion_group!(benches, publishing, engine);
criterion_main!(benches);
