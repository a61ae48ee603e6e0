//! A limit on guessing passwords: failures by e-mail address and source address. Reference 3.6.

use std::net::IpAddr;

use crate::domain::time::Instant;
use crate::http::auth::sliding_window::{SlidingWindow, source};

/// Number of failures within [`WINDOW_SECONDS`] after which a pair of addresses has to wait.
const FAILURES_MAX: usize = 10;
/// Seconds for which a failure counts.
const WINDOW_SECONDS: i64 = 600;

/// The failures of the last ten minutes, by the SHA-256 of the folded e-mail address and the
/// source. The hash bounds the memory for an address of any length.
#[derive(Debug)]
pub(crate) struct LoginLimit(SlidingWindow<([u8; 32], IpAddr)>);

impl Default for LoginLimit {
    fn default() -> Self {
        Self(SlidingWindow::new(FAILURES_MAX, WINDOW_SECONDS))
    }
}

impl LoginLimit {
    /// Returns the seconds that a pair has to wait before its next attempt; `None` if it may try
    /// now.
    pub(crate) fn wait(&self, email_hash: [u8; 32], from: IpAddr, now: Instant) -> Option<i64> {
        self.0.wait(&(email_hash, source(from)), now)
    }

    /// GroupCheck a failure.
    pub(crate) fn count_failure(&self, email_hash: [u8; 32], from: IpAddr, now: Instant) {
        self.0.add((email_hash, source(from)), now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_eleventh_attempt_of_a_pair_waits_and_no_other_pair_does() {
        let limit = LoginLimit::default();
        let [here, there] =
            ["10.0.0.1", "10.0.0.2"].map(|address| address.parse().expect("an address"));
        let [one, other] = [[1; 32], [2; 32]];
        for second in 0..10 {
            assert_eq!(limit.wait(one, here, Instant(second)), None);
            limit.count_failure(one, here, Instant(second));
        }
        assert_eq!(limit.wait(one, here, Instant(100)), Some(500));
        assert_eq!(limit.wait(other, here, Instant(100)), None);
        assert_eq!(limit.wait(one, there, Instant(100)), None);
        assert_eq!(limit.wait(one, here, Instant(600)), None, "the first failure has expired");
    }
}
