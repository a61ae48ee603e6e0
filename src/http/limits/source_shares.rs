//! Shares of a bounded resource, by source address, so that one source leaves some to others.
//! Reference 1.1.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::http::limits::sliding_window::source;

/// Maximum number of connections of one source, without any option.
pub const SOURCE_CONNECTIONS_MAX: u32 = 256;

/// A resource of which each source has at most a share, and all together at most a total.
///
/// The table has one entry for each source with something in use, so the resource bounds it.
#[derive(Debug)]
pub(crate) struct SourceShares {
    total_max: usize,
    per_source_max: usize,
    in_use: Mutex<SharesInUse>,
}

#[derive(Debug, Default)]
struct SharesInUse {
    total: usize,
    /// The amounts above 0.
    by_source: BTreeMap<IpAddr, usize>,
}

/// An amount in use by a source, which is given back when this is dropped.
#[derive(Debug)]
pub(crate) struct SourceShare {
    shares: Arc<SourceShares>,
    source: IpAddr,
    amount: usize,
}

impl SourceShares {
    /// A resource with these maxima in use at once; 0 stands for no maximum.
    pub(crate) fn new(total_max: usize, per_source_max: usize) -> Arc<Self> {
        let unless_zero = |max: usize| if max == 0 { usize::MAX } else { max };
        Arc::new(Self {
            total_max: unless_zero(total_max),
            per_source_max: unless_zero(per_source_max),
            in_use: Mutex::default(),
        })
    }

    /// Takes an amount for an address. `None` if the source, or all together, would have too much.
    pub(crate) fn take(self: &Arc<Self>, from: IpAddr, amount: usize) -> Option<SourceShare> {
        let mut share = SourceShare { shares: Arc::clone(self), source: source(from), amount: 0 };
        if share.grow(amount) { Some(share) } else { None }
    }

    /// The most that one source may have in use.
    pub(crate) const fn per_source_max(&self) -> usize {
        self.per_source_max
    }
}

impl SourceShare {
    /// Takes another amount. Returns whether it was free; otherwise nothing has changed.
    pub(crate) fn grow(&mut self, amount: usize) -> bool {
        let shares = &self.shares;
        let mut in_use = shares.in_use.lock();
        let total = in_use.total.saturating_add(amount);
        let own = in_use.by_source.get(&self.source).copied().unwrap_or(0);
        let own = own.saturating_add(amount);
        if total > shares.total_max || own > shares.per_source_max {
            return false;
        }
        in_use.total = total;
        if own > 0 {
            in_use.by_source.insert(self.source, own);
        }
        self.amount += amount;
        true
    }
}

impl Drop for SourceShare {
    fn drop(&mut self) {
        let mut in_use = self.shares.in_use.lock();
        in_use.total -= self.amount;
        match in_use.by_source.get_mut(&self.source) {
            Some(own) if *own > self.amount => *own -= self.amount,
            _ => drop(in_use.by_source.remove(&self.source)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn one_source_has_its_share_and_all_together_have_the_total() {
        let shares = SourceShares::new(5, 3);
        let [one, other] = ["10.0.0.1", "10.0.0.2"].map(address);
        let mut first = shares.take(one, 2).expect("there is room");
        assert!(!first.grow(2) && first.grow(1) && shares.take(one, 1).is_none());
        let second = shares.take(other, 2).expect("another source has its own share");
        assert!(shares.take(other, 1).is_none(), "the total is in use");
        drop(first);
        assert!(shares.take(other, 1).is_some());
        drop(second);
        assert!(shares.in_use.lock().by_source.is_empty() && shares.in_use.lock().total == 0);
    }

    #[test]
    fn a_network_of_ipv6_addresses_is_one_source_and_0_is_no_maximum() {
        let shares = SourceShares::new(0, 1);
        let _first = shares.take(address("2001:db8::1"), 1).expect("there is room");
        assert!(shares.take(address("2001:db8::2"), 1).is_none());
        assert!(shares.take(address("2001:db8:0:1::1"), 1).is_some());
        let unlimited = SourceShares::new(0, 0);
        assert!(unlimited.take(address("10.0.0.1"), usize::MAX).is_some());
        let nothing = shares.take(address("10.0.0.1"), 0).expect("nothing is always free");
        assert_eq!(shares.in_use.lock().by_source.len(), 1);
        drop(nothing);
    }
}
