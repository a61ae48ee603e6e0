//! Older repeat fields and their translation to a rule. Reference 5.4.

use std::num::NonZeroU32;

use crate::domain::recurrence::rule::{Repetition, Rule, RuleEnd, WEEK, Weekdays};
use crate::domain::recurrence::rule_error::RuleError;
use crate::domain::time::zone::Zone;
use crate::domain::time::{Civil, INSTANT_MAX, INSTANT_MIN, Weekday};

/// The older fields as a client sent them without `rrule`. A number that is 0 means unset, except
/// the interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LegacyFields<'a> {
    /// `repeat_freq`: daily, weekly, monthly or yearly, in any letter case.
    pub freq: &'a str,
    /// `repeat_intervall`; `None` means 1.
    pub interval: Option<i64>,
    /// `repeat_count`: number of occurrences, including the event itself.
    pub count: Option<i64>,
    /// `repeat_byday`: bit 0 is Sunday, bit 1 Monday, up to bit 6 for Saturday. Only weekly
    /// repetition reads it.
    pub byday: Option<i64>,
    /// `repeat_until`: the end as a local time of the group.
    pub until: Option<Civil>,
}

/// Error in the older fields. Each message names the field and its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LegacyError {
    /// `repeat_freq` is unknown.
    #[error("repeat_freq must be daily, weekly, monthly or yearly")]
    Freq,
    /// `repeat_intervall` is outside its limits.
    #[error("repeat_intervall must be from 1 to 4294967295")]
    Interval,
    /// `repeat_count` is outside its limits.
    #[error("repeat_count must be from 2 to 4294967295; the event itself counts as one")]
    Count,
    /// `repeat_byday` has bits beyond Saturday's.
    #[error("repeat_byday must be from 1 to 127: one bit per day, Sunday the lowest")]
    ByDay,
    /// `repeat_until` is outside the years 1970 to 9999.
    #[error("repeat_until must be from 1970 to 9999")]
    Until,
    /// `repeat_count` and `repeat_until` are both given.
    #[error("repeat_count and repeat_until exclude each other: give one of them")]
    CountWithUntil,
}

impl LegacyFields<'static> {
    /// Returns the fields that say a rule, without its end at a time; `None` if none do.
    pub fn from_rule(rule: &Rule) -> Option<Self> {
        let (freq, byday) = match rule.repetition() {
            Repetition::Daily => ("daily", None),
            Repetition::Weekly(days) => ("weekly", days.map(bits_from_weekdays)),
            Repetition::Monthly(None) => ("monthly", None),
            // They have no place for the number of a weekday in its month.
            Repetition::Monthly(Some(_)) => return None,
            Repetition::Yearly => ("yearly", None),
        };
        let count = match rule.end() {
            RuleEnd::Count(count) => Some(i64::from(count.get())),
            RuleEnd::Never | RuleEnd::Until(_) => None,
        };
        let interval = Some(i64::from(rule.interval().get()));
        Some(Self { freq, interval, count, byday, until: None })
    }
}

impl LegacyFields<'_> {
    /// Translates the fields to a rule. Reference 5.4.
    ///
    /// ```
    /// use slotbook::domain::recurrence::LegacyFields;
    /// use slotbook::domain::time::zone::Zone;
    /// let monday_to_friday = Some(62);
    /// let fields = LegacyFields { freq: "Weekly", byday: monday_to_friday, ..Default::default() };
    /// let rule = fields.to_rule(Zone::from_iana("Europe/Paris").unwrap()).unwrap();
    /// assert_eq!(rule.to_string(), "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR");
    /// ```
    ///
    /// # Errors
    ///
    /// The first error. Fields are checked in the order freq, interval, count and until, byday; a
    /// count of 1 comes last.
    pub fn to_rule(&self, zone: Zone) -> Result<Rule, LegacyError> {
        let repetition = match self.freq.to_ascii_lowercase().as_str() {
            "daily" => Repetition::Daily,
            "weekly" => Repetition::Weekly(weekdays_from_bits(self.byday.unwrap_or(0))),
            "monthly" => Repetition::Monthly(None),
            "yearly" => Repetition::Yearly,
            _ => return Err(LegacyError::Freq),
        };
        let Some(interval) = positive(self.interval.unwrap_or(1)) else {
            return Err(LegacyError::Interval);
        };
        let end = self.parse_end(zone)?;
        let is_weekly = matches!(repetition, Repetition::Weekly(_));
        if is_weekly && !(0..=127).contains(&self.byday.unwrap_or(0)) {
            return Err(LegacyError::ByDay);
        }
        Rule::new(repetition, interval, end).map_err(|_: RuleError| LegacyError::Count)
    }

    /// Returns the end that count and until give.
    fn parse_end(&self, zone: Zone) -> Result<RuleEnd, LegacyError> {
        match (self.count, self.until) {
            (None | Some(0), None) => Ok(RuleEnd::Never),
            (Some(count), None) => match positive(count) {
                Some(count) => Ok(RuleEnd::Count(count)),
                None => Err(LegacyError::Count),
            },
            (None | Some(0), Some(until)) => {
                let until = zone.instant_of(until);
                if until < INSTANT_MIN || until > INSTANT_MAX {
                    return Err(LegacyError::Until);
                }
                Ok(RuleEnd::Until(until))
            }
            (Some(_), Some(_)) => Err(LegacyError::CountWithUntil),
        }
    }
}

