//! A rate limit: the number of events within a sliding window, by key, in bounded memory.
//!
//! Strangers may bring many keys, so a key takes 17 bytes of a hash table, and 20 to 40 with its
//! empty places: it is kept as a hash under a random secret, and keys with a single moment have a
//! table of their own. No order of the keys is kept. All of them are looked at when there are too
//! many, and eight times in a window.

use std::hash::Hash;
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::OnceLock;

use hashbrown::HashTable;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::domain::time::Instant;
use crate::http::limits::hash_secret::HashSecret;

mod image;

/// Number of keys that are tracked in any case. Beyond it the keys with the fewest events are
/// evicted, and of those the ones whose newest event is oldest. So a caller who wants a key at its
/// limit forgotten has to bring that many other keys to their limit first.
pub(crate) const KEYS_MAX: usize = 100_000;
/// Further keys that are tracked until the next eviction, so that it looks at all keys for many new
/// ones at once.
const KEYS_BEYOND_MAX: usize = KEYS_MAX / 16;
/// Number of times in a window that expired keys are removed.
const SWEEPS: i64 = 8;
/// Maximum number of moments that are kept of one key. Beyond it the two oldest become one, at the
/// later of both: the limit then holds a little longer, never shorter.
const MOMENTS_MAX: usize = 64;

/// Recent events by key.
#[derive(Debug)]
pub(crate) struct SlidingWindow<K> {
    /// Number of events within the window from which a key has to wait.
    limit: usize,
    /// Length of the window.
    seconds: i64,
    /// Hashes keys. It is another one for each window: in a cluster it is set before the first key,
    /// otherwise drawn with that.
    secret: OnceLock<HashSecret>,
    events: Mutex<KeyTable>,
    keys: PhantomData<fn(K)>,
}

/// The tracked keys. Each is in one of both tables.
#[derive(Debug, Default)]
struct KeyTable {
    /// The keys with a single moment, which most of many keys have.
    singles: HashTable<SingleEvent>,
    /// The keys that have had several moments.
    several: HashTable<KeyEvents>,
    /// Time at which expired keys were removed last.
    swept_at: Instant,
    /// Number of additions and removals of events, about.
    changes: u64,
}

/// A moment with its number of events, at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Moment {
    /// Seconds since 1970, within 0 to 2^32 - 1, which ends in 2106.
    seconds: u32,
    number: u32,
}

/// The only moment of a key.
#[derive(Debug)]
struct SingleEvent {
    /// The hash that stands for the key.
    key: u64,
    moment: Moment,
}

/// The newest events of a key, at most the limit of them, in the order of counting.
#[derive(Debug)]
struct KeyEvents {
    /// The hash that stands for the key.
    key: u64,
    /// Not empty.
    moments: Vec<Moment>,
}

impl<K: Hash> SlidingWindow<K> {
    /// Returns an empty window. A key with `limit` events within `seconds` has to wait.
    pub(crate) fn new(limit: usize, seconds: i64) -> Self {
        let events = Mutex::new(KeyTable::default());
        Self { limit, seconds, secret: OnceLock::new(), events, keys: PhantomData }
    }

    fn hash(&self, key: &K) -> u64 {
        self.secret.get_or_init(HashSecret::draw).hash(key)
    }

    /// Whether the limit is 0, which stands for no limit.
    pub(crate) const fn is_off(&self) -> bool {
        self.limit == 0
    }

    /// Length of the window.
    pub(crate) const fn seconds(&self) -> i64 {
        self.seconds
    }

    /// Returns the number of events that a key may add now.
    pub(crate) fn remaining(&self, key: &K, now: Instant) -> usize {
        self.limit.saturating_sub(self.count(key, now))
    }

    /// Returns the number of recent events of a key, at most `limit`.
    pub(crate) fn count(&self, key: &K, now: Instant) -> usize {
        match self.events.lock().get(self.hash(key)) {
            Some(moments) => self.recent(moments, now).map(|moment| moment.number as usize).sum(),
            None => 0,
        }
    }

    /// Returns the time of the last recent event of a key.
    pub(crate) fn last(&self, key: &K, now: Instant) -> Option<Instant> {
        let events = self.events.lock();
        self.recent(events.get(self.hash(key))?, now).map(Moment::at).last()
    }

    /// Returns the seconds until a key may go on; `None` if it may go on now.
    pub(crate) fn wait(&self, key: &K, now: Instant) -> Option<i64> {
        let events = self.events.lock();
        self.wait_for(events.get(self.hash(key))?, 1, now)
    }

