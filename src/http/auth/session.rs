//! Sessions: who has logged in, kept in memory and ended by a restart. Reference 3.3, 3.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::header::COOKIE;
use axum::http::{HeaderMap, HeaderValue};
use sha2::{Digest, Sha256};

use crate::domain::identity::account::Account;
use crate::domain::identity::directory::Directory;
use crate::domain::records::ids::{GroupId, ProId};
use crate::domain::records::text::Text;
use crate::domain::time::Instant;
use crate::engine::published::Published;
use crate::engine::randomness::Randomness;
use crate::http::auth::Person;

/// Seconds of inactivity that end a session. Reference 3.3.
const IDLE_SECONDS_MAX: i64 = 3_600;
/// Sessions at most; beyond, whoever has been idle longest is logged out.
const SESSIONS_MAX: usize = 100_000;
/// Sessions of one person at most.
const SESSIONS_OF_ONE_MAX: usize = 100;
/// The name of the cookie.
const COOKIE_NAME: &str = "_session_id";

/// All sessions. Nothing of a token but its SHA-256 is kept.
pub(crate) struct Sessions {
    open: Mutex<Open>,
    /// Whether browsers are told to send the cookie over TLS alone.
    pub(crate) behind_tls: bool,
}

struct Open {
    by_hash: BTreeMap<[u8; 32], Session>,
    draws: Randomness,
}

/// Somebody logged in.
#[derive(Clone)]
struct Session {
    /// The key that opened it, as it is kept; the session stands for it.
    apikey: [u8; 32],
    holder: Holder,
    /// When it was last used.
    used: Instant,
}

/// Who has logged in, and with which password: a changed one ends the session.
#[derive(Clone, PartialEq)]
enum Holder {
    Pro { id: ProId, password_hash: Text<255> },
    Account { group: GroupId, email: Box<str>, password_hash: Text<255> },
}

/// A session that stands.
pub(crate) struct Standing {
    /// The key that opened it.
    pub(crate) apikey: [u8; 32],
    /// Who has logged in.
    pub(crate) person: Person,
    token: [u8; 32],
}

impl Sessions {
    /// Nobody has logged in.
    pub(crate) fn new() -> Self {
        let open = Open { by_hash: BTreeMap::new(), draws: Randomness::from_os() };
        Self { open: Mutex::new(open), behind_tls: false }
    }

    /// Opens a session under a token never used before; returns the cookie that carries it.
    pub(crate) fn open(
        &self,
        apikey: [u8; 32],
        person: &Person,
        (published, directory): (&Published, &Directory),
        now: Instant,
    ) -> Option<HeaderValue> {
        let holder = Holder::of(person, published, directory)?;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let sessions = &mut open.by_hash;
        sessions.retain(|_, session| session.is_fresh(now));
        while sessions.values().filter(|session| session.holder.is_same_person(&holder)).count()
            >= SESSIONS_OF_ONE_MAX
        {
            drop_idlest(sessions, |session| session.holder.is_same_person(&holder));
        }
        while sessions.len() >= SESSIONS_MAX {
            drop_idlest(sessions, |_| true);
        }
        let token: String = open.draws.bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        open.by_hash.insert(hash_of(token.as_bytes()), Session { apikey, holder, used: now });
        Some(self.cookie(&format!("{token}; path=/")))
    }

    /// The session of a request's cookies, if it names one that stands. One that does not is forgotten.
    pub(crate) fn find(
        &self,
        headers: &HeaderMap,
        (published, directory): (&Published, &Directory),
        now: Instant,
    ) -> Option<Standing> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        // A browser may still send an older one, of a narrower path, before the one that counts.
        let token =
            tokens_of(headers).map(hash_of).find(|token| open.by_hash.contains_key(token))?;
        let session = open.by_hash.get_mut(&token)?;
        let known = session.is_fresh(now) && directory.apikeys.contains_key(&session.apikey);
        match session.holder.person(published, directory).filter(|_| known) {
            Some(person) => Some(Standing { apikey: session.apikey, person, token }),
            None => {
                open.by_hash.remove(&token);
                None
            }
        }
    }

    /// Notes that a session is used: its hour begins anew.
    pub(crate) fn touch(&self, session: &Standing, now: Instant) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = open.by_hash.get_mut(&session.token) {
            session.used = session.used.max(now);
        }
    }

    /// Ends a session; returns the cookie that takes its token from the browser.
    pub(crate) fn end(&self, session: Option<&Standing>) -> HeaderValue {
        if let Some(session) = session {
            self.open.lock().unwrap_or_else(PoisonError::into_inner).by_hash.remove(&session.token);
        }
        self.cookie("; path=/; Max-Age=0")
    }

    fn cookie(&self, rest: &str) -> HeaderValue {
        let secure = if self.behind_tls { "; Secure" } else { "" };
        let cookie = format!("{COOKIE_NAME}={rest}; HttpOnly; SameSite=Lax{secure}");
        cookie.try_into().expect("hexadecimal digits and words")
    }
}

