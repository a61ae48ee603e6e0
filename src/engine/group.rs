//! A group's actor: the only writer of the group's history. It decides one command at a time, in
//! order of arrival, on the newest state, durable or not. Invariants 1, 4, 6, 7, 9.

mod decisions;
pub(crate) mod environment;
mod idempotency;
mod open_entry;

use std::collections::{BTreeMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use imbl::OrdMap;
use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, SupervisionEvent};
use smallvec::smallvec;

use crate::clock::Clock;
use crate::domain::availability::open_time::CalendarView;
use crate::domain::decisions::announcement::{apply_with_messages, book_with_messages};
use crate::domain::decisions::decision::{Outcome, Pending};
use crate::domain::directory::id_blocks::IdKind;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::hold::HoldState;
use crate::domain::records::ids::{CalendarId, GroupId};
use crate::domain::records::message::Progress;
use crate::domain::state::changed_records::ChangedRecords;
use crate::domain::state::event::Event;
use crate::domain::state::group_record::GroupRecord;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;
use crate::engine::calendar::CalendarLink;
use crate::engine::group::open_entry::{OpenBooking, OpenEntry};
use crate::engine::journal::{EntryEffect, JournalEntry, JournalHandle, PendingReply};
use crate::engine::mailbox::{Mailbox, Transport};
use crate::engine::messages::{GroupMessage, SupervisorMessage};
use crate::engine::published::Published;
use crate::engine::randomness::Randomness;
use crate::engine::steady_clock::SteadyClock;
use crate::engine::write::{Committed, Envelope, Rejection, WriteResult};
use crate::planted_faults::PlantedFault;
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

/// Maximum number of commands that are decided before other tasks have their turn. It bounds the
/// bookings of an entry too.
const TURN_COMMANDS_MAX: usize = 64;
/// Maximum number of calendars that are asked without a message in a turn.
const TURN_QUERIES_MAX: usize = 64;

