//! Intervals and sets of intervals. Intervals are half-open: two that touch do not overlap.

use serde::{Deserialize, Serialize};

use crate::domain::time::Instant;
use crate::planted_faults::PlantedFault;

/// The moments from `start` up to but not including `end`. Empty if `end` is not after `start`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Interval {
    /// First moment inside.
    pub start: Instant,
    /// First moment after.
    pub end: Instant,
}

impl Interval {
    /// Returns whether no moment lies inside.
    pub fn is_empty(self) -> bool {
        self.end <= self.start
    }

    /// Returns whether some moment lies in both. Intervals that only touch do not overlap.
    pub fn overlaps(self, other: Self) -> bool {
        if PlantedFault::TouchingOverlaps.is_active() {
            return self.start <= other.end && other.start <= self.end;
        }
        self.start < other.end && other.start < self.end && !self.is_empty() && !other.is_empty()
    }

    /// Returns whether every moment of `other` lies inside. An empty `other` always does.
    pub fn covers(self, other: Self) -> bool {
        other.is_empty() || (self.start <= other.start && other.end <= self.end)
    }

    /// Returns the seconds that lie within `span`.
    pub fn seconds_within(self, span: Self) -> i64 {
        self.end.min(span.end).seconds_since(self.start.max(span.start)).max(0)
    }
}

/// A set of moments.
///
/// Its intervals ascend, none is empty, and there is a gap between any two.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IntervalSet(Vec<Interval>);

impl IntervalSet {
    /// Returns the union of the intervals, which may come in any order.
    pub fn from_intervals(mut intervals: Vec<Interval>) -> Self {
        intervals.retain(|i| !i.is_empty());
        if !intervals.is_sorted() {
            intervals.sort_unstable();
        }
        let mut joined: Vec<Interval> = Vec::with_capacity(intervals.len());
        for interval in intervals {
            match joined.last_mut() {
                Some(last) if interval.start <= last.end => last.end = last.end.max(interval.end),
                _ => joined.push(interval),
            }
        }
        Self(joined)
    }

    /// Returns its intervals, ascending.
    pub fn as_slice(&self) -> &[Interval] {
        &self.0
    }

    /// Returns whether no moment lies in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether every moment of `interval` lies in it.
    pub fn covers(&self, interval: Interval) -> bool {
        if interval.is_empty() {
            return true;
        }
        let after = self.0.partition_point(|i| i.start <= interval.start);
        after > 0 && self.0[after - 1].covers(interval)
    }

    /// Returns whether some moment of `interval` lies in it.
    pub fn overlaps(&self, interval: Interval) -> bool {
        let at = self.0.partition_point(|i| i.end <= interval.start);
        self.0.get(at).is_some_and(|i| i.overlaps(interval))
    }

    /// Returns the moments of this set that are not in `other`.
    pub fn difference(&self, other: &Self) -> Self {
        if other.is_empty() {
            return self.clone();
        }
        let mut left = Vec::with_capacity(self.0.len());
        find_gaps(&self.0, &other.0, |gap| left.push(gap));
        Self(left)
    }

    /// Returns the moments that lie in both sets.
    pub fn intersection(&self, other: &Self) -> Self {
        let mut a = self.0.iter().peekable();
        let mut b = other.0.iter().peekable();
        let mut both = Vec::new();
        while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
            let common = Interval { start: x.start.max(y.start), end: x.end.min(y.end) };
            if !common.is_empty() {
                both.push(common);
            }
            if x.end <= y.end {
                a.next()
            } else {
                b.next()
            };
        }
        Self(both)
    }

    /// Returns the set with every moment moved by `seconds` (back if negative).
    pub fn shifted(&self, seconds: i64) -> Self {
        let mut moved = self.0.clone();
        for interval in &mut moved {
            interval.start = interval.start.plus_seconds(seconds);
            interval.end = interval.end.plus_seconds(seconds);
        }
        Self(moved)
    }

    /// Returns the starts at which `length_seconds` fit, as a set of whole seconds.
    ///
    /// A stretch that ends exactly where an interval ends fits. An interval of exactly this length
    /// therefore leaves one start.
    pub fn starts_that_fit(&self, length_seconds: i64) -> Self {
        let mut starts = Vec::with_capacity(self.0.len());
        for interval in &self.0 {
            let end = interval.end.plus_seconds(1 - length_seconds);
            if interval.start < end {
                starts.push(Interval { start: interval.start, end });
            }
        }
        Self(starts)
    }
}

/// Walks open intervals and busy intervals together and reports each free gap, ascending.
pub(crate) struct Gaps<'a, F> {
    /// Open intervals after `rest`: ascending and disjoint.
    open: std::slice::Iter<'a, Interval>,
    /// Rest of the open interval that the walk has reached.
    rest: Interval,
    /// Called with each gap.
    found: F,
}

impl<'a, F: FnMut(Interval)> Gaps<'a, F> {
    /// Starts a walk over `open`, which ascends and is disjoint; `None` if it is empty.
    pub(crate) fn new(open: &'a [Interval], found: F) -> Option<Self> {
        let mut open = open.iter();
        Some(Self { rest: *open.next()?, open, found })
    }

