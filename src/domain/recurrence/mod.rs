//! Recurrence: the occurrences of events that repeat. Reference 5.
//!
//! A [`Series`] is an event with its rule and its exceptions. Its occurrences are computed on the
//! wall clock and then converted to instants: a shop that opens at nine does so all year. No
//! occurrence is stored. The work for a window depends on the number of occurrences in it.

mod days;
mod exceptions;
mod expand;
mod legacy;
mod parse;
mod rule;
mod rule_error;
mod series;

#[cfg(test)]
mod tests;

pub use self::exceptions::{EXCEPTIONS_MAX, Exceptions, ExceptionsError};
pub use self::expand::Occurrences;
pub use self::legacy::{LegacyError, LegacyFields};
pub(crate) use self::rule::weekday_letters;
pub use self::rule::{NthWeekday, Repetition, Rule, RuleEnd, WEEK, Weekdays};
pub use self::rule_error::{RuleError, RuleKey};
pub use self::series::{Occurrence, Series, SeriesError};
