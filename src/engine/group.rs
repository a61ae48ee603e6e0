//! A group's actor: the one author of the group's history. It decides one command at a time, in the order they came,
//! on the newest state, durable or not. Invariants 1, 4, 6, 7, 9.

mod decisions;
mod idempotency;
mod ids;

use std::collections::{BTreeMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, SupervisionEvent};

use crate::clock::Clock;
use crate::domain::booking::book::Opening;
use crate::domain::booking::manual_change::Placing;
use crate::domain::identity::directory::IdKind;
use crate::domain::records::ids::{CalendarId, GroupId, VeventId};
use crate::domain::state::command::BookingDraws;
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::Refusals;
use crate::domain::time::Instant;
use crate::engine::calendar::{self, CalendarMessage};
use crate::engine::journal::{EntryEffect, JournalEntry, JournalHandle, PendingReply};
use crate::engine::mailbox::{Mailbox, Transport};
use crate::engine::messages::{GroupMessage, SupervisorMessage};
use crate::engine::published::Published;
use crate::engine::randomness::Randomness;
use crate::engine::write::{Committed, Envelope, Rejection, WriteResult};
use crate::store::codec;
use crate::store::{Record, Stream};

/// What a group's actor starts from.
pub(crate) struct GroupParts {
    pub(crate) group_state: Arc<GroupState>,
    pub(crate) ids: BTreeMap<IdKind, VecDeque<std::ops::Range<u64>>>,
    pub(crate) published: Arc<Published>,
    pub(crate) journal: JournalHandle,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) randomness: Randomness,
    pub(crate) transport: Transport,
    pub(crate) supervisor: Mailbox<SupervisorMessage>,
}

struct GroupActor;

/// What the actor owns.
struct GroupActorState {
    id: GroupId,
    /// The newest state: every command is decided on it. Never older than the published one.
    group_state: Arc<GroupState>,
    /// Commands that wait for their turn.
    queue: VecDeque<Envelope>,
    /// The command that waits for a calendar's word; at most one.
    open: Option<Open>,
    /// Questions asked so far, so that a dead calendar's late word is not taken for another's.
    questions: u64,
    /// Commands received so far.
    received: u64,
    /// Calendars that have been asked something.
    calendars: BTreeMap<CalendarId, (ActorRef<CalendarMessage>, Mailbox<CalendarMessage>)>,
    /// Ids that nobody has been given yet, ascending.
    ids: BTreeMap<IdKind, VecDeque<std::ops::Range<u64>>>,
    /// Kinds for which more ids have been asked.
    requested_kinds: Vec<IdKind>,
    own_mailbox: Mailbox<GroupMessage>,
    cell: ActorCell,
    published: Arc<Published>,
    journal: JournalHandle,
    clock: Arc<dyn Clock>,
    randomness: Randomness,
    transport: Transport,
    supervisor: Mailbox<SupervisorMessage>,
}

/// A command between two questions.
struct Open {
    envelope: Envelope,
    /// The moment the command is decided at, read once.
    now: Instant,
    matter: Matter,
}

/// What is being asked about.
enum Matter {
    /// A booking, with the candidates still to be asked.
    Booking { opening: Box<Opening>, draws: BookingDraws },
    /// A professional's change of the agenda.
    Placing(Placing),
}

impl Actor for GroupActor {
    type Msg = GroupMessage;
    type State = GroupActorState;
    type Arguments = GroupParts;

    async fn pre_start(
        &self,
        myself: ActorRef<GroupMessage>,
        parts: GroupParts,
    ) -> Result<GroupActorState, ActorProcessingErr> {
        Ok(GroupActorState {
            id: parts.group_state.catalogue.group.id,
            group_state: parts.group_state,
            queue: VecDeque::new(),
            open: None,
            questions: 0,
            received: 0,
            calendars: BTreeMap::new(),
            ids: parts.ids,
            requested_kinds: Vec::new(),
            own_mailbox: parts.transport.link(myself.clone()),
            cell: myself.get_cell(),
            published: parts.published,
            journal: parts.journal,
            clock: parts.clock,
            randomness: parts.randomness,
            transport: parts.transport,
            supervisor: parts.supervisor,
        })
    }

    async fn handle(
        &self,
        _: ActorRef<GroupMessage>,
        message: GroupMessage,
        state: &mut GroupActorState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            GroupMessage::Command(envelope) => state.enqueue_command(envelope),
            GroupMessage::Word(word) => state.hear(word),
            GroupMessage::IdsGranted(kind, range) => state.add_ids(kind, range),
            GroupMessage::CheckIdle(sent) => state.report_if_idle(sent),
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        _: ActorRef<GroupMessage>,
        event: SupervisionEvent,
        state: &mut GroupActorState,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorFailed(who, _)
            | SupervisionEvent::ActorTerminated(who, _, _) => {
                state.calendar_died(&who);
            }
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => {}
        }
        Ok(())
    }
}

/// Starts a group's actor under the supervisor.
pub(crate) fn start(
    parts: GroupParts,
    parent: ActorCell,
) -> (ActorRef<GroupMessage>, Mailbox<GroupMessage>) {
    let transport = parts.transport.clone();
    let (actor, _joining) =
        ractor::ActorRuntime::spawn_linked_instant(None, GroupActor, parts, parent)
            .expect("an actor without a name is always started");
    let link = transport.link(actor.clone());
    (actor, link)
}

