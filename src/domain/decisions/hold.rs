//! Decisions about holds: time that a web caller keeps for some minutes, and gives back.
//! Reference 6.14.

use crate::domain::availability::obstacle::Obstacle;
use crate::domain::availability::slot_request::{BookingMode, CalendarSlotRequest, SlotRequest};
use crate::domain::decisions::candidates::{
    CandidateStep, Candidates, WantedSlot, find_offering, parse_slot,
};
use crate::domain::records::hold::{HeldLeg, Hold, HoldId, HoldState, HoldToken};
use crate::domain::state::command::{HoldDraws, HoldTime};
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::{Refusal, Refusals};
use crate::domain::time::{Instant, MINUTE};

/// Minutes for which time is held until it is booked.
const CHOSEN_MINUTES: i64 = 10;
/// Minutes for which the time of a booking is held until its code is given.
const UNCONFIRMED_MINUTES: i64 = 15;
/// Maximum number of live holds of one source that wait for their booking.
const PER_SOURCE_MAX: usize = 3;

/// A hold that only the calendars can still refuse. They are asked one at a time.
#[derive(Clone, Debug)]
pub struct PendingHold {
    candidates: Candidates,
    source: Option<[u8; 16]>,
    token: HoldToken,
}

/// Next step of a hold after a calendar has replied.
#[derive(Clone, Debug)]
pub enum HoldStep {
    /// The next candidate must be asked.
    Ask(Box<PendingHold>),
    /// The calendar agreed: the hold is made by this event.
    Held(Event),
    /// No candidate is left.
    Refused(Refusals),
}

/// Checks everything that the calendars do not decide. The rules of the module hold for every
/// caller.
///
/// # Errors
/// TooManyHolds for the source; the refusals of a booking that are about the time.
pub fn prepare_hold(
    state: &GroupState,
    command: &HoldTime,
    draws: HoldDraws,
    now: Instant,
) -> Result<Box<PendingHold>, Refusals> {
    let mode = if command.is_by_key { BookingMode::Module } else { BookingMode::ModuleByAccount };
    let wanted = WantedSlot {
        date: command.date,
        intervention_ids: &command.intervention_ids,
        calendar_id: command.calendar_id,
        mode,
        hold: command.hold,
    };
    let request = parse_slot(&state.catalogue, wanted)?;
    if let Some(source) = command.source {
        check_source(state, source, command.hold, now)?;
    }
    let offering = find_offering(state, &request, command.calendar_id, now)?;
    let is_named = command.calendar_id.is_some();
    let candidates = Candidates::new(state, request, offering, is_named, draws.order)?;
    Ok(Box::new(PendingHold { candidates, source: command.source, token: draws.token }))
}

/// Checks the number of live holds of a source. The hold that is taken over does not count.
///
/// # Errors
/// TooManyHolds.
fn check_source(
    state: &GroupState,
    source: [u8; 16],
    replaced: Option<HoldId>,
    now: Instant,
) -> Result<(), Refusals> {
    let live = state.holds().chosen_by(source).filter(|hold| hold.is_live(now));
    let mut expiries = Vec::new();
    for hold in live {
        if replaced != Some(hold.id()) {
            expiries.push(hold.expires_at);
        }
    }
    match expiries.iter().min() {
        Some(next) if expiries.len() >= PER_SOURCE_MAX => {
            let retry_seconds = next.seconds_since(now);
            Err(vec![Refusal::TooManyHolds { most: PER_SOURCE_MAX, retry_seconds }])
        }
        Some(_) | None => Ok(()),
    }
}

impl PendingHold {
    /// Returns the slot and the calendar to ask for it now.
    #[must_use]
    pub fn query(&self) -> &CalendarSlotRequest {
        self.candidates.query()
    }

    /// Takes the verdict of the asked calendar and returns the next step. `state` and `now` are
    /// those that the hold was prepared with.
    #[must_use]
    pub fn on_reply(
        self: Box<Self>,
        verdict: Result<(), Vec<Obstacle>>,
        state: &GroupState,
        now: Instant,
    ) -> HoldStep {
        let Self { candidates, source, token } = *self;
        match candidates.on_reply(verdict) {
            CandidateStep::Ask(candidates) => {
                HoldStep::Ask(Box::new(Self { candidates, source, token }))
            }
            CandidateStep::Refused(refusals) => HoldStep::Refused(refusals),
            CandidateStep::Agreed(slot) => {
                let event = draw_up_hold(state, &slot, token, source, HoldState::Chosen, now);
                HoldStep::Held(event)
            }
        }
    }
}

/// Returns the event that holds a slot on the calendar that agreed. The caller's own hold ends.
pub(crate) fn draw_up_hold(
    state: &GroupState,
    slot: &CalendarSlotRequest,
    token: HoldToken,
    source: Option<[u8; 16]>,
    use_of_it: HoldState,
    now: Instant,
) -> Event {
    let at = state.stamp_for(now);
    let SlotRequest { chain, start, mode, own } = &slot.request;
    let mut legs = Vec::with_capacity(chain.legs().len());
    for leg in chain.legs() {
        let length_seconds =
            u32::try_from(leg.length_seconds).expect("an intervention is at most a day long");
        legs.push(HeldLeg { intervention_id: leg.intervention_id, length_seconds });
    }
    let minutes = match &use_of_it {
        HoldState::Unconfirmed(_) => UNCONFIRMED_MINUTES,
        HoldState::Chosen
        | HoldState::Confirmed { .. }
        | HoldState::Overwritten
        | HoldState::Guessed => CHOSEN_MINUTES,
    };
    let hold = Hold {
        token,
        calendar_id: slot.calendar_id,
        start: *start,
        legs,
        made_at: at,
        expires_at: now.plus_seconds(minutes * MINUTE),
        source,
        state: use_of_it,
        is_by_key: *mode == BookingMode::Module,
    };
    let replaced = match own.hold {
        Some(id) if state.holds().get(id).is_some_and(|hold| hold.keeps_time()) => Some(id),
        Some(_) | None => None,
    };
    Event::HoldMade { at, hold: Box::new(hold), replaced }
}

/// Decides that a holder gives time back.
///
/// # Errors
/// NoResult if there is no such hold, or it keeps no time any more.
pub fn decide_release(state: &GroupState, id: HoldId, now: Instant) -> Result<Event, Refusal> {
    match state.holds().get(id) {
        Some(hold) if hold.is_live(now) => Ok(Event::HoldReleased { at: state.stamp_for(now), id }),
        Some(_) | None => Err(Refusal::NoResult),
    }
}
