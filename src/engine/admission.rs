//! Who is let in: a permit is taken before anything is queued, and comes back with the answer.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::domain::records::ids::GroupId;

/// Bounds on what may be under way at once.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Writes of all groups together.
    pub whole: usize,
    /// Writes of one group.
    pub group: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { whole: 16_384, group: 4_096 }
    }
}

/// The gate in front of the mailboxes.
#[derive(Debug)]
pub struct Admission {
    /// One permit per write under way.
    whole: Arc<Semaphore>,
    /// How many permits `whole` began with.
    whole_bound: u32,
    /// How many permits each group began with.
    group_bound: usize,
    /// The same for each group.
    groups: BTreeMap<GroupId, Arc<Semaphore>>,
}

/// The right to have one write under way; dropped with its answer.
#[derive(Debug)]
pub struct Permit {
    _whole: OwnedSemaphorePermit,
    _group: OwnedSemaphorePermit,
}

impl Admission {
    /// A gate for these groups.
    #[must_use]
    pub fn new(bounds: Bounds, groups: impl Iterator<Item = GroupId>) -> Self {
        Self {
            whole: Arc::new(Semaphore::new(bounds.whole)),
            whole_bound: u32::try_from(bounds.whole).expect("a bound of writes is a small number"),
            group_bound: bounds.group,
            groups: groups.map(|id| (id, Arc::new(Semaphore::new(bounds.group)))).collect(),
        }
    }

    /// A permit at once, or `None` over the bound and once closed.
    #[must_use]
    pub fn permit(&self, group: GroupId) -> Option<Permit> {
        let whole = Arc::clone(&self.whole).try_acquire_owned().ok()?;
        let group = Arc::clone(self.groups.get(&group)?).try_acquire_owned().ok()?;
        Some(Permit { _whole: whole, _group: group })
    }

    /// Whether a permit could be had now. It may be gone a moment later.
    #[must_use]
    pub fn has_room(&self, group: GroupId) -> bool {
        let left =
            |permits: &Arc<Semaphore>| !permits.is_closed() && permits.available_permits() > 0;
        left(&self.whole) && self.groups.get(&group).is_some_and(left)
    }

    /// Permits that are out, of all groups together and of the one that has most.
    #[must_use]
    pub fn under_way(&self) -> (usize, usize) {
        let whole = (self.whole_bound as usize).saturating_sub(self.whole.available_permits());
        let of =
            |group: &Arc<Semaphore>| self.group_bound.saturating_sub(group.available_permits());
        (whole, self.groups.values().map(of).max().unwrap_or(0))
    }

    /// Lets nobody in any more and waits until everybody has been answered.
    pub async fn close(&self) {
        self.groups.values().for_each(|group| group.close());
        // Nobody can take a permit now, so all of them come back.
        drop(self.whole.acquire_many(self.whole_bound).await);
    }
}
