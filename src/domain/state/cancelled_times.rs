//! Deleted appointments by calendar and deletion, so that feeds find those of late without a scan.
//! Reference 19.3.

use imbl::OrdSet;

use crate::domain::records::ids::{CalendarId, VeventId};
use crate::domain::records::vevent::Vevent;
use crate::domain::time::Instant;

/// The deleted appointments of a group. An index of its vevents.
#[derive(Clone, Debug, Default)]
pub struct CancelledTimes(OrdSet<(CalendarId, Instant, VeventId)>);

impl CancelledTimes {
    /// Adds a vevent, if it is a deleted appointment.
    pub(crate) fn add(&mut self, row: &Vevent) {
        if let Some(place) = place(row) {
            self.0.insert(place);
        }
    }

    /// Removes a vevent that was added in exactly this form.
    pub(crate) fn remove(&mut self, row: &Vevent) {
        if let Some(place) = place(row) {
            self.0.remove(&place);
        }
    }

    /// Returns the appointments of a calendar that were deleted, or changed since then, from a
    /// moment on, ascending by that.
    pub fn since(
        &self,
        calendar: CalendarId,
        from: Instant,
    ) -> impl Iterator<Item = VeventId> + '_ {
        let first = VeventId::new(1).expect("1 is an id");
        let places = self.0.range((calendar, from, first)..);
        places.take_while(move |(of, _, _)| *of == calendar).map(|(_, _, id)| *id)
    }
}

fn place(row: &Vevent) -> Option<(CalendarId, Instant, VeventId)> {
    row.appointment().filter(|_| row.deleted)?;
    Some((row.calendar_id, row.updated_at, row.id))
}
