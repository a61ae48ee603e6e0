//! Decisions of a group: it asks the core to decide, applies the event, or queries a calendar.

use std::sync::Arc;

use crate::domain::decisions::decide;
use crate::domain::decisions::decision::{Context, Decision};
use crate::domain::state::refusal::Refusals;
use crate::domain::time::Instant;
use crate::engine::calendar::{CalendarMessage, SlotQuery};
use crate::engine::group::environment::GroupEnvironment;
use crate::engine::group::{GroupActorState, WaitingCommand, guarded};
use crate::engine::messages::SlotReply;
use crate::engine::write::{Committed, Envelope, Rejection};
use crate::planted_faults::PlantedFault;

impl GroupActorState {
    /// Decides a command. One that was carried out before gets its recorded answer.
    pub(crate) fn decide(&mut self, envelope: Envelope, now: Instant) {
        if let Some(answer) = self.find_recorded_answer(&envelope) {
            return self.answer_when_durable(envelope, answer);
        }
        let decided = self.run(now, |context| decide(context, &envelope.command));
        self.carry_out(envelope, decided, now);
    }

    /// Continues the command that waits for a calendar's reply. A reply to an earlier query is
    /// ignored: its calendar died, and its command was answered.
    pub(crate) fn on_reply(&mut self, reply: SlotReply) {
        if reply.number != self.queries {
            return;
        }
        let Some(WaitingCommand { envelope, now, pending }) = self.waiting.take() else { return };
        let decided = match reply.verdict {
            Ok(verdict) => self.run(now, |context| pending.on_reply(context, verdict)),
            Err(()) => Err(Rejection::InternalError),
        };
        self.carry_out(envelope, decided, now);
        self.advance();
    }

    /// Runs a part of a decision on the newest state.
    fn run(
        &mut self,
        now: Instant,
        decide: impl FnOnce(&mut Context<'_>) -> Result<Decision, Refusals>,
    ) -> Result<Decision, Rejection> {
        let published = if PlantedFault::BookingsInFlightIgnored.is_active() {
            self.published.group_state(self.id)
        } else {
            None
        };
        let mut environment = GroupEnvironment {
            ids: &self.ids,
            randomness: &mut self.randomness,
            steady_clock: &self.steady_clock,
        };
        let mut context = Context {
            state: published.as_deref().unwrap_or(&self.group_state),
            now,
            environment: &mut environment,
        };
        guarded(|| decide(&mut context).map_err(Rejection::Refused))
    }

    fn carry_out(
        &mut self,
        envelope: Envelope,
        decided: Result<Decision, Rejection>,
        now: Instant,
    ) {
        match decided {
            Ok(Decision::Event(event, outcome)) => self.commit(envelope, event, outcome, now),
            Ok(Decision::Ask(pending)) => self.ask(WaitingCommand { envelope, now, pending }),
            Ok(Decision::Unchanged(outcome)) => {
                let unchanged = Committed::unchanged(&self.group_state, outcome);
                self.answer_when_durable(envelope, Ok(unchanged));
            }
            // A refusal may depend on a state that is not durable yet.
            Err(rejection) => self.answer_when_durable(envelope, Err(rejection)),
        }
    }

    /// Sends a query to the one calendar that can answer it.
    fn ask(&mut self, waiting: WaitingCommand) {
        self.queries += 1;
        let slot = waiting.pending.slot();
        let calendar_id = slot.calendar_id;
        let ahead = waiting.pending.state_ahead();
        let state = ahead.unwrap_or(&self.group_state);
        let view = state.calendars.get(&calendar_id);
        let view = Arc::clone(view.expect("a candidate is a calendar of the group"));
        let query = SlotQuery {
            number: self.queries,
            catalogue: Arc::clone(&state.catalogue),
            view_ahead: ahead.map(|_| Arc::clone(&view)),
            request: slot.request.clone(),
            now: waiting.now,
        };
        self.waiting = Some(waiting);
        // A calendar that the same batch makes has no other view yet.
        let own_view = self.group_state.calendars.get(&calendar_id).cloned().unwrap_or(view);
        self.calendar(calendar_id, own_view).send(CalendarMessage::Ask(query));
    }
}
