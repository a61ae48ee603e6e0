//! Logins that are gathered for the history of access. No answer waits for them. Reference 16.5.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::domain::directory::Directory;
use crate::domain::directory::access::ChangeAccess;
use crate::domain::directory::access_history::{AccessAct, AccessRow, LoginPerson};
use crate::domain::records::author::{Author, KeyId};
use crate::domain::records::ids::GroupId;
use crate::domain::records::text::Name;
use crate::domain::time::{HOUR, Instant};
use crate::engine::Engine;
use crate::http::auth::person::Person;

/// Time for which rows are gathered before they are written.
const GATHERED: Duration = Duration::from_secs(1);
/// Maximum number of rows that wait to be written. Beyond it they are dropped.
const WAITING_MAX: usize = 1_000;
/// Maximum number of rows of failed logins in an hour. Beyond it they are dropped.
const FAILURES_MAX: usize = 1_000;
/// Maximum number of rows of failed logins of one person in an hour.
const PERSON_FAILURES_MAX: usize = 20;

/// Gathers logins, and writes them each second.
pub(crate) struct AccessLog {
    engine: Engine,
    gathered: Arc<Mutex<Gathered>>,
}

#[derive(Default)]
struct Gathered {
    rows: Vec<AccessRow>,
    /// Whether a task will write them.
    is_scheduled: bool,
    /// The hour of `failures`, in hours since 1970.
    hour: i64,
    /// Those who failed in this hour, and from where.
    failures: BTreeSet<(LoginPerson, IpAddr)>,
}

impl AccessLog {
    pub(crate) fn new(engine: Engine) -> Self {
        Self { engine, gathered: Arc::default() }
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
        let hour = now.0.div_euclid(HOUR);
        let mut gathered = self.gathered.lock();
        if gathered.hour != hour {
            gathered.hour = hour;
            gathered.failures.clear();
        }
        let of_person = gathered.failures.iter().filter(|(other, _)| *other == person).count();
        let is_full = gathered.failures.len() >= FAILURES_MAX || of_person >= PERSON_FAILURES_MAX;
        if is_full || !gathered.failures.insert((person, from)) {
            return;
        }
        drop(gathered);
        let act = AccessAct::LoginFailed { person, source: source_name(from) };
        self.add(AccessRow { at: now, author: None, act, groups: Some(groups) });
    }

    fn add(&self, row: AccessRow) {
        let mut gathered = self.gathered.lock();
        if gathered.rows.len() >= WAITING_MAX {
            return;
        }
        gathered.rows.push(row);
        if std::mem::replace(&mut gathered.is_scheduled, true) {
            return;
        }
        drop(gathered);
        let engine = self.engine.clone();
        let gathered = Arc::clone(&self.gathered);
        tokio::spawn(async move {
            tokio::time::sleep(GATHERED).await;
            let rows = {
                let mut gathered = gathered.lock();
                gathered.is_scheduled = false;
                std::mem::take(&mut gathered.rows)
            };
            if let Err(error) = engine.change_access(None, ChangeAccess::Note(rows)).await {
                tracing::warn!(?error, "logins are not noted in the history");
            }
        });
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
