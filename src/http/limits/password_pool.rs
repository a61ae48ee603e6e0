//! A pool of memory for password hashing, shared fairly between sources. Reference 3.4.
//!
//! Hashing one password takes a core for tens of milliseconds, and 19 MiB.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::http::error::ApiError;
use crate::http::limits::sliding_window::source;
use crate::password::Argon2Memory;

/// Maximum number of waiting requests of one source, per permit. Behind a proxy that is not
/// configured all requests have one source, so this alone must be enough: a few seconds' work.
pub(crate) const WAITING_PER_SOURCE: usize = 64;
/// Maximum number of waiting requests, in multiples of the maximum of one source. A single source
/// leaves three quarters of the queue to others, however many connections it has.
const SOURCE_SHARES: usize = 4;

/// Time without a password after which the memory is given back.
const IDLE: Duration = Duration::from_secs(10);

/// One permit per core. Waiting requests are served by source in turn, so a request waits for one
/// request of each other source, however many those have waiting.
pub(crate) struct PasswordPool {
    queue: Arc<Mutex<QueueState>>,
    /// Maximum number of waiting requests of one source.
    waiting_per_source: usize,
}

struct QueueState {
    /// The memory of each free permit, the last returned one at the end, so that a quiet server
    /// touches only one. While there is any, no request waits.
    free: Vec<Argon2Memory>,
    /// The waiting requests of people who have proved an earlier login. They come first, and
    /// strangers do not fill their queue.
    known: Waiting,
    /// The other waiting requests.
    others: Waiting,
    /// Number of permits that were returned so far.
    returned: u64,
    /// Whether a task waits for the pool to be idle.
    is_watched: bool,
}

/// Waiting requests by source. The source at the front is next; no source is without one.
#[derive(Default)]
struct Waiting(VecDeque<(IpAddr, VecDeque<oneshot::Sender<PasswordPermit>>)>);

/// Permission to hash a password. It passes to the next request when it is dropped.
pub(crate) struct PasswordPermit {
    queue: Arc<Mutex<QueueState>>,
    /// Memory for hashing; `None` once the permit has passed on.
    memory: Option<Argon2Memory>,
}

impl PasswordPool {
    /// Returns a pool with one permit per core.
    pub(crate) fn new(cores: usize) -> Self {
        let free = (0..cores).map(|_| Argon2Memory::default()).collect();
        let queue = Arc::new(Mutex::new(QueueState {
            free,
            known: Waiting::default(),
            others: Waiting::default(),
            returned: 0,
            is_watched: false,
        }));
        Self { queue, waiting_per_source: cores * WAITING_PER_SOURCE }
    }

    /// Returns a permit for a request from an address, after waiting for it. `is_known` says
    /// whether it has a proof of an earlier login.
    ///
    /// # Errors
    /// 503 when too many requests of its source wait, or too many of all.
    pub(crate) async fn acquire(
        &self,
        from: IpAddr,
        is_known: bool,
    ) -> Result<PasswordPermit, ApiError> {
        let permit = {
            let mut state = self.queue.lock();
            if let Some(memory) = state.free.pop() {
                return Ok(PasswordPermit { queue: Arc::clone(&self.queue), memory: Some(memory) });
            }
            let waiting = if is_known { &mut state.known } else { &mut state.others };
            match waiting.enqueue(source(from), self.waiting_per_source) {
                Some(permit) => permit,
                None => return Err(ApiError::overloaded()),
            }
        };
        Ok(permit.await.expect("every request in the queue gets a permit"))
    }

    /// Returns what `compute` returns for a person who has proved to be one, with a permit.
    ///
    /// # Errors
    /// 503 when too many requests wait; 500 when `compute` panicked.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        from: IpAddr,
        compute: impl FnOnce(&mut Argon2Memory) -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        self.acquire(from, true).await?.run(compute).await
    }
}

