//! The secret that signs the links in mails. Reference 7.4.

use serde::{Deserialize, Serialize};

/// 256 random bits, drawn once per store. They are never shown or exported.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkSecret([u8; 32]);

impl LinkSecret {
    /// Makes the secret from random bits, which must not be guessable.
    pub const fn new(bits: [u8; 32]) -> Self {
        Self(bits)
    }

    /// The bits, as the key of signatures.
    pub const fn bits(&self) -> &[u8; 32] {
        &self.0
    }
}

impl std::fmt::Debug for LinkSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LinkSecret(…)")
    }
}
