//! A group's actor: the only writer of the group's history. It decides one command at a time, in
//! order of arrival, on the newest state, durable or not. Invariants 1, 4, 6, 7, 9.

mod decisions;
pub(crate) mod environment;
mod idempotency;

use std::collections::{BTreeMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, SupervisionEvent};
use smallvec::smallvec;

use crate::clock::Clock;
use crate::domain::availability::open_time::CalendarView;
use crate::domain::decisions::announcement::apply_with_messages;
use crate::domain::decisions::decision::{Outcome, Pending};
use crate::domain::directory::id_blocks::IdKind;
use crate::domain::records::hold::HoldState;
use crate::domain::records::ids::{CalendarId, GroupId};
use crate::domain::records::message::Progress;
use crate::domain::state::changed_records::ChangedRecords;
use crate::domain::state::event::Event;
use crate::domain::state::group_record::GroupRecord;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;
use crate::engine::calendar::{self, CalendarMessage};
use crate::engine::journal::{EntryEffect, JournalEntry, JournalHandle, PendingReply};
use crate::engine::mailbox::{Mailbox, Transport};
use crate::engine::messages::{GroupMessage, SupervisorMessage};
use crate::engine::published::Published;
use crate::engine::randomness::Randomness;
use crate::engine::steady_clock::SteadyClock;
use crate::engine::write::{Committed, Envelope, Rejection, WriteResult};
use crate::planted_faults::PlantedFault;
use crate::store::codec;
use crate::store::{JournalRecord, Stream};

/// The resources that a group's actor starts from.
pub(crate) struct GroupParts {
    pub(crate) group_state: Arc<GroupState>,
    pub(crate) ids: BTreeMap<IdKind, VecDeque<std::ops::Range<u64>>>,
    pub(crate) published: Arc<Published>,
    pub(crate) journal: JournalHandle,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) steady_clock: Arc<SteadyClock>,
    pub(crate) randomness: Randomness,
    pub(crate) transport: Transport,
    pub(crate) supervisor: Mailbox<SupervisorMessage>,
}

struct GroupActor;

/// State of the actor.
struct GroupActorState {
    id: GroupId,
    /// The newest state, on which every command is decided. Never older than the published one.
    group_state: Arc<GroupState>,
    /// Commands that wait to be decided, in order of arrival.
    queue: VecDeque<Envelope>,
    /// The command that waits for a calendar's reply. While it is set, no other is decided.
    waiting: Option<WaitingCommand>,
    /// Number of queries sent. A reply with another number is late and is ignored.
    queries: u64,
    /// Number of commands received.
    received: u64,
    /// Actors of the calendars that have been queried.
    calendars: BTreeMap<CalendarId, (ActorRef<CalendarMessage>, Mailbox<CalendarMessage>)>,
    /// Granted ids that the newest state has not used, ascending.
    ids: BTreeMap<IdKind, VecDeque<std::ops::Range<u64>>>,
    /// Kinds of ids that were requested and not granted yet.
    requested_kinds: Vec<IdKind>,
    own_mailbox: Mailbox<GroupMessage>,
    cell: ActorCell,
    published: Arc<Published>,
    journal: JournalHandle,
    clock: Arc<dyn Clock>,
    /// The time by which idempotency records and account links expire.
    steady_clock: Arc<SteadyClock>,
    randomness: Randomness,
    transport: Transport,
    supervisor: Mailbox<SupervisorMessage>,
}

/// A command that waits for a calendar's reply.
struct WaitingCommand {
    envelope: Envelope,
    /// Time of the decision, read once per command.
    now: Instant,
    pending: Pending,
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
            waiting: None,
            queries: 0,
            received: 0,
            calendars: BTreeMap::new(),
            ids: parts.ids,
            requested_kinds: Vec::new(),
            own_mailbox: parts.transport.link(myself.clone()),
            cell: myself.get_cell(),
            published: parts.published,
            journal: parts.journal,
            clock: parts.clock,
            steady_clock: parts.steady_clock,
            randomness: parts.randomness,
            transport: parts.transport,
            supervisor: parts.supervisor,
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<GroupMessage>,
        message: GroupMessage,
        state: &mut GroupActorState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            GroupMessage::Command(envelope) => state.receive_command(envelope, &myself).await,
            GroupMessage::Decide => state.advance(),
            GroupMessage::SlotReply(reply) => state.on_reply(reply),
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
                state.on_calendar_died(&who);
            }
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => {}
        }
        Ok(())
    }
}

