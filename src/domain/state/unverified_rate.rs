//! The rate of bookings with a key alone, by which a group notices an attack. Reference 6.8.

use imbl::OrdMap;

use crate::domain::records::vevent::Vevent;
use crate::domain::time::{HOUR, Instant};

/// Number of bookings of an hour that are never unusual.
pub(crate) const USUAL_MIN: u32 = 20;
/// Number by which the bookings of an hour may exceed the usual ones.
pub(crate) const UNUSUAL_FACTOR: u32 = 5;
/// Number of hours for which an unusual one counts.
pub(crate) const ALERT_HOURS: i64 = 6;
/// Number of days whose bookings are the usual ones. The last day does not count among them.
pub(crate) const USUAL_DAYS: u32 = 28;
/// Number of hours of a day in which clients book.
pub(crate) const OPEN_HOURS: u32 = 8;

/// Numbers of the bookings with a key alone, cancelled ones included, by the hour in which they
/// were made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnverifiedRate {
    /// By the number of the hour since 1970; none is 0.
    by_hour: OrdMap<i64, u32>,
}

impl UnverifiedRate {
    /// Counts a booking with a key alone; other events do not count.
    pub(crate) fn add(&mut self, row: &Vevent) {
        if row.is_booked_by_key() {
            *self.by_hour.entry(hour_of(row.created_at)).or_default() += 1;
        }
    }

    /// Stops counting it.
    pub(crate) fn remove(&mut self, row: &Vevent) {
        if !row.is_booked_by_key() {
            return;
        }
        let hour = hour_of(row.created_at);
        match self.by_hour.get(&hour) {
            Some(1) | None => self.by_hour.remove(&hour),
            Some(&number) => self.by_hour.insert(hour, number - 1),
        };
    }

    /// Whether one of the last hours has more bookings than 20, and than five times as many as
    /// usual: the mean of the hours of the 28 days before, of eight hours each. `under_way` are to
    /// be made within the present hour.
    pub fn is_unusual(&self, under_way: u32, now: Instant) -> bool {
        let hour = hour_of(now);
        let present = self.by_hour.get(&hour).copied().unwrap_or_default();
        let last = self.by_hour.range(hour - ALERT_HOURS + 1..hour);
        let most = last.map(|(_, number)| *number).max().unwrap_or_default();
        let most = most.max(present.saturating_add(under_way));
        // Few groups come to this, so that only they sum up many hours.
        most > USUAL_MIN && most.saturating_mul(USUAL_DAYS * OPEN_HOURS) > self.limit_sum(hour)
    }

    /// The bookings of the usual days, times the factor.
    fn limit_sum(&self, hour: i64) -> u32 {
        let until = hour - 24;
        let usual = self.by_hour.range(until - 24 * i64::from(USUAL_DAYS)..until);
        let sum: u32 = usual.map(|(_, number)| *number).sum();
        sum.saturating_mul(UNUSUAL_FACTOR)
    }
}

fn hour_of(moment: Instant) -> i64 {
    moment.0.div_euclid(HOUR)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant(1_000 * 24 * HOUR);

    /// Rates with a number in each of some hours before now.
    fn rate(hours: impl Iterator<Item = i64>, number: u32) -> UnverifiedRate {
        UnverifiedRate { by_hour: hours.map(|ago| (hour_of(NOW) - ago, number)).collect() }
    }

    #[test]
    fn more_than_twenty_bookings_of_an_hour_are_unusual_for_six_hours() {
        for (ago, number, is_unusual) in
            [(0, 20, false), (0, 21, true), (5, 21, true), (6, 21, false), (-1, 100, false)]
        {
            assert_eq!(rate(ago..=ago, number).is_unusual(0, NOW), is_unusual, "{ago} {number}");
        }
    }

    #[test]
    fn a_busy_group_needs_five_times_its_usual_number() {
        // Ten an hour in eight hours of each day.
        let usual = (1..=28).flat_map(|day| (day * 24 + 1..).take(8));
        for (number, is_unusual) in [(50, false), (51, true)] {
            let mut rate = rate(usual.clone(), 10);
            rate.by_hour.insert(hour_of(NOW), number);
            assert_eq!(rate.is_unusual(0, NOW), is_unusual, "{number}");
            rate.by_hour.insert(hour_of(NOW), number - 7);
            assert_eq!(rate.is_unusual(7, NOW), is_unusual, "{number}, 7 of them under way");
        }
        // What an attack itself brought is not usual yet.
        let mut attacked = rate(1..6, 1_000);
        attacked.by_hour.insert(hour_of(NOW), 21);
        assert!(attacked.is_unusual(0, NOW));
    }

    #[test]
    fn the_usual_number_is_that_of_28_days_before_the_last() {
        let hour_of_day = |day: i64| day * 24 + 1;
        for (day, is_unusual) in [(0, true), (1, false), (28, false), (29, true)] {
            let mut rate = rate([hour_of_day(day)].into_iter(), 1_000);
            rate.by_hour.insert(hour_of(NOW), 21);
            assert_eq!(rate.is_unusual(0, NOW), is_unusual, "{day} days ago");
        }
    }
}
