//! The state after a command, without carrying it out. Reference 6.19.

use crate::domain::availability::bookable::bookable;
use crate::domain::decisions::decision::{Context, Decision, Environment, LinkDraws, Outcome};
use crate::domain::directory::id_blocks::IdKind;
use crate::domain::records::account_link::LinkToken;
use crate::domain::records::hold::HoldToken;
use crate::domain::records::ids::GroupId;
use crate::domain::records::vevent::AppointmentKey;
use crate::domain::state::command::Command;
use crate::domain::state::delivery_step::LatePolicy;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::Refusals;
use crate::domain::time::Instant;

/// Decides one command.
type Decide = fn(&mut Context<'_>, &Command) -> Result<Decision, Refusals>;

/// The result of a command that is not carried out.
#[derive(Clone, Debug)]
pub struct Foreseen {
    /// The state after it. New records have the next ids of the group, which another command may
    /// get.
    pub state: GroupState,
    /// The records that it would be about.
    pub outcome: Outcome,
}

impl Foreseen {
    /// Whether a command of a batch is refused.
    pub fn is_refused(&self) -> bool {
        self.outcome.steps.iter().any(|step| step.outcome.is_err())
    }
}

/// Decides a command, and applies its event to a copy of the state. The calendars answer from their
/// views in this state. Messages to clients are left out.
///
/// # Errors
/// As `decide`.
pub(crate) fn foresee(
    state: &GroupState,
    command: &Command,
    now: Instant,
    decide: Decide,
) -> Result<Foreseen, Refusals> {
    let mut environment = NextValues { state, now };
    let mut context = Context { state, now, environment: &mut environment };
    let mut decision = decide(&mut context, command)?;
    loop {
        match decision {
            Decision::Unchanged(outcome) => return Ok(Foreseen { state: state.clone(), outcome }),
            Decision::Event(event, outcome) => {
                return Ok(Foreseen { state: state.apply(&event), outcome });
            }
            Decision::Ask(pending) => {
                let slot = pending.slot();
                let asked = pending.state_ahead().unwrap_or(state);
                let view = asked.calendars.get(&slot.calendar_id).expect("a candidate exists");
                let verdict = bookable(&asked.catalogue, view, &slot.request, now);
                decision = pending.on_reply(&mut context, verdict)?;
            }
        }
    }
}

/// Values that use up nothing: the next ids of the group, and secrets that are none.
struct NextValues<'s> {
    state: &'s GroupState,
    now: Instant,
}

/// Letters in the place of a secret.
const NO_SECRET: &str = "00000000000000000000000000000000";

impl Environment for NextValues<'_> {
    fn id(&self, kind: IdKind, used: u64, position: usize) -> u64 {
        self.state.highest_id(kind).max(used) + 1 + position as u64
    }

    fn number(&mut self) -> u64 {
        0
    }

    fn key(&mut self) -> AppointmentKey {
        let letters = &NO_SECRET[..AppointmentKey::LENGTH];
        AppointmentKey::new(letters).expect("these are 20 digits")
    }

    fn hold_token(&mut self) -> HoldToken {
        HoldToken::new(NO_SECRET).expect("these are 32 digits")
    }

    fn link(&mut self, _: GroupId) -> LinkDraws {
        LinkDraws { token: LinkToken::new("none").expect("a short text"), hash: [0; 32] }
    }

    fn steady_now(&self) -> Instant {
        self.now
    }

    fn late_policy(&self) -> LatePolicy {
        LatePolicy::GiveUp
    }
}
