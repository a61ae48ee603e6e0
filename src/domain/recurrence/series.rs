//! The series: an event with its rule and its exceptions. Reference 5.

use std::num::NonZeroU32;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::domain::recurrence::days::DayPlan;
use crate::domain::recurrence::exceptions::{Exceptions, ExceptionsError};
use crate::domain::recurrence::rule::{Rule, RuleEnd};
use crate::domain::time::zone::Zone;
use crate::domain::time::{
    CIVIL_MAX, CIVIL_MIN, Civil, CivilDay, DAY, INSTANT_MAX, INSTANT_MIN, Instant,
};
use crate::planted_faults::PlantedFault;

/// An event that takes place once or repeatedly: first start and end, rule and exceptions.
///
/// Start and end are wall-clock times and belong to no zone: the same series in another zone keeps
/// its wall clock. UNTIL is the only instant.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "StoredSeries", into = "StoredSeries")]
pub struct Series {
    start: Civil,
    end: Civil,
    rule: Option<Rule>,
    exceptions: Exceptions,
    /// Last day on which an occurrence may begin by COUNT and by the end of the calendar. Derived
    /// from the other fields, not stored. UNTIL depends on the zone and is not part of it.
    last_day_counted: i64,
}

/// One occurrence of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// Wall-clock start. Inside a gap, the clock does not show it.
    pub start_civil: Civil,
    /// Wall-clock end: as much later than the start as the event's own end.
    pub end_civil: Civil,
    /// First moment.
    pub start: Instant,
    /// First moment after it. Not after `start` for a note or for an occurrence inside a gap.
    pub end: Instant,
}

/// Maximum length of an occurrence of an event that repeats, in periods of its rule. Hence at most
/// this many periods overlap at any moment. Reference 5.1.
const PERIODS_MAX: i64 = 31;
/// Maximum length of an occurrence of an event that repeats, in days.
const DAYS_MAX: i64 = 366;

/// Error in the start, end or UNTIL of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SeriesError {
    /// The end is not after the start. Both are compared as instants.
    #[error("end must be after start")]
    EndNotAfterStart,
    /// The rule's UNTIL is not after the start of the event.
    #[error("UNTIL must be after the start of the event")]
    UntilNotAfterStart,
    /// The event repeats before it has lasted for so long.
    #[error(
        "an event that repeats this often lasts at most {days_max} days: \
         {PERIODS_MAX} times its period, and at most {DAYS_MAX} days"
    )]
    TooLong {
        /// Maximum length of the event in days.
        days_max: i64,
    },
}

/// Stored form of a [`Series`].
#[derive(Clone, Serialize, Deserialize)]
struct StoredSeries {
    start: Civil,
    end: Civil,
    rule: Option<Rule>,
    exceptions: Exceptions,
}

impl Series {
    /// Creates the event from `start` to `end`, repeated by `rule`. Reference 5.1.
    ///
    /// - The event itself is always the first occurrence and counts for COUNT, whether or not the
    ///   rule falls on its day.
    /// - Exceptions remove the occurrences that start on their days, including the event itself. A
    ///   removed occurrence still counts for COUNT.
    /// - An occurrence that starts exactly at UNTIL belongs to the series, unless the occurrence
    ///   before it, removed or not, ends at that instant.
    /// - Occurrences that would end after the year 9999 do not exist.
    ///
    /// # Errors
    ///
    /// [`SeriesError`]; start and end are checked first. They are compared as instants, because the
    /// clocks may change between them.
    pub fn new(
        zone: Zone,
        start: Civil,
        end: Civil,
        rule: Option<Rule>,
        exceptions: Exceptions,
    ) -> Result<Self, SeriesError> {
        if zone.instant_of(start) >= zone.instant_of(end) {
            return Err(SeriesError::EndNotAfterStart);
        }
        Self::with_checked_until(zone, StoredSeries { start, end, rule, exceptions })
    }

    /// Creates the event from stored fields. See [`Series::new`].
    ///
    /// A change of the group's zone may have moved the first instance into a gap. Such an event is
    /// accepted if its end is after its start on the wall clock.
    ///
    /// # Errors
    ///
    /// [`SeriesError`].
    pub fn from_stored(
        zone: Zone,
        start: Civil,
        end: Civil,
        rule: Option<Rule>,
        exceptions: Exceptions,
    ) -> Result<Self, SeriesError> {
        if start >= end && zone.instant_of(start) >= zone.instant_of(end) {
            return Err(SeriesError::EndNotAfterStart);
        }
        Self::with_checked_until(zone, StoredSeries { start, end, rule, exceptions })
    }

