//! The directory: application keys, professionals, and the blocks of ids of the groups. Reference
//! 3.

use imbl::{OrdMap, OrdSet};
use serde::{Deserialize, Deserializer, Serialize};

use crate::domain::identity::link_secret::LinkSecret;
use crate::domain::identity::site_origin::SiteOrigin;
use crate::domain::records::added::{in_format_2, in_format_2_or};
use crate::domain::records::ids::{GroupId, ProId};
use crate::domain::records::text::{Email, Name, Text};
use crate::domain::time::Instant;
use crate::planted_faults::PlantedFault;

/// Number of ids in a block. A group uses ids of its own blocks only. So an id identifies its
/// group, and groups never wait for one another.
pub const BLOCK: u64 = 1_024;

/// The state of the server that belongs to no group. A copy shares its maps with the original, so
/// the cost of a grant does not grow with the number of groups.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Directory {
    /// The application keys, by the SHA-256 of the key.
    pub apikeys: OrdMap<[u8; 32], Apikey>,
    /// The professionals.
    pub pros: Professionals,
    /// The owners of the blocks of ids. A block that an import filled may have several.
    pub blocks: OrdMap<(IdKind, u64), Block>,
    /// The secret that signs links in mails; `None` before the store is first served.
    pub link_secret: Option<LinkSecret>,
    /// The sequence number of the last event; 0 before the first.
    pub sequence: u64,
}

/// An application key. Reference 3.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Apikey {
    /// The label that the operator gave it.
    pub label: Text<255>,
    /// The groups it covers, ascending; `None` for all groups.
    pub groups: Option<Vec<GroupId>>,
    /// The program that holds the key.
    #[serde(deserialize_with = "holder_unless_known")]
    pub holder: ApikeyHolder,
    /// The origins of other sites whose pages may log people in with this key, in the order in
    /// which they were given. Reference 3.3.
    #[serde(deserialize_with = "in_format_2")]
    pub origins: Vec<SiteOrigin>,
}

/// The program that holds an application key. Reference 3.1. The order of the variants is the
/// format on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ApikeyHolder {
    /// A page or program of the public, which can read the key.
    Public,
    /// A site's own server or a trusted integration. Its source address stands for many clients.
    Server,
    /// Unknown: the key comes from a store that did not hold this. It counts as a server's.
    Unknown,
    /// A program of the operator, which may also found groups. The key covers all groups.
    Operator,
}

/// Decodes the holder of a key; unknown in records of format 1.
fn holder_unless_known<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<ApikeyHolder, D::Error> {
    in_format_2_or(deserializer, ApikeyHolder::Unknown)
}

impl Apikey {
    /// Whether the key covers a group.
    #[must_use]
    pub fn covers(&self, group: GroupId) -> bool {
        if PlantedFault::ForeignGroupKeyAccepted.is_active() {
            return true;
        }
        match &self.groups {
            Some(groups) => groups.binary_search(&group).is_ok(),
            None => true,
        }
    }

    /// Whether pages of an origin, as a browser sends it, may log people in with this key.
    #[must_use]
    pub fn names_origin(&self, origin: &str) -> bool {
        match SiteOrigin::new(origin) {
            Ok(origin) => self.origins.contains(&origin),
            Err(_) => false,
        }
    }

    /// Whether the key counts as one of a server.
    #[must_use]
    pub const fn is_server(&self) -> bool {
        match self.holder {
            ApikeyHolder::Public => false,
            ApikeyHolder::Server | ApikeyHolder::Unknown | ApikeyHolder::Operator => true,
        }
    }

    /// Whether the key is held by the operator.
    #[must_use]
    pub fn is_operator(&self) -> bool {
        self.holder == ApikeyHolder::Operator
    }
}

/// A professional. An e-mail address belongs to one professional only. Reference 3.3.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pro {
    /// Its id.
    pub id: ProId,
    /// The address it logs in with.
    pub email: Email,
    /// A PHC string over the lower-case hexadecimal SHA-1 of the password.
    pub password_hash: Text<255>,
    /// Last name.
    pub lastname: Name<64>,
    /// First name.
    pub firstname: Name<64>,
    /// Mobile phone.
    pub cellphone: Text<25>,
    /// The groups that the professional works for, ascending.
    pub groups: Vec<GroupId>,
    /// The group that older paths refer to. Reference 1.6.
    pub main: GroupId,
    /// The time of the last synchronisation by a client program.
    pub synched_at: Option<Instant>,
    /// The time of its creation.
    pub created_at: Instant,
    /// The time of its last change.
    pub updated_at: Instant,
}

impl Pro {
    /// Whether the professional works for a group.
    #[must_use]
    pub fn works_for(&self, group: GroupId) -> bool {
        self.groups.binary_search(&group).is_ok()
    }
}

