//! A calendar's actor: it alone checks whether the calendar's time is free. Invariant 2.
//!
//! Its group, which sends all queries, asks an actor at rest without a message. The answer is that
//! which a message would bring, without a wait for the scheduler of tasks.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use parking_lot::Mutex;
use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef};

use crate::domain::availability::bookable::bookable;
use crate::domain::availability::catalogue::Catalogue;
use crate::domain::availability::open_time::CalendarView;
use crate::domain::availability::slot_request::SlotRequest;
use crate::domain::time::Instant;
use crate::engine::mailbox::{Mailbox, Transport};
use crate::engine::messages::{Checked, GroupMessage, SlotReply};
use crate::planted_faults::PlantedFault;

/// Messages to a calendar's actor.
#[derive(Debug)]
enum CalendarMessage {
    /// Checks whether a start can be booked. The reply repeats the number.
    Ask(u64, SlotQuery),
    /// Replaces the calendar's view.
    UpdateView(Arc<CalendarView>, Arc<Catalogue>, Instant),
}

/// A query whether one start can be booked.
#[derive(Debug)]
pub(crate) struct SlotQuery {
    pub(crate) catalogue: Arc<Catalogue>,
    /// The view after changes of the same batch, which are not decided yet; `None` for the
    /// calendar's own.
    pub(crate) view_ahead: Option<Arc<CalendarView>>,
    pub(crate) request: SlotRequest,
    pub(crate) now: Instant,
}

struct CalendarActor;

/// State of the actor.
struct CalendarActorState {
    time: Arc<Mutex<CalendarTime>>,
    /// The calendar's group, which sends all queries.
    group: Mailbox<GroupMessage>,
}

/// The time of a calendar, which is asked and changed by its actor, or for it while it is at rest.
#[derive(Debug)]
struct CalendarTime {
    /// Appointments and open time of the calendar, expanded for the days ahead. With no message
    /// under way, the view of the group's newest state.
    view: Arc<CalendarView>,
    /// Number of messages that the actor has not carried out.
    under_way: usize,
}

impl CalendarTime {
    fn check(&self, query: &SlotQuery) -> Checked {
        let SlotQuery { catalogue, view_ahead, request, now } = query;
        let view = view_ahead.as_ref().unwrap_or(&self.view);
        let verdict =
            std::panic::catch_unwind(AssertUnwindSafe(|| bookable(catalogue, view, request, *now)));
        verdict.map_err(drop)
    }
}

impl Actor for CalendarActor {
    type Msg = CalendarMessage;
    type State = CalendarActorState;
    type Arguments = CalendarActorState;

    async fn pre_start(
        &self,
        _: ActorRef<CalendarMessage>,
        state: CalendarActorState,
    ) -> Result<CalendarActorState, ActorProcessingErr> {
        Ok(state)
    }

    async fn handle(
        &self,
        _: ActorRef<CalendarMessage>,
        message: CalendarMessage,
        state: &mut CalendarActorState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            CalendarMessage::Ask(number, query) => state.reply(number, &query),
            CalendarMessage::UpdateView(view, catalogue, now) => {
                state.update_view(view, &catalogue, now);
            }
        }
        Ok(())
    }
}

impl CalendarActorState {
    fn reply(&self, number: u64, query: &SlotQuery) {
        let verdict = {
            let mut time = self.time.lock();
            time.under_way -= 1;
            time.check(query)
        };
        self.group.send(GroupMessage::SlotReply(SlotReply { number, verdict }));
    }

    /// Replaces the view, and expands its rules before a reader has to.
    fn update_view(&self, view: Arc<CalendarView>, catalogue: &Catalogue, now: Instant) {
        view.prepare_open_time(catalogue.zone(), now);
        let mut time = self.time.lock();
        time.under_way -= 1;
        time.view = view;
    }
}

/// The way of a group to the actor of one of its calendars.
#[derive(Debug)]
pub(crate) struct CalendarLink {
    actor: ActorCell,
    mailbox: Mailbox<CalendarMessage>,
    time: Arc<Mutex<CalendarTime>>,
}

impl CalendarLink {
    /// Starts a calendar's actor, supervised by its group.
    pub(crate) fn start(
        view: Arc<CalendarView>,
        group: Mailbox<GroupMessage>,
        transport: &Transport,
        parent: ActorCell,
    ) -> Self {
        let time = Arc::new(Mutex::new(CalendarTime { view, under_way: 0 }));
        let state = CalendarActorState { time: Arc::clone(&time), group };
        let (actor, _joining) =
            ractor::ActorRuntime::spawn_linked_instant(None, CalendarActor, state, parent)
                .expect("an actor without a name is always started");
        Self { actor: actor.get_cell(), mailbox: transport.link(actor), time }
    }

    /// Whether an actor is this calendar's.
    pub(crate) fn is(&self, who: &ActorCell) -> bool {
        self.actor.get_id() == who.get_id()
    }

    /// Whether the actor has carried out all messages, and others would arrive at once.
    fn is_at_rest(&self, time: &CalendarTime) -> bool {
        time.under_way == 0 && self.mailbox.is_direct()
    }

    /// Asks a calendar at rest. `None` if messages to it are under way, or take their time.
    pub(crate) fn ask_at_rest(&self, query: &SlotQuery) -> Option<Checked> {
        let time = self.time.lock();
        if self.is_at_rest(&time) || PlantedFault::BusyCalendarAsked.is_active() {
            Some(time.check(query))
        } else {
            None
        }
    }

    /// Sends a query, whose reply comes as a message with its number.
    pub(crate) fn ask(&self, number: u64, query: SlotQuery) {
        self.send(CalendarMessage::Ask(number, query));
    }

    /// Replaces the calendar's view by that of a newer state.
    pub(crate) fn update_view(
        &self,
        view: Arc<CalendarView>,
        catalogue: &Arc<Catalogue>,
        now: Instant,
    ) {
        let mut time = self.time.lock();
        if self.is_at_rest(&time) && view.is_prepared(now) {
            time.view = view;
            return;
        }
        drop(time);
        self.send(CalendarMessage::UpdateView(view, Arc::clone(catalogue), now));
    }

    fn send(&self, message: CalendarMessage) {
        self.time.lock().under_way += 1;
        self.mailbox.send(message);
    }
}
