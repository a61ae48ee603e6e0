//! The authenticator: identifies the caller of a request. Reference 3.

use std::net::IpAddr;
use std::sync::Arc;

use axum::http::{HeaderMap, HeaderValue, Method};
use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

use crate::domain::directory::Directory;
use crate::domain::directory::access::ChangeAccess;
use crate::domain::directory::apikeys::Apikey;
use crate::domain::directory::known_logins::LoginPlace;
use crate::domain::directory::professionals::Pro;
use crate::domain::records::ids::GroupId;
use crate::domain::records::site_origin::SiteOrigin;
use crate::domain::records::text::{Email, Text};
use crate::domain::time::Instant;
use crate::engine::Engine;
use crate::http::auth::access_log::AccessLog;
use crate::http::auth::apikey;
use crate::http::auth::auth_request::AuthRequest;
use crate::http::auth::basic::{Credential, encoded_credential};
use crate::http::auth::credential_cache::{CredentialCache, CredentialCacheKey};
use crate::http::auth::key_uses::KeyUses;
use crate::http::auth::login_mailer::LoginMailer;
use crate::http::auth::login_proof::{Claimant, LoginProofs};
use crate::http::auth::login_steps::LoginSteps;
use crate::http::auth::login_uses::{ActiveLogin, LoginUse, LoginUses, find_login};
use crate::http::auth::person::{Candidate, Identity, Person};
use crate::http::auth::request_origin::{
    is_foreign, is_foreign_form, is_from_other_page, is_shown_as_own, only_origin,
};
use crate::http::auth::session::{ActiveSession, Sessions, find_password_hash};
use crate::http::error::ApiError;
use crate::http::limits::login_limit::{KnownFrom, LoginLimit};
use crate::http::limits::password_pool::PasswordPool;
use crate::notify::links::LoginLink;
use crate::password;
use crate::wire::errors::{ErrorEntry, Problem};

/// Maximum number of origins of a key that a refusal lists.
const ORIGINS_SHOWN_MAX: usize = 20;

/// Identifies callers by key, session and HTTP Basic.
pub(crate) struct Authenticator {
    /// URL under which clients know the server; empty if the operator has not set it.
    pub(crate) public_url: String,
    verified: CredentialCache,
    /// Limits the number of passwords verified at once.
    pub(crate) password_pool: PasswordPool,
    pub(crate) failures: LoginLimit,
    pub(crate) sessions: Sessions,
    /// Uses of keys that are not written yet.
    key_uses: KeyUses,
    /// Last uses of logins at the screens.
    pub(crate) login_uses: LoginUses,
    pub(crate) login_proofs: LoginProofs,
    /// Logins at the screens that still need a code.
    pub(crate) login_steps: LoginSteps,
    /// `None` on a server that sends no mails.
    pub(crate) login_mailer: Option<LoginMailer>,
    pub(crate) access_log: AccessLog,
    pub(crate) engine: Engine,
}

/// A credential to be verified.
pub(crate) struct LoginAttempt {
    /// Key under which the credential is cached.
    pub(crate) cache_key: CredentialCacheKey,
    pub(crate) credential: Credential,
    /// In trial order.
    pub(crate) candidates: Vec<Candidate>,
    /// Number of passwords to try before the credential is called wrong, at least the number of
    /// candidates. So an unknown address takes as long as a known one.
    pub(crate) tries: usize,
}

impl Authenticator {
    /// Returns an authenticator without sessions, for a machine with this number of cores.
    pub(crate) fn new(cores: usize, engine: Engine) -> Self {
        Self {
            public_url: String::new(),
            verified: CredentialCache::new(),
            password_pool: PasswordPool::new(cores),
            failures: LoginLimit::default(),
            sessions: Sessions::new(),
            key_uses: KeyUses::new(),
            login_uses: LoginUses::new(),
            login_proofs: LoginProofs::new(None),
            login_steps: LoginSteps::new(),
            login_mailer: None,
            access_log: AccessLog::new(engine.clone()),
            engine,
        }
    }

