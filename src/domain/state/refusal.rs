//! Refusals of commands, with the values that a caller needs to correct them. Reference 2.2.

use crate::domain::availability::obstacle::Obstacle;
use crate::domain::directory::roles::GroupRight;
use crate::domain::records::fault::Fault;
use crate::domain::records::ids::{FicheId, VeventId};
use crate::domain::state::precondition::ShownObject;
use crate::domain::time::Instant;
use crate::domain::time::interval_set::Interval;

/// The reason why a command is not carried out. It lies with the request, never with the server.
/// Reference 2.2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Code 1: the caller has no right to this.
    Unauthorized {
        /// The right that is needed.
        needed: &'static str,
    },
    /// Code 2: a parameter is wrong.
    InvalidParameter(Fault),
    /// Code 3: not found.
    NoResult,
    /// Code 6: the client would have more upcoming appointments than the group allows.
    MaxRdvNumber {
        /// Maximum number of upcoming appointments.
        most: i64,
    },
    /// Code 7: another appointment of the client is too close.
    MintimeBetween {
        /// Minimum minutes between two appointments.
        minutes: i64,
    },
    /// Code 8: the start is too far in the future.
    MaxRdvPeriod {
        /// The last start allowed on the candidate calendars.
        latest: Instant,
    },
    /// Code 9: the start is too soon.
    MintimeRdv {
        /// The moment before which no start is allowed on the candidate calendars.
        earliest: Instant,
        /// The first start from then on that the caller can book, if one was found.
        first: Option<Instant>,
    },
    /// Code 10: it is too late to cancel.
    MintimeAnnulation {
        /// The last moment for a cancellation.
        until: Instant,
    },
    /// Code 11: the address belongs to a client with an account, who must log in.
    EmailAlreadyExists,
    /// Code 12: the client has another appointment at that time.
    SameTimeRdv {
        /// The time of the other appointment.
        other: Interval,
    },
    /// Code 13: only known clients may book, and no fiche has the address.
    EmailNotFound,
    /// Code 14: in another time zone, two live appointments would overlap.
    ClocksOverlap {
        /// The appointment with the lower id.
        first: VeventId,
        /// The other appointment.
        second: VeventId,
    },
    /// Code 2: the object has another form than the one that the caller changes, or there is none.
    PreconditionFailed(Option<Box<ShownObject>>),
    /// Code 2: the change would displace other appointments than the caller expects.
    OtherEffect(Box<ShownObject>),
    /// Code 2: several clients have the identifier of another system.
    ExternidHeldTwice {
        /// The client with the lowest id.
        first: FicheId,
        /// The next one.
        second: FicheId,
    },
    /// Code 2: the client has upcoming appointments, which must be cancelled first.
    UpcomingAppointments {
        /// The appointments, ascending by start; at least one.
        ids: Vec<VeventId>,
    },
    /// Code 4: too much time is held already.
    TooManyHolds {
        /// The bound that is reached.
        bound: HoldBound,
        /// Seconds until the first of the holds that count for it expires.
        retry_seconds: i64,
    },
    /// Code 14: the time is not available.
    NotAvailable {
        /// The obstacles on the requested calendar; empty if no calendar was requested.
        obstacles: Vec<Obstacle>,
    },
}

/// A bound of the time that is held. Reference 6.7.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldBound {
    /// That of one source.
    Source,
    /// That of a network of sources.
    Network,
    /// The share of a calendar's day, of all callers with a key alone.
    Day,
}

/// All reasons why one command is refused; never empty.
pub type Refusals = Vec<Refusal>;

impl From<Refusal> for Refusals {
    fn from(refusal: Refusal) -> Self {
        vec![refusal]
    }
}

impl HoldBound {
    /// The name of the bound in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Source => "holds_source",
            Self::Network => "holds_network",
            Self::Day => "holds_day",
        }
    }
}

impl Refusal {
    /// The refusal for want of a right.
    pub const fn lacking(right: GroupRight) -> Self {
        Self::Unauthorized { needed: right.needed() }
    }

    /// The refusal of a change of an object that has another form, or that is not there.
    pub fn overtaken(present: Option<ShownObject>) -> Self {
        Self::PreconditionFailed(present.map(Box::new))
    }
}

impl From<Fault> for Refusals {
    fn from(fault: Fault) -> Self {
        vec![Refusal::InvalidParameter(fault)]
    }
}

/// Returns a refusal for each fault.
pub(in crate::domain) fn refuse_faults(faults: Vec<Fault>) -> Refusals {
    faults.into_iter().map(Refusal::InvalidParameter).collect()
}
