//! Health of the store: reported by the journal's writer and the disk monitor, read before each
//! write. Invariant 8.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant as Stopwatch;

use crate::planted_faults::PlantedFault;

/// Age of the batch in progress from which new writes are rejected.
const SLOW_BATCH: Duration = Duration::from_secs(5);
/// Interval of the looks of the disk monitor.
pub const LOOK_INTERVAL: Duration = Duration::from_millis(200);
/// Looks at one batch in progress from which the disk counts as stalled and the process has to end:
/// those of a minute. They are counted in place of the time, which goes on while the process is
/// paused.
const STALLED_LOOKS: u64 = 300;

/// Health of the writer and its disk.
#[derive(Debug)]
pub struct Health {
    /// Origin of `batch_began_ms`.
    epoch: Stopwatch,
    /// Start of the batch in progress, in milliseconds since `epoch`, at least 1; 0 between
    /// batches.
    batch_began_ms: AtomicU64,
    /// Looks of the monitor at the batch in progress.
    batch_looks: AtomicU64,
    /// Looks of the monitor that the disk did not answer, since the start.
    failed_looks: AtomicU64,
    /// Whether the disk has less free space than the reserve.
    disk_is_low: AtomicBool,
    /// Whether the engine is shutting down.
    shutting_down: AtomicBool,
    /// Whether the supervisor has ended. An error unless `shutting_down`.
    supervisor_ended: AtomicBool,
    /// Whether the store is one that a cluster shares.
    is_shared: AtomicBool,
}

/// Reason why no write is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WritesUnavailable {
    /// The batch in progress has taken this many seconds.
    SlowDisk(u64),
    /// The same of the batch in progress in a store that a cluster shares.
    SilentStore(u64),
    /// The disk has less free space than the reserve.
    LowDiskSpace,
}

/// Reason why the process has to end, so that the next start recovers from the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FatalCondition {
    /// The batch in progress has taken this many seconds, in which the process ran.
    #[error("a write to the disk has taken {0} seconds and may never complete")]
    DiskStalled(u64),
    /// The supervisor ended without a shutdown, so no write reaches its group: a bug.
    #[error("the supervisor of all groups has ended without a shutdown")]
    SupervisorEnded,
}

impl Default for Health {
    fn default() -> Self {
        Self {
            epoch: Stopwatch::now(),
            batch_began_ms: AtomicU64::new(0),
            batch_looks: AtomicU64::new(0),
            failed_looks: AtomicU64::new(0),
            disk_is_low: AtomicBool::new(false),
            shutting_down: AtomicBool::new(false),
            supervisor_ended: AtomicBool::new(false),
            is_shared: AtomicBool::new(false),
        }
    }
}

impl Health {
    /// Returns why writes are rejected now; `None` if they are taken.
    pub fn writes_unavailable(&self) -> Option<WritesUnavailable> {
        if self.disk_is_low.load(Ordering::Relaxed) && !PlantedFault::FullDiskWritten.is_active() {
            return Some(WritesUnavailable::LowDiskSpace);
        }
        let age = self.batch_age();
        if age < SLOW_BATCH {
            return None;
        }
        let reason = if self.is_shared.load(Ordering::Relaxed) {
            WritesUnavailable::SilentStore
        } else {
            WritesUnavailable::SlowDisk
        };
        Some(reason(age.as_secs()))
    }

    /// Looks at the batch in progress; to be called each [`LOOK_INTERVAL`]. Returns why the process
    /// has to end; `None` if it may go on.
    pub fn look(&self) -> Option<FatalCondition> {
        let supervisor_ended = self.supervisor_ended.load(Ordering::Relaxed);
        if supervisor_ended && !self.shutting_down.load(Ordering::Relaxed) {
            return Some(FatalCondition::SupervisorEnded);
        }
        if self.batch_began_ms.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let looks = self.batch_looks.fetch_add(1, Ordering::Relaxed) + 1;
        let stalled = LOOK_INTERVAL.saturating_mul(u32::try_from(looks).unwrap_or(u32::MAX));
        if looks >= STALLED_LOOKS {
            return Some(FatalCondition::DiskStalled(stalled.as_secs()));
        }
        None
    }

    /// Counts a look that the disk did not answer.
    pub fn count_failed_look(&self) {
        self.failed_looks.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of looks that the disk did not answer, since the start.
    pub fn failed_looks(&self) -> u64 {
        self.failed_looks.load(Ordering::Relaxed)
    }

    /// Records whether the disk has at least the reserve free, and logs a change.
    pub fn set_disk_has_room(&self, has_room: bool) {
        let was_low = self.disk_is_low.swap(!has_room, Ordering::Relaxed);
        let had_room = !was_low;
        if has_room == had_room {
            return;
        }
        if has_room {
            tracing::info!("the disk has free space again: writes are accepted");
        } else {
            tracing::error!(
                "the disk has less free space than the reserve: writes are rejected, reads go on"
            );
        }
    }

    /// Notes that the store is one that a cluster shares.
    pub(crate) fn note_shared(&self) {
        self.is_shared.store(true, Ordering::Relaxed);
    }

    pub(crate) fn batch_began(&self) {
        self.batch_looks.store(0, Ordering::Relaxed);
        self.batch_began_ms.store(self.now_ms().max(1), Ordering::Relaxed);
    }

    pub(crate) fn batch_ended(&self) {
        self.batch_began_ms.store(0, Ordering::Relaxed);
    }

    pub(crate) fn shutdown_began(&self) {
        self.shutting_down.store(true, Ordering::Relaxed);
    }

    pub(crate) fn supervisor_ended(&self) {
        self.supervisor_ended.store(true, Ordering::Relaxed);
    }

    fn batch_age(&self) -> Duration {
        match self.batch_began_ms.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            began_ms => Duration::from_millis(self.now_ms().saturating_sub(began_ms)),
        }
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}
