//! `slotbook import` and `slotbook export`, and opening a store to serve. Reference 11.2.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read as _, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;

use axum::http::Method;
use serde_json::Value;

use crate::cli::error::CommandError;
use crate::cli::forget;
use crate::cli::import_counts::describe_counts;
use crate::cli::operator::api::{OfflineSettings, with_api};
use crate::cli::terminal::{print, print_error};
use crate::clock::{Clock as _, SystemClock};
use crate::domain::directory::Directory;
use crate::domain::state::group_state::GroupState;
use crate::engine::quarantine::IncompleteDocument;
use crate::engine::randomness::Randomness;
use crate::engine::recovery::{self, Loaded};
use crate::password::hash_password;
use crate::store::{EmptyDirectory, Store, StoreError, refuse_cluster_directory};
use crate::transfer::StoreContent;
use crate::transfer::demo;
use crate::transfer::import::{Import, UsedIds};
use crate::transfer::merge;

/// Seconds between two progress lines of an import.
const PROGRESS_SECONDS: i64 = 2;
/// UTF-8 byte order mark, which some editors write before a text.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
/// A small document with comments, which `slotbook import --example` prints.
pub(crate) const EXAMPLE: &str = include_str!("../../data/import.example.json");
/// File name that stands for stdin or stdout.
const STANDARD_STREAM: &str = "-";

/// Writes a document into an empty store or, with `merge`, replaces the groups that it names, and
/// prints what it held. On an error the store is unchanged.
///
/// # Errors
/// The document is wrong, the store is not empty, or one of them cannot be read or written.
pub(crate) fn import(data: &Path, file: &Path, merge: bool) -> Result<(), CommandError> {
    let document = read_file_or_stdin(file).map_err(file_error(file))?;
    let document = document.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&document);
    if Store::is_empty(data)? {
        let mut content = parse_document(document, UsedIds::default())?;
        let counts = describe_counts(&content);
        let imported = content.group_ids();
        forget::erase_imported(data, &mut content, &imported)?;
        drop(recovery::create(data, &content.directory, &content.group_states)?);
        print(&counts);
        return Ok(());
    }
    let Loaded { directory, group_states, quarantined, store } = recovery::load(data)?;
    IncompleteDocument::refuse(&quarantined)?;
    let group_states = group_states.into_iter().map(Arc::unwrap_or_clone).collect();
    let existing = StoreContent { directory, group_states };
    if !merge && !is_blank(&existing) {
        return Err(StoreError::Occupied { directory: data.to_owned() }.into());
    }
    let mut content = parse_document(document, UsedIds::from_content(&existing))?;
    let counts = describe_counts(&content);
    let imported = content.group_ids();
    if !is_blank(&existing) {
        content =
            merge::merge_content(existing, content, document).map_err(CommandError::Document)?;
    }
    forget::erase_imported(data, &mut content, &imported)?;
    drop(recovery::replace(store, &content.directory, &content.group_states)?);
    print(&counts);
    Ok(())
}

/// Writes the content of a store, or of one group, into a file that only its owner may read. The
/// file is complete or not there at all. Stdout, a pipe or a device gets the document as it comes,
/// complete if the command succeeds.
///
/// # Errors
/// The group does not exist, what is to be written is quarantined, or the store or the file cannot
/// be used.
pub(crate) fn export(data: &Path, group: Option<u64>, file: &Path) -> Result<(), CommandError> {
    let path = match group {
        Some(id) => format!("/api/v1/groups/{id}/export"),
        None => "/api/v1/operator/export".to_owned(),
    };
    if file.as_os_str() == STANDARD_STREAM {
        return export_into(data, &path, file, io::stdout().lock()).map(drop);
    }
    // A rename would put a file in the place of `/dev/null`.
    if fs::metadata(file).is_ok_and(|found| !found.is_file()) {
        let opened = OpenOptions::new().write(true).open(file).map_err(file_error(file))?;
        return export_into(data, &path, file, opened).map(drop);
    }
    let unfinished = file.with_added_extension("unfinished");
    let exported = export_through(data, &path, &unfinished, file);
    if exported.is_err() {
        // A failure to remove it would only hide the first error.
        drop(fs::remove_file(&unfinished));
    }
    exported
}

/// Writes the document to `unfinished`, and renames it to `file` once it is complete.
fn export_through(
    data: &Path,
    path: &str,
    unfinished: &Path,
    file: &Path,
) -> Result<(), CommandError> {
    let created = create_private_file(unfinished).map_err(file_error(file))?;
    let written = export_into(data, path, file, created)?;
    written.sync_all().map_err(file_error(file))?;
    fs::rename(unfinished, file).map_err(file_error(file))
}

