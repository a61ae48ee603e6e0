//! Deciding what a professional does to the agenda by hand: events made, changed, moved, deleted and restored. Reference 6.

use crate::domain::booking::bookable::{BookingMode, Chain, Leg, Obstacle, bookable};
use crate::domain::records::customfield::Model;
use crate::domain::records::ids::{CalendarId, VeventId};
use crate::domain::records::vevent::{Appointment, Vevent, VeventKind};
use crate::domain::state::command::{PutVevent, VeventDraws};
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::{Fault, Refusal, Refusals};
use crate::domain::time::Instant;

/// An event that nothing but its calendar can still refuse.
#[derive(Clone, Debug)]
pub struct Placing {
    /// The group's stamp of it.
    at: Instant,
    /// The event as it would be.
    row: Box<Vevent>,
    /// The time it would newly take, if it would take any.
    pub room: Option<Room>,
}

/// A time to be asked of a calendar.
#[derive(Clone, Debug)]
pub struct Room {
    /// Whose time it is.
    pub calendar: CalendarId,
    /// The appointment, as a chain of one.
    pub chain: Chain,
    /// When it would start.
    pub start: Instant,
    /// Which rules hold: those of a professional's own hand.
    pub channel: BookingMode,
}

impl Placing {
    /// Which event it is about.
    #[must_use]
    pub fn id(&self) -> VeventId {
        self.row.id
    }

    /// What has happened once the calendar, where one had to be asked, has agreed.
    #[must_use]
    pub fn placed(self) -> Event {
        Event::VeventPut { at: self.at, row: self.row }
    }
}

/// The refusal when the calendar cannot take it.
#[must_use]
pub fn not_available(obstacles: Vec<Obstacle>) -> Refusals {
    vec![Refusal::NotAvailable { obstacles }]
}

/// Decides a change of the agenda on a state whose calendars answer at once; `None` where it changes nothing.
///
/// # Errors
/// NoResult, InvalidParameter, NotAvailable, in this order.
pub fn decide(
    state: &GroupState,
    command: &PutVevent,
    draws: &VeventDraws,
    now: Instant,
) -> Result<Option<Event>, Refusals> {
    let Some(placing) = open(state, command, draws, now)? else { return Ok(None) };
    if let Some(room) = &placing.room {
        let view = state.calendars.get(&room.calendar).expect("every calendar has a view");
        bookable(&state.catalogue, view, &room.chain, room.start, now, room.channel)
            .map_err(not_available)?;
    }
    Ok(Some(placing.placed()))
}

/// Everything but the calendar's own word; `None` where nothing would change. A calendar is asked where a live
/// appointment takes time that it did not take before: made, moved or restored.
///
/// # Errors
/// As [`decide`], save NotAvailable.
pub fn open(
    state: &GroupState,
    command: &PutVevent,
    draws: &VeventDraws,
    now: Instant,
) -> Result<Option<Placing>, Refusals> {
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
    row.carry_over_reminders(before, now);
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
    let room = newly_taken(before, &row);
    Ok(Some(Placing { at, row: Box::new(row), room }))
}

fn faulty(faults: Vec<Fault>) -> Refusals {
    faults.into_iter().map(Refusal::InvalidParameter).collect()
}

/// Kinds do not change, save that a plage given a client and an intervention becomes an appointment.
fn kind_stays(before: &Vevent, row: &Vevent) -> Result<(), Fault> {
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
    let missing = state.catalogue.required_customfields(Model::Vevent, true);
    let missing =
        missing.filter(|name| customs.is_none_or(|customs| customs.value(*name).is_none()));
    let faults: Vec<Fault> =
        missing.map(|name| Fault::new(name.to_string(), "this attribute is required")).collect();
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

fn newly_taken(before: Option<&Vevent>, row: &Vevent) -> Option<Room> {
    let appointment = row.appointment().filter(|_| !row.deleted)?;
    let stood = before.filter(|before| !before.deleted && before.calendar_id == row.calendar_id);
    let stood = stood.and_then(|before| before.appointment()).map(|before| before.interval());
    if stood == Some(appointment.interval()) {
        return None;
    }
    Some(room_of(row, appointment))
}

/// Asks every live appointment's calendar whether it may stand where it stands.
///
/// # Errors
/// ClocksOverlap for the first that meets another.
pub(crate) fn all_stand_free(state: &GroupState, now: Instant) -> Result<(), Refusals> {
    for row in state.rows.values().filter(|row| !row.deleted) {
        let Some(appointment) = row.appointment() else { continue };
        let room = room_of(row, appointment);
        let view = state.calendars.get(&room.calendar).expect("every calendar has a view");
        bookable(&state.catalogue, view, &room.chain, room.start, now, room.channel)
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
fn room_of(row: &Vevent, appointment: &Appointment) -> Room {
    let length_seconds = i64::from(appointment.length_seconds);
    let leg = Leg { intervention_id: appointment.intervention_id, length_seconds };
    Room {
        calendar: row.calendar_id,
        chain: Chain::new(vec![leg]).expect("one leg is a chain"),
        start: appointment.start,
        channel: BookingMode::Agenda(row.id),
    }
}
