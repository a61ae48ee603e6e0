//! Stored links: those that give an account another address, and those of earlier releases.
//! Reference 3.5, 7.4.
//!
//! A link works once, within a day. The server stores only the hash of its token. Only the owner of
//! an account makes a stored link, and few of them.

use std::sync::Arc;

use imbl::{OrdMap, OrdSet};
use serde::{Deserialize, Serialize};

use crate::domain::records::ids::FicheId;
use crate::domain::records::text::{Email, Text};
use crate::domain::time::{DAY, HOUR, Instant};

/// Seconds for which a link is valid. Reference 3.5.
pub const LINK_SECONDS: i64 = DAY;
/// Maximum number of valid links per limit key.
const PER_KEY_MAX: usize = 5;
/// Seconds after which a key at its maximum gets another link, in place of its oldest one.
const FULL_KEY_PAUSE_SECONDS: i64 = HOUR;
/// Maximum number of expired links that one event removes. It bounds the cost of the first event
/// after a long pause.
const REMOVED_PER_EVENT_MAX: usize = 16;

/// A booking in progress, as JSON. It is returned when the account is confirmed, and is opaque to
/// the server.
pub type PendingRdv = Text<8_192>;

/// The token of a link, the path segment after `/m/`: letters, digits, `-` and `_`. The longest
/// holds a longest [`PendingRdv`] in base64.
pub type LinkToken = Text<65_536>;

/// A link that can be followed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AccountLink {
    /// The SHA-256 of its token.
    pub hash: [u8; 32],
    /// The address that it is mailed to.
    pub email: Email,
    /// The effect of following it.
    pub action: LinkAction,
    /// The stamp of its request.
    pub requested_at: Instant,
    /// The end of its validity.
    pub expires: Instant,
}

/// The effect of following a link. The order of the variants is the format on disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum LinkAction {
    /// Creates the account of the address, or sets its password.
    Account {
        /// The booking in progress to return.
        pending_rdv: Option<PendingRdv>,
    },
    /// Sets the address of a fiche, and of the account if that books for this fiche.
    Email {
        /// The folded address of the account that requested the link.
        account: Box<str>,
        /// The fiche of that account.
        fiche_id: FicheId,
    },
}

/// The key by which links count towards a common maximum.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LimitKey {
    /// Links of earlier releases that set the password of a folded address.
    Passwords(Box<str>),
    /// Links that give an account this folded address.
    ChangesTo(Box<str>),
    /// Links that the account of a folded address requested.
    ChangesOf(Box<str>),
}

impl LimitKey {
    /// The keys under which a link counts.
    fn for_link(link: &AccountLink) -> Vec<Self> {
        match &link.action {
            LinkAction::Account { .. } => vec![Self::Passwords(link.email.folded())],
            LinkAction::Email { account, .. } => {
                vec![Self::ChangesTo(link.email.folded()), Self::ChangesOf(account.clone())]
            }
        }
    }
}

/// The links of a group. Expired ones stay until a later event removes them.
#[derive(Clone, Debug, Default)]
pub struct AccountLinks {
    /// The links by the hash of their token. The other fields are indexes of these.
    by_hash: OrdMap<[u8; 32], Arc<AccountLink>>,
    /// One entry per link and limit key, ascending by request within a key.
    by_key: OrdSet<(LimitKey, Instant, [u8; 32])>,
    /// One entry per link, ascending by expiry.
    by_expiry: OrdSet<(Instant, [u8; 32])>,
}

impl AccountLinks {
    /// Builds the table from its links.
    pub fn from_links(links: Vec<Arc<AccountLink>>) -> Self {
        let mut table = Self::default();
        for link in links {
            table.insert(link);
        }
        table
    }

