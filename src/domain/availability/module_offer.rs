//! The parts of a group that the appointment module shows: services and calendars. Reference 4.6.

use std::sync::Arc;

use imbl::OrdMap;

use crate::domain::availability::catalogue::Catalogue;
use crate::domain::availability::open_time::CalendarView;
use crate::domain::records::calendar::Calendar;
use crate::domain::records::ids::{CalendarId, InterventionId};
use crate::domain::records::intervention::Intervention;
use crate::domain::time::Instant;

/// Returns the calendars that the module shows, by their order and id.
pub fn shown_calendars(catalogue: &Catalogue) -> Vec<&Calendar> {
    let all = catalogue.calendars.values().map(Arc::as_ref);
    let mut shown: Vec<_> = all.filter(|row| catalogue.calendar_hidden(row.id).is_none()).collect();
    shown.sort_by_key(|calendar| (calendar.sort.number(), calendar.id));
    shown
}

/// Returns the interventions that the module shows, by their order and id.
pub fn shown_interventions(catalogue: &Catalogue) -> Vec<&Intervention> {
    let all = catalogue.interventions.values().map(Arc::as_ref);
    let mut shown: Vec<_> =
        all.filter(|row| catalogue.intervention_hidden(row.id).is_none()).collect();
    shown.sort_by_key(|intervention| (intervention.sort.number(), intervention.id));
    shown
}

/// Returns whether a calendar has, or will have, open time for each of some interventions. A search
/// finds no start on any other calendar. Reference 4.
pub fn offers_all(
    catalogue: &Catalogue,
    views: &OrdMap<CalendarId, Arc<CalendarView>>,
    calendar: CalendarId,
    interventions: &[InterventionId],
    now: Instant,
) -> bool {
    let Some(view) = views.get(&calendar) else { return false };
    let zone = catalogue.zone();
    interventions.iter().all(|id| view.rules().offers(zone, *id, now))
}
