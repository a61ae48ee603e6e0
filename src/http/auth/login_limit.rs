//! Against guessing passwords: failures are counted by e-mail address and source address. Reference 3.

use std::net::IpAddr;

use crate::domain::time::Instant;
use crate::http::auth::sliding_window::{SlidingWindow, source};

/// Failures within [`SECONDS`] after which a pair has to wait.
const FAILURES_MAX: usize = 10;
/// How long a failure counts.
const SECONDS: i64 = 600;

/// The failures of the last ten minutes, by the SHA-256 of the e-mail address as it was given, folded, and where from:
/// of whatever length of text was given for an address, as much is kept.
#[derive(Debug)]
pub(crate) struct LoginLimit(SlidingWindow<([u8; 32], IpAddr)>);

impl Default for LoginLimit {
    fn default() -> Self {
        Self(SlidingWindow::new(FAILURES_MAX, SECONDS))
    }
}

impl LoginLimit {
    /// Seconds that a pair has to wait before its next try, if it has to.
    pub(crate) fn wait(&self, email_hash: [u8; 32], from: IpAddr, now: Instant) -> Option<i64> {
        self.0.wait(&(email_hash, source(from)), now)
    }

    /// Notes a failure.
    pub(crate) fn failed(&self, email_hash: [u8; 32], from: IpAddr, now: Instant) {
        self.0.add((email_hash, source(from)), now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_eleventh_try_of_a_pair_waits_and_nobody_else_does() {
        let throttle = LoginLimit::default();
        let [here, there] =
            ["10.0.0.1", "10.0.0.2"].map(|address| address.parse().expect("an address"));
        let [one, other] = [[1; 32], [2; 32]];
        for second in 0..10 {
            assert_eq!(throttle.wait(one, here, Instant(second)), None);
            throttle.failed(one, here, Instant(second));
        }
        assert_eq!(throttle.wait(one, here, Instant(100)), Some(500));
        assert_eq!(throttle.wait(other, here, Instant(100)), None);
        assert_eq!(throttle.wait(one, there, Instant(100)), None);
        assert_eq!(
            throttle.wait(one, here, Instant(600)),
            None,
            "the first failure counts no more"
        );
    }
}
