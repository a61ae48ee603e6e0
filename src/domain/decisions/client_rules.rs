//! Client rules: the limits on the appointments of one client. Reference 6.4.

use crate::domain::availability::slot_request::{BookingMode, SlotRequest};
use crate::domain::records::ids::FicheId;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::{Refusal, Refusals};
use crate::domain::time::interval_set::Interval;
use crate::domain::time::{Instant, MINUTE};
use crate::planted_faults::PlantedFault;

/// Checks the client rules for a slot. The legs of its chain are not compared with each other, and
/// each counts as one appointment. An appointment that is moved does not count. One that was booked
/// with a key alone counts only for bookings with a key alone from the same source, as a stranger
/// may have made it: it neither stops the client, nor tells others of the client's bookings.
/// `source` is that of the caller. Reference 6.4.
///
/// # Errors
/// All that fail: SameTimeRdv, MintimeBetween, MaxRdvNumber, in this order.
pub(crate) fn check_client_rules(
    state: &GroupState,
    client: FicheId,
    request: &SlotRequest,
    source: Option<[u8; 16]>,
    now: Instant,
) -> Result<(), Refusals> {
    let group = &state.catalogue.group;
    let interval = request.interval();
    let gap_minutes = group.mintime_between.number();
    let counts_unproven = request.mode == BookingMode::Module;
    let mut upcoming_count = 0;
    let mut overlapping: Option<Interval> = None;
    let mut is_too_close = false;
    for appointment in state.appointments_of(client) {
        let other = appointment.interval;
        if other.end <= now || request.own.appointment == Some(appointment.id) {
            continue;
        }
        if let Some(row) = state.rows.get(&appointment.id)
            && row.is_booked_by_key()
            && !(counts_unproven && row.booking_source() == source)
        {
            continue;
        }
        if overlapping.is_none() && other.overlaps(interval) {
            overlapping = Some(other);
        }
        upcoming_count += 1;
        // Seconds between the two; negative if they overlap, which is SameTimeRdv only.
        let behind = interval.start.seconds_since(other.end);
        let ahead = other.start.seconds_since(interval.end);
        let apart_min = i64::from(PlantedFault::TouchingIsFarEnough.is_active());
        if (apart_min..gap_minutes * MINUTE).contains(&behind.max(ahead)) {
            is_too_close = true;
        }
    }
    let mut refusals: Refusals = Vec::new();
    if let Some(other) = overlapping {
        refusals.push(Refusal::SameTimeRdv { other });
    }
    if request.mode.follows_module_rules() {
        if is_too_close {
            refusals.push(Refusal::MintimeBetween { minutes: gap_minutes });
        }
        let most = group.maxrdv_number.number();
        let would_have = upcoming_count + request.chain.legs().len();
        if most > 0 && i64::try_from(would_have).is_ok_and(|count| count > most) {
            refusals.push(Refusal::MaxRdvNumber { most });
        }
    }
    if refusals.is_empty() { Ok(()) } else { Err(refusals) }
}