    /// Returns the caller of a request. At the operator's socket that is the operator, whatever the
    /// request holds. HTTP Basic precedes a session. A session counts only with the key that opened
    /// it, which it stands for if the request has none. A login at the screens counts in place of a
    /// key alone. Reference 3.3.
    ///
    /// # Errors
    /// 403 without a known key, for a change from a page that the key does not name, and for one by
    /// cookie from a foreign page; 401 for a wrong credential, 429 after too many of them; 503 when
    /// too many are being verified.
    pub(crate) async fn identify(&self, request: &AuthRequest<'_>) -> Result<Identity, ApiError> {
        if request.is_at_socket {
            return Ok(Identity::operator(Arc::clone(request.directory)));
        }
        let given = request.params.value("apikey");
        let basic = apikey::credentials(&request.parts.headers);
        if given.is_none()
            && basic.is_none()
            && let Some(login) = self.login_in_place_of_key(request)?
        {
            return Ok(Identity::logged_in(Arc::clone(request.directory), login));
        }
        let mut session = self.session(request);
        let apikey = request.key(given, session.as_ref())?;
        self.refuse_unnamed_page(request, apikey)?;
        self.key_uses.record(apikey, request.directory, &self.engine, request.now);
        // Under another key the session is ignored.
        session.take_if(|session| session.apikey != apikey);
        if let Some(session) = &session
            && (given.is_none() || basic.is_none())
        {
            self.refuse_foreign(request)?;
            self.sessions.touch(session, request.from, request.now);
        }
        let person = match (basic, session) {
            (Some(header), _) => {
                let verified = self.verify_basic(header.as_bytes(), apikey, request);
                // On the heap: other requests have no password to verify.
                Some(Box::pin(verified).await?)
            }
            (None, Some(session)) => Some(session.person),
            (None, None) => None,
        };
        Ok(Identity::new(Arc::clone(request.directory), apikey, person, basic.is_some()))
    }

    /// Returns the person of an Authorization header. A cached credential is not decoded.
    ///
    /// # Errors
    /// 401 for a wrong credential; otherwise as [`Authenticator::verify`].
    async fn verify_basic(
        &self,
        header: &[u8],
        apikey: [u8; 32],
        request: &AuthRequest<'_>,
    ) -> Result<Person, ApiError> {
        let Some(encoded) = encoded_credential(header) else { return Err(login_failed().into()) };
        let cache_key = self.basic_cache_key(encoded, request.implied_group, apikey, request);
        if let Some(person) = self.verified.find(&cache_key, request) {
            return Ok(person);
        }
        let Some(credential) = Credential::from_basic(encoded) else {
            return Err(login_failed().into());
        };
        let account = match request.implied_group {
            Some(group) => request.account_of(group, &credential.email, apikey),
            None => None,
        };
        // A group without an account of the address is cached like a missing group. Otherwise the
        // time of the next request would reveal whether the group exists.
        let implied_group = if account.is_some() { request.implied_group } else { None };
        let cache_key = self.basic_cache_key(encoded, implied_group, apikey, request);
        let (candidates, tries) = request.basic_candidates(&credential.email, account, apikey);
        let attempt = LoginAttempt { cache_key, credential, candidates, tries };
        match self.verify(attempt, request).await? {
            Some(person) => Ok(person),
            None => Err(login_failed().into()),
        }
    }

    /// Returns the cache key of a Basic credential. `implied` is the group that an
    /// older path implies.
    fn basic_cache_key(
        &self,
        encoded: &[u8],
        implied: Option<GroupId>,
        apikey: [u8; 32],
        request: &AuthRequest<'_>,
    ) -> CredentialCacheKey {
        let group = request.group.map_or(0, GroupId::number).to_be_bytes();
        let implied = implied.map_or(0, GroupId::number).to_be_bytes();
        let kind: &[u8] = if request.names_target { b"older" } else { b"basic" };
        self.verified.key([kind, &apikey, &[group, implied].concat(), encoded])
    }

    /// Returns the cache key of a login's credential. `scope` is the role, the key and the group
    /// that decide on its candidates.
    pub(crate) fn login_cache_key(
        &self,
        credential: &Credential,
        scope: [&[u8]; 3],
    ) -> CredentialCacheKey {
        let [role, apikey, group] = scope;
        let email = credential.email.as_bytes();
        let password = credential.password.as_bytes();
        self.verified.key([b"login", role, apikey, group, email, password])
    }

    /// Returns the login at the screens that stands for the key of a request, and records its use.
    /// A read counts as without it unless a page of this server may have sent it.
    ///
    /// # Errors
    /// 403 for a change, unless the browser shows that a page of this server sends it.
    fn login_in_place_of_key(
        &self,
        request: &AuthRequest<'_>,
    ) -> Result<Option<ActiveLogin>, ApiError> {
        let AuthRequest { parts, directory, from, now, .. } = *request;
        let behind_tls = self.sessions.behind_tls;
        let Some(login) = find_login(&parts.headers, behind_tls, directory, now) else {
            return Ok(None);
        };
        if parts.method == Method::GET || parts.method == Method::HEAD {
            if is_foreign_form(&parts.headers, behind_tls, &self.public_url) {
                return Ok(None);
            }
        } else if !is_shown_as_own(&parts.headers, behind_tls, &self.public_url) {
            return Err(ApiError::unauthorized(
                "a login changes something only from a page of this very address: \
                 Origin or Sec-Fetch-Site must show that",
            ));
        }
        self.login_uses.touch(login, LoginUse { at: now, from }, directory);
        Ok(Some(login))
    }

