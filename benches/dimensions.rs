//! The cost of a booking while one dimension of the store grows, which must stay flat: calendars of
//! the group, appointments of the calendar, clients of the group, groups of the server.
//!
//! `cargo bench --bench dimensions`.

#[path = "practice/booking_command.rs"]
mod booking_command;
mod practice;
#[path = "practice/booking.rs"]
mod practice_booking;

use std::sync::Arc;

use booking_command::booking;
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use practice::{morning, practice};
use practice_booking::{NoDisk, book_all, decide_booking, draws};
use slotbook::domain::identity::directory::Directory;
use slotbook::domain::records::catalogue::Catalogue;
use slotbook::domain::records::fiche::Fiche;
use slotbook::domain::records::group::Group;
use slotbook::domain::records::ids::{FicheId, GroupId};
use slotbook::domain::records::text::Email;
use slotbook::domain::state::group_state::GroupState;
use slotbook::domain::time::Instant;
use slotbook::store::BatchNumber;

/// Returns the sizes of a dimension; only the smallest where the benchmark is just tried.
fn sizes(all: &'static [u64]) -> &'static [u64] {
    let given = |name: &str| std::env::args().any(|argument| argument == name);
    if given("--bench") && !given("--test") { all } else { &all[..1] }
}

/// Measures one booking on a state: its decision, and the state after it.
fn book(c: &mut Criterion, name: &str, group_state: &GroupState) {
    let (draws, calendars) = (draws(), group_state.catalogue.calendars.len() as u64);
    let mut nth = 0;
    c.bench_function(name, |b| {
        b.iter_batched_ref(
            || {
                nth = (nth + 7) % 10_000;
                booking(nth, calendars)
            },
            |wish| {
                let event = decide_booking(group_state, wish, &draws, morning());
                let after = group_state.apply(&event);
                assert_eq!(after.rows.len(), group_state.rows.len() + 1);
                after
            },
            BatchSize::SmallInput,
        );
    });
}

fn calendars(c: &mut Criterion) {
    for &calendars in sizes(&[10, 1_000, 10_000]) {
        book(c, &format!("dimensions/calendars_{calendars}"), &practice(calendars, 1, 1));
    }
}

fn appointments(c: &mut Criterion) {
    for &days in sizes(&[10, 1_000, 83_333]) {
        let group_state = practice(1, days.cast_signed(), 12);
        book(c, &format!("dimensions/appointments_{}", days * 12), &group_state);
    }
}

fn clients(c: &mut Criterion) {
    for &clients in sizes(&[100, 10_000, 1_000_000]) {
        let mut group_state = practice(10, 1, 1);
        for number in 11..=clients {
            let mut fiche = Fiche::new(FicheId::new(number).expect("an id"), Instant(0));
            fiche.email = Some(Email::new(&format!("c{number}@example.org")).expect("an address"));
            group_state.put_fiche(Arc::new(fiche));
        }
        book(c, &format!("dimensions/clients_{clients}"), &group_state);
    }
}

/// Measures one booking through the engine, without a disk, while other groups are idle.
fn groups(c: &mut Criterion) {
    for &groups in sizes(&[1, 1_000, 100_000]) {
        let first = practice(100, 1, 1);
        let mut directory = Directory::default();
        first.claim_ids(&mut directory);
        let zone = first.catalogue.group.timezone;
        let mut all = vec![first];
        for number in 2..=groups {
            let id = GroupId::new(number).expect("an id");
            all.push(GroupState::new(Catalogue::new(Group::new(id, zone, Instant(0)))));
        }
        c.bench_function(&format!("dimensions/groups_{groups}"), |b| {
            b.iter_custom(|count| {
                book_all(NoDisk(BatchNumber(0)), directory.clone(), all.clone(), 64, count)
            });
        });
    }
}

criterion_group!(benches, calendars, appointments, clients, groups);
criterion_main!(benches);
