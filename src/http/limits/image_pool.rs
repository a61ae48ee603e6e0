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

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn one_image_is_decoded_at_a_time_and_the_tenth_is_refused() {
        let pool = Arc::new(ImagePool::default());
        let blocking = Arc::new(BlockingPool::new(4));
        let under_way = Arc::new(Semaphore::new(1));
        let (finish, may_finish) = mpsc::channel();
        let may_finish = Arc::new(parking_lot::Mutex::new(may_finish));
        let mut decoded = Vec::new();
        for number in 0..=WAITING_MAX {
            let (pool, blocking) = (Arc::clone(&pool), Arc::clone(&blocking));
            let (under_way, may_finish) = (Arc::clone(&under_way), Arc::clone(&may_finish));
            decoded.push(tokio::spawn(async move {
                let decode = move || {
                    let alone = under_way.try_acquire();
                    let finish: Result<(), _> = may_finish.lock().recv();
                    assert!(alone.is_ok() && finish.is_ok(), "two at a time");
                    number
                };
                pool.run(&blocking, decode).await.ok()
            }));
        }
        while pool.waiting.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        assert!(pool.run(&blocking, || ()).await.is_err(), "too many wait");
        for _ in 0..=WAITING_MAX {
            // A second one would begin meanwhile.
            for _ in 0..1_000 {
                tokio::task::yield_now().await;
                std::thread::yield_now();
            }
            finish.send(()).expect("it is waited for");
        }
        for (number, decoded) in decoded.into_iter().enumerate() {
            assert_eq!(decoded.await.expect("no panic"), Some(number));
        }
        assert!(pool.run(&blocking, || ()).await.is_ok(), "the turn has ended");
    }
}
