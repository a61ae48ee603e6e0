//! What the operator asks of a store, carried out the same way whether a server runs on it or not. Reference 11.
//!
//! A new request is a variant of [`Request`] and an arm of [`carry_out`]: how it reaches a running server is the socket's
//! matter. What a request answers is bytes, which the asker prints or keeps.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::runtime::Handle;

use crate::cli::Failed;
use crate::cli::maintenance;
use crate::cli::socket;
use crate::clock::{Clock as _, SystemClock};
use crate::domain::identity::access::{self, ApikeyName, ChangeAccess, ID_DIGITS, NewPro};
use crate::domain::identity::directory::{Apikey, Directory, Pro};
use crate::domain::records::ids::GroupId;
use crate::domain::records::text::{Email, Illegal, Name, Text, folded};
use crate::domain::state::group_state::GroupState;
use crate::engine::backup;
use crate::engine::published::Published;
use crate::engine::quarantine::QuarantinedGroup;
use crate::engine::recovery::{self, Loaded};
use crate::engine::{Engine, Rejection};
use crate::http::resources::messages;
use crate::notify::Carriers;
use crate::store::StoreError;
use crate::transfer::export;
use crate::wire::field::Audience;
use crate::wire::message::Ledger;

/// What can be asked, as it goes over the socket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Request {
    /// A new application key; the key itself stays with who made it.
    AddKey { sha256: [u8; 32], label: String, groups: Option<Vec<u64>> },
    /// A key is to open nothing any more; it is called by itself, its label or its id.
    RevokeKey { sha256: [u8; 32], said: String },
    /// The keys, one a line.
    ListKeys,
    /// A new professional, or further groups for one who is known.
    AddPro {
        email: String,
        password_hash: Option<String>,
        lastname: String,
        firstname: String,
        cellphone: String,
        groups: Vec<u64>,
        main: Option<u64>,
    },
    /// Another password.
    SetPassword { email: String, password_hash: String },
    /// The professionals, one a line.
    ListPros,
    /// The address of a professional as it was given, or nothing where nobody has it.
    FindPro { email: String },
    /// The whole content as a document.
    Export,
    /// The ledgers of messages of some groups, or of all where none is named, one line a message. Where no server runs,
    /// links in what they say begin with `public_url`.
    ListMessages { groups: Vec<u64>, public_url: String },
    /// All that is durable now as a store of its own, in a directory that holds none. Where no server runs, a disk that
    /// the data lie on too keeps `reserve_mib` free.
    BackUp { to: PathBuf, reserve_mib: u64 },
}

/// Where requests are carried out.
pub(super) enum Place {
    /// A running server.
    Served(Engine, Handle, Arc<Carriers>, Disk),
    /// A store that nobody serves, and its data directory; gone once something was written.
    Resting(Box<Option<Loaded>>, PathBuf),
}

/// Where a running server keeps its store.
#[derive(Clone, Debug)]
pub(super) struct Disk {
    /// The data directory.
    pub(super) data: PathBuf,
    /// What is to be left free there.
    pub(super) reserve_mib: u64,
}

/// Seconds between two words on how far a backup is.
const PROGRESS_SECONDS: i64 = 5;

/// Refuses where a group is set aside.
///
/// # Errors
/// Those groups, and why they are.
pub(super) fn none_aside<'a>(
    aside: impl IntoIterator<Item = &'a QuarantinedGroup>,
) -> Result<(), Failed> {
    let lines: Vec<String> = aside
        .into_iter()
        .map(|aside| format!("group {} is set aside: {}", aside.group, aside.why))
        .collect();
    if lines.is_empty() { Ok(()) } else { Err(Failed::QuarantinedGroup(lines)) }
}

/// Has a request carried out by the server that runs on `data` or, where none does, on the store itself. What it answers
/// is written to `out`.
///
/// # Errors
/// What refuses it, a store that cannot be read, a server that went away.
pub(super) fn ask(data: &Path, request: &Request, out: &mut dyn Write) -> Result<(), Failed> {
    if let Some(server) = socket::reach(data)? {
        return server.ask(request, out);
    }
    let loaded = recovery::load(data)?;
    carry_out(request, &mut Place::Resting(Box::new(Some(loaded)), data.to_owned()), out)
}

