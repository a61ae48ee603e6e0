//! Whole engines over the model of a shared store. Each server follows the others with the code of
//! `serve`, takes over, starts its engine, and books for clients. A client whose booking was not
//! answered sends it again, under the same key, to the server that decides then.
//!
//! At the end the journal is read, and for each seed:
//!
//! - a booking that was answered is there, and none is there twice;
//! - one that was refused is not there, its time is taken, and no two appointments overlap;
//! - each reader of a server with its lease has seen all that was answered before it asked.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use futures_util::future::join_all;
use parking_lot::Mutex;
use rand::RngExt as _;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tokio::runtime::Builder;
use tokio::sync::Notify;

use crate::clock::ManualClock;
use crate::domain::records::author::Author;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::ids::{CalendarId, GroupId, InterventionId, ProId};
use crate::domain::records::text::{Email, LongText, Name, Text};
use crate::domain::state::command::{BookAppointment, Caller, Client, Command, Patch};
use crate::domain::state::group_state::GroupState;
use crate::domain::state::idempotency::IdempotencyShare;
use crate::domain::state::invariants;
use crate::domain::time::{Civil, Instant, MINUTE};
use crate::engine::admission::AdmissionLimits;
use crate::engine::mailbox::Transport;
use crate::engine::metrics::EngineMetrics;
use crate::engine::randomness::Randomness;
use crate::engine::{
    Engine, EngineParts, IdempotentRequest, RecoveredStates, Rejection, StateRebuilder, recovery,
};
use crate::store::simulation::{
    READS_UNDER_WAY, SimulatedServer, StoredSnapshot, World, run_seeds, run_servers, seeds,
};
use crate::store::{Formats, SharedLog, SnapshotWriter, StoreError, Stream};
use crate::transfer::import::read_document;

/// Starts that clients ask for, half an hour after each other, on each of two calendars.
const STARTS: u64 = 20;
/// The time at which the first server starts: a year before the starts.
const NOW: Instant = Instant(2_019_686_400);

/// The first states: a practice with two calendars.
static PRACTICE: LazyLock<Arc<[StoredSnapshot]>> = LazyLock::new(|| {
    let open = |id| {
        json!({"calendar_id": id, "type": "VfreebusyEvent", "rrule": "FREQ=DAILY",
            "start": "2030-01-01 08:00:00", "end": "2030-01-01 20:00:00"})
    };
    let document = json!({"groups": [{"id": 1, "name": "Practice", "timezone": "UTC",
        "interventions": [{"id": 1, "name": "i", "publicname": "i", "length": 30}],
        "calendars": [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}],
        "vevents": [open(1), open(2)]}]});
    let no_passwords = |_: &str| unreachable!("it has no professionals");
    let content = read_document(document.to_string().as_bytes(), NOW, &no_passwords);
    let content = content.unwrap_or_else(|faults| panic!("{faults:?}"));
    let mut directory = Vec::new();
    recovery::write_directory(Collected(&mut directory), &content.directory).expect("in memory");
    let mut state = Vec::new();
    recovery::write_group(Collected(&mut state), &content.group_states[0]).expect("in memory");
    assert_eq!((content.directory.sequence, content.group_states[0].sequence), (0, 0));
    [(Stream::Directory, directory), (Stream::Group(group()), state)]
        .into_iter()
        .map(|(stream, frames)| StoredSnapshot { stream, frames })
        .collect()
});

/// Collects the frames of a snapshot.
struct Collected<'f>(&'f mut Vec<Vec<u8>>);

impl SnapshotWriter for Collected<'_> {
    fn format(&self) -> u16 {
        Formats::NEWEST.snapshots
    }

    fn write_frame(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.0.push(bytes.to_vec());
        Ok(())
    }

    fn finish(self) -> Result<(), StoreError> {
        Ok(())
    }
}

/// The clients of a seed, each with one booking, by number.
#[derive(Debug, Default)]
struct Clients {
    /// Those without an answer so far, who may ask again.
    unanswered: BTreeSet<u64>,
    refused: BTreeSet<u64>,
    replays: usize,
}

fn group() -> GroupId {
    GroupId::new(1).expect("an id")
}

