//! Days on which the occurrences of a series begin, by arithmetic alone. Reference 5.1.
//!
//! Each look-up costs the same, however long ago the series began. Days and months are counted in
//! `i64`, so that no interval can overflow.

use crate::domain::recurrence::rule::{NthWeekday, Repetition, Rule};
use crate::domain::time::{CivilDay, days_in_month};

/// 9999-12-31, the last day of the calendar, in days since 1970-01-01.
pub(crate) const DAY_MAX: i64 = 2_932_896;
/// December 9999 in months since year 0.
const MONTH_MAX: i64 = 9_999 * 12 + 11;
/// Upper limit of an interval: more than all days of the calendar. Longer intervals mean the same.
const INTERVAL_MAX: i64 = 4_000_000;

/// The days of a rule without its end: the first day, then those of the step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DayPlan {
    /// Day of the event itself, whether or not the step falls on it.
    first: i64,
    step: Step,
}

/// The days that follow the first.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// No other day.
    Once,
    /// `from`, which is after the first day, and then one day every `days` days.
    Days { from: i64, days: i64 },
    /// The weekdays of `mask`, one week every `weeks` weeks. `monday` begins the week of the first
    /// day.
    Weeks { monday: i64, weeks: i64, mask: u8 },
    /// The day `on`, one month every `months` months. `month` is the month of the first day.
    Months { month: i64, months: i64, on: On },
}

/// A day of a month.
#[derive(Clone, Copy, Debug)]
enum On {
    DayOfMonth(u32),
    Nth(NthWeekday),
}

/// The days of a [`DayPlan`] from one day to another, ascending. Both bounds are included.
#[derive(Clone, Debug)]
pub(crate) struct PlanDays {
    /// First day of the series; `None` once it was returned or if it is outside the bounds.
    first: Option<i64>,
    /// Last day that may be returned.
    last: i64,
    /// State after the first day.
    next: Next,
}

/// State of a walk over the days of a [`Step`].
#[derive(Clone, Copy, Debug)]
enum Next {
    Nothing,
    Day {
        day: i64,
        days: i64,
    },
    /// `left` are the remaining weekdays of the week that begins on `monday`.
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
    /// Returns the days of an event on this day with this rule.
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
                weekly_step(first, weekday, every, mask)
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

    /// Returns the day of the first occurrence.
    pub(crate) fn first_day(&self) -> i64 {
        self.first
    }

    /// Returns its days from `from` to `to`, both included. None if `to` is before `from`.
    pub(crate) fn days_between(&self, from: i64, to: i64) -> PlanDays {
        let first = if from <= self.first && self.first <= to { Some(self.first) } else { None };
        let from = from.max(self.first + 1);
        let to = to.min(DAY_MAX);
        if from > to {
            return PlanDays { first, last: to, next: Next::Nothing };
        }
        let next = match self.step {
            Step::Once => Next::Nothing,
            Step::Days { from: begin, days } => {
                Next::Day { day: at_or_after(begin, days, from), days }
            }
            Step::Weeks { monday, weeks, mask } => {
                let week = at_or_after(monday, weeks * 7, from - 6);
                let left = mask & (0x7f << (from - week).max(0));
                Next::Week { monday: week, left, weeks, mask }
            }
            Step::Months { month, months, on } => {
                let month = at_or_after(month, months, month_of(from));
                match on.day_in(month) {
                    // Only the first of these months can have its day before the window.
                    Some(day) if day < from => Next::Month { month: month + months, months, on },
                    _ => Next::Month { month, months, on },
                }
            }
        };
        PlanDays { first, last: to, next }
    }

    /// Returns whether an occurrence begins on `day`.
    pub(crate) fn includes(&self, day: i64) -> bool {
        self.days_between(day, day).next().is_some()
    }

    /// Returns the last day before `day` on which an occurrence begins. `day` must be after the
    /// first day.
    pub(crate) fn last_day_before(&self, day: i64) -> i64 {
        match self.step {
            Step::Once => self.first,
            Step::Days { from, .. } if from >= day => self.first,
            Step::Days { from, days } => at_or_after(from, days, day) - days,
            Step::Weeks { monday, weeks, mask } => {
                let week = at_or_before(monday, weeks * 7, day);
                let passed = mask & !(0x7f << (day - week).min(7));
                // If no weekday of this week is before `day`, the last one of the week before
                // counts.
                let (week, bits) =
                    if passed == 0 { (week - weeks * 7, mask) } else { (week, passed) };
                self.first.max(week + i64::from(bits.ilog2()))
            }
            Step::Months { month: begin, months, on } => {
                let mut month = at_or_before(begin, months, month_of(day));
                while month >= begin {
                    if let Some(found) = on.day_in(month)
                        && found < day
                    {
                        return self.first.max(found);
                    }
                    month -= months;
                }
                self.first
            }
        }
    }

