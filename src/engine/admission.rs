//! Admission control: a write takes a permit before it is queued, and gives it back with its
//! answer.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::domain::records::ids::GroupId;

/// Limits on the writes in flight.
#[derive(Clone, Copy, Debug)]
pub struct AdmissionLimits {
    /// Maximum number of writes in flight, of all groups together.
    pub writes_max: usize,
    /// Maximum number of writes in flight of one group.
    pub group_writes_max: usize,
}

impl Default for AdmissionLimits {
    fn default() -> Self {
        Self { writes_max: 16_384, group_writes_max: 4_096 }
    }
}

/// The semaphores in front of the actors' mailboxes.
#[derive(Debug)]
pub struct Admission {
    /// One permit per write in flight.
    all_groups: Arc<Semaphore>,
    /// Initial number of permits in `all_groups`.
    writes_max: u32,
    /// Initial number of permits in each semaphore of `groups`.
    group_writes_max: usize,
    /// One permit per write in flight of the group. The set of groups never changes.
    groups: BTreeMap<GroupId, Arc<Semaphore>>,
}

/// Permission for one write in flight; dropped with its answer.
#[derive(Debug)]
pub struct Permit {
    _all_groups: OwnedSemaphorePermit,
    _group: OwnedSemaphorePermit,
}

impl Admission {
    /// Creates the semaphores of these groups.
    ///
    /// # Panics
    /// If `limits.writes_max` exceeds `u32::MAX`.
    #[must_use]
    pub fn new(limits: AdmissionLimits, groups: impl Iterator<Item = GroupId>) -> Self {
        let mut semaphores = BTreeMap::new();
        for group in groups {
            semaphores.insert(group, Arc::new(Semaphore::new(limits.group_writes_max)));
        }
        Self {
            all_groups: Arc::new(Semaphore::new(limits.writes_max)),
            writes_max: u32::try_from(limits.writes_max).expect("a limit of writes fits 32 bits"),
            group_writes_max: limits.group_writes_max,
            groups: semaphores,
        }
    }

    /// Returns a permit without waiting. `None` over a limit, after [`Admission::close`], and for
    /// an unknown group.
    #[must_use]
    pub fn try_acquire(&self, group: GroupId) -> Option<Permit> {
        let all_groups = Arc::clone(&self.all_groups).try_acquire_owned().ok()?;
        let group = Arc::clone(self.groups.get(&group)?).try_acquire_owned().ok()?;
        Some(Permit { _all_groups: all_groups, _group: group })
    }

    /// Returns whether a permit is available now. Another write may take it a moment later.
    #[must_use]
    pub fn has_room(&self, group: GroupId) -> bool {
        match self.groups.get(&group) {
            Some(group) => has_permit(&self.all_groups) && has_permit(group),
            None => false,
        }
    }

    /// Returns the permits in use: of all groups together, and of the group that uses most.
    #[must_use]
    pub fn permits_in_use(&self) -> (usize, usize) {
        let total = (self.writes_max as usize).saturating_sub(self.all_groups.available_permits());
        let mut fullest = 0;
        for group in self.groups.values() {
            let used = self.group_writes_max.saturating_sub(group.available_permits());
            fullest = fullest.max(used);
        }
        (total, fullest)
    }

    /// Stops handing out permits, and waits until every permit has come back.
    pub async fn close(&self) {
        for group in self.groups.values() {
            group.close();
        }
        // The groups' semaphores are closed, so no new write can hold one of these permits.
        drop(self.all_groups.acquire_many(self.writes_max).await);
    }
}

fn has_permit(semaphore: &Semaphore) -> bool {
    !semaphore.is_closed() && semaphore.available_permits() > 0
}
