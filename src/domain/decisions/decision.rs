//! The one shape of decisions: a command and its [`Context`] give a [`Decision`], or refusals.
//!
//! Refusals are the error of a decision, so that the checks of a rule end it with `?`. A command
//! that takes time of a calendar asks for it last. Its event waits in a [`Pending`] until a
//! calendar agrees.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use crate::domain::availability::obstacle::Verdict;
use crate::domain::availability::slot_request::CalendarSlotRequest;
use crate::domain::directory::id_blocks::IdKind;
use crate::domain::directory::roles::{GroupRight, ProRole};
use crate::domain::records::account_link::LinkToken;
use crate::domain::records::hold::HoldToken;
use crate::domain::records::ids::{CalendarId, FicheId, GroupId, VeventId};
use crate::domain::records::vevent::{AppointmentKey, Vevent};
use crate::domain::state::delivery_step::LatePolicy;
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::{Refusal, Refusals};
use crate::domain::time::Instant;

/// Everything that a decision depends on besides its command.
pub struct Context<'a> {
    /// The newest state of the group.
    pub state: &'a GroupState,
    /// The time of the decision, read once per command.
    pub now: Instant,
    /// The source of ids, random values and the steady time.
    pub environment: &'a mut dyn Environment,
}

impl Context<'_> {
    /// Returns the stamp of an event that is decided now.
    pub(crate) fn stamp(&self) -> Instant {
        self.state.stamp_for(self.now)
    }
}

/// Values that a decision takes from outside, each only if it needs it.
pub trait Environment {
    /// Returns an unused id above `used` of a kind that [`Command::needed_ids`] names: of position
    /// 0 the lowest. There are as many as [`Command::ids_max`] says. An id stays unused until an
    /// event uses it.
    ///
    /// [`Command::needed_ids`]: crate::domain::state::command::Command::needed_ids
    /// [`Command::ids_max`]: crate::domain::state::command::Command::ids_max
    fn id(&self, kind: IdKind, used: u64, position: usize) -> u64;

    /// Returns a random number. Every number is equally likely.
    fn number(&mut self) -> u64;

    /// Returns a new secret of an appointment.
    fn key(&mut self) -> AppointmentKey;

    /// Returns a new token of a hold.
    fn hold_token(&mut self) -> HoldToken;

    /// Returns the random values of a new link to an account of a group.
    fn link(&mut self, group: GroupId) -> LinkDraws;

    /// Returns the time by which links expire. Steps of the clock do not move it.
    fn steady_now(&self) -> Instant;

    /// Returns the treatment of messages that are too late by the clock.
    fn late_policy(&self) -> LatePolicy;

    /// Returns the id of a new fiche.
    fn fiche_id(&self) -> FicheId {
        FicheId::new(self.id(IdKind::Fiche, 0, 0)).expect("unused ids are in range")
    }

    /// Returns the id of one of several new events.
    fn vevent_id(&self, position: usize) -> VeventId {
        VeventId::new(self.id(IdKind::Vevent, 0, position)).expect("unused ids are in range")
    }
}

/// The random values of a link.
#[derive(Clone, Debug)]
pub struct LinkDraws {
    /// The token in the link: letters, digits and `-`.
    pub token: LinkToken,
    /// Its SHA-256.
    pub hash: [u8; 32],
}

/// A command that is not refused.
#[derive(Debug)]
pub enum Decision {
    /// The command changes nothing.
    Unchanged(Outcome),
    /// The command is carried out by this event.
    Event(Event, Outcome),
    /// A calendar must be asked.
    Ask(Pending),
}

impl Decision {
    /// Returns the decision for an event; without one, the command changes nothing.
    pub(crate) fn new(event: Option<Event>, outcome: Outcome) -> Self {
        match event {
            Some(event) => Self::Event(event, outcome),
            None => Self::Unchanged(outcome),
        }
    }
}

/// The records that a command was about.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Id of the object that the command named or created, of several appointments the first; 0 if
    /// the command is about no object.
    pub object: u64,
    /// The appointments created, moved or cancelled.
    pub appointments: Vec<VeventId>,
    /// Number of holds of others that a hold has pushed out.
    pub pushed_out: usize,
    /// The commands of a batch that were decided, in order. An atomic batch ends with the first
    /// that was refused, and is not carried out then.
    pub steps: Vec<Step>,
}

/// One command of a batch that was decided.
#[derive(Clone, Debug)]
pub struct Step {
    /// The state before it.
    pub before: Arc<GroupState>,
    /// The state after it.
    pub after: Arc<GroupState>,
    /// The records that it was about, or why it is refused.
    pub outcome: Result<Outcome, Refusals>,
}

impl Outcome {
    /// Returns the outcome of a command about one object.
    pub(crate) fn object(object: u64) -> Self {
        Self { object, ..Self::default() }
    }

    /// Returns the outcome of a command about appointments.
    pub(crate) fn appointments(appointments: Vec<VeventId>) -> Self {
        let object = appointments.first().map_or(0, |id| id.number());
        Self { object, appointments, ..Self::default() }
    }

    /// Returns the outcome of a booking.
    pub(crate) fn booked(legs: &[Vevent]) -> Self {
        Self::appointments(legs.iter().map(|leg| leg.id).collect())
    }
}

