//! Threads of a server beside the runtime: the journal writer, the disk monitor and the compactor.
//! Reference 8.
//!
//! After a failure of the store no answer may be given any more, so each of them then ends the
//! process at once.

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, OnceLock};

use tokio::sync::oneshot;

use crate::cli::error::CommandError;
use crate::cli::joined_cluster::ServedCluster;
use crate::cli::process_end::{end_fenced, end_process};
use crate::cli::runtime::start_thread;
use crate::cli::served_log::{ServedLog, StoreParts};
use crate::config::options::ServeOptions;
use crate::engine::compaction::Compactor;
use crate::engine::health::{FatalCondition, Health, LOOK_INTERVAL};
use crate::engine::journal::{Journal, JournalError};
use crate::engine::{Engine, SharedCompactor};
use crate::planted_faults::PlantedFault;
use crate::store::{Generations, Log, Presence, StoreError, free_bytes};

/// Failed looks at the disk in turn after which the process ends: those of ten seconds.
const FAILED_LOOKS_MAX: u32 = 50;

/// The threads beside a store, which run until this is dropped.
pub(crate) struct StoreThreads {
    /// Gets a message when the journal has ended well.
    pub(crate) journal_ended: oneshot::Receiver<()>,
    _disk_monitor: Sender<()>,
    _compactor: Sender<()>,
}

impl StoreThreads {
    /// Starts the threads of a store, or of a server in a cluster. A store is compacted once `made`
    /// brings its parts.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub(crate) fn start(
        options: &ServeOptions,
        engine: &Engine,
        journal: Journal<ServedLog>,
        made: Receiver<StoreParts>,
        cluster: Option<&ServedCluster>,
    ) -> Result<Self, CommandError> {
        let data = &options.store.data;
        let journal_ended = start_journal_writer(journal)?;
        let reserve_bytes = options.disk.disk_reserve_mib << 20;
        let presence = Arc::new(OnceLock::new());
        let monitor = DiskMonitor {
            health: Arc::clone(engine.health()),
            data: data.clone(),
            // In a cluster no write needs room here.
            reserve_bytes: if cluster.is_some() { 0 } else { reserve_bytes },
            presence: Arc::clone(&presence),
            ends_if_stalled: cluster.is_none(),
        };
        let disk_monitor = monitor.start()?;
        let compactor = if let Some(cluster) = cluster {
            let ServedCluster { joined, sizes, snapshot, .. } = cluster;
            start_shared_compactor(engine.new_shared_compactor(
                joined.store.clone(),
                Arc::clone(sizes),
                *snapshot,
                data,
            ))?
        } else {
            let compacted = engine.clone();
            let journal_bytes = options.journal_mib << 20;
            start_compactor(made, presence, move |generations| {
                compacted.new_compactor(generations, journal_bytes, reserve_bytes)
            })?
        };
        Ok(Self { journal_ended, _disk_monitor: disk_monitor, _compactor: compactor })
    }
}

/// Starts the thread that writes the journal. The receiver gets a message when the journal has
/// ended well.
///
/// # Errors
/// The thread cannot be started.
fn start_journal_writer(
    journal: Journal<impl Log + 'static>,
) -> Result<oneshot::Receiver<()>, CommandError> {
    start_thread("journal", move || {
        match std::panic::catch_unwind(AssertUnwindSafe(|| journal.run())) {
            Ok(Ok(())) => {}
            Ok(Err(JournalError::Store(StoreError::Fenced))) => end_fenced(),
            Ok(Err(error)) => end_process(&error),
            Err(_) => end_process(&"the journal writer panicked"),
        }
    })
}

/// The disk monitor of a served store.
struct DiskMonitor {
    health: Arc<Health>,
    /// The data directory.
    data: PathBuf,
    /// Free space below which writes are rejected, in bytes.
    reserve_bytes: u64,
    /// The files of the store, once there is one.
    presence: Arc<OnceLock<Arc<Presence>>>,
    /// Whether a write that does not end ends the process. A shared store may be away for long, and
    /// its log waits for it.
    ends_if_stalled: bool,
}

impl DiskMonitor {
    /// Starts the thread that watches the journal writer, the files of the store and the free
    /// space. It runs until the returned sender is dropped. As a thread it runs on when tasks of
    /// the runtime are stuck.
    ///
    /// # Errors
    /// The thread cannot be started.
    fn start(self) -> Result<Sender<()>, CommandError> {
        // Looked at once before the first request. A failure here is left to the thread.
        if let Ok(free) = self.look_at_disk() {
            self.health.set_disk_has_room(free >= self.reserve_bytes);
        }
        let (running, stop) = std::sync::mpsc::channel::<()>();
        start_thread("watch", move || {
            let mut failures = 0;
            while stop.recv_timeout(LOOK_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                if let Some(fatal) = self.health.look()
                    && (self.ends_if_stalled || !matches!(fatal, FatalCondition::DiskStalled(_)))
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
fn start_compactor(
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

/// Starts the thread that makes snapshots in a shared store. It runs until the returned sender is
/// dropped.
///
/// # Errors
/// The thread cannot be started.
fn start_shared_compactor(compactor: SharedCompactor) -> Result<Sender<()>, CommandError> {
    let (running, stop) = std::sync::mpsc::channel();
    start_thread("compactor", move || {
        // A bug here leaves the snapshots as they are.
        if std::panic::catch_unwind(AssertUnwindSafe(|| compactor.run(&stop))).is_err() {
            end_process(&"the compactor panicked");
        }
    })?;
    Ok(running)
}
