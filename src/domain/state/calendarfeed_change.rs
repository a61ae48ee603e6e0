//! The command that changes the calendar feeds of a group. Reference 19.1.

use std::fmt;

use crate::domain::records::author::Author;
use crate::domain::records::calendarfeed::{FeedDetails, FeedTarget};
use crate::domain::records::ids::CalendarfeedId;

/// Makes, renews or revokes a calendar feed.
#[derive(Clone)]
pub struct CalendarfeedChange {
    /// The caller, by whose rights the link works.
    pub author: Author,
    /// The change.
    pub step: CalendarfeedStep,
}

/// A change of one calendar feed.
#[derive(Clone)]
pub enum CalendarfeedStep {
    /// Makes a feed.
    Make {
        /// The calendars that it shows.
        target: FeedTarget,
        /// The details that it tells.
        details: FeedDetails,
        /// The SHA-256 of its secret.
        secret_hash: [u8; 32],
    },
    /// Gives a feed another secret. The one before ends.
    Renew {
        /// The feed.
        id: CalendarfeedId,
        /// The SHA-256 of the new secret.
        secret_hash: [u8; 32],
    },
    /// Ends a feed.
    Revoke {
        /// The feed.
        id: CalendarfeedId,
    },
}

/// Leaves out the hash.
impl fmt::Debug for CalendarfeedChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let step = match &self.step {
            CalendarfeedStep::Make { target, details, .. } => {
                return write!(f, "MakeCalendarfeed({target:?}, {details:?})");
            }
            CalendarfeedStep::Renew { id, .. } => format!("Renew({id})"),
            CalendarfeedStep::Revoke { id } => format!("Revoke({id})"),
        };
        write!(f, "CalendarfeedChange::{step}")
    }
}
