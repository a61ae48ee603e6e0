//! GET /healthz and GET /readyz. Reference 11.4.

use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

use crate::engine::health::WritesUnavailable;
use crate::http::endpoint::{Answer, Endpoint, EndpointPath, Handler, Shape};
use crate::http::openapi::answers;
use crate::http::response::json_response;
use crate::http::server::Server;

const STATUS: Shape = Shape::Named("Status", answers::status);
const STATE: Answer = Answer::json(200, "the status of the server", STATUS);
const NOT_READY: Answer = Answer::json(503, "the server accepts no writes now", STATUS);

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[Endpoint] = &[
    Endpoint::get(&[EndpointPath::current("/healthz")], Handler::Open(|_| alive()))
        .named("Alive", "Check that the process is alive")
        .answers(&[STATE]),
    Endpoint::get(&[EndpointPath::current("/readyz")], Handler::Open(ready))
        .named("Ready", "Check that the server accepts writes")
        .answers(&[STATE, NOT_READY]),
];

/// GET /healthz.
pub(crate) fn alive() -> Response {
    json_response(StatusCode::OK, br#"{"status":"alive"}"#.as_slice())
}

/// GET /readyz during recovery.
pub(crate) fn recovering() -> Response {
    let status = json!({"status": "not ready", "reason": "the store is being read"});
    json_response(StatusCode::SERVICE_UNAVAILABLE, status.to_string())
}

/// GET /readyz after recovery: whether the store accepts writes. Groups in quarantine are listed;
/// they do not affect the others.
fn ready(server: &Server) -> Response {
    let (code, mut status) = match server.engine.health().writes_unavailable() {
        None => (StatusCode::OK, json!({"status": "ready"})),
        Some(WritesUnavailable::SlowDisk(seconds)) => {
            let reason = format!("a write has waited for the disk for {seconds} seconds");
            let status = json!({"status": "not ready", "reason": reason});
            (StatusCode::SERVICE_UNAVAILABLE, status)
        }
        Some(WritesUnavailable::LowDiskSpace) => {
            let reason = "the free disk space is below the reserve";
            let status = json!({"status": "not ready", "reason": reason});
            (StatusCode::SERVICE_UNAVAILABLE, status)
        }
    };
    let quarantined: Vec<u64> =
        server.engine.published().quarantined().keys().map(|group| group.number()).collect();
    if !quarantined.is_empty() {
        status["groups_set_aside"] = json!(quarantined);
    }
    json_response(code, status.to_string())
}
