//! Idempotency keys: the answer of a command is recorded in its event, so it is durable if and only
//! if the command is. Reference 6.6.

use std::sync::Arc;

use crate::domain::decisions::decision::Outcome;
use crate::domain::state::event::Event;
use crate::domain::state::idempotency::IdempotencyRecord;
use crate::engine::group::GroupActorState;
use crate::engine::write::{Committed, Envelope, Rejection, WriteResult};
use crate::planted_faults::PlantedFault;

impl GroupActorState {
    /// Returns the recorded answer of a command that was carried out before, or a conflict if its
    /// key came with another request. `None` for a new command.
    pub(crate) fn find_recorded_answer(&self, envelope: &Envelope) -> Option<WriteResult> {
        let request = envelope.idempotent_request.as_ref()?;
        let records = &self.group_state.idempotency_records;
        let record = records.find(&request.scope, self.steady_clock.now())?;
        if record.body != request.body && !PlantedFault::OtherBodyAccepted.is_active() {
            return Some(Err(Rejection::IdempotencyConflict));
        }
        Some(Ok(Committed {
            answer: Some(Arc::clone(&record.answer)),
            awaits_code: record.awaits_code,
            ..Committed::unchanged(&self.group_state, Outcome::default())
        }))
    }

    /// Adds the answer to an event with an idempotency key. Without a key, returns the arguments
    /// unchanged.
    ///
    /// # Errors
    /// [`Rejection::Overloaded`] if the group has no room for more answers.
    pub(crate) fn record_answer(
        &self,
        envelope: &Envelope,
        event: Event,
        committed: Committed,
    ) -> Result<(Event, Committed), Rejection> {
        let Some(request) = &envelope.idempotent_request else { return Ok((event, committed)) };
        if PlantedFault::IdempotencyAnswerNotStored.is_active() {
            return Ok((event, committed));
        }
        let now = self.steady_clock.now();
        let answer: Arc<[u8]> = (request.render)(&committed).into();
        let answered = Arc::new(IdempotencyRecord {
            scope: request.scope,
            body: request.body,
            at: committed.group_state.last_stamp,
            answer: Arc::clone(&answer),
            share: request.share,
            awaits_code: committed.awaits_code,
        });
        if !committed.before.idempotency_records.have_room_for(&answered, now) {
            return Err(Rejection::Overloaded);
        }
        let event = Event::DoneOnce { answered, event: Box::new(event) };
        let group_state = Arc::new(committed.before.apply_by(Some(envelope.author), &event));
        Ok((event, Committed { group_state, answer: Some(answer), ..committed }))
    }
}
