//! Decision of a professional's change of the agenda: events created, changed, moved, deleted and
//! restored. Reference 6.8, 6.9.
//!
//! [`prepare_manual_change`] checks everything that needs no calendar. If the change takes new
//! time, its calendar is asked, and [`PendingManualChange::on_reply`] takes the verdict.

use crate::domain::availability::obstacle::Obstacle;
use crate::domain::availability::slot_request::CalendarSlotRequest;
use crate::domain::decisions::overlap_check::slot_of_appointment;
use crate::domain::decisions::plage_over_hold::find_holds_under;
use crate::domain::records::customfield::Model;
use crate::domain::records::fault::Fault;
use crate::domain::records::hold::HoldId;
use crate::domain::records::ids::VeventId;
use crate::domain::records::vevent::{Vevent, VeventKind};
use crate::domain::state::command::{PutVevent, VeventDraws};
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::{Refusal, Refusals};
use crate::domain::time::Instant;
use crate::planted_faults::PlantedFault;

/// A change of an event that only its calendar can still refuse.
#[derive(Clone, Debug)]
pub struct PendingManualChange {
    /// Stamp of the change.
    at: Instant,
    /// The event after the change.
    row: Box<Vevent>,
    /// The slot that the change newly takes; `None` if it takes no new time.
    slot: Option<CalendarSlotRequest>,
    /// The holds that the event ends as a plage.
    ended_holds: Vec<HoldId>,
}

impl PendingManualChange {
    /// Returns the id of the event.
    #[must_use]
    pub fn id(&self) -> VeventId {
        self.row.id
    }

    /// Returns the slot to ask its calendar for; `None` if the change takes no new time.
    #[must_use]
    pub fn slot(&self) -> Option<&CalendarSlotRequest> {
        self.slot.as_ref()
    }

    /// Takes the calendar's verdict on the slot and returns the event of the change.
    ///
    /// # Errors
    /// NotAvailable with the calendar's obstacles.
    pub fn on_reply(self, verdict: Result<(), Vec<Obstacle>>) -> Result<Event, Refusals> {
        match verdict {
            Ok(()) => Ok(self.into_event()),
            Err(obstacles) => Err(vec![Refusal::NotAvailable { obstacles }]),
        }
    }

    /// Returns the event of the change. If it has a slot, its calendar must have agreed.
    #[must_use]
    pub fn into_event(self) -> Event {
        Event::VeventPut { at: self.at, row: self.row, ended_holds: self.ended_holds }
    }
}

/// Checks everything that the calendar does not decide. Returns `None` if nothing would change.
///
/// # Errors
/// NoResult, then InvalidParameter.
pub fn prepare_manual_change(
    state: &GroupState,
    command: &PutVevent,
    draws: &VeventDraws,
    now: Instant,
) -> Result<Option<PendingManualChange>, Refusals> {
    let at = state.stamp_for(now);
    let (before, mut row) = match command {
        PutVevent::Make(draft) => {
            (None, draft.draw_up(state, None, draws, at).map_err(refuse_faults)?)
        }
        PutVevent::Change(id, draft) => {
            let before = find_row(state, *id)?;
            let row = draft.draw_up(state, Some(before), draws, at).map_err(refuse_faults)?;
            (Some(before), row)
        }
        PutVevent::Delete(id) => {
            let before = find_row(state, *id)?;
            (Some(before), Vevent { deleted: true, ..before.clone() })
        }
    };
    row.carry_over_reminders(before, now);
    if let Some(before) = before {
        row.lock_out_former_client(before, draws.key);
        row.keep_web_origin(before);
        check_kind(before, &row).map_err(refuse_fault)?;
        if *before == row {
            return Ok(None);
        }
    }
    check_client_is_live(state, before, &row).map_err(refuse_fault)?;
    check_required_customs(state, before, &row).map_err(refuse_faults)?;
    row.updated_at = at;
    let slot = newly_taken_slot(before, &row);
    let ended_holds = find_holds_under(state, &row, now);
    Ok(Some(PendingManualChange { at, row: Box::new(row), slot, ended_holds }))
}

