//! From a million appointments on disk to a server that could answer, by snapshot and by journal, each in a process of
//! its own; and what a new generation costs those who book meanwhile.
//!
//! `cargo bench --bench recovery` prints; `-- --test` does the same in small.

#[path = "practice/booking_command.rs"]
mod booking_command;
mod practice;
#[path = "practice/serving.rs"]
mod serving;
#[path = "practice/trial.rs"]
mod trial;

use std::path::Path;
use std::process::Command as Process;
use std::sync::Arc;
use std::time::{Duration, Instant as Stopwatch};

use booking_command::booking;
use practice::{MONDAY, calendar, group, intervention, morning, practice};
use serving::{Serving, block_on, of_process, say};
use slotbook::clock::ManualClock;
use slotbook::domain::records::author::Author;
use slotbook::domain::records::ids::{FicheId, VeventId};
use slotbook::domain::records::vevent::{
    Appointment, AppointmentKey, Reminders, State, Vevent, VeventKind,
};
use slotbook::domain::state::command::Command;
use slotbook::domain::state::event::Event;
use slotbook::domain::state::group_record::GroupRecord;
use slotbook::domain::time::zone::Zone;
use slotbook::domain::time::{DAY, HOUR, Instant};
use slotbook::engine::Engine;
use slotbook::engine::recovery;
use slotbook::store::codec;
use slotbook::store::{JournalRecord, Log as _, Stream};
use trial::is_a_trial;

/// Names the store that a child process is to recover.
const RECOVER: &str = "RECOVER_STORE";

/// How much is measured.
struct Size {
    calendars: u64,
    days: i64,
    journal: u64,
    bookings: u64,
    generations: usize,
}

const FULL: Size =
    Size { calendars: 1_000, days: 84, journal: 1_000_000, bookings: 200, generations: 5 };
const SMALL: Size = Size { calendars: 10, days: 10, journal: 2_000, bookings: 20, generations: 1 };

fn main() {
    if let Some(data) = std::env::var_os(RECOVER) {
        return recover(Path::new(&data));
    }
    let size = if is_a_trial() { SMALL } else { FULL };
    let folder = tempfile::tempdir().expect("a folder");
    by_snapshot(&folder.path().join("snapshot"), &size);
    by_journal(&folder.path().join("journal"), &size);
    beside_bookings(&folder.path().join("bookings"), &size);
}

/// In a process of its own: recovers, and says how long it took and how much memory at most.
fn recover(data: &Path) {
    let began = Stopwatch::now();
    let loaded = recovery::load(data).expect("it was just written");
    let took = began.elapsed();
    let rows: usize = loaded.group_states.iter().map(|group_state| group_state.rows.len()).sum();
    let (most, now, processor) =
        (of_process("VmHWM:"), of_process("VmRSS:"), processor_milliseconds());
    say(&format!(
        "{rows} events in {} ms ({processor} ms of processor), memory {now}, at most {most}",
        took.as_millis()
    ));
}

/// Time that this process has had a processor: on a busy machine, less than has passed.
fn processor_milliseconds() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name in brackets may hold blanks; user and system ticks, a hundredth of a second each, are the 12th and 13th.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum::<u64>() * 10
}

fn in_a_child(what: &str, data: &Path) {
    let child = Process::new(std::env::current_exe().expect("it runs")).env(RECOVER, data).output();
    let output = child.expect("it runs again");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    say(&format!("recovery/{what}: {}", String::from_utf8_lossy(&output.stdout).trim()));
}

fn by_snapshot(data: &Path, size: &Size) {
    let group_state = practice(size.calendars, size.days, 12);
    serving::store(data, &group_state);
    in_a_child("from_a_snapshot", data);
}

/// The `nth` booking of a practice without any: half past some hour, on one calendar after another, for one client of
/// each.
fn booked(nth: u64, zone: Zone, calendars: u64) -> Event {
    let round = i64::try_from(nth / calendars).expect("small");
    let start = MONDAY.plus_seconds(round / 12 * DAY + (8 + round % 12) * HOUR);
    let (number, at) = (nth % calendars + 1, Instant(0));
    let appointment = Appointment {
        civil_start: start,
        start: zone.instant_of(start),
        length_seconds: 1_800,
        intervention_id: intervention(),
        fiche_id: FicheId::new(number).expect("an id"),
        key: AppointmentKey::new("abcdefghijklmnopqrst").expect("20 letters"),
        state: State::default(),
        smsreminder: false,
        from_web: true,
        reminders: Reminders::since(Instant(0)),
        booking_origin: None,
    };
    let leg = Vevent {
        id: VeventId::new(100_000 + nth).expect("an id"),
        calendar_id: calendar(number),
        kind: VeventKind::Appointment(appointment),
        deleted: false,
        created_at: at,
        updated_at: at,
        rare: None,
    };
    Event::AppointmentsBooked { at, fiche: None, legs: vec![leg] }
}

