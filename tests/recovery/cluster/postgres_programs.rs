//! The programs of PostgreSQL, and the account that may run them.

use std::path::{Path, PathBuf};
use std::process::Command;

/// User and group of PostgreSQL where this process is root's, which PostgreSQL refuses; otherwise none.
pub(crate) type Account = Option<(u32, u32)>;

/// Returns the folder of `initdb`: the newest version of Debian's folders, or one of `PATH`.
pub(crate) fn find_programs() -> Option<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten() {
        let folder = entry.path().join("bin");
        if folder.join("initdb").exists() {
            found.push(folder);
        }
    }
    found.sort();
    if let Some(newest) = found.pop() {
        return Some(newest);
    }
    find_in_path("initdb").and_then(|program| program.parent().map(Path::to_owned))
}

/// Returns a program of `PATH`, or of the folder of servers, which not every `PATH` has.
pub(crate) fn find_in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    folders.map(|folder| folder.join(name)).find(|program| program.exists())
}

/// Returns the account `postgres` if this process is root's, and none otherwise.
pub(crate) fn find_account() -> Result<Account, String> {
    if id(&["-u"])? != 0 {
        return Ok(None);
    }
    Ok(Some((id(&["-u", "postgres"])?, id(&["-g", "postgres"])?)))
}

fn id(arguments: &[&str]) -> Result<u32, String> {
    let output = Command::new("id").args(arguments).output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().map_err(|_| "the account postgres is missing".to_owned())
}
