//! The three kinds of time: civil time (wall clock), instant (UTC), and length in seconds.
//!
//! Each is a type of its own. Only [`crate::domain::time::zone`] converts civil times and instants.
//! Reference 1.3.

pub mod interval_set;
pub mod public_holidays;
pub mod zone;
pub mod zone_names;

use serde::{Deserialize, Serialize};

/// Seconds in a minute.
pub const MINUTE: i64 = 60;
/// Seconds in an hour.
pub const HOUR: i64 = 3_600;
/// Seconds in a civil day. A civil day always has 24 hours on the wall clock.
pub const DAY: i64 = 86_400;

/// A moment: whole seconds since 1970-01-01 00:00:00 UTC, without leap seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(Serialize, Deserialize)]
pub struct Instant(pub i64);

/// A wall-clock time: seconds since the wall clock showed 1970-01-01 00:00:00.
///
/// Every day counts 24 hours, so clock changes do not show. It belongs to no zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(Serialize, Deserialize)]
pub struct Civil(pub i64);

/// A day of the proleptic Gregorian calendar: days since 1970-01-01.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(Serialize, Deserialize)]
pub struct CivilDay(pub i32);

/// Day of the week. Monday comes first, as in RFC 5545 with its default WKST.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the seven names explain themselves")]
pub enum Weekday {
    Monday,
    Tuesday,
    Wednesday,
    Thursday,
    Friday,
    Saturday,
    Sunday,
}

impl Weekday {
    /// Returns the number of days of the week before this one: 0 for Monday, 6 for Sunday.
    pub const fn days_since_monday(self) -> u8 {
        self as u8
    }
}

/// First accepted instant: 1970-01-01 00:00:00 UTC. Reference 1.3.
pub const INSTANT_MIN: Instant = Instant(0);
/// Last accepted instant: 9999-12-31 23:59:59 UTC. Reference 1.3.
pub const INSTANT_MAX: Instant = Instant(253_402_300_799);

/// First civil time accepted for a birth date or a dated customfield: 1800-01-01 00:00:00.
/// Reference 1.3.
pub const CIVIL_MIN: Civil = Civil(-5_364_662_400);
/// Last accepted civil time: 9999-12-31 23:59:59.
pub const CIVIL_MAX: Civil = Civil(253_402_300_799);

impl Instant {
    /// Returns the instant `seconds` later (earlier if negative).
    #[must_use]
    pub const fn plus_seconds(self, seconds: i64) -> Self {
        Self(self.0.saturating_add(seconds))
    }

    /// Returns the instant `minutes` elapsed minutes later (earlier if negative).
    #[must_use]
    pub const fn plus_minutes(self, minutes: i64) -> Self {
        self.plus_seconds(minutes.saturating_mul(MINUTE))
    }

    /// Returns the elapsed seconds from `earlier` to `self`; negative if `earlier` is later.
    pub const fn seconds_since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl Civil {
    /// Returns the civil time of a date and a time of day, or `None` if there is no such date or
    /// time.
    ///
    /// Years are 0 to 9999. A second of 60 does not exist.
    ///
    /// ```
    /// use slotbook::domain::time::Civil;
    /// assert_eq!(Civil::from_ymd_hms(1970, 1, 2, 0, 0, 1), Some(Civil(86_401)));
    /// assert_eq!(Civil::from_ymd_hms(2025, 2, 29, 0, 0, 0), None);
    /// ```
    pub fn from_ymd_hms(
        year: i32,
        month: u32,
        day: u32,
        hour: u32,
        minute: u32,
        second: u32,
    ) -> Option<Self> {
        if hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let day = CivilDay::from_ymd(year, month, day)?;
        Some(
            day.midnight().plus_seconds(
                i64::from(hour) * HOUR + i64::from(minute) * MINUTE + i64::from(second),
            ),
        )
    }

    /// Returns the civil time `seconds` later on the wall clock (earlier if negative).
    #[must_use]
    pub const fn plus_seconds(self, seconds: i64) -> Self {
        Self(self.0.saturating_add(seconds))
    }

    /// Returns the wall-clock seconds from `earlier` to `self`; negative if `earlier` is later.
    pub const fn seconds_since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Returns the day of this time.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "accepted civil times lie within years 1800 to 9999"
    )]
    pub const fn day(self) -> CivilDay {
        CivilDay(self.0.div_euclid(DAY) as i32)
    }

    /// Returns the seconds since midnight of its day, 0 to 86,399.
    pub const fn second_of_day(self) -> i64 {
        self.0.rem_euclid(DAY)
    }

    /// Returns the hour, the minute and the second that the wall clock shows.
    pub const fn hour_minute_second(self) -> (i64, i64, i64) {
        let second = self.second_of_day();
        (second / HOUR, second / MINUTE % 60, second % MINUTE)
    }
}

