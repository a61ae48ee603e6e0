//! The occurrences of a series in a window.

use crate::domain::recurrence::days::Days;
use crate::domain::recurrence::series::{Occurrence, Series};
use crate::domain::time::zone::{Offsets, Zone};
use crate::domain::time::{CIVIL_MAX, CIVIL_MIN, Civil, CivilDay, DAY, INSTANT_MAX, Instant};

/// Occurrences of a series in ascending order, exceptions left out.
#[derive(Clone, Debug)]
pub struct Occurrences<'s> {
    days: Days,
    /// The exceptions not yet passed.
    exceptions: &'s [CivilDay],
    /// Where on its day each occurrence starts, and for how long it lasts on the wall clock.
    second_of_day: i64,
    length: i64,
    offsets: Offsets,
}

impl Series {
    /// The occurrences whose start on the wall clock lies in `from <= start < to`, ascending, exceptions left out.
    ///
    /// Among them may be one whose end instant is not after its start, where a clock change swallowed it, and the
    /// zero-length ones of a note. Costs what the window holds, however long ago the series began. Reference 5.
    ///
    /// ```
    /// use slotbook::domain::recurrence::Series;
    /// use slotbook::domain::time::Civil;
    /// use slotbook::domain::time::zone::Zone;
    /// let zone = Zone::from_iana("Europe/Paris").unwrap();
    /// let at = |day, hour| Civil::from_ymd_hms(2025, 6, day, hour, 0, 0).unwrap();
    /// let rule = "FREQ=WEEKLY;BYDAY=MO,WE".parse().unwrap();
    /// let series = Series::new(zone, at(2, 9), at(2, 12), Some(rule), "2025-06-09".parse().unwrap()).unwrap();
    /// let starts: Vec<_> = series.occurrences(zone, at(4, 9), at(16, 9)).map(|o| o.start_civil).collect();
    /// assert_eq!(starts, [at(4, 9), at(11, 9)]);
    /// ```
    #[must_use]
    pub fn occurrences(&self, zone: Zone, from: Civil, to: Civil) -> Occurrences<'_> {
        let second_of_day = self.start().second_of_day();
        // Bounds beyond the calendar change nothing, and could overflow.
        let from = from.0.clamp(CIVIL_MIN.0, CIVIL_MAX.0 + 1);
        let to = to.0.clamp(CIVIL_MIN.0, CIVIL_MAX.0 + 1);
        let first_day = (from - second_of_day + DAY - 1).div_euclid(DAY);
        let last_day = (to - second_of_day - 1).div_euclid(DAY);
        let plan = self.plan();
        let days = plan.days(first_day, last_day.min(self.last_day(zone, &plan)));
        let passed = match self.exceptions().days() {
            [] => 0,
            exceptions => exceptions.partition_point(|day| i64::from(day.0) < first_day),
        };
        let exceptions = &self.exceptions().days()[passed..];
        Occurrences {
            days,
            exceptions,
            second_of_day,
            length: self.wall_length(),
            offsets: zone.offsets(),
        }
    }

    /// The occurrences that share a moment with `from <= t < to`, ascending, exceptions left out. Merely touching the
    /// window is not meeting it, and an occurrence whose end instant is not after its start meets nothing: it neither
    /// blocks nor permits. Reference 1, 5.
    pub fn occurrences_overlapping(
        &self,
        zone: Zone,
        from: Instant,
        to: Instant,
    ) -> impl Iterator<Item = Occurrence> + '_ {
        let longest = self.wall_length().max(0);
        let disorder = zone.disorder_seconds();
        let (from, to) = (from.max(Instant(-DAY)), to.min(Instant(INSTANT_MAX.0 + DAY)));
        let earliest = zone.civil_of(from).plus_seconds(-longest - disorder);
        let latest = zone.civil_of(to).plus_seconds(disorder);
        self.occurrences(zone, earliest, latest).filter(move |occurrence| {
            occurrence.start < to && from < occurrence.end && occurrence.start < occurrence.end
        })
    }

    /// Start and end of each of [`Series::occurrences_overlapping`], for code that needs no wall clock. Not clipped to the
    /// window.
    pub fn intervals_overlapping(
        &self,
        zone: Zone,
        from: Instant,
        to: Instant,
    ) -> impl Iterator<Item = (Instant, Instant)> + '_ {
        self.occurrences_overlapping(zone, from, to)
            .map(|occurrence| (occurrence.start, occurrence.end))
    }

    /// Whether some occurrence, not excepted, ends after `instant` (and after its own start, so never one of a note).
    /// An availability for which this is false of now offers nothing more. Reference 4.
    #[must_use]
    pub fn has_occurrence_ending_after(&self, zone: Zone, instant: Instant) -> bool {
        self.occurrences_overlapping(zone, instant, INSTANT_MAX).next().is_some()
    }
}

impl Iterator for Occurrences<'_> {
    type Item = Occurrence;

    #[inline]
    fn next(&mut self) -> Option<Occurrence> {
        loop {
            let day = self.days.next()?;
            if self.is_excepted(day) {
                continue;
            }
            let start_civil = Civil(day * DAY + self.second_of_day);
            let end_civil = start_civil.plus_seconds(self.length);
            let start = self.offsets.instant_of(start_civil);
            let end = self.offsets.instant_of(end_civil);
            return Some(Occurrence { start_civil, end_civil, start, end });
        }
    }
}

impl Occurrences<'_> {
    /// Whether that day is an exception. Days are asked for in ascending order.
    #[inline]
    fn is_excepted(&mut self, day: i64) -> bool {
        while let [next, rest @ ..] = self.exceptions {
            if i64::from(next.0) >= day {
                return i64::from(next.0) == day;
            }
            self.exceptions = rest;
        }
        false
    }
}