    /// Reports the gaps before a busy interval and moves behind it. Returns `None` once no open
    /// time is left. The starts of busy intervals must ascend; busy intervals may overlap.
    #[inline]
    pub(crate) fn skip_taken(&mut self, busy: Interval) -> Option<()> {
        while self.rest.end <= busy.start {
            (self.found)(self.rest);
            self.rest = *self.open.next()?;
        }
        if self.rest.start < busy.start {
            (self.found)(Interval { start: self.rest.start, end: busy.start });
        }
        while self.rest.end <= busy.end {
            self.rest = *self.open.next()?;
        }
        self.rest.start = self.rest.start.max(busy.end);
        Some(())
    }

    /// Reports the gaps behind the last busy interval.
    pub(crate) fn finish(mut self) {
        (self.found)(self.rest);
        self.open.copied().for_each(self.found);
    }
}

/// Calls `found` with each part of `open` that no interval of `taken` overlaps, ascending. `open`
/// ascends and is disjoint. `taken` ascends by start; its intervals may overlap.
fn find_gaps(open: &[Interval], taken: &[Interval], found: impl FnMut(Interval)) {
    let Some(mut gaps) = Gaps::new(open, found) else { return };
    for busy in taken {
        if gaps.skip_taken(*busy).is_none() {
            return;
        }
    }
    gaps.finish();
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SPAN: usize = 64;

    fn interval(start: i64, end: i64) -> Interval {
        Interval { start: Instant(start), end: Instant(end) }
    }

    /// Naive model: one bit per moment.
    fn bits(intervals: &[Interval]) -> [bool; SPAN] {
        std::array::from_fn(|at| {
            let moment = Instant(i64::try_from(at).expect("small"));
            intervals.iter().any(|i| i.start <= moment && moment < i.end)
        })
    }

    fn assert_canonical(set: &IntervalSet) {
        assert!(set.as_slice().iter().all(|i| !i.is_empty()));
        assert!(set.as_slice().windows(2).all(|pair| pair[0].end < pair[1].start), "{set:?}");
    }

    fn some_intervals() -> impl Strategy<Value = Vec<Interval>> {
        let span = i64::try_from(SPAN).expect("small");
        proptest::collection::vec(
            (0..span, 0..12_i64).prop_map(move |(s, l)| interval(s, (s + l).min(span))),
            0..10,
        )
    }

    proptest! {
        #[test]
        fn sets_agree_with_a_bit_array(a in some_intervals(), b in some_intervals(), probe in (0..64_i64, 0..20_i64)) {
            let x = bits(&a);
            let y = bits(&b);
            let a = IntervalSet::from_intervals(a);
            let b = IntervalSet::from_intervals(b);
            assert_canonical(&a);
            prop_assert_eq!(bits(a.as_slice()), x);
            prop_assert_eq!(a.is_empty(), !x.contains(&true));
            prop_assert_eq!(bits(a.difference(&b).as_slice()), std::array::from_fn(|i| x[i] && !y[i]));
            let both = a.intersection(&b);
            assert_canonical(&both);
            prop_assert_eq!(bits(both.as_slice()), std::array::from_fn(|i| x[i] && y[i]));
            let asked = interval(probe.0, (probe.0 + probe.1).min(64));
            let mut moments = asked.start.0..asked.end.0;
            prop_assert_eq!(a.covers(asked), moments.clone().all(|m| x[usize::try_from(m).expect("small")]));
            prop_assert_eq!(a.overlaps(asked), moments.any(|m| x[usize::try_from(m).expect("small")]));
        }

        #[test]
        fn gaps_are_the_open_moments_that_are_not_taken(open in some_intervals(), mut taken in some_intervals()) {
            taken.retain(|i| !i.is_empty());
            taken.sort_by_key(|i| i.start);
            let x = bits(&open);
            let y = bits(&taken);
            let mut left = Vec::new();
            find_gaps(IntervalSet::from_intervals(open).as_slice(), &taken, |gap| left.push(gap));
            prop_assert!(left.iter().all(|gap| !gap.is_empty()));
            prop_assert!(left.is_sorted());
            prop_assert_eq!(bits(&left), std::array::from_fn(|i| x[i] && !y[i]));
        }

        #[test]
        fn a_start_fits_if_every_moment_of_its_length_lies_inside(a in some_intervals(), length in 1..10_usize) {
            let set = IntervalSet::from_intervals(a);
            let x = bits(set.as_slice());
            let fits = |s: usize| s + length <= SPAN && (s..s + length).all(|m| x[m]);
            let starts = set.starts_that_fit(i64::try_from(length).expect("small"));
            assert_canonical(&starts);
            prop_assert_eq!(bits(starts.as_slice()), std::array::from_fn(fits));
        }
    }

    #[test]
    fn intervals_that_touch_do_not_overlap() {
        assert!(!interval(0, 5).overlaps(interval(5, 9)));
        assert!(interval(0, 6).overlaps(interval(5, 9)));
        assert!(!interval(0, 5).overlaps(interval(3, 3)));
    }

    #[test]
    fn a_shifted_set_has_the_same_moments_later_or_earlier() {
        let set = IntervalSet::from_intervals(vec![interval(0, 5), interval(7, 9)]);
        assert_eq!(set.shifted(3).as_slice(), [interval(3, 8), interval(10, 12)]);
        assert_eq!(set.shifted(3).shifted(-3), set);
    }
}
