//! Export of the whole content as one JSON document, its exact import, and a demonstration.
//! Reference 11.2.

pub mod demo;
mod document;
pub mod export;
mod faults;
mod group_draft;
mod ids;
mod images;
pub mod import;
pub mod merge;
mod message_row;
mod people;
mod rows;
mod section_reader;
#[cfg(test)]
mod tests;

pub use self::faults::ImportFault;

use std::collections::BTreeSet;

use crate::domain::directory::Directory;
use crate::domain::records::ids::GroupId;
use crate::domain::state::group_state::GroupState;

/// Field of a group in a document: the number of messages that the group has made.
///
/// Messages older than 90 days are removed. Their numbers still must not be used again, because
/// they distinguish later messages from earlier ones.
const MESSAGES_MADE: &str = "messages_made";
/// Field of a group in a document: the highest id ever used of each resource, by its section. Ids
/// of removed rows must not be used again, because applications may still hold them.
const HIGHEST_IDS: &str = "highest_ids";

/// Section of a group in a document: the history, for those who read it. It is not imported, since
/// the history of a group tells what its own store has done.
const HISTORY: &str = "history";
/// The section of a group with the history of access, which an import does not read.
const ACCESS_HISTORY: &str = "access_history";

/// The whole content of a store.
#[derive(Clone, Debug, Default)]
pub struct StoreContent {
    /// Keys, professionals, and the owners of ids.
    pub directory: Directory,
    /// The groups, in the order of the document.
    pub group_states: Vec<GroupState>,
}

impl StoreContent {
    /// The ids of its groups.
    pub fn group_ids(&self) -> BTreeSet<GroupId> {
        self.group_states.iter().map(|state| state.catalogue.group.id).collect()
    }
}
