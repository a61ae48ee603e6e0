//! Admission control: a write takes a permit before it is queued, and gives it back with its
//! answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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
    groups: GroupMap<Arc<Semaphore>>,
    /// Whether [`Admission::close`] was called. Set before the semaphores of groups are closed.
    is_closed: AtomicBool,
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
    pub fn new(limits: AdmissionLimits, groups: impl Iterator<Item = GroupId>) -> Self {
        let semaphore = |group| (group, Arc::new(Semaphore::new(limits.group_writes_max)));
        Self {
            all_groups: Arc::new(Semaphore::new(limits.writes_max)),
            writes_max: u32::try_from(limits.writes_max).expect("a limit of writes fits 32 bits"),
            group_writes_max: limits.group_writes_max,
            groups: GroupMap::new(groups.map(semaphore)),
            is_closed: AtomicBool::new(false),
        }
    }

    /// Adds the semaphore of a new group.
    pub(crate) fn add_group(&self, group: GroupId) {
        let semaphore = Arc::new(Semaphore::new(self.group_writes_max));
        self.groups.add(group, Arc::clone(&semaphore));
        // Read after the addition: either this or `close` sees the other.
        if self.is_closed.load(Ordering::SeqCst) {
            semaphore.close();
        }
    }

    /// Returns a permit without waiting. `None` over a limit, after [`Admission::close`], and for
    /// an unknown group.
    #[must_use]
    pub fn try_acquire(&self, group: GroupId) -> Option<Permit> {
        let all_groups = Arc::clone(&self.all_groups).try_acquire_owned().ok()?;
        let group = self.groups.with(group, Arc::clone)?.try_acquire_owned().ok()?;
        Some(Permit { _all_groups: all_groups, _group: group })
    }

    /// Returns whether a permit is available now. Another write may take it a moment later.
    pub fn has_room(&self, group: GroupId) -> bool {
        let has_room = |group: &Arc<Semaphore>| has_permit(&self.all_groups) && has_permit(group);
        self.groups.with(group, has_room).unwrap_or(false)
    }

    /// Returns the permits in use: of all groups together, and of the group that uses most.
    pub fn permits_in_use(&self) -> (usize, usize) {
        let total = (self.writes_max as usize).saturating_sub(self.all_groups.available_permits());
        let mut fullest = 0;
        self.groups.each(|group| {
            let used = self.group_writes_max.saturating_sub(group.available_permits());
            fullest = fullest.max(used);
        });
        (total, fullest)
    }

    /// Stops handing out permits, and waits until every permit has come back.
    pub async fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
        self.groups.each(|group| group.close());
        // The groups' semaphores are closed, so no new write can hold one of these permits.
        drop(self.all_groups.acquire_many(self.writes_max).await);
    }
}

fn has_permit(semaphore: &Semaphore) -> bool {
    !semaphore.is_closed() && semaphore.available_permits() > 0
}
