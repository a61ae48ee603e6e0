//! The days on which a series begins its occurrences, by arithmetic alone: finding the first day of a window, the day
//! before a day or the nth day costs the same however long ago the series began.
//!
//! Days and months are counted in `i64`, so that no interval can overflow them.

use crate::domain::recurrence::rule::{NthWeekday, Repetition, Rule};
use crate::domain::time::{CivilDay, days_in_month};

/// Number of 9999-12-31, the last day there is.
pub(crate) const DAY_MAX: i64 = 2_932_896;
/// December 9999, in months since year 0.
const MONTH_MAX: i64 = 9_999 * 12 + 11;
/// More days than there are: with this interval or a longer one, nothing follows the first occurrence.
const INTERVAL_MAX: i64 = 4_000_000;

/// The days of a pattern, without end: the first, and then those its step gives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DayPlan {
    /// The day of the event itself, whether or not the step falls on it.
    first: i64,
    step: Step,
}

/// Which days follow the first.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// None.
    Once,
    /// `from`, which lies after the first day, and every `days` after it.
    Days { from: i64, days: i64 },
    /// The weekdays of `mask` in the week that begins on `monday`, the first day's own, and in every `weeks`-th after it.
    Weeks { monday: i64, weeks: i64, mask: u8 },
    /// The day `on` of the month `month`, the first day's own, and of every `months`-th after it.
    Months { month: i64, months: i64, on: On },
}

/// A day of any month.
#[derive(Clone, Copy, Debug)]
enum On {
    DayOfMonth(u32),
    Nth(NthWeekday),
}

/// The days of a [`DayPlan`] from one day to another, ascending. Both ends belong.
#[derive(Clone, Debug)]
pub(crate) struct Days {
    /// The first day of the series, while it is still to come.
    first: Option<i64>,
    last: i64,
    next: Next,
}

#[derive(Clone, Copy, Debug)]
enum Next {
    Nothing,
    Day {
        day: i64,
        days: i64,
    },
    /// `left` are the days of the week of `monday` still to come.
    Week {
        monday: i64,
        left: u8,
        weeks: i64,
        mask: u8,
    },
    Month {
        month: i64,
        months: i64,
        on: On,
    },
}

impl DayPlan {
    /// The days of an event of that day and that rule.
    pub(crate) fn new(first: CivilDay, rule: Option<&Rule>) -> Self {
        let (year, month, day_of_month) = first.ymd();
        let month = i64::from(year) * 12 + i64::from(month) - 1;
        let weekday = first.weekday() as u8;
        let first = i64::from(first.0);
        let Some(rule) = rule else { return Self { first, step: Step::Once } };
        let every = i64::from(rule.interval().get()).min(INTERVAL_MAX);
        let step = match rule.repetition() {
            Repetition::Daily => Step::Days { from: first + every, days: every },
            Repetition::Weekly(on) => {
                let mask = on.map_or(1 << weekday, |days| days.bits());
                weekly(first, weekday, every, mask)
            }
            Repetition::Monthly(None) => {
                Step::Months { month, months: every, on: On::DayOfMonth(day_of_month) }
            }
            Repetition::Monthly(Some(nth)) => {
                Step::Months { month, months: every, on: On::Nth(nth) }
            }
            Repetition::Yearly => {
                Step::Months { month, months: every * 12, on: On::DayOfMonth(day_of_month) }
            }
        };
        Self { first, step }
    }

    /// Day of the first occurrence.
    pub(crate) fn first_day(&self) -> i64 {
        self.first
    }

    /// Its days from `from` to `to`, both included. Nothing when `to` is before `from`.
    pub(crate) fn days(&self, from: i64, to: i64) -> Days {
        let first = (from <= self.first && self.first <= to).then_some(self.first);
        let from = from.max(self.first + 1);
        let to = to.min(DAY_MAX);
        if from > to {
            return Days { first, last: to, next: Next::Nothing };
        }
        let next = match self.step {
            Step::Once => Next::Nothing,
            Step::Days { from: begin, days } => {
                Next::Day { day: at_or_after(begin, days, from), days }
            }
            Step::Weeks { monday, weeks, mask } => {
                let week = at_or_after(monday, weeks * 7, from - 6);
                let left = if from > week { mask & (0x7f << (from - week)) } else { mask };
                Next::Week { monday: week, left, weeks, mask }
            }
            Step::Months { month, months, on } => {
                let month = at_or_after(month, months, month_of(from));
                // Only the first of these months can have its day before the window.
                let passed = on.day_in(month).is_some_and(|day| day < from);
                Next::Month { month: if passed { month + months } else { month }, months, on }
            }
        };
        Days { first, last: to, next }
    }

    /// Whether an occurrence begins on `day`.
    pub(crate) fn includes(&self, day: i64) -> bool {
        self.days(day, day).next().is_some()
    }

