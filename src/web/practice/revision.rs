//! Revisions of records in forms, and the writes that are based on them. Reference 15.4.

use crate::domain::records::fault::Fault;
use crate::domain::state::command::Command;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::precondition::{Precondition, ShownObject};
use crate::domain::state::refusal::{Refusal, Refusals};
use crate::engine::Committed;
use crate::http::{GuardedRejection, GuardedWrite};
use crate::web::practice::visit::ProVisit;

/// The hidden field of a form with the revision of its record.
pub(crate) const REVISION: &str = "revision";

/// Returns the revision of a record, as forms hold it: its entity tag without quotation marks.
pub(crate) fn revision(shown: Option<ShownObject>) -> String {
    shown.map(|shown| shown.tag.trim_matches('"').to_owned()).unwrap_or_default()
}

/// Makes the precondition that a record has the revision that a form was filled in on. `show`
/// returns the record in a state, as the API shows it.
pub(crate) fn still_at(
    given: &str,
    show: impl Fn(&GroupState) -> Option<ShownObject> + Send + Sync + 'static,
) -> Option<Precondition> {
    let given = given.to_owned();
    Some(Precondition::new(move |state| match show(state) {
        Some(shown) if shown.tag.trim_matches('"') == given => Ok(()),
        present => Err(present),
    }))
}

/// Sends a command of a professional to the group, and waits until its result is durable.
///
/// # Errors
/// The engine's rejection.
pub(crate) async fn write(
    visit: &ProVisit,
    command: Command,
) -> Result<Committed, GuardedRejection> {
    let write = GuardedWrite::unlimited(visit.group().id, command);
    write.send(&visit.request.pages.server, visit.author(), None).await.map(|(done, _)| done)
}

/// Returns the faults among refusals.
pub(crate) fn faults_among(refusals: Refusals) -> Vec<Fault> {
    let mut faults = Vec::new();
    for refusal in refusals {
        if let Refusal::InvalidParameter(fault) = refusal {
            faults.push(fault);
        }
    }
    faults
}
