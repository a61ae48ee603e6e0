//! Decisions of a group: one method for each command. A command that takes time of a calendar
//! queries it first.

use std::sync::Arc;

use crate::domain::availability::obstacle::Obstacle;
use crate::domain::availability::slot_request::CalendarSlotRequest;
use crate::domain::decisions::announcement;
use crate::domain::decisions::appointment_move::prepare_move;
use crate::domain::decisions::book::{BookingStep, PendingBooking, prepare_booking};
use crate::domain::decisions::cancellation::{self, Cancellation};
use crate::domain::decisions::confirmation::{
    ConfirmationStep, PendingConfirmation, count_legs, prepare_confirmation,
};
use crate::domain::decisions::delivery;
use crate::domain::decisions::enrolment;
use crate::domain::decisions::hold::{HoldStep, PendingHold, decide_release, prepare_hold};
use crate::domain::decisions::manual_change::prepare_manual_change;
use crate::domain::decisions::record_change;
use crate::domain::decisions::upkeep;
use crate::domain::directory::id_blocks::IdKind;
use crate::domain::records::ids::{FicheId, VeventId};
use crate::domain::records::message::Message;
use crate::domain::state::command::{
    CancelAppointment, Command, ConfirmBooking, FollowLink, HoldTime, LinkRequest, MoveAppointment,
    PutVevent, RecordChange, RequestLink,
};
use crate::domain::state::delivery_step::DeliveryStep;
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::Refusals;
use crate::domain::time::Instant;
use crate::engine::calendar::{CalendarMessage, SlotQuery};
use crate::engine::group::{GroupActorState, Panicked, PendingCommand, PendingDecision, guarded};
use crate::engine::messages::SlotReply;
use crate::engine::write::{Committed, Envelope, Rejection};
use crate::planted_faults::PlantedFault;

impl GroupActorState {
    /// Decides a command, or queries the first calendar.
    pub(crate) fn decide(&mut self, mut envelope: Envelope, now: Instant) {
        if let Some(answer) = self.find_recorded_answer(&envelope) {
            return self.answer_when_durable(envelope, answer);
        }
        while let Command::Quietly(inner) = envelope.command {
            envelope.command = *inner;
            envelope.suppress_messages = true;
        }
        // Bookings are most of all writes, so their command is not copied.
        if let Command::BookAppointment(command) = &envelope.command {
            let draws = self.draw_booking(command.intervention_ids.len());
            let published = if PlantedFault::BookingsInFlightIgnored.is_active() {
                self.published.group_state(self.id)
            } else {
                None
            };
            let group_state = published.as_deref().unwrap_or(&self.group_state);
            let prepared = guarded(|| prepare_booking(group_state, command, draws, now));
            return self.start_booking(envelope, prepared, now);
        }
        match envelope.command.clone() {
            Command::BookAppointment(_) => unreachable!("a booking is decided above"),
            Command::CancelAppointment(command) => self.cancel(envelope, &command, now),
            Command::PutVevent(command) => self.start_manual_change(envelope, &command, now),
            Command::ChangeRecord(change) => self.change_record(envelope, &change, now),
            Command::Deliver(step) => self.deliver(envelope, &step, now),
            Command::Quietly(_) => unreachable!("the loop above has removed it"),
            Command::RequestLink(command) => self.ask_link(envelope, &command, now),
            Command::FollowLink(command) => self.follow_link(envelope, &command, now),
            Command::ConfirmBooking(command) => self.start_confirmation(envelope, &command, now),
            Command::MoveAppointment(command) => self.start_move(envelope, &command, now),
            Command::HoldTime(command) => self.start_hold(envelope, &command, now),
            Command::ReleaseHold(id) => {
                let decided = guarded(|| match decide_release(&self.group_state, id, now) {
                    Ok(event) => Ok(Some(event)),
                    Err(refusal) => Err(vec![refusal]),
                });
                self.settle(envelope, decided, (self.id.number(), Vec::new()), now);
            }
            Command::RemoveDeleted { ids, before } => {
                let decided =
                    guarded(|| Ok(upkeep::remove_deleted(&self.group_state, &ids, before, now)));
                self.settle(envelope, decided, (self.id.number(), Vec::new()), now);
            }
            Command::EmptyCancelled { before } => {
                let decided =
                    guarded(|| Ok(upkeep::empty_cancelled(&self.group_state, before, now)));
                self.settle(envelope, decided, (self.id.number(), Vec::new()), now);
            }
        }
    }

