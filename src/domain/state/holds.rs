//! The holds of a group. Reference 6.7.

use std::sync::Arc;

use imbl::{OrdMap, OrdSet};

use crate::domain::records::booking_origin::NetworkWidth;
use crate::domain::records::hold::{Hold, HoldId, HoldState};
use crate::domain::time::{DAY, HOUR, Instant};

/// Seconds after its making from which a hold is removed. No hold lives as long.
const KEPT_SECONDS: i64 = HOUR;
/// The same for the hold of a confirmed booking: a confirmation whose answer was lost is repeated.
const CONFIRMED_KEPT_SECONDS: i64 = DAY;
/// Maximum number of holds that one event removes. It bounds the cost of an event after a pause.
const REMOVED_PER_EVENT_MAX: usize = 16;

/// The holds of a group: the live ones, and those not removed yet.
///
/// The removal depends on stamps alone, so that replay needs no clock.
#[derive(Clone, Debug, Default)]
pub struct Holds {
    by_id: OrdMap<HoldId, Arc<Hold>>,
    /// One entry per hold, ascending by the stamp from which it is removed.
    by_removal: OrdSet<(Instant, HoldId)>,
    /// One entry per hold that waits for its booking and whose source is limited.
    by_source: OrdSet<([u8; 16], HoldId)>,
}

impl Holds {
    /// Finds a hold, live or not.
    pub fn get(&self, id: HoldId) -> Option<&Arc<Hold>> {
        self.by_id.get(&id)
    }

    /// All holds, ascending by id.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<Hold>> {
        self.by_id.values()
    }

    /// The holds that wait for a booking of a source's network, live or not, ascending by source.
    pub fn chosen_within(
        &self,
        source: [u8; 16],
        width: NetworkWidth,
    ) -> impl Iterator<Item = (HoldId, &Arc<Hold>)> {
        let network = width.network_of(source);
        let first = self.by_source.range((network, HoldId::NONE)..);
        let same = first.take_while(move |(source, _)| width.network_of(*source) == network);
        same.filter_map(|(_, id)| Some((*id, self.by_id.get(id)?)))
    }

    /// The holds that an event with this stamp removes, the oldest first.
    pub fn removed_at(&self, stamp: Instant) -> impl Iterator<Item = &Arc<Hold>> {
        let due = self.by_removal.iter().take_while(move |(from, _)| *from <= stamp);
        due.take(REMOVED_PER_EVENT_MAX).filter_map(|(_, id)| self.by_id.get(id))
    }

    /// Inserts a hold, or replaces the one with its id. Returns the one before.
    pub(crate) fn put(&mut self, hold: Arc<Hold>) -> Option<Arc<Hold>> {
        let id = hold.id();
        let before = self.remove(id);
        self.by_removal.insert((removal_stamp(&hold), id));
        self.by_source.extend(source_entry(&hold, id));
        self.by_id.insert(id, hold);
        before
    }

    /// Removes a hold, if it exists, and returns it.
    pub(crate) fn remove(&mut self, id: HoldId) -> Option<Arc<Hold>> {
        let hold = self.by_id.remove(&id)?;
        self.by_removal.remove(&(removal_stamp(&hold), id));
        if let Some(entry) = source_entry(&hold, id) {
            self.by_source.remove(&entry);
        }
        Some(hold)
    }
}

fn removal_stamp(hold: &Hold) -> Instant {
    let is_confirmed = matches!(hold.state, HoldState::Confirmed { .. });
    let kept_seconds = if is_confirmed { CONFIRMED_KEPT_SECONDS } else { KEPT_SECONDS };
    hold.made_at.plus_seconds(kept_seconds)
}

fn source_entry(hold: &Hold, id: HoldId) -> Option<([u8; 16], HoldId)> {
    Some((hold.limited_source()?, id))
}