    /// Returns the session that the request's cookies name, if it is active.
    pub(crate) fn session(&self, request: &AuthRequest<'_>) -> Option<ActiveSession> {
        self.sessions.find(
            &request.parts.headers,
            request.published,
            request.directory,
            request.now,
        )
    }

    /// Refuses a change that a browser sends with a cookie for a page of another site. Reference
    /// 3.3.
    ///
    /// # Errors
    /// 403 for a foreign Origin.
    pub(crate) fn refuse_foreign(&self, request: &AuthRequest<'_>) -> Result<(), ApiError> {
        if request.parts.method == Method::GET || request.parts.method == Method::HEAD {
            return Ok(());
        }
        if self.is_foreign(&request.parts.headers) {
            return Err(ApiError::unauthorized(
                "a session changes something only from a page of this very address: \
                 Origin and Host differ",
            ));
        }
        Ok(())
    }

    /// Refuses a change that a browser sends for a page whose origin the key does not name.
    /// Otherwise any page could book through its visitors, each of which is a source of its own.
    /// Keys of earlier releases allow all pages until they name origins. Reference 3.3.
    ///
    /// # Errors
    /// 403 with the origins that the key names.
    pub(crate) fn refuse_unnamed_page(
        &self,
        request: &AuthRequest<'_>,
        apikey: [u8; 32],
    ) -> Result<(), ApiError> {
        let AuthRequest { parts, directory, .. } = request;
        if parts.method == Method::GET || parts.method == Method::HEAD {
            return Ok(());
        }
        if !is_from_other_page(&parts.headers, &self.public_url) {
            return Ok(());
        }
        let apikey = directory.apikeys.get(&apikey).expect("the key was found in this directory");
        let origin = only_origin(&parts.headers);
        if apikey.allows_any_origin || origin.is_some_and(|origin| apikey.names_origin(origin)) {
            return Ok(());
        }
        Err(ApiError::new(Problem::Unauthorized, unnamed_page(apikey, origin)))
    }

    fn is_foreign(&self, headers: &HeaderMap) -> bool {
        is_foreign(headers, self.sessions.behind_tls, &self.public_url)
    }

    /// Returns whether a form comes from a page of another site. Reference 3.3.
    pub(crate) fn is_cross_site_form(&self, headers: &HeaderMap) -> bool {
        is_foreign_form(headers, self.sessions.behind_tls, &self.public_url)
    }

    /// Refuses a login that a browser sends for a page of another site, unless the key names the
    /// site. Otherwise any page could guess passwords from its visitors' addresses, or log a
    /// visitor in as someone else. Reference 3.3.
    ///
    /// # Errors
    /// 403 for a foreign Origin.
    pub(crate) fn refuse_foreign_login(
        &self,
        request: &AuthRequest<'_>,
        apikey: [u8; 32],
    ) -> Result<(), ApiError> {
        if !self.is_foreign(&request.parts.headers) {
            return Ok(());
        }
        if let Some(origin) = only_origin(&request.parts.headers)
            && request.directory.apikeys.get(&apikey).is_some_and(|key| key.names_origin(origin))
        {
            return Ok(());
        }
        Err(ApiError::unauthorized(
            "pages of this origin may not log people in with this key: the operator can allow it \
             (slotbook key set KEY --origin ORIGIN)",
        ))
    }

