//! Decisions about invitations to a group: who is invited, and who joins. Reference 3.10.

use thiserror::Error;

use crate::domain::directory::invitations::{INVITATIONS_MAX, Invitation};
use crate::domain::directory::professionals::Pro;
use crate::domain::directory::{Directory, DirectoryEvent};
use crate::domain::records::ids::{GroupId, ProId};
use crate::domain::records::text::{Name, Text};
use crate::domain::time::Instant;

/// A new professional, as the person writes it.
#[derive(Clone, Debug)]
pub struct NewPerson {
    /// Last name.
    pub lastname: Name<64>,
    /// First name.
    pub firstname: Name<64>,
    /// Mobile phone.
    pub cellphone: Text<25>,
    /// The hash of the password.
    pub password_hash: Text<255>,
}

/// The answer to an invitation.
pub(crate) struct Acceptance<'p> {
    /// The group.
    pub(crate) group: GroupId,
    /// The number of the invitation.
    pub(crate) number: u64,
    /// The new professional; `None` for one who has the address already.
    pub(crate) person: Option<&'p NewPerson>,
    /// The id of a new professional.
    pub(crate) id: ProId,
}

/// The reason why an invitation is not made, or not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the messages explain the variants")]
pub enum JoinRefusal {
    #[error("works for this group already: change the role instead")]
    WorksHere,
    #[error("the group has {INVITATIONS_MAX} open invitations: withdraw one first")]
    ManyInvitations,
    #[error("the server sends no mails: let the operator use `slotbook pro add`")]
    NoMails,
    #[error("no such invitation is open")]
    NoInvitation,
    #[error("a professional has this address: log in and accept")]
    Known,
    #[error("no professional has this address: give a name and a password")]
    Unknown,
}

/// Invites an address to a group. What is decided depends on the professionals of this group alone,
/// so that it says nothing of others.
///
/// # Errors
/// The address works for the group already, or the group has too many open invitations.
pub(crate) fn invite(
    directory: &Directory,
    group: GroupId,
    invitation: &Invitation,
    steady_now: Instant,
) -> Result<DirectoryEvent, JoinRefusal> {
    let email = invitation.email.folded();
    if directory.pros.of_group(group).any(|pro| pro.email.folded() == email) {
        return Err(JoinRefusal::WorksHere);
    }
    let open = directory.invitations.of_group(group);
    let others = open.filter(|(_, one)| one.expires > steady_now && one.email.folded() != email);
    if others.count() >= INVITATIONS_MAX {
        return Err(JoinRefusal::ManyInvitations);
    }
    Ok(DirectoryEvent::Invited {
        group,
        number: directory.sequence + 1,
        invitation: Box::new(invitation.clone()),
        at: steady_now,
    })
}

/// Withdraws an invitation.
///
/// # Errors
/// There is none with this number.
pub(crate) fn withdraw(
    directory: &Directory,
    group: GroupId,
    number: u64,
) -> Result<DirectoryEvent, JoinRefusal> {
    let mut open = directory.invitations.of_group(group);
    let found = open.find(|(of, _)| *of == number);
    let (_, invitation) = found.ok_or(JoinRefusal::NoInvitation)?;
    let role = invitation.role.clone();
    Ok(DirectoryEvent::InvitationEnded { group, number, accepted_by: None, role })
}

/// Accepts an invitation.
///
/// # Errors
/// The invitation has ended, or the address has or lacks a professional.
pub(crate) fn accept(
    directory: &Directory,
    acceptance: &Acceptance<'_>,
    steady_now: Instant,
    now: Instant,
) -> Result<DirectoryEvent, JoinRefusal> {
    let Acceptance { group, number, .. } = *acceptance;
    let open = directory.invitations.find(group, number, steady_now);
    let invitation = open.ok_or(JoinRefusal::NoInvitation)?;
    let pro = join(directory, acceptance, invitation, now)?;
    let role = invitation.role.clone();
    Ok(DirectoryEvent::InvitationEnded { group, number, accepted_by: Some(Box::new(pro)), role })
}

/// Returns the professional who accepts an invitation, as a professional of the group.
fn join(
    directory: &Directory,
    acceptance: &Acceptance<'_>,
    invitation: &Invitation,
    now: Instant,
) -> Result<Pro, JoinRefusal> {
    let Acceptance { group, person, id, .. } = *acceptance;
    let known = directory.pros.find_by_email(&invitation.email.folded());
    match (known, person) {
        (Some(pro), None) if pro.works_for(group) => Err(JoinRefusal::WorksHere),
        (Some(pro), None) => {
            let mut groups = pro.groups.clone();
            if let Err(place) = groups.binary_search(&group) {
                groups.insert(place, group);
            }
            Ok(Pro { groups, updated_at: now.max(pro.updated_at), ..pro.clone() })
        }
        (None, Some(person)) => Ok(Pro {
            email: invitation.email.clone(),
            password_hash: person.password_hash.clone(),
            lastname: person.lastname.clone(),
            firstname: person.firstname.clone(),
            cellphone: person.cellphone.clone(),
            ..Pro::blank(id, group, now)
        }),
        (Some(_), Some(_)) => Err(JoinRefusal::Known),
        (None, None) => Err(JoinRefusal::Unknown),
    }
}
