//! Periodic upkeep of groups: deleted vevents are removed after their retention. Reference 6.9.

use crate::domain::records::ids::GroupId;
use crate::domain::state::command::Command;
use crate::domain::state::upkeep;
use crate::domain::time::DAY;
use crate::engine::handle::Engine;
use crate::engine::write::Rejection;

impl Engine {
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
        let before = self.clock().now().plus_seconds(-i64::from(keep_days) * DAY);
        let group_state = self.published().group_state(group)?;
        let scan =
            tokio::task::spawn_blocking(move || upkeep::find_deleted_before(&group_state, before));
        let ids = scan.await.ok()?;
        if ids.is_empty() {
            return None;
        }
        let step = ids.len();
        match self.write(group, Command::RemoveDeleted { ids, before }).await {
            Ok(_) => Some(step),
            Err(
                Rejection::Refused(_)
                | Rejection::IdempotencyConflict
                | Rejection::GroupNotFound
                | Rejection::InternalError,
            ) => {
                tracing::error!(%group, "deleted vevents could not be removed");
                None
            }
            Err(
                Rejection::Overloaded
                | Rejection::WritesUnavailable(_)
                | Rejection::DecisionTimeout,
            ) => None,
        }
    }
}
