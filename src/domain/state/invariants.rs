//! Invariants of a state, checked from its records: appointments of a calendar do not overlap, and
//! every reference has a target. Reference 8.

use std::fmt;

use crate::domain::records::calendarfeed::FeedTarget;
use crate::domain::records::ids::{CalendarId, InterventionId, VeventId};
use crate::domain::records::vevent::{Permits, Vevent, VeventKind};
use crate::domain::state::group_state::GroupState;
use crate::domain::time::interval_set::Interval;
use crate::planted_faults::PlantedFault;

/// An invariant that a state breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BrokenInvariant {
    /// Two live appointments of one calendar overlap.
    Overlap {
        /// The calendar.
        calendar: CalendarId,
        /// The earlier appointment.
        first: VeventId,
        /// The later appointment.
        second: VeventId,
        /// The time of the later appointment.
        interval: Interval,
    },
    /// A hold keeps time that a live appointment takes.
    HeldAndTaken {
        /// The calendar.
        calendar: CalendarId,
        /// The appointment.
        appointment: VeventId,
        /// The time of the hold.
        interval: Interval,
    },
    /// A record refers to one that does not exist.
    Missing {
        /// The referring record, such as "event 7".
        from: String,
        /// The missing record, such as "calendar 3".
        to: String,
    },
}

impl fmt::Display for BrokenInvariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overlap { calendar, first, second, interval } => {
                let seconds = (interval.start.0, interval.end.0);
                write!(
                    f,
                    "appointments {first} and {second} of calendar {calendar} overlap, the second at {seconds:?}"
                )
            }
            Self::HeldAndTaken { calendar, appointment, interval } => {
                let seconds = (interval.start.0, interval.end.0);
                write!(
                    f,
                    "appointment {appointment} of calendar {calendar} takes the time {seconds:?} of a hold"
                )
            }
            Self::Missing { from, to } => write!(f, "{from} refers to {to}, which does not exist"),
        }
    }
}

/// Finds all broken invariants. A state made by commands alone has none.
pub fn find_broken(state: &GroupState) -> Vec<BrokenInvariant> {
    let mut broken = find_overlaps(state);
    broken.extend(find_taken_holds(state));
    broken.extend(find_missing(state));
    broken
}

/// Finds the live appointments that overlap an earlier one of their calendar.
pub fn find_overlaps(state: &GroupState) -> Vec<BrokenInvariant> {
    let mut found = Vec::new();
    for (calendar, view) in &state.calendars {
        let mut taken = view.taken().iter();
        let Some(mut longest) = taken.next() else { continue };
        for next in taken {
            if next.interval.start < longest.interval.end {
                found.push(BrokenInvariant::Overlap {
                    calendar: *calendar,
                    first: longest.id,
                    second: next.id,
                    interval: next.interval,
                });
            }
            if longest.interval.end < next.interval.end
                || PlantedFault::OnlyNeighboursChecked.is_active()
            {
                longest = next;
            }
        }
    }
    found
}

/// Finds the holds whose time a live appointment takes: an appointment ends the holds it meets.
fn find_taken_holds(state: &GroupState) -> Vec<BrokenInvariant> {
    let mut found = Vec::new();
    for hold in state.holds().iter() {
        if !hold.keeps_time() {
            continue;
        }
        let calendar = hold.calendar_id;
        let interval = hold.interval();
        let Some(view) = state.calendars.get(&calendar) else { continue };
        for taken in view.taken().overlapping(interval) {
            let appointment = taken.id;
            found.push(BrokenInvariant::HeldAndTaken { calendar, appointment, interval });
        }
    }
    found
}

fn find_missing(state: &GroupState) -> Vec<BrokenInvariant> {
    let mut found = missing_in_catalogue(state);
    for hold in state.holds().iter() {
        for leg in &hold.legs {
            if !state.catalogue.interventions.contains_key(&leg.intervention_id) {
                let to = format!("intervention {}", leg.intervention_id);
                found.push(BrokenInvariant::Missing { from: "a hold".to_owned(), to });
            }
        }
    }
    for feed in state.calendarfeeds.iter() {
        if let FeedTarget::Calendar(calendar) = feed.target
            && !state.catalogue.calendars.contains_key(&calendar)
        {
            let from = format!("calendar feed {}", feed.id);
            found.push(BrokenInvariant::Missing { from, to: format!("calendar {calendar}") });
        }
    }
    for fiche in state.fiches.values() {
        let Some(kept) = fiche.merged_into else { continue };
        if state.fiches.get(&kept).is_none_or(|kept| kept.merged_into.is_some()) {
            let to = format!("fiche {kept}, as one that is kept");
            found.push(BrokenInvariant::Missing { from: format!("fiche {}", fiche.id), to });
        }
    }
    for row in state.rows.values() {
        for to in missing_of_vevent(state, row) {
            found.push(BrokenInvariant::Missing { from: format!("event {}", row.id), to });
        }
    }
    found
}

fn missing_in_catalogue(state: &GroupState) -> Vec<BrokenInvariant> {
    let catalogue = &state.catalogue;
    let mut found = Vec::new();
    for calendar in catalogue.calendars.values() {
        let from = format!("calendar {}", calendar.id);
        if let Some(set) = calendar.calendarset_id
            && !catalogue.calendarsets.contains_key(&set)
        {
            let to = format!("calendarset {set}");
            found.push(BrokenInvariant::Missing { from: from.clone(), to });
        }
        if !state.calendars.contains_key(&calendar.id) {
            found.push(BrokenInvariant::Missing { from, to: "its own time".to_owned() });
        }
    }
    for intervention in catalogue.interventions.values() {
        if let Some(set) = intervention.interventionset_id
            && !catalogue.interventionsets.contains_key(&set)
        {
            let from = format!("intervention {}", intervention.id);
            let to = format!("interventionset {set}");
            found.push(BrokenInvariant::Missing { from, to });
        }
    }
    found
}

/// The missing records that a vevent refers to.
fn missing_of_vevent(state: &GroupState, row: &Vevent) -> Vec<String> {
    let catalogue = &state.catalogue;
    let mut missing = Vec::new();
    if !catalogue.calendars.contains_key(&row.calendar_id) {
        missing.push(format!("calendar {}", row.calendar_id));
    }
    if let Some(client) = row.fiche_id()
        && !state.fiches.contains_key(&client)
    {
        missing.push(format!("fiche {client}"));
    }
    let mut permitted: &[InterventionId] = &[];
    if let VeventKind::Availability(availability) = &row.kind
        && let Permits::Only(ids) = &availability.permits
    {
        permitted = ids;
    }
    let named = row.intervention_id();
    for id in named.iter().chain(permitted) {
        if !catalogue.interventions.contains_key(id) {
            missing.push(format!("intervention {id}"));
        }
    }
    missing
}
