//! All that a store holds, read and held against its promises, without changing it. Reference 8, 11.

use std::path::Path;
use std::sync::Arc;

use crate::domain::records::ids::GroupId;
use crate::domain::records::vevent::Vevent;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::invariants::{self, BrokenInvariant};
use crate::engine::quarantine::QuarantinedGroup;
use crate::engine::recovery::{self, Loaded, short_hash};
use crate::store::{Report, StoreError, copy_to_read};

/// What was found in a store.
#[derive(Debug)]
pub struct Checked {
    /// What its recovery met.
    pub report: Report,
    /// Application keys, and professionals.
    pub directory: (usize, usize),
    /// Every group that has a state, by id.
    pub groups: Vec<Counts>,
    /// Groups that nobody is let into.
    pub aside: Vec<QuarantinedGroup>,
}

/// What a group holds.
#[derive(Debug)]
pub struct Counts {
    /// Which.
    pub group: GroupId,
    /// How many events have made its state.
    pub sequence: u64,
    /// The first half of its state's hash, in hex.
    pub state: String,
    /// Calendars, deleted ones included.
    pub calendars: usize,
    /// Clients, deleted ones included.
    pub fiches: usize,
    /// Events of calendars, deleted ones included.
    pub vevents: usize,
    /// Live appointments among them.
    pub appointments: usize,
    /// Promises it breaks.
    pub broken: Vec<BrokenInvariant>,
}

/// Reads the store in `data` to its end, from a copy beside it: opening a damaged database can change it.
///
/// # Errors
/// The damage that a start would be refused for, a store in use, or no room for the copy.
pub fn check(data: &Path) -> Result<Checked, StoreError> {
    let copy = copy_to_read(data)?;
    let Loaded { directory, group_states, aside, store } =
        recovery::load(copy.path()).map_err(|error| error.of_original(copy.path(), data))?;
    let groups = group_states.iter().map(counts).collect();
    Ok(Checked {
        report: *store.report(),
        directory: (directory.apikeys.len(), directory.pros.len()),
        groups,
        aside,
    })
}

fn counts(group_state: &GroupState) -> Counts {
    let live = |row: &&Arc<Vevent>| !row.deleted && row.appointment().is_some();
    Counts {
        group: group_state.catalogue.group.id,
        sequence: group_state.sequence,
        state: short_hash(group_state),
        calendars: group_state.catalogue.calendars.len(),
        fiches: group_state.fiches.len(),
        vevents: group_state.rows.len(),
        appointments: group_state.rows.values().filter(live).count(),
        broken: invariants::find_broken(group_state),
    }
}

impl Checked {
    /// What is wrong, a line each; empty where all is well.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        let aside = self
            .aside
            .iter()
            .map(|aside| format!("group {} is set aside: {}", aside.group, aside.why));
        let broken = self.groups.iter().flat_map(|counts| {
            counts.broken.iter().map(|broken| format!("group {}: {broken}", counts.group))
        });
        let restored = self.report.restored;
        let snapshots = (restored > 0).then(|| {
            format!("{restored} snapshots are damaged; the generation before stands in for them until the next one")
        });
        snapshots.into_iter().chain(aside).chain(broken).collect()
    }
}
