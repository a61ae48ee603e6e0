//! Errors in the text of `rrule`. Reference 5.2.

/// What is wrong with an rrule. Each message names the key at fault and says what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// A part between semicolons is not `KEY=value`.
    #[error("rrule must be KEY=value pairs joined by ';', not {0:?}")]
    NotAPair(String),
    /// A key that does not exist or is not handled, its first characters.
    #[error("rrule has the unknown key {0:?}; FREQ, INTERVAL, COUNT, UNTIL and BYDAY are known")]
    UnknownKey(String),
    /// A key stands there twice.
    #[error("{} stands twice in rrule", .0.name())]
    Repeated(RuleKey),
    /// FREQ is missing or names no frequency that is handled.
    #[error("FREQ must be given as DAILY, WEEKLY, MONTHLY or YEARLY")]
    Freq,
    /// INTERVAL is not a whole number in bounds.
    #[error("INTERVAL must be a whole number from 1 to 4294967295")]
    Interval,
    /// COUNT is not a whole number in bounds.
    #[error("COUNT must be a whole number from 2 to 4294967295; the event itself counts as one")]
    Count,
    /// UNTIL is not a UTC time from 1970 to 9999.
    #[error("UNTIL must be YYYYmmddTHHMMSSZ in UTC, from 1970 to 9999")]
    Until,
    /// Both ends are given.
    #[error("COUNT and UNTIL exclude each other")]
    CountWithUntil,
    /// BYDAY stands beside DAILY or YEARLY.
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

/// A key of rrule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the specification's five keys")]
pub enum RuleKey {
    Freq,
    Interval,
    Count,
    Until,
    ByDay,
}

impl RuleKey {
    /// The key as the specification writes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            RuleKey::Freq => "FREQ",
            RuleKey::Interval => "INTERVAL",
            RuleKey::Count => "COUNT",
            RuleKey::Until => "UNTIL",
            RuleKey::ByDay => "BYDAY",
        }
    }
}