    /// Returns the day of the occurrence `places` after the first; `None` if it would be after 9999
    /// or does not exist.
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
                let bit = nth_bit(mask, rank % in_week);
                monday + rank / in_week * weeks * 7 + bit
            }
            // Some months lack the day, so they are counted one by one. First: are there enough
            // months?
            Step::Months { month, months, .. } if places - 1 > months_until_end(month, months) => {
                return None;
            }
            Step::Months { .. } => {
                self.days_between(self.first + 1, DAY_MAX).nth(usize::try_from(places - 1).ok()?)?
            }
        };
        if day > DAY_MAX {
            return None;
        }
        Some(day)
    }
}

/// Returns the number of the nth set bit, counted from 0. The mask must have more than `nth` bits
/// set.
fn nth_bit(mask: u8, nth: i64) -> i64 {
    let mut rest = mask;
    for _ in 0..nth {
        rest &= rest - 1;
    }
    i64::from(rest.trailing_zeros())
}

/// Returns the step of a weekly rule. A single weekday becomes a step of days.
fn weekly_step(first: i64, weekday: u8, weeks: i64, mask: u8) -> Step {
    let monday = first - i64::from(weekday);
    if mask.count_ones() > 1 {
        return Step::Weeks { monday, weeks, mask };
    }
    let in_first_week = monday + i64::from(mask.trailing_zeros());
    let from = if in_first_week > first { in_first_week } else { in_first_week + weeks * 7 };
    Step::Days { from, days: weeks * 7 }
}

/// Returns the first of `from`, `from + step`, `from + 2 × step`… that is not before `bound`.
fn at_or_after(from: i64, step: i64, bound: i64) -> i64 {
    if bound <= from { from } else { from + (bound - from + step - 1) / step * step }
}

/// Returns the last of `from`, `from + step`, `from + 2 × step`… that is not after `bound`; `from`
/// if all are after it.
fn at_or_before(from: i64, step: i64, bound: i64) -> i64 {
    if bound <= from { from } else { from + (bound - from) / step * step }
}

/// Returns the number of steps of `months` months from a month to the end of the calendar.
fn months_until_end(month: i64, months: i64) -> i64 {
    (MONTH_MAX - month) / months
}

/// Returns the month of a day, in months since year 0. The day must lie in the years 0 to 9999.
fn month_of(day: i64) -> i64 {
    let (year, month, _) = CivilDay(i32::try_from(day).expect("a day of the calendar")).ymd();
    i64::from(year) * 12 + i64::from(month) - 1
}

impl On {
    /// Returns the day in a month, which is given in months since year 0. `None` if the month lacks
    /// the day or is after 9999.
    #[inline]
    fn day_in(self, month: i64) -> Option<i64> {
        let year = i32::try_from(month.div_euclid(12)).ok()?;
        let month = u32::try_from(month.rem_euclid(12)).ok()? + 1;
        let first = CivilDay::from_ymd(year, month, 1)?;
        let length = i64::from(days_in_month(year, month));
        let day_of_month = match self {
            On::DayOfMonth(day) => i64::from(day),
            On::Nth(on) if on.nth().is_positive() => {
                let ahead = on.weekday() as i64 - first.weekday() as i64;
                1 + ahead.rem_euclid(7) + 7 * (i64::from(on.nth()) - 1)
            }
            On::Nth(on) => {
                let behind = first.weekday() as i64 + length - 1 - on.weekday() as i64;
                length - behind.rem_euclid(7) + 7 * (i64::from(on.nth()) + 1)
            }
        };
        if day_of_month < 1 || day_of_month > length {
            return None;
        }
        Some(i64::from(first.0) + day_of_month - 1)
    }
}

impl Iterator for PlanDays {
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

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: [&str; 14] = [
        "FREQ=DAILY",
        "FREQ=DAILY;INTERVAL=3",
        "FREQ=WEEKLY",
        "FREQ=WEEKLY;BYDAY=MO,WE,SU",
        "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,FR",
        "FREQ=WEEKLY;INTERVAL=3;BYDAY=SA",
        "FREQ=MONTHLY",
        "FREQ=MONTHLY;INTERVAL=5",
        "FREQ=MONTHLY;BYDAY=1MO",
        "FREQ=MONTHLY;BYDAY=-1FR",
        "FREQ=MONTHLY;INTERVAL=2;BYDAY=5TH",
        "FREQ=YEARLY",
        "FREQ=YEARLY;INTERVAL=2",
        "FREQ=MONTHLY;BYDAY=-4WE",
    ];

