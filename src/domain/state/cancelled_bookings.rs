//! Deleted appointments by client and age, so that upkeep finds what to empty without a scan.
//! Reference 6.16.

use imbl::OrdMap;

use crate::domain::records::ids::{FicheId, VeventId};
use crate::domain::records::vevent::Vevent;
use crate::domain::time::Instant;

/// Place of a deleted web booking in the order of deletion: its last change, then its id.
pub type DeletionPlace = (Instant, VeventId);

/// The deleted appointments of a group, and the other events that name a client. All but
/// `emptied_until` is an index of its vevents.
#[derive(Clone, Debug, Default)]
pub struct CancelledBookings {
    /// The last deleted web booking that upkeep has dealt with. A later deletion has a later place,
    /// because stamps never go back.
    emptied_until: Option<DeletionPlace>,
    /// The deleted web bookings after it, with their clients.
    waiting: OrdMap<DeletionPlace, FicheId>,
    /// The number of waiting bookings of each client that has any.
    waiting_of_client: OrdMap<FicheId, u32>,
    /// The number of events by hand of each client that has any: deleted appointments that were not
    /// made from the web, and events that name the client without an intervention.
    by_hand: OrdMap<FicheId, u32>,
}

impl CancelledBookings {
    /// Adds a vevent, if it is a deleted appointment or names a client otherwise.
    pub(crate) fn add(&mut self, row: &Vevent) {
        let Some((client, is_by_hand)) = counted_client(row) else { return };
        if is_by_hand {
            increase(&mut self.by_hand, client);
        } else if self.is_waiting(place(row)) {
            self.waiting.insert(place(row), client);
            increase(&mut self.waiting_of_client, client);
        }
    }

    /// Removes a vevent that was added in exactly this form.
    pub(crate) fn remove(&mut self, row: &Vevent) {
        let Some((client, is_by_hand)) = counted_client(row) else { return };
        if is_by_hand {
            decrease(&mut self.by_hand, client);
        } else if self.waiting.remove(&place(row)).is_some() {
            decrease(&mut self.waiting_of_client, client);
        }
    }

    /// Records that upkeep has dealt with all deleted web bookings up to a place.
    pub(crate) fn set_emptied_until(&mut self, until: DeletionPlace) {
        self.emptied_until = self.emptied_until.max(Some(until));
        while let Some((place, client)) = self.waiting.get_min().copied()
            && !self.is_waiting(place)
        {
            self.waiting.remove(&place);
            decrease(&mut self.waiting_of_client, client);
        }
    }

    /// The last deleted web booking that upkeep has dealt with.
    pub const fn emptied_until(&self) -> Option<DeletionPlace> {
        self.emptied_until
    }

    /// The waiting bookings that were deleted before a moment, the oldest first.
    pub(crate) fn deleted_before(
        &self,
        moment: Instant,
    ) -> impl Iterator<Item = (DeletionPlace, FicheId)> {
        let all = self.waiting.iter().map(|(place, client)| (*place, *client));
        all.take_while(move |((at, _), _)| *at < moment)
    }

    /// The number of waiting bookings of a client.
    pub(crate) fn count_waiting(&self, client: FicheId) -> u32 {
        self.waiting_of_client.get(&client).copied().unwrap_or(0)
    }

    /// Whether a client has an event by hand, other than a live appointment.
    pub(crate) fn has_events_by_hand(&self, client: FicheId) -> bool {
        self.by_hand.contains_key(&client)
    }

    fn is_waiting(&self, place: DeletionPlace) -> bool {
        self.emptied_until.is_none_or(|until| until < place)
    }
}

/// The client of a vevent that is counted, and whether it was made by hand.
fn counted_client(row: &Vevent) -> Option<(FicheId, bool)> {
    let Some(appointment) = row.appointment() else { return Some((row.fiche_id()?, true)) };
    if row.deleted { Some((appointment.fiche_id, !appointment.from_web)) } else { None }
}

fn place(row: &Vevent) -> DeletionPlace {
    (row.updated_at, row.id)
}

fn increase(counts: &mut OrdMap<FicheId, u32>, client: FicheId) {
    *counts.entry(client).or_insert(0) += 1;
}

fn decrease(counts: &mut OrdMap<FicheId, u32>, client: FicheId) {
    match counts.get_mut(&client) {
        Some(count) if *count > 1 => *count -= 1,
        _ => drop(counts.remove(&client)),
    }
}
