//! Decisions about application keys and professionals: those of the operator, and the few that
//! professionals take themselves. Reference 3.2, 11.1.

use std::collections::BTreeSet;

use crate::domain::directory::access_history::AccessRow;
pub use crate::domain::directory::access_refusal::AccessRefusal;
use crate::domain::directory::apikeys::{Apikey, ApikeyHolder, ApikeyName};
use crate::domain::directory::factor_changes::{self, ChangeFactor, FactorRefusal};
use crate::domain::directory::group_keys::{self, ChangeGroupKeys};
use crate::domain::directory::invitations::Invitation;
use crate::domain::directory::joining::{self, Acceptance, NewPerson};
use crate::domain::directory::known_logins::LoginPlace;
use crate::domain::directory::pro_changes;
use crate::domain::directory::pro_logins::{ProLoginDraft, WhichLogins};
use crate::domain::directory::professionals::ProDraft;
use crate::domain::directory::roles::{GroupRight, ProRole};
use crate::domain::directory::store_groups::StoreGroups;
use crate::domain::directory::{Directory, DirectoryEvent};
use crate::domain::records::author::{Author, KeyId};
use crate::domain::records::ids::{GroupId, ProId};
use crate::domain::records::site_origin::SiteOrigin;
use crate::domain::records::text::{Email, Text};
use crate::domain::time::Instant;

/// Minimum number of hexadecimal digits of the SHA-256 that identify a key.
pub const ID_DIGITS: usize = 2 * KeyId::BYTES;

/// A change of keys or professionals. Every field holds a legal value.
#[derive(Clone, Debug)]
pub enum ChangeAccess {
    /// Adds an application key. Only its SHA-256 is known here.
    AddApikey {
        /// The SHA-256 of the key.
        hash: [u8; 32],
        /// The label that the operator gives it.
        label: Text<255>,
        /// The groups it covers; `None` for all groups.
        groups: Option<BTreeSet<GroupId>>,
        /// The program that holds it.
        holder: ApikeyHolder,
        /// The origins of other sites whose pages may change something with it.
        origins: Vec<SiteOrigin>,
    },
    /// Changes an application key. What is `None` stays.
    SetApikey {
        /// The key.
        name: ApikeyName,
        /// The program that holds it.
        holder: Option<ApikeyHolder>,
        /// The origins in place of those it had, or of all.
        origins: Option<Vec<SiteOrigin>>,
    },
    /// Revokes an application key, and ends every session opened with it.
    RevokeApikey(ApikeyName),
    /// Adds a professional, or further groups to an existing one.
    AddPro(ProDraft),
    /// Removes a professional from groups, and ends all of their sessions once none is left.
    RemovePro {
        /// The address of the professional.
        email: Email,
        /// The groups; empty for all.
        groups: BTreeSet<GroupId>,
    },
    /// Removes a professional from one group at the request of another one. The last of a group
    /// stays, since only the operator could add one again.
    RemoveColleague {
        /// The professional.
        id: ProId,
        /// The group.
        group: GroupId,
    },
    /// Gives a professional a role in groups that it works for.
    SetRole {
        /// The professional.
        pro: ProId,
        /// The groups; at least one.
        groups: BTreeSet<GroupId>,
        /// The role in each of them. Own calendars are those of its only group.
        role: ProRole,
        /// The role that the request is based on; `None` if it does not depend on it.
        former: Option<ProRole>,
        /// Whether the operator does it, who may lower the last administrator of a group.
        is_operator: bool,
    },
    /// Invites an address to a group.
    Invite {
        /// The group.
        group: GroupId,
        /// The invitation.
        invitation: Box<Invitation>,
        /// The steady time.
        steady_now: Instant,
    },
    /// Withdraws an invitation.
    Uninvite {
        /// The group.
        group: GroupId,
        /// Its number.
        number: u64,
    },
    /// Accepts an invitation by the link that was mailed to its address.
    AcceptInvitation {
        /// The group.
        group: GroupId,
        /// Its number.
        number: u64,
        /// The new professional; `None` for one who has the address already.
        person: Option<Box<NewPerson>>,
        /// The steady time.
        steady_now: Instant,
    },
    /// Sets the password of a professional, and ends all of their sessions.
    SetPassword {
        /// The address of the professional.
        email: Email,
        /// The hash of the former password, which the professional has given; `None` for the
        /// operator, who needs none.
        former: Option<Text<255>>,
        /// The hash of the password.
        password_hash: Text<255>,
    },
    /// Records that a person has logged in at a source.
    RecordLogin(LoginPlace),
    /// Adds rows to the history of access.
    Note(Vec<AccessRow>),
    /// Ends the rows of the history of access that are older than a moment.
    EndAccessRows {
        /// The moment.
        before: Instant,
    },
    /// Opens a login of a professional at the screens.
    LogIn(Box<ProLoginDraft>),
    /// Ends logins of a professional at the screens.
    LogOut {
        /// The professional.
        pro: ProId,
        /// The logins to end.
        which: WhichLogins,
    },
    /// Changes the second factor of a professional.
    ChangeFactor(ChangeFactor),
    /// Changes the keys of a group by its professionals, or records the uses of keys.
    ChangeGroupKeys(ChangeGroupKeys),
}

