//! Clients. Spec 4.6, contract 3, 6.

use super::call::{GroupCall, Outcome};
use super::records::{self, Resource};
use crate::domain::command::{Put, RecordChange};
use crate::domain::fiche::Fiche;
use crate::domain::root::Root;
use crate::wire::fiche::FICHE;
use crate::wire::field::Table;

impl Resource for Fiche {
    fn table() -> &'static Table<Self> {
        &FICHE
    }

    fn change(put: Put<Self>) -> RecordChange {
        RecordChange::Fiche(put)
    }
}

/// GET /api/v1/groups/:group_id/fiches: deleted ones included, since clients synchronise by them.
pub(super) async fn list(call: GroupCall) -> Outcome {
    records::list(&call, call.root.fiches.len(), all_fiches, |_, _| true).await
}

fn all_fiches(root: &Root) -> Vec<&Fiche> {
    root.fiches.values().map(AsRef::as_ref).collect()
}
