//! Groups. Reference 13.1, 3.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::domain::records::catalogue::Catalogue;
use crate::domain::records::ids::GroupId;
use crate::domain::state::command::{Command, RecordChange};
use crate::domain::state::group_state::GroupState;
use crate::http::error::ApiError;
use crate::http::pipeline::{Call, GroupCall, Outcome, ok, wrapped};
use crate::http::resources::pagination::{Found, found_by, write};
use crate::wire::field::Scope;
use crate::wire::group::GROUP;
use crate::wire::list::Query;

/// GET /api/v1/groups: the professional's own, or those named on the key.
pub(crate) async fn list(call: Call) -> Outcome {
    let Some(groups) = call.identity.groups() else {
        return Err(ApiError::unauthorized(
            "this key covers every group, and only professionals may list theirs: send their credentials",
        ));
    };
    let audience = call.identity.audience();
    let published = call.server.engine.published();
    // Fields of groups refer to nothing, so that any scope serves to read the query and to order. Datetimes of conditions
    // are read on the clocks of the first group.
    let nowhere = || Arc::new(GroupState::new(Catalogue::new(GROUP.blank.clone())));
    let first =
        groups.iter().find_map(|group| published.group_state(*group)).unwrap_or_else(nowhere);
    let query = Query::parse(&call.params, &GROUP, &Scope::for_group(&first), audience)?;
    let server = Arc::clone(&call.server);
    found_by(&call.server, groups.len().saturating_mul(query.cost_per_record()), move || {
        let published = server.engine.published();
        let own = |group: GroupId| Some((group.number(), published.group_state(group)?));
        let states: BTreeMap<u64, Arc<GroupState>> = groups.into_iter().filter_map(own).collect();
        let page = query.select_page(
            states.values().map(|state| &state.catalogue.group).collect(),
            &Scope::for_group(&first),
        );
        let numbers: Vec<u64> = page.records.iter().map(|group| query.record_id(group)).collect();
        Found::of(query.envelope_head(numbers.len(), page.total), numbers, move |number, bytes| {
            let state = &states[&number];
            write(&GROUP.render(&state.catalogue.group, &Scope::for_group(state), audience), bytes);
        })
    })
    .await
}

/// GET /api/v1/groups/:id.
pub(crate) fn show(call: &GroupCall) -> Outcome {
    Ok(ok(&Value::Object(GROUP.render(
        &call.state.catalogue.group,
        &call.scope(),
        call.audience(),
    ))))
}

/// PUT /api/v1/groups/:id. The slug stays what the system made it.
pub(crate) async fn change(call: GroupCall) -> Outcome {
    let fields =
        GROUP.parse(wrapped(&call.body, GROUP.resource)?, &call.scope(), call.audience())?;
    let command = Command::ChangeRecord(RecordChange::Group(fields));
    let done = call.write(command).await?;
    let state = &done.group_state;
    Ok(ok(&Value::Object(GROUP.render(
        &state.catalogue.group,
        &Scope::for_group(state),
        call.audience(),
    ))))
}
