//! Who asks: the application by its key, the professional or the client's account by HTTP Basic or a session. Reference 3.3,
//! Reference 3.

pub(crate) mod enumeration_limit;
pub(crate) mod login_limit;
pub(crate) mod password_pool;
pub(crate) mod session;
pub(crate) mod sliding_window;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderValue, Method};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::domain::identity::account::Account;
use crate::domain::identity::directory::{Apikey, Directory, Pro};
use crate::domain::records::ids::{GroupId, ProId};
use crate::domain::records::text::{self, Text};
use crate::domain::state::command::Caller;
use crate::domain::time::Instant;
use crate::engine::published::Published;
use crate::engine::randomness::Randomness;
use crate::http::auth::login_limit::LoginLimit;
use crate::http::auth::password_pool::PasswordPool;
use crate::http::auth::session::{Sessions, Standing};
use crate::http::error::ApiError;
use crate::password;
use crate::wire::errors::{ErrorEntry, Problem};
use crate::wire::field::Audience;
use crate::wire::params::Params;

/// Seconds for which a verified credential need not be verified again.
const REMEMBERED_SECONDS: i64 = 60;
/// Characters of an e-mail address at most, as [`crate::domain::records::text::Email`] has it.
const EMAIL_MAX: usize = 255;
/// Accounts of one address, beside that of the group that is meant, whose passwords a credential is held against.
const OTHERS_MAX: usize = 4;
/// Hexadecimal digits of a SHA-1.
const DIGITS: usize = 40;

/// Whoever is behind a request, checked.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    /// The directory that says so.
    directory: Arc<Directory>,
    /// The application's key, as it is kept.
    pub(crate) apikey: [u8; 32],
    /// On whose behalf the application asks.
    pub(crate) caller: Caller,
    /// The one group that an account is of; `None` for everybody else.
    account_of: Option<GroupId>,
}

impl Identity {
    fn apikey(&self) -> &Apikey {
        self.directory.apikeys.get(&self.apikey).expect("the key was found in this very directory")
    }

    /// The professional, if it is one.
    fn pro(&self) -> Option<&Pro> {
        match self.caller {
            Caller::Application | Caller::Account(_) => None,
            Caller::Pro(id) => self.directory.pros.get(&id),
        }
    }

    /// Whether a group exists for the caller: the key covers it, a professional works there, an account is of it.
    pub(crate) fn sees(&self, group: GroupId) -> bool {
        self.apikey().covers(group)
            && self.pro().is_none_or(|pro| pro.works_for(group))
            && self.account_of.is_none_or(|own| own == group)
    }

    /// Whether the key covers a group, whoever asks.
    pub(crate) fn key_covers(&self, group: GroupId) -> bool {
        self.apikey().covers(group)
    }

    /// The groups that a list of groups may name, ascending: the caller's own, else those named on the key; `None` where
    /// the key alone covers all groups.
    pub(crate) fn groups(&self) -> Option<Vec<GroupId>> {
        let own = |groups: &[GroupId]| {
            groups.iter().copied().filter(|group| self.apikey().covers(*group)).collect()
        };
        match (self.pro(), self.account_of) {
            (Some(pro), _) => Some(own(&pro.groups)),
            (None, Some(group)) => Some(own(&[group])),
            (None, None) => self.apikey().groups.clone(),
        }
    }

    /// The group that a path without a group means where nothing names one: the professional's main group or the
    /// account's, else the only one of the key, whether the caller sees it or not.
    pub(crate) fn home(&self) -> Option<GroupId> {
        let main = self.pro().map(|pro| pro.main).filter(|group| self.sees(*group));
        let only = match self.apikey().groups.as_deref() {
            Some([only]) => Some(*only),
            Some([] | [_, _, ..]) | None => None,
        };
        main.or(self.account_of).or(only)
    }

    /// The directory that the caller was found in.
    pub(crate) fn directory(&self) -> &Arc<Directory> {
        &self.directory
    }

    /// How much the caller is told.
    pub(crate) fn audience(&self) -> Audience {
        Audience::for_caller(&self.caller)
    }
}

