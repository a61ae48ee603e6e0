//! Servers over a model of PostgreSQL with a standby, which loses requests and answers, once or for
//! long, ends waits, is promoted, and has servers asked to hand over. They run the code of the real
//! ones, on threads of which one runs at a time, in an order that a seed gives.

mod tables;

use std::collections::BTreeSet;
use std::num::NonZero;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::available_parallelism;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use uuid::Uuid;

use self::tables::{Row, Tables};
use crate::store::batch;
use crate::store::error::StoreError;
use crate::store::formats::Formats;
use crate::store::journal::Log as _;
use crate::store::record::{BatchNumber, JournalRecord, Position, Stream};
use crate::store::recovery::RecoveryVisitor;
use crate::store::shared::connection::CallError;
use crate::store::shared::follower::{Follower, Takeover};
use crate::store::shared::in_force::{InForce, InForceView};
use crate::store::shared::lease::{HolderReport, Lease, NamedSuccessor, TakeoverCondition};
use crate::store::shared::log::SharedLog;
use crate::store::shared::rows::{OwnedRow, SharedRows};
use crate::store::shared::snapshots::SnapshotStates;
use crate::store::snapshot::Frames;

const SERVERS: usize = 3;
/// Turns of a run, of which each server has a third.
const TURNS: usize = 900;
/// Reads that a server which leaves has still under way.
pub(crate) const READS_UNDER_WAY: usize = 5;

/// A call that reaches PostgreSQL after its server has lost the connection.
struct LateAppend {
    row: OwnedRow,
    bytes: Vec<u8>,
}

/// PostgreSQL, the clocks, and the answers to clients.
pub(crate) struct World {
    pub(crate) random: StdRng,
    /// The snapshots of the first states, which are read before the journal.
    snapshots: Arc<[StoredSnapshot]>,
    /// The tables of the primary.
    primary: Tables,
    /// The tables of its standby.
    standby: Tables,
    late: Vec<LateAppend>,
    now: Duration,
    turns: usize,
    /// The server whose turn it is.
    turn: usize,
    /// Turns for which each server is paused, and whether it has ended.
    paused: [usize; SERVERS],
    ended: [bool; SERVERS],
    /// The way of each server to PostgreSQL.
    ways: [Way; SERVERS],
    owners: u128,
    incarnations: u64,
    pub(crate) next_write: u64,
    /// Writes that were answered.
    pub(crate) answered: BTreeSet<u64>,
    pub(crate) takeovers: usize,
    /// Servers that have handed over.
    pub(crate) departures: usize,
    pub(crate) reads: usize,
}

/// The way of a server to PostgreSQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Open,
    /// Nothing arrives there.
    CutThere,
    /// Everything arrives there, and no answer comes back.
    CutBack,
}

/// The frames of a snapshot, at the position before the first record of its stream.
pub(crate) struct StoredSnapshot {
    pub(crate) stream: Stream,
    pub(crate) frames: Vec<Vec<u8>>,
}

/// The frames that are left of a snapshot.
struct StoredFrames<'f>(std::slice::Iter<'f, Vec<u8>>);

impl Frames for StoredFrames<'_> {
    fn format(&self) -> u16 {
        Formats::NEWEST.snapshots
    }

    fn next(&mut self) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.0.next().cloned())
    }
}

struct Shared {
    world: Mutex<World>,
    turned: [Condvar; SERVERS],
}

/// The way of one server into the world.
#[derive(Clone)]
pub(crate) struct SimulatedServer {
    shared: Arc<Shared>,
    index: usize,
    /// Its start, which each restart changes.
    incarnation: u64,
    pub(crate) lease: Arc<Lease>,
    /// Its clock is so much faster than others, in thousandths.
    fast: u32,
}

/// Ends the thread of a server when the run is over.
struct RunIsOver;

