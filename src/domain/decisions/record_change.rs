//! Decisions about changes of the group's records by a professional, one record at a time.
//! Reference 12.

use crate::domain::decisions::decision::{Context, Decision, Outcome};
use crate::domain::decisions::fiche_merge;
use crate::domain::decisions::image_change;
use crate::domain::decisions::overlap_check;
use crate::domain::decisions::plage_over_hold::find_holds_under_plages;
use crate::domain::records::calendar::Calendarset;
use crate::domain::records::fault::Fault;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::group::Group;
use crate::domain::records::ids::RecordId as _;
use crate::domain::records::intervention::Interventionset;
use crate::domain::records::vevent::Vevent;
use crate::domain::state::command::{FicheByExternid, Patch, Put, RecordChange};
use crate::domain::state::editable_record::EditableRecord;
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::{Refusal, Refusals, refuse_faults};
use crate::domain::time::zone::Zone;
use crate::domain::time::{INSTANT_MAX, INSTANT_MIN, Instant};
use crate::planted_faults::PlantedFault;

/// Decides a change of a record.
///
/// # Errors
/// NoResult if the record does not exist. InvalidParameter for each fault, by its field.
pub fn decide(context: &mut Context<'_>, change: &RecordChange) -> Result<Decision, Refusals> {
    let Context { state, now, .. } = *context;
    match change {
        RecordChange::Group(fields) => {
            Ok(Decision::new(change_group(state, fields, now)?, Outcome::default()))
        }
        RecordChange::Fiche(put) => decide_put(context, put),
        RecordChange::FicheByExternid(FicheByExternid { externid, fields }) => {
            let id = find_by_externid(state, *externid)?.map(|fiche| fiche.id);
            decide_put(context, &Put { id, fields: fields.clone() })
        }
        RecordChange::MergeFiches(command) => fiche_merge::decide(context, command),
        RecordChange::Calendar(put) => decide_put(context, put),
        RecordChange::Calendarset(put) => decide_put(context, put),
        RecordChange::Intervention(put) => decide_put(context, put),
        RecordChange::Interventionset(put) => decide_put(context, put),
        RecordChange::Customfield(put) => decide_put(context, put),
        RecordChange::RemoveCalendarset(id) => {
            Calendarset::find(state, *id).ok_or(Refusal::NoResult)?;
            let event = Event::CalendarsetRemoved { at: context.stamp(), id: *id };
            Ok(Decision::Event(event, Outcome::object(id.number())))
        }
        RecordChange::RemoveInterventionset(id) => {
            Interventionset::find(state, *id).ok_or(Refusal::NoResult)?;
            let event = Event::InterventionsetRemoved { at: context.stamp(), id: *id };
            Ok(Decision::Event(event, Outcome::object(id.number())))
        }
        RecordChange::SetImage(slot, image) => image_change::decide_set(context, *slot, image),
        RecordChange::RemoveImage(slot) => image_change::decide_removal(context, *slot),
    }
}

fn decide_put<R: EditableRecord>(
    context: &mut Context<'_>,
    put: &Put<R>,
) -> Result<Decision, Refusals> {
    let number = match put.id {
        Some(id) => id.to_number(),
        None => context.environment.id(R::KIND, 0, 0),
    };
    let id = R::Id::from_number(number).expect("unused ids are in range");
    let before = R::find(context.state, id);
    if put.id.is_some() && before.is_none() {
        return Err(Refusal::NoResult.into());
    }
    let event = put_record(context.state, id, before, &put.fields, context.now)?;
    Ok(Decision::new(event, Outcome::object(number)))
}

/// Finds the client with an identifier of another system. A deleted one counts only if no other has
/// it: a shop deletes the doubles of a client.
///
/// # Errors
/// ExternidHeldTwice if several have it.
pub fn find_by_externid(state: &GroupState, externid: i64) -> Result<Option<&Fiche>, Refusal> {
    let mut holders: Vec<&Fiche> = state.fiches_of_externid(externid).map(AsRef::as_ref).collect();
    if holders.iter().any(|fiche| !fiche.deleted) {
        holders.retain(|fiche| !fiche.deleted);
    }
    match holders[..] {
        [first, second, ..] => {
            Err(Refusal::ExternidHeldTwice { first: first.id, second: second.id })
        }
        [holder] => Ok(Some(holder)),
        [] => Ok(None),
    }
}

/// Makes the change that deletes a record by a mark on it.
pub fn deletion<R>(mark: impl Fn(&mut R) + Send + Sync + 'static) -> Patch<R> {
    let mut fields = Patch::default();
    fields.push(mark);
    fields
}

/// Makes the event that sets fields of a record, or makes it. `None` if nothing changes.
///
/// # Errors
/// InvalidParameter for each fault, by its field.
pub(crate) fn put_record<R: EditableRecord>(
    state: &GroupState,
    id: R::Id,
    before: Option<&R>,
    fields: &Patch<R>,
    now: Instant,
) -> Result<Option<Event>, Refusals> {
    let at = state.stamp_for(now);
    let mut row = match before {
        Some(before) => before.clone(),
        None => R::blank(state, id, at),
    };
    fields.apply_to(&mut row);
    if before == Some(&row) {
        return Ok(None);
    }
    let faults = row.faults(before, state);
    if !faults.is_empty() {
        return Err(refuse_faults(faults));
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
        return Err(Fault::new("name", "must not be blank").into());
    }
    group.updated_at = at;
    group.record_rescheduling(before, now);
    if group.timezone == before.timezone {
        return Ok(Some(Event::GroupChanged {
            at,
            group: Box::new(group),
            resolved: Vec::new(),
            ended_holds: Vec::new(),
        }));
    }
    let old_zone = before.timezone.zone();
    let new_zone = group.timezone.zone();
    let mut resolved = Vec::new();
    for row in state.rows.values() {
        match resolve_in_zone(row, old_zone, new_zone) {
            Ok(Some(instant)) => resolved.push((row.id, instant)),
            Ok(None) => {}
            Err(fault) => {
                let rule = format!("event {} {fault} in this time zone: change it first", row.id);
                return Err(Fault::new("timezone", rule).into());
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
