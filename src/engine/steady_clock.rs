//! A time that steps of the machine's clock do not shorten. Expiry is decided by it.
//!
//! The steady time starts as the clock, and advances with the monotonic time of the process. It
//! follows a clock that is set back at once. It follows a clock that is ahead after a day, when
//! everything recorded before the step has had its 24 hours.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant as Monotonic;

use crate::clock::Clock;
use crate::domain::state::delivery_step::LatePolicy;
use crate::domain::time::zone;
use crate::domain::time::{DAY, Instant};

/// Seconds by which the clock may be ahead of the steady time without consequence.
const TOLERANCE_SECONDS: i64 = 60;
/// Seconds by which the clock must be ahead of the steady time to be in doubt.
const DOUBT_SECONDS_MIN: i64 = DAY;
/// Time for which a clock that is ahead is in doubt. Irreversible upkeep waits so long.
const DOUBT_DURATION: Duration = Duration::from_hours(1);
/// Time after which the steady time adopts a clock that is ahead. It is the life of idempotency
/// records and account links, so it shortens none of them.
const ADOPTION_DELAY: Duration = Duration::from_hours(24);

/// The steady time, and the doubt about the clock.
pub(crate) struct SteadyClock {
    clock: Arc<dyn Clock>,
    state: Mutex<SteadyState>,
}

/// The steady time at one moment. The present one follows from the elapsed monotonic time.
struct SteadyState {
    at: Instant,
    since: Monotonic,
    /// The step that put the clock ahead; `None` while the clock is not ahead.
    ahead: Option<Step>,
}

/// A step of the clock that the steady time has not adopted.
#[derive(Clone, Copy)]
struct Step {
    /// Seconds by which the clock is ahead of the steady time. It falls when the clock is set back.
    seconds: i64,
    /// The moment at which the step was noticed.
    noticed: Monotonic,
}

impl SteadyState {
    /// Updates the state by a reading of the clock, and returns the steady time.
    fn update(&mut self, wall: Instant, monotonic: Monotonic) -> Instant {
        let elapsed = monotonic.saturating_duration_since(self.since).as_secs();
        let steady = self.at.plus_seconds(i64::try_from(elapsed).unwrap_or(i64::MAX / 2));
        if wall < steady {
            *self = Self { at: wall, since: monotonic, ahead: None };
            return wall;
        }
        let seconds = wall.seconds_since(steady);
        if seconds <= TOLERANCE_SECONDS {
            self.ahead = None;
            return steady;
        }
        match &mut self.ahead {
            // Another step ahead: what was recorded between the two needs its time as well.
            Some(step) if seconds <= step.seconds + TOLERANCE_SECONDS => {
                step.seconds = step.seconds.min(seconds);
            }
            _ => {
                self.ahead = Some(Step { seconds, noticed: monotonic });
                if seconds > DOUBT_SECONDS_MIN {
                    warn_of_doubt(wall, steady);
                }
            }
        }
        if let Some(step) = self.ahead
            && monotonic.saturating_duration_since(step.noticed) >= ADOPTION_DELAY
        {
            *self = Self { at: wall, since: monotonic, ahead: None };
            return wall;
        }
        steady
    }

    /// Returns the seconds by which a clock in doubt is ahead; `None` if it is not in doubt.
    fn doubt_seconds(&self, monotonic: Monotonic) -> Option<i64> {
        let step = self.ahead?;
        let is_young = monotonic.saturating_duration_since(step.noticed) < DOUBT_DURATION;
        if step.seconds > DOUBT_SECONDS_MIN && is_young { Some(step.seconds) } else { None }
    }
}

impl SteadyClock {
    /// Starts the steady time. `last_stamp` is the newest stamp of the store, if it has any. A
    /// clock that is more than a day ahead of it is in doubt, and is logged as a warning.
    pub(crate) fn new(clock: Arc<dyn Clock>, last_stamp: Option<Instant>) -> Self {
        let wall = clock.now();
        let since = clock.monotonic();
        let at = initial_time(wall, last_stamp);
        let mut state = SteadyState { at, since, ahead: None };
        state.update(wall, since);
        Self { clock, state: Mutex::new(state) }
    }

    /// Returns the steady time. It is never after the clock.
    pub(crate) fn now(&self) -> Instant {
        self.read().0
    }

    /// Returns the seconds by which a clock in doubt is ahead; `None` if it is not in doubt. It is
    /// in doubt for an hour after a step of more than a day was noticed.
    pub(crate) fn doubt_seconds(&self) -> Option<i64> {
        self.read().1
    }

