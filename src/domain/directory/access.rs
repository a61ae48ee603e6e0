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
use crate::domain::directory::pro_logins::{ProLogin, ProLoginDraft, WhichLogins};
use crate::domain::directory::professionals::{Pro, ProDraft};
use crate::domain::directory::roles::ProRole;
use crate::domain::directory::second_factor::SecondStep;
use crate::domain::directory::site_origin::SiteOrigin;
use crate::domain::directory::store_groups::StoreGroups;
use crate::domain::directory::{Directory, DirectoryEvent};
use crate::domain::records::author::{Author, KeyId};
use crate::domain::records::ids::{GroupId, ID_MAX, ProId};
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
    /// The group whose team it changes, for which a professional needs the right at that time.
    fn team(&self) -> Option<GroupId> {
        match self {
            Self::RemoveColleague { group, .. }
            | Self::Invite { group, .. }
            | Self::Uninvite { group, .. } => Some(*group),
            Self::SetRole { groups, .. } => groups.first().copied(),
            Self::AddApikey { .. }
            | Self::SetApikey { .. }
            | Self::RevokeApikey(_)
            | Self::AddPro(_)
            | Self::RemovePro { .. }
            | Self::AcceptInvitation { .. }
            | Self::SetPassword { .. }
            | Self::ChangeFactor(_)
            | Self::ChangeGroupKeys(_)
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

/// Decides a change of an author, who stands in the event if it is an act. Else as [`decide`].
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
    if let (Some(Author::Professional { id, .. }), Some(group)) = (author, change.team()) {
        let works_here = directory.pros.get(&id).is_some_and(|pro| pro.works_for(group));
        if !works_here || *directory.roles.role_of(group, id) != ProRole::Administrator {
            return Err(AccessRefusal::LacksTeam);
        }
    }
    let event = decide(directory, groups, change, now)?;
    // A wrong code is refused, and no act of the person.
    if change.is_act() && recorded_refusal(&event).is_none() {
        return Ok(DirectoryEvent::Authored { at: now, author, event: Box::new(event) });
    }
    Ok(event)
}

/// Decides a change. `groups` are the groups of the store. Nothing changes until the event is
/// applied.
///
/// # Errors
/// The reason why the change is refused.
pub fn decide(
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
                check_groups_exist(covered, groups)?;
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
        ChangeAccess::AddPro(new) => add_pro(directory, groups, new, now),
        ChangeAccess::RemovePro { email, groups } => remove_pro(directory, email, groups, now),
        ChangeAccess::RemoveColleague { id, group } => {
            remove_colleague(directory, *id, *group, now)
        }
        ChangeAccess::SetRole { pro, groups, role, is_operator } => {
            set_role(directory, *pro, groups, role, *is_operator)
        }
        ChangeAccess::Invite { group, invitation, steady_now } => {
            Ok(joining::invite(directory, *group, invitation, *steady_now)?)
        }
        ChangeAccess::Uninvite { group, number } => {
            Ok(joining::withdraw(directory, *group, *number)?)
        }
        ChangeAccess::AcceptInvitation { group, number, person, steady_now } => {
            let person = person.as_deref();
            let id = next_id(directory);
            let accept = Acceptance { group: *group, number: *number, person, id };
            Ok(joining::accept(directory, &accept, *steady_now, now)?)
        }
        ChangeAccess::SetPassword { email, former, password_hash } => {
            set_password(directory, email, former.as_ref(), password_hash, now)
        }
        ChangeAccess::RecordLogin(place) => {
            Ok(DirectoryEvent::LoginRecorded { place: *place, at: now })
        }
        ChangeAccess::Note(rows) => Ok(DirectoryEvent::Noted { rows: rows.clone() }),
        ChangeAccess::EndAccessRows { before } => {
            let below = directory.access_history.first_since(*before).unwrap_or(0);
            Ok(DirectoryEvent::AccessRowsEnded { below })
        }
        ChangeAccess::LogIn(draft) => log_in(directory, draft, now),
        ChangeAccess::LogOut { pro, which } => log_out(directory, *pro, *which, now),
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

/// Removes a professional from a group, which keeps an administrator.
fn remove_colleague(
    directory: &Directory,
    id: ProId,
    group: GroupId,
    now: Instant,
) -> Result<DirectoryEvent, AccessRefusal> {
    let Some(pro) = directory.pros.get(&id).filter(|pro| pro.works_for(group)) else {
        return Err(AccessRefusal::NoColleague(group, id));
    };
    if directory.pros.of_group(group).nth(1).is_none() {
        return Err(AccessRefusal::LastOfGroup(group));
    }
    check_other_administrator(directory, group, id)?;
    remove_pro(directory, &pro.email, &BTreeSet::from([group]), now)
}

/// Gives a professional a role in groups. Only the operator lowers a last administrator.
fn set_role(
    directory: &Directory,
    id: ProId,
    groups: &BTreeSet<GroupId>,
    role: &ProRole,
    is_operator: bool,
) -> Result<DirectoryEvent, AccessRefusal> {
    for group in groups {
        if !directory.pros.get(&id).is_some_and(|pro| pro.works_for(*group)) {
            return Err(AccessRefusal::NoColleague(*group, id));
        }
        if *role != ProRole::Administrator && !is_operator {
            check_other_administrator(directory, *group, id)?;
        }
    }
    let groups = groups.iter().copied().collect();
    Ok(DirectoryEvent::RolePut { pro: None, id, groups, role: role.clone() })
}

/// Sets a password, unless the former one has changed since it was verified.
fn set_password(
    directory: &Directory,
    email: &Email,
    former: Option<&Text<255>>,
    password_hash: &Text<255>,
    now: Instant,
) -> Result<DirectoryEvent, AccessRefusal> {
    let Some(pro) = directory.pros.find_by_email(&email.folded()) else {
        return Err(AccessRefusal::NoPro(email.clone()));
    };
    if former.is_some_and(|former| *former != pro.password_hash) {
        return Err(AccessRefusal::PasswordChanged(email.clone()));
    }
    let password_hash = password_hash.clone();
    let pro = Pro { password_hash, updated_at: now.max(pro.updated_at), ..pro.clone() };
    Ok(DirectoryEvent::ProPut { pro: Box::new(pro) })
}

/// Returns the refusal that an event stands for. A wrong code is refused, and counts.
pub fn recorded_refusal(event: &DirectoryEvent) -> Option<AccessRefusal> {
    if matches!(event, DirectoryEvent::WrongCodeGiven { .. }) {
        Some(FactorRefusal::WrongCode.into())
    } else {
        None
    }
}

/// Opens a login, unless the password has changed since it was verified, or a second step lacks.
fn log_in(
    directory: &Directory,
    draft: &ProLoginDraft,
    now: Instant,
) -> Result<DirectoryEvent, AccessRefusal> {
    let ProLoginDraft { hash, pro, password_hash, stays, source, device, replaced, second_step } =
        draft;
    let Some(found) = directory.pros.get(pro) else { return Err(AccessRefusal::NoLogin) };
    if found.password_hash != *password_hash {
        return Err(AccessRefusal::PasswordChanged(found.email.clone()));
    }
    let login = ProLogin {
        pro: *pro,
        begun: now,
        stays: *stays,
        source: source.clone(),
        device: device.clone(),
    };
    let (hash, login, replaced) = (*hash, Box::new(login), *replaced);
    let Some(factor) = directory.second_factors.get(pro) else {
        return Ok(DirectoryEvent::ProLoggedIn { hash, login, replaced });
    };
    match second_step {
        SecondStep::NotTaken => Err(FactorRefusal::CodeNeeded.into()),
        SecondStep::TakenBefore => Ok(DirectoryEvent::ProLoggedIn { hash, login, replaced }),
        SecondStep::Code(code) => match factor.check(*pro, code, now) {
            Ok(used) => Ok(DirectoryEvent::ProLoggedInByCode { hash, login, replaced, used }),
            Err(fault) => Ok(factor_changes::refuse_code(*pro, fault)?),
        },
    }
}

/// Ends the logins of a professional that are meant and open.
fn log_out(
    directory: &Directory,
    pro: ProId,
    which: WhichLogins,
    now: Instant,
) -> Result<DirectoryEvent, AccessRefusal> {
    let mut hashes = Vec::new();
    for (hash, _) in directory.pro_logins.active(pro, now) {
        let is_meant = match which {
            WhichLogins::One(meant) => hash == meant,
            WhichLogins::AllBut(kept) => Some(hash) != kept,
        };
        if is_meant {
            hashes.push(hash);
        }
    }
    if hashes.is_empty() {
        return Err(AccessRefusal::NoLogin);
    }
    Ok(DirectoryEvent::ProLoggedOut { hashes })
}

/// Refuses to take its last administrator from a group.
fn check_other_administrator(
    directory: &Directory,
    group: GroupId,
    leaves: ProId,
) -> Result<(), AccessRefusal> {
    let is_administrator = |id| *directory.roles.role_of(group, id) == ProRole::Administrator;
    let mut others = directory.pros.of_group(group).filter(|pro| pro.id != leaves);
    if !is_administrator(leaves) || others.any(|pro| is_administrator(pro.id)) {
        return Ok(());
    }
    Err(AccessRefusal::LastAdministrator(group))
}

/// Removes a professional from some groups, or altogether.
fn remove_pro(
    directory: &Directory,
    email: &Email,
    leaves: &BTreeSet<GroupId>,
    now: Instant,
) -> Result<DirectoryEvent, AccessRefusal> {
    let Some(pro) = directory.pros.find_by_email(&email.folded()) else {
        return Err(AccessRefusal::NoPro(email.clone()));
    };
    for group in leaves {
        if !pro.works_for(*group) {
            return Err(AccessRefusal::WorksElsewhere(email.clone(), *group));
        }
    }
    let mut groups = pro.groups.clone();
    groups.retain(|group| !leaves.contains(group));
    if leaves.is_empty() || groups.is_empty() {
        return Ok(DirectoryEvent::ProRemoved { id: pro.id });
    }
    let main = if groups.contains(&pro.main) { pro.main } else { groups[0] };
    let updated_at = now.max(pro.updated_at);
    Ok(DirectoryEvent::ProPut { pro: Box::new(Pro { groups, main, updated_at, ..pro.clone() }) })
}

/// Refuses a key of the operator that does not cover all groups: it would not see those it founds.
fn check_operator_groups(holder: ApikeyHolder, covers_all: bool) -> Result<(), AccessRefusal> {
    if holder == ApikeyHolder::Operator && !covers_all {
        return Err(AccessRefusal::OperatorGroups);
    }
    Ok(())
}

fn check_groups_exist(
    named: &BTreeSet<GroupId>,
    groups: &StoreGroups<'_>,
) -> Result<(), AccessRefusal> {
    for group in named {
        if !(groups.exists)(*group) {
            return Err(AccessRefusal::NoGroup(*group));
        }
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

fn add_pro(
    directory: &Directory,
    groups: &StoreGroups<'_>,
    new: &ProDraft,
    now: Instant,
) -> Result<DirectoryEvent, AccessRefusal> {
    check_groups_exist(&new.groups, groups)?;
    let mut works_for = new.groups.clone();
    // Without a choice, the only group of the store is meant.
    if works_for.is_empty() {
        match groups.first[..] {
            [] => return Err(AccessRefusal::NoGroups),
            [only] => works_for.insert(only),
            [..] => {
                let shown: Vec<String> = groups.first.iter().map(ToString::to_string).collect();
                return Err(AccessRefusal::WhichGroup(shown.join(", ")));
            }
        };
    }
    let named = works_for.clone();
    let known = directory.pros.find_by_email(&new.email.folded());
    let default_main = match known {
        Some(pro) => {
            works_for.extend(&pro.groups);
            pro.main
        }
        None => *works_for.first().expect("a professional works for some group"),
    };
    let main = new.main.unwrap_or(default_main);
    if !works_for.contains(&main) {
        return Err(AccessRefusal::MainElsewhere(main));
    }
    let groups: Vec<GroupId> = works_for.into_iter().collect();
    let pro = match (known, &new.password_hash) {
        (Some(_), Some(_)) => return Err(AccessRefusal::ProKnown(new.email.clone())),
        (Some(pro), None) if pro.groups == groups && pro.main == main => {
            return Err(AccessRefusal::NothingNew(new.email.clone()));
        }
        (Some(pro), None) => {
            Pro { groups, main, updated_at: now.max(pro.updated_at), ..pro.clone() }
        }
        (None, None) => return Err(AccessRefusal::NoPassword),
        (None, Some(password_hash)) => Pro {
            email: new.email.clone(),
            password_hash: password_hash.clone(),
            lastname: new.lastname.clone(),
            firstname: new.firstname.clone(),
            cellphone: new.cellphone.clone(),
            groups,
            ..Pro::blank(next_id(directory), main, now)
        },
    };
    if new.role == ProRole::Administrator {
        return Ok(DirectoryEvent::ProPut { pro: Box::new(pro) });
    }
    let added = |group: &GroupId| known.is_none_or(|known| !known.works_for(*group));
    Ok(DirectoryEvent::RolePut {
        id: pro.id,
        groups: named.into_iter().filter(added).collect(),
        role: new.role.clone(),
        pro: Some(Box::new(pro)),
    })
}

fn next_id(directory: &Directory) -> ProId {
    let last = match directory.pros.keys().next_back() {
        Some(id) => id.number(),
        None => 0,
    };
    ProId::new((last + 1).min(ID_MAX)).expect("a number from 1 to the largest is an id")
}

#[cfg(test)]
mod tests;
