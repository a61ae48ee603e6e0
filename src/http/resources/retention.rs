//! The preview of a group's retention. Reference 17.5.

use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::decisions::retention::{RetentionMonths, find_due};
use crate::domain::records::fault::Fault;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;
use crate::http::endpoint::{Answer, Endpoint, EndpointPath, QueryKind, Shape, handler};
use crate::http::error::ApiError;
use crate::http::permissions::{ADMINISTRATORS, Resource, Verb};
use crate::http::request::GroupRequest;
use crate::http::response::{HandlerResult, ok_response};
use crate::http::server::Server;
use crate::wire::params::Params;
use crate::wire::query::{FaultCollector, parse_number};
use crate::wire::schema::{Count, schema_of};

/// Maximum number of months of each setting.
const MONTHS_MAX: i64 = 600;

const DUE: Answer = Answer::json(
    200,
    "numbers of what is due",
    Shape::Named("RetentionPreview", schema_of::<RetentionPreview>),
);

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[Endpoint] = &[Endpoint::get(
    &[EndpointPath::current("/api/v1/groups/{group_id}/retention")],
    handler!(InGroup, preview),
)
.named("PreviewRetention", "Count what a retention would empty, erase and close now")
.right(Resource::Retention, Verb::Show, ADMINISTRATORS)
.tagged("retention")
.query(&[
    QueryKind::Integer { min: 0, max: MONTHS_MAX }
        .named("retention_appointments_months", "another value than that of the group"),
    QueryKind::Integer { min: 0, max: MONTHS_MAX }
        .named("retention_clients_months", "another value than that of the group"),
    QueryKind::Integer { min: 0, max: MONTHS_MAX }
        .named("retention_accounts_months", "another value than that of the group"),
])
.answers(&[DUE])];

/// Numbers of what a retention would change now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct RetentionPreview {
    /// Number of past appointments that would lose their person.
    #[schema(value_type = Count)]
    pub(crate) appointments: usize,
    /// Number of clients that would be erased.
    #[schema(value_type = Count)]
    pub(crate) clients: usize,
    /// Number of accounts that would be closed.
    #[schema(value_type = Count)]
    pub(crate) accounts: usize,
}

/// GET /api/v1/groups/{group_id}/retention.
async fn preview(request: GroupRequest) -> HandlerResult {
    let months = parse_months(&request.params, &request.state)?;
    let state = Arc::clone(&request.state);
    Ok(ok_response(&count_due(&request.server, state, months, request.now).await?))
}

/// Counts what would be due now with some settings, on a thread that serves no connection.
///
/// # Errors
/// 503 if too many such requests wait.
pub(crate) async fn count_due(
    server: &Server,
    state: Arc<GroupState>,
    months: RetentionMonths,
    now: Instant,
) -> Result<RetentionPreview, ApiError> {
    let count = move || {
        let due = find_due(&state, months, now);
        RetentionPreview {
            appointments: due.appointments.len(),
            clients: due.clients.len(),
            accounts: due.accounts.len(),
        }
    };
    server.blocking_pool.run(count).await
}

/// Reads the months of parameters, in place of those of the group.
///
/// # Errors
/// All faults, each with its parameter.
pub(crate) fn parse_months(
    params: &Params,
    state: &GroupState,
) -> Result<RetentionMonths, Vec<Fault>> {
    let mut faults = FaultCollector::default();
    let mut read = |name: &str, own: u32| {
        let given = faults.keep_fault(parse_number(params, name, 0..=MONTHS_MAX));
        given.and_then(|months| u32::try_from(months).ok()).unwrap_or(own)
    };
    let own = RetentionMonths::of_group(&state.catalogue.group);
    let months = RetentionMonths {
        appointments: read("retention_appointments_months", own.appointments),
        clients: read("retention_clients_months", own.clients),
        accounts: read("retention_accounts_months", own.accounts),
    };
    if faults.0.is_empty() { Ok(months) } else { Err(faults.0) }
}
