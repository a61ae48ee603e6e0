//! Threads of a server beside the runtime: the journal writer, the disk monitor and the compactor.
//! Reference 8.
//!
//! After a failure of the store no answer may be given any more, so each of them then ends the
//! process at once.

use std::fmt::Display;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::cli::error::CommandError;
use crate::cli::runtime::start_thread;
use crate::cli::served_log::StoreParts;
use crate::engine::compaction::Compactor;
use crate::engine::health::{Health, LOOK_INTERVAL};
use crate::engine::journal::Journal;
use crate::planted_faults::PlantedFault;
use crate::store::{Generations, Log, Presence, StoreError, free_bytes};

/// Failed looks at the disk in turn after which the process ends: those of ten seconds.
const FAILED_LOOKS_MAX: u32 = 50;
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
) -> Result<oneshot::Receiver<()>, CommandError> {
    start_thread("journal", move || {
        match std::panic::catch_unwind(AssertUnwindSafe(|| journal.run())) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => end_process(&error),
            Err(_) => end_process(&"the journal writer panicked"),
        }
    })
}

/// The disk monitor of a served store.
pub(crate) struct DiskMonitor {
    pub(crate) health: Arc<Health>,
    /// The data directory.
    pub(crate) data: PathBuf,
    /// Free space below which writes are rejected, in bytes.
    pub(crate) reserve_bytes: u64,
    /// The files of the store, once there is one.
    pub(crate) presence: Arc<OnceLock<Arc<Presence>>>,
}

impl DiskMonitor {
    /// Starts the thread that watches the journal writer, the files of the store and the free
    /// space. It runs until the returned sender is dropped. As a thread it runs on when tasks of
    /// the runtime are stuck.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(crate) fn start(self) -> Result<Sender<()>, CommandError> {
        // Looked at once before the first request. A failure here is left to the thread.
        if let Ok(free) = self.look_at_disk() {
            self.health.set_disk_has_room(free >= self.reserve_bytes);
        }
        let (running, stop) = std::sync::mpsc::channel::<()>();
        start_thread("watch", move || {
            let mut failures = 0;
            while stop.recv_timeout(LOOK_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                if let Some(fatal) = self.health.look()
                    && !PlantedFault::StalledDiskServed.is_active()
                {
                    end_process(&fatal);
                }
                match self.look_at_disk() {
                    Ok(free) => {
                        failures = 0;
                        self.health.set_disk_has_room(free >= self.reserve_bytes);
                    }
                    Err(error @ StoreError::Gone { .. }) => end_process(&error),
                    Err(error) => {
                        failures += 1;
                        self.health.count_failed_look();
                        if failures == 1 {
                            tracing::warn!(%error, "the disk does not answer a look at it");
                        }
                        if failures >= FAILED_LOOKS_MAX {
                            end_process(&error);
                        }
                    }
                }
            }
        })?;
        Ok(running)
    }

    /// Returns the free bytes of the disk, if the files of the store are all there.
    fn look_at_disk(&self) -> Result<u64, StoreError> {
        if let Some(presence) = self.presence.get() {
            presence.check()?;
        }
        free_bytes(&self.data)
    }
}

/// Starts the thread that compacts the journal into new generations of the store, once `made`
/// brings the store. It runs until the returned sender is dropped.
///
/// # Errors
/// The thread cannot be started.
pub(crate) fn start_compactor(
    made: Receiver<StoreParts>,
    presence: Arc<OnceLock<Arc<Presence>>>,
    make_compactor: impl FnOnce(Generations) -> Compactor + Send + 'static,
) -> Result<Sender<()>, CommandError> {
    let (running, stop) = std::sync::mpsc::channel();
    start_thread("compactor", move || {
        // The journal has ended without a store.
        let Ok(store) = made.recv() else { return };
        if presence.set(store.presence).is_err() {
            unreachable!("a store is made once");
        }
        let compactor = make_compactor(store.generations);
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
