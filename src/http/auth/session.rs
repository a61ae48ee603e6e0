//! Sessions, kept in memory. A restart ends them, unless a cluster passes them on. Reference 3.3.

pub(crate) mod image;

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock, mpsc};

use axum::http::header::USER_AGENT;
use axum::http::{HeaderMap, HeaderValue};
use data_encoding::HEXLOWER;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::sync::oneshot;

use crate::domain::directory::Directory;
use crate::domain::records::account::Account;
use crate::domain::records::ids::{FicheId, GroupId, ProId};
use crate::domain::records::text::{Email, Text};
use crate::domain::time::{DAY, HOUR, Instant};
use crate::engine::published::Published;
use crate::engine::randomness::Randomness;
use crate::http::auth::login_cookie::cookie_values;
use crate::http::auth::person::Person;
use crate::http::error::ApiError;
use crate::http::limits::ranked_map::{Ranked, RankedMap};
use crate::planted_faults::PlantedFault;

/// Seconds of inactivity that end a session.
const IDLE_SECONDS_MAX: i64 = HOUR;
/// Seconds after its login that end a session.
const AGE_SECONDS_MAX: i64 = 12 * HOUR;
/// Seconds after its login that end a session of a person who stays signed in. Inactivity does not
/// end it.
const STAY_SECONDS_MAX: i64 = 30 * DAY;
/// Maximum number of characters of a browser's name that are kept.
const DEVICE_CHARACTERS_MAX: usize = 120;
/// Maximum number of sessions; beyond it the one that ends next is ended.
pub(crate) const SESSIONS_MAX: usize = 100_000;
/// Maximum number of sessions of one person; beyond it the one idle for longest is ended.
pub(crate) const SESSIONS_PER_PERSON_MAX: usize = 100;
/// Maximum number of ended sessions that one login removes. It bounds the cost of a login.
const REMOVED_PER_LOGIN_MAX: usize = 64;
/// Longest time between the last use of a session and the one that is saved.
const UNSAVED_USE_SECONDS_MAX: i64 = 60;
/// Name of the cookie.
const COOKIE_NAME: &str = "_session_id";

/// All sessions. A token is kept only as its SHA-256.
pub(crate) struct Sessions {
    table: Mutex<SessionTable>,
    /// Takes the wishes to save them, in a cluster.
    wishes: OnceLock<mpsc::Sender<SavingWish>>,
    /// Whether cookies are marked `Secure`, so that browsers send them over TLS only.
    pub(crate) behind_tls: bool,
}

struct SessionTable {
    /// By the SHA-256 of the token.
    sessions: RankedMap<[u8; 32], Session>,
    /// Those that were changed or removed and are not saved yet; `None` without a cluster.
    changed: Option<BTreeSet<[u8; 32]>>,
    randomness: Randomness,
}

/// A wish that all changes of sessions are saved where the next server of the cluster reads them.
pub(crate) struct SavingWish {
    /// Whether no other one is heard.
    pub(crate) is_last: bool,
    /// Hears whether they were saved.
    pub(crate) saved: oneshot::Sender<bool>,
}

/// The person that a session is of, as sessions are counted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum SessionPerson {
    Pro(ProId),
    Account(GroupId, FicheId),
}

/// The login that opens a session.
pub(crate) struct SessionLogin<'l> {
    /// SHA-256 of the key that the session will stand for.
    pub(crate) apikey: [u8; 32],
    pub(crate) person: &'l Person,
    /// Whether the session outlasts the hour of inactivity.
    pub(crate) stays: bool,
    /// The client address.
    pub(crate) from: IpAddr,
    pub(crate) headers: &'l HeaderMap,
    pub(crate) now: Instant,
}

/// A session, or a login at the screens, as its person is shown it.
pub(crate) struct SessionView {
    /// A number by which the person can end it. The token cannot be computed from it.
    pub(crate) id: u64,
    /// The login.
    pub(crate) begun: Instant,
    pub(crate) last_used: Instant,
    /// The moment at which it ends without further use.
    pub(crate) ends: Instant,
    /// Whether it outlasts the hour of inactivity.
    pub(crate) stays: bool,
    /// The client address of the last use.
    pub(crate) source: String,
    /// The name that the browser gave itself at the login.
    pub(crate) device: Box<str>,
    /// Whether the request at hand uses it.
    pub(crate) is_current: bool,
}

