//! The cost of a booking while one dimension of the store grows, which must stay flat: calendars of
//! the group, appointments of the calendar, clients of the group, groups of the server. Likewise
//! the look-ups of logins, lists and group starts, as the number of groups grows, and the pages of a
//! history.
//!
//! `cargo bench --bench dimensions`.

#[path = "practice/booking_command.rs"]
mod booking_command;
mod practice;
#[path = "practice/booking.rs"]
mod practice_booking;
#[path = "practice/trial.rs"]
mod trial;

use std::sync::Arc;

use booking_command::booking;
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use practice::{morning, practice};
use practice_booking::{Draws, NoDisk, book_all, decide_booking};
use strum::IntoEnumIterator as _;

use slotbook::domain::availability::catalogue::Catalogue;
use slotbook::domain::directory::Directory;
use slotbook::domain::directory::apikeys::{Apikey, ApikeyHolder};
use slotbook::domain::directory::id_blocks::IdKind;
use slotbook::domain::directory::professionals::Pro;
use slotbook::domain::records::account::Account;
use slotbook::domain::records::author::{Author, KeyId};
use slotbook::domain::records::fiche::Fiche;
use slotbook::domain::records::group::Group;
use slotbook::domain::records::ids::{FicheId, GroupId, ProId, VeventId};
use slotbook::domain::records::site_origin::SiteOrigin;
use slotbook::domain::records::text::{Email, Text};
use slotbook::domain::records::vevent::{Vevent, VeventKind};
use slotbook::domain::state::event::Event;
use slotbook::domain::state::group_state::GroupState;
use slotbook::domain::state::history::History;
use slotbook::domain::state::history::page::HistoryQuery;
use slotbook::domain::state::history::row::{HistoryObject, ObjectKind};
use slotbook::domain::time::zone_names::ZoneName;
use slotbook::domain::time::{INSTANT_MAX, Instant, MINUTE};
use slotbook::engine::published::Published;
use slotbook::store::BatchNumber;

