//! Calendar feeds: links by which calendar programs read an agenda. Reference 19.1.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::domain::records::author::Author;
use crate::domain::records::ids::{CalendarId, CalendarfeedId, ProId};
use crate::domain::time::Instant;

/// Maximum number of calendar feeds of a group.
pub const CALENDARFEEDS_MAX: usize = 100;

/// A link by which calendar programs read an agenda. Its secret is not kept.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calendarfeed {
    /// Its number in the group, which is never given again.
    pub id: CalendarfeedId,
    /// The calendars that it shows.
    pub target: FeedTarget,
    /// The details that it tells of each event.
    pub details: FeedDetails,
    /// The SHA-256 of the secret in its link.
    pub secret_hash: [u8; 32],
    /// The caller who made the link. It ends with the rights of a professional who made it.
    pub author: Author,
    /// The moment at which the feed was made.
    pub created_at: Instant,
    /// The moment at which its link was made.
    pub updated_at: Instant,
}

/// Leaves out the hash.
impl fmt::Debug for Calendarfeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Calendarfeed")
            .field("id", &self.id)
            .field("target", &self.target)
            .field("details", &self.details)
            .field("author", &self.author)
            .finish_non_exhaustive()
    }
}

/// The calendars that a feed shows. The order of the variants is the format on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FeedTarget {
    /// One calendar.
    Calendar(CalendarId),
    /// The calendars of a professional's own, as its role names them at that time.
    Pro(ProId),
}

/// The details that a feed tells of each event. The order of the variants is the format on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FeedDetails {
    /// The time alone.
    Busy,
    /// The time, and the initials of the client.
    Initials,
    /// All that a professional reads.
    Full,
}

impl FeedDetails {
    /// All of them, from the fewest details to the most.
    pub const ALL: [Self; 3] = [Self::Busy, Self::Initials, Self::Full];

    /// The name in requests and answers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::Initials => "initials",
            Self::Full => "full",
        }
    }

    /// Finds the details by their name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|details| details.name() == name)
    }
}
