//! The keys that the professionals of a group make themselves, and the last use of all keys.
//! Reference 3.1.

use thiserror::Error;

use crate::domain::directory::apikeys::{Apikey, ApikeyHolder};
use crate::domain::directory::{Directory, DirectoryEvent};
use crate::domain::records::ids::GroupId;
use crate::domain::records::site_origin::SiteOrigin;
use crate::domain::records::text::Text;
use crate::domain::time::{DAY, Instant};

/// Maximum number of public keys of one group alone that its professionals may make.
pub const GROUP_KEYS_MAX: usize = 50;
/// Maximum number of origins of such a key.
pub const GROUP_KEY_ORIGINS_MAX: usize = 20;

/// A change of the keys of a group by its professionals, or the record of uses.
#[derive(Clone, Debug)]
pub enum ChangeGroupKeys {
    /// Adds a public key of this group alone.
    Add {
        /// The group.
        group: GroupId,
        /// The SHA-256 of the key.
        hash: [u8; 32],
        /// The label.
        label: Text<255>,
        /// The origins whose pages may change something with it.
        origins: Vec<SiteOrigin>,
    },
    /// Revokes a public key of this group alone.
    Revoke {
        /// The group.
        group: GroupId,
        /// The SHA-256 of the key.
        hash: [u8; 32],
    },
    /// Records that keys were used today.
    RecordUses(Vec<[u8; 32]>),
}

/// The reason why a change is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the messages explain the variants")]
pub enum GroupKeyRefusal {
    #[error("this key exists already: generate another one")]
    Known,
    #[error("the group has {GROUP_KEYS_MAX} keys already: revoke one first")]
    TooMany,
    #[error("no public key of this group alone matches")]
    NoKey,
    #[error("the uses of this day are recorded already")]
    NothingNew,
}

/// Returns whether a key is public and covers this group alone, so that its professionals may
/// revoke it.
pub fn is_own_key(apikey: &Apikey, group: GroupId) -> bool {
    apikey.holder == ApikeyHolder::Public && apikey.groups.as_deref() == Some(&[group])
}

/// Returns the begin of the UTC day of a moment.
pub fn begin_of_day(now: Instant) -> Instant {
    Instant(now.0 - now.0.rem_euclid(DAY))
}

/// Decides a change.
///
/// # Errors
/// The reason why it is refused.
pub fn decide(
    directory: &Directory,
    change: &ChangeGroupKeys,
    now: Instant,
) -> Result<DirectoryEvent, GroupKeyRefusal> {
    match change {
        ChangeGroupKeys::Add { group, hash, label, origins } => {
            if directory.apikeys.contains_key(hash) {
                return Err(GroupKeyRefusal::Known);
            }
            let own = directory.apikeys.values().filter(|apikey| is_own_key(apikey, *group));
            if own.count() >= GROUP_KEYS_MAX {
                return Err(GroupKeyRefusal::TooMany);
            }
            let apikey = Apikey {
                label: label.clone(),
                groups: Some(vec![*group]),
                holder: ApikeyHolder::Public,
                origins: origins.clone(),
                allows_any_origin: false,
                needs_contact: true,
            };
            Ok(DirectoryEvent::ApikeyAdded { hash: *hash, apikey })
        }
        ChangeGroupKeys::Revoke { group, hash } => {
            let own = directory.apikeys.get(hash).filter(|apikey| is_own_key(apikey, *group));
            if own.is_none() {
                return Err(GroupKeyRefusal::NoKey);
            }
            Ok(DirectoryEvent::ApikeyRevoked { hash: *hash })
        }
        ChangeGroupKeys::RecordUses(used) => {
            let day = begin_of_day(now);
            let mut hashes = used.clone();
            hashes.retain(|hash| {
                directory.apikeys.contains_key(hash) && directory.keys_used.get(hash) != Some(&day)
            });
            if hashes.is_empty() {
                return Err(GroupKeyRefusal::NothingNew);
            }
            Ok(DirectoryEvent::KeysUsed { day, hashes })
        }
    }
}
