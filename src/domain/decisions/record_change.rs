//! Decisions about changes of the group's records by a professional, one record at a time.
//! Reference 12.

use crate::domain::decisions::overlap_check;
use crate::domain::decisions::plage_over_hold::find_holds_under_plages;
use crate::domain::directory::id_blocks::IdKind;
use crate::domain::records::calendar::{Calendar, Calendarset};
use crate::domain::records::customfield::Customfield;
use crate::domain::records::fault::Fault;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::group::Group;
use crate::domain::records::ids::{
    CalendarId, CalendarsetId, CustomfieldId, FicheId, InterventionId, InterventionsetId,
};
use crate::domain::records::intervention::{Intervention, Interventionset};
use crate::domain::records::vevent::Vevent;
use crate::domain::state::command::{Patch, Put, RecordChange};
use crate::domain::state::editable_record::EditableRecord;
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::{Refusal, Refusals};
use crate::domain::time::zone::Zone;
use crate::domain::time::{INSTANT_MAX, INSTANT_MIN, Instant};
use crate::planted_faults::PlantedFault;

/// Decides a change of a record; `None` if it changes nothing. `new_id` is the number of the
/// record, if one is made.
///
/// # Errors
/// NoResult if the record does not exist. InvalidParameter for each fault, by its field.
///
/// # Panics
/// If a record is made and `new_id` is out of range.
pub fn decide(
    state: &GroupState,
    change: &RecordChange,
    new_id: u64,
    now: Instant,
) -> Result<Option<Event>, Refusals> {
    match change {
        RecordChange::Group(fields) => change_group(state, fields, now),
        RecordChange::Fiche(put) => decide_put(state, put, new_id, now),
        RecordChange::Calendar(put) => decide_put(state, put, new_id, now),
        RecordChange::Calendarset(put) => decide_put(state, put, new_id, now),
        RecordChange::Intervention(put) => decide_put(state, put, new_id, now),
        RecordChange::Interventionset(put) => decide_put(state, put, new_id, now),
        RecordChange::Customfield(put) => decide_put(state, put, new_id, now),
        RecordChange::RemoveCalendarset(id) => {
            if Calendarset::find(state, *id).is_none() {
                return Err(vec![Refusal::NoResult]);
            }
            Ok(Some(Event::CalendarsetRemoved { at: state.stamp_for(now), id: *id }))
        }
        RecordChange::RemoveInterventionset(id) => {
            if Interventionset::find(state, *id).is_none() {
                return Err(vec![Refusal::NoResult]);
            }
            Ok(Some(Event::InterventionsetRemoved { at: state.stamp_for(now), id: *id }))
        }
    }
}

/// Returns the kind of ids that a change may use; `None` if it makes no record.
#[must_use]
pub fn new_id_kind(change: &RecordChange) -> Option<IdKind> {
    let kind = match change {
        RecordChange::Group(_)
        | RecordChange::RemoveCalendarset(_)
        | RecordChange::RemoveInterventionset(_) => return None,
        RecordChange::Fiche(_) => Fiche::KIND,
        RecordChange::Calendar(_) => Calendar::KIND,
        RecordChange::Calendarset(_) => Calendarset::KIND,
        RecordChange::Intervention(_) => Intervention::KIND,
        RecordChange::Interventionset(_) => Interventionset::KIND,
        RecordChange::Customfield(_) => Customfield::KIND,
    };
    Some(kind)
}

/// Returns the number of the record that a change is about; `None` for a new record and for the
/// group itself.
#[must_use]
pub fn existing_id(change: &RecordChange) -> Option<u64> {
    match change {
        RecordChange::Group(_) => None,
        RecordChange::Fiche(put) => put.id.map(FicheId::number),
        RecordChange::Calendar(put) => put.id.map(CalendarId::number),
        RecordChange::Calendarset(put) => put.id.map(CalendarsetId::number),
        RecordChange::Intervention(put) => put.id.map(InterventionId::number),
        RecordChange::Interventionset(put) => put.id.map(InterventionsetId::number),
        RecordChange::Customfield(put) => put.id.map(CustomfieldId::number),
        RecordChange::RemoveCalendarset(id) => Some(id.number()),
        RecordChange::RemoveInterventionset(id) => Some(id.number()),
    }
}

