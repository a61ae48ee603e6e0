//! Logins of professionals at the practice's own screens: opening, finding and ending them.
//! Reference 15.1.

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderValue};

use crate::domain::directory::Directory;
use crate::domain::directory::access::{ChangeAccess, ProLoginDraft, WhichLogins};
use crate::domain::records::author::Author;
use crate::domain::records::ids::ProId;
use crate::domain::records::text::Name;
use crate::domain::time::Instant;
use crate::engine::AccessError;
use crate::http::auth::auth_request::AuthRequest;
use crate::http::auth::authenticator::{Authenticator, LoginAttempt};
use crate::http::auth::basic::Credential;
use crate::http::auth::login_cookie::{ended_login_cookie, login_cookie};
use crate::http::auth::login_uses::{ActiveLogin, LoginUse, find_login};
use crate::http::auth::person::Person;
use crate::http::auth::session::device_name;
use crate::http::error::ApiError;
use crate::password::strength::check_new_password;
use crate::password::{self, Argon2Memory};

/// The form of a professional who logs in.
pub(crate) struct ScreenLogin<'f> {
    pub(crate) email: &'f str,
    /// Plain.
    pub(crate) password: &'f str,
    /// Whether the login lasts for 30 days.
    pub(crate) stays: bool,
}

/// The cookie of a login that was opened, and the one by which the browser is known.
pub(crate) struct LoginCookies(pub(crate) Vec<HeaderValue>);

/// The form of a professional who changes the own password. Both are plain.
pub(crate) struct OwnPassword<'f> {
    pub(crate) current: &'f str,
    pub(crate) new: &'f str,
}

/// The result of a form that changes a password.
pub(crate) enum PasswordChange {
    /// The password is set, and this browser has a new login.
    Done(LoginCookies),
    /// The present password was wrong. It counts as a failed login.
    WrongCurrent,
    /// The new password breaks a rule.
    UnfitNew,
}

impl Authenticator {
    /// Logs a professional in, by the attempt that an application makes too. A login of the same
    /// browser ends. `None` for a wrong credential.
    ///
    /// # Errors
    /// 429 after too many wrong credentials; 503 when too many are being verified, or the store
    /// takes no writes.
    pub(crate) async fn log_in_at_screens(
        &self,
        login: ScreenLogin<'_>,
        request: &AuthRequest<'_>,
    ) -> Result<Option<LoginCookies>, ApiError> {
        let ScreenLogin { email, password, stays } = login;
        let credential = Credential::new(email.trim(), &password::sha1_hex(password));
        let candidates = request.pro_of(&credential.email).into_iter().collect();
        let cache_key = self.login_cache_key(&credential, [b"pro", b"", b""]);
        let attempt = LoginAttempt { cache_key, credential, candidates, tries: 1 };
        let Some(Person::Pro(pro)) = self.verify(attempt, request).await? else { return Ok(None) };
        self.open_login(pro, stays, request).await
    }

    /// Opens a login of a professional whose password was verified in the directory of the request.
    /// `None` if another password was set meanwhile.
    ///
    /// # Errors
    /// 503 if the store takes no writes.
    async fn open_login(
        &self,
        id: ProId,
        stays: bool,
        request: &AuthRequest<'_>,
    ) -> Result<Option<LoginCookies>, ApiError> {
        let AuthRequest { directory, parts, from, now, .. } = *request;
        let Some(pro) = directory.pros.get(&id) else { return Ok(None) };
        let behind_tls = self.sessions.behind_tls;
        let (token, hash) = self.login_uses.new_token();
        let replaced = find_login(&parts.headers, behind_tls, directory, now);
        let draft = ProLoginDraft {
            hash,
            pro: id,
            password_hash: pro.password_hash.clone(),
            stays,
            source: Name::new(&from.to_string()).expect("an address has 45 characters"),
            device: Name::new(&device_name(&parts.headers)).expect("the name was shortened"),
            replaced: replaced.map(|login| login.hash),
        };
        let author = Some(Author::Professional { id, key: None });
        match self.engine.change_access(author, ChangeAccess::LogIn(Box::new(draft))).await {
            Ok(()) => {}
            Err(AccessError::Refused(_)) => return Ok(None),
            Err(AccessError::Rejected(rejection)) => return Err(ApiError::from_store(rejection)),
        }
        let mut cookies = vec![login_cookie(&token, stays, behind_tls)];
        cookies.extend(self.meet_device(&Person::Pro(id), request));
        Ok(Some(LoginCookies(cookies)))
    }

