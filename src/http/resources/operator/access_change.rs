//! Fields of the operator's requests, and changes of keys and professionals. Reference 3.1, 3.2.

use std::collections::BTreeSet;

use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use serde_json::{Map, Value};

use crate::domain::directory::access::{AccessRefusal, ChangeAccess};
use crate::domain::records::author::Author;
use crate::domain::records::fault::Fault;
use crate::domain::records::ids::GroupId;
use crate::domain::records::text::InvalidValue;
use crate::engine::AccessError;
use crate::http::error::ApiError;
use crate::http::request::ApiRequest;
use crate::http::response::HandlerResult;
use crate::wire::errors::Problem;
use crate::wire::value;

/// Returns a field of a body, parsed. One that is left out is null.
///
/// # Errors
/// The rule that the field breaks.
pub(crate) fn field<T>(
    body: &Map<String, Value>,
    name: &str,
    parse: impl FnOnce(&Value) -> Result<T, InvalidValue>,
) -> Result<T, Fault> {
    parse(body.get(name).unwrap_or(&Value::Null))
        .map_err(|InvalidValue(rule)| Fault::new(name, rule))
}

/// Does the same with a text.
///
/// # Errors
/// The rule that the field breaks.
pub(crate) fn text<T>(
    body: &Map<String, Value>,
    name: &str,
    parse: impl FnOnce(&str) -> Result<T, InvalidValue>,
) -> Result<T, Fault> {
    field(body, name, |given| parse(&value::parse_text(given)?))
}

/// Returns a field that may be left out, parsed.
///
/// # Errors
/// The rule that the field breaks.
pub(crate) fn optional<T>(
    body: &Map<String, Value>,
    name: &str,
    parse: impl FnOnce(&Value) -> Result<T, InvalidValue>,
) -> Result<Option<T>, Fault> {
    field(body, name, |given| if given.is_null() { Ok(None) } else { parse(given).map(Some) })
}

/// Parses a list of groups.
pub(crate) fn group_ids(given: &Value) -> Result<BTreeSet<GroupId>, InvalidValue> {
    let numbers = value::parse_ids(given)?;
    Ok(numbers.into_iter().filter_map(GroupId::new).collect())
}

/// The error of a change that is refused.
pub(crate) fn refused(refusal: &AccessRefusal) -> ApiError {
    ApiError::new(Problem::InvalidParameter, refusal.to_string())
}

/// Changes keys or professionals, and answers 204 when that is durable.
///
/// # Errors
/// The rule that the change breaks, or 503 if the store takes no writes.
pub(crate) async fn change_access(request: &ApiRequest, change: ChangeAccess) -> HandlerResult {
    match request.server.engine.change_access(Some(Author::Operator), change).await {
        Ok(()) => Ok(StatusCode::NO_CONTENT.into_response()),
        Err(AccessError::Refused(refusal)) => Err(refused(&refusal)),
        Err(AccessError::Rejected(rejection)) => Err(ApiError::from_store(rejection)),
    }
}
