//! Periodic upkeep of groups: deleted web bookings are emptied, and deleted vevents are removed
//! after their retention. Reference 6.15, 6.16.

use crate::domain::decisions::upkeep;
use crate::domain::records::ids::GroupId;
use crate::domain::state::command::{Command, EmptyCancelled, RemoveDeleted};
use crate::domain::state::space_quota::is_nearly_full;
use crate::domain::time::{DAY, Instant};
use crate::engine::handle::Engine;
use crate::engine::write::Rejection;

impl Engine {
    /// Empties the web bookings that were deleted more than `keep_days` days ago, and the clients
    /// that never had others. Returns the number of these bookings. A group that rejects a step for
    /// want of capacity is left to the next call. Empties none while the clock is in doubt.
    pub async fn empty_cancelled(&self, keep_days: u32) -> usize {
        let mut emptied = 0;
        if self.clock_doubt_seconds().is_some() {
            return emptied;
        }
        let groups: Vec<GroupId> = self.published().groups().collect();
        for group in groups {
            // A step is bounded and deals with at least one booking, so the loop ends.
            while let Some(step) = self.empty_cancelled_step(group, keep_days).await {
                emptied += step;
            }
        }
        emptied
    }

    /// Makes one step in one group, and returns the number of bookings dealt with. `None` if the
    /// group has none that is due, or rejects the step.
    async fn empty_cancelled_step(&self, group: GroupId, keep_days: u32) -> Option<usize> {
        // The steady time is never ahead of the clock, so a step of the clock shortens no life.
        let before = retention_start(self.steady_now(), keep_days);
        let group_state = self.published().group_state(group)?;
        let due = upkeep::count_cancelled_before(&group_state, before);
        if due == 0 {
            return None;
        }
        let done = self.write(group, Command::EmptyCancelled(EmptyCancelled { before })).await;
        if is_done(done.err(), group) { Some(due) } else { None }
    }

    /// Removes the vevents that were deleted more than `keep_days` days ago, and returns their
    /// number. A group that rejects a step for want of capacity is left to the next call. Removes
    /// none while the clock is in doubt.
    pub async fn remove_deleted(&self, keep_days: u32) -> usize {
        let mut removed = 0;
        if self.clock_doubt_seconds().is_some() {
            return removed;
        }
        let groups: Vec<GroupId> = self.published().groups().collect();
        for group in groups {
            // A step is bounded and removes at least one vevent, so the loop ends.
            while let Some(step) = self.remove_deleted_step(group, keep_days).await {
                removed += step;
            }
        }
        removed
    }

    /// Makes one step in one group, and returns the number of vevents removed. `None` if the group
    /// has none to remove now, or rejects the step.
    async fn remove_deleted_step(&self, group: GroupId, keep_days: u32) -> Option<usize> {
        let before = retention_start(self.clock().now(), keep_days);
        let group_state = self.published().group_state(group)?;
        let scan =
            tokio::task::spawn_blocking(move || upkeep::find_deleted_before(&group_state, before));
        let ids = scan.await.ok()?;
        if ids.is_empty() {
            return None;
        }
        let step = ids.len();
        let done = self.write(group, Command::RemoveDeleted(RemoveDeleted { ids, before })).await;
        if is_done(done.err(), group) { Some(step) } else { None }
    }

    /// Returns the groups that have nearly used up a quota of space, with the bytes of each.
    #[must_use]
    pub fn find_nearly_full(&self, bytes_max: u64) -> Vec<(GroupId, u64)> {
        let mut found = Vec::new();
        for group in self.published().groups() {
            let Some(group_state) = self.published().group_state(group) else { continue };
            let bytes = group_state.space_bytes();
            if is_nearly_full(bytes, bytes_max) {
                found.push((group, bytes));
            }
        }
        found
    }

    /// Returns the bytes of the group that takes most space; 0 without groups.
    #[must_use]
    pub fn largest_group_bytes(&self) -> u64 {
        let mut largest = 0;
        for group in self.published().groups() {
            if let Some(group_state) = self.published().group_state(group) {
                largest = largest.max(group_state.space_bytes());
            }
        }
        largest
    }
}

fn retention_start(now: Instant, keep_days: u32) -> Instant {
    now.plus_seconds(-i64::from(keep_days) * DAY)
}

/// Whether a step of upkeep was carried out. A bug is logged; want of capacity is not.
fn is_done(rejection: Option<Rejection>, group: GroupId) -> bool {
    match rejection {
        None => true,
        Some(
            Rejection::Refused(_)
            | Rejection::IdempotencyConflict
            | Rejection::GroupNotFound
            | Rejection::InternalError,
        ) => {
            tracing::error!(%group, "deleted vevents could not be emptied or removed");
            false
        }
        Some(
            Rejection::Overloaded | Rejection::WritesUnavailable(_) | Rejection::DecisionTimeout,
        ) => false,
    }
}