impl CivilDay {
    /// Returns the day of a date, or `None` if the calendar lacks it. Years are 0 to 9999.
    pub fn from_ymd(year: i32, month: u32, day: u32) -> Option<Self> {
        if !(0..=9999).contains(&year)
            || !(1..=12).contains(&month)
            || day < 1
            || day > days_in_month(year, month)
        {
            return None;
        }
        Some(Self(days_from_civil(year, month, day)))
    }

    /// Returns the midnight at which the day begins.
    pub const fn midnight(self) -> Civil {
        Civil(self.0 as i64 * DAY)
    }

    /// Returns the day `days` later (earlier if negative).
    #[must_use]
    pub const fn plus_days(self, days: i32) -> Self {
        Self(self.0.saturating_add(days))
    }

    /// Returns the day of the week.
    pub const fn weekday(self) -> Weekday {
        // 1970-01-01 was a Thursday.
        match (self.0 + 3).rem_euclid(7) {
            0 => Weekday::Monday,
            1 => Weekday::Tuesday,
            2 => Weekday::Wednesday,
            3 => Weekday::Thursday,
            4 => Weekday::Friday,
            5 => Weekday::Saturday,
            _ => Weekday::Sunday,
        }
    }

    /// Returns year, month (1 to 12) and day of month (1 to 31).
    ///
    /// ```
    /// use slotbook::domain::time::CivilDay;
    /// let leap_day = CivilDay::from_ymd(2024, 2, 29).unwrap();
    /// assert_eq!(leap_day.plus_days(1).ymd(), (2024, 3, 1));
    /// ```
    #[expect(clippy::cast_sign_loss, reason = "months and days of an era are never negative")]
    pub const fn ymd(self) -> (i32, u32, u32) {
        // Eras are 400 years long and begin on 1 March. The leap day then comes last in its year,
        // and a linear formula gives the month lengths.
        let shifted = self.0 + 719_468;
        let era = shifted.div_euclid(146_097);
        let day_of_era = shifted.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let march_month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * march_month + 2) / 5 + 1;
        let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
        let year = year_of_era + era * 400 + if month <= 2 { 1 } else { 0 };
        (year, month as u32, day as u32)
    }
}

/// Returns the number of days of a month, 28 to 31. `month` is 1 to 12.
pub const fn days_in_month(year: i32, month: u32) -> u32 {
    match month {
        2 if is_leap_year(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Returns whether the Gregorian year has a 29 February.
pub const fn is_leap_year(year: i32) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Returns the days from 1970-01-01 to a valid date.
#[expect(clippy::cast_possible_wrap, reason = "month and day of month are small")]
const fn days_from_civil(year: i32, month: u32, day: u32) -> i32 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let march_month = (month as i32 + 9) % 12;
    let day_of_year = (153 * march_month + 2) / 5 + day as i32 - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::{Datelike, NaiveDate};

    #[test]
    fn every_day_from_1800_to_9999_agrees_with_chrono() {
        let mut date = NaiveDate::from_ymd_opt(1800, 1, 1).expect("a date");
        let epoch = NaiveDate::from_ymd_opt(1970, 1, 1).expect("a date");
        while date.year() <= 9999 {
            let day = CivilDay(i32::try_from((date - epoch).num_days()).expect("fits"));
            assert_eq!(day.ymd(), (date.year(), date.month(), date.day()));
            assert_eq!(CivilDay::from_ymd(date.year(), date.month(), date.day()), Some(day));
            assert_eq!(day.weekday() as u32, date.weekday().num_days_from_monday());
            date = date.succ_opt().expect("a later date");
        }
    }

    #[test]
    fn dates_that_the_calendar_lacks_are_refused() {
        for (y, m, d) in [
            (2025, 2, 29),
            (1900, 2, 29),
            (2100, 2, 29),
            (2025, 4, 31),
            (2025, 13, 1),
            (2025, 0, 1),
            (2025, 1, 0),
            (10_000, 1, 1),
        ] {
            assert_eq!(CivilDay::from_ymd(y, m, d), None);
        }
        assert_eq!(Civil::from_ymd_hms(2025, 1, 1, 24, 0, 0), None);
        assert_eq!(Civil::from_ymd_hms(2025, 1, 1, 0, 60, 0), None);
        assert_eq!(Civil::from_ymd_hms(2025, 1, 1, 0, 0, 60), None);
    }

    #[test]
    fn the_first_and_last_civil_times_are_in_1800_and_9999() {
        assert_eq!(Civil::from_ymd_hms(1800, 1, 1, 0, 0, 0), Some(CIVIL_MIN));
        assert_eq!(Civil::from_ymd_hms(9999, 12, 31, 23, 59, 59), Some(CIVIL_MAX));
    }
}
