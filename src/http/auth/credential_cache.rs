//! A cache of verified credentials: verifying one takes a core for tens of milliseconds.
//! Reference 3.4.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use crate::domain::time::Instant;
use crate::engine::randomness::Randomness;
use crate::http::auth::auth_request::AuthRequest;
use crate::http::auth::person::{Candidate, Person};

/// Seconds for which a verified credential is not verified again.
const CACHED_SECONDS: i64 = 60;

/// Key of a cached credential: a hash keyed with a secret of the process. It reveals nothing about
/// the password, and the time of a look-up reveals nothing about other keys.
pub(crate) type CredentialCacheKey = [u8; 32];

/// Credentials that were verified within the last minute.
pub(crate) struct CredentialCache {
    /// Drawn at start and never stored.
    secret: [u8; 32],
    verified: Mutex<BTreeMap<CredentialCacheKey, VerifiedCandidate>>,
}

/// The person of a verified credential, with the password hash that it matched.
struct VerifiedCandidate {
    candidate: Candidate,
    at: Instant,
}

impl CredentialCache {
    /// Returns an empty cache with a new secret.
    pub(crate) fn new() -> Self {
        Self { secret: Randomness::from_os().bytes(), verified: Mutex::default() }
    }

    /// Returns the key of a credential: of its text, and of all that decides on its candidates.
    pub(crate) fn key<const N: usize>(&self, parts: [&[u8]; N]) -> CredentialCacheKey {
        let mut inner = Sha256::new_with_prefix(self.secret);
        for part in parts {
            // The length keeps apart parts that are the same when joined.
            inner.update(part.len().to_be_bytes());
            inner.update(part);
        }
        Sha256::new_with_prefix(self.secret).chain_update(inner.finalize()).finalize().into()
    }

    /// Returns the person of a cached credential, if their address and password have not changed.
    pub(crate) fn find(
        &self,
        key: &CredentialCacheKey,
        request: &AuthRequest<'_>,
    ) -> Option<Person> {
        let verified = self.verified.lock();
        let found = verified.get(key)?;
        if !is_fresh(found.at, request.now) {
            return None;
        }
        request.refresh(&found.candidate)
    }

    /// Caches a credential that matched a candidate.
    pub(crate) fn insert(&self, key: CredentialCacheKey, candidate: Candidate, now: Instant) {
        let mut verified = self.verified.lock();
        verified.retain(|_, candidate| is_fresh(candidate.at, now));
        verified.insert(key, VerifiedCandidate { candidate, at: now });
    }
}

/// Returns whether less than a minute has passed. A clock set back ends the minute too.
fn is_fresh(at: Instant, now: Instant) -> bool {
    (0..CACHED_SECONDS).contains(&now.seconds_since(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_depends_on_each_part_and_on_the_secret() {
        let [one, other] = [CredentialCache::new(), CredentialCache::new()];
        let key = one.key([b"ann", b"a"]);
        assert_eq!(one.key([b"ann", b"a"]), key);
        assert_ne!(one.key([b"an", b"na"]), key);
        assert_ne!(one.key([b"ann", b"b"]), key);
        assert_ne!(other.key([b"ann", b"a"]), key);
    }

    #[test]
    fn a_credential_is_cached_for_a_minute() {
        assert!(is_fresh(Instant(1_000), Instant(1_059)));
        assert!(!is_fresh(Instant(1_000), Instant(1_060)));
        assert!(!is_fresh(Instant(1_000), Instant(999)));
    }
}