/// The calendar and the start that a client asks for.
fn wish_of(client: u64) -> (CalendarId, Civil) {
    let mixed = client.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let first = Civil::from_ymd_hms(2035, 1, 2, 9, 0, 0).expect("a time");
    let after = i64::try_from(mixed / 2 % STARTS).expect("small") * 30 * MINUTE;
    (CalendarId::new(mixed % 2 + 1).expect("an id"), first.plus_seconds(after))
}

/// The booking of a client.
fn booking(client: u64) -> Command {
    let (calendar, date) = wish_of(client);
    let name = Name::new(&name_of(client)).expect("a name");
    let email = Email::new(&format!("{}@example.org", name_of(client))).expect("an address");
    let mut fields = Patch::default();
    fields.push(move |fiche: &mut Fiche| fiche.lastname = name.clone());
    let client = Client { id: None, email: Some(email), fields, customs: Vec::new() };
    Command::BookAppointment(Box::new(BookAppointment {
        permission: None,
        calendarset_ids: Vec::new(),
        is_by_page: false,
        is_code_demanded: false,
        needs_contact: false,
        booking_origin: None,
        hold: None,
        caller: Caller::Pro(ProId::new(1).expect("an id")),
        from_web: false,
        date,
        intervention_ids: vec![InterventionId::new(1).expect("an id")],
        calendar_id: Some(calendar),
        client,
        comments: LongText::default(),
        internal_comments: LongText::default(),
        taker: Text::default(),
        websource: Text::default(),
        smsreminder: None,
        customs: Vec::new(),
    }))
}

fn name_of(client: u64) -> String {
    format!("c{client}")
}

/// The request of a client, which is the same each time.
fn request(client: u64) -> IdempotentRequest {
    let scope = Sha256::digest(client.to_be_bytes()).into();
    IdempotentRequest {
        scope,
        body: scope,
        share: IdempotencyShare::Pro,
        render: Arc::new(|done| done.object.to_be_bytes().to_vec()),
    }
}

/// The clients of all appointments of a state, ascending.
fn booked(state: &GroupState) -> Vec<u64> {
    let appointments = state.rows.values().filter_map(|row| row.appointment());
    let names = appointments.map(|it| state.fiches[&it.fiche_id].lastname.as_str()[1..].parse());
    let mut clients: Vec<u64> = names.map(|number| number.expect("a number")).collect();
    clients.sort_unstable();
    clients
}

/// Starts the engine of a server that has taken over, and serves clients until another one has.
fn serve(
    server: &SimulatedServer,
    clients: &Mutex<Clients>,
    states: StateRebuilder,
    log: SharedLog<SimulatedServer>,
) {
    let RecoveredStates { directory, group_states, quarantined } = states.into_recovered();
    assert!(quarantined.is_empty(), "each event can be applied");
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(async {
        let seconds = i64::try_from(server.local_now().as_secs()).expect("small");
        let parts = EngineParts {
            directory,
            group_states,
            clock: Arc::new(ManualClock::at(NOW.plus_seconds(seconds))),
            randomness: Randomness::seeded(server.step(|world, _| world.random.random())),
            transport: Transport::direct(),
            admission_limits: AdmissionLimits::default(),
            decision_timeout: std::time::Duration::from_secs(30),
        };
        let metrics = EngineMetrics::default();
        let (engine, journal) =
            Engine::start_with_quarantined(Vec::new(), parts, log, metrics).await;
        let fenced = Arc::new(Notify::new());
        let mut journal = tokio::spawn(journal.run_in_task(Arc::clone(&fenced)));
        loop {
            server.beat();
            if server.lease.was_taken() {
                return;
            }
            if server.lease.is_to_hand_over() {
                let stopped = async {
                    engine.clone().shut_down().await;
                    journal.await
                };
                tokio::select! {
                    biased;
                    _ = stopped => server.leave(),
                    () = fenced.notified() => {}
                }
                return (0..READS_UNDER_WAY).for_each(|_| read(server, &engine));
            }
            let wishes = choose_clients(server, clients);
            let asked = wishes.into_iter().map(|client| ask(server, clients, &engine, client));
            tokio::select! {
                biased;
                _ = join_all(asked) => {}
                () = fenced.notified() => return,
                // The run is over.
                _ = &mut journal => return,
            }
            read(server, &engine);
        }
    });
}

