//! What stands above the groups: application keys, professionals, and which group has which ids. Reference 3.

use imbl::OrdMap;

use serde::{Deserialize, Serialize};

use crate::domain::identity::link_secret::LinkSecret;
use crate::domain::records::ids::{GroupId, ProId};
use crate::domain::records::text::{Email, Name, Text};
use crate::domain::time::Instant;

/// Ids are given out in blocks of this many, so that an id leads to its group and groups never wait for one another.
pub const BLOCK: u64 = 1_024;

/// The state of the whole server that belongs to no group. A copy shares its maps with what it is a copy of, so that a
/// server of very many groups grants ids as quickly as one of few.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Directory {
    /// Application keys by the SHA-256 of the key.
    pub apikeys: OrdMap<[u8; 32], Apikey>,
    /// Professionals.
    pub pros: OrdMap<ProId, Pro>,
    /// Who has which block of ids; a block filled by an import may have several owners.
    pub blocks: OrdMap<(IdKind, u64), Block>,
    /// What links in mails are proved by; `None` before the store is first served.
    pub seal: Option<LinkSecret>,
    /// How many events have made this state.
    pub sequence: u64,
}

/// An application that may ask.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Apikey {
    /// What the operator calls it.
    pub label: Text<255>,
    /// The groups it covers, ascending; `None` for all.
    pub groups: Option<Vec<GroupId>>,
}

impl Apikey {
    /// Whether it covers a group.
    #[must_use]
    pub fn covers(&self, group: GroupId) -> bool {
        self.groups.as_ref().is_none_or(|groups| groups.binary_search(&group).is_ok())
    }
}

/// A professional: one person per e-mail.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pro {
    /// Its id.
    pub id: ProId,
    /// The address it logs in with.
    pub email: Email,
    /// A PHC string over the lower-case SHA-1 hex of the password.
    pub password_hash: Text<255>,
    /// Last name.
    pub lastname: Name<64>,
    /// First name.
    pub firstname: Name<64>,
    /// Mobile phone.
    pub cellphone: Text<25>,
    /// Groups it works for, ascending.
    pub groups: Vec<GroupId>,
    /// The one of them that older paths mean.
    pub main: GroupId,
    /// When a client last synchronised for it.
    pub synched_at: Option<Instant>,
    /// When it was made.
    pub created_at: Instant,
    /// When it last changed.
    pub updated_at: Instant,
}

impl Pro {
    /// Whether it works for a group.
    #[must_use]
    pub fn works_for(&self, group: GroupId) -> bool {
        self.groups.binary_search(&group).is_ok()
    }
}

/// Kinds of things whose ids are given out while the server runs. The order of the variants is the format on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the kinds of the specification")]
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
    /// All of them.
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

/// A block of ids.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Block {
    /// Given to one group, to use from the first to the last.
    Granted(GroupId),
    /// Filled by an import, by these groups, ascending; nobody is given ids from it.
    Imported(Vec<GroupId>),
}

/// What has happened to the directory. The order of the variants is the format on disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum DirectoryEvent {
    /// A group may use a block of ids.
    BlockGranted {
        /// For what.
        kind: IdKind,
        /// Which block: ids from `block * BLOCK` on.
        block: u64,
        /// To whom.
        group: GroupId,
    },
    /// An application may ask.
    ApikeyAdded {
        /// The SHA-256 of its key.
        hash: [u8; 32],
        /// What the operator calls it, and what it covers.
        apikey: Apikey,
    },
    /// A key opens nothing any more.
    ApikeyRevoked {
        /// The SHA-256 of the key.
        hash: [u8; 32],
    },
    /// A professional is new, or something about them is different.
    ProPut {
        /// The professional as they are now.
        pro: Box<Pro>,
    },
    /// The store is served for the first time.
    Sealed {
        /// Its secret from now on.
        seal: LinkSecret,
    },
}

impl Directory {
    /// Whether there is nobody who may ask, nobody who works here, and no id in use.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.apikeys.is_empty() && self.pros.is_empty() && self.blocks.is_empty()
    }

    /// The professionals of a group, by id. Looks at all there are.
    pub fn pros_of(&self, group: GroupId) -> impl Iterator<Item = &Pro> {
        self.pros.values().filter(move |pro| pro.works_for(group))
    }

    /// The professional of an address. OutgoingMessage case does not matter.
    #[must_use]
    pub fn pro_of_email(&self, folded: &str) -> Option<&Pro> {
        self.pros.values().find(|pro| *pro.email.folded() == *folded)
    }

    /// Grants a group the first block after all that are taken.
    #[must_use]
    pub fn grant(&self, kind: IdKind, group: GroupId) -> DirectoryEvent {
        DirectoryEvent::BlockGranted { kind, block: self.next_block(kind), group }
    }

    /// The first block after all that are taken.
    #[must_use]
    pub fn next_block(&self, kind: IdKind) -> u64 {
        let last = self.blocks.range((kind, 0)..=(kind, u64::MAX)).next_back();
        last.map_or(0, |((_, block), _)| block + 1)
    }

    /// The ids a group was granted and has not used, ascending ranges. `spent` is the highest it ever used.
    pub fn unused(
        &self,
        kind: IdKind,
        group: GroupId,
        spent: u64,
    ) -> impl Iterator<Item = std::ops::Range<u64>> {
        self.blocks
            .range((kind, 0)..=(kind, u64::MAX))
            .filter(move |(_, owner)| **owner == Block::Granted(group))
            .map(move |((_, block), _)| (block * BLOCK).max(spent + 1)..(block + 1) * BLOCK)
            .filter(|ids| !ids.is_empty())
    }

    /// Notes that an import has filled an id's block.
    pub fn claim(&mut self, kind: IdKind, id: u64, group: GroupId) {
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

    /// The state after an event. Never refuses.
    ///
    /// # Panics
    /// Where a block is granted, a key added or the store sealed twice, or an unknown key revoked: then our journal is wrong.
    #[must_use]
    pub fn apply(&self, event: &DirectoryEvent) -> Self {
        let mut next = self.clone();
        next.apply_in_place(event);
        next
    }

    /// Makes this the state after an event, as [`Directory::apply`] does, and copies nothing.
    ///
    /// # Panics
    /// As [`Directory::apply`]; what is left then is to be dropped.
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
            DirectoryEvent::Sealed { seal } => {
                let before = self.seal.replace(seal.clone());
                assert!(before.is_none(), "a store is sealed once");
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
    fn blocks_are_granted_after_all_imported_ids() {
        let mut directory = Directory::default();
        directory.claim(IdKind::Fiche, 2_000, group(4));
        directory.claim(IdKind::Fiche, 1_500, group(5));
        let event = directory.grant(IdKind::Fiche, group(4));
        assert_eq!(
            event,
            DirectoryEvent::BlockGranted { kind: IdKind::Fiche, block: 2, group: group(4) }
        );
        let directory = directory.apply(&event);
        let ids =
            |spent| directory.unused(IdKind::Fiche, group(4), spent).flatten().collect::<Vec<_>>();
        assert_eq!(ids(2_000), (2_048..3_072).collect::<Vec<_>>());
        assert_eq!(ids(2_050), (2_051..3_072).collect::<Vec<_>>());
        assert_eq!(directory.unused(IdKind::Fiche, group(5), 0).count(), 0);
        assert_eq!(directory.unused(IdKind::Vevent, group(4), 0).count(), 0);
    }
}
