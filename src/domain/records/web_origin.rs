//! The origin of an appointment that was booked with a key alone or by an account. Reference 6.12.

use serde::{Deserialize, Serialize};

/// The origin of a booking, as far as it can be compared with that of others. It shows neither the
/// address nor the key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebOrigin {
    /// The first half of a keyed hash of the source. The key is a secret of the store.
    pub source: [u8; 16],
    /// The first half of the SHA-256 of the application key.
    pub apikey: [u8; 16],
    /// Whether it was booked with the key alone, so that no proof links it to its client.
    pub is_by_key: bool,
}

impl WebOrigin {
    /// Whether another booking came from the same source with the same key.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        self.source == other.source && self.apikey == other.apikey
    }
}
