//! The rule by which an event repeats.

use std::fmt;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use crate::domain::recurrence::rule_error::RuleError;
use crate::domain::time::zone;
use crate::domain::time::{CivilDay, Instant, Weekday};

/// How an event repeats: a pattern of days, every how many periods, and until when. Reference 12.7.
///
/// Read from the text of `rrule` by [`str::parse`]; its `Display` is that text again in one order of keys, FREQ,
/// INTERVAL (left out when 1), COUNT or UNTIL, BYDAY.
///
/// ```
/// use slotbook::domain::recurrence::Rule;
/// let rule: Rule = "byday=fr,mo;INTERVAL=1;FREQ=WEEKLY;COUNT=8".parse().unwrap();
/// assert_eq!(rule.to_string(), "FREQ=WEEKLY;BYDAY=MO,FR;COUNT=8");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Rule {
    repetition: Repetition,
    interval: NonZeroU32,
    end: RuleEnd,
}

/// The days a rule falls on, with the days that BYDAY names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Repetition {
    /// Every day.
    Daily,
    /// On these days of the week; `None` is the weekday of the event itself. Weeks begin on Monday.
    Weekly(Option<Weekdays>),
    /// On the nth such weekday of the month; `None` is the day of the month of the event itself, and months that lack
    /// it are skipped.
    Monthly(Option<NthWeekday>),
    /// On the month and day of the event itself; 29 February only in leap years.
    Yearly,
}

/// When a rule ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RuleEnd {
    /// It goes on to the end of 9999.
    Never,
    /// After that many occurrences, the event itself and those removed by exceptions included.
    Count(NonZeroU32),
    /// With the last occurrence that starts at or before that instant; see [`crate::domain::recurrence::Series::new`] for the edge.
    Until(Instant),
}

/// A set of days of the week, never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Weekdays(u8);

/// The nth of a weekday in a month, counted from its beginning (1 to 5) or from its end (-1 to -5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "(i8, Weekday)", into = "(i8, Weekday)")]
pub struct NthWeekday {
    nth: i8,
    weekday: Weekday,
}

/// All days of the week, Monday first.
pub const WEEK: [Weekday; 7] = [
    Weekday::Monday,
    Weekday::Tuesday,
    Weekday::Wednesday,
    Weekday::Thursday,
    Weekday::Friday,
    Weekday::Saturday,
    Weekday::Sunday,
];

impl Rule {
    /// The rule of that pattern, every `interval` periods.
    ///
    /// # Errors
    ///
    /// [`RuleError::Count`] when the end is a count of 1, which would not repeat.
    pub fn new(
        repetition: Repetition,
        interval: NonZeroU32,
        end: RuleEnd,
    ) -> Result<Self, RuleError> {
        if end == RuleEnd::Count(NonZeroU32::MIN) {
            return Err(RuleError::Count);
        }
        Ok(Self { repetition, interval, end })
    }

    /// The days it falls on.
    #[must_use]
    pub const fn repetition(&self) -> Repetition {
        self.repetition
    }

    /// Every how many days, weeks, months or years it falls on them.
    #[must_use]
    pub const fn interval(&self) -> NonZeroU32 {
        self.interval
    }

    /// When it ends.
    #[must_use]
    pub const fn end(&self) -> RuleEnd {
        self.end
    }

    /// The same days until another instant.
    #[must_use]
    pub(crate) const fn with_until(self, until: Instant) -> Self {
        Self { end: RuleEnd::Until(until), ..self }
    }
}

impl Weekdays {
    /// The set of those days, or `None` for no day at all. A day named twice counts once.
    #[must_use]
    pub fn from_days(days: impl IntoIterator<Item = Weekday>) -> Option<Self> {
        let bits = days.into_iter().fold(0, |bits, day| bits | 1 << day as u8);
        (bits != 0).then_some(Self(bits))
    }

    /// Its days, Monday first.
    pub fn days(self) -> impl Iterator<Item = Weekday> {
        WEEK.into_iter().filter(move |day| self.0 & 1 << *day as u8 != 0)
    }

    /// One bit for each day, Monday the lowest.
    #[must_use]
    pub(crate) const fn bits(self) -> u8 {
        self.0
    }
}

impl NthWeekday {
    /// The nth such weekday, or `None` when `nth` is not 1 to 5 or -1 to -5.
    #[must_use]
    pub fn new(nth: i8, weekday: Weekday) -> Option<Self> {
        (nth != 0 && (-5..=5).contains(&nth)).then_some(Self { nth, weekday })
    }

    /// Which one: 1 is the first of the month, -1 the last.
    #[must_use]
    pub const fn nth(self) -> i8 {
        self.nth
    }

    /// The day of the week.
    #[must_use]
    pub const fn weekday(self) -> Weekday {
        self.weekday
    }
}

/// The two letters of BYDAY.
pub(crate) const fn weekday_letters(day: Weekday) -> &'static str {
    match day {
        Weekday::Monday => "MO",
        Weekday::Tuesday => "TU",
        Weekday::Wednesday => "WE",
        Weekday::Thursday => "TH",
        Weekday::Friday => "FR",
        Weekday::Saturday => "SA",
        Weekday::Sunday => "SU",
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.repetition {
            Repetition::Daily => "FREQ=DAILY",
            Repetition::Weekly(_) => "FREQ=WEEKLY",
            Repetition::Monthly(_) => "FREQ=MONTHLY",
            Repetition::Yearly => "FREQ=YEARLY",
        })?;
        if self.interval != NonZeroU32::MIN {
            write!(f, ";INTERVAL={}", self.interval)?;
        }
        match self.repetition {
            Repetition::Weekly(Some(days)) => {
                let mut comma = ";BYDAY=";
                for day in days.days() {
                    write!(f, "{comma}{}", weekday_letters(day))?;
                    comma = ",";
                }
            }
            Repetition::Monthly(Some(on)) => {
                write!(f, ";BYDAY={}{}", on.nth, weekday_letters(on.weekday))?
            }
            Repetition::Daily
            | Repetition::Weekly(None)
            | Repetition::Monthly(None)
            | Repetition::Yearly => {}
        }
        match self.end {
            RuleEnd::Never => Ok(()),
            RuleEnd::Count(count) => write!(f, ";COUNT={count}"),
            RuleEnd::Until(until) => write_until(f, until),
        }
    }
}

fn write_until(f: &mut fmt::Formatter<'_>, until: Instant) -> fmt::Result {
    let utc = zone::utc_of(until);
    let (year, month, day) = CivilDay::ymd(utc.day());
    let second = utc.second_of_day();
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    write!(f, ";UNTIL={year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

impl TryFrom<u8> for Weekdays {
    type Error = &'static str;

    fn try_from(bits: u8) -> Result<Self, Self::Error> {
        if bits == 0 || bits > 0b111_1111 {
            Err("a set of weekdays has seven bits, one at least set")
        } else {
            Ok(Self(bits))
        }
    }
}

impl From<Weekdays> for u8 {
    fn from(days: Weekdays) -> Self {
        days.0
    }
}

impl TryFrom<(i8, Weekday)> for NthWeekday {
    type Error = &'static str;

    fn try_from((nth, weekday): (i8, Weekday)) -> Result<Self, Self::Error> {
        Self::new(nth, weekday).ok_or("the nth weekday of a month is 1 to 5 or -1 to -5")
    }
}

impl From<NthWeekday> for (i8, Weekday) {
    fn from(on: NthWeekday) -> Self {
        (on.nth, on.weekday)
    }
}