/// Starts a group's actor, supervised by the supervisor.
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
    /// Returns whether no command is being decided or waits to be.
    fn is_at_rest(&self) -> bool {
        self.waiting.is_none() && self.queue.is_empty()
    }

    /// Takes a command. A group at rest decides it after the requests that are ready to be read.
    ///
    /// The runtime runs a task right after the one that woke it: a group between any two requests,
    /// each time with its code gone from the processor's cache (docs/benchmarks.md). The order of
    /// commands stays. A busy worker of the runtime goes on after 61 other tasks at the latest.
    async fn receive_command(&mut self, envelope: Envelope, myself: &ActorRef<GroupMessage>) {
        let was_at_rest = self.is_at_rest();
        self.received += 1;
        self.queue.push_back(envelope);
        if was_at_rest {
            tokio::task::yield_now().await;
            // It comes after the commands that have arrived meanwhile, so that one pause serves
            // all of them. An actor that has ended decides nothing.
            drop(myself.send_message(GroupMessage::Decide));
        }
    }

    /// Decides waiting commands until one waits for a calendar's reply, or for ids.
    fn advance(&mut self) {
        while self.waiting.is_none() {
            let Some(next) = self.queue.front() else { return };
            let kinds = next.command.needed_ids();
            let needed = next.command.ids_max();
            if !self.has_ids(&kinds, needed) {
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

    /// Makes an event's outcome the newest state, and hands the event to the journal, which answers
    /// the caller.
    fn commit(&mut self, mut envelope: Envelope, event: Event, outcome: Outcome, now: Instant) {
        let loses_claim = PlantedFault::ClaimNotRecorded.is_active() && is_claim(&event);
        // An event that cannot be applied or encoded never reaches the disk; the state stays.
        let prepared = guarded(|| self.prepare_commit(&envelope, event, outcome, now));
        let PreparedCommit { committed, bytes, changed_calendars, changed_records } = match prepared
        {
            Ok(prepared) => prepared,
            Err(rejection) => return self.answer_when_durable(envelope, Err(rejection)),
        };
        if loses_claim {
            return envelope.send_answer(Ok(committed));
        }
        envelope.timing.record_decision();
        if let Some(hook) = envelope.on_acceptance.take() {
            hook.call();
        }
        let next = Arc::clone(&committed.group_state);
        self.update_views(&next, changed_calendars, now);
        let record = JournalRecord::new(Stream::Group(self.id), 0, next.sequence, bytes);
        self.group_state = Arc::clone(&next);
        self.remove_used_ids();
        if PlantedFault::ViewBeforeDurable.is_active() {
            let early = (Arc::clone(&next), changed_records.clone());
            self.published.publish_groups(BTreeMap::from([(self.id, early)]));
        }
        self.journal.append(JournalEntry {
            records: smallvec![record],
            effect: EntryEffect::PublishGroup(self.id, next, changed_records),
            reply: Some(PendingReply::to_caller(envelope.reply, Ok(committed), envelope.permit)),
        });
    }

    /// Applies and encodes an event, with its messages and the recorded answer.
    fn prepare_commit(
        &self,
        envelope: &Envelope,
        event: Event,
        outcome: Outcome,
        now: Instant,
    ) -> Result<PreparedCommit, Rejection> {
        let author = Some(envelope.author);
        let (event, group_state) =
            apply_with_messages(&self.group_state, author, &envelope.command, event, now);
        let group_state = Arc::new(group_state);
        let hold = event.made_hold();
        let awaits_code = match hold.and_then(|id| group_state.holds().get(id)) {
            Some(hold) => matches!(hold.state, HoldState::Unconfirmed(_)),
            None => false,
        };
        let unchanged = Committed::unchanged(&self.group_state, outcome);
        let committed = Committed { group_state, hold, awaits_code, ..unchanged };
        let changed_calendars = self.group_state.calendars_changed_by(&event);
        let changed_records = ChangedRecords::by_event(&event);
        let (event, committed) = self.record_answer(envelope, event, committed)?;
        let bytes = codec::encode(&GroupRecord::new(envelope.author, event));
        Ok(PreparedCommit { committed, bytes, changed_calendars, changed_records })
    }

    /// Sends the next views to the calendars that an event changed: `changed`, or any if `None`.
    fn update_views(&self, next: &GroupState, changed: Option<Vec<CalendarId>>, now: Instant) {
        // The cost is that of the calendars touched, not of all that the group has.
        let candidates = match changed {
            Some(changed) => changed,
            None => self.calendars.keys().copied().collect(),
        };
        debug_assert!(self.calendars.keys().all(|id| {
            let is_same = |(a, b)| Arc::ptr_eq(a, b);
            let views = self.group_state.calendars.get(id).zip(next.calendars.get(id));
            // A refused batch leaves the actor of a calendar that it would have made.
            candidates.contains(id) || views.is_none_or(is_same)
        }));
        for id in candidates {
            let (Some(view), Some((_, link))) = (next.calendars.get(&id), self.calendars.get(&id))
            else {
                continue;
            };
            let before = self.group_state.calendars.get(&id);
            if !before.is_some_and(|before| Arc::ptr_eq(before, view)) {
                let view = match before {
                    Some(before) if PlantedFault::ViewOneBehind.is_active() => before,
                    _ => view,
                };
                let catalogue = Arc::clone(&next.catalogue);
                link.send(CalendarMessage::UpdateView(Arc::clone(view), catalogue, now));
            }
        }
    }

    /// Answers at once if the newest state is durable, else after it in the journal.
    fn answer_when_durable(&self, envelope: Envelope, answer: WriteResult) {
        let reply = PendingReply::to_caller(envelope.reply, answer, envelope.permit);
        if self.newest_is_durable() || PlantedFault::RefusalBeforeDurable.is_active() {
            reply.send();
        } else {
            self.journal.append(JournalEntry::reply(reply));
        }
    }

    /// Returns whether the newest state is published, and therefore durable.
    fn newest_is_durable(&self) -> bool {
        match self.published.group_state(self.id) {
            Some(published) => published.sequence >= self.group_state.sequence,
            None => false,
        }
    }

    /// Returns a calendar's mailbox, and starts its actor with this view for the first query.
    fn calendar(&mut self, id: CalendarId, view: Arc<CalendarView>) -> Mailbox<CalendarMessage> {
        if let Some((_, link)) = self.calendars.get(&id) {
            return link.clone();
        }
        let started =
            calendar::start(view, self.own_mailbox.clone(), &self.transport, self.cell.clone());
        let link = started.1.clone();
        self.calendars.insert(id, started);
        link
    }

    /// Forgets a dead calendar, which restarts with its next query. The waiting command gets a 500.
    fn on_calendar_died(&mut self, who: &ActorCell) {
        let Some(dead) = self.find_calendar(who) else { return };
        self.calendars.remove(&dead);
        tracing::error!(group = %self.id, calendar = %dead, "a calendar's actor died; it restarts with its next query");
        self.queries += 1;
        if let Some(waiting) = self.waiting.take() {
            waiting.envelope.send_answer(Err(Rejection::InternalError));
        }
        self.advance();
    }

    fn find_calendar(&self, cell: &ActorCell) -> Option<CalendarId> {
        for (id, (actor, _)) in &self.calendars {
            if actor.get_id() == cell.get_id() {
                return Some(*id);
            }
        }
        None
    }

    /// Tells the supervisor that the group is idle, if it is and has received all commands sent.
    fn report_if_idle(&self, sent: u64) {
        if self.received == sent && self.is_at_rest() && self.newest_is_durable() {
            self.supervisor
                .send(SupervisorMessage::GroupIsIdle { group: self.id, received: self.received });
        }
    }
}

/// An event that is ready for the journal.
struct PreparedCommit {
    committed: Committed,
    /// The event and its author as the journal stores them.
    bytes: Vec<u8>,
    /// Calendars that the event changed; `None` for any.
    changed_calendars: Option<Vec<CalendarId>>,
    changed_records: ChangedRecords,
}

/// Whether an event is the claim of an attempt at a message.
fn is_claim(event: &Event) -> bool {
    if let Event::Announced { event, .. } = event {
        return is_claim(event);
    }
    let Event::MessagePut { message, .. } = event else { return false };
    matches!(message.progress, Progress::Claimed { .. })
}

/// Runs a part of the core on immutable states, which a panic leaves unchanged. A panic is a bug,
/// and only its caller is affected.
fn guarded<T>(decide: impl FnOnce() -> Result<T, Rejection>) -> Result<T, Rejection> {
    std::panic::catch_unwind(AssertUnwindSafe(decide)).unwrap_or(Err(Rejection::InternalError))
}
