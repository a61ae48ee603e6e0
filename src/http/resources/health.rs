//! GET /healthz and GET /readyz. Reference 11.4.

use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

use crate::engine::health::WritesUnavailable;
use crate::http::endpoint::{
    AnswerSchema, BodySchema, Endpoint, EndpointMethod, EndpointPath, Handler,
};
use crate::http::response::json_response;
use crate::http::server::Server;

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[Endpoint] = &[
    Endpoint {
        operation_id: "Alive",
        summary: "Check that the process is alive",
        tag: "server",
        method: EndpointMethod::Get,
        paths: &[EndpointPath::current("/healthz")],
        right: None,
        query: &[],
        body: BodySchema::None,
        answer: AnswerSchema::Status,
        handler: Handler::Open(|_| alive()),
    },
    Endpoint {
        operation_id: "Ready",
        summary: "Check that the server accepts writes",
        tag: "server",
        method: EndpointMethod::Get,
        paths: &[EndpointPath::current("/readyz")],
        right: None,
        query: &[],
        body: BodySchema::None,
        answer: AnswerSchema::Readiness,
        handler: Handler::Open(ready),
    },
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
