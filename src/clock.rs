//! The only place that reads the OS clock.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use tokio::time::Instant as Monotonic;

use crate::domain::time::Instant;

/// A source of the current time.
pub trait Clock: Send + Sync + 'static {
    /// Returns the current time, in whole seconds.
    fn now(&self) -> Instant;

    /// Returns the monotonic time. It goes on evenly when the clock is set.
    fn monotonic(&self) -> Monotonic {
        Monotonic::now()
    }

    /// Returns the elapsed part of the current second.
    fn subsecond(&self) -> Duration {
        Duration::ZERO
    }
}

/// Converts an instant to the standard library's type; times before 1970 become 1970.
pub fn system_time(moment: Instant) -> std::time::SystemTime {
    std::time::UNIX_EPOCH + Duration::from_secs(u64::try_from(moment.0).unwrap_or(0))
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "only this file reads the OS clock")]
    fn now(&self) -> Instant {
        let since_epoch =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Instant(i64::try_from(since_epoch.as_secs()).expect("this century's seconds fit"))
    }

    #[expect(clippy::disallowed_methods, reason = "only this file reads the OS clock")]
    fn subsecond(&self) -> Duration {
        let since_epoch =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Duration::from_nanos(since_epoch.subsec_nanos().into())
    }
}

/// A clock that only moves when it is set.
#[derive(Debug, Default)]
pub struct ManualClock {
    /// The time in UTC seconds.
    now: AtomicI64,
    /// Seconds that [`ManualClock::set`] let pass, beside the passing of tokio's time.
    passed: AtomicI64,
}

impl ManualClock {
    /// Creates a clock that shows this time.
    pub fn at(moment: Instant) -> Self {
        Self { now: AtomicI64::new(moment.0), passed: AtomicI64::new(0) }
    }

    /// Sets the time. Forwards, the monotonic time passes as well. Back, it does not move.
    pub fn set(&self, moment: Instant) {
        let before = self.now.swap(moment.0, Ordering::SeqCst);
        self.passed.fetch_add(moment.0.saturating_sub(before).max(0), Ordering::SeqCst);
    }

    /// Sets the time alone, as a wrong time server would. No monotonic time passes.
    pub fn step(&self, moment: Instant) {
        self.now.store(moment.0, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Instant {
        Instant(self.now.load(Ordering::SeqCst))
    }

    fn monotonic(&self) -> Monotonic {
        let passed = u64::try_from(self.passed.load(Ordering::SeqCst)).unwrap_or(0);
        Monotonic::now() + Duration::from_secs(passed)
    }
}
