//! Whether the process is alive, and whether it serves. Reference 11.

use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

use crate::engine::Engine;
use crate::engine::health::WritesUnavailable;
use crate::http::pipeline;

/// GET /healthz.
pub(crate) fn alive() -> Response {
    pipeline::json(StatusCode::OK, br#"{"status":"alive"}"#.to_vec())
}

/// GET /readyz before the store is read.
pub(crate) fn recovering() -> Response {
    let state = json!({"status": "not ready", "reason": "the store is being read"});
    pipeline::json(StatusCode::SERVICE_UNAVAILABLE, state.to_string().into_bytes())
}

/// GET /readyz: recovered, since [`recovering`] answers before, and accepting writes. Groups set aside are named; the others
/// live on.
pub(crate) fn ready(engine: &Engine) -> Response {
    let (status, mut state) = match engine.health().writes_unavailable() {
        None => (StatusCode::OK, json!({"status": "ready"})),
        Some(closed) => {
            let reason = match closed {
                WritesUnavailable::SlowDisk(seconds) => {
                    format!("a write has been on its way to the disk for {seconds} seconds")
                }
                WritesUnavailable::LowDiskSpace => {
                    "the disk has less room than is kept in reserve".to_owned()
                }
            };
            (StatusCode::SERVICE_UNAVAILABLE, json!({"status": "not ready", "reason": reason}))
        }
    };
    let aside: Vec<u64> =
        engine.published().quarantined().keys().map(|group| group.number()).collect();
    if !aside.is_empty() {
        state["groups_set_aside"] = json!(aside);
    }
    pipeline::json(status, state.to_string().into_bytes())
}
