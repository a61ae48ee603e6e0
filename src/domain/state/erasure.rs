//! The parts of a group's state that go when clients are erased. Reference 17.1.

use serde::{Deserialize, Serialize};

use crate::domain::records::hold::HoldId;
use crate::domain::records::ids::{FicheId, MessageId, VeventId};
use crate::domain::time::Instant;

/// Everything that goes with erased clients, by id: no text of a person is in the journal for it.
/// The order of the members is the format on disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Erasure {
    /// The clients, with the records that were merged into them. Accounts follow from these.
    pub fiches: Vec<FicheId>,
    /// Upcoming appointments, which are cancelled without a message.
    pub cancelled: Vec<VeventId>,
    /// Events that name the clients, deleted ones included. They lose their texts.
    pub vevents: Vec<VeventId>,
    /// Messages to the clients, or about them.
    pub messages: Vec<MessageId>,
    /// Holds with their details, or that became their appointments.
    pub holds: Vec<HoldId>,
    /// Links to their accounts, by the hash of the token.
    pub links: Vec<[u8; 32]>,
    /// Kept answers that are about them, by scope.
    pub answers: Vec<[u8; 32]>,
}

/// Marks of the privacy of a group's clients. The order of the members is the format on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrivacyMarks {
    /// The last erasure; `None` before the first. Older generations of the store hold what it
    /// erased. Reference 17.3.
    pub last_erasure: Option<ErasureMark>,
    /// The moment from which idle time counts at the earliest; `None` before upkeep has set it.
    /// Reference 17.5.
    pub counts_from: Option<Instant>,
    /// The record of no person, to which emptied appointments belong; `None` before the first.
    /// Reference 17.5.
    pub placeholder: Option<FicheId>,
}

/// An event that erased something. No two of a group are equal, even after an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErasureMark {
    /// The number of the event in the group.
    pub sequence: u64,
    /// Its stamp.
    pub at: Instant,
}
