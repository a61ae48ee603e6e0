//! The whole engine under simulation: one seed decides every delay, batch time, power cut and
//! failed read, and the same seed gives the same log, byte for byte. Invariants 1, 2, 4, 5 and 8.
//!
//! Clients book, cancel, move and read at random moments over several lives of the server. After
//! each life the journal is read, and every answer is compared with the agenda after each event:
//!
//! - an answered write is in the journal, at its place, with its calendar and hour;
//! - a refusal names an appointment that took the time, in a durable state of that moment;
//! - a reader sees exactly one durable state, never older than what was answered before;
//! - each event carries out one operation, names its author, and gives no hour to two appointments;
//! - a journal that reads short is refused when it lacks a batch that the synced watermark covers.
//!
//! Some of the seeds send mails, make new generations, and fill the disk ([`Features`]):
//!
//! - a mail leaves once for each durable claim, for an appointment that stands in the state of that
//!   moment, to the address there; after a time without cuts every message has its end;
//! - a start from the newest generation gives the states that the whole history gives;
//! - on a full disk no write is decided, and a write is refused for no other disk.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use slotbook::clock::Clock as _;
use slotbook::domain::time::{DAY, HOUR, Instant, MINUTE};
use slotbook::engine::admission::AdmissionLimits;
use slotbook::engine::mailbox::Transport;
use slotbook::engine::randomness::Randomness;
use slotbook::engine::{Engine, EngineParts, MessagingHandle};
use slotbook::store::{Generations, InjectedFault, SimulatedDisk, Tail};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::simulation_clients::{Client, FullDisk, compact, free_after, watch_disk};
use super::simulation_history::{Agenda, HALF_HOURS, History, Operation, PowerCut, check};
use super::simulation_mail::{MailServer, SimulatedClock, check_mail, check_settled};
use super::simulation_recovery::{
    FIRST_START, Recovered, SHOP, new_disk, recover, start_reading_short,
};

/// Seeds that every test run tries.
const SEEDS: Range<u64> = 0..2_000;
/// Seeds of a long run.
const LONG_SEEDS: Range<u64> = 0..1_000_000;

/// Hours of the time without cuts that ends a seed with mails: a day and the morning after.
const CALM_HOURS: usize = 29;

/// Seeds that once found a defect, with the features of then. Seed 20 and 519: a start read batches
/// after the watermark and did not move it, so a later start could lack them.
const SEEDS_OF_DEFECTS: [(u64, Features); 2] = [(20, Features::NONE), (519, Features::NONE)];

/// What a seed has beside clients, delays and power cuts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Features {
    /// A mail server that accepts, refuses, defers and loses answers.
    has_mail: bool,
    /// New generations of the store.
    has_generations: bool,
    /// A disk that is full for a while.
    fills_disk: bool,
}

impl Features {
    const NONE: Self = Self { has_mail: false, has_generations: false, fills_disk: false };

    const ALL: Self = Self { has_mail: true, has_generations: true, fills_disk: true };

    /// Returns the features of a seed, in all combinations. Mails cost most time, so an eighth of
    /// the seeds has them; a quarter has generations, and half a full disk.
    const fn of(seed: u64) -> Self {
        let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58;
        Self {
            has_mail: mixed.is_multiple_of(8),
            has_generations: (mixed / 8).is_multiple_of(4),
            fills_disk: mixed >= 32,
        }
    }
}

/// End of one life of the server.
#[derive(Clone, Copy, Debug)]
enum End {
    /// A power cut, or a killed process, at the latest at this time.
    At(Duration),
    /// A shutdown, after all clients are answered.
    ShutDown,
    /// A shutdown after a day without clients, in which the mail server accepts everything.
    Calm,
}

/// What a life has beside its clients.
#[derive(Debug, Default)]
struct Events {
    /// Times after which a new generation is begun.
    generations: Vec<Duration>,
    full_disk: Option<FullDisk>,
}

/// A disk and all that happened to it, over all lives of one seed.
struct World {
    features: Features,
    random: StdRng,
    /// Decides about what the features add.
    extra: StdRng,
    /// The time at which the next life begins.
    now: Instant,
    lives: usize,
    disk: SimulatedDisk,
    history: Arc<History>,
    /// Agendas of the last recovery, which every later one begins with.
    agendas: Vec<Arc<Agenda>>,
    /// Number of lives that ended amid a step of a compaction or of a new journal.
    ends_at_steps: usize,
    /// The last event that the durable watermark has to cover: no start may lack it.
    covered: u64,
    /// The last append that is to fail.
    last_fault: u64,
    clients: u64,
}

