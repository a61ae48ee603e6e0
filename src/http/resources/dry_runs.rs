//! The endpoint of dry runs: the appointments that a write would displace. Reference 6.19.

use std::sync::Arc;

use axum::http::StatusCode;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::domain::decisions::displaced::find_displaced;
use crate::domain::decisions::foresee;
use crate::domain::records::fault::Fault;
use crate::domain::state::command::{Batch, Command};
use crate::domain::state::group_state::GroupState;
use crate::domain::time::interval_set::Interval;
use crate::domain::time::{DAY, Instant};
use crate::http::endpoint::{Answer, Body, Endpoint, EndpointPath, Shape, handler};
use crate::http::error::ApiError;
use crate::http::permissions::{OWN_CALENDARS, Resource, Verb};
use crate::http::request::GroupRequest;
use crate::http::resources::batch::{BatchRequest, refuse};
use crate::http::response::{HandlerResult, json_response};
use crate::http::writes::batch_row::{PreparedRow, prepare_row};
use crate::wire::displaced::{DisplacedAnswer, render_displaced};
use crate::wire::schema::schema_of;

/// Maximum number of writes of a dry run.
const ROWS_MAX: usize = 500;
/// Cost of a record of the group in units of about 100 nanoseconds, if a write concerns all.
const RECORD_COST: i64 = 5;
/// Number of records from which the estimate leaves out the rules of open time: it is high enough.
const RECORDS_MAX: usize = 20_000;
/// Cost of a record then, with its share of the rules.
const LARGE_RECORD_COST: i64 = 25;
/// Days of open time that are expanded at once.
const SPAN_DAYS: i64 = 35;
/// Number of such spans in a year.
const SPANS: i64 = 11;

const DRY_RUNS: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/dry-runs");

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[Endpoint] =
    &[Endpoint::post(&[DRY_RUNS], handler!(InGroup, try_out))
        .named("TryOut", "List the appointments that writes would displace, without doing them")
        .tagged("dry-runs")
        .right(Resource::DryRun, Verb::Make, OWN_CALENDARS)
        .idempotency_key(false)
        .body(Body::plain(schema_of::<DryRunBody>))
        .answers(&[Answer::json(
            200,
            "the appointments that would be displaced",
            Shape::Named("Displaced", schema_of::<DisplacedAnswer>),
        )])];

/// Writes that are tried out.
#[derive(ToSchema)]
#[expect(dead_code, reason = "its members are read one by one")]
struct DryRunBody {
    /// The writes, in order. Each sees what those before it would do.
    #[schema(min_items = 1, max_items = 500)]
    requests: Vec<BatchRequest>,
}

/// POST /api/v1/groups/{group_id}/dry-runs. It reads one published state, and sends nothing to the
/// group.
async fn try_out(request: GroupRequest) -> HandlerResult {
    check_list(&request.body)?;
    let cost = estimate_dry_run(&request.state, request.now);
    let server = Arc::clone(&request.server);
    let compute = move || foresee_all(&request);
    let bytes = server.blocking_pool.run_weighed(cost, compute).await??;
    Ok(json_response(StatusCode::OK, bytes))
}

/// Returns the estimated cost of the list of a change that concerns every calendar for a year.
pub(crate) fn estimate_dry_run(state: &GroupState, now: Instant) -> i64 {
    let records = state.rows.len();
    let number = i64::try_from(records).unwrap_or(i64::MAX);
    if records >= RECORDS_MAX {
        return number.saturating_mul(LARGE_RECORD_COST);
    }
    let mut cost = number * RECORD_COST;
    let span = Interval { start: now, end: now.plus_seconds(SPAN_DAYS * DAY) };
    for view in state.calendars.values() {
        let occurrences = view.rules().count_looked_at(state.catalogue.zone(), span);
        cost = cost.saturating_add(occurrences.saturating_mul(SPANS));
    }
    cost
}

fn check_list(body: &Map<String, Value>) -> Result<(), Fault> {
    match body.get("requests") {
        Some(Value::Array(rows)) if (1..=ROWS_MAX).contains(&rows.len()) => Ok(()),
        Some(Value::Array(rows)) => {
            let rule = format!("must be 1 to {ROWS_MAX} writes, not {}", rows.len());
            Err(Fault::new("requests", rule))
        }
        _ => {
            let rule = format!("must be a list of 1 to {ROWS_MAX} writes");
            Err(Fault::new("requests", rule))
        }
    }
}

/// Prepares the writes, decides them on a copy of the state, and returns the list as JSON.
///
/// # Errors
/// Those of each wrong write, or of the first that is refused.
fn foresee_all(request: &GroupRequest) -> Result<Vec<u8>, ApiError> {
    let given = request.body.get("requests").and_then(Value::as_array);
    let mut rows = Vec::new();
    let mut wrong = Vec::new();
    for (index, row) in given.into_iter().flatten().enumerate() {
        match prepare_row(request, row).and_then(only_with_dry_run) {
            Ok(row) => rows.push(row),
            Err(error) => wrong.push((index, error)),
        }
    }
    if !wrong.is_empty() {
        return Err(refuse(wrong));
    }
    let commands = rows.iter().map(|row| row.command.clone()).collect();
    let role = request.identity.pro_role(request.state.catalogue.group.id);
    let batch = Command::Batch(Batch { commands, is_atomic: true }).within(role);
    let foreseen = match foresee(&request.state, &batch, request.now) {
        Ok(foreseen) => foreseen,
        Err(refusals) => {
            return Err(ApiError::from_refusals(&refusals, request.zone(), request.audience()));
        }
    };
    for (index, step) in foreseen.outcome.steps.iter().enumerate() {
        if let Err(refusals) = &step.outcome {
            let error = rows[index].refuse(refusals, request.zone());
            return Err(refuse([(index, error)]));
        }
    }
    let displaced = find_displaced(&request.state, &foreseen.state, request.now);
    Ok(render_displaced(&displaced, &foreseen.state))
}

/// Refuses a write that a dry run does not take.
fn only_with_dry_run(row: PreparedRow) -> Result<PreparedRow, ApiError> {
    if row.takes_expected {
        return Ok(row);
    }
    let rule = "has no dry run: only writes of hours, vevents, calendars and interventions have";
    Err(Fault::new("path", rule).into())
}
