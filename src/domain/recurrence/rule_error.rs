//! Errors in the text of `rrule`. Reference 5.2.

/// Error in an rrule. Each message names the key and says what is right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// A part between semicolons is not `KEY=value`. Holds its first characters.
    #[error("rrule must be KEY=value pairs joined by ';', not {0:?}")]
    NotAPair(String),
    /// A key is unknown. Holds its first characters.
    #[error("rrule has the unknown key {0:?}; FREQ, INTERVAL, COUNT, UNTIL and BYDAY are known")]
    UnknownKey(String),
    /// A key is given twice.
    #[error("{} is given twice in rrule: give it once", .0.name())]
    Repeated(RuleKey),
    /// FREQ is missing or unknown.
    #[error("FREQ must be given as DAILY, WEEKLY, MONTHLY or YEARLY")]
    Freq,
    /// INTERVAL is not a whole number within its limits.
    #[error("INTERVAL must be a whole number from 1 to 4294967295")]
    Interval,
    /// COUNT is not a whole number within its limits.
    #[error("COUNT must be a whole number from 2 to 4294967295; the event itself counts as one")]
    Count,
    /// UNTIL is not a UTC time of the years 1970 to 9999.
    #[error("UNTIL must be YYYYmmddTHHMMSSZ in UTC, from 1970 to 9999")]
    Until,
    /// COUNT and UNTIL are both given.
    #[error("COUNT and UNTIL exclude each other: give one of them")]
    CountWithUntil,
    /// BYDAY is given with DAILY or YEARLY.
    #[error("BYDAY is only for FREQ=WEEKLY and FREQ=MONTHLY")]
    ByDayFreq,
    /// BYDAY of a weekly rule is not a list of weekdays.
    #[error(
        "BYDAY with FREQ=WEEKLY must be one or more of MO, TU, WE, TH, FR, SA, SU, separated by commas"
    )]
    ByDayWeekly,
    /// BYDAY of a monthly rule is not exactly one nth weekday.
    #[error(
        "BYDAY with FREQ=MONTHLY must be one number from 1 to 5 or -5 to -1 and a weekday, such as 2TU or -1FR"
    )]
    ByDayMonthly,
}

/// Key of an rrule. It is parsed in any letter case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "UPPERCASE", ascii_case_insensitive)]
#[expect(missing_docs, reason = "the five keys of the reference")]
pub enum RuleKey {
    Freq,
    Interval,
    Count,
    Until,
    ByDay,
}

impl RuleKey {
    /// Returns the key's name, in capitals.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
