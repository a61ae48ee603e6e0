//! A calendar's actor: the only one to say whether its time is free. Invariant 2.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef};

use crate::domain::booking::bookable::bookable;
use crate::domain::booking::obstacle::Obstacle;
use crate::domain::booking::open_time::CalendarView;
use crate::domain::booking::slot_request::SlotRequest;
use crate::domain::records::catalogue::Catalogue;
use crate::domain::time::Instant;
use crate::engine::group;
use crate::engine::mailbox::{Mailbox, Transport};

/// What the group says to its calendar.
#[derive(Debug)]
pub(super) enum Message {
    /// May this start be given away?
    Ask(SlotQuery),
    /// From now on the calendar is this.
    UpdateView(Arc<CalendarView>, Arc<Catalogue>, Instant),
}

/// One start, asked for by a booking.
#[derive(Debug)]
pub(super) struct SlotQuery {
    /// Tells this question's answer from any other's.
    pub(super) number: u64,
    pub(super) catalogue: Arc<Catalogue>,
    pub(super) request: SlotRequest,
    pub(super) now: Instant,
}

/// The calendar's word.
#[derive(Debug)]
pub(super) struct SlotReply {
    pub(super) number: u64,
    /// `Err` where the question could not be decided: a bug of ours.
    pub(super) verdict: Result<Result<(), Vec<Obstacle>>, ()>,
}

struct Calendar;

/// What the actor owns.
struct State {
    /// Its time: who has which hour, and when it is open, expanded for the days ahead.
    view: Arc<CalendarView>,
    /// The only one who asks.
    group: Mailbox<group::Message>,
}

impl Actor for Calendar {
    type Msg = Message;
    type State = State;
    type Arguments = State;

    async fn pre_start(
        &self,
        _: ActorRef<Message>,
        state: State,
    ) -> Result<State, ActorProcessingErr> {
        Ok(state)
    }

    async fn handle(
        &self,
        _: ActorRef<Message>,
        message: Message,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            Message::Ask(query) => state.answer(&query),
            Message::UpdateView(view, catalogue, now) => state.update_view(view, &catalogue, now),
        }
        Ok(())
    }
}

impl State {
    fn answer(&self, query: &SlotQuery) {
        let SlotQuery { number, catalogue, request, now } = query;
        let verdict = std::panic::catch_unwind(AssertUnwindSafe(|| {
            bookable(catalogue, &self.view, request, *now)
        }));
        self.group.send(group::Message::SlotReply(SlotReply {
            number: *number,
            verdict: verdict.map_err(drop),
        }));
    }

    /// Takes the next view, and expands its rules before a reader has to.
    fn update_view(&mut self, view: Arc<CalendarView>, catalogue: &Catalogue, now: Instant) {
        view.prepare_open_time(catalogue.zone(), now);
        self.view = view;
    }
}

/// Starts the actor of a calendar under its group.
pub(super) fn start(
    view: Arc<CalendarView>,
    group: Mailbox<group::Message>,
    transport: &Transport,
    parent: ActorCell,
) -> (ActorRef<Message>, Mailbox<Message>) {
    let state = State { view, group };
    let (actor, _joining) =
        ractor::ActorRuntime::spawn_linked_instant(None, Calendar, state, parent)
            .expect("an actor without a name is always started");
    let link = transport.link(actor.clone());
    (actor, link)
}