    /// All links, expired ones included.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<AccountLink>> {
        self.by_hash.values()
    }

    /// Finds the link whose token has a hash; `None` if it has expired.
    pub fn find(&self, hash: &[u8; 32], now: Instant) -> Option<&Arc<AccountLink>> {
        let link = self.by_hash.get(hash)?;
        if now < link.expires { Some(link) } else { None }
    }

    /// Whether a link that gives the account of a folded address another one, `folded`, may be
    /// mailed now. Reference 3.6.
    ///
    /// A key at its maximum gets another link after an hour. So no mailbox is flooded, and a full
    /// key locks no owner out for long.
    pub fn has_room(&self, folded: &str, account: &str, now: Instant) -> bool {
        let keys = [LimitKey::ChangesTo(folded.into()), LimitKey::ChangesOf(account.into())];
        keys.iter().all(|key| self.key_has_room(key, now))
    }

    fn key_has_room(&self, key: &LimitKey, now: Instant) -> bool {
        let mut valid = 0;
        let mut newest = None;
        for (requested_at, _) in self.links_under(key) {
            if now < requested_at.plus_seconds(LINK_SECONDS) {
                valid += 1;
                newest = Some(requested_at);
            }
        }
        match newest {
            Some(newest) if valid >= PER_KEY_MAX => {
                newest.plus_seconds(FULL_KEY_PAUSE_SECONDS) <= now
            }
            _ => true,
        }
    }

    /// Adds a link that was just requested. Removes the oldest links of a key above its maximum.
    ///
    /// Removes expired links for which a kept link was requested after their expiry, and this one
    /// another day later. Requests are stamped by the clock, so a single step of the clock ahead
    /// makes all links look expired, but removes none.
    pub(crate) fn put(&mut self, link: Arc<AccountLink>) {
        for _ in 0..REMOVED_PER_EVENT_MAX {
            let Some((expires, hash)) = self.by_expiry.get_min().copied() else { break };
            let requested_after = (expires.plus_seconds(LINK_SECONDS), [0; 32]);
            let Some((found_expired_until, _)) = self.by_expiry.range(requested_after..).next()
            else {
                break;
            };
            if link.requested_at < *found_expired_until {
                break;
            }
            self.remove(&hash);
        }
        for key in LimitKey::for_link(&link) {
            let hashes: Vec<[u8; 32]> = self.links_under(&key).map(|(_, hash)| hash).collect();
            let surplus = (hashes.len() + 1).saturating_sub(PER_KEY_MAX);
            for hash in &hashes[..surplus] {
                self.remove(hash);
            }
        }
        self.insert(link);
    }

    /// Removes a link, if it exists.
    pub(crate) fn remove(&mut self, hash: &[u8; 32]) {
        let Some(link) = self.by_hash.remove(hash) else { return };
        for key in LimitKey::for_link(&link) {
            self.by_key.remove(&(key, link.requested_at, *hash));
        }
        self.by_expiry.remove(&(link.expires, *hash));
    }

    /// Removes all links that would set the password of a folded address.
    pub(crate) fn remove_passwords(&mut self, folded: &str) {
        self.remove_all(&LimitKey::Passwords(folded.into()));
    }

    /// Removes all links that would give another address to the account of a folded one.
    pub(crate) fn remove_changes(&mut self, account: &str) {
        self.remove_all(&LimitKey::ChangesOf(account.into()));
    }

    fn remove_all(&mut self, key: &LimitKey) {
        let hashes: Vec<[u8; 32]> = self.links_under(key).map(|(_, hash)| hash).collect();
        for hash in &hashes {
            self.remove(hash);
        }
    }

    /// The request time and hash of each link under a key, the oldest first.
    fn links_under<'l>(
        &'l self,
        key: &'l LimitKey,
    ) -> impl Iterator<Item = (Instant, [u8; 32])> + 'l {
        let from = (key.clone(), Instant(i64::MIN), [0; 32]);
        let same = self.by_key.range(from..).take_while(move |(other, ..)| other == key);
        same.map(|(_, requested_at, hash)| (*requested_at, *hash))
    }

    fn insert(&mut self, link: Arc<AccountLink>) {
        for key in LimitKey::for_link(&link) {
            self.by_key.insert((key, link.requested_at, link.hash));
        }
        self.by_expiry.insert((link.expires, link.hash));
        self.by_hash.insert(link.hash, link);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(number: u16, asked: i64, email: &str, action: LinkAction) -> Arc<AccountLink> {
        let email = Email::new(email).expect("an address");
        let requested_at = Instant(asked);
        let expires = Instant(asked + LINK_SECONDS);
        let mut hash = [0; 32];
        hash[..2].copy_from_slice(&number.to_be_bytes());
        AccountLink { hash, email, action, requested_at, expires }.into()
    }

    /// A link that sets a password.
    fn password(number: u16, asked: i64, email: &str) -> Arc<AccountLink> {
        link(number, asked, email, LinkAction::Account { pending_rdv: None })
    }

    /// A link that gives an account another address.
    fn change(number: u16, asked: i64, email: &str, account: &str) -> Arc<AccountLink> {
        let fiche_id = FicheId::new(7).expect("an id");
        link(number, asked, email, LinkAction::Email { account: account.into(), fiche_id })
    }

    fn numbers(links: &AccountLinks) -> Vec<u16> {
        links.iter().map(|link| u16::from_be_bytes([link.hash[0], link.hash[1]])).collect()
    }

    #[test]
    fn a_link_is_valid_for_a_day_and_is_removed_a_day_after_another_found_it_expired() {
        let mut links = AccountLinks::default();
        let first = password(1, 0, "a@x");
        links.put(Arc::clone(&first));
        assert!(links.find(&first.hash, Instant(DAY - 1)).is_some());
        assert!(
            links.find(&first.hash, Instant(DAY)).is_none()
                && links.find(&[2; 32], Instant(0)).is_none()
        );
        links.put(password(2, DAY - 1, "b@x"));
        assert_eq!(numbers(&links), [1, 2]);
        links.put(password(3, DAY, "c@x"));
        links.put(password(4, 2 * DAY - 1, "d@x"));
        assert_eq!(numbers(&links), [1, 2, 3, 4]);
        links.put(password(5, 2 * DAY, "e@x"));
        assert_eq!(numbers(&links), [2, 3, 4, 5]);
    }

    #[test]
    fn one_step_of_the_clock_ahead_removes_no_link() {
        let mut links = AccountLinks::default();
        links.put(password(1, 0, "a@x"));
        for (number, asked) in [(2, 10 * DAY), (3, 10 * DAY + 5), (4, 11 * DAY - 1)] {
            links.put(password(number, asked, "b@x"));
        }
        assert_eq!(numbers(&links), [1, 2, 3, 4]);
        links.put(password(5, 11 * DAY, "c@x"));
        assert_eq!(numbers(&links), [2, 3, 4, 5]);
    }

    #[test]
    fn an_account_has_at_most_five_address_changes_to_any_addresses() {
        let mut links = AccountLinks::default();
        for number in 1..=5 {
            assert!(links.has_room("new@x", "a@x", Instant(0)));
            links.put(change(number, 0, &format!("{number}@x"), "a@x"));
        }
        assert!(!links.has_room("new@x", "a@x", Instant(3_599)));
        assert!(links.has_room("new@x", "b@x", Instant(3_599)));
        assert!(links.has_room("new@x", "a@x", Instant(3_600)));
        links.put(change(6, 3_600, "new@x", "a@x"));
        assert_eq!(numbers(&links), [2, 3, 4, 5, 6]);
        assert!(links.has_room("new@x", "a@x", Instant(DAY + 3_600)), "older ones do not count");
    }

    #[test]
    fn an_address_is_the_aim_of_at_most_five_changes() {
        let mut links = AccountLinks::default();
        for number in 1..=5 {
            links.put(change(number, 0, "victim@x", &format!("{number}@x")));
        }
        assert!(!links.has_room("victim@x", "a@x", Instant(0)), "the mailbox is not flooded");
        assert!(links.has_room("other@x", "a@x", Instant(0)));
    }

    #[test]
    fn password_links_of_an_address_and_changes_of_an_account_are_removed_together() {
        let mut links = AccountLinks::default();
        links.put(password(1, 0, "a@x"));
        links.put(password(2, 0, "A@x"));
        links.put(password(3, 0, "b@x"));
        links.put(change(4, 0, "a@x", "b@x"));
        links.put(change(5, 0, "c@x", "a@x"));
        links.remove_passwords("a@x");
        assert_eq!(numbers(&links), [3, 4, 5]);
        links.remove_changes("a@x");
        assert_eq!(numbers(&links), [3, 4]);
    }

    #[test]
    fn a_change_of_the_address_counts_until_its_link_ends() {
        let mut links = AccountLinks::default();
        links.put(change(1, 0, "1@x", "a@x"));
        for number in 2..=5 {
            links.put(change(number, DAY - 60, &format!("{number}@x"), "a@x"));
        }
        assert!(!links.has_room("new@x", "a@x", Instant(DAY - 1)));
        assert!(links.has_room("new@x", "a@x", Instant(DAY)), "four are left");
    }
}
