//! Who decides, in what order, and when anybody is told: actors around the pure core.
//!
//! A write goes from its permit to the supervisor, to the group's actor, to one calendar after another, to the journal,
//! and its answer comes from there. A read takes a published group_state and meets nobody.

pub mod admission;
pub mod backup;
mod calendar;
pub mod check;
pub mod compaction;
mod fair_queue;
mod group;
pub mod health;
pub mod journal;
pub mod mailbox;
mod message_scheduler;
mod message_sender;
pub mod metrics;
pub mod outbox_stats;
pub mod published;
pub mod quarantine;
pub mod queue;
pub mod randomness;
pub mod recovery;
mod supervisor;
mod upkeep;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use self::admission::{Admission, Bounds, Permit};
use self::compaction::Compactor;
use self::health::{Closed, Health};
use self::journal::{Journal, WeakHandle};
use self::mailbox::{Mailbox, Transport};
use self::message_sender::MessageSender;
use self::metrics::{Meters, Timing};
use self::published::Published;
use self::quarantine::QuarantinedGroup;
use self::randomness::Randomness;
use crate::clock::Clock;
use crate::domain::identity::access::{AccessRefusal, ChangeAccess};
use crate::domain::identity::directory::{Directory, IdKind};
use crate::domain::records::ids::{GroupId, VeventId};
use crate::domain::state::command::Command;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::Refusals;
use crate::notify::Carriers;
use crate::store::{Generations, Log, StoreError};

/// What a write comes to.
pub type Answer = Result<Done, Rejection>;

/// A command carried out, durable and visible.
#[derive(Clone, Debug)]
pub struct Done {
    /// The group's state right before it: what has been removed stands there.
    pub before: Arc<GroupState>,
    /// The group's state right after it: the answer is read from here.
    pub group_state: Arc<GroupState>,
    /// The id of the object it was about, or of the one it made; of several appointments the first.
    pub object: u64,
    /// The appointments made, or the one cancelled.
    pub appointments: Vec<VeventId>,
    /// For what was done [`Once`]: the bytes it is answered with, now and every time it is asked again.
    pub answer: Option<Arc<[u8]>>,
}

/// The wish that a command be carried out once, however often it is sent. Reference 6.
#[derive(Clone)]
pub struct Once {
    /// SHA-256 over who asks of whom under which key.
    pub scope: [u8; 32],
    /// SHA-256 over what is asked.
    pub body: [u8; 32],
    /// Makes the answer of what was done. It may depend on nothing else.
    pub render: Arc<Render>,
}

type Render = dyn Fn(&Done) -> Vec<u8> + Send + Sync;

impl std::fmt::Debug for Once {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Once")
            .field("scope", &self.scope)
            .field("body", &self.body)
            .finish_non_exhaustive()
    }
}

/// Why a command was not carried out.
#[derive(Clone, Debug)]
pub enum Rejection {
    /// A rule says no.
    Refused(Refusals),
    /// Too much is under way, or the server is going down: nothing was done.
    Overloaded,
    /// The store takes no writes at the moment: nothing was done.
    Closed(Closed),
    /// It waited too long to be decided: nothing was done.
    Expired,
    /// The same key came with something else within 24 hours: nothing was done.
    Conflict,
    /// There is no such group.
    NoGroup,
    /// A bug of ours; the group lives on as it was.
    Failed,
}

/// A command on its way to its group.
#[derive(Debug)]
struct Envelope {
    command: Command,
    once: Option<Once>,
    timing: Box<Timing>,
    /// Undecided by then, it is dropped.
    deadline: tokio::time::Instant,
    reply: oneshot::Sender<Answer>,
    permit: Permit,
    /// Nobody is written to about it.
    quiet: bool,
}

impl Envelope {
    fn answer(self, answer: Answer) {
        journal::Release::to_caller(self.reply, answer, self.permit).go();
    }
}

/// What an engine is made of.
pub struct Parts {
    /// The recovered directory.
    pub directory: Directory,
    /// The recovered groups.
    pub group_states: Vec<GroupState>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Chance.
    pub draws: Randomness,
    /// How actors reach one another.
    pub transport: Transport,
    /// How much may be under way.
    pub bounds: Bounds,
    /// How long a command may wait to be decided.
    pub patience: Duration,
}

