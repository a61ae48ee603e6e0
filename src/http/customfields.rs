//! Definitions of customised attributes. Spec 4.9, contract 9.

use super::call::{GroupCall, Outcome};
use super::records::{self, Resource};
use crate::domain::command::{Put, RecordChange};
use crate::domain::customfield::Customfield;
use crate::domain::root::Root;
use crate::wire::customfield::CUSTOMFIELD;
use crate::wire::field::Table;

impl Resource for Customfield {
    fn table() -> &'static Table<Self> {
        &CUSTOMFIELD
    }

    fn change(put: Put<Self>) -> RecordChange {
        RecordChange::Customfield(put)
    }
}

/// GET /api/v1/groups/:group_id/customfields: the live ones.
pub(super) async fn list(call: GroupCall) -> Outcome {
    records::list(&call, call.root.catalogue.customfields.len(), all_definitions, |field, _| !field.deleted).await
}

fn all_definitions(root: &Root) -> Vec<&Customfield> {
    root.catalogue.customfields.values().map(AsRef::as_ref).collect()
}
