//! Weekly opening hours: ranges of the days of the week, and the availabilities that open them.
//! Reference 6.17.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use crate::domain::records::vevent::{Availability, OptionalFields, Permits, Vevent, VeventKind};
use crate::domain::recurrence::{
    Exceptions, Repetition, Rule, RuleEnd, Series, SeriesError, WEEK, Weekdays,
};
use crate::domain::time::zone::Zone;
use crate::domain::time::{CivilDay, DAY, INSTANT_MAX, MINUTE, Weekday};

/// Minutes of a day on the wall clock.
pub const DAY_MINUTES: u16 = 1_440;

/// The weeks in which a range is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rhythm {
    /// Every week.
    Weekly,
    /// Every other week, from the week of the first day on.
    Fortnightly,
}

/// A range of time of one day of the week, from its first day on. Reference 6.17.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeeklyRange {
    /// The first day on which it is open. It has the range's day of the week.
    first: CivilDay,
    /// The last day on which it is open; `None` without an end.
    last: Option<CivilDay>,
    rhythm: Rhythm,
    /// The interventions that it is open for.
    permits: Permits,
    times: DayTimes,
}

/// A part of a day, in minutes from midnight on the wall clock. The start is before the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DayTimes {
    start_minute: u16,
    end_minute: u16,
}

/// A rule of a week before its first and last day are known.
#[derive(Clone, Debug)]
pub struct WeeklyRule {
    /// The day of the week.
    pub weekday: Weekday,
    /// The weeks.
    pub rhythm: Rhythm,
    /// The interventions that it is open for.
    pub permits: Permits,
    /// The day from which it holds.
    pub from: CivilDay,
    /// The last day on which it holds; `None` without an end.
    pub until: Option<CivilDay>,
}

impl Rhythm {
    /// The number of weeks from one opening to the next: 1 or 2.
    pub const fn weeks(self) -> u8 {
        match self {
            Self::Weekly => 1,
            Self::Fortnightly => 2,
        }
    }

    /// The days from one opening to the next.
    const fn days(self) -> i32 {
        7 * self.weeks() as i32
    }

    fn from_interval(interval: NonZeroU32) -> Option<Self> {
        match interval.get() {
            1 => Some(Self::Weekly),
            2 => Some(Self::Fortnightly),
            _ => None,
        }
    }
}

impl DayTimes {
    /// Returns the part of a day; `None` if it does not end after its start, or after the day.
    pub fn new(start_minute: u16, end_minute: u16) -> Option<Self> {
        if start_minute < end_minute && end_minute <= DAY_MINUTES {
            Some(Self { start_minute, end_minute })
        } else {
            None
        }
    }

    /// The minute at which it begins.
    pub const fn start_minute(self) -> u16 {
        self.start_minute
    }

    /// The minute at which it ends, at most that of midnight.
    pub const fn end_minute(self) -> u16 {
        self.end_minute
    }
}

impl WeeklyRule {
    /// Returns the first and the last day on which it is open; `None` if it never is.
    pub fn first_and_last(&self) -> Option<(CivilDay, Option<CivilDay>)> {
        let ahead = i32::from(self.weekday as u8) - i32::from(self.from.weekday() as u8);
        let first = self.from.plus_days(ahead.rem_euclid(7));
        let Some(until) = self.until else { return Some((first, None)) };
        let last = last_in_phase(first, self.rhythm, until)?;
        Some((first, Some(last)))
    }

    /// Returns the range of these times; `None` if it is never open.
    pub fn with_times(&self, times: DayTimes) -> Option<WeeklyRange> {
        let (first, last) = self.first_and_last()?;
        let permits = self.permits.clone();
        Some(WeeklyRange { first, last, rhythm: self.rhythm, permits, times })
    }
}

/// Returns the last opening that is not after a day; `None` if that is before the first.
fn last_in_phase(first: CivilDay, rhythm: Rhythm, until: CivilDay) -> Option<CivilDay> {
    let days = until.0 - first.0;
    if days < 0 { None } else { Some(until.plus_days(-(days % rhythm.days()))) }
}

/// The place of a range among the rows of a week. Ranges of one row have the same one.
pub type RowKey<'r> = (Weekday, CivilDay, Option<CivilDay>, Rhythm, &'r Permits);

