//! The return of freed memory to the system.
//!
//! The allocator keeps pages that became free for a second, and then waits for one more to become
//! free, or for a thread to end. A server that has nothing to do after its start or a burst ends no
//! thread, so it would keep what only they needed.

use std::hint::black_box;
use std::time::Duration;

/// Time between two returns. A thread that starts and ends takes some 50 µs.
const INTERVAL: Duration = Duration::from_secs(10);

/// Returns free memory to the system from now on.
pub(crate) fn start_returning() {
    tokio::spawn(async {
        let mut interval = tokio::time::interval(INTERVAL);
        loop {
            interval.tick().await;
            // A system that has no thread now may have one later.
            let _ = std::thread::Builder::new().name("memory".to_owned()).spawn(end_a_thread);
        }
    });
}

/// The end of a thread counts for the allocator if the thread has allocated something.
fn end_a_thread() {
    drop(black_box(Box::new(0_u8)));
}
