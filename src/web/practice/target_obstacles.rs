//! Obstacles to a time on a calendar, for a screen. Reference 4.8.

use std::sync::Arc;

use crate::domain::availability::bookable::bookable;
use crate::domain::availability::obstacle::Obstacle;
use crate::domain::availability::slot_request::SlotRequest;
use crate::domain::records::ids::CalendarId;
use crate::http::{ApiError, INLINE_COST_MAX};
use crate::web::practice::visit::ProVisit;

/// Returns what stands against a slot on a calendar of the group, by the rules of its mode.
///
/// # Errors
/// 503 if too many long computations are waiting.
pub(crate) async fn find_obstacles(
    visit: &ProVisit,
    calendar: CalendarId,
    request: SlotRequest,
) -> Result<Vec<Obstacle>, ApiError> {
    let state = Arc::clone(&visit.state);
    let now = visit.request.now;
    let view = state.calendars.get(&calendar).expect("each calendar has a view");
    let cost = view.rules().count_looked_at(state.catalogue.zone(), request.interval());
    let judge = move || {
        let view = state.calendars.get(&calendar).expect("each calendar has a view");
        bookable(&state.catalogue, view, &request, now).err().unwrap_or_default()
    };
    if cost <= INLINE_COST_MAX {
        return Ok(judge());
    }
    visit.request.pages.server.blocking_pool.run_weighed(cost, judge).await
}
