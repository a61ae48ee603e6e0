//! A rule's no to a caller, with the numbers a person would ask for. Reference 2.

use crate::domain::booking::obstacle::Obstacle;
use crate::domain::records::ids::VeventId;
use crate::domain::time::Instant;
use crate::domain::time::interval_set::Interval;

/// One thing that is wrong with what a caller sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The field to blame, as the caller wrote it: `date`, `fiche.email`.
    pub field: String,
    /// What was wrong and what would be right.
    pub rule: String,
}

impl Fault {
    /// A fault of one field.
    #[must_use]
    pub fn new(field: impl Into<String>, rule: impl Into<String>) -> Self {
        Self { field: field.into(), rule: rule.into() }
    }

    /// The same fault seen from the object that holds the field.
    #[must_use]
    pub fn within(self, object: &str) -> Self {
        Self { field: format!("{object}.{}", self.field), rule: self.rule }
    }
}

/// Why a command is not carried out. Each is the client's fact; none is a failure of ours. Reference 2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// 1: the caller may not do this; says what would be needed.
    Unauthorized {
        /// What the caller would need.
        needed: &'static str,
    },
    /// 2: a parameter is wrong.
    InvalidParameter(Fault),
    /// 3: there is no such thing, or it is not the caller's.
    NoResult,
    /// 6: with this booking the client would have more upcoming appointments than the group allows.
    MaxRdvNumber {
        /// The most a client may have.
        most: i64,
    },
    /// 7: another appointment of the client is too close.
    MintimeBetween {
        /// Minutes that must lie between.
        minutes: i64,
    },
    /// 8: too far in the future.
    MaxRdvPeriod {
        /// Last start near enough, on every calendar that could take it.
        latest: Instant,
    },
    /// 9: too soon.
    MintimeRdv {
        /// First start late enough, on any calendar that could take it.
        earliest: Instant,
    },
    /// 10: too close to be cancelled online.
    MintimeAnnulation {
        /// The last moment at which it could have been cancelled.
        until: Instant,
    },
    /// 11: the address belongs to a registered client, who should log in.
    EmailAlreadyExists,
    /// 12: the client is elsewhere at that time.
    SameTimeRdv {
        /// When the client's other appointment is.
        other: Interval,
    },
    /// 13: only known clients may book, and the address is not known.
    EmailNotFound,
    /// 14: on the clocks of another zone two live appointments would come to overlap.
    ClocksOverlap {
        /// The one of lower id.
        first: VeventId,
        /// What it would meet.
        second: VeventId,
    },
    /// 14: the time cannot be given away.
    NotAvailable {
        /// What stands in the way on the calendar asked for; empty where any calendar would have done.
        obstacles: Vec<Obstacle>,
    },
}

/// Everything that refuses one command; never empty.
pub type Refusals = Vec<Refusal>;
