//! The codes that strangers may have sent to others, shared fairly by network, recipient and mail
//! domain. Reference 6.8.
//!
//! Only codes that were not given yet count. A stranger who asks for codes to the mailboxes of
//! others never gives them, so they fill a share, while those of clients make room for the next.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use ipnet::IpNet;
use parking_lot::{Mutex, MutexGuard};
use smallvec::SmallVec;

use crate::domain::records::hold::HoldId;
use crate::domain::records::ids::GroupId;
use crate::domain::time::{DAY, Instant};
use crate::http::limits::hash_secret::HashSecret;
use crate::http::limits::source_networks::SourceNetworks;

mod image;

/// Maximum number of codes of one group that were not given within 24 hours, without any option.
pub(crate) const CODES_DAILY_MAX: usize = 500;
/// The same, where the option is 0.
const UNLIMITED: usize = 100_000;
/// Maximum number of such codes to one recipient.
pub(crate) const CODES_PER_RECIPIENT_MAX: usize = 20;
/// Maximum number of such codes to one recipient that a /48 or a /24 asks for. So it takes several
/// networks to use up what one recipient gets.
pub(crate) const CODES_PER_RECIPIENT_OF_NETWORK_MAX: usize = 5;
/// Part of the codes from which on each network has a smaller share.
const CONTESTED_PERCENT: usize = 50;
/// Part of the codes from which on only sources without such a code get one.
const RESERVED_PERCENT: usize = 80;
/// Share of a source of all codes while there are many left.
const SHARE_PERCENT: usize = 10;
/// The same once they are contested.
const CONTESTED_SHARE_PERCENT: usize = 2;
/// Maximum number of things by which a code is shared.
const SHARERS_MAX: usize = 6;
/// Share of a mail domain, beyond which contested codes go only to sources without one.
const DOMAIN_PERCENT: usize = 25;

/// The codes of each group that were not given yet.
#[derive(Debug)]
pub(crate) struct CodeBudget {
    daily_max: usize,
    groups: Mutex<BTreeMap<GroupId, GroupCodes>>,
    /// Number of codes of all groups.
    total: AtomicUsize,
    /// Hashes sharers: in a cluster it is set before the first, otherwise drawn with that.
    secret: OnceLock<HashSecret>,
    /// Number of changes of the groups, each counted under their lock.
    changes: AtomicU64,
}

/// The codes of a group that were not given yet, and were asked for within 24 hours.
#[derive(Debug)]
struct GroupCodes {
    /// Hashes sharers.
    secret: HashSecret,
    /// Each by its number, ascending.
    open: BTreeMap<u64, OpenCode>,
    by_hold: BTreeMap<HoldId, u64>,
    /// Numbers of open codes, none of them 0.
    counts: BTreeMap<SharerHash, u32>,
    last_number: u64,
}

/// A code that was asked for and not given yet.
#[derive(Debug)]
struct OpenCode {
    at: Instant,
    sharers: SmallVec<[SharerHash; SHARERS_MAX]>,
    hold: Option<HoldId>,
}