impl Waiting {
    /// Enqueues a request of a source. Returns the receiver of its permit, or `None` if the queue
    /// has no room for it.
    fn enqueue(
        &mut self,
        source: IpAddr,
        waiting_per_source: usize,
    ) -> Option<oneshot::Receiver<PasswordPermit>> {
        // Requests whose clients have left make room.
        self.0.retain_mut(|(_, waiting)| {
            waiting.retain(|request| !request.is_closed());
            !waiting.is_empty()
        });
        let all: usize = self.0.iter().map(|(_, waiting)| waiting.len()).sum();
        if all >= waiting_per_source * SOURCE_SHARES {
            return None;
        }
        let (sender, permit) = oneshot::channel();
        match self.0.iter_mut().find(|(other, _)| *other == source) {
            Some((_, waiting)) if waiting.len() >= waiting_per_source => return None,
            Some((_, waiting)) => waiting.push_back(sender),
            None => self.0.push_back((source, VecDeque::from([sender]))),
        }
        Some(permit)
    }

    /// Removes the next request: the first one of the source at the front, which goes to the back.
    fn dequeue(&mut self) -> Option<oneshot::Sender<PasswordPermit>> {
        let (source, mut waiting) = self.0.pop_front()?;
        let next = waiting.pop_front();
        if !waiting.is_empty() {
            self.0.push_back((source, waiting));
        }
        next
    }
}

impl QueueState {
    /// Removes the next request.
    fn dequeue(&mut self) -> Option<oneshot::Sender<PasswordPermit>> {
        self.known.dequeue().or_else(|| self.others.dequeue())
    }

    /// Starts a task that gives back the memory once no password has come for some seconds, unless
    /// one waits for that already.
    fn watch(&mut self, queue: &Arc<Mutex<Self>>) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if !std::mem::replace(&mut self.is_watched, true) {
            runtime.spawn(free_when_idle(Arc::downgrade(queue), self.returned));
        }
    }
}

/// Gives back the memory of a pool that has returned no permit for some seconds.
async fn free_when_idle(queue: Weak<Mutex<QueueState>>, mut returned: u64) {
    loop {
        tokio::time::sleep(IDLE).await;
        let Some(queue) = queue.upgrade() else { return };
        let mut state = queue.lock();
        if state.returned == returned {
            let mut idle = std::mem::take(&mut state.free);
            state.free.resize_with(idle.len(), Argon2Memory::default);
            state.is_watched = false;
            // The allocator returns memory to the system as a thread ends, and a blocking thread
            // ends once it is idle.
            tokio::task::spawn_blocking(move || idle.clear());
            return;
        }
        returned = state.returned;
    }
}

impl PasswordPermit {
    /// Returns what `compute` returns, computed with the permit's memory on a blocking thread. If
    /// the caller leaves, the computation goes on and keeps the permit.
    ///
    /// # Errors
    /// 500 when `compute` panicked.
    pub(crate) async fn run<T: Send + 'static>(
        mut self,
        compute: impl FnOnce(&mut Argon2Memory) -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let computed = tokio::task::spawn_blocking(move || {
            compute(self.memory.as_mut().expect("a permit has its memory until it is dropped"))
        });
        computed.await.map_err(|_| ApiError::internal())
    }
}

