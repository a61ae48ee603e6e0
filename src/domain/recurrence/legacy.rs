//! The obsolete repeat fields, translated to a rule. Reference 12.7, 5.

use std::num::NonZeroU32;

use crate::domain::recurrence::rule::{Repetition, Rule, RuleEnd, Weekdays};
use crate::domain::recurrence::rule_error::RuleError;
use crate::domain::time::zone::Zone;
use crate::domain::time::{Civil, INSTANT_MAX, INSTANT_MIN, Weekday};

/// The obsolete fields as a client sent them, beside no `rrule`. Numbers that are 0 count as unset, save the interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LegacyFields<'a> {
    /// `repeat_freq`: daily, weekly, monthly or yearly, in any letter case.
    pub freq: &'a str,
    /// `repeat_intervall`; 1 when not given.
    pub interval: Option<i64>,
    /// `repeat_count`: number of occurrences, the event itself included.
    pub count: Option<i64>,
    /// `repeat_byday`: bit 0 is Sunday, then Monday, up to bit 6 for Saturday. Only weekly repetition looks at it.
    pub byday: Option<i64>,
    /// `repeat_until`: the end, on the group's clocks.
    pub until: Option<Civil>,
}

/// What is wrong with the obsolete fields, each named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LegacyError {
    /// `repeat_freq` names no frequency.
    #[error("repeat_freq must be daily, weekly, monthly or yearly")]
    Freq,
    /// `repeat_intervall` is out of bounds.
    #[error("repeat_intervall must be from 1 to 4294967295")]
    Interval,
    /// `repeat_count` is out of bounds.
    #[error("repeat_count must be from 2 to 4294967295; the event itself counts as one")]
    Count,
    /// `repeat_byday` has bits beyond Saturday's.
    #[error("repeat_byday must be from 1 to 127: one bit for each day, Sunday the lowest")]
    ByDay,
    /// `repeat_until` is outside the years that instants have.
    #[error("repeat_until must be from 1970 to 9999")]
    Until,
    /// Both ends are given.
    #[error("repeat_count and repeat_until exclude each other")]
    CountWithUntil,
}

impl LegacyFields<'_> {
    /// The rule that means the same, as the specification migrates old patterns.
    ///
    /// ```
    /// use slotbook::domain::recurrence::LegacyFields;
    /// use slotbook::domain::time::zone::Zone;
    /// let fields = LegacyFields { freq: "Weekly", interval: Some(2), byday: Some(62), ..Default::default() };
    /// let rule = fields.to_rule(Zone::from_iana("Europe/Paris").unwrap()).unwrap();
    /// assert_eq!(rule.to_string(), "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TU,WE,TH,FR");
    /// ```
    ///
    /// # Errors
    ///
    /// The first field that is wrong, in the order of [`LegacyError`]'s variants.
    pub fn to_rule(&self, zone: Zone) -> Result<Rule, LegacyError> {
        let freq = self.freq.to_ascii_lowercase();
        if !matches!(freq.as_str(), "daily" | "weekly" | "monthly" | "yearly") {
            return Err(LegacyError::Freq);
        }
        let interval = u32::try_from(self.interval.unwrap_or(1)).ok().and_then(NonZeroU32::new);
        let interval = interval.ok_or(LegacyError::Interval)?;
        let pattern = match freq.as_str() {
            "weekly" => Repetition::Weekly(weekdays(self.byday.unwrap_or(0))),
            "monthly" => Repetition::Monthly(None),
            "yearly" => Repetition::Yearly,
            _ => Repetition::Daily,
        };
        let end = self.end(zone)?;
        if freq == "weekly" && !(0..=127).contains(&self.byday.unwrap_or(0)) {
            return Err(LegacyError::ByDay);
        }
        Rule::new(pattern, interval, end).map_err(|_: RuleError| LegacyError::Count)
    }

    fn end(&self, zone: Zone) -> Result<RuleEnd, LegacyError> {
        let count = self.count.filter(|count| *count != 0);
        match (count, self.until) {
            (None, None) => Ok(RuleEnd::Never),
            (Some(count), None) => {
                let count = u32::try_from(count).ok().and_then(NonZeroU32::new);
                count.map(RuleEnd::Count).ok_or(LegacyError::Count)
            }
            (None, Some(until)) => {
                let until = zone.instant_of(until);
                let accepted = INSTANT_MIN <= until && until <= INSTANT_MAX;
                if accepted { Ok(RuleEnd::Until(until)) } else { Err(LegacyError::Until) }
            }
            (Some(_), Some(_)) => Err(LegacyError::CountWithUntil),
        }
    }
}

/// The days of the seven lowest bits, Sunday the lowest.
fn weekdays(bits: i64) -> Option<Weekdays> {
    use Weekday::{Friday, Monday, Saturday, Sunday, Thursday, Tuesday, Wednesday};
    let days = [Sunday, Monday, Tuesday, Wednesday, Thursday, Friday, Saturday];
    Weekdays::from_days(
        days.into_iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1).map(|(_, day)| day),
    )
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
    fn old_patterns_become_rules() {
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
    fn each_wrong_field_is_named() {
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
}
