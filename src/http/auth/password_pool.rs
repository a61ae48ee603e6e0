//! Turns to work on passwords: each takes a core for some tens of milliseconds, and 19 MiB.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use crate::http::auth::sliding_window::source;
use crate::http::error::ApiError;
use crate::password::Memory;

/// Requests of one source that may wait, for each turn there is. Behind a proxy that nobody told us of all requests come
/// from one source, so this must be enough for everybody by itself: a few seconds' work.
const WAITING_OF_ONE: usize = 64;
/// Requests that may wait, in what one source may have waiting: so many sources fill the line together, and one, however
/// many connections it has, leaves three quarters of the places to others.
const SHARES: usize = 4;

/// As many turns as there are cores, given source by source: whoever waits waits for one turn of each other source that
/// does, however many requests those have waiting.
pub(crate) struct PasswordPool {
    line: Arc<Line>,
    /// Requests of one source that may wait.
    waiting_of_one: usize,
}

#[derive(Default)]
struct Line(Mutex<State>);

#[derive(Default)]
struct State {
    /// The memory of each turn that nobody has, last the one that was given back last: a quiet server fills one. While
    /// there is any, nobody waits.
    free: Vec<Memory>,
    /// Who waits, by source; the source at the front has the next turn, and none is without anybody.
    waiting: VecDeque<(IpAddr, VecDeque<oneshot::Sender<Turn>>)>,
}

/// The right to work on a password. It passes to whoever is next when it is dropped.
pub(crate) struct Turn {
    line: Arc<Line>,
    /// Memory of the turn's own; `None` once it has passed on.
    memory: Option<Memory>,
}

impl PasswordPool {
    /// So many at a time.
    pub(crate) fn new(cores: usize) -> Self {
        let free = (0..cores).map(|_| Memory::default()).collect();
        let line = Line(Mutex::new(State { free, waiting: VecDeque::new() }));
        Self { line: Arc::new(line), waiting_of_one: cores * WAITING_OF_ONE }
    }

    /// A turn for a request from an address, waited for.
    ///
    /// # Errors
    /// 503 when too many of its source are waiting, or too many of all.
    pub(crate) async fn turn(&self, from: IpAddr) -> Result<Turn, ApiError> {
        let place = {
            let mut state = self.line.state();
            if let Some(memory) = state.free.pop() {
                return Ok(Turn { line: Arc::clone(&self.line), memory: Some(memory) });
            }
            state.stand(source(from), self.waiting_of_one).ok_or_else(ApiError::overloaded)?
        };
        Ok(place.await.expect("whoever stands in the line is given a turn"))
    }

    /// What `compute` returns for a request from an address, once it has had its turn.
    ///
    /// # Errors
    /// 503 when too many are waiting; 500 when it panicked.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        from: IpAddr,
        compute: impl FnOnce(&mut Memory) -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        self.turn(from).await?.run(compute).await
    }
}

impl Line {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// A place in the line, where there is one for the source.
    fn stand(&mut self, source: IpAddr, most: usize) -> Option<oneshot::Receiver<Turn>> {
        // Whoever has gone away leaves the place to others.
        self.waiting.retain_mut(|(_, waiting)| {
            waiting.retain(|one| !one.is_closed());
            !waiting.is_empty()
        });
        let all: usize = self.waiting.iter().map(|(_, waiting)| waiting.len()).sum();
        let own = self.waiting.iter_mut().find(|(of, _)| *of == source);
        if all >= most * SHARES || own.as_ref().is_some_and(|(_, waiting)| waiting.len() >= most) {
            return None;
        }
        let (one, place) = oneshot::channel();
        match own {
            Some((_, waiting)) => waiting.push_back(one),
            None => self.waiting.push_back((source, VecDeque::from([one]))),
        }
        Some(place)
    }

    /// Whose turn it is: the first of the source at the front, which goes to the back.
    fn next(&mut self) -> Option<oneshot::Sender<Turn>> {
        let (source, mut waiting) = self.waiting.pop_front()?;
        let next = waiting.pop_front();
        if !waiting.is_empty() {
            self.waiting.push_back((source, waiting));
        }
        next
    }
}

