//! The endpoint that makes many vevents in one step, such as the closures of a year.
//! Reference 13.7.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::schema::ArrayBuilder;
use utoipa::openapi::{RefOr, Schema};

use crate::domain::records::fault::Fault;
use crate::domain::records::ids::VeventId;
use crate::domain::state::command::{Command, PutVevents, VeventDraft};
use crate::domain::state::group_state::GroupState;
use crate::domain::state::put_vevent::ROWS_MAX;
use crate::engine::Committed;
use crate::http::endpoint::{Answer, Body, Endpoint, EndpointPath, QueryParameter, Shape, handler};
use crate::http::limits::guarded_write::GuardedWrite;
use crate::http::permissions::{OWN_CALENDARS, Resource, Verb};
use crate::http::request::GroupRequest;
use crate::http::response::{HandlerResult, to_json};
use crate::http::writes::expected::only_if_expected;
use crate::wire::field::{Audience, Scope, is_filled};
use crate::wire::schema::{described, named, object, schema_of};
use crate::wire::vevent::{VeventInput, parse};

/// Maximum number of faults that an answer lists.
const FAULTS_MAX: usize = 50;

const BULK: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/vevents/bulk");

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[Endpoint] = &[Endpoint::post(&[BULK], handler!(InGroup, make))
    .named("MakeVevents", "Create up to 2,000 vevents, all or none")
    .right(Resource::Vevent, Verb::Make, OWN_CALENDARS)
    .query(&[QueryParameter::EXPECTED])
    .body(Body::plain(body_schema))
    .answers(&[Answer::json(
        201,
        "the ids of the new vevents, in order",
        Shape::Named("MadeVevents", schema_of::<MadeVevents>),
    )])];

fn body_schema() -> RefOr<Schema> {
    let fields = ArrayBuilder::new().items(named("VeventFields")).min_items(Some(1));
    let all = described(fields.max_items(Some(ROWS_MAX)), "The new vevents: no appointments.");
    object().property("vevents", all).required("vevents").into()
}

/// The new vevents.
#[derive(Serialize, ToSchema)]
struct MadeVevents {
    /// The new vevents, in the order of the request.
    records: Vec<MadeVevent>,
}

/// A new vevent.
#[derive(Serialize, ToSchema)]
struct MadeVevent {
    /// Its id.
    id: VeventId,
}

/// POST /api/v1/groups/{group_id}/vevents/bulk.
async fn make(request: GroupRequest) -> HandlerResult {
    let list = match request.body.get("vevents") {
        Some(Value::Array(list)) if (1..=ROWS_MAX).contains(&list.len()) => list.clone(),
        Some(Value::Array(list)) => {
            let rule = format!("must be 1 to {ROWS_MAX} vevents, not {}", list.len());
            return Err(Fault::new("vevents", rule).into());
        }
        _ => {
            let rule = format!("must be a list of 1 to {ROWS_MAX} vevents");
            return Err(Fault::new("vevents", rule).into());
        }
    };
    let state = Arc::clone(&request.state);
    let taker = request.identity.pro_names();
    let taker = taker.as_ref().map_or_else(String::new, |names| names.as_str().to_owned());
    let inputs = request.server.blocking_pool.run(move || parse_all(&list, &taker, &state)).await?;
    let mut drafts = Vec::new();
    for input in inputs? {
        drafts.push(VeventDraft::new(move |_, _, draws, at| {
            Ok(input.clone().into_vevent(draws.id, draws.key, at, at))
        }));
    }
    let number = drafts.len();
    let command = Command::PutVevents(Box::new(PutVevents::Make(drafts)));
    let write = GuardedWrite::unlimited(request.state.catalogue.group.id, command);
    let render = move |done: &Committed| to_json(&MadeVevents::new(done, number));
    let prepared = request.prepare_creation(write, render);
    request.send(only_if_expected(prepared, &request.params)?).await
}

/// Parses all vevents of a body.
///
/// # Errors
/// A fault for each wrong member, by the place of its vevent; 50 at most.
fn parse_all(
    list: &[Value],
    taker: &str,
    state: &GroupState,
) -> Result<Vec<VeventInput>, Vec<Fault>> {
    let scope = Scope::for_group(state);
    let mut inputs = Vec::with_capacity(list.len());
    let mut faults = Vec::new();
    for (index, given) in list.iter().enumerate() {
        let place = format!("vevents[{index}]");
        let Value::Object(given) = given else {
            faults.push(Fault::new(place, "must be an object with the fields of a vevent"));
            continue;
        };
        let mut given = given.clone();
        if !is_filled(&given, "taker") {
            given.insert("taker".to_owned(), taker.into());
        }
        match parse(&given, &scope, Audience::Pro) {
            Ok(input) => inputs.push(input),
            Err(wrong) => faults.extend(
                wrong
                    .into_iter()
                    .map(|fault| Fault::new(format!("{place}.{}", fault.field), fault.rule)),
            ),
        }
        if faults.len() >= FAULTS_MAX {
            break;
        }
    }
    faults.truncate(FAULTS_MAX);
    if faults.is_empty() { Ok(inputs) } else { Err(faults) }
}

impl MadeVevents {
    /// The vevents of a change that made `number` of them: those with the highest ids.
    fn new(done: &Committed, number: usize) -> Self {
        let ids = done.group_state.rows.keys().rev().take(number);
        let mut records: Vec<MadeVevent> = ids.map(|id| MadeVevent { id: *id }).collect();
        records.reverse();
        Self { records }
    }
}
