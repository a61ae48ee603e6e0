//! Links mailed to the owner of an address: each is followed once, within a day, and is known only by the hash of its
//! token. Reference 3.

use std::sync::Arc;

use imbl::{OrdMap, OrdSet};
use serde::{Deserialize, Serialize};

use crate::domain::records::ids::FicheId;
use crate::domain::records::text::{Email, Text};
use crate::domain::time::{DAY, Instant};

/// How long a link can be followed, in seconds. Reference 3.
pub const LINK_SECONDS: i64 = DAY;
/// Links that count together and can be followed at a time.
const TOGETHER_MAX: usize = 5;
/// Seconds after which there is another one where there are so many, in place of the oldest.
const REST_SECONDS: i64 = 3_600;
/// Links of one group that can be followed at a time.
const OF_ONE_GROUP_MAX: usize = 2_000;
/// At so many no newcomer gets another: whoever makes addresses up fills half.
const OF_NEWCOMERS_MAX: usize = OF_ONE_GROUP_MAX / 2;
/// At so many no account gets another for a new address: the last quarter is for those who need a password.
const OF_CHANGES_MAX: usize = OF_ONE_GROUP_MAX / 4 * 3;
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
    pub aim: LinkAction,
    /// When it was asked for.
    pub asked: Instant,
    /// From then on it does nothing.
    pub expires: Instant,
}

/// What following a link does. The order of the variants is the format on disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum LinkAction {
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

/// Who asks for another link.
#[derive(Clone, Copy, Debug)]
pub enum LinkRequester<'a> {
    /// Somebody who is to have a password, at an address that no account and no live fiche has.
    Newcomer,
    /// Somebody who is to have a password, at the address of an account or a live fiche.
    Known,
    /// The account of that folded address, which is to have another one.
    Account(&'a str),
}

impl LinkRequester<'_> {
    /// How many links of the group leave it no room for another.
    const fn group_max(self) -> usize {
        match self {
            Self::Newcomer => OF_NEWCOMERS_MAX,
            Self::Account(_) => OF_CHANGES_MAX,
            Self::Known => OF_ONE_GROUP_MAX,
        }
    }
}

/// Which links count together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LimitKey {
    /// Those that set the password of a folded address.
    Passwords(Box<str>),
    /// Those by which a folded address is to become an account's. They take no place from those of its password: who asks
    /// for them has another account.
    ChangesTo(Box<str>),
    /// Those that the account of a folded address has asked for.
    ChangesOf(Box<str>),
}

impl LimitKey {
    /// All that a link counts in.
    fn of(link: &AccountLink) -> Vec<Self> {
        match &link.aim {
            LinkAction::Account { .. } => vec![Self::Passwords(link.email.folded())],
            LinkAction::Email { account, .. } => {
                vec![Self::ChangesTo(link.email.folded()), Self::ChangesOf(account.clone())]
            }
        }
    }

    /// All that a link to a folded address would count in.
    fn of_next(folded: &str, asker: LinkRequester<'_>) -> Vec<Self> {
        match asker {
            LinkRequester::Newcomer | LinkRequester::Known => vec![Self::Passwords(folded.into())],
            LinkRequester::Account(account) => {
                vec![Self::ChangesTo(folded.into()), Self::ChangesOf(account.into())]
            }
        }
    }
}

/// The links of a group that can be followed.
#[derive(Clone, Debug, Default)]
pub struct AccountLinks {
    by_hash: OrdMap<[u8; 32], Arc<AccountLink>>,
    /// By what they count in, then by age.
    by_tally: OrdSet<(LimitKey, Instant, [u8; 32])>,
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

    /// Whether another link may be mailed to a folded address now. Where as many as may be count together, there is another
    /// after an hour, so that nobody's mailbox is filled, and nobody can be kept from an account by filling it. Of what the
    /// whole group may have, a part is kept for those whom it knows, so that strangers do not keep them out.
    #[must_use]
    pub fn has_room(&self, folded: &str, asker: LinkRequester<'_>, now: Instant) -> bool {
        let alive = |at: Instant| now < at.plus_seconds(LINK_SECONDS);
        let rested = |tally: &LimitKey| {
            let asked: Vec<Instant> =
                self.of(tally).map(|(asked, _)| asked).filter(|asked| alive(*asked)).collect();
            asked.len() < TOGETHER_MAX
                || asked.last().is_none_or(|newest| newest.plus_seconds(REST_SECONDS) <= now)
        };
        let most = asker.group_max();
        // Those too old do not count: they are only forgotten when the next is put.
        let in_group = self.by_end.range((now.plus_seconds(1), [0; 32])..).take(most).count();
        in_group < most && LimitKey::of_next(folded, asker).iter().all(rested)
    }

