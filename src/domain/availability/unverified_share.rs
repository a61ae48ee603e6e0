//! The share of a day's open time that unverified bookings may take: those with a key alone.
//! Reference 4.9.

use std::sync::Arc;

use crate::domain::availability::catalogue::Catalogue;
use crate::domain::availability::civil_day::civil_day_of;
use crate::domain::availability::open_time::{CalendarView, OpenTime};
use crate::domain::availability::slot_request::{BookingMode, OwnTime};
use crate::domain::time::Instant;
use crate::domain::time::interval_set::Interval;
use crate::domain::time::zone::Zone;

/// The percentage that limits nothing.
const ALL_PERCENT: i64 = 100;

/// The time of a calendar that is left to unverified bookings, day by day.
#[derive(Debug)]
pub(crate) struct UnverifiedRoom<'a> {
    view: &'a CalendarView,
    zone: Zone,
    percent: i64,
    own: OwnTime,
    open: Arc<OpenTime>,
    /// The days looked at so far. A search asks for ascending starts, so the last ones match.
    days: Vec<DayRoom>,
}

#[derive(Clone, Copy, Debug)]
struct DayRoom {
    /// The civil day.
    day: Interval,
    /// Seconds of it that are left; negative if the share is exceeded.
    seconds: i64,
}

impl<'a> UnverifiedRoom<'a> {
    /// Returns the room on the civil days that `span` overlaps; `None` if the caller or the group
    /// knows no limit.
    pub(crate) fn new(
        catalogue: &Catalogue,
        view: &'a CalendarView,
        mode: BookingMode,
        own: OwnTime,
        span: Interval,
        now: Instant,
    ) -> Option<Self> {
        let percent = catalogue.group.unverified_day_percent.number();
        if mode != BookingMode::Module || percent >= ALL_PERCENT {
            return None;
        }
        let zone = catalogue.zone();
        let first = civil_day_of(zone, span.start);
        let last = civil_day_of(zone, span.end);
        let days = Interval { start: first.start, end: last.end };
        let open = view.open_time(zone, days, now);
        Some(Self { view, zone, percent, own, open, days: Vec::new() })
    }

    /// The percentage of the open time that unverified bookings may take.
    pub(crate) const fn percent(&self) -> i64 {
        self.percent
    }

    /// Returns whether every day that `interval` overlaps has room for its part of it. The interval
    /// lies within the span.
    pub(crate) fn fits(&mut self, interval: Interval) -> bool {
        let mut from = interval.start;
        while from < interval.end {
            let room = self.room_at(from);
            let until = interval.end.min(room.day.end);
            if until.seconds_since(from) > room.seconds {
                return false;
            }
            from = until;
        }
        true
    }

    fn room_at(&mut self, moment: Instant) -> DayRoom {
        for room in self.days.iter().rev() {
            if room.day.start <= moment && moment < room.day.end {
                return *room;
            }
        }
        let day = civil_day_of(self.zone, moment);
        let allowed = self.open.open_seconds(day) * self.percent / ALL_PERCENT;
        let room = DayRoom { day, seconds: allowed - self.unverified_seconds(day) };
        self.days.push(room);
        room
    }

    /// Returns the seconds of a day that unverified bookings of others take. Holds do not count:
    /// strangers would fill the share with them.
    fn unverified_seconds(&self, day: Interval) -> i64 {
        let mut seconds = 0;
        for taken in self.view.unverified().overlapping(day) {
            if self.own.appointment != Some(taken.id) {
                seconds += taken.interval.seconds_within(day);
            }
        }
        seconds
    }
}
