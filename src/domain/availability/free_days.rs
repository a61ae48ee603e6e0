//! The free starts of a calendar by civil day, as bits, kept until an appointment or a rule changes
//! them. Reference 4.7.
//!
//! They are a cache of the search, never a rule: a booking asks
//! [`bookable`](crate::domain::availability::bookable::bookable). Lead times, holds and what the
//! module hides are left out, since they change with the clock and the caller. A bit stands for
//! five minutes; a chunk with a start between two bits is not kept, and is searched anew each time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use arc_swap::{ArcSwapOption, Guard};

use crate::domain::availability::civil_day::civil_day_of;
use crate::domain::availability::slot_request::Chain;
use crate::domain::time::interval_set::Interval;
use crate::domain::time::zone::Zone;
use crate::domain::time::{CivilDay, MINUTE};
use crate::planted_faults::PlantedFault;

/// Seconds that a bit stands for.
pub(crate) const UNIT_SECONDS: i64 = 5 * MINUTE;
/// Units of a civil day.
pub(crate) const UNITS: usize = 288;
/// Words of the units of a day.
pub(crate) const WORDS: usize = UNITS.div_ceil(64);
/// Days that are found together, and forgotten together.
pub(crate) const CHUNK_DAYS: usize = 8;
/// Chunks that are kept, from that of the present day on: 105 days at least. With their headers
/// they take 45 bytes a day.
const CHUNKS: usize = 14;
/// Kinds of starts that are kept for a calendar. The one that was asked for first goes first. They
/// bound the memory of a calendar to 21 KB.
pub(crate) const KINDS_MAX: usize = 4;
/// Kinds of starts that are kept for all calendars of the process together, in 170 MB at most. With
/// one more all are forgotten: what is searched is then found anew, once for each.
const KINDS_OF_ALL_MAX: usize = 32_768;
/// The kinds that are kept, for all calendars of the process.
static KINDS_OF_ALL: AtomicUsize = AtomicUsize::new(0);
/// The calendars whose starts are kept, some of them no more.
static HOLDERS: Mutex<Holders> = Mutex::new(Holders { list: Vec::new(), swept_at: 0 });

/// The starts of a civil day: a bit for each unit, the lowest first. A unit is that of the clocks,
/// and means the first pass of an hour that they show twice.
pub(crate) type DayBits = [u64; WORDS];
/// The days of a chunk; `None` if a start lies between two units.
pub(crate) type Chunk = Option<Arc<[DayBits; CHUNK_DAYS]>>;

/// Everything that a kind of starts follows from, beside the rules and the taken time of its
/// calendar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) chain: Chain,
    pub(crate) zone: Zone,
    pub(crate) step_minutes: i64,
    /// Share of a day that the caller's bookings may take, in percent.
    pub(crate) day_percent: i64,
}

/// The days of one kind of starts.
#[derive(Clone, Debug)]
pub(crate) struct KeptDays {
    pub(crate) kind: Arc<Kind>,
    /// Number of the first chunk.
    pub(crate) first: i32,
    pub(crate) chunks: [OnceLock<Chunk>; CHUNKS],
    _counted: Counted,
}

/// One of [`KINDS_OF_ALL`].
#[derive(Debug)]
struct Counted;

/// The kinds of starts of a calendar, if any are kept.
type Kinds = ArcSwapOption<Vec<Arc<KeptDays>>>;

/// The free starts of a calendar that were asked for. Clones share them until one is changed: they
/// have the same rules and the same taken time.
#[derive(Clone, Debug, Default)]
pub(crate) struct FreeDays(Arc<Kinds>);

/// The kinds of starts of all calendars, to be forgotten when they are too many.
struct Holders {
    list: Vec<Weak<Kinds>>,
    /// Length at which those that are no more are left out.
    swept_at: usize,
}

/// The days of a chunk as a number of days.
#[expect(clippy::cast_possible_truncation, reason = "a small number")]
pub(crate) const CHUNK_LENGTH: i32 = CHUNK_DAYS as i32;

/// The chunk of a day, and the place in it.
pub(crate) fn place_of(day: CivilDay) -> (i32, usize) {
    let place = usize::try_from(day.0.rem_euclid(CHUNK_LENGTH));
    (day.0.div_euclid(CHUNK_LENGTH), place.expect("a remainder is not negative"))
}

impl FreeDays {
    /// Returns the kinds that are kept; none if all were forgotten.
    pub(crate) fn kinds(&self) -> Guard<Option<Arc<Vec<Arc<KeptDays>>>>> {
        self.0.load()
    }

    /// Keeps these kinds instead of those before.
    pub(crate) fn keep(&self, kinds: Vec<Arc<KeptDays>>) {
        let before = self.0.swap(Some(Arc::new(kinds)));
        if before.is_none() {
            HOLDERS.lock().unwrap_or_else(PoisonError::into_inner).remember(&self.0);
        }
        if KINDS_OF_ALL.load(Ordering::Relaxed) > KINDS_OF_ALL_MAX {
            forget_all();
        }
    }

