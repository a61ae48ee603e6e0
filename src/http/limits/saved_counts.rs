//! Counts of limits that the servers of a cluster pass on: images of them, which hold hashes in
//! place of keys. Reference 8.11.

use crate::domain::time::Instant;
use crate::engine::PassedError;
use crate::http::limits::hash_secret::HashSecret;

/// The counts of one kind.
pub(crate) trait SavedCounts: Send + Sync {
    /// Sets the secret under which keys are hashed.
    ///
    /// # Panics
    /// If a key was hashed before.
    fn hash_under(&self, secret: HashSecret);

    /// Removes what has expired, from time to time, and returns the number of changes since the
    /// start. While it stays, so does the image.
    fn changes(&self, now: Instant) -> u64;

    /// Returns an image of the counts, with the number of changes that it has at least. It holds
    /// no lock for longer than a few milliseconds.
    fn image(&self) -> CountsImage;

    /// Takes over the counts of an image. Times after `now`, of a server whose clock is ahead,
    /// become `now`. Keys that are known already keep their counts.
    ///
    /// # Errors
    /// The bytes are no image that this release understands. Nothing is changed.
    fn restore(&self, image: &[u8], now: Instant) -> Result<(), PassedError>;
}

/// An image of counts.
#[derive(Debug)]
pub(crate) struct CountsImage {
    pub(crate) changes: u64,
    pub(crate) bytes: Vec<u8>,
}

/// Counts with the name by which other servers know them. It never changes its meaning.
#[derive(Clone)]
pub(crate) struct NamedCounts<'c> {
    pub(crate) name: String,
    pub(crate) counts: &'c dyn SavedCounts,
}

impl<'c> NamedCounts<'c> {
    pub(crate) fn new(name: impl Into<String>, counts: &'c dyn SavedCounts) -> Self {
        Self { name: name.into(), counts }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::net::IpAddr;

    use super::*;
    use crate::domain::directory::cluster_secret::ClusterSecret;
    use crate::domain::records::ids::{GroupId, VeventId};
    use crate::domain::records::text::Email;
    use crate::http::limits::booking_limit::{BookingLimit, LimitSubjects};
    use crate::http::limits::booking_limits::BookingLimits;
    use crate::http::limits::enumeration_limit::{EnumerationLimit, REFUSALS_PER_SOURCE_MAX};
    use crate::http::limits::link_limit::{LINKS_PER_EMAIL_MAX, LinkLimit};
    use crate::http::limits::login_limit::{KnownFrom, LoginLimit, PAIR_FAILURES_MAX};

    const NOW: Instant = Instant(1_700_000_000);

    /// Prepares the counts of a server of a cluster.
    fn begin<'c>(counts: impl IntoIterator<Item = NamedCounts<'c>>) {
        for NamedCounts { name, counts } in counts {
            counts.hash_under(HashSecret::of_cluster(&ClusterSecret::new([3; 32]), &name));
        }
    }

    /// Passes counts on to another server.
    fn pass_on<'c>(
        from: impl IntoIterator<Item = NamedCounts<'c>>,
        to: impl IntoIterator<Item = NamedCounts<'c>> + Clone,
    ) {
        begin(to.clone());
        let mut images = BTreeMap::new();
        for NamedCounts { name, counts } in from {
            let replaced = images.insert(name.clone(), counts.image().bytes);
            assert_eq!(replaced, None, "two are named {name}");
        }
        for NamedCounts { name, counts } in to {
            counts.restore(&images[&name], NOW).expect("it was just made");
        }
    }

    fn here() -> IpAddr {
        [192, 0, 2, 1].into()
    }

    #[test]
    fn failed_logins_are_passed_on() {
        let [first, second] = [LoginLimit::default(), LoginLimit::default()];
        begin(first.counts());
        for _ in 0..PAIR_FAILURES_MAX {
            first.count_failure([7; 32], here(), KnownFrom::Nowhere, NOW);
            first.count_failure([8; 32], [10, 0, 0, 1].into(), KnownFrom::Device([5; 8]), NOW);
        }
        pass_on(first.counts(), second.counts());
        for known in [KnownFrom::Nowhere, KnownFrom::Source, KnownFrom::Device([5; 8])] {
            assert!(second.wait([7; 32], here(), known, NOW).is_some(), "{known:?}");
        }
        assert_eq!(second.wait([7; 32], [10, 0, 0, 2].into(), KnownFrom::Nowhere, NOW), None);
        assert_eq!(second.wait([9; 32], here(), KnownFrom::Device([6; 8]), NOW), None);
    }

    #[tokio::test]
    async fn refusals_are_passed_on() {
        let [first, second] = [EnumerationLimit::default(), EnumerationLimit::default()];
        begin(first.counts());
        for nth in 0..REFUSALS_PER_SOURCE_MAX {
            let permit = first.admit(Some(format!("{nth}@x.org").into()), Some(here()), true, NOW);
            permit.await.expect("not too many yet").count_refusal(NOW);
        }
        pass_on(first.counts(), second.counts());
        second.admit(None, Some(here()), true, NOW).await.expect_err("there is none left");
        second.admit(None, Some([10, 0, 0, 1].into()), true, NOW).await.expect("another source");
    }

    #[test]
    fn account_links_are_passed_on() {
        let [first, second] = [LinkLimit::new(None), LinkLimit::new(None)];
        let group = GroupId::new(1).expect("an id");
        let email = Email::new("ann@example.org").expect("an address");
        begin(first.counts());
        for _ in 0..LINKS_PER_EMAIL_MAX {
            assert!(first.count_mailed(group, &email, NOW));
        }
        first.count_bytes(group, here(), 1 << 20, NOW).expect("all that the source may have");
        pass_on(first.counts(), second.counts());
        assert!(!second.count_mailed(group, &email, NOW));
        second.count_bytes(group, here(), 1, NOW).expect_err("the source has had all");
        second.count_bytes(group, [10, 0, 0, 1].into(), 1, NOW).expect("another source");
    }

    #[test]
    fn bookings_are_passed_on_also_to_a_server_with_fewer_limits() {
        let limits = BookingLimits {
            source_hourly_max: 2,
            source_daily_max: 2,
            client_hourly_max: 9,
            key_hourly_max: 9,
            codes_daily_max: 0,
        };
        let without_day = BookingLimits { source_daily_max: 0, ..limits };
        let group = GroupId::new(1).expect("an id");
        for limits_then in [limits, without_day] {
            let [first, second] = [limits, limits_then].map(BookingLimit::new);
            begin(first.counts());
            let booking = |from: IpAddr| LimitSubjects::of_page(group, None, from);
            let appointment = VeventId::new(1).expect("an id");
            for _ in 0..2 {
                first.reserve(&booking(here()), 1, NOW).expect("two").settle(true);
            }
            let names: Vec<String> = first.counts().map(|named| named.name).collect();
            assert_eq!(names.len(), 4 * 14 - 3, "codes have no limit on clients");
            let second_counts: Vec<_> = second.counts().collect();
            pass_on(first.counts(), second_counts);
            assert!(second.reserve(&booking(here()), 1, NOW).is_err());
            assert!(second.reserve(&booking([10, 0, 0, 1].into()), 1, NOW).is_ok());
            assert!(
                second.reserve(&booking(here()).for_move(appointment), 1, NOW).is_ok(),
                "moves have their own"
            );
        }
    }
}
