//! Looking after a store: reading all of it, and writing it elsewhere. Contract 11.

use std::path::Path;

use super::operator::{self, Request};
use super::{Failed, print};
use crate::engine::check::{self, Counts};
use crate::store::StoreError;

/// Reads everything, holds it against the store's promises and prints counts.
pub(super) fn check(data: &Path) -> Result<(), Failed> {
    let checked = match check::check(data) {
        Ok(checked) => checked,
        Err(error @ (StoreError::Locked { .. } | StoreError::Empty { .. } | StoreError::Io { .. })) => {
            return Err(error.into());
        }
        Err(error) => return Err(Failed::Check(vec![error.to_string()])),
    };
    let report = checked.report;
    let (apikeys, pros) = checked.directory;
    print(&format!(
        "generation {}, {} snapshots, {} batches with {} records since\n{apikeys} application keys, {pros} professionals\n",
        report.generation, report.snapshots, report.batches, report.records
    ));
    for Counts { group, sequence, state, calendars, fiches, vevents, appointments, broken: _ } in &checked.groups {
        print(&format!(
            "group {group}: {calendars} calendars, {fiches} clients, {vevents} events, {appointments} live appointments, \
             state {state} after event {sequence}\n"
        ));
    }
    let faults = checked.faults();
    if faults.is_empty() {
        print("all is well\n");
        return Ok(());
    }
    Err(Failed::Check(faults))
}

/// Writes all that a store holds, served or not, into another directory, which then serves.
pub(super) fn backup(data: &Path, to: &Path) -> Result<(), Failed> {
    // The server stands elsewhere than whoever asks.
    let to = std::path::absolute(to)?;
    let existing = to.ancestors().find(|path| path.exists()).unwrap_or(&to).canonicalize()?;
    if data.canonicalize().is_ok_and(|data| existing.starts_with(data)) {
        let why = format!("{} lies in the data directory {}; choose a place outside it", to.display(), data.display());
        return Err(Failed::Refused(why));
    }
    operator::ask(data, &Request::BackUp { to }, &mut std::io::stdout().lock())
}
