//! Looking after a store: reading all of it, and writing it elsewhere. Reference 11.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use crate::cli::operator::{self, Request};
use crate::cli::{Failed, complain, is_refusal, print};
use crate::config::Config;
use crate::engine::check::{self, GroupCheck};
use crate::store::{StoreError, free_bytes, sizes};

/// Reads everything, holds it against the store's promises and prints counts.
pub(super) fn check(data: &Path) -> Result<(), Failed> {
    let checked = match check::check_store(data) {
        Ok(checked) => checked,
        Err(error) if is_refusal(&error) || matches!(error, StoreError::Io { .. }) => {
            return Err(error.into());
        }
        Err(error) => {
            let finding = error.finding();
            return Err(Failed::Check(vec![format!(
                "{finding}; no server starts on it: restore the newest backup"
            )]));
        }
    };
    let report = checked.report;
    let (apikeys, pros) = checked.directory;
    print(&format!(
        "generation {}, {} snapshots, {} batches with {} records since\n{apikeys} application keys, {pros} professionals\n",
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
            "group {group}: {calendars} calendars, {fiches} clients, {vevents} events, {appointments} live appointments, \
             state {state} after event {sequence}\n"
        ));
    }
    let faults = checked.problems();
    if faults.is_empty() {
        print("all is well\n");
        return Ok(());
    }
    Err(Failed::Check(faults))
}

/// Writes all that a store holds, served or not, into another directory, which then serves.
pub(super) fn backup(config: &Config, to: &Path) -> Result<(), Failed> {
    let data = &config.data;
    // The server stands elsewhere than whoever asks.
    let to = std::path::absolute(to)?;
    let existing = to.ancestors().find(|path| path.exists()).unwrap_or(&to).canonicalize()?;
    if data.canonicalize().is_ok_and(|data| existing.starts_with(data)) {
        let why = format!(
            "{} lies in the data directory {}; choose a place outside it",
            to.display(),
            data.display()
        );
        return Err(Failed::Refused(why));
    }
    if to.exists() && std::fs::metadata(&to)?.permissions().mode() & 0o077 != 0 {
        complain(&format!("others than its owner may look into {}: chmod 700", to.display()));
    }
    let request = Request::BackUp { to: to.clone(), reserve_mib: config.disk_reserve_mib.number() };
    operator::ask(data, &request, &mut std::io::stdout().lock())?;
    if matches!(to.try_exists(), Ok(false)) {
        return Err(Failed::Refused(format!(
            "{} is not there for anybody but the server, whose folder of that name is its own (PrivateTmp in its unit), \
             and may vanish with it; choose a place that both see",
            to.display()
        )));
    }
    Ok(())
}

/// Refuses where a backup into `to` would leave its disk too little room: what is kept in reserve where the data lie on
/// it too, else none.
pub(super) fn expect_room(data: &Path, to: &Path, reserve_mib: u64) -> Result<(), Failed> {
    let there = to.ancestors().find(|path| path.exists()).unwrap_or(to);
    let same_disk = std::fs::metadata(data)?.dev() == std::fs::metadata(there)?.dev();
    let (backup, reserve_mib) = (sizes(data)?.sum(), if same_disk { reserve_mib } else { 0 });
    let free = free_bytes(there)?;
    if free > backup.saturating_add(reserve_mib << 20) {
        return Ok(());
    }
    let (free_mib, backup_mib) = (free >> 20, backup.div_ceil(1 << 20));
    Err(Failed::Refused(format!(
        "the disk of {} has {free_mib} MiB free, and a backup may take {backup_mib} MiB beside {reserve_mib} MiB of reserve; \
         make room on it, or choose another place",
        there.display()
    )))
}
