//! The logins of professionals at the practice's own screens. They survive a restart. Reference
//! 15.1.

use imbl::{OrdMap, OrdSet};
use serde::{Deserialize, Serialize};

use crate::domain::directory::second_factor::SecondStep;
use crate::domain::records::ids::ProId;
use crate::domain::records::text::{Name, Text};
use crate::domain::time::{DAY, HOUR, Instant};

/// Seconds after which a login ends.
const SHORT_SECONDS: i64 = 12 * HOUR;
/// Seconds after which the login of a person who stays signed in ends.
pub const STAY_SECONDS: i64 = 30 * DAY;
/// Maximum number of logins of one professional. Beyond it the oldest ends.
pub const LOGINS_PER_PRO_MAX: usize = 100;
/// Maximum number of logins. Beyond it the one that would end next ends.
pub const LOGINS_MAX: usize = 100_000;
/// Maximum number of logins that have ended and that a new one removes. It bounds the cost of a
/// login.
const REMOVED_PER_LOGIN_MAX: usize = 8;
/// Seconds by which a clock may be set back without ending the logins of the time before.
const AHEAD_SECONDS_MAX: i64 = HOUR;

/// SHA-256 of the token that a browser holds.
pub type LoginHash = [u8; 32];

/// A login of a professional with a browser.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProLogin {
    /// The professional.
    pub pro: ProId,
    /// The time of the login.
    pub begun: Instant,
    /// Whether it lasts for 30 days, in place of 12 hours.
    pub stays: bool,
    /// The address that the login came from.
    pub source: Name<45>,
    /// The name that the browser gave itself.
    pub device: Name<120>,
}

impl ProLogin {
    /// The moment at which it ends.
    pub fn ends(&self) -> Instant {
        self.begun.plus_seconds(if self.stays { STAY_SECONDS } else { SHORT_SECONDS })
    }

    /// Whether it counts. One that was opened while the clock was far ahead does not, so that it
    /// gives no more time than others.
    pub fn is_active(&self, now: Instant) -> bool {
        now < self.ends() && self.begun <= now.plus_seconds(AHEAD_SECONDS_MAX)
    }
}

/// A login of a professional to open.
#[derive(Clone, Debug)]
pub struct ProLoginDraft {
    /// The SHA-256 of its token.
    pub hash: LoginHash,
    /// The professional.
    pub pro: ProId,
    /// The hash of the password that was verified.
    pub password_hash: Text<255>,
    /// Whether it lasts for 30 days.
    pub stays: bool,
    /// The address that the login comes from.
    pub source: Name<45>,
    /// The name that the browser gives itself.
    pub device: Name<120>,
    /// The login of the same browser, which ends.
    pub replaced: Option<LoginHash>,
    /// The second step of the login.
    pub second_step: SecondStep,
}

/// A choice among the logins of a professional.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhichLogins {
    /// One of them.
    One(LoginHash),
    /// All but the one of the request, if it has one.
    AllBut(Option<LoginHash>),
}

/// The logins of all professionals, by hash, by professional and by end. Some may have ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProLogins {
    by_hash: OrdMap<LoginHash, ProLogin>,
    by_pro: OrdSet<(ProId, Instant, LoginHash)>,
    by_end: OrdSet<(Instant, LoginHash)>,
}

impl ProLogins {
    /// Returns the login of a hash, if it has not ended.
    pub fn find(&self, hash: &LoginHash, now: Instant) -> Option<&ProLogin> {
        self.by_hash.get(hash).filter(|login| login.is_active(now))
    }

    /// The logins of a professional that have not ended, the oldest first.
    pub fn active(&self, pro: ProId, now: Instant) -> impl Iterator<Item = (LoginHash, &ProLogin)> {
        self.hashes(pro).filter_map(move |hash| Some((hash, self.find(&hash, now)?)))
    }

    /// All of them, ascending by hash.
    pub fn iter(&self) -> impl Iterator<Item = (LoginHash, &ProLogin)> {
        self.by_hash.iter().map(|(hash, login)| (*hash, login))
    }

    /// The number of logins, with those that have ended and are not removed yet.
    pub fn len(&self) -> usize {
        self.by_hash.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.by_hash.is_empty()
    }

    /// The hashes of a professional's logins, the oldest first.
    fn hashes(&self, pro: ProId) -> impl Iterator<Item = LoginHash> {
        let first = (pro, Instant(i64::MIN), [0; 32]);
        let own = self.by_pro.range(first..).take_while(move |(of, _, _)| *of == pro);
        own.map(|(_, _, hash)| *hash)
    }

    /// Opens a login. Removes some that have ended by then, and as many others as the maxima
    /// demand.
    pub(crate) fn open(&mut self, hash: LoginHash, login: ProLogin) {
        for _ in 0..REMOVED_PER_LOGIN_MAX {
            match self.by_end.get_min() {
                Some(&(ends, ended)) if ends <= login.begun => self.remove(&ended),
                _ => break,
            }
        }
        let own: Vec<LoginHash> = self.hashes(login.pro).collect();
        let excess = (own.len() + 1).saturating_sub(LOGINS_PER_PRO_MAX);
        for oldest in own.iter().take(excess) {
            self.remove(oldest);
        }
        while self.by_hash.len() >= LOGINS_MAX
            && let Some(&(_, next)) = self.by_end.get_min()
        {
            self.remove(&next);
        }
        self.put(hash, login);
    }

