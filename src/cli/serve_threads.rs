//! Threads of a server beside the runtime: the journal writer, the disk monitor and the compactor.
//! Reference 8.
//!
//! After a failure of the store no answer may be given any more, so each of them then ends the
//! process at once.

use std::fmt::Display;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::engine::compaction::Compactor;
use crate::engine::health::Health;
use crate::engine::journal::Journal;
use crate::planted_faults::PlantedFault;
use crate::store::{Log, free_bytes};

/// Interval at which the disk monitor looks at the journal writer and at the free space.
const MONITOR_INTERVAL: Duration = Duration::from_millis(200);
/// Longest time that logging the cause of death may take.
const LAST_LOG_TIMEOUT: Duration = Duration::from_secs(1);
/// Exit code after a failure of the store. Reference 11.5.
const STORE_FAILED: i32 = 70;

/// Starts the thread that writes the journal. The receiver gets a message when the journal has
/// ended well.
///
/// # Errors
/// The thread cannot be started.
pub(crate) fn start_journal_writer(
    journal: Journal<impl Log + 'static>,
) -> std::io::Result<oneshot::Receiver<()>> {
    let (ended, journal_ended) = oneshot::channel();
    std::thread::Builder::new().name("journal".to_owned()).spawn(move || {
        match std::panic::catch_unwind(AssertUnwindSafe(|| journal.run())) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => end_process(&error),
            Err(_) => end_process(&"the journal writer panicked"),
        }
        // The receiver is gone if shutting down took too long.
        let _ = ended.send(());
    })?;
    Ok(journal_ended)
}

/// Starts the thread that watches the journal writer and the free space. It runs until the returned
/// sender is dropped. As a thread it runs on when tasks of the runtime are stuck.
///
/// # Errors
/// The thread cannot be started.
pub(crate) fn start_disk_monitor(
    health: Arc<Health>,
    data: PathBuf,
    reserve_bytes: u64,
) -> std::io::Result<Sender<()>> {
    // Checked once before the first request. A failure here is left to the thread, where it is
    // fatal.
    if let Ok(free) = free_bytes(&data) {
        health.set_disk_has_room(free >= reserve_bytes);
    }
    let (running, stop) = std::sync::mpsc::channel::<()>();
    std::thread::Builder::new().name("watch".to_owned()).spawn(move || {
        while stop.recv_timeout(MONITOR_INTERVAL) == Err(RecvTimeoutError::Timeout) {
            if let Some(fatal) = health.fatal_condition()
                && !PlantedFault::StalledDiskServed.is_active()
            {
                end_process(&fatal);
            }
            match free_bytes(&data) {
                Ok(free) => health.set_disk_has_room(free >= reserve_bytes),
                Err(error) => end_process(&error),
            }
        }
    })?;
    Ok(running)
}

/// Starts the thread that compacts the journal into new generations of the store. It runs until the
/// returned sender is dropped.
///
/// # Errors
/// The thread cannot be started.
pub(crate) fn start_compactor(compactor: Compactor) -> std::io::Result<Sender<()>> {
    let (running, stop) = std::sync::mpsc::channel();
    std::thread::Builder::new().name("compactor".to_owned()).spawn(move || {
        match std::panic::catch_unwind(AssertUnwindSafe(|| compactor.run(&stop))) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => end_process(&error),
            Err(_) => end_process(&"the compactor panicked"),
        }
    })?;
    Ok(running)
}

/// Ends the process after a failure of the store, even if the log cannot be written.
fn end_process(cause: &dyn Display) -> ! {
    let cause = cause.to_string();
    let (logged, done) = std::sync::mpsc::channel();
    // Logged on another thread: a full pipe may block the writer of a log for ever.
    let logging = std::thread::Builder::new().spawn(move || {
        tracing::error!(
            error = cause,
            "the store failed; the process ends, and the next start recovers what is on disk"
        );
        // The receiver is gone if logging took too long.
        let _ = logged.send(());
    });
    if logging.is_ok() {
        let _ = done.recv_timeout(LAST_LOG_TIMEOUT);
    }
    std::process::exit(STORE_FAILED);
}
