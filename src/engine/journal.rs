//! The journal's writer: it makes one batch at a time durable, then publishes its states and sends
//! its answers. Invariants 4 and 8.
//!
//! The batching is a plain state machine. A server drives it on a thread, a simulation in a task.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde::Serialize;
use smallvec::{SmallVec, smallvec};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant as Stopwatch;

use crate::domain::directory::Directory;
use crate::domain::directory::access::AccessRefusal;
use crate::domain::records::ids::GroupId;
use crate::domain::state::changed_records::ChangedRecords;
use crate::domain::state::group_state::GroupState;
use crate::engine::admission::Permit;
use crate::engine::group_commit::{Arrivals, BatchCost, GroupCommit};
use crate::engine::health::Health;
use crate::engine::metrics::EngineMetrics;
use crate::engine::published::Published;
use crate::engine::write::{ShopAnswer, WriteResult};
use crate::planted_faults::PlantedFault;
use crate::store::{
    Checkpoint, JournalRecord, Log, RecordFormat, SimulatedLog, StoreError, Stream,
};

/// Maximum number of entries in a batch. It bounds the time that a batch waits for its sync.
const BATCH_ENTRIES_MAX: usize = 4_096;

/// One unit of work of the writer: records to make durable, then an effect, then a reply.
#[derive(Debug)]
pub struct JournalEntry {
    /// The records to write, all or none. None for a reply that only waits for earlier entries.
    pub records: SmallVec<[JournalRecord; 1]>,
    /// The effect once the records are durable.
    pub effect: EntryEffect,
    /// The replies to send, in order, after the effects of the whole batch.
    pub replies: SmallVec<[PendingReply; 1]>,
}

impl JournalEntry {
    /// Creates the entry of an effect without a record.
    pub(crate) const fn effect(effect: EntryEffect) -> Self {
        Self { records: SmallVec::new_const(), effect, replies: SmallVec::new_const() }
    }

    /// The number of writes and effects that wait in it.
    fn weight(&self) -> usize {
        self.replies.len().max(1)
    }

    /// Creates the entry of a reply that only waits for earlier entries.
    pub(crate) fn reply(reply: PendingReply) -> Self {
        Self { records: SmallVec::new(), effect: EntryEffect::None, replies: smallvec![reply] }
    }
}

/// The effect of an entry once its batch is durable.
#[derive(Debug)]
pub enum EntryEffect {
    /// No effect.
    None,
    /// Publishes a group's next state, in which these records changed.
    PublishGroup(GroupId, Arc<GroupState>, ChangedRecords),
    /// Publishes a group that is new.
    PublishNewGroup(Arc<GroupState>),
    /// Publishes the directory's next state.
    PublishDirectory(Arc<Directory>),
    /// Publishes a group that is new, and the directory with its professional and blocks of ids.
    PublishShop(Arc<GroupState>, Arc<Directory>),
    /// Syncs the log's durable watermark; sent every second.
    SyncWatermark,
    /// Asks for the log's place after the batch. The sender gets its reply when all states before
    /// that place are published.
    Checkpoint(oneshot::Sender<Checkpoint>),
    /// Ends the journal. Entries after it are dropped.
    End,
}

/// A reply that waits for a batch to be durable.
#[derive(Debug)]
pub enum PendingReply {
    /// The answer to a write; its permit comes back with it.
    Caller {
        /// Port of the waiting caller.
        reply: oneshot::Sender<WriteResult>,
        /// The answer.
        answer: Box<WriteResult>,
        /// The permit of the write.
        permit: Permit,
    },
    /// The answer to the operator about a change of keys or professionals.
    Operator(oneshot::Sender<Result<(), AccessRefusal>>, Result<(), AccessRefusal>),
    /// The answer about a new group: its state.
    Founded(oneshot::Sender<Arc<GroupState>>, Arc<GroupState>),
    /// The answer about the first group of a store.
    Shop(oneshot::Sender<ShopAnswer>, ShopAnswer),
    /// A signal to an actor that waits until all its earlier entries are processed.
    Barrier(oneshot::Sender<()>),
}

impl PendingReply {
    /// Creates the reply to a write.
    pub(crate) fn to_caller(
        reply: oneshot::Sender<WriteResult>,
        answer: WriteResult,
        permit: Permit,
    ) -> Self {
        Self::Caller { reply, answer: Box::new(answer), permit }
    }

    /// Sends the reply. It is dropped if the receiver has gone away.
    pub fn send(self) {
        match self {
            Self::Caller { reply, answer, permit } => {
                drop(permit);
                drop(reply.send(*answer));
            }
            Self::Operator(reply, answer) => drop(reply.send(answer)),
            Self::Founded(reply, group_state) => drop(reply.send(group_state)),
            Self::Shop(reply, answer) => drop(reply.send(answer)),
            Self::Barrier(waiting) => drop(waiting.send(())),
        }
    }
}

