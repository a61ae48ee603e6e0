//! Whether the process is alive, and whether it serves. Contract 11.

use axum::http::StatusCode;
use axum::response::Response;

use super::call::json;

/// GET /healthz.
pub(super) fn alive() -> Response {
    json(StatusCode::OK, br#"{"status":"alive"}"#.to_vec())
}

/// GET /readyz: whoever can ask reaches a server that has recovered.
pub(super) fn ready() -> Response {
    json(StatusCode::OK, br#"{"status":"ready"}"#.to_vec())
}
