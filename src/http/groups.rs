//! Groups. Spec 4.1, contract 3.

use std::sync::Arc;

use serde_json::Value;

use super::call::{Call, GroupCall, Outcome, ok, wrapped};
use super::failure::Failure;
use crate::domain::catalogue::Catalogue;
use crate::domain::command::{Command, RecordChange};
use crate::domain::group::Group;
use crate::domain::ids::GroupId;
use crate::domain::root::Root;
use crate::wire::field::Scope;
use crate::wire::group::GROUP;
use crate::wire::list::Query;

/// GET /api/v1/groups: the professional's own, or those named on the key.
pub(super) fn list(call: &Call) -> Outcome {
    let Some(groups) = call.identity.groups() else {
        return Err(Failure::unauthorized(
            "this key covers every group, and only professionals may list theirs: send their credentials",
        ));
    };
    let audience = call.identity.audience();
    let published = call.server.engine.published();
    let roots: Vec<Arc<Root>> = groups.into_iter().filter_map(|group| published.root(group)).collect();
    // Fields of groups refer to nothing, so that any scope serves to read the query and to order. Datetimes of conditions
    // are read on the clocks of the first group.
    let nowhere = Root::new(Catalogue::new(GROUP.blank.clone()));
    let scope = Scope::of(roots.first().map_or(&nowhere, AsRef::as_ref));
    let query = Query::parse(&call.params, &GROUP, &scope, audience)?;
    let page = query.page(roots.iter().map(|root| &root.catalogue.group).collect(), &scope);
    let own = |id: GroupId| roots.iter().find(|root| root.catalogue.group.id == id);
    Ok(ok(&query.envelope_of(&page, |group: &Group| {
        let root = own(group.id).expect("the page is of these groups");
        GROUP.render(group, &Scope::of(root), audience)
    })))
}

/// GET /api/v1/groups/:id.
pub(super) fn show(call: &GroupCall) -> Outcome {
    Ok(ok(&Value::Object(GROUP.render(&call.root.catalogue.group, &call.scope(), call.audience()))))
}

/// PUT /api/v1/groups/:id. The slug stays what the system made it.
pub(super) async fn change(call: GroupCall) -> Outcome {
    let fields = GROUP.parse(wrapped(&call.body, GROUP.resource)?, &call.scope(), call.audience())?;
    let command = Command::ChangeRecord(RecordChange::Group(fields));
    let done = call.write(command).await?;
    let root = &done.root;
    Ok(ok(&Value::Object(GROUP.render(&root.catalogue.group, &Scope::of(root), call.audience()))))
}