fn find_row(state: &GroupState, id: VeventId) -> Result<&Vevent, Refusals> {
    match state.rows.get(&id) {
        Some(row) => Ok(row),
        None => Err(vec![Refusal::NoResult]),
    }
}

fn refuse_fault(fault: Fault) -> Refusals {
    vec![Refusal::InvalidParameter(fault)]
}

fn refuse_faults(faults: Vec<Fault>) -> Refusals {
    faults.into_iter().map(Refusal::InvalidParameter).collect()
}

/// Checks that the event keeps its kind. A plage may become an appointment. Reference 6.8.
fn check_kind(before: &Vevent, row: &Vevent) -> Result<(), Fault> {
    let field = match (&before.kind, &row.kind) {
        (VeventKind::Appointment(_), VeventKind::Appointment(_))
        | (VeventKind::Plage(_), VeventKind::Plage(_) | VeventKind::Appointment(_))
        | (VeventKind::Availability(_), VeventKind::Availability(_))
        | (VeventKind::Note(_), VeventKind::Note(_)) => return Ok(()),
        (VeventKind::Appointment(_), _) => "fiche_id",
        (VeventKind::Availability(_), _) | (VeventKind::Plage(_), VeventKind::Availability(_)) => {
            "type"
        }
        (VeventKind::Note(_), _) | (VeventKind::Plage(_), VeventKind::Note(_)) => "note",
    };
    Err(Fault::new(
        field,
        "an event keeps its kind; only a plage given fiche_id and intervention_id becomes an appointment",
    ))
}

/// Checks that no event is given to a deleted fiche. An event may stay with the fiche that it has,
/// unless it becomes an appointment. Reference 6.8.
fn check_client_is_live(
    state: &GroupState,
    before: Option<&Vevent>,
    row: &Vevent,
) -> Result<(), Fault> {
    let Some(client) = row.fiche_id() else { return Ok(()) };
    if let Some(before) = before
        && before.fiche_id() == Some(client)
        && before.appointment().is_some() == row.appointment().is_some()
    {
        return Ok(());
    }
    if let Some(fiche) = state.fiches.get(&client)
        && fiche.deleted
    {
        let rule = format!("fiche {client} is deleted: restore it first");
        return Err(Fault::new("fiche_id", rule));
    }
    Ok(())
}

/// Checks that an event that becomes an appointment has the required attributes. Reference 9.
fn check_required_customs(
    state: &GroupState,
    before: Option<&Vevent>,
    row: &Vevent,
) -> Result<(), Vec<Fault>> {
    if row.appointment().is_none() {
        return Ok(());
    }
    if let Some(before) = before
        && before.appointment().is_some()
    {
        return Ok(());
    }
    let mut faults = Vec::new();
    for name in state.catalogue.required_customfields(Model::Vevent, true) {
        let value = match &row.rare {
            Some(rare) => rare.customs.value(name),
            None => None,
        };
        if value.is_none() {
            faults.push(Fault::new(name.to_string(), "this attribute is required"));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// Returns the slot of a live appointment that is new, moved or restored. `None` if the event takes
/// no time, or the same time as before.
fn newly_taken_slot(before: Option<&Vevent>, row: &Vevent) -> Option<CalendarSlotRequest> {
    if row.deleted {
        return None;
    }
    let appointment = row.appointment()?;
    if let Some(before) = before
        && (!before.deleted || PlantedFault::RestoreUnchecked.is_active())
        && (before.calendar_id == row.calendar_id || PlantedFault::MoveUnchecked.is_active())
        && let Some(appointment_before) = before.appointment()
        && appointment_before.interval() == appointment.interval()
    {
        return None;
    }
    Some(slot_of_appointment(row, appointment))
}
