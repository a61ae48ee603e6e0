//! Professionals of a group, for one another. Contract 3.

use serde_json::Value;

use super::call::{GroupCall, Outcome, ok};
use super::failure::Failure;
use crate::domain::directory::Pro;
use crate::domain::ids::ProId;
use crate::wire::list::Query;
use crate::wire::pro::PROFESSIONAL;

/// GET /api/v1/groups/:group_id/pros.
pub(super) fn list(call: &GroupCall) -> Outcome {
    let scope = call.scope();
    let query = Query::parse(&call.params, &PROFESSIONAL, &scope, call.audience())?;
    let pros: Vec<&Pro> = call.identity.pros_of(call.root.catalogue.group.id).collect();
    let page = query.page(pros, &scope);
    Ok(ok(&query.envelope(&page, &scope)))
}

/// GET /api/v1/groups/:group_id/pros/:id.
pub(super) fn show(call: &GroupCall) -> Outcome {
    let id = call.id(ProId::new)?;
    let pro = call.identity.pros_of(call.root.catalogue.group.id).find(|pro| pro.id == id);
    let pro = pro.ok_or_else(Failure::no_result)?;
    Ok(ok(&Value::Object(PROFESSIONAL.render(pro, &call.scope(), call.audience()))))
}
