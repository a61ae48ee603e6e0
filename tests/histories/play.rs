//! One history: clients on a real server, whose lives end one after the other.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::Value;
use tokio::task::JoinSet;

use super::call::{Answer, Call, Request};
use super::client::{Connection, Reply};
use super::recorder::Recorder;
use super::shop::{Group, document, groups, open_hours};
use super::specification::NOT_AVAILABLE;
use super::stragglers::{STRAGGLERS, Stragglers};
use super::verdicts::{Figures, check_group, resolve};
use super::wishes::{Known, Wishes};

/// Number of calls of a life, of all clients together.
const CALLS_PER_LIFE: u64 = 170;

/// Longest time of a history: the specification knows no hold that ends by its minutes.
const TIME_MAX: Duration = Duration::from_secs(9 * 60);

/// Longest time for an answer of a server that may stay silent after the end of its life.
const ANSWER_MAX: Duration = Duration::from_secs(3);

/// Answers of a life after which the server of the life before it goes on.
const ANSWERS_BEFORE: u64 = 60;
/// Time after them in which its stragglers still ask.
const TIME_BEFORE: Duration = Duration::from_millis(400);

/// Place where a history is played: a server, or several.
pub(crate) trait Host {
    /// Number of lives of a history.
    const LIVES: u64;
    /// Largest number of clients of a history.
    const CLIENTS_MAX: u64;
    /// Numbers of refusals for taken time that end a life.
    const REFUSALS: RangeInclusive<u64>;

    /// Makes the store.
    async fn fill(&mut self, document: &Value);

    /// Begins a life. Returns the server that clients ask.
    async fn serve(&mut self) -> Server;

    /// Waits after the end of a life until none of its calls can have an effect any more.
    async fn settle(&mut self);

    /// Lets the server go on that the life before has left behind, and waits for its end.
    async fn end_former(&mut self);
}

/// The server of a life.
pub(crate) struct Server {
    pub(crate) base: String,
    /// Ends its life.
    pub(crate) ending: Box<dyn FnOnce() + Send>,
    /// Whether it is there after its life, and may be silent, or still answer.
    pub(crate) remains: bool,
}

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

/// The time of a server, until its end.
pub(crate) struct Life {
    pub(crate) connection: Connection,
    ending: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    end: End,
    reached: AtomicU64,
    answered: AtomicU64,
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
    fn new(server: Server, end: End) -> Self {
        let http = if server.remains {
            reqwest::Client::builder().timeout(ANSWER_MAX).build().expect("a client")
        } else {
            reqwest::Client::new()
        };
        Self {
            connection: Connection { http, base: server.base },
            ending: Mutex::new(Some(server.ending)),
            end,
            reached: AtomicU64::new(0),
            answered: AtomicU64::new(0),
        }
    }

    /// Counts an answer, and ends the life if it is the one that does.
    fn count(&self, answer: &Answer) {
        self.answered.fetch_add(1, Ordering::SeqCst);
        let (counts, most) = match (self.end, answer) {
            (End::Answers(most), _) => (true, most),
            (End::Refusals(most), Answer::Refused(codes)) => (codes.contains(&NOT_AVAILABLE), most),
            (End::Refusals(most), _) => (false, most),
        };
        if counts && self.reached.fetch_add(1, Ordering::SeqCst) + 1 == most {
            self.end();
        }
    }

