//! The calendar feeds of a group, found by their numbers and by the hashes of their secrets.
//! Reference 19.1.

use std::sync::Arc;

use imbl::OrdMap;

use crate::domain::records::calendarfeed::Calendarfeed;
use crate::domain::records::ids::CalendarfeedId;

/// The calendar feeds of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calendarfeeds {
    /// The feeds.
    rows: OrdMap<CalendarfeedId, Arc<Calendarfeed>>,
    /// The number of each by the SHA-256 of its secret. An index of `rows`.
    by_secret: OrdMap<[u8; 32], CalendarfeedId>,
    /// The highest number that a feed ever had; 0 before the first.
    last: u64,
}

impl Calendarfeeds {
    /// Makes the feeds of stored rows, with the highest number that one ever had.
    pub fn from_stored(rows: Vec<Arc<Calendarfeed>>, last: u64) -> Self {
        let mut feeds = Self { last, ..Self::default() };
        rows.into_iter().for_each(|feed| feeds.put(feed));
        feeds
    }

    /// The feeds, ascending by number.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Calendarfeed>> {
        self.rows.values()
    }

    /// The number of feeds.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The highest number that a feed ever had; 0 before the first.
    pub const fn last(&self) -> u64 {
        self.last
    }

    /// Finds a feed by its number.
    pub fn get(&self, id: CalendarfeedId) -> Option<&Arc<Calendarfeed>> {
        self.rows.get(&id)
    }

    /// Finds the feed whose secret has a SHA-256. The time that it takes tells of hashes alone.
    pub fn with_secret(&self, hash: &[u8; 32]) -> Option<&Arc<Calendarfeed>> {
        self.rows.get(self.by_secret.get(hash)?)
    }

    /// Puts a feed: a new one, or one with another secret, which ends the secret before.
    pub fn put(&mut self, feed: Arc<Calendarfeed>) {
        self.last = self.last.max(feed.id.number());
        if let Some(before) = self.rows.get(&feed.id) {
            self.by_secret.remove(&before.secret_hash);
        }
        self.by_secret.insert(feed.secret_hash, feed.id);
        self.rows.insert(feed.id, feed);
    }

    /// Removes a feed.
    pub fn remove(&mut self, id: CalendarfeedId) {
        if let Some(before) = self.rows.remove(&id) {
            self.by_secret.remove(&before.secret_hash);
        }
    }

    /// Returns no feeds, with no number below those given so far.
    #[must_use]
    pub fn without_rows(&self) -> Self {
        Self { last: self.last, ..Self::default() }
    }
}
