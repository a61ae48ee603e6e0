//! Blocks of ids, by which an id identifies its group. Reference 3.

use serde::{Deserialize, Serialize};

use crate::domain::records::ids::GroupId;

/// Number of ids in a block. A group uses ids of its own blocks only. So an id identifies its
/// group, and groups never wait for one another.
pub const BLOCK: u64 = 1_024;

/// The kinds of records whose ids come from blocks. The order of the variants is the format on
/// disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each is the record of its name")]
pub enum IdKind {
    Fiche,
    Vevent,
    Calendar,
    Calendarset,
    Intervention,
    Interventionset,
    Customfield,
}

impl IdKind {
    /// All kinds.
    pub const ALL: [Self; 7] = [
        Self::Fiche,
        Self::Vevent,
        Self::Calendar,
        Self::Calendarset,
        Self::Intervention,
        Self::Interventionset,
        Self::Customfield,
    ];
}

/// The owner of a block of ids. The order of the variants is the format on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Block {
    /// Granted to one group, which uses the ids in ascending order.
    Granted(GroupId),
    /// Filled by an import, with ids of these groups, ascending. No new id is taken from it.
    Imported(Vec<GroupId>),
}
