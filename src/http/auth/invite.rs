//! Invitations of professionals. Reference 3.10.

use crate::domain::directory::access::ChangeAccess;
use crate::domain::directory::invitations::{INVITATION_SECONDS, Invitation};
use crate::domain::directory::joining::{JoinRefusal, NewPerson};
use crate::domain::directory::roles::ProRole;
use crate::domain::records::author::Author;
use crate::domain::records::ids::GroupId;
use crate::domain::records::text::Email;
use crate::domain::time::Instant;
use crate::engine::{AccessError, Rejection};
use crate::http::auth::authenticator::Authenticator;
use crate::notify::links::InvitationLink;

/// An invitation that was made.
pub(crate) struct Invited {
    /// Its number in the group.
    pub(crate) number: u64,
    pub(crate) invitation: Invitation,
}

impl Authenticator {
    /// Invites an address to a group, and mails it the link. The mail is queued when the invitation
    /// is durable; the answer does not wait for it.
    ///
    /// # Errors
    /// The server sends no mails, the address works for the group already, the group has too many
    /// open invitations, or the store takes no writes.
    pub(crate) async fn invite(
        &self,
        group: GroupId,
        email: Email,
        role: ProRole,
        author: Author,
        now: Instant,
    ) -> Result<Invited, AccessError> {
        let Some(mailer) = &self.login_mailer else {
            return Err(AccessError::Refused(JoinRefusal::NoMails.into()));
        };
        let steady_now = self.engine.steady_now();
        let expires = steady_now.plus_seconds(INVITATION_SECONDS);
        let by = match author {
            Author::Professional { id, .. } => Some(id),
            Author::Server
            | Author::Operator
            | Author::Visitor
            | Author::Application(_)
            | Author::Account { .. } => None,
        };
        let invitation = Invitation { email, role, by, expires };
        let change =
            ChangeAccess::Invite { group, invitation: Box::new(invitation.clone()), steady_now };
        self.engine.change_access(Some(author), change).await?;
        let directory = self.engine.published().directory();
        let email = invitation.email.folded();
        let mut open = directory.invitations.of_group(group);
        let found = open.find(|(_, one)| one.email.folded() == email);
        // Another administrator has withdrawn it meanwhile.
        let (number, invitation) = found.ok_or(AccessError::Rejected(Rejection::InternalError))?;
        mailer.mail_invitation(group, number, invitation, now);
        Ok(Invited { number, invitation: invitation.clone() })
    }

    /// Accepts the invitation of a link that was verified, for a new person or for the professional
    /// who has its address.
    ///
    /// # Errors
    /// The invitation has ended, the address has or lacks a professional, or the store takes no
    /// writes.
    pub(crate) async fn accept_invitation(
        &self,
        link: &InvitationLink,
        person: Option<Box<NewPerson>>,
    ) -> Result<(), AccessError> {
        let InvitationLink { group, number, .. } = *link;
        let steady_now = self.engine.steady_now();
        let accept = ChangeAccess::AcceptInvitation { group, number, person, steady_now };
        self.engine.change_access(Some(Author::Visitor), accept).await
    }
}