impl WeeklyRange {
    /// The day of the week.
    pub const fn weekday(&self) -> Weekday {
        self.first.weekday()
    }

    /// The first day on which it is open.
    pub const fn first(&self) -> CivilDay {
        self.first
    }

    /// The last day on which it is open; `None` without an end.
    pub const fn last(&self) -> Option<CivilDay> {
        self.last
    }

    /// The weeks in which it is open.
    pub const fn rhythm(&self) -> Rhythm {
        self.rhythm
    }

    /// The interventions that it is open for.
    pub const fn permits(&self) -> &Permits {
        &self.permits
    }

    /// The part of the day.
    pub const fn times(&self) -> DayTimes {
        self.times
    }

    /// Everything but the times.
    pub fn row_key(&self) -> RowKey<'_> {
        (self.weekday(), self.first, self.last, self.rhythm, &self.permits)
    }

    /// Returns its part on the days from `from` to `until`; `None` if it is never open then.
    pub fn part(&self, from: Option<CivilDay>, until: Option<CivilDay>) -> Option<Self> {
        let period = self.rhythm.days();
        let missing = from.map_or(0, |from| from.0 - self.first.0).max(0);
        let first = self.first.plus_days((missing + period - 1) / period * period);
        let until = match (self.last, until) {
            (Some(last), Some(until)) => Some(last.min(until)),
            (last, until) => last.or(until),
        };
        let last = match until {
            Some(until) => Some(last_in_phase(first, self.rhythm, until)?),
            None => None,
        };
        Some(Self { first, last, ..self.clone() })
    }

    /// Returns both ranges as one, if the other one begins where this one ends.
    pub fn followed_by(&self, next: &Self) -> Option<Self> {
        let is_alike =
            self.rhythm == next.rhythm && self.permits == next.permits && self.times == next.times;
        let goes_on = self.last.map(|last| last.plus_days(self.rhythm.days())) == Some(next.first);
        if is_alike && goes_on { Some(Self { last: next.last, ..self.clone() }) } else { None }
    }

    /// Returns whether two ranges of the same interventions are open at one moment.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.weekday() == other.weekday()
            && self.permits == other.permits
            && self.times.start_minute < other.times.end_minute
            && other.times.start_minute < self.times.end_minute
            && self.shares_day_with(other)
    }

    /// Returns whether two ranges of one day of the week have a day in common.
    fn shares_day_with(&self, other: &Self) -> bool {
        let (seldom, often) =
            if self.rhythm >= other.rhythm { (self, other) } else { (other, self) };
        if (seldom.first.0 - often.first.0) % often.rhythm.days() != 0 {
            return false;
        }
        let missing = (often.first.0 - seldom.first.0).max(0);
        let period = seldom.rhythm.days();
        let day = seldom.first.plus_days((missing + period - 1) / period * period);
        let is_before_end = |last: Option<CivilDay>| last.is_none_or(|last| day <= last);
        is_before_end(seldom.last) && is_before_end(often.last)
    }
}

/// Sorts ranges as the rows of a week: by day of the week, first and last day, weeks,
/// interventions and times.
pub fn sort_ranges(ranges: &mut [WeeklyRange]) {
    ranges.sort_unstable_by(|a, b| {
        let by_row = a.row_key().cmp(&b.row_key());
        by_row.then(a.times.cmp(&b.times))
    });
}