/// How messages are sent.
pub struct Sending {
    /// Who carries them.
    pub carriers: Arc<Carriers>,
    /// Most messages to one recipient within 24 hours, half of them at most such as anybody can cause; 0 lets none leave.
    /// Links to accounts always go, and count.
    pub daily_max: usize,
    /// Chance, for when to try again.
    pub draws: Randomness,
    /// How actors reach one another.
    pub transport: Transport,
    /// How long the timer sleeps at most before it reads the clock again.
    pub doze: Duration,
    /// Attempts under way at once at most, of mails and of text messages each.
    pub lane: usize,
}

/// The sending of messages, to be stopped.
pub struct Messages {
    published: Arc<Published>,
}

impl Messages {
    /// Begins no more attempts, and waits until those under way have ended.
    pub async fn stop(self) {
        let (answer, ended) = oneshot::channel();
        if let Some(timer) = self.published.timer() {
            timer.send(message_scheduler::Message::Stop(answer));
        }
        // A timer that has just ended answers nothing: what it had begun is begun once more after the next start.
        drop(ended.await);
    }
}

/// The running engine. Clones are handles to the same one; when the last is gone and all is answered, it ends.
#[derive(Clone)]
pub struct Engine {
    published: Arc<Published>,
    admission: Arc<Admission>,
    supervisor: Mailbox<supervisor::Message>,
    health: Arc<Health>,
    /// Does not keep the journal from ending.
    journal: WeakHandle,
    clock: Arc<dyn Clock>,
    patience: Duration,
    meters: Arc<Meters>,
}

