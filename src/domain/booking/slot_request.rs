//! Request for one slot: a chain of interventions, its start, and the rules that hold. Reference 4.

use crate::domain::records::ids::{CalendarId, InterventionId, VeventId};
use crate::domain::time::Instant;
use crate::domain::time::interval_set::Interval;

/// By which door a booking or a search comes in: it decides which rules hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BookingMode {
    /// The appointment module, used by anybody.
    Module,
    /// The appointment module's rules, asked for by a professional: the module need not be active.
    ModuleByPro,
    /// The professional's own agenda (`from_web=0`): only time that is really taken stands in the way.
    BackOffice,
    /// A professional puts this very event somewhere by hand: only another live appointment stands in the way.
    Agenda(VeventId),
}

impl BookingMode {
    /// Whether lead times, the grid, availabilities and public names count.
    #[must_use]
    pub const fn follows_module_rules(self) -> bool {
        matches!(self, Self::Module | Self::ModuleByPro)
    }
}

/// One intervention of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leg {
    /// What is done.
    pub intervention_id: InterventionId,
    /// For how long, in elapsed seconds.
    pub length_seconds: i64,
}

/// Interventions one right after another on one calendar; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    legs: Vec<Leg>,
    length_seconds: i64,
}

impl Chain {
    /// A chain of at least one leg.
    #[must_use]
    pub fn new(legs: Vec<Leg>) -> Option<Self> {
        let length_seconds = legs.iter().map(|leg| leg.length_seconds).sum();
        (!legs.is_empty()).then_some(Self { legs, length_seconds })
    }

    /// Its legs in order.
    #[must_use]
    pub fn legs(&self) -> &[Leg] {
        &self.legs
    }

    /// Elapsed seconds of all legs together.
    #[must_use]
    pub const fn length_seconds(&self) -> i64 {
        self.length_seconds
    }

    /// The time the whole chain takes.
    #[must_use]
    pub fn interval_from(&self, start: Instant) -> Interval {
        Interval { start, end: start.plus_seconds(self.length_seconds) }
    }

    /// Each leg with the time it takes.
    pub fn legs_from(&self, start: Instant) -> impl Iterator<Item = (Leg, Interval)> + '_ {
        self.legs.iter().scan(start, |start, leg| {
            let interval = Interval { start: *start, end: start.plus_seconds(leg.length_seconds) };
            *start = interval.end;
            Some((*leg, interval))
        })
    }
}

/// One slot: a chain that would start at one moment under the rules of one mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotRequest {
    /// Interventions to be done, in order.
    pub chain: Chain,
    /// Start of the first leg.
    pub start: Instant,
    /// Rules that hold.
    pub mode: BookingMode,
}

impl SlotRequest {
    /// Returns the time from the start of the first leg to the end of the last.
    #[must_use]
    pub fn interval(&self) -> Interval {
        self.chain.interval_from(self.start)
    }
}

/// One slot on one calendar: the question that only this calendar can answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CalendarSlotRequest {
    /// The calendar that is asked.
    pub calendar_id: CalendarId,
    /// The slot.
    pub request: SlotRequest,
}
