//! GET /healthz and GET /readyz. Reference 11.4.

use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::records::ids::GroupId;
use crate::engine::health::WritesUnavailable;
use crate::http::endpoint::{Answer, Endpoint, EndpointPath, Handler, Shape};
use crate::http::response::{json_response, ok_response, to_json};
use crate::http::server::Server;
use crate::wire::schema::schema_of;

const STATUS: Shape = Shape::Named("Status", schema_of::<Status>);
const STATE: Answer = Answer::json(200, "the status of the server", STATUS);
const NOT_READY: Answer = Answer::json(503, "the server accepts no writes now", STATUS);

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[Endpoint] = &[
    Endpoint::get(&[EndpointPath::current("/healthz")], Handler::Open(|_, _| alive()))
        .named("Alive", "Check that the process is alive")
        .answers(&[STATE]),
    Endpoint::get(&[EndpointPath::current("/readyz")], Handler::Open(ready))
        .named("Ready", "Check that the server accepts writes")
        .answers(&[STATE, NOT_READY]),
];

/// The status of the server.
#[derive(Serialize, ToSchema)]
struct Status {
    /// State in one word.
    status: &'static str,
    /// Reason why the server accepts no writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    reason: Option<String>,
    /// Ids of the groups in quarantine, if there are any.
    #[serde(rename = "groups_set_aside", skip_serializing_if = "Vec::is_empty")]
    quarantined: Vec<GroupId>,
}

impl Status {
    const fn new(status: &'static str) -> Self {
        Self { status, reason: None, quarantined: Vec::new() }
    }

    fn not_ready(reason: String) -> Self {
        Self { reason: Some(reason), ..Self::new("not ready") }
    }
}

/// A check of health, which each server of a cluster answers for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HealthCheck {
    /// GET /healthz.
    Alive,
    /// GET /readyz.
    Ready,
}

impl HealthCheck {
    /// Returns the check at a path, which may end with `.json` as every other.
    pub(crate) fn at(path: &str) -> Option<Self> {
        match path.strip_suffix(".json").unwrap_or(path) {
            "/healthz" => Some(Self::Alive),
            "/readyz" => Some(Self::Ready),
            _ => None,
        }
    }
}

/// GET /healthz.
pub(crate) fn alive() -> Response {
    ok_response(&Status::new("alive"))
}

/// GET /readyz during recovery.
pub(crate) fn recovering() -> Response {
    let status = Status::not_ready("the store is being read".to_owned());
    json_response(StatusCode::SERVICE_UNAVAILABLE, to_json(&status))
}

/// GET /readyz of a server that follows its cluster, with the address of the one that decides.
pub(crate) fn following(holder: Option<&str>) -> Response {
    let status = Status::not_ready(match holder {
        Some(holder) => format!("this server follows its cluster; {holder} decides"),
        None => "this server follows its cluster; none is known to decide".to_owned(),
    });
    json_response(StatusCode::SERVICE_UNAVAILABLE, to_json(&status))
}

/// GET /readyz after recovery: whether the store accepts writes, and the first run is over. Groups
/// in quarantine are listed; they do not affect the others.
fn ready(server: &Server, headers: &HeaderMap) -> Response {
    let mut status = match server.engine.health().writes_unavailable() {
        None if server.lacks_first_run() => Status::not_ready(
            "the store has no group: open the link that `slotbook first-run` prints, or add one \
             with `slotbook group add`"
                .to_owned(),
        ),
        None => Status::new("ready"),
        Some(WritesUnavailable::SlowDisk(seconds)) => {
            Status::not_ready(format!("a write has waited for the disk for {seconds} seconds"))
        }
        Some(WritesUnavailable::SilentStore(seconds)) => {
            Status::not_ready(format!("a write has waited for PostgreSQL for {seconds} seconds"))
        }
        Some(WritesUnavailable::LowDiskSpace) => {
            Status::not_ready("the free disk space is below the reserve".to_owned())
        }
    };
    status.quarantined = server.engine.published().quarantined().keys().copied().collect();
    let is_ready = status.reason.is_none();
    let code = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let mut response = json_response(code, to_json(&status));
    if let Some(cluster) = &server.cluster {
        cluster.proof.answer(headers, &mut response);
    }
    response
}
