//! Deciding what a professional does to the agenda by hand: events made, changed, moved, deleted and restored. Reference 6.

use crate::domain::booking::bookable::bookable;
use crate::domain::booking::obstacle::Obstacle;
use crate::domain::booking::slot_request::{
    BookingMode, CalendarSlotRequest, Chain, Leg, SlotRequest,
};
use crate::domain::records::customfield::Model;
use crate::domain::records::ids::VeventId;
use crate::domain::records::vevent::{Appointment, Kind, Vevent};
use crate::domain::state::command::{PutVevent, VeventDraws};
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::{Fault, Refusal, Refusals};
use crate::domain::time::Instant;

/// An event that nothing but its calendar can still refuse.
#[derive(Clone, Debug)]
pub struct PendingManualChange {
    /// The group's stamp of it.
    at: Instant,
    /// The event as it would be.
    row: Box<Vevent>,
    /// Slot it would newly take, if it would take any.
    slot: Option<CalendarSlotRequest>,
}

impl PendingManualChange {
    /// Which event it is about.
    #[must_use]
    pub fn id(&self) -> VeventId {
        self.row.id
    }

    /// Returns the slot to ask its calendar for; `None` where the change takes no new time.
    #[must_use]
    pub fn slot(&self) -> Option<&CalendarSlotRequest> {
        self.slot.as_ref()
    }

    /// Takes the calendar's verdict on the slot.
    ///
    /// # Errors
    /// NotAvailable with the calendar's obstacles.
    pub fn on_reply(self, verdict: Result<(), Vec<Obstacle>>) -> Result<Event, Refusals> {
        match verdict {
            Ok(()) => Ok(self.into_event()),
            Err(obstacles) => Err(not_available(obstacles)),
        }
    }

    /// Returns the event of the change. A change with a slot needs its calendar's agreement first.
    #[must_use]
    pub fn into_event(self) -> Event {
        Event::VeventPut { at: self.at, row: self.row }
    }
}

fn not_available(obstacles: Vec<Obstacle>) -> Refusals {
    vec![Refusal::NotAvailable { obstacles }]
}

/// Checks everything that the calendar does not decide; `None` where nothing would change. A calendar is asked where a live
/// appointment takes time that it did not take before: made, moved or restored.
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
    let find = |id| state.rows.get(id).map(AsRef::as_ref).ok_or_else(|| vec![Refusal::NoResult]);
    let (before, mut row) = match command {
        PutVevent::Make(draft) => (None, draft.draw_up(state, None, draws, at).map_err(faulty)?),
        PutVevent::Change(id, draft) => {
            let before = find(id)?;
            (Some(before), draft.draw_up(state, Some(before), draws, at).map_err(faulty)?)
        }
        PutVevent::Delete(id) => {
            let before = find(id)?;
            (Some(before), Vevent { deleted: true, ..before.clone() })
        }
    };
    row.take_over_reminders(before, now);
    if let Some(before) = before {
        row.lock_out_former_client(before, draws.key);
        kind_stays(before, &row).map_err(|fault| faulty(vec![fault]))?;
        if *before == row {
            return Ok(None);
        }
    }
    client_is_live(state, before, &row).map_err(|fault| faulty(vec![fault]))?;
    demanded_customs(state, before, &row).map_err(faulty)?;
    row.updated_at = at;
    let slot = newly_taken(before, &row);
    Ok(Some(PendingManualChange { at, row: Box::new(row), slot }))
}

fn faulty(faults: Vec<Fault>) -> Refusals {
    faults.into_iter().map(Refusal::InvalidParameter).collect()
}

