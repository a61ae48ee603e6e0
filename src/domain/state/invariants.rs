//! What every state has to keep, checked from the outside: no hour is given away twice, and nothing refers to what is
//! not there. Reference 8.

use std::fmt;

use crate::domain::records::ids::{CalendarId, VeventId};
use crate::domain::records::vevent::{Permits, VeventKind};
use crate::domain::state::group_state::GroupState;
use crate::domain::time::interval_set::Interval;

/// A promise that a state breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BrokenInvariant {
    /// Two live appointments of one calendar meet.
    Overlap {
        /// Whose hour it is.
        calendar: CalendarId,
        /// The earlier one.
        first: VeventId,
        /// The later one.
        second: VeventId,
        /// When the later one is.
        interval: Interval,
    },
    /// Something names what does not exist.
    Missing {
        /// What names it, such as "event 7".
        from: String,
        /// What is named, such as "calendar 3".
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
            Self::Missing { from, to } => write!(f, "{from} names {to}, which does not exist"),
        }
    }
}

/// Every promise that a state breaks; none in a state that only commands have made.
#[must_use]
pub fn broken(state: &GroupState) -> Vec<BrokenInvariant> {
    let mut broken = overlaps(state);
    broken.extend(missing(state));
    broken
}

/// Live appointments that meet one before them in the same calendar.
#[must_use]
pub fn overlaps(state: &GroupState) -> Vec<BrokenInvariant> {
    let mut found = Vec::new();
    for (calendar, view) in &state.calendars {
        let mut taken = view.taken.iter();
        let Some(mut longest) = taken.next() else { continue };
        for next in taken {
            if next.interval.start < longest.interval.end {
                let (first, second, interval) = (longest.id, next.id, next.interval);
                found.push(BrokenInvariant::Overlap {
                    calendar: *calendar,
                    first,
                    second,
                    interval,
                });
            }
            if longest.interval.end < next.interval.end {
                longest = next;
            }
        }
    }
    found
}

fn missing(state: &GroupState) -> Vec<BrokenInvariant> {
    let catalogue = &state.catalogue;
    let mut found = Vec::new();
    let mut need = |there: bool, from: &dyn Fn() -> String, to: &dyn Fn() -> String| {
        if !there {
            found.push(BrokenInvariant::Missing { from: from(), to: to() });
        }
    };
    for calendar in catalogue.calendars.values() {
        let there =
            calendar.calendarset_id.is_none_or(|set| catalogue.calendarsets.contains_key(&set));
        need(there, &|| format!("calendar {}", calendar.id), &|| "a set of calendars".to_owned());
        need(
            state.calendars.contains_key(&calendar.id),
            &|| format!("calendar {}", calendar.id),
            &|| "its own time".to_owned(),
        );
    }
    for intervention in catalogue.interventions.values() {
        let there = intervention
            .interventionset_id
            .is_none_or(|set| catalogue.interventionsets.contains_key(&set));
        need(there, &|| format!("intervention {}", intervention.id), &|| {
            "a set of interventions".to_owned()
        });
    }
    for row in state.rows.values() {
        let from = || format!("event {}", row.id);
        need(catalogue.calendars.contains_key(&row.calendar_id), &from, &|| {
            format!("calendar {}", row.calendar_id)
        });
        match &row.kind {
            VeventKind::Appointment(appointment) => {
                let (fiche, intervention) = (appointment.fiche_id, appointment.intervention_id);
                need(state.fiches.contains_key(&fiche), &from, &|| format!("fiche {fiche}"));
                let there = catalogue.interventions.contains_key(&intervention);
                need(there, &from, &|| format!("intervention {intervention}"));
            }
            VeventKind::Availability(availability) => match &availability.permits {
                Permits::All => {}
                Permits::Only(ids) => {
                    for id in ids {
                        need(catalogue.interventions.contains_key(id), &from, &|| {
                            format!("intervention {id}")
                        });
                    }
                }
            },
            VeventKind::Plage(_) | VeventKind::Note(_) => {}
        }
    }
    found
}
