//! A group's turn: each command decided, with a question to a calendar where it takes somebody's time.

use std::sync::Arc;

use crate::domain::booking::book::{self, Opening};
use crate::domain::booking::bookable::Obstacle;
use crate::domain::booking::cancellation::{self, Cancellation};
use crate::domain::booking::manual_change::{self, Placing, Room};
use crate::domain::identity::directory::IdKind;
use crate::domain::identity::enrolment;
use crate::domain::messaging::announcement;
use crate::domain::messaging::delivery;
use crate::domain::messaging::message::Message;
use crate::domain::records::ids::{CalendarId, FicheId, VeventId};
use crate::domain::records::record_change;
use crate::domain::state::command::{
    BookAppointment, BookingDraws, CancelAppointment, Command, FollowLink, LinkRequest, PutVevent,
    RecordChange, RequestLink,
};
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::Refusals;
use crate::domain::state::upkeep;
use crate::domain::time::Instant;
use crate::engine::calendar::{self, Question, Word};
use crate::engine::group::{Matter, Open, Panicked, State, guarded};
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
            Command::PutVevent(command) => self.open_placing(envelope, &command, now),
            Command::ChangeRecord(change) => self.change_record(envelope, &change, now),
            Command::Deliver(step) => {
                let decided = guarded(|| Ok(delivery::decide(&self.group_state, &step, now)));
                self.settle(envelope, decided, (0, Vec::new()), now);
            }
            Command::Quietly(_) => unreachable!("it has been taken out"),
            Command::RequestLink(command) => self.ask_link(envelope, &command, now),
            Command::FollowLink(command) => self.follow_link(envelope, &command, now),
            Command::RemoveDeleted { ids, before } => {
                let decided =
                    guarded(|| Ok(upkeep::remove_deleted(&self.group_state, &ids, before, now)));
                self.settle(envelope, decided, (self.id.number(), Vec::new()), now);
            }
        }
    }

    fn open_booking(&mut self, envelope: Envelope, command: &BookAppointment, now: Instant) {
        let draws = self.draw_booking(command.intervention_ids.len());
        match guarded(|| book::open(&self.group_state, command, &draws, now)) {
            Err(Panicked) => envelope.answer(Err(Rejection::Failed)),
            Ok(Err(refusals)) => self.refuse(envelope, refusals),
            Ok(Ok(opening)) => {
                let opening = Box::new(opening);
                self.ask_next(envelope, now, opening, draws, Vec::new());
            }
        }
    }

    /// Asks the next candidate of a booking, or refuses when there is none left, with what the last one said.
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

    /// Puts the one question to the one calendar that can answer it.
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
        self.calendar(room.calendar).send(calendar::Message::Ask(question));
    }

    pub(super) fn hear(&mut self, word: Word) {
        if word.number != self.questions {
            return;
        }
        let Some(Open { envelope, now, matter }) = self.open.take() else { return };
        match (word.verdict, matter) {
            (Err(()), _) => envelope.answer(Err(Rejection::Failed)),
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
            Err(Panicked) => envelope.answer(Err(Rejection::Failed)),
        }
    }

    fn place(&mut self, envelope: Envelope, placing: Placing, now: Instant) {
        let id = placing.id().number();
        let decided = self.applied(&envelope, now, |_| placing.placed());
        self.commit(envelope, decided, (id, Vec::new()), now);
    }

    fn change_record(&mut self, envelope: Envelope, change: &RecordChange, now: Instant) {
        let new_id = record_change::new_id_kind(change).map(|kind| self.next_id(kind));
        let decided =
            guarded(|| record_change::decide(&self.group_state, change, new_id.unwrap_or(0), now));
        let object = record_change::existing_id(change).or(new_id).unwrap_or(self.id.number());
        self.settle(envelope, decided, (object, Vec::new()), now);
    }

    fn ask_link(&mut self, envelope: Envelope, command: &RequestLink, now: Instant) {
        let draws = self.draws.link(self.id);
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
        let decided = guarded(|| {
            enrolment::decide_follow(&self.group_state, command, new_fiche, now).map(Some)
        });
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
                announcement::draft_messages(&self.group_state, &next, &event, now)
            };
            if envelope.command.is_by_key() {
                messages = messages.into_iter().map(Message::caused_by_key).collect();
            }
            messages.iter().for_each(|message| next.enqueue(message));
            (event.announced_by(messages), Arc::new(next))
        })
    }
}
