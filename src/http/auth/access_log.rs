//! Logins that are gathered for the history of access. No answer waits for them. Reference 16.5.

use std::net::IpAddr;

use crate::domain::directory::Directory;
use crate::domain::directory::access::ChangeAccess;
use crate::domain::directory::access_history::{AccessAct, AccessRow, LoginPerson};
use crate::domain::records::author::{Author, KeyId};
use crate::domain::records::ids::GroupId;
use crate::domain::records::text::Name;
use crate::domain::time::Instant;
use crate::engine::{AccessError, Engine, Rejection};
use crate::http::auth::gathering::{Gathering, NotedThisHour};
use crate::http::auth::person::Person;

/// Maximum number of rows that wait to be written. Beyond it they are dropped.
const WAITING_MAX: usize = 1_000;
/// Maximum number of rows of failed logins in an hour. Beyond it they are dropped.
const FAILURES_MAX: usize = 1_000;
/// Maximum number of rows of failed logins of one person in an hour.
const PERSON_FAILURES_MAX: usize = 20;

/// Gathers logins, and writes them each second.
pub(crate) struct AccessLog {
    engine: Engine,
    waiting: Gathering<AccessRow>,
    /// Those who failed in this hour, and from where.
    failures: NotedThisHour<(LoginPerson, IpAddr)>,
}

impl AccessLog {
    pub(crate) fn new(engine: Engine) -> Self {
        Self { engine, waiting: Gathering::new(WAITING_MAX), failures: NotedThisHour::new() }
    }

    /// Notes that a person has opened a session with a key.
    pub(crate) fn note_session(
        &self,
        person: &Person,
        apikey: &[u8; 32],
        from: IpAddr,
        directory: &Directory,
        now: Instant,
    ) {
        let key = Some(KeyId::of_hash(apikey));
        let author = match person {
            Person::Pro(id) => Author::Professional { id: *id, key },
            Person::Account(_, account) => Author::Account { client: account.fiche_id, key },
        };
        let (person, groups) = outline(person, directory);
        let act = AccessAct::LoggedIn { person, source: source_name(from) };
        self.add(AccessRow { at: now, author: Some(author), act, groups: Some(groups) });
    }

    /// Notes that a known person's password was not the given one: once for each person, source and
    /// hour.
    pub(crate) fn note_failure(
        &self,
        person: &Person,
        from: IpAddr,
        directory: &Directory,
        now: Instant,
    ) {
        let (person, groups) = outline(person, directory);
        let mut failures = self.failures.at(now);
        let of_person = failures.iter().filter(|(other, _)| *other == person).count();
        let is_full = failures.len() >= FAILURES_MAX || of_person >= PERSON_FAILURES_MAX;
        if is_full || failures.contains(&(person, from)) {
            return;
        }
        let act = AccessAct::LoginFailed { person, source: source_name(from) };
        if self.add(AccessRow { at: now, author: None, act, groups: Some(groups) }) {
            failures.insert((person, from));
        }
    }

    /// Notes an act of an author in groups, of all without any named, and waits until that is
    /// durable.
    ///
    /// # Errors
    /// The rejection of a store that takes no writes.
    pub(crate) async fn note_act(
        &self,
        groups: Option<Vec<GroupId>>,
        author: Author,
        act: AccessAct,
        now: Instant,
    ) -> Result<(), Rejection> {
        let row = AccessRow { at: now, author: Some(author), act, groups };
        match self.engine.change_access(None, ChangeAccess::Note(vec![row])).await {
            // Rows are never refused.
            Ok(()) | Err(AccessError::Refused(_)) => Ok(()),
            Err(AccessError::Rejected(rejection)) => Err(rejection),
        }
    }

    /// Returns whether there was room for a row.
    fn add(&self, row: AccessRow) -> bool {
        let engine = self.engine.clone();
        self.waiting.add(row, async move |rows| {
            if let Err(error) = engine.change_access(None, ChangeAccess::Note(rows)).await {
                tracing::warn!(?error, "logins are not noted in the history");
            }
        })
    }
}

/// Returns a person as rows name it, with the groups that its logins concern.
fn outline(person: &Person, directory: &Directory) -> (LoginPerson, Vec<GroupId>) {
    match person {
        Person::Pro(id) => {
            let groups = directory.pros.get(id).map(|pro| pro.groups.clone());
            (LoginPerson::Pro(*id), groups.unwrap_or_default())
        }
        Person::Account(group, account) => {
            (LoginPerson::Account(*group, account.fiche_id), vec![*group])
        }
    }
}

/// The text of an address.
fn source_name(from: IpAddr) -> Name<45> {
    Name::new(&from.to_string()).unwrap_or_default()
}