/// Carries a request out.
///
/// # Errors
/// As [`ask`].
pub(super) fn carry_out(
    request: &Request,
    place: &mut Place,
    out: &mut dyn Write,
) -> Result<(), Failed> {
    if let Some(change) = change_of(request)? {
        return place.change(change);
    }
    let directory = place.directory();
    match request {
        Request::ListKeys => {
            directory.apikeys.iter().try_for_each(|(hash, key)| tell_key(hash, key, out))?
        }
        Request::ListPros => directory.pros.values().try_for_each(|pro| tell_pro(pro, out))?,
        Request::FindPro { email } => {
            let found = directory.pro_of_email(&folded(email));
            out.write_all(found.map_or("", |pro| pro.email.as_str()).as_bytes())?;
        }
        Request::Export => {
            place.none_aside()?;
            export::write(&directory, &place.group_states(), out)?;
        }
        Request::ListMessages { groups, public_url } => {
            place.tell_messages(groups, public_url, out)?
        }
        Request::BackUp { to, reserve_mib } => place.back_up(to, *reserve_mib, out)?,
        Request::AddKey { .. }
        | Request::RevokeKey { .. }
        | Request::AddPro { .. }
        | Request::SetPassword { .. } => {
            unreachable!("it changes who is let in")
        }
    }
    Ok(())
}

impl Place {
    fn directory(&self) -> Arc<Directory> {
        match self {
            Self::Served(engine, ..) => engine.published().directory(),
            Self::Resting(store, _) => Arc::new(
                store
                    .as_ref()
                    .as_ref()
                    .map_or_else(Directory::default, |loaded| loaded.directory.clone()),
            ),
        }
    }

    /// Every group as it is now.
    fn group_states(&self) -> Vec<Arc<GroupState>> {
        match self {
            Self::Served(engine, ..) => {
                let published = engine.published();
                published.groups().filter_map(|group| published.group_state(group)).collect()
            }
            Self::Resting(store, _) => store
                .as_ref()
                .iter()
                .flat_map(|loaded| loaded.group_states.iter().cloned().map(Arc::new))
                .collect(),
        }
    }

    /// A document cannot carry a group whose history cannot be carried out.
    fn none_aside(&self) -> Result<(), Failed> {
        match self {
            Self::Served(engine, ..) => none_aside(engine.published().aside().values()),
            Self::Resting(store, _) => none_aside(store.iter().flat_map(|loaded| &loaded.aside)),
        }
    }

    /// Tells the ledgers of these groups, or of all: an object a line.
    fn tell_messages(
        &self,
        groups: &[u64],
        public_url: &str,
        out: &mut dyn Write,
    ) -> Result<(), Failed> {
        let named = group_ids(groups)?;
        let mut group_states = self.group_states();
        if let Some(group) = named.iter().find(|group| {
            group_states.iter().all(|group_state| group_state.catalogue.group.id != **group)
        }) {
            return Err(Failed::Refused(format!("there is no group {group}")));
        }
        group_states.retain(|group_state| {
            named.is_empty() || named.contains(&group_state.catalogue.group.id)
        });
        let carriers = match self {
            Self::Served(_, _, carriers, _) => Arc::clone(carriers),
            Self::Resting(..) => {
                let seal = self.directory().seal.clone();
                Arc::new(Carriers { seal, ..Carriers::nobody(public_url) })
            }
        };
        let now = SystemClock.now();
        for ledger in group_states.into_iter().map(|group_state| Ledger::of(group_state, now)) {
            for entry in ledger.entries() {
                let line =
                    messages::render_entry(&entry, ledger.group_state(), Audience::Pro, &carriers);
                writeln!(out, "{}", Value::Object(line))?;
            }
        }
        Ok(())
    }

    /// Writes all of it elsewhere; says how far it is, now and then, and at the end where it stands.
    fn back_up(&mut self, to: &Path, reserve_mib: u64, out: &mut dyn Write) -> Result<(), Failed> {
        match self {
            Self::Served(.., disk) => maintenance::expect_room(&disk.data, to, disk.reserve_mib)?,
            Self::Resting(_, data) => maintenance::expect_room(data, to, reserve_mib)?,
        }
        let mut told = SystemClock.now();
        let mut progress = |done: usize, groups: usize| {
            let now = SystemClock.now();
            if now >= told.plus_seconds(PROGRESS_SECONDS) {
                told = now;
                // Whoever asked may have left; the backup goes on.
                drop(
                    writeln!(out, "{done} of {groups} groups are written")
                        .and_then(|()| out.flush()),
                );
            }
        };
        match self {
            Self::Served(engine, ..) => engine.back_up(to, &mut progress).map_err(not_backed_up)?,
            Self::Resting(store, _) => {
                let Loaded { directory, group_states, aside, store } =
                    store.take().expect("asked for one thing");
                let written = backup::write(
                    &Published::new(directory, group_states, aside),
                    to,
                    &mut progress,
                );
                // Held until here, so that no server changes what is being written.
                drop(store);
                written.map_err(not_backed_up)?;
            }
        }
        Ok(writeln!(out, "the backup stands in {}", to.canonicalize()?.display())?)
    }

