//! Timetables: the weekly hours of a calendar for the same interventions in the same weeks, and
//! their change from a day on. Reference 15.8.

use crate::domain::availability::weekly_hours::{
    DayTimes, Rhythm, WeeklyRange, WeeklyRule, sort_ranges,
};
use crate::domain::records::vevent::Permits;
use crate::domain::time::{CivilDay, Weekday};

/// Days of a week.
const WEEK_DAYS: i32 = 7;

/// The weeks of a timetable, from Monday on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OpenWeeks {
    /// Every week.
    Every,
    /// Every other week: those an even number of weeks after that of 1970-01-01.
    Even,
    /// Every other week: the other ones.
    Odd,
}

/// Weeks and interventions, which the hours of a timetable have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimetableKey {
    /// The weeks.
    pub weeks: OpenWeeks,
    /// The interventions that it is open for.
    pub permits: Permits,
}

/// Hours of a day of the week.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DayHours {
    /// The day of the week.
    pub weekday: Weekday,
    /// The part of the day.
    pub times: DayTimes,
}

/// The days for which hours are set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    /// The first day.
    pub from: CivilDay,
    /// The day after the last one; `None` without an end.
    pub before: Option<CivilDay>,
}

/// A change of the hours of a timetable.
#[derive(Clone, Debug)]
pub struct TimetableChange<'k> {
    /// The timetable as it was.
    pub old: &'k TimetableKey,
    /// Its weeks and interventions after the change.
    pub new: &'k TimetableKey,
    /// The days that are concerned.
    pub validity: Validity,
}

impl OpenWeeks {
    /// The weeks of a rhythm that has the week of a day.
    pub const fn with_day(rhythm: Rhythm, day: CivilDay) -> Self {
        // 1970-01-01 was a Thursday.
        let week = (day.0 + 3).div_euclid(WEEK_DAYS);
        match rhythm {
            Rhythm::Weekly => Self::Every,
            Rhythm::Fortnightly if week.rem_euclid(2) == 0 => Self::Even,
            Rhythm::Fortnightly => Self::Odd,
        }
    }

    /// The rhythm of the weeks.
    pub const fn rhythm(self) -> Rhythm {
        match self {
            Self::Every => Rhythm::Weekly,
            Self::Even | Self::Odd => Rhythm::Fortnightly,
        }
    }

    /// The days from one such week to the next.
    const fn period_days(self) -> i32 {
        WEEK_DAYS * self.rhythm().weeks() as i32
    }

    /// Returns the first such day of the week on or after a day.
    fn first_from(self, from: CivilDay, weekday: Weekday) -> CivilDay {
        let ahead = i32::from(weekday as u8) - i32::from(from.weekday() as u8);
        let day = from.plus_days(ahead.rem_euclid(WEEK_DAYS));
        if Self::with_day(self.rhythm(), day) == self { day } else { day.plus_days(WEEK_DAYS) }
    }
}

impl TimetableKey {
    /// The timetable of a range.
    pub fn new(range: &WeeklyRange) -> Self {
        let weeks = OpenWeeks::with_day(range.rhythm(), range.first());
        Self { weeks, permits: range.permits().clone() }
    }
}

