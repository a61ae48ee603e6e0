//! The secret of a store, by which the server knows again what it has given out itself.

use serde::{Deserialize, Serialize};

/// 256 random bits that a store is given once and never shows to anybody.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkSecret([u8; 32]);

impl LinkSecret {
    /// The seal of these bits, which nobody may be able to guess.
    #[must_use]
    pub const fn new(bits: [u8; 32]) -> Self {
        Self(bits)
    }

    /// Its bits, to make proofs with.
    #[must_use]
    pub const fn bits(&self) -> &[u8; 32] {
        &self.0
    }
}

impl std::fmt::Debug for LinkSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LinkSecret(…)")
    }
}
