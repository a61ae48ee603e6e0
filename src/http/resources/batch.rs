//! Endpoint of batches: up to 100 writes in one request. Reference 13.18.

use std::sync::Arc;

use axum::http::StatusCode;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa::openapi::schema::AdditionalProperties;

use crate::domain::records::fault::Fault;
use crate::domain::state::command::{Batch, Command};
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::Refusals;
use crate::engine::Committed;
use crate::http::answer::answer_parts::AnswerParts;
use crate::http::endpoint::{Answer, Body, Endpoint, EndpointPath, Shape, handler};
use crate::http::error::ApiError;
use crate::http::limits::guarded_write::GuardedWrite;
use crate::http::permissions::{OWN_CALENDARS, Resource, Verb};
use crate::http::request::GroupRequest;
use crate::http::response::{HandlerResult, json_response};
use crate::http::writes::batch_row::{PreparedRow, prepare_row};
use crate::http::writes::expected::expecting;
use crate::http::writes::prepared_write::{Sent, send_once};
use crate::wire::displaced::{EXPECTED, GivenDigest, ListDigest};
use crate::wire::schema::{GivenFlag, object, one_of, schema_names, schema_of, text, whole};
use crate::wire::value;

/// Maximum number of rows of a batch.
const ROWS_MAX: usize = 100;

const BATCH: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/batch");

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[Endpoint] =
    &[Endpoint::post(&[BATCH], handler!(InGroup, carry_out))
        .named("CarryOutBatch", "Carry out up to 100 writes, each by itself or all or none")
        .tagged("batch")
        .right(Resource::Batch, Verb::Make, OWN_CALENDARS)
        .body(Body::plain(schema_of::<BatchBody>))
        .answers(&[Answer::json(
            200,
            "the answer to each row, in order",
            Shape::Named("BatchAnswers", schema_of::<BatchAnswers>),
        )])
        .conflicting()];

/// Writes in one request.
#[derive(ToSchema)]
#[expect(dead_code, reason = "its members are read one by one")]
struct BatchBody {
    /// The writes, in order. Each sees what those before it have done.
    #[schema(min_items = 1, max_items = 100)]
    requests: Vec<BatchRequest>,
    /// Whether nothing is done if one of them is refused.
    #[schema(value_type = Option<GivenFlag>)]
    atomic: bool,
    /// The digest of a dry run of the same writes; only with atomic. 409 if other appointments
    /// would be displaced.
    #[schema(value_type = Option<GivenDigest>)]
    expected: Option<String>,
}

/// One write of a batch.
#[derive(ToSchema)]
#[expect(dead_code, reason = "its members are read one by one")]
pub(crate) struct BatchRequest {
    /// The method of the same request alone.
    #[schema(value_type = WriteMethod)]
    method: String,
    /// The path of the same request alone, with its query.
    #[schema(value_type = WritePath)]
    path: String,
    /// The value of its header If-Match.
    #[schema(value_type = Option<GivenTags>)]
    if_match: Option<String>,
    /// Its body.
    #[schema(value_type = Option<AnyObject>)]
    body: Option<Map<String, Value>>,
}

/// The answers to the rows of a batch.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the answers are written one by one")]
struct BatchAnswers {
    /// The answer to each row, in order.
    responses: Vec<BatchAnswer>,
}

/// The answer to a row of a batch.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the answers are written one by one")]
struct BatchAnswer {
    /// The status of the same request alone.
    #[schema(value_type = WriteStatus)]
    status: u16,
    /// The header Location of that answer, if it has one.
    #[schema(value_type = Option<WritePath>)]
    location: Option<String>,
    /// The header ETag of that answer, if it has one.
    #[schema(value_type = Option<GivenTags>)]
    etag: Option<String>,
    /// The body of that answer.
    #[schema(value_type = AnyObject)]
    body: Map<String, Value>,
}

schema_names! {
    /// The method of a write.
    WriteMethod => one_of(["POST", "PUT", "DELETE"]);
    /// The path of a write, with its query.
    WritePath => text();
    /// The value of a header If-Match or ETag.
    GivenTags => text();
    /// The status of an answer.
    WriteStatus => whole(200, 599);
    /// An object of any kind.
    AnyObject => object().additional_properties(Some(AdditionalProperties::FreeForm(true)));
}