impl World {
    fn new(seed: u64, features: Features) -> Self {
        let first_reminder = FIRST_START.plus_seconds(-DAY);
        Self {
            features,
            random: StdRng::seed_from_u64(seed),
            extra: StdRng::seed_from_u64(!seed),
            now: if features.has_mail { first_reminder.plus_seconds(-2) } else { SHOP.now },
            lives: 0,
            ends_at_steps: 0,
            disk: new_disk(features.has_generations),
            history: Arc::default(),
            agendas: Vec::new(),
            covered: 0,
            last_fault: 0,
            clients: 0,
        }
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.random.random_range(0..choices.len())]
    }

    /// Runs the server for one life, then starts it again and checks everything so far. Returns
    /// whether another life may follow.
    fn live(&mut self) -> Result<bool, String> {
        let end = self.choose_end();
        let power_cut = match end {
            End::At(_) if self.random.random_bool(0.75) => Some(self.choose_tail()),
            End::At(_) | End::ShutDown | End::Calm => None,
        };
        let at_answer = match end {
            End::At(_) if self.random.random_bool(0.5) => Some(self.random.random_range(1..20)),
            End::At(_) | End::ShutDown | End::Calm => None,
        };
        self.history.begin_life(PowerCut { at_answer, tail: power_cut, disk: self.disk.clone() });
        let batch_max = Duration::from_millis(self.one_of(&[1, 3, 20, 500]));
        let events = self.choose_events(end);
        let may_end = matches!(end, End::At(_)) && self.features.has_generations;
        let ends_at_step = may_end && self.extra.random_bool(0.5);
        if ends_at_step {
            self.disk.end_after_steps(self.extra.random_range(0..30), power_cut);
        }
        self.run_engine(end, batch_max, events)?;
        self.history.end_life();
        self.ends_at_steps += usize::from(!self.disk.forget_end() && ends_at_step);
        if let Some(violation) = self.history.violation() {
            return Err(violation);
        }
        self.pass_time();
        // A killed process leaves the watermark as it was written. A power cut leaves the one of
        // the last sync, which is at most a second and two batches older.
        let margin = match power_cut {
            Some(_) => Duration::from_secs(1) + 2 * batch_max + Duration::from_millis(20),
            None => Duration::ZERO,
        };
        self.covered = self.covered.max(self.history.published_before_end(margin));
        if self.random.random_bool(0.3) && !self.start_reading_short()? {
            return Ok(false);
        }
        let recovered = self.recover().map_err(|error| format!("no start: {error}"))?;
        self.check_recovered(&recovered)?;
        self.covered = recovered.agendas.len() as u64 - 1;
        self.agendas = recovered.agendas;
        Ok(true)
    }

    fn choose_end(&mut self) -> End {
        if self.disk.appends() >= self.last_fault && self.random.random_bool(0.2) {
            return End::ShutDown;
        }
        if self.random.random_bool(0.1) {
            let fault = [InjectedFault::Write, InjectedFault::Sync, InjectedFault::SyncAfterAll];
            let nth = self.disk.appends() + self.random.random_range(1..12);
            let fault = self.one_of(&fault);
            self.disk.fail_append(nth, fault);
            self.last_fault = self.last_fault.max(nth);
        }
        End::At(Duration::from_millis(self.random.random_range(1..4_000)))
    }

    fn choose_tail(&mut self) -> Tail {
        match self.random.random_range(0..6) {
            0..3 => Tail::Lost,
            3 => Tail::Whole,
            chunks => Tail::Torn(chunks - 3),
        }
    }

    fn recover(&self) -> Result<Recovered, String> {
        recover(&self.disk, self.features.has_generations)
    }

    /// Chooses what a life has beside its clients.
    fn choose_events(&mut self, end: End) -> Events {
        let mut events = Events::default();
        let may_fail = matches!(end, End::At(_));
        if !may_fail {
            // A full disk may end the process, and then nothing is shut down.
            self.disk.free();
        } else if self.features.fills_disk && self.extra.random_bool(0.7) {
            let room = [0, 2, 8, 100_000][self.extra.random_range(0..4)];
            events.full_disk = Some(FullDisk {
                begins_after: Duration::from_millis(self.extra.random_range(0..1_500)),
                length: Duration::from_millis(self.extra.random_range(100..2_500)),
                room_chunks: room,
            });
        }
        if self.features.has_generations {
            for _ in 0..self.extra.random_range(0..3) {
                let begins_after = Duration::from_millis(self.extra.random_range(0..2_000));
                events.generations.push(begins_after);
            }
        }
        events
    }

    /// Lets time pass between two lives.
    fn pass_time(&mut self) {
        if !self.features.has_mail {
            return;
        }
        let half_hour = 30 * MINUTE;
        let since = self.now.seconds_since(*FIRST_START).rem_euclid(half_hour);
        self.now = match self.extra.random_range(0..3) {
            0 => self.now,
            1 => self.now.plus_seconds(self.extra.random_range(1..100)),
            _ => self.now.plus_seconds(half_hour - since - 1),
        };
    }

    fn run_engine(&mut self, end: End, batch_max: Duration, events: Events) -> Result<(), String> {
        let Recovered { log, directory, group_state, .. } =
            self.recover().map_err(|error| format!("no start: {error}"))?;
        let delay_max = Duration::from_millis(self.one_of(&[0, 1, 5, 50]));
        let mut batch_times = StdRng::seed_from_u64(self.random.random());
        let randomness = Randomness::seeded(self.random.random());
        let transport = Transport::delayed(self.random.random(), delay_max);
        let clients = match end {
            End::Calm => Vec::new(),
            End::At(_) | End::ShutDown => self.choose_clients(),
        };
        let extra = StdRng::from_rng(&mut self.extra);
        let mut run = Run {
            features: self.features,
            history: Arc::clone(&self.history),
            disk: self.disk.clone(),
            life: self.lives,
            extra,
        };
        self.lives += 1;
        let base = self.now;
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let (now, ended) = runtime.expect("a runtime").block_on(async {
            let clock = Arc::new(SimulatedClock::at(base));
            let parts = EngineParts {
                directory,
                group_states: [group_state].into(),
                clock: Arc::<SimulatedClock>::clone(&clock),
                randomness,
                transport: transport.clone(),
                admission_limits: AdmissionLimits::default(),
                decision_timeout: Duration::from_secs(30),
            };
            let generations = log.generations();
            let (engine, journal) = Engine::start(parts, log).await;
            let mut journal = tokio::spawn(journal.run_simulated(move || {
                batch_times.random_range(Duration::from_micros(100)..=batch_max)
            }));
            let messaging = run.begin(&engine, generations, events, transport, end).await;
            let running = run.spawn_clients(&engine, clients);
            let ended = match end {
                End::At(power) => {
                    tokio::select! {
                        biased;
                        () = run.history.power_was_cut() => {}
                        // A failed write ends the process.
                        _ = &mut journal => run.history.cut_power(),
                        () = sleep(power) => run.history.cut_power(),
                    }
                    Ok(())
                }
                End::ShutDown => shut_down(engine, running, messaging, journal).await,
                End::Calm => {
                    for _ in 0..CALM_HOURS {
                        sleep(Duration::from_secs(1)).await;
                        clock.skip(HOUR);
                    }
                    shut_down(engine, running, messaging, journal).await
                }
            };
            (clock.now(), ended)
        });
        self.now = now;
        ended
    }

    /// Chooses the operations of a life, and the moment of each.
    fn choose_clients(&mut self) -> Vec<(Duration, Operation)> {
        let spread = Duration::from_millis(self.one_of(&[1, 50, 500, 3_000]));
        let mut clients = Vec::new();
        for _ in 0..self.random.random_range(5..40) {
            let half_hour = self.random.random_range(0..HALF_HOURS);
            let on = self.random.random_range(1..3);
            let nth = self.random.random_range(0..40);
            self.clients += 1;
            let client = self.clients;
            let operation = match self.random.random_range(0..12) {
                0..2 => Operation::Cancel { nth, id: None },
                2..4 => Operation::Move { nth, id: None, to: (half_hour, on) },
                4..6 => Operation::Read,
                6..8 => Operation::Book { client, half_hour, on: None },
                _ => Operation::Book { client, half_hour, on: Some(on) },
            };
            let asks_after = self.random.random_range(Duration::ZERO..=spread);
            let operation = if self.features.has_mail && self.extra.random_bool(0.1) {
                Operation::Readdress { nth, id: None, address: client }
            } else {
                operation
            };
            clients.push((asks_after, operation));
        }
        clients
    }

    /// Starts from a journal that reads short by some chunks. Returns `false` if the start lost
    /// events that the watermark did not cover yet: answers are lost, and no other life may follow.
    fn start_reading_short(&mut self) -> Result<bool, String> {
        let chunks = self.random.random_range(1..5);
        let Some(last) = start_reading_short(&self.disk, chunks, self.features.has_generations)?
        else {
            return Ok(true);
        };
        if last < self.covered {
            return Err(format!(
                "a journal that reads short was taken: it ends at event {last}, and the watermark \
                 covers event {}",
                self.covered
            ));
        }
        // A snapshot may hold events that the journal has lost: its history cannot go on.
        Ok(last >= self.history.last_observed() && !self.features.has_generations)
    }

    fn check_recovered(&self, recovered: &Recovered) -> Result<(), String> {
        if !recovered.agendas.starts_with(&self.agendas) {
            return Err("an earlier start read other events".to_owned());
        }
        for view in recovered.group_state.calendars.values() {
            let taken: Vec<_> = view.taken().iter().collect();
            if let Some(pair) = taken.windows(2).find(|p| p[0].interval.end > p[1].interval.start) {
                return Err(format!("two appointments at one time: {pair:?}"));
            }
        }
        check(&self.history.all(), &recovered.agendas, &recovered.events)?;
        check_mail(&self.history.attempts(), recovered)
    }

    /// Lets the last appointments come without a cut, and checks that every message has its end.
    fn settle(&mut self) -> Result<(), String> {
        // A disk without the faults that are still to come.
        self.disk = self.disk.copy();
        let power_cut = PowerCut { at_answer: None, tail: None, disk: self.disk.clone() };
        self.history.begin_life(power_cut);
        self.run_engine(End::Calm, Duration::from_millis(3), Events::default())?;
        self.history.end_life();
        let recovered = self.recover().map_err(|error| format!("no start: {error}"))?;
        self.check_recovered(&recovered)?;
        check_settled(&self.history.attempts(), &recovered, self.now)
    }
}

