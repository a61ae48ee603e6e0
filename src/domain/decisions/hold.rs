//! Decisions about holds: time that a web caller keeps for some minutes, and gives back.
//! Reference 6.7.

use crate::domain::availability::slot_request::{BookingMode, CalendarSlotRequest, SlotRequest};
use crate::domain::decisions::candidates::{
    WantedSlot, find_offering, order_candidates, parse_slot,
};
use crate::domain::decisions::decision::{Context, Decision, Outcome};
use crate::domain::records::hold::{HeldLeg, Hold, HoldId, HoldState};
use crate::domain::state::command::HoldTime;
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::{Refusal, Refusals};
use crate::domain::time::{Instant, MINUTE};

/// Minutes for which time is held until it is booked.
pub(crate) const CHOSEN_MINUTES: i64 = 10;
/// Minutes for which the time of a booking is held until its code is given.
pub(crate) const UNCONFIRMED_MINUTES: i64 = 15;
/// Maximum number of live holds of one source that wait for their booking.
pub(crate) const HOLDS_PER_SOURCE_MAX: usize = 3;

/// Decides that time is held. The rules of the module hold for every caller.
///
/// # Errors
/// TooManyHolds for the source; the refusals of a booking that are about the time.
pub fn decide(context: &mut Context<'_>, command: &HoldTime) -> Result<Decision, Refusals> {
    let Context { state, now, .. } = *context;
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
    let candidates = order_candidates(context, request, offering, is_named)?;
    let source = command.source;
    Ok(candidates.ask(move |context, slot| {
        let event = draw_up_hold(context, slot, source, HoldState::Chosen);
        (event, Outcome::default())
    }))
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
) -> Result<(), Refusal> {
    let live = state.holds().chosen_by(source).filter(|hold| hold.is_live(now));
    let mut expiries = Vec::new();
    for hold in live {
        if replaced != Some(hold.id()) {
            expiries.push(hold.expires_at);
        }
    }
    match expiries.iter().min() {
        Some(next) if expiries.len() >= HOLDS_PER_SOURCE_MAX => {
            let retry_seconds = next.seconds_since(now);
            Err(Refusal::TooManyHolds { most: HOLDS_PER_SOURCE_MAX, retry_seconds })
        }
        _ => Ok(()),
    }
}

/// Returns the event that holds a slot on the calendar that agreed. The caller's own hold ends.
pub(crate) fn draw_up_hold(
    context: &mut Context<'_>,
    slot: &CalendarSlotRequest,
    source: Option<[u8; 16]>,
    state: HoldState,
) -> Event {
    let at = context.stamp();
    let SlotRequest { chain, start, mode, own } = &slot.request;
    let mut legs = Vec::with_capacity(chain.legs().len());
    for leg in chain.legs() {
        let length_seconds =
            u32::try_from(leg.length_seconds).expect("an intervention is at most a day long");
        legs.push(HeldLeg { intervention_id: leg.intervention_id, length_seconds });
    }
    let minutes = match &state {
        HoldState::Unconfirmed(_) => UNCONFIRMED_MINUTES,
        HoldState::Chosen
        | HoldState::Confirmed { .. }
        | HoldState::Overwritten
        | HoldState::Guessed => CHOSEN_MINUTES,
    };
    let hold = Hold {
        token: context.environment.hold_token(),
        calendar_id: slot.calendar_id,
        start: *start,
        legs,
        made_at: at,
        expires_at: context.now.plus_seconds(minutes * MINUTE),
        source,
        state,
        is_by_key: *mode == BookingMode::Module,
    };
    // A hold that has ended already is not ended again.
    let replaced = match own.hold {
        Some(id) if context.state.holds().get(id).is_some_and(|hold| hold.keeps_time()) => Some(id),
        _ => None,
    };
    Event::HoldMade { at, hold: Box::new(hold), replaced }
}

/// Decides that a holder gives time back.
///
/// # Errors
/// NoResult if there is no such hold, or it keeps no time any more.
pub fn decide_release(context: &mut Context<'_>, id: HoldId) -> Result<Decision, Refusals> {
    let hold = context.state.holds().get(id).ok_or(Refusal::NoResult)?;
    if !hold.is_live(context.now) {
        return Err(Refusal::NoResult.into());
    }
    Ok(Decision::Event(Event::HoldReleased { at: context.stamp(), id }, Outcome::default()))
}
