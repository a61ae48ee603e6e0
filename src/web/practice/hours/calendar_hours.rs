//! The opening hours of calendars, read from their availabilities.

use std::sync::Arc;

use crate::domain::availability::weekly_hours::{WeeklyRange, read_ranges, sort_ranges};
use crate::domain::records::ids::CalendarId;
use crate::domain::records::vevent::Vevent;
use crate::domain::recurrence::Series;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;
use crate::http::ApiError;
use crate::web::practice::visit::ProVisit;

/// Number of rules of open time up to which hours and exceptions are read on a thread that serves
/// connections.
pub(crate) const INLINE_ROWS_MAX: usize = 500;

/// The opening hours of a calendar.
pub(crate) struct CalendarHours {
    pub(crate) id: CalendarId,
    /// The hours that rows of a week express, sorted.
    pub(crate) ranges: Vec<WeeklyRange>,
    /// The availabilities that they do not express and that open some time after the request,
    /// ascending by id.
    pub(crate) others: Vec<Arc<Vevent>>,
}

/// Reads the hours of some calendars of the group, in their order.
///
/// # Errors
/// 503 if too many computations wait.
pub(crate) async fn read_hours(
    visit: &ProVisit,
    ids: Vec<CalendarId>,
) -> Result<Vec<CalendarHours>, ApiError> {
    let mut rows = 0;
    for id in &ids {
        rows += visit.state.calendars.get(id).map_or(0, |view| view.rules().availabilities().len());
    }
    let state = Arc::clone(&visit.state);
    let now = visit.request.now;
    let read = move || ids.into_iter().filter_map(|id| read_calendar(&state, id, now)).collect();
    if rows <= INLINE_ROWS_MAX {
        return Ok(read());
    }
    visit.request.pages.server.blocking_pool.run(read).await
}

fn read_calendar(state: &GroupState, id: CalendarId, now: Instant) -> Option<CalendarHours> {
    let view = state.calendars.get(&id)?;
    let zone = state.catalogue.zone();
    let mut hours = CalendarHours { id, ranges: Vec::new(), others: Vec::new() };
    for row in view.rules().availabilities() {
        match read_ranges(row, zone) {
            Some(opened) => hours.ranges.extend(opened),
            None => {
                let is_coming = |series: &Series| series.has_occurrence_ending_after(zone, now);
                if row.series().is_some_and(is_coming) {
                    hours.others.push(Arc::clone(row));
                }
            }
        }
    }
    sort_ranges(&mut hours.ranges);
    Some(hours)
}
