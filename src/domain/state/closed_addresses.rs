//! The addresses whose accounts were closed. Links from before make no account of them again.
//! Reference 3.12.
//!
//! A link to a new account holds that its address has none. It would be good once more after the
//! account that another such link has made is closed.

use imbl::{OrdMap, OrdSet};
use serde::{Deserialize, Serialize};

use crate::domain::directory::password_link::PasswordLink;
use crate::domain::records::account::Account;
use crate::domain::records::ids::FicheId;
use crate::domain::time::{DAY, Instant};

/// Seconds for which an address is kept. Links are good for a day by the steady time, which lags
/// behind the stamps by as long as the server stood still.
const KEPT_SECONDS: i64 = 90 * DAY;
/// Maximum number of addresses that one event removes. It bounds the cost of the first event after
/// a long pause.
const REMOVED_PER_EVENT_MAX: usize = 16;

/// An address whose account was closed. The order of the members is the format on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClosedAddress {
    /// The SHA-256 of the folded address.
    pub address_hash: [u8; 32],
    /// The client that the account booked for.
    pub client: FicheId,
    /// The stamp of the last closing.
    pub at: Instant,
}

/// Such addresses of a group.
#[derive(Clone, Debug, Default)]
pub struct ClosedAddresses {
    /// The last closing, by the SHA-256 of the folded address.
    by_address: OrdMap<[u8; 32], ClosedAddress>,
    /// One entry for each of these, ascending by the stamp.
    by_time: OrdSet<(Instant, [u8; 32])>,
}

impl ClosedAddresses {
    /// All of them, ascending by time.
    pub fn iter(&self) -> impl Iterator<Item = ClosedAddress> + '_ {
        self.by_time
            .iter()
            .filter_map(|(_, address_hash)| self.by_address.get(address_hash))
            .copied()
    }

    /// Whether a link was requested before the last account of its address was closed. One of the
    /// same second may be from after it, and stays good.
    pub fn end(&self, link: &PasswordLink) -> bool {
        let closed = self.by_address.get(&Account::hash_address(&link.email));
        closed.is_some_and(|closed| link.requested_at() < closed.at)
    }

    /// Adds an address whose account is closed now.
    pub(crate) fn add(&mut self, closed: ClosedAddress) {
        self.remove(&closed.address_hash);
        self.by_address.insert(closed.address_hash, closed);
        self.by_time.insert((closed.at, closed.address_hash));
    }

    /// Removes those of some clients, which ascend.
    pub(crate) fn remove_of_clients(&mut self, clients: &[FicheId]) {
        let is_theirs = |closed: &ClosedAddress| clients.binary_search(&closed.client).is_ok();
        let theirs: Vec<ClosedAddress> = self.iter().filter(is_theirs).collect();
        for closed in theirs {
            self.remove(&closed.address_hash);
        }
    }

    /// Removes an address, if it is there.
    fn remove(&mut self, address_hash: &[u8; 32]) {
        if let Some(closed) = self.by_address.remove(address_hash) {
            self.by_time.remove(&(closed.at, *address_hash));
        }
    }

    /// Removes those whose time is over at the stamp of an event.
    pub(crate) fn remove_old(&mut self, stamp: Instant) {
        for _ in 0..REMOVED_PER_EVENT_MAX {
            let Some((at, address_hash)) = self.by_time.get_min().copied() else { break };
            if stamp < at.plus_seconds(KEPT_SECONDS) {
                break;
            }
            self.remove(&address_hash);
        }
    }
}

impl Extend<ClosedAddress> for ClosedAddresses {
    fn extend<I: IntoIterator<Item = ClosedAddress>>(&mut self, closed: I) {
        for closed in closed {
            self.add(closed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::directory::password_link::AccountStamp;
    use crate::domain::records::account_link::LINK_SECONDS;
    use crate::domain::records::text::Email;

    fn link(email: &str, requested_at: i64) -> PasswordLink {
        PasswordLink {
            email: Email::new(email).expect("an address"),
            stamp: AccountStamp::from_account(None),
            expires: Instant(requested_at + LINK_SECONDS),
            pending_rdv: None,
        }
    }

    fn closed(email: &str, at: i64) -> ClosedAddress {
        let email = Email::new(email).expect("an address");
        let client = FicheId::new(u64::try_from(at).expect("a time") + 1).expect("an id");
        ClosedAddress { address_hash: Account::hash_address(&email), client, at: Instant(at) }
    }

    #[test]
    fn a_link_from_before_the_last_closing_is_over_and_a_later_one_is_not() {
        let mut addresses = ClosedAddresses::default();
        addresses.add(closed("Ann@example.org", 1_000));
        addresses.add(closed("ann@example.org", 2_000));
        assert_eq!(addresses.iter().count(), 1);
        assert!(addresses.end(&link("ANN@example.org", 1_999)));
        assert!(!addresses.end(&link("ann@example.org", 2_000)));
        assert!(!addresses.end(&link("bob@example.org", 0)));
    }

    #[test]
    fn an_address_is_kept_for_90_days_and_few_are_removed_at_once() {
        let mut addresses = ClosedAddresses::default();
        for number in 0..20 {
            addresses.add(closed(&format!("{number}@example.org"), number));
        }
        addresses.remove_old(Instant(90 * DAY - 1));
        assert_eq!(addresses.iter().count(), 20);
        addresses.remove_old(Instant(90 * DAY + 1));
        assert_eq!(addresses.iter().count(), 18);
        addresses.remove_old(Instant(99 * DAY));
        assert_eq!(addresses.iter().count(), 2);
        // The client of the nineteenth.
        addresses.remove_of_clients(&[FicheId::new(19).expect("an id")]);
        assert_eq!(addresses.iter().count(), 1);
    }
}
