//! Long computations, kept off the threads that serve connections.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::http::error::ApiError;

/// Computations that may wait for their turn, for each that runs.
const WAITING_PER_CORE: usize = 64;

/// Lets as many long computations run as there are cores.
pub(crate) struct Computing {
    /// One permit per computation that runs.
    running: Arc<Semaphore>,
    /// One permit per computation that runs or waits for its turn.
    waiting: Arc<Semaphore>,
}

/// The right to compute.
pub(crate) struct Turn {
    running: OwnedSemaphorePermit,
    waiting: OwnedSemaphorePermit,
}

impl Computing {
    /// So many at a time.
    pub(crate) fn new(cores: usize) -> Self {
        let waiting = cores * (1 + WAITING_PER_CORE);
        Self {
            running: Arc::new(Semaphore::new(cores)),
            waiting: Arc::new(Semaphore::new(waiting)),
        }
    }

    /// A turn, waited for.
    ///
    /// # Errors
    /// 503 when too many are waiting.
    pub(crate) async fn turn(&self) -> Result<Turn, ApiError> {
        let waiting =
            Arc::clone(&self.waiting).try_acquire_owned().map_err(|_| ApiError::overloaded())?;
        let running =
            Arc::clone(&self.running).acquire_owned().await.expect("the semaphore is never closed");
        Ok(Turn { running, waiting })
    }

    /// What `compute` returns, once it has had its turn.
    ///
    /// # Errors
    /// 503 when too many are waiting; 500 when it panicked.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        compute: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        self.turn().await?.run(compute).await
    }
}

impl Turn {
    /// What `compute` returns, computed on a thread that serves no connection. A caller who goes away leaves it running,
    /// and the turn ends with it.
    ///
    /// # Errors
    /// 500 when it panicked.
    pub(crate) async fn run<T: Send + 'static>(
        self,
        compute: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let computed = tokio::task::spawn_blocking(move || {
            let Self { running, waiting } = self;
            let computed = compute();
            drop((running, waiting));
            computed
        });
        computed.await.map_err(|_| ApiError::ours())
    }
}
