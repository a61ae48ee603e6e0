//! Professionals of a group, for one another. Reference 3.

use std::sync::Arc;

use serde_json::Value;

use crate::domain::records::ids::ProId;
use crate::http::error::ApiError;
use crate::http::pipeline::{GroupCall, Outcome, ok};
use crate::http::resources::pagination::{Found, found_by, write};
use crate::wire::field::Scope;
use crate::wire::list::Query;
use crate::wire::pro::PROFESSIONAL;

/// GET /api/v1/groups/:group_id/pros.
pub(crate) async fn list(call: GroupCall) -> Outcome {
    let query = Query::parse(&call.params, &PROFESSIONAL, &call.scope(), call.audience())?;
    let (state, audience) = (Arc::clone(&call.state), call.audience());
    let directory = Arc::clone(call.identity.directory());
    found_by(
        &call.server,
        directory.pros.len().saturating_mul(query.cost_per_record()),
        move || {
            let page = query.select_page(
                directory.pros_of(state.catalogue.group.id).collect(),
                &Scope::for_group(&state),
            );
            let numbers: Vec<u64> = page.records.iter().map(|pro| query.record_id(pro)).collect();
            Found::of(
                query.envelope_head(numbers.len(), page.total),
                numbers,
                move |number, bytes| {
                    let pro = ProId::new(number).and_then(|id| directory.pros.get(&id));
                    let pro = pro.expect("the list is of this very directory");
                    write(&PROFESSIONAL.render(pro, &Scope::for_group(&state), audience), bytes);
                },
            )
        },
    )
    .await
}

/// GET /api/v1/groups/:group_id/pros/:id.
pub(crate) fn show(call: &GroupCall) -> Outcome {
    let id = call.id(ProId::new)?;
    let pro = call
        .identity
        .directory()
        .pros
        .get(&id)
        .filter(|pro| pro.works_for(call.state.catalogue.group.id));
    let pro = pro.ok_or_else(ApiError::no_result)?;
    Ok(ok(&Value::Object(PROFESSIONAL.render(pro, &call.scope(), call.audience()))))
}
