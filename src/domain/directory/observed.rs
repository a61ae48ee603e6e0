//! The acts that an event of the directory makes, for the history of access. Reference 16.5.

use crate::domain::directory::access_history::{AccessAct, AccessRow, LoginPerson};
use crate::domain::directory::professionals::Pro;
use crate::domain::directory::roles::ProRole;
use crate::domain::directory::{Directory, DirectoryEvent};
use crate::domain::records::author::{Author, KeyId};
use crate::domain::records::ids::{GroupId, ProId};
use crate::domain::time::Instant;

impl Directory {
    /// Returns a row for each act of an event, before it is applied.
    pub(super) fn observe(
        &self,
        event: &DirectoryEvent,
        author: Option<Author>,
        at: Instant,
    ) -> Vec<AccessRow> {
        let row = |act, groups| AccessRow { at, author, act, groups };
        match event {
            DirectoryEvent::ApikeyAdded { hash, apikey } => {
                vec![row(AccessAct::KeyAdded(KeyId::of_hash(hash)), apikey.groups.clone())]
            }
            DirectoryEvent::ApikeyPut { hash, apikey } => {
                vec![row(AccessAct::KeyChanged(KeyId::of_hash(hash)), apikey.groups.clone())]
            }
            DirectoryEvent::ApikeyRevoked { hash } => {
                let groups = self.apikeys.get(hash).and_then(|apikey| apikey.groups.clone());
                vec![row(AccessAct::KeyRevoked(KeyId::of_hash(hash)), groups)]
            }
            DirectoryEvent::ProPut { pro } => self.observe_pro(pro, &row),
            DirectoryEvent::ProRemoved { id } => {
                vec![row(AccessAct::ProRemoved(*id), self.groups_of(*id))]
            }
            DirectoryEvent::RolePut { pro, id, groups, role } => {
                let mut rows = Vec::new();
                if let Some(pro) = pro {
                    rows.extend(self.observe_pro(pro, &row));
                }
                rows.push(row(role_set(*id, role), Some(groups.clone())));
                rows
            }
            DirectoryEvent::Invited { group, number, .. } => {
                vec![row(AccessAct::Invited { number: *number }, Some(vec![*group]))]
            }
            DirectoryEvent::InvitationEnded { group, number, accepted_by, role } => {
                let by = accepted_by.as_ref().map(|pro| pro.id);
                let ended = AccessAct::InvitationEnded { number: *number, by };
                let mut rows = vec![row(ended, Some(vec![*group]))];
                if let Some(pro) = accepted_by {
                    rows.extend(self.observe_pro(pro, &row));
                    rows.push(row(role_set(pro.id, role), Some(vec![*group])));
                }
                rows
            }
            DirectoryEvent::SecondFactorPut { pro, .. } => {
                vec![row(AccessAct::FactorSet(*pro), self.groups_of(*pro))]
            }
            DirectoryEvent::SecondFactorRemoved { pro } => {
                vec![row(AccessAct::FactorRemoved(*pro), self.groups_of(*pro))]
            }
            DirectoryEvent::ProLoggedIn { login, .. }
            | DirectoryEvent::ProLoggedInByCode { login, .. } => {
                let person = LoginPerson::Pro(login.pro);
                let act = AccessAct::LoggedIn { person, source: login.source.clone() };
                vec![row(act, self.groups_of(login.pro))]
            }
            DirectoryEvent::BlockGranted { .. }
            | DirectoryEvent::LinkSecretSet { .. }
            | DirectoryEvent::LoginRecorded { .. }
            | DirectoryEvent::ProLoggedOut { .. }
            | DirectoryEvent::WrongCodeGiven { .. }
            | DirectoryEvent::KeysUsed { .. }
            | DirectoryEvent::Noted { .. }
            | DirectoryEvent::AccessRowsEnded { .. }
            | DirectoryEvent::Authored { .. } => Vec::new(),
        }
    }

    /// The groups of a professional, as far as it is known.
    fn groups_of(&self, pro: ProId) -> Option<Vec<GroupId>> {
        Some(self.pros.get(&pro).map(|pro| pro.groups.clone()).unwrap_or_default())
    }

    /// Returns the rows of a professional who is added, changed, or leaves groups.
    fn observe_pro(
        &self,
        after: &Pro,
        row: &impl Fn(AccessAct, Option<Vec<GroupId>>) -> AccessRow,
    ) -> Vec<AccessRow> {
        let before = self.pros.get(&after.id);
        let old: &[GroupId] = before.map_or(&[], |before| &before.groups);
        let added = without(&after.groups, old);
        let left = without(old, &after.groups);
        let mut rows = Vec::new();
        if !added.is_empty() {
            rows.push(row(AccessAct::ProAdded(after.id), Some(added)));
        }
        if !left.is_empty() {
            rows.push(row(AccessAct::ProRemoved(after.id), Some(left)));
        }
        if before.is_some_and(|before| before.password_hash != after.password_hash) {
            rows.push(row(AccessAct::PasswordSet(after.id), Some(after.groups.clone())));
        }
        rows
    }
}

/// The groups of a list that another one lacks.
fn without(groups: &[GroupId], others: &[GroupId]) -> Vec<GroupId> {
    groups.iter().filter(|group| !others.contains(group)).copied().collect()
}

fn role_set(pro: ProId, role: &ProRole) -> AccessAct {
    let place = match role {
        ProRole::Administrator => 0,
        ProRole::Reception => 1,
        ProRole::Professional(_) => 2,
    };
    AccessAct::RoleSet { pro, role: place }
}
