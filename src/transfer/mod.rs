//! Export of the whole content as one JSON document, its exact import, and a demonstration.
//! Reference 11.2.

pub mod demo;
mod document;
pub mod export;
mod faults;
mod group_draft;
mod ids;
pub mod import;
pub mod merge;
mod people;
mod rows;
mod section_reader;
mod slug;
#[cfg(test)]
mod tests;

pub use self::faults::ImportFault;

use crate::domain::identity::directory::Directory;
use crate::domain::state::group_state::GroupState;

/// Field of a group in a document: the number of messages that the group has made.
///
/// An export leaves the messages out. Their numbers still must not be used again, because they
/// distinguish later messages from earlier ones.
const MESSAGES_MADE: &str = "messages_made";

/// The whole content of a store.
#[derive(Clone, Debug, Default)]
pub struct StoreContent {
    /// Keys, professionals, and the owners of ids.
    pub directory: Directory,
    /// The groups, in the order of the document.
    pub group_states: Vec<GroupState>,
}
