//! The series: an event with its rule and its exceptions. Reference 5.

use serde::{Deserialize, Serialize};

use crate::domain::recurrence::days::{DAY_MAX, DayPlan};
use crate::domain::recurrence::exceptions::Exceptions;
use crate::domain::recurrence::rule::{Rule, RuleEnd};
use crate::domain::time::zone::Zone;
use crate::domain::time::{CIVIL_MAX, Civil, CivilDay, DAY, INSTANT_MAX, INSTANT_MIN, Instant};

/// An event that takes place once or repeatedly: the wall-clock start and end of its first instance, its rule, and the
/// days on which it does not take place.
///
/// It holds no instants but UNTIL, and belongs to no zone: the same series in another zone keeps its wall clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredSeries", into = "StoredSeries")]
pub struct Series {
    start: Civil,
    end: Civil,
    rule: Option<Rule>,
    exceptions: Exceptions,
    /// Last day on which an occurrence may begin by the rule's count and the end of the calendar, UNTIL aside. Derived.
    last_day_counted: i64,
}

/// One taking place of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// What the wall clock shows at its start, or would show but for a gap.
    pub start_civil: Civil,
    /// What the wall clock shows at its end: as much later as the first instance's end is.
    pub end_civil: Civil,
    /// Its first moment.
    pub start: Instant,
    /// The moment it is over. Not after `start` when a clock change swallowed the occurrence, or for a note.
    pub end: Instant,
}

/// Why an event cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SeriesError {
    /// Start and end are compared as instants.
    #[error("end must be after start")]
    EndNotAfterStart,
    /// The rule's UNTIL is not after the start of the event.
    #[error("UNTIL must be after the start of the event")]
    UntilNotAfterStart,
}

/// What the store keeps of a [`Series`].
#[derive(Clone, Serialize, Deserialize)]
struct StoredSeries {
    start: Civil,
    end: Civil,
    rule: Option<Rule>,
    exceptions: Exceptions,
}

