//! The counts of limits that a server of a cluster takes over, saves, and leaves to the next.
//! Reference 8.11.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant as Stopwatch};

use tokio::sync::oneshot;

use crate::cli::error::CommandError;
use crate::cli::runtime::start_thread;
use crate::clock::{Clock as _, SystemClock};
use crate::domain::directory::cluster_secret::ClusterSecret;
use crate::http::{NamedCounts, Server};
use crate::store::{Membership, SharedCounts, SharedStore, StoreError};

/// Time between two saves, which a takeover may lose.
const SAVE_INTERVAL: Duration = Duration::from_secs(10);
/// Longest time of the last save of a server that stops.
const LAST_SAVE_TIMEOUT: Duration = Duration::from_secs(1);

/// The thread that saves counts.
pub(crate) struct PassedCounts {
    running: Sender<()>,
    ended: oneshot::Receiver<()>,
}

/// The counts that the server before has saved.
pub(crate) struct ReadCounts {
    counts: SharedCounts,
    saved: BTreeMap<String, Vec<u8>>,
}

impl ReadCounts {
    /// Reads them. Those that cannot be read begin anew. It blocks for PostgreSQL.
    ///
    /// # Errors
    /// The connection's runtime cannot be made.
    pub(crate) fn read(
        store: &SharedStore,
        membership: &Arc<Membership>,
    ) -> Result<Self, StoreError> {
        let mut counts = store.counts(membership)?;
        let began = Stopwatch::now();
        let saved = counts.read().unwrap_or_else(|error| {
            tracing::warn!(%error, "the limits count anew");
            BTreeMap::new()
        });
        let bytes: usize = saved.values().map(Vec::len).sum();
        let milliseconds = began.elapsed().as_millis();
        tracing::info!(names = saved.len(), bytes, milliseconds, "counts of limits were read");
        Ok(Self { counts, saved })
    }
}

impl PassedCounts {
    /// Takes over the counts that the server before has saved, and starts the thread that saves
    /// those of this one. No request was answered yet.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(crate) fn start(
        server: &Arc<Server>,
        secret: &ClusterSecret,
        read: ReadCounts,
    ) -> Result<Self, CommandError> {
        let ReadCounts { counts, saved } = read;
        server.take_over_counts(secret, &saved, SystemClock.now());
        let server = Arc::clone(server);
        let saver = CountsSaver { server, counts, saved: BTreeMap::new(), has_warned: false };
        let (running, stop) = mpsc::channel();
        let ended = start_thread("counts", move || saver.run(&stop))?;
        Ok(Self { running, ended })
    }

    /// Saves the counts once more, and ends the thread. What is counted later is not saved.
    pub(crate) async fn finish(self) {
        drop(self.running);
        if tokio::time::timeout(LAST_SAVE_TIMEOUT, self.ended).await.is_err() {
            tracing::warn!("the last counts of limits were not saved");
        }
    }
}

/// Saves the counts of a server.
struct CountsSaver {
    server: Arc<Server>,
    counts: SharedCounts,
    /// The numbers of changes that were saved, by name.
    saved: BTreeMap<String, u64>,
    /// Whether the last save has failed, which was logged.
    has_warned: bool,
}

impl CountsSaver {
    /// Saves at each interval, and once more when `stop` is dropped.
    fn run(mut self, stop: &Receiver<()>) {
        loop {
            let is_running = stop.recv_timeout(SAVE_INTERVAL) == Err(RecvTimeoutError::Timeout);
            match self.save() {
                Ok(()) => self.has_warned = false,
                Err(error) => {
                    if !std::mem::replace(&mut self.has_warned, true) {
                        tracing::warn!(%error, "counts of limits are not saved; trying on");
                    }
                }
            }
            if !is_running {
                return;
            }
        }
    }

    /// Saves those that have changed since the last time.
    fn save(&mut self) -> Result<(), StoreError> {
        let Self { server, counts: shared, saved, .. } = self;
        let now = SystemClock.now();
        for NamedCounts { name, counts } in server.counts() {
            if saved.get(&name).copied().unwrap_or_default() == counts.changes(now) {
                continue;
            }
            let image = counts.image();
            shared.save(&name, &image.bytes)?;
            saved.insert(name, image.changes);
        }
        Ok(())
    }
}