impl SimulatedServer {
    /// Lets others run, then does `step` in this server's turn.
    pub(crate) fn step<T>(&self, step: impl FnOnce(&mut World, usize) -> T) -> T {
        let mut world = self.shared.world.lock();
        world.advance();
        world.pass_turn();
        let next = world.turn;
        self.shared.turned[next].notify_one();
        while world.turn != self.index {
            self.shared.turned[self.index].wait(&mut world);
        }
        if world.turns >= TURNS {
            drop(world);
            std::panic::resume_unwind(Box::new(RunIsOver));
        }
        step(&mut world, self.index)
    }

    /// The time by this server's clock.
    fn clock(&self, now: Duration) -> Duration {
        now + now * self.fast / 1_000
    }

    pub(crate) fn local_now(&self) -> Duration {
        self.clock(self.shared.world.lock().now)
    }

    pub(crate) fn beat(&self) {
        let sent = self.local_now();
        let index = self.index;
        let incarnation = self.incarnation;
        let answered = self.step(|world, _| {
            world.commit(index, |tables| {
                let is_self = tables.holder == Some((index, incarnation));
                if is_self && !tables.released {
                    tables.beat += 1;
                }
                Ok(HolderReport {
                    beat: tables.beat,
                    is_self,
                    released: tables.released,
                    successor: match tables.successor {
                        None => NamedSuccessor::None,
                        Some(successor) if successor == index => NamedSuccessor::This,
                        Some(_) => NamedSuccessor::Other,
                    },
                    url: String::new(),
                })
            })
        });
        match answered {
            Ok(report) => {
                self.lease.note_beat(sent, self.local_now(), report);
            }
            Err(_) => self.lease.note_failure(),
        }
    }

    /// Leaves the decision to the successor. The commit waits for no standby.
    pub(crate) fn leave(&self) {
        self.lease.end();
        let incarnation = self.incarnation;
        self.step(|world, index| {
            if world.ways[index] != Way::CutThere
                && world.primary.holder == Some((index, incarnation))
            {
                world.primary.released = true;
                world.primary.beat += 1;
                world.departures += 1;
            }
        });
    }
}

impl World {
    fn new(seed: u64, snapshots: Arc<[StoredSnapshot]>) -> Self {
        let first = OwnedRow { number: BatchNumber(0), epoch: 0, owner: Uuid::nil() };
        let tables = Tables { journal: vec![(first, Vec::new())], ..Tables::default() };
        Self {
            random: StdRng::seed_from_u64(seed),
            snapshots,
            primary: tables.clone(),
            standby: tables,
            late: Vec::new(),
            now: Duration::from_secs(1_000),
            turns: 0,
            turn: 0,
            paused: [0; SERVERS],
            ended: [false; SERVERS],
            ways: [Way::Open; SERVERS],
            owners: 0,
            incarnations: 0,
            next_write: 0,
            answered: BTreeSet::new(),
            takeovers: 0,
            departures: 0,
            reads: 0,
        }
    }

    /// Reads all that is written, as a start does.
    pub(crate) fn read_all<V: RecoveryVisitor + Default>(&self) -> Result<V, StoreError> {
        let mut visitor: V = read_snapshots(&self.snapshots)?;
        for (row, bytes) in self.primary.journal.iter().filter(|(_, bytes)| !bytes.is_empty()) {
            for record in batch::decode_row(row.number, bytes).expect("whole rows") {
                visitor.record(row.number, record)?;
            }
        }
        Ok(visitor)
    }