/// The sending side of the journal's queue. The journal ends with [`EntryEffect::End`], or when all
/// handles are dropped.
#[derive(Clone, Debug)]
pub struct JournalHandle {
    entries: mpsc::UnboundedSender<JournalEntry>,
    arrivals: Arc<Arrivals>,
    /// The format that the log has records written in.
    record_format: Arc<RecordFormat>,
}

impl JournalHandle {
    /// Encodes an event as the record `sequence` of a stream, in the format of the log.
    pub(crate) fn encode(
        &self,
        stream: Stream,
        sequence: u64,
        event: &impl Serialize,
    ) -> JournalRecord {
        JournalRecord::encode(stream, sequence, event, self.record_format.get())
    }

    /// Appends an entry; entries become durable in the order of the calls. An entry for a journal
    /// that has ended is dropped: its process is ending too.
    pub fn append(&self, entry: JournalEntry) {
        let records = entry.records.len() as u64;
        // A record that is counted is in the queue already: the journal takes as many as it wants.
        drop(self.entries.send(entry));
        if records > 0 {
            self.arrivals.count(records);
        }
    }

    /// Returns a handle that does not keep the journal from ending.
    pub(crate) fn downgrade(&self) -> WeakJournalHandle {
        WeakJournalHandle {
            entries: self.entries.downgrade(),
            arrivals: Arc::clone(&self.arrivals),
            record_format: Arc::clone(&self.record_format),
        }
    }
}

/// A handle to a journal that may have ended.
#[derive(Clone, Debug)]
pub(crate) struct WeakJournalHandle {
    entries: mpsc::WeakUnboundedSender<JournalEntry>,
    arrivals: Arc<Arrivals>,
    record_format: Arc<RecordFormat>,
}

impl WeakJournalHandle {
    /// Returns a place of the log, once all states before it are published; `None` if the journal
    /// has ended. It blocks its thread: never call it in a task.
    pub(crate) fn checkpoint(&self) -> Option<Checkpoint> {
        self.begin_checkpoint()?.blocking_recv().ok()
    }

    /// Does as [`WeakJournalHandle::checkpoint`], with a port for the reply.
    pub(crate) fn begin_checkpoint(&self) -> Option<oneshot::Receiver<Checkpoint>> {
        let entries = self.entries.upgrade()?;
        let arrivals = Arc::clone(&self.arrivals);
        let record_format = Arc::clone(&self.record_format);
        let journal = JournalHandle { entries, arrivals, record_format };
        let (reply, reached) = oneshot::channel();
        journal.append(JournalEntry::effect(EntryEffect::Checkpoint(reply)));
        // The strong handle ends here: held while waiting, it would keep the journal from ending.
        Some(reached)
    }
}

/// The log and the published states, which only the journal changes.
#[derive(Debug)]
pub struct JournalWriter<L> {
    /// The log that makes records durable.
    log: L,
    /// The states that readers use; never newer than the log.
    published: Arc<Published>,
    /// Whether it has carried out [`EntryEffect::End`].
    has_ended: bool,
}

impl<L: Log> JournalWriter<L> {
    /// Makes a batch durable with one append, publishes each group's newest state, and sends the
    /// replies in order.
    ///
    /// # Errors
    /// A failed log. Then nothing of the batch is published or answered, and nothing may be ever
    /// after.
    pub fn commit(&mut self, batch: &mut Vec<JournalEntry>) -> Result<(), StoreError> {
        let records = take_records(batch);
        if PlantedFault::AnswerBeforeFsync.is_active() {
            self.publish_and_reply(batch)?;
        }
        if !records.is_empty() {
            self.log.append(&records)?;
        }
        self.publish_and_reply(batch)
    }