    /// Forgets the starts that may follow from an appointment.
    pub(crate) fn forget(&mut self, appointment: Interval) {
        if PlantedFault::FreeStartsKept.is_active() {
            return;
        }
        let kept = self.0.load();
        let changed = kept.iter().flat_map(|kinds| kinds.iter());
        let changed: Vec<_> = changed.map(|days| Arc::new(days.without(appointment))).collect();
        drop(kept);
        // Always a new one: readers of the state before go on with the old one, and may fill it.
        self.0 = Arc::default();
        if !changed.is_empty() {
            self.keep(changed);
        }
    }
}

impl Holders {
    /// Notes a calendar whose starts are kept from now on.
    fn remember(&mut self, holder: &Arc<Kinds>) {
        if self.list.len() >= self.swept_at {
            self.list.retain(|holder| holder.strong_count() > 0);
            self.swept_at = 2 * self.list.len() + 1024;
        }
        self.list.push(Arc::downgrade(holder));
    }
}

/// Forgets the starts of all calendars.
fn forget_all() {
    let mut holders = HOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
    let list = std::mem::take(&mut holders.list);
    drop(holders);
    for holder in list.iter().filter_map(Weak::upgrade) {
        holder.store(None);
    }
}

impl Counted {
    fn new() -> Self {
        KINDS_OF_ALL.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        Self::new()
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        KINDS_OF_ALL.fetch_sub(1, Ordering::Relaxed);
    }
}

impl KeptDays {
    /// Returns the days from a chunk on, none of them found yet.
    pub(crate) fn new(kind: Kind, first: i32) -> Self {
        let chunks = <[OnceLock<Chunk>; CHUNKS]>::default();
        Self { kind: Arc::new(kind), first, chunks, _counted: Counted::new() }
    }

    /// Returns the days but those whose starts may follow from an appointment.
    ///
    /// These are the starts that would meet it, and, since it counts in the share of each day that
    /// it touches, those that would take time of such a day.
    fn without(&self, appointment: Interval) -> Self {
        let zone = self.kind.zone;
        let last = civil_day_of(zone, appointment.end.plus_seconds(-1)).end.plus_seconds(-1);
        let first = civil_day_of(zone, appointment.start).start;
        let first = first.plus_seconds(-self.kind.chain.length_seconds());
        let (first_chunk, _) = place_of(zone.civil_of(first).day());
        let (last_chunk, _) = place_of(zone.civil_of(last).day());
        let mut changed = self.clone();
        for (chunk, kept) in (self.first..).zip(&mut changed.chunks) {
            if first_chunk <= chunk && chunk <= last_chunk {
                *kept = OnceLock::new();
            }
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::availability::slot_request::Leg;
    use crate::domain::records::ids::InterventionId;
    use crate::domain::time::Instant;

    fn kinds() -> Vec<Arc<KeptDays>> {
        let intervention_id = InterventionId::new(1).expect("an id");
        let chain = Chain::new(vec![Leg { intervention_id, length_seconds: MINUTE }]);
        let zone = Zone::from_iana("UTC").expect("a zone");
        let kind = Kind { chain: chain.expect("a leg"), zone, step_minutes: 5, day_percent: 100 };
        vec![Arc::new(KeptDays::new(kind, 0))]
    }

    #[test]
    fn starts_of_all_calendars_together_are_bounded() {
        let calendars: Vec<_> =
            (0..KINDS_OF_ALL_MAX * 3 / 2).map(|_| FreeDays::default()).collect();
        for calendar in &calendars {
            calendar.keep(kinds());
            assert!(KINDS_OF_ALL.load(Ordering::Relaxed) <= KINDS_OF_ALL_MAX + 1000);
        }
        assert!(calendars[0].kinds().is_none());
        let kept = calendars.iter().filter(|calendar| calendar.kinds().is_some()).count();
        assert!((1..=KINDS_OF_ALL_MAX).contains(&kept), "{kept} are kept");
        // Several that come at once may pass the bound by more than one.
        let full = FreeDays::default();
        full.keep((0..=KINDS_OF_ALL_MAX).flat_map(|_| kinds()).collect());
        assert!(full.kinds().is_none());
    }

    #[test]
    fn calendars_that_are_no_more_are_left_out_each_time_the_list_has_doubled() {
        let mut holders = Holders { list: Vec::new(), swept_at: 0 };
        let alive: Vec<Arc<Kinds>> = (0..2_000).map(|_| Arc::default()).collect();
        for holder in &alive {
            holders.remember(holder);
        }
        let mut longest = 0;
        for _ in 0..10_000 {
            holders.remember(&Arc::default());
            longest = longest.max(holders.list.len());
        }
        assert_eq!(longest, 2 * 2_000 + 1_024);
        let kept = holders.list.iter().filter(|holder| holder.strong_count() > 0).count();
        assert_eq!(kept, alive.len());
    }

    #[test]
    fn calendars_that_were_dropped_are_not_remembered_for_long() {
        for _ in 0..100_000 {
            let mut calendar = FreeDays::default();
            calendar.keep(kinds());
            calendar.forget(Interval { start: Instant(0), end: Instant(60) });
        }
        let holders = HOLDERS.lock().unwrap();
        assert!(holders.list.len() < 2 * KINDS_OF_ALL_MAX + 2 * 1024);
    }
}
