//! The sources at which persons have logged in, as keyed hashes. Reference 3.6.

use imbl::{OrdMap, OrdSet};
use serde::{Deserialize, Serialize};

use crate::domain::time::{DAY, Instant};

/// Seconds for which a login is known.
pub const KNOWN_SECONDS: i64 = 90 * DAY;
/// Seconds after which a known login is recorded again, so that it stays known.
const RENEWED_SECONDS: i64 = 7 * DAY;
/// Maximum number of sources that are known of one person. Beyond it the oldest is forgotten.
pub const PLACES_PER_PERSON_MAX: usize = 16;
/// Maximum number of expired logins that a new one removes.
const REMOVED_PER_LOGIN_MAX: usize = 2;

/// A person at a source. Only the store's secret tells whom and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LoginPlace {
    /// A keyed hash of the address that the person logs in with.
    pub person: [u8; 8],
    /// A keyed hash of the address and the source.
    pub source: [u8; 8],
}

/// The known logins of all persons, each by its place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KnownLogins {
    by_place: OrdMap<LoginPlace, Instant>,
    by_time: OrdSet<(Instant, LoginPlace)>,
}

impl KnownLogins {
    /// Whether the person of a place has logged in there within 90 days.
    pub fn knows(&self, place: LoginPlace, now: Instant) -> bool {
        self.by_place.get(&place).is_some_and(|at| is_known(*at, now))
    }

    /// Whether a login at a place is to be recorded: it is not known, or was recorded long ago.
    pub fn wants(&self, place: LoginPlace, now: Instant) -> bool {
        let age = self.by_place.get(&place).map(|at| now.seconds_since(*at));
        age.is_none_or(|age| age >= RENEWED_SECONDS)
    }

    /// Whether a login at a place is news to its person, who has logged in within 90 days, but not
    /// there.
    pub fn is_news(&self, place: LoginPlace, now: Instant) -> bool {
        !self.knows(place, now) && self.places(place.person).any(|(_, at)| is_known(at, now))
    }

    /// The places of a person, each with the last recorded login.
    fn places(&self, person: [u8; 8]) -> impl Iterator<Item = (LoginPlace, Instant)> {
        let place = |source| LoginPlace { person, source };
        let places = self.by_place.range(place([0; 8])..=place([u8::MAX; 8]));
        places.map(|(place, at)| (*place, *at))
    }

    /// All of them, ascending by place.
    pub fn iter(&self) -> impl Iterator<Item = (LoginPlace, Instant)> {
        self.by_place.iter().map(|(place, at)| (*place, *at))
    }

    /// Records a login. Removes the oldest of its person beyond the maximum, and some that have
    /// expired by then.
    pub(crate) fn insert(&mut self, place: LoginPlace, at: Instant) {
        self.put(place, at);
        for _ in 0..REMOVED_PER_LOGIN_MAX {
            match self.by_time.get_min() {
                Some(&(oldest, expired)) if at.seconds_since(oldest) >= KNOWN_SECONDS => {
                    self.remove(expired);
                }
                _ => break,
            }
        }
        let places = self.places(place.person);
        let mut places: Vec<(Instant, LoginPlace)> =
            places.map(|(place, at)| (at, place)).collect();
        places.sort_unstable();
        let excess = places.len().saturating_sub(PLACES_PER_PERSON_MAX);
        for (_, place) in places.into_iter().take(excess) {
            self.remove(place);
        }
    }

    fn put(&mut self, place: LoginPlace, at: Instant) {
        self.remove(place);
        self.by_place.insert(place, at);
        self.by_time.insert((at, place));
    }

    fn remove(&mut self, place: LoginPlace) {
        if let Some(at) = self.by_place.remove(&place) {
            self.by_time.remove(&(at, place));
        }
    }
}

fn is_known(at: Instant, now: Instant) -> bool {
    now.seconds_since(at) < KNOWN_SECONDS
}

impl Extend<(LoginPlace, Instant)> for KnownLogins {
    fn extend<I: IntoIterator<Item = (LoginPlace, Instant)>>(&mut self, logins: I) {
        for (place, at) in logins {
            self.put(place, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(person: u8, source: u8) -> LoginPlace {
        LoginPlace { person: [person; 8], source: [source; 8] }
    }

    #[test]
    fn a_login_is_known_for_90_days_and_the_oldest_of_a_person_is_forgotten_first() {
        let mut known = KnownLogins::default();
        for source in 0..20 {
            known.insert(place(1, source), Instant(i64::from(source)));
        }
        known.insert(place(2, 0), Instant(5));
        let later = Instant(20);
        assert!(!known.knows(place(1, 3), later) && known.knows(place(1, 4), later));
        assert!(known.knows(place(2, 0), later), "others keep theirs");
        assert!(!known.wants(place(1, 4), later) && known.wants(place(1, 3), later));
        assert!(known.wants(place(1, 4), Instant(4 + 7 * DAY)), "it is renewed");
        assert!(known.is_news(place(1, 3), later) && !known.is_news(place(1, 4), later));
        assert!(!known.is_news(place(4, 0), later), "the first login of all is no news");
        let expired = Instant(5 + KNOWN_SECONDS);
        assert!(!known.is_news(place(2, 1), expired), "nor is the first after 90 days");
        assert!(!known.knows(place(2, 0), expired) && known.knows(place(1, 19), expired));
        for source in 0..9 {
            known.insert(place(3, source), Instant(KNOWN_SECONDS + DAY));
        }
        assert_eq!(known.iter().count(), 9, "what has expired is removed by others");
    }

    #[test]
    fn logins_of_another_directory_are_known_too() {
        let mut known = KnownLogins::default();
        known.extend([(place(1, 1), Instant(5)), (place(2, 2), Instant(6))]);
        assert!(known.knows(place(1, 1), Instant(5)) && known.knows(place(2, 2), Instant(6)));
        assert!(!known.knows(place(1, 2), Instant(5)));
    }
}
