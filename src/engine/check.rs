//! The check of a store: it reads all data and verifies every invariant, without changing the
//! store. Reference 8, 11.1.

use std::path::Path;
use std::sync::Arc;

use crate::domain::records::ids::GroupId;
use crate::domain::records::vevent::Vevent;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::invariants::{self, BrokenInvariant};
use crate::engine::quarantine::QuarantinedGroup;
use crate::engine::recovery::{self, Loaded, short_hash};
use crate::store::{RecoveryReport, StoreError};

/// The findings of a check.
#[derive(Debug)]
pub struct StoreCheck {
    /// The report of the store's recovery.
    pub report: RecoveryReport,
    /// Number of application keys, and of professionals.
    pub directory: (usize, usize),
    /// Every group that has a state, by id.
    pub groups: Vec<GroupCheck>,
    /// Groups that are not served.
    pub quarantined: Vec<QuarantinedGroup>,
}

/// The findings about one group.
#[derive(Debug)]
pub struct GroupCheck {
    /// The group's id.
    pub group: GroupId,
    /// Number of events in the group's history.
    pub sequence: u64,
    /// The first half of the state's hash, in hexadecimal digits.
    pub state: String,
    /// Number of calendars, deleted ones included.
    pub calendars: usize,
    /// Number of fiches, deleted ones included.
    pub fiches: usize,
    /// Number of vevents, deleted ones included.
    pub vevents: usize,
    /// Number of vevents that are live appointments.
    pub appointments: usize,
    /// Broken invariants.
    pub broken: Vec<BrokenInvariant>,
}

/// Reads the whole store in `data`, without changing it.
///
/// # Errors
/// Damage that prevents a start, a store in use, or no room for the copy.
pub fn check_store(data: &Path) -> Result<StoreCheck, StoreError> {
    let loaded = recovery::load(data)?;
    let Loaded { directory, group_states, quarantined, store } = loaded;
    Ok(StoreCheck {
        report: *store.report(),
        directory: (directory.apikeys.len(), directory.pros.len()),
        groups: group_states.iter().map(|state| check_group(state)).collect(),
        quarantined,
    })
}

fn check_group(group_state: &GroupState) -> GroupCheck {
    let live = |vevent: &&Arc<Vevent>| !vevent.deleted && vevent.appointment().is_some();
    GroupCheck {
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

impl StoreCheck {
    /// Returns one line for each problem; empty if the store is sound.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let restored = self.report.restored;
        if restored > 0 {
            problems.push(format!(
                "{restored} snapshots are damaged; those of the previous generation replace them until the next generation"
            ));
        }
        for group in &self.quarantined {
            problems.push(format!("group {} is set aside: {}", group.group, group.reason));
        }
        for group in &self.groups {
            for broken in &group.broken {
                problems.push(format!("group {}: {broken}", group.group));
            }
        }
        problems
    }
}
