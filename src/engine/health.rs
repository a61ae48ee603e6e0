//! How the store fares: told by the journal's writer and by whoever looks at the disk, asked before each write.
//! Invariant 8.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant as Stopwatch;

/// A batch that takes longer than this keeps new writes out.
const SLOW: Duration = Duration::from_secs(5);
/// A batch that takes longer than this is never coming back: the process has to end.
const STUCK: Duration = Duration::from_secs(60);

/// What is known of the writer and its disk.
#[derive(Debug)]
pub struct Health {
    /// Since when milliseconds are counted.
    epoch: Stopwatch,
    /// When the batch under way was begun, in milliseconds, at least 1; 0 while none is.
    batch_since: AtomicU64,
    /// Whether the disk has less room than is kept in reserve.
    short_of_room: AtomicBool,
    /// Whether the engine was told to end.
    ending: AtomicBool,
    /// Whether the supervisor is no more.
    headless: AtomicBool,
}

/// Why no write is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WritesUnavailable {
    /// The batch under way has been on its way to disk for so many seconds.
    SlowDisk(u64),
    /// The disk has less room than is kept in reserve.
    LowDiskSpace,
}

/// Why the process has to end, so that the next start recovers what is on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FatalCondition {
    /// Nothing has been heard of a batch for too long.
    #[error("a write to the disk has taken {0} seconds, and nothing can be promised any more")]
    DiskStalled(u64),
    /// Nobody hands writes to their groups any more: a bug of ours.
    #[error("the supervisor of all groups has ended, though nobody told it to")]
    SupervisorEnded,
}

impl Default for Health {
    fn default() -> Self {
        Self {
            epoch: Stopwatch::now(),
            batch_since: AtomicU64::new(0),
            short_of_room: AtomicBool::new(false),
            ending: AtomicBool::new(false),
            headless: AtomicBool::new(false),
        }
    }
}

impl Health {
    /// Why no write is to be taken now; `None` where all is well.
    #[must_use]
    pub fn writes_unavailable(&self) -> Option<WritesUnavailable> {
        if self.short_of_room.load(Ordering::Relaxed) {
            return Some(WritesUnavailable::LowDiskSpace);
        }
        let age = self.batch_age();
        (age >= SLOW).then_some(WritesUnavailable::SlowDisk(age.as_secs()))
    }

    /// Why the process has to end; `None` where it may go on.
    #[must_use]
    pub fn fatal_condition(&self) -> Option<FatalCondition> {
        if self.headless.load(Ordering::Relaxed) && !self.ending.load(Ordering::Relaxed) {
            return Some(FatalCondition::SupervisorEnded);
        }
        let age = self.batch_age();
        (age >= STUCK).then_some(FatalCondition::DiskStalled(age.as_secs()))
    }

    /// Says whether the disk has as much room as is kept in reserve.
    pub fn set_disk_has_room(&self, enough: bool) {
        if self.short_of_room.swap(!enough, Ordering::Relaxed) == enough {
            if enough {
                tracing::info!("the disk has room again: writes are taken");
            } else {
                tracing::error!(
                    "the disk has less room than is kept in reserve: reads go on, writes are refused"
                );
            }
        }
    }

    pub(super) fn batch_begins(&self) {
        self.batch_since.store(self.now().max(1), Ordering::Relaxed);
    }

    pub(super) fn batch_ends(&self) {
        self.batch_since.store(0, Ordering::Relaxed);
    }

    pub(super) fn is_ending(&self) {
        self.ending.store(true, Ordering::Relaxed);
    }

    pub(super) fn supervisor_ended(&self) {
        self.headless.store(true, Ordering::Relaxed);
    }

    fn batch_age(&self) -> Duration {
        match self.batch_since.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            since => Duration::from_millis(self.now().saturating_sub(since)),
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}