/// Kinds do not change, save that a plage given a client and an intervention becomes an appointment.
fn kind_stays(before: &Vevent, row: &Vevent) -> Result<(), Fault> {
    let field = match (&before.kind, &row.kind) {
        (Kind::Appointment(_), Kind::Appointment(_))
        | (Kind::Plage(_), Kind::Plage(_) | Kind::Appointment(_))
        | (Kind::Availability(_), Kind::Availability(_))
        | (Kind::Note(_), Kind::Note(_)) => return Ok(()),
        (Kind::Appointment(_), _) => "fiche_id",
        (Kind::Availability(_), _) | (Kind::Plage(_), Kind::Availability(_)) => "type",
        (Kind::Note(_), _) | (Kind::Plage(_), Kind::Note(_)) => "note",
    };
    Err(Fault::new(
        field,
        "an event keeps its kind, save that a plage given fiche_id and intervention_id becomes an appointment",
    ))
}

/// Nothing is newly arranged with a client whose record is deleted; what stands may stand on. Reference 6.
fn client_is_live(state: &GroupState, before: Option<&Vevent>, row: &Vevent) -> Result<(), Fault> {
    let Some(client) = row.appointment().map(|appointment| appointment.fiche_id) else {
        return Ok(());
    };
    let same = before
        .and_then(|before| before.appointment())
        .is_some_and(|before| before.fiche_id == client);
    if same || state.fiches.get(&client).is_none_or(|fiche| !fiche.deleted) {
        return Ok(());
    }
    Err(Fault::new("fiche_id", format!("fiche {client} is deleted: restore it first")))
}

/// An event that becomes an appointment must have what the group demands of one. Reference 9.
fn demanded_customs(
    state: &GroupState,
    before: Option<&Vevent>,
    row: &Vevent,
) -> Result<(), Vec<Fault>> {
    if row.appointment().is_none() || before.is_some_and(|before| before.appointment().is_some()) {
        return Ok(());
    }
    let customs = row.rare.as_ref().map(|rare| &rare.customs);
    let missing = state.catalogue.demanded(Model::Vevent, true);
    let missing =
        missing.filter(|name| customs.is_none_or(|customs| customs.value(*name).is_none()));
    let faults: Vec<Fault> =
        missing.map(|name| Fault::new(name.to_string(), "this attribute is required")).collect();
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

fn newly_taken(before: Option<&Vevent>, row: &Vevent) -> Option<CalendarSlotRequest> {
    let appointment = row.appointment().filter(|_| !row.deleted)?;
    let stood = before.filter(|before| !before.deleted && before.calendar_id == row.calendar_id);
    let stood = stood.and_then(|before| before.appointment()).map(|before| before.interval());
    if stood == Some(appointment.interval()) {
        return None;
    }
    Some(slot_of(row, appointment))
}

/// Asks every live appointment's calendar whether it may stand where it stands.
///
/// # Errors
/// ClocksOverlap for the first that meets another.
pub(crate) fn all_stand_free(state: &GroupState, now: Instant) -> Result<(), Refusals> {
    for row in state.rows.values().filter(|row| !row.deleted) {
        let Some(appointment) = row.appointment() else { continue };
        let slot = slot_of(row, appointment);
        let view = state.calendars.get(&slot.calendar_id).expect("every calendar has a view");
        bookable(&state.catalogue, view, &slot.request, now)
            .map_err(|obstacles| clocks_overlap(row.id, obstacles))?;
    }
    Ok(())
}

fn clocks_overlap(first: VeventId, obstacles: Vec<Obstacle>) -> Refusals {
    match obstacles.as_slice() {
        [Obstacle::Taken { id, .. }, ..] => vec![Refusal::ClocksOverlap { first, second: *id }],
        _ => not_available(obstacles),
    }
}

/// The time that an appointment takes, as a question.
fn slot_of(row: &Vevent, appointment: &Appointment) -> CalendarSlotRequest {
    let length_seconds = i64::from(appointment.length_seconds);
    let leg = Leg { intervention_id: appointment.intervention_id, length_seconds };
    CalendarSlotRequest {
        calendar_id: row.calendar_id,
        request: SlotRequest {
            chain: Chain::new(vec![leg]).expect("one leg is a chain"),
            start: appointment.start,
            mode: BookingMode::Agenda(row.id),
        },
    }
}
