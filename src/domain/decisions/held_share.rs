//! The time that one source, its networks and all keyless callers may hold. Reference 6.7.

use std::collections::BTreeMap;

use crate::domain::availability::civil_day::civil_day_of;
use crate::domain::records::booking_origin::NetworkWidth;
use crate::domain::records::hold::{Hold, HoldId};
use crate::domain::records::ids::CalendarId;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::{HoldBound, Refusal};
use crate::domain::time::interval_set::Interval;
use crate::domain::time::{HOUR, Instant};

/// Maximum number of live holds of one source that wait for their booking.
pub(crate) const HOLDS_PER_SOURCE_MAX: usize = 3;
/// Maximum number of seconds that they hold together. A single one may hold more.
pub(crate) const HELD_SECONDS_PER_SOURCE_MAX: i64 = 3 * HOUR;
/// Percentage of a calendar's open time of a day that callers with a key alone hold at most.
pub(crate) const HELD_DAY_PERCENT: i64 = 20;

/// The networks whose holds are bounded together, each with the number of sources that it counts
/// as. The widest is that of IPv4 too, whose middle one is the same.
const BOUNDED_TOGETHER: [(NetworkWidth, usize); 3] =
    [(NetworkWidth::Source, 1), (NetworkWidth::Middle, 2), (NetworkWidth::Widest, 4)];

/// The time that others hold, as one caller finds it.
pub(crate) struct HeldTime<'a> {
    pub(crate) state: &'a GroupState,
    /// The caller's source.
    pub(crate) source: [u8; 16],
    /// The hold that the caller gives up for the new one.
    pub(crate) own: Option<HoldId>,
    pub(crate) now: Instant,
}

/// The live holds of one network.
#[derive(Clone, Copy, Default)]
struct NetworkHolds {
    count: usize,
    seconds: i64,
    /// The end of the one that ends first.
    next_end: Option<Instant>,
}

