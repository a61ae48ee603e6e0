//! A pool for long computations, off the threads that serve connections.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::http::error::ApiError;

/// Maximum number of computations that wait for a permit, for each processor core.
const WAITING_PER_CORE_MAX: usize = 64;

/// Cost from which a computation is heavy: tens of milliseconds. The unit of cost is about 100
/// nanoseconds.
const HEAVY_COST: i64 = 500_000;
/// Maximum number of heavy computations that wait for a permit.
const HEAVY_WAITING_MAX: usize = 16;

/// Runs at most one long computation per processor core at a time, and heavy ones on at most half
/// of the cores, so that others need not wait for them.
pub(crate) struct BlockingPool {
    /// One permit for each heavy computation that runs.
    heavy: Arc<Semaphore>,
    /// One permit for each heavy computation that runs or waits to run.
    heavy_waiting: Arc<Semaphore>,
    /// One permit for each computation that runs.
    running: Arc<Semaphore>,
    /// One permit for each computation that runs or waits to run.
    waiting: Arc<Semaphore>,
}

/// A permit to run one computation, of each semaphore that counts it.
pub(crate) struct BlockingPermit(Vec<OwnedSemaphorePermit>);

impl BlockingPool {
    /// A pool that runs at most `cores` computations at a time.
    pub(crate) fn new(cores: usize) -> Self {
        let waiting = cores * (1 + WAITING_PER_CORE_MAX);
        let heavy = (cores / 2).max(1);
        Self {
            heavy: Arc::new(Semaphore::new(heavy)),
            heavy_waiting: Arc::new(Semaphore::new(heavy + HEAVY_WAITING_MAX)),
            running: Arc::new(Semaphore::new(cores)),
            waiting: Arc::new(Semaphore::new(waiting)),
        }
    }

    /// Waits for a permit.
    ///
    /// # Errors
    /// 503 if too many computations are waiting.
    pub(crate) async fn acquire(&self) -> Result<BlockingPermit, ApiError> {
        let Ok(waiting) = Arc::clone(&self.waiting).try_acquire_owned() else {
            return Err(ApiError::overloaded());
        };
        let running =
            Arc::clone(&self.running).acquire_owned().await.expect("the semaphore is never closed");
        Ok(BlockingPermit(vec![running, waiting]))
    }

    /// Waits for a permit, runs `compute` and returns its result.
    ///
    /// # Errors
    /// 503 if too many computations are waiting; 500 if `compute` panicked.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        compute: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        self.acquire().await?.run(compute).await
    }

    /// Runs `compute`, whose cost is estimated in units of about 100 nanoseconds, and returns its
    /// result. A heavy one waits for the permits of heavy ones first.
    ///
    /// # Errors
    /// As [`BlockingPool::run`].
    pub(crate) async fn run_weighed<T: Send + 'static>(
        &self,
        cost: i64,
        compute: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        if cost < HEAVY_COST {
            return self.run(compute).await;
        }
        let Ok(waiting) = Arc::clone(&self.heavy_waiting).try_acquire_owned() else {
            return Err(ApiError::overloaded());
        };
        let heavy =
            Arc::clone(&self.heavy).acquire_owned().await.expect("the semaphore is never closed");
        let mut permit = self.acquire().await?;
        permit.0.extend([waiting, heavy]);
        permit.run(compute).await
    }
}

impl BlockingPermit {
    /// Runs `compute` on a thread that serves no connection, and returns its result. If the caller
    /// is dropped, the computation continues, and the permit is released at its end.
    ///
    /// # Errors
    /// 500 if `compute` panicked.
    pub(crate) async fn run<T: Send + 'static>(
        self,
        compute: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let task = tokio::task::spawn_blocking(move || {
            let computed = compute();
            drop(self);
            computed
        });
        task.await.map_err(|_| ApiError::internal())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot;

    #[tokio::test]
    async fn heavy_computations_leave_a_core_to_others_and_a_few_of_them_wait() {
        let pool = Arc::new(BlockingPool::new(2));
        let (release, held) = oneshot::channel::<()>();
        let spawn = |held: Option<oneshot::Receiver<()>>| {
            let pool = Arc::clone(&pool);
            tokio::spawn(async move {
                let compute = move || {
                    if let Some(held) = held {
                        held.blocking_recv().expect("it is released");
                    }
                };
                pool.run_weighed(HEAVY_COST, compute).await.is_ok()
            })
        };
        let mut heavy = vec![spawn(Some(held))];
        heavy.extend((0..HEAVY_WAITING_MAX).map(|_| spawn(None)));
        while pool.heavy_waiting.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        assert!(!spawn(None).await.expect("no panic"), "too many wait");
        assert_eq!(pool.run_weighed(HEAVY_COST - 1, || 1).await.ok(), Some(1));
        release.send(()).expect("the computation waits");
        for computation in heavy {
            assert!(computation.await.expect("no panic"));
        }
    }
}
