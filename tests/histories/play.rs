//! One history: clients on a real server, which is killed again and again.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use tokio::task::JoinSet;

use super::call::{Answer, Call, Request};
use super::client::{Connection, Reply};
use super::recorder::Recorder;
use super::server::{Served, store_of};
use super::shop::{Group, document, groups, open_hours};
use super::specification::NOT_AVAILABLE;
use super::verdicts::{Figures, check_group, resolve};
use super::wishes::{Known, Wishes};

/// Number of calls of a life, of all clients together.
const CALLS_PER_LIFE: u64 = 170;

/// Longest time of a history: the specification knows no hold that ends by its minutes.
const TIME_MAX: Duration = Duration::from_secs(9 * 60);

/// Event that brings the end of a life.
#[derive(Clone, Copy, Debug)]
enum End {
    /// So many answers of any kind.
    Answers(u64),
    /// So many refusals for taken time: the time may have been taken a moment ago.
    Refusals(u64),
}

/// The world of a history.
pub(crate) struct Play {
    pub(crate) groups: [Group; 2],
    recorder: Recorder,
    known: [Mutex<Known>; 2],
}

/// A process, until it is killed.
struct Life {
    connection: Connection,
    server: Mutex<Option<Served>>,
    end: End,
    reached: AtomicU64,
}

/// A client, over all lives.
struct Client {
    number: u64,
    group: usize,
    chance: StdRng,
    /// Its call whose answer was lost and that it sends again first.
    sent_again: Option<(usize, Request)>,
}

impl Life {
    /// Counts an answer, and kills the process if it is the one that ends the life.
    fn count(&self, answer: &Answer) {
        let (counts, most) = match (self.end, answer) {
            (End::Answers(most), _) => (true, most),
            (End::Refusals(most), Answer::Refused(codes)) => (codes.contains(&NOT_AVAILABLE), most),
            (End::Refusals(most), _) => (false, most),
        };
        if counts && self.reached.fetch_add(1, Ordering::SeqCst) + 1 == most {
            self.kill();
        }
    }

    /// Kills the process, and waits until it is gone.
    fn kill(&self) {
        drop(self.server.lock().expect("no client panics here").take());
    }
}

impl Play {
    /// Plays the history of a seed on a new store in a folder. Returns its calls.
    pub(crate) async fn run(seed: u64, folder: &Path) -> (Self, Vec<Call>) {
        let mut chance = StdRng::seed_from_u64(seed);
        let count = chance.random_range(8..=64);
        let play = Arc::new(Self {
            groups: groups(count),
            recorder: Recorder::default(),
            known: Default::default(),
        });
        let data = store_of(folder, &document(&play.groups));
        let mut clients = Vec::new();
        for number in 0..count {
            let chance = StdRng::seed_from_u64(chance.random());
            let group = usize::from(number % 5 >= 3);
            clients.push(Client { number, group, chance, sent_again: None });
        }
        let lives = 2;
        for day in 0..lives {
            let end = match chance.random_range(0..3) {
                0 => End::Answers(chance.random_range(20..CALLS_PER_LIFE)),
                _ => End::Refusals(chance.random_range(1..=20)),
            };
            clients = play.live(&data, clients, day, end).await;
            // What is sent again in the next life may have its effect there.
            let again = clients.iter().filter_map(|client| client.sent_again.as_ref());
            let again: Vec<usize> = again.map(|(number, _)| *number).collect();
            play.recorder.end_process(if day + 1 < lives { &again } else { &[] });
        }
        play.audit(&play.serve(&data, End::Answers(u64::MAX)), lives).await;
        let calls = play.recorder.calls();
        let play = Arc::into_inner(play).expect("every client has ended");
        (play, calls)
    }

    fn serve(&self, data: &Path, end: End) -> Life {
        let server = Served::on(data, &[]);
        let connection = Connection { http: reqwest::Client::new(), base: server.base.clone() };
        let server = Mutex::new(Some(server));
        Life { connection, server, end, reached: AtomicU64::new(0) }
    }

    /// One life of the server. Returns the clients as they are after it.
    async fn live(
        self: &Arc<Self>,
        data: &Path,
        clients: Vec<Client>,
        day: u64,
        end: End,
    ) -> Vec<Client> {
        let life = Arc::new(self.serve(data, end));
        self.audit(&life, day + 1).await;
        let each = (CALLS_PER_LIFE / clients.len() as u64).max(2);
        let mut running = JoinSet::new();
        for mut client in clients {
            let (play, life) = (Arc::clone(self), Arc::clone(&life));
            running.spawn(async move {
                client.live(&play, &life, day, each).await;
                client
            });
        }
        let mut clients = running.join_all().await;
        life.kill();
        clients.sort_by_key(|client| client.number);
        clients
    }

