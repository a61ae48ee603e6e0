//! Request for one slot: a chain of interventions, its start, and the rules that hold. Reference 4.

use crate::domain::records::hold::HoldId;
use crate::domain::records::ids::{CalendarId, InterventionId, VeventId};
use crate::domain::time::Instant;
use crate::domain::time::interval_set::Interval;

/// Mode of a booking or a search: the rules that hold. Reference 6.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BookingMode {
    /// Used by the public: all rules of the appointment module.
    Module,
    /// Used by an account, or for a client who has given a code: the module's rules, except that
    /// bookings by a key alone use up nothing.
    ModuleByAccount,
    /// Used by a professional with `from_web=1`: the module's rules, except that the module may be
    /// inactive.
    ModuleByPro,
    /// Used by a professional with `from_web=0`: only taken time and deleted records are obstacles.
    BackOffice,
    /// Used for a manual change of this event: only another live appointment is an obstacle.
    /// Reference 6.14.
    Agenda(VeventId),
}

impl BookingMode {
    /// Returns whether lead times, the grid, availabilities and public names count.
    pub const fn follows_module_rules(self) -> bool {
        matches!(self, Self::Module | Self::ModuleByAccount | Self::ModuleByPro)
    }

    /// Returns whether the caller is none of the shop. Such a caller learns less, and is bound by
    /// `inactive`.
    pub const fn is_for_web_callers(self) -> bool {
        matches!(self, Self::Module | Self::ModuleByAccount)
    }

    /// Returns whether the holds of other callers take time. Reference 6.7.
    pub const fn respects_holds(self) -> bool {
        self.is_for_web_callers()
    }
}

/// Rows of the caller whose time counts as free for it. Reference 6.7, 6.9.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnTime {
    /// The hold that the caller names.
    pub hold: Option<HoldId>,
    /// The appointment that the caller moves.
    pub appointment: Option<VeventId>,
}

/// One intervention of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leg {
    /// The intervention.
    pub intervention_id: InterventionId,
    /// Its length in elapsed seconds.
    pub length_seconds: i64,
}

/// Interventions in a row on one calendar, at least one. Reference 4.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// Never empty.
    legs: Vec<Leg>,
    /// Sum of the lengths of the legs.
    length_seconds: i64,
}

impl Chain {
    /// Returns the chain of these legs; `None` without any leg.
    pub fn new(legs: Vec<Leg>) -> Option<Self> {
        if legs.is_empty() {
            return None;
        }
        let length_seconds = legs.iter().map(|leg| leg.length_seconds).sum();
        Some(Self { legs, length_seconds })
    }

    /// Returns its legs in order.
    pub fn legs(&self) -> &[Leg] {
        &self.legs
    }

    /// Returns the elapsed seconds of all legs together.
    pub const fn length_seconds(&self) -> i64 {
        self.length_seconds
    }

    /// Returns the time that the whole chain takes.
    pub fn interval_from(&self, start: Instant) -> Interval {
        Interval { start, end: start.plus_seconds(self.length_seconds) }
    }

    /// Returns each leg with the time that it takes, in order.
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
    /// Time that counts as free.
    pub own: OwnTime,
}

/// A search for all starts of a chain under the rules of one mode.
#[derive(Clone, Copy, Debug)]
pub struct ChainSearch<'a> {
    /// Interventions to be done, in order.
    pub chain: &'a Chain,
    /// Rules that hold.
    pub mode: BookingMode,
    /// Time that counts as free.
    pub own: OwnTime,
}

impl<'a> ChainSearch<'a> {
    /// Returns the search of a caller without time of its own.
    pub fn new(chain: &'a Chain, mode: BookingMode) -> Self {
        Self { chain, mode, own: OwnTime::default() }
    }
}

impl SlotRequest {
    /// Returns the request of a caller without time of its own.
    pub fn new(chain: Chain, start: Instant, mode: BookingMode) -> Self {
        Self { chain, start, mode, own: OwnTime::default() }
    }

    /// Returns the time from the start of the first leg to the end of the last.
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
