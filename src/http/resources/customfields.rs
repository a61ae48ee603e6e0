//! Definitions of customised attributes. Reference 13.9, 9.

use crate::domain::records::customfield::Customfield;
use crate::domain::state::command::{Put, RecordChange};
use crate::domain::state::group_state::GroupState;
use crate::http::pipeline::{GroupCall, Outcome};
use crate::http::resources::crud::{self, Resource};
use crate::wire::customfield::CUSTOMFIELD;
use crate::wire::field::Table;

impl Resource for Customfield {
    fn table() -> &'static Table<Self> {
        &CUSTOMFIELD
    }

    fn change(put: Put<Self>) -> RecordChange {
        RecordChange::Customfield(put)
    }

    fn left_out(field: &Self) -> bool {
        field.deleted
    }
}

/// GET /api/v1/groups/:group_id/customfields.
pub(crate) async fn list(call: GroupCall) -> Outcome {
    crud::list(&call, call.state.catalogue.customfields.len(), all_definitions, |_, _| true).await
}

fn all_definitions(state: &GroupState) -> Vec<&Customfield> {
    state.catalogue.customfields.values().map(AsRef::as_ref).collect()
}
