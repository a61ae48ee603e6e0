//! The sessions that a server of a cluster takes over, saves, and leaves to the next. Reference
//! 8.11.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant as Stopwatch};

use tokio::sync::oneshot;

use crate::cli::error::CommandError;
use crate::cli::runtime::start_thread;
use crate::clock::{Clock as _, SystemClock};
use crate::http::{RestoredSessions, SavingWish, Server};
use crate::store::{Membership, SavedSession, SharedSessions, SharedStore, StoreError};

/// Time between two saves, which a takeover may lose. Ends are saved before they are answered.
const SAVE_INTERVAL: Duration = Duration::from_secs(1);
/// Time between two removals of what has ended by itself.
const REMOVAL_INTERVAL: Duration = Duration::from_secs(600);
/// Longest time of the last save of a server that stops.
const LAST_SAVE_TIMEOUT: Duration = Duration::from_secs(1);

/// The thread that saves sessions.
pub(crate) struct PassedSessions {
    wishes: Sender<SavingWish>,
}

/// The sessions that the server before has saved.
pub(crate) struct ReadSessions {
    sessions: SharedSessions,
    saved: Vec<SavedSession>,
}

impl ReadSessions {
    /// Reads them. Without those that cannot be read, applications log in again. It blocks for
    /// PostgreSQL.
    ///
    /// # Errors
    /// The connection's runtime cannot be made.
    pub(crate) fn read(
        store: &SharedStore,
        membership: &Arc<Membership>,
    ) -> Result<Self, StoreError> {
        let mut sessions = store.sessions(membership)?;
        let saved = sessions.read().unwrap_or_else(|error| {
            tracing::warn!(%error, "applications log in again");
            Vec::new()
        });
        Ok(Self { sessions, saved })
    }
}

impl PassedSessions {
    /// Takes over the sessions that the server before has saved, and starts the thread that saves
    /// those of this one. No request was answered yet.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(crate) fn start(server: &Arc<Server>, read: ReadSessions) -> Result<Self, CommandError> {
        let ReadSessions { sessions, saved } = read;
        let (wishes, heard) = mpsc::channel();
        server.sessions().pass_on(wishes.clone());
        let began = Stopwatch::now();
        let published = server.engine.published();
        let restored =
            server.sessions().restore(saved, published, &published.directory(), SystemClock.now());
        let RestoredSessions { active, unreadable } = restored;
        if unreadable > 0 {
            tracing::warn!(unreadable, "sessions cannot be read: applications log in again");
        }
        let milliseconds = began.elapsed().as_millis();
        tracing::info!(active, milliseconds, "sessions were restored");
        let saver = SessionSaver {
            server: Arc::clone(server),
            sessions,
            wishes: heard,
            removed: Stopwatch::now(),
            has_warned: false,
        };
        start_thread("sessions", move || saver.run())?;
        Ok(Self { wishes })
    }

    /// Saves the sessions as they are.
    pub(crate) async fn save(&self) {
        self.wish(false).await;
    }

    /// Saves the sessions once more, and ends the thread. No session ends later.
    pub(crate) async fn finish(self) {
        self.wish(true).await;
    }

    async fn wish(&self, is_last: bool) {
        let (saved, heard) = oneshot::channel();
        let _ = self.wishes.send(SavingWish { is_last, saved });
        if tokio::time::timeout(LAST_SAVE_TIMEOUT, heard).await != Ok(Ok(true)) {
            tracing::warn!("the last sessions were not saved: applications log in again");
        }
    }
}

/// Saves the sessions of a server.
struct SessionSaver {
    server: Arc<Server>,
    sessions: SharedSessions,
    wishes: Receiver<SavingWish>,
    /// The moment at which those that have ended were removed last.
    removed: Stopwatch,
    /// Whether the last save has failed, which was logged.
    has_warned: bool,
}

impl SessionSaver {
    /// Saves at each interval and at each wish, until the last one.
    fn run(mut self) {
        loop {
            let first = match self.wishes.recv_timeout(SAVE_INTERVAL) {
                Ok(wish) => Some(wish),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            // What has ended before any of them is saved with the first.
            let wishes: Vec<SavingWish> = first.into_iter().chain(self.wishes.try_iter()).collect();
            if self.removed.elapsed() >= REMOVAL_INTERVAL {
                self.removed = Stopwatch::now();
                self.remove_ended();
            }
            let saved = self.save();
            let is_saved = saved.is_ok();
            if let Err(error) = saved
                && !self.has_warned
            {
                tracing::warn!(%error, "sessions are not saved; trying on");
            }
            self.has_warned = !is_saved;
            let mut is_last = false;
            for wish in wishes {
                is_last |= wish.is_last;
                // Its client may have gone.
                let _ = wish.saved.send(is_saved);
            }
            if is_last {
                return;
            }
        }
    }

    /// Removes what has ended by itself: nothing of an erased client stays.
    fn remove_ended(&self) {
        let published = self.server.engine.published();
        let now = SystemClock.now();
        self.server.sessions().remove_ended(published, &published.directory(), now);
    }

    /// Saves those that have changed since the last time.
    fn save(&mut self) -> Result<(), StoreError> {
        loop {
            let changed = self.server.sessions().take_changed();
            if changed.is_empty() && !self.sessions.are_unread() {
                return Ok(());
            }
            if let Err(error) = self.sessions.save(&changed) {
                self.server.sessions().put_back(&changed);
                return Err(error);
            }
        }
    }
}
