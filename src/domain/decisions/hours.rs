//! Decision on the weekly opening hours of a calendar. Reference 6.17.

use crate::domain::availability::weekly_hours::{
    OpeningPlan, WeeklyRange, plan_openings, read_ranges, sort_ranges,
};
use crate::domain::decisions::decision::{Context, Decision, Outcome};
use crate::domain::records::fault::Fault;
use crate::domain::records::ids::VeventId;
use crate::domain::records::vevent::{OptionalFields, Vevent, VeventKind};
use crate::domain::state::event::Event;
use crate::domain::state::put_vevent::{PutHours, ROWS_MAX};
use crate::domain::state::refusal::{Refusal, Refusals};

/// Decides to replace the availabilities that rows of a week express. Those that open a part of
/// the new hours stay as they are. Others get new times before any is deleted or made.
///
/// # Errors
/// NoResult without such a calendar; InvalidParameter for more than [`ROWS_MAX`] availabilities.
pub(crate) fn decide(context: &mut Context<'_>, put: &PutHours) -> Result<Decision, Refusals> {
    let state = context.state;
    let view = state.calendars.get(&put.calendar_id).ok_or(Refusal::NoResult)?;
    let zone = state.catalogue.zone();
    let at = context.stamp();
    let outcome = Outcome::object(put.calendar_id.number());
    let mut present = Vec::new();
    for row in view.rules().availabilities() {
        if let Some(ranges) = read_ranges(row, zone) {
            present.push((row.as_ref(), ranges));
        }
    }
    if open_the_same(&present, &put.ranges) {
        return Ok(Decision::Unchanged(outcome));
    }
    let mut plans = plan_openings(&put.ranges);
    let mut replaced = Vec::new();
    for (row, ranges) in &present {
        match plans.iter().position(|plan| plan.ranges() == *ranges) {
            Some(place) => drop(plans.remove(place)),
            None => replaced.push(*row),
        }
    }
    let number = plans.len().max(replaced.len());
    if number > ROWS_MAX {
        let rule =
            format!("would change {number} availabilities; at most {ROWS_MAX} in one change");
        return Err(Fault::new("rows", rule).into());
    }
    let mut replaced = replaced.into_iter();
    let mut events = Vec::with_capacity(number);
    let mut made = 0;
    for plan in &plans {
        let kind = open(context, plan)?;
        let row = match replaced.next() {
            Some(row) => Vevent { kind, updated_at: at, ..row.clone() },
            None => {
                let id = context.environment.vevent_id(made);
                made += 1;
                new_row(id, put, kind, context)
            }
        };
        events.push(put_event(row, context));
    }
    for row in replaced {
        let row = Vevent { deleted: true, updated_at: at, ..row.clone() };
        events.push(put_event(row, context));
    }
    Ok(Decision::Event(Event::BatchDone { at, events }, outcome))
}

/// Returns whether availabilities open these ranges and no others.
fn open_the_same(present: &[(&Vevent, Vec<WeeklyRange>)], wanted: &[WeeklyRange]) -> bool {
    let mut ranges: Vec<WeeklyRange> = Vec::new();
    for (_, opened) in present {
        ranges.extend_from_slice(opened);
    }
    sort_ranges(&mut ranges);
    ranges == wanted
}

fn open(context: &Context<'_>, plan: &OpeningPlan) -> Result<VeventKind, Fault> {
    match plan.to_availability(context.state.catalogue.zone()) {
        Ok(availability) => Ok(VeventKind::Availability(Box::new(availability))),
        Err(error) => Err(Fault::new("rows", error.to_string())),
    }
}

fn new_row(id: VeventId, put: &PutHours, kind: VeventKind, context: &Context<'_>) -> Vevent {
    let at = context.stamp();
    let rare = OptionalFields { taker: put.taker.clone(), ..OptionalFields::default() };
    Vevent {
        id,
        calendar_id: put.calendar_id,
        kind,
        deleted: false,
        created_at: at,
        updated_at: at,
        rare: rare.boxed(),
    }
}

fn put_event(row: Vevent, context: &Context<'_>) -> Event {
    Event::VeventPut { at: context.stamp(), row: Box::new(row), ended_holds: Vec::new() }
}
