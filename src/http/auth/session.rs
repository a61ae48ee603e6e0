//! Sessions, kept in memory and ended by a restart. Reference 3.3.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::header::COOKIE;
use axum::http::{HeaderMap, HeaderValue};
use sha2::{Digest as _, Sha256};

use crate::domain::identity::directory::Directory;
use crate::domain::records::ids::{GroupId, ProId};
use crate::domain::records::text::Text;
use crate::domain::time::Instant;
use crate::engine::published::Published;
use crate::engine::randomness::Randomness;
use crate::http::auth::person::Person;
use crate::planted_faults::PlantedFault;

/// Seconds of inactivity that end a session.
const IDLE_SECONDS_MAX: i64 = 3_600;
/// Maximum number of sessions; beyond it the one idle for longest is ended.
const SESSIONS_MAX: usize = 100_000;
/// Maximum number of sessions of one person; beyond it the one idle for longest is ended.
const SESSIONS_PER_PERSON_MAX: usize = 100;
/// Name of the cookie.
const COOKIE_NAME: &str = "_session_id";

/// All sessions. A token is kept only as its SHA-256.
pub(crate) struct Sessions {
    table: Mutex<SessionTable>,
    /// Whether cookies are marked `Secure`, so that browsers send them over TLS only.
    pub(crate) behind_tls: bool,
}

struct SessionTable {
    /// By the SHA-256 of the token.
    sessions: BTreeMap<[u8; 32], Session>,
    randomness: Randomness,
}

/// A session, which may have ended meanwhile.
#[derive(Clone)]
struct Session {
    /// SHA-256 of the key that opened it, which the session stands for.
    apikey: [u8; 32],
    owner: SessionOwner,
    last_used: Instant,
}

/// The person who has logged in, and the password hash at that time. A new password ends the
/// session.
#[derive(Clone, PartialEq)]
enum SessionOwner {
    Pro { id: ProId, password_hash: Text<255> },
    Account { group: GroupId, email: Box<str>, password_hash: Text<255> },
}

/// A session that has not ended.
pub(crate) struct ActiveSession {
    /// SHA-256 of the key that opened it.
    pub(crate) apikey: [u8; 32],
    /// The person who has logged in, as they are now.
    pub(crate) person: Person,
    token_hash: [u8; 32],
}

impl Sessions {
    /// Returns an empty table of sessions.
    pub(crate) fn new() -> Self {
        let table = SessionTable { sessions: BTreeMap::new(), randomness: Randomness::from_os() };
        Self { table: Mutex::new(table), behind_tls: false }
    }

    /// Opens a session under a new token. Returns the cookie that carries it, or `None` if the
    /// person was removed meanwhile.
    pub(crate) fn open(
        &self,
        apikey: [u8; 32],
        person: &Person,
        published: &Published,
        directory: &Directory,
        now: Instant,
    ) -> Option<HeaderValue> {
        let owner = SessionOwner::from_person(person, published, directory)?;
        let mut table = self.lock();
        table.make_room(&owner, now);
        let token: String =
            table.randomness.bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        let session = Session { apikey, owner, last_used: now };
        table.sessions.insert(hash_token(token.as_bytes()), session);
        Some(self.cookie(&format!("{token}; path=/")))
    }

    /// Returns the active session that a request's cookies name. One that has ended is removed.
    pub(crate) fn find(
        &self,
        headers: &HeaderMap,
        published: &Published,
        directory: &Directory,
        now: Instant,
    ) -> Option<ActiveSession> {
        let mut table = self.lock();
        // A browser may send an old token of a narrower path before the current one.
        let token_hash = session_tokens(headers)
            .map(hash_token)
            .find(|token_hash| table.sessions.contains_key(token_hash))?;
        let session = table.sessions.get_mut(&token_hash)?;
        if session.is_fresh(now)
            && (directory.apikeys.contains_key(&session.apikey)
                || PlantedFault::RevokedKeySessionKept.is_active())
            && let Some(person) = session.owner.refresh(published, directory)
        {
            return Some(ActiveSession { apikey: session.apikey, person, token_hash });
        }
        table.sessions.remove(&token_hash);
        None
    }

    /// Records that a session is used, so that its hour of inactivity begins again.
    pub(crate) fn touch(&self, session: &ActiveSession, now: Instant) {
        if let Some(session) = self.lock().sessions.get_mut(&session.token_hash) {
            session.last_used = session.last_used.max(now);
        }
    }

    /// Ends a session. Returns the cookie that removes the token from the browser.
    pub(crate) fn end(&self, session: Option<&ActiveSession>) -> HeaderValue {
        if let Some(session) = session {
            self.lock().sessions.remove(&session.token_hash);
        }
        self.cookie("; path=/; Max-Age=0")
    }

    fn lock(&self) -> MutexGuard<'_, SessionTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cookie(&self, rest: &str) -> HeaderValue {
        let secure = if self.behind_tls { "; Secure" } else { "" };
        let cookie = format!("{COOKIE_NAME}={rest}; HttpOnly; SameSite=Lax{secure}");
        cookie.try_into().expect("hexadecimal digits and words make a header")
    }
}

impl SessionTable {
    /// Removes ended sessions, and as many others as one more session of this owner needs.
    fn make_room(&mut self, owner: &SessionOwner, now: Instant) {
        self.sessions.retain(|_, session| session.is_fresh(now));
        let is_own = |session: &Session| session.owner.is_same_person(owner);
        while self.sessions.values().filter(|session| is_own(session)).count()
            >= SESSIONS_PER_PERSON_MAX
        {
            remove_idlest(&mut self.sessions, is_own);
        }
        while self.sessions.len() >= SESSIONS_MAX {
            remove_idlest(&mut self.sessions, |_| true);
        }
    }
}

