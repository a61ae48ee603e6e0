//! Reads of clients, for the history. Reference 16.6.

use serde::{Deserialize, Serialize};

use crate::domain::records::ids::FicheId;

/// A read by a professional. The order of the variants is the format on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReadNote {
    /// The record of a client.
    Client(FicheId),
    /// A list of clients.
    List {
        /// Number of clients that were shown.
        count: u32,
        /// Whether they were searched for. The words are not kept.
        is_search: bool,
    },
}