    /// Lets time pass, and now and then something happen.
    fn advance(&mut self) {
        self.turns += 1;
        let calm = self.random.random_bool(0.97);
        self.now +=
            Duration::from_millis(self.random.random_range(if calm { 1..80 } else { 1..6_000 }));
        if self.random.random_bool(0.02) {
            let index = self.random.random_range(0..SERVERS);
            self.paused[index] = self.random.random_range(1..60);
        }
        if self.random.random_bool(0.02) {
            let index = self.random.random_range(0..SERVERS);
            self.ways[index] = match self.ways[index] {
                Way::Open if self.random.random_bool(0.5) => Way::CutThere,
                Way::Open => Way::CutBack,
                Way::CutThere | Way::CutBack => Way::Open,
            };
        }
        if self.random.random_bool(0.01) {
            // Rows that no standby has are gone.
            self.primary = self.standby.clone();
        }
        if self.random.random_bool(0.01) && self.primary.holder.is_some() {
            self.primary.successor = Some(self.random.random_range(0..SERVERS));
            self.standby = self.primary.clone();
        }
        if !self.late.is_empty() && self.random.random_bool(0.1) {
            let late = self.late.remove(0);
            // No server hears of its end.
            let _ = self.primary.append(late.row, &late.bytes);
            self.standby = self.primary.clone();
        }
    }

    /// Gives the turn to a server that runs.
    fn pass_turn(&mut self) {
        if self.turns >= TURNS {
            // One after another, each sees that the run is over.
            self.turn = (0..SERVERS).find(|index| !self.ended[*index]).unwrap_or(0);
            return;
        }
        loop {
            let index = self.random.random_range(0..SERVERS);
            if self.paused[index] == 0 {
                self.turn = index;
                return;
            }
            self.paused[index] -= 1;
        }
    }

    /// Commits a change of a server, with all that can happen to it.
    fn commit<T>(
        &mut self,
        index: usize,
        change: impl FnOnce(&mut Tables) -> Result<T, CallError>,
    ) -> Result<T, CallError> {
        let unknown = || Err(CallError::Unknown("the connection is lost".to_owned()));
        if self.ways[index] == Way::CutThere || self.random.random_bool(0.03) {
            return unknown();
        }
        let done = change(&mut self.primary)?;
        if self.random.random_bool(0.05) {
            // The wait for the standby was ended: success with a warning.
            return unknown();
        }
        self.standby = self.primary.clone();
        let is_lost = self.ways[index] == Way::CutBack || self.random.random_bool(0.03);
        if is_lost { unknown() } else { Ok(done) }
    }
}

impl SharedRows for SimulatedServer {
    fn append(&mut self, row: OwnedRow, bytes: &[u8]) -> Result<(), CallError> {
        self.step(|world, index| {
            if world.random.random_bool(0.03) {
                world.late.push(LateAppend { row, bytes: bytes.to_vec() });
                return Err(CallError::Unknown("no answer yet".to_owned()));
            }
            world.commit(index, |tables| tables.append(row, bytes))
        })
    }

    fn take_again(&mut self, owner: Uuid, own: &[Uuid]) -> Result<OwnedRow, CallError> {
        self.step(|world, index| {
            world.commit(index, |tables| {
                if own.contains(&tables.last().owner) {
                    Ok(tables.take(owner))
                } else {
                    Err(CallError::Fenced)
                }
            })
        })
    }

    fn take_over(
        &mut self,
        owner: Uuid,
        condition: TakeoverCondition,
    ) -> Result<Option<OwnedRow>, CallError> {
        let incarnation = self.incarnation;
        self.step(|world, index| {
            world.commit(index, |tables| {
                Ok(tables.take_over((index, incarnation), owner, condition))
            })
        })
    }

    fn read_journal(&mut self, from: BatchNumber) -> Result<Vec<Row>, CallError> {
        self.step(|world, index| {
            if world.ways[index] != Way::Open {
                return Err(CallError::Unknown("no way".to_owned()));
            }
            let rows = world.primary.journal.iter().filter(|(row, _)| row.number >= from);
            Ok(rows.cloned().collect())
        })
    }

    fn read_snapshot<V: RecoveryVisitor + Default>(
        &mut self,
    ) -> Result<SnapshotStates<V>, StoreError> {
        let snapshots = Arc::clone(&self.shared.world.lock().snapshots);
        Ok(SnapshotStates { visitor: read_snapshots(&snapshots)?, ..SnapshotStates::default() })
    }

    fn pause(&mut self, _: Duration) {
        self.step(|_, _| ());
    }

    fn now(&self) -> Duration {
        self.local_now()
    }

