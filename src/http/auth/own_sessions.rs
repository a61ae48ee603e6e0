//! The sessions and logins of one person: listing them, and ending some. Reference 3.3.

use crate::domain::directory::Directory;
use crate::domain::directory::pro_logins::WhichLogins;
use crate::domain::directory::pro_logins::{LoginHash, ProLogin};
use crate::domain::time::Instant;
use crate::engine::published::Published;
use crate::http::auth::authenticator::Authenticator;
use crate::http::auth::person::Person;
use crate::http::auth::session::{ActiveSession, SessionView, session_id};
use crate::http::error::ApiError;

/// The sessions of a person, and the logins of a professional at the screens.
pub(crate) struct OwnSessions<'a> {
    pub(crate) authenticator: &'a Authenticator,
    pub(crate) published: &'a Published,
    pub(crate) directory: &'a Directory,
    pub(crate) person: Person,
    /// The session of the request, if it has one.
    pub(crate) session: Option<ActiveSession>,
    /// The login of the request, if it has one.
    pub(crate) login: Option<LoginHash>,
    pub(crate) now: Instant,
}

/// A choice among them. The one of the request is never meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndedSessions {
    /// The one with this number.
    One(u64),
    Others,
}

impl OwnSessions<'_> {
    /// Returns those that have not ended, the last used first.
    pub(crate) fn list(&self) -> Vec<SessionView> {
        let Self { authenticator, published, directory, person, session, now, .. } = self;
        let session = session.as_ref();
        let mut views = authenticator.sessions.list(person, session, published, directory, *now);
        for (hash, login) in self.logins() {
            views.push(self.view(&hash, login));
        }
        views.sort_by_key(|view| std::cmp::Reverse(view.last_used));
        views
    }

    /// Ends those that are meant. Returns the number of those that have ended.
    ///
    /// # Errors
    /// 503 if the store takes no writes, or if the ends cannot be saved in a cluster.
    pub(crate) async fn end(&self, meant: EndedSessions) -> Result<usize, ApiError> {
        let is_meant = |id: u64| match meant {
            EndedSessions::One(number) => id == number,
            EndedSessions::Others => true,
        };
        let sessions = &self.authenticator.sessions;
        let mut ended = sessions.end_some(&self.person, self.session.as_ref(), is_meant);
        let mut hashes = Vec::new();
        for (hash, _) in self.logins() {
            if Some(hash) != self.login && is_meant(session_id(&hash)) {
                hashes.push(hash);
            }
        }
        if let Some(first) = hashes.first()
            && let Person::Pro(pro) = &self.person
        {
            let which = match meant {
                EndedSessions::One(_) => WhichLogins::One(*first),
                EndedSessions::Others => WhichLogins::AllBut(self.login),
            };
            self.authenticator.end_logins(*pro, which).await?;
            ended += hashes.len();
        }
        sessions.saved().await?;
        Ok(ended)
    }

    /// The logins of the person that have not ended.
    fn logins(&self) -> Vec<(LoginHash, &ProLogin)> {
        match &self.person {
            Person::Pro(pro) => self.directory.pro_logins.active(*pro, self.now).collect(),
            Person::Account(..) => Vec::new(),
        }
    }

    fn view(&self, hash: &LoginHash, login: &ProLogin) -> SessionView {
        let used = self.authenticator.login_uses.last(hash);
        let source = match used {
            Some(used) => used.from.to_string(),
            None => login.source.as_str().to_owned(),
        };
        SessionView {
            id: session_id(hash),
            begun: login.begun,
            last_used: used.map_or(login.begun, |used| used.at),
            ends: login.ends(),
            stays: login.stays,
            source,
            device: login.device.as_str().into(),
            is_current: self.login == Some(*hash),
        }
    }
}
