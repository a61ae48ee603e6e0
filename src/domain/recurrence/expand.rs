//! Occurrences of a series in a window. Reference 5.1.

use crate::domain::recurrence::days::PlanDays;
use crate::domain::recurrence::series::{Occurrence, Series};
use crate::domain::time::interval_set::Interval;
use crate::domain::time::zone::{Offsets, Zone};
use crate::domain::time::{CIVIL_MAX, CIVIL_MIN, Civil, CivilDay, DAY, INSTANT_MAX, Instant};

/// Occurrences of a series, ascending, without those that exceptions remove.
#[derive(Clone, Debug)]
pub struct Occurrences<'s> {
    /// Days on which an occurrence begins, exceptions included.
    days: PlanDays,
    /// Exceptions after the last day, ascending.
    exceptions: &'s [CivilDay],
    /// Wall-clock start of each occurrence, in seconds since midnight.
    second_of_day: i64,
    /// Wall-clock length of each occurrence.
    length_seconds: i64,
    /// Converter to instants.
    offsets: Offsets,
}

impl Series {
    /// Returns the occurrences whose wall-clock start lies in `from <= start < to`, ascending.
    /// Exceptions are left out. Reference 5.1.
    ///
    /// The end instant may not be after the start instant: for notes, and for an occurrence inside
    /// a gap. The cost depends on the window, not on the age of the series.
    ///
    /// ```
    /// use slotbook::domain::recurrence::Series;
    /// use slotbook::domain::time::Civil;
    /// use slotbook::domain::time::zone::Zone;
    /// let zone = Zone::from_iana("Europe/Paris").unwrap();
    /// let at = |day, hour| Civil::from_ymd_hms(2025, 6, day, hour, 0, 0).unwrap();
    /// let rule = "FREQ=WEEKLY;BYDAY=MO,WE".parse().unwrap();
    /// let exceptions = "2025-06-09".parse().unwrap();
    /// let series = Series::new(zone, at(2, 9), at(2, 12), Some(rule), exceptions).unwrap();
    /// let found = series.occurrences(zone, at(4, 9), at(16, 9));
    /// let starts: Vec<_> = found.map(|occurrence| occurrence.start_civil).collect();
    /// assert_eq!(starts, [at(4, 9), at(11, 9)]);
    /// ```
    pub fn occurrences(&self, zone: Zone, from: Civil, to: Civil) -> Occurrences<'_> {
        let second_of_day = self.start().second_of_day();
        // Bounds beyond the calendar find nothing more and could overflow. No occurrence begins in
        // the last second, since it would have to end later.
        let from = from.clamp(CIVIL_MIN, CIVIL_MAX);
        let to = to.clamp(CIVIL_MIN, CIVIL_MAX);
        let first_day = (from.0 - second_of_day + DAY - 1).div_euclid(DAY);
        let last_day = (to.0 - second_of_day - 1).div_euclid(DAY);
        let plan = self.day_plan();
        let days = plan.days_between(first_day, last_day.min(self.last_day(zone, &plan)));
        let passed = match self.exceptions().days() {
            [] => 0,
            exceptions => exceptions.partition_point(|day| i64::from(day.0) < first_day),
        };
        let exceptions = &self.exceptions().days()[passed..];
        Occurrences {
            days,
            exceptions,
            second_of_day,
            length_seconds: self.wall_length_seconds(),
            offsets: zone.offsets(),
        }
    }

    /// Returns the occurrences that overlap `from <= t < to`, ascending. Exceptions are left out.
    ///
    /// An occurrence that only touches the window does not overlap it. An occurrence whose end
    /// instant is not after its start overlaps nothing: it neither blocks nor opens time. Reference
    /// 1.3, 5.1.
    pub fn occurrences_overlapping(
        &self,
        zone: Zone,
        from: Instant,
        to: Instant,
    ) -> impl Iterator<Item = Occurrence> + '_ {
        let longest = self.wall_length_seconds().max(0);
        let disorder = zone.disorder_seconds();
        let earliest = zone.civil_of(from).plus_seconds(-longest - disorder);
        let latest = zone.civil_of(to).plus_seconds(disorder);
        self.occurrences(zone, earliest, latest).filter(move |occurrence| {
            occurrence.start < to && from < occurrence.end && occurrence.start < occurrence.end
        })
    }

    /// Returns the time of each of [`Series::occurrences_overlapping`], not clipped to the window.
    pub fn intervals_overlapping(
        &self,
        zone: Zone,
        window: Interval,
    ) -> impl Iterator<Item = Interval> + '_ {
        self.occurrences_overlapping(zone, window.start, window.end)
            .map(|occurrence| Interval { start: occurrence.start, end: occurrence.end })
    }

    /// Returns whether some occurrence ends after `instant` and after its own start. Exceptions are
    /// left out. For a note this is always false.
    ///
    /// If it is false for now, an availability offers nothing more. Reference 4.
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
            let end_civil = start_civil.plus_seconds(self.length_seconds);
            let start = self.offsets.instant_of(start_civil);
            let end = self.offsets.instant_of(end_civil);
            return Some(Occurrence { start_civil, end_civil, start, end });
        }
    }
}

impl Occurrences<'_> {
    /// Returns whether the day is an exception. Days must ascend from call to call.
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
