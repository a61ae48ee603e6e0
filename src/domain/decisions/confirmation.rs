//! Decision of a confirmation: the code first, then the client's rules, then the calendar.
//! Reference 6.15.
//!
//! Time, lead times and grid were decided when the time was held. The calendar is asked only for
//! what professionals have changed since.

use crate::domain::availability::obstacle::Obstacle;
use crate::domain::availability::slot_request::{
    BookingMode, CalendarSlotRequest, Chain, Leg, OwnTime, SlotRequest,
};
use crate::domain::decisions::book::{AppointmentContent, draw_up_legs};
use crate::domain::decisions::client_record::BookingClient;
use crate::domain::decisions::client_rules::check_client_rules;
use crate::domain::decisions::unconfirmed::find_confirmed_client;
use crate::domain::records::fault::Fault;
use crate::domain::records::hold::{Hold, HoldId, HoldState, UnconfirmedBooking};
use crate::domain::records::ids::VeventId;
use crate::domain::records::vevent::{BookingComments, OptionalFields};
use crate::domain::records::web_origin::ClientProof;
use crate::domain::state::command::{BookingDraws, ConfirmBooking};
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::{Refusal, Refusals};
use crate::domain::time::Instant;

/// The rule of the refusal for a token without a booking that waits.
const NO_SUCH_BOOKING: &str =
    "is not the token of a booking that waits for its code: book again to get another code";

/// A confirmation that only the calendar can still refuse.
#[derive(Clone, Debug)]
pub struct PendingConfirmation {
    hold: HoldId,
    slot: CalendarSlotRequest,
    client: BookingClient,
    booking: Box<UnconfirmedBooking>,
    draws: BookingDraws,
}

/// Next step of a confirmation.
#[derive(Clone, Debug)]
pub enum ConfirmationStep {
    /// The calendar must be asked.
    Ask(Box<PendingConfirmation>),
    /// The code was wrong, which this event counts.
    Refused(Event),
    /// The booking was confirmed before: these are its appointments.
    Repeated(Vec<VeventId>),
}

/// Returns the number of legs of the booking that a confirmation names; 0 if there is none.
#[must_use]
pub fn count_legs(state: &GroupState, command: &ConfirmBooking) -> usize {
    state.holds().get(command.hold).map_or(0, |hold| hold.legs.len())
}

/// Checks everything that the calendar does not decide.
///
/// # Errors
/// InvalidParameter on `token` without a booking that waits; NotAvailable if a professional has
/// taken the time; the refusals that are about the client.
pub fn prepare_confirmation(
    state: &GroupState,
    command: &ConfirmBooking,
    draws: BookingDraws,
    now: Instant,
) -> Result<ConfirmationStep, Refusals> {
    let Some(hold) = state.holds().get(command.hold) else { return Err(no_such_booking()) };
    let booking = match &hold.state {
        HoldState::Unconfirmed(_) if !hold.is_live(now) => return Err(no_such_booking()),
        HoldState::Unconfirmed(booking) => Some(booking),
        HoldState::Confirmed { .. } => None,
        HoldState::Overwritten => {
            return Err(vec![Refusal::NotAvailable { obstacles: Vec::new() }]);
        }
        HoldState::Chosen | HoldState::Guessed => return Err(no_such_booking()),
    };
    let is_right = match &command.code {
        Some(code) => code.matches(&command.guess),
        None => false,
    };
    if !is_right {
        let event = Event::CodeRefused { at: state.stamp_for(now), id: command.hold };
        return Ok(ConfirmationStep::Refused(event));
    }
    let Some(booking) = booking else {
        return Ok(ConfirmationStep::Repeated(confirmed_appointments(hold)));
    };
    let client = find_confirmed_client(state, booking, draws.fiche_id, now)?;
    let request = held_slot(hold);
    check_client_rules(state, client.fiche_id, &request, now)?;
    let slot = CalendarSlotRequest {
        calendar_id: hold.calendar_id,
        request: SlotRequest { mode: BookingMode::BackOffice, ..request },
    };
    let (hold, booking) = (command.hold, booking.clone());
    Ok(ConfirmationStep::Ask(Box::new(PendingConfirmation { hold, slot, client, booking, draws })))
}

impl PendingConfirmation {
    /// Returns the slot and the calendar to ask for it.
    #[must_use]
    pub fn query(&self) -> &CalendarSlotRequest {
        &self.slot
    }

    /// Returns the ids of the appointments to be made, one per leg, in order.
    #[must_use]
    pub fn vevent_ids(&self) -> Vec<VeventId> {
        self.draws.legs.iter().map(|(id, _)| *id).collect()
    }

    /// Takes the verdict of the calendar and returns the event of the booking. `state` and `now`
    /// are those that the confirmation was prepared with.
    ///
    /// # Errors
    /// NotAvailable with the calendar's obstacles.
    pub fn on_reply(
        self,
        verdict: Result<(), Vec<Obstacle>>,
        state: &GroupState,
        now: Instant,
    ) -> Result<Event, Refusals> {
        if let Err(obstacles) = verdict {
            return Err(vec![Refusal::NotAvailable { obstacles }]);
        }
        let UnconfirmedBooking {
            channel,
            comments,
            websource,
            customs,
            smsreminder,
            mut web_origin,
            ..
        } = *self.booking;
        if let Some(origin) = &mut web_origin {
            origin.proof = ClientProof::by_code(channel);
        }
        let rare = OptionalFields {
            booking_comments: BookingComments::record(comments.clone(), &comments),
            comments,
            websource,
            customs,
            ..OptionalFields::default()
        };
        let content = AppointmentContent {
            fiche_id: self.client.fiche_id,
            smsreminder,
            from_web: true,
            rare,
            web_origin,
        };
        let legs = draw_up_legs(state, &self.slot, &self.draws.legs, &content, now);
        Ok(Event::BookingConfirmed {
            at: state.stamp_for(now),
            id: self.hold,
            fiche: self.client.written,
            legs,
        })
    }
}

fn no_such_booking() -> Refusals {
    vec![Refusal::InvalidParameter(Fault::new("token", NO_SUCH_BOOKING))]
}

fn confirmed_appointments(hold: &Hold) -> Vec<VeventId> {
    match &hold.state {
        HoldState::Confirmed { appointments, .. } => appointments.clone(),
        HoldState::Chosen
        | HoldState::Unconfirmed(_)
        | HoldState::Overwritten
        | HoldState::Guessed => Vec::new(),
    }
}

/// Returns the slot of a hold, with the lengths that were decided.
fn held_slot(hold: &Hold) -> SlotRequest {
    let mut legs = Vec::with_capacity(hold.legs.len());
    for leg in &hold.legs {
        let length_seconds = i64::from(leg.length_seconds);
        legs.push(Leg { intervention_id: leg.intervention_id, length_seconds });
    }
    SlotRequest {
        chain: Chain::new(legs).expect("a hold has a leg"),
        start: hold.start,
        mode: BookingMode::ModuleByAccount,
        own: OwnTime { hold: Some(hold.id()), appointment: None },
    }
}