    /// Carries out the effects of a durable batch, then sends its replies in order.
    fn publish_and_reply(&mut self, batch: &mut Vec<JournalEntry>) -> Result<(), StoreError> {
        let mut checkpoints = Vec::new();
        let mut next_states: BTreeMap<GroupId, (Arc<GroupState>, ChangedRecords)> = BTreeMap::new();
        // Later states replace earlier ones, so each group ends at its newest. All are published
        // before the first reply, so that a caller reads its own write.
        for entry in &mut *batch {
            match std::mem::replace(&mut entry.effect, EntryEffect::None) {
                EntryEffect::None => {}
                EntryEffect::PublishGroup(group, group_state, changed) => {
                    match next_states.entry(group) {
                        Entry::Vacant(vacant) => drop(vacant.insert((group_state, changed))),
                        Entry::Occupied(mut occupied) => {
                            let (newest, all_changed) = occupied.get_mut();
                            *newest = group_state;
                            all_changed.extend(changed);
                        }
                    }
                }
                EntryEffect::PublishNewGroup(group_state) => {
                    self.published.publish_new_group(group_state);
                }
                EntryEffect::PublishDirectory(directory) => {
                    self.published.publish_directory(directory);
                }
                EntryEffect::PublishShop(group_state, directory) => {
                    self.published.publish_directory(directory);
                    self.published.publish_new_group(group_state);
                }
                EntryEffect::SyncWatermark => self.log.sync_watermark()?,
                EntryEffect::Checkpoint(reply) => {
                    checkpoints.push((self.log.checkpoint()?, reply));
                }
                EntryEffect::End => self.has_ended = true,
            }
        }
        self.published.publish_groups(next_states);
        for (checkpoint, reply) in checkpoints {
            // The compactor no longer waits during shutdown.
            let _ = reply.send(checkpoint);
        }
        for entry in batch.drain(..) {
            entry.replies.into_iter().for_each(PendingReply::send);
        }
        Ok(())
    }
}

/// Takes the records out of a batch, in order.
fn take_records(batch: &mut [JournalEntry]) -> Vec<JournalRecord> {
    let mut records = Vec::with_capacity(batch.len());
    for entry in batch {
        records.extend(entry.records.drain(..));
    }
    records
}

/// Reason why the journal ended early. Nothing more may be answered.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The writer panicked, which is a bug.
    #[error("the journal's writer panicked; what it was writing may or may not be on disk")]
    Panicked,
}

/// A journal that is not driven yet.
#[derive(Debug)]
pub struct Journal<L> {
    writer: JournalWriter<L>,
    /// Notified of each batch's beginning and end.
    health: Arc<Health>,
    metrics: Arc<EngineMetrics>,
    entries: mpsc::UnboundedReceiver<JournalEntry>,
    arrivals: Arc<Arrivals>,
}

impl<L: Log> Journal<L> {
    /// Creates a journal over a log, and its handle.
    pub fn new(
        log: L,
        published: Arc<Published>,
        health: Arc<Health>,
        metrics: Arc<EngineMetrics>,
    ) -> (Self, JournalHandle) {
        let (sender, entries) = mpsc::unbounded_channel();
        let record_format = log.record_format();
        let writer = JournalWriter { log, published, has_ended: false };
        let arrivals = Arc::<Arrivals>::default();
        let handle =
            JournalHandle { entries: sender, arrivals: Arc::clone(&arrivals), record_format };
        (Self { writer, health, metrics, entries, arrivals }, handle)
    }

    /// Drives the journal on the calling thread until its end, or until every handle is dropped,
    /// then closes the log. The entries that arrive while a batch is written form the next batch.
    /// By the sizes of the last two, it may wait for more.
    ///
    /// # Errors
    /// The first failed append. Nothing more may be answered: end the process.
    pub fn run(mut self) -> Result<(), JournalError> {
        let mut batch = Vec::new();
        let mut group_commit = GroupCommit::new();
        let mut taken = 0;
        while !self.writer.has_ended
            && self.entries.blocking_recv_many(&mut batch, BATCH_ENTRIES_MAX) > 0
        {
            let records = self.gather(&mut batch, group_commit, taken);
            taken += records as u64;
            let began = Stopwatch::now();
            if let Err(error) = self.commit_guarded(&mut batch) {
                // A dropped reply port would tell its caller that nothing was done.
                std::mem::forget((batch, self.entries));
                return Err(error);
            }
            group_commit.note(BatchCost { records, took: began.elapsed() });
        }
        Ok(self.writer.log.close()?)
    }

    /// Waits for more entries of a batch, as long as [`GroupCommit`] tells, after batches with
    /// `taken` records. Returns the number of its records.
    fn gather(
        &mut self,
        batch: &mut Vec<JournalEntry>,
        group_commit: GroupCommit,
        taken: u64,
    ) -> usize {
        let mut records = batch.iter().map(|entry| entry.records.len()).sum();
        while let Some(longest) = group_commit.wait_time(records, group_commit.since_end())
            && batch.len() < BATCH_ENTRIES_MAX
            && !self.entries.is_closed()
        {
            self.arrivals.wait(taken + group_commit.wanted_records() as u64, longest);
            let appended = self.arrivals.appended.load(Ordering::SeqCst);
            while batch.len() < BATCH_ENTRIES_MAX
                && let Ok(entry) = self.entries.try_recv()
            {
                records += entry.records.len();
                batch.push(entry);
            }
            let has_room = batch.len() < BATCH_ENTRIES_MAX;
            debug_assert!(!has_room || taken + records as u64 >= appended, "all were taken");
        }
        records
    }

