//! Links mailed to the owner of an address: each is followed once, within a day, and is known only by the hash of its
//! token. Contract 3.

use std::sync::Arc;

use imbl::{OrdMap, OrdSet};
use serde::{Deserialize, Serialize};

use super::ids::FicheId;
use super::text::{Email, Text};
use super::time::{DAY, Instant};

/// How long a link can be followed, in seconds. Contract 3.
pub const LINK_SECONDS: i64 = DAY;
/// Links of one address that can be followed at a time.
const OF_ONE_ADDRESS_MAX: usize = 5;
/// Seconds after which an address that has so many gets another one, in place of its oldest.
const REST_SECONDS: i64 = 3_600;
/// Links of one group that can be followed at a time.
const OF_ONE_GROUP_MAX: usize = 2_000;
/// Links too old to be followed that one event forgets at most, so that none pays for a long rest.
const FORGOTTEN_MAX: usize = 16;

/// What somebody was about to book, as JSON: kept for the moment when the account is confirmed, and never read by us.
pub type PendingRdv = Text<8_192>;

/// A link that can be followed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AccountLink {
    /// The SHA-256 of its token.
    pub hash: [u8; 32],
    /// The address that it is mailed to.
    pub email: Email,
    /// What following it does.
    pub aim: Aim,
    /// When it was asked for.
    pub asked: Instant,
    /// From then on it does nothing.
    pub expires: Instant,
}

/// What following a link does. The order of the variants is the format on disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Aim {
    /// The account of the address is new, or has another password.
    Account {
        /// What is given back then.
        pending_rdv: Option<PendingRdv>,
    },
    /// A fiche has the address, and so has its account.
    Email {
        /// The folded address of the account that asked.
        account: Box<str>,
        /// Which of its fiches.
        fiche_id: FicheId,
    },
}

/// The links of a group that can be followed.
#[derive(Clone, Debug, Default)]
pub struct AccountLinks {
    by_hash: OrdMap<[u8; 32], Arc<AccountLink>>,
    /// By folded address, then by age.
    by_email: OrdSet<(Box<str>, Instant, [u8; 32])>,
    by_end: OrdSet<(Instant, [u8; 32])>,
}

impl AccountLinks {
    /// The links put together again.
    #[must_use]
    pub fn assembled(links: Vec<Arc<AccountLink>>) -> Self {
        let mut all = Self::default();
        links.into_iter().for_each(|link| all.insert(link));
        all
    }

