//! The free starts of a calendar by civil day, as bits, kept until an appointment or a rule changes
//! them. Reference 4.7.
//!
//! They are a cache of the search, never a rule: a booking asks
//! [`bookable`](crate::domain::availability::bookable::bookable). Lead times, holds and what the
//! module hides are left out, since they change with the clock and the caller. A bit stands for
//! five minutes; a chunk with a start between two bits is not kept, and is searched anew each time.

use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwapOption;

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
    pub(crate) step_seconds: i64,
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
}

/// The free starts of a calendar that were asked for. Clones share them until one is changed: they
/// have the same rules and the same taken time.
#[derive(Clone, Debug, Default)]
pub(crate) struct FreeDays(pub(crate) Arc<ArcSwapOption<Vec<Arc<KeptDays>>>>);

/// The days of a chunk as a number of days.
#[expect(clippy::cast_possible_truncation, reason = "a small number")]
pub(crate) const CHUNK_LENGTH: i32 = CHUNK_DAYS as i32;

/// The chunk of a day, and the place in it.
pub(crate) fn place_of(day: CivilDay) -> (i32, usize) {
    let place = usize::try_from(day.0.rem_euclid(CHUNK_LENGTH));
    (day.0.div_euclid(CHUNK_LENGTH), place.expect("a remainder is not negative"))
}

impl FreeDays {
    /// Forgets the starts that may follow from an appointment.
    pub(crate) fn forget(&mut self, appointment: Interval) {
        if PlantedFault::FreeStartsKept.is_active() {
            return;
        }
        let changed = self.0.load().as_ref().map(|kept| {
            Arc::new(kept.iter().map(|days| Arc::new(days.without(appointment))).collect())
        });
        // Always a new one: readers of the state before go on with the old one, and may fill it.
        self.0 = Arc::new(ArcSwapOption::from(changed));
    }
}

impl KeptDays {
    /// Returns the days but those whose starts may follow from an appointment.
    ///
    /// These are the starts that would meet it, and, since it counts in the share of each day that
    /// it touches, those that would take time of such a day.
    fn without(&self, appointment: Interval) -> Self {
        let zone = self.kind.zone;
        let last = civil_day_of(zone, appointment.end.plus_seconds(-1)).end.plus_seconds(-1);
        let first = civil_day_of(zone, appointment.start).start;
        let first = first.plus_seconds(-self.kind.chain.length_seconds());
        let [(first, _), (last, _)] =
            [first, last].map(|moment| place_of(zone.civil_of(moment).day()));
        let mut changed = self.clone();
        for (chunk, kept) in (self.first..).zip(&mut changed.chunks) {
            if first <= chunk && chunk <= last {
                *kept = OnceLock::new();
            }
        }
        changed
    }
}
