//! Erasures that are repeated on a restored store. Reference 17.2.

use serde::Serialize;

use crate::domain::records::text::InvalidValue;
use crate::engine::ForgottenClient;
use crate::http::endpoint::{EndpointMethod, OperatorEndpoint};
use crate::http::error::ApiError;
use crate::http::request::ApiRequest;
use crate::http::resources::operator::access_change::text;
use crate::http::response::{HandlerResult, ok_response};
use crate::wire::field::Audience;

const ERASURES: &str = "/api/v1/operator/erasures";

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[OperatorEndpoint] =
    &[OperatorEndpoint::new(EndpointMethod::Post, ERASURES, |request| {
        Box::pin(erase_listed(request))
    })];

/// The outcome of an erasure that is repeated.
#[derive(Serialize)]
struct ErasureAnswer {
    outcome: &'static str,
}

/// POST `{"client"}`, a line of the list of erased clients: erases that client with its upcoming
/// appointments. A record that was made at another moment is left alone. The answer has the
/// `outcome` in words.
async fn erase_listed(request: ApiRequest) -> HandlerResult {
    let client = text(&request.body, "client", |line| {
        let rule = "must be a line such as 1 17 2026-11-25T09:00:00Z";
        ForgottenClient::parse(line).ok_or_else(|| InvalidValue(rule.into()))
    })?;
    let engine = &request.server.engine;
    let outcome = |outcome| Ok(ok_response(&ErasureAnswer { outcome }));
    let Some(state) = engine.published().group_state(client.group) else {
        return outcome("not there: the group does not exist");
    };
    let Some(fiche) = state.fiches.get(&client.fiche) else {
        return outcome("not there: the fiche does not exist");
    };
    if fiche.created_at != client.created_at {
        return outcome("left alone: the fiche was made at another time");
    }
    if fiche.erased_at.is_some() {
        return outcome("erased before");
    }
    let author = request.identity.author();
    match engine.erase_clients(client.group, author, vec![client.fiche], true).await {
        Ok(_) => outcome("erased"),
        Err(error) => Err(ApiError::from_erasure(error, state.catalogue.zone(), Audience::Pro)),
    }
}
