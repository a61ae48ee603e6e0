//! The text of `rrule`, read strictly: each rule that it can break is named with its key. Reference 12.7, 5.

use std::num::NonZeroU32;
use std::str::FromStr;

use crate::domain::recurrence::rule::{
    NthWeekday, Repetition, Rule, RuleEnd, WEEK, Weekdays, weekday_letters,
};
use crate::domain::recurrence::rule_error::{RuleError, RuleKey};
use crate::domain::time::zone;
use crate::domain::time::{Civil, INSTANT_MAX, INSTANT_MIN, Instant, Weekday};

const KEYS: [RuleKey; 5] =
    [RuleKey::Freq, RuleKey::Interval, RuleKey::Count, RuleKey::Until, RuleKey::ByDay];

impl FromStr for Rule {
    type Err = RuleError;

    /// The rule that `text` describes; keys in any order, keys and values in any letter case.
    ///
    /// # Errors
    ///
    /// What is wrong: first with the pairs as they are read, then with FREQ, INTERVAL, COUNT, UNTIL and BYDAY.
    fn from_str(text: &str) -> Result<Self, RuleError> {
        let [freq, interval, count, until, byday] = values(text)?;
        let pattern = pattern(freq.ok_or(RuleError::Freq)?, byday);
        // FREQ is the first to be blamed, BYDAY the last.
        if pattern == Err(RuleError::Freq) {
            return Err(RuleError::Freq);
        }
        let interval = interval.map_or(Some(NonZeroU32::MIN), number).ok_or(RuleError::Interval)?;
        let count = count.map(|count| number(count).ok_or(RuleError::Count)).transpose()?;
        let until = until.map(|until| utc_instant(until).ok_or(RuleError::Until)).transpose()?;
        let end = match (count, until) {
            (None, None) => RuleEnd::Never,
            (Some(count), None) => RuleEnd::Count(count),
            (None, Some(until)) => RuleEnd::Until(until),
            (Some(_), Some(_)) => return Err(RuleError::CountWithUntil),
        };
        Rule::new(pattern?, interval, end)
    }
}

/// The value of each of [`KEYS`], where given.
fn values(text: &str) -> Result<[Option<&str>; 5], RuleError> {
    let mut values = [None; 5];
    for pair in text.split(';') {
        let (name, value) =
            pair.split_once('=').ok_or_else(|| RuleError::NotAPair(beginning(pair)))?;
        let place = KEYS.iter().position(|key| name.eq_ignore_ascii_case(key.name()));
        let place = place.ok_or_else(|| RuleError::UnknownKey(beginning(name)))?;
        if values[place].replace(value).is_some() {
            return Err(RuleError::Repeated(KEYS[place]));
        }
    }
    Ok(values)
}

/// As much of a wrong input as a message repeats.
fn beginning(text: &str) -> String {
    text.chars().take(20).collect()
}

fn pattern(freq: &str, byday: Option<&str>) -> Result<Repetition, RuleError> {
    match (freq.to_ascii_uppercase().as_str(), byday) {
        ("DAILY", None) => Ok(Repetition::Daily),
        ("YEARLY", None) => Ok(Repetition::Yearly),
        ("DAILY" | "YEARLY", Some(_)) => Err(RuleError::ByDayFreq),
        ("WEEKLY", byday) => byday.map(weekdays).transpose().map(Repetition::Weekly),
        ("MONTHLY", byday) => byday.map(nth_weekday).transpose().map(Repetition::Monthly),
        _ => Err(RuleError::Freq),
    }
}

fn weekdays(text: &str) -> Result<Weekdays, RuleError> {
    let days: Option<Vec<Weekday>> = text.split(',').map(weekday).collect();
    days.and_then(Weekdays::from_days).ok_or(RuleError::ByDayWeekly)
}

fn nth_weekday(text: &str) -> Result<NthWeekday, RuleError> {
    let split = text.len().checked_sub(2).and_then(|middle| text.split_at_checked(middle));
    let (nth, day) = split.ok_or(RuleError::ByDayMonthly)?;
    let nth = nth.parse().map_err(|_| RuleError::ByDayMonthly)?;
    weekday(day).and_then(|day| NthWeekday::new(nth, day)).ok_or(RuleError::ByDayMonthly)
}

fn weekday(text: &str) -> Option<Weekday> {
    WEEK.into_iter().find(|day| text.eq_ignore_ascii_case(weekday_letters(*day)))
}

/// A positive whole number written in digits alone.
fn number(text: &str) -> Option<NonZeroU32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// `YYYYmmddTHHMMSSZ`, from 1970 to 9999.
fn utc_instant(text: &str) -> Option<Instant> {
    let bytes = text.as_bytes();
    if bytes.len() != 16
        || !bytes[8].eq_ignore_ascii_case(&b'T')
        || !bytes[15].eq_ignore_ascii_case(&b'Z')
    {
        return None;
    }
    let digits = |from: usize, to: usize| {
        bytes[from..to].iter().try_fold(0_u32, |number, byte| {
            byte.is_ascii_digit().then(|| number * 10 + u32::from(byte - b'0'))
        })
    };
    let year = i32::try_from(digits(0, 4)?).ok()?;
    let utc = Civil::from_ymd_hms(
        year,
        digits(4, 6)?,
        digits(6, 8)?,
        digits(9, 11)?,
        digits(11, 13)?,
        digits(13, 15)?,
    )?;
    let instant = zone::instant_of_utc(utc);
    (INSTANT_MIN <= instant && instant <= INSTANT_MAX).then_some(instant)
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
    fn each_broken_rule_names_its_key() {
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
    fn a_message_repeats_little_of_a_long_input() {
        let error = canonical(&"é".repeat(10_000)).expect_err("no pair");
        assert!(error.to_string().chars().count() < 120);
    }
}
