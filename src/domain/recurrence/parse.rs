//! Parser of the text of `rrule`. It is strict, and each error names its key. Reference 5.2.

use std::num::NonZeroU32;
use std::str::FromStr;

use crate::domain::recurrence::rule::{
    NthWeekday, Repetition, Rule, RuleEnd, WEEK, Weekdays, weekday_letters,
};
use crate::domain::recurrence::rule_error::{RuleError, RuleKey};
use crate::domain::time::zone;
use crate::domain::time::{Civil, INSTANT_MAX, INSTANT_MIN, Instant, Weekday};

/// Maximum characters of a wrong input that an error message repeats.
const QUOTED_CHARS_MAX: usize = 20;

/// Values of the keys as given; `None` for a key that is absent.
#[derive(Default)]
struct RuleValues<'t> {
    freq: Option<&'t str>,
    interval: Option<&'t str>,
    count: Option<&'t str>,
    until: Option<&'t str>,
    byday: Option<&'t str>,
}

impl FromStr for Rule {
    type Err = RuleError;

    /// Parses the text of `rrule`. Keys come in any order; letter case does not matter.
    ///
    /// # Errors
    ///
    /// The first error: pairs in their order, then FREQ, INTERVAL, COUNT, UNTIL and BYDAY.
    fn from_str(text: &str) -> Result<Self, RuleError> {
        let values = split_pairs(text)?;
        let repetition = parse_repetition(values.freq.ok_or(RuleError::Freq)?, values.byday);
        // An error of FREQ comes before all others, an error of BYDAY after all others.
        if repetition == Err(RuleError::Freq) {
            return Err(RuleError::Freq);
        }
        let interval = match values.interval {
            Some(text) => parse_number(text).ok_or(RuleError::Interval)?,
            None => NonZeroU32::MIN,
        };
        let count = match values.count {
            Some(text) => Some(parse_number(text).ok_or(RuleError::Count)?),
            None => None,
        };
        let until = match values.until {
            Some(text) => Some(parse_utc(text).ok_or(RuleError::Until)?),
            None => None,
        };
        let end = match (count, until) {
            (None, None) => RuleEnd::Never,
            (Some(count), None) => RuleEnd::Count(count),
            (None, Some(until)) => RuleEnd::Until(until),
            (Some(_), Some(_)) => return Err(RuleError::CountWithUntil),
        };
        Rule::new(repetition?, interval, end)
    }
}

/// Splits the text into its `KEY=value` pairs.
fn split_pairs(text: &str) -> Result<RuleValues<'_>, RuleError> {
    let mut values = RuleValues::default();
    for pair in text.split(';') {
        let Some((name, value)) = pair.split_once('=') else {
            return Err(RuleError::NotAPair(quoted(pair)));
        };
        let Ok(key) = name.parse::<RuleKey>() else {
            return Err(RuleError::UnknownKey(quoted(name)));
        };
        let place = match key {
            RuleKey::Freq => &mut values.freq,
            RuleKey::Interval => &mut values.interval,
            RuleKey::Count => &mut values.count,
            RuleKey::Until => &mut values.until,
            RuleKey::ByDay => &mut values.byday,
        };
        if place.replace(value).is_some() {
            return Err(RuleError::Repeated(key));
        }
    }
    Ok(values)
}

/// Returns the beginning of a wrong input, for an error message.
fn quoted(text: &str) -> String {
    text.chars().take(QUOTED_CHARS_MAX).collect()
}

/// Parses FREQ and BYDAY, which depend on each other.
fn parse_repetition(freq: &str, byday: Option<&str>) -> Result<Repetition, RuleError> {
    match (freq.to_ascii_uppercase().as_str(), byday) {
        ("DAILY", None) => Ok(Repetition::Daily),
        ("YEARLY", None) => Ok(Repetition::Yearly),
        ("DAILY" | "YEARLY", Some(_)) => Err(RuleError::ByDayFreq),
        ("WEEKLY", None) => Ok(Repetition::Weekly(None)),
        ("WEEKLY", Some(byday)) => Ok(Repetition::Weekly(Some(parse_weekdays(byday)?))),
        ("MONTHLY", None) => Ok(Repetition::Monthly(None)),
        ("MONTHLY", Some(byday)) => Ok(Repetition::Monthly(Some(parse_nth_weekday(byday)?))),
        _ => Err(RuleError::Freq),
    }
}