    fn put(&mut self, hash: LoginHash, login: ProLogin) {
        self.remove(&hash);
        self.by_pro.insert((login.pro, login.begun, hash));
        self.by_end.insert((login.ends(), hash));
        self.by_hash.insert(hash, login);
    }

    /// Removes a login, if it is there.
    pub(crate) fn remove(&mut self, hash: &LoginHash) {
        if let Some(login) = self.by_hash.remove(hash) {
            self.by_pro.remove(&(login.pro, login.begun, *hash));
            self.by_end.remove(&(login.ends(), *hash));
        }
    }

    /// Removes all logins of a professional.
    pub(crate) fn remove_all(&mut self, pro: ProId) {
        let own: Vec<LoginHash> = self.hashes(pro).collect();
        for hash in &own {
            self.remove(hash);
        }
    }
}

impl Extend<(LoginHash, ProLogin)> for ProLogins {
    fn extend<I: IntoIterator<Item = (LoginHash, ProLogin)>>(&mut self, logins: I) {
        for (hash, login) in logins {
            self.put(hash, login);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(number: usize) -> LoginHash {
        let mut hash = [0; 32];
        hash[..8].copy_from_slice(&number.to_be_bytes());
        hash
    }

    fn login(pro: u64, begun: i64, stays: bool) -> ProLogin {
        let pro = ProId::new(pro).expect("an id");
        let begun = Instant(begun);
        ProLogin { pro, begun, stays, source: Name::default(), device: Name::default() }
    }

    #[test]
    fn a_login_ends_after_12_hours_or_30_days_and_one_of_the_future_does_not_count() {
        let at = 1_000_000;
        for (stays, seconds) in [(false, 12 * HOUR), (true, 30 * DAY)] {
            let login = login(1, at, stays);
            for (after, is_active) in [
                (0, true),
                (seconds - 1, true),
                (seconds, false),
                (-HOUR, true),
                (-HOUR - 1, false),
            ] {
                assert_eq!(login.is_active(Instant(at + after)), is_active, "{stays} {after}");
            }
        }
    }

    #[test]
    fn the_oldest_login_of_a_person_makes_room_and_others_keep_theirs() {
        let mut logins = ProLogins::default();
        logins.open(hash(999), login(2, 0, false));
        for number in 0..=LOGINS_PER_PRO_MAX {
            let begun = i64::try_from(number).expect("small");
            logins.open(hash(number), login(1, begun, false));
        }
        let one = ProId::new(1).expect("an id");
        let now = Instant(200);
        let own: Vec<LoginHash> = logins.active(one, now).map(|(hash, _)| hash).collect();
        assert_eq!(own.len(), LOGINS_PER_PRO_MAX);
        assert_eq!((own[0], own[99]), (hash(1), hash(100)));
        assert!(logins.find(&hash(999), now).is_some());
        logins.remove_all(one);
        assert_eq!(logins.len(), 1);
        assert!(!logins.is_empty());
        logins.remove(&hash(999));
        assert!(logins.is_empty());
    }

    #[test]
    fn on_a_full_server_the_login_that_would_end_next_makes_room() {
        let mut logins = ProLogins::default();
        logins.extend((1..LOGINS_MAX).map(|number| {
            let pro = u64::try_from(number / 50 + 2).expect("small");
            (hash(number), login(pro, 100, true))
        }));
        logins.open(hash(0), login(1, 100, false));
        assert_eq!(logins.len(), LOGINS_MAX);
        logins.open(hash(LOGINS_MAX), login(1, 101, false));
        assert_eq!(logins.len(), LOGINS_MAX);
        let now = Instant(102);
        assert!(logins.find(&hash(0), now).is_none());
        assert!(logins.find(&hash(1), now).is_some());
    }

    #[test]
    fn a_login_removes_few_that_have_ended_and_the_indexes_agree() {
        let mut logins = ProLogins::default();
        for number in 0..20 {
            logins.open(hash(number), login(1, 0, false));
        }
        logins.open(hash(20), login(2, 0, true));
        assert_eq!(logins.len(), 21);
        logins.open(hash(21), login(2, 13 * HOUR, false));
        assert_eq!(logins.len(), 22 - REMOVED_PER_LOGIN_MAX);
        for number in 22..25 {
            logins.open(hash(number), login(2, 13 * HOUR, false));
        }
        assert_eq!(logins.active(ProId::new(2).expect("an id"), Instant(13 * HOUR)).count(), 5);
        assert_eq!(logins.len(), 5, "what has ended is removed by others");
        for (_, login) in logins.clone().iter() {
            logins.remove_all(login.pro);
        }
        assert_eq!(logins, ProLogins::default());
    }
}