/// Somebody with a password.
#[derive(Clone, Debug)]
pub(crate) enum Person {
    /// A professional.
    Pro(ProId),
    /// A client of the group.
    Account(GroupId, Arc<Account>),
}

/// What a request says of who sent it, and what it is held against.
#[derive(Clone, Copy)]
pub(crate) struct AuthRequest<'r> {
    pub(crate) published: &'r Published,
    pub(crate) directory: &'r Arc<Directory>,
    pub(crate) method: &'r Method,
    pub(crate) headers: &'r HeaderMap,
    pub(crate) params: &'r Params,
    /// The group of the path, where it names one.
    pub(crate) group: Option<GroupId>,
    /// The group that an older path means by its object or its parameters, whether or not the caller sees it.
    pub(crate) meant: Option<GroupId>,
    /// Whether an older path is of one object or names a group, be there such a one or not: whoever asks is told only that
    /// there is none that they see, so any account of theirs may ask.
    pub(crate) says_which: bool,
    pub(crate) from: IpAddr,
    pub(crate) now: Instant,
}

impl AuthRequest<'_> {
    /// The key that counts: the one given, else that of the session.
    ///
    /// # Errors
    /// 403 without a known one.
    pub(crate) fn key(
        &self,
        given: Option<&str>,
        session: Option<&Standing>,
    ) -> Result<[u8; 32], ApiError> {
        let Some(key) = given else {
            let none = || {
                ApiError::unauthorized(
                    "every request needs the parameter apikey in its query, or a session",
                )
            };
            return session.map(|session| session.apikey).ok_or_else(none);
        };
        let hash: [u8; 32] = Sha256::digest(key.as_bytes()).into();
        if self.directory.apikeys.contains_key(&hash) {
            Ok(hash)
        } else {
            Err(ApiError::unauthorized("the apikey is not known: ask the operator for a valid one"))
        }
    }

    /// The professional of an address, with the password to verify.
    pub(crate) fn pro_of(&self, email: &str) -> Option<Candidate> {
        let pro = self.directory.pro_of_email(email)?;
        Some(Candidate { person: Person::Pro(pro.id), password_hash: pro.password_hash.clone() })
    }

    /// The account of an address in a group that the key covers.
    pub(crate) fn account_of(
        &self,
        group: GroupId,
        email: &str,
        apikey: [u8; 32],
    ) -> Option<Candidate> {
        let covered = self.directory.apikeys.get(&apikey)?.covers(group);
        let state = self.published.group_state(group).filter(|_| covered)?;
        let account = Arc::clone(state.accounts.get(email)?);
        let password_hash = account.password_hash.clone();
        Some(Candidate { person: Person::Account(group, account), password_hash })
    }

    /// Somebody as they are now, as long as they go by the same address and password.
    fn still(&self, candidate: &Candidate) -> Option<Person> {
        let kept = &candidate.password_hash;
        match &candidate.person {
            Person::Pro(id) => {
                let pro = self.directory.pros.get(id).filter(|pro| pro.password_hash == *kept)?;
                Some(Person::Pro(pro.id))
            }
            Person::Account(group, account) => {
                let state = self.published.group_state(*group)?;
                let account = state
                    .accounts
                    .get(&account.email.folded())
                    .filter(|now| now.password_hash == *kept)?;
                Some(Person::Account(*group, Arc::clone(account)))
            }
        }
    }

    /// The account of an address where no group is named: in the only group of the key, else in the only group that has
    /// one. Reference 3.
    pub(crate) fn only_account(&self, email: &str, apikey: [u8; 32]) -> Option<Candidate> {
        let mut found = self.accounts_of(email, apikey);
        let first = found.next();
        if found.next().is_none() { first } else { None }
    }

    /// The accounts of an address in the groups that the key covers, by group ascending.
    fn accounts_of(&self, email: &str, apikey: [u8; 32]) -> impl Iterator<Item = Candidate> {
        self.groups_of(apikey).filter_map(move |group| self.account_of(group, email, apikey))
    }

    /// The groups that the key covers, ascending.
    fn groups_of(&self, apikey: [u8; 32]) -> impl Iterator<Item = GroupId> {
        let key = self.directory.apikeys.get(&apikey);
        let named = key.and_then(|key| key.groups.as_deref());
        let all = key.filter(|key| key.groups.is_none()).map(|_| self.published.groups());
        named.into_iter().flatten().copied().chain(all.into_iter().flatten())
    }

    /// Whom HTTP Basic may be of, in the order in which they are tried, and how many passwords are tried. The account of
    /// the group of the path, or of the group that is meant; where that has none, or has another password, others of the
    /// same address ask, and are told that there is nothing they see, whether there is or not. Which others are tried
    /// depends neither on the group nor on there being one.
    fn claimants(
        &self,
        email: &str,
        meant: Option<Candidate>,
        apikey: [u8; 32],
    ) -> (Vec<Candidate>, usize) {
        let pro = self.pro_of(email).into_iter();
        if !self.says_which {
            let account = match self.group {
                Some(group) => self.account_of(group, email, apikey),
                None => self.only_account(email, apikey),
            };
            return (pro.chain(account).collect(), 2);
        }
        let own = meant.as_ref().and(self.meant);
        let others = self.accounts_of(email, apikey).take(OTHERS_MAX);
        let others = others
            .filter(|other| !matches!(&other.person, Person::Account(of, _) if Some(*of) == own));
        let tries = 1 + self.groups_of(apikey).take(1 + OTHERS_MAX).count();
        (pro.chain(meant).chain(others).collect(), tries)
    }

    /// Whether the request comes from a page of somebody else's. Browsers say so in every request that changes something.
    /// Ours are those of the address that was asked, and of the one by which people know the server: a proxy may have
    /// given it another name.
    fn is_foreign(&self, tls: bool, public_url: &str) -> bool {
        let mut origins = self.headers.get_all(ORIGIN).iter();
        let Some(origin) = origins.next() else { return false };
        let parts = |origin: &HeaderValue| {
            let (scheme, authority) = origin.to_str().ok()?.split_once("://")?;
            Some((scheme.to_ascii_lowercase(), authority.to_ascii_lowercase()))
        };
        let Some((scheme, authority)) = parts(origin) else { return true };
        let known = public_url
            .split_once("://")
            .map(|(scheme, rest)| (scheme, rest.split('/').next().unwrap_or(rest)));
        let is_known = known.is_some_and(|(known_scheme, known)| {
            known_scheme.eq_ignore_ascii_case(&scheme) && known.eq_ignore_ascii_case(&authority)
        });
        if is_known {
            return origins.next().is_some();
        }
        let host = self.headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        let plain = |authority: &str| {
            let port = [":80", ":443"].into_iter().find_map(|port| authority.strip_suffix(port));
            port.unwrap_or(authority).to_ascii_lowercase()
        };
        origins.next().is_some() || plain(&authority) != plain(host) || (tls && scheme != "https")
    }
}

