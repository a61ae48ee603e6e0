//! A group's turn: each command decided, with a question to a calendar where it takes somebody's time.

use std::sync::Arc;

use crate::domain::booking::book::{BookingStep, PendingBooking, prepare_booking};
use crate::domain::booking::cancellation::{self, Cancellation};
use crate::domain::booking::manual_change::prepare_manual_change;
use crate::domain::booking::obstacle::Obstacle;
use crate::domain::booking::slot_request::CalendarSlotRequest;
use crate::domain::identity::directory::IdKind;
use crate::domain::identity::enrolment;
use crate::domain::messaging::announcement;
use crate::domain::messaging::delivery;
use crate::domain::messaging::outbox::Message;
use crate::domain::records::ids::{FicheId, VeventId};
use crate::domain::records::record_change;
use crate::domain::state::command::{
    AskLink, BookAppointment, CancelAppointment, Command, FollowLink, LinkWish, PutVevent,
    RecordChange,
};
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::Refusals;
use crate::domain::state::upkeep;
use crate::domain::time::Instant;
use crate::engine::calendar::{self, SlotQuery, SlotReply};
use crate::engine::group::{Panicked, PendingCommand, PendingDecision, State, guarded};
use crate::engine::{Done, Envelope, Rejection};

impl State {
    /// Decides a command, or asks the first calendar.
    pub(super) fn decide(&mut self, mut envelope: Envelope, now: Instant) {
        if let Some(answer) = self.answered_before(&envelope, now) {
            return self.answer_when_durable(envelope, answer);
        }
        while let Command::Quietly(inner) = envelope.command {
            envelope.command = *inner;
            envelope.quiet = true;
        }
        match envelope.command.clone() {
            Command::BookAppointment(command) => self.open_booking(envelope, &command, now),
            Command::CancelAppointment(command) => self.cancel(envelope, &command, now),
            Command::PutVevent(command) => self.open_manual_change(envelope, &command, now),
            Command::ChangeRecord(change) => self.change_record(envelope, &change, now),
            Command::Deliver(step) => {
                let decided = guarded(|| Ok(delivery::decide(&self.group_state, &step, now)));
                self.settle(envelope, decided, (0, Vec::new()), now);
            }
            Command::Quietly(_) => unreachable!("it has been taken out"),
            Command::AskLink(command) => self.ask_link(envelope, &command, now),
            Command::FollowLink(command) => self.follow_link(envelope, &command, now),
            Command::RemoveDeleted { ids, before } => {
                let decided = guarded(|| Ok(upkeep::remove(&self.group_state, &ids, before, now)));
                self.settle(envelope, decided, (self.id.number(), Vec::new()), now);
            }
        }
    }

    fn open_booking(&mut self, envelope: Envelope, command: &BookAppointment, now: Instant) {
        let draws = self.draw_booking(command.intervention_ids.len());
        match guarded(|| prepare_booking(&self.group_state, command, draws, now)) {
            Err(Panicked) => envelope.answer(Err(Rejection::Failed)),
            Ok(Err(refusals)) => self.refuse(envelope, refusals),
            Ok(Ok(pending)) => self.ask_candidate(envelope, pending, now),
        }
    }

    /// Asks the calendar whose turn it is in a booking.
    fn ask_candidate(&mut self, envelope: Envelope, pending: Box<PendingBooking>, now: Instant) {
        let slot = pending.query().clone();
        let decision = PendingDecision::Booking(pending);
        self.ask(slot, PendingCommand { envelope, now, decision });
    }

    /// Puts the one question to the one calendar that can answer it.
    fn ask(&mut self, slot: CalendarSlotRequest, pending: PendingCommand) {
        self.questions += 1;
        let query = SlotQuery {
            number: self.questions,
            catalogue: Arc::clone(&self.group_state.catalogue),
            request: slot.request,
            now: pending.now,
        };
        self.pending = Some(pending);
        self.calendar(slot.calendar_id).send(calendar::Message::Ask(query));
    }

    pub(super) fn on_reply(&mut self, reply: SlotReply) {
        if reply.number != self.questions {
            return;
        }
        let Some(PendingCommand { envelope, now, decision }) = self.pending.take() else { return };
        match (reply.verdict, decision) {
            (Err(()), _) => envelope.answer(Err(Rejection::Failed)),
            (Ok(verdict), PendingDecision::Booking(pending)) => {
                self.continue_booking(envelope, pending, verdict, now);
            }
            (Ok(verdict), PendingDecision::ManualChange(pending)) => {
                let about = (pending.id().number(), Vec::new());
                let decided = guarded(|| pending.on_reply(verdict).map(Some));
                self.settle(envelope, decided, about, now);
            }
        }
        self.advance();
    }