    /// Changes who is let in, durably.
    fn change(&mut self, change: ChangeAccess) -> Result<(), Failed> {
        match self {
            Self::Served(engine, runtime, ..) => match runtime
                .block_on(engine.change_access(change))
            {
                Ok(decided) => Ok(decided?),
                Err(Rejection::Overloaded) => {
                    Err(Failed::Refused("the server is going down; nothing was done".into()))
                }
                Err(Rejection::Closed(_)) => Err(Failed::Refused(
                    "the disk is full or slow, and no write is taken; nothing was done".into(),
                )),
                Err(_) => Err(Failed::Refused("an error of the server; it has been logged".into())),
            },
            Self::Resting(store, _) => {
                let loaded = store.take().expect("a store at rest is asked for one thing");
                let groups: BTreeSet<GroupId> = loaded
                    .group_states
                    .iter()
                    .map(|group_state| group_state.catalogue.group.id)
                    .collect();
                let event = access::decide(&loaded.directory, &groups, &change, SystemClock.now())?;
                Ok(recovery::append_to_directory(loaded, &event)?)
            }
        }
    }
}

/// The change that a request means, its fields made legal; none where it only reads.
fn change_of(request: &Request) -> Result<Option<ChangeAccess>, Failed> {
    Ok(Some(match request {
        Request::AddKey { sha256, label, groups } => ChangeAccess::AddApikey {
            hash: *sha256,
            label: legal("label", Text::new(label))?,
            groups: groups.as_deref().map(group_ids).transpose()?,
        },
        Request::RevokeKey { sha256, said } => {
            ChangeAccess::RevokeApikey(ApikeyName { hash: *sha256, said: said.clone() })
        }
        Request::AddPro { email, password_hash, lastname, firstname, cellphone, groups, main } => {
            ChangeAccess::AddPro(NewPro {
                email: legal("e-mail", Email::new(email))?,
                password_hash: password_hash
                    .as_deref()
                    .map(|hash| legal("password", Text::new(hash)))
                    .transpose()?,
                lastname: legal("lastname", Name::new(lastname))?,
                firstname: legal("firstname", Name::new(firstname))?,
                cellphone: legal("cellphone", Text::new(cellphone))?,
                groups: group_ids(groups)?,
                main: main.map(group_id).transpose()?,
            })
        }
        Request::SetPassword { email, password_hash } => ChangeAccess::SetPassword {
            email: legal("e-mail", Email::new(email))?,
            password_hash: legal("password", Text::new(password_hash))?,
        },
        Request::ListKeys
        | Request::ListPros
        | Request::FindPro { .. }
        | Request::Export
        | Request::ListMessages { .. }
        | Request::BackUp { .. } => return Ok(None),
    }))
}

/// Why there is no backup. That its own database failed says nothing about the store.
fn not_backed_up(error: StoreError) -> Failed {
    if let StoreError::Database { path, reason, .. } = &error {
        let path = path.display();
        let why = format!(
            "{path} cannot be written: {reason}; what was made of the backup is taken away again"
        );
        return Failed::Refused(why);
    }
    error.into()
}

fn legal<T>(what: &str, value: Result<T, Illegal>) -> Result<T, Failed> {
    value.map_err(|rule| Failed::Refused(format!("{what}: {rule}")))
}

fn group_id(number: u64) -> Result<GroupId, Failed> {
    GroupId::new(number).ok_or_else(|| Failed::Refused(format!("there is no group {number}")))
}

fn group_ids(numbers: &[u64]) -> Result<BTreeSet<GroupId>, Failed> {
    numbers.iter().map(|number| group_id(*number)).collect()
}

fn tell_key(hash: &[u8; 32], key: &Apikey, out: &mut dyn Write) -> Result<(), Failed> {
    let id = &access::hex(hash)[..ID_DIGITS];
    let groups = key
        .groups
        .as_deref()
        .map_or_else(|| "all groups".to_owned(), |groups| format!("groups {}", listed(groups)));
    Ok(writeln!(out, "{id}\t{groups}\t{}", key.label.as_str())?)
}

fn tell_pro(pro: &Pro, out: &mut dyn Write) -> Result<(), Failed> {
    let names = [pro.firstname.as_str(), pro.lastname.as_str()].join(" ");
    let (id, email, names) = (pro.id, pro.email.as_str(), names.trim());
    Ok(writeln!(out, "{id}\t{email}\tgroups {}, main {}\t{names}", listed(&pro.groups), pro.main)?)
}

fn listed(groups: &[GroupId]) -> String {
    groups.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