/// Something by which codes are shared.
#[derive(Clone, Copy, Debug, Hash)]
enum Sharer<'r> {
    Network(IpNet),
    Domain(&'r str),
    Recipient(&'r str),
    RecipientOf(IpNet, &'r str),
}

/// The hash that stands for a sharer, since a code has six of them, which are longer.
type SharerHash = u64;

/// A code that is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CodeRequest<'r> {
    pub(crate) group: GroupId,
    /// The networks of the source; `None` behind a key of a server.
    pub(crate) networks: Option<SourceNetworks>,
    /// The folded address or the number that it goes to.
    pub(crate) recipient: &'r str,
}

/// The place of a code in the budget of its group. It keeps its place unless it is given back, also
/// if the request's connection ends, since the write goes on.
#[derive(Debug)]
pub(crate) struct CodePlace {
    group: GroupId,
    number: u64,
    /// Whether it is the one by which half of the codes are used up.
    pub(crate) is_half: bool,
}

impl CodeBudget {
    /// A budget of this many codes for each group; 0 stands for no limit.
    pub(crate) const fn new(daily_max: usize) -> Self {
        let daily_max = if daily_max == 0 { UNLIMITED } else { daily_max };
        Self {
            daily_max,
            groups: Mutex::new(BTreeMap::new()),
            total: AtomicUsize::new(0),
            secret: OnceLock::new(),
            changes: AtomicU64::new(0),
        }
    }

    /// Number of codes of all groups that were not given.
    pub(crate) fn count(&self) -> usize {
        self.total.load(Ordering::Relaxed)
    }

    /// Takes a place for a code.
    ///
    /// # Errors
    /// The seconds after which the oldest code in the way counts no more. Nothing is taken.
    pub(crate) fn take(&self, request: CodeRequest<'_>, now: Instant) -> Result<CodePlace, i64> {
        let mut groups = self.change_groups();
        let codes = groups.entry(request.group).or_insert_with(|| GroupCodes::new(self.secret()));
        self.total.fetch_sub(codes.remove_expired(now), Ordering::Relaxed);
        let used = codes.open.len();
        if let Some(seconds) = codes.find_wait(request, self.daily_max, now) {
            return Err(seconds);
        }
        let sharers = codes.hash_sharers(request);
        let number = codes.put(OpenCode { at: now, sharers, hold: None });
        self.total.fetch_add(1, Ordering::Relaxed);
        let is_half = used + 1 == percent(self.daily_max, CONTESTED_PERCENT);
        Ok(CodePlace { group: request.group, number, is_half })
    }

    /// Gives a place back: no code was sent.
    pub(crate) fn give_back(&self, place: &CodePlace) {
        if let Some(codes) = self.change_groups().get_mut(&place.group) {
            self.total.fetch_sub(codes.remove(place.number), Ordering::Relaxed);
        }
    }

    /// Names the hold whose code took a place.
    pub(crate) fn name(&self, place: &CodePlace, hold: HoldId) {
        if let Some(codes) = self.change_groups().get_mut(&place.group) {
            codes.name(place.number, hold);
        }
    }

    /// Frees the place of a code that was given.
    pub(crate) fn settle(&self, group: GroupId, hold: HoldId) {
        if let Some(codes) = self.change_groups().get_mut(&group)
            && let Some(number) = codes.by_hold.get(&hold).copied()
        {
            self.total.fetch_sub(codes.remove(number), Ordering::Relaxed);
        }
    }
}

impl CodeBudget {
    fn secret(&self) -> HashSecret {
        *self.secret.get_or_init(HashSecret::draw)
    }

    /// Locks the groups for a change.
    fn change_groups(&self) -> MutexGuard<'_, BTreeMap<GroupId, GroupCodes>> {
        let groups = self.groups.lock();
        self.changes.fetch_add(1, Ordering::Relaxed);
        groups
    }
}

impl GroupCodes {
    const fn new(secret: HashSecret) -> Self {
        Self {
            secret,
            open: BTreeMap::new(),
            by_hold: BTreeMap::new(),
            counts: BTreeMap::new(),
            last_number: 0,
        }
    }

    /// Adds a code, and returns its number.
    fn put(&mut self, code: OpenCode) -> u64 {
        self.last_number += 1;
        for sharer in &code.sharers {
            *self.counts.entry(*sharer).or_default() += 1;
        }
        self.open.insert(self.last_number, code);
        self.last_number
    }

    /// Names the hold of a code, if it is open.
    fn name(&mut self, number: u64, hold: HoldId) {
        if let Some(code) = self.open.get_mut(&number) {
            code.hold = Some(hold);
            self.by_hold.insert(hold, number);
        }
    }

    /// Returns the seconds until a code may be asked for; `None` if it may be now.
    fn find_wait(&self, request: CodeRequest<'_>, most: usize, now: Instant) -> Option<i64> {
        let used = self.open.len();
        if used >= most {
            return Some(self.find_wait_for(None, now));
        }
        let is_contested = used >= percent(most, CONTESTED_PERCENT);
        let is_reserved = used >= percent(most, RESERVED_PERCENT)
            || is_contested
                && request.domain().is_some_and(|domain| {
                    let domain = self.hash(Sharer::Domain(domain));
                    self.count(domain) >= percent(most, DOMAIN_PERCENT)
                });
        let share = if is_reserved {
            1
        } else if is_contested {
            percent(most, CONTESTED_SHARE_PERCENT).max(1)
        } else {
            percent(most, SHARE_PERCENT).max(1)
        };
        request.limits(share).into_iter().find_map(|(sharer, limit)| {
            let sharer = self.hash(sharer);
            (self.count(sharer) >= limit).then(|| self.find_wait_for(Some(sharer), now))
        })
    }

