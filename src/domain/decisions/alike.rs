//! Web bookings to be cancelled together: those of one origin, of its network, or of some time,
//! with the holds of the same callers. Reference 6.13.

use crate::domain::records::booking_origin::{BookingOrigin, ClientProof, NetworkWidth};
use crate::domain::records::fault::Fault;
use crate::domain::records::hold::{Hold, HoldId, HoldState};
use crate::domain::records::ids::VeventId;
use crate::domain::records::vevent::Vevent;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::Refusal;
use crate::domain::time::Instant;

/// The web bookings that are meant.
#[derive(Clone, Copy, Debug)]
pub struct AlikeSearch {
    /// An appointment with the key of all others; `None` if those of any origin are meant.
    pub like: Option<VeventId>,
    /// The network that its source shares with all others.
    pub width: NetworkWidth,
    /// All were made at this time or later.
    pub since: Instant,
    /// All were made before this time, if any.
    pub until: Option<Instant>,
    /// Whether only those without any proof of their client are meant.
    pub is_unverified: bool,
}

/// The web bookings that were found, and holds of the same callers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AlikeBookings {
    /// Live appointments that have not ended, ascending by id.
    pub appointments: Vec<VeventId>,
    /// Live holds that wait for their booking.
    pub chosen: Vec<HoldId>,
    /// Bookings that wait for their code.
    pub unconfirmed: Vec<HoldId>,
}

/// Returns the web bookings that are meant. The cost is that of the group's upcoming appointments.
///
/// # Errors
/// NoResult if there is no such appointment as the search names. InvalidParameter on `id` if it has
/// no origin.
pub fn find_alike(
    state: &GroupState,
    search: &AlikeSearch,
    now: Instant,
) -> Result<AlikeBookings, Refusal> {
    let origin = match search.like {
        Some(id) => Some(find_origin(state, id)?),
        None => None,
    };
    let mut found = AlikeBookings::default();
    for view in state.calendars.values() {
        for taken in view.taken().ending_after(now) {
            let row = state.rows.get(&taken.id).expect("taken time has a vevent");
            if search.is_in_time(row.created_at) && search.means(booking_origin(row), origin) {
                found.appointments.push(row.id);
            }
        }
    }
    found.appointments.sort_unstable();
    for hold in state.holds().iter().filter(|hold| hold.is_live(now)) {
        if !search.is_in_time(hold.made_at) {
            continue;
        }
        if let HoldState::Unconfirmed(booking) = &hold.state {
            if search.means(booking.booking_origin.as_deref(), origin) {
                found.unconfirmed.push(hold.id());
            }
        } else if search.means_hold(hold, origin) {
            found.chosen.push(hold.id());
        }
    }
    Ok(found)
}

impl AlikeSearch {
    fn is_in_time(&self, made_at: Instant) -> bool {
        self.since <= made_at && self.until.is_none_or(|until| made_at < until)
    }

    /// Whether a booking of this origin is meant; `None` is that of a professional.
    fn means(&self, found: Option<&BookingOrigin>, wanted: Option<&BookingOrigin>) -> bool {
        let Some(found) = found else { return false };
        let is_proven = found.proof != ClientProof::KeyAlone;
        let is_alike = wanted.is_none_or(|wanted| found.is_like(wanted, self.width));
        is_alike && !(self.is_unverified && is_proven)
    }

    /// Whether a hold is meant. It keeps no key.
    fn means_hold(&self, hold: &Hold, wanted: Option<&BookingOrigin>) -> bool {
        let is_alike = match (wanted, hold.source) {
            (Some(wanted), Some(source)) => {
                self.width.network_of(wanted.source) == self.width.network_of(source)
            }
            (Some(_), None) => false,
            (None, _) => true,
        };
        is_alike && (hold.is_by_key || !self.is_unverified)
    }
}

fn find_origin(state: &GroupState, id: VeventId) -> Result<&BookingOrigin, Refusal> {
    let row = state.rows.get(&id).ok_or(Refusal::NoResult)?;
    if row.appointment().is_none() {
        return Err(Refusal::NoResult);
    }
    booking_origin(row).ok_or_else(|| {
        Refusal::InvalidParameter(Fault::new(
            "id",
            "must be an appointment booked with a key alone or by an account: no other keeps its origin",
        ))
    })
}

fn booking_origin(row: &Vevent) -> Option<&BookingOrigin> {
    row.appointment()?.booking_origin.as_deref()
}