impl GroupActorState {
    fn enqueue_command(&mut self, envelope: Envelope) {
        self.received += 1;
        self.queue.push_back(envelope);
        self.advance();
    }

    /// Decides what waits, until a calendar has to be asked or ids have to come.
    fn advance(&mut self) {
        while self.open.is_none() {
            let Some(next) = self.queue.front() else { return };
            if !self.has_ids(ids::needed_kinds(&next.command)) {
                return;
            }
            let Some(mut envelope) = self.queue.pop_front() else { return };
            envelope.timing.record_decision_start();
            if tokio::time::Instant::now() >= envelope.deadline {
                envelope.send_answer(Err(Rejection::DecisionTimeout));
                continue;
            }
            let now = self.clock.now();
            self.decide(envelope, now);
        }
    }

    /// Makes a decided event the newest state and hands it to the journal, which answers.
    fn commit(
        &mut self,
        envelope: Envelope,
        decided: Result<(Event, Arc<GroupState>), Panicked>,
        (object, appointments): (u64, Vec<VeventId>),
        now: Instant,
    ) {
        // An event that cannot be applied or written never reaches the disk: the old group_state stands.
        let prepared = decided.map_err(Rejection::from).and_then(|(event, group_state)| {
            let done = Committed {
                before: Arc::clone(&self.group_state),
                group_state,
                object,
                appointments,
                answer: None,
            };
            let (event, done) = idempotency::record_answer(&envelope, event, done, now)?;
            Ok((guarded(|| codec::encode(&event))?, done))
        });
        let (bytes, done) = match prepared {
            Ok(prepared) => prepared,
            Err(rejection) => return envelope.send_answer(Err(rejection)),
        };
        envelope.timing.record_decision();
        let next = Arc::clone(&done.group_state);
        for (id, view) in &next.calendars {
            let changed =
                !self.group_state.calendars.get(id).is_some_and(|before| Arc::ptr_eq(before, view));
            if changed && let Some((_, link)) = self.calendars.get(id) {
                link.send(CalendarMessage::Hold(
                    Arc::clone(view),
                    Arc::clone(&next.catalogue),
                    now,
                ));
            }
        }
        let record = Record::new(Stream::Group(self.id), 0, next.sequence, bytes);
        self.group_state = Arc::clone(&next);
        self.remove_used_ids();
        self.journal.append(JournalEntry {
            record: Some(record),
            effect: EntryEffect::PublishGroup(self.id, next),
            reply: Some(PendingReply::to_caller(envelope.reply, Ok(done), envelope.permit)),
        });
    }

    fn refuse(&self, envelope: Envelope, refusals: Refusals) {
        self.answer_when_durable(envelope, Err(Rejection::Refused(refusals)));
    }

    /// IdempotencyRecords at once where everything the decision saw is durable, else behind it in the journal.
    fn answer_when_durable(&self, envelope: Envelope, answer: WriteResult) {
        let durable = self
            .published
            .group_state(self.id)
            .is_some_and(|group_state| group_state.sequence >= self.group_state.sequence);
        let reply = PendingReply::to_caller(envelope.reply, answer, envelope.permit);
        if durable {
            reply.send();
        } else {
            self.journal.append(JournalEntry {
                record: None,
                effect: EntryEffect::None,
                reply: Some(reply),
            });
        }
    }

    fn calendar(&mut self, id: CalendarId) -> Mailbox<CalendarMessage> {
        if let Some((_, link)) = self.calendars.get(&id) {
            return link.clone();
        }
        let view = Arc::clone(
            self.group_state.calendars.get(&id).expect("a candidate is a calendar of the group"),
        );
        let started =
            calendar::start(view, self.own_mailbox.clone(), &self.transport, self.cell.clone());
        let link = started.1.clone();
        self.calendars.insert(id, started);
        link
    }

    /// A calendar that died is started anew with its next question; the command that asked it gets a 500.
    fn calendar_died(&mut self, who: &ActorCell) {
        let dead = self
            .calendars
            .iter()
            .find(|(_, (actor, _))| actor.get_id() == who.get_id())
            .map(|(id, _)| *id);
        let Some(dead) = dead else { return };
        self.calendars.remove(&dead);
        tracing::error!(group = %self.id, calendar = %dead, "a calendar's actor died and will be started anew");
        self.questions += 1;
        if let Some(open) = self.open.take() {
            open.envelope.send_answer(Err(Rejection::InternalError));
        }
        self.advance();
    }

    fn report_if_idle(&self, sent: u64) {
        let durable = self
            .published
            .group_state(self.id)
            .is_some_and(|group_state| group_state.sequence == self.group_state.sequence);
        if self.received == sent && self.open.is_none() && self.queue.is_empty() && durable {
            self.supervisor
                .send(SupervisorMessage::GroupIsIdle { group: self.id, received: self.received });
        }
    }
}

/// A decision panicked: a bug, whose caller alone pays.
struct Panicked;

impl From<Panicked> for Rejection {
    fn from(Panicked: Panicked) -> Self {
        Self::InternalError
    }
}

/// Runs a part of the core on states it cannot have changed when it panics.
fn guarded<T>(decide: impl FnOnce() -> T) -> Result<T, Panicked> {
    std::panic::catch_unwind(AssertUnwindSafe(decide)).map_err(|_| Panicked)
}
