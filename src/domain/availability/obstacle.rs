//! Obstacles: the reasons why a start is not free. Reference 4, 4.8.

use crate::domain::records::ids::{CalendarId, InterventionId, VeventId};
use crate::domain::time::Instant;
use crate::domain::time::interval_set::Interval;

/// Reason why a start is not free, with the value that a person would ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// Not offered, whatever the time. Reference 4.6.
    NotOffered(NotOffered),
    /// Too soon. Reference 4.1.
    MintimeRdv {
        /// First start that the lead time allows.
        earliest: Instant,
    },
    /// Too far ahead. Reference 4.1.
    MaxRdvPeriod {
        /// Last start that the lead time allows.
        latest: Instant,
    },
    /// Some availability holds the start, but none has it on its grid. Reference 4.2.
    OffGrid {
        /// Minutes between two starts of the grid.
        generate_interval: i64,
    },
    /// Some moment of a leg lies in no availability that permits it. Reference 4.3.
    OutsideAvailability {
        /// Intervention of the leg.
        intervention_id: InterventionId,
        /// Time of the leg.
        interval: Interval,
    },
    /// An event takes some of the time. Reference 4.4.
    Taken {
        /// The event.
        id: VeventId,
        /// Time of the event.
        interval: Interval,
        /// Kind of the event.
        by: TakenBy,
    },
    /// Another web caller holds some of the time. Reference 6.7.
    Held {
        /// The moment from which the hold blocks no caller.
        until: Instant,
    },
    /// The start lies in the second pass of a repeated hour. Reference 4.5.
    RepeatedHour,
    /// Unverified bookings would hold more of a day than they may. Reference 4.9.
    UnverifiedShare {
        /// The percentage of the day's open time that they may hold.
        percent: i64,
    },
}

/// Kind of event that takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the two kinds that take time")]
pub enum TakenBy {
    Appointment,
    Plage,
}

/// Reason why a chain is not offered on a calendar, whatever the time. Reference 4.6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say what is inactive, deleted or hidden")]
pub enum NotOffered {
    ModuleInactive,
    CalendarDeleted(CalendarId),
    CalendarHidden(CalendarId),
    InterventionDeleted(InterventionId),
    InterventionHidden(InterventionId),
    InterventionsetHidden(InterventionId),
}

/// Answer of a calendar for a slot: free, or all obstacles in the order of Reference 4.8.
pub type Verdict = Result<(), Vec<Obstacle>>;