fn parse_weekdays(text: &str) -> Result<Weekdays, RuleError> {
    let mut days = Vec::new();
    for letters in text.split(',') {
        days.push(parse_weekday(letters).ok_or(RuleError::ByDayWeekly)?);
    }
    Weekdays::from_days(days).ok_or(RuleError::ByDayWeekly)
}

/// Parses a number and two letters, such as `2TU` or `-1FR`.
fn parse_nth_weekday(text: &str) -> Result<NthWeekday, RuleError> {
    let error = RuleError::ByDayMonthly;
    let Some(middle) = text.len().checked_sub(2) else { return Err(error) };
    let Some((nth, letters)) = text.split_at_checked(middle) else { return Err(error) };
    let Ok(nth) = nth.parse() else { return Err(error) };
    let Some(weekday) = parse_weekday(letters) else { return Err(error) };
    NthWeekday::new(nth, weekday).ok_or(error)
}

fn parse_weekday(text: &str) -> Option<Weekday> {
    WEEK.into_iter().find(|day| text.eq_ignore_ascii_case(weekday_letters(*day)))
}

/// Parses a positive whole number that consists of digits alone.
fn parse_number(text: &str) -> Option<NonZeroU32> {
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

/// Parses `YYYYmmddTHHMMSSZ` of the years 1970 to 9999.
fn parse_utc(text: &str) -> Option<Instant> {
    let bytes = text.as_bytes();
    if bytes.len() != 16
        || !bytes[8].eq_ignore_ascii_case(&b'T')
        || !bytes[15].eq_ignore_ascii_case(&b'Z')
    {
        return None;
    }
    let utc = Civil::from_ymd_hms(
        i32::try_from(parse_digits(&bytes[0..4])?).ok()?,
        parse_digits(&bytes[4..6])?,
        parse_digits(&bytes[6..8])?,
        parse_digits(&bytes[9..11])?,
        parse_digits(&bytes[11..13])?,
        parse_digits(&bytes[13..15])?,
    )?;
    let instant = zone::instant_of_utc(utc);
    if instant < INSTANT_MIN || instant > INSTANT_MAX {
        return None;
    }
    Some(instant)
}

/// Parses at most nine ASCII digits; `None` for any other byte.
pub(crate) fn parse_digits(bytes: &[u8]) -> Option<u32> {
    let mut number = 0;
    for byte in bytes {
        if !byte.is_ascii_digit() {
            return None;
        }
        number = number * 10 + u32::from(byte - b'0');
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> Result<String, RuleError> {
        text.parse::<Rule>().map(|rule| rule.to_string())
    }

    #[test]
    fn keys_come_in_any_order_and_letter_case() {
        for (text, same) in [
            ("FREQ=DAILY", "FREQ=DAILY"),
            ("interval=02;freq=weekly", "FREQ=WEEKLY;INTERVAL=2"),
            ("BYDAY=su,Mo;COUNT=2;FREQ=WEEKLY", "FREQ=WEEKLY;BYDAY=MO,SU;COUNT=2"),
            (
                "until=20250101t000000z;BYDAY=-1fr;FREQ=MONTHLY",
                "FREQ=MONTHLY;BYDAY=-1FR;UNTIL=20250101T000000Z",
            ),
            ("FREQ=MONTHLY;BYDAY=+2TU;INTERVAL=1", "FREQ=MONTHLY;BYDAY=2TU"),
            ("FREQ=YEARLY;COUNT=4294967295", "FREQ=YEARLY;COUNT=4294967295"),
        ] {
            assert_eq!(canonical(text).as_deref(), Ok(same));
            assert_eq!(canonical(same).as_deref(), Ok(same));
        }
    }

    #[test]
    fn each_error_names_its_key() {
        for (text, error) in [
            ("", RuleError::NotAPair(String::new())),
            ("FREQ=DAILY;", RuleError::NotAPair(String::new())),
            ("FREQ", RuleError::NotAPair("FREQ".into())),
            ("FREQ=DAILY;BYMONTH=1", RuleError::UnknownKey("BYMONTH".into())),
            ("FREQ=DAILY;freq=DAILY", RuleError::Repeated(RuleKey::Freq)),
            ("COUNT=2", RuleError::Freq),
            ("FREQ=HOURLY", RuleError::Freq),
            ("FREQ=DAILY;INTERVAL=0", RuleError::Interval),
            ("FREQ=DAILY;INTERVAL=", RuleError::Interval),
            ("FREQ=DAILY;INTERVAL=-1", RuleError::Interval),
            ("FREQ=DAILY;INTERVAL=+1", RuleError::Interval),
            ("FREQ=DAILY;COUNT=1", RuleError::Count),
            ("FREQ=DAILY;COUNT=0", RuleError::Count),
            ("FREQ=DAILY;COUNT=99999999999", RuleError::Count),
            ("FREQ=DAILY;UNTIL=20250101", RuleError::Until),
            ("FREQ=DAILY;UNTIL=20250101T000000", RuleError::Until),
            ("FREQ=DAILY;UNTIL=20250230T000000Z", RuleError::Until),
            ("FREQ=DAILY;UNTIL=19691231T235959Z", RuleError::Until),
            ("FREQ=DAILY;UNTIL=2025é101T00000Z", RuleError::Until),
            ("FREQ=DAILY;COUNT=2;UNTIL=20250101T000000Z", RuleError::CountWithUntil),
            ("FREQ=DAILY;BYDAY=MO", RuleError::ByDayFreq),
            ("FREQ=YEARLY;BYDAY=", RuleError::ByDayFreq),
            ("FREQ=WEEKLY;BYDAY=", RuleError::ByDayWeekly),
            ("FREQ=WEEKLY;BYDAY=MO,", RuleError::ByDayWeekly),
            ("FREQ=WEEKLY;BYDAY=2MO", RuleError::ByDayWeekly),
            ("FREQ=MONTHLY;BYDAY=0MO", RuleError::ByDayMonthly),
            ("FREQ=MONTHLY;BYDAY=6MO", RuleError::ByDayMonthly),
            ("FREQ=MONTHLY;BYDAY=MO", RuleError::ByDayMonthly),
            ("FREQ=MONTHLY;BYDAY=1MO,2MO", RuleError::ByDayMonthly),
            ("FREQ=MONTHLY;BYDAY=é", RuleError::ByDayMonthly),
            ("FREQ=MONTHLY;BYDAY=1é", RuleError::ByDayMonthly),
        ] {
            assert_eq!(canonical(text), Err(error), "{text}");
        }
    }

    #[test]
    fn an_error_message_quotes_at_most_20_characters_of_the_input() {
        let error = canonical(&"é".repeat(10_000)).expect_err("no pair");
        assert!(error.to_string().chars().count() < 120);
    }

    #[test]
    fn until_lies_in_the_years_1970_to_9999() {
        for text in ["19700101T000000Z", "99991231T235959Z"] {
            assert!(parse_utc(text).is_some(), "{text}");
        }
        assert_eq!(parse_utc("19691231T235959Z"), None);
    }

    #[test]
    fn a_set_of_weekdays_has_seven_bits_and_one_of_them_at_least() {
        for (bits, is_set) in [(0, false), (1, true), (0x7f, true), (0x80, false), (0xff, false)] {
            assert_eq!(Weekdays::try_from(bits).is_ok(), is_set, "{bits}");
        }
    }
}
