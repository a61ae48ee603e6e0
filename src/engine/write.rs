//! A write and its result: the types that travel from the caller through the actors and back.

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::domain::decisions::decision::{Outcome, Step};
use crate::domain::decisions::founding::ShopRefusal;
use crate::domain::directory::access::AccessRefusal;
use crate::domain::records::author::Author;
use crate::domain::records::hold::HoldId;
use crate::domain::records::ids::VeventId;
use crate::domain::state::command::Command;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::idempotency::IdempotencyShare;
use crate::domain::state::refusal::Refusals;
use crate::engine::admission::Permit;
use crate::engine::health::WritesUnavailable;
use crate::engine::metrics::WriteTiming;

/// The result of a write. With any [`Rejection`] nothing has been changed.
pub type WriteResult = Result<Committed, Rejection>;

/// The state of the first group of a store, or why it was not founded.
pub type ShopAnswer = Result<Arc<GroupState>, ShopRefusal>;

/// A command carried out, durable and visible.
#[derive(Clone, Debug)]
pub struct Committed {
    /// The group's state before the command; it still holds what the command removed. That of a
    /// booking is the one before all bookings of its turn.
    pub before: Arc<GroupState>,
    /// The group's state after the command; the answer is rendered from it. All that the command
    /// was about is as right after it. That of a booking may also have bookings that were decided
    /// in the same turn, before or after it.
    pub group_state: Arc<GroupState>,
    /// The sequence number of the command's event; that of `group_state` if it changed nothing.
    pub sequence: u64,
    /// Id of the object that the command named or created, of several appointments the first; 0 if
    /// the command is about no object.
    pub object: u64,
    /// The appointments created, or the one moved or cancelled.
    pub appointments: Vec<VeventId>,
    /// The hold made, if any.
    pub hold: Option<HoldId>,
    /// Number of holds of others that it has pushed out.
    pub pushed_out: usize,
    /// Whether the booking waits for its code. Then it made a hold and no appointment.
    pub awaits_code: bool,
    /// The recorded answer of an [`IdempotentRequest`]: the same bytes for every repetition.
    pub answer: Option<Arc<[u8]>>,
    /// The commands of a batch that were decided, in order: carried out, or refused. An atomic
    /// batch ends with the first that was refused, and nothing of it is carried out then.
    pub steps: Vec<Result<Committed, Refusals>>,
}

impl Committed {
    /// Returns the answer of a command that changes nothing.
    pub(crate) fn unchanged(group_state: &Arc<GroupState>, outcome: Outcome) -> Self {
        Self {
            before: Arc::clone(group_state),
            group_state: Arc::clone(group_state),
            sequence: group_state.sequence,
            object: outcome.object,
            appointments: outcome.appointments,
            hold: None,
            pushed_out: outcome.pushed_out,
            awaits_code: false,
            answer: None,
            steps: outcome.steps.into_iter().map(Self::of_step).collect(),
        }
    }

    /// Returns the answer of one command of a batch, or its refusals.
    fn of_step(step: Step) -> Result<Self, Refusals> {
        let Step { before, after, outcome } = step;
        let sequence = after.sequence;
        Ok(Self { group_state: after, sequence, ..Self::unchanged(&before, outcome?) })
    }

    /// Whether the answer is that of an earlier request under the same Idempotency-Key.
    pub fn is_replay(&self) -> bool {
        self.answer.is_some() && Arc::ptr_eq(&self.before, &self.group_state)
    }
}

/// A request with an Idempotency-Key: carried out once, however often it is sent. Reference 6.6.
#[derive(Clone)]
pub struct IdempotentRequest {
    /// SHA-256 of the caller, the group and the key.
    pub scope: [u8; 32],
    /// SHA-256 of the request.
    pub body: [u8; 32],
    /// The share that the record counts in.
    pub share: IdempotencyShare,
    /// Renders the recorded answer. It depends on the commit alone.
    pub render: Arc<RenderAnswer>,
}

type RenderAnswer = dyn Fn(&Committed) -> Vec<u8> + Send + Sync;

impl std::fmt::Debug for IdempotentRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IdempotentRequest")
            .field("scope", &self.scope)
            .field("body", &self.body)
            .finish_non_exhaustive()
    }
}

/// Called once a command is accepted: it cannot be refused any more, but is not durable yet. A
/// refused command drops it uncalled.
pub struct AcceptanceHook(Box<dyn FnOnce() + Send>);

impl AcceptanceHook {
    /// Creates a hook. It runs in the group's actor, so it must be short.
    pub fn new(hook: impl FnOnce() + Send + 'static) -> Self {
        Self(Box::new(hook))
    }

    pub(crate) fn call(self) {
        (self.0)();
    }
}

impl std::fmt::Debug for AcceptanceHook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("AcceptanceHook").finish_non_exhaustive()
    }
}

/// Reason why a command was not carried out. Nothing has been changed.
#[derive(Clone, Debug)]
pub enum Rejection {
    /// A rule refuses the command.
    Refused(Refusals),
    /// Too many writes are in flight, or the server is shutting down.
    Overloaded,
    /// The store takes no writes at the moment.
    WritesUnavailable(WritesUnavailable),
    /// The command waited longer than the decision timeout.
    DecisionTimeout,
    /// The same Idempotency-Key came with another request within 24 hours.
    IdempotencyConflict,
    /// The group does not exist.
    GroupNotFound,
    /// A bug: the decision panicked. The group's state is unchanged.
    InternalError,
}

/// Reason why keys and professionals were not changed.
#[derive(Clone, Debug)]
pub enum AccessError {
    /// A rule refuses the change.
    Refused(AccessRefusal),
    /// The engine takes no writes.
    Rejected(Rejection),
}

impl From<Rejection> for AccessError {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}

/// A command on its way to its group.
#[derive(Debug)]
pub(crate) struct Envelope {
    /// The author of the event that the command causes.
    pub(crate) author: Author,
    pub(crate) command: Command,
    pub(crate) idempotent_request: Option<IdempotentRequest>,
    /// Called when the command is accepted.
    pub(crate) on_acceptance: Option<AcceptanceHook>,
    pub(crate) timing: Box<WriteTiming>,
    /// A command undecided at this time is rejected.
    pub(crate) deadline: tokio::time::Instant,
    pub(crate) reply: oneshot::Sender<WriteResult>,
    pub(crate) permit: Permit,
}

impl Envelope {
    /// Tells that the command is decided and cannot be refused any more.
    pub(crate) fn accept(&mut self) {
        self.timing.record_decision();
        if let Some(hook) = self.on_acceptance.take() {
            hook.call();
        }
    }

    /// Answers the caller at once and gives the permit back.
    pub(crate) fn send_answer(self, answer: WriteResult) {
        drop(self.permit);
        // The caller may have gone away.
        drop(self.reply.send(answer));
    }
}
