//! Web bookings of one origin, to be cancelled together. Reference 6.13.

use crate::domain::records::booking_origin::BookingOrigin;
use crate::domain::records::fault::Fault;
use crate::domain::records::ids::VeventId;
use crate::domain::records::vevent::Vevent;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::Refusal;
use crate::domain::time::Instant;

/// Returns the live appointments that were made at or after `since`, have not ended by `now`, and
/// have the origin of an appointment: the same source and the same key. Ascending by id. The cost
/// is that of the group's upcoming appointments.
///
/// # Errors
/// NoResult if there is no such appointment. InvalidParameter on `id` if it has no origin.
pub fn find_alike(
    state: &GroupState,
    like: VeventId,
    since: Instant,
    now: Instant,
) -> Result<Vec<VeventId>, Refusal> {
    let row = state.rows.get(&like).ok_or(Refusal::NoResult)?;
    if row.appointment().is_none() {
        return Err(Refusal::NoResult);
    }
    let Some(origin) = booking_origin(row) else {
        return Err(Refusal::InvalidParameter(Fault::new(
            "id",
            "must be an appointment booked with a key alone or by an account: no other keeps its origin",
        )));
    };
    let mut ids = Vec::new();
    for view in state.calendars.values() {
        for taken in view.taken.ending_after(now) {
            let row = state.rows.get(&taken.id).expect("taken time has a vevent");
            if row.created_at >= since
                && booking_origin(row).is_some_and(|other| other.is_like(origin))
            {
                ids.push(row.id);
            }
        }
    }
    ids.sort_unstable();
    Ok(ids)
}

fn booking_origin(row: &Vevent) -> Option<&BookingOrigin> {
    row.appointment()?.booking_origin.as_deref()
}