impl ChangeAccess {
    /// The right that a professional needs for it at that time, and the groups in which.
    fn needed(&self) -> Option<(GroupRight, Vec<GroupId>)> {
        match self {
            Self::RemoveColleague { group, .. }
            | Self::Invite { group, .. }
            | Self::Uninvite { group, .. } => Some((GroupRight::Team, vec![*group])),
            Self::SetRole { groups, .. } => {
                Some((GroupRight::Team, groups.iter().copied().collect()))
            }
            Self::ChangeGroupKeys(
                ChangeGroupKeys::Add { group, .. } | ChangeGroupKeys::Revoke { group, .. },
            ) => Some((GroupRight::Keys, vec![*group])),
            Self::AddApikey { .. }
            | Self::SetApikey { .. }
            | Self::RevokeApikey(_)
            | Self::AddPro(_)
            | Self::RemovePro { .. }
            | Self::AcceptInvitation { .. }
            | Self::SetPassword { .. }
            | Self::ChangeFactor(_)
            | Self::ChangeGroupKeys(ChangeGroupKeys::RecordUses(_))
            | Self::LogIn(_)
            | Self::LogOut { .. }
            | Self::RecordLogin(_)
            | Self::Note(_)
            | Self::EndAccessRows { .. } => None,
        }
    }

    /// Whether it is an act of an author, for the history of access.
    const fn is_act(&self) -> bool {
        match self {
            Self::AddApikey { .. }
            | Self::SetApikey { .. }
            | Self::RevokeApikey(_)
            | Self::AddPro(_)
            | Self::RemovePro { .. }
            | Self::RemoveColleague { .. }
            | Self::SetRole { .. }
            | Self::Invite { .. }
            | Self::Uninvite { .. }
            | Self::AcceptInvitation { .. }
            | Self::SetPassword { .. }
            | Self::ChangeFactor(_)
            | Self::ChangeGroupKeys(ChangeGroupKeys::Add { .. } | ChangeGroupKeys::Revoke { .. })
            | Self::LogIn(_) => true,
            Self::RecordLogin(_)
            | Self::ChangeGroupKeys(ChangeGroupKeys::RecordUses(_))
            | Self::Note(_)
            | Self::EndAccessRows { .. }
            | Self::LogOut { .. } => false,
        }
    }
}

/// Decides a change of an author, who stands in the event if it is an act. `groups`
/// are the groups of the store. Nothing changes until the event is applied.
///
/// # Errors
/// The reason why the change is refused.
pub fn decide_by(
    author: Option<Author>,
    directory: &Directory,
    groups: &StoreGroups<'_>,
    change: &ChangeAccess,
    now: Instant,
) -> Result<DirectoryEvent, AccessRefusal> {
    if let Some(Author::Professional { id, .. }) = author
        && let Some((right, groups)) = change.needed()
    {
        for group in groups {
            let works_here = directory.pros.get(&id).is_some_and(|pro| pro.works_for(group));
            if !works_here || !directory.roles.role_of(group, id).has(right) {
                return Err(AccessRefusal::Lacks(right));
            }
        }
    }
    let event = decide(directory, groups, change, now)?;
    // A wrong code is refused, and no act of the person.
    if change.is_act() && recorded_refusal(&event).is_none() {
        return Ok(DirectoryEvent::Authored { at: now, author, event: Box::new(event) });
    }
    Ok(event)
}