/// The kinds of records whose ids come from blocks. The order of the variants is the format on
/// disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each is the record of its name")]
pub enum IdKind {
    Fiche,
    Vevent,
    Calendar,
    Calendarset,
    Intervention,
    Interventionset,
    Customfield,
}

impl IdKind {
    /// All kinds.
    pub const ALL: [Self; 7] = [
        Self::Fiche,
        Self::Vevent,
        Self::Calendar,
        Self::Calendarset,
        Self::Intervention,
        Self::Interventionset,
        Self::Customfield,
    ];
}

/// The owner of a block of ids. The order of the variants is the format on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Block {
    /// Granted to one group, which uses the ids in ascending order.
    Granted(GroupId),
    /// Filled by an import, with ids of these groups, ascending. No new id is taken from it.
    Imported(Vec<GroupId>),
}

/// A change of the directory. The order of the variants is the format on disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum DirectoryEvent {
    /// A group was granted a block of ids.
    BlockGranted {
        /// The kind of ids.
        kind: IdKind,
        /// The number of the block. Its first id is `block * BLOCK`.
        block: u64,
        /// The owner.
        group: GroupId,
    },
    /// An application key was added.
    ApikeyAdded {
        /// The SHA-256 of the key.
        hash: [u8; 32],
        /// Its label and groups.
        apikey: Apikey,
    },
    /// An application key was revoked.
    ApikeyRevoked {
        /// The SHA-256 of the key.
        hash: [u8; 32],
    },
    /// A professional was added or changed.
    ProPut {
        /// All fields of the professional after the change.
        pro: Box<Pro>,
    },
    /// The store got its secret, when it was first served.
    LinkSecretSet {
        /// The secret.
        link_secret: LinkSecret,
    },
    /// A known application key was changed.
    ApikeyPut {
        /// The SHA-256 of the key.
        hash: [u8; 32],
        /// The record after the change.
        apikey: Apikey,
    },
    /// A professional was removed, and may no longer log in.
    ProRemoved {
        /// Its id.
        id: ProId,
    },
}

/// Professionals by id, and by address for their logins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Professionals {
    by_id: OrdMap<ProId, Pro>,
    /// The folded address of each, with its id.
    emails: OrdSet<(Box<str>, ProId)>,
}

impl Professionals {
    /// Finds a professional.
    #[must_use]
    pub fn get(&self, id: &ProId) -> Option<&Pro> {
        self.by_id.get(id)
    }

    /// Inserts a professional, or replaces the one with its id. Returns the one before.
    pub fn insert(&mut self, id: ProId, pro: Pro) -> Option<Pro> {
        let before = self.remove(&id);
        self.emails.insert((pro.email.folded(), id));
        self.by_id.insert(id, pro);
        before
    }

    /// Removes a professional, if it exists, and returns it.
    pub fn remove(&mut self, id: &ProId) -> Option<Pro> {
        let before = self.by_id.remove(id)?;
        self.emails.remove(&(before.email.folded(), *id));
        Some(before)
    }

    /// All professionals, ascending by id.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &Pro> {
        self.by_id.values()
    }

    /// Their ids, ascending.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &ProId> {
        self.by_id.keys()
    }

    /// Their number.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }
}

impl Extend<(ProId, Pro)> for Professionals {
    fn extend<I: IntoIterator<Item = (ProId, Pro)>>(&mut self, pros: I) {
        for (id, pro) in pros {
            self.insert(id, pro);
        }
    }
}

impl FromIterator<(ProId, Pro)> for Professionals {
    fn from_iter<I: IntoIterator<Item = (ProId, Pro)>>(pros: I) -> Self {
        let mut professionals = Self::default();
        professionals.extend(pros);
        professionals
    }
}

