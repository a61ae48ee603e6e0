//! What happens too often: so many times within a sliding window, by key, in bounded memory.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};

use crate::domain::time::Instant;

/// Keys counted at once at most. Who makes us count more keys makes us forget some: it takes that many.
const KEYS_MAX: usize = 100_000;

/// Counts by key.
#[derive(Debug)]
pub(crate) struct SlidingWindow<K> {
    /// How many count as too many.
    most: usize,
    /// How long each counts.
    seconds: i64,
    counted: Mutex<Counted<K>>,
}

#[derive(Debug)]
struct Counted<K> {
    /// The newest moments of each key, ascending, as many as are too many at most.
    moments: BTreeMap<K, Vec<Instant>>,
    /// When keys whose moments count no more were last dropped.
    swept: Instant,
}

impl<K: Ord> SlidingWindow<K> {
    /// A window in which `most` within so many seconds are too many for more.
    pub(crate) const fn new(most: usize, seconds: i64) -> Self {
        let counted = Counted { moments: BTreeMap::new(), swept: Instant(0) };
        Self { most, seconds, counted: Mutex::new(counted) }
    }

    /// How many of a key count now.
    pub(crate) fn count(&self, key: &K, now: Instant) -> usize {
        let counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        counted
            .moments
            .get(key)
            .map_or(0, |moments| moments.iter().filter(|at| self.counts(**at, now)).count())
    }

    /// Seconds until a key may go on, if it has to wait.
    pub(crate) fn wait(&self, key: &K, now: Instant) -> Option<i64> {
        let counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let mut moments = counted.moments.get(key)?.iter().filter(|at| self.counts(**at, now));
        let oldest = moments.next()?;
        (moments.count() + 1 >= self.most).then(|| self.seconds - now.seconds_since(*oldest))
    }

    /// Counts one more.
    pub(crate) fn add(&self, key: K, now: Instant) {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let full = counted.moments.len() >= KEYS_MAX;
        if full || !(0..self.seconds).contains(&now.seconds_since(counted.swept)) {
            counted.swept = now;
            counted.moments.retain(|_, moments| moments.iter().any(|at| self.counts(*at, now)));
        }
        if counted.moments.len() >= KEYS_MAX {
            counted.moments.pop_first();
        }
        let moments = counted.moments.entry(key).or_default();
        moments.retain(|at| self.counts(*at, now));
        if moments.len() == self.most {
            moments.remove(0);
        }
        moments.push(now);
    }

    fn counts(&self, at: Instant, now: Instant) -> bool {
        (0..self.seconds).contains(&now.seconds_since(at))
    }
}

/// What counts as one source: an IPv4 address, or a network of IPv6, since whoever has an address of it has 2^64.
pub(crate) fn source(from: IpAddr) -> IpAddr {
    match from.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_waits_until_the_oldest_that_counts_does_no_more() {
        let window = SlidingWindow::new(3, 100);
        for second in [0, 10, 20] {
            assert_eq!(window.wait(&"a", Instant(second)), None);
            window.add("a", Instant(second));
        }
        assert_eq!(
            (window.wait(&"a", Instant(30)), window.count(&"a", Instant(30))),
            (Some(70), 3)
        );
        assert_eq!(window.wait(&"b", Instant(30)), None);
        assert_eq!((window.wait(&"a", Instant(100)), window.count(&"a", Instant(100))), (None, 2));
        window.add("a", Instant(100));
        assert_eq!(window.wait(&"a", Instant(100)), Some(10));
    }

    #[test]
    fn memory_is_bounded_whoever_comes() {
        let window = SlidingWindow::new(1, 100);
        (0..KEYS_MAX + 10).for_each(|key| window.add(key, Instant(0)));
        assert_eq!(window.counted.lock().expect("no panic").moments.len(), KEYS_MAX);
        assert_eq!(window.wait(&(KEYS_MAX + 9), Instant(0)), Some(100), "the last is known");
        window.add(0, Instant(100));
        assert_eq!(
            window.counted.lock().expect("no panic").moments.len(),
            1,
            "what counts no more goes"
        );
    }

    #[test]
    fn an_ipv6_network_is_one_source_and_a_mapped_address_is_its_own() {
        let of = |address: &str| source(address.parse().expect("an address"));
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:2"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
    }
}