impl Engine {
    /// Starts the actors over what was recovered. The journal returned is to be driven by the caller, on a thread of
    /// its own or, in simulation, as a task.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn start<L: Log>(parts: Parts, log: L) -> (Self, Journal<L>) {
        Self::start_metered(parts, log, Meters::default()).await
    }

    /// The same, measured.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn start_metered<L: Log>(parts: Parts, log: L, meters: Meters) -> (Self, Journal<L>) {
        Self::start_beside(Vec::new(), parts, log, meters).await
    }

    /// The same, beside groups that nobody is let into.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn start_beside<L: Log>(
        aside: Vec<QuarantinedGroup>,
        parts: Parts,
        log: L,
        meters: Meters,
    ) -> (Self, Journal<L>) {
        let meters = Arc::new(meters);
        let mut directory = parts.directory;
        // What an import has numbered by itself is nobody's to be granted.
        let bases = aside.iter().filter_map(|aside| aside.base.as_ref());
        for catalogue in
            parts.group_states.iter().chain(bases).map(|group_state| &group_state.catalogue)
        {
            catalogue
                .ids()
                .into_iter()
                .for_each(|(kind, id)| directory.claim_imported_id(kind, id, catalogue.group.id));
        }
        // Nor is what a group has used, should the directory be older than the group.
        for group_state in
            parts.group_states.iter().chain(aside.iter().filter_map(|aside| aside.base.as_ref()))
        {
            let spent = IdKind::ALL
                .into_iter()
                .map(|kind| (kind, group_state.highest_id(kind)))
                .filter(|(_, id)| *id > 0);
            spent.for_each(|(kind, id)| {
                directory.claim_imported_id(kind, id, group_state.catalogue.group.id)
            });
        }
        let newest = Arc::new(directory.clone());
        let published = Arc::new(Published::new(directory, parts.group_states, aside));
        let health = Arc::new(Health::default());
        let (journal, handle) =
            Journal::new(log, Arc::clone(&published), Arc::clone(&health), Arc::clone(&meters));
        let admission = Arc::new(Admission::new(parts.bounds, published.groups()));
        let weak = handle.downgrade();
        let supervisor = supervisor::start(supervisor::Parts {
            published: Arc::clone(&published),
            directory: newest,
            journal: handle,
            clock: Arc::clone(&parts.clock),
            draws: parts.draws,
            transport: parts.transport,
            health: Arc::clone(&health),
        })
        .await;
        let (clock, patience) = (parts.clock, parts.patience);
        let engine = Self {
            published,
            admission,
            supervisor,
            health,
            journal: weak,
            clock,
            patience,
            meters,
        };
        (engine, journal)
    }

    /// What readers see.
    #[must_use]
    pub fn published(&self) -> &Published {
        &self.published
    }

    /// What makes new generations of the store while the engine runs, whenever the journals outgrow half of the
    /// snapshots and `journal_bytes`, and the disk keeps `reserve_bytes` free.
    #[must_use]
    pub fn compactor(
        &self,
        generations: Generations,
        journal_bytes: u64,
        reserve_bytes: u64,
    ) -> Compactor {
        let bounds = (journal_bytes, reserve_bytes);
        Compactor::new(generations, Arc::clone(&self.published), self.journal.clone(), bounds)
    }

    /// Writes all that is durable now, group by group, as a store of its own that serves. It takes a while, blocks its
    /// thread, and keeps nobody waiting: not for tasks.
    ///
    /// # Errors
    /// As [`backup::write`].
    pub fn back_up(
        &self,
        to: &Path,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<(), StoreError> {
        backup::write(&self.published, to, progress)
    }

    /// How the store fares.
    #[must_use]
    pub fn health(&self) -> &Arc<Health> {
        &self.health
    }

    /// Writes under way, of all groups together and of the one that has most.
    #[must_use]
    pub fn under_way(&self) -> (usize, usize) {
        self.admission.under_way()
    }

    /// The time by the engine's clock.
    #[must_use]
    pub fn clock(&self) -> &dyn Clock {
        self.clock.as_ref()
    }

    /// Why a write to a group would be turned away now, for callers who then need not make a command. Nothing is reserved
    /// by the look: [`Engine::write`] may still turn it away.
    #[must_use]
    pub fn turns_away(&self, group: GroupId) -> Option<Rejection> {
        let full = || (!self.admission.has_room(group)).then_some(Rejection::Overloaded);
        self.health.closed().map(Rejection::Closed).or_else(full)
    }

    /// Has a group decide a command, and waits until the outcome is durable and visible. Dropping the future does not
    /// take the command back.
    ///
    /// # Errors
    /// Every [`Rejection`]; with any of them nothing has been changed.
    pub async fn write(&self, group: GroupId, command: Command) -> Answer {
        self.write_once(group, command, None).await
    }

    /// The same, carried out once: where it was carried out before, the answer is the first one.
    ///
    /// # Errors
    /// Every [`Rejection`]; with any of them nothing has been changed, and the next try is decided anew.
    pub async fn write_once(&self, group: GroupId, command: Command, once: Option<Once>) -> Answer {
        if self.published.group_state(group).is_none() {
            return Err(Rejection::NoGroup);
        }
        if let Some(closed) = self.health.closed() {
            return Err(Rejection::Closed(closed));
        }
        let permit = self.admission.permit(group).ok_or(Rejection::Overloaded)?;
        let (reply, answer) = oneshot::channel();
        let deadline = tokio::time::Instant::now() + self.patience;
        let timing = Timing::new(&self.meters, &command);
        let envelope = Envelope {
            command,
            once,
            timing: Box::new(timing.clone()),
            deadline,
            reply,
            permit,
            quiet: false,
        };
        self.supervisor.send(supervisor::Message::Write { group, envelope });
        // A reply port dropped without an answer is an actor that died with the command undecided.
        let answer = answer.await.unwrap_or(Err(Rejection::Failed));
        if answer.is_ok() {
            timing.is_answered();
        }
        answer
    }

    /// Changes who is let in, and waits until that is durable and holds for every later request.
    ///
    /// # Errors
    /// [`Rejection::Overloaded`] while the engine ends, [`Rejection::Closed`] while no write is taken; inside it, what stands in the way.
    pub async fn change_access(
        &self,
        change: ChangeAccess,
    ) -> Result<Result<(), AccessRefusal>, Rejection> {
        if let Some(closed) = self.health.closed() {
            return Err(Rejection::Closed(closed));
        }
        let (reply, answer) = oneshot::channel();
        self.supervisor.send(supervisor::Message::ChangeAccess { change, reply });
        answer.await.map_err(|_| Rejection::Overloaded)
    }

    /// Sends messages from now on: what waits, and what comes to be due. To be called once.
    pub async fn send_messages(&self, sending: Sending) -> Messages {
        let sender = Arc::new(MessageSender {
            carriers: sending.carriers,
            daily_max: sending.daily_max,
            draws: std::sync::Mutex::new(sending.draws),
            meters: self.meters.post.clone(),
        });
        message_scheduler::start(message_scheduler::Parts {
            engine: self.clone(),
            sender,
            transport: sending.transport,
            doze: sending.doze,
            lane: sending.lane,
            stopped: Arc::default(),
        })
        .await;
        Messages { published: Arc::clone(&self.published) }
    }

    /// Lets no more writes in, waits until all that are under way are answered, and ends the actors. The journal ends
    /// after them.
    pub async fn shut_down(self) {
        self.health.is_ending();
        self.admission.close().await;
        self.supervisor.send(supervisor::Message::ShutDown);
    }
}