    fn deliver(&mut self, envelope: Envelope, step: &DeliveryStep, now: Instant) {
        let late = self.steady_clock.late_policy();
        let decided = guarded(|| Ok(delivery::decide(&self.group_state, step, late, now)));
        if let (Ok(Ok(Some(event))), DeliveryStep::Claim { .. }) = (&decided, step)
            && PlantedFault::ClaimNotRecorded.is_active()
        {
            let before = Arc::clone(&self.group_state);
            let group_state = Arc::new(before.apply(event));
            let (object, appointments, answer) = (0, Vec::new(), None);
            return envelope.send_answer(Ok(Committed {
                before,
                group_state,
                object,
                appointments,
                hold: None,
                awaits_code: false,
                answer,
            }));
        }
        self.settle(envelope, decided, (0, Vec::new()), now);
    }

    /// Queries the first candidate of a booking, or refuses it.
    fn start_booking(
        &mut self,
        envelope: Envelope,
        prepared: Result<Result<Box<PendingBooking>, Refusals>, Panicked>,
        now: Instant,
    ) {
        if let Some((envelope, pending)) = self.accept(envelope, prepared) {
            self.ask_candidate(envelope, pending, now);
        }
    }

    /// Returns what was prepared for a command; `None` if the command was refused.
    fn accept<T>(
        &mut self,
        envelope: Envelope,
        prepared: Result<Result<T, Refusals>, Panicked>,
    ) -> Option<(Envelope, T)> {
        match prepared {
            Err(Panicked) => envelope.send_answer(Err(Rejection::InternalError)),
            Ok(Err(refusals)) => self.refuse(envelope, refusals),
            Ok(Ok(accepted)) => return Some((envelope, accepted)),
        }
        None
    }

    /// Queries the calendar whose turn it is in a booking.
    fn ask_candidate(&mut self, envelope: Envelope, pending: Box<PendingBooking>, now: Instant) {
        let slot = pending.query().clone();
        let decision = PendingDecision::Booking(pending);
        self.ask(slot, PendingCommand { envelope, now, decision });
    }

    /// Sends a query to the one calendar that can answer it.
    fn ask(&mut self, slot: CalendarSlotRequest, pending: PendingCommand) {
        self.queries += 1;
        let query = SlotQuery {
            number: self.queries,
            catalogue: Arc::clone(&self.group_state.catalogue),
            request: slot.request,
            now: pending.now,
        };
        self.pending = Some(pending);
        self.calendar(slot.calendar_id).send(CalendarMessage::Ask(query));
    }

