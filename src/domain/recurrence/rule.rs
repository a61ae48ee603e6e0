//! The recurrence rule of an event. Reference 5.1, 5.2.

use std::fmt;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use crate::domain::recurrence::rule_error::RuleError;
use crate::domain::time::zone;
use crate::domain::time::{Instant, Weekday};

/// Recurrence rule: the days, the interval between them, and the end. Reference 5.2.
///
/// [`str::parse`] reads it from the text of `rrule`. `Display` writes that text with the keys in
/// the order FREQ, INTERVAL, BYDAY, COUNT or UNTIL. An INTERVAL of 1 is left out.
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

/// The days of a rule: FREQ and BYDAY.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Repetition {
    /// Every day.
    Daily,
    /// On these days of the week; `None` for the weekday of the event itself. Weeks begin on
    /// Monday.
    Weekly(Option<Weekdays>),
    /// On this weekday of the month; `None` for the day of the month of the event itself. Months
    /// that lack the day are skipped.
    Monthly(Option<NthWeekday>),
    /// On the month and day of the event itself. 29 February occurs in leap years only.
    Yearly,
}

/// End of a rule: COUNT or UNTIL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RuleEnd {
    /// The end of the year 9999.
    Never,
    /// This number of occurrences, including the event itself and occurrences removed by
    /// exceptions.
    Count(NonZeroU32),
    /// The last occurrence that starts at or before this instant. See
    /// [`crate::domain::recurrence::Series::new`] for an occurrence that starts exactly then.
    Until(Instant),
}

/// Set of days of the week, never empty. Bit 0 is Monday.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8")]
pub struct Weekdays(u8);

/// Nth weekday of a month: 1 to 5 from the beginning, -1 to -5 from the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "(i8, Weekday)")]
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
    /// Creates a rule. `interval` counts days, weeks, months or years, as the repetition does.
    ///
    /// # Errors
    ///
    /// [`RuleError::Count`] for a count of 1, which would not repeat.
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

    /// Returns its days.
    pub const fn repetition(&self) -> Repetition {
        self.repetition
    }

    /// Returns its interval in days, weeks, months or years.
    pub const fn interval(&self) -> NonZeroU32 {
        self.interval
    }

    /// Returns its end.
    pub const fn end(&self) -> RuleEnd {
        self.end
    }

    /// Returns the days from one period to the next: the shortest for months and years.
    pub(crate) fn period_days(&self) -> i64 {
        let days = match self.repetition {
            Repetition::Daily => 1,
            Repetition::Weekly(_) => 7,
            Repetition::Monthly(_) => 28,
            Repetition::Yearly => 365,
        };
        i64::from(self.interval.get()) * days
    }

    /// Returns the maximum number of days of one period on which an occurrence begins.
    pub(crate) fn days_per_period(&self) -> i64 {
        if let Repetition::Weekly(Some(days)) = self.repetition {
            return i64::from(days.bits().count_ones());
        }
        1
    }

    /// Returns the same rule with this UNTIL as its end.
    #[must_use]
    pub(crate) const fn with_until(self, until: Instant) -> Self {
        Self { end: RuleEnd::Until(until), ..self }
    }
}

impl Weekdays {
    /// Returns the set of these days, or `None` without any day. A repeated day counts once.
    pub fn from_days(days: impl IntoIterator<Item = Weekday>) -> Option<Self> {
        let mut bits = 0;
        for day in days {
            bits |= 1 << day as u8;
        }
        if bits == 0 { None } else { Some(Self(bits)) }
    }

    /// Returns its days, Monday first.
    pub fn days(self) -> impl Iterator<Item = Weekday> {
        WEEK.into_iter().filter(move |day| self.0 & 1 << *day as u8 != 0)
    }

    /// Returns one bit per day; Monday is the lowest.
    pub(crate) const fn bits(self) -> u8 {
        self.0
    }
}

impl NthWeekday {
    /// Returns the nth weekday, or `None` if `nth` is not 1 to 5 or -1 to -5.
    pub fn new(nth: i8, weekday: Weekday) -> Option<Self> {
        match nth {
            -5..=-1 | 1..=5 => Some(Self { nth, weekday }),
            _ => None,
        }
    }

    /// Returns its number: 1 is the first of the month, -1 the last.
    pub const fn nth(self) -> i8 {
        self.nth
    }

    /// Returns the day of the week.
    pub const fn weekday(self) -> Weekday {
        self.weekday
    }
}

/// Returns the two letters of a weekday in BYDAY.
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
        if let Repetition::Weekly(Some(days)) = self.repetition {
            let mut comma = ";BYDAY=";
            for day in days.days() {
                write!(f, "{comma}{}", weekday_letters(day))?;
                comma = ",";
            }
        }
        if let Repetition::Monthly(Some(on)) = self.repetition {
            write!(f, ";BYDAY={}{}", on.nth, weekday_letters(on.weekday))?;
        }
        match self.end {
            RuleEnd::Never => Ok(()),
            RuleEnd::Count(count) => write!(f, ";COUNT={count}"),
            RuleEnd::Until(until) => write!(f, ";UNTIL={}", zone::format_ical(until)),
        }
    }
}

impl TryFrom<u8> for Weekdays {
    type Error = &'static str;

    fn try_from(bits: u8) -> Result<Self, Self::Error> {
        if bits == 0 || bits > 0b111_1111 {
            Err("a set of weekdays has seven bits, at least one of them set")
        } else {
            Ok(Self(bits))
        }
    }
}

impl TryFrom<(i8, Weekday)> for NthWeekday {
    type Error = &'static str;

    fn try_from((nth, weekday): (i8, Weekday)) -> Result<Self, Self::Error> {
        Self::new(nth, weekday).ok_or("the number of a weekday in a month is 1 to 5 or -1 to -5")
    }
}
