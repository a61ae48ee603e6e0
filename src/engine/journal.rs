//! The journal's writer: one batch at a time to disk, then out with the answers. Invariants 4 and 8.
//!
//! The batching is a plain state machine. A server drives it from a thread of its own, a simulation from a task.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use crate::domain::identity::access::AccessRefusal;
use crate::domain::identity::directory::Directory;
use crate::domain::records::ids::GroupId;
use crate::domain::state::group_state::GroupState;
use crate::engine::admission::Permit;
use crate::engine::health::Health;
use crate::engine::metrics::EngineMetrics;
use crate::engine::published::Published;
use crate::engine::{Committed, WriteResult};
use crate::store::{Log, NextJournal, Record, StoreError, Turned};

/// Entries of one batch at most, so that one fsync never waits for an endless burst.
const BATCH_ENTRIES: usize = 4_096;

/// One thing to make durable, show and answer, in this order.
#[derive(Debug)]
pub struct JournalEntry {
    /// What goes to disk; `None` for an answer that only waits for what it saw.
    pub record: Option<Record>,
    /// What readers see from then on.
    pub publish: Publish,
    /// Who is waiting.
    pub release: Option<Release>,
}

/// What an entry makes visible.
#[derive(Debug)]
pub enum Publish {
    /// Nothing new.
    Nothing,
    /// A group's next state.
    Group(GroupId, Arc<GroupState>),
    /// The directory's next state.
    Directory(Arc<Directory>),
    /// Nothing new to readers: a second has passed, and the log's note of how far it is durable is to be synced.
    Second,
    /// Nothing new to readers: the log goes on in its next journal. Whoever waits is told once all that the ended
    /// journals hold is shown.
    Turn(NextJournal, oneshot::Sender<Turned>),
}

/// An answer on its way out.
#[derive(Debug)]
pub enum Release {
    /// To a caller; the permit comes back with it.
    Caller {
        /// Where the caller waits.
        reply: oneshot::Sender<WriteResult>,
        /// What it is told.
        answer: Box<WriteResult>,
        /// Its right to be under way.
        permit: Permit,
    },
    /// To the operator: whether who is let in has changed.
    Operator(oneshot::Sender<Result<(), AccessRefusal>>, Result<(), AccessRefusal>),
    /// To an actor that waits until all it sent before has been answered.
    Fence(oneshot::Sender<()>),
}

impl Release {
    pub(super) fn to_caller(
        reply: oneshot::Sender<WriteResult>,
        answer: Result<Committed, crate::engine::Rejection>,
        permit: Permit,
    ) -> Self {
        Self::Caller { reply, answer: Box::new(answer), permit }
    }

    /// Tells whoever waits. A caller that has gone away is no matter.
    pub fn go(self) {
        match self {
            Self::Caller { reply, answer, permit } => {
                drop(permit);
                drop(reply.send(*answer));
            }
            Self::Operator(reply, answer) => drop(reply.send(answer)),
            Self::Fence(waiting) => drop(waiting.send(())),
        }
    }
}

/// The way to the journal.
#[derive(Clone, Debug)]
pub struct JournalHandle(mpsc::UnboundedSender<JournalEntry>);

impl JournalHandle {
    /// Appends an entry; entries are made durable in the order they were appended. What is appended to a journal that
    /// has ended is dropped: its process is ending too.
    pub fn append(&self, entry: JournalEntry) {
        drop(self.0.send(entry));
    }

    /// The way to the journal for somebody who does not keep it from ending.
    pub(super) fn downgrade(&self) -> WeakJournalHandle {
        WeakJournalHandle(self.0.downgrade())
    }
}

/// The way to a journal that may have ended.
#[derive(Clone, Debug)]
pub(super) struct WeakJournalHandle(mpsc::WeakUnboundedSender<JournalEntry>);

impl WeakJournalHandle {
    /// Has the log go on in its next journal, and waits until all that the ended ones hold is shown; `None` where the
    /// journal has ended. Not for tasks: it blocks its thread.
    pub(super) fn turn(&self, next: NextJournal) -> Option<Turned> {
        let (told, turned) = oneshot::channel();
        let entry =
            JournalEntry { record: None, publish: Publish::Turn(next, told), release: None };
        JournalHandle(self.0.upgrade()?).append(entry);
        turned.blocking_recv().ok()
    }
}

