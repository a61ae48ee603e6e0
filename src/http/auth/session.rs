//! Sessions, kept in memory and ended by a restart. Reference 3.3.

use std::sync::Arc;

use axum::http::header::COOKIE;
use axum::http::{HeaderMap, HeaderValue};
use data_encoding::HEXLOWER;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use crate::domain::directory::Directory;
use crate::domain::records::ids::{GroupId, ProId};
use crate::domain::records::text::{Email, Text};
use crate::domain::time::{HOUR, Instant};
use crate::engine::published::Published;
use crate::engine::randomness::Randomness;
use crate::http::auth::person::Person;
use crate::http::limits::ranked_map::{Ranked, RankedMap};
use crate::planted_faults::PlantedFault;

/// Seconds of inactivity that end a session.
const IDLE_SECONDS_MAX: i64 = HOUR;
/// Maximum number of sessions; beyond it the one idle for longest is ended.
pub(crate) const SESSIONS_MAX: usize = 100_000;
/// Maximum number of sessions of one person; beyond it the one idle for longest is ended.
pub(crate) const SESSIONS_PER_PERSON_MAX: usize = 100;
/// Maximum number of ended sessions that one login removes. It bounds the cost of a login.
const REMOVED_PER_LOGIN_MAX: usize = 64;
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
    sessions: RankedMap<[u8; 32], Session>,
    randomness: Randomness,
}

/// The person that a session is of, as sessions are counted.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum SessionPerson {
    Pro(ProId),
    Account(GroupId, Box<str>),
}

/// A session, which may have ended meanwhile.
struct Session {
    /// SHA-256 of the key that opened it, which the session stands for.
    apikey: [u8; 32],
    /// The person who has logged in, as it was at the last use.
    person: Person,
    /// The password hash at the login. A new password ends the session.
    password_hash: Text<255>,
    last_used: Instant,
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
        let table = SessionTable { sessions: RankedMap::new(), randomness: Randomness::from_os() };
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
        let password_hash = find_password_hash(person, published, directory)?;
        let session = Session { apikey, person: person.clone(), password_hash, last_used: now };
        let mut table = self.table.lock();
        table.make_room(&session.owner(), now);
        let token = HEXLOWER.encode(&table.randomness.bytes());
        table.sessions.put(hash_token(token.as_bytes()), session);
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
        let mut table = self.table.lock();
        // A browser may send an old token of a narrower path before the current one.
        let token_hash = session_tokens(headers)
            .map(hash_token)
            .find(|token_hash| table.sessions.get(token_hash).is_some())?;
        let session = table.sessions.get(&token_hash)?;
        if is_fresh(session.last_used, now)
            && (directory.apikeys.contains_key(&session.apikey)
                || PlantedFault::RevokedKeySessionKept.is_active())
            && let Some(person) = session.refresh(published, directory)
        {
            return Some(ActiveSession { apikey: session.apikey, person, token_hash });
        }
        table.sessions.remove(&token_hash);
        None
    }

    /// Records that a session is used, so that its hour of inactivity begins again.
    pub(crate) fn touch(&self, session: &ActiveSession, now: Instant) {
        let mut table = self.table.lock();
        if let Some(mut used) = table.sessions.remove(&session.token_hash) {
            used.person = session.person.clone();
            used.last_used = used.last_used.max(now);
            table.sessions.put(session.token_hash, used);
        }
    }

    /// Ends a session. Returns the cookie that removes the token from the browser.
    pub(crate) fn end(&self, session: Option<&ActiveSession>) -> HeaderValue {
        if let Some(session) = session {
            self.table.lock().sessions.remove(&session.token_hash);
        }
        self.cookie("; path=/; Max-Age=0")
    }

    fn cookie(&self, rest: &str) -> HeaderValue {
        let secure = if self.behind_tls { "; Secure" } else { "" };
        let cookie = format!("{COOKIE_NAME}={rest}; HttpOnly; SameSite=Lax{secure}");
        cookie.try_into().expect("hexadecimal digits and words make a header")
    }
}

impl SessionTable {
    /// Removes some ended sessions, and as many others as one more session of this person needs.
    fn make_room(&mut self, person: &SessionPerson, now: Instant) {
        for _ in 0..REMOVED_PER_LOGIN_MAX {
            match self.sessions.least_by_first() {
                Some(&(last_used, ended)) if !is_fresh(last_used, now) => {
                    self.sessions.remove(&ended);
                }
                _ => break,
            }
        }
        let own: Vec<[u8; 32]> = self.of_person(person).collect();
        let excess = (own.len() + 1).saturating_sub(SESSIONS_PER_PERSON_MAX);
        for idlest in own.iter().take(excess) {
            self.sessions.remove(idlest);
        }
        while self.sessions.len() >= SESSIONS_MAX
            && let Some(&(_, idlest)) = self.sessions.least_by_first()
        {
            self.sessions.remove(&idlest);
        }
    }

