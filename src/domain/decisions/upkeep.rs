//! Maintenance of a group's state: a new release of the zone database, and the emptying and removal
//! of events that were deleted long ago. Reference 8.

use std::collections::BTreeMap;

use crate::domain::decisions::decision::{Context, Decision, Outcome};
use crate::domain::records::ids::{FicheId, VeventId};
use crate::domain::records::vevent::Vevent;
use crate::domain::state::command::{EmptyCancelled, EndHistory, RemoveDeleted};
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::history::KEPT_DAYS_MIN;
use crate::domain::state::refusal::Refusals;
use crate::domain::time::zone::tzdata_version;
use crate::domain::time::{DAY, INSTANT_MAX, INSTANT_MIN, Instant};

/// Maximum number of events that one step removes. It bounds the delay of other commands.
pub const REMOVED_PER_STEP_MAX: usize = 1_000;
/// Maximum number of deleted web bookings that one step deals with.
pub const EMPTIED_PER_STEP_MAX: usize = 500;

/// Makes the event that moves upcoming appointments to the instants of their local times by this
/// release of the zone database. `None` if the state was made by the same release.
///
/// An appointment keeps its instant if that still has the same local time, or if it is past.
/// Overlaps that result are kept.
///
/// ```
/// # use slotbook::domain::availability::catalogue::Catalogue;
/// use slotbook::domain::records::group::Group;
/// use slotbook::domain::records::ids::GroupId;
/// use slotbook::domain::state::group_state::GroupState;
/// use slotbook::domain::time::Instant;
/// use slotbook::domain::decisions::upkeep;
/// # use slotbook::domain::time::zone_names::ZoneName;
/// # let paris = ZoneName::from_name("Paris").unwrap();
/// # let group = Group::new(GroupId::new(1).unwrap(), paris, Instant(0));
/// let mut state = GroupState::new(Catalogue::new(group));
/// assert!(upkeep::resolve_instants(&state, Instant(0)).is_none());
/// state.tzdata = "2019a".into();
/// let event = upkeep::resolve_instants(&state, Instant(0)).expect("another release");
/// let state = state.apply(&event);
/// assert!(upkeep::resolve_instants(&state, Instant(0)).is_none());
/// ```
#[must_use]
pub fn resolve_instants(state: &GroupState, now: Instant) -> Option<Event> {
    if *state.tzdata == *tzdata_version() {
        return None;
    }
    let zone = state.catalogue.zone();
    let mut resolved = Vec::new();
    for row in state.rows.values() {
        let Some(appointment) = row.appointment() else { continue };
        if appointment.start < now || zone.civil_of(appointment.start) == appointment.civil_start {
            continue;
        }
        let start = zone.instant_of(appointment.civil_start);
        let end = start.plus_seconds(i64::from(appointment.length_seconds));
        let is_in_range = start >= INSTANT_MIN && end <= INSTANT_MAX;
        if start != appointment.start && is_in_range {
            resolved.push((row.id, start));
        }
    }
    let tzdata = tzdata_version().into();
    Some(Event::InstantsResolved { at: state.stamp_for(now), tzdata, resolved })
}

/// Finds events that were deleted and last changed before a moment, ascending by id. Returns at
/// most [`REMOVED_PER_STEP_MAX`].
pub fn find_deleted_before(state: &GroupState, moment: Instant) -> Vec<VeventId> {
    let mut found = Vec::new();
    for row in state.rows.values() {
        if found.len() == REMOVED_PER_STEP_MAX {
            break;
        }
        if is_deleted_before(row, moment) {
            found.push(row.id);
        }
    }
    found
}

/// Decides that events are removed for good, as far as they were deleted and last changed before a
/// moment.
///
/// # Errors
/// None: it is never refused.
pub fn decide_removal(
    context: &mut Context<'_>,
    command: &RemoveDeleted,
) -> Result<Decision, Refusals> {
    let mut removed = Vec::with_capacity(command.ids.len());
    for id in &command.ids {
        // The event may have been restored since it was found.
        if let Some(row) = context.state.rows.get(id)
            && is_deleted_before(row, command.before)
        {
            removed.push(*id);
        }
    }
    if removed.is_empty() {
        return Ok(Decision::Unchanged(Outcome::default()));
    }
    let event = Event::VeventsRemoved { at: context.stamp(), ids: removed };
    Ok(Decision::Event(event, Outcome::default()))
}

/// Returns the moment before which rows of the history are no longer kept.
pub fn history_end(state: &GroupState, now: Instant) -> Instant {
    let days = state.catalogue.group.history_days.number().max(KEPT_DAYS_MIN);
    now.plus_seconds(-days * DAY)
}

/// Decides that rows of the history that are no longer kept end, about 1,000 at most. They end in
/// groups of some dozens, all of which must be old.
pub fn decide_history_end(context: &mut Context<'_>, command: &EndHistory) -> Decision {
    let before = history_end(context.state, command.now);
    match context.state.history.end_of_step(before) {
        Some(below) => {
            Decision::Event(Event::HistoryEnded { at: context.stamp(), below }, Outcome::default())
        }
        None => Decision::Unchanged(Outcome::default()),
    }
}

fn is_deleted_before(row: &Vevent, moment: Instant) -> bool {
    row.deleted && row.updated_at < moment
}

/// Decides that the oldest deleted web bookings are emptied, as far as they were deleted before a
/// moment, and the clients that never had others. Reference 6.16.
///
/// # Errors
/// None: it is never refused.
pub fn decide_emptying(
    context: &mut Context<'_>,
    command: &EmptyCancelled,
) -> Result<Decision, Refusals> {
    let state = context.state;
    let mut last = None;
    let mut vevents = Vec::new();
    let mut fiches = Vec::new();
    // The bookings of each client that wait after those of this step.
    let mut waiting_after: BTreeMap<FicheId, u32> = BTreeMap::new();
    let due = state.cancelled().deleted_before(command.before);
    for (place, client) in due.take(EMPTIED_PER_STEP_MAX) {
        last = Some(place);
        let (_, id) = place;
        if state.rows.get(&id).is_some_and(|row| row.rare.is_some()) {
            vevents.push(id);
        }
        let waiting =
            waiting_after.entry(client).or_insert_with(|| state.cancelled().count_waiting(client));
        *waiting -= 1;
        if *waiting == 0 && had_cancelled_only(state, client) {
            fiches.push(client);
        }
    }
    let Some(until) = last else { return Ok(Decision::Unchanged(Outcome::default())) };
    let event = Event::CancelledEmptied { at: context.stamp(), until, vevents, fiches };
    Ok(Decision::Event(event, Outcome::default()))
}

/// Returns the number of deleted web bookings that the next step of [`decide_emptying`] deals with.
pub fn count_cancelled_before(state: &GroupState, moment: Instant) -> usize {
    state.cancelled().deleted_before(moment).take(EMPTIED_PER_STEP_MAX).count()
}

/// Whether a client without waiting cancelled bookings came by a web booking, has no appointments
/// but cancelled web bookings, is named by no other event, has no account, and has not been changed
/// since, but for an unsubscription.
fn had_cancelled_only(state: &GroupState, client: FicheId) -> bool {
    let Some(fiche) = state.fiches.get(&client) else { return false };
    let has_account = match &fiche.email {
        Some(email) => state.accounts.contains_key(&email.folded()),
        None => false,
    };
    fiche.from_web
        && fiche.is_as_made()
        && !has_account
        && state.appointments_of(client).is_empty()
        && !state.cancelled().has_events_by_hand(client)
}