    fn commit_guarded(&mut self, batch: &mut Vec<JournalEntry>) -> Result<(), JournalError> {
        self.guarded(batch, JournalWriter::commit)
    }

    /// Runs `commit` on a batch, with its health and metrics. A panic becomes an error.
    fn guarded(
        &mut self,
        batch: &mut Vec<JournalEntry>,
        commit: impl FnOnce(&mut JournalWriter<L>, &mut Vec<JournalEntry>) -> Result<(), StoreError>,
    ) -> Result<(), JournalError> {
        let began = Stopwatch::now();
        let entries = batch.iter().map(JournalEntry::weight).sum();
        self.health.batch_began();
        let committed =
            std::panic::catch_unwind(AssertUnwindSafe(|| commit(&mut self.writer, batch)));
        self.health.batch_ended();
        self.metrics.record_batch(entries, began);
        match committed {
            Ok(committed) => Ok(committed?),
            Err(_) => Err(JournalError::Panicked),
        }
    }
}

impl Journal<SimulatedLog> {
    /// Drives the journal in a task. A batch with records is written, `batch_time` of the runtime's
    /// time passes, and then it is synced. A power cut can come in between.
    ///
    /// # Errors
    /// As [`Journal::run`].
    pub async fn run_simulated(
        mut self,
        mut batch_time: impl FnMut() -> Duration,
    ) -> Result<(), JournalError> {
        let mut batch = Vec::new();
        while !self.writer.has_ended
            && self.entries.recv_many(&mut batch, BATCH_ENTRIES_MAX).await > 0
        {
            if let Err(error) = self.commit_simulated(&mut batch, &mut batch_time).await {
                std::mem::forget((batch, self.entries));
                return Err(error);
            }
        }
        Ok(self.writer.log.close()?)
    }

    /// Does as [`JournalWriter::commit`] in two halves, with the batch's time between them.
    async fn commit_simulated(
        &mut self,
        batch: &mut Vec<JournalEntry>,
        batch_time: &mut impl FnMut() -> Duration,
    ) -> Result<(), JournalError> {
        let records = take_records(batch);
        if records.is_empty() {
            return self.commit_guarded(batch);
        }
        self.writer.log.write(&records)?;
        if PlantedFault::AnswerBeforeFsync.is_active() {
            self.writer.publish_and_reply(batch)?;
        }
        self.health.batch_began();
        tokio::time::sleep(batch_time()).await;
        self.guarded(batch, |writer, batch| {
            writer.log.sync()?;
            writer.publish_and_reply(batch)
        })
    }
}

#[cfg(test)]
impl<L: Log> Journal<L> {
    /// Drives the journal in a task, which blocks its thread while a batch is written. After a
    /// failed append it says so, and keeps its callers waiting for as long as the task is kept.
    pub(crate) async fn run_in_task(mut self, failed: Arc<tokio::sync::Notify>) {
        let mut batch = Vec::new();
        while !self.writer.has_ended
            && self.entries.recv_many(&mut batch, BATCH_ENTRIES_MAX).await > 0
        {
            if self.commit_guarded(&mut batch).is_err() {
                failed.notify_one();
                std::future::pending::<()>().await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::directory::Directory;
    use crate::engine::group_states::GroupStates;
    use crate::engine::recovery;

    #[test]
    fn the_journal_ends_while_handles_to_it_live() {
        let disk = recovery::create_simulated(&Directory::default(), &[]).expect("a disk");
        let (directory, _, log) = recovery::load_simulated(&disk).expect("a store");
        let published = Arc::new(Published::new(directory, GroupStates::default(), []));
        let (journal, handle) =
            Journal::new(log, published, Arc::default(), Arc::new(EngineMetrics::default()));
        let (barrier, mut passed) = oneshot::channel();
        handle.append(JournalEntry::reply(PendingReply::Barrier(barrier)));
        handle.append(JournalEntry::effect(EntryEffect::End));
        let (ended, end) = std::sync::mpsc::channel();
        std::thread::spawn(move || ended.send(journal.run()));
        end.recv_timeout(Duration::from_secs(60)).expect("it ends").expect("the disk takes all");
        passed.try_recv().expect("what came before its end is done");
        let (barrier, mut passed) = oneshot::channel();
        handle.append(JournalEntry::reply(PendingReply::Barrier(barrier)));
        passed.try_recv().expect_err("what comes after its end is dropped");
    }
}
