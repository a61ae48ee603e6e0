//! Endpoints of groups. Reference 13.1.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::http::header::LOCATION;
use axum::http::{HeaderValue, StatusCode};
use serde_json::{Map, Value};

use crate::domain::availability::catalogue::Catalogue;
use crate::domain::records::fault::Fault;
use crate::domain::records::ids::GroupId;
use crate::domain::state::command::{Command, RecordChange};
use crate::domain::state::group_state::GroupState;
use crate::domain::state::precondition::ShownObject;
use crate::http::answer::entity_tag::tagged;
use crate::http::endpoint::{Endpoint, EndpointPath, handler};
use crate::http::error::{ApiError, IDEMPOTENCY_KEY, IDEMPOTENCY_KEY_HEADER};
use crate::http::permissions::{ADMINISTRATORS, OPERATOR, PUBLIC, Resource, Verb};
use crate::http::request::{ApiRequest, GroupRequest, wrapped_object};
use crate::http::resources::pagination::{PageAnswer, compute_page};
use crate::http::response::{HandlerResult, json_response, object_response};
use crate::wire::errors::Problem;
use crate::wire::field::{Audience, Scope};
use crate::wire::group::{GROUP, parse_new_group};
use crate::wire::list::Query;
use crate::wire::value;

const ALL: EndpointPath = EndpointPath::current("/api/v1/groups");
const ONE: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}");

/// The field by which a group demands a second factor.
pub(crate) const SECOND_FACTOR_REQUIRED: &str = "second_factor_required";
/// The rule of a person who begins the demand: otherwise it would shut that person out.
const DEMAND_WITHOUT_FACTOR: &str = "only a professional who has a second factor may require it: set up your own at the screens first";

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[Endpoint] =
    &[
        Endpoint::list(&[ALL], handler!(AtLarge, list))
            .named("ListGroups", "List the caller's groups")
            .right(Resource::Group, Verb::List, PUBLIC),
        Endpoint::get(&[ONE], handler!(InGroup, show)).named("ShowGroup", "Get a group").right(
            Resource::Group,
            Verb::Show,
            PUBLIC,
        ),
        Endpoint::post(&[ALL], handler!(AtLarge, create))
            .named("MakeGroup", "Create a group")
            .right(Resource::Group, Verb::Make, OPERATOR),
        Endpoint::put(&[ONE], handler!(InGroup, change))
            .named("ChangeGroup", "Update a group")
            .right(Resource::Group, Verb::Change, ADMINISTRATORS)
            .conflicting(),
    ];

/// GET /api/v1/groups: the professional's or account's own groups, or the groups named on the key.
async fn list(request: ApiRequest) -> HandlerResult {
    let published = request.server.engine.published();
    let mut named = request.identity.groups();
    if let Some(groups) = &mut named {
        // A group that demands a second factor of this caller would answer 403.
        groups.retain(|group| match published.group_state(*group) {
            Some(state) => request.identity.check_second_factor(&state.catalogue.group).is_ok(),
            None => true,
        });
    }
    if named.is_none() && !request.identity.is_operator() {
        return Err(ApiError::unauthorized(
            "this key covers all groups, and only professionals may list theirs: send their credentials",
        ));
    }
    let audience = request.identity.audience();
    // Fields of a group refer to no other record, so any scope serves to read and order them.
    // Datetimes in conditions are read in the time zone of the first group.
    let first = match &named {
        Some(groups) => groups.iter().find_map(|group| published.group_state(*group)),
        None => published.groups().find_map(|group| published.group_state(group)),
    };
    let first = match first {
        Some(state) => state,
        None => Arc::new(GroupState::new(Catalogue::new(GROUP.blank.clone()))),
    };
    let query = Query::parse(&request.params, &GROUP, &Scope::for_group(&first), audience)?;
    let server = Arc::clone(&request.server);
    let count = match &named {
        Some(groups) => groups.len(),
        None => published.count_groups(),
    };
    compute_page(&request.server, count.saturating_mul(query.cost_per_record()), move || {
        let published = server.engine.published();
        // A page of all groups in their own order needs the states of its groups only.
        let plain = if named.is_none() { query.plain_places(count) } else { None };
        let groups: Vec<GroupId> = match (named, &plain) {
            (Some(groups), _) => groups,
            (None, Some(places)) => {
                published.groups().skip(places.start).take(places.len()).collect()
            }
            (None, None) => published.groups().collect(),
        };
        let mut states: BTreeMap<u64, Arc<GroupState>> = BTreeMap::new();
        for group in groups {
            if let Some(state) = published.group_state(group) {
                states.insert(group.number(), state);
            }
        }
        let (numbers, total): (Vec<u64>, usize) = if plain.is_some() {
            (states.keys().copied().collect(), count)
        } else {
            let records = states.values().map(|state| &state.catalogue.group).collect();
            let page = query.select_page(records, &Scope::for_group(&first));
            (page.records.iter().map(|group| query.record_id(group)).collect(), page.total)
        };
        let head = query.envelope_head(numbers.len(), total);
        PageAnswer::new(head, numbers, move |number, bytes| {
            let state = &states[&number];
            GROUP.append(&state.catalogue.group, &Scope::for_group(state), audience, bytes);
            0
        })
    })
    .await
}