/// One life of the server.
struct Run {
    features: Features,
    history: Arc<History>,
    disk: SimulatedDisk,
    life: usize,
    extra: StdRng,
}

impl Run {
    /// Starts the sending of mails, the monitor of the disk, and what else a life has.
    async fn begin(
        &mut self,
        engine: &Engine,
        generations: Generations,
        events: Events,
        transport: Transport,
        end: End,
    ) -> Option<MessagingHandle> {
        if self.features.fills_disk {
            let (history, disk) = (Arc::clone(&self.history), self.disk.clone());
            // A life may begin on a full disk.
            if disk.free_bytes() == 0 {
                history.note_disk(true);
                engine.health().set_disk_has_room(false);
                let (disk, history) = (disk.clone(), Arc::clone(&history));
                tokio::spawn(free_after(Duration::from_secs(1), disk, history));
            }
            tokio::spawn(watch_disk(engine.clone(), disk.clone(), Arc::clone(&history)));
            if let Some(full_disk) = events.full_disk {
                tokio::spawn(full_disk.run(disk, history));
            }
        }
        if !events.generations.is_empty() {
            let compactor = engine.new_compactor(generations, 0, 1);
            let random = StdRng::from_rng(&mut self.extra);
            let history = Arc::clone(&self.history);
            tokio::spawn(compact(compactor, events.generations, random, history));
        }
        if !self.features.has_mail {
            return None;
        }
        let random = StdRng::from_rng(&mut self.extra);
        let server = MailServer::new(random, matches!(end, End::Calm), &self.history, self.life);
        let seed = self.extra.random();
        Some(Arc::new(server).serve(engine, transport, seed).await)
    }

