//! The handle to the running engine: starting it, reading states, sending writes, stopping it.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::clock::Clock;
use crate::domain::decisions::founding::{FoundGroup, FoundShop};
use crate::domain::directory::Directory;
use crate::domain::directory::access::ChangeAccess;
use crate::domain::records::author::Author;
use crate::domain::records::ids::GroupId;
use crate::domain::state::command::Command;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::Refusal;
use crate::domain::time::Instant;
use crate::engine::admission::{Admission, AdmissionLimits};
use crate::engine::backup::{self, BackupError};
use crate::engine::compaction::{CompactionLimits, Compactor, CompactorParts};
use crate::engine::compaction_requests::{CompactionRequests, PairOutcome};
use crate::engine::confirmation;
use crate::engine::forgotten_list::ForgottenList;
use crate::engine::group_routes::GroupRoutes;
use crate::engine::group_states::GroupStates;
use crate::engine::health::Health;
use crate::engine::journal::{Journal, WeakJournalHandle};
use crate::engine::mailbox::{Mailbox, Transport};
use crate::engine::messages::SupervisorMessage;
use crate::engine::metrics::{EngineMetrics, MessageMetrics, WebhookMetrics, WriteTiming};
use crate::engine::published::Published;
use crate::engine::quarantine::QuarantinedGroup;
use crate::engine::randomness::Randomness;
use crate::engine::shared_compaction::{SharedCompactor, SharedCompactorParts, SharedSizes};
use crate::engine::steady_clock::SteadyClock;
use crate::engine::supervisor::{self, SupervisorParts};
use crate::engine::used_blocks::claim_used_ids;
use crate::engine::write::{
    AcceptanceHook, AccessError, Envelope, IdempotentRequest, Rejection, ShopAnswer, WriteResult,
};
use crate::planted_faults::PlantedFault;
use crate::store::{Generations, Lease, Log, SharedStore, SoundSnapshot};

/// The recovered states and the resources that an engine starts from.
pub struct EngineParts {
    /// The recovered directory.
    pub directory: Directory,
    /// The recovered groups.
    pub group_states: GroupStates,
    /// The source of time.
    pub clock: Arc<dyn Clock>,
    /// The source of randomness.
    pub randomness: Randomness,
    /// Delivery of messages between actors.
    pub transport: Transport,
    /// Limits on the writes in flight.
    pub admission_limits: AdmissionLimits,
    /// Maximum time that a command waits for its decision.
    pub decision_timeout: Duration,
}

/// The running engine. Clones are handles to the same one. It ends when the last handle is dropped
/// and every write is answered.
#[derive(Clone)]
pub struct Engine {
    published: Arc<Published>,
    admission: Arc<Admission>,
    /// Routes of writes to the groups that have an actor. The supervisor starts the others.
    routes: Arc<GroupRoutes>,
    supervisor: Mailbox<SupervisorMessage>,
    health: Arc<Health>,
    /// Weak, so that the journal can end while an engine handle lives.
    journal: WeakJournalHandle,
    clock: Arc<dyn Clock>,
    steady_clock: Arc<SteadyClock>,
    decision_timeout: Duration,
    metrics: Arc<EngineMetrics>,
    /// The list of erased clients.
    pub(super) forgotten: ForgottenList,
    /// Requests for generations at once.
    compactions: CompactionRequests,
    /// The lease of this server in a cluster; empty without one.
    lease: Arc<OnceLock<Arc<Lease>>>,
}