    /// Adds a link asked for just now, and forgets what it takes the place of.
    pub(crate) fn put(&mut self, link: Arc<AccountLink>) {
        for _ in 0..FORGOTTEN_MAX {
            let Some((expires, hash)) = self.by_end.get_min().copied() else { break };
            if link.asked < expires {
                break;
            }
            self.remove(&hash);
        }
        for tally in LimitKey::of(&link) {
            let of_same: Vec<[u8; 32]> = self.of(&tally).map(|(_, hash)| hash).collect();
            let surplus = (of_same.len() + 1).saturating_sub(TOGETHER_MAX);
            of_same[..surplus].iter().for_each(|hash| self.remove(hash));
        }
        self.insert(link);
    }

    /// Takes a link away, if it is there.
    pub(crate) fn remove(&mut self, hash: &[u8; 32]) {
        if let Some(link) = self.by_hash.remove(hash) {
            for tally in LimitKey::of(&link) {
                self.by_tally.remove(&(tally, link.asked, *hash));
            }
            self.by_end.remove(&(link.expires, *hash));
        }
    }

    /// Takes all links away that would set the password of a folded address.
    pub(crate) fn remove_passwords(&mut self, folded: &str) {
        self.remove_all(&LimitKey::Passwords(folded.into()));
    }

    /// Takes all links away that would give another address to the account of a folded one.
    pub(crate) fn remove_changes(&mut self, account: &str) {
        self.remove_all(&LimitKey::ChangesOf(account.into()));
    }

    fn remove_all(&mut self, tally: &LimitKey) {
        let hashes: Vec<[u8; 32]> = self.of(tally).map(|(_, hash)| hash).collect();
        hashes.iter().for_each(|hash| self.remove(hash));
    }

    /// When those that count together were asked for, and their hashes, the oldest first.
    fn of<'l>(&'l self, tally: &'l LimitKey) -> impl Iterator<Item = (Instant, [u8; 32])> + 'l {
        let from = (tally.clone(), Instant(i64::MIN), [0; 32]);
        let same = self.by_tally.range(from..).take_while(move |(other, ..)| other == tally);
        same.map(|(_, asked, hash)| (*asked, *hash))
    }