    /// All of them, those too old to be followed included.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<AccountLink>> {
        self.by_hash.values()
    }

    /// The link whose token has that hash, if it can be followed now.
    #[must_use]
    pub fn find(&self, hash: &[u8; 32], now: Instant) -> Option<&Arc<AccountLink>> {
        self.by_hash.get(hash).filter(|link| now < link.expires)
    }

    /// Whether another link may be mailed to a folded address now. One that has as many as it may have gets another after
    /// an hour, so that nobody's mailbox is filled, and nobody can be kept from an account by filling it.
    #[must_use]
    pub fn has_room(&self, folded: &str, now: Instant) -> bool {
        let mut count = 0;
        let mut newest = None;
        for (_, asked, _) in self.of(folded).filter(|(_, asked, _)| now < asked.plus_seconds(LINK_SECONDS)) {
            count += 1;
            newest = Some(*asked);
        }
        let rested = newest.is_none_or(|newest| newest.plus_seconds(REST_SECONDS) <= now);
        self.by_hash.len() < OF_ONE_GROUP_MAX && (count < OF_ONE_ADDRESS_MAX || rested)
    }

    /// Adds a link asked for just now, and forgets what it takes the place of.
    pub(super) fn put(&mut self, link: Arc<AccountLink>) {
        for _ in 0..FORGOTTEN_MAX {
            let Some((expires, hash)) = self.by_end.get_min().copied() else { break };
            if link.asked < expires {
                break;
            }
            self.remove(&hash);
        }
        let of_same: Vec<[u8; 32]> = self.of(&link.email.folded()).map(|(_, _, hash)| *hash).collect();
        let surplus = (of_same.len() + 1).saturating_sub(OF_ONE_ADDRESS_MAX);
        of_same[..surplus].iter().for_each(|hash| self.remove(hash));
        self.insert(link);
    }

    /// Takes a link away, if it is there.
    pub(super) fn remove(&mut self, hash: &[u8; 32]) {
        if let Some(link) = self.by_hash.remove(hash) {
            self.by_email.remove(&(link.email.folded(), link.asked, *hash));
            self.by_end.remove(&(link.expires, *hash));
        }
    }

    /// Takes all links of a folded address away that would set its password.
    pub(super) fn remove_of(&mut self, folded: &str) {
        let hashes: Vec<[u8; 32]> = self.of(folded).map(|(_, _, hash)| *hash).collect();
        let of_account =
            |hash: &&[u8; 32]| self.by_hash.get(*hash).is_some_and(|l| matches!(l.aim, Aim::Account { .. }));
        let hashes: Vec<[u8; 32]> = hashes.iter().filter(of_account).copied().collect();
        hashes.iter().for_each(|hash| self.remove(hash));
    }

    fn of<'l>(&'l self, folded: &'l str) -> impl Iterator<Item = &'l (Box<str>, Instant, [u8; 32])> {
        let from = (Box::from(folded), Instant(i64::MIN), [0; 32]);
        self.by_email.range(from..).take_while(move |(other, ..)| **other == *folded)
    }

    fn insert(&mut self, link: Arc<AccountLink>) {
        self.by_email.insert((link.email.folded(), link.asked, link.hash));
        self.by_end.insert((link.expires, link.hash));
        self.by_hash.insert(link.hash, link);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(number: u8, asked: i64, email: &str) -> Arc<AccountLink> {
        let email = Email::new(email).expect("an address");
        let aim = Aim::Account { pending_rdv: None };
        let (asked, expires) = (Instant(asked), Instant(asked + LINK_SECONDS));
        AccountLink { hash: [number; 32], email, aim, asked, expires }.into()
    }

    fn hashes(links: &AccountLinks) -> Vec<u8> {
        links.iter().map(|link| link.hash[0]).collect()
    }

    #[test]
    fn a_link_is_followed_for_a_day_and_forgotten_after() {
        let mut links = AccountLinks::default();
        links.put(link(1, 0, "a@x"));
        assert!(links.find(&[1; 32], Instant(DAY - 1)).is_some());
        assert!(links.find(&[1; 32], Instant(DAY)).is_none() && links.find(&[2; 32], Instant(0)).is_none());
        links.put(link(2, DAY - 1, "b@x"));
        assert_eq!(hashes(&links), [1, 2]);
        links.put(link(3, DAY, "c@x"));
        assert_eq!(hashes(&links), [2, 3]);
    }

    #[test]
    fn an_address_has_five_at_most_and_gets_another_after_an_hour_in_place_of_the_oldest() {
        let mut links = AccountLinks::default();
        for number in 1..=5 {
            assert!(links.has_room("a@x", Instant(i64::from(number))));
            links.put(link(number, i64::from(number), "A@x"));
        }
        assert!(!links.has_room("a@x", Instant(3_604)) && links.has_room("b@x", Instant(6)));
        assert!(links.has_room("a@x", Instant(3_605)));
        links.put(link(6, 3_605, "a@X"));
        assert_eq!(hashes(&links), [2, 3, 4, 5, 6]);
        assert!(links.has_room("a@x", Instant(DAY + 2)), "those of yesterday do not count");
    }

    #[test]
    fn a_group_has_so_many_at_most() {
        let mut links = AccountLinks::default();
        for number in 0..OF_ONE_GROUP_MAX {
            let mut one = AccountLink::clone(&link(0, 0, &format!("{number}@x")));
            one.hash[..8].copy_from_slice(&number.to_be_bytes());
            assert!(links.has_room("new@x", Instant(0)));
            links.put(one.into());
        }
        assert!(!links.has_room("new@x", Instant(0)));
    }

    #[test]
    fn links_that_set_a_password_go_together() {
        let mut links = AccountLinks::default();
        links.put(link(1, 0, "a@x"));
        links.put(link(2, 0, "A@x"));
        links.put(link(3, 0, "b@x"));
        let id = FicheId::new(7).expect("an id");
        let aim = Aim::Email { account: "b@x".into(), fiche_id: id };
        links.put(AccountLink { aim, ..AccountLink::clone(&link(4, 0, "a@x")) }.into());
        links.remove_of("a@x");
        assert_eq!(hashes(&links), [3, 4]);
    }
}