    /// Adds an event.
    pub(crate) fn add(&self, key: &K, now: Instant) {
        self.insert(&mut self.events.lock(), self.hash(key), 1, now);
    }

    /// Adds `number` events of a key at once, if they stay within the limit together with its
    /// recent ones. More events than the limit are added to a key without recent ones, up to the
    /// limit.
    ///
    /// # Errors
    /// The seconds until they can be added. Nothing is added.
    pub(crate) fn try_add(&self, key: &K, number: usize, now: Instant) -> Result<(), i64> {
        let key = self.hash(key);
        let mut events = self.events.lock();
        if let Some(known) = events.get(key)
            && let Some(seconds) = self.wait_for(known, number, now)
        {
            return Err(seconds);
        }
        self.insert(&mut events, key, number, now);
        Ok(())
    }

    /// Removes events that were added at a moment. Those that have been forgotten stay so.
    pub(crate) fn take_back(&self, key: &K, number: usize, at: Instant) {
        let seconds = Moment::new(at, 0).seconds;
        self.events.lock().change(self.hash(key), |moments| {
            if let Some(moment) = moments.iter_mut().find(|moment| moment.seconds == seconds) {
                moment.number -= to_count(number).min(moment.number);
            }
        });
    }

    /// Removes the newest event of a key, if it has one.
    pub(crate) fn remove_newest(&self, key: &K) {
        self.events.lock().change(self.hash(key), |moments| {
            if let Some(newest) = moments.last_mut() {
                newest.number -= 1;
            }
        });
    }

    /// Returns the seconds until `number` more events stay within the limit.
    fn wait_for(&self, moments: &[Moment], number: usize, now: Instant) -> Option<i64> {
        let mut count: usize = self.recent(moments, now).map(|moment| moment.number as usize).sum();
        let mut seconds = None;
        for expiring in self.recent(moments, now) {
            if count + number <= self.limit {
                break;
            }
            seconds = Some(self.seconds - now.seconds_since(expiring.at()));
            count -= expiring.number as usize;
        }
        seconds
    }

    fn insert(&self, events: &mut KeyTable, key: u64, number: usize, now: Instant) {
        events.changes += 1;
        events.sweep(self.seconds, now);
        let added = Moment::new(now, to_count(number));
        if let Some(known) = events.several.find_mut(key, |known| known.key == key) {
            known.moments.retain(|moment| self.is_recent(*moment, now));
            known.add(added, self.limit);
            return;
        }
        let Ok(known) = events.singles.find_entry(key, |known| known.key == key) else {
            events.put(SingleEvent { key, moment: added.limited(self.limit) });
            return;
        };
        let before = known.get().moment;
        if !self.is_recent(before, now) {
            known.into_mut().moment = added.limited(self.limit);
        } else if before.seconds == added.seconds {
            let number = before.number.saturating_add(added.number);
            known.into_mut().moment = Moment { number, ..added }.limited(self.limit);
        } else {
            known.remove();
            let mut known = KeyEvents { key, moments: vec![before] };
            known.add(added, self.limit);
            events.several.insert_unique(key, known, |known| known.key);
        }
    }

    fn recent(&self, moments: &[Moment], now: Instant) -> impl Iterator<Item = Moment> {
        moments.iter().copied().filter(move |moment| self.is_recent(*moment, now))
    }

    fn is_recent(&self, moment: Moment, now: Instant) -> bool {
        (0..self.seconds).contains(&now.seconds_since(moment.at()))
    }
}

impl KeyTable {
    fn len(&self) -> usize {
        self.singles.len() + self.several.len()
    }

    /// Returns the moments of a key, in the order of counting.
    fn get(&self, key: u64) -> Option<&[Moment]> {
        if let Some(known) = self.singles.find(key, |known| known.key == key) {
            return Some(std::slice::from_ref(&known.moment));
        }
        Some(&self.several.find(key, |known| known.key == key)?.moments)
    }

    /// Puts the events of a key that has none, and evicts others if there are too many keys.
    fn put(&mut self, new: SingleEvent) {
        self.make_room();
        self.singles.insert_unique(new.key, new, |known| known.key);
    }

    /// Evicts keys if there are too many for another one.
    fn make_room(&mut self) {
        if self.len() >= KEYS_MAX + KEYS_BEYOND_MAX {
            let singles = self.singles.iter().map(|known| rank(known.key, &[known.moment]));
            let several = self.several.iter().map(|known| rank(known.key, &known.moments));
            let mut ranks: Vec<_> = singles.chain(several).collect();
            // Ranks differ, since keys do.
            let (_, &mut least_kept, _) = ranks.select_nth_unstable(KEYS_BEYOND_MAX + 1);
            self.singles.retain(|known| rank(known.key, &[known.moment]) >= least_kept);
            self.several.retain(|known| rank(known.key, &known.moments) >= least_kept);
        }
    }