/// POST /api/v1/groups/{group_id}/batch. The rows that pass the checks of their handlers are one
/// command to the group.
async fn carry_out(request: GroupRequest) -> HandlerResult {
    let (requests, is_atomic) = read(&request.body)?;
    let expected = read_expected(&request.body, is_atomic)?;
    let mut rows = Vec::with_capacity(requests.len());
    for row in requests {
        rows.push(prepare_row(&request, row));
    }
    if is_atomic && rows.iter().any(Result::is_err) {
        let wrong = rows.into_iter().map(Result::err).enumerate();
        return Err(refuse(wrong.filter_map(|(index, error)| Some((index, error?)))));
    }
    let commands = rows.iter().flatten().map(|row| row.command.clone()).collect();
    let rows = Arc::new(Rows { rows, state: Arc::clone(&request.state) });
    let key = request.idempotency_key.clone()?;
    let command = Command::Batch(Batch { commands, is_atomic });
    let command = match expected {
        Some(digest) => expecting(command, digest),
        None => command,
    };
    let write = GuardedWrite::unlimited(request.state.catalogue.group.id, command);
    let render = {
        let rows = Arc::clone(&rows);
        move |done: &Committed| rows.render(&done.steps)
    };
    match send_once(&request.server, request.identity.author(), write, key, render).await {
        Ok(Sent { kept: Some(kept), .. }) => Ok(json_response(StatusCode::OK, kept)),
        Ok(Sent { done, .. }) => {
            if is_atomic && let Some(error) = rows.find_refusal(&done.steps) {
                return Err(refuse([error]));
            }
            Ok(json_response(StatusCode::OK, rows.render(&done.steps)))
        }
        Err(rejection) => Err(rejection.into_error(request.zone(), request.audience())),
    }
}

/// Reads the rows of a body, and whether all or none are carried out.
///
/// # Errors
/// A fault for each wrong member.
fn read(body: &Map<String, Value>) -> Result<(&[Value], bool), Vec<Fault>> {
    let mut faults = Vec::new();
    let rows = match body.get("requests") {
        Some(Value::Array(rows)) if (1..=ROWS_MAX).contains(&rows.len()) => rows.as_slice(),
        Some(Value::Array(rows)) => {
            let rule = format!("must be 1 to {ROWS_MAX} writes, not {}", rows.len());
            faults.push(Fault::new("requests", rule));
            &[]
        }
        _ => {
            let rule = format!("must be a list of 1 to {ROWS_MAX} writes");
            faults.push(Fault::new("requests", rule));
            &[]
        }
    };
    let is_atomic = match body.get("atomic") {
        Some(given) if !value::is_empty(given) => value::parse_boolean(given),
        _ => Ok(false),
    };
    match is_atomic {
        Ok(is_atomic) if faults.is_empty() => return Ok((rows, is_atomic)),
        Ok(_) => {}
        Err(illegal) => faults.push(Fault::new("atomic", illegal.0)),
    }
    Err(faults)
}

/// Reads the digest of a dry run; `None` if the body has none.
///
/// # Errors
/// A text that is no digest, and a batch that is not atomic.
fn read_expected(body: &Map<String, Value>, is_atomic: bool) -> Result<Option<ListDigest>, Fault> {
    let Some(given) = body.get(EXPECTED).filter(|given| !value::is_empty(given)) else {
        return Ok(None);
    };
    if !is_atomic {
        return Err(Fault::new(EXPECTED, "needs atomic: the list is of all writes together"));
    }
    let Value::String(text) = given else {
        return Err(Fault::new(EXPECTED, "must be a text: the digest of a dry run"));
    };
    ListDigest::parse(text).map(Some)
}

/// The error of an atomic batch, of which nothing was done because of these rows.
pub(crate) fn refuse(wrong: impl IntoIterator<Item = (usize, ApiError)>) -> ApiError {
    let mut refused = ApiError::refused_list();
    for (index, error) in wrong {
        refused.add_row(&format!("requests[{index}]"), error);
    }
    refused
}

/// The rows of a batch: prepared, or wrong.
struct Rows {
    rows: Vec<Result<PreparedRow, ApiError>>,
    state: Arc<GroupState>,
}

impl Rows {
    /// Returns the JSON of all answers. The steps are of the rows that were prepared.
    fn render(&self, steps: &[Result<Committed, Refusals>]) -> Vec<u8> {
        let mut json = br#"{"responses":["#.to_vec();
        let mut steps = steps.iter();
        for row in &self.rows {
            if !json.ends_with(b"[") {
                json.push(b',');
            }
            match row {
                Ok(row) => {
                    let decided = steps.next().expect("each prepared row is decided");
                    match row.answer(decided, &self.state) {
                        Ok(answer) => append(&answer, &mut json),
                        Err(error) => append(&error.to_parts(), &mut json),
                    }
                }
                Err(error) => append(&error.to_parts(), &mut json),
            }
        }
        json.extend_from_slice(b"]}");
        json
    }

    /// Returns the refusal that ends an atomic batch, with its index.
    fn find_refusal(&self, steps: &[Result<Committed, Refusals>]) -> Option<(usize, ApiError)> {
        let index = steps.iter().position(Result::is_err)?;
        let row = self.rows.get(index)?.as_ref().ok()?;
        Some((index, row.answer(&steps[index], &self.state).err()?))
    }
}

/// Appends an answer as a member of the list.
fn append(answer: &AnswerParts, json: &mut Vec<u8>) {
    let AnswerParts { status, bytes, tag, location } = answer;
    json.extend_from_slice(format!(r#"{{"status":{}"#, status.as_u16()).as_bytes());
    for (name, text) in [("location", location), ("etag", tag)] {
        if let Some(text) = text {
            json.extend_from_slice(
                format!(r#","{name}":{}"#, Value::from(text.as_str())).as_bytes(),
            );
        }
    }
    json.extend_from_slice(br#","body":"#);
    json.extend_from_slice(bytes);
    json.push(b'}');
}
