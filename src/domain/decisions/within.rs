//! Decisions within a professional's role: what a command would change is compared with what the
//! role may write. Reference 3.9.

use crate::domain::decisions::calendarfeed;
use crate::domain::decisions::decision::{Context, Decision, Outcome, RoleCheck};
use crate::domain::directory::roles::{GroupRight, ProRole};
use crate::domain::records::fault::Fault;
use crate::domain::records::ids::{CalendarId, FicheId, RecordId as _, VeventId};
use crate::domain::records::vevent::Vevent;
use crate::domain::state::command::{Command, CommandWithin, RecordChange};
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
    if matches!(within.command, Command::CloseAccounts(_)) {
        return Err(Refusal::lacking(GroupRight::Keys).into());
    }
    if let Command::ChangeCalendarfeed(change) = &within.command {
        calendarfeed::check_role(context.state, change, &within.role)?;
    }
    let names_no_client = matches!(
        &within.command,
        Command::BookAppointment(booking) if booking.client.id.is_none()
    );
    let check: RoleCheck = if names_no_client { check_booking_by_details } else { check };
    match decide(context, &within.command)? {
        Decision::Unchanged(outcome) => {
            check_unchanged(context.state, &within.command, &outcome, &within.role)?;
            Ok(Decision::Unchanged(outcome))
        }
        Decision::Event(event, outcome) => {
            check(context.state, &event, &within.role)?;
            Ok(Decision::Event(event, outcome))
        }
        Decision::Ask(pending) => Ok(Decision::Ask(pending.within(&within.role, check)?)),
    }
}

/// Checks a change of a client that leaves the record as it is: the answer shows it.
fn check_unchanged(
    state: &GroupState,
    command: &Command,
    outcome: &Outcome,
    role: &ProRole,
) -> Result<(), Refusal> {
    let Command::ChangeRecord(RecordChange::Fiche(_) | RecordChange::FicheByExternid(_)) = command
    else {
        return Ok(());
    };
    let known = FicheId::from_number(outcome.object).filter(|id| state.fiches.contains_key(id));
    match known {
        Some(id) if !state.lets_write_client(role, id) => {
            Err(Refusal::lacking(GroupRight::Clients))
        }
        Some(_) | None => Ok(()),
    }
}

/// Checks a booking that does not name its client by the id. A client whom the professional does
/// not read is not found by other details: the booking would open the record.
fn check_booking_by_details(
    state: &GroupState,
    event: &Event,
    role: &ProRole,
) -> Result<(), Refusal> {
    if let Event::AppointmentsBooked { legs, .. } = event {
        for client in legs.iter().filter_map(Vevent::fiche_id) {
            if state.fiches.contains_key(&client) && !state.shows_client(&role.sight(), client) {
                let rule = "is a client of the group: give the id of the fiche";
                return Err(Refusal::InvalidParameter(Fault::new("fiche", rule)));
            }
        }
    }
    event
        .carried()
        .iter()
        .try_for_each(|carried| check_booking_by_details(state, carried, role))?;
    check(state, event, role)
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
    match change.verb {
        HistoryVerb::Read => return Ok(()),
        HistoryVerb::Merged | HistoryVerb::Erased if matches!(role, ProRole::Professional(_)) => {
            return Err(Refusal::lacking(GroupRight::Clients));
        }
        HistoryVerb::Begun
        | HistoryVerb::Made
        | HistoryVerb::Changed
        | HistoryVerb::Deleted
        | HistoryVerb::Restored
        | HistoryVerb::Removed
        | HistoryVerb::Emptied
        | HistoryVerb::Merged
        | HistoryVerb::Erased => {}
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
        // Its command was checked.
        ObjectKind::Calendarfeed => Ok(()),
        ObjectKind::Fiches
        | ObjectKind::Group
        | ObjectKind::Calendar
        | ObjectKind::Calendarset
        | ObjectKind::Intervention
        | ObjectKind::Interventionset
        | ObjectKind::Customfield
        | ObjectKind::Webhook => match role {
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