/// The views of all calendars of a state.
type CalendarViews = OrdMap<CalendarId, Arc<CalendarView>>;

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
    /// The bookings that the newest state has and the journal has not. There are none at the end of
    /// a turn.
    open_entry: Option<OpenEntry>,
    /// Number of queries sent as messages. A reply with another number is late and is ignored.
    queries: u64,
    /// Number of calendars that were asked in this turn.
    asked: usize,
    /// Number of commands received.
    received: u64,
    /// Actors of the calendars that have been queried.
    calendars: BTreeMap<CalendarId, CalendarLink>,
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
            open_entry: None,
            queries: 0,
            asked: 0,
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

    /// Decides waiting commands until one waits for a calendar's reply or for ids, or the turn is
    /// long. Then hands their bookings to the journal.
    fn advance(&mut self) {
        self.asked = 0;
        self.decide_waiting();
        self.close_entry();
    }

    fn decide_waiting(&mut self) {
        let mut decided = 0;
        while self.waiting.is_none() {
            let Some(next) = self.queue.front() else { return };
            if decided >= TURN_COMMANDS_MAX {
                return self.own_mailbox.send(GroupMessage::Decide);
            }
            decided += 1;
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
        if self.joins_bookings(&envelope, &event) {
            return self.commit_booking(envelope, event, outcome, now);
        }
        self.close_entry();
        let loses_claim = PlantedFault::ClaimNotRecorded.is_active() && is_claim(&event);
        // An event that cannot be applied or encoded never reaches the disk; the state stays.
        let prepared = guarded(|| self.prepare_commit(&envelope, event, outcome, now));
        let PreparedCommit { committed, record, changed_calendars, changed_records } =
            match prepared {
                Ok(prepared) => prepared,
                Err(rejection) => return self.answer_when_durable(envelope, Err(rejection)),
            };
        if loses_claim {
            return envelope.send_answer(Ok(committed));
        }
        envelope.accept();
        let next = Arc::clone(&committed.group_state);
        let before = std::mem::replace(&mut self.group_state, Arc::clone(&next));
        self.update_views(Some(&before.calendars), changed_calendars, now);
        self.remove_used_ids();
        self.publish_early(&changed_records);
        let reply = PendingReply::to_caller(envelope.reply, Ok(committed), envelope.permit);
        self.journal.append(JournalEntry {
            records: smallvec![record],
            effect: EntryEffect::PublishGroup(self.id, next, changed_records),
            replies: smallvec![reply],
        });
    }

    /// Whether an event can share an entry with other bookings: it is a booking that changes no
    /// record of a client, so that no answer shows more than its own, and its answer is not kept.
    fn joins_bookings(&self, envelope: &Envelope, event: &Event) -> bool {
        let Event::AppointmentsBooked { fiche, .. } = event else { return false };
        let is_known = |fiche: &Fiche| self.group_state.fiches.contains_key(&fiche.id);
        let changes_client = fiche.as_deref().is_some_and(is_known);
        envelope.idempotent_request.is_none()
            && (!changes_client || PlantedFault::LaterClientShown.is_active())
    }

    /// Commits a booking as [`GroupActorState::commit`] does, with those decided in the same turn.
    fn commit_booking(
        &mut self,
        mut envelope: Envelope,
        event: Event,
        outcome: Outcome,
        now: Instant,
    ) {
        let entry =
            self.open_entry.get_or_insert_with(|| OpenEntry::new(Arc::clone(&self.group_state)));
        let changed_calendars = self.group_state.calendars_changed_by(&event);
        // The views are compared in tests only: a second reader of the map costs copies of it.
        let is_compared = cfg!(debug_assertions) || PlantedFault::ViewOneBehind.is_active();
        let before = is_compared.then(|| self.group_state.calendars.clone());
        let newest = &mut self.group_state;
        let prepared = guarded(|| {
            let state = Arc::make_mut(newest);
            let author = envelope.author;
            let event = book_with_messages(state, Some(author), &envelope.command, event, now);
            let event = GroupRecord::new(author, event);
            let record = self.journal.encode(Stream::Group(self.id), state.sequence, &event);
            Ok((event, record))
        });
        let (event, record) = match prepared {
            Ok(prepared) => prepared,
            Err(rejection) => {
                // It may be half applied.
                self.group_state = entry.replay();
                return self.answer_when_durable(envelope, Err(rejection));
            }
        };
        envelope.accept();
        let Envelope { reply, permit, .. } = envelope;
        entry.add_booking(OpenBooking { event, record, outcome, reply, permit });
        self.update_views(before.as_ref(), changed_calendars, now);
        self.remove_used_ids();
    }

    /// Hands the bookings of this turn to the journal, which answers their callers.
    fn close_entry(&mut self) {
        let Some(entry) = self.open_entry.take() else { return };
        self.publish_early(entry.changed());
        self.journal.append(entry.close(&self.group_state));
    }

    fn publish_early(&self, changed: &ChangedRecords) {
        if PlantedFault::ViewBeforeDurable.is_active() {
            let early = (Arc::clone(&self.group_state), changed.clone());
            self.published.publish_groups(BTreeMap::from([(self.id, early)]));
        }
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
        let sequence = group_state.sequence;
        let committed = Committed { group_state, sequence, hold, awaits_code, ..unchanged };
        let changed_calendars = self.group_state.calendars_changed_by(&event);
        let changed_records = ChangedRecords::by_event(&event);
        let (event, committed) = self.record_answer(envelope, event, committed)?;
        let event = GroupRecord::new(envelope.author, event);
        let sequence = committed.group_state.sequence;
        let record = self.journal.encode(Stream::Group(self.id), sequence, &event);
        Ok(PreparedCommit { committed, record, changed_calendars, changed_records })
    }

    /// Sends their newest views to the calendars that an event changed: `changed`, or any if
    /// `None`. Those that are the same as `before` stay.
    fn update_views(
        &self,
        before: Option<&CalendarViews>,
        changed: Option<Vec<CalendarId>>,
        now: Instant,
    ) {
        // The cost is that of the calendars touched, not of all that the group has.
        let candidates = match changed {
            Some(changed) => changed,
            None => self.calendars.keys().copied().collect(),
        };
        let next = &self.group_state;
        let is_same = |id: &CalendarId| {
            let views = before.and_then(|before| before.get(id)).zip(next.calendars.get(id));
            views.map(|(before, view)| Arc::ptr_eq(before, view))
        };
        debug_assert!(self.calendars.keys().all(|id| {
            // A refused batch leaves the actor of a calendar that it would have made.
            candidates.contains(id) || is_same(id).unwrap_or(true)
        }));
        for id in candidates {
            let (Some(view), Some(calendar)) = (next.calendars.get(&id), self.calendars.get(&id))
            else {
                continue;
            };
            if is_same(&id) == Some(true) {
                continue;
            }
            let view = match before.and_then(|before| before.get(&id)) {
                Some(before) if PlantedFault::ViewOneBehind.is_active() => before,
                _ => view,
            };
            calendar.update_view(Arc::clone(view), &next.catalogue, now);
        }
    }

    /// Answers at once if the newest state is durable, else after it in the journal.
    fn answer_when_durable(&mut self, envelope: Envelope, answer: WriteResult) {
        let reply = PendingReply::to_caller(envelope.reply, answer, envelope.permit);
        if PlantedFault::RefusalBeforeDurable.is_active() {
            reply.send();
        } else if let Some(entry) = &mut self.open_entry {
            entry.add_reply(reply);
        } else if self.newest_is_durable() {
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

    /// Returns a calendar's actor, and starts it with this view for the first query.
    fn calendar(&mut self, id: CalendarId, view: Arc<CalendarView>) -> &CalendarLink {
        self.calendars.entry(id).or_insert_with(|| {
            let group = self.own_mailbox.clone();
            CalendarLink::start(view, group, &self.transport, self.cell.clone())
        })
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

    fn find_calendar(&self, who: &ActorCell) -> Option<CalendarId> {
        let mut calendars = self.calendars.iter();
        calendars.find(|(_, calendar)| calendar.is(who)).map(|(id, _)| *id)
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
    record: JournalRecord,
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