/// A session, which may have ended meanwhile.
struct Session {
    /// SHA-256 of the key that opened it, which the session stands for.
    apikey: [u8; 32],
    /// The person who has logged in, as it was at the last use.
    person: Person,
    /// The password hash at the login. A new password ends the session.
    password_hash: Text<255>,
    begun: Instant,
    last_used: Instant,
    stays: bool,
    /// The last use that is saved, or is to be with the next changes.
    use_to_save: Instant,
    /// The client address of the last use.
    from: IpAddr,
    device: Box<str>,
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
        Self { table: Mutex::new(SessionTable::new()), wishes: OnceLock::new(), behind_tls: false }
    }

    /// Opens a session under a new token. Returns the cookie that carries it, or `None` if the
    /// person was removed meanwhile.
    pub(crate) fn open(
        &self,
        login: SessionLogin<'_>,
        published: &Published,
        directory: &Directory,
    ) -> Option<HeaderValue> {
        let SessionLogin { apikey, person, stays, from, headers, now } = login;
        let session = Session {
            apikey,
            person: person.clone(),
            password_hash: find_password_hash(person, published, directory)?,
            begun: now,
            last_used: now,
            use_to_save: now,
            stays,
            from,
            device: device_name(headers),
        };
        let mut table = self.table.lock();
        table.make_room(&session.owner(), now);
        let token = HEXLOWER.encode(&table.randomness.bytes());
        table.put(hash_token(token.as_bytes()), session);
        let max_age = if stays { format!("; Max-Age={STAY_SECONDS_MAX}") } else { String::new() };
        Some(self.cookie(&format!("{token}; path=/{max_age}")))
    }

    /// Returns the active session that a request's cookies name. One that has ended is removed.
    pub(crate) fn find(
        &self,
        headers: &HeaderMap,
        published: &Published,
        directory: &Directory,
        now: Instant,
    ) -> Option<ActiveSession> {
        let mut tokens = session_tokens(headers).map(hash_token).peekable();
        // Most requests have none, and need no lock.
        tokens.peek()?;
        let mut table = self.table.lock();
        // A browser may send an old token of a narrower path before the current one.
        let token_hash = tokens.find(|token_hash| table.sessions.get(token_hash).is_some())?;
        let session = table.sessions.get(&token_hash)?;
        if now < session.ends()
            && (directory.apikeys.contains_key(&session.apikey)
                || PlantedFault::RevokedKeySessionKept.is_active())
            && let Some(person) = session.refresh(published, directory)
        {
            return Some(ActiveSession { apikey: session.apikey, person, token_hash });
        }
        table.remove(&token_hash);
        None
    }

    /// Records that a session is used, so that its hour of inactivity begins again.
    pub(crate) fn touch(&self, session: &ActiveSession, from: IpAddr, now: Instant) {
        let mut table = self.table.lock();
        if let Some(mut used) = table.sessions.remove(&session.token_hash) {
            used.person = session.person.clone();
            used.last_used = used.last_used.max(now);
            // A login while the clock was ahead gives no more time.
            used.begun = used.begun.min(now);
            used.from = from;
            if used.last_used.seconds_since(used.use_to_save) >= UNSAVED_USE_SECONDS_MAX {
                used.use_to_save = used.last_used;
                table.note_change(session.token_hash);
            }
            table.sessions.put(session.token_hash, used);
        }
    }

    /// Ends a session. Returns the cookie that removes the token from the browser. It holds in a
    /// cluster once [`Sessions::saved`] has returned.
    pub(crate) fn end(&self, session: Option<&ActiveSession>) -> HeaderValue {
        if let Some(session) = session {
            self.table.lock().remove(&session.token_hash);
        }
        self.cookie("; path=/; Max-Age=0")
    }

    /// Returns the sessions of a person that have not ended, the last used first. `current` is that
    /// of the request.
    pub(crate) fn list(
        &self,
        person: &Person,
        current: Option<&ActiveSession>,
        published: &Published,
        directory: &Directory,
        now: Instant,
    ) -> Vec<SessionView> {
        let table = self.table.lock();
        let mut views = Vec::new();
        for token_hash in table.of_person(&SessionPerson::from(person)) {
            let Some(session) = table.sessions.get(&token_hash) else { continue };
            if session.is_active(directory, now) && session.refresh(published, directory).is_some()
            {
                views.push(SessionView {
                    id: session_id(&token_hash),
                    begun: session.begun,
                    last_used: session.last_used,
                    ends: session.ends(),
                    stays: session.stays,
                    source: session.from.to_string(),
                    device: session.device.clone(),
                    is_current: current.is_some_and(|current| current.token_hash == token_hash),
                });
            }
        }
        views.reverse();
        views
    }

    /// Ends the sessions of a person that `is_meant` selects by their id. `current` is that of the
    /// request, and is never meant. Returns the number of those that have ended, which holds as for
    /// [`Sessions::end`].
    pub(crate) fn end_some(
        &self,
        person: &Person,
        current: Option<&ActiveSession>,
        is_meant: impl Fn(u64) -> bool,
    ) -> usize {
        let mut table = self.table.lock();
        let mut own: Vec<[u8; 32]> = table.of_person(&SessionPerson::from(person)).collect();
        own.retain(|token_hash| {
            let is_current = current.is_some_and(|current| current.token_hash == *token_hash);
            !is_current && is_meant(session_id(token_hash))
        });
        for token_hash in &own {
            table.remove(token_hash);
        }
        own.len()
    }

    /// Whether an account has a session that has not ended.
    pub(crate) fn has_account(
        &self,
        group: GroupId,
        account: &Account,
        directory: &Directory,
        now: Instant,
    ) -> bool {
        let table = self.table.lock();
        let own = table.of_account(group, account);
        own.iter().any(|(_, session)| session.is_active(directory, now))
    }

    /// Ends the sessions of an account. Returns the number of those that had not ended before. It
    /// holds as for [`Sessions::end`].
    pub(crate) fn end_account(
        &self,
        group: GroupId,
        account: &Account,
        directory: &Directory,
        now: Instant,
    ) -> usize {
        let mut table = self.table.lock();
        let mut ended = 0;
        let mut own = Vec::new();
        for (token_hash, session) in table.of_account(group, account) {
            ended += usize::from(session.is_active(directory, now));
            own.push(token_hash);
        }
        for token_hash in own {
            table.remove(&token_hash);
        }
        ended
    }

    /// Waits, in a cluster, until all ends of sessions so far are saved: no server takes them for
    /// active then.
    ///
    /// # Errors
    /// 503 if they cannot be saved.
    pub(crate) async fn saved(&self) -> Result<(), ApiError> {
        let Some(wishes) = self.wishes.get() else { return Ok(()) };
        let (saved, heard) = oneshot::channel();
        // Without the thread that saves, the wish is dropped.
        let _ = wishes.send(SavingWish { is_last: false, saved });
        if heard.await == Ok(true) { Ok(()) } else { Err(ApiError::end_unsaved()) }
    }

    fn cookie(&self, rest: &str) -> HeaderValue {
        let secure = if self.behind_tls { "; Secure" } else { "" };
        let cookie = format!("{COOKIE_NAME}={rest}; HttpOnly; SameSite=Lax{secure}");
        cookie.try_into().expect("hexadecimal digits and words make a header")
    }
}

