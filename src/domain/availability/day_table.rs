//! The free starts of several calendars by civil day, side by side. Reference 4.7.

use std::ops::ControlFlow;

use crate::domain::availability::bookable::lead_times;
use crate::domain::availability::free_days::{DayBits, UNIT_SECONDS, UNITS, WORDS};
use crate::domain::availability::free_places::{DayStarts, FreePlaces, FreeWord, WORD_PLACES};
use crate::domain::availability::kept_search::KeptSearch;
use crate::domain::availability::open_time::CalendarView;
use crate::domain::time::interval_set::Interval;
use crate::domain::time::zone::Zone;
use crate::domain::time::{CivilDay, Instant};

/// Maximum number of days of all calendars together, which bounds the memory of a table to 2.6 MB.
const CELLS_MAX: usize = 65_536;

/// A day of a search.
#[derive(Clone, Copy, Debug)]
struct SearchedDay {
    day: CivilDay,
    /// From its midnight to the next.
    span: Interval,
    /// Whether the clocks show each time of the day once: it begins at midnight, and the offset
    /// from UTC stays.
    is_even: bool,
}

impl SearchedDay {
    fn new(zone: Zone, day: CivilDay) -> Self {
        let midnight = day.midnight();
        let start = zone.instant_of(midnight);
        let end = zone.instant_of(day.plus_days(1).midnight());
        // In some zones the clocks go forward at midnight, which they leave out.
        let is_even = zone.civil_of(start) == midnight && zone.same_offset_span(start).end >= end;
        Self { day, span: Interval { start, end }, is_even }
    }

    fn instant_of(&self, zone: Zone, unit: usize) -> Instant {
        let seconds = i64::try_from(unit).expect("a day has few units") * UNIT_SECONDS;
        if self.is_even {
            self.span.start.plus_seconds(seconds)
        } else {
            zone.instant_of(self.day.midnight().plus_seconds(seconds))
        }
    }

    /// The first unit of an even day at or after a moment, from 0 to that of the next midnight.
    fn unit_from(&self, moment: Instant) -> usize {
        let seconds = moment.seconds_since(self.span.start);
        let unit = (seconds + UNIT_SECONDS - 1).div_euclid(UNIT_SECONDS);
        usize::try_from(unit).unwrap_or(0).min(UNITS)
    }

    /// Removes the starts within a time, or those outside it.
    fn remove(&self, zone: Zone, bits: &mut DayBits, time: Interval, within: bool) {
        if self.is_even {
            let from = self.unit_from(time.start);
            let to = self.unit_from(time.end);
            for (word, bits) in bits.iter_mut().enumerate() {
                let inside = lowest(to, word) & !lowest(from, word);
                *bits &= if within { !inside } else { inside };
            }
            return;
        }
        for (word, bits) in bits.iter_mut().enumerate() {
            for bit in ones(*bits) {
                let start = self.instant_of(zone, word * 64 + bit);
                if (time.start <= start && start < time.end) == within {
                    *bits &= !(1 << bit);
                }
            }
        }
    }
}

/// The bits of a word that stand for units before `unit`.
fn lowest(unit: usize, word: usize) -> u64 {
    match unit.saturating_sub(word * 64) {
        bits @ 0..64 => (1 << bits) - 1,
        _ => u64::MAX,
    }
}

/// The places of the bits of a word that are 1, ascending.
fn ones(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros() as usize;
        // Removes the lowest bit; without any there is no place.
        word &= word.checked_sub(1)?;
        Some(bit)
    })
}

/// The starts of a word that any calendar has.
fn any_of(calendars: &[u64]) -> u64 {
    calendars.iter().fold(0, |any, word| any | word)
}

/// Collects the calendars that have the start of a bit.
fn collect_free(calendars: &[u64], bit: usize, free: &mut Vec<FreeWord>) {
    free.clear();
    for (number, calendars) in (0..).zip(calendars.chunks(WORD_PLACES)) {
        let mut places = 0;
        for (place, word) in calendars.iter().enumerate() {
            places |= (word >> bit & 1) << place;
        }
        FreeWord::push(free, number, places);
    }
}

/// Starts of one word that have the same free calendars, ascending.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StartRun<'t> {
    day: &'t SearchedDay,
    zone: Zone,
    word: usize,
    bits: u64,
}

impl Iterator for StartRun<'_> {
    type Item = Instant;

    #[inline]
    fn next(&mut self) -> Option<Instant> {
        let bit = self.bits.trailing_zeros() as usize;
        // Removes the lowest bit; without any there is no start.
        self.bits &= self.bits.checked_sub(1)?;
        Some(self.day.instant_of(self.zone, self.word * 64 + bit))
    }
}

/// The free starts of some days on some calendars.
#[derive(Debug, Default)]
pub(crate) struct DayTable {
    days: Vec<SearchedDay>,
    /// The words of each day in order; each time those of all calendars.
    words: Vec<u64>,
    calendars: usize,
}

