//! Decisions of a group: one method for each command. A command that takes time of a calendar
//! queries it first.

use std::sync::Arc;

use crate::domain::booking::book::{self, Opening};
use crate::domain::booking::bookable::Obstacle;
use crate::domain::booking::cancellation::{self, Cancellation};
use crate::domain::booking::manual_change::{self, Placing, Room};
use crate::domain::identity::directory::IdKind;
use crate::domain::identity::enrolment;
use crate::domain::messaging::announcement;
use crate::domain::messaging::delivery;
use crate::domain::messaging::outbox::Message;
use crate::domain::records::ids::{CalendarId, FicheId, VeventId};
use crate::domain::records::record_change;
use crate::domain::state::command::{
    AskLink, BookAppointment, BookingDraws, CancelAppointment, Command, FollowLink, LinkWish,
    PutVevent, RecordChange,
};
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::Refusals;
use crate::domain::state::upkeep;
use crate::domain::time::Instant;
use crate::engine::calendar::{CalendarMessage, Question};
use crate::engine::group::{GroupActorState, Matter, Open, Panicked, guarded};
use crate::engine::messages::Word;
use crate::engine::write::{Committed, Envelope, Rejection};

impl GroupActorState {
    /// Decides a command, or queries the first calendar.
    pub(crate) fn decide(&mut self, mut envelope: Envelope, now: Instant) {
        if let Some(answer) = self.find_recorded_answer(&envelope, now) {
            return self.answer_when_durable(envelope, answer);
        }
        while let Command::Quietly(inner) = envelope.command {
            envelope.command = *inner;
            envelope.suppress_messages = true;
        }
        match envelope.command.clone() {
            Command::BookAppointment(command) => self.open_booking(envelope, &command, now),
            Command::CancelAppointment(command) => self.cancel(envelope, &command, now),
            Command::PutVevent(command) => self.open_placing(envelope, &command, now),
            Command::ChangeRecord(change) => self.change_record(envelope, &change, now),
            Command::Deliver(step) => {
                let decided = guarded(|| Ok(delivery::decide(&self.group_state, &step, now)));
                self.settle(envelope, decided, (0, Vec::new()), now);
            }
            Command::Quietly(_) => unreachable!("the loop above has removed it"),
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
        match guarded(|| book::open(&self.group_state, command, &draws, now)) {
            Err(Panicked) => envelope.send_answer(Err(Rejection::InternalError)),
            Ok(Err(refusals)) => self.refuse(envelope, refusals),
            Ok(Ok(opening)) => {
                let opening = Box::new(opening);
                self.ask_next(envelope, now, opening, draws, Vec::new());
            }
        }
    }

    /// Queries the next candidate of a booking. Without one left, refuses with the obstacles of the
    /// last.
    fn ask_next(
        &mut self,
        envelope: Envelope,
        now: Instant,
        mut opening: Box<Opening>,
        draws: BookingDraws,
        obstacles: Vec<Obstacle>,
    ) {
        let Some(calendar) = opening.next_candidate() else {
            let refusals = opening.not_available(obstacles);
            return self.refuse(envelope, refusals);
        };
        let room = Room {
            calendar,
            chain: opening.chain.clone(),
            start: opening.start,
            channel: opening.channel,
        };
        self.ask(room, Open { envelope, now, matter: Matter::Booking { opening, draws } });
    }

    /// Sends a query to a calendar.
    fn ask(&mut self, room: Room, open: Open) {
        self.questions += 1;
        let question = Question {
            number: self.questions,
            catalogue: Arc::clone(&self.group_state.catalogue),
            chain: room.chain,
            start: room.start,
            now: open.now,
            channel: room.channel,
        };
        self.open = Some(open);
        self.calendar(room.calendar).send(CalendarMessage::Ask(question));
    }

    pub(crate) fn hear(&mut self, word: Word) {
        if word.number != self.questions {
            return;
        }
        let Some(Open { envelope, now, matter }) = self.open.take() else { return };
        match (word.verdict, matter) {
            (Err(()), _) => envelope.send_answer(Err(Rejection::InternalError)),
            (Ok(Err(obstacles)), Matter::Booking { opening, draws }) => {
                self.ask_next(envelope, now, opening, draws, obstacles);
            }
            (Ok(Err(obstacles)), Matter::Placing(_)) => {
                self.refuse(envelope, manual_change::not_available(obstacles))
            }
            (Ok(Ok(())), Matter::Booking { opening, draws }) => {
                self.book(envelope, *opening, &draws, word.calendar, now);
            }
            (Ok(Ok(())), Matter::Placing(placing)) => self.place(envelope, placing, now),
        }
        self.advance();
    }

    fn book(
        &mut self,
        envelope: Envelope,
        opening: Opening,
        draws: &BookingDraws,
        calendar: CalendarId,
        now: Instant,
    ) {
        let Command::BookAppointment(command) = &envelope.command else { return };
        let decided = self.applied(&envelope, now, |group_state| {
            opening.booked_on(calendar, group_state, command, draws, now)
        });
        let legs: Vec<VeventId> = draws.legs.iter().map(|(id, _)| *id).collect();
        let first = legs.first().map_or(0, |id| id.number());
        self.commit(envelope, decided, (first, legs), now);
    }

    fn cancel(&mut self, envelope: Envelope, command: &CancelAppointment, now: Instant) {
        let decided = guarded(|| match cancellation::decide(&self.group_state, command, now) {
            Err(refusal) => Err(vec![refusal]),
            Ok(Cancellation::AlreadyCancelled) => Ok(None),
            Ok(Cancellation::Cancelled(event)) => Ok(Some(event)),
        });
        self.settle(envelope, decided, (command.id.number(), vec![command.id]), now);
    }

    fn open_placing(&mut self, envelope: Envelope, command: &PutVevent, now: Instant) {
        let draws = self.draw_vevent();
        let id = match command {
            PutVevent::Make(_) => draws.id,
            PutVevent::Change(id, _) | PutVevent::Delete(id) => *id,
        };
        match guarded(|| manual_change::open(&self.group_state, command, &draws, now)) {
            Ok(Ok(Some(placing))) => match placing.room.clone() {
                Some(room) => {
                    self.ask(room, Open { envelope, now, matter: Matter::Placing(placing) })
                }
                None => self.place(envelope, placing, now),
            },
            Ok(Ok(None)) => self.settle(envelope, Ok(Ok(None)), (id.number(), Vec::new()), now),
            Ok(Err(refusals)) => self.refuse(envelope, refusals),
            Err(Panicked) => envelope.send_answer(Err(Rejection::InternalError)),
        }
    }

    fn place(&mut self, envelope: Envelope, placing: Placing, now: Instant) {
        let id = placing.id().number();
        let decided = self.applied(&envelope, now, |_| placing.placed());
        self.commit(envelope, decided, (id, Vec::new()), now);
    }

    fn change_record(&mut self, envelope: Envelope, change: &RecordChange, now: Instant) {
        let new_id = record_change::kind(change).map(|kind| self.next_id(kind));
        let decided =
            guarded(|| record_change::decide(&self.group_state, change, new_id.unwrap_or(0), now));
        let object = record_change::id(change).or(new_id).unwrap_or(self.id.number());
        self.settle(envelope, decided, (object, Vec::new()), now);
    }

    fn ask_link(&mut self, envelope: Envelope, command: &AskLink, now: Instant) {
        let draws = self.randomness.link(self.id);
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
                    Ok(Committed { before, group_state, object, appointments, answer: None }),
                );
            }
            Ok(Ok(Some(event))) => {
                let decided = self.applied(&envelope, now, |_| event);
                self.commit(envelope, decided, about, now);
            }
        }
    }

    /// Returns an event with its messages, and the state after it. A quiet command causes no
    /// messages.
    fn applied(
        &self,
        envelope: &Envelope,
        now: Instant,
        decide: impl FnOnce(&GroupState) -> Event,
    ) -> Result<(Event, Arc<GroupState>), Panicked> {
        guarded(|| {
            let event = decide(&self.group_state);
            let mut next = self.group_state.apply(&event);
            let mut messages = if envelope.suppress_messages {
                Vec::new()
            } else {
                announcement::messages(&self.group_state, &next, &event, now)
            };
            if envelope.command.is_by_key() {
                messages = messages.into_iter().map(Message::caused_by_key).collect();
            }
            for message in &messages {
                next.enqueue(message);
            }
            (event.announced_by(messages), Arc::new(next))
        })
    }
}
