//! Moves of appointments by the public and by accounts, within the limits that the API and the
//! pages share. Reference 6.13.

use std::sync::Arc;

use crate::domain::decisions::appointment_move::{find_movable, find_new_slot};
use crate::domain::records::text::Email;
use crate::domain::records::vevent::Vevent;
use crate::domain::state::command::{CancelRight, Command, MoveAppointment};
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;
use crate::domain::time::zone::Zone;
use crate::engine::Rejection;
use crate::http::error::ApiError;
use crate::http::limits::booking_limit::BookingOrigin;
use crate::http::limits::enumeration_limit::BookingPermit;
use crate::http::server::Server;
use crate::wire::field::Audience;

/// The reason why an appointment keeps its time.
pub(crate) enum MoveRejection {
    /// A limit is used up. Nothing was asked of the engine.
    Limited(ApiError),
    /// The engine's rejection.
    Rejected(Rejection),
}

impl MoveRejection {
    /// The error of an answer, in words for the audience.
    pub(crate) fn into_error(self, zone: Zone, audience: Audience) -> ApiError {
        match self {
            Self::Limited(error) => error,
            Self::Rejected(rejection) => ApiError::from_rejection(rejection, zone, audience),
        }
    }
}

/// Moves an appointment for a caller with an origin, which every caller but a professional has.
/// Returns the state with the moved appointment. The same start again writes nothing, and takes no
/// place of a limit.
///
/// A refusal by a rule of the client tells of that client's other appointments. By the secret of an
/// appointment it counts as a guess, since a stranger may have booked in the client's name.
///
/// # Errors
/// 429 after too many moves or guesses; the engine's rejection.
pub(crate) async fn move_within_limits(
    server: &Server,
    state: &Arc<GroupState>,
    command: MoveAppointment,
    origin: BookingOrigin,
    now: Instant,
) -> Result<Arc<GroupState>, MoveRejection> {
    // The request's own state may be as old as its body is slow.
    let newest = server.engine.published().group_state(state.catalogue.group.id);
    let state = newest.as_ref().unwrap_or(state);
    let group = &state.catalogue.group;
    // A caller without the right learns nothing, not even that the guesses of a client are used up.
    let email = match find_movable(state, &command) {
        Ok((row, _)) => guessed_email(state, row),
        Err(refusal) => {
            return Err(MoveRejection::Rejected(Rejection::Refused(vec![refusal])));
        }
    };
    if let Ok(None) = find_new_slot(state, &command, now) {
        return Ok(Arc::clone(state));
    }
    let permit = match &command.right {
        CancelRight::Secret(_) => {
            let admitted = server.guesses.admit(email, origin.source(), now).await;
            Some(admitted.map_err(MoveRejection::Limited)?)
        }
        CancelRight::Account(_) | CancelRight::Pro => None,
    };
    let origin = origin.for_move(command.id);
    let reserved = server.reserve_places(Some(&origin), 1, now);
    let places = reserved.map_err(MoveRejection::Limited)?;
    let hook = permit.as_ref().map(BookingPermit::acceptance_hook);
    let command = Command::MoveAppointment(command);
    let written = server.engine.write_idempotent(group.id, command, None, hook).await;
    places.settle(written.is_ok());
    match written {
        Ok(done) => Ok(done.group_state),
        Err(rejection) => {
            let zone = state.catalogue.zone();
            let error = ApiError::from_rejection(rejection.clone(), zone, Audience::Application);
            if let Some(permit) = &permit
                && error.reveals_client(false)
            {
                permit.count_refusal(now);
            }
            Err(MoveRejection::Rejected(rejection))
        }
    }
}

/// The address that guesses by an appointment's secret count for. `None` if the appointment was not
/// booked with a key alone: then its client or the shop has passed the secret on, and strangers who
/// guess at the address do not stop its moves.
fn guessed_email(state: &GroupState, row: &Vevent) -> Option<Box<str>> {
    if !row.is_booked_by_key() {
        return None;
    }
    let client = state.fiches.get(&row.appointment()?.fiche_id)?;
    client.email.as_ref().map(Email::folded)
}