impl Drop for PasswordPermit {
    fn drop(&mut self) {
        let Some(mut memory) = self.memory.take() else { return };
        loop {
            let next = {
                let mut state = self.queue.lock();
                match state.dequeue() {
                    Some(next) => next,
                    None => {
                        state.free.push(memory);
                        state.returned += 1;
                        return state.watch(&self.queue);
                    }
                }
            };
            let permit = Self { queue: Arc::clone(&self.queue), memory: Some(memory) };
            match next.send(permit) {
                Ok(()) => return,
                // The client of that request has left.
                Err(mut permit) => {
                    memory = permit.memory.take().expect("an unsent permit has its memory");
                }
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

    /// Enqueues a request. It records its source once it has a permit, and drops the permit.
    async fn enqueue(
        pool: &Arc<PasswordPool>,
        from: &'static str,
        served: &Arc<Mutex<Vec<&'static str>>>,
    ) -> JoinHandle<bool> {
        let pool = Arc::clone(pool);
        let served = Arc::clone(served);
        let request = tokio::spawn(async move {
            let permit = pool.acquire(address(from), false).await;
            served.lock().push(from);
            permit.is_ok()
        });
        tokio::task::yield_now().await;
        request
    }

    fn queue_length(pool: &PasswordPool) -> usize {
        pool.queue.lock().others.0.iter().map(|(_, waiting)| waiting.len()).sum()
    }

    #[tokio::test]
    async fn one_source_leaves_room_to_others_and_alternates_with_them() {
        let pool = Arc::new(PasswordPool::new(1));
        let served = Arc::default();
        let first = pool.acquire(address("10.0.0.1"), false).await.expect("a free permit");
        let mut requests = Vec::new();
        for _ in 0..WAITING_PER_SOURCE {
            requests.push(enqueue(&pool, "2001:db8::1", &served).await);
        }
        assert!(pool.acquire(address("2001:db8::2"), false).await.is_err(), "the same network");
        for _ in 0..2 {
            requests.push(enqueue(&pool, "10.0.0.2", &served).await);
        }
        assert_eq!(queue_length(&pool), WAITING_PER_SOURCE + 2);
        drop(first);
        for request in requests {
            assert!(request.await.expect("no panic"));
        }
        let served = served.lock();
        assert_eq!(
            served[..5],
            ["2001:db8::1", "10.0.0.2", "2001:db8::1", "10.0.0.2", "2001:db8::1"]
        );
        assert_eq!((served.len(), pool.queue.lock().free.len()), (WAITING_PER_SOURCE + 2, 1));
    }

    #[tokio::test]
    async fn all_sources_together_are_bounded_and_a_client_that_leaves_makes_room() {
        let pool = Arc::new(PasswordPool::new(1));
        let served = Arc::default();
        let first = pool.acquire(address("10.0.0.1"), false).await.expect("a free permit");
        let mut requests = Vec::new();
        for from in ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"] {
            for _ in 0..WAITING_PER_SOURCE {
                requests.push(enqueue(&pool, from, &served).await);
            }
        }
        assert!(pool.acquire(address("10.0.0.5"), false).await.is_err());
        let known = tokio::spawn({
            let pool = Arc::clone(&pool);
            async move { pool.acquire(address("10.0.0.5"), true).await.is_ok() }
        });
        tokio::task::yield_now().await;
        for gone in requests.drain(..WAITING_PER_SOURCE) {
            gone.abort();
            assert!(gone.await.is_err());
        }
        requests.push(enqueue(&pool, "10.0.0.5", &served).await);
        assert_eq!(queue_length(&pool), 3 * WAITING_PER_SOURCE + 1);
        for gone in requests {
            gone.abort();
            assert!(gone.await.is_err());
        }
        drop(first);
        assert!(known.await.expect("no panic"), "strangers do not keep known people out");
        assert_eq!(
            (queue_length(&pool), pool.queue.lock().free.len()),
            (0, 1),
            "the permit is free again"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn memory_is_given_back_once_no_password_comes() {
        let pool = PasswordPool::new(2);
        let from = address("10.0.0.1");
        let hash = |memory: &mut Argon2Memory| {
            crate::password::hash_password_in(memory, "a password");
        };
        let is_held = || pool.queue.lock().free.iter().any(|memory| !memory.is_empty());
        for _ in 0..3 {
            assert!(pool.run(from, hash).await.is_ok());
            // The next password comes before the pool was idle, and so does the one after it.
            tokio::time::sleep(IDLE * 3 / 5).await;
            assert!(is_held());
        }
        tokio::time::sleep(2 * IDLE).await;
        assert!(!is_held());
        assert!(pool.run(from, hash).await.is_ok(), "it goes on");
        assert!(is_held());
        tokio::time::sleep(2 * IDLE).await;
        assert!(!is_held());
    }

    #[tokio::test]
    async fn a_permit_outlives_a_panic() {
        let pool = PasswordPool::new(1);
        let from = address("10.0.0.1");
        assert!(pool.run::<()>(from, |_| panic!("on purpose")).await.is_err());
        assert_eq!(pool.run(from, |_| 1).await.ok(), Some(1));
    }
}
