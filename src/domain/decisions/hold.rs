//! Decisions about holds: time that a web caller keeps for some minutes, and gives back.
//! Reference 6.7.

use std::collections::BTreeMap;

use crate::domain::availability::slot_request::{BookingMode, CalendarSlotRequest, SlotRequest};
use crate::domain::decisions::candidates::{
    NamedCalendars, WantedSlot, find_offering, order_candidates, parse_slot,
};
use crate::domain::decisions::decision::{Context, Decision, Outcome};
use crate::domain::decisions::held_share::HeldTime;
use crate::domain::records::hold::{HeldLeg, Hold, HoldId, HoldState};
use crate::domain::state::command::HoldTime;
use crate::domain::state::event::Event;
use crate::domain::state::refusal::{Refusal, Refusals};
use crate::domain::time::MINUTE;

/// Minutes for which time is held until it is booked.
pub(crate) const CHOSEN_MINUTES: i64 = 10;
/// Minutes for which the time of a booking is held until its code is given.
pub(crate) const UNCONFIRMED_MINUTES: i64 = 15;

/// Decides that time is held. The rules of the module hold for every caller.
///
/// # Errors
/// TooManyHolds for the source, its networks or the day; the refusals of a booking that are about
/// the time.
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
    let interval = request.interval();
    let held_time = command.source.map(|source| HeldTime { state, source, own: command.hold, now });
    if let Some(held_time) = &held_time {
        held_time.check_source(interval)?;
    }
    let named = NamedCalendars { calendar: command.calendar_id, calendarsets: &[] };
    let mut offering = find_offering(state, &request, named, now)?;
    let room = match &held_time {
        Some(held_time) if command.is_by_key => held_time.make_room(&offering, interval),
        _ => Ok(BTreeMap::new()),
    };
    if let Ok(pushed_out) = &room
        && !pushed_out.is_empty()
    {
        offering.retain(|id| pushed_out.contains_key(id));
    }
    let is_named = command.calendar_id.is_some();
    let candidates = order_candidates(context, request, offering, is_named)?;
    let source = command.source;
    // That the time is taken is the better reason.
    Ok(candidates.ask_or_refuse(move |context, slot| {
        let pushed_out = room?.remove(&slot.calendar_id).unwrap_or_default();
        let outcome = Outcome { pushed_out: pushed_out.len(), ..Outcome::default() };
        let made = draw_up_hold(context, slot, source, HoldState::Chosen);
        Ok((after_releases(pushed_out, made), outcome))
    }))
}

/// Returns the event that ends holds of others, and makes one in their place.
fn after_releases(pushed_out: Vec<HoldId>, made: Event) -> Event {
    if pushed_out.is_empty() {
        return made;
    }
    let at = made.at();
    let mut events = Vec::with_capacity(pushed_out.len() + 1);
    events.extend(pushed_out.into_iter().map(|id| Event::HoldReleased { at, id }));
    events.push(made);
    Event::BatchDone { at, events }
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
        is_extended: false,
    };
    // A hold that has ended already is not ended again.
    let replaced = match own.hold {
        Some(id) if context.state.holds().get(id).is_some_and(|hold| hold.keeps_time()) => Some(id),
        _ => None,
    };
    Event::HoldMade { at, hold: Box::new(hold), replaced }
}

/// Decides that the time of a booking that waits for its code is held for as many minutes again,
/// from now on. A booking gets them once. Reference 6.8.
///
/// # Errors
/// NoResult if there is no such booking, it does not wait any more, or it has been extended.
pub fn decide_extension(context: &mut Context<'_>, id: HoldId) -> Result<Decision, Refusals> {
    let hold = context.state.holds().get(id).ok_or(Refusal::NoResult)?;
    let waits = matches!(hold.state, HoldState::Unconfirmed(_)) && hold.is_live(context.now);
    if !waits || hold.is_extended {
        return Err(Refusal::NoResult.into());
    }
    let until = context.now.plus_seconds(UNCONFIRMED_MINUTES * MINUTE);
    // A clock that was set back takes no minutes away.
    let expires_at = until.max(hold.expires_at);
    let event = Event::HoldExtended { at: context.stamp(), id, expires_at };
    Ok(Decision::Event(event, Outcome::default()))
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
