//! Limits on guessing passwords: failures by e-mail address and source. Reference 3.6.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::domain::time::{HOUR, Instant};
use crate::http::auth::login_proof::DeviceNumber;
use crate::http::limits::saved_counts::NamedCounts;
use crate::http::limits::sliding_window::{SlidingWindow, source};
use crate::http::limits::source_networks::SourceNetworks;

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
/// Number of failures within [`WINDOW_SECONDS`] after which a /56 has to wait; twice that for a
/// /48.
pub(crate) const SITE_FAILURES_MAX: usize = 60;

/// Recent failures, by the SHA-256 of the folded e-mail address, by source, and by both. The hash
/// bounds the memory for an address of any length.
///
/// Strangers who guess from many sources delay each other. They do not lock out the owner of the
/// address, whose source or browser is known from an earlier login.
#[derive(Debug)]
pub(crate) struct LoginLimit {
    pairs: SlidingWindow<([u8; 32], IpAddr)>,
    sources: SlidingWindow<IpAddr>,
    sites: SlidingWindow<IpNet>,
    widest: SlidingWindow<IpNet>,
    emails: SlidingWindow<[u8; 32]>,
    /// Failures with the cookie of a browser.
    devices: SlidingWindow<DeviceNumber>,
    /// Failures of people who are logged in, by address.
    logged_in: SlidingWindow<[u8; 32]>,
}

/// The proof that a person has logged in before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KnownFrom {
    /// None.
    Nowhere,
    /// Logins at this source.
    Source,
    /// The cookie of this browser.
    Device(DeviceNumber),
    /// A login that lasts, wherever a stolen one is used.
    Login,
}

impl Default for LoginLimit {
    fn default() -> Self {
        Self {
            pairs: SlidingWindow::new(PAIR_FAILURES_MAX, WINDOW_SECONDS),
            sources: SlidingWindow::new(SOURCE_FAILURES_MAX, WINDOW_SECONDS),
            sites: SlidingWindow::new(SITE_FAILURES_MAX, WINDOW_SECONDS),
            widest: SlidingWindow::new(2 * SITE_FAILURES_MAX, WINDOW_SECONDS),
            emails: SlidingWindow::new(EMAIL_FAILURES_COUNTED, EMAIL_WINDOW_SECONDS),
            devices: SlidingWindow::new(PAIR_FAILURES_MAX, WINDOW_SECONDS),
            logged_in: SlidingWindow::new(PAIR_FAILURES_MAX, WINDOW_SECONDS),
        }
    }
}

impl LoginLimit {
    /// The counts, for other servers of a cluster.
    pub(crate) fn counts(&self) -> [NamedCounts<'_>; 7] {
        [
            NamedCounts::new("logins.pairs", &self.pairs),
            NamedCounts::new("logins.sources", &self.sources),
            NamedCounts::new("logins.sites", &self.sites),
            NamedCounts::new("logins.widest", &self.widest),
            NamedCounts::new("logins.emails", &self.emails),
            NamedCounts::new("logins.devices", &self.devices),
            NamedCounts::new("logins.logged_in", &self.logged_in),
        ]
    }

    /// Returns the seconds that an address has to wait at a source before its next attempt; `None`
    /// if it may try now. A known browser waits for its own failures only, a person who is logged
    /// in for those of such people, and a known source for those of the source.
    pub(crate) fn wait(
        &self,
        email_hash: [u8; 32],
        from: IpAddr,
        known: KnownFrom,
        now: Instant,
    ) -> Option<i64> {
        match known {
            KnownFrom::Device(device) => return self.devices.wait(&device, now),
            KnownFrom::Login => return self.logged_in.wait(&email_hash, now),
            KnownFrom::Source | KnownFrom::Nowhere => {}
        }
        let source = source(from);
        let pair = (email_hash, source);
        let own = self.pairs.wait(&pair, now).max(self.sources.wait(&source, now));
        if known == KnownFrom::Source {
            return own;
        }
        let of_networks = self.network_wait(from, now);
        own.max(of_networks).max(self.email_delay(&email_hash, now))
    }