/// Finds out who asks.
pub(crate) struct Authenticator {
    /// The address by which people know the server; empty where nobody has said.
    pub(crate) public_url: String,
    /// Keys the hashes under which credentials are remembered; drawn at start, never kept.
    secret: [u8; 32],
    /// Credentials that were verified within the last minute, by their memo.
    remembered: Mutex<BTreeMap<Memo, Verified>>,
    /// Turns to work on a password.
    pub(crate) verifying: PasswordPool,
    /// Who has failed too often.
    throttle: LoginLimit,
    /// Who has logged in.
    pub(crate) sessions: Sessions,
}

/// What HTTP Basic or a login carries, in the form of the wire. What is longer than anybody's is not kept: it may be as
/// long as a body, and wrong credentials are worked on like right ones.
pub(crate) struct Credential {
    /// Folded; empty, which is nobody's, where it is longer than an address may be.
    pub(crate) email: Box<str>,
    /// SHA-1 as hexadecimal digits; empty, which is nobody's, where it is longer than that.
    password: String,
    /// SHA-256 of what was given for an address, folded, however long: failures are counted under it.
    email_hash: [u8; 32],
}

/// Somebody whom a credential may be of.
pub(crate) struct Candidate {
    person: Person,
    password_hash: Text<255>,
}