    #[test]
    fn days_are_found_one_by_one_as_in_a_window() {
        // Ends of months, and 29 February.
        for first in ["2026-01-31", "2026-03-25", "2028-02-29", "2026-12-28"] {
            let first = crate::wire::datetime::parse(first).expect("a day").day();
            for rule in RULES {
                let rule: Rule = rule.parse().expect("a rule");
                let plan = DayPlan::new(first, Some(&rule));
                let begin = i64::from(first.0);
                let days: Vec<i64> = plan.days_between(begin, begin + 3_000).collect();
                assert_eq!(days.first(), Some(&begin), "{rule}");
                assert_eq!(plan.first_day(), begin);
                for (nth, day) in (0..).zip(&days) {
                    assert_eq!(plan.nth_after_first(nth), Some(*day), "{rule} from {begin}");
                }
                for day in begin + 1..begin + 1_000 {
                    let last = days.iter().rev().find(|found| **found < day);
                    assert_eq!(Some(&plan.last_day_before(day)), last, "{rule} before {day}");
                    assert_eq!(plan.includes(day), days.contains(&day), "{rule} on {day}");
                    let window: Vec<i64> = plan.days_between(day, day + 9).collect();
                    let expected = days.iter().filter(|found| (day..=day + 9).contains(*found));
                    assert_eq!(window, expected.copied().collect::<Vec<_>>(), "{rule} from {day}");
                }
            }
        }
    }

    #[test]
    fn no_day_lies_after_the_year_9999() {
        for rule in RULES {
            let rule: Rule = rule.parse().expect("a rule");
            let first = CivilDay(i32::try_from(DAY_MAX).expect("it fits") - 4_000);
            let plan = DayPlan::new(first, Some(&rule));
            let days: Vec<i64> = plan.days_between(i64::from(first.0), i64::MAX).collect();
            let last = days.last().expect("the first at least");
            assert!(*last <= DAY_MAX && *last > DAY_MAX - 800, "{rule}: {last}");
            let count = i64::try_from(days.len()).expect("few");
            assert_eq!(plan.nth_after_first(count - 1), Some(*last), "{rule}");
            assert_eq!(plan.nth_after_first(count), None, "{rule}");
            assert_eq!(plan.nth_after_first(count + 100_000), None, "{rule}");
        }
    }

    #[test]
    fn a_rule_of_months_reaches_the_last_month_of_the_calendar() {
        let first = crate::wire::datetime::parse("9999-10-15").expect("a day").day();
        for (rule, days) in [
            ("FREQ=MONTHLY", ["9999-10-15", "9999-11-15", "9999-12-15"]),
            ("FREQ=MONTHLY;BYDAY=-1FR", ["9999-10-15", "9999-10-29", "9999-11-26"]),
        ] {
            let rule: Rule = rule.parse().expect("a rule");
            let plan = DayPlan::new(first, Some(&rule));
            let found: Vec<i64> = plan.days_between(0, DAY_MAX).take(3).collect();
            let days = days.map(|day| crate::wire::datetime::parse(day).expect("a day").day());
            assert_eq!(found, days.map(|day| i64::from(day.0)), "{rule}");
        }
    }

    #[test]
    fn a_weekday_of_the_event_itself_comes_again_a_period_later() {
        let first = crate::wire::datetime::parse("2026-03-04").expect("a Wednesday").day();
        for (rule, days_later) in [
            ("FREQ=WEEKLY", 7),
            ("FREQ=WEEKLY;BYDAY=WE", 7),
            ("FREQ=WEEKLY;INTERVAL=2;BYDAY=WE", 14),
            ("FREQ=WEEKLY;BYDAY=TU", 6),
            ("FREQ=WEEKLY;BYDAY=TH", 1),
            ("FREQ=WEEKLY;INTERVAL=2;BYDAY=TU", 13),
        ] {
            let rule: Rule = rule.parse().expect("a rule");
            let plan = DayPlan::new(first, Some(&rule));
            let second = i64::from(first.0) + days_later;
            assert_eq!(plan.nth_after_first(1), Some(second), "{rule}");
            assert_eq!(plan.last_day_before(second), i64::from(first.0), "{rule}");
            assert_eq!(plan.last_day_before(second + 1), second, "{rule}");
        }
    }
}
