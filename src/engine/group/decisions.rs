//! Decisions of a group: it asks the core to decide, applies the event, or queries a calendar.

use std::sync::Arc;

use crate::domain::decisions::decide;
use crate::domain::decisions::decision::{Context, Decision, Pending};
use crate::domain::state::refusal::Refusals;
use crate::domain::time::Instant;
use crate::engine::calendar::SlotQuery;
use crate::engine::group::environment::GroupEnvironment;
use crate::engine::group::{GroupActorState, TURN_QUERIES_MAX, WaitingCommand, guarded};
use crate::engine::messages::{Checked, SlotReply};
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
        let decided = self.decide_on(pending, reply.verdict, now);
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
        mut decided: Result<Decision, Rejection>,
        now: Instant,
    ) {
        loop {
            match decided {
                Ok(Decision::Event(event, outcome)) => {
                    return self.commit(envelope, event, outcome, now);
                }
                Ok(Decision::Ask(pending)) => match self.ask(&pending, now) {
                    Some(checked) => decided = self.decide_on(pending, checked, now),
                    None => {
                        self.waiting = Some(WaitingCommand { envelope, now, pending });
                        return;
                    }
                },
                Ok(Decision::Unchanged(outcome)) => {
                    let unchanged = Committed::unchanged(&self.group_state, outcome);
                    return self.answer_when_durable(envelope, Ok(unchanged));
                }
                // A refusal may depend on a state that is not durable yet.
                Err(rejection) => return self.answer_when_durable(envelope, Err(rejection)),
            }
        }
    }

    /// Continues a decision with the verdict of the calendar that it asked.
    fn decide_on(
        &mut self,
        pending: Pending,
        checked: Checked,
        now: Instant,
    ) -> Result<Decision, Rejection> {
        match checked {
            Ok(verdict) => self.run(now, |context| pending.on_reply(context, verdict)),
            Err(()) => Err(Rejection::InternalError),
        }
    }

    /// Asks the one calendar that can answer. `None` if its reply comes as a message.
    fn ask(&mut self, pending: &Pending, now: Instant) -> Option<Checked> {
        let slot = pending.slot();
        let calendar_id = slot.calendar_id;
        let ahead = pending.state_ahead();
        let state = ahead.unwrap_or(&self.group_state);
        let view = state.calendars.get(&calendar_id);
        let view = Arc::clone(view.expect("a candidate is a calendar of the group"));
        let query = SlotQuery {
            catalogue: Arc::clone(&state.catalogue),
            view_ahead: ahead.map(|_| Arc::clone(&view)),
            request: slot.request.clone(),
            now,
        };
        self.asked += 1;
        let may_ask_now = self.asked <= TURN_QUERIES_MAX;
        // A calendar that the same batch makes has no other view yet.
        let own_view = self.group_state.calendars.get(&calendar_id).cloned().unwrap_or(view);
        let number = self.queries + 1;
        let calendar = self.calendar(calendar_id, own_view);
        if may_ask_now && let Some(checked) = calendar.ask_at_rest(&query) {
            return Some(checked);
        }
        calendar.ask(number, query);
        self.queries = number;
        None
    }
}
