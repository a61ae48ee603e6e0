//! Images of sessions, which the servers of a cluster pass on. Reference 8.11.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::mpsc;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::domain::directory::Directory;
use crate::domain::records::text::Text;
use crate::domain::time::Instant;
use crate::engine::published::Published;
use crate::engine::{SavedSession, decode_passed, encode_passed};
use crate::http::auth::person::Person;
use crate::http::auth::session::{SESSIONS_MAX, SavingWish, Session, SessionPerson, Sessions};

/// Number of sessions that are copied, or looked at, under one lock.
const SESSIONS_PER_LOCK: usize = 256;

/// A session as the next server needs it. Names and addresses of persons are not in it.
#[derive(Debug, Serialize, Deserialize)]
struct SessionImage {
    apikey: [u8; 32],
    person: SessionPerson,
    /// SHA-256 of the password hash at the login.
    password: [u8; 32],
    begun: Instant,
    last_used: Instant,
    stays: bool,
    from: IpAddr,
    device: Box<str>,
}

/// Sessions that were read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RestoredSessions {
    /// Those that go on.
    pub(crate) active: usize,
    /// Those that cannot be read.
    pub(crate) unreadable: usize,
}

impl Sessions {
    /// Notes changes from now on, for a thread that saves them and hears `wishes`.
    ///
    /// # Panics
    /// If there is such a thread already.
    pub(crate) fn pass_on(&self, wishes: mpsc::Sender<SavingWish>) {
        self.wishes.set(wishes).expect("one thread saves");
        self.table.lock().changed = Some(BTreeSet::new());
    }

    /// Takes over sessions that the server before has saved. Those that have ended, or that cannot
    /// be read, are to be removed where they are saved.
    pub(crate) fn restore(
        &self,
        saved: Vec<SavedSession>,
        published: &Published,
        directory: &Directory,
        now: Instant,
    ) -> RestoredSessions {
        let mut restored = RestoredSessions::default();
        let mut table = self.table.lock();
        for SavedSession { token_hash, bytes } in saved {
            let image = bytes.as_deref().map(decode_passed::<SessionImage>);
            let session = match image {
                Some(Ok(image)) => image.session(published, directory, now),
                Some(Err(_)) => {
                    restored.unreadable += 1;
                    None
                }
                None => None,
            };
            match session {
                Some(session) if table.sessions.len() < SESSIONS_MAX => {
                    table.sessions.put(token_hash, session);
                    restored.active += 1;
                }
                Some(_) | None => table.note_change(token_hash),
            }
        }
        restored
    }

    /// Takes sessions that have changed and are not saved yet, some hundred at most.
    pub(crate) fn take_changed(&self) -> Vec<SavedSession> {
        let mut table = self.table.lock();
        let mut taken = Vec::new();
        while taken.len() < SESSIONS_PER_LOCK
            && let Some(token_hash) = table.changed.as_mut().and_then(BTreeSet::pop_first)
        {
            let image = table.sessions.get(&token_hash).map(SessionImage::new);
            let bytes = image.map(|image| encode_passed(&image));
            taken.push(SavedSession { token_hash, bytes });
        }
        taken
    }

    /// Notes that sessions, which were taken, were not saved.
    pub(crate) fn put_back(&self, unsaved: &[SavedSession]) {
        let mut table = self.table.lock();
        for SavedSession { token_hash, .. } in unsaved {
            table.note_change(*token_hash);
        }
    }

    /// Removes all sessions that have ended, also those of persons that are gone.
    pub(crate) fn remove_ended(&self, published: &Published, directory: &Directory, now: Instant) {
        let all: Vec<[u8; 32]> = self.table.lock().sessions.keys().copied().collect();
        for some in all.chunks(SESSIONS_PER_LOCK) {
            let mut table = self.table.lock();
            for token_hash in some {
                let session = table.sessions.get(token_hash);
                if session.is_some_and(|session| !session.goes_on(published, directory, now)) {
                    table.remove(token_hash);
                }
            }
        }
    }
}

impl SessionImage {
    fn new(session: &Session) -> Self {
        Self {
            apikey: session.apikey,
            person: session.owner(),
            password: hash_password(&session.password_hash),
            begun: session.begun,
            last_used: session.last_used,
            stays: session.stays,
            from: session.from,
            device: session.device.clone(),
        }
    }

    /// Returns the session, if it goes on.
    fn session(
        self,
        published: &Published,
        directory: &Directory,
        now: Instant,
    ) -> Option<Session> {
        let (person, password_hash) = self.find_person(published, directory)?;
        let session = Session {
            apikey: self.apikey,
            person,
            password_hash,
            begun: self.begun,
            last_used: self.last_used,
            use_to_save: self.last_used,
            stays: self.stays,
            from: self.from,
            device: self.device,
        };
        if session.goes_on(published, directory, now) { Some(session) } else { None }
    }

    /// Returns the person with its password hash, if that is the one of the login.
    fn find_person(
        &self,
        published: &Published,
        directory: &Directory,
    ) -> Option<(Person, Text<255>)> {
        let is_same = |hash: &Text<255>| hash_password(hash) == self.password;
        match self.person {
            SessionPerson::Pro(id) => {
                let hash = &directory.pros.get(&id)?.password_hash;
                if is_same(hash) { Some((Person::Pro(id), hash.clone())) } else { None }
            }
            SessionPerson::Account(group, client) => {
                let state = published.group_state(group)?;
                // The client may have been merged into another.
                let mut own = state.accounts.of_client(state.kept_client(client));
                let account = own.find(|account| is_same(&account.password_hash))?;
                let hash = account.password_hash.clone();
                Some((Person::Account(group, account.clone()), hash))
            }
        }
    }
}

impl Session {
    /// Whether it has not ended, and its person has the same password still.
    fn goes_on(&self, published: &Published, directory: &Directory, now: Instant) -> bool {
        self.is_active(directory, now) && self.refresh(published, directory).is_some()
    }
}

fn hash_password(hash: &Text<255>) -> [u8; 32] {
    Sha256::digest(hash.as_str()).into()
}
