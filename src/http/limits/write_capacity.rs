//! Write capacity, checked before a body is read, so that an excess request costs little.
//! Reference 2.3.

use crate::domain::state::group_state::GroupState;
use crate::http::auth::{AuthRequest, Identity};
use crate::http::body::Incoming;
use crate::http::endpoint::Endpoint;
use crate::http::error::ApiError;
use crate::http::idempotency::is_answered_before;
use crate::http::server::Server;

/// Rejects a write that the engine would reject now, or that the group has no space for. Its body
/// is dropped.
///
/// An admitted write holds no permit: the engine takes one with the command. Requests that need no
/// capacity always pass: reads, requests without the right, and repeated idempotency keys.
///
/// # Errors
/// 503. Nothing was done.
pub(crate) fn admit(
    body: &mut Incoming<'_>,
    server: &Server,
    endpoint: &Endpoint,
    identity: &Identity,
    state: Option<&GroupState>,
    auth: &AuthRequest<'_>,
) -> Result<(), ApiError> {
    let Some(state) = state else { return Ok(()) };
    let group = Some(state.catalogue.group.id);
    if !endpoint.writes() || endpoint.check_right(identity, group, auth.params).is_err() {
        return Ok(());
    }
    let engine = &server.engine;
    let error = if let Some(rejection) = engine.find_write_rejection(state.catalogue.group.id) {
        ApiError::from_rejection(rejection, state.catalogue.zone(), identity.audience())
    } else if endpoint.takes_space() && server.is_group_full(state, &identity.caller) {
        ApiError::group_full()
    } else {
        return Ok(());
    };
    if endpoint.creates() && is_answered_before(auth, identity, state, engine.steady_now()) {
        return Ok(());
    }
    body.discard();
    Err(error)
}
