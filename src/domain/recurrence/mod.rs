//! Events that repeat: which days, and at which instants. Reference 12.7, 5.
//!
//! A [`Series`] is an event with its rule and its exceptions. Its occurrences are found on the wall clock and then turned
//! into instants, so that a shop that opens at nine does so all year. Nothing is stored of them: those of any window are
//! computed from the window, at the cost of what it holds.

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
pub use self::rule::{NthWeekday, Repetition, Rule, RuleEnd, WEEK, Weekdays};
pub use self::rule_error::{RuleError, RuleKey};
pub use self::series::{Occurrence, Series, SeriesError};
