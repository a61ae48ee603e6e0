//! Mails to people about their logins. Reference 3.3, 3.6.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::domain::directory::Directory;
use crate::domain::directory::invitations::Invitation;
use crate::domain::directory::link_secret::LinkSecret;
use crate::domain::directory::professionals::Pro;
use crate::domain::records::account_link::LINK_SECONDS;
use crate::domain::records::author::Author;
use crate::domain::records::ids::GroupId;
use crate::domain::records::text::Email;
use crate::domain::state::command::Command;
use crate::domain::state::login_notice::{LoginNotice, NotifyOfLogin};
use crate::domain::time::{DAY, HOUR, Instant};
use crate::engine::Engine;
use crate::http::auth::person::{Candidate, Person};
use crate::http::limits::saved_counts::NamedCounts;
use crate::http::limits::sliding_window::SlidingWindow;
use crate::notify::links::{InvitationLink, LoginLink, LoginLinkAction};

/// Seconds for which a link to set another password is good.
const PASSWORD_LINK_SECONDS: i64 = HOUR;

/// Maximum number of mails to addresses without a login within 24 hours, so that strangers do not
/// mail the world by this server.
const UNKNOWN_LOGINS_MAX: usize = 1_000;

/// Mails people about their logins, on a server that sends mails.
#[derive(Clone)]
pub(crate) struct LoginMailer {
    engine: Engine,
    /// Signs the links.
    secret: LinkSecret,
    /// The mails to addresses without a login, of all groups.
    unknown_logins: Arc<SlidingWindow<()>>,
}

impl LoginMailer {
    pub(crate) fn new(engine: Engine, secret: LinkSecret) -> Self {
        let unknown_logins = Arc::new(SlidingWindow::new(UNKNOWN_LOGINS_MAX, DAY));
        Self { engine, secret, unknown_logins }
    }

    /// The counts, for other servers of a cluster.
    pub(crate) fn counts(&self) -> NamedCounts<'_> {
        NamedCounts::new("mails.unknown_logins", &*self.unknown_logins)
    }

    /// Mails a person about a login with a new device. The name that the device gives itself is
    /// left out: a thief would write it.
    pub(crate) fn tell_of_device(&self, group: GroupId, email: &Email, now: Instant) {
        self.mail(group, email, LoginNotice::NewDevice, now);
    }

    /// Mails each professional whose login was refused after failures a link, which lets the owner
    /// try at once. An account has the link that sets its password.
    pub(crate) fn let_in(&self, candidates: &[Candidate], directory: &Directory, now: Instant) {
        for candidate in candidates {
            let Person::Pro(id) = candidate.person else { continue };
            let Some(pro) = directory.pros.get(&id) else { continue };
            self.mail_link(pro, now);
        }
    }

    fn mail_link(&self, pro: &Pro, now: Instant) {
        let expires = now.plus_seconds(LINK_SECONDS);
        let token = LoginLink::new(LoginLinkAction::Admit, pro, expires, &self.secret).token();
        self.mail(pro.main, &pro.email, LoginNotice::Link { token, expires }, now);
    }

    /// Mails an address a link that sets another password, or that no professional has it: both
    /// cost the same write and the same mail. The steady time decides when the link expires.
    pub(crate) fn mail_password_link(&self, email: &Email, now: Instant) {
        let directory = self.engine.published().directory();
        let Some(pro) = directory.pros.find_by_email(&email.folded()) else {
            self.mail_unknown_login(email, now);
            return;
        };
        let expires = self.engine.steady_now().plus_seconds(PASSWORD_LINK_SECONDS);
        let link = LoginLink::new(LoginLinkAction::SetPassword, pro, expires, &self.secret);
        let notice = LoginNotice::NewPassword { token: link.token(), expires };
        self.mail(pro.main, &pro.email, notice, now);
    }

    /// Mails an address that no professional has it, in the name of one of the groups.
    fn mail_unknown_login(&self, email: &Email, now: Instant) {
        let published = self.engine.published();
        let groups = published.count_groups();
        if groups == 0 {
            return;
        }
        // Addresses are spread over the groups, so that strangers fill none alone.
        let hash = Sha256::digest(email.folded().as_bytes());
        let place = hash.iter().fold(0, |place, byte| (place * 256 + usize::from(*byte)) % groups);
        let Some(group) = published.groups().nth(place) else { return };
        if let Some(command) = self.within_limit(group, email, LoginNotice::UnknownLogin, now)
            && self.unknown_logins.try_add(&(), 1, now).is_ok()
        {
            self.send(group, command);
        }
    }

    /// Mails the link of an invitation to its address.
    pub(crate) fn mail_invitation(
        &self,
        group: GroupId,
        number: u64,
        invitation: &Invitation,
        now: Instant,
    ) {
        let token = InvitationLink::new(group, number, invitation, &self.secret).token();
        let notice = LoginNotice::Invitation { token, expires: invitation.expires };
        self.mail(group, &invitation.email, notice, now);
    }

    fn mail(&self, group: GroupId, email: &Email, notice: LoginNotice, now: Instant) {
        if let Some(command) = self.within_limit(group, email, notice, now) {
            self.send(group, command);
        }
    }

    /// Returns the command of a mail; `None` if the person has had enough of them. Then nothing is
    /// written, whatever strangers do.
    fn within_limit(
        &self,
        group: GroupId,
        email: &Email,
        notice: LoginNotice,
        now: Instant,
    ) -> Option<NotifyOfLogin> {
        let state = self.engine.published().group_state(group)?;
        let command = NotifyOfLogin { email: email.clone(), notice };
        if state.outbox.has_room_for_login(&command, now) { Some(command) } else { None }
    }

    /// The answer does not wait for it.
    fn send(&self, group: GroupId, command: NotifyOfLogin) {
        let engine = self.engine.clone();
        tokio::spawn(async move {
            let command = Command::NotifyOfLogin(Box::new(command));
            if let Err(rejection) = engine.write(group, Author::Server, command).await {
                tracing::warn!(group = group.number(), ?rejection, "no mail tells of a login");
            }
        });
    }
}
