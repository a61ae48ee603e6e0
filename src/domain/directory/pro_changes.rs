//! Decisions about professionals: those of the operator, of colleagues, and their own. Reference
//! 3.2, 3.9, 11.1.

use std::collections::BTreeSet;

use crate::domain::directory::access_refusal::AccessRefusal;
use crate::domain::directory::factor_changes::{FactorRefusal, refuse_code};
use crate::domain::directory::pro_logins::{ProLogin, ProLoginDraft, WhichLogins};
use crate::domain::directory::professionals::{Pro, ProDraft};
use crate::domain::directory::roles::ProRole;
use crate::domain::directory::second_factor::SecondStep;
use crate::domain::directory::store_groups::StoreGroups;
use crate::domain::directory::{Directory, DirectoryEvent};
use crate::domain::records::ids::{GroupId, ID_MAX, ProId};
use crate::domain::records::text::{Email, Text};
use crate::domain::time::Instant;

/// Adds a professional, or further groups to a known one.
pub(crate) fn add_pro(
    directory: &Directory,
    groups: &StoreGroups<'_>,
    new: &ProDraft,
    now: Instant,
) -> Result<DirectoryEvent, AccessRefusal> {
    groups.check_all_exist(&new.groups)?;
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

/// Removes a professional from some groups, or altogether.
pub(crate) fn remove_pro(
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

/// Removes a professional from a group, which keeps an administrator.
pub(crate) fn remove_colleague(
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
pub(crate) fn set_role(
    directory: &Directory,
    id: ProId,
    groups: &BTreeSet<GroupId>,
    role: &ProRole,
    former: Option<&ProRole>,
    is_operator: bool,
) -> Result<DirectoryEvent, AccessRefusal> {
    for group in groups {
        if !directory.pros.get(&id).is_some_and(|pro| pro.works_for(*group)) {
            return Err(AccessRefusal::NoColleague(*group, id));
        }
        if former.is_some_and(|former| former != directory.roles.role_of(*group, id)) {
            return Err(AccessRefusal::RoleChanged(id));
        }
        if *role != ProRole::Administrator && !is_operator {
            check_other_administrator(directory, *group, id)?;
        }
    }
    let groups = groups.iter().copied().collect();
    Ok(DirectoryEvent::RolePut { pro: None, id, groups, role: role.clone() })
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

/// Sets a password, unless the former one has changed since it was verified.
pub(crate) fn set_password(
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

/// Opens a login, unless the password has changed since it was verified, or a second step lacks.
pub(crate) fn log_in(
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
            Err(fault) => Ok(refuse_code(*pro, fault)?),
        },
    }
}

/// Ends the logins of a professional that are meant and open.
pub(crate) fn log_out(
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

/// Returns the id of the next new professional, which none had before.
pub(crate) fn next_id(directory: &Directory) -> ProId {
    let next = (directory.pros.last_id() + 1).min(ID_MAX);
    ProId::new(next).expect("a number from 1 to the largest is an id")
}
