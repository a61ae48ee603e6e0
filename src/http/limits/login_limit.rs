//! Limits on guessing passwords: failures by e-mail address and source. Reference 3.6.

use std::net::IpAddr;

use crate::domain::time::{DAY, HOUR, Instant};
use crate::http::limits::sliding_window::{SlidingWindow, source};

/// Number of failures within [`WINDOW_SECONDS`] after which a pair of addresses has to wait.
pub(crate) const PAIR_FAILURES_MAX: usize = 10;
/// Number of failures within [`WINDOW_SECONDS`] after which a source has to wait.
pub(crate) const SOURCE_FAILURES_MAX: usize = 30;
/// Seconds for which a failure of a pair or of a source counts.
pub(crate) const WINDOW_SECONDS: i64 = 600;
/// Number of failures of an e-mail address, from all sources, after which attempts are delayed.
pub(crate) const EMAIL_FAILURES_FREE: usize = 20;
/// Seconds for which a failure of an e-mail address counts.
const EMAIL_WINDOW_SECONDS: i64 = HOUR;
/// Number of failures of an e-mail address at which the delay is longest.
const EMAIL_FAILURES_COUNTED: usize = EMAIL_FAILURES_FREE + 8;
/// Longest delay after a failure.
pub(crate) const EMAIL_DELAY_SECONDS_MAX: i64 = 120;
/// Seconds for which a source at which a login succeeded is exempt from the delay of the address.
pub(crate) const KNOWN_SECONDS: i64 = 30 * DAY;

/// Recent failures, by the SHA-256 of the folded e-mail address, by source, and by both. The hash
/// bounds the memory for an address of any length.
///
/// Strangers who guess from many sources delay each other. They do not lock out the owner of the
/// address, whose source is known from an earlier login.
#[derive(Debug)]
pub(crate) struct LoginLimit {
    pairs: SlidingWindow<([u8; 32], IpAddr)>,
    sources: SlidingWindow<IpAddr>,
    emails: SlidingWindow<[u8; 32]>,
    /// Sources at which an address has logged in.
    known: SlidingWindow<([u8; 32], IpAddr)>,
}

impl Default for LoginLimit {
    fn default() -> Self {
        Self {
            pairs: SlidingWindow::new(PAIR_FAILURES_MAX, WINDOW_SECONDS),
            sources: SlidingWindow::new(SOURCE_FAILURES_MAX, WINDOW_SECONDS),
            emails: SlidingWindow::new(EMAIL_FAILURES_COUNTED, EMAIL_WINDOW_SECONDS),
            known: SlidingWindow::new(1, KNOWN_SECONDS),
        }
    }
}

impl LoginLimit {
    /// Returns the seconds that an address has to wait at a source before its next attempt; `None`
    /// if it may try now.
    pub(crate) fn wait(&self, email_hash: [u8; 32], from: IpAddr, now: Instant) -> Option<i64> {
        let source = source(from);
        let pair = (email_hash, source);
        let own = self.pairs.wait(&pair, now).max(self.sources.wait(&source, now));
        if self.known.count(&pair, now) > 0 {
            return own;
        }
        own.max(self.email_delay(&email_hash, now))
    }

    /// Returns the rest of the delay that follows the last failure of an e-mail address.
    fn email_delay(&self, email_hash: &[u8; 32], now: Instant) -> Option<i64> {
        let failures = self.emails.count(email_hash, now);
        if failures <= EMAIL_FAILURES_FREE {
            return None;
        }
        let doublings = failures - EMAIL_FAILURES_FREE - 1;
        let delay = (1_i64 << doublings).min(EMAIL_DELAY_SECONDS_MAX);
        let rest = delay - now.seconds_since(self.emails.last(email_hash, now)?);
        if rest > 0 { Some(rest) } else { None }
    }

    /// Counts a failure.
    pub(crate) fn count_failure(&self, email_hash: [u8; 32], from: IpAddr, now: Instant) {
        let source = source(from);
        self.pairs.add((email_hash, source), now);
        self.sources.add(source, now);
        self.emails.add(email_hash, now);
    }

    /// Records that a login succeeded.
    pub(crate) fn record_success(&self, email_hash: [u8; 32], from: IpAddr, now: Instant) {
        self.known.add((email_hash, source(from)), now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn the_eleventh_attempt_of_a_pair_waits_and_no_other_pair_does() {
        let limit = LoginLimit::default();
        let [here, there] = ["10.0.0.1", "10.0.0.2"].map(address);
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

    #[test]
    fn a_source_has_30_failures_in_ten_minutes_for_all_addresses_together() {
        let limit = LoginLimit::default();
        let [here, there] = ["2001:db8::1", "2001:db8:0:1::1"].map(address);
        for number in 0..30 {
            assert_eq!(limit.wait([number; 32], here, Instant(0)), None);
            limit.count_failure([number; 32], here, Instant(0));
        }
        assert_eq!(limit.wait([99; 32], address("2001:db8::2"), Instant(1)), Some(599));
        assert_eq!(limit.wait([99; 32], there, Instant(1)), None);
        assert_eq!(limit.wait([99; 32], here, Instant(600)), None);
    }

    #[test]
    fn failures_from_many_sources_delay_strangers_more_and_more_and_no_known_source() {
        let limit = LoginLimit::default();
        let email = [1; 32];
        let home = address("10.9.9.9");
        limit.record_success(email, home, Instant(0));
        let delays: Vec<Option<i64>> = (0..30)
            .map(|number| {
                limit.count_failure(email, [10, 0, 0, number].into(), Instant(0));
                limit.wait(email, address("10.1.1.1"), Instant(0))
            })
            .collect();
        assert!(delays[..20].iter().all(Option::is_none), "{delays:?}");
        let growing = [1, 2, 4, 8, 16, 32, 64, 120, 120, 120].map(Some);
        assert_eq!(delays[20..], growing);
        assert_eq!(limit.wait(email, address("10.1.1.1"), Instant(119)), Some(1));
        assert_eq!(limit.wait(email, address("10.1.1.1"), Instant(120)), None);
        assert_eq!(limit.wait(email, home, Instant(0)), None);
        assert_eq!(limit.wait([2; 32], address("10.1.1.1"), Instant(0)), None);
    }
}
