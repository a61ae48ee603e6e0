//! The days on which a series does not take place.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::domain::time::CivilDay;

/// Most dates that `repeat_exceptions` may hold. Reference 5.
pub const EXCEPTIONS_MAX: usize = 3_000;

/// The local dates whose occurrences are removed from a series, ascending and each once. Cheap to clone.
///
/// Read from the text of `repeat_exceptions` by [`str::parse`]: dates `YYYY-mm-dd 00:00:00` or `YYYY-mm-dd`, separated by
/// commas, in any order. Its `Display` is that text, in order. Reference 12.7.
///
/// ```
/// use slotbook::domain::recurrence::Exceptions;
/// let exceptions: Exceptions = "2025-12-25,2025-05-01 00:00:00".parse().unwrap();
/// assert_eq!(exceptions.to_string(), "2025-05-01 00:00:00,2025-12-25 00:00:00");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Vec<CivilDay>")]
pub struct Exceptions(Arc<[CivilDay]>);

/// What is wrong with the text of `repeat_exceptions`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExceptionsError {
    /// An entry is not a date; its first characters.
    #[error("repeat_exceptions must be dates YYYY-mm-dd 00:00:00 separated by commas, not {0:?}")]
    NotADate(String),
    /// More dates than [`EXCEPTIONS_MAX`].
    #[error("repeat_exceptions may hold {EXCEPTIONS_MAX} dates, not {0}")]
    TooMany(usize),
}

impl Exceptions {
    /// The exceptions on those days, in any order.
    ///
    /// # Errors
    ///
    /// [`ExceptionsError::TooMany`] for more than [`EXCEPTIONS_MAX`] days, repeated ones included.
    pub fn from_days(mut days: Vec<CivilDay>) -> Result<Self, ExceptionsError> {
        if days.len() > EXCEPTIONS_MAX {
            return Err(ExceptionsError::TooMany(days.len()));
        }
        days.sort_unstable();
        days.dedup();
        Ok(Self(days.into()))
    }

    /// The days, ascending.
    #[must_use]
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

    /// The exceptions that `text` lists. Spaces around a date and empty entries are passed over; so is a date given
    /// twice.
    ///
    /// # Errors
    ///
    /// [`ExceptionsError`]: too many entries, else the first that is not a date.
    fn from_str(text: &str) -> Result<Self, ExceptionsError> {
        let entries = || text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        let number = entries().count();
        if number > EXCEPTIONS_MAX {
            return Err(ExceptionsError::TooMany(number));
        }
        let days: Result<Vec<_>, _> = entries()
            .map(|entry| {
                day(entry)
                    .ok_or_else(|| ExceptionsError::NotADate(entry.chars().take(20).collect()))
            })
            .collect();
        Self::from_days(days?)
    }
}

/// `YYYY-mm-dd`, with or without the midnight it begins at.
fn day(text: &str) -> Option<CivilDay> {
    let date = text.strip_suffix(" 00:00:00").unwrap_or(text).as_bytes();
    if date.len() != 10 || date[4] != b'-' || date[7] != b'-' {
        return None;
    }
    let digits = |from: usize, to: usize| {
        date[from..to].iter().try_fold(0_u32, |number, byte| {
            byte.is_ascii_digit().then(|| number * 10 + u32::from(byte - b'0'))
        })
    };
    CivilDay::from_ymd(i32::try_from(digits(0, 4)?).ok()?, digits(5, 7)?, digits(8, 10)?)
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
    fn dates_are_sorted_and_named_once() {
        let text = " 2025-12-25 , 2025-05-01 00:00:00,,2025-12-25 00:00:00,";
        let exceptions: Exceptions = text.parse().expect("dates");
        assert_eq!(exceptions.to_string(), "2025-05-01 00:00:00,2025-12-25 00:00:00");
        assert_eq!("".parse(), Ok(Exceptions::default()));
    }

    #[test]
    fn what_is_not_a_date_is_named() {
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
    fn three_thousand_dates_are_the_most() {
        let text = vec!["2025-01-01"; EXCEPTIONS_MAX].join(",");
        assert!(text.parse::<Exceptions>().is_ok());
        assert_eq!(
            format!("{text},2025-01-01").parse::<Exceptions>(),
            Err(ExceptionsError::TooMany(3_001))
        );
    }
}