/// The writer's state.
#[derive(Debug)]
pub struct JournalWriter<L> {
    /// Where records become durable.
    log: L,
    /// What readers see.
    published: Arc<Published>,
}

impl<L: Log> JournalWriter<L> {
    /// Makes a batch of entries durable with one append, shows each group's newest group_state, and releases the answers in
    /// order.
    ///
    /// # Errors
    /// When the log failed: then nothing of the batch has been shown or answered, and nothing may be ever after.
    pub fn commit(&mut self, batch: &mut Vec<JournalEntry>) -> Result<(), StoreError> {
        let records: Vec<Record> =
            batch.iter_mut().filter_map(|entry| entry.record.take()).collect();
        if !records.is_empty() {
            self.log.append(&records)?;
        }
        let mut turns = Vec::new();
        // Later entries overwrite earlier ones, so each group ends at its newest group_state; all are shown before anyone is
        // answered.
        for entry in &mut *batch {
            match std::mem::replace(&mut entry.publish, Publish::Nothing) {
                Publish::Nothing => {}
                Publish::Group(group, group_state) => self.published.show(group, group_state),
                Publish::Directory(directory) => self.published.show_directory(directory),
                Publish::Second => self.log.sync_mark()?,
                Publish::Turn(next, waiting) => turns.push((self.log.turn(next)?, waiting)),
            }
        }
        for (turned, waiting) in turns {
            // Nobody waits any more where the server goes down.
            drop(waiting.send(turned));
        }
        batch.drain(..).filter_map(|entry| entry.release).for_each(Release::go);
        Ok(())
    }
}

/// Why the journal ended before its time: nothing more may be answered.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The writer panicked: a bug of ours.
    #[error("the journal's writer panicked; what it was writing may or may not be on disk")]
    Panicked,
}

/// A journal that nothing drives yet.
#[derive(Debug)]
pub struct Journal<L> {
    writer: JournalWriter<L>,
    /// Told of each batch's beginning and end.
    health: Arc<Health>,
    metrics: Arc<EngineMetrics>,
    entries: mpsc::UnboundedReceiver<JournalEntry>,
}

impl<L: Log> Journal<L> {
    /// A journal over a log, and the way to it.
    pub fn new(
        log: L,
        published: Arc<Published>,
        health: Arc<Health>,
        metrics: Arc<EngineMetrics>,
    ) -> (Self, JournalHandle) {
        let (sender, entries) = mpsc::unbounded_channel();
        (
            Self { writer: JournalWriter { log, published }, health, metrics, entries },
            JournalHandle(sender),
        )
    }

    /// Drives it on the calling thread until every handle is gone, then closes the log. What waits while one batch is
    /// on its way to disk is the next batch.
    ///
    /// # Errors
    /// The first failed append, after which nothing more may be answered: end the process.
    pub fn run(mut self) -> Result<(), JournalError> {
        let mut batch = Vec::new();
        while self.entries.blocking_recv_many(&mut batch, BATCH_ENTRIES) > 0 {
            if let Err(error) = self.guarded_commit(&mut batch) {
                // Whoever waits must not be told anything, not even by being dropped.
                std::mem::forget((batch, self.entries));
                return Err(error);
            }
        }
        Ok(self.writer.log.close()?)
    }

    /// Drives it as a task, taking some of the runtime's time for each batch.
    ///
    /// # Errors
    /// As [`Journal::run`].
    pub async fn run_simulated(
        mut self,
        batch_time: std::time::Duration,
    ) -> Result<(), JournalError> {
        let mut batch = Vec::new();
        while self.entries.recv_many(&mut batch, BATCH_ENTRIES).await > 0 {
            self.health.batch_begins();
            tokio::time::sleep(batch_time).await;
            if let Err(error) = self.guarded_commit(&mut batch) {
                std::mem::forget((batch, self.entries));
                return Err(error);
            }
        }
        Ok(self.writer.log.close()?)
    }

    fn guarded_commit(&mut self, batch: &mut Vec<JournalEntry>) -> Result<(), JournalError> {
        let (began, entries) = (tokio::time::Instant::now(), batch.len());
        self.health.batch_begins();
        let committed = std::panic::catch_unwind(AssertUnwindSafe(|| self.writer.commit(batch)));
        self.health.batch_ends();
        self.metrics.batch(entries, began);
        Ok(committed.map_err(|_| JournalError::Panicked)??)
    }
}