impl Turn {
    /// What `compute` returns, computed on a thread that serves no connection, in the turn's memory. A caller who goes
    /// away leaves it running, and the turn ends with it.
    ///
    /// # Errors
    /// 500 when it panicked.
    pub(crate) async fn run<T: Send + 'static>(
        mut self,
        compute: impl FnOnce(&mut Memory) -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let computed = tokio::task::spawn_blocking(move || {
            compute(self.memory.as_mut().expect("a turn has its memory until it passes on"))
        });
        computed.await.map_err(|_| ApiError::internal())
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let Some(mut memory) = self.memory.take() else { return };
        loop {
            let next = {
                let mut state = self.line.state();
                match state.next() {
                    Some(next) => next,
                    None => return state.free.push(memory),
                }
            };
            let turn = Self { line: Arc::clone(&self.line), memory: Some(memory) };
            match next.send(turn) {
                Ok(()) => return,
                // Who waited has gone away.
                Err(mut turn) => memory = turn.memory.take().expect("it came back as it was"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::task::JoinHandle;

    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    /// Somebody in the line, who tells who they are when their turn comes, and gives it up.
    async fn stands(
        verifying: &Arc<PasswordPool>,
        from: &'static str,
        told: &Arc<Mutex<Vec<&'static str>>>,
    ) -> JoinHandle<bool> {
        let (verifying, told) = (Arc::clone(verifying), Arc::clone(told));
        let standing = tokio::spawn(async move {
            let turn = verifying.turn(address(from)).await;
            told.lock().expect("no panic").push(from);
            turn.is_ok()
        });
        tokio::task::yield_now().await;
        standing
    }

    fn in_line(verifying: &PasswordPool) -> usize {
        verifying.line.state().waiting.iter().map(|(_, waiting)| waiting.len()).sum()
    }

    #[tokio::test]
    async fn one_source_leaves_places_to_others_and_takes_turns_with_them() {
        let verifying = Arc::new(PasswordPool::new(1));
        let told = Arc::default();
        let first = verifying.turn(address("10.0.0.1")).await.expect("a free turn");
        let mut standing = Vec::new();
        for _ in 0..WAITING_OF_ONE {
            standing.push(stands(&verifying, "2001:db8::1", &told).await);
        }
        assert!(verifying.turn(address("2001:db8::2")).await.is_err(), "the same network");
        for _ in 0..2 {
            standing.push(stands(&verifying, "10.0.0.2", &told).await);
        }
        assert_eq!(in_line(&verifying), WAITING_OF_ONE + 2);
        drop(first);
        for standing in standing {
            assert!(standing.await.expect("no panic"));
        }
        let told = told.lock().expect("no panic");
        assert_eq!(
            told[..5],
            ["2001:db8::1", "10.0.0.2", "2001:db8::1", "10.0.0.2", "2001:db8::1"]
        );
        assert_eq!((told.len(), verifying.line.state().free.len()), (WAITING_OF_ONE + 2, 1));
    }

    #[tokio::test]
    async fn all_sources_together_have_a_bound_and_who_goes_away_leaves_the_place() {
        let verifying = Arc::new(PasswordPool::new(1));
        let told = Arc::default();
        let first = verifying.turn(address("10.0.0.1")).await.expect("a free turn");
        let mut standing = Vec::new();
        for from in ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"] {
            for _ in 0..WAITING_OF_ONE {
                standing.push(stands(&verifying, from, &told).await);
            }
        }
        assert!(verifying.turn(address("10.0.0.5")).await.is_err());
        for gone in standing.drain(..WAITING_OF_ONE) {
            gone.abort();
            assert!(gone.await.is_err());
        }
        standing.push(stands(&verifying, "10.0.0.5", &told).await);
        assert_eq!(in_line(&verifying), 3 * WAITING_OF_ONE + 1);
        for gone in standing {
            gone.abort();
            assert!(gone.await.is_err());
        }
        drop(first);
        assert_eq!(
            (in_line(&verifying), verifying.line.state().free.len()),
            (0, 1),
            "nobody has it"
        );
    }

    #[tokio::test]
    async fn a_turn_outlives_a_panic() {
        let verifying = PasswordPool::new(1);
        let from = address("10.0.0.1");
        assert!(verifying.run::<()>(from, |_| panic!("on purpose")).await.is_err());
        assert_eq!(verifying.run(from, |_| 1).await.ok(), Some(1));
    }
}
