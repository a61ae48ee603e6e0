//! Links of calendar feeds: `PUBLIC_URL/ics/<secret>.ics`. Reference 19.1.
//!
//! A secret is the id of the group, which finds the group without an index of all secrets, and 256
//! random bits.

use data_encoding::BASE64URL_NOPAD;
use sha2::{Digest as _, Sha256};

use crate::domain::records::ids::GroupId;

/// The path of all files of feeds.
pub(crate) const PATH: &str = "/ics/{file}";

/// The secret in the link of a calendar feed. It is shown once, and its SHA-256 is kept.
pub(crate) struct FeedSecret(String);

impl FeedSecret {
    /// Makes the secret of a feed of a group from random bytes.
    pub(crate) fn new(group: GroupId, random: [u8; 32]) -> Self {
        Self(format!("{group}-{}", BASE64URL_NOPAD.encode(&random)))
    }

    /// The SHA-256 of the secret.
    pub(crate) fn hash(&self) -> [u8; 32] {
        hash_of(&self.0)
    }

    /// The link, in characters that stand in a path as they are.
    pub(crate) fn url(&self, public_url: &str) -> String {
        format!("{public_url}/ics/{}.ics", self.0)
    }
}

/// Returns the SHA-256 of a secret that a caller gives.
pub(crate) fn hash_of(secret: &str) -> [u8; 32] {
    Sha256::digest(secret).into()
}

/// Returns the group that a secret names; `None` for a text that is no secret. Whether the group
/// has such a feed is not checked.
pub(crate) fn group_of(secret: &str) -> Option<GroupId> {
    let (group, _) = secret.split_once('-')?;
    GroupId::new(group.parse().ok()?)
}
