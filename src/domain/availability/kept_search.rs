//! Searches that take the free starts which are kept by day, and find those that are not.
//! Reference 4.7.

use std::sync::Arc;

use crate::domain::availability::catalogue::Catalogue;
use crate::domain::availability::free_days::{
    CHUNK_DAYS, CHUNK_LENGTH, Chunk, DayBits, KINDS_MAX, KeptDays, Kind, UNIT_SECONDS, place_of,
};
use crate::domain::availability::open_time::CalendarView;
use crate::domain::availability::slot_request::{BookingMode, ChainSearch};
use crate::domain::availability::slots::{BlockedTime, append_starts};
use crate::domain::time::interval_set::Interval;
use crate::domain::time::zone::Zone;
use crate::domain::time::{CivilDay, DAY, Instant};

/// Length in seconds of the shortest search that finds days to be kept. It looks at four times as
/// much at most; a shorter one takes what is kept already.
const FINDING_SECONDS_MIN: i64 = 4 * DAY;

/// A search whose starts are kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeptSearch<'s> {
    pub(crate) catalogue: &'s Catalogue,
    pub(crate) search: ChainSearch<'s>,
    pub(crate) now: Instant,
    /// The chunk of the present day.
    first: i32,
    /// Whether days that are not kept yet are found.
    finds: bool,
}

impl<'s> KeptSearch<'s> {
    /// Returns the search of a window if starts of its kind are kept: under the rules of the
    /// module, beside no appointment of the caller's own.
    pub(crate) fn new(
        catalogue: &'s Catalogue,
        search: ChainSearch<'s>,
        window: Interval,
        now: Instant,
    ) -> Option<Self> {
        if !search.mode.follows_module_rules() || search.own.appointment.is_some() {
            return None;
        }
        let (first, _) = place_of(catalogue.zone().civil_of(now).day());
        let finds = window.end.seconds_since(window.start) >= FINDING_SECONDS_MIN;
        Some(Self { catalogue, search, now, first, finds })
    }

    /// Share of a day that the caller's bookings may take. It binds those with a key alone.
    fn day_percent(&self) -> i64 {
        match self.search.mode {
            BookingMode::Module => self.catalogue.group.unverified_day_percent.number(),
            BookingMode::ModuleByAccount
            | BookingMode::ModuleByPro
            | BookingMode::BackOffice
            | BookingMode::Agenda(_) => 100,
        }
    }

    /// Returns the days of a calendar with starts each `step_minutes`; `None` if none is kept.
    pub(crate) fn days(&self, view: &CalendarView, step_minutes: i64) -> Option<Arc<KeptDays>> {
        let zone = self.catalogue.zone();
        let day_percent = self.day_percent();
        let is_wanted = |days: &KeptDays| {
            days.kind.step_minutes == step_minutes
                && days.kind.day_percent == day_percent
                && days.kind.zone == zone
                && days.kind.chain == *self.search.chain
        };
        let kept = view.free_days().kinds();
        let all = kept.as_deref().map(Vec::as_slice).unwrap_or_default();
        for days in all {
            if days.first == self.first && is_wanted(days) {
                return Some(Arc::clone(days));
            }
        }
        if !self.finds {
            return None;
        }
        let kind = Kind { chain: self.search.chain.clone(), zone, step_minutes, day_percent };
        let mut newest = vec![Arc::new(KeptDays::new(kind, self.first))];
        for days in all {
            if newest.len() < KINDS_MAX && days.first == self.first && !is_wanted(days) {
                newest.push(Arc::clone(days));
            }
        }
        let new = Arc::clone(&newest[0]);
        // Another search may have added a kind meanwhile. It is found anew then.
        view.free_days().keep(newest);
        Some(new)
    }

    /// Returns the free starts of a day of a calendar, whose days are `days`; `None` if they are
    /// not kept.
    pub(crate) fn starts<'d>(
        &self,
        view: &CalendarView,
        days: &'d KeptDays,
        day: CivilDay,
    ) -> Option<&'d DayBits> {
        let (chunk, place) = place_of(day);
        let nth = usize::try_from(chunk.checked_sub(days.first)?).ok()?;
        let kept = days.chunks.get(nth)?;
        let found =
            if self.finds { kept.get_or_init(|| self.find(view, chunk)) } else { kept.get()? };
        found.as_ref().map(|days| &days[place])
    }

    /// Finds the starts of a chunk.
    fn find(&self, view: &CalendarView, chunk: i32) -> Chunk {
        let zone = self.catalogue.zone();
        let first = CivilDay(chunk * CHUNK_LENGTH);
        let window = Interval {
            start: zone.instant_of(first.midnight()),
            end: zone.instant_of(first.plus_days(CHUNK_LENGTH).midnight()),
        };
        let mut starts = Vec::new();
        let blocked = BlockedTime::without_holds(view);
        append_starts(self.catalogue, view, self.search, &blocked, window, self.now, &mut starts);
        to_bits(zone, chunk, &starts)
    }
}

/// Returns the bits of the starts of a chunk; `None` if one lies between two units.
fn to_bits(zone: Zone, chunk: i32, starts: &[Instant]) -> Chunk {
    let mut bits = [DayBits::default(); CHUNK_DAYS];
    for start in starts {
        let civil = zone.civil_of(*start);
        let (of, day) = place_of(civil.day());
        let second = civil.second_of_day();
        if of != chunk || second % UNIT_SECONDS != 0 {
            return None;
        }
        let unit = usize::try_from(second / UNIT_SECONDS).expect("a day has few units");
        bits[day][unit / 64] |= 1 << (unit % 64);
    }
    Some(Arc::new(bits))
}

#[cfg(test)]
mod tests;
