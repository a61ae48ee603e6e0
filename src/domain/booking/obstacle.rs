//! Obstacles: the reasons why a start is not free. Reference 4.

use crate::domain::records::ids::{CalendarId, InterventionId, VeventId};
use crate::domain::time::Instant;
use crate::domain::time::interval_set::Interval;

/// Something that stands in the way of a start, with its fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The module does not offer this at all.
    NotOffered(NotOffered),
    /// Too soon: not before `earliest`.
    MintimeRdv {
        /// First start that is late enough.
        earliest: Instant,
    },
    /// Too far ahead: not after `latest`.
    MaxRdvPeriod {
        /// Last start that is near enough.
        latest: Instant,
    },
    /// Some availability holds the start, none has it on its grid.
    OffGrid {
        /// Minutes between two starts of a grid.
        generate_interval: i64,
    },
    /// Some moment of a leg lies in no availability for it.
    OutsideAvailability {
        /// The intervention that is not offered then.
        intervention_id: InterventionId,
        /// The time it would have taken.
        interval: Interval,
    },
    /// The time is somebody's already.
    Taken {
        /// The event that has it.
        id: VeventId,
        /// When that event is.
        interval: Interval,
        /// Whether it is a client's appointment or a plage.
        by: TakenBy,
    },
    /// The wall clock shows this time twice, and this is the second pass.
    RepeatedHour,
}

/// What kind of event takes a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the two kinds that take time")]
pub enum TakenBy {
    Appointment,
    Plage,
}

/// Why something is not offered, whatever the time. Reference 4.6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each says what it is")]
pub enum NotOffered {
    ModuleInactive,
    CalendarDeleted(CalendarId),
    CalendarHidden(CalendarId),
    InterventionDeleted(InterventionId),
    InterventionHidden(InterventionId),
    InterventionsetHidden(InterventionId),
}