    /// Ends the life, and waits until it has ended.
    fn end(&self) {
        let mut ending = self.ending.lock().expect("no client panics here");
        if let Some(ends) = ending.take() {
            ends();
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.ending.lock().expect("no client panics here").is_none()
    }

    /// Waits for so many answers, or for the end of the life.
    async fn has_answered(&self, count: u64) {
        while !self.is_over() && self.answered.load(Ordering::SeqCst) < count {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

impl Play {
    /// Plays the history of a seed on a new store of a host. Returns its calls.
    pub(crate) async fn run<H: Host>(seed: u64, host: &mut H) -> (Self, Vec<Call>) {
        let mut chance = StdRng::seed_from_u64(seed);
        let count = chance.random_range(8..=H::CLIENTS_MAX);
        let play = Arc::new(Self {
            groups: groups(count),
            recorder: Recorder::default(),
            known: Default::default(),
        });
        host.fill(&document(&play.groups)).await;
        let mut clients = Vec::new();
        for number in 0..count {
            let chance = StdRng::seed_from_u64(chance.random());
            let group = usize::from(number % 5 >= 3);
            clients.push(Client { number, group, chance, sent_again: None });
        }
        let mut stragglers = None;
        for day in 0..H::LIVES {
            let end = match chance.random_range(0..3) {
                0 => End::Answers(chance.random_range(20..CALLS_PER_LIFE)),
                _ => End::Refusals(chance.random_range(H::REFUSALS)),
            };
            let former = stragglers.take();
            let server = host.serve().await;
            let remains = server.remains;
            let life = Arc::new(Life::new(server, end));
            play.audit(&life, day + 1).await;
            stragglers = remains.then(|| Stragglers::start(&play, &life, day, seed));
            let ending = async {
                if former.is_some() {
                    life.has_answered(ANSWERS_BEFORE).await;
                    tokio::time::sleep(TIME_BEFORE).await;
                }
                play.end_former(host, former).await;
            };
            ((), clients) = tokio::join!(ending, play.live(&life, clients, day));
            host.settle().await;
            // What is sent again in the next life may have its effect there.
            let again = clients.iter().filter_map(|client| client.sent_again.as_ref());
            let again: Vec<usize> = again.map(|(number, _)| *number).collect();
            play.recorder.end_process(if day + 1 < H::LIVES { &again } else { &[] });
        }
        let life = Life::new(host.serve().await, End::Answers(u64::MAX));
        play.end_former(host, stragglers).await;
        play.audit(&life, H::LIVES).await;
        let calls = play.recorder.calls();
        let play = Arc::into_inner(play).expect("every client has ended");
        (play, calls)
    }

    /// Plays one life of the server to its end. Returns the clients as they are after it.
    async fn live(
        self: &Arc<Self>,
        life: &Arc<Life>,
        clients: Vec<Client>,
        day: u64,
    ) -> Vec<Client> {
        let each = (CALLS_PER_LIFE / clients.len() as u64).max(2);
        let mut running = JoinSet::new();
        for mut client in clients {
            let (play, life) = (Arc::clone(self), Arc::clone(life));
            running.spawn(async move {
                client.live(&play, &life, day, each).await;
                client
            });
        }
        let mut clients = running.join_all().await;
        life.end();
        clients.sort_by_key(|client| client.number);
        clients
    }

    /// Ends the server of the life before, and its stragglers.
    async fn end_former<H: Host>(&self, host: &mut H, former: Option<Stragglers>) {
        if let Some(stragglers) = &former {
            stragglers.stop();
        }
        host.end_former().await;
        if let Some(stragglers) = former {
            stragglers.end(&self.recorder).await;
        }
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
            let connection = &life.connection;
            let called = self.call(connection, u64::MAX, index, request.clone(), None).await;
            if called.is_some_and(|(_, reply)| reply.answer != Answer::Nothing) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("{request}: no answer in 100 attempts");
    }

    pub(crate) fn known(&self, group: usize) -> MutexGuard<'_, Known> {
        self.known[group].lock().expect("no client panics here")
    }

    /// Makes a call. With `leaves`, the client goes away after that time without an answer. `None`
    /// if the answer is lost, or the server is gone.
    pub(crate) async fn call(
        &self,
        connection: &Connection,
        thread: u64,
        index: usize,
        request: Request,
        leaves: Option<Duration>,
    ) -> Option<(usize, Reply)> {
        let group = &self.groups[index];
        let number = self.recorder.begin(thread, group.id, request.clone());
        let secrets = self.known(index).secrets.clone();
        let built = connection.build(group, number, &request, &secrets);
        if let Some(waits) = leaves {
            connection.ask_and_leave(built, waits).await;
            return None;
        }
        let reply = connection.ask(&request, built).await?;
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
            if life.is_over() {
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
            let connection = &life.connection;
            let sent = request.clone();
            let done = play.call(connection, self.number, self.group, sent, leaves).await;
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

/// Plays and checks the history of a seed on a host.
///
/// # Errors
/// The violation.
pub(crate) async fn play_and_check<H: Host>(seed: u64, host: &mut H) -> Result<Figures, String> {
    let began = Instant::now();
    let (play, mut calls) = Play::run(seed, host).await;
    if began.elapsed() > TIME_MAX {
        return Err(format!("it took {:?}, and holds end after ten minutes", began.elapsed()));
    }
    let lost = calls.iter().filter(|call| call.answer == Answer::Lost).count();
    let found = resolve(&mut calls)?;
    let refused = calls.iter().filter(|call| matches!(call.answer, Answer::Refused(_))).count();
    let stray = calls.iter().filter(|call| STRAGGLERS.contains(&call.thread)).count();
    let mut figures =
        Figures { calls: calls.len(), lost, found, refused, stray, ..Figures::default() };
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