    fn spawn_clients(
        &self,
        engine: &Engine,
        clients: Vec<(Duration, Operation)>,
    ) -> Vec<JoinHandle<()>> {
        let mut running = Vec::new();
        for (asks_after, operation) in clients {
            let client = Client { engine: engine.clone(), history: Arc::clone(&self.history) };
            running.push(tokio::spawn(async move {
                sleep(asks_after).await;
                client.run(operation).await;
            }));
        }
        running
    }
}

/// Waits for all clients, then for the end of the journal.
async fn shut_down(
    engine: Engine,
    clients: Vec<JoinHandle<()>>,
    messaging: Option<MessagingHandle>,
    journal: JoinHandle<Result<(), slotbook::engine::journal::JournalError>>,
) -> Result<(), String> {
    let patience = Duration::from_secs(120);
    for client in clients {
        let Ok(joined) = tokio::time::timeout(patience, client).await else {
            return Err("a client was never answered".to_owned());
        };
        joined.map_err(|error| format!("a client failed: {error}"))?;
    }
    if let Some(messaging) = messaging {
        // As long as a server waits for mails under way.
        drop(tokio::time::timeout(Duration::from_secs(7), messaging.stop()).await);
    }
    engine.shut_down().await;
    match tokio::time::timeout(patience, journal).await {
        Ok(Ok(Ok(()))) => Ok(()),
        other => Err(format!("the journal did not close: {other:?}")),
    }
}