    /// Changes the numbers of a key that has events. Moments without events are removed, and so is
    /// a key without moments.
    fn change(&mut self, key: u64, change: impl FnOnce(&mut [Moment])) {
        self.changes += 1;
        if let Ok(mut known) = self.singles.find_entry(key, |known| known.key == key) {
            change(std::slice::from_mut(&mut known.get_mut().moment));
            if known.get().moment.number == 0 {
                known.remove();
            }
            return;
        }
        let Ok(mut known) = self.several.find_entry(key, |known| known.key == key) else { return };
        change(&mut known.get_mut().moments);
        known.get_mut().moments.retain(|moment| moment.number > 0);
        if known.get().moments.is_empty() {
            known.remove();
        }
    }

    /// Removes the keys whose newest event has left the window of some seconds, if that was not
    /// done for a part of it, and gives back the memory of most of them.
    fn sweep(&mut self, seconds: i64, now: Instant) {
        // The clock may have been set back.
        if (0..(seconds / SWEEPS).max(1)).contains(&now.seconds_since(self.swept_at)) {
            return;
        }
        self.swept_at = now;
        let keys = self.len();
        self.singles.retain(|known| now.seconds_since(known.moment.at()) < seconds);
        self.several.retain(|known| now.seconds_since(newest(&known.moments)) < seconds);
        if self.len() < keys {
            self.changes += 1;
        }
        // Room for as many keys again stays.
        self.singles.shrink_to(2 * self.singles.len(), |known| known.key);
        self.several.shrink_to(2 * self.several.len(), |known| known.key);
    }
}

impl Moment {
    fn new(at: Instant, number: u32) -> Self {
        let seconds = u32::try_from(at.0.max(0)).unwrap_or(u32::MAX);
        Self { seconds, number }
    }

    fn at(self) -> Instant {
        Instant(self.seconds.into())
    }

    /// The same moment with at most this number of events.
    fn limited(self, limit: usize) -> Self {
        Self { number: self.number.min(to_count(limit)), ..self }
    }
}

impl KeyEvents {
    /// Adds a moment. Drops the oldest events above the limit, and joins the oldest moments above
    /// the maximum.
    fn add(&mut self, added: Moment, limit: usize) {
        match self.moments.last_mut() {
            Some(last) if last.seconds == added.seconds => {
                last.number = last.number.saturating_add(added.number);
            }
            _ => self.moments.push(added),
        }
        let mut excess = count(&self.moments).saturating_sub(limit);
        while let Some(oldest) = self.moments.first_mut()
            && excess > 0
        {
            let dropped = to_count(excess).min(oldest.number);
            oldest.number -= dropped;
            excess -= dropped as usize;
            if oldest.number == 0 {
                self.moments.remove(0);
            }
        }
        while self.moments.len() > MOMENTS_MAX {
            let oldest = self.moments.remove(0);
            let next = &mut self.moments[0];
            next.number = next.number.saturating_add(oldest.number);
        }
    }
}

fn count(moments: &[Moment]) -> usize {
    moments.iter().map(|moment| moment.number as usize).sum()
}

/// Time of the newest event. The clock may have been set back, so it need not be the last.
fn newest(moments: &[Moment]) -> Instant {
    moments.iter().map(|moment| moment.at()).max().unwrap_or_default()
}

/// The order of eviction: the key of least rank goes first.
fn rank(key: u64, moments: &[Moment]) -> (usize, Instant, u64) {
    (count(moments), newest(moments), key)
}

fn to_count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Returns the address that stands for a source: an IPv4 address itself, also within an IPv6
/// address, or the /64 network of any other IPv6 address, since one client may use all 2^64
/// addresses of its network.
pub(crate) fn source(from: IpAddr) -> IpAddr {
    let address = match from.to_canonical() {
        IpAddr::V4(address) => return IpAddr::V4(address),
        IpAddr::V6(address) => address,
    };
    match inner_ipv4(address) {
        Some(inner) => IpAddr::V4(inner),
        None => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
    }
}

/// Returns the IPv4 address within an address of NAT64 (RFC 6052) or 6to4 (RFC 3056). All networks
/// of 2002::/16 with one IPv4 address belong to its owner.
const fn inner_ipv4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    match address.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
            Some(Ipv4Addr::from_bits((high as u32) << 16 | low as u32))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