/// What a credential is remembered under: nobody can make it without our secret, so that it tells nothing of the
/// password, and the time it takes to be found nothing of the others.
type Memo = [u8; 32];

/// Whose a credential turned out to be.
struct Verified {
    /// With the password that it was held against.
    candidate: Candidate,
    /// When.
    at: Instant,
}

/// A credential, and whom it may be of.
pub(crate) struct LoginAttempt {
    /// What it is remembered under.
    pub(crate) memo: Memo,
    pub(crate) credential: Credential,
    /// In the order in which they are tried.
    pub(crate) candidates: Vec<Candidate>,
    /// How many passwords are tried before the credential is called wrong, whoever there is: at least as many as there
    /// are candidates. So that an unknown address costs what a known one does.
    pub(crate) tries: usize,
}

impl Authenticator {
    /// A authenticator who remembers nobody.
    pub(crate) fn new(cores: usize) -> Self {
        Self {
            public_url: String::new(),
            secret: Randomness::from_os().bytes(),
            remembered: Mutex::default(),
            verifying: PasswordPool::new(cores),
            throttle: LoginLimit::default(),
            sessions: Sessions::new(),
        }
    }

    /// Who asks. HTTP Basic counts more than a session; a session counts with the key that opened it, and stands for it
    /// where none is given: under another key it is as if it were not there.
    ///
    /// # Errors
    /// 403 without a known key, and for a change by cookie that a foreign page asks for; 401 for credentials that are not
    /// right, 429 after too many of them; 503 when too many are being verified.
    pub(crate) async fn identify(&self, asked: &AuthRequest<'_>) -> Result<Identity, ApiError> {
        let session = self.session(asked);
        let given = asked.params.value("apikey");
        let apikey = asked.key(given, session.as_ref())?;
        let session = session.filter(|session| session.apikey == apikey);
        let basic = asked.headers.get(AUTHORIZATION);
        if let Some(session) = session.as_ref().filter(|_| given.is_none() || basic.is_none()) {
            self.refuse_foreign(asked)?;
            self.sessions.touch(session, asked.now);
        }
        let person = match (basic, session) {
            (Some(header), _) => Some(self.of_basic(header.as_bytes(), apikey, asked).await?),
            (None, session) => session.map(|session| session.person),
        };
        let (caller, account_of) = match person {
            None => (Caller::Application, None),
            Some(Person::Pro(id)) => (Caller::Pro(id), None),
            Some(Person::Account(group, account)) => (Caller::Account(account), Some(group)),
        };
        Ok(Identity { directory: Arc::clone(asked.directory), apikey, caller, account_of })
    }

    /// Whose credential an Authorization header carries. One that is remembered is neither decoded nor looked for.
    ///
    /// # Errors
    /// 401 where it is nobody's; else as [`Authenticator::verified`].
    async fn of_basic(
        &self,
        header: &[u8],
        apikey: [u8; 32],
        asked: &AuthRequest<'_>,
    ) -> Result<Person, ApiError> {
        let wrong = || ApiError::from(login_failed());
        let encoded = encoded(header).ok_or_else(wrong)?;
        let memo = |meant: Option<GroupId>| {
            let [group, meant] =
                [asked.group, meant].map(|group| group.map_or(0, GroupId::number).to_be_bytes());
            let sort: &[u8] = if asked.says_which { b"older" } else { b"basic" };
            self.memo([sort, &apikey, &[group, meant].concat(), encoded])
        };
        if let Some(person) = self.remembered(&memo(asked.meant), asked) {
            return Ok(person);
        }
        let credential = Credential::of_basic(encoded).ok_or_else(wrong)?;
        let meant =
            asked.meant.and_then(|group| asked.account_of(group, &credential.email, apikey));
        // A group without an account of the address is as good as none: that it is there must not be felt either.
        let memo = memo(asked.meant.filter(|_| meant.is_some()));
        let (candidates, tries) = asked.claimants(&credential.email, meant, apikey);
        let claim = LoginAttempt { memo, credential, candidates, tries };
        self.verified(claim, asked).await?.ok_or_else(wrong)
    }