    /// Sets another password of a professional who is logged in and gives the present one. All
    /// logins end but that of this browser, which a new one replaces.
    ///
    /// # Errors
    /// 429 after too many wrong passwords; 503 when too many are being verified, or the store
    /// takes no writes.
    pub(crate) async fn change_own_password(
        &self,
        login: ActiveLogin,
        given: OwnPassword<'_>,
        request: &AuthRequest<'_>,
    ) -> Result<PasswordChange, ApiError> {
        let AuthRequest { directory, from, now, .. } = *request;
        let pro = directory.pros.get(&login.pro).expect("a login is found with its professional");
        if check_new_password(given.new).is_err() {
            return Ok(PasswordChange::UnfitNew);
        }
        let current = password::sha1_hex(given.current);
        if !self.verify_again(&pro.email, &pro.password_hash, current, from, now).await? {
            return Ok(PasswordChange::WrongCurrent);
        }
        let sha1 = password::sha1_hex(given.new);
        let hash = move |memory: &mut Argon2Memory| password::hash_password_in(memory, &sha1);
        let password_hash = self.password_pool.run(from, hash).await?;
        let former = Some(pro.password_hash.clone());
        let change = ChangeAccess::SetPassword { email: pro.email.clone(), former, password_hash };
        let author = Some(Author::Professional { id: login.pro, key: None });
        match self.engine.change_access(author, change).await {
            Ok(()) => {}
            // Another one was set meanwhile.
            Err(AccessError::Refused(_)) => return Ok(PasswordChange::WrongCurrent),
            Err(AccessError::Rejected(rejection)) => return Err(ApiError::from_store(rejection)),
        }
        let stays = directory.pro_logins.find(&login.hash, now).is_some_and(|login| login.stays);
        let renewed = request.published.directory();
        let request = AuthRequest { directory: &renewed, ..*request };
        let cookies = self.open_login(login.pro, stays, &request).await?;
        Ok(PasswordChange::Done(cookies.unwrap_or(LoginCookies(Vec::new()))))
    }

    /// Returns the login that the cookies of a page's request name, and records its use.
    pub(crate) fn page_login(
        &self,
        headers: &HeaderMap,
        from: IpAddr,
        directory: &Directory,
        now: Instant,
    ) -> Option<ActiveLogin> {
        let login = find_login(headers, self.sessions.behind_tls, directory, now)?;
        self.login_uses.touch(login, LoginUse { at: now, from }, directory);
        Some(login)
    }

    /// Ends a login, if there is one. Returns the cookie that removes it from the browser.
    ///
    /// # Errors
    /// 503 if the store takes no writes.
    pub(crate) async fn log_out_at_screens(
        &self,
        login: Option<ActiveLogin>,
    ) -> Result<HeaderValue, ApiError> {
        if let Some(ActiveLogin { pro, hash }) = login {
            self.end_logins(pro, WhichLogins::One(hash)).await?;
        }
        Ok(ended_login_cookie(self.sessions.behind_tls))
    }

    /// Ends logins of a professional. None may be open.
    ///
    /// # Errors
    /// 503 if the store takes no writes.
    pub(crate) async fn end_logins(&self, pro: ProId, which: WhichLogins) -> Result<(), ApiError> {
        match self.engine.change_access(None, ChangeAccess::LogOut { pro, which }).await {
            // Another request may have ended them meanwhile.
            Ok(()) | Err(AccessError::Refused(_)) => Ok(()),
            Err(AccessError::Rejected(rejection)) => Err(ApiError::from_store(rejection)),
        }
    }
}
