//! The link of the first run, for the operator. Reference 11.1, 15.12.

use serde_json::json;

use crate::http::endpoint::{EndpointMethod, OperatorEndpoint};
use crate::http::error::ApiError;
use crate::http::request::ApiRequest;
use crate::http::response::{HandlerResult, ok_response};
use crate::wire::errors::Problem;

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[OperatorEndpoint] =
    &[OperatorEndpoint::new(EndpointMethod::Post, "/api/v1/operator/first-run", |request| {
        Box::pin(make_link(request))
    })];

/// POST: makes a link, and ends the one before. The answer holds its `url`. 409 if the store has a
/// group, or no server serves it.
async fn make_link(request: ApiRequest) -> HandlerResult {
    let published = request.server.engine.published();
    if let Some(url) = request.server.new_first_run_link() {
        return Ok(ok_response(&json!({"url": url})));
    }
    let rule = if published.count_groups() > 0 || !published.quarantined().is_empty() {
        "the store has a group already: log in at /login, or add another group with `slotbook \
         group add`"
    } else {
        "no server runs on this data directory: start `slotbook serve` first"
    };
    Err(ApiError::new(Problem::Conflict, rule))
}
