//! Decision of a move: another start for one appointment, by its client or with its secret.
//! Reference 6.13.
//!
//! [`prepare_move`] checks everything that needs no calendar. Then the appointment's calendar is
//! asked, and [`PendingMove::on_reply`] takes the verdict.

use crate::domain::availability::bookable::check_lead_times;
use crate::domain::availability::obstacle::Obstacle;
use crate::domain::availability::slot_request::{
    BookingMode, CalendarSlotRequest, Chain, Leg, OwnTime, SlotRequest,
};
use crate::domain::decisions::cancellation::{check_in_time, is_entitled};
use crate::domain::decisions::client_rules::check_client_rules;
use crate::domain::records::fault::Fault;
use crate::domain::records::ids::VeventId;
use crate::domain::records::vevent::{Appointment, Vevent, VeventKind};
use crate::domain::state::command::{CancelRight, MoveAppointment};
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::{Refusal, Refusals};
use crate::domain::time::{INSTANT_MAX, INSTANT_MIN, Instant};

/// A move that only the calendar can still refuse.
#[derive(Clone, Debug)]
pub struct PendingMove {
    /// The appointment after the move.
    row: Box<Vevent>,
    slot: CalendarSlotRequest,
}

impl PendingMove {
    /// Returns the slot and the calendar to ask for it.
    #[must_use]
    pub fn slot(&self) -> &CalendarSlotRequest {
        &self.slot
    }

    /// Returns the id of the appointment.
    #[must_use]
    pub fn id(&self) -> VeventId {
        self.row.id
    }

    /// Takes the verdict of the calendar and returns the event of the move.
    ///
    /// # Errors
    /// NotAvailable with the calendar's obstacles.
    pub fn on_reply(self, verdict: Result<(), Vec<Obstacle>>) -> Result<Event, Refusals> {
        match verdict {
            Ok(()) => {
                let (at, ended_holds) = (self.row.updated_at, Vec::new());
                Ok(Event::VeventPut { at, row: self.row, ended_holds })
            }
            Err(obstacles) => Err(vec![Refusal::NotAvailable { obstacles }]),
        }
    }
}

/// Returns the mode of a move of an appointment by this right. A professional is not bound by
/// `inactive`.
#[must_use]
pub fn move_mode(right: &CancelRight, row: &Vevent) -> BookingMode {
    match right {
        CancelRight::Pro => BookingMode::ModuleByPro,
        CancelRight::Account(_) => BookingMode::ModuleByAccount,
        CancelRight::Secret(_) => move_mode_by_secret(row),
    }
}

/// Returns the mode of a move by the appointment's secret. That of an appointment that was booked
/// with a key alone proves no more than the key.
#[must_use]
pub fn move_mode_by_secret(row: &Vevent) -> BookingMode {
    if row.is_booked_by_key() { BookingMode::Module } else { BookingMode::ModuleByAccount }
}

/// Returns the chain that a move books: the appointment's own intervention and length.
#[must_use]
pub fn moved_chain(appointment: &Appointment) -> Chain {
    let length_seconds = i64::from(appointment.length_seconds);
    let leg = Leg { intervention_id: appointment.intervention_id, length_seconds };
    Chain::new(vec![leg]).expect("one leg is a chain")
}

/// Checks everything that the calendar does not decide. Returns `None` if the start is the same.
///
/// # Errors
/// NoResult without the right to the appointment, InvalidParameter, MintimeAnnulation by the old
/// start, MintimeRdv or MaxRdvPeriod by the new one, then the refusals of the client's rules.
pub fn prepare_move(
    state: &GroupState,
    command: &MoveAppointment,
    now: Instant,
) -> Result<Option<PendingMove>, Refusals> {
    let (row, appointment) = find_movable(state, command).map_err(|refusal| vec![refusal])?;
    let start = state.catalogue.zone().instant_of(command.date);
    let own = OwnTime { hold: command.hold, appointment: Some(row.id) };
    let chain = moved_chain(appointment);
    let request = SlotRequest { chain, start, mode: move_mode(&command.right, row), own };
    if start < INSTANT_MIN || request.interval().end > INSTANT_MAX {
        let fault = Fault::new("date", "must lie in the years 1970 to 9999");
        return Err(vec![Refusal::InvalidParameter(fault)]);
    }
    if !matches!(command.right, CancelRight::Pro) {
        check_in_time(state, row, appointment, now).map_err(|refusal| vec![refusal])?;
    }
    if start == appointment.start {
        return Ok(None);
    }
    match check_lead_times(&state.catalogue, row.calendar_id, start, now) {
        Some(Obstacle::MintimeRdv { earliest }) => {
            return Err(vec![Refusal::MintimeRdv { earliest }]);
        }
        Some(Obstacle::MaxRdvPeriod { latest }) => {
            return Err(vec![Refusal::MaxRdvPeriod { latest }]);
        }
        Some(_) | None => {}
    }
    check_client_rules(state, appointment.fiche_id, &request, now)?;
    let mut moved = row.clone();
    if let VeventKind::Appointment(appointment) = &mut moved.kind {
        appointment.start = start;
        appointment.civil_start = state.catalogue.zone().civil_of(start);
    }
    moved.updated_at = state.stamp_for(now);
    moved.carry_over_reminders(Some(row), now);
    let slot = CalendarSlotRequest { calendar_id: row.calendar_id, request };
    Ok(Some(PendingMove { row: Box::new(moved), slot }))
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
