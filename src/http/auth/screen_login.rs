//! Logins of professionals at the practice's own screens: opening, finding and ending them.
//! Reference 15.1.

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderValue};

use crate::domain::directory::Directory;
use crate::domain::directory::access::{AccessRefusal, ChangeAccess};
use crate::domain::directory::factor_changes::FactorRefusal;
use crate::domain::directory::pro_logins::{ProLoginDraft, WhichLogins};
use crate::domain::directory::professionals::Pro;
use crate::domain::directory::second_factor::{GivenCode, SecondStep};
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

/// The result of a form with a password.
pub(crate) enum ScreenLoginResult {
    /// The login is open.
    LoggedIn(LoginCookies),
    /// The password is right, and a code has to follow. The cookie proves the password.
    CodeNeeded(HeaderValue),
    /// The address or the password was wrong.
    Wrong,
}

/// The result of a form with a code.
pub(crate) enum CodeResult {
    /// The login is open.
    LoggedIn(LoginCookies),
    /// The code was wrong, too old, or used before.
    WrongCode,
    /// Too many codes were wrong: only recovery codes count.
    CodesExhausted,
    /// The password has to be given again.
    Over,
}

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
    /// browser ends. One who has a second factor has to give a code first.
    ///
    /// # Errors
    /// 429 after too many wrong credentials; 503 when too many are being verified, or the store
    /// takes no writes.
    pub(crate) async fn log_in_at_screens(
        &self,
        login: ScreenLogin<'_>,
        request: &AuthRequest<'_>,
    ) -> Result<ScreenLoginResult, ApiError> {
        let ScreenLogin { email, password, stays } = login;
        let credential = Credential::new(email.trim(), &password::sha1_hex(password));
        let candidates = request.pro_of(&credential.email).into_iter().collect();
        let cache_key = self.login_cache_key(&credential, [b"pro", b"", b""]);
        let attempt = LoginAttempt { cache_key, credential, candidates, tries: 1 };
        let AuthRequest { directory, now, .. } = *request;
        let Some(Person::Pro(id)) = self.verify(attempt, request).await? else {
            return Ok(ScreenLoginResult::Wrong);
        };
        let Some(pro) = directory.pros.get(&id) else { return Ok(ScreenLoginResult::Wrong) };
        if directory.second_factors.contains_key(&id) {
            let behind_tls = self.sessions.behind_tls;
            let cookie = self.login_steps.begin(pro, stays, behind_tls, now);
            return Ok(ScreenLoginResult::CodeNeeded(cookie));
        }
        match self.open_login(pro, stays, SecondStep::NotTaken, request).await? {
            Ok(cookies) => Ok(ScreenLoginResult::LoggedIn(cookies)),
            // Another password or a second factor was set meanwhile.
            Err(_) => Ok(ScreenLoginResult::Wrong),
        }
    }

    /// Returns whether a request has the proof of a right password, so that a code may follow.
    pub(crate) fn awaits_code(
        &self,
        headers: &HeaderMap,
        directory: &Directory,
        now: Instant,
    ) -> bool {
        self.login_steps.find(headers, self.sessions.behind_tls, directory, now).is_some()
    }

    /// Logs a professional in who has given the password and now gives a code. Each code is
    /// accepted once.
    ///
    /// # Errors
    /// 429 after too many wrong credentials; 503 if the store takes no writes.
    pub(crate) async fn log_in_by_code(
        &self,
        code: &str,
        request: &AuthRequest<'_>,
    ) -> Result<CodeResult, ApiError> {
        let AuthRequest { directory, parts, now, .. } = *request;
        let behind_tls = self.sessions.behind_tls;
        let found = self.login_steps.find(&parts.headers, behind_tls, directory, now);
        let Some(found) = found else { return Ok(CodeResult::Over) };
        let pro = directory.pros.get(&found.step.pro).expect("it is found with its professional");
        let known = self.admit_code(pro, request)?;
        let second_step = SecondStep::Code(GivenCode::read(code));
        let refusal = match self.open_login(pro, found.step.stays, second_step, request).await? {
            Ok(LoginCookies(mut cookies)) => {
                cookies.push(self.login_steps.end(&found, behind_tls));
                return Ok(CodeResult::LoggedIn(LoginCookies(cookies)));
            }
            Err(refusal) => refusal,
        };
        let result = if refusal == FactorRefusal::WrongCode.into() {
            CodeResult::WrongCode
        } else if refusal == FactorRefusal::CodesExhausted.into() {
            CodeResult::CodesExhausted
        } else {
            // The professional is gone, or has another password.
            return Ok(CodeResult::Over);
        };
        if self.count_wrong_code(pro, known, request) {
            self.login_steps.end(&found, behind_tls);
            return Ok(CodeResult::Over);
        }
        Ok(result)
    }

    /// Opens a login of a professional whose password was verified in the directory of the request.
    /// Returns the refusal of a wrong code, or if another password was set meanwhile.
    ///
    /// # Errors
    /// 503 if the store takes no writes.
    async fn open_login(
        &self,
        pro: &Pro,
        stays: bool,
        second_step: SecondStep,
        request: &AuthRequest<'_>,
    ) -> Result<Result<LoginCookies, AccessRefusal>, ApiError> {
        let AuthRequest { directory, parts, from, now, .. } = *request;
        let behind_tls = self.sessions.behind_tls;
        let (token, hash) = self.login_uses.new_token();
        let replaced = find_login(&parts.headers, behind_tls, directory, now);
        let draft = ProLoginDraft {
            hash,
            pro: pro.id,
            password_hash: pro.password_hash.clone(),
            stays,
            source: Name::new(&from.to_string()).expect("an address has 45 characters"),
            device: Name::new(&device_name(&parts.headers)).expect("the name was shortened"),
            replaced: replaced.map(|login| login.hash),
            second_step,
        };
        let author = Some(Author::Professional { id: pro.id, key: None });
        match self.engine.change_access(author, ChangeAccess::LogIn(Box::new(draft))).await {
            Ok(()) => {}
            Err(AccessError::Refused(refusal)) => return Ok(Err(refusal)),
            Err(AccessError::Rejected(rejection)) => return Err(ApiError::from_store(rejection)),
        }
        let mut cookies = vec![login_cookie(&token, stays, behind_tls)];
        cookies.extend(self.meet_device(&Person::Pro(pro.id), request));
        Ok(Ok(LoginCookies(cookies)))
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
        let Some(pro) = renewed.pros.get(&login.pro) else {
            return Ok(PasswordChange::Done(LoginCookies(Vec::new())));
        };
        // A factor that was set up meanwhile asks for its code.
        let step = if directory.second_factors.contains_key(&login.pro) {
            SecondStep::TakenBefore
        } else {
            SecondStep::NotTaken
        };
        let opened = self.open_login(pro, stays, step, &request).await?;
        Ok(PasswordChange::Done(opened.unwrap_or(LoginCookies(Vec::new()))))
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
