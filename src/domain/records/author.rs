//! The author of a change: the caller, the operator or the server itself.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::domain::records::ids::{FicheId, ProId};

/// The cause of an event of a group. The order of the variants is the format on disk: new ones go
/// to the end, and none is reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Author {
    /// The server itself: upkeep, deliveries, warnings, a new release of the zone database.
    Server,
    /// The operator, at the socket of the data directory or by a command over the store.
    Operator,
    /// A visitor of the server's pages without a login, also one who holds a mailed link.
    Visitor,
    /// An application by its key alone.
    Application(KeyId),
    /// A client with an account.
    Account {
        /// The client's fiche.
        client: FicheId,
        /// The key of the request; `None` where it needs none.
        key: Option<KeyId>,
    },
    /// A professional.
    Professional {
        /// The professional.
        id: ProId,
        /// The key of the request; `None` where it needs none.
        key: Option<KeyId>,
    },
}

/// The short id of an application key: the first bytes of its SHA-256. As text these are lower-case
/// hexadecimal digits, as `slotbook key list` shows them. It also names a key that was revoked
/// since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct KeyId([u8; Self::BYTES]);

impl KeyId {
    /// Number of bytes.
    pub const BYTES: usize = 6;

    /// Returns the id of the key with this SHA-256.
    pub fn of_hash(hash: &[u8; 32]) -> Self {
        let mut id = [0; Self::BYTES];
        id.copy_from_slice(&hash[..Self::BYTES]);
        Self(id)
    }

    /// Returns the id with these bytes.
    pub const fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub const fn bytes(self) -> [u8; Self::BYTES] {
        self.0
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
