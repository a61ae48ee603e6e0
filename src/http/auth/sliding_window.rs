//! A rate limit: the number of events within a sliding window, by key, in bounded memory.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::domain::time::Instant;

/// Maximum number of tracked keys; beyond it the least key is evicted. A caller who wants the
/// eviction of a key has to cause events of that many others.
const KEYS_MAX: usize = 100_000;

/// Recent events by key.
#[derive(Debug)]
pub(crate) struct SlidingWindow<K> {
    /// Number of events within the window from which a key has to wait.
    limit: usize,
    /// Length of the window.
    seconds: i64,
    events: Mutex<WindowEvents<K>>,
}

#[derive(Debug)]
struct WindowEvents<K> {
    /// The newest events of each key, in the order of counting, at most `limit` of them.
    by_key: BTreeMap<K, Vec<Instant>>,
    /// Time of the last removal of keys without recent events.
    swept: Instant,
}

impl<K: Ord> SlidingWindow<K> {
    /// Returns an empty window. A key with `limit` events within `seconds` has to wait.
    pub(crate) const fn new(limit: usize, seconds: i64) -> Self {
        let events = WindowEvents { by_key: BTreeMap::new(), swept: Instant(0) };
        Self { limit, seconds, events: Mutex::new(events) }
    }

    /// Returns the number of recent events of a key, at most `limit`.
    pub(crate) fn count(&self, key: &K, now: Instant) -> usize {
        match self.lock().by_key.get(key) {
            Some(moments) => moments.iter().filter(|at| self.is_recent(**at, now)).count(),
            None => 0,
        }
    }

    /// Returns the time of the last recent event of a key.
    pub(crate) fn last(&self, key: &K, now: Instant) -> Option<Instant> {
        let events = self.lock();
        events.by_key.get(key)?.iter().rev().find(|at| self.is_recent(**at, now)).copied()
    }

    /// Returns the seconds until a key may go on; `None` if it may go on now.
    pub(crate) fn wait(&self, key: &K, now: Instant) -> Option<i64> {
        let events = self.lock();
        let mut recent = events.by_key.get(key)?.iter().filter(|at| self.is_recent(**at, now));
        let oldest = *recent.next()?;
        let count = 1 + recent.count();
        if count < self.limit {
            return None;
        }
        Some(self.seconds - now.seconds_since(oldest))
    }

    /// Counts an event.
    pub(crate) fn add(&self, key: K, now: Instant) {
        let mut events = self.lock();
        // Swept once per window, and earlier if there is no room.
        let is_full = events.by_key.len() >= KEYS_MAX;
        if is_full || !self.is_recent(events.swept, now) {
            events.swept = now;
            events.by_key.retain(|_, moments| moments.iter().any(|at| self.is_recent(*at, now)));
        }
        if events.by_key.len() >= KEYS_MAX {
            events.by_key.pop_first();
        }
        let moments = events.by_key.entry(key).or_default();
        moments.retain(|at| self.is_recent(*at, now));
        if moments.len() == self.limit {
            moments.remove(0);
        }
        moments.push(now);
    }

    fn lock(&self) -> MutexGuard<'_, WindowEvents<K>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_recent(&self, at: Instant, now: Instant) -> bool {
        (0..self.seconds).contains(&now.seconds_since(at))
    }
}

/// Returns the address that stands for a source: an IPv4 address itself, or the /64 network of an
/// IPv6 address, since one client may use all 2^64 addresses of its network.
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
    fn a_key_waits_until_its_oldest_event_leaves_the_window() {
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
    fn memory_is_bounded_for_any_number_of_keys() {
        let window = SlidingWindow::new(1, 100);
        (0..KEYS_MAX + 10).for_each(|key| window.add(key, Instant(0)));
        assert_eq!(window.lock().by_key.len(), KEYS_MAX);
        assert_eq!(window.wait(&(KEYS_MAX + 9), Instant(0)), Some(100), "the last is tracked");
        window.add(0, Instant(100));
        assert_eq!(window.lock().by_key.len(), 1, "expired events are removed");
    }

    #[test]
    fn an_ipv6_network_is_one_source_and_a_mapped_ipv4_address_is_its_own() {
        let of = |address: &str| source(address.parse().expect("an address"));
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:2"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
    }
}