impl SessionTable {
    fn new() -> Self {
        let randomness = Randomness::from_os();
        Self { sessions: RankedMap::new(), changed: None, randomness }
    }

    fn put(&mut self, token_hash: [u8; 32], session: Session) {
        self.note_change(token_hash);
        self.sessions.put(token_hash, session);
    }

    fn remove(&mut self, token_hash: &[u8; 32]) {
        if self.sessions.remove(token_hash).is_some() {
            self.note_change(*token_hash);
        }
    }

    fn note_change(&mut self, token_hash: [u8; 32]) {
        if let Some(changed) = &mut self.changed {
            changed.insert(token_hash);
        }
    }

    /// Removes some ended sessions, and as many others as one more session of this person needs.
    fn make_room(&mut self, person: &SessionPerson, now: Instant) {
        for _ in 0..REMOVED_PER_LOGIN_MAX {
            match self.sessions.least_by_first() {
                Some(&(ends, ended)) if ends <= now => self.remove(&ended),
                _ => break,
            }
        }
        let own: Vec<[u8; 32]> = self.of_person(person).collect();
        let excess = (own.len() + 1).saturating_sub(SESSIONS_PER_PERSON_MAX);
        for idlest in own.iter().take(excess) {
            self.remove(idlest);
        }
        while self.sessions.len() >= SESSIONS_MAX
            && let Some(&(_, next)) = self.sessions.least_by_first()
        {
            self.remove(&next);
        }
    }

    /// The sessions of an account, by the SHA-256 of the token.
    fn of_account(&self, group: GroupId, account: &Account) -> Vec<([u8; 32], &Session)> {
        let mut found = Vec::new();
        // A session that was not used since a merge still counts under the client before it.
        for fiche in account.own() {
            for token_hash in self.of_person(&SessionPerson::Account(group, fiche)) {
                let Some(session) = self.sessions.get(&token_hash) else { continue };
                // Another account may book for a client that this one booked for before.
                if session.password_hash == account.password_hash {
                    found.push((token_hash, session));
                }
            }
        }
        found
    }

