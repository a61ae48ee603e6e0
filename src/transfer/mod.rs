//! The whole content as one JSON document: out, in again exactly, and a demonstration of it. Reference 11.

pub mod demo;
mod document;
pub mod export;
mod faults;
mod ids;
pub mod import;
pub mod merge;
mod people;
mod slug;
#[cfg(test)]
mod tests;

pub use self::faults::ImportFault;

use crate::domain::identity::directory::Directory;
use crate::domain::state::group_state::GroupState;

/// In a group of a document, beside its sections: how many messages it has made. An export leaves the messages out, but
/// those that come after an import are told from those before by their numbers, and so is which of two is the later.
const MESSAGES_MADE: &str = "messages_made";

/// All that a store holds.
#[derive(Clone, Debug, Default)]
pub struct StoreContent {
    /// Keys, professionals, and who has which ids.
    pub directory: Directory,
    /// The groups, in the order of the document.
    pub group_states: Vec<GroupState>,
}
