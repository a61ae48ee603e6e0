//! Periodic upkeep of groups: deleted web bookings are emptied, deleted vevents are removed after
//! their retention, and old rows of the history end. Reference 6.15, 6.16, 16.4.

use crate::domain::decisions::upkeep;
use crate::domain::directory::access::ChangeAccess;
use crate::domain::records::author::Author;
use crate::domain::records::ids::GroupId;
use crate::domain::state::command::{Command, EmptyCancelled, EndHistory, RemoveDeleted};
use crate::domain::state::group_state::GroupState;
use crate::domain::state::space_quota::is_nearly_full;
use crate::domain::time::{DAY, Instant};
use crate::engine::handle::Engine;
use crate::engine::write::Rejection;

/// Groups that a task looks through before others of its thread have their turn.
const GROUPS_A_TURN: usize = 64;
/// Rows of a group that a task looks through itself.
const ROWS_A_TURN: usize = 256;

/// Lets other tasks have their turn, where a task that looks through all groups has come to the end
/// of its own with the `nth` of them.
pub(crate) async fn give_way(nth: usize) {
    if nth.is_multiple_of(GROUPS_A_TURN) {
        tokio::task::yield_now().await;
    }
}

impl Engine {
    /// Empties the web bookings that were deleted more than `keep_days` days ago, and the clients
    /// that never had others. Returns the number of these bookings. A group that rejects a step for
    /// want of capacity is left to the next call. Empties none while the clock is in doubt.
    pub async fn empty_cancelled(&self, keep_days: u32) -> usize {
        self.count_steps(|group| self.empty_cancelled_step(group, keep_days)).await
    }

    /// Takes steps in each group until it has no more, and returns the sum of their results.
    async fn count_steps<S: Future<Output = Option<usize>>>(
        &self,
        step: impl Fn(GroupId) -> S,
    ) -> usize {
        let mut count = 0;
        if self.clock_doubt_seconds().is_some() {
            return count;
        }
        let groups: Vec<GroupId> = self.published().groups().collect();
        for (nth, group) in groups.into_iter().enumerate() {
            // A step is bounded and deals with at least one record, so the loop ends.
            while let Some(done) = step(group).await {
                count += done;
            }
            give_way(nth).await;
        }
        count
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
        let command = Command::EmptyCancelled(EmptyCancelled { before });
        let done = self.write(group, Author::Server, command).await;
        if is_done(done.err(), group) { Some(due) } else { None }
    }

    /// Removes the vevents that were deleted more than `keep_days` days ago, and returns their
    /// number. A group that rejects a step for want of capacity is left to the next call. Removes
    /// none while the clock is in doubt.
    pub async fn remove_deleted(&self, keep_days: u32) -> usize {
        self.count_steps(|group| self.remove_deleted_step(group, keep_days)).await
    }

    /// Makes one step in one group, and returns the number of vevents removed. `None` if the group
    /// has none to remove now, or rejects the step.
    async fn remove_deleted_step(&self, group: GroupId, keep_days: u32) -> Option<usize> {
        let before = retention_start(self.clock().now(), keep_days);
        let group_state = self.published().group_state(group)?;
        // The way to another thread takes longer than to look at a few rows.
        let ids = if group_state.rows.len() <= ROWS_A_TURN {
            upkeep::find_deleted_before(&group_state, before)
        } else {
            let scan = move || upkeep::find_deleted_before(&group_state, before);
            tokio::task::spawn_blocking(scan).await.ok()?
        };
        if ids.is_empty() {
            return None;
        }
        let step = ids.len();
        let command = Command::RemoveDeleted(RemoveDeleted { ids, before });
        let done = self.write(group, Author::Server, command).await;
        if is_done(done.err(), group) { Some(step) } else { None }
    }

    /// Ends the rows of each group's history that are older than the group keeps them, and returns
    /// the number of steps. Ends none while the clock is in doubt.
    pub async fn end_history(&self) -> usize {
        self.count_steps(|group| self.end_history_step(group)).await
    }

    /// Ends the rows of the history of access that no group keeps any more. Ends none while the
    /// clock is in doubt.
    pub async fn end_access_history(&self) {
        let published = self.published();
        let now = self.steady_now();
        let mut kept_from: Option<Instant> = None;
        self.look_through_groups(|state| {
            let end = upkeep::history_end(state, now);
            kept_from = Some(kept_from.map_or(end, |from| from.min(end)));
        })
        .await;
        let Some(before) = kept_from.filter(|_| self.clock_doubt_seconds().is_none()) else {
            return;
        };
        if published.directory().access_history.first_since(before).is_none() {
            return;
        }
        let ended = self.change_access(None, ChangeAccess::EndAccessRows { before }).await;
        if let Err(error) = ended {
            tracing::warn!(?error, "old rows of the history of access are not ended");
        }
    }

    /// Makes one step in one group. `None` if it has no old rows, or rejects the step.
    async fn end_history_step(&self, group: GroupId) -> Option<usize> {
        let now = self.steady_now();
        let group_state = self.published().group_state(group)?;
        group_state.history.end_of_step(upkeep::history_end(&group_state, now))?;
        let command = Command::EndHistory(EndHistory { now });
        let done = self.write(group, Author::Server, command).await;
        if is_done(done.err(), group) { Some(1) } else { None }
    }

    /// Returns the groups whose records have nearly used up a quota of space, with their bytes.
    pub async fn find_nearly_full(&self, bytes_max: u64) -> Vec<(GroupId, u64)> {
        let mut found = Vec::new();
        self.look_through_groups(|state| {
            let bytes = state.records_bytes();
            if is_nearly_full(bytes, bytes_max) {
                found.push((state.catalogue.group.id, bytes));
            }
        })
        .await;
        found
    }

    /// Passes each group's state, in turns, between which other tasks have theirs.
    async fn look_through_groups(&self, mut look: impl FnMut(&GroupState)) {
        for (nth, group) in self.published().groups().enumerate() {
            if let Some(state) = self.published().group_state(group) {
                look(&state);
            }
            give_way(nth).await;
        }
    }

    /// Returns the bytes of the group that takes most space; 0 without groups.
    pub fn largest_group_bytes(&self) -> u64 {
        let states = self.published().groups().filter_map(|id| self.published().group_state(id));
        states.map(|state| state.space_bytes()).max().unwrap_or(0)
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
            tracing::error!(%group, "a step of upkeep could not be carried out");
            false
        }
        Some(
            Rejection::Overloaded | Rejection::WritesUnavailable(_) | Rejection::DecisionTimeout,
        ) => false,
    }
}