impl Session {
    fn is_fresh(&self, now: Instant) -> bool {
        now.seconds_since(self.last_used) < IDLE_SECONDS_MAX
    }
}

impl SessionOwner {
    /// Returns the owner of a new session; `None` if the person was removed meanwhile.
    fn from_person(person: &Person, published: &Published, directory: &Directory) -> Option<Self> {
        match person {
            Person::Pro(id) => {
                let password_hash = directory.pros.get(id)?.password_hash.clone();
                Some(Self::Pro { id: *id, password_hash })
            }
            Person::Account(group, account) => {
                let email = account.email.folded();
                published.group_state(*group)?.accounts.get(&email)?;
                let password_hash = account.password_hash.clone();
                Some(Self::Account { group: *group, email, password_hash })
            }
        }
    }

    /// Returns the person as they are now; `None` if the password has changed. An account whose
    /// address has changed is found by its password hash, which has a salt of its own.
    fn refresh(&mut self, published: &Published, directory: &Directory) -> Option<Person> {
        match self {
            Self::Pro { id, password_hash } => {
                let pro = directory.pros.get(id)?;
                if pro.password_hash == *password_hash { Some(Person::Pro(pro.id)) } else { None }
            }
            Self::Account { group, email, password_hash } => {
                let state = published.group_state(*group)?;
                let account = match state.accounts.get(email) {
                    Some(account) if account.password_hash == *password_hash => account,
                    Some(_) | None => state
                        .accounts
                        .values()
                        .find(|account| account.password_hash == *password_hash)?,
                };
                *email = account.email.folded();
                Some(Person::Account(*group, Arc::clone(account)))
            }
        }
    }

    fn is_same_person(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Pro { id, .. }, Self::Pro { id: other, .. }) => id == other,
            (
                Self::Account { group, email, .. },
                Self::Account { group: other_group, email: other_email, .. },
            ) => group == other_group && email == other_email,
            (Self::Pro { .. }, Self::Account { .. }) | (Self::Account { .. }, Self::Pro { .. }) => {
                false
            }
        }
    }
}

/// Removes the session idle for longest among those that `is_candidate` accepts.
fn remove_idlest(
    sessions: &mut BTreeMap<[u8; 32], Session>,
    is_candidate: impl Fn(&Session) -> bool,
) {
    let mut idlest: Option<([u8; 32], Instant)> = None;
    for (token_hash, session) in &*sessions {
        if !is_candidate(session) {
            continue;
        }
        match idlest {
            Some((_, last_used)) if last_used <= session.last_used => {}
            Some(_) | None => idlest = Some((*token_hash, session.last_used)),
        }
    }
    if let Some((token_hash, _)) = idlest {
        sessions.remove(&token_hash);
    }
}

fn hash_token(token: &[u8]) -> [u8; 32] {
    Sha256::digest(token).into()
}

/// Returns the session tokens among a request's cookies. The other cookies may hold any bytes.
pub(crate) fn session_tokens(headers: &HeaderMap) -> impl Iterator<Item = &[u8]> {
    let pairs = headers
        .get_all(COOKIE)
        .iter()
        .flat_map(|header| header.as_bytes().split(|byte| *byte == b';'));
    pairs.filter_map(|pair| {
        let value = pair.trim_ascii().strip_prefix(COOKIE_NAME.as_bytes())?;
        let token = value.strip_prefix(b"=")?;
        if token.is_empty() { None } else { Some(token) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(pro: u64, last_used: i64) -> Session {
        let id = ProId::new(pro).expect("an id");
        let owner = SessionOwner::Pro { id, password_hash: Text::default() };
        Session { apikey: [0; 32], owner, last_used: Instant(last_used) }
    }

    #[test]
    fn the_token_is_found_among_other_cookies() {
        let tokens = |text: &'static str| {
            let headers = HeaderMap::from_iter([(
                COOKIE,
                HeaderValue::from_bytes(text.as_bytes()).expect("a header"),
            )]);
            session_tokens(&headers).map(<[u8]>::to_vec).collect::<Vec<_>>()
        };
        assert_eq!(tokens("a=b; _session_id=abc; c=d"), [b"abc"]);
        assert_eq!(tokens("_session_id=old; n=é; _session_id=new"), [b"old", b"new"]);
        assert!(tokens("_session_id=").is_empty() && tokens("x_session_id=abc").is_empty());
    }

    #[test]
    fn an_hour_without_use_ends_a_session_and_a_clock_set_back_does_not() {
        assert!(session(1, 1_000).is_fresh(Instant(4_599)));
        assert!(!session(1, 1_000).is_fresh(Instant(4_600)));
        assert!(session(1, 1_000).is_fresh(Instant(0)));
    }

    #[test]
    fn the_session_idle_for_longest_is_removed_first() {
        let mut sessions = BTreeMap::from([
            ([1; 32], session(1, 30)),
            ([2; 32], session(2, 10)),
            ([3; 32], session(1, 20)),
        ]);
        let one = session(1, 0).owner;
        remove_idlest(&mut sessions, |session| session.owner.is_same_person(&one));
        assert!(!sessions.contains_key(&[3; 32]) && sessions.len() == 2);
        remove_idlest(&mut sessions, |_| true);
        assert!(!sessions.contains_key(&[2; 32]));
    }
}
