//! Clients. Spec 4.6, contract 3, 6.

use super::call::{GroupCall, Outcome};
use super::listing::page;
use super::records::Resource;
use crate::domain::command::{Put, RecordChange};
use crate::domain::fiche::Fiche;
use crate::domain::root::Root;
use crate::wire::fiche::FICHE;
use crate::wire::field::{Scope, Table};
use crate::wire::list::Query;

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
    let audience = call.audience();
    let query = Query::parse(&call.params, &FICHE, &call.scope(), audience)?;
    let render = move |fiche: &Fiche, scope: &Scope<'_>| FICHE.render(fiche, scope, audience);
    page(&call, call.root.fiches.len(), query, all_fiches, |_, _| true, render).await
}

fn all_fiches(root: &Root) -> Vec<&Fiche> {
    root.fiches.values().map(AsRef::as_ref).collect()
}