/// Runs one seed; returns the disk and the history, byte for byte.
fn run_seed(seed: u64, features: Features) -> (Vec<u8>, String) {
    let mut world = World::new(seed, features);
    if let Err(violation) = live_all(&mut world) {
        panic!(
            "seed {seed}, {features:?}: {violation}\nrun it again: \
             SLOTBOOK_SEEDS={seed}..{} cargo test --test model simulation",
            seed + 1
        );
    }
    (world.disk.bytes(), format!("{:?} {:?}", world.history.all(), world.history.attempts()))
}

/// Runs all lives of a seed.
fn live_all(world: &mut World) -> Result<(), String> {
    for _ in 0..world.random.random_range(1..4) {
        if !world.live()? {
            return Ok(());
        }
    }
    if world.features.has_mail { world.settle() } else { Ok(()) }
}

/// The seeds to run: `SLOTBOOK_SEEDS=from..to`, a million with `SLOTBOOK_LONG`, else 2,000.
fn seeds() -> Range<u64> {
    if let Ok(range) = std::env::var("SLOTBOOK_SEEDS") {
        let (from, to) = range.split_once("..").expect("SLOTBOOK_SEEDS=from..to");
        return from.parse().expect("a number")..to.parse().expect("a number");
    }
    if std::env::var_os("SLOTBOOK_LONG").is_some() { LONG_SEEDS } else { SEEDS }
}

#[test]
fn simulation_keeps_every_promise_for_every_seed() {
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                for seed in seeds().filter(|seed| seed % threads == thread) {
                    run_seed(seed, Features::of(seed));
                }
            });
        }
    });
}

#[test]
fn simulation_of_seeds_that_found_a_defect_keeps_every_promise() {
    for (seed, features) in SEEDS_OF_DEFECTS {
        run_seed(seed, features);
    }
}

#[test]
fn simulation_of_one_seed_gives_one_log() {
    for (seed, features) in (0..16).map(|seed| (seed, Features::of(seed))).chain([
        (16, Features::ALL),
        (17, Features::ALL),
        (18, Features::ALL),
    ]) {
        let run = || run_seed(seed, features);
        assert!(run() == run(), "seed {seed} gave two logs");
    }
    assert_ne!(run_seed(0, Features::ALL).0, run_seed(1, Features::ALL).0);
}

#[test]
fn simulation_meets_every_kind_of_answer_and_every_end() {
    let mut met = BTreeMap::<String, usize>::new();
    // Mails cost most time.
    let without_mail = Features { has_mail: false, ..Features::ALL };
    for seed in 0..120 {
        let features = if seed < 50 { Features::ALL } else { without_mail };
        let mut world = World::new(seed, features);
        live_all(&mut world).expect("every promise is kept");
        for asked in world.history.all() {
            *met.entry(asked.kind().to_owned()).or_default() += 1;
        }
        *met.entry("ends at steps".to_owned()).or_default() += world.ends_at_steps;
        let generation = usize::try_from(world.disk.generation()).expect("few");
        *met.entry("generations".to_owned()).or_default() += generation - 1;
        // A start that read short has ended the history.
        let Ok(recovered) = world.recover() else { continue };
        for message in recovered.group_state.outbox.messages() {
            let progress = format!("{:?}", message.progress);
            let (name, _) = progress.split_once(' ').expect("it has fields");
            *met.entry(name.to_owned()).or_default() += 1;
        }
    }
    for (kind, least) in [
        ("booked", 20),
        ("cancelled", 20),
        ("moved", 20),
        ("readdressed", 20),
        ("not available", 20),
        ("disk full", 20),
        ("seen", 20),
        ("unanswered", 20),
        ("ends at steps", 5),
        ("generations", 20),
        ("Sent", 20),
        ("Failed", 5),
        ("Suppressed", 5),
    ] {
        assert!(met.get(kind).is_some_and(|count| *count >= least), "{kind}: {met:?}");
    }
}
