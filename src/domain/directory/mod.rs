//! The directory: application keys, professionals, and the blocks of ids of the groups. Reference
//! 3.

pub mod access;
pub mod access_history;
pub mod access_refusal;
pub mod apikeys;
pub mod cluster_secret;
pub mod confirmation_code;
pub mod factor_changes;
pub mod feed_access;
pub mod group_keys;
pub mod id_blocks;
pub mod invitations;
pub mod joining;
pub mod known_logins;
pub mod link_secret;
mod observed;
pub mod password_link;
mod pro_changes;
pub mod pro_logins;
pub mod professionals;
pub mod roles;
pub mod second_factor;
pub mod store_groups;

use imbl::OrdMap;
use serde::{Deserialize, Serialize};

use crate::domain::directory::access_history::{AccessHistory, AccessRow};
use crate::domain::directory::apikeys::{Apikey, Apikeys};
use crate::domain::directory::id_blocks::{Block, IdBlocks, IdKind};
use crate::domain::directory::invitations::{Invitation, Invitations};
use crate::domain::directory::known_logins::{KnownLogins, LoginPlace};
use crate::domain::directory::link_secret::LinkSecret;
use crate::domain::directory::pro_logins::{LoginHash, ProLogin, ProLogins};
use crate::domain::directory::professionals::{Pro, Professionals};
use crate::domain::directory::roles::{ProRole, Roles};
use crate::domain::directory::second_factor::{SecondFactor, UsedCode};
use crate::domain::records::author::Author;
use crate::domain::records::ids::{GroupId, ProId};
use crate::domain::time::Instant;

/// The state of the server that belongs to no group. A copy shares its maps with the original, so
/// the cost of a grant does not grow with the number of groups.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Directory {
    /// The application keys.
    pub apikeys: Apikeys,
    /// The professionals.
    pub pros: Professionals,
    /// The blocks of ids of the groups.
    pub blocks: IdBlocks,
    /// The secret that signs links in mails; `None` before the store is first served.
    pub link_secret: Option<LinkSecret>,
    /// The sources at which persons have logged in.
    pub known_logins: KnownLogins,
    /// The logins of professionals at their screens.
    pub pro_logins: ProLogins,
    /// The roles of the professionals in their groups.
    pub roles: Roles,
    /// The invitations to groups.
    pub invitations: Invitations,
    /// The history of access.
    pub access_history: AccessHistory,
    /// The second factors of professionals who have one.
    pub second_factors: OrdMap<ProId, SecondFactor>,
    /// The begin of the UTC day on which each key was last used; none before its first use.
    pub keys_used: OrdMap<[u8; 32], Instant>,
    /// The sequence number of the last event; 0 before the first.
    pub sequence: u64,
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
    /// A person has logged in at a source.
    LoginRecorded {
        /// The person and the source.
        place: LoginPlace,
        /// The time of the login.
        at: Instant,
    },
    /// A professional has logged in at the screens.
    ProLoggedIn {
        /// The SHA-256 of the token.
        hash: LoginHash,
        /// The login.
        login: Box<ProLogin>,
        /// The login of the same browser before, which has ended.
        replaced: Option<LoginHash>,
    },
    /// Logins of a professional at the screens have ended.
    ProLoggedOut {
        /// The SHA-256 of each token.
        hashes: Vec<LoginHash>,
    },
    /// A professional got a role in a group. One who is new, or new in the group, comes with it.
    RolePut {
        /// All fields of the professional after the change, if that changes them.
        pro: Option<Box<Pro>>,
        /// The professional.
        id: ProId,
        /// The groups.
        groups: Vec<GroupId>,
        /// The role in each of them.
        role: ProRole,
    },
    /// An address was invited to a group.
    Invited {
        /// The group.
        group: GroupId,
        /// The number of the invitation, which the group has not used before.
        number: u64,
        /// The invitation.
        invitation: Box<Invitation>,
        /// The steady time. Invitations of the group that have expired by then are removed.
        at: Instant,
    },
    /// An invitation was withdrawn, or accepted.
    InvitationEnded {
        /// The group.
        group: GroupId,
        /// The number of the invitation.
        number: u64,
        /// The professional who accepted, with all fields after that.
        accepted_by: Option<Box<Pro>>,
        /// The role that the professional has got, if the invitation was accepted.
        role: ProRole,
    },
    /// An event with its author. The history of access is made of these.
    Authored {
        /// The stamp of the event.
        at: Instant,
        /// The author; `None` for one who is not known.
        author: Option<Author>,
        /// The event.
        event: Box<DirectoryEvent>,
    },
    /// Acts happened that changed nothing else.
    Noted {
        /// The acts, in order.
        rows: Vec<AccessRow>,
    },
    /// Rows of the history of access that are no longer kept were ended.
    AccessRowsEnded {
        /// Rows with a lower number end.
        below: u64,
    },
    /// A professional has set up a second factor, or has other recovery codes.
    SecondFactorPut {
        /// The professional.
        pro: ProId,
        /// The factor after the change.
        factor: Box<SecondFactor>,
        /// The logins that end with it.
        ended: Vec<LoginHash>,
    },
    /// A second factor was removed.
    SecondFactorRemoved {
        /// The professional.
        pro: ProId,
    },
    /// A code that is wrong, or was used before, was given with the right password.
    WrongCodeGiven {
        /// The professional.
        pro: ProId,
    },
    /// A professional has logged in at the screens with a code.
    ProLoggedInByCode {
        /// The SHA-256 of the token.
        hash: LoginHash,
        /// The login.
        login: Box<ProLogin>,
        /// The login of the same browser before, which has ended.
        replaced: Option<LoginHash>,
        /// The code, which is accepted once.
        used: UsedCode,
    },
    /// Application keys were used on a day.
    KeysUsed {
        /// The begin of the UTC day.
        day: Instant,
        /// The SHA-256 of each key.
        hashes: Vec<[u8; 32]>,
    },
}