/// Returns the ranges that an availability opens, sorted; `None` for one that rows of a week cannot
/// express, and for every other event.
///
/// Rows express whole minutes of one day, every week or every other week, without exceptions. The
/// first occurrence must fall on a day of its rule. Other fields than the creator must be unset,
/// since no row has them.
pub fn read_ranges(row: &Vevent, zone: Zone) -> Option<Vec<WeeklyRange>> {
    let VeventKind::Availability(availability) = &row.kind else { return None };
    let Availability { series, permits } = availability.as_ref();
    if row.deleted || !has_only_creator(row) || !series.exceptions().days().is_empty() {
        return None;
    }
    let rule = series.rule()?;
    let start_day = series.start().day();
    let rhythm = Rhythm::from_interval(rule.interval())?;
    let days = match rule.repetition() {
        Repetition::Weekly(Some(days)) => days,
        Repetition::Weekly(None) => Weekdays::from_days([start_day.weekday()])?,
        Repetition::Daily if rhythm == Rhythm::Weekly => Weekdays::from_days(WEEK)?,
        Repetition::Daily | Repetition::Monthly(_) | Repetition::Yearly => return None,
    };
    if !days.days().any(|day| day == start_day.weekday()) {
        return None;
    }
    let times = read_times(series)?;
    let last_day = match rule.end() {
        RuleEnd::Never => None,
        RuleEnd::Count(_) | RuleEnd::Until(_) => Some(series.last_day_allowed(zone)),
    };
    let mut ranges = Vec::new();
    for weekday in days.days() {
        let ahead = i32::from(weekday as u8) - i32::from(start_day.weekday() as u8);
        let first = start_day.plus_days(ahead.rem_euclid(rhythm.days()));
        let last = match last_day {
            None => None,
            Some(until) => match last_in_phase(first, rhythm, until) {
                Some(last) => Some(last),
                None => continue,
            },
        };
        ranges.push(WeeklyRange { first, last, rhythm, permits: permits.clone(), times });
    }
    sort_ranges(&mut ranges);
    Some(ranges)
}

/// Returns whether a row has no text, colour or other field that a row of a week would lose.
fn has_only_creator(row: &Vevent) -> bool {
    let Some(rare) = &row.rare else { return true };
    **rare == OptionalFields { taker: rare.taker.clone(), ..OptionalFields::default() }
}

/// Returns the times of a series that lies within a day, in whole minutes.
fn read_times(series: &Series) -> Option<DayTimes> {
    let start = series.start().second_of_day();
    let end = start + series.end().seconds_since(series.start());
    if start % MINUTE != 0 || end % MINUTE != 0 || end > DAY {
        return None;
    }
    DayTimes::new(u16::try_from(start / MINUTE).ok()?, u16::try_from(end / MINUTE).ok()?)
}

/// An availability that opens ranges of a week.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpeningPlan {
    /// The ranges that it opens, sorted. They differ in their days only.
    ranges: Vec<WeeklyRange>,
}

impl OpeningPlan {
    /// The ranges that it opens, sorted.
    pub fn ranges(&self) -> &[WeeklyRange] {
        &self.ranges
    }

    /// Returns the availability.
    ///
    /// # Errors
    /// [`SeriesError::UntilNotAfterStart`] for a last day that a zone lacks.
    pub fn to_availability(&self, zone: Zone) -> Result<Availability, SeriesError> {
        let any = self.ranges.first().expect("a plan has a range");
        let first = self.ranges.iter().map(WeeklyRange::first).min().expect("a plan has a range");
        let days = Weekdays::from_days(self.ranges.iter().map(WeeklyRange::weekday));
        // An UNTIL at the start of an occurrence can leave that one out. Reference 5.1.
        let end = match self.ranges.iter().map(WeeklyRange::last).max().flatten() {
            None => RuleEnd::Never,
            Some(last) => {
                let last_second = zone.instant_of(last.midnight().plus_seconds(DAY - 1));
                RuleEnd::Until(last_second.min(INSTANT_MAX))
            }
        };
        let interval =
            NonZeroU32::from(std::num::NonZeroU8::new(any.rhythm.weeks()).expect("1, 2"));
        let rule = Rule::new(Repetition::Weekly(days), interval, end).expect("no count of 1");
        let at = |minute: u16| first.midnight().plus_seconds(i64::from(minute) * MINUTE);
        let start = at(any.times.start_minute);
        let end = at(any.times.end_minute);
        // A week of a clock change may leave the times out on the first day only.
        let series = Series::from_stored(zone, start, end, Some(rule), Exceptions::default())?;
        Ok(Availability { series, permits: any.permits.clone() })
    }
}