    /// The session that a request's cookies name, if it stands.
    pub(crate) fn session(&self, asked: &AuthRequest<'_>) -> Option<Standing> {
        self.sessions.find(asked.headers, (asked.published, asked.directory), asked.now)
    }

    /// A change that a browser sends with a cookie must be asked for by a page of ours. Reference 3.
    ///
    /// # Errors
    /// 403 for any other.
    pub(crate) fn refuse_foreign(&self, asked: &AuthRequest<'_>) -> Result<(), ApiError> {
        if asked.method != Method::GET
            && asked.method != Method::HEAD
            && asked.is_foreign(self.sessions.behind_tls, &self.public_url)
        {
            return Err(ApiError::unauthorized(
                "a session changes something only from a page of this very address: Origin and Host differ",
            ));
        }
        Ok(())
    }

    /// Whose credential it is; `None` where it is nobody's.
    ///
    /// # Errors
    /// 429 after too many wrong ones; 503 when too many are being verified.
    pub(crate) async fn verified(
        &self,
        claim: LoginAttempt,
        asked: &AuthRequest<'_>,
    ) -> Result<Option<Person>, ApiError> {
        let LoginAttempt { memo, credential, mut candidates, tries } = claim;
        if let Some(person) = self.remembered(&memo, asked) {
            return Ok(Some(person));
        }
        self.throttled(&credential, asked)?;
        let turn = self.verifying.turn(asked.from).await?;
        // Whoever waited behind the same credential finds it verified, or failed too often.
        if let Some(person) = self.remembered(&memo, asked) {
            return Ok(Some(person));
        }
        self.throttled(&credential, asked)?;
        let kept: Vec<Text<255>> = candidates.iter().map(|one| one.password_hash.clone()).collect();
        let given = credential.password;
        let right = turn.run(move |memory| {
            let right = kept
                .iter()
                .position(|kept| password::verify_password(memory, kept.as_str(), &given));
            let missing = if right.is_none() { tries.saturating_sub(kept.len()) } else { 0 };
            for _ in 0..missing {
                std::hint::black_box(password::verify_password(
                    memory,
                    password::DUMMY_HASH,
                    &given,
                ));
            }
            right
        });
        let Some(place) = right.await? else {
            self.throttle.failed(credential.email_hash, asked.from, asked.now);
            return Ok(None);
        };
        let candidate = candidates.swap_remove(place);
        let person = candidate.person.clone();
        self.remember(memo, candidate, asked.now);
        Ok(Some(person))
    }

    /// # Errors
    /// 429 after too many wrong credentials of an address from where this one comes.
    fn throttled(&self, credential: &Credential, asked: &AuthRequest<'_>) -> Result<(), ApiError> {
        match self.throttle.wait(credential.email_hash, asked.from, asked.now) {
            Some(seconds) => {
                Err(ApiError::too_many("logins of this e-mail address failed", seconds))
            }
            None => Ok(()),
        }
    }

    /// What is remembered of a credential under these parts: what it is of, and the credential itself.
    fn memo<const N: usize>(&self, parts: [&[u8]; N]) -> Memo {
        let mut inner = Sha256::new_with_prefix(self.secret);
        for part in parts {
            inner.update(part.len().to_be_bytes());
            inner.update(part);
        }
        Sha256::new_with_prefix(self.secret).chain_update(inner.finalize()).finalize().into()
    }

    /// Whose a remembered credential is, as long as their password is the one it was held against.
    fn remembered(&self, memo: &Memo, asked: &AuthRequest<'_>) -> Option<Person> {
        let remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        let verified = remembered.get(memo).filter(|verified| fresh(verified.at, asked.now))?;
        asked.still(&verified.candidate)
    }

    fn remember(&self, memo: Memo, candidate: Candidate, now: Instant) {
        let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        remembered.retain(|_, verified| fresh(verified.at, now));
        remembered.insert(memo, Verified { candidate, at: now });
    }
}