/// Returns the sizes of a dimension; only the smallest where the benchmark is just tried.
fn sizes(all: &'static [u64]) -> &'static [u64] {
    if trial::is_a_trial() { &all[..1] } else { all }
}

/// Measures one booking on a state: its decision, and the state after it.
fn book(c: &mut Criterion, name: &str, group_state: &GroupState) {
    let calendars = group_state.catalogue.calendars.len() as u64;
    let mut nth = 0;
    c.bench_function(name, |b| {
        b.iter_batched_ref(
            || {
                nth = (nth + 7) % 10_000;
                booking(nth, calendars)
            },
            |wish| {
                let event = decide_booking(group_state, wish, &mut Draws, morning());
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
        let mut all = vec![Arc::new(first)];
        for number in 2..=groups {
            let id = GroupId::new(number).expect("an id");
            all.push(Arc::new(GroupState::new(Catalogue::new(Group::new(id, zone, Instant(0))))));
        }
        c.bench_function(&format!("dimensions/groups_{groups}"), |b| {
            b.iter_custom(|count| {
                book_all(NoDisk(BatchNumber(0)), directory.clone(), all.clone(), 64, count)
            });
        });
    }
}

/// Measures the look-ups that a key of all groups causes: each group has a professional, an account
/// of an address of its own, a key that names an origin, and a block of ids of each kind.
fn look_ups(c: &mut Criterion) {
    for &groups in sizes(&[1, 1_000, 100_000]) {
        let zone = ZoneName::from_name("Paris").expect("a zone");
        let mut directory = Directory::default();
        let mut states = Vec::new();
        for number in 1..=groups {
            let id = GroupId::new(number).expect("an id");
            let mut state = GroupState::new(Catalogue::new(Group::new(id, zone, Instant(0))));
            let account = account(&format!("c{number}@example.org"));
            state.accounts.insert(account.email.folded(), Arc::new(account));
            states.push(state);
            directory.pros.insert(ProId::new(number).expect("an id"), pro(number));
            let mut hash = [0; 32];
            hash[..8].copy_from_slice(&number.to_be_bytes());
            directory.apikeys.insert(hash, apikey(number));
            for kind in IdKind::iter() {
                directory.apply_in_place(&directory.grant_block(kind, id));
            }
        }
        let published =
            Published::new(directory.clone(), states.into_iter().map(Arc::new).collect(), []);
        let (first, last) = (GroupId::new(1).expect("an id"), GroupId::new(groups).expect("an id"));
        c.bench_function(&format!("dimensions/pros_of_a_group_of_{groups}"), |b| {
            b.iter(|| {
                assert_eq!(
                    directory.pros.of_group(last).map(|pro| pro.id.number()).sum::<u64>(),
                    groups
                );
            });
        });
        c.bench_function(&format!("dimensions/unused_ids_of_a_group_of_{groups}"), |b| {
            b.iter(|| {
                for kind in IdKind::iter() {
                    assert_eq!(directory.blocks.unused_ids(kind, last, 0).count(), 1);
                }
            });
        });
        c.bench_function(&format!("dimensions/accounts_of_an_address_in_{groups}_groups"), |b| {
            let folded = format!("c{groups}@example.org");
            b.iter(|| {
                let found = published.next_group_of_account(&folded, first).expect("its group");
                let next = GroupId::new(found.number() + 1).expect("an id");
                assert_eq!((found, published.next_group_of_account(&folded, next)), (last, None));
            });
        });
        c.bench_function(&format!("dimensions/origin_of_one_of_{groups}_keys"), |b| {
            let origin = format!("https://c{groups}.example.org");
            b.iter(|| assert!(directory.apikeys.name_origin(&origin)));
        });
    }
}

/// Measures a booking, and the reading of a page, after many changes of appointments: a year of 100
/// a day, and a full history. Prints the memory of a row.
fn history(c: &mut Criterion) {
    for &rows in sizes(&[36_500, 1_000_000]) {
        let mut group_state = practice(10, 365, 12);
        let ids: Vec<VeventId> = group_state.rows.keys().skip(10).copied().collect();
        let key = Some(KeyId::from_bytes([7; KeyId::BYTES]));
        let author = Author::Professional { id: ProId::new(1).expect("an id"), key };
        // Each appointment is changed once before, so that what it takes itself counts for nothing.
        let first = ids.len() as u64;
        (0..first).for_each(|nth| change(&mut group_state, &ids, author, nth));
        group_state.history = History::default();
        let resident = resident_bytes();
        (first..first + rows).for_each(|nth| change(&mut group_state, &ids, author, nth));
        let history = &group_state.history;
        eprintln!(
            "{} rows: {} bytes packed, {} bytes more resident memory for each",
            history.len(),
            history.packed_bytes() as u64 / history.len(),
            resident_bytes().saturating_sub(resident) / history.len(),
        );
        book(c, &format!("dimensions/history_{rows}"), &group_state);
        let one = HistoryObject { kind: ObjectKind::Vevent, id: ids[0].number() };
        let middle = Instant(1_767_000_000 + (rows / 2).cast_signed());
        for (name, object, to) in [
            ("latest", None, INSTANT_MAX),
            ("before_a_moment", None, middle),
            ("one_object", Some(one), INSTANT_MAX),
        ] {
            let query = HistoryQuery {
                object,
                author: None,
                from: Instant(0),
                to,
                below: u64::MAX,
                results: 50,
            };
            c.bench_function(&format!("dimensions/history_{rows}_{name}"), |b| {
                b.iter(|| group_state.history.page(&query));
            });
        }
    }
}

/// Changes one of some appointments. The time that is free stays so: each begins a minute later, and
/// earlier again.
fn change(group_state: &mut GroupState, ids: &[VeventId], author: Author, nth: u64) {
    let count = ids.len() as u64;
    let id = ids[usize::try_from(nth * 7_919 % count).expect("small")];
    let at = Instant(1_767_000_000 + nth.cast_signed());
    let mut row = Vevent::clone(&group_state.rows[&id]);
    row.updated_at = at;
    if let VeventKind::Appointment(appointment) = &mut row.kind {
        let is_later = (nth / count).is_multiple_of(2);
        let way = if is_later { MINUTE } else { -MINUTE };
        appointment.civil_start = appointment.civil_start.plus_seconds(way);
        appointment.start = appointment.start.plus_seconds(way);
        appointment.length_seconds = if is_later { 1_740 } else { 1_800 };
    }
    let moved = Event::VeventPut { at, row: Box::new(row), ended_holds: Vec::new() };
    group_state.apply_in_place(Some(author), &moved);
}

/// The resident memory of this process in bytes.
fn resident_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let resident = pages.split(' ').nth(1).and_then(|number| number.parse::<u64>().ok());
    resident.unwrap_or(0) * 4_096
}

fn account(email: &str) -> Account {
    Account {
        email: Email::new(email).expect("an address"),
        fiche_id: FicheId::new(1).expect("an id"),
        password_hash: Text::default(),
        former: Vec::new(),
        last_login: None,
    }
}

fn pro(number: u64) -> Pro {
    let group = GroupId::new(number).expect("an id");
    let id = ProId::new(number).expect("an id");
    let email = Email::new(&format!("p{number}@example.org")).expect("an address");
    Pro { email, ..Pro::blank(id, group, Instant(0)) }
}

fn apikey(number: u64) -> Apikey {
    let origin = SiteOrigin::new(&format!("https://c{number}.example.org")).expect("an origin");
    let holder = ApikeyHolder::Public;
    let origins = vec![origin];
    Apikey {
        label: Text::default(),
        groups: None,
        holder,
        origins,
        allows_any_origin: false,
        needs_contact: true,
    }
}

// The first one measures memory, before others leave freed memory behind.
criterion_group!(benches, history, calendars, appointments, clients, groups, look_ups);
criterion_main!(benches);
