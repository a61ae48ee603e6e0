//! Due times of reminders, derived from a group's states. Reference 7.1.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use crate::domain::messaging::planning::{self, PlannedReminder};
use crate::domain::records::channel::Channel;
use crate::domain::records::ids::VeventId;
use crate::domain::state::changed_records::ChangedRecords;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;

/// A scan panicked, which is a bug.
pub(crate) struct Panicked;

/// Finds the reminders of a group that are due before `until`. It yields after each calendar with
/// appointments, so that other tasks of the thread do not wait long.
pub(crate) async fn find_due_reminders(
    group_state: &Arc<GroupState>,
    now: Instant,
    until: Instant,
) -> Result<Vec<PlannedReminder>, Panicked> {
    let mut found = Vec::new();
    for view in group_state.calendars.values().filter(|view| !view.taken().is_empty()) {
        let scan = std::panic::catch_unwind(AssertUnwindSafe(|| {
            found.extend(planning::calendar_reminders_due_before(group_state, view, now, until));
        }));
        if scan.is_err() {
            return Err(Panicked);
        }
        tokio::task::yield_now().await;
    }
    Ok(found)
}

/// Returns the vevents whose reminders may have changed: those that changed, and the appointments
/// of the clients that changed.
pub(crate) fn vevents_to_plan(
    group_state: &GroupState,
    changed: &ChangedRecords,
) -> BTreeSet<VeventId> {
    let mut vevents: BTreeSet<VeventId> = changed.vevents.iter().copied().collect();
    for client in &changed.fiches {
        for appointment in group_state.appointments_of(*client) {
            vevents.insert(appointment.id);
        }
    }
    vevents
}

/// Returns the due time of a reminder; `None` if there is none to send. One that was given up at a
/// time after `now` is to be sent.
pub(crate) fn reminder_due(
    group_state: &GroupState,
    id: VeventId,
    channel: Channel,
    now: Instant,
) -> Option<Instant> {
    let vevent = group_state.rows.get(&id)?;
    planning::unclaimed_due_time(group_state, group_state.catalogue.zone(), vevent, channel, now)
}