    /// Returns the seconds that the networks around a source have to wait. The addresses of a /24
    /// of IPv4 may have many holders, and do not count.
    fn network_wait(&self, from: IpAddr, now: Instant) -> Option<i64> {
        let SourceNetworks { own: _, site, widest } = SourceNetworks::around(from);
        self.sites.wait(&site?, now).max(self.widest.wait(&widest, now))
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
    pub(crate) fn count_failure(
        &self,
        email_hash: [u8; 32],
        from: IpAddr,
        known: KnownFrom,
        now: Instant,
    ) {
        let source = source(from);
        self.pairs.add(&(email_hash, source), now);
        self.sources.add(&source, now);
        self.emails.add(&email_hash, now);
        let SourceNetworks { own: _, site, widest } = SourceNetworks::around(from);
        if let Some(site) = site {
            self.sites.add(&site, now);
            self.widest.add(&widest, now);
        }
        match known {
            KnownFrom::Device(device) => self.devices.add(&device, now),
            KnownFrom::Login => self.logged_in.add(&email_hash, now),
            KnownFrom::Source | KnownFrom::Nowhere => {}
        }
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
            assert_eq!(limit.wait(one, here, KnownFrom::Nowhere, Instant(second)), None);
            limit.count_failure(one, here, KnownFrom::Nowhere, Instant(second));
        }
        assert_eq!(limit.wait(one, here, KnownFrom::Nowhere, Instant(100)), Some(500));
        assert_eq!(limit.wait(other, here, KnownFrom::Nowhere, Instant(100)), None);
        assert_eq!(limit.wait(one, there, KnownFrom::Nowhere, Instant(100)), None);
        assert_eq!(
            limit.wait(one, here, KnownFrom::Nowhere, Instant(600)),
            None,
            "the first failure has expired"
        );
    }

    #[test]
    fn a_source_has_30_failures_in_ten_minutes_for_all_addresses_together() {
        let limit = LoginLimit::default();
        let [here, there] = ["2001:db8::1", "2001:db8:0:1::1"].map(address);
        for number in 0..30 {
            assert_eq!(limit.wait([number; 32], here, KnownFrom::Nowhere, Instant(0)), None);
            limit.count_failure([number; 32], here, KnownFrom::Nowhere, Instant(0));
        }
        assert_eq!(
            limit.wait([99; 32], address("2001:db8::2"), KnownFrom::Nowhere, Instant(1)),
            Some(599)
        );
        assert_eq!(limit.wait([99; 32], there, KnownFrom::Nowhere, Instant(1)), None);
        assert_eq!(limit.wait([99; 32], here, KnownFrom::Nowhere, Instant(600)), None);
    }

    #[test]
    fn a_56_has_60_failures_in_ten_minutes_a_48_twice_as_many_and_a_24_no_limit() {
        let limit = LoginLimit::default();
        let wait = |from: &str| limit.wait([99; 32], address(from), KnownFrom::Nowhere, Instant(1));
        let fail = |from: &str, number| {
            limit.count_failure([number; 32], address(from), KnownFrom::Nowhere, Instant(0));
        };
        for number in 0..60 {
            assert_eq!(wait("2001:db8:1:ff::1"), None, "{number}");
            fail(&format!("2001:db8:1:{number}::1"), number);
        }
        assert_eq!(wait("2001:db8:1:ff::1"), Some(599), "of the same /56");
        for number in 0..60 {
            assert_eq!(wait("2001:db8:1:aff::1"), None, "{number}");
            fail(&format!("2001:db8:1:1{number:02}::1"), number);
        }
        assert_eq!(wait("2001:db8:1:aff::1"), Some(599), "of the same /48");
        assert_eq!(wait("2001:db8:2::1"), None, "of another");
        for number in 0..200 {
            fail(&format!("192.0.2.{number}"), number);
        }
        assert_eq!(wait("192.0.2.255"), None, "a /24 has many holders");
    }

    #[test]
    fn failures_from_many_sources_delay_strangers_more_and_more_and_no_known_source() {
        let limit = LoginLimit::default();
        let email = [1; 32];
        let home = address("10.9.9.9");
        let delays: Vec<Option<i64>> = (0..30)
            .map(|number| {
                limit.count_failure(
                    email,
                    [10, 0, 0, number].into(),
                    KnownFrom::Nowhere,
                    Instant(0),
                );
                limit.wait(email, address("10.1.1.1"), KnownFrom::Nowhere, Instant(0))
            })
            .collect();
        assert!(delays[..20].iter().all(Option::is_none), "{delays:?}");
        let growing = [1, 2, 4, 8, 16, 32, 64, 120, 120, 120].map(Some);
        assert_eq!(delays[20..], growing);
        assert_eq!(
            limit.wait(email, address("10.1.1.1"), KnownFrom::Nowhere, Instant(119)),
            Some(1)
        );
        assert_eq!(limit.wait(email, address("10.1.1.1"), KnownFrom::Nowhere, Instant(120)), None);
        assert_eq!(limit.wait(email, home, KnownFrom::Source, Instant(0)), None);
        assert_eq!(limit.wait([2; 32], address("10.1.1.1"), KnownFrom::Nowhere, Instant(0)), None);
    }
}