    /// Creates the note on `day`, repeated by `rule`. A note starts and ends at the midnight of its
    /// day. See [`Series::new`]. Reference 12.7.
    ///
    /// # Errors
    ///
    /// [`SeriesError::UntilNotAfterStart`].
    pub fn new_note(
        zone: Zone,
        day: CivilDay,
        rule: Option<Rule>,
        exceptions: Exceptions,
    ) -> Result<Self, SeriesError> {
        Self::with_checked_until(
            zone,
            StoredSeries { start: day.midnight(), end: day.midnight(), rule, exceptions },
        )
    }

    fn with_checked_until(zone: Zone, stored: StoredSeries) -> Result<Self, SeriesError> {
        if let Some(rule) = stored.rule
            && let RuleEnd::Until(until) = rule.end()
            && until <= zone.instant_of(stored.start)
        {
            return Err(SeriesError::UntilNotAfterStart);
        }
        Ok(Self::from(stored))
    }

    /// Returns the wall-clock start of the first instance.
    pub const fn start(&self) -> Civil {
        self.start
    }

    /// Returns the wall-clock end of the first instance.
    pub const fn end(&self) -> Civil {
        self.end
    }

    /// Returns its rule; `None` if it does not repeat.
    pub const fn rule(&self) -> Option<&Rule> {
        self.rule.as_ref()
    }

    /// Returns the days on which it does not take place.
    pub const fn exceptions(&self) -> &Exceptions {
        &self.exceptions
    }

    /// Returns the instant of the rule's UNTIL, if it has one. In the group's local time it is the
    /// field `repeat_until`. Reference 5.2.
    pub fn repeat_until(&self) -> Option<Instant> {
        match self.rule?.end() {
            RuleEnd::Until(until) => Some(until),
            RuleEnd::Never | RuleEnd::Count(_) => None,
        }
    }

    /// Checks the length of an event that repeats. Stored and imported events may be longer.
    /// Reference 5.1.
    ///
    /// # Errors
    ///
    /// [`SeriesError::TooLong`].
    pub fn check_length(&self) -> Result<(), SeriesError> {
        match self.days_max() {
            Some(days_max) if self.wall_length_seconds() > days_max * DAY => {
                Err(SeriesError::TooLong { days_max })
            }
            _ => Ok(()),
        }
    }

    /// Returns whether this event and another one have the same length and the same maximum of it.
    pub fn has_length_of(&self, other: &Self) -> bool {
        self.wall_length_seconds() == other.wall_length_seconds()
            && self.days_max() == other.days_max()
    }

    /// Returns the maximum length in days; `None` for an event that does not repeat.
    fn days_max(&self) -> Option<i64> {
        Some((self.rule?.period_days().saturating_mul(PERIODS_MAX)).min(DAYS_MAX))
    }

    /// Returns an upper bound on the occurrences that [`Series::occurrences_overlapping`] looks at.
    /// It is computed from the rule, at the same cost for every window.
    pub fn count_looked_at(&self, zone: Zone, from: Instant, to: Instant) -> i64 {
        self.count_looked_at_between(zone.civil_of(from).day(), zone.civil_of(to).day())
    }

    /// Does the same for the time from one civil day to the end of another.
    pub(crate) fn count_looked_at_between(&self, from: CivilDay, to: CivilDay) -> i64 {
        let Some(rule) = self.rule else { return 1 };
        let length_days = self.wall_length_seconds().max(0) / DAY;
        let begin = i64::from(self.start.day().0);
        let first = (i64::from(from.0) - length_days - 1).max(begin);
        let last = (i64::from(to.0) + 1).min(self.last_day_counted);
        let days = (last - first + 1).max(0);
        let of_rule = (days / rule.period_days() + 1).saturating_mul(rule.days_per_period());
        // The event itself takes place even where the rule does not fall on its day.
        of_rule.saturating_add(i64::from(first == begin))
    }

