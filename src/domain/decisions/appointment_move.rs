//! Decision of a move: another start for one appointment, by its client or with its secret.
//! Reference 6.9.

use crate::domain::availability::slot_request::{
    BookingMode, CalendarSlotRequest, Chain, Leg, OwnTime, SlotRequest,
};
use crate::domain::decisions::cancellation::{check_in_time, is_entitled};
use crate::domain::decisions::candidates::check_lead_times;
use crate::domain::decisions::client_rules::check_client_rules;
use crate::domain::decisions::decision::{Candidates, Context, Decision, Outcome};
use crate::domain::records::fault::Fault;
use crate::domain::records::vevent::{Appointment, Vevent, VeventKind};
use crate::domain::state::command::{CancelRight, MoveAppointment};
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::{Refusal, Refusals};
use crate::domain::time::{INSTANT_MAX, INSTANT_MIN, Instant};

/// Returns the mode of a move of an appointment by this right. A professional is not bound by
/// `inactive`.
pub fn move_mode(right: &CancelRight, row: &Vevent) -> BookingMode {
    match right {
        CancelRight::Pro => BookingMode::ModuleByPro,
        CancelRight::Account(_) => BookingMode::ModuleByAccount,
        CancelRight::Secret(_) => move_mode_by_secret(row),
    }
}

/// Returns the mode of a move by the appointment's secret. That of an appointment that was booked
/// with a key alone proves no more than the key.
pub fn move_mode_by_secret(row: &Vevent) -> BookingMode {
    if row.is_booked_by_key() { BookingMode::Module } else { BookingMode::ModuleByAccount }
}

/// Returns the chain that a move books: the appointment's own intervention and length.
pub fn moved_chain(appointment: &Appointment) -> Chain {
    let length_seconds = i64::from(appointment.length_seconds);
    let leg = Leg { intervention_id: appointment.intervention_id, length_seconds };
    Chain::new(vec![leg]).expect("one leg is a chain")
}

/// Decides a move.
///
/// # Errors
/// Those of [`find_new_slot`]; MintimeRdv or MaxRdvPeriod by the new start; then those of the
/// client's rules.
pub fn decide(context: &mut Context<'_>, command: &MoveAppointment) -> Result<Decision, Refusals> {
    let Context { state, now, .. } = *context;
    let outcome = Outcome::appointments(vec![command.id]);
    // The same start again is no move: it needs neither lead time nor room.
    let Some(request) = find_new_slot(state, command, now)? else {
        return Ok(Decision::Unchanged(outcome));
    };
    let (row, appointment) = find_movable(state, command)?;
    check_lead_times(state, &[row.calendar_id], &request, now)?;
    check_client_rules(state, appointment.fiche_id, &request, row.booking_source(), now)?;
    let mut moved = row.clone();
    if let VeventKind::Appointment(appointment) = &mut moved.kind {
        appointment.start = request.start;
        appointment.civil_start = state.catalogue.zone().civil_of(request.start);
    }
    let at = context.stamp();
    moved.updated_at = at;
    moved.carry_over_reminders(Some(row), now);
    let event = Event::VeventPut { at, row: Box::new(moved), ended_holds: Vec::new() };
    let slot = CalendarSlotRequest { calendar_id: row.calendar_id, request };
    Ok(Candidates::one(slot).ask(|_, _| (event, outcome)))
}

/// Returns the slot that a move asks for; `None` if the appointment starts then already.
///
/// # Errors
/// NoResult without the right to the appointment; InvalidParameter; MintimeAnnulation by the old
/// start.
pub fn find_new_slot(
    state: &GroupState,
    command: &MoveAppointment,
    now: Instant,
) -> Result<Option<SlotRequest>, Refusals> {
    let (row, appointment) = find_movable(state, command)?;
    let start = state.catalogue.zone().instant_of(command.date);
    let own = OwnTime { hold: command.hold, appointment: Some(row.id) };
    let chain = moved_chain(appointment);
    let request = SlotRequest { chain, start, mode: move_mode(&command.right, row), own };
    if start < INSTANT_MIN || request.interval().end > INSTANT_MAX {
        return Err(Fault::new("date", "must lie in the years 1970 to 9999").into());
    }
    if !matches!(command.right, CancelRight::Pro) {
        check_in_time(state, row, appointment, now)?;
    }
    Ok(if start == appointment.start { None } else { Some(request) })
}

/// Finds the appointment that a caller has the right to move.
///
/// # Errors
/// NoResult without the right to it; InvalidParameter if it is cancelled.
pub(crate) fn find_movable<'r>(
    state: &'r GroupState,
    command: &MoveAppointment,
) -> Result<(&'r Vevent, &'r Appointment), Refusal> {
    let row = state.rows.get(&command.id).ok_or(Refusal::NoResult)?;
    let appointment = row.appointment().ok_or(Refusal::NoResult)?;
    if !is_entitled(&command.right, appointment) {
        return Err(Refusal::NoResult);
    }
    if row.deleted {
        let rule = "is cancelled: book another appointment";
        return Err(Refusal::InvalidParameter(Fault::new("id", rule)));
    }
    Ok((row, appointment))
}
