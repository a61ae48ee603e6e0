//! The only place that reads the OS clock.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use crate::domain::time::Instant;

/// Tells the time to whoever is handed it.
pub trait Clock: Send + Sync + 'static {
    /// The current moment, to the second.
    fn now(&self) -> Instant;

    /// How far the current second has gone.
    fn subsecond(&self) -> Duration {
        Duration::ZERO
    }
}

/// A moment as other crates take it.
#[must_use]
pub fn system_time(moment: Instant) -> std::time::SystemTime {
    std::time::UNIX_EPOCH + Duration::from_secs(u64::try_from(moment.0).unwrap_or(0))
}

/// The clock of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the place")]
    fn now(&self) -> Instant {
        let since_epoch =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Instant(i64::try_from(since_epoch.as_secs()).expect("this century's seconds fit"))
    }

    #[expect(clippy::disallowed_methods, reason = "this is the place")]
    fn subsecond(&self) -> Duration {
        let since_epoch =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Duration::from_nanos(since_epoch.subsec_nanos().into())
    }
}

/// A clock that stands still until it is moved.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// A clock standing at a moment.
    #[must_use]
    pub fn at(moment: Instant) -> Self {
        Self(AtomicI64::new(moment.0))
    }

    /// Moves the hand, forwards or back.
    pub fn set(&self, moment: Instant) {
        self.0.store(moment.0, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Instant {
        Instant(self.0.load(Ordering::SeqCst))
    }
}
