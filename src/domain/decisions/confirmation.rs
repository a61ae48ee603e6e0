//! Decision of a confirmation: the code first, then the client's rules, then the calendar.
//! Reference 6.8.
//!
//! Time, lead times and grid were decided when the time was held. The calendar is asked only for
//! what professionals have changed since.

use crate::domain::availability::slot_request::{
    BookingMode, CalendarSlotRequest, Chain, Leg, OwnTime, SlotRequest,
};
use crate::domain::decisions::book::{AppointmentContent, draw_up_legs};
use crate::domain::decisions::client_rules::check_client_rules;
use crate::domain::decisions::decision::{Candidates, Context, Decision, Outcome};
use crate::domain::decisions::unconfirmed::find_confirmed_client;
use crate::domain::records::booking_origin::ClientProof;
use crate::domain::records::fault::Fault;
use crate::domain::records::hold::{Hold, HoldState, UnconfirmedBooking};
use crate::domain::records::ids::{FicheId, VeventId};
use crate::domain::records::vevent::{BookingComments, OptionalFields};
use crate::domain::state::command::ConfirmBooking;
use crate::domain::state::event::Event;
use crate::domain::state::refusal::{Refusal, Refusals};
use crate::planted_faults::PlantedFault;

/// The rule of the refusal for a token without a booking that waits.
const NO_SUCH_BOOKING: &str =
    "is not the token of a booking that waits for its code: book again to get another code";

/// Decides a confirmation.
///
/// # Errors
/// InvalidParameter on `token` without a booking that waits; NotAvailable if a professional has
/// taken the time; the refusals that are about the client.
pub fn decide(context: &mut Context<'_>, command: &ConfirmBooking) -> Result<Decision, Refusals> {
    let Context { state, now, .. } = *context;
    let hold = state.holds().get(command.hold).ok_or_else(no_such_booking)?;
    let booking = match &hold.state {
        HoldState::Unconfirmed(_) if !hold.is_live(now) => return Err(no_such_booking().into()),
        HoldState::Unconfirmed(booking) => Some(booking),
        HoldState::Confirmed { .. } => None,
        HoldState::Overwritten => {
            return Err(Refusal::NotAvailable { obstacles: Vec::new() }.into());
        }
        HoldState::Chosen | HoldState::Guessed => return Err(no_such_booking().into()),
    };
    let is_right = match &command.code {
        Some(code) => code.matches(&command.guess),
        None => false,
    };
    // A wrong code is no refusal: it is counted, which takes an event.
    if !is_right {
        let event = Event::CodeRefused { at: context.stamp(), id: command.hold };
        return Ok(Decision::Event(event, Outcome::default()));
    }
    // The same token and code again get the same answer, since the first one may have been lost.
    let Some(booking) = booking else {
        let made = confirmed_appointments(hold);
        return Ok(Decision::Unchanged(Outcome::appointments(made)));
    };
    let client = find_confirmed_client(state, booking, context.environment.fiche_id(), now)?;
    let request = held_slot(hold);
    check_client_rules(state, client.fiche_id, &request, None, now)?;
    // The rules of the module were checked when the time was held. Only an event that came since
    // refuses it.
    let slot = CalendarSlotRequest {
        calendar_id: hold.calendar_id,
        request: SlotRequest { mode: BookingMode::BackOffice, ..request },
    };
    let content = draw_up_content(booking, client.fiche_id);
    let id = command.hold;
    Ok(Candidates::one(slot).ask(move |context, slot| {
        let legs = draw_up_legs(context, slot, &content);
        let outcome = Outcome::booked(&legs);
        let at = context.stamp();
        (Event::BookingConfirmed { at, id, fiche: client.written, legs }, outcome)
    }))
}

/// Returns the fields that all appointments of a confirmed booking share.
fn draw_up_content(booking: &UnconfirmedBooking, fiche_id: FicheId) -> AppointmentContent {
    let mut booking_origin = booking.booking_origin.clone();
    if let Some(origin) = &mut booking_origin
        && !PlantedFault::CodeProofDropped.is_active()
    {
        origin.proof = ClientProof::by_code(booking.channel);
    }
    let rare = OptionalFields {
        booking_comments: BookingComments::record(booking.comments.clone(), &booking.comments),
        comments: booking.comments.clone(),
        websource: booking.websource.clone(),
        customs: booking.customs.clone(),
        ..OptionalFields::default()
    };
    AppointmentContent {
        fiche_id,
        smsreminder: booking.smsreminder,
        from_web: true,
        rare,
        booking_origin,
    }
}

fn no_such_booking() -> Fault {
    Fault::new("token", NO_SUCH_BOOKING)
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
