//! What groups need from time to time though nobody asks for it: deleted events are removed once they have been kept for
//! as long as they are to be.

use crate::domain::records::ids::GroupId;
use crate::domain::state::command::Command;
use crate::domain::state::upkeep;
use crate::domain::time::DAY;
use crate::engine::{Engine, Rejection};

impl Engine {
    /// Removes, group by group and step by step, events that were deleted more than so many days ago; how many. What a
    /// group refuses for want of room waits for the next time.
    pub async fn remove_deleted(&self, keep_days: u32) -> usize {
        let mut removed = 0;
        let groups: Vec<GroupId> = self.published().groups().collect();
        for group in groups {
            // A step is bounded, and each removes something: the number of steps is that of the events.
            while let Some(gone) = self.remove_some(group, keep_days).await {
                removed += gone;
            }
        }
        removed
    }

    /// One step in one group; `None` where nothing is left to be removed now.
    async fn remove_some(&self, group: GroupId, keep_days: u32) -> Option<usize> {
        let before = self.clock().now().plus_seconds(-i64::from(keep_days) * DAY);
        let group_state = self.published().group_state(group)?;
        let looking =
            tokio::task::spawn_blocking(move || upkeep::find_deleted_before(&group_state, before));
        let ids = looking.await.ok().filter(|ids| !ids.is_empty())?;
        let step = ids.len();
        match self.write(group, Command::RemoveDeleted { ids, before }).await {
            Ok(_) => Some(step),
            Err(
                Rejection::Refused(_)
                | Rejection::Conflict
                | Rejection::NoGroup
                | Rejection::Failed,
            ) => {
                tracing::error!(%group, "deleted events could not be removed");
                None
            }
            Err(Rejection::Overloaded | Rejection::Closed(_) | Rejection::Expired) => None,
        }
    }
}
