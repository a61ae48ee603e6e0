//! Clients who ask a server after its life: one that is paused or cut off, while another decides.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use tokio::task::JoinSet;

use super::call::Request;
use super::client::Connection;
use super::play::{Life, Play};
use super::recorder::Recorder;
use super::wishes::Wishes;

/// Threads of the stragglers of all lives.
pub(crate) const STRAGGLERS: Range<u64> = 1_000..2_000;
/// Stragglers of a life, half of them of each group.
const COUNT: u64 = 4;
/// Longest time for an answer: a server that is paused gives none.
const ANSWER_MAX: Duration = Duration::from_millis(300);
/// Longest pause between two calls.
const PAUSE_MAX_MS: u64 = 100;

/// The stragglers of a life.
pub(crate) struct Stragglers {
    asking: JoinSet<()>,
    has_ended: Arc<AtomicBool>,
    threads: Range<u64>,
}

/// One of them.
struct Straggler {
    play: Arc<Play>,
    life: Arc<Life>,
    connection: Connection,
    has_ended: Arc<AtomicBool>,
    thread: u64,
    day: u64,
    chance: StdRng,
}

impl Stragglers {
    /// Starts those of a life, who ask from its end on.
    pub(crate) fn start(play: &Arc<Play>, life: &Arc<Life>, day: u64, seed: u64) -> Self {
        let first = STRAGGLERS.start + day * COUNT;
        let threads = first..first + COUNT;
        let has_ended = Arc::new(AtomicBool::new(false));
        let http = reqwest::Client::builder().timeout(ANSWER_MAX).build().expect("a client");
        let mut asking = JoinSet::new();
        for thread in threads.clone() {
            let straggler = Straggler {
                play: Arc::clone(play),
                life: Arc::clone(life),
                connection: Connection { http: http.clone(), ..life.connection.clone() },
                has_ended: Arc::clone(&has_ended),
                thread,
                day,
                chance: StdRng::seed_from_u64(seed ^ thread),
            };
            asking.spawn(straggler.ask());
        }
        Self { asking, has_ended, threads }
    }

    /// Lets them begin no more calls.
    pub(crate) fn stop(&self) {
        self.has_ended.store(true, Ordering::SeqCst);
    }

    /// Waits for their last answers, after the end of the process that they asked.
    pub(crate) async fn end(self, recorder: &Recorder) {
        self.asking.join_all().await;
        recorder.end_threads(&self.threads);
    }
}

impl Straggler {
    /// Makes calls from the end of the life on: lists, and what clients wish.
    async fn ask(mut self) {
        let index = usize::from(self.thread % 2 == 1);
        while !self.has_ended.load(Ordering::SeqCst) {
            let pause = Duration::from_millis(self.chance.random_range(0..PAUSE_MAX_MS));
            tokio::time::sleep(pause).await;
            if !self.life.is_over() || self.has_ended.load(Ordering::SeqCst) {
                continue;
            }
            let request = if self.chance.random() {
                Request::List
            } else {
                let wishes = Wishes { group: &self.play.groups[index], day: self.day };
                let known = self.play.known(index);
                wishes.draw(&mut self.chance, &known, self.thread)
            };
            self.play.call(&self.connection, self.thread, index, request, None).await;
        }
    }
}