impl HeldTime<'_> {
    /// Checks the holds of the caller's source and of its networks.
    ///
    /// # Errors
    /// TooManyHolds.
    pub(crate) fn check_source(&self, wanted: Interval) -> Result<(), Refusal> {
        let wanted_seconds = wanted.end.seconds_since(wanted.start);
        for (width, sources) in BOUNDED_TOGETHER {
            // Of an IPv4 address the middle network is the widest one, which has the wider bound.
            if width == NetworkWidth::Middle && is_ipv4(self.source) {
                continue;
            }
            let held = self.holds_within(self.source, width, &[]);
            let seconds_max = HELD_SECONDS_PER_SOURCE_MAX * i64::try_from(sources).unwrap_or(1);
            let is_too_long = held.count > 0 && held.seconds + wanted_seconds > seconds_max;
            if held.count >= HOLDS_PER_SOURCE_MAX * sources || is_too_long {
                let is_source = width == NetworkWidth::Source;
                let bound = if is_source { HoldBound::Source } else { HoldBound::Network };
                return Err(self.refusal(bound, held.next_end));
            }
        }
        Ok(())
    }

    /// Returns the calendars whose share of the day has room for a hold, each with the holds of
    /// others that end for it.
    ///
    /// # Errors
    /// TooManyHolds if no calendar has room.
    pub(crate) fn make_room(
        &self,
        calendars: &[CalendarId],
        wanted: Interval,
    ) -> Result<BTreeMap<CalendarId, Vec<HoldId>>, Refusal> {
        let mut pushed_out = BTreeMap::new();
        let mut refused = None;
        for id in calendars {
            match self.make_room_on(*id, wanted) {
                Ok(ended) => drop(pushed_out.insert(*id, ended)),
                Err(refusal) => refused = Some(refusal),
            }
        }
        match refused {
            Some(refusal) if pushed_out.is_empty() => Err(refusal),
            _ => Ok(pushed_out),
        }
    }

    fn make_room_on(&self, id: CalendarId, wanted: Interval) -> Result<Vec<HoldId>, Refusal> {
        let zone = self.state.catalogue.zone();
        let view = self.state.calendars.get(&id).expect("every calendar has a view");
        let mut ended = Vec::new();
        let mut from = wanted.start;
        while from < wanted.end {
            let day = civil_day_of(zone, from);
            let open = view.open_time(zone, day, self.now);
            let share = open.open_seconds(day) * HELD_DAY_PERCENT / 100;
            let room = share - wanted.seconds_within(day);
            loop {
                let holds = self.keyless_holds(id, day, &ended);
                let held: i64 = holds.iter().map(|hold| hold.interval().seconds_within(day)).sum();
                // A single hold always fits, so that a short day is not closed to holds.
                if held <= room || holds.is_empty() {
                    break;
                }
                let Some(last) = self.find_pushed_out(&holds, wanted, &ended) else {
                    let next_end = holds.iter().map(|hold| hold.expires_at).min();
                    return Err(self.refusal(HoldBound::Day, next_end));
                };
                ended.push(last);
            }
            from = day.end;
        }
        Ok(ended)
    }

    /// The live holds of other callers with a key alone on a day of a calendar. Holds by the key of
    /// a server have no source and do not count.
    fn keyless_holds(&self, id: CalendarId, day: Interval, ended: &[HoldId]) -> Vec<&Hold> {
        let mut holds = Vec::new();
        for held in self.state.calendars[&id].held.overlapping(day) {
            let Some(hold) = self.state.holds().get(held.id.id) else { continue };
            let is_limited = hold.is_by_key && hold.limited_source().is_some();
            if is_limited && self.counts(held.id.id, hold, ended) {
                holds.push(hold.as_ref());
            }
        }
        holds
    }

    /// Finds the hold that ends for the caller's: the newest one of the source with the most held
    /// time, in the network with the most. `None` if the caller would hold as much, or if the
    /// network has one hold only, which is likely that of an honest client.
    fn find_pushed_out(
        &self,
        holds: &[&Hold],
        wanted: Interval,
        ended: &[HoldId],
    ) -> Option<HoldId> {
        let wanted_seconds = wanted.end.seconds_since(wanted.start);
        let mut holds = holds.to_vec();
        let mut is_compared = false;
        for width in [NetworkWidth::Widest, NetworkWidth::Middle, NetworkWidth::Source] {
            let mut networks = BTreeMap::new();
            for hold in &holds {
                let network = width.network_of(hold.limited_source()?);
                networks.entry(network).or_insert_with(|| self.holds_within(network, width, ended));
            }
            let most = |held: &NetworkHolds| (held.count > 1, held.seconds);
            let (network, held) = networks.into_iter().max_by_key(|(_, held)| most(held))?;
            if !is_compared && network != width.network_of(self.source) {
                // The widest network that the two do not share decides.
                let own = self.holds_within(self.source, width, ended);
                if held.count < 2 || held.seconds <= own.seconds + wanted_seconds {
                    return None;
                }
                is_compared = true;
            }
            holds.retain(|hold| {
                hold.limited_source().map(|source| width.network_of(source)) == Some(network)
            });
        }
        let newest = holds.into_iter().max_by_key(|hold| (hold.made_at, hold.id()))?;
        if is_compared { Some(newest.id()) } else { None }
    }

    /// The live holds of a source's network, but for the caller's own and those that have ended.
    fn holds_within(
        &self,
        source: [u8; 16],
        width: NetworkWidth,
        ended: &[HoldId],
    ) -> NetworkHolds {
        let mut held = NetworkHolds::default();
        for (id, hold) in self.state.holds().chosen_within(source, width) {
            if !self.counts(id, hold, ended) {
                continue;
            }
            let interval = hold.interval();
            held.count += 1;
            held.seconds += interval.end.seconds_since(interval.start);
            let next_end = held.next_end.unwrap_or(hold.expires_at);
            held.next_end = Some(next_end.min(hold.expires_at));
        }
        held
    }

    fn counts(&self, id: HoldId, hold: &Hold, ended: &[HoldId]) -> bool {
        hold.is_live(self.now) && self.own != Some(id) && !ended.contains(&id)
    }

    fn refusal(&self, bound: HoldBound, next_end: Option<Instant>) -> Refusal {
        let retry_seconds = next_end.map_or(0, |end| end.seconds_since(self.now));
        Refusal::TooManyHolds { bound, retry_seconds }
    }
}

/// Whether the hash of a source is that of an IPv4 address: its networks are one.
fn is_ipv4(source: [u8; 16]) -> bool {
    source[..4] == source[4..8]
}