impl Session {
    fn is_fresh(&self, now: Instant) -> bool {
        now.seconds_since(self.used) < IDLE_SECONDS_MAX
    }
}

impl Holder {
    fn of(person: &Person, published: &Published, directory: &Directory) -> Option<Self> {
        match person {
            Person::Pro(id) => {
                let password_hash = directory.pros.get(id)?.password_hash.clone();
                Some(Self::Pro { id: *id, password_hash })
            }
            Person::Account(group, account) => {
                let email = account.email.folded();
                published.group_state(*group)?.accounts.get(&email)?;
                Some(Self::Account {
                    group: *group,
                    email,
                    password_hash: account.password_hash.clone(),
                })
            }
        }
    }

    /// The person, as long as the password is the one it logged in with. An account may have another address by now;
    /// it is still known by its hash, which has a salt of its own.
    fn person(&mut self, published: &Published, directory: &Directory) -> Option<Person> {
        match self {
            Self::Pro { id, password_hash } => {
                let pro =
                    directory.pros.get(id).filter(|pro| pro.password_hash == *password_hash)?;
                Some(Person::Pro(pro.id))
            }
            Self::Account { group, email, password_hash } => {
                let state = published.group_state(*group)?;
                let same = |account: &&Arc<Account>| account.password_hash == *password_hash;
                let account = state
                    .accounts
                    .get(email)
                    .filter(same)
                    .or_else(|| state.accounts.values().find(same))?;
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

fn drop_idlest(sessions: &mut BTreeMap<[u8; 32], Session>, among: impl Fn(&Session) -> bool) {
    let idlest = sessions
        .iter()
        .filter(|(_, session)| among(session))
        .min_by_key(|(_, session)| session.used);
    if let Some(token) = idlest.map(|(token, _)| *token) {
        sessions.remove(&token);
    }
}

fn hash_of(token: &[u8]) -> [u8; 32] {
    Sha256::digest(token).into()
}

/// The tokens among a request's cookies, whatever bytes the others hold.
pub(crate) fn tokens_of(headers: &HeaderMap) -> impl Iterator<Item = &[u8]> {
    let pairs = headers
        .get_all(COOKIE)
        .iter()
        .flat_map(|header| header.as_bytes().split(|byte| *byte == b';'));
    let tokens = pairs.filter_map(|pair| {
        pair.trim_ascii().strip_prefix(COOKIE_NAME.as_bytes())?.strip_prefix(b"=")
    });
    tokens.filter(|token| !token.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(pro: u64, used: i64) -> Session {
        let holder =
            Holder::Pro { id: ProId::new(pro).expect("an id"), password_hash: Text::default() };
        Session { apikey: [0; 32], holder, used: Instant(used) }
    }

    #[test]
    fn the_token_is_found_among_other_cookies() {
        let of = |text: &'static str| {
            let headers = HeaderMap::from_iter([(
                COOKIE,
                HeaderValue::from_bytes(text.as_bytes()).expect("a header"),
            )]);
            tokens_of(&headers).map(<[u8]>::to_vec).collect::<Vec<_>>()
        };
        assert_eq!(of("a=b; _session_id=abc; c=d"), [b"abc"]);
        assert_eq!(of("_session_id=old; n=é; _session_id=new"), [b"old", b"new"]);
        assert!(of("_session_id=").is_empty() && of("x_session_id=abc").is_empty());
    }

    #[test]
    fn an_hour_without_use_ends_a_session_and_a_clock_set_back_does_not() {
        assert!(session(1, 1_000).is_fresh(Instant(4_599)));
        assert!(!session(1, 1_000).is_fresh(Instant(4_600)));
        assert!(session(1, 1_000).is_fresh(Instant(0)));
    }

    #[test]
    fn whoever_has_been_idle_longest_goes_first() {
        let mut sessions = BTreeMap::from([
            ([1; 32], session(1, 30)),
            ([2; 32], session(2, 10)),
            ([3; 32], session(1, 20)),
        ]);
        let one = session(1, 0).holder;
        drop_idlest(&mut sessions, |session| session.holder.is_same_person(&one));
        assert!(!sessions.contains_key(&[3; 32]) && sessions.len() == 2);
        drop_idlest(&mut sessions, |_| true);
        assert!(!sessions.contains_key(&[2; 32]));
    }
}
