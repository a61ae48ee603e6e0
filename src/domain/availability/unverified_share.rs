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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::availability::searched::{Searched, at, days};
    use crate::domain::availability::taken_time::TakenInterval;
    use crate::domain::records::ids::VeventId;
    use crate::domain::records::text::Bounded;

    /// Minutes of a day, or of the next.
    fn span(from: i64, to: i64) -> Interval {
        Interval { start: at(0, from), end: at(0, to) }
    }

    /// Both days of the first calendar have three open hours, from 22 to 1, and half of them for
    /// the public. It has taken 40 minutes of the first evening and 50 of the second.
    fn searched() -> Searched {
        let mut searched = Searched::open_from([22 * 60, 9 * 60]);
        searched.catalogue.group.unverified_day_percent = const { Bounded::known(50) };
        let taken = [(1, 1_350, 1_390), (2, 2_790, 2_840), (3, 30, 60)];
        for (id, from, to) in taken {
            let id = VeventId::new(id).expect("an id");
            let by_key = id.number() != 3;
            searched.views[0].add_taken(TakenInterval { interval: span(from, to), id }, by_key);
        }
        searched
    }

    fn fits(mode: BookingMode, own: Option<u64>, interval: Interval) -> Option<bool> {
        let searched = searched();
        let own = OwnTime { appointment: own.and_then(VeventId::new), hold: None };
        let catalogue = &searched.catalogue;
        let view = &searched.views[0];
        let room = UnverifiedRoom::new(catalogue, view, mode, own, days(0, 2), searched.now);
        room.map(|mut room| {
            assert_eq!(room.percent(), 50);
            room.fits(interval)
        })
    }

    #[test]
    fn a_day_has_room_for_its_share_of_the_open_time() {
        let module = |own, from, to| fits(BookingMode::Module, own, span(from, to));
        // 90 of 180 minutes less 40.
        assert_eq!(module(None, 1_390, 1_440), Some(true));
        assert_eq!(module(None, 1_389, 1_440), Some(false));
        assert_eq!(module(Some(1), 1_350, 1_440), Some(true));
        assert_eq!(module(Some(2), 1_389, 1_440), Some(false));
        assert_eq!(fits(BookingMode::ModuleByAccount, None, span(1_380, 1_440)), None);
        assert_eq!(fits(BookingMode::BackOffice, None, span(1_380, 1_440)), None);
    }

    #[test]
    fn each_day_counts_its_part_alone() {
        let module = |from, to| fits(BookingMode::Module, None, span(from, to));
        // The second day has 40 minutes left.
        assert_eq!(module(1_390, 1_480), Some(true));
        assert_eq!(module(1_390, 1_481), Some(false));
        assert_eq!(module(1_389, 1_480), Some(false));
        assert_eq!(module(1_439, 1_440), Some(true));
        assert_eq!(module(2_840, 2_880), Some(true));
        assert_eq!(module(2_839, 2_880), Some(false));
    }

    #[test]
    fn a_day_has_its_own_room_whichever_was_asked_for_before() {
        let searched = searched();
        let module = BookingMode::Module;
        let (view, now) = (&searched.views[0], searched.now);
        let own = OwnTime::default();
        let room = UnverifiedRoom::new(&searched.catalogue, view, module, own, days(0, 2), now);
        let mut room = room.expect("a limit");
        // 50 minutes are left on the first day, 40 on the second.
        for (from, to, fits) in [
            (1_390, 1_440, true),
            (2_839, 2_880, false),
            (2_840, 2_880, true),
            (1_395, 1_440, true),
            (1_395, 1_480, true),
            (1_395, 1_481, false),
        ] {
            assert_eq!(room.fits(span(from, to)), fits, "from {from} to {to}");
        }
    }

    #[test]
    fn a_group_without_a_limit_has_no_room_to_ask_for() {
        let mut searched = searched();
        searched.catalogue.group.unverified_day_percent = const { Bounded::known(100) };
        let catalogue = &searched.catalogue;
        let view = &searched.views[0];
        let own = OwnTime::default();
        let span = days(0, 1);
        let now = searched.now;
        let module = BookingMode::Module;
        assert!(UnverifiedRoom::new(catalogue, view, module, own, span, now).is_none());
    }
}
