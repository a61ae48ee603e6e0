//! Holds that end because a plage takes their time. Reference 6.7.
//!
//! The occurrences of a plage depend on the zone database. Therefore a decision finds these holds,
//! and its event names them. An appointment needs no zone: it ends the holds that it meets in
//! `apply`.

use crate::domain::records::hold::HoldId;
use crate::domain::records::vevent::{Vevent, VeventKind};
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;

/// Returns the live holds that an event ends as a plage, ascending by start; none if it is deleted
/// or no plage. Each hold to come of its calendar costs one look at the series.
pub(crate) fn find_holds_under(state: &GroupState, row: &Vevent, now: Instant) -> Vec<HoldId> {
    let VeventKind::Plage(series) = &row.kind else { return Vec::new() };
    if row.deleted {
        return Vec::new();
    }
    let view = state.calendars.get(&row.calendar_id).expect("an event's calendar exists");
    let zone = state.catalogue.zone();
    let mut met = Vec::new();
    for held in view.held.ending_after(now) {
        let mut occurrences = series.intervals_overlapping(zone, held.interval);
        if now < held.id.expires_at && occurrences.next().is_some() {
            met.push(held.id.id);
        }
    }
    met
}

/// Returns the live holds of all calendars that any plage meets, ascending by id. For the state
/// after a change of the time zone, which moves every plage.
pub(crate) fn find_holds_under_plages(state: &GroupState, now: Instant) -> Vec<HoldId> {
    let zone = state.catalogue.zone();
    let mut met = Vec::new();
    for hold in state.holds().iter() {
        if !hold.is_live(now) {
            continue;
        }
        let view = state.calendars.get(&hold.calendar_id).expect("a hold's calendar exists");
        if view.rules().plages_overlapping(zone, hold.interval()).next().is_some() {
            met.push(hold.id());
        }
    }
    met
}
