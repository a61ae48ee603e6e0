//! Clients. Spec 4.6, contract 3, 6.

use std::sync::Arc;

use super::call::{GroupCall, Outcome};
use super::failure::Failure;
use serde_json::Value;

use super::records::{self, Resource};
use crate::domain::account::Account;
use crate::domain::command::{Caller, Put, RecordChange};
use crate::domain::fiche::Fiche;
use crate::domain::ids::FicheId;
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

/// GET /api/v1/groups/:group_id/fiches: deleted ones included, since clients synchronise by them. An account's own.
pub(super) async fn list(call: GroupCall) -> Outcome {
    match call.caller() {
        Caller::Account(account) => records::list(&call, 1, own_fiches(Arc::clone(account)), |_, _| true).await,
        Caller::Application | Caller::Pro(_) => {
            records::list(&call, call.root.fiches.len(), all_fiches, |_, _| true).await
        }
    }
}

/// GET /api/v1/groups/:group_id/fiches/:id.
pub(super) fn show(call: &GroupCall) -> Outcome {
    must_be_the_callers(call)?;
    records::show::<Fiche>(call)
}

/// PUT /api/v1/groups/:group_id/fiches/:id. An account changes what is the client's to say. Contract 3.
pub(super) async fn change(mut call: GroupCall) -> Outcome {
    must_be_the_callers(&call)?;
    if matches!(call.caller(), Caller::Account(_))
        && let Some(object) = call.body.get_mut(FICHE.resource).and_then(Value::as_object_mut)
    {
        // Another address takes effect only once somebody has followed a link mailed there.
        object.shift_remove("email");
    }
    records::change::<Fiche>(call).await
}

/// What is not an account's own is not there for it.
fn must_be_the_callers(call: &GroupCall) -> Result<(), Failure> {
    let id = call.id(FicheId::new)?;
    match call.caller() {
        Caller::Account(account) if !account.owns(id) => Err(Failure::no_result()),
        Caller::Account(_) | Caller::Application | Caller::Pro(_) => Ok(()),
    }
}

fn own_fiches(account: Arc<Account>) -> impl for<'r> Fn(&'r Root) -> Vec<&'r Fiche> + Send {
    move |root: &Root| account.own().filter_map(|id| root.fiches.get(&id)).map(AsRef::as_ref).collect()
}

fn all_fiches(root: &Root) -> Vec<&Fiche> {
    root.fiches.values().map(AsRef::as_ref).collect()
}