    /// Continues the command that waits for a calendar's reply. A reply to an earlier query is
    /// ignored: its calendar died, and its command was answered.
    pub(crate) fn on_reply(&mut self, reply: SlotReply) {
        if reply.number != self.queries {
            return;
        }
        let Some(PendingCommand { envelope, now, decision }) = self.pending.take() else { return };
        match (reply.verdict, decision) {
            (Err(()), _) => envelope.send_answer(Err(Rejection::InternalError)),
            (Ok(verdict), PendingDecision::Booking(pending)) => {
                self.continue_booking(envelope, pending, verdict, now);
            }
            (Ok(verdict), PendingDecision::Confirmation(pending)) => {
                self.finish_confirmation(envelope, *pending, verdict, now);
            }
            (Ok(verdict), PendingDecision::Hold(pending)) => {
                self.continue_hold(envelope, pending, verdict, now);
            }
            (Ok(verdict), PendingDecision::Move(pending)) => {
                let about = (pending.id().number(), vec![pending.id()]);
                let decided = guarded(|| pending.on_reply(verdict).map(Some));
                self.settle(envelope, decided, about, now);
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

    fn start_confirmation(&mut self, envelope: Envelope, command: &ConfirmBooking, now: Instant) {
        let draws = self.draw_booking(count_legs(&self.group_state, command));
        let step = guarded(|| prepare_confirmation(&self.group_state, command, draws, now));
        let Some((envelope, step)) = self.accept(envelope, step) else { return };
        match step {
            ConfirmationStep::Ask(pending) => {
                let slot = pending.query().clone();
                let decision = PendingDecision::Confirmation(pending);
                self.ask(slot, PendingCommand { envelope, now, decision });
            }
            ConfirmationStep::Refused(event) => {
                let about = (self.id.number(), Vec::new());
                self.settle(envelope, Ok(Ok(Some(event))), about, now);
            }
            ConfirmationStep::Repeated(appointments) => {
                let first = appointments.first().map_or(0, |id| id.number());
                self.settle(envelope, Ok(Ok(None)), (first, appointments), now);
            }
        }
    }

    fn finish_confirmation(
        &mut self,
        envelope: Envelope,
        pending: PendingConfirmation,
        verdict: Result<(), Vec<Obstacle>>,
        now: Instant,
    ) {
        let legs = pending.vevent_ids();
        let first = legs.first().map_or(0, |id| id.number());
        let decided = guarded(|| pending.on_reply(verdict, &self.group_state, now).map(Some));
        self.settle(envelope, decided, (first, legs), now);
    }

    fn start_hold(&mut self, envelope: Envelope, command: &HoldTime, now: Instant) {
        let draws = self.randomness.hold();
        let prepared = guarded(|| prepare_hold(&self.group_state, command, draws, now));
        if let Some((envelope, pending)) = self.accept(envelope, prepared) {
            self.ask_for_hold(envelope, pending, now);
        }
    }

    /// Queries the calendar whose turn it is for a hold.
    fn ask_for_hold(&mut self, envelope: Envelope, pending: Box<PendingHold>, now: Instant) {
        let slot = pending.query().clone();
        let decision = PendingDecision::Hold(pending);
        self.ask(slot, PendingCommand { envelope, now, decision });
    }

    fn continue_hold(
        &mut self,
        envelope: Envelope,
        pending: Box<PendingHold>,
        verdict: Result<(), Vec<Obstacle>>,
        now: Instant,
    ) {
        let decided = match guarded(|| pending.on_reply(verdict, &self.group_state, now)) {
            Err(Panicked) => Err(Panicked),
            Ok(HoldStep::Ask(next)) => return self.ask_for_hold(envelope, next, now),
            Ok(HoldStep::Held(event)) => Ok(Ok(Some(event))),
            Ok(HoldStep::Refused(refusals)) => Ok(Err(refusals)),
        };
        self.settle(envelope, decided, (self.id.number(), Vec::new()), now);
    }

    fn cancel(&mut self, envelope: Envelope, command: &CancelAppointment, now: Instant) {
        let decided = guarded(|| match cancellation::decide(&self.group_state, command, now) {
            Err(refusal) => Err(vec![refusal]),
            Ok(Cancellation::AlreadyCancelled) => Ok(None),
            Ok(Cancellation::Cancelled(event)) => Ok(Some(event)),
        });
        self.settle(envelope, decided, (command.id.number(), vec![command.id]), now);
    }

    fn start_move(&mut self, envelope: Envelope, command: &MoveAppointment, now: Instant) {
        let prepared = guarded(|| prepare_move(&self.group_state, command, now));
        let Some((envelope, prepared)) = self.accept(envelope, prepared) else { return };
        match prepared {
            None => {
                let about = (command.id.number(), vec![command.id]);
                self.settle(envelope, Ok(Ok(None)), about, now);
            }
            Some(pending) => {
                let slot = pending.slot().clone();
                let decision = PendingDecision::Move(pending);
                self.ask(slot, PendingCommand { envelope, now, decision });
            }
        }
    }

    fn start_manual_change(&mut self, envelope: Envelope, command: &PutVevent, now: Instant) {
        let draws = self.draw_vevent();
        let id = match command {
            PutVevent::Make(_) => draws.id,
            PutVevent::Change(id, _) | PutVevent::Delete(id) => *id,
        };
        let pending =
            match guarded(|| prepare_manual_change(&self.group_state, command, &draws, now)) {
                Err(Panicked) => return envelope.send_answer(Err(Rejection::InternalError)),
                Ok(Err(refusals)) => return self.refuse(envelope, refusals),
                Ok(Ok(pending)) => pending,
            };
        let Some(pending) = pending else {
            return self.settle(envelope, Ok(Ok(None)), (id.number(), Vec::new()), now);
        };
        match pending.slot().cloned() {
            Some(slot) => {
                let decision = PendingDecision::ManualChange(pending);
                self.ask(slot, PendingCommand { envelope, now, decision });
            }
            // It takes no time that it did not have: no calendar has to be queried.
            None => {
                let decided = Ok(Ok(Some(pending.into_event())));
                self.settle(envelope, decided, (id.number(), Vec::new()), now);
            }
        }
    }

    fn change_record(&mut self, envelope: Envelope, change: &RecordChange, now: Instant) {
        let new_id = record_change::new_id_kind(change).map(|kind| self.next_id(kind));
        let decided =
            guarded(|| record_change::decide(&self.group_state, change, new_id.unwrap_or(0), now));
        let object = record_change::existing_id(change).or(new_id).unwrap_or(self.id.number());
        self.settle(envelope, decided, (object, Vec::new()), now);
    }

    fn ask_link(&mut self, envelope: Envelope, command: &RequestLink, now: Instant) {
        let draws = self.randomness.link(self.id);
        let decided = guarded(|| {
            enrolment::decide_request(&self.group_state, command, &draws, now).map(Some)
        });
        let object = match &command.request {
            LinkRequest::Account { .. } => None,
            LinkRequest::Email { put, .. } => put.id.map(FicheId::number),
        };
        self.settle(envelope, decided, (object.unwrap_or(self.id.number()), Vec::new()), now);
    }

    fn follow_link(&mut self, envelope: Envelope, command: &FollowLink, now: Instant) {
        let new_fiche = FicheId::new(self.next_id(IdKind::Fiche)).expect("granted ids are ids");
        let steady_now = self.steady_clock.now();
        let decided = guarded(|| {
            enrolment::decide_follow(&self.group_state, command, new_fiche, now, steady_now)
                .map(Some)
        });
        self.settle(envelope, decided, (self.id.number(), Vec::new()), now);
    }

    /// Carries out a decision that needs no calendar: an event, no change, or a refusal.
    fn settle(
        &mut self,
        envelope: Envelope,
        decided: Result<Result<Option<Event>, Refusals>, Panicked>,
        about: (u64, Vec<VeventId>),
        now: Instant,
    ) {
        match decided {
            Err(Panicked) => envelope.send_answer(Err(Rejection::InternalError)),
            Ok(Err(refusals)) => self.refuse(envelope, refusals),
            Ok(Ok(None)) => {
                let (before, group_state) =
                    (Arc::clone(&self.group_state), Arc::clone(&self.group_state));
                let (object, appointments) = about;
                self.answer_when_durable(
                    envelope,
                    Ok(Committed {
                        before,
                        group_state,
                        object,
                        appointments,
                        hold: None,
                        awaits_code: false,
                        answer: None,
                    }),
                );
            }
            Ok(Ok(Some(event))) => {
                let decided = self.apply_event(&envelope, event, now);
                self.commit(envelope, decided, about, now);
            }
        }
    }

    /// Returns an event with its messages, and the state after it. A quiet command causes no
    /// messages.
    fn apply_event(
        &self,
        envelope: &Envelope,
        event: Event,
        now: Instant,
    ) -> Result<(Event, Arc<GroupState>), Panicked> {
        guarded(|| {
            let mut next = self.group_state.apply(&event);
            let mut messages = if envelope.suppress_messages {
                Vec::new()
            } else {
                announcement::draft_messages(&self.group_state, &next, &event, now)
            };
            if envelope.command.is_by_key() {
                messages = messages.into_iter().map(Message::caused_by_key).collect();
            }
            // A change comes without another message, so that numbers stay without gaps.
            if messages.len() == 1
                && let Some(message) = messages.pop()
            {
                messages.push(self.group_state.outbox.replace_unsent_change(message));
            }
            for message in &messages {
                next.enqueue(message);
            }
            (event.announced_by(messages), Arc::new(next))
        })
    }
}
