//! From a million appointments on disk to a server that could answer, by snapshot and by journal, each in a process of
//! its own; and what a new generation costs those who book meanwhile.
//!
//! `cargo bench --bench recovery` prints; `-- --test` does the same in small.

mod practice;

use std::path::Path;
use std::process::Command as Process;
use std::sync::Arc;
use std::time::{Duration, Instant as Stopwatch};

use practice::{MONDAY, calendar, group, intervention, morning, practice};
use slotbook::clock::ManualClock;
use slotbook::domain::command::{BookAppointment, Caller, Client, Command, Patch};
use slotbook::domain::directory::{Directory, IdKind};
use slotbook::domain::event::Event;
use slotbook::domain::fiche::Fiche;
use slotbook::domain::ids::{FicheId, VeventId};
use slotbook::domain::root::Root;
use slotbook::domain::text::{LongText, Name, Text};
use slotbook::domain::time::{DAY, HOUR, Instant};
use slotbook::domain::vevent::{Appointment, Key, Kind, Reminders, State, Vevent};
use slotbook::domain::zone::Zone;
use slotbook::engine::admission::Bounds;
use slotbook::engine::draws::Draws;
use slotbook::engine::link::Wiring;
use slotbook::engine::{Engine, Parts, recovery};
use slotbook::store::{Log as _, Record, Stream, codec};

/// Names the store that a child process is to recover.
const RECOVER: &str = "RECOVER_STORE";

/// How much is measured.
struct Size {
    calendars: u64,
    days: i64,
    journal: u64,
    bookings: u64,
}

const FULL: Size = Size { calendars: 1_000, days: 84, journal: 1_000_000, bookings: 4_000 };
const SMALL: Size = Size { calendars: 10, days: 10, journal: 2_000, bookings: 50 };

fn say(text: &str) {
    use std::io::Write as _;
    writeln!(std::io::stdout().lock(), "{text}").expect("somebody reads");
}

fn main() {
    if let Some(data) = std::env::var_os(RECOVER) {
        return recover(Path::new(&data));
    }
    let size = if std::env::args().any(|argument| argument == "--test") { SMALL } else { FULL };
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
    let rows: usize = loaded.roots.iter().map(|root| root.rows.len()).sum();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("?").trim().to_owned();
    let (most, now) = (field("VmHWM:"), field("VmRSS:"));
    say(&format!("{rows} events in {} ms, memory {now}, at most {most}", took.as_millis()));
}

fn in_a_child(what: &str, data: &Path) {
    let child = Process::new(std::env::current_exe().expect("it runs")).env(RECOVER, data).output();
    let output = child.expect("it runs again");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    say(&format!("recovery/{what}: {}", String::from_utf8_lossy(&output.stdout).trim()));
}

fn imported(root: &Root) -> Directory {
    let mut directory = Directory::default();
    root.rows.keys().for_each(|id| directory.claim(IdKind::Vevent, id.number(), group()));
    root.fiches.keys().for_each(|id| directory.claim(IdKind::Fiche, id.number(), group()));
    directory
}

fn by_snapshot(data: &Path, size: &Size) {
    let root = practice(size.calendars, size.days, 12);
    drop(recovery::create(data, &imported(&root), std::slice::from_ref(&root)).expect("a new store"));
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
        key: Key::new("abcdefghijklmnopqrst").expect("20 letters"),
        state: State::default(),
        smsreminder: false,
        from_web: true,
        reminders: Reminders::since(Instant(0)),
    };
    let leg = Vevent {
        id: VeventId::new(100_000 + nth).expect("an id"),
        calendar_id: calendar(number),
        kind: Kind::Appointment(appointment),
        deleted: false,
        created_at: at,
        updated_at: at,
        rare: None,
    };
    Event::AppointmentsBooked { at, fiche: None, legs: vec![leg] }
}

fn by_journal(data: &Path, size: &Size) {
    let root = practice(size.calendars, 0, 12);
    drop(recovery::create(data, &imported(&root), std::slice::from_ref(&root)).expect("a new store"));
    let mut log = recovery::load(data).and_then(|loaded| loaded.store.into_log()).expect("it was just made");
    let zone = root.catalogue.zone();
    let mut records = Vec::new();
    for nth in 0..size.journal {
        let bytes = codec::encode(&booked(nth, zone, size.calendars));
        records.push(Record::new(Stream::Group(group()), 0, nth + 1, bytes));
        if records.len() == 64 || nth + 1 == size.journal {
            log.append(&records).expect("the disk takes it");
            records.clear();
        }
    }
    log.close().expect("it closes");
    in_a_child("from_a_journal", data);
}

