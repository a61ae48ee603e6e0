//! Room for a write, looked for before its body is read: what is too much costs next to nothing. Reference 2.

use crate::domain::state::group_state::GroupState;
use crate::engine::Engine;
use crate::http::auth::{AuthRequest, Identity};
use crate::http::body::Incoming;
use crate::http::error::ApiError;
use crate::http::idempotency::is_answered_before;
use crate::http::pipeline::may;
use crate::http::route_table::Row;

/// Gives the body back to be read, or turns away a write that would not be let in now and leaves its body to itself.
/// Whoever gets by has no right to anything: the engine's permit is taken with the command. What needs no room is
/// answered as ever: what reads, what the caller may not do, what was answered before under the same Idempotency-Key.
///
/// # Errors
/// 503, and nothing was done.
pub(crate) fn let_in<'h>(
    body: Incoming<'h>,
    engine: &Engine,
    row: &Row,
    (identity, state): (&Identity, Option<&GroupState>),
    asked: &AuthRequest<'_>,
) -> Result<Incoming<'h>, ApiError> {
    let Some(state) = state.filter(|_| row.changes() && may(row, identity, asked.params).is_ok())
    else {
        return Ok(body);
    };
    let Some(rejection) = engine.find_write_rejection(state.catalogue.group.id) else {
        return Ok(body);
    };
    if row.makes() && is_answered_before(asked.headers, identity, state, asked.now) {
        return Ok(body);
    }
    body.leave();
    Err(ApiError::of_rejection(rejection, state.catalogue.zone(), identity.audience()))
}
