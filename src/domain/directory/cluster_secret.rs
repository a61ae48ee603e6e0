//! The secret that the servers of a cluster share.

/// Random bits, drawn once per cluster. Servers seal with them what they forward to one another,
/// and hash what limits count by. They are never shown or exported.
#[derive(Clone, PartialEq, Eq)]
pub struct ClusterSecret([u8; 32]);

impl ClusterSecret {
    /// Makes the secret from random bits, which must not be guessable.
    pub const fn new(bits: [u8; 32]) -> Self {
        Self(bits)
    }

    /// The bits, as the key of seals.
    pub const fn bits(&self) -> &[u8; 32] {
        &self.0
    }
}

impl std::fmt::Debug for ClusterSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ClusterSecret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_log_shows_the_secret_of_a_cluster() {
        assert_eq!(format!("{:?}", ClusterSecret::new([7; 32])), "ClusterSecret(…)");
    }
}