    /// Returns the same series in another zone. `before` is its zone until now. Reference 6.15.
    ///
    /// Its wall-clock times stay, including that of UNTIL. If the first instance would begin after
    /// UNTIL, only the first instance remains.
    ///
    /// # Errors
    ///
    /// A reason, if the event would leave the years 1970 to 9999 or end before it begins.
    pub fn in_zone(&self, zone: Zone, before: Zone) -> Result<Self, &'static str> {
        let start = zone.instant_of(self.start);
        let end = zone.instant_of(self.end);
        if start < INSTANT_MIN || end > INSTANT_MAX {
            return Err("would leave the years 1970 to 9999");
        }
        // A note starts and ends at the same midnight.
        if self.start > self.end && start >= end {
            return Err("would end before it begins");
        }
        let Some(until) = self.repeat_until() else { return Ok(self.clone()) };
        // UNTIL stays after the start, so that the first instance remains.
        let first_until = start.plus_seconds(1);
        let last_until = INSTANT_MAX.max(first_until);
        let until = zone.instant_of(before.civil_of(until)).clamp(first_until, last_until);
        Ok(self.with_until(until))
    }

    /// Returns the same series with another UNTIL. The series must have an UNTIL.
    #[must_use]
    pub fn with_until(&self, until: Instant) -> Self {
        let mut series = self.clone();
        if let Some(rule) = series.rule {
            series.rule = Some(rule.with_until(until));
        }
        series
    }

    /// Returns the days from the first on which it takes place to one on or after the last, in any
    /// zone. Days count from 1970-01-01.
    pub fn days_spanned(&self) -> RangeInclusive<i64> {
        let first = i64::from(self.start.day().0);
        let mut last_start = if self.rule.is_some() { self.last_day_counted } else { first };
        if let Some(until) = self.repeat_until() {
            // No zone is ahead of UTC by more than a day.
            last_start = last_start.min(until.0.div_euclid(DAY) + 1).max(first);
        }
        let length_days = self.wall_length_seconds().max(0) / DAY + 1;
        first..=last_start + length_days
    }

    /// Returns whether an occurrence begins on a day. One that an exception removes does not.
    pub fn takes_place_on(&self, zone: Zone, day: CivilDay) -> bool {
        let next = day.plus_days(1).midnight();
        self.occurrences(zone, day.midnight(), next).next().is_some()
    }

    /// Returns the same series without its occurrence on a day; `None` if no other is left.
    ///
    /// # Errors
    ///
    /// [`ExceptionsError::TooMany`].
    pub fn without_day(&self, zone: Zone, day: CivilDay) -> Result<Option<Self>, ExceptionsError> {
        let mut days = self.exceptions.days().to_vec();
        days.push(day);
        let exceptions = Exceptions::from_days(days)?;
        Ok(Self { exceptions, ..self.clone() }.if_any(zone))
    }

    /// Returns the occurrences before the one that begins on a day, as a series with an UNTIL;
    /// `None` if there are none. The series must repeat.
    pub fn cut_before(&self, zone: Zone, day: CivilDay) -> Option<Self> {
        let first = self.start.day();
        if day <= first {
            return None;
        }
        let until = zone.instant_of(self.start_on(day)).plus_seconds(-1);
        let stored = StoredSeries::from(self.clone());
        let rule = stored.rule?.with_until(until);
        let exceptions = self.exceptions.before(day);
        Self::from(StoredSeries { rule: Some(rule), exceptions, ..stored }).if_any(zone)
    }

    /// Returns the occurrences from the one that begins on a day, as a series. It repeats if others
    /// follow by its rule. The occurrence must exist.
    pub fn rest_from(&self, zone: Zone, day: CivilDay) -> Self {
        let start = self.start_on(day);
        let end = start.plus_seconds(self.wall_length_seconds());
        let rule = self.rule.and_then(|rule| self.rule_from(zone, rule, day));
        let exceptions = self.exceptions.from(day);
        Self::from(StoredSeries { start, end, rule, exceptions })
    }

    /// Returns the occurrence that begins on a day, as an event that does not repeat.
    pub fn single_on(&self, day: CivilDay) -> Self {
        let start = self.start_on(day);
        let end = start.plus_seconds(self.wall_length_seconds());
        Self::from(StoredSeries { start, end, rule: None, exceptions: Exceptions::default() })
    }

    /// Returns the rule for the occurrences from a day on; `None` if only the one on that day is
    /// left.
    fn rule_from(&self, zone: Zone, rule: Rule, day: CivilDay) -> Option<Rule> {
        let end = match rule.end() {
            RuleEnd::Never => RuleEnd::Never,
            RuleEnd::Until(until) if until <= zone.instant_of(self.start_on(day)) => return None,
            RuleEnd::Until(until) => RuleEnd::Until(until),
            RuleEnd::Count(count) => {
                let first = i64::from(self.start.day().0);
                let passed = self.day_plan().days_between(first, i64::from(day.0) - 1).count();
                let left = count.get().checked_sub(u32::try_from(passed).ok()?)?;
                RuleEnd::Count(NonZeroU32::new(left)?)
            }
        };
        // A COUNT of 1 does not repeat.
        Rule::new(rule.repetition(), rule.interval(), end).ok()
    }

    /// Returns the series itself if it has an occurrence.
    fn if_any(self, zone: Zone) -> Option<Self> {
        let is_any = self.occurrences(zone, CIVIL_MIN, CIVIL_MAX).next().is_some();
        if is_any { Some(self) } else { None }
    }

    /// Returns the wall-clock start of an occurrence on a day.
    fn start_on(&self, day: CivilDay) -> Civil {
        day.midnight().plus_seconds(self.start.second_of_day())
    }

    /// Returns the seconds from start to end on the wall clock. Negative only for an event whose
    /// start or end lies inside a gap.
    pub(crate) fn wall_length_seconds(&self) -> i64 {
        self.end.seconds_since(self.start)
    }

    /// Returns the days of its occurrences, without the limit of COUNT, UNTIL and exceptions.
    pub(crate) fn day_plan(&self) -> DayPlan {
        DayPlan::new(self.start.day(), self.rule.as_ref())
    }

    /// Returns the last day on which an occurrence may begin.
    pub(crate) fn last_day(&self, zone: Zone, plan: &DayPlan) -> i64 {
        match self.repeat_until() {
            None => self.last_day_counted,
            Some(until) => self.last_day_counted.min(self.last_day_until(zone, plan, until)),
        }
    }

    /// Returns the last day on which an occurrence may begin: by COUNT, UNTIL and the end of the
    /// calendar. The rule need not fall on it.
    pub fn last_day_allowed(&self, zone: Zone) -> CivilDay {
        let last = self.last_day(zone, &self.day_plan());
        CivilDay(i32::try_from(last).expect("the days of the calendar are few"))
    }

    /// Returns the last day on which an occurrence may begin by UNTIL.
    ///
    /// UNTIL is compared with start instants. These ascend with the days: all starts have the same
    /// time of day, and no clock change is longer than a day.
    fn last_day_until(&self, zone: Zone, plan: &DayPlan, until: Instant) -> i64 {
        let start_on = |day: i64| Civil(day * DAY + self.start.second_of_day());
        let until = until.plus_seconds(-i64::from(PlantedFault::UntilExclusive.is_active()));
        let mut day = i64::from(zone.civil_of(until).day().0) + 1;
        while zone.instant_of(start_on(day)) > until {
            day -= 1;
        }
        // A start exactly at UNTIL does not belong to the series if the occurrence before ends
        // there.
        if zone.instant_of(start_on(day)) == until && plan.first_day() < day && plan.includes(day) {
            let before = plan.last_day_before(day);
            let end_before = start_on(before).plus_seconds(self.wall_length_seconds());
            if zone.instant_of(end_before) == until {
                return before;
            }
        }
        day
    }
}

impl From<StoredSeries> for Series {
    fn from(stored: StoredSeries) -> Self {
        let StoredSeries { start, end, rule, exceptions } = stored;
        let length_seconds = end.seconds_since(start).max(0);
        let last_of_calendar =
            i64::from(CIVIL_MAX.plus_seconds(-length_seconds - start.second_of_day()).day().0);
        let mut last_day_counted = last_of_calendar;
        if let Some(rule) = rule
            && let RuleEnd::Count(count) = rule.end()
        {
            let plan = DayPlan::new(start.day(), Some(&rule));
            // A COUNT that is never reached within the calendar limits nothing.
            if let Some(last) = plan.nth_after_first(i64::from(count.get()) - 1) {
                last_day_counted = last.min(last_of_calendar);
            }
        }
        Self { start, end, rule, exceptions, last_day_counted }
    }
}

impl From<Series> for StoredSeries {
    fn from(series: Series) -> Self {
        let Series { start, end, rule, exceptions, last_day_counted: _ } = series;
        Self { start, end, rule, exceptions }
    }
}

#[cfg(test)]
mod tests;
