//! `slotbook check` and `slotbook backup`. Reference 11.1.

use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::cli::error::{CommandError, is_refusal};
use crate::cli::operator::api::{OfflineSettings, refusal, with_api};
use crate::cli::terminal::{print, print_error};
use crate::engine::check::{self, GroupCheck};
use crate::store::StoreError;

/// Reads a whole store, verifies its checksums and invariants, and prints counts.
///
/// # Errors
/// The store cannot be read, or has faults, which the error lists.
pub(crate) fn check(data: &Path) -> Result<(), CommandError> {
    let checked = match check::check_store(data) {
        Ok(checked) => checked,
        Err(error) if is_refusal(&error) || matches!(error, StoreError::Io { .. }) => {
            return Err(error.into());
        }
        Err(error) => {
            let finding = error.finding();
            return Err(CommandError::Check(vec![format!(
                "{finding}; no server starts on it: restore the newest backup"
            )]));
        }
    };
    let report = checked.report;
    let (apikeys, pros) = checked.directory;
    print(&format!(
        "generation {}, {} snapshots, {} batches with {} records since\n\
         {apikeys} application keys, {pros} professionals\n",
        report.generation, report.snapshots, report.batches, report.records
    ));
    for GroupCheck {
        group,
        sequence,
        state,
        calendars,
        fiches,
        vevents,
        appointments,
        broken: _,
    } in &checked.groups
    {
        print(&format!(
            "group {group}: {calendars} calendars, {fiches} clients, {vevents} events, \
             {appointments} live appointments, state {state} after event {sequence}\n"
        ));
    }
    let faults = checked.problems();
    if faults.is_empty() {
        print("all is well\n");
        return Ok(());
    }
    Err(CommandError::Check(faults))
}

/// Writes a copy of a store into the directory `to`, from which a server can be started. Without a
/// running server, `reserve_mib` stay free on a disk that holds both.
///
/// # Errors
/// The directory lies in the store, its disk has too little room, or it cannot be written.
pub(crate) fn back_up(data: &Path, reserve_mib: u64, to: &Path) -> Result<(), CommandError> {
    // The running server may have another working directory.
    let to = std::path::absolute(to)?;
    let existing = to.ancestors().find(|path| path.exists()).unwrap_or(&to).canonicalize()?;
    if let Ok(data) = data.canonicalize()
        && existing.starts_with(&data)
    {
        return Err(CommandError::Refused(format!(
            "{} lies in the data directory {}; choose a place outside it",
            to.display(),
            data.display()
        )));
    }
    if to.exists() && std::fs::metadata(&to)?.permissions().mode() & 0o077 != 0 {
        print_error(&format!("other users can read {}: chmod 700", to.display()));
    }
    let settings = OfflineSettings { reserve_mib, public_url: "" };
    let body = json!({"path": &to});
    let mut progress = BackupProgress { line: Vec::new(), last: Value::Null };
    with_api(data, &settings, |api| {
        api.send(Method::POST, "/api/v1/operator/backups", Some(&body), &mut progress)
    })?;
    match progress.last["path"].as_str() {
        Some(path) => print(&format!("the backup stands in {path}\n")),
        None => return Err(refusal(StatusCode::CONFLICT, &progress.last)),
    }
    if matches!(to.try_exists(), Ok(false)) {
        return Err(CommandError::Refused(format!(
            "{} exists only in the server's private folder of that name (PrivateTmp in its unit), \
             and may vanish with it; choose a place that both can see",
            to.display()
        )));
    }
    Ok(())
}

/// Prints the progress of a backup as its lines arrive, and keeps the last line.
struct BackupProgress {
    /// The bytes of the line that has begun.
    line: Vec<u8>,
    last: Value,
}

impl Write for BackupProgress {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for byte in bytes {
            self.line.push(*byte);
            if *byte == b'\n' {
                self.last = serde_json::from_slice(&self.line)?;
                self.line.clear();
                if let Some(written) = self.last["written"].as_u64() {
                    print(&format!("{written} of {} groups are written\n", self.last["groups"]));
                }
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_a_backup_is_kept_however_its_bytes_arrive() {
        let answer = b"{\"written\":1,\"groups\":2}\n{\"path\":\"/backup\"}\n";
        for size in [1, 7, answer.len()] {
            let mut progress = BackupProgress { line: Vec::new(), last: Value::Null };
            for part in answer.chunks(size) {
                progress.write_all(part).expect("it is JSON");
            }
            assert_eq!(progress.last, json!({"path": "/backup"}));
        }
    }
}
