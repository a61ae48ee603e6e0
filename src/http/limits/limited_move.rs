//! Moves of appointments by the public and by accounts, within the limits that the API and the
//! pages share. Reference 6.9.

use std::sync::Arc;

use crate::domain::decisions::appointment_move::{find_movable, find_new_slot};
use crate::domain::records::author::Author;
use crate::domain::records::vevent::Vevent;
use crate::domain::state::command::MoveAppointment;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::precondition::Precondition;
use crate::domain::state::refusal::Refusal;
use crate::domain::time::Instant;
use crate::engine::Rejection;
use crate::http::limits::booking_limit::LimitSubjects;
use crate::http::limits::guarded_write::{GuardedRejection, GuardedWrite};
use crate::http::server::Server;

/// Moves an appointment that meets the precondition, for a caller who is counted, as all but
/// professionals are.
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
    author: Author,
    state: &Arc<GroupState>,
    command: MoveAppointment,
    precondition: Option<Precondition>,
    subjects: LimitSubjects,
    now: Instant,
) -> Result<Arc<GroupState>, GuardedRejection> {
    // The request's own state may be as old as its body is slow.
    let newest = server.engine.published().group_state(state.catalogue.group.id);
    let state = newest.as_ref().unwrap_or(state);
    let group = &state.catalogue.group;
    // A caller without the right learns nothing, not even that the guesses of a client are used up.
    let email = match find_movable(state, &command) {
        Ok((row, _)) => guessed_email(state, row),
        Err(refusal) => return Err(Rejection::Refused(vec![refusal]).into()),
    };
    if let Ok(None) = find_new_slot(state, &command, now) {
        if let Some(precondition) = precondition {
            let checked = precondition.check(state);
            checked.map_err(|present| Rejection::Refused(vec![Refusal::overtaken(present)]))?;
        }
        return Ok(Arc::clone(state));
    }
    let write = GuardedWrite::moving(group.id, command, precondition, subjects, email, now);
    let (done, _) = write.send(server, author, None).await?;
    Ok(done.group_state)
}

/// The address that guesses by an appointment's secret count for. `None` if the appointment was not
/// booked with a key alone: then its client or the shop has passed the secret on, and strangers who
/// guess at the address do not stop its moves.
fn guessed_email(state: &GroupState, row: &Vevent) -> Option<Arc<str>> {
    if !row.is_booked_by_key() {
        return None;
    }
    let client = state.fiches.get(&row.appointment()?.fiche_id)?;
    client.email.as_ref().map(|email| email.folded().into())
}