/// Returns the timetables of some hours, ascending.
pub fn timetables(ranges: &[WeeklyRange]) -> Vec<TimetableKey> {
    let mut keys: Vec<TimetableKey> = ranges.iter().map(TimetableKey::new).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// Returns the days after the first weeks from a day on, on which the hours of a timetable change,
/// ascending. The first weeks are one week, or two with hours of every other week. Changes within
/// one such period are one: each day of the week changes on its own first day.
pub fn changes_after(ranges: &[WeeklyRange], key: &TimetableKey, from: CivilDay) -> Vec<CivilDay> {
    let period = key.weeks.period_days();
    let mut days = Vec::new();
    for range in ranges.iter().filter(|range| TimetableKey::new(range) == *key) {
        days.push(range.first());
        // The first day on which it would be open again.
        days.extend(range.last().map(|last| last.plus_days(period)));
    }
    days.retain(|day| period <= day.0 - from.0);
    days.sort_unstable();
    let mut changes: Vec<CivilDay> = Vec::new();
    for day in days {
        if changes.last().is_none_or(|change| period <= day.0 - change.0) {
            changes.push(day);
        }
    }
    changes
}

/// Returns the hours of a timetable in its first weeks from a day on, sorted.
pub fn hours_from(ranges: &[WeeklyRange], key: &TimetableKey, from: CivilDay) -> Vec<DayHours> {
    let mut hours = Vec::new();
    for range in ranges.iter().filter(|range| TimetableKey::new(range) == *key) {
        let day = key.weeks.first_from(from, range.weekday());
        if range.first() <= day && range.last().is_none_or(|last| day <= last) {
            hours.push(DayHours { weekday: range.weekday(), times: range.times() });
        }
    }
    hours.sort_unstable();
    hours
}

/// Returns the hours of a calendar after those of a timetable were replaced for some days, sorted.
/// All other hours stay. Hours that go on unchanged stay one range.
pub fn change_hours(
    ranges: &[WeeklyRange],
    change: &TimetableChange<'_>,
    hours: &[DayHours],
) -> Vec<WeeklyRange> {
    let mut changed = change.kept(ranges);
    changed.extend(hours.iter().filter_map(|hours| change.open(*hours)));
    join(changed)
}

/// Returns the first new hours that would be open at one moment with others for the same
/// interventions, and those.
pub fn find_conflict(
    ranges: &[WeeklyRange],
    change: &TimetableChange<'_>,
    hours: &[DayHours],
) -> Option<(DayHours, WeeklyRange)> {
    let mut others = change.kept(ranges);
    for hours in hours {
        let Some(opened) = change.open(*hours) else { continue };
        if let Some(other) = others.iter().find(|other| other.overlaps(&opened)) {
            return Some((*hours, other.clone()));
        }
        others.push(opened);
    }
    None
}

impl TimetableChange<'_> {
    /// The hours that stay.
    fn kept(&self, ranges: &[WeeklyRange]) -> Vec<WeeklyRange> {
        let Validity { from, before } = self.validity;
        let mut kept = Vec::new();
        for range in ranges {
            if TimetableKey::new(range) != *self.old {
                kept.push(range.clone());
                continue;
            }
            kept.extend(range.part(None, Some(from.plus_days(-1))));
            if let Some(before) = before {
                kept.extend(range.part(Some(before), None));
            }
        }
        kept
    }

    /// The range of new hours; `None` if it has no day.
    fn open(&self, hours: DayHours) -> Option<WeeklyRange> {
        let Validity { from, before } = self.validity;
        let rule = WeeklyRule {
            weekday: hours.weekday,
            rhythm: self.new.weeks.rhythm(),
            permits: self.new.permits.clone(),
            from: self.new.weeks.first_from(from, hours.weekday),
            until: before.map(|before| before.plus_days(-1)),
        };
        rule.with_times(hours.times)
    }
}

/// Joins ranges that go on where others end, and sorts all.
fn join(mut ranges: Vec<WeeklyRange>) -> Vec<WeeklyRange> {
    ranges.sort_by(|a, b| {
        let place = |range: &WeeklyRange| (TimetableKey::new(range), range.weekday());
        place(a).cmp(&place(b)).then(a.times().cmp(&b.times())).then(a.first().cmp(&b.first()))
    });
    let mut joined: Vec<WeeklyRange> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut().and_then(|last| last.followed_by(&range)) {
            Some(both) => *joined.last_mut().expect("it was just read") = both,
            None => joined.push(range),
        }
    }
    sort_ranges(&mut joined);
    joined
}

/// Leaves out those that ended before a day, the oldest first, until a number is kept.
pub fn drop_ended(ranges: &mut Vec<WeeklyRange>, before: CivilDay, kept_max: usize) {
    while ranges.len() > kept_max {
        let ended = ranges.iter().enumerate().filter_map(|(index, range)| {
            range.last().filter(|last| *last < before).map(|last| (last, index))
        });
        let Some((_, oldest)) = ended.min() else { return };
        ranges.remove(oldest);
    }
}