/// Writes the document that the API answers at `path` to `out`, which errors call `file`.
fn export_into<W: Write>(data: &Path, path: &str, file: &Path, out: W) -> Result<W, CommandError> {
    let mut out = BufWriter::new(out);
    with_api(data, &OfflineSettings::default(), |api| api.send(Method::GET, path, None, &mut out))?;
    out.into_inner().map_err(|error| file_error(file)(error.into_error()))
}

fn file_error(file: &Path) -> impl Fn(io::Error) -> CommandError {
    |reason| CommandError::File { path: file.to_owned(), reason }
}

fn create_private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

/// A data directory that is to be served.
pub(crate) enum OpenedDirectory {
    Store(Box<Loaded>),
    /// Without a store. Nothing is made in it yet.
    Empty(EmptyDirectory),
}

/// Opens a data directory to serve it. A directory without a store is claimed with `create`, and
/// refused without it. With `demo`, an empty store is made, or filled with the demonstration, whose
/// key and logins are printed.
///
/// # Errors
/// There is no store, it is used by another process, or it cannot be read or written.
pub(crate) fn open_to_serve(
    data: &Path,
    demo: bool,
    create: bool,
) -> Result<OpenedDirectory, CommandError> {
    if Store::is_empty(data)? {
        refuse_cluster_directory(data)?;
        if !demo && !create {
            return Err(CommandError::NoStore { data: data.to_owned() });
        }
        if !demo {
            return Ok(OpenedDirectory::Empty(EmptyDirectory::claim(data)?));
        }
        drop(recovery::create::<GroupState>(data, &Directory::default(), &[])?);
    }
    Ok(OpenedDirectory::Store(Box::new(load_to_serve(data, demo)?)))
}

/// Loads a store, and fills an empty one with the demonstration if `demo` asks for it.
fn load_to_serve(data: &Path, demo: bool) -> Result<Loaded, CommandError> {
    let Loaded { directory, group_states, quarantined, store } = recovery::load(data)?;
    let is_blank = group_states.is_empty() && directory.is_blank();
    if !demo || !is_blank || !quarantined.is_empty() {
        return Ok(Loaded { directory, group_states, quarantined, store });
    }
    let content =
        demo::demo_content(SystemClock.now(), &hash_password).map_err(CommandError::Document)?;
    drop(recovery::replace(store, &content.directory, &content.group_states)?);
    print_demo_logins();
    Ok(recovery::load(data)?)
}

fn is_blank(content: &StoreContent) -> bool {
    content.group_states.is_empty() && content.directory.is_blank()
}

/// Reads a whole file, or stdin.
fn read_file_or_stdin(file: &Path) -> io::Result<Vec<u8>> {
    if file.as_os_str() != STANDARD_STREAM {
        return fs::read(file);
    }
    let mut document = Vec::new();
    io::stdin().lock().read_to_end(&mut document)?;
    Ok(document)
}

fn parse_document(document: &[u8], used_ids: UsedIds) -> Result<StoreContent, CommandError> {
    let began = SystemClock.now();
    // Imports of less than the interval print nothing.
    let mut last_line = began.plus_seconds(PROGRESS_SECONDS - 1);
    let mut progress = |done: usize, total: usize| {
        let now = SystemClock.now();
        if now > last_line {
            last_line = now;
            print_error(&format!("{done} of {total} rows are read"));
        }
    };
    let import = Import {
        now: began,
        hash_password: &hash_password,
        draws: Randomness::from_os(),
        used_ids,
        progress: &mut progress,
    };
    import.read_document(document).map_err(CommandError::Document)
}

/// Prints the keys and the logins of the demonstration.
fn print_demo_logins() {
    let document: Value =
        serde_json::from_slice(demo::DOCUMENT).expect("the demonstration was just imported");
    for apikey in list_field(&document, "apikeys") {
        let key = text_field(apikey, "key");
        let label = text_field(apikey, "label");
        print_error(&format!("demonstration: apikey {key} ({label})"));
    }
    for group in list_field(&document, "groups") {
        for (role, section) in [("professional", "pros"), ("client", "accounts")] {
            for person in list_field(group, section) {
                // Some have no password, and cannot log in.
                let Some(password) = person["password"].as_str() else { continue };
                let id = &group["id"];
                let email = text_field(person, "email");
                print_error(&format!(
                    "demonstration: group {id}, {role} {email} with password {password}"
                ));
            }
        }
    }
}

fn list_field<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    match value[name].as_array() {
        Some(list) => list,
        None => &[],
    }
}

fn text_field<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}
