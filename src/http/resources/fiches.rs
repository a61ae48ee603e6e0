//! Clients. Reference 13.6, 3, 6.

use std::sync::Arc;

use crate::domain::identity::account::Account;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::ids::FicheId;
use crate::domain::records::text::Email;
use crate::domain::state::command::{Caller, Command, LinkRequest, Put, RecordChange, RequestLink};
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::Fault;
use crate::http::error::ApiError;
use crate::http::pipeline::{GroupCall, Outcome, wrapped};
use crate::http::resources::accounts;
use crate::http::resources::crud::{self, Resource};
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
pub(crate) async fn list(call: GroupCall) -> Outcome {
    match call.caller() {
        Caller::Account(account) => {
            crud::list(&call, 1, own_fiches(Arc::clone(account)), |_, _| true).await
        }
        Caller::Application | Caller::Pro(_) => {
            crud::list(&call, call.state.fiches.len(), all_fiches, |_, _| true).await
        }
    }
}

/// GET /api/v1/groups/:group_id/fiches/:id.
pub(crate) fn show(call: &GroupCall) -> Outcome {
    must_be_the_callers(call)?;
    crud::show::<Fiche>(call)
}

/// PUT /api/v1/groups/:group_id/fiches/:id. An account changes what is the client's to say; another address of its own
/// is first mailed a link. Reference 3.
pub(crate) async fn change(mut call: GroupCall) -> Outcome {
    must_be_the_callers(&call)?;
    let Caller::Account(account) = call.caller() else {
        return crud::change::<Fiche>(call).await;
    };
    let asked_by = account.email.folded();
    let id = call.id(FicheId::new)?;
    let before = call.state.fiches.get(&id).ok_or_else(ApiError::no_result)?;
    let mut object = wrapped(&call.body, FICHE.resource)?.clone();
    let mut whole = Fiche::clone(before);
    FICHE.parse(&object, &call.scope(), call.audience())?.apply_to(&mut whole);
    let folded = |fiche: &Fiche| fiche.email.as_ref().map(Email::folded);
    let is_another = folded(before) != folded(&whole);
    // Another address takes effect only once somebody has followed a link mailed there.
    object.shift_remove("email");
    let email = match whole.email {
        Some(email) if is_another => email,
        None if is_another => {
            return Err(
                Fault::new("email", "an account keeps an e-mail address: give another").into()
            );
        }
        Some(_) | None => {
            call.body.insert(FICHE.resource.to_owned(), object.into());
            return crud::change::<Fiche>(call).await;
        }
    };
    let fields = FICHE.parse(&object, &call.scope(), call.audience())?;
    accounts::count_link(&call.server, call.from, call.now)?;
    let request = LinkRequest::Email { account: asked_by, put: Put { id: Some(id), fields } };
    let done = call.write(Command::RequestLink(Box::new(RequestLink { email, request }))).await?;
    let row = done.group_state.fiches.get(&id).ok_or_else(ApiError::no_result)?;
    Ok(crud::answer::<Fiche>(row, &done.group_state, call.audience()))
}

/// What is not an account's own is not there for it.
fn must_be_the_callers(call: &GroupCall) -> Result<(), ApiError> {
    let id = call.id(FicheId::new)?;
    match call.caller() {
        Caller::Account(account) if !account.owns(id) => Err(ApiError::no_result()),
        Caller::Account(_) | Caller::Application | Caller::Pro(_) => Ok(()),
    }
}

fn own_fiches(account: Arc<Account>) -> impl for<'r> Fn(&'r GroupState) -> Vec<&'r Fiche> + Send {
    move |state: &GroupState| {
        account.own().filter_map(|id| state.fiches.get(&id)).map(AsRef::as_ref).collect()
    }
}

fn all_fiches(state: &GroupState) -> Vec<&Fiche> {
    state.fiches.values().map(AsRef::as_ref).collect()
}