    fn hash(&self, sharer: Sharer<'_>) -> SharerHash {
        self.secret.hash(&sharer)
    }

    /// Returns everything by which a code is shared.
    fn hash_sharers(&self, request: CodeRequest<'_>) -> SmallVec<[SharerHash; SHARERS_MAX]> {
        let limited = request.limits(0).into_iter().map(|(sharer, _)| sharer);
        limited.chain(request.domain().map(Sharer::Domain)).map(|each| self.hash(each)).collect()
    }

    fn count(&self, sharer: SharerHash) -> usize {
        self.counts.get(&sharer).map_or(0, |count| *count as usize)
    }

    /// Returns the seconds until the oldest code of a sharer, or of all, counts no more.
    fn find_wait_for(&self, sharer: Option<SharerHash>, now: Instant) -> i64 {
        let is_meant =
            |code: &&OpenCode| sharer.is_none_or(|sharer| code.sharers.contains(&sharer));
        let oldest = self.open.values().find(is_meant);
        oldest.map_or(1, |code| DAY - now.seconds_since(code.at))
    }

    /// Removes the codes of more than 24 hours ago, and those of a clock that was ahead. Returns
    /// their number.
    fn remove_expired(&mut self, now: Instant) -> usize {
        let mut removed = 0;
        while let Some((&number, code)) = self.open.first_key_value()
            && !(0..DAY).contains(&now.seconds_since(code.at))
        {
            removed += self.remove(number);
        }
        removed
    }

    /// Removes a code, if it is open, and returns the number of those removed.
    fn remove(&mut self, number: u64) -> usize {
        let Some(code) = self.open.remove(&number) else { return 0 };
        if let Some(hold) = code.hold {
            self.by_hold.remove(&hold);
        }
        for sharer in code.sharers {
            if let Some(count) = self.counts.get_mut(&sharer) {
                *count -= 1;
                if *count == 0 {
                    self.counts.remove(&sharer);
                }
            }
        }
        1
    }
}

impl<'r> CodeRequest<'r> {
    /// The mail domain of the recipient.
    fn domain(&self) -> Option<&'r str> {
        self.recipient.rsplit_once('@').map(|(_, domain)| domain)
    }

    /// The sharers that limits hold for, with the numbers of their open codes at which no more is
    /// sent. `share` is that of a source.
    fn limits(&self, share: usize) -> Vec<(Sharer<'r>, usize)> {
        let mut limits = vec![(Sharer::Recipient(self.recipient), CODES_PER_RECIPIENT_MAX)];
        if let Some(SourceNetworks { own, site, widest }) = self.networks {
            limits.push((Sharer::Network(own), share));
            limits.extend(site.map(|site| (Sharer::Network(site), 2 * share)));
            limits.push((Sharer::Network(widest), 4 * share));
            let of_network = Sharer::RecipientOf(widest, self.recipient);
            limits.push((of_network, CODES_PER_RECIPIENT_OF_NETWORK_MAX));
        }
        limits
    }
}

