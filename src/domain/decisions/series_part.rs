//! Decision on a change of a part of a series: one occurrence, or one and those after it.
//! Reference 6.18.

use crate::domain::decisions::decision::{Context, Decision, Outcome};
use crate::domain::decisions::manual_change::{check_client_is_live, check_kind, find_row};
use crate::domain::decisions::plage_over_hold::find_holds_under;
use crate::domain::records::fault::Fault;
use crate::domain::records::vevent::{Availability, Vevent, VeventKind};
use crate::domain::recurrence::{ExceptionsError, Series};
use crate::domain::state::command::{VeventDraft, VeventDraws};
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::put_vevent::{ChangePart, SeriesPart};
use crate::domain::state::refusal::{Refusals, refuse_faults};

/// A series, split in two.
struct Split {
    /// The part that the change is about.
    part: Series,
    /// The rest, which stays as it is; `None` if nothing is left.
    left: Option<Series>,
}

/// Decides a change of a part of a series. The part becomes an event of its own, and the series
/// loses it, in one event. A series of which nothing else is left is changed itself.
///
/// # Errors
/// NoResult without such an event, InvalidParameter for each fault.
pub(crate) fn decide(
    context: &mut Context<'_>,
    command: &ChangePart,
) -> Result<Decision, Refusals> {
    let state = context.state;
    let before = find_row(state, command.id)?;
    let split = split(state, before, command.part)?;
    match &command.draft {
        Some(draft) => change(context, before, split, draft),
        None => Ok(delete(context, before, split)),
    }
}

/// # Errors
/// A fault of `scope` or `occurrence`.
fn split(state: &GroupState, before: &Vevent, part: SeriesPart) -> Result<Split, Fault> {
    let zone = state.catalogue.zone();
    let Some(series) = before.series().filter(|series| series.rule().is_some()) else {
        let rule = "must be left out: this event does not repeat";
        return Err(Fault::new("scope", rule));
    };
    if before.deleted {
        return Err(Fault::new(
            "scope",
            "must be left out: the event is deleted, restore it first",
        ));
    }
    let (SeriesPart::One(day) | SeriesPart::Following(day)) = part;
    if !series.takes_place_on(zone, day) {
        let rule = "must be the date of an occurrence: the event does not begin on that day";
        return Err(Fault::new("occurrence", rule));
    }
    let left = match part {
        SeriesPart::One(_) => series.without_day(zone, day).map_err(refuse_exception)?,
        SeriesPart::Following(_) => series.cut_before(zone, day),
    };
    let part = match part {
        SeriesPart::One(_) => series.single_on(day),
        SeriesPart::Following(_) => series.rest_from(zone, day),
    };
    Ok(Split { part, left })
}

fn refuse_exception(error: ExceptionsError) -> Fault {
    Fault::new("occurrence", format!("{error}: cut the series instead"))
}

fn delete(context: &Context<'_>, before: &Vevent, split: Split) -> Decision {
    let at = context.stamp();
    let row = match split.left {
        Some(left) => Vevent { updated_at: at, ..with_series(before, left) },
        None => Vevent { updated_at: at, deleted: true, ..before.clone() },
    };
    let event = Event::VeventPut { at, row: Box::new(row), ended_holds: Vec::new() };
    Decision::Event(event, Outcome::object(before.id.number()))
}

fn change(
    context: &mut Context<'_>,
    before: &Vevent,
    split: Split,
    draft: &VeventDraft,
) -> Result<Decision, Refusals> {
    let state = context.state;
    let at = context.stamp();
    let draws =
        VeventDraws { id: context.environment.vevent_id(0), key: context.environment.key() };
    let base = with_series(before, split.part);
    let row = draft.draw_up(state, Some(&base), &draws, at).map_err(refuse_faults)?;
    check_kind(&base, &row)?;
    if row.appointment().is_some() {
        let rule = "must not be given with intervention_id: a part of a series keeps its kind";
        return Err(Fault::new("fiche_id", rule).into());
    }
    check_client_is_live(state, Some(&base), &row)?;
    if row == base {
        return Ok(Decision::Unchanged(Outcome::object(before.id.number())));
    }
    let ended_holds = find_holds_under(state, &row, context.now);
    let put = |row: Vevent, ended_holds| {
        let row = Box::new(Vevent { updated_at: at, ..row });
        Event::VeventPut { at, row, ended_holds }
    };
    let Some(left) = split.left else {
        let outcome = Outcome::object(before.id.number());
        return Ok(Decision::Event(put(row, ended_holds), outcome));
    };
    let left = put(with_series(before, left), Vec::new());
    let made = put(Vevent { id: draws.id, created_at: at, ..row }, ended_holds);
    let event = Event::BatchDone { at, events: vec![left, made] };
    Ok(Decision::Event(event, Outcome::object(draws.id.number())))
}

/// Returns an event with another series in place of its own.
fn with_series(row: &Vevent, series: Series) -> Vevent {
    let kind = match &row.kind {
        VeventKind::Plage(_) => VeventKind::Plage(Box::new(series)),
        VeventKind::Note(_) => VeventKind::Note(Box::new(series)),
        VeventKind::Availability(availability) => {
            let permits = availability.permits.clone();
            VeventKind::Availability(Box::new(Availability { series, permits }))
        }
        VeventKind::Appointment(_) => unreachable!("an appointment has no series"),
    };
    Vevent { kind, ..row.clone() }
}
