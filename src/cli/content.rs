//! The whole content in and out of a store that no server uses, and the demonstration. Reference 11.

use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use serde_json::Value;

use crate::cli::operator::{Request, ask, none_aside};
use crate::cli::{Failed, complain};
use crate::clock::{Clock as _, SystemClock};
use crate::domain::identity::directory::Directory;
use crate::engine::randomness::Randomness;
use crate::engine::recovery::{self, Loaded};
use crate::password::hash_password;
use crate::store::{Store, StoreError};
use crate::transfer::Content;
use crate::transfer::demo;
use crate::transfer::import::{Import, Taken};
use crate::transfer::merge;

/// Seconds after which a command says how far it is.
const LONG_SECONDS: i64 = 2;

/// What some editors write before a text.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
/// The name that stands for stdin or stdout.
const STANDARD: &str = "-";

/// All that a file holds, or stdin.
fn whole(file: &Path) -> io::Result<Vec<u8>> {
    if file.as_os_str() != STANDARD {
        return fs::read(file);
    }
    let mut document = Vec::new();
    io::stdin().lock().read_to_end(&mut document)?;
    Ok(document)
}

/// Puts a document into a store that holds nothing or, merging, in place of the groups it names. Whole or not at all.
pub(super) fn import(data: &Path, file: &Path, merging: bool) -> Result<(), Failed> {
    let document = whole(file).map_err(|reason| Failed::File { path: file.to_owned(), reason })?;
    let document = document.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&document);
    if Store::is_empty(data)? {
        let content = read(document, Taken::default())?;
        drop(recovery::create(data, &content.directory, &content.group_states)?);
        return Ok(());
    }
    let Loaded { directory, group_states, quarantined, store } = recovery::load(data)?;
    none_aside(&quarantined)?;
    let existing = Content { directory, group_states };
    let content = if holds_nothing(&existing) {
        read(document, Taken::default())?
    } else if merging {
        let new = read(document, Taken::of(&existing))?;
        merge::merge(existing, new, document).map_err(Failed::Document)?
    } else {
        return Err(StoreError::Occupied { directory: data.to_owned() }.into());
    };
    drop(recovery::replace(store, &content.directory, &content.group_states)?);
    Ok(())
}

/// Writes everything that a store holds, served or not, into a file that only its owner may read: whole or not at all. On
/// stdout it is whole where the command succeeds.
pub(super) fn export(data: &Path, file: &Path) -> Result<(), Failed> {
    let failed = |reason| Failed::File { path: file.to_owned(), reason };
    if file.as_os_str() == STANDARD {
        let mut out = BufWriter::new(io::stdout().lock());
        ask(data, &Request::Export, &mut out)?;
        return out.flush().map_err(failed);
    }
    let unfinished = file.with_added_extension("unfinished");
    let out =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&unfinished);
    let mut out = BufWriter::new(out.map_err(failed)?);
    let written = ask(data, &Request::Export, &mut out).and_then(|()| {
        let synced = out.flush().and_then(|()| out.get_ref().sync_all());
        synced.and_then(|()| fs::rename(&unfinished, file)).map_err(failed)
    });
    if written.is_err() {
        // What is there is no document; that it cannot go is not what went wrong.
        drop(fs::remove_file(&unfinished));
    }
    written
}

/// What a data directory holds; an empty one begins as an empty store or, where that is wished for, as the
/// demonstration, whose key and logins are told.
pub(super) fn open(data: &Path, demonstrating: bool) -> Result<Loaded, Failed> {
    if Store::is_empty(data)? {
        drop(recovery::create(data, &Directory::default(), &[])?);
    }
    let Loaded { directory, group_states, quarantined, store } = recovery::load(data)?;
    let existing = Content { directory, group_states };
    if !demonstrating || !holds_nothing(&existing) || !quarantined.is_empty() {
        return Ok(Loaded {
            directory: existing.directory,
            group_states: existing.group_states,
            quarantined,
            store,
        });
    }
    let content = demo::content(SystemClock.now(), &hash_password).map_err(Failed::Document)?;
    drop(recovery::replace(store, &content.directory, &content.group_states)?);
    tell_demonstration();
    Ok(recovery::load(data)?)
}

fn holds_nothing(content: &Content) -> bool {
    content.group_states.is_empty() && content.directory.is_blank()
}

fn read(document: &[u8], taken: Taken) -> Result<Content, Failed> {
    let began = SystemClock.now();
    let mut told = began.plus_seconds(LONG_SECONDS - 1);
    let mut progress = |done: usize, total: usize| {
        let now = SystemClock.now();
        if now > told {
            told = now;
            complain(&format!("{done} of {total} rows are read"));
        }
    };
    let import = Import {
        now: began,
        hash_password: &hash_password,
        draws: Randomness::from_os(),
        taken,
        progress: &mut progress,
    };
    import.read(document).map_err(Failed::Document)
}

/// Says how to log in to the demonstration.
fn tell_demonstration() {
    let document: Value = serde_json::from_slice(demo::DOCUMENT).expect("it was imported just now");
    let listed = |value: &Value, name: &str| value[name].as_array().cloned().unwrap_or_default();
    let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    for apikey in listed(&document, "apikeys") {
        complain(&format!(
            "demonstration: apikey {} ({})",
            text(&apikey, "key"),
            text(&apikey, "label")
        ));
    }
    for group in listed(&document, "groups") {
        for (role, section) in [("professional", "pros"), ("client", "accounts")] {
            for person in
                listed(&group, section).iter().filter(|person| person["password"].is_string())
            {
                let (email, password) = (text(person, "email"), text(person, "password"));
                complain(&format!(
                    "demonstration: group {}, {role} {email} with password {password}",
                    group["id"]
                ));
            }
        }
    }
}