/// Decides a change without a look at its author.
fn decide(
    directory: &Directory,
    groups: &StoreGroups<'_>,
    change: &ChangeAccess,
    now: Instant,
) -> Result<DirectoryEvent, AccessRefusal> {
    match change {
        ChangeAccess::AddApikey { hash, label, groups: covered, holder, origins } => {
            if directory.apikeys.contains_key(hash) {
                return Err(AccessRefusal::ApikeyKnown);
            }
            if let Some(covered) = covered {
                groups.check_all_exist(covered)?;
            }
            check_operator_groups(*holder, covered.is_none())?;
            let covered = covered.as_ref().map(|covered| covered.iter().copied().collect());
            Ok(DirectoryEvent::ApikeyAdded {
                hash: *hash,
                apikey: Apikey {
                    label: label.clone(),
                    groups: covered,
                    holder: *holder,
                    origins: origins.clone(),
                    allows_any_origin: false,
                    needs_contact: true,
                },
            })
        }
        ChangeAccess::SetApikey { name, holder, origins } => {
            set_apikey(directory, name, *holder, origins.as_deref())
        }
        ChangeAccess::RevokeApikey(name) => {
            let hash = find_apikey(directory, name)?;
            Ok(DirectoryEvent::ApikeyRevoked { hash })
        }
        ChangeAccess::AddPro(new) => pro_changes::add_pro(directory, groups, new, now),
        ChangeAccess::RemovePro { email, groups } => {
            pro_changes::remove_pro(directory, email, groups, now)
        }
        ChangeAccess::RemoveColleague { id, group } => {
            pro_changes::remove_colleague(directory, *id, *group, now)
        }
        ChangeAccess::SetRole { pro, groups, role, former, is_operator } => {
            let former = former.as_ref();
            pro_changes::set_role(directory, *pro, groups, role, former, *is_operator)
        }
        ChangeAccess::Invite { group, invitation, steady_now } => {
            Ok(joining::invite(directory, *group, invitation, *steady_now)?)
        }
        ChangeAccess::Uninvite { group, number } => {
            Ok(joining::withdraw(directory, *group, *number)?)
        }
        ChangeAccess::AcceptInvitation { group, number, person, steady_now } => {
            let person = person.as_deref();
            let id = pro_changes::next_id(directory);
            let accept = Acceptance { group: *group, number: *number, person, id };
            Ok(joining::accept(directory, &accept, *steady_now, now)?)
        }
        ChangeAccess::SetPassword { email, former, password_hash } => {
            pro_changes::set_password(directory, email, former.as_ref(), password_hash, now)
        }
        ChangeAccess::RecordLogin(place) => {
            Ok(DirectoryEvent::LoginRecorded { place: *place, at: now })
        }
        ChangeAccess::Note(rows) => Ok(DirectoryEvent::Noted { rows: rows.clone() }),
        ChangeAccess::EndAccessRows { before } => {
            let below = directory.access_history.first_since(*before).unwrap_or(0);
            Ok(DirectoryEvent::AccessRowsEnded { below })
        }
        ChangeAccess::LogIn(draft) => pro_changes::log_in(directory, draft, now),
        ChangeAccess::LogOut { pro, which } => pro_changes::log_out(directory, *pro, *which, now),
        ChangeAccess::ChangeFactor(change) => Ok(factor_changes::decide(directory, change, now)?),
        ChangeAccess::ChangeGroupKeys(change) => Ok(group_keys::decide(directory, change, now)?),
    }
}

/// Changes a key's holder and origins.
fn set_apikey(
    directory: &Directory,
    name: &ApikeyName,
    holder: Option<ApikeyHolder>,
    origins: Option<&[SiteOrigin]>,
) -> Result<DirectoryEvent, AccessRefusal> {
    let hash = find_apikey(directory, name)?;
    let mut apikey = directory.apikeys.get(&hash).expect("it was found").clone();
    if let Some(holder) = holder {
        check_operator_groups(holder, apikey.groups.is_none())?;
        apikey.holder = holder;
    }
    if let Some(origins) = origins {
        apikey.origins = origins.to_vec();
        apikey.allows_any_origin = false;
    }
    Ok(DirectoryEvent::ApikeyPut { hash, apikey })
}

/// Returns the refusal that an event stands for. A wrong code is refused, and counts.
pub fn recorded_refusal(event: &DirectoryEvent) -> Option<AccessRefusal> {
    if matches!(event, DirectoryEvent::WrongCodeGiven { .. }) {
        Some(FactorRefusal::WrongCode.into())
    } else {
        None
    }
}

/// Refuses a key of the operator that does not cover all groups: it would not see those it founds.
fn check_operator_groups(holder: ApikeyHolder, covers_all: bool) -> Result<(), AccessRefusal> {
    if holder == ApikeyHolder::Operator && !covers_all {
        return Err(AccessRefusal::OperatorGroups);
    }
    Ok(())
}

/// Finds the only key that matches a name: the key itself, or else the label or the first digits of
/// the SHA-256.
fn find_apikey(directory: &Directory, name: &ApikeyName) -> Result<[u8; 32], AccessRefusal> {
    if directory.apikeys.contains_key(&name.hash) {
        return Ok(name.hash);
    }
    let digits = name.text.to_ascii_lowercase();
    let mut found = BTreeSet::new();
    if !name.text.is_empty() {
        found.extend(directory.apikeys.with_label(&name.text));
    }
    if digits.len() >= ID_DIGITS {
        found.extend(directory.apikeys.with_digits(&digits));
    }
    match found.first() {
        Some(hash) if found.len() == 1 => Ok(*hash),
        Some(_) => Err(AccessRefusal::ManyApikeys(name.text.clone(), found.len())),
        None => Err(AccessRefusal::NoApikey(name.text.clone())),
    }
}

#[cfg(test)]
mod tests;
