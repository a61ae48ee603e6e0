//! Parts that a server and a command without a server have in common.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::clock::SystemClock;
use crate::domain::directory::Directory;
use crate::engine::admission::AdmissionLimits;
use crate::engine::mailbox::Transport;
use crate::engine::randomness::Randomness;
use crate::engine::{EngineParts, GroupStates, SharedSizes};
use crate::http::ServedStore;
use crate::transfer::export;

/// Longest time that a write may wait to be decided.
const DECISION_TIMEOUT: Duration = Duration::from_secs(5);

/// Returns the parts of an engine over recovered states.
pub(crate) fn engine_parts(
    directory: Directory,
    group_states: GroupStates,
    randomness: Randomness,
) -> EngineParts {
    EngineParts {
        directory,
        group_states,
        clock: Arc::new(SystemClock),
        randomness,
        transport: Transport::direct(),
        admission_limits: AdmissionLimits::default(),
        decision_timeout: DECISION_TIMEOUT,
    }
}

/// Returns the store of a data directory, or the shared one of a cluster with these sizes, for the
/// operator's export and backup.
pub(crate) fn served_store(
    data: &Path,
    shared: Option<Arc<SharedSizes>>,
    reserve_mib: u64,
) -> ServedStore {
    let write_document = |directory: &_, group_states: &[_], out: &mut dyn Write| {
        export::write_document(directory, group_states, out)
    };
    ServedStore { data: data.to_owned(), shared, reserve_mib, write_document }
}
