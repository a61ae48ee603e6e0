//! The secret under which limits hash their keys. Reference 3.6.

use std::hash::{Hash, Hasher as _};

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use siphasher::sip::SipHasher13;

use crate::domain::directory::cluster_secret::ClusterSecret;
use crate::engine::randomness::Randomness;

/// Parts these secrets from other uses of the secret of a cluster.
const PURPOSE: &[u8] = b"counts of limits\n";

/// A secret that no stranger knows, so that no two keys can be chosen to share a hash. A hash shows
/// nothing of its key without it.
#[derive(Clone, Copy)]
pub(crate) struct HashSecret([u8; 16]);

impl HashSecret {
    /// Draws a secret that lasts as long as the process.
    pub(crate) fn draw() -> Self {
        Self(first_half(Randomness::from_os().bytes()))
    }

    /// The secret of the counts of one name, which all servers of a cluster derive alike.
    pub(crate) fn of_cluster(secret: &ClusterSecret, name: &str) -> Self {
        let mut hmac =
            Hmac::<Sha256>::new_from_slice(secret.bits()).expect("any length makes a key");
        hmac.update(PURPOSE);
        hmac.update(name.as_bytes());
        Self(first_half(hmac.finalize().into_bytes().into()))
    }

    /// Returns the hash that stands for a key.
    pub(crate) fn hash(self, key: &impl Hash) -> u64 {
        let mut hasher = SipHasher13::new_with_key(&self.0);
        key.hash(&mut hasher);
        hasher.finish()
    }
}

impl std::fmt::Debug for HashSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HashSecret(…)")
    }
}

fn first_half(bytes: [u8; 32]) -> [u8; 16] {
    let (half, _) = bytes.split_first_chunk().expect("32 bytes have 16 first ones");
    *half
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_one_hash_for_each_cluster_and_name_and_the_secret_is_not_shown() {
        let hash = |bits: u8, name: &str, key: &str| {
            HashSecret::of_cluster(&ClusterSecret::new([bits; 32]), name).hash(&key)
        };
        let hashes = [hash(1, "a", "k"), hash(2, "a", "k"), hash(1, "b", "k"), hash(1, "a", "l")];
        assert_eq!(hashes[0], hash(1, "a", "k"));
        for (nth, one) in hashes.iter().enumerate() {
            assert!(!hashes[..nth].contains(one), "{nth}");
        }
        assert_ne!(HashSecret::draw().hash(&"k"), HashSecret::draw().hash(&"k"));
        assert_eq!(format!("{:?}", HashSecret([7; 16])), "HashSecret(…)");
    }

    /// The servers of a cluster may be of several releases.
    #[test]
    fn hashes_stay_what_they_are() {
        let secret = HashSecret::of_cluster(&ClusterSecret::new([1; 32]), "logins.sources");
        let source: std::net::IpAddr = "203.0.113.7".parse().expect("an address");
        assert_eq!(secret.hash(&source), 7_487_430_629_172_110_360);
    }
}