/// Chooses clients who ask next: new ones, and some who had no answer.
fn choose_clients(server: &SimulatedServer, clients: &Mutex<Clients>) -> Vec<u64> {
    server.step(|world, _| {
        let mut clients = clients.lock();
        let mut chosen = BTreeSet::new();
        for _ in 0..world.random.random_range(0..5) {
            let again = clients.unanswered.iter().nth(world.random.random_range(0..4)).copied();
            let client = again.unwrap_or_else(|| {
                world.next_write += 1;
                world.next_write
            });
            chosen.insert(client);
        }
        clients.unanswered.extend(&chosen);
        chosen.into_iter().collect()
    })
}

/// Books for a client, who is answered if the answer may leave the server: one without a record of
/// its own needs the lease.
async fn ask(server: &SimulatedServer, clients: &Mutex<Clients>, engine: &Engine, client: u64) {
    let request = Some(request(client));
    let answer =
        engine.write_idempotent(group(), Author::Server, booking(client), request, None).await;
    let is_held = server.lease.is_held_at(server.local_now());
    match answer {
        Ok(done) => {
            if done.is_replay() && !is_held {
                return;
            }
            server.step(|world, _| world.answered.insert(client));
            clients.lock().replays += usize::from(done.is_replay());
        }
        Err(Rejection::Refused(_)) if is_held => {
            clients.lock().refused.insert(client);
        }
        Err(Rejection::Refused(_)) => return,
        Err(rejection) => panic!("{rejection:?}"),
    }
    clients.lock().unanswered.remove(&client);
}

/// Reads as a client does: it sees all that was answered before it asked, or nothing.
fn read(server: &SimulatedServer, engine: &Engine) {
    let before = server.step(|world, _| world.answered.clone());
    let state = engine.published().group_state(group()).expect("the group");
    let seen: BTreeSet<u64> = booked(&state).into_iter().collect();
    server.step(|_, _| ());
    if server.lease.is_held_at(server.local_now()) {
        assert!(before.is_subset(&seen), "a read lacks {:?}", before.difference(&seen));
        server.step(|world, _| world.reads += 1);
    }
}

/// Runs a seed, and checks the history at its end. Returns the numbers of takeovers, hand-overs,
/// answered bookings, refusals, replays and reads.
fn run_seed(seed: u64) -> [usize; 6] {
    let clients = Mutex::<Clients>::default();
    let world = run_servers(seed, Arc::clone(&PRACTICE), |server, states, log| {
        serve(server, &clients, states, log);
    });
    let states: StateRebuilder = world.read_all().expect("it was written by engines");
    let states = states.into_recovered().group_states;
    let state = states.get(group()).expect("the group");
    let broken = invariants::find_broken(state);
    assert!(broken.is_empty(), "{broken:?}");
    let written = booked(state);
    let once: BTreeSet<u64> = written.iter().copied().collect();
    assert_eq!(once.len(), written.len(), "a client booked twice: {written:?}");
    let lost: Vec<_> = world.answered.difference(&once).collect();
    assert!(lost.is_empty(), "answered and lost: {lost:?}");
    let Clients { refused, replays, .. } = clients.into_inner();
    let carried_out: Vec<_> = refused.intersection(&once).collect();
    assert!(carried_out.is_empty(), "refused and carried out: {carried_out:?}");
    let taken: BTreeSet<_> = written.iter().map(|client| wish_of(*client)).collect();
    let unfounded: Vec<_> = refused.iter().filter(|it| !taken.contains(&wish_of(**it))).collect();
    assert!(unfounded.is_empty(), "refused although the time is free: {unfounded:?}");
    let World { takeovers, departures, answered, reads, .. } = world;
    [takeovers, departures, answered.len(), refused.len(), replays, reads]
}

#[test]
fn no_booking_of_whole_servers_is_lost_or_done_twice() {
    let seeds = seeds(0..2_000);
    let sums = run_seeds(seeds.clone(), run_seed);
    let [takeovers, departures, answered, refused, replays, reads] = sums;
    println!(
        "{seeds:?}: {takeovers} takeovers, {departures} hand-overs, {answered} answered bookings, \
         {refused} refusals, {replays} replays, {reads} reads"
    );
    assert!(sums.iter().all(|sum| *sum > 0), "{sums:?}");
}
