//! What is done under an Idempotency-Key is done once: the answer is made with the event, and goes to disk in it.
//! Reference 6.

use std::sync::Arc;

use crate::domain::state::event::Event;
use crate::domain::state::idempotency::IdempotencyRecord;
use crate::domain::time::Instant;
use crate::engine::group::{State, guarded};
use crate::engine::{Answer, Done, Envelope, Rejection};

impl State {
    /// What a command is answered that was carried out before, or whose key came with something else.
    pub(super) fn answered_before(&self, envelope: &Envelope, now: Instant) -> Option<Answer> {
        let once = envelope.once.as_ref()?;
        let known = self.group_state.idempotency_records.find(&once.scope, now)?;
        if known.body != once.body {
            return Some(Err(Rejection::Conflict));
        }
        let (before, group_state) = (Arc::clone(&self.group_state), Arc::clone(&self.group_state));
        let answer = Some(Arc::clone(&known.answer));
        Some(Ok(Done { before, group_state, object: 0, appointments: Vec::new(), answer }))
    }
}

/// The event with the answer that is to be given again, and what it leads to; without a key both as they are.
pub(super) fn remember(
    envelope: &Envelope,
    event: Event,
    done: Done,
    now: Instant,
) -> Result<(Event, Done), Rejection> {
    let Some(once) = &envelope.once else { return Ok((event, done)) };
    guarded(|| {
        let answer: Arc<[u8]> = (once.render)(&done).into();
        if !done.before.idempotency_records.have_room_for(answer.len(), now) {
            return Err(Rejection::Overloaded);
        }
        let at = done.group_state.last_stamp;
        let answered = Arc::new(IdempotencyRecord {
            scope: once.scope,
            body: once.body,
            at,
            answer: Arc::clone(&answer),
        });
        let event = Event::DoneOnce { answered, event: Box::new(event) };
        let group_state = Arc::new(done.before.apply(&event));
        Ok((event, Done { group_state, answer: Some(answer), ..done }))
    })
    .unwrap_or(Err(Rejection::Failed))
}
