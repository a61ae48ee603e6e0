//! Events of calendars. Spec 4.7.

use super::call::{GroupCall, Outcome};
use super::failure::Failure;
use crate::domain::ids::VeventId;

/// GET /api/v1/groups/:group_id/vevents/:id.
pub(super) fn show(call: &GroupCall) -> Outcome {
    call.id(VeventId::new)?;
    Err(Failure::no_result())
}

/// GET /api/v1/groups/:group_id/vevents.
pub(super) async fn list(_: GroupCall) -> Outcome {
    Err(Failure::no_result())
}
