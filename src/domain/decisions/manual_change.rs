//! Decision of a professional's change of the agenda: events created, changed, moved, deleted and
//! restored. Reference 6.14, 6.15.

use crate::domain::availability::slot_request::CalendarSlotRequest;
use crate::domain::decisions::decision::{Candidates, Context, Decision, Outcome};
use crate::domain::decisions::overlap_check::slot_of_appointment;
use crate::domain::decisions::plage_over_hold::find_holds_under;
use crate::domain::records::customfield::Model;
use crate::domain::records::fault::Fault;
use crate::domain::records::ids::VeventId;
use crate::domain::records::vevent::{Vevent, VeventKind};
use crate::domain::state::command::{PutVevent, VeventDraft, VeventDraws};
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::{Refusal, Refusals, refuse_faults};
use crate::domain::time::Instant;
use crate::planted_faults::PlantedFault;

/// Decides a change of the agenda. Its calendar is asked only if it takes new time.
///
/// # Errors
/// NoResult, then InvalidParameter.
pub fn decide(context: &mut Context<'_>, command: &PutVevent) -> Result<Decision, Refusals> {
    let Context { state, now, .. } = *context;
    let draws =
        VeventDraws { id: context.environment.vevent_id(0), key: context.environment.key() };
    let at = state.stamp_for(now);
    let (before, mut row) = match command {
        PutVevent::Make(draft) => {
            (None, draft.draw_up(state, None, &draws, at).map_err(refuse_faults)?)
        }
        PutVevent::Change(id, draft) => {
            let before = find_row(state, *id)?;
            let row = draft.draw_up(state, Some(before), &draws, at).map_err(refuse_faults)?;
            (Some(before), row)
        }
        PutVevent::Delete(id) => {
            let before = find_row(state, *id)?;
            (Some(before), Vevent { deleted: true, ..before.clone() })
        }
    };
    let outcome = Outcome::object(row.id.number());
    row.carry_over_reminders(before, now);
    if let Some(before) = before {
        row.lock_out_former_client(before, draws.key);
        row.keep_booking_origin(before);
        check_kind(before, &row)?;
        if *before == row {
            return Ok(Decision::Unchanged(outcome));
        }
    }
    check_client_is_live(state, before, &row)?;
    check_required_customs(state, before, &row).map_err(refuse_faults)?;
    row.updated_at = at;
    let slot = newly_taken_slot(before, &row);
    let ended_holds = find_holds_under(state, &row, now);
    let event = Event::VeventPut { at, row: Box::new(row), ended_holds };
    // An appointment may overlap another since a release of the zone database. A change that takes
    // no new time is not refused for that.
    match slot {
        Some(slot) => Ok(Candidates::one(slot).ask(|_, _| (event, outcome))),
        None => Ok(Decision::Event(event, outcome)),
    }
}

/// Decides to make several events, none of which is an appointment: all or none.
///
/// # Errors
/// InvalidParameter for each fault, by the place of its event in the list `vevents`.
pub(crate) fn decide_many(
    context: &mut Context<'_>,
    drafts: &[VeventDraft],
) -> Result<Decision, Refusals> {
    let at = context.stamp();
    let mut events = Vec::with_capacity(drafts.len());
    let mut faults = Vec::new();
    for (index, draft) in drafts.iter().enumerate() {
        let id = context.environment.vevent_id(index);
        let draws = VeventDraws { id, key: context.environment.key() };
        match draw_up_alone(context.state, draft, &draws, at) {
            Ok(row) => {
                let ended_holds = find_holds_under(context.state, &row, context.now);
                events.push(Event::VeventPut { at, row: Box::new(row), ended_holds });
            }
            Err(wrong) => {
                faults.extend(wrong.into_iter().map(|fault| {
                    Fault::new(format!("vevents[{index}].{}", fault.field), fault.rule)
                }))
            }
        }
    }
    if !faults.is_empty() {
        return Err(refuse_faults(faults));
    }
    let first = context.environment.vevent_id(0);
    let outcome = Outcome::object(first.number());
    Ok(Decision::Event(Event::BatchDone { at, events }, outcome))
}

/// Draws up a new event that takes no time from others.
fn draw_up_alone(
    state: &GroupState,
    draft: &VeventDraft,
    draws: &VeventDraws,
    at: Instant,
) -> Result<Vevent, Vec<Fault>> {
    let row = draft.draw_up(state, None, draws, at)?;
    if row.appointment().is_some() {
        let rule = "must be 0 here: appointments are made one by one, or in a batch";
        return Err(vec![Fault::new("fiche_id", rule)]);
    }
    check_client_is_live(state, None, &row).map_err(|fault| vec![fault])?;
    Ok(row)
}

pub(crate) fn find_row(state: &GroupState, id: VeventId) -> Result<&Vevent, Refusal> {
    match state.rows.get(&id) {
        Some(row) => Ok(row),
        None => Err(Refusal::NoResult),
    }
}

/// Checks that the event keeps its kind. A plage may become an appointment. Reference 6.14.
pub(crate) fn check_kind(before: &Vevent, row: &Vevent) -> Result<(), Fault> {
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
/// unless it becomes an appointment. Reference 6.14.
pub(crate) fn check_client_is_live(
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
        && let Some(rule) = fiche.closed_rule()
    {
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
