//! Decision of a cancellation. Reference 6.10.

use crate::domain::decisions::decision::{Context, Decision, Outcome};
use crate::domain::records::vevent::{Appointment, Vevent};
use crate::domain::state::command::{CancelAppointment, CancelRight};
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::{Refusal, Refusals};
use crate::domain::time::Instant;

/// Decides a cancellation. An appointment that is cancelled already stays so.
///
/// # Errors
/// NoResult if there is no such appointment, the account does not own it, or the secret is wrong.
/// MintimeAnnulation if a client is less than `mintime_annulation` minutes before the start.
pub fn decide(
    context: &mut Context<'_>,
    command: &CancelAppointment,
) -> Result<Decision, Refusals> {
    let Context { state, now, .. } = *context;
    let row = state.rows.get(&command.id).ok_or(Refusal::NoResult)?;
    let appointment = row.appointment().ok_or(Refusal::NoResult)?;
    if !is_entitled(&command.right, appointment) {
        return Err(Refusal::NoResult.into());
    }
    let outcome = Outcome::appointments(vec![command.id]);
    if row.deleted {
        return Ok(Decision::Unchanged(outcome));
    }
    if matches!(command.right, CancelRight::Account(_) | CancelRight::Secret(_)) {
        check_in_time(state, row, appointment, now)?;
    }
    let event = Event::AppointmentCancelled { at: context.stamp(), id: command.id };
    Ok(Decision::Event(event, outcome))
}

/// Whether a right covers an appointment.
pub(crate) fn is_entitled(right: &CancelRight, appointment: &Appointment) -> bool {
    match right {
        CancelRight::Pro => true,
        CancelRight::Account(account) => account.owns(appointment.fiche_id),
        CancelRight::Secret(secret) => appointment.key.matches(secret),
    }
}

/// Checks that a client may still cancel or move an appointment.
///
/// # Errors
/// MintimeAnnulation less than `mintime_annulation` minutes before the start.
pub(crate) fn check_in_time(
    state: &GroupState,
    row: &Vevent,
    appointment: &Appointment,
    now: Instant,
) -> Result<(), Refusal> {
    let until = changeable_until(state, row, appointment);
    if now > until { Err(Refusal::MintimeAnnulation { until }) } else { Ok(()) }
}

/// Returns the last moment at which a client may cancel or move an appointment. Reference 6.10.
pub fn changeable_until(state: &GroupState, row: &Vevent, appointment: &Appointment) -> Instant {
    let calendar =
        state.catalogue.calendars.get(&row.calendar_id).expect("an event's calendar exists");
    appointment.start.plus_minutes(-calendar.mintime_annulation.number())
}