impl Series {
    /// The event from `start` to `end` on the zone's clocks, repeated by `rule`.
    ///
    /// The event itself is always the first occurrence and counts, whether or not the rule falls on its day. Exceptions
    /// remove occurrences that start on that day, the event itself included, and what they remove still counts. An
    /// occurrence that starts exactly at UNTIL belongs to the series, unless the one before it, excepted or not, ends
    /// there. Occurrences that would not be over by the end of 9999 do not exist. Reference 5.
    ///
    /// # Errors
    ///
    /// [`SeriesError`], by start and end first. Both are compared as instants, since clocks may jump between them.
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
        Self::checked(zone, StoredSeries { start, end, rule, exceptions })
    }

    /// An event as a store holds it. On clocks that it was not made for its first instance may lie in a gap, as others of
    /// a series may; then start and end are told apart by what the wall shows. See [`Series::new`].
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
        Self::checked(zone, StoredSeries { start, end, rule, exceptions })
    }

    /// The note on `day`, which starts and ends at its midnight, repeated by `rule`. See [`Series::new`]. Reference 12.7.
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
        Self::checked(
            zone,
            StoredSeries { start: day.midnight(), end: day.midnight(), rule, exceptions },
        )
    }

    fn checked(zone: Zone, stored: StoredSeries) -> Result<Self, SeriesError> {
        match stored.rule.map(|rule| rule.end()) {
            Some(RuleEnd::Until(until)) if until <= zone.instant_of(stored.start) => {
                Err(SeriesError::UntilNotAfterStart)
            }
            Some(RuleEnd::Until(_) | RuleEnd::Never | RuleEnd::Count(_)) | None => {
                Ok(Self::from(stored))
            }
        }
    }

    /// Wall-clock start of the first instance.
    #[must_use]
    pub const fn start(&self) -> Civil {
        self.start
    }

    /// Wall-clock end of the first instance.
    #[must_use]
    pub const fn end(&self) -> Civil {
        self.end
    }

    /// How it repeats; `None` when it does not.
    #[must_use]
    pub const fn rule(&self) -> Option<&Rule> {
        self.rule.as_ref()
    }

    /// The days on which it does not take place.
    #[must_use]
    pub const fn exceptions(&self) -> &Exceptions {
        &self.exceptions
    }

    /// The instant of the rule's UNTIL, where it has one: `repeat_until`, once shown on the group's clocks. Reference 12.7.
    #[must_use]
    pub fn repeat_until(&self) -> Option<Instant> {
        match self.rule?.end() {
            RuleEnd::Until(until) => Some(until),
            RuleEnd::Never | RuleEnd::Count(_) => None,
        }
    }

    /// The same series on the clocks of another zone: its wall clock stays, that of UNTIL too. Where the first instance
    /// would come to begin after UNTIL, it alone is left.
    ///
    /// # Errors
    ///
    /// A reason, where the event would leave the years 1970 to 9999, or end before it begins.
    pub fn in_zone(&self, zone: Zone, before: Zone) -> Result<Self, &'static str> {
        let start = zone.instant_of(self.start);
        let end = zone.instant_of(self.end);
        if start < INSTANT_MIN || end < INSTANT_MIN || start > INSTANT_MAX || end > INSTANT_MAX {
            return Err("would leave the years 1970 to 9999");
        }
        // A note starts and ends at the same midnight.
        if self.start > self.end && start >= end {
            return Err("would end before it begins");
        }
        let rule = self.rule.map(|rule| match rule.end() {
            RuleEnd::Until(until) => {
                let kept = zone.instant_of(before.civil_of(until));
                rule.with_until(
                    kept.clamp(start.plus_seconds(1), INSTANT_MAX.max(start.plus_seconds(1))),
                )
            }
            RuleEnd::Never | RuleEnd::Count(_) => rule,
        });
        Ok(Self { rule, ..self.clone() })
    }

    /// The same series until another instant. It had an UNTIL before.
    #[must_use]
    pub fn with_until(&self, until: Instant) -> Self {
        Self { rule: self.rule.map(|rule| rule.with_until(until)), ..self.clone() }
    }

    /// Seconds from start to end on the wall clock. Negative only for an event that ends, by its clocks, inside a gap.
    pub(crate) fn wall_length(&self) -> i64 {
        self.end.seconds_since(self.start)
    }

    pub(crate) fn plan(&self) -> DayPlan {
        DayPlan::new(self.start.day(), self.rule.as_ref())
    }

    /// Last day on which an occurrence may begin.
    pub(crate) fn last_day(&self, zone: Zone, plan: &DayPlan) -> i64 {
        match self.repeat_until() {
            None => self.last_day_counted,
            Some(until) => self.last_day_counted.min(self.last_day_until(zone, plan, until)),
        }
    }

    /// Last day on which an occurrence may begin by UNTIL, which is compared with start instants. These ascend with the
    /// days, since all starts show the same time of day and no clock changes by more than a day.
    fn last_day_until(&self, zone: Zone, plan: &DayPlan, until: Instant) -> i64 {
        let start_on = |day: i64| Civil(day * DAY + self.start.second_of_day());
        let mut day = i64::from(zone.civil_of(until).day().0) + 1;
        while zone.instant_of(start_on(day)) > until {
            day -= 1;
        }
        if zone.instant_of(start_on(day)) == until && plan.first_day() < day && plan.includes(day) {
            let before = plan.last_day_before(day);
            let end_before = start_on(before).plus_seconds(self.wall_length());
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
        let length = end.seconds_since(start).max(0);
        let last_of_calendar =
            i64::from(CIVIL_MAX.plus_seconds(-length - start.second_of_day()).day().0);
        let last_counted = match rule.map(|rule| rule.end()) {
            Some(RuleEnd::Count(count)) => DayPlan::new(start.day(), rule.as_ref())
                .nth_after_first(i64::from(count.get()) - 1)
                .unwrap_or(DAY_MAX),
            Some(RuleEnd::Never | RuleEnd::Until(_)) | None => DAY_MAX,
        };
        Self { start, end, rule, exceptions, last_day_counted: last_counted.min(last_of_calendar) }
    }
}

impl From<Series> for StoredSeries {
    fn from(series: Series) -> Self {
        let Series { start, end, rule, exceptions, last_day_counted: _ } = series;
        Self { start, end, rule, exceptions }
    }
}