    /// Returns the person of a credential; `None` if it is wrong.
    ///
    /// # Errors
    /// 429 after too many wrong credentials; 503 when too many are being verified.
    pub(crate) async fn verify(
        &self,
        attempt: LoginAttempt,
        request: &AuthRequest<'_>,
    ) -> Result<Option<Person>, ApiError> {
        let LoginAttempt { cache_key, credential, mut candidates, tries } = attempt;
        let place = self.login_proofs.place(&credential.email_hash, request.from);
        if let Some(person) = self.verified.find(&cache_key, request) {
            self.record_login(place, request.directory, request.now);
            return Ok(Some(person));
        }
        let known = self.find_proof(&credential, &candidates, place, request);
        let refuse = || {
            let Credential { email_hash, .. } = credential;
            let refusal = self.refuse_after_failures(email_hash, request.from, known, request.now);
            if refusal.is_err()
                && let Some(mailer) = &self.login_mailer
            {
                mailer.let_in(&candidates, request.directory, request.now);
            }
            refusal
        };
        refuse()?;
        let is_known = known != KnownFrom::Nowhere;
        let permit = self.password_pool.acquire(request.from, is_known).await?;
        // While this request waited, another one may have verified the same credential, or failed.
        if let Some(person) = self.verified.find(&cache_key, request) {
            self.record_login(place, request.directory, request.now);
            return Ok(Some(person));
        }
        refuse()?;
        let hashes: Vec<Text<255>> =
            candidates.iter().map(|candidate| candidate.password_hash.clone()).collect();
        let given = credential.password;
        let matching = permit.run(move |memory| {
            for (index, hash) in hashes.iter().enumerate() {
                if password::verify_password(memory, hash.as_str(), &given) {
                    return Some(index);
                }
            }
            // A wrong credential takes the same time for any number of candidates.
            for _ in hashes.len()..tries {
                std::hint::black_box(password::verify_password(
                    memory,
                    password::DUMMY_HASH,
                    &given,
                ));
            }
            None
        });
        let Some(index) = matching.await? else {
            self.failures.count_failure(credential.email_hash, request.from, known, request.now);
            log_failure(&credential.email_hash, request.from);
            for candidate in &candidates {
                let AuthRequest { directory, from, now, .. } = *request;
                self.access_log.note_failure(&candidate.person, from, directory, now);
            }
            return Ok(None);
        };
        self.record_login(place, request.directory, request.now);
        let candidate = candidates.swap_remove(index);
        let person = candidate.person.clone();
        self.verified.insert(cache_key, candidate, request.now);
        Ok(Some(person))
    }

    /// Returns the cookie by which the browser of a person who has logged in is known; `None` if
    /// the person was removed meanwhile. The person is mailed about a browser that was not known,
    /// unless this source was.
    pub(crate) fn meet_device(
        &self,
        person: &Person,
        request: &AuthRequest<'_>,
    ) -> Option<HeaderValue> {
        let AuthRequest { directory, now, .. } = *request;
        let password_hash = find_password_hash(person, request.published, directory)?;
        let (group, email) = match person {
            Person::Pro(id) => {
                let pro = directory.pros.get(id)?;
                (pro.main, &pro.email)
            }
            Person::Account(group, account) => (*group, &account.email),
        };
        let email_hash = Sha256::digest(email.folded().as_bytes()).into();
        let claimant = Claimant { email_hash: &email_hash, password_hash: password_hash.as_str() };
        let headers = &request.parts.headers;
        let is_known = self.login_proofs.find_device(headers, claimant, now).is_some();
        let place = self.login_proofs.place(&email_hash, request.from);
        if !is_known
            && directory.known_logins.is_news(place, now)
            && let Some(mailer) = &self.login_mailer
        {
            mailer.tell_of_device(group, email, now);
        }
        let behind_tls = self.sessions.behind_tls;
        Some(self.login_proofs.device_cookie(headers, claimant, behind_tls, now))
    }

    /// Lets the browser and the source at which a professional has followed a mailed link try to
    /// log in, whatever strangers guess. Returns the cookie of the browser.
    pub(crate) fn admit_by_link(
        &self,
        link: &LoginLink,
        pro: &Pro,
        headers: &HeaderMap,
        from: IpAddr,
        directory: &Directory,
        now: Instant,
    ) -> HeaderValue {
        self.record_owner(&pro.email, from, directory, now);
        let email_hash = Sha256::digest(pro.email.folded().as_bytes()).into();
        let password_hash = pro.password_hash.as_str();
        let claimant = Claimant { email_hash: &email_hash, password_hash };
        // One number for all browsers of a link: together they have the guesses of one.
        let device = link.mac[..8].try_into().expect("a MAC has 16 bytes");
        let behind_tls = self.sessions.behind_tls;
        self.login_proofs.cookie_of(device, headers, claimant, behind_tls, now)
    }

    /// Mails the professional of an address, if there is one, a link that sets another password.
    /// The look-up too is left to a task, so that the time of the answer tells nothing.
    pub(crate) fn mail_password_link(&self, email: Email, now: Instant) {
        let Some(mailer) = self.login_mailer.clone() else { return };
        tokio::spawn(async move { mailer.mail_password_link(&email, now) });
    }

    /// Records in the store that a person has logged in at a source, unless that is known. The
    /// answer does not wait for it.
    fn record_login(&self, place: LoginPlace, directory: &Directory, now: Instant) {
        if !directory.known_logins.wants(place, now) {
            return;
        }
        let engine = self.engine.clone();
        tokio::spawn(async move {
            if let Err(error) = engine.change_access(None, ChangeAccess::RecordLogin(place)).await {
                tracing::warn!(?error, "a login is not recorded: strangers can delay the next one");
            }
        });
    }

