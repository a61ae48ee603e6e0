//! Admission control: a write takes a permit before it is queued, and gives it back with its
//! answer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::domain::records::ids::GroupId;
use crate::engine::group_map::GroupMap;

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
    /// One permit per write in flight of the group.
    groups: GroupMap<GroupPermits>,
    /// Whether [`Admission::close`] was called. Set before it waits for the permits of all groups.
    is_closed: AtomicBool,
}

/// The semaphore of a group, made with its first write: most groups of a start have none for long.
type GroupPermits = OnceLock<Arc<Semaphore>>;

/// Permission for one write in flight; dropped with its answer.
#[derive(Debug)]
pub struct Permit {
    _all_groups: OwnedSemaphorePermit,
    _group: OwnedSemaphorePermit,
}

impl Admission {
    /// Creates the permits of these groups.
    ///
    /// # Panics
    /// If `limits.writes_max` exceeds `u32::MAX`.
    pub fn new(limits: AdmissionLimits, groups: impl Iterator<Item = GroupId>) -> Self {
        let unused = |group| (group, OnceLock::new());
        Self {
            all_groups: Arc::new(Semaphore::new(limits.writes_max)),
            writes_max: u32::try_from(limits.writes_max).expect("a limit of writes fits 32 bits"),
            group_writes_max: limits.group_writes_max,
            groups: GroupMap::new(groups.map(unused)),
            is_closed: AtomicBool::new(false),
        }
    }

    /// Adds a new group.
    pub(crate) fn add_group(&self, group: GroupId) {
        self.groups.add(group, OnceLock::new());
    }

    /// Returns a permit without waiting. `None` over a limit, after [`Admission::close`], and for
    /// an unknown group.
    #[must_use]
    pub fn try_acquire(&self, group: GroupId) -> Option<Permit> {
        let all_groups = Arc::clone(&self.all_groups).try_acquire_owned().ok()?;
        // Read after the permit was taken, for which `close` waits.
        if self.is_closed.load(Ordering::SeqCst) {
            return None;
        }
        let new_semaphore = || Arc::new(Semaphore::new(self.group_writes_max));
        let semaphore =
            self.groups.with(group, |group| Arc::clone(group.get_or_init(new_semaphore)))?;
        let group = semaphore.try_acquire_owned().ok()?;
        Some(Permit { _all_groups: all_groups, _group: group })
    }

    /// Returns whether a permit is available now. Another write may take it a moment later.
    pub fn has_room(&self, group: GroupId) -> bool {
        let has_room = |group: &GroupPermits| {
            has_permit(&self.all_groups) && group.get().is_none_or(|group| has_permit(group))
        };
        !self.is_closed.load(Ordering::SeqCst) && self.groups.with(group, has_room).unwrap_or(false)
    }

    /// Returns the permits in use: of all groups together, and of the group that uses most.
    pub fn permits_in_use(&self) -> (usize, usize) {
        let total = (self.writes_max as usize).saturating_sub(self.all_groups.available_permits());
        let mut fullest = 0;
        self.groups.each(|group| {
            if let Some(group) = group.get() {
                let used = self.group_writes_max.saturating_sub(group.available_permits());
                fullest = fullest.max(used);
            }
        });
        (total, fullest)
    }

    /// Stops handing out permits, and waits until every permit has come back.
    pub async fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
        // A write that takes a permit after this gives it back at once.
        drop(self.all_groups.acquire_many(self.writes_max).await);
    }
}

fn has_permit(semaphore: &Semaphore) -> bool {
    semaphore.available_permits() > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn permits_are_limited_for_each_group_and_none_is_given_after_the_end() {
        let group = |id| GroupId::new(id).expect("an id");
        let limits = AdmissionLimits { writes_max: 3, group_writes_max: 2 };
        let admission = Admission::new(limits, [1, 2].map(group).into_iter());
        admission.add_group(group(3));
        let held = [1, 1].map(|id| admission.try_acquire(group(id)).expect("a permit"));
        assert!(!admission.has_room(group(1)) && admission.try_acquire(group(1)).is_none());
        assert!(admission.has_room(group(3)) && !admission.has_room(group(4)));
        assert_eq!(admission.permits_in_use(), (2, 2));
        let last = admission.try_acquire(group(2));
        assert!(last.is_some() && !admission.has_room(group(3)), "all groups together have three");
        let mut ended = Box::pin(admission.close());
        assert!(futures_util::poll!(&mut ended).is_pending(), "writes are under way");
        drop((held, last));
        ended.await;
        for id in 1..=3 {
            assert!(!admission.has_room(group(id)) && admission.try_acquire(group(id)).is_none());
        }
    }
}