/// Calendars that can take a slot. They are asked one at a time.
#[derive(Clone, Debug)]
pub(crate) struct Candidates {
    /// Slot on the calendar that is asked now.
    pub(crate) slot: CalendarSlotRequest,
    /// Calendars to ask after it, in order.
    pub(crate) rest: VecDeque<CalendarId>,
    /// Whether the command allows no other calendar than that of `slot`.
    pub(crate) is_named: bool,
}

/// Returns the event of a command once a calendar has agreed to this slot, or what still refuses
/// it.
type OnAgreement = Box<
    dyn FnOnce(&mut Context<'_>, &CalendarSlotRequest) -> Result<(Event, Outcome), Refusal> + Send,
>;

/// Checks that a role may make all changes of an event.
pub(crate) type RoleCheck = fn(&GroupState, &Event, &ProRole) -> Result<(), Refusal>;

/// A command that only the calendars can still refuse.
pub struct Pending {
    candidates: Candidates,
    on_agreement: OnAgreement,
    /// The batch that the command is part of, if any.
    batch: Option<Box<dyn DecidedPart>>,
}

/// A batch of which some commands are decided.
pub(crate) trait DecidedPart: fmt::Debug + Send {
    /// Returns the state after the commands that were decided.
    fn state(&self) -> &GroupState;

    /// Takes the verdict that the next command waits for, and decides those after it.
    fn on_reply(
        self: Box<Self>,
        context: &mut Context<'_>,
        pending: Pending,
        verdict: Verdict,
    ) -> Decision;
}

impl Candidates {
    /// Returns the one calendar of a slot.
    pub(crate) fn one(slot: CalendarSlotRequest) -> Self {
        Self { slot, rest: VecDeque::new(), is_named: true }
    }

    /// Decides to ask the calendars, and to carry the command out by this event once one agrees.
    pub(crate) fn ask(
        self,
        on_agreement: impl FnOnce(&mut Context<'_>, &CalendarSlotRequest) -> (Event, Outcome)
        + Send
        + 'static,
    ) -> Decision {
        self.ask_or_refuse(|context, slot| Ok(on_agreement(context, slot)))
    }

    /// Does the same where a rule may refuse the command that comes after all those about the time.
    pub(crate) fn ask_or_refuse(
        self,
        on_agreement: impl FnOnce(
            &mut Context<'_>,
            &CalendarSlotRequest,
        ) -> Result<(Event, Outcome), Refusal>
        + Send
        + 'static,
    ) -> Decision {
        let on_agreement = Box::new(on_agreement);
        Decision::Ask(Pending { candidates: self, on_agreement, batch: None })
    }
}

impl Pending {
    /// Returns the slot and the calendar to ask for it now.
    pub fn slot(&self) -> &CalendarSlotRequest {
        &self.candidates.slot
    }

    /// Returns the state on which the slot is asked for, if it is not the newest one: that after
    /// the earlier commands of a batch.
    pub fn state_ahead(&self) -> Option<&GroupState> {
        self.batch.as_ref().map(|batch| batch.state())
    }

    /// Returns the same without the calendars that a role may not write on, and with a check of
    /// the event.
    ///
    /// # Errors
    /// The right to write on others, if no calendar is left.
    pub(crate) fn within(self, role: &ProRole, check: RoleCheck) -> Result<Self, Refusal> {
        let Self { mut candidates, on_agreement, batch } = self;
        candidates.rest.retain(|calendar| role.writes_on(*calendar));
        if !role.writes_on(candidates.slot.calendar_id) {
            let next = candidates.rest.pop_front();
            candidates.slot.calendar_id = next.ok_or(Refusal::lacking(GroupRight::Agenda))?;
        }
        let role = role.clone();
        let on_agreement: OnAgreement = Box::new(move |context, slot| {
            let (event, outcome) = on_agreement(context, slot)?;
            check(context.state, &event, &role)?;
            Ok((event, outcome))
        });
        Ok(Self { candidates, on_agreement, batch })
    }

    /// Returns the same as a part of a batch.
    pub(crate) fn in_batch(self, batch: impl DecidedPart + 'static) -> Self {
        Self { batch: Some(Box::new(batch)), ..self }
    }

    /// Takes the verdict of the asked calendar. The context has the state and the time of the
    /// command's decision.
    ///
    /// # Errors
    /// NotAvailable if no calendar is left to ask, with the obstacles on a named calendar; or what
    /// refuses the command once a calendar has agreed.
    pub fn on_reply(
        mut self,
        context: &mut Context<'_>,
        verdict: Verdict,
    ) -> Result<Decision, Refusals> {
        match self.batch.take() {
            Some(batch) => Ok(batch.on_reply(context, self, verdict)),
            None => self.on_own_reply(context, verdict),
        }
    }

    /// Takes the verdict for the command alone.
    fn on_own_reply(
        mut self,
        context: &mut Context<'_>,
        verdict: Verdict,
    ) -> Result<Decision, Refusals> {
        let Err(obstacles) = verdict else {
            let (event, outcome) = (self.on_agreement)(context, &self.candidates.slot)?;
            return Ok(Decision::Event(event, outcome));
        };
        if let Some(next) = self.candidates.rest.pop_front() {
            self.candidates.slot.calendar_id = next;
            return Ok(Decision::Ask(self));
        }
        // Without a named calendar, the last candidate's obstacles explain nothing about the
        // others.
        let obstacles = if self.candidates.is_named { obstacles } else { Vec::new() };
        Err(Refusal::NotAvailable { obstacles }.into())
    }
}

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pending").field(&self.candidates).finish()
    }
}
