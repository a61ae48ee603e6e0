//! Whose the files are: what another user may not open is neither damaged nor absent, and root leaves nothing behind in
//! another user's store.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Output};

use super::server::{complaint, practice, store_of};

const DUMMY_HASH: u32 = 65_534;

/// Runs a command on a store as a user, in a folder that everybody may be in.
fn run_as(user: u32, arguments: &[&str], data: &Path) -> std::io::Result<Output> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slotbook"));
    command
        .args(arguments)
        .env_clear()
        .env("SLOTBOOK_DATA", data)
        .current_dir("/")
        .uid(user)
        .gid(user)
        .output()
}

/// Every file and folder, with who owns it.
fn owners(path: &Path, found: &mut Vec<u32>) {
    found.push(fs::symlink_metadata(path).expect("it is there").uid());
    if path.is_dir() {
        fs::read_dir(path)
            .expect("a folder")
            .for_each(|entry| owners(&entry.expect("an entry").path(), found));
    }
}

fn give(path: &Path, user: u32) {
    chown(path, Some(user), Some(user)).expect("root may");
    if path.is_dir() {
        fs::read_dir(path)
            .expect("a folder")
            .for_each(|entry| give(&entry.expect("an entry").path(), user));
    }
}

#[track_caller]
fn refused(user: u32, arguments: &[&str], data: &Path, why: &str) {
    let done = run_as(user, arguments, data).expect("it ran before");
    let said = complaint(&done);
    assert_eq!(done.status.code(), Some(1), "{arguments:?}: {said}");
    assert!(said.contains(why), "{arguments:?}: {why:?} in {said}");
    assert!(
        !said.contains("damaged") && !said.contains("missing") && !said.contains("holds no store"),
        "{said}"
    );
}

#[test]
fn anothers_store_is_neither_damaged_nor_absent_and_root_leaves_nothing_in_it() {
    let folder = tempfile::tempdir().expect("a folder");
    if chown(folder.path(), Some(DUMMY_HASH), Some(DUMMY_HASH)).is_err() {
        return println!("skipped: files can be given to another user by root alone");
    }
    if run_as(DUMMY_HASH, &["--version"], folder.path()).is_err() {
        return println!("skipped: the program lies where other users cannot run it");
    }
    let data = store_of(folder.path(), &practice(1));
    let asked: [&[&str]; 3] = [&["check"], &["key", "list"], &["serve", "--listen", "127.0.0.1:0"]];
    for arguments in asked {
        refused(DUMMY_HASH, arguments, &data, "ermission denied");
    }
    give(&data, DUMMY_HASH);
    let document = folder.path().join("document.json");
    let document = document.to_str().expect("a plain path");
    for arguments in [
        &["import", "--merge", document][..],
        &["key", "add", "--all-groups"],
        &["check"],
        &["serve"],
    ] {
        refused(0, arguments, &data, "belongs to another user (uid 65534)");
    }
    let mut found = Vec::new();
    owners(&data, &mut found);
    assert!(found.len() > 5 && found.iter().all(|owner| *owner == DUMMY_HASH), "{found:?}");
    assert!(run_as(DUMMY_HASH, &["check"], &data).expect("it ran").status.success());
    let snapshots = data.join("snapshots-000001");
    for (taken, mode) in [
        (snapshots.join("conf"), 0o600),
        (snapshots.join("db"), 0o600),
        // A database that can only be read is refused at once, and not at its first write.
        (snapshots.join("db"), 0o644),
        (data.join("mark"), 0o600),
        (data.join("CURRENT"), 0o600),
    ] {
        chown(&taken, Some(0), Some(0)).expect("root may");
        let mode_before = fs::metadata(&taken).expect("it is there").permissions();
        fs::set_permissions(&taken, fs::Permissions::from_mode(mode)).expect("root may");
        let name = taken.to_str().expect("a plain path");
        refused(DUMMY_HASH, &["key", "list"], &data, &format!("{name}: permission denied"));
        fs::set_permissions(&taken, mode_before).expect("root may");
        give(&taken, DUMMY_HASH);
    }
}