/// Makes the change that deletes a record by a mark on it.
pub fn deletion<R>(mark: impl Fn(&mut R) + Send + Sync + 'static) -> Patch<R> {
    let mut fields = Patch::default();
    fields.push(mark);
    fields
}

fn decide_put<R: EditableRecord>(
    state: &GroupState,
    put: &Put<R>,
    new_id: u64,
    now: Instant,
) -> Result<Option<Event>, Refusals> {
    let at = state.stamp_for(now);
    let (before, mut row) = match put.id {
        Some(id) => {
            let Some(before) = R::find(state, id) else { return Err(vec![Refusal::NoResult]) };
            (Some(before), before.clone())
        }
        None => {
            let id = R::id(new_id).expect("granted ids are in range");
            (None, R::blank(state, id, at))
        }
    };
    put.fields.apply_to(&mut row);
    if before == Some(&row) {
        return Ok(None);
    }
    let faults = row.faults(before, state);
    if !faults.is_empty() {
        return Err(faults.into_iter().map(Refusal::InvalidParameter).collect());
    }
    row.touch(before, at, now);
    Ok(Some(row.into_event(at)))
}

/// Decides a change of the group's own fields. Another time zone keeps local times: each
/// appointment and each UNTIL of a series gets the instant of its local time in the new zone. If
/// two live appointments of a calendar would then overlap, the change is refused. Reference 12.1.1.
fn change_group(
    state: &GroupState,
    fields: &Patch<Group>,
    now: Instant,
) -> Result<Option<Event>, Refusals> {
    let at = state.stamp_for(now);
    let before = &state.catalogue.group;
    let mut group = before.clone();
    fields.apply_to(&mut group);
    if group == *before {
        return Ok(None);
    }
    if group.name.is_blank() && !before.name.is_blank() {
        return Err(vec![Refusal::InvalidParameter(Fault::new("name", "must not be blank"))]);
    }
    group.updated_at = at;
    group.record_rescheduling(before, now);
    if group.timezone == before.timezone {
        let (group, resolved, ended_holds) = (Box::new(group), Vec::new(), Vec::new());
        return Ok(Some(Event::GroupChanged { at, group, resolved, ended_holds }));
    }
    let (old_zone, new_zone) = (before.timezone.zone(), group.timezone.zone());
    let mut resolved = Vec::new();
    for row in state.rows.values() {
        match resolve_in_zone(row, old_zone, new_zone) {
            Ok(Some(instant)) => resolved.push((row.id, instant)),
            Ok(None) => {}
            Err(fault) => {
                let rule = format!("event {} {fault} in this time zone: change it first", row.id);
                return Err(vec![Refusal::InvalidParameter(Fault::new("timezone", rule))]);
            }
        }
    }
    let group = Box::new(group);
    let next = state.apply(&Event::GroupChanged {
        at,
        group: group.clone(),
        resolved: resolved.clone(),
        ended_holds: Vec::new(),
    });
    if !PlantedFault::TimeZoneOverlapUnchecked.is_active() {
        overlap_check::check_no_overlaps(&next, now)?;
    }
    let ended_holds = find_holds_under_plages(&next, now);
    Ok(Some(Event::GroupChanged { at, group, resolved, ended_holds }))
}

/// Returns the new instant of an event when the group moves to another zone: the start of an
/// appointment, the UNTIL of a series. `None` if it stays the same or the event has none.
///
/// # Errors
/// A text that says which limit the event would break.
fn resolve_in_zone(
    row: &Vevent,
    old_zone: Zone,
    new_zone: Zone,
) -> Result<Option<Instant>, &'static str> {
    if let Some(appointment) = row.appointment() {
        let start = new_zone.instant_of(appointment.civil_start);
        let end = start.plus_seconds(i64::from(appointment.length_seconds));
        if start < INSTANT_MIN || end > INSTANT_MAX {
            return Err("would leave the years 1970 to 9999");
        }
        return Ok(if start == appointment.start { None } else { Some(start) });
    }
    let Some(series) = row.series() else { return Ok(None) };
    let until = series.in_zone(new_zone, old_zone)?.repeat_until();
    Ok(if until == series.repeat_until() { None } else { until })
}
