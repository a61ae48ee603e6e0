//! A calendar's actor: it alone checks whether the calendar's time is free. Invariant 2.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef};

use crate::domain::availability::bookable::bookable;
use crate::domain::availability::catalogue::Catalogue;
use crate::domain::availability::open_time::CalendarView;
use crate::domain::availability::slot_request::SlotRequest;
use crate::domain::time::Instant;
use crate::engine::mailbox::{Mailbox, Transport};
use crate::engine::messages::{GroupMessage, SlotReply};

/// Messages to a calendar's actor.
#[derive(Debug)]
pub(crate) enum CalendarMessage {
    /// Checks whether a start can be booked.
    Ask(SlotQuery),
    /// Replaces the calendar's view.
    UpdateView(Arc<CalendarView>, Arc<Catalogue>, Instant),
}

/// A query whether one start can be booked.
#[derive(Debug)]
pub(crate) struct SlotQuery {
    /// Number of the query, which its reply repeats.
    pub(crate) number: u64,
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
    /// Appointments and open time of the calendar, expanded for the days ahead. Always the view of
    /// the group's newest state.
    view: Arc<CalendarView>,
    /// The calendar's group, which sends all queries.
    group: Mailbox<GroupMessage>,
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
            CalendarMessage::Ask(query) => state.reply(&query),
            CalendarMessage::UpdateView(view, catalogue, now) => {
                state.update_view(view, &catalogue, now);
            }
        }
        Ok(())
    }
}

impl CalendarActorState {
    fn reply(&self, query: &SlotQuery) {
        let SlotQuery { number, catalogue, view_ahead, request, now } = query;
        let view = view_ahead.as_ref().unwrap_or(&self.view);
        let verdict =
            std::panic::catch_unwind(AssertUnwindSafe(|| bookable(catalogue, view, request, *now)));
        let reply = SlotReply { number: *number, verdict: verdict.map_err(drop) };
        self.group.send(GroupMessage::SlotReply(reply));
    }

    /// Replaces the view, and expands its rules before a reader has to.
    fn update_view(&mut self, view: Arc<CalendarView>, catalogue: &Catalogue, now: Instant) {
        view.prepare_open_time(catalogue.zone(), now);
        self.view = view;
    }
}

/// Starts a calendar's actor, supervised by its group.
pub(crate) fn start(
    view: Arc<CalendarView>,
    group: Mailbox<GroupMessage>,
    transport: &Transport,
    parent: ActorCell,
) -> (ActorRef<CalendarMessage>, Mailbox<CalendarMessage>) {
    let state = CalendarActorState { view, group };
    let (actor, _joining) =
        ractor::ActorRuntime::spawn_linked_instant(None, CalendarActor, state, parent)
            .expect("an actor without a name is always started");
    let link = transport.link(actor.clone());
    (actor, link)
}
