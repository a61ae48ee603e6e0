//! Deciding a cancellation. Reference 13.8, 6.

use crate::domain::state::command::{CancelAppointment, CancelRight};
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::Refusal;
use crate::domain::time::Instant;

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
/// NoResult where there is no such appointment, it is not the account's or the secret is not its own; MintimeAnnulation where a client comes
/// later than the calendar allows (exactly `mintime_annulation` minutes before is in time).
pub fn decide(
    state: &GroupState,
    command: &CancelAppointment,
    now: Instant,
) -> Result<Cancellation, Refusal> {
    let row = state.rows.get(&command.id).ok_or(Refusal::NoResult)?;
    let appointment = row.appointment().ok_or(Refusal::NoResult)?;
    let entitled = match &command.right {
        CancelRight::Pro => true,
        CancelRight::Account(account) => account.owns(appointment.fiche_id),
        CancelRight::Secret(secret) => appointment.key.matches(secret),
    };
    if !entitled {
        return Err(Refusal::NoResult);
    }
    if row.deleted {
        return Ok(Cancellation::AlreadyCancelled);
    }
    if matches!(command.right, CancelRight::Account(_) | CancelRight::Secret(_)) {
        let calendar =
            state.catalogue.calendars.get(&row.calendar_id).expect("an event's calendar exists");
        let until = appointment.start.plus_minutes(-calendar.mintime_annulation.number());
        if now > until {
            return Err(Refusal::MintimeAnnulation { until });
        }
    }
    Ok(Cancellation::Cancelled(Event::AppointmentCancelled {
        at: state.stamp_for(now),
        id: command.id,
    }))
}