fn positive(number: i64) -> Option<NonZeroU32> {
    NonZeroU32::new(u32::try_from(number).ok()?)
}

/// The bit of a day in `repeat_byday`. There Sunday is the lowest.
fn byday_bit(day: Weekday) -> i64 {
    1 << ((day as i64 + 1) % 7)
}

fn bits_from_weekdays(days: Weekdays) -> i64 {
    days.days().map(byday_bit).sum()
}

fn weekdays_from_bits(bits: i64) -> Option<Weekdays> {
    Weekdays::from_days(WEEK.into_iter().filter(|day| bits & byday_bit(*day) != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translated(fields: LegacyFields<'_>) -> Result<String, LegacyError> {
        fields
            .to_rule(Zone::from_iana("Europe/Paris").expect("a zone"))
            .map(|rule| rule.to_string())
    }

    #[test]
    fn a_rule_becomes_the_older_fields_that_say_it() {
        let utc = Zone::from_iana("Etc/UTC").expect("a zone");
        for text in [
            "FREQ=DAILY",
            "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TU,WE,TH,FR",
            "FREQ=WEEKLY;BYDAY=SU;COUNT=8",
            "FREQ=WEEKLY",
            "FREQ=MONTHLY;INTERVAL=3",
            "FREQ=YEARLY;COUNT=2",
        ] {
            let rule: Rule = text.parse().expect("a rule");
            let fields = LegacyFields::from_rule(&rule).expect("they say it");
            assert_eq!(fields.to_rule(utc), Ok(rule), "{text}");
        }
        let rule: Rule = "FREQ=WEEKLY;BYDAY=MO,FR".parse().expect("a rule");
        assert_eq!(LegacyFields::from_rule(&rule).and_then(|fields| fields.byday), Some(34));
        let nth: Rule = "FREQ=MONTHLY;BYDAY=2TU".parse().expect("a rule");
        assert_eq!(LegacyFields::from_rule(&nth), None);
    }

    #[test]
    fn older_fields_become_a_rule() {
        let until = Civil::from_ymd_hms(2025, 7, 1, 18, 0, 0);
        let weekly = LegacyFields { freq: "WEEKLY", ..LegacyFields::default() };
        for (fields, rule) in [
            (
                LegacyFields { interval: Some(2), byday: Some(62), until, ..weekly },
                "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TU,WE,TH,FR;UNTIL=20250701T160000Z",
            ),
            (LegacyFields { byday: Some(1), ..weekly }, "FREQ=WEEKLY;BYDAY=SU"),
            (
                LegacyFields { byday: Some(64), count: Some(3), ..weekly },
                "FREQ=WEEKLY;BYDAY=SA;COUNT=3",
            ),
            (LegacyFields { byday: Some(0), count: Some(0), ..weekly }, "FREQ=WEEKLY"),
            (LegacyFields { freq: "monthly", byday: Some(62), ..weekly }, "FREQ=MONTHLY"),
            (LegacyFields { freq: "Yearly", interval: Some(1), ..weekly }, "FREQ=YEARLY"),
            (LegacyFields { freq: "daily", byday: Some(999), ..weekly }, "FREQ=DAILY"),
        ] {
            assert_eq!(translated(fields).as_deref(), Ok(rule));
        }
    }

    #[test]
    fn each_error_names_its_field() {
        let weekly = LegacyFields { freq: "weekly", ..LegacyFields::default() };
        let until = Civil::from_ymd_hms(2025, 7, 1, 18, 0, 0);
        for (fields, error) in [
            (LegacyFields { freq: "", ..weekly }, LegacyError::Freq),
            (LegacyFields { freq: "hourly", ..weekly }, LegacyError::Freq),
            (LegacyFields { interval: Some(0), ..weekly }, LegacyError::Interval),
            (LegacyFields { count: Some(1), ..weekly }, LegacyError::Count),
            (LegacyFields { count: Some(-1), ..weekly }, LegacyError::Count),
            (LegacyFields { byday: Some(128), ..weekly }, LegacyError::ByDay),
            (LegacyFields { byday: Some(-1), ..weekly }, LegacyError::ByDay),
            (
                LegacyFields { until: Civil::from_ymd_hms(1950, 1, 1, 0, 0, 0), ..weekly },
                LegacyError::Until,
            ),
            (LegacyFields { count: Some(2), until, ..weekly }, LegacyError::CountWithUntil),
        ] {
            assert_eq!(translated(fields), Err(error));
        }
    }

    #[test]
    fn an_end_lies_in_the_years_1970_to_9999_of_universal_time() {
        let until = |zone: &str, text: &str| {
            let until = crate::wire::datetime::parse(text).ok();
            let fields = LegacyFields { freq: "daily", until, ..LegacyFields::default() };
            fields.to_rule(Zone::from_iana(zone).expect("a zone")).map(|rule| rule.to_string())
        };
        let ends = |text: &str| Ok(format!("FREQ=DAILY;UNTIL={text}"));
        assert_eq!(until("Europe/Paris", "1970-01-01 01:00:00"), ends("19700101T000000Z"));
        assert_eq!(until("Europe/Paris", "1970-01-01 00:59:59"), Err(LegacyError::Until));
        assert_eq!(until("America/New_York", "9999-12-31 18:59:59"), ends("99991231T235959Z"));
        assert_eq!(until("America/New_York", "9999-12-31 19:00:00"), Err(LegacyError::Until));
    }
}