/// POST /api/v1/groups. The answer shows all fields of the new group, since it holds no data yet.
async fn create(request: ApiRequest) -> HandlerResult {
    if request.headers.contains_key(&IDEMPOTENCY_KEY_HEADER) {
        let rule = "is not taken here: after a lost answer, list the groups before the next try";
        return Err(Fault::new(IDEMPOTENCY_KEY, rule).into());
    }
    let command = parse_new_group(wrapped_object(&request.body, GROUP.resource)?)?;
    let state = match request.server.engine.found_group(request.identity.author(), command).await {
        Ok(state) => state,
        Err(rejection) => {
            let zone = GROUP.blank.timezone.zone();
            return Err(ApiError::from_rejection(rejection, zone, Audience::Pro));
        }
    };
    let group = &state.catalogue.group;
    let bytes = GROUP.to_json(group, &Scope::for_group(&state), Audience::Pro);
    let mut response = json_response(StatusCode::CREATED, bytes);
    let location = HeaderValue::from_str(&format!("/api/v1/groups/{}", group.id));
    response.headers_mut().insert(LOCATION, location.expect("a path of letters and digits"));
    Ok(response)
}

/// GET /api/v1/groups/{group_id}.
async fn show(request: GroupRequest) -> HandlerResult {
    Ok(object_response(show_group(&request.state, request.audience())))
}

/// PUT /api/v1/groups/{group_id}. The field `urlname` cannot be changed. No batch takes it, since
/// another time zone costs what the group has.
async fn change(request: GroupRequest) -> HandlerResult {
    let object = wrapped_object(&request.body, GROUP.resource)?;
    let audience = request.audience();
    let command = change_command(object, &request.scope(), audience)?;
    if request.identity.lacks_second_factor() && begins_demand(object, &request.state) {
        let rule = format!("{SECOND_FACTOR_REQUIRED}: {DEMAND_WITHOUT_FACTOR}");
        return Err(ApiError::new(Problem::Conflict, rule));
    }
    let show = move |state: &GroupState| Some(show_group(state, audience));
    request.send(request.prepare_change(command, audience, show)).await
}

/// Returns whether the fields of an object begin to demand a second factor.
pub(crate) fn begins_demand(object: &Map<String, Value>, state: &GroupState) -> bool {
    let given = object.get(SECOND_FACTOR_REQUIRED);
    let demands = given.is_some_and(|given| value::parse_boolean(given) == Ok(true));
    demands && !state.catalogue.group.second_factor_required
}

/// Returns the command that sets the fields of an object on the group.
///
/// # Errors
/// Every fault of the fields.
pub(crate) fn change_command(
    object: &Map<String, Value>,
    scope: &Scope<'_>,
    audience: Audience,
) -> Result<Command, Vec<Fault>> {
    let fields = GROUP.parse(object, scope, audience)?;
    Ok(Command::ChangeRecord(RecordChange::Group(fields)))
}

/// Returns the group as an audience sees it.
pub(crate) fn show_group(state: &GroupState, audience: Audience) -> ShownObject {
    tagged(GROUP.to_json(&state.catalogue.group, &Scope::for_group(state), audience))
}