    /// The last day before `day` on which an occurrence begins. `day` lies after the first day.
    pub(crate) fn last_day_before(&self, day: i64) -> i64 {
        let on_step = match self.step {
            Step::Once => None,
            Step::Days { from, days } => (from < day).then(|| at_or_after(from, days, day) - days),
            Step::Weeks { monday, weeks, mask } => {
                let week = at_or_before(monday, weeks * 7, day - 1);
                let passed = if day - week < 7 { mask & !(0x7f << (day - week)) } else { mask };
                let (week, bits) =
                    if passed == 0 { (week - weeks * 7, mask) } else { (week, passed) };
                Some(week + i64::from(bits.ilog2()))
            }
            Step::Months { month: begin, months, on } => {
                let mut month = at_or_before(begin, months, month_of(day));
                while month >= begin && on.day_in(month).is_none_or(|found| found >= day) {
                    month -= months;
                }
                on.day_in(month).filter(|_| month >= begin)
            }
        };
        on_step.map_or(self.first, |found| found.max(self.first))
    }

    /// The day of the occurrence `places` after the first, or `None` when it would lie beyond 9999 or does not exist.
    pub(crate) fn nth_after_first(&self, places: i64) -> Option<i64> {
        if places == 0 {
            return Some(self.first);
        }
        let day = match self.step {
            Step::Once => return None,
            Step::Days { from, days } => from + days * (places - 1),
            Step::Weeks { monday, weeks, mask } => {
                let passed = mask & !(0x7f << (self.first - monday + 1));
                let rank = i64::from(passed.count_ones()) + places - 1;
                let in_week = i64::from(mask.count_ones());
                let bit = (0..7)
                    .filter(|bit| mask >> bit & 1 == 1)
                    .nth(usize::try_from(rank % in_week).ok()?)?;
                monday + rank / in_week * weeks * 7 + bit
            }
            // Some months lack the day, so these are counted one by one, unless even all of them were too few.
            Step::Months { month, months, .. } if places - 1 > (MONTH_MAX - month) / months => {
                return None;
            }
            Step::Months { .. } => {
                self.days(self.first + 1, DAY_MAX).nth(usize::try_from(places - 1).ok()?)?
            }
        };
        (day <= DAY_MAX).then_some(day)
    }
}

/// The step of a weekly rule. One weekday alone is a plain stride of days.
fn weekly(first: i64, weekday: u8, weeks: i64, mask: u8) -> Step {
    let monday = first - i64::from(weekday);
    if mask.count_ones() > 1 {
        return Step::Weeks { monday, weeks, mask };
    }
    let in_first_week = monday + i64::from(mask.trailing_zeros());
    let from = if in_first_week > first { in_first_week } else { in_first_week + weeks * 7 };
    Step::Days { from, days: weeks * 7 }
}

/// The first of `from`, `from + step`, `from + 2 × step`… that is not before `bound`.
fn at_or_after(from: i64, step: i64, bound: i64) -> i64 {
    if bound <= from { from } else { from + (bound - from + step - 1) / step * step }
}

/// The last of `from`, `from + step`, `from + 2 × step`… that is not after `bound`; `from` when all are.
fn at_or_before(from: i64, step: i64, bound: i64) -> i64 {
    if bound <= from { from } else { from + (bound - from) / step * step }
}

/// The month of a day from year 0 to 9999, in months since year 0.
fn month_of(day: i64) -> i64 {
    let (year, month, _) = CivilDay(i32::try_from(day).expect("a day of the calendar")).ymd();
    i64::from(year) * 12 + i64::from(month) - 1
}

impl On {
    /// The day of that month, given in months since year 0, or `None` where the month lacks it or lies beyond 9999.
    #[inline]
    fn day_in(self, month: i64) -> Option<i64> {
        let year = i32::try_from(month.div_euclid(12)).ok()?;
        let month = u32::try_from(month.rem_euclid(12)).ok()? + 1;
        let first = CivilDay::from_ymd(year, month, 1)?;
        let length = i64::from(days_in_month(year, month));
        let day_of_month = match self {
            On::DayOfMonth(day) => i64::from(day),
            On::Nth(on) if on.nth() > 0 => {
                let ahead = on.weekday() as i64 - first.weekday() as i64;
                1 + ahead.rem_euclid(7) + 7 * (i64::from(on.nth()) - 1)
            }
            On::Nth(on) => {
                let last_weekday = (first.weekday() as i64 + length - 1) % 7;
                let behind = last_weekday - on.weekday() as i64;
                length - behind.rem_euclid(7) + 7 * (i64::from(on.nth()) + 1)
            }
        };
        (1 <= day_of_month && day_of_month <= length).then(|| i64::from(first.0) + day_of_month - 1)
    }
}

impl Iterator for Days {
    type Item = i64;

    #[inline]
    fn next(&mut self) -> Option<i64> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        let day = match &mut self.next {
            Next::Nothing => return None,
            Next::Day { day, days } => {
                let found = *day;
                *day += *days;
                found
            }
            Next::Week { monday, left, weeks, mask } => {
                if *left == 0 {
                    *monday += *weeks * 7;
                    *left = *mask;
                }
                let found = *monday + i64::from(left.trailing_zeros());
                *left &= *left - 1;
                found
            }
            Next::Month { month, months, on } => loop {
                if *month > MONTH_MAX {
                    break DAY_MAX + 1;
                }
                let found = on.day_in(*month);
                *month += *months;
                if let Some(day) = found {
                    break day;
                }
            },
        };
        if day > self.last {
            self.next = Next::Nothing;
            return None;
        }
        Some(day)
    }
}
