//! Deciding a cancellation. Spec 4.8, contract 6.

use super::command::{CancelAppointment, CancelRight};
use super::event::Event;
use super::refusal::Refusal;
use super::root::Root;
use super::time::Instant;

/// What a cancellation does to the group.
#[derive(Clone, Debug, PartialEq)]
pub enum Cancellation {
    /// The appointment gives its time back.
    Cancelled(Event),
    /// It had been cancelled before.
    AlreadyCancelled,
}

/// Decides a cancellation.
///
/// # Errors
/// NoResult where there is no such appointment or the secret is not its own; MintimeAnnulation where a client comes
/// later than the calendar allows (exactly `mintime_annulation` minutes before is in time).
pub fn decide(root: &Root, command: &CancelAppointment, now: Instant) -> Result<Cancellation, Refusal> {
    let row = root.rows.get(&command.id).ok_or(Refusal::NoResult)?;
    let appointment = row.appointment().ok_or(Refusal::NoResult)?;
    if let CancelRight::Secret(secret) = &command.right
        && !appointment.key.matches(secret)
    {
        return Err(Refusal::NoResult);
    }
    if row.deleted {
        return Ok(Cancellation::AlreadyCancelled);
    }
    if let CancelRight::Secret(_) = command.right {
        let calendar = root.catalogue.calendars.get(&row.calendar_id).expect("an event's calendar exists");
        let until = appointment.start.plus_minutes(-calendar.mintime_annulation.number());
        if now > until {
            return Err(Refusal::MintimeAnnulation { until });
        }
    }
    Ok(Cancellation::Cancelled(Event::AppointmentCancelled { at: root.stamp_for(now), id: command.id }))
}
