//! Decisions on batches: several commands as one. Reference 13.18.
//!
//! Each command is decided as it would be alone, on the state after those before it. So a batch
//! needs no rules of its own, and asks the calendars one question at a time.

use std::sync::Arc;

use crate::domain::availability::obstacle::Verdict;
use crate::domain::decisions::announcement::apply_with_messages;
use crate::domain::decisions::decision::{
    Context, DecidedPart, Decision, Environment, LinkDraws, Outcome, Pending, Step,
};
use crate::domain::directory::id_blocks::IdKind;
use crate::domain::records::fault::Fault;
use crate::domain::records::hold::HoldToken;
use crate::domain::records::ids::GroupId;
use crate::domain::records::vevent::AppointmentKey;
use crate::domain::state::command::{Batch, Command};
use crate::domain::state::delivery_step::LatePolicy;
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::put_vevent::ROWS_MAX;
use crate::domain::state::refusal::Refusals;
use crate::domain::time::Instant;

/// Decides one command.
type Decide = fn(&mut Context<'_>, &Command) -> Result<Decision, Refusals>;

/// A batch of which some commands are decided.
#[derive(Debug)]
struct BatchProgress {
    batch: Batch,
    decide: Decide,
    /// The state after the commands that were decided.
    state: Arc<GroupState>,
    /// The events of those that were not refused.
    events: Vec<Event>,
    /// Number of records that these events write.
    rows: usize,
    steps: Vec<Step>,
}

/// Decides a batch, each of its commands by `decide`. Their refusals are in the steps of the
/// outcome.
pub(crate) fn decide(context: &mut Context<'_>, batch: &Batch, decide: Decide) -> Decision {
    let state = Arc::new(context.state.clone());
    let steps = Vec::with_capacity(batch.commands.len());
    let batch = batch.clone();
    BatchProgress { batch, decide, state, events: Vec::new(), rows: 0, steps }.go_on(context)
}

impl DecidedPart for BatchProgress {
    fn state(&self) -> &GroupState {
        &self.state
    }

    fn on_reply(
        mut self: Box<Self>,
        context: &mut Context<'_>,
        pending: Pending,
        verdict: Verdict,
    ) -> Decision {
        let decided = self.run(context, |context| pending.on_reply(context, verdict));
        match self.add(decided, context.now) {
            Some(pending) => Decision::Ask(pending.in_batch(*self)),
            None => self.go_on(context),
        }
    }
}

impl BatchProgress {
    /// Decides the next commands, up to one that has to ask a calendar.
    fn go_on(mut self, context: &mut Context<'_>) -> Decision {
        let commands = Arc::clone(&self.batch.commands);
        while let Some(command) = self.next_of(&commands) {
            let decided = self.run(context, |context| (self.decide)(context, command));
            if let Some(pending) = self.add(decided, context.now) {
                return Decision::Ask(pending.in_batch(self));
            }
        }
        let is_refused = self.batch.is_atomic && self.has_refusal();
        let outcome = Outcome { steps: self.steps, ..Outcome::default() };
        if is_refused || self.events.is_empty() {
            return Decision::Unchanged(outcome);
        }
        Decision::Event(Event::BatchDone { at: context.stamp(), events: self.events }, outcome)
    }

    /// The next command to decide; `None` at the end, and after a refusal of an atomic batch.
    fn next_of<'c>(&self, commands: &'c [Command]) -> Option<&'c Command> {
        if self.batch.is_atomic && self.has_refusal() {
            None
        } else {
            commands.get(self.steps.len())
        }
    }

    fn has_refusal(&self) -> bool {
        self.steps.iter().any(|step| step.outcome.is_err())
    }

    /// Runs a part of a decision on the state after the commands that were decided.
    fn run(
        &self,
        context: &mut Context<'_>,
        decide: impl FnOnce(&mut Context<'_>) -> Result<Decision, Refusals>,
    ) -> Result<Decision, Refusals> {
        let mut environment = StepEnvironment { state: &self.state, outer: context.environment };
        let now = context.now;
        decide(&mut Context { state: &self.state, now, environment: &mut environment })
    }

    /// Adds what was decided about a command. Returns it back if it still waits for a calendar.
    fn add(&mut self, decided: Result<Decision, Refusals>, now: Instant) -> Option<Pending> {
        let before = Arc::clone(&self.state);
        let outcome = match decided {
            Ok(Decision::Ask(pending)) => return Some(pending),
            Ok(Decision::Unchanged(outcome)) => Ok(outcome),
            Ok(Decision::Event(event, _)) if self.rows + count_rows(&event) > ROWS_MAX => {
                let rule = format!("a batch writes at most {ROWS_MAX} records: send this alone");
                Err(Fault::new("rows", rule).into())
            }
            Ok(Decision::Event(event, outcome)) => {
                self.rows += count_rows(&event);
                let command = &self.batch.commands[self.steps.len()];
                let (event, after) = apply_with_messages(&before, None, command, event, now);
                self.events.push(event);
                self.state = Arc::new(after);
                Ok(outcome)
            }
            Err(refusals) => Err(refusals),
        };
        self.steps.push(Step { before, after: Arc::clone(&self.state), outcome });
        None
    }
}

/// Returns the number of records that an event writes, each of those that it carries at least one.
fn count_rows(event: &Event) -> usize {
    match event.carried() {
        [] => 1,
        carried => carried.iter().map(count_rows).sum(),
    }
}

/// The environment of one command of a batch, without the ids that those before it have used.
struct StepEnvironment<'a> {
    /// The state after the commands before it.
    state: &'a GroupState,
    outer: &'a mut dyn Environment,
}

impl Environment for StepEnvironment<'_> {
    fn id(&self, kind: IdKind, used: u64, position: usize) -> u64 {
        self.outer.id(kind, used.max(self.state.highest_id(kind)), position)
    }

    fn number(&mut self) -> u64 {
        self.outer.number()
    }

    fn key(&mut self) -> AppointmentKey {
        self.outer.key()
    }

    fn hold_token(&mut self) -> HoldToken {
        self.outer.hold_token()
    }

    fn link(&mut self, group: GroupId) -> LinkDraws {
        self.outer.link(group)
    }

    fn steady_now(&self) -> Instant {
        self.outer.steady_now()
    }

    fn late_policy(&self) -> LatePolicy {
        self.outer.late_policy()
    }
}
