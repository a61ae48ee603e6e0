//! A record of a group in the journal: an event and its author.

use serde::{Deserialize, Serialize};

use crate::domain::records::added::in_format_4;
use crate::domain::records::author::Author;
use crate::domain::state::event::Event;

/// An event of a group and its author, as the journal holds them. The order of the members is the
/// format on disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupRecord {
    /// The author; `None` in records of earlier formats, which held none.
    #[serde(deserialize_with = "in_format_4")]
    pub author: Option<Author>,
    /// The event.
    pub event: Event,
}

impl GroupRecord {
    /// Returns the record of an event that is decided now.
    pub const fn new(author: Author, event: Event) -> Self {
        Self { author: Some(author), event }
    }
}
