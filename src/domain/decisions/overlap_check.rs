//! Check that no two live appointments of a calendar overlap, after a change of the group's time
//! zone. Reference 6.15.

use crate::domain::availability::bookable::bookable;
use crate::domain::availability::obstacle::Obstacle;
use crate::domain::availability::slot_request::{
    BookingMode, CalendarSlotRequest, Chain, Leg, OwnTime, SlotRequest,
};
use crate::domain::records::vevent::{Appointment, Vevent};
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::{Refusal, Refusals};
use crate::domain::time::Instant;

/// Checks that each live appointment could be put where it is.
///
/// # Errors
/// ClocksOverlap for the appointment of the lowest id that overlaps another one.
pub(crate) fn check_no_overlaps(state: &GroupState, now: Instant) -> Result<(), Refusals> {
    for row in state.rows.values() {
        if row.deleted {
            continue;
        }
        let Some(appointment) = row.appointment() else { continue };
        let slot = slot_of_appointment(row, appointment);
        let view = state.calendars.get(&slot.calendar_id).expect("every calendar has a view");
        let Err(obstacles) = bookable(&state.catalogue, view, &slot.request, now) else { continue };
        let refusal = match obstacles.as_slice() {
            [Obstacle::Taken { id, .. }, ..] => {
                Refusal::ClocksOverlap { first: row.id, second: *id }
            }
            _ => Refusal::NotAvailable { obstacles },
        };
        return Err(vec![refusal]);
    }
    Ok(())
}

/// Returns the slot of an appointment, as the request of a manual change.
pub(crate) fn slot_of_appointment(row: &Vevent, appointment: &Appointment) -> CalendarSlotRequest {
    let length_seconds = i64::from(appointment.length_seconds);
    let leg = Leg { intervention_id: appointment.intervention_id, length_seconds };
    CalendarSlotRequest {
        calendar_id: row.calendar_id,
        request: SlotRequest {
            chain: Chain::new(vec![leg]).expect("one leg is a chain"),
            start: appointment.start,
            mode: BookingMode::Agenda(row.id),
            own: OwnTime::default(),
        },
    }
}