    /// Records a source at which a person has followed a mailed link, as after a login. Strangers
    /// who guess do not delay the first login there.
    pub(crate) fn record_owner(
        &self,
        email: &Email,
        from: IpAddr,
        directory: &Directory,
        now: Instant,
    ) {
        let email_hash = Sha256::digest(email.folded().as_bytes()).into();
        self.record_login(self.login_proofs.place(&email_hash, from), directory, now);
    }

    /// Returns the proof that a request has of an earlier login of its person.
    fn find_proof(
        &self,
        credential: &Credential,
        candidates: &[Candidate],
        place: LoginPlace,
        request: &AuthRequest<'_>,
    ) -> KnownFrom {
        let headers = &request.parts.headers;
        let mut devices = candidates.iter().filter_map(|candidate| {
            let password_hash = candidate.password_hash.as_str();
            let claimant = Claimant { email_hash: &credential.email_hash, password_hash };
            self.login_proofs.find_device(headers, claimant, request.now)
        });
        if let Some(device) = devices.next() {
            return KnownFrom::Device(device);
        }
        if request.directory.known_logins.knows(place, request.now) {
            KnownFrom::Source
        } else {
            KnownFrom::Nowhere
        }
    }

    /// Returns whether a password, as its SHA-1 in hexadecimal digits, is that of a person who has
    /// logged in, given by address and stored hash. A wrong one counts as a failed login.
    ///
    /// # Errors
    /// 429 after too many wrong passwords; 503 when too many are being verified.
    pub(crate) async fn verify_again(
        &self,
        email: &Email,
        stored: &Text<255>,
        sha1_hex: String,
        from: IpAddr,
        now: Instant,
    ) -> Result<bool, ApiError> {
        let email_hash: [u8; 32] = Sha256::digest(email.folded().as_bytes()).into();
        let known = KnownFrom::Login;
        self.refuse_after_failures(email_hash, from, known, now)?;
        let permit = self.password_pool.acquire(from, true).await?;
        // While this request waited, others may have failed.
        self.refuse_after_failures(email_hash, from, known, now)?;
        let stored = stored.clone();
        let verify = move |memory: &mut password::Argon2Memory| {
            password::verify_password(memory, stored.as_str(), &sha1_hex)
        };
        let is_right = permit.run(verify).await?;
        if !is_right {
            self.failures.count_failure(email_hash, from, known, now);
            log_failure(&email_hash, from);
        }
        Ok(is_right)
    }

    /// Refuses a credential after too many wrong ones of its address or from the same source.
    ///
    /// # Errors
    /// 429 with the number of seconds to wait. Reference 3.6.
    pub(crate) fn refuse_after_failures(
        &self,
        email_hash: [u8; 32],
        from: IpAddr,
        known: KnownFrom,
        now: Instant,
    ) -> Result<(), ApiError> {
        match self.failures.wait(email_hash, from, known, now) {
            Some(seconds) => {
                Err(ApiError::too_many("logins of this address or source failed", seconds))
            }
            None => Ok(()),
        }
    }
}

/// Returns the message for a page of an origin that a key does not name.
fn unnamed_page(apikey: &Apikey, origin: Option<&str>) -> String {
    let mut named = Vec::new();
    for origin in apikey.origins.iter().take(ORIGINS_SHOWN_MAX) {
        named.push(origin.as_str());
    }
    let names = if named.is_empty() { "no origin".to_owned() } else { named.join(", ") };
    let mut option = String::new();
    for name in named {
        option += &format!(" --origin {name}");
    }
    let asking = origin.and_then(|origin| SiteOrigin::new(origin).ok());
    let asking = match &asking {
        Some(asking) => asking.as_str(),
        None => "ORIGIN",
    };
    format!(
        "pages of this origin may not change anything with this key, which names {names}: the \
         operator can allow them (slotbook key set KEY{option} --origin {asking})"
    )
}

/// Logs a wrong credential, in a form that a filter such as fail2ban reads. The e-mail address
/// appears as the first digits of its SHA-256.
pub(crate) fn log_failure(email_hash: &[u8; 32], from: IpAddr) {
    let email = HEXLOWER.encode(&email_hash[..6]);
    tracing::warn!(source = %from, email, "login failed");
}

/// Returns the error of a wrong credential, the same for every cause.
pub(crate) fn login_failed() -> ErrorEntry {
    ErrorEntry::new(Problem::LoginFailed, "the e-mail address or the password is wrong")
}
