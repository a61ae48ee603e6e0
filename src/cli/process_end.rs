//! The end of the process after a failure of the store, when no answer may be given any more.
//! Reference 8, 11.5.

use std::fmt::Display;
use std::time::Duration;

/// Longest time that logging the cause of death may take.
const LAST_LOG_TIMEOUT: Duration = Duration::from_secs(1);
/// Exit code after a failure of the store. Reference 11.5.
const STORE_FAILED: i32 = 70;
/// Exit code of a server of a cluster over which another one has taken.
const FENCED: i32 = 71;

/// Ends the process of a server over which another one has taken, even if the log cannot be
/// written. Its next start follows that one.
pub(crate) fn end_fenced() -> ! {
    end_with(FENCED, || {
        tracing::warn!("another server of the cluster has taken over; this process ends");
    })
}

/// Ends the process after a failure of the store, even if the log cannot be written.
pub(crate) fn end_process(cause: &dyn Display) -> ! {
    let cause = cause.to_string();
    end_with(STORE_FAILED, move || {
        tracing::error!(
            error = cause,
            "the store failed; the process ends, and the next start recovers what is on disk"
        );
    })
}

/// Ends the process with a code, once `log` has run or takes too long.
fn end_with(code: i32, log: impl FnOnce() + Send + 'static) -> ! {
    let (logged, done) = std::sync::mpsc::channel();
    // Logged on another thread: a full pipe may block the writer of a log for ever.
    let logging = std::thread::Builder::new().spawn(move || {
        log();
        // The receiver is gone if logging took too long.
        let _ = logged.send(());
    });
    if logging.is_ok() {
        let _ = done.recv_timeout(LAST_LOG_TIMEOUT);
    }
    std::process::exit(code);
}
