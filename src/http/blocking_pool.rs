//! A pool for long computations, off the threads that serve connections.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::http::error::ApiError;

/// Maximum number of computations that wait for a permit, for each processor core.
const WAITING_PER_CORE_MAX: usize = 64;

/// Runs at most one long computation per processor core at a time.
pub(crate) struct BlockingPool {
    /// One permit for each computation that runs.
    running: Arc<Semaphore>,
    /// One permit for each computation that runs or waits to run.
    waiting: Arc<Semaphore>,
}

/// A permit to run one computation.
pub(crate) struct BlockingPermit {
    running: OwnedSemaphorePermit,
    waiting: OwnedSemaphorePermit,
}

impl BlockingPool {
    /// A pool that runs at most `cores` computations at a time.
    pub(crate) fn new(cores: usize) -> Self {
        let waiting = cores * (1 + WAITING_PER_CORE_MAX);
        Self {
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
        Ok(BlockingPermit { running, waiting })
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
            let Self { running, waiting } = self;
            let computed = compute();
            drop((running, waiting));
            computed
        });
        match task.await {
            Ok(computed) => Ok(computed),
            Err(_) => Err(ApiError::internal()),
        }
    }
}