/// The `nth` free start of a practice whose appointments begin at full hours.
fn wish(nth: u64, calendars: u64) -> Command {
    let round = i64::try_from(nth / calendars).expect("small");
    let mut fields = Patch::default();
    let name = Name::new("Somebody").expect("a name");
    fields.push(move |fiche: &mut Fiche| fiche.lastname = name.clone());
    Command::BookAppointment(Box::new(BookAppointment {
        caller: Caller::Application,
        from_web: true,
        date: MONDAY.plus_seconds(round / 12 * DAY + (8 + round % 12) * HOUR + 1_800),
        intervention_ids: vec![intervention()],
        calendar_id: Some(calendar(nth % calendars + 1)),
        client: Client { id: None, email: None, fields, customs: Vec::new() },
        comments: LongText::default(),
        websource: Text::default(),
        smsreminder: None,
        customs: Vec::new(),
    }))
}

/// Books one after another from four clients; how long each waited, in order of length.
async fn waits(engine: &Engine, first: u64, count: u64, calendars: u64) -> Vec<Duration> {
    let clients: Vec<_> = (0..4)
        .map(|client| {
            let engine = engine.clone();
            tokio::spawn(async move {
                let mut waits = Vec::new();
                for nth in (first + client..first + count).step_by(4) {
                    let began = Stopwatch::now();
                    engine.write(group(), wish(nth, calendars)).await.expect("a free start");
                    waits.push(began.elapsed());
                }
                waits
            })
        })
        .collect();
    let mut all = Vec::new();
    for client in clients {
        all.extend(client.await.expect("no client panics"));
    }
    all.sort_unstable();
    all
}

fn tell(what: &str, waits: &[Duration]) {
    let at = |share: usize| waits[(waits.len() * share / 1_000).min(waits.len() - 1)].as_micros();
    let (median, p99, longest) = (at(500), at(990), at(1_000));
    say(&format!("{what}: {} bookings, median {median} µs, p99 {p99} µs, longest {longest} µs", waits.len()));
}

fn beside_bookings(data: &Path, size: &Size) {
    let root = practice(size.calendars, size.days, 12);
    drop(recovery::create(data, &imported(&root), std::slice::from_ref(&root)).expect("a new store"));
    drop(root);
    let loaded = recovery::load(data).expect("it was just made");
    let log = loaded.store.into_log().expect("it opens");
    let generations = log.generations().expect("it stands");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build();
    runtime.expect("a runtime").block_on(async move {
        let parts = Parts {
            directory: loaded.directory,
            roots: loaded.roots,
            clock: Arc::new(ManualClock::at(morning())),
            draws: Draws::seeded([7; 32]),
            wiring: Wiring::direct(),
            bounds: Bounds::default(),
            patience: Duration::from_secs(60),
        };
        let (engine, journal) = Engine::start(parts, log).await;
        let journal = std::thread::spawn(move || journal.run());
        tell("bookings/alone", &waits(&engine, 0, size.bookings, size.calendars).await);
        let mut compactor = engine.compactor(generations, 0, 0);
        let compacting = std::thread::spawn(move || {
            let began = Stopwatch::now();
            let done = compactor.compact().expect("the disk takes it").expect("the journal goes on");
            assert_eq!(done.written, 2, "the directory and the group");
            began.elapsed()
        });
        let (mut first, mut all) = (size.bookings, Vec::new());
        while !compacting.is_finished() {
            all.extend(waits(&engine, first, size.bookings.min(200), size.calendars).await);
            first += size.bookings.min(200);
        }
        all.sort_unstable();
        tell("bookings/beside_a_new_generation", &all);
        let took = compacting.join().expect("no panic").as_millis();
        say(&format!("bookings/the_new_generation: {took} ms"));
        engine.shut_down().await;
        tokio::task::spawn_blocking(move || journal.join().expect("no panic").expect("it closes"))
            .await
            .expect("joined");
    });
}
