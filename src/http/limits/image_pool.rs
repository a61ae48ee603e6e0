//! The pool that decodes images: one at a time, so that their memory is that of one. Reference
//! 12.10.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::http::error::ApiError;
use crate::http::limits::blocking_pool::BlockingPool;

/// Maximum number of images that wait for their turn.
const WAITING_MAX: usize = 8;

/// Decodes one image at a time, on a thread that serves no connection.
pub(crate) struct ImagePool {
    /// One permit: for the image that is decoded.
    running: Arc<Semaphore>,
    /// One permit for each image that is decoded or waits.
    waiting: Arc<Semaphore>,
}

impl Default for ImagePool {
    fn default() -> Self {
        let semaphore = |permits| Arc::new(Semaphore::new(permits));
        Self { running: semaphore(1), waiting: semaphore(1 + WAITING_MAX) }
    }
}

impl ImagePool {
    /// Waits for the turn, runs `decode` in the pool of long computations, and returns its result.
    /// The turn ends with the computation, also if the request ends before it.
    ///
    /// # Errors
    /// 503 if too many images wait; 500 if `decode` panicked.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        pool: &BlockingPool,
        decode: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let Ok(place) = Arc::clone(&self.waiting).try_acquire_owned() else {
            return Err(ApiError::overloaded());
        };
        let turn = Arc::clone(&self.running).acquire_owned().await;
        let turn = turn.expect("the semaphore is never closed");
        pool.run(move || {
            let decoded = decode();
            drop((turn, place));
            decoded
        })
        .await
    }
}