impl Directory {
    /// Whether there are no application keys, no professionals and no blocks.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.apikeys.is_empty() && self.pros.is_empty() && self.blocks.is_empty()
    }

    /// The professionals of a group, ascending by id. The cost grows with all professionals.
    pub fn pros_of(&self, group: GroupId) -> impl Iterator<Item = &Pro> {
        self.pros.values().filter(move |pro| pro.works_for(group))
    }

    /// Finds the professional with a folded address; of several, the one with the lowest id.
    #[must_use]
    pub fn pro_of_email(&self, folded: &str) -> Option<&Pro> {
        let first = ProId::new(1).expect("1 is an id");
        let (email, id) = self.pros.emails.range((Box::from(folded), first)..).next()?;
        if **email == *folded { self.pros.get(id) } else { None }
    }

    /// Makes the event that grants a group the next free block.
    #[must_use]
    pub fn grant_block(&self, kind: IdKind, group: GroupId) -> DirectoryEvent {
        DirectoryEvent::BlockGranted { kind, block: self.next_block(kind), group }
    }

    /// The number of the block after the highest one in use.
    #[must_use]
    pub fn next_block(&self, kind: IdKind) -> u64 {
        match self.blocks.range((kind, 0)..=(kind, u64::MAX)).next_back() {
            Some(((_, last), _)) => last + 1,
            None => 0,
        }
    }

    /// The ids that were granted to a group and are not used yet, as ascending ranges. `last_used`
    /// is the highest id that the group ever used.
    pub fn unused_ids(
        &self,
        kind: IdKind,
        group: GroupId,
        last_used: u64,
    ) -> impl Iterator<Item = std::ops::Range<u64>> {
        self.blocks
            .range((kind, 0)..=(kind, u64::MAX))
            .filter(move |(_, owner)| **owner == Block::Granted(group))
            .map(move |((_, block), _)| (block * BLOCK).max(last_used + 1)..(block + 1) * BLOCK)
            .filter(|ids| !ids.is_empty())
    }

    /// Marks the block of an id as filled by an import.
    pub fn claim_imported_id(&mut self, kind: IdKind, id: u64, group: GroupId) {
        let block =
            self.blocks.entry((kind, id / BLOCK)).or_insert_with(|| Block::Imported(Vec::new()));
        match block {
            Block::Granted(owner) if *owner == group => {}
            Block::Granted(owner) => {
                *block = Block::Imported(vec![(*owner).min(group), (*owner).max(group)])
            }
            Block::Imported(owners) => {
                if let Err(at) = owners.binary_search(&group) {
                    owners.insert(at, group);
                }
            }
        }
    }

    /// Returns the state after an event. Never refuses.
    ///
    /// # Panics
    /// If a block is granted twice, a key added twice, the secret set twice, or an unknown key
    /// revoked or changed. Then the journal is wrong.
    #[must_use]
    pub fn apply(&self, event: &DirectoryEvent) -> Self {
        let mut next = self.clone();
        next.apply_in_place(event);
        next
    }

    /// Applies an event to this state without a copy.
    ///
    /// # Panics
    /// As [`Directory::apply`]. The state is then half changed and must be dropped.
    pub fn apply_in_place(&mut self, event: &DirectoryEvent) {
        self.sequence += 1;
        match event {
            DirectoryEvent::BlockGranted { kind, block, group } => {
                let before = self.blocks.insert((*kind, *block), Block::Granted(*group));
                assert!(before.is_none(), "a block is granted once");
            }
            DirectoryEvent::ApikeyAdded { hash, apikey } => {
                let before = self.apikeys.insert(*hash, apikey.clone());
                assert!(before.is_none(), "a key is added once");
            }
            DirectoryEvent::ApikeyRevoked { hash } => {
                self.apikeys.remove(hash).expect("only a known key is revoked");
            }
            DirectoryEvent::ProPut { pro } => {
                self.pros.insert(pro.id, Pro::clone(pro));
            }
            DirectoryEvent::ProRemoved { id } => {
                self.pros.remove(id).expect("only a known professional is removed");
            }
            DirectoryEvent::LinkSecretSet { link_secret } => {
                let before = self.link_secret.replace(link_secret.clone());
                assert!(before.is_none(), "a store gets one secret");
            }
            DirectoryEvent::ApikeyPut { hash, apikey } => {
                let before = self.apikeys.insert(*hash, apikey.clone());
                assert!(before.is_some(), "only a known key is changed");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(id: u64) -> GroupId {
        GroupId::new(id).expect("an id")
    }

    #[test]
    fn a_granted_block_follows_all_imported_ids() {
        let mut directory = Directory::default();
        directory.claim_imported_id(IdKind::Fiche, 2_000, group(4));
        directory.claim_imported_id(IdKind::Fiche, 1_500, group(5));
        let event = directory.grant_block(IdKind::Fiche, group(4));
        assert_eq!(
            event,
            DirectoryEvent::BlockGranted { kind: IdKind::Fiche, block: 2, group: group(4) }
        );
        let directory = directory.apply(&event);
        let ids = |last_used| {
            directory.unused_ids(IdKind::Fiche, group(4), last_used).flatten().collect::<Vec<_>>()
        };
        assert_eq!(ids(2_000), (2_048..3_072).collect::<Vec<_>>());
        assert_eq!(ids(2_050), (2_051..3_072).collect::<Vec<_>>());
        assert_eq!(directory.unused_ids(IdKind::Fiche, group(5), 0).count(), 0);
        assert_eq!(directory.unused_ids(IdKind::Vevent, group(4), 0).count(), 0);
    }
}
