//! Responses with JSON bodies, and the result type of handlers. Reference 1.5.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use serde_json::Value;

use crate::http::error::ApiError;

/// The result of a handler: a response, or an error in the error shape.
pub(crate) type HandlerResult = Result<Response, ApiError>;

/// Returns a response with a serialised JSON body that no cache may keep.
pub(crate) fn json_response(status: StatusCode, bytes: impl Into<Body>) -> Response {
    let mut response = Response::new(bytes.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Returns a 200 response with a JSON value.
pub(crate) fn ok_response(value: &Value) -> Response {
    json_response(StatusCode::OK, value.to_string().into_bytes())
}
