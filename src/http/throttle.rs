//! Against guessing passwords: failures are counted by e-mail address and source address. Contract 3.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};

use crate::domain::time::Instant;

/// Failures within [`SECONDS`] after which a pair has to wait.
const FAILURES_MAX: usize = 10;
/// How long a failure counts.
const SECONDS: i64 = 600;

/// Who failed: an e-mail address as it was given, folded, and where from.
type Pair = (Box<str>, IpAddr);

/// The failures of the last ten minutes.
#[derive(Debug, Default)]
pub(super) struct Throttle(Mutex<Failures>);

#[derive(Debug, Default)]
struct Failures {
    /// The moments of each pair, ascending, at most [`FAILURES_MAX`].
    pairs: BTreeMap<Pair, Vec<Instant>>,
    /// When pairs whose failures count no more were last dropped.
    swept: Instant,
}

impl Throttle {
    /// Seconds that a pair has to wait before its next try, if it has to.
    pub(super) fn wait(&self, email: &str, from: IpAddr, now: Instant) -> Option<i64> {
        let failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let moments = failures.pairs.get(&pair(email, from))?;
        let counted = moments.iter().filter(|at| counts(**at, now)).count();
        let oldest = moments.iter().find(|at| counts(**at, now))?;
        (counted >= FAILURES_MAX).then(|| SECONDS - now.seconds_since(*oldest))
    }

    /// Notes a failure.
    pub(super) fn failed(&self, email: &str, from: IpAddr, now: Instant) {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !(0..SECONDS).contains(&now.seconds_since(failures.swept)) {
            failures.swept = now;
            failures.pairs.retain(|_, moments| moments.iter().any(|at| counts(*at, now)));
        }
        let moments = failures.pairs.entry(pair(email, from)).or_default();
        moments.retain(|at| counts(*at, now));
        moments.push(now);
    }
}

fn counts(at: Instant, now: Instant) -> bool {
    (0..SECONDS).contains(&now.seconds_since(at))
}

/// A network of IPv6 is one source: whoever has an address of it has 2^64.
fn pair(email: &str, from: IpAddr) -> Pair {
    let source = match from.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
    };
    (email.into(), source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_eleventh_try_of_a_pair_waits_and_nobody_else_does() {
        let throttle = Throttle::default();
        let [here, there] = ["10.0.0.1", "10.0.0.2"].map(|address| address.parse().expect("an address"));
        for second in 0..10 {
            assert_eq!(throttle.wait("a@x", here, Instant(second)), None);
            throttle.failed("a@x", here, Instant(second));
        }
        assert_eq!(throttle.wait("a@x", here, Instant(100)), Some(500));
        assert_eq!(throttle.wait("b@x", here, Instant(100)), None);
        assert_eq!(throttle.wait("a@x", there, Instant(100)), None);
        assert_eq!(throttle.wait("a@x", here, Instant(600)), None, "the first failure counts no more");
    }

    #[test]
    fn an_ipv6_network_is_one_source_and_a_mapped_address_is_its_own() {
        let of = |address: &str| pair("a@x", address.parse().expect("an address"));
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:2"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
    }
}