    /// Reads the whole of both groups while no client is there.
    async fn audit(&self, life: &Life, days: u64) {
        for index in 0..self.groups.len() {
            let mut reads = vec![Request::List];
            for day in 0..days {
                reads.push(Request::Search {
                    calendar: None,
                    open: open_hours(day),
                    length: 1,
                    hold: None,
                });
            }
            for request in reads {
                self.read_surely(life, index, &request).await;
            }
        }
    }

    /// Reads until there is an answer: a server under load closes connections that wait too long.
    async fn read_surely(&self, life: &Life, index: usize, request: &Request) {
        for _ in 0..100 {
            let called = self.call(life, u64::MAX, index, request.clone(), None).await;
            if called.is_some_and(|(_, reply)| reply.answer != Answer::Nothing) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("{request}: no answer in 100 attempts");
    }

    fn known(&self, group: usize) -> MutexGuard<'_, Known> {
        self.known[group].lock().expect("no client panics here")
    }

    /// Makes a call. With `leaves`, the client goes away after that time without an answer. `None`
    /// if the answer is lost, or the server is gone.
    async fn call(
        &self,
        life: &Life,
        thread: u64,
        index: usize,
        request: Request,
        leaves: Option<Duration>,
    ) -> Option<(usize, Reply)> {
        let group = &self.groups[index];
        let number = self.recorder.begin(thread, group.id, request.clone());
        let secrets = self.known(index).secrets.clone();
        let built = life.connection.build(group, number, &request, &secrets);
        if let Some(waits) = leaves {
            life.connection.ask_and_leave(built, waits).await;
            return None;
        }
        let reply = life.connection.ask(&request, built).await?;
        self.recorder.end(number, reply.answer.clone());
        Some((number, reply))
    }

    /// Returns the number of the newest call of a thread.
    fn newest(&self, thread: u64) -> usize {
        let calls = self.recorder.calls();
        calls.iter().rfind(|call| call.thread == thread).expect("it has called").number
    }
}

impl Client {
    /// Makes some calls, until the server is gone.
    async fn live(&mut self, play: &Play, life: &Life, day: u64, count: u64) {
        for _ in 0..count {
            if life.server.lock().expect("no client panics here").is_none() {
                return;
            }
            if self.sent_again.is_some() {
                self.ask_again(play, life).await;
                continue;
            }
            let wishes = Wishes { group: &play.groups[self.group], day };
            let request = {
                let known = play.known(self.group);
                wishes.draw(&mut self.chance, &known, self.number)
            };
            let is_left = self.chance.random_ratio(1, 12);
            let waits = Duration::from_micros(self.chance.random_range(0..6_000));
            let repeats = self.chance.random_ratio(2, 3);
            let leaves = is_left.then_some(waits);
            let done = play.call(life, self.number, self.group, request.clone(), leaves).await;
            let has_key = matches!(request, Request::Book { .. } | Request::Hold(_));
            match done {
                Some((number, reply)) => self.note(play, life, number, &request, reply),
                None if has_key && repeats => {
                    self.sent_again = Some((play.newest(self.number), request));
                }
                None => {}
            }
        }
    }

    /// Sends the lost call again under its Idempotency-Key.
    async fn ask_again(&mut self, play: &Play, life: &Life) {
        let (number, request) = self.sent_again.clone().expect("it was looked at");
        play.recorder.repeat(number);
        let group = &play.groups[self.group];
        let secrets = play.known(self.group).secrets.clone();
        let built = life.connection.build(group, number, &request, &secrets);
        if let Some(reply) = life.connection.ask(&request, built).await {
            play.recorder.end(number, reply.answer.clone());
            self.sent_again = None;
            self.note(play, life, number, &request, reply);
        }
    }

    /// Notes what an answer tells for later requests, and counts it.
    fn note(&mut self, play: &Play, life: &Life, number: usize, request: &Request, reply: Reply) {
        play.known(self.group).learn(self.number, number, request, &reply);
        life.count(&reply.answer);
    }
}

/// Plays and checks the history of a seed.
///
/// # Errors
/// The violation.
pub(crate) async fn play_and_check(seed: u64) -> Result<Figures, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let began = Instant::now();
    let (play, mut calls) = Play::run(seed, folder.path()).await;
    if began.elapsed() > TIME_MAX {
        return Err(format!("it took {:?}, and holds end after ten minutes", began.elapsed()));
    }
    let lost = calls.iter().filter(|call| call.answer == Answer::Lost).count();
    let found = resolve(&mut calls)?;
    let refused = calls.iter().filter(|call| matches!(call.answer, Answer::Refused(_))).count();
    let mut figures = Figures { calls: calls.len(), lost, found, refused, ..Figures::default() };
    let mut by_group: BTreeMap<u64, Vec<Call>> = BTreeMap::new();
    for call in calls {
        by_group.entry(call.group).or_default().push(call);
    }
    for group in &play.groups {
        let calls = by_group.remove(&group.id).unwrap_or_default();
        let checked = check_group(&calls, &group.shop)
            .map_err(|violation| format!("group {}: {violation}", group.id))?;
        figures.add(checked);
    }
    Ok(figures)
}