    fn new_owner(&mut self) -> Uuid {
        let mut world = self.shared.world.lock();
        world.owners += 1;
        Uuid::from_u128(world.owners)
    }
}

/// Reads the first states.
fn read_snapshots<V: RecoveryVisitor + Default>(
    snapshots: &[StoredSnapshot],
) -> Result<V, StoreError> {
    let mut visitor = V::default();
    for StoredSnapshot { stream, frames } in snapshots {
        visitor.snapshot(*stream, Position::default(), &mut StoredFrames(frames.iter()))?;
    }
    Ok(visitor)
}

/// The writes that a server knows, in order.
#[derive(Clone, Debug, Default)]
struct Writes(Vec<u64>);

impl RecoveryVisitor for Writes {
    fn snapshot(&mut self, _: Stream, _: Position, _: &mut dyn Frames) -> Result<(), StoreError> {
        unreachable!("there are no snapshots")
    }

    fn record(&mut self, _: BatchNumber, record: JournalRecord) -> Result<(), StoreError> {
        self.0.push(write_of(&record));
        Ok(())
    }
}

fn write_of(record: &JournalRecord) -> u64 {
    u64::from_be_bytes(record.bytes.as_slice().try_into().expect("eight bytes"))
}

/// Follows, takes over and serves, again and again.
fn run_server<V: RecoveryVisitor + Default>(
    mut server: SimulatedServer,
    serve: &impl Fn(&SimulatedServer, V, SharedLog<SimulatedServer>),
) {
    loop {
        server.lease = Arc::default();
        server.incarnation = {
            let mut world = server.shared.world.lock();
            world.incarnations += 1;
            world.incarnations
        };
        let in_force = InForce { formats: Formats::NEWEST, tzdata: String::new() };
        let in_force = Arc::new(InForceView::new(in_force));
        let mut follower = Follower::<V, SimulatedServer>::new(
            server.clone(),
            Arc::clone(&server.lease),
            in_force,
            Arc::default(),
        );
        let owned = loop {
            server.beat();
            match follower.follow().and_then(|()| follower.take_over()) {
                Ok(Some(owned)) => break owned,
                Ok(None) | Err(StoreError::Shared { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        };
        match follower.into_takeover(owned) {
            Ok(Takeover { visitor, log, .. }) => {
                server.shared.world.lock().takeovers += 1;
                serve(&server, visitor, log);
            }
            Err(StoreError::Fenced) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// Serves clients until another server has taken over.
fn serve_writes(
    server: &SimulatedServer,
    Writes(mut known): Writes,
    mut log: SharedLog<SimulatedServer>,
) {
    loop {
        server.beat();
        if server.lease.was_taken() {
            return;
        }
        if server.lease.is_to_hand_over() {
            server.leave();
            return (0..READS_UNDER_WAY).for_each(|_| read(server, &known));
        }
        for _ in 0..server.step(|world, _| world.random.random_range(0..4)) {
            let write = server.step(|world, _| {
                world.next_write += 1;
                world.next_write
            });
            let sequence = u64::try_from(known.len()).expect("small") + 1;
            let bytes = write.to_be_bytes().to_vec();
            match log.append(&[JournalRecord::new(Stream::Directory, sequence, bytes)]) {
                Ok(_) => {}
                Err(StoreError::Fenced) => return,
                Err(error) => panic!("{error}"),
            }
            known.push(write);
            server.step(|world, _| world.answered.insert(write));
        }
        read(server, &known);
    }
}

/// Reads as a client does: it sees all that was answered before it asked, or nothing.
fn read(server: &SimulatedServer, known: &[u64]) {
    let before = server.step(|world, _| world.answered.clone());
    let seen: BTreeSet<u64> = known.iter().copied().collect();
    server.step(|_, _| ());
    if server.lease.is_held_at(server.local_now()) {
        assert!(before.is_subset(&seen), "a read lacks {:?}", before.difference(&seen));
        server.step(|world, _| world.reads += 1);
    }
}

/// Runs a seed with servers that begin with the states of `snapshots`. Each that has taken over
/// calls `serve`, which returns once another one has. Returns the world at the end.
pub(crate) fn run_servers<V: RecoveryVisitor + Default>(
    seed: u64,
    snapshots: Arc<[StoredSnapshot]>,
    serve: impl Fn(&SimulatedServer, V, SharedLog<SimulatedServer>) + Sync,
) -> World {
    let serve = &serve;
    let world = Mutex::new(World::new(seed, snapshots));
    let shared = Arc::new(Shared { world, turned: Default::default() });
    std::thread::scope(|scope| {
        for index in 0..SERVERS {
            let shared = Arc::clone(&shared);
            scope.spawn(move || {
                let fast = u32::try_from(index).expect("small") * 20;
                let lease = Arc::default();
                let server = SimulatedServer {
                    shared: Arc::clone(&shared),
                    index,
                    incarnation: 0,
                    lease,
                    fast,
                };
                let run = std::panic::AssertUnwindSafe(|| {
                    let mut world = shared.world.lock();
                    while world.turn != index {
                        shared.turned[index].wait(&mut world);
                    }
                    drop(world);
                    run_server(server, serve);
                });
                let ended = std::panic::catch_unwind(run);
                let mut world = shared.world.lock();
                // A failed check ends the run of all.
                world.turns = TURNS;
                world.ended[index] = true;
                world.pass_turn();
                shared.turned[world.turn].notify_one();
                drop(world);
                if let Err(panic) = ended
                    && !panic.is::<RunIsOver>()
                {
                    std::panic::resume_unwind(panic);
                }
            });
        }
    });
    let mut world = shared.world.lock();
    std::mem::replace(&mut *world, World::new(seed, Arc::default()))
}

/// Runs a seed, and checks the history at its end. Returns the numbers of takeovers, hand-overs,
/// writes and reads.
fn run_seed(seed: u64) -> [usize; 4] {
    let world = run_servers(seed, Arc::default(), serve_writes);
    let Writes(written) = world.read_all().expect("whole rows");
    let once: BTreeSet<u64> = written.iter().copied().collect();
    assert_eq!(once.len(), written.len(), "a write is there twice");
    let lost: Vec<_> = world.answered.difference(&once).collect();
    assert!(lost.is_empty(), "answered and lost: {lost:?}");
    [world.takeovers, world.departures, world.answered.len(), world.reads]
}

/// The seeds to run: these, or those of `SLOTBOOK_SEEDS`, as in 0..1000000.
pub(crate) fn seeds(usual: Range<u64>) -> Range<u64> {
    let given = std::env::var("SLOTBOOK_SEEDS").ok();
    let range = given.as_deref().and_then(|range| range.split_once(".."));
    let parsed = range.and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    parsed.unwrap_or(usual)
}

/// Runs seeds on all cores, and adds up what each counted.
pub(crate) fn run_seeds<const N: usize>(
    seeds: Range<u64>,
    run_seed: fn(u64) -> [usize; N],
) -> [usize; N] {
    let next = AtomicU64::new(seeds.start);
    let sums = Mutex::new([0; N]);
    let run_some = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return;
            }
            let run = std::panic::catch_unwind(|| run_seed(seed));
            let counts = run.unwrap_or_else(|_| panic!("seed {seed} fails"));
            sums.lock().iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..available_parallelism().map_or(1, NonZero::get) {
            scope.spawn(run_some);
        }
    });
    sums.into_inner()
}

#[test]
fn what_was_answered_is_there_once_and_every_read_sees_it() {
    let seeds = seeds(0..2_000);
    let sums = run_seeds(seeds.clone(), run_seed);
    let [takeovers, departures, writes, reads] = sums;
    println!(
        "{seeds:?}: {takeovers} takeovers, {departures} hand-overs, {writes} answered writes, \
         {reads} reads"
    );
    assert!(sums.iter().all(|sum| *sum > 0), "{sums:?}");
}