    fn insert(&mut self, link: Arc<AccountLink>) {
        for tally in LimitKey::of(&link) {
            self.by_tally.insert((tally, link.asked, link.hash));
        }
        self.by_end.insert((link.expires, link.hash));
        self.by_hash.insert(link.hash, link);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(number: u16, asked: i64, email: &str, aim: LinkAction) -> Arc<AccountLink> {
        let email = Email::new(email).expect("an address");
        let (asked, expires) = (Instant(asked), Instant(asked + LINK_SECONDS));
        let mut hash = [0; 32];
        hash[..2].copy_from_slice(&number.to_be_bytes());
        AccountLink { hash, email, aim, asked, expires }.into()
    }

    /// One that sets a password.
    fn password(number: u16, asked: i64, email: &str) -> Arc<AccountLink> {
        link(number, asked, email, LinkAction::Account { pending_rdv: None })
    }

    /// One by which an account is to have another address.
    fn change(number: u16, asked: i64, email: &str, account: &str) -> Arc<AccountLink> {
        let fiche_id = FicheId::new(7).expect("an id");
        link(number, asked, email, LinkAction::Email { account: account.into(), fiche_id })
    }

    fn numbers(links: &AccountLinks) -> Vec<u16> {
        links.iter().map(|link| u16::from_be_bytes([link.hash[0], link.hash[1]])).collect()
    }

    #[test]
    fn a_link_is_followed_for_a_day_and_forgotten_after() {
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
        assert_eq!(numbers(&links), [2, 3]);
    }

    #[test]
    fn an_address_has_five_at_most_and_gets_another_after_an_hour_in_place_of_the_oldest() {
        let mut links = AccountLinks::default();
        let has_room = |links: &AccountLinks, folded, at| {
            links.has_room(folded, LinkRequester::Newcomer, Instant(at))
        };
        for number in 1..=5 {
            assert!(has_room(&links, "a@x", i64::from(number)));
            links.put(password(number, i64::from(number), "A@x"));
        }
        assert!(!has_room(&links, "a@x", 3_604) && has_room(&links, "b@x", 6));
        assert!(has_room(&links, "a@x", 3_605));
        links.put(password(6, 3_605, "a@X"));
        assert_eq!(numbers(&links), [2, 3, 4, 5, 6]);
        assert!(has_room(&links, "a@x", DAY + 2), "those of yesterday do not count");
    }

    #[test]
    fn an_account_asks_for_five_changes_at_most_wherever_they_go() {
        let mut links = AccountLinks::default();
        for number in 1..=5 {
            assert!(links.has_room("new@x", LinkRequester::Account("a@x"), Instant(0)));
            links.put(change(number, 0, &format!("{number}@x"), "a@x"));
        }
        assert!(!links.has_room("new@x", LinkRequester::Account("a@x"), Instant(3_599)));
        assert!(links.has_room("new@x", LinkRequester::Account("b@x"), Instant(3_599)));
        assert!(links.has_room("new@x", LinkRequester::Account("a@x"), Instant(3_600)));
        links.put(change(6, 3_600, "new@x", "a@x"));
        assert_eq!(numbers(&links), [2, 3, 4, 5, 6]);
    }

    #[test]
    fn changes_to_an_address_take_no_place_from_its_passwords() {
        let mut links = AccountLinks::default();
        for number in 1..=5 {
            links.put(change(number, 0, "victim@x", &format!("{number}@x")));
        }
        assert!(
            !links.has_room("victim@x", LinkRequester::Account("a@x"), Instant(0)),
            "the mailbox is not filled"
        );
        assert!(links.has_room("victim@x", LinkRequester::Known, Instant(0)));
        (6..=10).for_each(|number| links.put(password(number, 0, "victim@x")));
        assert_eq!(numbers(&links).len(), 10);
    }

    #[test]
    fn a_group_has_so_many_at_most_and_keeps_some_for_those_it_knows() {
        let mut links = AccountLinks::default();
        let askers = [LinkRequester::Newcomer, LinkRequester::Account("a@x"), LinkRequester::Known];
        let room = |links: &AccountLinks, at| {
            askers.map(|asker| links.has_room("new@x", asker, Instant(at)))
        };
        for number in 0..OF_ONE_GROUP_MAX {
            let expected = [number < OF_NEWCOMERS_MAX, number < OF_CHANGES_MAX, true];
            assert_eq!(room(&links, 0), expected, "{number}");
            links.put(password(u16::try_from(number).expect("small"), 0, &format!("{number}@x")));
        }
        assert_eq!(room(&links, 0), [false; 3]);
    }

    #[test]
    fn a_full_table_has_room_again_a_day_later() {
        let mut links = AccountLinks::default();
        let has_room = |links: &AccountLinks, at| {
            links.has_room("new@x", LinkRequester::Newcomer, Instant(at))
        };
        for number in 0..OF_ONE_GROUP_MAX {
            links.put(password(u16::try_from(number).expect("small"), 0, &format!("{number}@x")));
        }
        assert!(!has_room(&links, DAY - 1));
        for number in 0..OF_NEWCOMERS_MAX {
            assert!(has_room(&links, DAY), "{number} of that day");
            links.put(password(
                u16::try_from(OF_ONE_GROUP_MAX + number).expect("small"),
                DAY,
                &format!("n{number}@x"),
            ));
        }
        assert!(!has_room(&links, DAY));
        assert_eq!(links.iter().count(), OF_NEWCOMERS_MAX, "those of the day before are forgotten");
    }

    #[test]
    fn links_that_set_a_password_go_together_and_so_do_those_that_an_account_has_asked_for() {
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
}
