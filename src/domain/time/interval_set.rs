//! Stretches of time and sets of them: half-open, so that touching is not meeting.

use serde::{Deserialize, Serialize};

use crate::domain::time::Instant;

/// The moments from `start` up to, not including, `end`; empty where `end` is not after `start`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Interval {
    /// First moment inside.
    pub start: Instant,
    /// First moment after.
    pub end: Instant,
}

impl Interval {
    /// Whether no moment lies inside.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.end <= self.start
    }

    /// Whether some moment lies in both. Touching is not meeting.
    #[must_use]
    pub fn overlaps(self, other: Self) -> bool {
        self.start < other.end && other.start < self.end && !self.is_empty() && !other.is_empty()
    }

    /// Whether every moment of `other` lies inside.
    #[must_use]
    pub fn covers(self, other: Self) -> bool {
        other.is_empty() || (self.start <= other.start && other.end <= self.end)
    }
}

/// A set of moments: intervals that are ascending, not empty, and apart from one another (a gap between any two).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IntervalSet(Vec<Interval>);

impl IntervalSet {
    /// The moments that lie in any of the intervals, given in any order.
    #[must_use]
    pub fn from_intervals(mut intervals: Vec<Interval>) -> Self {
        intervals.retain(|i| !i.is_empty());
        if !intervals.is_sorted() {
            intervals.sort_unstable();
        }
        let mut joined: Vec<Interval> = Vec::with_capacity(intervals.len());
        for interval in intervals {
            match joined.last_mut() {
                Some(last) if interval.start <= last.end => last.end = last.end.max(interval.end),
                Some(_) | None => joined.push(interval),
            }
        }
        Self(joined)
    }

    /// Its intervals, ascending.
    #[must_use]
    pub fn as_slice(&self) -> &[Interval] {
        &self.0
    }

    /// Whether no moment lies in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether every moment of `interval` lies in it.
    #[must_use]
    pub fn covers(&self, interval: Interval) -> bool {
        if interval.is_empty() {
            return true;
        }
        let after = self.0.partition_point(|i| i.start <= interval.start);
        after > 0 && self.0[after - 1].covers(interval)
    }

    /// Whether some moment of `interval` lies in it.
    #[must_use]
    pub fn overlaps(&self, interval: Interval) -> bool {
        let at = self.0.partition_point(|i| i.end <= interval.start);
        self.0.get(at).is_some_and(|i| i.overlaps(interval))
    }

    /// The moments of this set that are not in `other`.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        if other.is_empty() {
            return self.clone();
        }
        let mut left = Vec::with_capacity(self.0.len());
        find_gaps(&self.0, &other.0, |gap| left.push(gap));
        Self(left)
    }

    /// The moments that lie in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let (mut a, mut b) = (self.0.iter().peekable(), other.0.iter().peekable());
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

    /// Every moment moved by `seconds`.
    #[must_use]
    pub fn shifted(&self, seconds: i64) -> Self {
        let shift = |i: &Interval| Interval {
            start: i.start.plus_seconds(seconds),
            end: i.end.plus_seconds(seconds),
        };
        Self(self.0.iter().map(shift).collect())
    }

    /// The starts at which `length_seconds` fit, as a set of whole seconds. Ending exactly where an interval ends is a
    /// fit, so an interval just as long as the length leaves one start.
    #[must_use]
    pub fn starts_that_fit(&self, length_seconds: i64) -> Self {
        let last =
            |i: &Interval| Interval { start: i.start, end: i.end.plus_seconds(1 - length_seconds) };
        Self(self.0.iter().map(last).filter(|i| !i.is_empty()).collect())
    }
}

/// Hands out each stretch of open time that nothing takes, ascending.
pub(crate) struct Gaps<'a, F> {
    /// Open time after `rest`: ascending and disjoint.
    open: std::slice::Iter<'a, Interval>,
    /// What is left of the interval being walked.
    rest: Interval,
    found: F,
}

impl<'a, F: FnMut(Interval)> Gaps<'a, F> {
    /// The gaps of `open`, ascending and disjoint; `None` where nothing is open.
    pub(crate) fn new(open: &'a [Interval], found: F) -> Option<Self> {
        let mut open = open.iter();
        Some(Self { rest: *open.next()?, open, found })
    }

    /// Walks past a time that is taken. Their starts ascend; they may overlap. `None` once no open time is left.
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

    /// Hands out what lies behind all that is taken.
    pub(crate) fn finish(mut self) {
        (self.found)(self.rest);
        self.open.copied().for_each(self.found);
    }
}

/// Calls `found` with each stretch of `open` that no interval of `taken` meets, ascending. `open` is ascending and
/// disjoint; `taken` ascends by start and may overlap itself.
fn find_gaps(open: &[Interval], taken: &[Interval], found: impl FnMut(Interval)) {
    let Some(mut gaps) = Gaps::new(open, found) else { return };
    if taken.iter().try_for_each(|busy| gaps.skip_taken(*busy)).is_some() {
        gaps.finish();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SPAN: usize = 64;

    fn interval(start: i64, end: i64) -> Interval {
        Interval { start: Instant(start), end: Instant(end) }
    }

    /// The naive model: one bit a moment.
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
            let (x, y) = (bits(&a), bits(&b));
            let (a, b) = (IntervalSet::from_intervals(a), IntervalSet::from_intervals(b));
            assert_canonical(&a);
            prop_assert_eq!(bits(a.as_slice()), x);
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
        fn gaps_leave_what_nothing_takes(open in some_intervals(), mut taken in some_intervals()) {
            taken.retain(|i| !i.is_empty());
            taken.sort_by_key(|i| i.start);
            let (x, y) = (bits(&open), bits(&taken));
            let mut left = Vec::new();
            find_gaps(IntervalSet::from_intervals(open).as_slice(), &taken, |gap| left.push(gap));
            prop_assert!(left.iter().all(|gap| !gap.is_empty()));
            prop_assert!(left.is_sorted());
            prop_assert_eq!(bits(&left), std::array::from_fn(|i| x[i] && !y[i]));
        }

        #[test]
        fn starts_that_fit_are_those_whose_every_moment_lies_inside(a in some_intervals(), length in 1..10_usize) {
            let set = IntervalSet::from_intervals(a);
            let x = bits(set.as_slice());
            let fits = |s: usize| s + length <= SPAN && (s..s + length).all(|m| x[m]);
            let starts = set.starts_that_fit(i64::try_from(length).expect("small"));
            prop_assert_eq!(bits(starts.as_slice()), std::array::from_fn(fits));
        }
    }

    #[test]
    fn touching_is_not_overlapping() {
        assert!(!interval(0, 5).overlaps(interval(5, 9)));
        assert!(interval(0, 6).overlaps(interval(5, 9)));
        assert!(!interval(0, 5).overlaps(interval(3, 3)));
    }
}
