//! Decisions within a professional's role: what a command would change is compared with what the
//! role may write. Reference 3.9.

use crate::domain::decisions::decision::{Context, Decision};
use crate::domain::directory::roles::{GroupRight, ProRole};
use crate::domain::records::ids::{CalendarId, FicheId, RecordId as _, VeventId};
use crate::domain::state::command::{Command, CommandWithin};
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::history::ObservedChange;
use crate::domain::state::history::row::{HistoryField, HistoryVerb, ObjectKind};
use crate::domain::state::refusal::{Refusal, Refusals};

/// Decides a command, and refuses it if its event changes what the role may not write.
///
/// # Errors
/// Those of the command; the right that the role lacks.
pub(crate) fn decide(
    context: &mut Context<'_>,
    within: &CommandWithin,
    decide: fn(&mut Context<'_>, &Command) -> Result<Decision, Refusals>,
) -> Result<Decision, Refusals> {
    match decide(context, &within.command)? {
        Decision::Unchanged(outcome) => Ok(Decision::Unchanged(outcome)),
        Decision::Event(event, outcome) => {
            check(context.state, &event, &within.role)?;
            Ok(Decision::Event(event, outcome))
        }
        Decision::Ask(pending) => Ok(Decision::Ask(pending.within(&within.role, check)?)),
    }
}

/// Checks that a role may make all changes of an event.
///
/// # Errors
/// The right that it lacks.
pub(crate) fn check(state: &GroupState, event: &Event, role: &ProRole) -> Result<(), Refusal> {
    for change in state.observe(event) {
        check_change(state, &change, role)?;
    }
    if let Event::HoldMade { hold, .. } = event {
        check_calendar(hold.calendar_id, role)?;
    }
    event.carried().iter().try_for_each(|carried| check(state, carried, role))
}

fn check_change(
    state: &GroupState,
    change: &ObservedChange,
    role: &ProRole,
) -> Result<(), Refusal> {
    if change.verb == HistoryVerb::Read {
        return Ok(());
    }
    match change.object.kind {
        ObjectKind::Vevent => {
            let id = VeventId::from_number(change.object.id);
            let before = id.and_then(|id| state.rows.get(&id)).map(|row| row.calendar_id);
            before
                .into_iter()
                .chain(calendar_after(change))
                .try_for_each(|id| check_calendar(id, role))
        }
        ObjectKind::Fiche | ObjectKind::Account => {
            let known =
                FicheId::from_number(change.object.id).filter(|id| state.fiches.contains_key(id));
            match known {
                Some(id) if !state.lets_write_client(role, id) => {
                    Err(Refusal::lacking(GroupRight::Clients))
                }
                Some(_) | None => Ok(()),
            }
        }
        ObjectKind::Fiches
        | ObjectKind::Group
        | ObjectKind::Calendar
        | ObjectKind::Calendarset
        | ObjectKind::Intervention
        | ObjectKind::Interventionset
        | ObjectKind::Customfield => match role {
            ProRole::Administrator => Ok(()),
            ProRole::Reception | ProRole::Professional(_) => {
                Err(Refusal::lacking(GroupRight::Settings))
            }
        },
    }
}

/// The calendar that an event is on after a change, if it is another or the event is new.
fn calendar_after(change: &ObservedChange) -> Option<CalendarId> {
    let field = change.fields.iter().find(|field| field.field == HistoryField::CalendarId)?;
    CalendarId::from_number(field.after?.cast_unsigned())
}

fn check_calendar(calendar: CalendarId, role: &ProRole) -> Result<(), Refusal> {
    if role.writes_on(calendar) { Ok(()) } else { Err(Refusal::lacking(GroupRight::Agenda)) }
}