    /// The sessions of a person, the one idle for longest first.
    fn of_person(&self, person: &SessionPerson) -> impl Iterator<Item = [u8; 32]> {
        let first = ((person.clone(), Instant(i64::MIN)), [0; 32]);
        let own =
            self.sessions.starting_at_second(first).take_while(move |((of, _), _)| of == person);
        own.map(|(_, token_hash)| *token_hash)
    }
}

/// By the end, and by the person and the last use.
impl Ranked for Session {
    type First = Instant;
    type Second = (SessionPerson, Instant);

    fn ranks(&self) -> (Instant, (SessionPerson, Instant)) {
        (self.ends(), (self.owner(), self.last_used))
    }
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

    /// Whether it has not ended, and its key is known.
    fn is_active(&self, directory: &Directory, now: Instant) -> bool {
        now < self.ends() && directory.apikeys.contains_key(&self.apikey)
    }

    /// The moment at which it ends without further use. A clock that was set back ends none.
    fn ends(&self) -> Instant {
        if self.stays {
            return self.begun.plus_seconds(STAY_SECONDS_MAX);
        }
        let idle = self.last_used.plus_seconds(IDLE_SECONDS_MAX);
        idle.min(self.begun.plus_seconds(AGE_SECONDS_MAX))
    }

    /// The person by which its sessions are counted.
    fn owner(&self) -> SessionPerson {
        SessionPerson::from(&self.person)
    }
}

impl From<&Person> for SessionPerson {
    fn from(person: &Person) -> Self {
        match person {
            Person::Pro(id) => Self::Pro(*id),
            Person::Account(group, account) => Self::Account(*group, account.fiche_id),
        }
    }
}

/// Returns the number that stands for a session or a login: 52 bits, which every client reads
/// exactly.
pub(crate) fn session_id(token_hash: &[u8; 32]) -> u64 {
    let first = token_hash[..8].try_into().expect("8 bytes");
    u64::from_be_bytes(first) >> 12
}

/// Returns the name that a browser gives itself, without control characters.
pub(crate) fn device_name(headers: &HeaderMap) -> Box<str> {
    let Some(name) = headers.get(USER_AGENT) else { return Box::default() };
    let name = String::from_utf8_lossy(name.as_bytes());
    let shown = name.chars().filter(|character| !character.is_control());
    shown.take(DEVICE_CHARACTERS_MAX).collect::<String>().into_boxed_str()
}

fn hash_token(token: &[u8]) -> [u8; 32] {
    Sha256::digest(token).into()
}

/// Returns the session tokens among a request's cookies.
pub(crate) fn session_tokens(headers: &HeaderMap) -> impl Iterator<Item = &[u8]> {
    cookie_values(headers, COOKIE_NAME)
}

#[cfg(test)]
mod tests {
    use axum::http::header::COOKIE;

    use super::*;

    fn session(pro: u64, last_used: i64) -> Session {
        let id = ProId::new(pro).expect("an id");
        let password_hash = Text::default();
        Session {
            apikey: [0; 32],
            person: Person::Pro(id),
            password_hash,
            begun: Instant(last_used),
            last_used: Instant(last_used),
            use_to_save: Instant(last_used),
            stays: false,
            from: IpAddr::from([127, 0, 0, 1]),
            device: Box::default(),
        }
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
    fn a_session_ends_after_an_hour_without_use_or_half_a_day_unless_it_stays() {
        let mut used = session(1, 1_000);
        assert_eq!(used.ends(), Instant(1_000 + HOUR));
        used.last_used = Instant(1_000 + 12 * HOUR - 1);
        assert_eq!(used.ends(), Instant(1_000 + 12 * HOUR));
        used.stays = true;
        assert_eq!(used.ends(), Instant(1_000 + 30 * DAY));
    }

    #[test]
    fn the_name_of_a_browser_is_short_and_has_no_control_characters() {
        let long = format!("a\tb{}", "é".repeat(200));
        let value = HeaderValue::from_bytes(long.as_bytes()).expect("a header");
        let name = device_name(&HeaderMap::from_iter([(USER_AGENT, value)]));
        assert_eq!(name.chars().count(), DEVICE_CHARACTERS_MAX);
        assert!(name.starts_with("abé"), "{name}");
        assert_eq!(&*device_name(&HeaderMap::new()), "");
    }

    #[test]
    fn the_session_idle_for_longest_is_removed_first() {
        let mut table = SessionTable::new();
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
        let mut table = SessionTable::new();
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
        let least = ((person, Instant(i64::MIN)), [0; 32]);
        assert!(table.sessions.starting_at_second(least).next().is_none());
    }
}
