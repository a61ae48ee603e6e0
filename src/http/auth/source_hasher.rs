//! The origin that a web booking keeps: keyed hashes, which the store's secret alone can compare.
//! Reference 6.12.

use std::net::IpAddr;

use hmac::{Hmac, KeyInit as _, Mac as _};
use ipnet::IpNet;
use sha2::Sha256;

use crate::domain::directory::link_secret::LinkSecret;
use crate::domain::records::booking_origin::{BookingOrigin, ClientProof};
use crate::domain::state::command::Caller;
use crate::engine::randomness::Randomness;
use crate::http::auth::Identity;
use crate::http::limits::source_networks::SourceNetworks;

/// Distinguishes these hashes from others under the same secret.
const PURPOSE: &[u8] = b"source of a booking";

/// Hashes sources under a secret.
pub(crate) struct SourceHasher(Hmac<Sha256>);

impl SourceHasher {
    /// Hashes under the store's secret. Without one the hashes last as long as the process.
    pub(crate) fn new(secret: Option<&LinkSecret>) -> Self {
        let key = match secret {
            Some(secret) => *secret.bits(),
            None => Randomness::from_os().bytes(),
        };
        let mut hmac = Hmac::new_from_slice(&key).expect("any length makes a key");
        hmac.update(PURPOSE);
        Self(hmac)
    }

    /// Returns the origin of a booking by the public or by an account; `None` for one by a
    /// professional.
    pub(crate) fn origin(&self, identity: &Identity, from: IpAddr) -> Option<Box<BookingOrigin>> {
        let proof = match &identity.caller {
            Caller::Pro(_) => return None,
            Caller::Application => ClientProof::KeyAlone,
            Caller::Account(_) => ClientProof::Account,
        };
        Some(Box::new(self.hash(from, &identity.apikey, proof)))
    }

    /// Returns the origin of a booking on a page of the server, which has no application key.
    pub(crate) fn page_origin(&self, from: IpAddr) -> Box<BookingOrigin> {
        Box::new(self.hash(from, &[0; 32], ClientProof::KeyAlone))
    }

    /// Returns the hash by which the holds of a caller are counted; `None` behind the key of a
    /// server, which stands for many clients.
    pub(crate) fn hold_source(&self, identity: &Identity, from: IpAddr) -> Option<[u8; 16]> {
        if identity.is_server() { None } else { Some(self.hash_source(from)) }
    }

    fn hash(&self, from: IpAddr, apikey: &[u8; 32], proof: ClientProof) -> BookingOrigin {
        BookingOrigin { source: self.hash_source(from), apikey: first_half(apikey), proof }
    }

    /// Returns 16 bytes that tell a source from others: 4 bytes of its /48 or /24, 4 of its /56 or
    /// /24, and 8 of the source itself. So those of one network begin alike, and are neighbours in
    /// an ordered set.
    fn hash_source(&self, from: IpAddr) -> [u8; 16] {
        let SourceNetworks { own, site, widest } = SourceNetworks::around(from);
        let widest = self.hash_network(widest);
        let middle = match site {
            Some(site) => self.hash_network(site),
            None => widest,
        };
        let mut hash = [0; 16];
        hash[..4].copy_from_slice(&widest[..4]);
        hash[4..8].copy_from_slice(&middle[..4]);
        hash[8..].copy_from_slice(&self.hash_network(own)[..8]);
        hash
    }

    fn hash_network(&self, network: IpNet) -> [u8; 32] {
        let mut hmac = self.0.clone();
        match network.addr() {
            IpAddr::V4(address) => hmac.update(&address.octets()),
            IpAddr::V6(address) => hmac.update(&address.octets()),
        }
        hmac.update(&[network.prefix_len()]);
        hmac.finalize().into_bytes().into()
    }
}

fn first_half(hash: &[u8; 32]) -> [u8; 16] {
    let (half, _) = hash.split_first_chunk().expect("32 bytes have 16 first ones");
    *half
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::directory::Directory;
    use crate::domain::records::booking_origin::NetworkWidth;
    use std::sync::Arc;

    #[test]
    fn a_source_has_one_hash_under_each_secret() {
        let hasher = |bits: u8| SourceHasher::new(Some(&LinkSecret::new([bits; 32])));
        let identity = Identity::new(Arc::new(Directory::default()), [7; 32], None, false);
        let origin = |hasher: &SourceHasher, from: &str| {
            hasher.origin(&identity, from.parse().expect("an address")).expect("by a key")
        };
        let first = origin(&hasher(1), "10.0.0.1");
        assert!(first.is_like(&origin(&hasher(1), "::ffff:10.0.0.1"), NetworkWidth::Source));
        assert_eq!(first.proof, ClientProof::KeyAlone);
        assert!(!first.is_like(&origin(&hasher(1), "10.0.0.2"), NetworkWidth::Source));
        assert!(!first.is_like(&origin(&hasher(2), "10.0.0.1"), NetworkWidth::Source));
        let network = origin(&hasher(1), "2001:db8::1");
        assert!(network.is_like(&origin(&hasher(1), "2001:db8::2"), NetworkWidth::Source));
        for (other, alike) in [
            ("2001:db8:0:1::1", 8),
            ("2001:db8:0:100::1", 4),
            ("2001:db8:1::1", 0),
            ("192.0.2.1", 0),
        ] {
            let other = origin(&hasher(1), other).source;
            let same = network.source.iter().zip(other).take_while(|(one, other)| *one == other);
            assert_eq!(same.count(), alike, "{other:?}");
        }
        let address = origin(&hasher(1), "192.0.2.1").source;
        assert_eq!(address[..8], origin(&hasher(1), "192.0.2.255").source[..8], "one /24");
    }
}