    /// Returns the treatment of messages that are too late by the clock.
    pub(crate) fn late_policy(&self) -> LatePolicy {
        match self.doubt_seconds() {
            Some(_) => LatePolicy::Wait,
            None => LatePolicy::GiveUp,
        }
    }

    fn read(&self) -> (Instant, Option<i64>) {
        // Read before the lock is taken, so that a clock that panics leaves the lock usable.
        let wall = self.clock.now();
        let monotonic = self.clock.monotonic();
        let mut state = self.state.lock();
        let steady = state.update(wall, monotonic);
        (steady, state.doubt_seconds(monotonic))
    }
}

/// Returns the time to trust at start: the clock, or the newest stamp of the store if the clock is
/// more than a day ahead of it.
pub(crate) fn initial_time(wall: Instant, last_stamp: Option<Instant>) -> Instant {
    match last_stamp {
        Some(stamp) if wall.seconds_since(stamp) > DOUBT_SECONDS_MIN => stamp,
        _ => wall,
    }
}

fn warn_of_doubt(wall: Instant, steady: Instant) {
    tracing::warn!(
        clock = %format_utc(wall),
        last_known_time = %format_utc(steady),
        "the clock is more than a day ahead of the last known time (at start: the last change in \
         the store). For one hour, no message is given up as too late and no deleted event is \
         removed. If the clock is wrong, stop the server, set the clock and start again; if it is \
         right, there is nothing to do"
    );
}

/// Formats a UTC time, like `2026-03-03 10:00:00 UTC`.
fn format_utc(moment: Instant) -> String {
    let civil = zone::utc_of(moment);
    let (year, month, day) = civil.day().ymd();
    let (hour, minute, second) = civil.hour_minute_second();
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;
    use crate::domain::time::HOUR;

    const START: Instant = Instant(1_000 * DAY);

    /// A steady clock over a manual one, which shows `START` plus some seconds.
    fn steady_clock(ahead: i64, last_stamp: Option<Instant>) -> (Arc<ManualClock>, SteadyClock) {
        let clock = Arc::new(ManualClock::at(START.plus_seconds(ahead)));
        (Arc::clone(&clock), SteadyClock::new(clock, last_stamp))
    }

    #[test]
    fn it_goes_with_a_clock_that_is_right() {
        let (clock, steady) = steady_clock(0, Some(START.plus_seconds(-DAY)));
        for seconds in [0, 5, HOUR, 30 * DAY] {
            clock.set(START.plus_seconds(seconds));
            assert_eq!((steady.now(), steady.doubt_seconds()), (START.plus_seconds(seconds), None));
        }
    }

    #[test]
    fn a_clock_that_is_set_back_is_followed_at_once() {
        let (clock, steady) = steady_clock(0, None);
        clock.step(START.plus_seconds(-3 * DAY));
        assert_eq!(steady.now(), START.plus_seconds(-3 * DAY));
        clock.step(START);
        assert_eq!(steady.now(), START.plus_seconds(-3 * DAY));
        assert_eq!(steady.doubt_seconds(), Some(3 * DAY));
    }

    #[test]
    fn a_clock_that_is_ahead_is_in_doubt_for_an_hour_and_is_adopted_after_a_day() {
        let (clock, steady) = steady_clock(10 * DAY, Some(START));
        for (passed, doubt) in
            [(0, Some(10 * DAY)), (HOUR - 1, Some(10 * DAY)), (HOUR, None), (DAY - 1, None)]
        {
            clock.set(START.plus_seconds(10 * DAY + passed));
            let expected = (START.plus_seconds(passed), doubt);
            assert_eq!((steady.now(), steady.doubt_seconds()), expected);
        }
        clock.set(START.plus_seconds(11 * DAY));
        assert_eq!(steady.now(), START.plus_seconds(11 * DAY));
    }

    #[test]
    fn a_second_step_ahead_is_adopted_a_day_after_itself() {
        let (clock, steady) = steady_clock(0, None);
        clock.step(START.plus_seconds(2 * HOUR));
        assert_eq!((steady.now(), steady.doubt_seconds()), (START, None), "too small for doubt");
        clock.set(START.plus_seconds(22 * HOUR));
        clock.step(START.plus_seconds(5 * DAY));
        assert_eq!(steady.now(), START.plus_seconds(20 * HOUR));
        clock.set(START.plus_seconds(6 * DAY - 1));
        assert_eq!(steady.now(), START.plus_seconds(44 * HOUR - 1));
        clock.set(START.plus_seconds(6 * DAY));
        assert_eq!(steady.now(), START.plus_seconds(6 * DAY));
    }
}