    /// The sessions of a person, the one idle for longest first.
    fn of_person(&self, person: &SessionPerson) -> impl Iterator<Item = [u8; 32]> {
        let first = ((person.clone(), Instant(i64::MIN)), [0; 32]);
        let own =
            self.sessions.starting_at_second(first).take_while(move |((of, _), _)| of == person);
        own.map(|(_, token_hash)| *token_hash)
    }
}

/// By the last use, and by the person and the last use.
impl Ranked for Session {
    type First = Instant;
    type Second = (SessionPerson, Instant);

    fn ranks(&self) -> (Instant, (SessionPerson, Instant)) {
        (self.last_used, (self.owner(), self.last_used))
    }
}

/// Whether a session that was last used at a moment goes on. A clock that was set back ends none.
fn is_fresh(last_used: Instant, now: Instant) -> bool {
    now.seconds_since(last_used) < IDLE_SECONDS_MAX
}

/// Returns the password hash of a person who logs in; `None` if it was removed meanwhile.
pub(crate) fn find_password_hash(
    person: &Person,
    published: &Published,
    directory: &Directory,
) -> Option<Text<255>> {
    match person {
        Person::Pro(id) => Some(directory.pros.get(id)?.password_hash.clone()),
        Person::Account(group, account) => {
            published.group_state(*group)?.accounts.get(&account.email.folded())?;
            Some(account.password_hash.clone())
        }
    }
}

impl Session {
    /// Returns the person as it is now; `None` if the password has changed.
    fn refresh(&self, published: &Published, directory: &Directory) -> Option<Person> {
        match &self.person {
            Person::Pro(id) => {
                let pro = directory.pros.get(id)?;
                if pro.password_hash == self.password_hash { Some(Person::Pro(*id)) } else { None }
            }
            Person::Account(group, known) => {
                let state = published.group_state(*group)?;
                let find = |email: &Email| {
                    let account = state.accounts.get(&email.folded())?;
                    if account.password_hash == self.password_hash { Some(account) } else { None }
                };
                // An account whose address has changed is found by the address of its fiche, which
                // changed with it.
                let account = match find(&known.email) {
                    Some(account) => account,
                    None => find(state.fiches.get(&known.fiche_id)?.email.as_ref()?)?,
                };
                Some(Person::Account(*group, Arc::clone(account)))
            }
        }
    }

    /// The person by which its sessions are counted.
    fn owner(&self) -> SessionPerson {
        match &self.person {
            Person::Pro(id) => SessionPerson::Pro(*id),
            Person::Account(group, account) => {
                SessionPerson::Account(*group, account.email.folded())
            }
        }
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
        let password_hash = Text::default();
        let last_used = Instant(last_used);
        Session { apikey: [0; 32], person: Person::Pro(id), password_hash, last_used }
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
        assert!(is_fresh(Instant(1_000), Instant(4_599)));
        assert!(!is_fresh(Instant(1_000), Instant(4_600)));
        assert!(is_fresh(Instant(1_000), Instant(0)));
    }

    #[test]
    fn the_session_idle_for_longest_is_removed_first() {
        let mut table =
            SessionTable { sessions: RankedMap::new(), randomness: Randomness::from_os() };
        for number in 0..=SESSIONS_PER_PERSON_MAX {
            let at = i64::try_from(1_000 - number).expect("small");
            table.make_room(&SessionPerson::Pro(ProId::new(1).expect("an id")), Instant(1_000));
            let mut token_hash = [1; 32];
            token_hash[0] = u8::try_from(number).expect("small");
            table.sessions.put(token_hash, session(1, at));
        }
        table.sessions.put([2; 32], session(2, 10));
        let one = SessionPerson::Pro(ProId::new(1).expect("an id"));
        let own: Vec<[u8; 32]> = table.of_person(&one).collect();
        assert_eq!(own.len(), SESSIONS_PER_PERSON_MAX);
        assert!(own.iter().all(|token_hash| token_hash[0] != 99), "the idlest made room");
        assert_eq!(table.sessions.len(), SESSIONS_PER_PERSON_MAX + 1);
    }

    #[test]
    fn a_login_removes_few_ended_sessions_and_the_indexes_agree() {
        let mut table =
            SessionTable { sessions: RankedMap::new(), randomness: Randomness::from_os() };
        for number in 0..200_u8 {
            table.sessions.put([number; 32], session(u64::from(number) + 1, i64::from(number)));
        }
        let person = SessionPerson::Pro(ProId::new(1).expect("an id"));
        table.make_room(&person, Instant(10_000));
        assert_eq!(table.sessions.len(), 200 - REMOVED_PER_LOGIN_MAX);
        assert!(table.sessions.get(&[0; 32]).is_none() && table.sessions.get(&[64; 32]).is_some());
        for _ in 0..3 {
            table.make_room(&person, Instant(10_000));
        }
        assert_eq!(table.sessions.len(), 0);
        assert!(table.sessions.least_by_first().is_none());
        assert!(table.sessions.least_by_second().is_none());
    }
}
