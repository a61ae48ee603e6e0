//! Exceptions: the days on which a series does not take place. Reference 5.3.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::domain::recurrence::parse::parse_digits;
use crate::domain::time::CivilDay;

/// Maximum number of dates in `repeat_exceptions`. Reference 5.3.
pub const EXCEPTIONS_MAX: usize = 3_000;

/// Local dates whose occurrences are removed from a series: ascending, each once. Cheap to clone.
///
/// [`str::parse`] reads them from the text of `repeat_exceptions`: dates `YYYY-mm-dd 00:00:00` or
/// `YYYY-mm-dd` in any order, separated by commas. `Display` writes that text in order.
/// Reference 5.3.
///
/// ```
/// use slotbook::domain::recurrence::Exceptions;
/// let exceptions: Exceptions = "2025-12-25,2025-05-01 00:00:00".parse().unwrap();
/// assert_eq!(exceptions.to_string(), "2025-05-01 00:00:00,2025-12-25 00:00:00");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Vec<CivilDay>")]
pub struct Exceptions(Arc<[CivilDay]>);

/// Error in the text of `repeat_exceptions`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExceptionsError {
    /// An entry is not a date. Holds its first characters.
    #[error("repeat_exceptions must be dates YYYY-mm-dd 00:00:00 separated by commas, not {0:?}")]
    NotADate(String),
    /// More dates than [`EXCEPTIONS_MAX`].
    #[error("repeat_exceptions has {0} dates; at most {EXCEPTIONS_MAX} are allowed")]
    TooMany(usize),
}

impl Exceptions {
    /// Returns the exceptions on these days, which may come in any order.
    ///
    /// # Errors
    ///
    /// [`ExceptionsError::TooMany`] for more than [`EXCEPTIONS_MAX`] days. Repeated days count.
    pub fn from_days(mut days: Vec<CivilDay>) -> Result<Self, ExceptionsError> {
        if days.len() > EXCEPTIONS_MAX {
            return Err(ExceptionsError::TooMany(days.len()));
        }
        days.sort_unstable();
        days.dedup();
        Ok(Self(days.into()))
    }

    /// Returns those before a day.
    pub(crate) fn before(&self, day: CivilDay) -> Self {
        Self(self.0[..self.0.partition_point(|other| *other < day)].into())
    }

    /// Returns those on a day and later.
    pub(crate) fn from(&self, day: CivilDay) -> Self {
        Self(self.0[self.0.partition_point(|other| *other < day)..].into())
    }

    /// Returns the days, ascending.
    pub fn days(&self) -> &[CivilDay] {
        &self.0
    }
}

impl TryFrom<Vec<CivilDay>> for Exceptions {
    type Error = ExceptionsError;

    fn try_from(days: Vec<CivilDay>) -> Result<Self, ExceptionsError> {
        Self::from_days(days)
    }
}

impl FromStr for Exceptions {
    type Err = ExceptionsError;

    /// Parses the text of `repeat_exceptions`. Spaces around a date, empty entries and repeated
    /// dates are ignored.
    ///
    /// # Errors
    ///
    /// [`ExceptionsError::TooMany`], else [`ExceptionsError::NotADate`] for the first wrong entry.
    fn from_str(text: &str) -> Result<Self, ExceptionsError> {
        let entries = || text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        let number = entries().count();
        if number > EXCEPTIONS_MAX {
            return Err(ExceptionsError::TooMany(number));
        }
        let mut days = Vec::with_capacity(number);
        for entry in entries() {
            let Some(day) = parse_date(entry) else {
                return Err(ExceptionsError::NotADate(entry.chars().take(20).collect()));
            };
            days.push(day);
        }
        Self::from_days(days)
    }
}

/// Parses `YYYY-mm-dd` or `YYYY-mm-dd 00:00:00`.
fn parse_date(text: &str) -> Option<CivilDay> {
    let date = text.strip_suffix(" 00:00:00").unwrap_or(text).as_bytes();
    if date.len() != 10 || date[4] != b'-' || date[7] != b'-' {
        return None;
    }
    CivilDay::from_ymd(
        i32::try_from(parse_digits(&date[0..4])?).ok()?,
        parse_digits(&date[5..7])?,
        parse_digits(&date[8..10])?,
    )
}

impl fmt::Display for Exceptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comma = "";
        for day in self.days() {
            let (year, month, day) = day.ymd();
            write!(f, "{comma}{year:04}-{month:02}-{day:02} 00:00:00")?;
            comma = ",";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_written_in_order_and_each_once() {
        let text = " 2025-12-25 , 2025-05-01 00:00:00,,2025-12-25 00:00:00,";
        let exceptions: Exceptions = text.parse().expect("dates");
        assert_eq!(exceptions.to_string(), "2025-05-01 00:00:00,2025-12-25 00:00:00");
        assert_eq!("".parse(), Ok(Exceptions::default()));
    }

    #[test]
    fn an_entry_that_is_not_a_date_is_quoted() {
        for wrong in [
            "2025-02-29",
            "2025-1-1",
            "tomorrow",
            "2025-01-01 09:00:00",
            "2025-01-01T00:00:00",
            "2025-01-é",
        ] {
            assert_eq!(wrong.parse::<Exceptions>(), Err(ExceptionsError::NotADate(wrong.into())));
        }
    }

    #[test]
    fn at_most_3000_dates_are_accepted() {
        let text = vec!["2025-01-01"; EXCEPTIONS_MAX].join(",");
        assert!(text.parse::<Exceptions>().is_ok());
        assert_eq!(
            format!("{text},2025-01-01").parse::<Exceptions>(),
            Err(ExceptionsError::TooMany(3_001))
        );
    }

    #[test]
    fn dates_are_split_at_a_day_which_is_among_the_later_ones() {
        let all: Exceptions = "2025-01-01,2025-01-05,2025-01-07".parse().expect("dates");
        let day = |text: &str| crate::wire::datetime::parse(text).expect("a day").day();
        for (at, before, from) in [
            ("2025-01-05", &["2025-01-01"][..], &["2025-01-05", "2025-01-07"][..]),
            ("2025-01-06", &["2025-01-01", "2025-01-05"], &["2025-01-07"]),
            ("2024-12-31", &[], &["2025-01-01", "2025-01-05", "2025-01-07"]),
        ] {
            let days = |texts: &[&str]| texts.iter().map(|text| day(text)).collect::<Vec<_>>();
            assert_eq!(all.before(day(at)).days(), days(before));
            assert_eq!(all.from(day(at)).days(), days(from));
        }
    }
}