fn by_journal(data: &Path, size: &Size) {
    let group_state = practice(size.calendars, 0, 12);
    serving::store(data, &group_state);
    let mut log =
        recovery::load(data).and_then(|loaded| loaded.store.into_log()).expect("it was just made");
    let zone = group_state.catalogue.zone();
    let mut records = Vec::new();
    for nth in 0..size.journal {
        let event = booked(nth, zone, size.calendars);
        let bytes = codec::encode(&GroupRecord::new(Author::Visitor, event));
        records.push(JournalRecord::new(Stream::Group(group()), nth + 1, bytes));
        if records.len() == 64 || nth + 1 == size.journal {
            log.append(&records).expect("the disk takes it");
            records.clear();
        }
    }
    log.close().expect("it closes");
    in_a_child("from_a_journal", data);
}

/// Books from four clients at once until `enough`, a few at a time; how long each waited.
async fn waits(
    engine: &Engine,
    first: &mut u64,
    size: &Size,
    enough: impl Fn() -> bool,
) -> Vec<Duration> {
    let mut all = Vec::new();
    while !enough() || all.is_empty() {
        let clients: Vec<_> = (0..4)
            .map(|client| {
                let (engine, calendars) = (engine.clone(), size.calendars);
                let starts = (*first + client..*first + size.bookings).step_by(4);
                tokio::spawn(async move {
                    let mut waits = Vec::new();
                    for nth in starts {
                        let began = Stopwatch::now();
                        let booking = Command::BookAppointment(Box::new(booking(nth, calendars)));
                        engine
                            .write(group(), Author::Visitor, booking)
                            .await
                            .expect("a free start");
                        waits.push(began.elapsed());
                    }
                    waits
                })
            })
            .collect();
        for client in clients {
            all.extend(client.await.expect("no client panics"));
        }
        *first += size.bookings;
    }
    all
}

/// Says how long bookings waited, all rounds together, and the longest of each round.
fn tell(what: &str, rounds: &[Vec<Duration>]) {
    let mut all = rounds.concat();
    all.sort_unstable();
    let at = |share: usize| all[(all.len() * share / 1_000).min(all.len() - 1)].as_micros();
    let (median, p99, p999) = (at(500), at(990), at(999));
    let longest = rounds.iter().filter_map(|round| round.iter().max());
    let longest: Vec<String> =
        longest.map(|wait| format!("{:.1}", wait.as_secs_f64() * 1_000.0)).collect();
    let (count, longest) = (all.len(), longest.join(" "));
    say(&format!(
        "{what}: {count} bookings, median {median} µs, p99 {p99} µs, p99.9 {p999} µs, longest of each round {longest} ms"
    ));
}

/// Bookings while new generations are made, and for as long without, in turn.
fn beside_bookings(data: &Path, size: &Size) {
    serving::store(data, &practice(size.calendars, size.days, 12));
    block_on(async {
        let (serving, generations) = Serving::on(data, Arc::new(ManualClock::at(morning()))).await;
        let engine = serving.engine.clone();
        let mut compactor = engine.new_compactor(generations, 0, 0);
        let (mut alone, mut beside, mut took) = (Vec::new(), Vec::new(), Vec::new());
        let mut first = 0;
        // A calendar's first booking starts its actor, which is not what is measured here.
        while first < size.calendars {
            waits(&engine, &mut first, size, || true).await;
        }
        for _ in 0..size.generations {
            let compacting = std::thread::spawn(move || {
                let began = Stopwatch::now();
                let done =
                    compactor.compact().expect("the disk takes it").expect("the journal goes on");
                assert_eq!(done.written, 2, "the directory and the group");
                (compactor, began.elapsed())
            });
            beside.push(waits(&engine, &mut first, size, || compacting.is_finished()).await);
            let length;
            (compactor, length) = compacting.join().expect("no panic");
            let began = Stopwatch::now();
            alone.push(waits(&engine, &mut first, size, || began.elapsed() >= length).await);
            took.push(format!("{:.1}", length.as_secs_f64()));
        }
        tell("bookings/alone", &alone);
        tell("bookings/beside_a_new_generation", &beside);
        say(&format!("bookings/the_new_generations: {} s", took.join(" ")));
        drop((compactor, engine));
        serving.end().await;
    });
}