impl Engine {
    /// Starts the actors over the recovered states. The caller drives the returned journal: on a
    /// thread of its own, or as a task in simulation.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn start<L: Log>(mut parts: EngineParts, log: L) -> (Self, Journal<L>) {
        for group_state in parts.group_states.iter() {
            claim_used_ids(&mut parts.directory.blocks, group_state);
        }
        Self::start_with_quarantined(Vec::new(), parts, log, EngineMetrics::default()).await
    }

    /// Starts the actors as [`Engine::start`] does, with quarantined groups and with metrics. The
    /// states are recovered ones, whose directory knows which ids the groups use.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn start_with_quarantined<L: Log>(
        quarantined: Vec<QuarantinedGroup>,
        parts: EngineParts,
        log: L,
        metrics: EngineMetrics,
    ) -> (Self, Journal<L>) {
        let metrics = Arc::new(metrics);
        let mut directory = parts.directory;
        for group in &quarantined {
            if let Some(group_state) = &group.last_state {
                claim_used_ids(&mut directory.blocks, group_state);
            }
        }
        let last_states = quarantined.iter().filter_map(|group| group.last_state.as_ref());
        let last_stamp = last_states
            .map(|group_state| Some(group_state.last_stamp))
            .chain([parts.group_states.last_stamp()])
            .max()
            .flatten();
        let steady_clock = Arc::new(SteadyClock::new(Arc::clone(&parts.clock), last_stamp));
        let newest_directory = Arc::new(directory.clone());
        let published = Arc::new(Published::new(directory, parts.group_states, quarantined));
        let health = Arc::new(Health::default());
        let (journal, journal_handle) =
            Journal::new(log, Arc::clone(&published), Arc::clone(&health), Arc::clone(&metrics));
        let groups: Vec<GroupId> = published.groups().collect();
        let groups = || groups.iter().copied();
        let admission = Arc::new(Admission::new(parts.admission_limits, groups()));
        let weak_journal_handle = journal_handle.downgrade();
        let routes = Arc::new(GroupRoutes::new(groups()));
        let supervisor = supervisor::start(SupervisorParts {
            published: Arc::clone(&published),
            admission: Arc::clone(&admission),
            routes: Arc::clone(&routes),
            directory: newest_directory,
            journal: journal_handle,
            clock: Arc::clone(&parts.clock),
            steady_clock: Arc::clone(&steady_clock),
            randomness: parts.randomness,
            transport: parts.transport,
            health: Arc::clone(&health),
        })
        .await;
        let engine = Self {
            published,
            admission,
            routes,
            supervisor,
            health,
            journal: weak_journal_handle,
            clock: parts.clock,
            steady_clock,
            decision_timeout: parts.decision_timeout,
            metrics,
            forgotten: ForgottenList::default(),
            compactions: CompactionRequests::default(),
            lease: Arc::default(),
        };
        (engine, journal)
    }

    /// Returns the published states, which readers use.
    pub fn published(&self) -> &Published {
        &self.published
    }

    /// Creates the compactor, which makes new generations of the store while the engine runs.
    ///
    /// A generation is due when the journals exceed `journal_bytes` and half of the snapshots. It
    /// is made only while the disk keeps `reserve_bytes` free.
    pub fn new_compactor(
        &self,
        generations: Generations,
        journal_bytes: u64,
        reserve_bytes: u64,
    ) -> Compactor {
        let limits = CompactionLimits { journal_bytes, reserve_bytes };
        let parts = CompactorParts {
            published: Arc::clone(&self.published),
            journal: self.journal.clone(),
            clock: Arc::clone(&self.clock),
            requests: self.compactions.clone(),
        };
        Compactor::new(generations, parts, limits)
    }

    /// Creates the compactor of a shared store with these sizes, of which `snapshot` is the newest
    /// sound one. It notes erasures in `directory`.
    pub(crate) fn new_shared_compactor(
        &self,
        store: SharedStore,
        sizes: Arc<SharedSizes>,
        snapshot: SoundSnapshot,
        directory: &Path,
    ) -> SharedCompactor {
        let parts = SharedCompactorParts {
            published: Arc::clone(&self.published),
            journal: self.journal.clone(),
            clock: Arc::clone(&self.clock),
            requests: self.compactions.clone(),
        };
        SharedCompactor::new(store, parts, sizes, snapshot, directory)
    }

    /// Makes this the engine of a server in a cluster. From now on what leaves the server without
    /// a durable write needs its lease. To be called once, before the first request.
    pub(crate) fn need_lease(&self, lease: Arc<Lease>) {
        let set = self.lease.set(lease);
        assert!(set.is_ok(), "a server has one lease");
        self.health.note_shared();
    }

    /// Returns the lease of this server in a cluster; `None` without one.
    pub(crate) fn lease(&self) -> Option<&Arc<Lease>> {
        self.lease.get()
    }

    /// Whether what was read here may leave the server: no other server can have decided anything
    /// meanwhile.
    pub(crate) fn may_answer(&self) -> bool {
        self.lease.get().is_none_or(|lease| lease.is_held())
    }

    /// Has the compactor make two generations at once, and waits for them. So no file of the store
    /// holds any more what was erased before. Without a running compactor it waits for one.
    /// Reference 17.3.
    pub async fn compact_twice(&self) -> PairOutcome {
        self.compactions.add().await.unwrap_or(PairOutcome::Failed)
    }

    /// Writes all durable states, group by group, as a store of its own, with a copy of the list of
    /// erased clients. Writes go on meanwhile.
    /// It blocks its thread for long: never call it in a task.
    ///
    /// # Errors
    /// As [`backup::write_backup`].
    pub fn back_up(
        &self,
        to: &Path,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<(), BackupError> {
        backup::write_backup(&self.published, to, progress)?;
        // Last, so that it lists all that the copy still holds.
        match self.forgotten.0.blocking_lock().as_ref() {
            Some(file) => Ok(file.copy_to(to)?),
            None => Ok(()),
        }
    }

    /// Returns the health of the store.
    pub fn health(&self) -> &Arc<Health> {
        &self.health
    }

    /// Returns the number of writes in flight: of all groups, and of the group that has most.
    pub fn writes_in_flight(&self) -> (usize, usize) {
        self.admission.permits_in_use()
    }

    /// Returns the engine's clock.
    pub fn clock(&self) -> &dyn Clock {
        self.clock.as_ref()
    }

    /// Returns the time by which idempotency records and account links expire. It is never after
    /// the clock, and a step of the clock does not move it ahead.
    pub fn steady_now(&self) -> Instant {
        self.steady_clock.now()
    }

    /// Returns the seconds by which the clock is ahead of the last known time, while it is in
    /// doubt; `None` if it is not in doubt. Irreversible upkeep waits while it is.
    pub fn clock_doubt_seconds(&self) -> Option<i64> {
        self.steady_clock.doubt_seconds()
    }

    /// Returns the published states, to be kept longer than this handle.
    pub(crate) fn published_arc(&self) -> Arc<Published> {
        Arc::clone(&self.published)
    }

    /// Returns the handles of the metrics of messages.
    pub(crate) fn message_metrics(&self) -> MessageMetrics {
        self.metrics.messages.clone()
    }

    /// Returns the handles of the metrics of webhooks.
    pub(crate) fn webhook_metrics(&self) -> &WebhookMetrics {
        &self.metrics.webhooks
    }

    /// Returns why a write to a group would be rejected now, so that a caller need not read its
    /// body. It reserves nothing: [`Engine::write`] may still reject the write.
    pub fn find_write_rejection(&self, group: GroupId) -> Option<Rejection> {
        if let Some(reason) = self.health.writes_unavailable() {
            return Some(Rejection::WritesUnavailable(reason));
        }
        if !self.admission.has_room(group) {
            return Some(Rejection::Overloaded);
        }
        None
    }

    /// Has a group decide a command, and waits until the outcome is durable and visible. The event
    /// names the author. Dropping the future does not withdraw the command.
    ///
    /// # Errors
    /// Every [`Rejection`]; with any of them nothing has been changed.
    pub async fn write(&self, group: GroupId, author: Author, command: Command) -> WriteResult {
        self.write_idempotent(group, author, command, None, None).await
    }

    /// Writes as [`Engine::write`] does, at most once per idempotency key: a repetition gets the
    /// recorded answer. Reference 6.6. `on_acceptance` is called before the answer is durable.
    ///
    /// # Errors
    /// Every [`Rejection`]; with any of them nothing has been changed or recorded.
    pub async fn write_idempotent(
        &self,
        group: GroupId,
        author: Author,
        command: Command,
        idempotent_request: Option<IdempotentRequest>,
        on_acceptance: Option<AcceptanceHook>,
    ) -> WriteResult {
        if self.published.group_state(group).is_none() {
            return Err(Rejection::GroupNotFound);
        }
        let unavailable = self.health.writes_unavailable();
        if let Some(reason) = unavailable
            && !PlantedFault::RefusedWriteDone.is_active()
        {
            return Err(Rejection::WritesUnavailable(reason));
        }
        let Some(permit) = self.admission.try_acquire(group) else {
            return Err(Rejection::Overloaded);
        };
        let command = self.within_role(group, author, command)?;
        let (reply, answer) = oneshot::channel();
        let timing = WriteTiming::new(&self.metrics, &command);
        let envelope = Envelope {
            author,
            command,
            idempotent_request,
            on_acceptance,
            timing: Box::new(timing.clone()),
            deadline: tokio::time::Instant::now() + self.decision_timeout,
            reply,
            permit,
        };
        if let Some(envelope) = self.routes.send(group, envelope) {
            self.supervisor.send(SupervisorMessage::Write { group, envelope });
        }
        if let Some(reason) = unavailable {
            return Err(Rejection::WritesUnavailable(reason));
        }
        // The reply port is dropped when an actor dies with the command undecided.
        let answer = answer.await.unwrap_or(Err(Rejection::InternalError));
        if let Ok(committed) = &answer {
            timing.record_answer();
            if !Arc::ptr_eq(&committed.before, &committed.group_state) {
                self.note_confirmed();
            }
        }
        answer
    }

    /// Returns a command as far as the role of its author goes. Every write passes here, so that
    /// none goes further, whatever page or endpoint it comes from. Reference 3.9.
    ///
    /// # Errors
    /// The professional has left the group since the request was checked.
    fn within_role(
        &self,
        group: GroupId,
        author: Author,
        command: Command,
    ) -> Result<Command, Rejection> {
        let Author::Professional { id, .. } = author else { return Ok(command) };
        let directory = self.published.directory();
        if !directory.pros.get(&id).is_some_and(|pro| pro.works_for(group)) {
            let needed = "only professionals of the group may do this";
            return Err(Rejection::Refused(Refusal::Unauthorized { needed }.into()));
        }
        Ok(command.within(directory.roles.role_of(group, id)))
    }

    /// Changes keys or professionals in the name of an author. Waits until the change is durable
    /// and applies to every later request.
    ///
    /// # Errors
    /// The rule that the change breaks, [`Rejection::Overloaded`] while the engine shuts down, or
    /// [`Rejection::WritesUnavailable`] while the store takes no writes.
    pub async fn change_access(
        &self,
        author: Option<Author>,
        change: ChangeAccess,
    ) -> Result<(), AccessError> {
        let message = |reply| SupervisorMessage::ChangeAccess { author, change, reply };
        self.ask_supervisor(message).await?.map_err(AccessError::Refused)?;
        self.note_confirmed();
        Ok(())
    }

    /// Founds a group for an author. Waits until it is durable and visible, and returns its state.
    ///
    /// # Errors
    /// [`Rejection::Overloaded`] while the engine shuts down, [`Rejection::WritesUnavailable`]
    /// while the store takes no writes.
    pub async fn found_group(
        &self,
        author: Author,
        command: FoundGroup,
    ) -> Result<Arc<GroupState>, Rejection> {
        let message = |reply| SupervisorMessage::FoundGroup { author, command, reply };
        let founded = self.ask_supervisor(message).await?;
        self.note_confirmed();
        Ok(founded)
    }

    /// Founds the first group of the store for an author, with its records and its professional.
    /// Waits until all of it is durable and visible, and returns the state of the group. A crash
    /// leaves all of it or nothing. Reference 15.12.
    ///
    /// # Errors
    /// The rule that stands against it; otherwise as [`Engine::found_group`].
    pub async fn found_shop(
        &self,
        author: Author,
        shop: Box<FoundShop>,
    ) -> Result<ShopAnswer, Rejection> {
        let message = |reply| SupervisorMessage::FoundShop { author, shop, reply };
        let answer = self.ask_supervisor(message).await?;
        if answer.is_ok() {
            self.note_confirmed();
        }
        Ok(answer)
    }

    /// Sends a write to the supervisor, and waits for its answer. The reply port is dropped while
    /// the engine shuts down.
    async fn ask_supervisor<T>(
        &self,
        message: impl FnOnce(oneshot::Sender<T>) -> SupervisorMessage,
    ) -> Result<T, Rejection> {
        if let Some(reason) = self.health.writes_unavailable() {
            return Err(Rejection::WritesUnavailable(reason));
        }
        let (reply, answer) = oneshot::channel();
        self.supervisor.send(message(reply));
        answer.await.map_err(|_| Rejection::Overloaded)
    }

    /// Notes that a write of the task is durable, where a lease is needed without one.
    fn note_confirmed(&self) {
        if self.lease.get().is_some() {
            confirmation::note();
        }
    }

    /// Rejects new writes, waits until those in flight are answered, and ends the journal and the
    /// actors.
    pub async fn shut_down(self) {
        self.health.shutdown_began();
        self.admission.close().await;
        self.supervisor.send(SupervisorMessage::ShutDown);
    }
}