impl DayTable {
    /// Fills the table with the starts of some calendars in a window of a month at most. Returns
    /// `false`, and leaves it half filled, if some starts are not kept, or there are too many days.
    pub(crate) fn fill<'v>(
        &mut self,
        kept: &KeptSearch<'_>,
        window: Interval,
        views: impl ExactSizeIterator<Item = &'v CalendarView>,
    ) -> bool {
        let zone = kept.catalogue.zone();
        self.days.clear();
        let mut day = zone.civil_of(window.start).day();
        while self.days.last().is_none_or(|last| last.span.end < window.end) {
            self.days.push(SearchedDay::new(zone, day));
            day = day.plus_days(1);
        }
        self.calendars = views.len();
        let cells = self.days.len() * self.calendars;
        if cells > CELLS_MAX {
            return false;
        }
        self.words.clear();
        self.words.resize(cells * WORDS, 0);
        for (place, view) in views.enumerate() {
            if !self.fill_calendar(kept, window, place, view) {
                return false;
            }
        }
        true
    }

    fn fill_calendar(
        &mut self,
        kept: &KeptSearch<'_>,
        window: Interval,
        place: usize,
        view: &CalendarView,
    ) -> bool {
        let KeptSearch { catalogue, search, now, .. } = *kept;
        let Some(calendar) = catalogue.calendars.get(&view.id) else { return true };
        let Some((earliest, latest)) = lead_times(catalogue, view.id, now) else { return true };
        if catalogue.not_offered(view.id, search.chain, search.mode).next().is_some() {
            return true;
        }
        let window = Interval {
            start: window.start.max(earliest),
            end: window.end.min(latest.plus_seconds(1)),
        };
        if window.is_empty() {
            return true;
        }
        let mut held: Vec<Interval> = Vec::new();
        if search.mode.respects_holds() {
            let length_seconds = search.chain.length_seconds();
            let end = window.end.plus_seconds(length_seconds);
            let span = Interval { start: window.start, end };
            for hold in view.live_holds(span, search.own, now) {
                // The starts whose time would meet the hold.
                let start = hold.interval.start.plus_seconds(1 - length_seconds);
                held.push(Interval { start, end: hold.interval.end });
            }
        }
        let step_minutes = calendar.generate_interval.number();
        let Some(days) = kept.days(view, step_minutes) else { return false };
        let zone = catalogue.zone();
        for (nth, day) in self.days.iter().enumerate() {
            if !day.span.overlaps(window) {
                continue;
            }
            let Some(found) = kept.starts(view, &days, day.day) else { return false };
            let mut bits = *found;
            if !window.covers(day.span) {
                day.remove(zone, &mut bits, window, false);
            }
            for held in &held {
                day.remove(zone, &mut bits, *held, true);
            }
            let first = nth * WORDS * self.calendars + place;
            let words = self.words[first..].iter_mut().step_by(self.calendars);
            for (word, bits) in words.zip(bits) {
                *word = bits;
            }
        }
        true
    }

    /// Returns each day, with the words of all calendars for each of its words.
    fn days(&self) -> impl Iterator<Item = (&SearchedDay, impl Iterator<Item = (usize, &[u64])>)> {
        self.days.iter().enumerate().map(move |(nth, day)| {
            let words = (0..WORDS).map(move |word| {
                let first = (nth * WORDS + word) * self.calendars;
                (word, &self.words[first..first + self.calendars])
            });
            (day, words)
        })
    }

    /// Returns the number of starts.
    pub(crate) fn count(&self) -> usize {
        let words = self.words.chunks(self.calendars.max(1));
        words.map(|calendars| any_of(calendars).count_ones() as usize).sum()
    }

    /// Calls `found` with the starts, ascending: each time with some that have the same free
    /// calendars, and these. Ends early when `found` breaks, and returns that.
    pub(crate) fn each_run(
        &self,
        zone: Zone,
        mut found: impl FnMut(StartRun<'_>, FreePlaces<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut free = Vec::with_capacity(self.calendars.div_ceil(WORD_PLACES));
        for (day, words) in self.days() {
            for (word, calendars) in words {
                let any = any_of(calendars);
                if any == 0 {
                    continue;
                }
                // As for one calendar, or for several that no appointment tells apart.
                let are_alike = calendars.iter().all(|word| *word == any || *word == 0);
                let run = |bits| StartRun { day, zone, word, bits };
                if are_alike {
                    collect_free(calendars, any.trailing_zeros() as usize, &mut free);
                    found(run(any), FreePlaces::new(&free))?;
                    continue;
                }
                for bit in ones(any) {
                    collect_free(calendars, bit, &mut free);
                    found(run(1 << bit), FreePlaces::new(&free))?;
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Calls `found` with each day that has free starts, ascending.
    pub(crate) fn each_day(&self, zone: Zone, mut found: impl FnMut(DayStarts)) {
        for (day, words) in self.days() {
            let mut count = 0;
            let mut first: Option<(Instant, Vec<usize>)> = None;
            for (word, calendars) in words {
                let any = any_of(calendars);
                count += any.count_ones() as usize;
                if any != 0 && first.is_none() {
                    let bit = any.trailing_zeros() as usize;
                    let free = (0..).zip(calendars).filter(|(_, word)| *word >> bit & 1 == 1);
                    let places = free.map(|(place, _)| place).collect();
                    first = Some((day.instant_of(zone, word * 64 + bit), places));
                }
            }
            if let Some((first, places)) = first {
                found(DayStarts { day: day.day, count, first, places });
            }
        }
    }
}