    fn continue_booking(
        &mut self,
        envelope: Envelope,
        pending: Box<PendingBooking>,
        verdict: Result<(), Vec<Obstacle>>,
        now: Instant,
    ) {
        let Command::BookAppointment(command) = &envelope.command else { return };
        let legs = pending.vevent_ids();
        let first = legs.first().map_or(0, |id| id.number());
        let decided = match guarded(|| pending.on_reply(verdict, &self.group_state, command, now)) {
            Err(Panicked) => Err(Panicked),
            Ok(BookingStep::Ask(next)) => return self.ask_candidate(envelope, next, now),
            Ok(BookingStep::Booked(event)) => Ok(Ok(Some(event))),
            Ok(BookingStep::Refused(refusals)) => Ok(Err(refusals)),
        };
        self.settle(envelope, decided, (first, legs), now);
    }

    fn cancel(&mut self, envelope: Envelope, command: &CancelAppointment, now: Instant) {
        let decided = guarded(|| match cancellation::decide(&self.group_state, command, now) {
            Err(refusal) => Err(vec![refusal]),
            Ok(Cancellation::AlreadyCancelled) => Ok(None),
            Ok(Cancellation::Cancelled(event)) => Ok(Some(event)),
        });
        self.settle(envelope, decided, (command.id.number(), vec![command.id]), now);
    }

    fn open_manual_change(&mut self, envelope: Envelope, command: &PutVevent, now: Instant) {
        let draws = self.draw_vevent();
        let id = match command {
            PutVevent::Make(_) => draws.id,
            PutVevent::Change(id, _) | PutVevent::Delete(id) => *id,
        };
        match guarded(|| prepare_manual_change(&self.group_state, command, &draws, now)) {
            Ok(Ok(Some(pending))) => match pending.slot().cloned() {
                Some(slot) => self.ask(
                    slot,
                    PendingCommand {
                        envelope,
                        now,
                        decision: PendingDecision::ManualChange(pending),
                    },
                ),
                None => {
                    let decided = Ok(Ok(Some(pending.into_event())));
                    self.settle(envelope, decided, (id.number(), Vec::new()), now);
                }
            },
            Ok(Ok(None)) => self.settle(envelope, Ok(Ok(None)), (id.number(), Vec::new()), now),
            Ok(Err(refusals)) => self.refuse(envelope, refusals),
            Err(Panicked) => envelope.answer(Err(Rejection::Failed)),
        }
    }

    fn change_record(&mut self, envelope: Envelope, change: &RecordChange, now: Instant) {
        let new_id = record_change::kind(change).map(|kind| self.next_id(kind));
        let decided =
            guarded(|| record_change::decide(&self.group_state, change, new_id.unwrap_or(0), now));
        let object = record_change::id(change).or(new_id).unwrap_or(self.id.number());
        self.settle(envelope, decided, (object, Vec::new()), now);
    }

    fn ask_link(&mut self, envelope: Envelope, command: &AskLink, now: Instant) {
        let draws = self.draws.link(self.id);
        let decided = guarded(|| enrolment::ask(&self.group_state, command, &draws, now).map(Some));
        let object = match &command.wish {
            LinkWish::Account { .. } => None,
            LinkWish::Email { put, .. } => put.id.map(FicheId::number),
        };
        self.settle(envelope, decided, (object.unwrap_or(self.id.number()), Vec::new()), now);
    }

    fn follow_link(&mut self, envelope: Envelope, command: &FollowLink, now: Instant) {
        let new_fiche = FicheId::new(self.next_id(IdKind::Fiche)).expect("granted ids are ids");
        let decided =
            guarded(|| enrolment::follow(&self.group_state, command, new_fiche, now).map(Some));
        self.settle(envelope, decided, (self.id.number(), Vec::new()), now);
    }

    /// Carries out what was decided about one object at once: an event, nothing to do, or a refusal.
    fn settle(
        &mut self,
        envelope: Envelope,
        decided: Result<Result<Option<Event>, Refusals>, Panicked>,
        about: (u64, Vec<VeventId>),
        now: Instant,
    ) {
        match decided {
            Err(Panicked) => envelope.answer(Err(Rejection::Failed)),
            Ok(Err(refusals)) => self.refuse(envelope, refusals),
            Ok(Ok(None)) => {
                let (before, group_state) =
                    (Arc::clone(&self.group_state), Arc::clone(&self.group_state));
                let (object, appointments) = about;
                self.answer_when_durable(
                    envelope,
                    Ok(Done { before, group_state, object, appointments, answer: None }),
                );
            }
            Ok(Ok(Some(event))) => {
                let decided = self.applied(&envelope, now, |_| event);
                self.commit(envelope, decided, about, now);
            }
        }
    }

    /// An event with the state it makes, and with the messages it causes unless the command asks for none.
    fn applied(
        &self,
        envelope: &Envelope,
        now: Instant,
        decide: impl FnOnce(&GroupState) -> Event,
    ) -> Result<(Event, Arc<GroupState>), Panicked> {
        guarded(|| {
            let event = decide(&self.group_state);
            let mut next = self.group_state.apply(&event);
            let quiet = envelope.quiet;
            let mut messages = if quiet {
                Vec::new()
            } else {
                announcement::messages(&self.group_state, &next, &event, now)
            };
            if envelope.command.is_by_key() {
                messages = messages.into_iter().map(Message::caused_by_key).collect();
            }
            messages.iter().for_each(|message| next.enqueue(message));
            (event.announced_by(messages), Arc::new(next))
        })
    }
}