impl Directory {
    /// Whether there are no application keys, no professionals and no blocks.
    pub fn is_blank(&self) -> bool {
        self.apikeys.is_empty() && self.pros.is_empty() && self.blocks.is_empty()
    }

    /// Makes the event that grants a group the next free block.
    #[must_use]
    pub fn grant_block(&self, kind: IdKind, group: GroupId) -> DirectoryEvent {
        DirectoryEvent::BlockGranted { kind, block: self.blocks.next_number(kind), group }
    }

    /// Returns the state after an event. Never refuses.
    ///
    /// # Panics
    /// If a block is granted twice, a key added twice, the secret set twice, an unknown key revoked
    /// or changed, or an unknown second factor used or removed. Then the journal is wrong.
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
        self.apply_one(event);
    }

    fn apply_one(&mut self, event: &DirectoryEvent) {
        match event {
            DirectoryEvent::Authored { at, author, event } => {
                let rows = self.observe(event, *author, *at);
                self.apply_one(event);
                rows.into_iter().for_each(|row| self.access_history.add(row));
            }
            DirectoryEvent::Noted { rows } => {
                rows.iter().cloned().for_each(|row| self.access_history.add(row));
            }
            DirectoryEvent::AccessRowsEnded { below } => self.access_history.end_below(*below),
            DirectoryEvent::BlockGranted { kind, block, group } => {
                let before = self.blocks.insert(*kind, *block, Block::Granted(*group));
                assert!(before.is_none(), "a block is granted once");
            }
            DirectoryEvent::ApikeyAdded { hash, apikey } => {
                let before = self.apikeys.insert(*hash, apikey.clone());
                assert!(before.is_none(), "a key is added once");
            }
            DirectoryEvent::ApikeyRevoked { hash } => {
                self.apikeys.remove(hash).expect("only a known key is revoked");
                self.keys_used.remove(hash);
            }
            DirectoryEvent::ProPut { pro } => self.put_pro(pro),
            DirectoryEvent::ProRemoved { id } => self.remove_pro(*id),
            DirectoryEvent::RolePut { pro, id, groups, role } => {
                if let Some(pro) = pro {
                    self.put_pro(pro);
                }
                for group in groups {
                    self.roles.set(*group, *id, role.clone());
                }
            }
            DirectoryEvent::ProLoggedIn { hash, login, replaced } => {
                self.open_login(*hash, login, *replaced);
            }
            DirectoryEvent::ProLoggedInByCode { hash, login, replaced, used } => {
                self.factor_mut(login.pro).use_code(*used);
                self.open_login(*hash, login, *replaced);
            }
            DirectoryEvent::SecondFactorPut { pro, factor, ended } => {
                self.second_factors.insert(*pro, SecondFactor::clone(factor));
                ended.iter().for_each(|hash| self.pro_logins.remove(hash));
            }
            DirectoryEvent::SecondFactorRemoved { pro } => {
                self.second_factors.remove(pro).expect("only a known factor is removed");
            }
            DirectoryEvent::KeysUsed { day, hashes } => {
                self.keys_used.extend(hashes.iter().map(|hash| (*hash, *day)));
            }
            DirectoryEvent::WrongCodeGiven { pro } => self.factor_mut(*pro).count_wrong_code(),
            DirectoryEvent::ProLoggedOut { hashes } => {
                hashes.iter().for_each(|hash| self.pro_logins.remove(hash));
            }
            DirectoryEvent::Invited { group, number, invitation, at } => {
                self.invitations.open(*group, *number, Invitation::clone(invitation), *at);
            }
            DirectoryEvent::InvitationEnded { group, number, accepted_by, role } => {
                self.end_invitation(*group, *number, accepted_by.as_deref(), role);
            }
            DirectoryEvent::LoginRecorded { place, at } => self.known_logins.insert(*place, *at),
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

    /// Ends an invitation. The person who accepted it works for the group in its role.
    fn end_invitation(
        &mut self,
        group: GroupId,
        number: u64,
        accepted_by: Option<&Pro>,
        role: &ProRole,
    ) {
        self.invitations.remove(group, number);
        if let Some(pro) = accepted_by {
            self.put_pro(pro);
            self.roles.set(group, pro.id, role.clone());
        }
    }

    /// Removes a professional with all that lets it in.
    fn remove_pro(&mut self, id: ProId) {
        let before = self.pros.remove(&id).expect("only a known professional is removed");
        self.pro_logins.remove_all(id);
        self.second_factors.remove(&id);
        for group in before.groups {
            self.roles.remove(group, id);
        }
    }

    /// Replaces all professionals by those of a merge. What lets a person in stays with the person:
    /// an id that another address has now keeps neither logins nor a second factor.
    pub fn replace_pros(&mut self, merged: Professionals) {
        let before = std::mem::replace(&mut self.pros, merged);
        self.pros.spend_ids_to(before.last_id());
        for (id, before) in before.iter() {
            let same_address = |after: &&Pro| after.email.folded() == before.email.folded();
            match self.pros.get(id).filter(same_address) {
                Some(after) if after.password_hash == before.password_hash => {}
                Some(_) => self.end_logins_of(*id),
                None => {
                    self.pro_logins.remove_all(*id);
                    self.second_factors.remove(id);
                }
            }
        }
    }

    /// Ends the logins of a professional with another password. Wrong codes count from none again.
    fn end_logins_of(&mut self, pro: ProId) {
        self.pro_logins.remove_all(pro);
        if let Some(factor) = self.second_factors.get_mut(&pro) {
            factor.forget_wrong_codes();
        }
    }

    /// Adds or replaces a professional. Another password ends its logins, and a group that it
    /// leaves keeps no role of it.
    fn put_pro(&mut self, pro: &Pro) {
        // The invitation of an address ends with its professional's work.
        for group in &pro.groups {
            self.invitations.remove_address(*group, &pro.email.folded());
        }
        let Some(before) = self.pros.insert(pro.id, pro.clone()) else { return };
        if before.password_hash != pro.password_hash {
            self.end_logins_of(pro.id);
        }
        for group in before.groups {
            if !pro.works_for(group) {
                self.roles.remove(group, pro.id);
            }
        }
    }

    fn open_login(&mut self, hash: LoginHash, login: &ProLogin, replaced: Option<LoginHash>) {
        if let Some(replaced) = replaced {
            self.pro_logins.remove(&replaced);
        }
        self.pro_logins.open(hash, login.clone());
    }

    fn factor_mut(&mut self, pro: ProId) -> &mut SecondFactor {
        self.second_factors.get_mut(&pro).expect("codes are given to a known factor only")
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
        directory.blocks.claim_imported(IdKind::Fiche, 2_000, group(4));
        directory.blocks.claim_imported(IdKind::Fiche, 1_500, group(5));
        let event = directory.grant_block(IdKind::Fiche, group(4));
        assert_eq!(
            event,
            DirectoryEvent::BlockGranted { kind: IdKind::Fiche, block: 2, group: group(4) }
        );
        let directory = directory.apply(&event);
        let ids = |last_used| {
            directory
                .blocks
                .unused_ids(IdKind::Fiche, group(4), last_used)
                .flatten()
                .collect::<Vec<_>>()
        };
        assert_eq!(ids(2_000), (2_048..3_072).collect::<Vec<_>>());
        assert_eq!(ids(2_050), (2_051..3_072).collect::<Vec<_>>());
        assert_eq!(directory.blocks.unused_ids(IdKind::Fiche, group(5), 0).count(), 0);
        assert_eq!(directory.blocks.unused_ids(IdKind::Vevent, group(4), 0).count(), 0);
    }
}