/// Returns few availabilities that open these ranges and nothing else. Ranges of the same times,
/// interventions and weeks share one if their first days lie within one period, and so do their
/// last days.
pub fn plan_openings(ranges: &[WeeklyRange]) -> Vec<OpeningPlan> {
    let mut alike: BTreeMap<(DayTimes, &Permits, Rhythm, i32), Vec<&WeeklyRange>> = BTreeMap::new();
    for range in ranges {
        let period = range.rhythm.days();
        let monday = range.first.0 - i32::from(range.weekday() as u8);
        let phase = monday.rem_euclid(period);
        alike.entry((range.times, &range.permits, range.rhythm, phase)).or_default().push(range);
    }
    let mut plans = Vec::new();
    for ((_, _, rhythm, _), mut open) in alike {
        open.sort_unstable_by_key(|range| (range.first, range.last));
        while let Some(earliest) = open.first().copied() {
            let members = choose_with(earliest, &open, rhythm.days());
            let mut ranges: Vec<WeeklyRange> = members.iter().map(|it| (*it).clone()).collect();
            sort_ranges(&mut ranges);
            plans.push(OpeningPlan { ranges });
            open.retain(|range| !members.iter().any(|member| std::ptr::eq(*member, *range)));
        }
    }
    plans
}

/// Returns the largest choice of ranges that one availability opens together with the earliest.
fn choose_with<'r>(
    earliest: &'r WeeklyRange,
    open: &[&'r WeeklyRange],
    period: i32,
) -> Vec<&'r WeeklyRange> {
    let begins_with = |range: &WeeklyRange| range.first.0 - earliest.first.0 < period;
    let near: Vec<&WeeklyRange> = open.iter().copied().filter(|it| begins_with(it)).collect();
    let Some(own_last) = earliest.last else {
        return near.into_iter().filter(|range| range.last.is_none()).collect();
    };
    let mut best = Vec::new();
    for end in near.iter().filter_map(|range| range.last) {
        let ends_with = |last: CivilDay| last <= end && end.0 - last.0 < period;
        if ends_with(own_last) {
            let ends = |range: &&WeeklyRange| range.last.is_some_and(ends_with);
            let chosen: Vec<&WeeklyRange> = near.iter().copied().filter(ends).collect();
            if chosen.len() > best.len() {
                best = chosen;
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::availability::searched::{TODAY, daily, zone};

    fn range(first: i32, last: Option<i32>, rhythm: Rhythm, end_minute: u16) -> WeeklyRange {
        let from = TODAY.plus_days(first);
        let rule = WeeklyRule {
            weekday: from.weekday(),
            rhythm,
            permits: Permits::All,
            from,
            until: last.map(|last| TODAY.plus_days(last)),
        };
        let times = DayTimes::new(540, end_minute).expect("a range");
        rule.with_times(times).expect("it is open")
    }

    #[test]
    fn a_range_that_goes_on_where_another_ends_is_one_with_it() {
        let (weekly, fortnightly) = (Rhythm::Weekly, Rhythm::Fortnightly);
        let both = |one: &WeeklyRange, next: &WeeklyRange| one.followed_by(next);
        for (rhythm, next) in [(weekly, 21), (fortnightly, 28)] {
            let one = range(0, Some(14), rhythm, 720);
            for last in [None, Some(70)] {
                let joined = both(&one, &range(next, last, rhythm, 720));
                assert_eq!(joined, Some(range(0, last, rhythm, 720)));
            }
        }
        let one = range(0, Some(14), weekly, 720);
        for (other, why) in [
            (range(28, None, weekly, 720), "a week is left out"),
            (range(14, None, weekly, 720), "both are open on one day"),
            (range(22, None, weekly, 720), "another day of the week"),
            (range(21, None, fortnightly, 720), "other weeks"),
            (range(21, None, weekly, 700), "other times"),
        ] {
            assert_eq!(both(&one, &other), None, "{why}");
        }
        let endless = range(0, None, weekly, 720);
        assert_eq!(both(&endless, &range(21, None, weekly, 720)), None);
    }

    #[test]
    fn rows_of_a_week_express_whole_minutes_of_one_day() {
        for (start, end, days) in [
            (9 * 3_600, 12 * 3_600, Some(7)),
            (9 * 3_600 + 60, 12 * 3_600 + 120, Some(7)),
            (21 * 3_600, DAY, Some(7)),
            (9 * 3_600 + 30, 12 * 3_600, None),
            (9 * 3_600, 12 * 3_600 + 30, None),
            (9 * 3_600 + 30, 12 * 3_600 + 30, None),
            (21 * 3_600, DAY + 60, None),
        ] {
            let row = daily(1, zone(), TODAY.midnight().plus_seconds(start), end - start);
            let ranges = read_ranges(&row, zone());
            assert_eq!(ranges.map(|ranges| ranges.len()), days, "from {start} to {end}");
        }
    }
}