fn fresh(at: Instant, now: Instant) -> bool {
    (0..REMEMBERED_SECONDS).contains(&now.seconds_since(at))
}

/// What is said of credentials that are not right, whatever is wrong with them.
pub(crate) fn login_failed() -> ErrorEntry {
    ErrorEntry::new(Problem::LoginFailed, "the e-mail address or the password is wrong")
}

impl Credential {
    /// An address in any letter case, and the SHA-1 of a password as hexadecimal digits in any letter case.
    pub(crate) fn new(email: &str, sha1_hex: &str) -> Self {
        let folded = text::folded(email);
        let email_hash = Sha256::digest(folded.as_bytes()).into();
        let email = if email.chars().nth(EMAIL_MAX).is_none() { folded } else { "".into() };
        let password =
            if sha1_hex.len() <= DIGITS { sha1_hex.to_ascii_lowercase() } else { String::new() };
        Self { email, password, email_hash }
    }

    /// What a login is remembered under; `role` says whom it may be of.
    pub(crate) fn memo(
        &self,
        authenticator: &Authenticator,
        [role, apikey, group]: [&[u8]; 3],
    ) -> Memo {
        authenticator.memo([
            b"login",
            role,
            apikey,
            group,
            self.email.as_bytes(),
            self.password.as_bytes(),
        ])
    }

    /// What HTTP Basic carries, in base64; `None` where it is none.
    fn of_basic(encoded: &[u8]) -> Option<Self> {
        let decoded = String::from_utf8(STANDARD.decode(encoded).ok()?).ok()?;
        let (email, password) = decoded.split_once(':')?;
        Some(Self::new(email, &password::sha1_hex(password)))
    }
}

/// What an Authorization header carries in base64; `None` where it is not that of HTTP Basic.
fn encoded(header: &[u8]) -> Option<&[u8]> {
    let space = header.iter().position(|byte| *byte == b' ')?;
    let (scheme, encoded) = header.split_at(space);
    scheme.eq_ignore_ascii_case(b"basic").then(|| encoded.trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn basic_carries_the_plain_password_which_may_hold_colons() {
        let of_basic = |header: &str| Credential::of_basic(encoded(header.as_bytes())?);
        let credential = of_basic("basic  QW5uQFguT3JnOmE6Yg== ").expect("Ann@X.Org:a:b");
        assert_eq!(&*credential.email, "ann@x.org");
        assert_eq!(credential.password, password::sha1_hex("a:b"));
        for bad in ["Bearer QW5uOmI=", "Basic", "Basic !", "Basic QW5u", ""] {
            assert!(of_basic(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn what_is_longer_than_anybodys_is_counted_and_not_kept() {
        let of = |letters: usize, digits: usize| {
            Credential::new(&"É".repeat(letters), &"A".repeat(digits))
        };
        let longest = of(EMAIL_MAX, DIGITS);
        assert_eq!(
            (&*longest.email, &*longest.password),
            (&*"é".repeat(EMAIL_MAX), &*"a".repeat(DIGITS))
        );
        let longer = of(EMAIL_MAX + 1, DIGITS + 1);
        assert_eq!((&*longer.email, &*longer.password), ("", ""));
        assert_ne!(longer.email_hash, of(EMAIL_MAX + 2, 0).email_hash);
    }

    #[test]
    fn a_memo_tells_its_parts_and_secrets_apart() {
        let [one, other] = [Authenticator::new(1), Authenticator::new(1)];
        let memo = one.memo([b"ann", b"a"]);
        assert_eq!(one.memo([b"ann", b"a"]), memo);
        assert_ne!(one.memo([b"an", b"na"]), memo);
        assert_ne!(one.memo([b"ann", b"b"]), memo);
        assert_ne!(other.memo([b"ann", b"a"]), memo);
    }

    #[test]
    fn a_credential_is_remembered_for_a_minute() {
        assert!(fresh(Instant(1_000), Instant(1_059)));
        assert!(!fresh(Instant(1_000), Instant(1_060)));
        assert!(!fresh(Instant(1_000), Instant(999)));
    }
}
