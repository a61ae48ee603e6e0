//! What a group's state needs from time to time though nobody asks for it: other rules of the zones, and an end of what
//! was deleted long ago.

use crate::domain::records::ids::VeventId;
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::zone::tzdata_version;
use crate::domain::time::{INSTANT_MAX, INSTANT_MIN, Instant};

/// Events that one step removes at most, so that it keeps nobody waiting.
pub const REMOVED_AT_ONCE: usize = 1_000;

/// What gives the appointments to come the instants that their wall clock means by this release's zone database, where
/// the state was made by another; `None` where it was not. An appointment whose instant still shows its wall clock keeps
/// it, as do those that are over. Overlaps that come of it stand: nobody can be asked.
///
/// ```
/// # use slotbook::domain::records::catalogue::Catalogue;
/// use slotbook::domain::records::group::Group;
/// use slotbook::domain::records::ids::GroupId;
/// use slotbook::domain::state::group_state::GroupState;
/// use slotbook::domain::time::Instant;
/// use slotbook::domain::state::upkeep;
/// # use slotbook::domain::time::zone_names::ZoneName;
/// # let group = Group::new(GroupId::new(1).unwrap(), ZoneName::from_name("Paris").unwrap(), Instant(0));
/// let mut state = GroupState::new(Catalogue::new(group));
/// assert!(upkeep::resolve(&state, Instant(0)).is_none());
/// state.tzdata = "2019a".into();
/// let state = state.apply(&upkeep::resolve(&state, Instant(0)).expect("another release"));
/// assert!(upkeep::resolve(&state, Instant(0)).is_none());
/// ```
#[must_use]
pub fn resolve(state: &GroupState, now: Instant) -> Option<Event> {
    if *state.tzdata == *tzdata_version() {
        return None;
    }
    let zone = state.catalogue.zone();
    let moved = state.rows.values().filter_map(|row| {
        let appointment = row.appointment().filter(|appointment| appointment.start >= now)?;
        if zone.civil_of(appointment.start) == appointment.civil_start {
            return None;
        }
        let start = zone.instant_of(appointment.civil_start);
        let end = start.plus_seconds(i64::from(appointment.length_seconds));
        (start != appointment.start && start >= INSTANT_MIN && end <= INSTANT_MAX)
            .then_some((row.id, start))
    });
    Some(Event::InstantsResolved {
        at: state.stamp_for(now),
        tzdata: tzdata_version().into(),
        resolved: moved.collect(),
    })
}

/// Events that were deleted before a moment and not touched since, ascending by id, [`REMOVED_AT_ONCE`] at most.
pub fn deleted_before(state: &GroupState, moment: Instant) -> Vec<VeventId> {
    let gone = state.rows.values().filter(|row| row.deleted && row.updated_at < moment);
    gone.map(|row| row.id).take(REMOVED_AT_ONCE).collect()
}

/// What removes those of some events for good that still are deleted, and were before a moment; `None` where none is.
#[must_use]
pub fn remove(
    state: &GroupState,
    ids: &[VeventId],
    moment: Instant,
    now: Instant,
) -> Option<Event> {
    let still = |id: &VeventId| {
        state.rows.get(id).is_some_and(|row| row.deleted && row.updated_at < moment)
    };
    let ids: Vec<VeventId> = ids.iter().copied().filter(still).collect();
    (!ids.is_empty()).then(|| Event::VeventsRemoved { at: state.stamp_for(now), ids })
}