const fn percent(of: usize, percent: usize) -> usize {
    of.saturating_mul(percent) / 100
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant(1_000_000);

    fn ask(
        budget: &CodeBudget,
        from: &str,
        recipient: &str,
        now: Instant,
    ) -> Result<CodePlace, i64> {
        let networks = Some(SourceNetworks::around(from.parse().expect("an address")));
        let group = GroupId::new(1).expect("an id");
        budget.take(CodeRequest { group, networks, recipient }, now)
    }

    /// Asks from each source in turn until none gets a code. Returns the number of codes.
    fn exhaust(budget: &CodeBudget, sources: &[String], domain: &str) -> usize {
        let mut sent = 0;
        let mut is_refused = false;
        while !is_refused {
            is_refused = true;
            for source in sources {
                if ask(budget, source, &format!("c{sent}@{domain}"), NOW).is_ok() {
                    sent += 1;
                    is_refused = false;
                }
            }
        }
        sent
    }

    fn sources_of(networks: impl Iterator<Item = u32>, shift: u32) -> Vec<String> {
        let source = |n: u32| {
            let bits = u128::from(n) << shift | 0x2001_0db8 << 96;
            std::net::Ipv6Addr::from_bits(bits).to_string()
        };
        networks.map(source).collect()
    }

    #[test]
    fn networks_have_shares_and_a_part_is_kept_for_the_first_code_of_a_source() {
        for (sources, codes) in [
            (sources_of(0..1, 64), 50),
            (sources_of(0..75, 64), 100),
            (sources_of(0..256, 72), 200),
            (sources_of(0..75, 80), 250),
        ] {
            let budget = CodeBudget::new(500);
            assert_eq!(exhaust(&budget, &sources, "one.example"), codes);
            let group = GroupId::new(1).expect("an id");
            {
                let open = &budget.groups.lock()[&group].open;
                assert_eq!(open.len(), codes);
                assert!(open.values().all(|code| !code.sharers.spilled()), "no allocation each");
            }
            ask(&budget, "198.51.100.7", "new@two.example", NOW).expect("a newcomer has a code");
        }
    }

    #[test]
    fn a_code_that_is_given_makes_room() {
        let budget = CodeBudget::new(500);
        let group = GroupId::new(1).expect("an id");
        for nth in 0..2_000_u16 {
            let recipient = format!("c{nth}@one.example");
            let place = ask(&budget, "198.51.100.7", &recipient, NOW).expect("all give theirs");
            let mut id = [0; 32];
            id[..2].copy_from_slice(&nth.to_be_bytes());
            budget.name(&place, HoldId(id));
            budget.settle(group, HoldId(id));
        }
        let codes = &budget.groups.lock()[&group];
        assert!(codes.open.is_empty() && codes.counts.is_empty() && codes.by_hold.is_empty());
    }

    #[test]
    fn a_code_counts_until_it_is_given_back_or_a_day_old() {
        let budget = CodeBudget::new(1);
        let ask = |group, now| {
            let group = GroupId::new(group).expect("an id");
            budget.take(CodeRequest { group, networks: None, recipient: "a@one.example" }, now)
        };
        assert_eq!(budget.count(), 0);
        let place = ask(1, NOW).expect("the first of its group");
        ask(2, NOW).expect("the first of another group");
        assert_eq!(budget.count(), 2);
        budget.give_back(&place);
        assert_eq!(budget.count(), 1);
        ask(1, NOW).expect("the place is free again");
        ask(1, NOW).expect_err("it is taken");
        ask(1, NOW.plus_seconds(DAY)).expect("the former is a day old");
        assert_eq!(budget.count(), 2);
    }

    #[test]
    fn the_code_by_which_half_are_used_up_says_so_and_no_other_does() {
        let budget = CodeBudget::new(4);
        let is_half = [1, 2, 3, 4].map(|n| {
            let [from, recipient] = [format!("2001:db8:{n}::1"), format!("a@{n}.example")];
            ask(&budget, &from, &recipient, NOW).expect("the first of its network").is_half
        });
        assert_eq!(is_half, [false, true, false, false]);
    }

    #[test]
    fn a_recipient_is_not_locked_out_by_one_network() {
        let budget = CodeBudget::new(500);
        let victim = "victim@one.example";
        for _ in 0..5 {
            ask(&budget, "2001:db8::1", victim, NOW).expect("five of a network");
        }
        let other = ask(&budget, "2001:db8:0:ffff::1", victim, NOW.plus_seconds(10));
        assert_eq!(other.map(|place| place.number), Err(DAY - 10), "of the same /48");
        for network in 1..=15 {
            let from = format!("2001:db8:{network}::1");
            ask(&budget, &from, victim, NOW).expect("of other networks");
        }
        ask(&budget, "198.51.100.7", victim, NOW).expect_err("twenty codes wait there");
        ask(&budget, "198.51.100.7", victim, NOW.plus_seconds(DAY)).expect("a day later");
    }

    #[test]
    fn a_domain_with_many_codes_leaves_the_contested_ones_to_others() {
        let budget = CodeBudget::new(500);
        let many = sources_of(0..5, 80);
        assert_eq!(exhaust(&budget, &many, "one.example"), 250);
        ask(&budget, "198.51.100.7", "a@one.example", NOW).expect("the first of a source");
        ask(&budget, "198.51.100.7", "b@one.example", NOW).expect_err("the second of it");
        for name in ["a", "b", "c"] {
            let recipient = format!("{name}@two.example");
            ask(&budget, "198.51.100.7", &recipient, NOW).expect("of another domain");
        }
    }
}
